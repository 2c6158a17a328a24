"""The plan of a kernel, made from its text once, or recalled from the disk: its parameters and shared memory.

What a launch asks of a text and of its program is cached on disk beside the compiled code. A process that has just
begun then parses nothing, and does without the parser and the instruction table, until somebody asks for more.
"""

from __future__ import annotations

import functools
import linecache
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ptxlab.emulate.program.lowering_cache import lower
from ptxlab.emulate.program.program import Program, Recalled, facts_to_cache
from ptxlab.emulate.runtime import disk_cache
from ptxlab.errors import LaunchError
from ptxlab.launch import arguments
from ptxlab.launch.parameters import Bound, Parameter
from ptxlab.names import parameter_name, source_name, written_parameters
from ptxlab.options import shown

if TYPE_CHECKING:
    from ptxlab.launch.textures import Surface, Texture
    from ptxlab.text.model import Function, Module


class Declared(NamedTuple):
    """What a text declares of a kernel.

    target: as the module says it. static_shared: bytes of shared memory. parameters: of each its name, type, size and
    alignment, whether it is an array and a `.ptr`, and its name in the source, "" if it is not known. constant: whether
    one is a `.ptr .const`, as of OpenCL. unknown: what the emulator takes though it does not know it.
    """

    name: str
    target: str
    static_shared: int
    parameters: Sequence[tuple[str, str, int, int, bool, bool, str]]
    constant: bool
    unknown: str


class Plan:
    """A kernel, ready to be bound to arguments.

    title: its name in the source. text: its PTX, where the kernel has it as text. entry: the name that was asked for,
    if one was. added: arguments for its last parameters, which the compiler has added after the programmer's. scratch:
    bytes of global memory for each block that the first of `added` points to. adapt: makes the arguments for the PTX
    out of the programmer's, where the compiler has turned one into several.
    """

    def __init__(self, kernel: Any, text: str, entry: str | None, declared: Declared) -> None:
        self.kernel, self.text, self.entry, self.declared = kernel, text, entry, declared
        self.name, self.target, self.static_shared, *_ = declared
        self.title = source_name(self.name)
        self.parameters = _parameters(kernel, declared)
        added = getattr(kernel, "trailing", ())
        self.added: Sequence[Any] = () if isinstance(added, str) else added  # a module's is text
        self.adapt: Callable[[Sequence[Any]], Sequence[Any]] | None = getattr(kernel, "adapt", None)
        self.scratch = int(getattr(kernel, "scratch", 0)) if self.added else 0
        self._recalled: dict[tuple[str | None, bool], Program] = {}
        self._cached: set[tuple[str | None, bool]] = set()
        """For which architectures, and whether with gaps in shared memory, there is an entry on disk."""

    @functools.cached_property
    def module(self) -> Module:
        """The parsed text."""
        if self.text and getattr(self.kernel, "ptx", self.kernel) != self.text:
            return _module(self.text)  # the kernel has another by now: an editor is one
        return _module(self.kernel)

    @functools.cached_property
    def visible(self) -> str:
        """The text with all its variables visible, since a GPU's driver finds no others by their names."""
        return "".join(map(_visible, self.module.items)) + self.module.trailing

    @property
    def arguments(self) -> Sequence[str]:
        """The names of a launch's arguments."""
        return getattr(self.kernel, "arguments", ()) or [p.name for p in self.parameters]

    def bind(self, args: Sequence[Any], variables: Sequence[Bound] = (), blocks: int = 1) -> list[Bound]:
        """Each parameter with its argument, checked; see `arguments.bind`. blocks: the grid's, for scratch memory."""
        own = self.arguments
        if self.adapt is not None and len(args) not in (len(own), len(self.parameters)):
            raise LaunchError(f"{self.title} takes {len(own)} arguments ({', '.join(own)}), got {len(args)}")
        given = arguments.arrays(self.title, self.parameters if self.adapt is None else (), args)
        given = given if self.adapt is None else self.adapt(given)
        if self.adapt is not None and len(given) != len(self.parameters):
            what = "an array was given where a number is needed, or a number where an array is needed"
            raise LaunchError(f"{self.title} ({', '.join(own)}): {what}")
        added = self.added
        if self.scratch:
            added = (np.zeros(self.scratch * blocks, np.uint8), *added[1:])
        return arguments.bind(self.title, self.parameters, given, added, variables)

    def program(self, arch: str | None, *, shared_gaps: bool) -> Program:
        """The kernel as a program, recalled or lowered; errors as of `lower`."""
        recalled = self._recalled.get((arch, shared_gaps))
        judged = bool(getattr(self.kernel, "judged", False))
        return recalled or lower(self.module, self.name, arch, shared_gaps=shared_gaps, judged=judged)

    def keep(self, program: Program, arch: str | None, *, shared_gaps: bool) -> None:
        """Has later processes recall this plan and its program, which has run."""
        if not self.text or (arch, shared_gaps) in self._cached or disk_cache.folder() is None:
            return
        self._cached.add((arch, shared_gaps))
        if sum(v.initial.size for v in program.globals if v.valued) <= _MOST:
            notes, contents = facts_to_cache(program)
            name = _name(self.text, self.entry, arch, shared_gaps)
            disk_cache.remember(name, notes | {"plan": self.declared}, contents)

    @classmethod
    def recalled(cls, kernel: Any, text: str, entry: str | None, arch: str | None, *, shared_gaps: bool) -> Plan | None:
        """What `keep` has cached, in this process or another."""
        found = disk_cache.recall(_name(text, entry, arch, shared_gaps))
        if found is None:
            return None
        notes, contents = found
        plan = cls(kernel, text, entry, Declared(*notes["plan"]))

        def lowered() -> Program:
            return lower(plan.module, plan.name, arch, shared_gaps=shared_gaps, judged=True)

        plan._recalled[arch, shared_gaps] = Recalled(notes, contents, lowered)
        plan._cached.add((arch, shared_gaps))
        return plan


