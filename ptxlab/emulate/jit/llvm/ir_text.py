"""The text of an LLVM function while it is written: instructions, labels, fresh names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager

from ptxlab.emulate.jit.llvm.instructions import Binary, Instructions, Operand
from ptxlab.emulate.language import Record
from ptxlab.emulate.runtime.state import Context, Cta, Warp
from ptxlab.targets import WARP

W = WARP
"""Lanes of a warp."""
HELD: dict[type[Record], str] = {Context: "%ctx", Cta: "%cta", Warp: "%ws"}
"""The parameters of the functions that run code."""
SIGNATURE = "ptr noalias %ctx, ptr noalias %cta, ptr noalias "
"""The parameters of a program's functions: the last is the state of a warp."""
COLD = ", !prof !0"
"""Metadata of a conditional branch: its second target is hardly ever taken."""


class RuleCall(str):
    """The instruction that calls a rule, and the line that declares the rule."""

    declares: str


class Text(Instructions):
    """The text of one LLVM function while it is written; labels and names are numbered here. `here` is the label of the
    basic block that is being written."""

    def __init__(self, prefix: str = "v") -> None:
        super().__init__(prefix)
        self.here = "entry"
        self.declared: set[str] = set()
        self.dominating: dict[str, str] = {}
        """Values that need not be made again: their basic blocks dominate the one being written (see `Ops.vector`)."""

    def do(self, text: str) -> None:
        if isinstance(text, RuleCall):
            self.declared.add(text.declares)
        super().do(text)

    def let(self, text: str, name: str = "") -> str:
        if isinstance(text, RuleCall):
            self.declared.add(text.declares)
        return super().let(text, name)

    def label(self, hint: str = "L") -> str:
        """A fresh label."""
        self.count += 1
        return f"{hint}.{self.prefix}{self.count}"

    def at(self, label: str) -> None:
        """Starts a basic block."""
        self.lines.append(f"{label}:")
        self.here = label

    def function(self, head: str, attributes: str = "noinline nounwind alignstack(64)") -> str:
        """A function of the module that has these lines, with their end. head: "i32 @name(ptr %parameter)"."""
        return "\n".join([f"define internal {head} {attributes} {{", "entry:", *self.lines, "}"]) + "\n"

    # -- structured control flow

    @contextmanager
    def not_dominating(self) -> Iterator[None]:
        """Basic blocks that do not dominate what follows: what is made in them is not used again behind them."""
        before = dict(self.dominating)
        yield
        self.dominating = before

    @contextmanager
    def _arm(self, condition: str, *, holds: bool, marks: str = "") -> Iterator[str]:
        """Code that runs where an i1 holds, or where it does not; returns the label where the others continue."""
        then, on = self.label("then"), self.label("on")
        ways = (then, on) if holds else (on, then)
        self.branch(condition, ways[0], ways[1], marks)
        self.at(then)
        with self.not_dominating():
            yield on
        self.at(on)

    @contextmanager
    def if_then(self, condition: str, to: str = "") -> Iterator[None]:
        """Code that runs where an i1 holds. It continues after it, or at the label `to`."""
        with self._arm(condition, holds=True) as on:
            yield
            self.go(to or on)

    @contextmanager
    def unless(self, condition: str, *, cold: bool = False, to: str = "") -> Iterator[None]:
        """As `if_then`, where an i1 does not hold. cold: it hardly ever runs."""
        with self._arm(condition, holds=False, marks=COLD if cold else "") as on:
            yield
            self.go(to or on)

    @contextmanager
    def if_else(self, condition: str) -> Iterator[tuple[AbstractContextManager[None], AbstractContextManager[None]]]:
        """`with t.if_else(c) as (yes, no):` and in it `with yes:` and `with no:`."""
        then, otherwise, end = (self.label(name) for name in ("then", "else", "on"))
        self.branch(condition, then, otherwise)
        yield self._way(then, end), self._way(otherwise, end)
        self.at(end)

    @contextmanager
    def _way(self, label: str, end: str) -> Iterator[None]:
        self.at(label)
        with self.not_dominating():
            yield
        self.go(end)

    def ends_if(self, condition: str) -> AbstractContextManager[str]:
        """Code that runs where an i1 holds, and that ends by a return or a branch of its own."""
        return self._arm(condition, holds=True)

    def ends_unless(self, condition: str) -> AbstractContextManager[str]:
        """As `ends_if`, where an i1 does not hold."""
        return self._arm(condition, holds=False)

    def fault_unless(self, condition: str) -> None:
        """Continues where an i1 holds; else a fault has been noted, and the function ends."""
        passed = self.label("passed")
        self.branch(condition, passed, "fault")
        self.at(passed)

    def fault_if(self, condition: str) -> None:
        """As `fault_unless`, the other way round."""
        passed = self.label("passed")
        self.branch(condition, "fault", passed)
        self.at(passed)

    def switch(self, value: str, cases: dict[str, tuple[int, ...]]) -> Switch:
        """Arms by name and the numbers that lead to them; no numbers: all others. See `Switch`."""
        return Switch(self, value, cases)

    # -- instructions

    def field(self, record: type[Record], path: str, pointer: str = "") -> str:
        """The address of a field (see `Record.offset`) of the record at `pointer`, if not the function's own."""
        pointer, at = pointer or HELD[record], record.offset(path)
        return self.offset(pointer, at) if at else pointer

    def get(self, record: type[Record], path: str, pointer: str = "", name: str = "") -> str:
        """The number or the pointer in a field. A truth value is a byte."""
        return self.load(_in_memory(record, path), self.field(record, path, pointer), name=name)

    def put(self, record: type[Record], path: str, value: Operand, pointer: str = "") -> None:
        """Writes a field."""
        self.store(_in_memory(record, path), value, self.field(record, path, pointer))

    def bump(self, pointer: str, change: Binary, type_: str, amount: Operand) -> None:
        """Read, change by one of the builder's methods, write."""
        self.store(type_, change(type_, self.load(type_, pointer), amount), pointer)

    def call(self, result: str, function: str, arguments: Iterable[tuple[str, str]], attributes: str = "") -> str:
        """A call of a function or intrinsic, declared once; `arguments` are (type, value)."""
        pairs = list(arguments)
        self.declared.add(f"declare {result} @{function}({', '.join(t for t, _ in pairs)})")
        return self.call_function(result, function, *(f"{t} {v}" for t, v in pairs), attributes=attributes)

    def fill(self, pointer: str, byte: int, size: Operand) -> None:
        """Puts a byte into so many, from a pointer on."""
        given = [("ptr", pointer), ("i8", str(byte)), ("i64", str(size)), ("i1", "false")]
        self.call("void", "llvm.memset.p0.i64", given)

    def gather(self, type_: str, align: int, pointers: str, mask: str, otherwise: str, lanes: int = W) -> str:
        """So many loads; lanes that are not in the mask get `otherwise`."""
        vec = f"<{lanes} x {type_}>"
        name = f"llvm.masked.gather.{_shape(vec)[1]}.v{lanes}p0"
        self.declared.add(f"declare {vec} @{name}(<{lanes} x ptr>, <{lanes} x i1>, {vec})")
        listed = f"<{lanes} x ptr> align {align} {pointers}, <{lanes} x i1> {mask}, {vec} {otherwise}"
        return self.let(f"call {vec} @{name}({listed})")

    def scatter(self, type_: str, align: int, value: str, pointers: str, mask: str, lanes: int = W) -> None:
        """So many stores, of the lanes in the mask."""
        vec = f"<{lanes} x {type_}>"
        name = f"llvm.masked.scatter.{_shape(vec)[1]}.v{lanes}p0"
        self.declared.add(f"declare void @{name}({vec}, <{lanes} x ptr>, <{lanes} x i1>)")
        self.do(f"call void @{name}({vec} {value}, <{lanes} x ptr> align {align} {pointers}, <{lanes} x i1> {mask})")

    def load_masked(self, vector: str, align: int, pointer: str, mask: str) -> str:
        """A load of a vector's elements that are in the mask, zeros for the others."""
        lanes, suffix = _shape(vector)
        name = f"llvm.masked.load.{suffix}.p0"
        self.declared.add(f"declare {vector} @{name}(ptr, <{lanes} x i1>, {vector})")
        return self.let(
            f"call {vector} @{name}(ptr align {align} {pointer}, <{lanes} x i1> {mask}, {vector} zeroinitializer)"
        )

    def store_masked(self, vector: str, align: int, value: str, pointer: str, mask: str) -> None:
        """A store of a vector's elements that are in the mask."""
        lanes, suffix = _shape(vector)
        name = f"llvm.masked.store.{suffix}.p0"
        self.declared.add(f"declare void @{name}({vector}, ptr, <{lanes} x i1>)")
        self.do(f"call void @{name}({vector} {value}, ptr align {align} {pointer}, <{lanes} x i1> {mask})")

    def splat(self, type: str, scalar: str, lanes: int = W) -> str:
        """A vector of one scalar SSA value."""
        vector = f"<{lanes} x {type}>"
        return self.shuffle(vector, self.insert(vector, "poison", type, scalar, 0), [0] * lanes)


