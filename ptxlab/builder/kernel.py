"""`@kernel`: turns a Python function into PTX.

    @kernel
    def saxpy(k: Builder, x: Ptr[f32], y: Ptr[f32], a: f32, n: u32) -> None: ...

    saxpy.ptx                        # built when first asked for
    saxpy(arch="sm_90").ptx          # built now, with other options

Parameters annotated with a PTX type are the kernel's parameters; any other parameter is plain Python, given when the
kernel is called: `attention(head_dim=128)`.
"""

from __future__ import annotations

import inspect
import re
import sys
import typing
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from types import FunctionType, MethodType, NoneType
from typing import Any, NamedTuple, Never
from weakref import WeakKeyDictionary

from ptxlab import options
from ptxlab.builder import mistakes
from ptxlab.builder.builder import Builder
from ptxlab.builder.emit import IDENTIFIER
from ptxlab.builder.pointer import PointerType, Ptr
from ptxlab.builder.printer import text
from ptxlab.builder.probes import PARAMETER
from ptxlab.builder.registers import IN_REGISTER, TYPES, Register, f32, u64
from ptxlab.builder.source import HERE, Site
from ptxlab.builder.suggestions import call_at, instead
from ptxlab.builder.tensor_map import TensorMap, TensorMapType
from ptxlab.errors import BuildError, Span
from ptxlab.garbage_collection import resting
from ptxlab.isa import TABLE
from ptxlab.isa.cuda_lines import lines
from ptxlab.isa.tensor_map import BYTES
from ptxlab.module_variables import HasVariables, State
from ptxlab.text import Module, parse

DEFAULT_ARCH = "sm_80"


class Param(NamedTuple):
    """A kernel parameter: its name, and its type (`f32`, or `PointerType` for `Ptr[f32]`)."""

    name: str
    type: Any

    @property
    def ptx(self) -> str:
        """The type in the `.param` declaration; a pointer is a u64, a 16-bit float its bits, a tensor map bytes."""
        if isinstance(self.type, PointerType):
            return "u64"
        if isinstance(self.type, TensorMapType):
            return "b8"
        return str(self.type.declared if self.type.bits >= 16 else self.type.ptx)

    @property
    def declaration(self) -> str:
        """The whole declaration: `.param .u64 q`."""
        if isinstance(self.type, TensorMapType):
            return f".param .align 64 .b8 {self.name}[{BYTES}]"
        return f".param .{self.ptx} {self.name}"


class Kernel(HasVariables):
    """A built kernel: `.ptx`, `.name`, `.params`, `.arch`, and `.module`, its parsed text with the Python spans."""

    state: State

    def __init__(self, name: str, arch: str, ptx: str, params: tuple[Param, ...], spans: Mapping[int, Span]) -> None:
        self.name, self.arch, self.ptx, self.params, self.spans = name, arch, ptx, params, spans
        self.state = State()

    @cached_property
    def module(self) -> Module:
        """The parsed text; `module.spans` maps its lines to the Python that wrote them."""
        return parse(self.ptx, file=f"<{self.name}>", spans=self.spans)

    def __repr__(self) -> str:
        params = ", ".join(f"{p.name}: {p.type!r}" for p in self.params)
        return f"<kernel {self.name}({params}) for {self.arch}, {len(self.ptx.splitlines())} lines>"


MADE: WeakKeyDictionary[Kernel, tuple[KernelFunction, dict[str, Any]]] = WeakKeyDictionary()
"""The function that wrote a kernel, and what it was called with."""


