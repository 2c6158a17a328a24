"""A kernel that a compiler has made: its PTX, and for each line of it the line of the source that it came from."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from ptxlab.errors import LaunchError, Span
from ptxlab.text import Module, parse


@dataclass(frozen=True)
class Pointer:
    """The type of a parameter that points to elements of a known PTX type, "f32" in a `float *`."""

    element: str

    def __str__(self) -> str:
        return f"Ptr[{self.element}]"


class Param(NamedTuple):
    """A parameter: its name in the PTX, and its type where it is known: a PTX type such as "f32", or a `Pointer`."""

    name: str
    type: Any


class CompiledKernel:
    """One kernel of compiled source, with `.ptx`, `.module`, `.name` and `.params` as the builder's kernels have them.

    source: the text it was written in. file: that text's name. log: what the compiler said besides. Of a Triton kernel
    also shared: the bytes of dynamic shared memory that a launch gives it; block: its threads; trailing: the arguments
    that the compiler has added after the programmer's; scratch: the bytes of global memory for each block that the
    first of them points to. Of a numba kernel also adapt: makes the arguments for the PTX
    out of those of a launch. library: a part of the paths of the language's own functions; what is inlined from them
    belongs to the line that calls them.
    """

    judged = True
    """A compiler has just made its text: the CPU machine does not judge it."""

    def __init__(
        self,
        name: str,
        arch: str,
        ptx: str,
        source: str,
        file: str,
        *,
        params: tuple[Param, ...] = (),
        log: str = "",
        shared: int = 0,
        block: int = 0,
        trailing: tuple[Any, ...] = (),
        metadata: Mapping[str, Any] | None = None,
        line: int = 1,
        adapt: Callable[[Sequence[Any]], Sequence[Any]] | None = None,
        library: str = "",
        scratch: int = 0,
    ) -> None:
        self.name, self.arch, self.ptx, self.source, self.file = name, arch, ptx, source, file
        self.params, self.log, self.shared, self.block, self.trailing = params, log, shared, block, trailing
        self.metadata, self.first_line, self.adapt = dict(metadata or {}), line, adapt
        self.library, self.scratch = library, scratch

    @cached_property
    def spans(self) -> dict[int, Span]:
        """PTX line -> the place in the source, as the compiler's `.loc` lines say."""
        return spans_of(self.ptx, {self.file: self.source}, self.first_line, self.library)

    @cached_property
    def module(self) -> Module:
        """The parsed text; `module.spans` maps its lines to the source."""
        return parse(self.ptx, file=f"<{self.name}>", spans=self.spans)

    @property
    def kernels(self) -> tuple[str, ...]:
        """The names of all kernels in the module."""
        return tuple(k.name for k in self.module.kernels)

    def __getitem__(self, name: str) -> CompiledKernel:
        """Another kernel of the same source."""
        found = find_kernel(self.kernels, name)
        if not found:
            raise LaunchError(f"entry: no kernel {name!r} in {self.file}; it has {', '.join(self.kernels)}")
        other = CompiledKernel(found, self.arch, self.ptx, self.source, self.file, log=self.log, line=self.first_line)
        other.__dict__["module"] = self.module
        return other

    def __repr__(self) -> str:
        lines = len(self.ptx.splitlines())
        return f"<kernel {self.name or ', '.join(self.kernels)} from {self.file} for {self.arch}, {lines} lines>"


def find_kernel(names: tuple[str, ...], wanted: str) -> str:
    """The kernel that a name means: itself, or the only one whose mangled C++ name begins with it; "" if there is
    none."""
    if wanted in names:
        return wanted
    mangled = [n for n in names if re.match(rf"_Z(?:N\w*?)?{len(wanted)}{re.escape(wanted)}(?!\d*\w*::)", n)]
    return mangled[0] if len(mangled) == 1 else ""


_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:.*\binlined_at\s+(\d+)\s+(\d+)\s+(\d+))?")
_BEGINS = re.compile(r"\s*[@\w](?!.*:\s*$)")
"""The first line of an instruction: no directive, brace, comment or label."""
_FILE = re.compile(r'\s*\.file\s+(\d+)\s+"([^"]*)"')


def spans_of(ptx: str, sources: Mapping[str, str], first_line: int = 1, library: str = "") -> dict[int, Span]:
    """For each instruction's line the source line that the last `.loc` before it names.

    sources: texts by file name, for where a line ends. first_line: where a text begins in its file. library: a part of
    paths; an instruction inlined from such a file belongs to the line that calls the function.
    """
    lines = ptx.split("\n")
    files = {int(m[1]): m[2] for m in map(_FILE.match, lines) if m}
    texts = {name: text.split("\n") for name, text in sources.items()}
    callers: dict[Place, Place] = {}
    found: dict[int, Span] = {}
    now: Span | None = None
    begun = 0  # the line in which the present statement begins: NVRTC writes a call in several
    inline = False  # within a statement of inline assembly LLVM counts lines from where it begins in the source
    for number, line in enumerate(lines, 1):
        inline = line.endswith("// begin inline asm") or (inline and not line.endswith("// end inline asm"))
        match = None if inline else _LOC.match(line)
        if match:
            place = int(match[1]), int(match[2]), int(match[3])
            if match[4]:
                callers[place] = int(match[4]), int(match[5]), int(match[6])
            if library:
                place = _outside(place, callers, files, library)
            file, at, column = files.get(place[0], ""), place[1], max(place[2] - 1, 0)
            name = next((n for n in texts if n == file or n.rsplit("/", 1)[-1] == file.rsplit("/", 1)[-1]), file)
            text = texts.get(name, [])
            index = at - first_line
            end = len(text[index].rstrip()) if 0 <= index < len(text) else column
            now = Span(name, at, column, at, max(end, column)) if file else None
        elif line.startswith("}") or ".entry" in line or ".func" in line:
            now = None
        elif now is not None and (begun or _BEGINS.match(line)):
            begun = begun or number
            if line.rstrip().endswith(";"):
                found[begun], begun = now, 0
    return found


Place = tuple[int, int, int]
"""The number of a file, a line and a column, as `.loc` has them."""


def _outside(place: Place, callers: Mapping[Place, Place], files: Mapping[int, str], library: str) -> Place:
    """The first place outside of a library on the way from an inlined instruction to those that call it."""
    seen = set()
    while library in files.get(place[0], "") and place in callers and place not in seen:
        seen.add(place)
        place = callers[place]
    return place
