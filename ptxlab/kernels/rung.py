"""What the kernels for prefill and for decode have in common: the lesson of a rung, and what it builds."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from ptxlab.builder import Kernel, Param, Ptr, bf16, f16, f32, f64, u32
from ptxlab.errors import LaunchError, PtxlabError, TargetError
from ptxlab.kernels.mods import Mods, applied
from ptxlab.options import NotCalled, meant
from ptxlab.text import Module
from ptxlab.text.given import given

B = TypeVar("B", bound="AnyBuilt")
R = TypeVar("R")
DTYPES = {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16"}
"""The element types there are kernels for, with their numpy names (bfloat16 is known to numpy through ml_dtypes)."""

ELEMENTS: dict[str, type[Any]] = {"f32": f32, "f64": f64, "f16": f16, "bf16": bf16}
"""The same as the builder's types."""

MAX_HEAD_DIM = 256

Slots = TypeVar("Slots", bound=Ptr[u32] | None)
"""`slots` of a `probes=True` build: for each query row where in `probe` its state goes, or `NOWHERE`; else None, and
the kernel has no such parameter."""
NOWHERE = 0xFFFFFFFF
"""In `slots`: this row's state is not stored."""

FORMATTER = re.compile(r"[ \t]*# fmt: (?:skip|off|on)$", re.MULTILINE)
"""Notes to the formatter, which readers need not see."""


@dataclass(frozen=True)
class Parameter:
    """A build parameter: `default` (None: chosen to fit), and either `choices` or `minimum` to `maximum` by `step`."""

    name: str
    says: str
    default: Any = None
    choices: tuple[Any, ...] = ()
    minimum: int = 0
    maximum: int = 0
    step: int = 1

    def allows(self, value: Any) -> bool:
        """Whether `check` takes the value."""
        try:
            self.check("", value)
        except TargetError:
            return False
        return True

    def check(self, kernel: str, value: Any) -> Any:
        """The value, a whole number of numpy as Python's; `TargetError` names the limit that it breaks."""
        if self.choices:
            if value not in self.choices:
                listed = ", ".join(map(repr, self.choices))
                raise TargetError(f"{kernel}: {self.name} must be one of {listed}, not {value!r}")
            return self.choices[self.choices.index(value)]
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if not whole or not self.minimum <= value <= self.maximum or value % self.step:
            limits = f"from {self.minimum} to {self.maximum}" + (f" in steps of {self.step}" if self.step > 1 else "")
            raise TargetError(f"{kernel}: {self.name} must be a whole number {limits}, not {value!r}")
        return int(value)


class AnyConfig:
    """What the configurations of both phases have in common."""

    dtype: str
    mods: Mods | None
    lists: ClassVar[tuple[str, ...]]
    """The parameters that a mask adds."""

    @property
    def element(self) -> type[Any]:
        """The type of an element."""
        return ELEMENTS[self.dtype]

    @property
    def size(self) -> int:
        """Bytes of one element."""
        return int(self.element.bits) // 8

    @property
    def real(self) -> type[Any]:
        """The type of scores."""
        return f64 if self.dtype == "f64" else f32

    @property
    def extra(self) -> dict[str, Any]:
        """The parameters that mods add, with their types."""
        return self.mods.extra(self.real, self.lists) if self.mods else {}


_CALLS = {
    "prefill": "pl.attention(q, k, v, kernel={})",
    "decode": "pl.decode(q, k_cache, v_cache, lengths, kernel={})",
}


@dataclass(frozen=True, eq=False, repr=False)
class AnyBuilt(NotCalled):
    """A kernel of the library, ready to be printed, assembled and launched. `kernel` is what the builder made."""

    spec: Any
    config: Any
    kernel: Kernel

    def launched(self) -> str:
        return _CALLS[self.spec.phase].format("kernel")

    def __repr__(self) -> str:
        return f"<{self.name} for {self.config.arch}, {len(self.ptx.splitlines())} lines of PTX>"

    @property
    def name(self) -> str:
        """The entry name, `scalar_f32_d64_causal`; see `entry_name` of each phase."""
        return self.kernel.name

    @property
    def ptx(self) -> str:
        """The PTX text."""
        return self.kernel.ptx

    @property
    def module(self) -> Module:
        """The PTX as a `text.Module`, with the Python span of each line."""
        return self.kernel.module

    @property
    def params(self) -> tuple[Param, ...]:
        """The parameters with their types."""
        return self.kernel.params

    def with_probes(self: B) -> B:
        """The same kernel, but storing the online-softmax state."""
        kind: Any = type(self)
        same: B = build_once(kind, self.spec, dataclasses.replace(self.config, probes=True))
        return same

    def error(self, what: str) -> LaunchError:
        """The error of arguments that do not fit this kernel."""
        return LaunchError(f"{self.name}: {what}")

    def check_heads(self, heads_q: int, heads_kv: int) -> None:
        """`LaunchError` where query heads cannot share the key/value heads evenly."""
        if heads_kv < 1 or heads_q % heads_kv:
            raise self.error(f"Hq = {heads_q} should be a multiple of Hkv = {heads_kv}")

    def check_counts(self, counted: Mapping[str, int]) -> None:
        """`LaunchError` names a count that is too large for 32 bits, in which the kernels count; addresses have 64."""
        for name, count in counted.items():
            if count >= 2**31:
                raise self.error(f"{name} is {count}; kernels count it in 32 bits, so it should be below 2**31")