class KernelFunction(HasVariables):
    """What `@kernel` makes of a function: a kernel that is built with its defaults when first used, and a function of
    its plain Python parameters that builds another. `name` is the entry's."""

    def __init__(
        self,
        function: Callable[..., None],
        arch: str,
        probes: bool,
        name: str | None,
        loc: bool,
        types_: Mapping[str, type[Any]],
        scope: Mapping[str, Any],
    ) -> None:
        self.function, self.arch, self.probes, self.loc = function, arch, probes, loc
        self.name = name or function.__name__
        self.types, self.scope = types_, scope
        self.__doc__, self.__name__, self.__module__ = function.__doc__, function.__name__, function.__module__

    def __call__(
        self,
        *values: Never,
        arch: str | None = None,
        probes: bool | None = None,
        name: str | None = None,
        loc: bool | None = None,
        extra: Mapping[str, Any] | None = None,
        **python: Any,
    ) -> Kernel:
        """Builds the kernel. `extra`: further kernel parameters and their types, which the function finds in `k.extra`.
        Other keywords are the function's plain Python parameters."""
        if values:
            given = list(inspect.signature(self.function).parameters)[1 : len(values) + 1]
            what = f"{self.name}(...) builds the kernel, from keywords; values are given at the launch"
            raise mistakes.error(None, what, f"pl.launch({', '.join([self.name, 'grid', 'block', *given])})")
        asked = {"arch": arch, "probes": probes, "name": name, "loc": loc, "extra": extra, **python}
        function, name = self.function, name or self.name
        probes = self.probes if probes is None else probes
        k = Builder(name, arch or self.arch, probes=probes)
        k.doc = _summary(function)
        declared = list(inspect.signature(function).parameters.values())
        at = k.source.parameter(function.__code__, declared[0].name if declared else "")
        if not declared:
            raise mistakes.error(
                at,
                f"{function.__name__} takes no parameters; the first is the builder",
                f"def {function.__name__}(k): ...",
            )
        if not IDENTIFIER.match(name):
            raise mistakes.error(
                at, f"{name!r} is not a PTX name; use letters, digits, _ and $", f'name="{_ascii(name)}"'
            )
        arguments: dict[str, Any] = {}
        for p in declared[1:]:
            site = k.source.parameter(function.__code__, p.name)
            kind = self._parameter_type(p, site)
            if kind is NoneType:
                arguments[p.name] = None
            elif kind is None:
                if p.name in python:
                    arguments[p.name] = python.pop(p.name)
                elif p.default is inspect.Parameter.empty:
                    raise mistakes.error(
                        site,
                        f"{name} needs its Python parameter `{p.name}`; a kernel parameter has a PTX type",
                        _typed(p, f"{function.__name__}({p.name}=...)"),
                    )
            if kind in (None, NoneType):
                continue
            if p.name in python:
                raise mistakes.error(site, f"`{p.name}` is a parameter of the kernel; its value is given at the launch")
            if not IDENTIFIER.match(p.name):
                raise mistakes.error(
                    site, f"{p.name!r} is not a PTX name; use letters, digits, _ and $", _ascii(p.name)
                )
            if p.name == PARAMETER:
                raise mistakes.error(
                    site, f"`{PARAMETER}` is the name of the parameter that a probes=True build adds", "probed"
                )
            arguments[p.name] = _declared(k, p.name, kind, site)
        for more, kind in (extra or {}).items():
            k.extra[more] = _declared(k, more, kind, at)
        if python:
            unknown = next(iter(python))
            raise mistakes.error(
                at,
                f"{name} has no Python parameter `{unknown}`" + mistakes.close(unknown, [p.name for p in declared[1:]]),
            )
        if probes:
            k._probe_base = _declared(k, PARAMETER, PointerType(f32), at).base
        try:
            with resting():  # each instruction is ten objects or more
                returned = function(k, **arguments)
        except (AttributeError, NameError, TypeError) as wrong:
            explained = None if isinstance(wrong, BuildError) else _explained(k, wrong)
            if explained is None:
                raise
            raise explained from None
        except ValueError as wrong:  # numpy's, of a number that it wants
            if isinstance(wrong.__cause__, BuildError):
                raise wrong.__cause__ from None
            raise
        if (alone := k.source.not_called(function.__code__, declared[0].name, Builder)) is not None:
            raise mistakes.error(alone, "a method that is not called writes nothing", f"{alone.text}()")
        if returned is not None:
            what = f"a kernel returns nothing, {name} returns {options.shown(returned)}; a result is stored"
            raise mistakes.error(at, what, "out[i] = x")
        if k._with is not None:
            raise k._with.not_entered()
        if probes:
            if k._probe_type is None:
                raise mistakes.error(
                    at,
                    f"{name} is built with probes=True and never calls k.probe",
                    "k.probe(row, tile, tiles, row_max, row_sum, rescale)",
                )
            k.parameters[-1] = Param(PARAMETER, PointerType(k._probe_type))
        k._emit("ret", site=Site(at.span))
        with resting():
            ptx, spans = text(k, loc=self.loc if loc is None else loc)
        k.source.frame = None
        built = Kernel(name, k.arch, ptx, tuple(k.parameters), spans)
        MADE[built] = self, asked
        return built

    def _parameter_type(self, p: inspect.Parameter, site: Site) -> Any:
        """The PTX type of a parameter; None when it is plain Python, and `NoneType` when it is a type variable that is
        bound to a type or None, and `types` gives it no type: the kernel has no such parameter."""
        annotation = p.annotation
        if annotation is inspect.Parameter.empty:
            return None
        if isinstance(annotation, str):
            closure = inspect.getclosurevars(self.function).nonlocals
            names = {**TYPES, "Ptr": Ptr, "inf": None, **self.function.__globals__, **self.scope}
            names |= {**closure, **self.types}
            try:
                annotation = eval(annotation, names)
            except Exception as why:
                raise mistakes.error(site, f"the annotation of `{p.name}` cannot be resolved: {why}") from None
        element = _concrete(annotation, self.types)
        if isinstance(element, type) and issubclass(element, Register) and element.bits:
            if element.kind == "pred":
                raise mistakes.error(site, f"`{p.name}`: a kernel takes no predicates", f"{p.name}: u32")
            return element
        if typing.get_origin(annotation) is Ptr:
            (inner,) = typing.get_args(annotation)
            inner = _concrete(inner, self.types)
            if not (isinstance(inner, type) and issubclass(inner, Register) and inner.bits) or inner.kind == "pred":
                raise mistakes.error(
                    site, f"`{p.name}`: a pointer points to a PTX type, found {inner!r}", f"{p.name}: Ptr[f32]"
                )
            return PointerType(inner)
        if isinstance(annotation, typing.TypeVar) and element is annotation:
            return NoneType if NoneType in typing.get_args(annotation.__bound__) else None
        if annotation is TensorMap:
            return TensorMapType()
        if annotation is Ptr:
            raise mistakes.error(site, f"`{p.name}`: what does it point to?", f"{p.name}: Ptr[f32]")
        return None

    @cached_property
    def built(self) -> Kernel:
        """The kernel with all defaults. An `AttributeError` of the function is a `BuildError` here: `getattr(kernel,
        "ptx", None)` would take it to mean that a kernel has no PTX."""
        try:
            return self()
        except AttributeError as wrong:
            raise BuildError(str(wrong)) from (None if isinstance(wrong, BuildError) else wrong)

    @property
    def ptx(self) -> str:
        """The PTX text."""
        return self.built.ptx

    @property
    def module(self) -> Module:
        """The parsed text, with spans."""
        return self.built.module

    @property
    def state(self) -> State:
        """What the module's variables hold."""
        return self.built.state

    @property
    def params(self) -> tuple[Param, ...]:
        """The kernel's parameters."""
        return self.built.params

    @property
    def spans(self) -> Mapping[int, Span]:
        """PTX line -> Python expression."""
        return self.built.spans

    def __repr__(self) -> str:
        signature = re.sub(r"ptxlab\.builder\.\w+\.", "", str(inspect.signature(self.function)))
        return f"<kernel function {self.name}{signature}>"