def _in_memory(record: type[Record], path: str) -> str:
    """The type of a field in memory."""
    _, field = record.locate(path)
    return "ptr" if field.indirect else f"i{8 * field.kind.size}"


def _shape(vector: str) -> tuple[str, str]:
    """The lanes of a vector type, and its name in an intrinsic's: "<16 x float>" is v16f32."""
    lanes, element = vector[1:-1].split(" x ")
    return lanes, f"v{lanes}{element.replace('float', 'f32').replace('double', 'f64')}"


class Switch:
    """Arms of code that join: `with s.arm("row") as results: results.append(value)` for each arm that `Text.switch` was
    given, then `s.end()`, then `s.phi(type)` for each result in turn."""

    def __init__(self, t: Text, value: str, cases: dict[str, tuple[int, ...]]) -> None:
        self.t = t
        self.labels = {name: t.label(name) for name in cases}
        self.behind = t.label("end")
        self.arms: list[tuple[list[str], str]] = []
        self.taken = 0
        (default,) = (name for name, numbers in cases.items() if not numbers)
        listed = " ".join(
            f"i32 {number}, label %{self.labels[name]}" for name, numbers in cases.items() for number in numbers
        )
        t.do(f"switch i32 {value}, label %{self.labels[default]} [{listed}]")

    @contextmanager
    def arm(self, name: str) -> Iterator[list[str]]:
        """The code of an arm; its results are put into the list."""
        results: list[str] = []
        self.t.at(self.labels[name])
        with self.t.not_dominating():
            yield results
        self.arms.append((results, self.t.here))
        self.t.go(self.behind)

    def end(self) -> None:
        """Where all arms continue."""
        self.t.at(self.behind)

    def phi(self, type_: str) -> str:
        """The next result."""
        self.taken += 1
        return self.t.phi(type_, *((results[self.taken - 1], label) for results, label in self.arms))