def _visible(item: Any) -> str:
    """The text of an item of a module, with `.visible` before a variable that has no linkage."""
    variable = getattr(item, "variables", (None,))[0]
    if variable is None or variable.space not in ("global", "const") or variable.linkage:
        return str(item)
    before = item.tokens[0].before
    return f"{before}.visible {str(item)[len(before) :]}"


_MOST = 1 << 20
"""Bytes of first contents of variables that are cached for later processes."""


def _name(text: str, entry: str | None, arch: str | None, shared_gaps: bool) -> str:
    """The name of the entry on disk."""
    return "launch-" + disk_cache.key(text, entry or "", arch or "", str(shared_gaps))


_plans: dict[tuple[Any, str | None], Plan] = {}
_PLANS_SIZE = 64


def planned(
    kernel: Any, entry: str | None = None, arch: str | None = None, *, recall: bool = False, shared_gaps: bool = False
) -> Plan:
    """The plan of a kernel, given as `launch` takes it, its declarations checked; the last ones are cached. recall: it
    may come from the disk, with its program for this architecture. Errors as of `launch`."""
    named = entry or getattr(kernel, "name", None) or None
    kernel = getattr(kernel, "original", kernel)
    text = kernel if isinstance(kernel, str) else getattr(kernel, "ptx", "")
    text = text if isinstance(text, str) else ""
    key = (kernel if isinstance(kernel, str) else id(kernel)), named
    plan = _plans.get(key)
    if plan is not None and (plan.text == text if text else plan.module is _module(kernel)):
        return plan
    plan = Plan.recalled(kernel, text, named, arch, shared_gaps=shared_gaps) if recall and text else None
    plan = plan or _parsed_plan(kernel, text, named)
    _plans[key] = plan  # which keeps the object, so that no other gets its id
    for oldest in list(_plans)[:-_PLANS_SIZE]:
        _plans.pop(oldest, None)
    return plan


def _parsed_plan(kernel: Any, text: str, entry: str | None) -> Plan:
    """The plan as the text's module says it."""
    from ptxlab.emulate.program.layout import align_of, size_of
    from ptxlab.emulate.program.lowering import entry_function
    from ptxlab.garbage_collection import uncollected
    from ptxlab.text import declaration_rules

    module = _module(kernel)
    uncollected(declaration_rules.check)(module)
    function = entry_function(module, entry)
    titles = [""] * len(function.params) if getattr(kernel, "params", ()) else _titles(module, function)
    parameters = [
        (v.name, v.type, size_of(v), align_of(v), bool(v.shape), ".ptr" in v.attributes, title)
        for v, title in zip(function.params, titles, strict=True)
    ]
    target = module.target.partition(",")[0].strip()
    unknown = _unknown(module)
    constant = any({".ptr", ".const"} <= set(v.attributes) for v in function.params)
    declared = Declared(function.name, target, _static_shared(module, function), parameters, constant, unknown)
    plan = Plan(kernel, text, entry, declared)
    plan.module = module
    return plan