@typing.overload
def kernel(function: Callable[..., None], /) -> KernelFunction: ...
@typing.overload
def kernel(
    *,
    arch: str = ...,
    probes: bool = ...,
    name: str | None = ...,
    loc: bool = ...,
    types: Mapping[str, type[Any]] | None = ...,
) -> Callable[[Callable[..., None]], KernelFunction]: ...
def kernel(
    function: Callable[..., None] | None = None,
    /,
    *,
    arch: str = DEFAULT_ARCH,
    probes: bool = False,
    name: str | None = None,
    loc: bool = False,
    types: Mapping[str, type[Any]] | None = None,
) -> KernelFunction | Callable[[Callable[..., None]], KernelFunction]:
    """Makes a kernel of a function whose first parameter is the builder.

    arch: the target; probes: whether `k.probe` stores (and the `probe` parameter exists); name: of the entry, the
    function's by default; loc: print `.loc` lines for profilers; types: what names in the annotations stand for, so
    that `def scalar(k, q: Ptr[Real])` can be built for f32 and f64 (`types={"Real": f64}`). A parameter of a type
    variable that is bound to `... | None` is None, and none of the kernel's, where `types` does not have it.
    """
    caller = sys._getframe(1)
    scope = dict(caller.f_locals) if caller.f_locals is not caller.f_globals else {}

    def decorate(function: Callable[..., None]) -> KernelFunction:
        if not inspect.isfunction(function):
            what = f"kernel: expected a Python function, got {options.shown(function)}"
            raise mistakes.error(None, what, "@kernel\ndef f(k, x: Ptr[f32], n: u32):\n    ...")
        return KernelFunction(function, arch, probes, name, loc, types or {}, scope)

    return decorate if function is None else decorate(function)


def _typed(p: inspect.Parameter, plain: str) -> str:
    """The lines for a parameter that has no type of PTX: with its value where it is Python's, or with a type."""
    of_python = {int: "u32", float: "f32", "int": "u32", "float": "f32"}
    type_ = of_python.get(p.annotation, "Ptr[f32]")
    return f"{p.name}: {type_}    # a parameter of the kernel; or, a value of Python:\n{plain}"


