"""A kernel that a compiler has made: its PTX, and for each line of it the line of the source that it came from."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from ptxlab.errors import LaunchError
from ptxlab.frontends.strings import standing
from ptxlab.module_variables import HasVariables, State, Type, declared_type, variables_of
from ptxlab.names import find_symbol, source_name
from ptxlab.options import NotCalled
from ptxlab.text import Module, SourceLines, String, parse


@dataclass(frozen=True)
class Pointer:
    """The type of a parameter that points to elements of a known PTX type, "f32" in a `float *`."""

    element: str

    def __str__(self) -> str:
        return f"Ptr[{self.element}]"


class Param(NamedTuple):
    """A parameter: its name in the PTX; its type where it is known: a PTX type such as "f32", or a `Pointer`; and its
    name in the source where that is known."""

    name: str
    type: Any = None
    title: str = ""


class CompiledKernel(HasVariables, NotCalled):
    """One kernel of compiled source, with `.ptx`, `.module`, `.name` and `.params` as the builder's kernels have them.

    `k["scale"]` is another kernel of the same source, or a variable, which they share (see `ptxlab.module_variables`).

    source: the text it was written in. file: that text's name. log: what the compiler said besides. Of a Triton kernel
    also shared: the bytes of dynamic shared memory that a launch gives it; block: its threads; trailing: the arguments
    that the compiler has added after the programmer's; scratch: the bytes of global memory for each block that the
    first of them points to. adapt: makes the arguments for the PTX out of those of a launch, whose names are then
    `arguments`. line: where source begins in the file. origin: of a source that is in no file, the Python file and line
    that gave it to the compiler. types: finds the types of variables that the PTX has as bytes. language: in which
    findings say what to write, such as "numba". compiled_as: of CUDA C++ the entry that was asked for, and the options.
    """

    state: State
    judged = True
    """A compiler has just made its text: the emulator does not judge it."""

    def __init__(
        self,
        name: str,
        arch: str,
        ptx: str,
        source: str,
        file: str,
        *,
        params: tuple[Param, ...] = (),
        arguments: tuple[str, ...] = (),
        log: str = "",
        shared: int = 0,
        block: int = 0,
        trailing: tuple[Any, ...] = (),
        metadata: Mapping[str, Any] | None = None,
        line: int = 1,
        adapt: Callable[[Sequence[Any]], Sequence[Any]] | None = None,
        scratch: int = 0,
        origin: tuple[str, int] | None = None,
        types: Callable[[CompiledKernel], Mapping[str, Type]] | None = None,
        language: str = "",
        compiled_as: tuple[str, tuple[str, ...]] = ("", ()),
    ) -> None:
        self.name, self.arch, self.ptx, self.source, self.file = name, arch, ptx, source, file
        self.params, self.log, self.shared, self.block, self.trailing = params, log, shared, block, trailing
        self.metadata, self.first_line, self.adapt, self.arguments = dict(metadata or {}), line, adapt, arguments
        self.scratch, self.origin, self.types, self.language = scratch, origin, types, language
        self.compiled_as = compiled_as
        self.original = self
        """The kernel of the same code that plans and programs are kept for."""
        self.state = State()

    def anew(self) -> CompiledKernel:
        """The same code with variables of its own."""
        other = copy.copy(self)
        other.state = State()
        return other

    @cached_property
    def spans(self) -> SourceLines:
        """PTX line -> the place in the source, as the compiler's `.loc` lines say."""
        if self.source == self.ptx:  # given as PTX
            return SourceLines(self.ptx)
        text = "\n" * (self.first_line - 1) + self.source
        string = String(self.file, text)
        if self.origin is not None:
            string = String(self.file, text, *standing(self.source, self.file, *self.origin))
        return SourceLines(self.ptx, string=string, language=self.language)

    @cached_property
    def module(self) -> Module:
        """The parsed text; `module.spans` maps its lines to the source."""
        if self.original is not self:
            return self.original.module
        return parse(self.ptx, file=f"<{source_name(self.name)}>", spans=self.spans)

    @property
    def kernels(self) -> tuple[str, ...]:
        """The names of all kernels in the module, as the PTX has them."""
        return tuple(k.name for k in self.module.kernels)

    def __getitem__(self, name: str) -> Any:
        """Another kernel of the same source, or what a variable holds: a numpy number, or a read-only array."""
        found = find_symbol(self.kernels, name) if isinstance(name, str) else ""
        if not found and (variables_of(self.module) or not isinstance(name, str)):
            return super().__getitem__(name)
        if not found:
            listed = ", ".join(map(source_name, self.kernels))
            raise LaunchError(f"entry: no kernel {name!r} in {self.file}; it has {listed}")
        other = copy.copy(self)
        other.name = found
        return other

    @cached_property
    def _types(self) -> Mapping[str, Type]:
        return {} if self.types is None else self.types(self)

    def _type(self, variable: Any) -> Type:
        plain = declared_type(variable)
        return self.original._types.get(variable.name, plain) if variable.type.startswith(("b", "u")) else plain

    def __repr__(self) -> str:
        names = ", ".join(map(source_name, [self.name] if self.name else self.kernels))
        return f"<kernel {names} from {self.file} for {self.arch}, {len(self.ptx.splitlines())} lines>"


def renamed(ptx: str, symbols: Mapping[str, str]) -> str:
    """PTX in which symbols have other names."""
    return re.sub(r"[\w$]+", lambda word: symbols.get(word[0], word[0]), ptx)


def parameters_renamed(ptx: str, kernel: str, name: str, parameters: Iterable[str]) -> str:
    """PTX in which a kernel has its name in the source, and its first parameters have theirs, also in parts."""
    symbols = {f"{kernel}_param_{k}{part}": new + part for k, new in enumerate(parameters) for part in ("", "_rest")}
    return renamed(ptx, {kernel: name} | symbols)