@dataclass(frozen=True, eq=False)
class Rung(NotCalled, Generic[B]):
    """A rung: what it asks, what it adds to the rung before it, and how to build it.

    `idea` is the one new idea, `brings` the PTX that comes with it, `look` what to look at; `teaches` puts them into
    words. `opens` is how the opcode begins at which a view of the kernel opens. `make(config)`
    writes the kernel with the builder. `scores`: whether it computes any, which mods change.
    """

    built: ClassVar[Any]
    """The class of what it builds."""
    name: str
    rung: int
    title: str
    question: str
    idea: str
    brings: tuple[str, ...]
    make: Callable[[Any], Kernel] = field(repr=False)
    look: str = field(default="", kw_only=True)
    opens: str = field(default="", kw_only=True)
    scores: bool = field(default=True, kw_only=True)

    @property
    def teaches(self) -> str:
        """The lesson: the question, the idea, and what to look at."""
        words = (
            f"The idea: {self.idea}.",
            f"Look at: {self.look}." if self.look else "",
            f"In the PTX: {', '.join(self.brings)}.",
        )
        return "\n".join(filter(None, (self.question, *words)))

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The build parameters by name, with their defaults and limits."""
        raise NotImplementedError

    def configure(self, **given: Any) -> Any:
        """The complete and checked configuration that `build` builds; it takes the same parameters."""
        raise NotImplementedError

    def build(
        self, *, mods: Mods | None = None, score_mod: Any = None, mask_mod: Any = None, sinks: Any = None, **given: Any
    ) -> B:
        """The kernel for these parameters; the same parameters give the same object.

        Parameters
        ----------
        score_mod, mask_mod, sinks
            As for `pl.attention`, with the arrays that the two functions take by name.
        mods
            What `mods.applied` makes of these.
        **given
            `spec.parameters`: head_dim, dtype, arch, ...; what is None or left out has its default.

        Raises
        ------
        TargetError
            Names a limit that is broken.
        """
        if score_mod is not None or mask_mod is not None or sinks is not None:
            arrays = {name: given.pop(name) for name in list(given) if name not in self.parameters}
            made = applied(score_mod, mask_mod, sinks=sinks, causal=given.get("causal", False), **arrays)
            mods = made.mods if made else None
        config = self.configure(**given)
        if mods is not None:
            if not self.scores:
                raise TargetError(f"{self.name} has no scores to change or to mask: the kernel before it computes them")
            config = config.modified(mods)
        built: B = build_once(self.built, self, config)
        return built

    @property
    def source(self) -> str:
        """The Python that writes the kernel: the whole file."""
        return FORMATTER.sub("", inspect.getsource(sys.modules[self.make.__module__]))

    def launched(self) -> str:
        spec: Any = self  # of a phase
        return _CALLS[spec.phase].format(repr(self.name))

    def checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters with their values, given or by default; `TargetError` names an unknown one, or a limit."""
        for name in given:
            if name not in self.parameters:
                close = meant(name, self.parameters)
                raise TargetError(f"{self.name} has no {name}{close}; its parameters are {', '.join(self.parameters)}")
        values = {p.name: p.default for p in self.parameters.values()}
        values |= {name: value for name, value in given.items() if value is not None}
        known = {name: value for name, value in values.items() if value is not None}
        return {name: self.parameters[name].check(self.name, value) for name, value in known.items()}


@functools.lru_cache(maxsize=512)
def build_once(kind: Any, spec: Any, config: Any) -> Any:
    """The kernel of a configuration; the same one gives the same object."""
    return kind(spec, config, spec.make(config))


class UnknownKernel(PtxlabError, LookupError):
    """There is no kernel of that name; the message lists those there are."""


def named(name: str, rungs: Mapping[str, R], kind: str) -> R:
    """The rung of a name among these; `kind` is what they are, for the message."""
    if isinstance(name, str) and name in rungs:
        return rungs[name]
    if not isinstance(name, str) or not re.fullmatch(r"\w{0,60}", name):
        raise UnknownKernel(f"expected the name of a {kind}, got {given(name)}")
    raise UnknownKernel(f"there is no {kind} {name!r}{meant(name, rungs)}; choose from {', '.join(rungs)}")