def _explained(k: Builder, wrong: AttributeError | NameError | TypeError) -> BuildError | None:
    """The error for `k.bar.sync(0)`, `p.load()`, `k.var(0.0)`, `with k.else_:`, `threadIdx.x` and `np.exp(x)`, of which
    Python says that a function has no such name, takes other arguments, or is no context; None where the builder is not
    meant."""
    trace, place = wrong.__traceback__, None
    while trace is not None:
        ours = trace.tb_frame.f_code.co_filename.startswith(HERE)
        trace, place = trace.tb_next, place if ours else trace
    assert place is not None
    site = k.source.at(place.tb_frame.f_code, place.tb_lasti)
    call = call_at(site)
    if isinstance(wrong, NameError):
        known = lines(wrong.name or "") or wrong.name in TABLE
        write = instead(replace(call, function=f"k.{call.function}")) if known else ""
        says = f"`{wrong.name}` is not a Python name here; use the builder's own"
        return mistakes.error(site, says, write) if write else None
    if "does not support ufuncs" in str(wrong):
        says = f"`{call.function}` computes when the kernel is built; a register has a value only when the kernel runs"
        return mistakes.type_error(site, says, instead(replace(call, function=f"k.{call.function.rpartition('.')[2]}")))
    if isinstance(wrong, TypeError):
        found = re.match(r"(?:Flow|Builder|Memory|Probes|Instructions)\.(\w+)\(\) (.+)", str(wrong))
        if found:
            parameters = list(inspect.signature(getattr(Builder, found[1])).parameters.values())[1:]
            plain = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
            takes = ", ".join(p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in plain)
            says = re.sub(r"\d+(?=.* given)", lambda count: str(int(count[0]) - 1), found[2])  # without self
            return mistakes.type_error(site, f"k.{found[1]} {says}", f"k.{found[1]}({takes})")
        if "'method' object does not support the context manager" in str(wrong):
            name = re.search(r"\w+\.\w+", site.text)
            return mistakes.type_error(site, "a method is not called", f"with {name[0]}(...):" if name else "")
        found = re.search(rf"\b({'|'.join([*TYPES, 'Var'])})\b|\b(?:Var)?Ptr\b|\bShared\b", str(wrong))
        if found is None or ours:
            said = f"`{call.function}` is a type, not a function"
            made = instead(replace(call, function=f"k.{call.function}"))
            return mistakes.type_error(site, said, made) if "does not make a register" in str(wrong) else None
        what = "register" if found[1] else "pointer"
        if "not callable" in str(wrong):
            index = f"[{', '.join(call.arguments)}]" if call.arguments and not found[1] else ""
            return mistakes.type_error(site, f"`{call.function}` is a {what}, not a function", call.function + index)
        says = f"a {what} has a value only when the kernel runs; Python says: {wrong}"
        return mistakes.type_error(site, says, instead(replace(call, function=f"k.{call.function.rpartition('.')[2]}")))
    if not getattr(wrong.obj, "__module__", "").startswith("ptxlab.builder."):
        return None
    if isinstance(wrong.obj, Ptr):
        owner, _, _ = call.function.rpartition(".")
        write = f"{owner}[i] = x" if wrong.name in ("store", "set", "write") else f"x = {owner}[i]"
        return mistakes.attribute_error(site, f"a pointer has no `{wrong.name}`", write)
    if not isinstance(wrong.obj, FunctionType | MethodType):
        return None
    what = f"k.{wrong.obj.__name__} has no `{wrong.name}`: modifiers and types are arguments"
    return mistakes.attribute_error(site, what, instead(call))


def _declared(k: Builder, name: str, kind: Any, site: Site) -> Any:
    """The register (or pointer) with the value of one more parameter."""
    p = Param(name, kind)
    k.parameters.append(p)
    if isinstance(p.type, PointerType):
        base = k._emit("ld.param.u64", f"[{p.name}]", result=u64, hint=p.name, site=site)
        return Ptr(k, base, p.type.element)
    if isinstance(p.type, TensorMapType):
        place = k._emit("mov.b64", p.name, result=u64, temporary=True, site=site)
        return TensorMap(k, k._emit("cvta.param.u64", place, result=u64, hint=p.name, site=site), p.type, p.name)
    held = IN_REGISTER.get(p.type.ptx, p.type)
    word = p.type.ptx if p.type.kind != "packed" and p.type.ptx not in ("f16", "bf16") else f"b{p.type.bits}"
    return k._emit(f"ld.param.{word}", f"[{p.name}]", result=held, hint=p.name, site=site)


def _concrete(annotation: Any, given: Mapping[str, type[Any]]) -> Any:
    """A type variable as the type that `types=` gives it."""
    return given.get(annotation.__name__, annotation) if isinstance(annotation, typing.TypeVar) else annotation


def _ascii(name: str) -> str:
    """A PTX name that is close to `name`."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "_$") else "_" for c in name)
    return plain if IDENTIFIER.match(plain) else f"kernel_{plain}"


def _summary(function: Callable[..., None]) -> list[str]:
    doc = inspect.getdoc(function) or ""
    return doc.split("\n\n")[0].splitlines()