def _unknown(module: Module) -> str:
    """What to say of a text of a later version than is known here; empty for all others."""
    from ptxlab.targets import NEWEST

    if module.version <= NEWEST:
        return ""
    line = next(number for number, text in enumerate(str(module).split("\n"), 1) if ".version" in text)
    given, newest = (".".join(map(str, version)) for version in (module.version, NEWEST))
    return (
        f"{module.file}:{line}: .version {given} is newer than {newest}, the newest that ptxlab knows: the emulator "
        "runs the instructions that it knows; NVIDIA's assembler must be at least as new"
    )


def _module(kernel: Any) -> Module:
    """The parsed module of a kernel; the parser is loaded for one that is not recalled."""
    from ptxlab.text.parser import module_of

    return module_of(kernel)


def _titles(module: Module, function: Function) -> list[str]:
    """The names that the source of a text gives a kernel's parameters, "" where it is not found."""
    for file in dict.fromkeys(span.file for span in module.spans.values()):
        written = written_parameters("".join(linecache.getlines(file)), function.name, len(function.params))
        if written:
            return [parameter_name(each) for each in written]
    return [""] * len(function.params)


def _parameters(kernel: Any, declared: Declared) -> list[Parameter]:
    """The kernel's parameters; a kernel from Python or compiled source also says what its pointers point to."""
    known = {param.name: param for param in getattr(kernel, "params", ())}
    out = []
    for name, type, size, align, array, ptr, title in declared.parameters:
        given = known.get(name)
        kind = getattr(given, "type", None)
        element = getattr(kind, "element", None)
        pointer: bool | None = False
        if element is not None or ptr:
            pointer = True
        elif kind is None and not array and size == 8 and type[0] != "f":
            pointer = None
        pointed = "" if element is None else getattr(element, "name", str(element))
        box, swizzle = getattr(kind, "box", ()), getattr(kind, "swizzle", 0)
        shown = getattr(given, "title", "") or title or source_name(name)
        out.append(Parameter(shown, type, size, align, array, pointer, pointed, box, swizzle))
    return out


def _static_shared(module: Module, function: Function) -> int:
    """Bytes of shared memory that the kernel and the module declare."""
    from ptxlab.emulate.program.layout import Area, align_of, size_of
    from ptxlab.text.model import Declaration

    area = Area()
    declared = (s for s in (function.body.walk() if function.body else ()) if isinstance(s, Declaration))
    for v in (*module.variables, *(v for s in declared for v in s.variables)):
        if v.space == "shared" and v.linkage != "extern":
            area.place(size_of(v), align_of(v))
    return area.end


def bind_variables(plan: Plan, textures: Mapping[str, Texture | Surface] | None) -> list[Bound]:
    """The textures and surfaces that a launch gives to variables by name."""
    if textures is None:
        return []
    from ptxlab.isa.types import OPAQUE
    from ptxlab.launch.textures import Surface, Texture

    if not isinstance(textures, Mapping):
        write = "\n  write:  textures={'name': ...}"
        raise LaunchError(f"textures: expected names with their textures, got {shown(textures)}{write}")
    wanted = {v.name: v.type for v in plan.module.variables if v.type in OPAQUE}
    bound = []
    for name, value in textures.items():
        if name not in wanted:
            listed = ", ".join(wanted) or "none"
            raise LaunchError(f"textures: {plan.title} has no .texref or .surfref {name!r}; it has {listed}")
        kind = Surface if wanted[name] == "surfref" else Texture
        if not isinstance(value, kind):
            wants = f"{name} is a .{wanted[name]} and needs a pl.{kind.__name__}"
            raise LaunchError(f"textures: {wants}, got {shown(value)}")
        p = Parameter(name, "b64", 0, 1)
        bound.append(Bound(p, array=value.staged(), object=value, variable=True))
    return bound
