"""The one point that every instruction passes through: `emit` attaches its place in Python, its name and its guard.

Instructions collect in nested scopes (the body of the kernel, of a loop, of an if), which are lowered to text once,
when the kernel is complete.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any, TypeVar

from ptxlab import targets
from ptxlab.builder import mistakes
from ptxlab.builder.immediates import immediate
from ptxlab.builder.plan import Plan, miscounted, plan
from ptxlab.builder.pointer import Coordinates, Ptr
from ptxlab.builder.registers import IN_REGISTER, TYPES, Register, Scope, Var
from ptxlab.builder.source import Names, Site, Source
from ptxlab.builder.suggestions import address_of, call_at, completed
from ptxlab.builder.warpgroup import Products, SharedStores
from ptxlab.errors import BuildError
from ptxlab.isa import Action, FormError
from ptxlab.isa.examples import fragment_registers
from ptxlab.isa.meanings import meant
from ptxlab.isa.special_registers import NAMES
from ptxlab.isa.types import WIDTH

T = TypeVar("T")

IDENTIFIER = re.compile(r"([A-Za-z][A-Za-z0-9_$]*|[_$][A-Za-z0-9_$]+)\Z")
"""A PTX identifier."""


@dataclass(slots=True, eq=False)
class Instr:
    """One instruction. `operands` are in PTX order: registers, text, `Mem`, `Vec`, `Pair`."""

    opcode: str
    operands: list[Any]
    results: list[Register[Any]]
    guard: Register[Any] | None
    site: Site | None
    named: bool  # its result was given the name that its line assigns
    negated: bool = False


@dataclass(slots=True, eq=False)
class Mem:
    """`[base+offset]`; the base is a register or a symbol."""

    base: Register[Any] | str
    offset: int = 0
    place: Vec | None = None  # of a tensor map: the coordinates of a tile


@dataclass(slots=True, eq=False)
class Vec:
    """`{a, b}` or, for two destinations, `a|b`."""

    elements: list[Any]
    pair: bool = False


class Emitter:
    """Registers, names and the emission point; `Builder` adds the methods that kernels use."""

    def __init__(self, arch: str) -> None:
        self.source = Source()
        self.target = targets.get(arch)
        self.body = Scope()
        self.scope = self.body
        self.guarded: Register[Any] | None = None
        self.registers: list[Register[Any]] = []  # every register, in order of creation
        self.families: dict[str, tuple[type[Any], int]] = {}  # acc -> (f32, 64): declared as %acc<64>
        self.plans: set[Plan] = set()
        self._taken: set[str] = set(NAMES)
        self._next: dict[str, int] = {}
        self.products, self.stores = Products(), SharedStores()
        self.barriers = 0  # barriers of the block that were written
        self._with: Any = None  # a `k.if_(...)` that was not entered yet

    @property
    def _here(self) -> Site:
        """The user's expression that is being evaluated."""
        return self.source.here(sys._getframe(1))

    def _error(self, what: str, write: str = "", site: Site | None = None) -> BuildError:
        """The error of that expression."""
        return mistakes.error(site or self._here, what, write)

    # -- the emission point
    def _emit(
        self,
        opcode: str | Plan,
        *operands: Any,
        into: Any = None,
        result: type[Any] | None = None,
        hint: str | None = None,
        temporary: bool = False,
        site: Site | None = None,
        both: bool = False,
    ) -> Any:
        """Appends one instruction and returns its result: a register, a list of registers for a vector, None.

        `into`: variable(s) to write instead of new registers; `result`: the result's class where the form leaves it
        open; `hint`: a name (None: the name the expression is assigned to); `temporary`: no name; `both`: also the
        optional second destination.
        """
        if site is None:
            site = self._here
        if self._with is not None:
            raise self._with.not_entered()
        p = opcode if isinstance(opcode, Plan) else self._plan(opcode, site)
        if p not in self.plans:
            self._check_target(p, site)
            self.plans.add(p)
        if not p.required <= len(operands) <= len(p.sources):
            raise self._miscounted(p, operands, site)
        values = [
            self._operand(p, ptx, value, site)
            for (_, ptx), value in zip(p.sources, operands, strict=False)
            if value is not None
        ]
        node = Instr(p.opcode, values, [], self.guarded, site, False)
        answer = None
        if p.results:
            cls = result or self._result_class(p, operands)
            answer = self._results(p, node, cls, into, hint, temporary, both)
        elif into is not None:
            raise mistakes.error(site, f"{p.form.op.name} has no result to write into a variable")
        wrong = self.products.follow(p.form, values, node.results, site) or self.stores.follow(p.form, site)
        if wrong is not None:
            raise wrong
        self.barriers += p.form.op.does is Action.BARRIER
        self.scope.nodes.append(node)
        return answer

    def _plan(self, opcode: str, site: Site) -> Plan:
        """The plan of an opcode; a `BuildError` with the table's words where there is none."""
        try:
            return plan(opcode)
        except FormError as why:
            raise mistakes.error(site, why.what, syntax=why.syntax) from None

    def _check_target(self, p: Plan, site: Site) -> None:
        if (needs := p.form.op.sm) > self.target.number:
            what = f"{p.opcode} needs sm_{needs} or later; this kernel is built for {self.target.name}"
            raise mistakes.error(site, what, f'@kernel(arch="sm_{needs}")')

    def _miscounted(self, p: Plan, operands: Sequence[Any], site: Site) -> BuildError:
        call, name = call_at(site), p.form.op.name
        what = miscounted(p.opcode, [spec for spec, _ in p.sources], len(operands))
        write = completed(name, call) if call.function.endswith(f".{name}") else ""
        return mistakes.error(site, what, write, p.form.op.syntax)

    # -- operands
    def _operand(self, p: Plan, ptx: str, value: Any, site: Site) -> Any:
        if isinstance(value, Register):
            self._usable(value)
            if ptx == "addr":
                if value.type.bits < 32 or value.type.kind == "float":
                    what = f"{p.opcode} needs an address, {self._shown(value)} is {value.type.ptx}"
                    raise mistakes.error(site, what, address_of(value))
                return Mem(value)
            if not p.check(ptx, value.type):
                raise self._mismatch(p, ptx, value, site)
            return value
        if isinstance(value, Ptr):
            self._usable(value.base)
            if ptx == "addr":
                return Mem(value.base, value.offset)
            if value.offset:
                raise mistakes.error(
                    site,
                    f"{p.opcode} needs a register; the pointer has an offset of {value.offset} bytes",
                    "k.address(pointer)",
                )
            return value.base
        if isinstance(value, Coordinates):
            self._usable(value.base)
            return Mem(value.base, 0, Vec(list(value.elements)))
        if isinstance(value, list | tuple):
            element = str(p.form.type) if ptx == "vec" else "any" if p.form.op.does is Action.MOVE else ptx
            return Vec([self._operand(p, element if element in WIDTH else "any", v, site) for v in value])
        if isinstance(value, str):
            return value
        if ptx == "addr":
            raise mistakes.error(site, f"{p.opcode} needs an address (a pointer), found {value!r}")
        if ptx == "vec":
            ptx = str(p.form.type)
        return immediate(value, ptx, site)

    def _mismatch(self, p: Plan, ptx: str, value: Register[Any], site: Site) -> BuildError:
        shown, found = self._shown(value), value.type.ptx
        wanted, has = ("a predicate" if word == "pred" else word for word in (ptx, found))
        write = self._converted(TYPES[ptx], value) if ptx in TYPES else ""
        return mistakes.error(site, f"{p.opcode} needs {wanted}, {shown} is {has}", write)

    def _usable(self, value: Register[Any] | str) -> None:
        """Raises where a register may not be read here: another kernel's, moved into a variable, out of scope."""
        if isinstance(value, str):
            return
        if value.k is not self:
            raise mistakes.error(
                self._here, f"{value.k._shown(value)} belongs to another kernel; a register is used only in its own"
            )
        if value.dead is not None:
            text = value.site.text or "its expression"
            raise mistakes.error(
                self._here,
                f"the value of `{text}` was written straight into {self._shown(value.dead)} by .set() and has no "
                "register of its own; give it a name first",
                f"value = {text}\n{self._python(value.dead)}.set(value)",
            )
        if not value.scope.open:
            name = value.hint or "x"
            raise mistakes.error(
                self._here,
                f"{self._shown(value)} was computed inside `with k.{value.scope.what}(...)`, which may not "
                "have run; declare a variable before it and set that inside",
                f"{name} = k.var({value.type.ptx}, 0)\nwith k.{value.scope.what}(...):\n    {name}.set(...)",
            )

    # -- results
    def _result_class(self, p: Plan, operands: Sequence[Any]) -> type[Any] | None:
        if p.adopts:
            bits = WIDTH[p.results[0][1]]
            for (_, ptx), value in zip(p.sources, operands, strict=False):
                if isinstance(value, Register) and ptx == p.results[0][1] and value.type.bits == bits:
                    return value.type
        return None

    def _results(
        self, p: Plan, node: Instr, cls: type[Any] | None, into: Any, hint: str | None, temporary: bool, both: bool
    ) -> Any:
        site = node.site
        assert site is not None
        if into is not None:
            answer = into
            for value in into if isinstance(into, list | tuple) else (into,):
                self._usable(value)
                node.results.append(value)
        else:
            names: Names = hint
            numbered = False
            if hint is None and not temporary:
                names, numbered, frame = self.source.names(self._frame, site)
                if names is not None:
                    self._not_rebinding(names, frame, site)
                    node.named = True
            answer = self._fresh(p, cls, names, numbered, site, both)
            node.results.extend(answer if isinstance(answer, list | tuple) else (answer,))
        if isinstance(answer, list | tuple):
            vector = p.results[0][1] == "vec" or isinstance(answer, list)
            node.operands.insert(0, Vec(list(answer), pair=not vector))
        else:
            node.operands.insert(0, answer)
        return answer

    def _fresh(self, p: Plan, cls: type[Any] | None, names: Names, numbered: bool, site: Site, both: bool) -> Any:
        ptx = p.results[0][1]
        first = names if isinstance(names, str) else None
        if ptx == "vec":
            element = cls or self._class_of(str(p.form.type))
            if not p.form.vec:
                return self._register(element, first, site, None, numbered)
            return self._family(element, int(str(p.form.vec)[1:]), names, site)
        if ptx == "any":
            count, ptx = self._fragment(p, site)
            return self._family(cls or self._class_of(ptx), count, names, site)
        main = cls or self._class_of(ptx)
        if both:
            second: str | None = None
            if isinstance(names, tuple) and len(names) == 2:
                first, second = names
            return self._register(main, first, site), self._register(self._class_of(p.results[1][1]), second, site)
        return self._register(main, first, site, None, numbered)

    def _fragment(self, p: Plan, site: Site) -> tuple[int, str]:
        """How many registers of which type a matrix instruction's result takes in a lane."""
        if p.form.num:
            return int(str(p.form.num)[1:]), "b32"
        if p.form.op.kind != "warp":
            raise mistakes.error(
                site, f"{p.form.op.name}: the registers of the result must be given", "into=accumulators"
            )
        return fragment_registers(p.form, str(p.form.matrix or p.results[0][0].name))

    def _class_of(self, ptx: str) -> type[Any]:
        return IN_REGISTER.get(ptx) or TYPES.get(ptx) or TYPES["b32"]

    def _register(
        self, cls: type[Any], hint: str | None, site: Site, declares: type[Any] | None = None, numbered: bool = False
    ) -> Any:
        """A new register of a type, called `hint` (made unique) or, without one, `%f1`."""
        made: Any = declares or cls
        r: Any = made.__new__(made)
        r.k, r.type, r.scope, r.site = self, cls, self.scope, site
        r.dead = None
        if hint is not None and (not IDENTIFIER.match(hint)):
            hint = None
        r.hint = hint
        r.label = self._unique(hint, numbered) if hint else ""
        self.registers.append(r)
        return r

    def _family(
        self, cls: type[Any], count: int, names: Names, site: Site, declares: type[Any] | None = None
    ) -> list[Any]:
        """Registers `%acc0, %acc1, ...` (or with a tuple's names), declared together."""
        if isinstance(names, tuple) and len(names) == count:
            return [self._register(cls, n, site, declares) for n in names]
        if not isinstance(names, str) or not IDENTIFIER.match(names):
            return [self._register(cls, None, site, declares) for _ in range(count)]
        stem, n = names, 1
        while stem in self.families or any(f"{stem}{j}" in self._taken for j in range(count)):
            n += 1
            stem = f"{names}_{n}_"
        self.families[stem] = (cls, count)
        out = []
        for j in range(count):
            r = self._register(cls, None, site, declares)
            r.hint, r.label = f"{names}[{j}]", f"{stem}{j}"
            self._taken.add(r.label)
            out.append(r)
        return out

    def _unique(self, hint: str, numbered: bool = False) -> str:
        taken = self._taken
        if not numbered and hint not in taken:
            taken.add(hint)
            return hint
        n = self._next.get(hint, 0 if numbered else 1 if hint in NAMES else 2)
        join = "" if numbered else "_"
        while f"{hint}{join}{n}" in taken:
            n += 1
        self._next[hint] = n + 1
        taken.add(f"{hint}{join}{n}")
        return f"{hint}{join}{n}"

    def _name_of(self, r: Register[Any]) -> str:
        """The register's name in the PTX; one without a name gets the next `%f1` of its type."""
        if not r.label:
            prefix = r.type.prefix
            n = self._next.get("%" + prefix, 1)
            while f"{prefix}{n}" in self._taken:
                n += 1
            self._next["%" + prefix] = n + 1
            r.label = f"{prefix}{n}"
            self._taken.add(r.label)
        return r.label

    @property
    def _frame(self) -> Any:
        frame = self.source.frame
        assert frame is not None
        return frame

    @property
    def _names(self) -> tuple[Names, bool, FrameType]:
        """What the value of that expression is assigned to; see `Source.names`."""
        site = self._here
        return self.source.names(self._frame, site)

    # -- for messages
    def _not_rebinding(self, names: Names, frame: FrameType, site: Site) -> None:
        local = frame.f_locals
        for name in names if isinstance(names, tuple) else (names,):
            held = local.get(name) if name else None
            if isinstance(held, Var) and held.k is self and held.scope.open:
                text = site.text or "..."
                raise mistakes.error(
                    site,
                    f"`{name} = {text}` would rebind the Python name `{name}`; the variable {self._shown(held)} "
                    "would keep its old value",
                    f"{name}.set({text})",
                )

    def _shown(self, r: Register[Any]) -> str:
        """How a message names a register: `%score`, or the expression of one without a name."""
        return f"%{r.label}" if r.label else f"`{r.site.text}`" if r.site.text else "a temporary"

    def _python(self, r: Register[Any]) -> str:
        """The Python text that stands for a register in a suggested line; a special register without a name of its own
        is called after its expression: `k.tid.x`."""
        of_expression = r.hint and r.site.text.replace(".", "_").endswith(f"_{r.hint}")
        return r.site.text if of_expression else r.hint or r.site.text or "x"

    def _converted(self, to: type[Any], r: Register[Any]) -> str:
        """The Python text that makes a register another type; empty where there is none."""
        return mistakes.conversion(to, r.type, self._python(r))

    def _type(self, given: Any) -> Any:
        cls = TYPES.get(given) if isinstance(given, str) else given
        if not (isinstance(cls, type) and issubclass(cls, Register) and cls.bits):
            word = getattr(given, "__name__", given)
            write = next((t for t in meant(word) if t in TYPES), "") if isinstance(word, str) else ""
            raise self._error(f"expected a type (f32, u32, ...), found {given!r}", write)
        return cls
