"""LLVM IR as text: a method writes an instruction as a line, and gives the name of its result.

Operands come in LLVM's order, a type before its operands: `t.add("i64", x, 1)` is `add i64 %x, 1`. They are names and
literals as LLVM writes them, or numbers. `name` is the result's, if not a fresh one.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol, cast

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
Operand = str | int


class RuleCall(str):
    """The instruction that calls a rule, and the line that declares the rule."""

    declares: str


class Binary(Protocol):
    """A method that writes an instruction of two operands."""

    def __call__(self, type_: str, a: Operand, b: Operand, name: str = "") -> str: ...


class _Conversion(Protocol):
    def __call__(self, source: str, a: Operand, target: str, name: str = "") -> str: ...


def _binary(word: str) -> Binary:
    def method(self: Text, type_: str, a: Operand, b: Operand, name: str = "") -> str:
        return self.let(f"{word} {type_} {a}, {b}", name)

    return cast(Binary, method)


def _conversion(word: str) -> _Conversion:
    def method(self: Text, source: str, a: Operand, target: str, name: str = "") -> str:
        return self.let(f"{word} {source} {a} to {target}", name)

    return cast(_Conversion, method)


class Text:
    """The text of one LLVM function while it is written; labels and names are numbered here."""

    def __init__(self, prefix: str = "v") -> None:
        self.prefix = prefix
        self.lines: list[str] = []
        self.count = 0
        self.here = "entry"
        """The label of the basic block that is being written."""
        self.ended = False
        """Whether its last instruction leaves it."""
        self.declared: set[str] = set()
        self.dominating: dict[str, str] = {}
        """Values that need not be made again: their basic blocks dominate the one being written (see `Ops.vector`)."""

    def name(self) -> str:
        self.count += 1
        return f"%{self.prefix}{self.count}"

    def do(self, text: str) -> None:
        if isinstance(text, RuleCall):
            self.declared.add(text.declares)
        self.lines.append("  " + text)

    def let(self, text: str, name: str = "") -> str:
        """An instruction with a result; its name."""
        if isinstance(text, RuleCall):
            self.declared.add(text.declares)
        name = name or self.name()
        self.lines.append(f"  {name} = {text}")
        return name

    def function(
        self, head: str, attributes: str = "noinline nounwind alignstack(64)", linkage: str = "internal "
    ) -> str:
        """A function of the module that has these lines, with their end. head: "i32 @name(ptr %parameter)"."""
        return "\n".join([f"define {linkage}{head} {attributes} {{", "entry:", *self.lines, "}"]) + "\n"

    @contextmanager
    def other_function(self) -> Iterator[None]:
        """Lines that belong to another function, which `function` ends; nothing that was made before is known in it."""
        before = self.lines, self.here, self.ended, self.dominating
        self.lines, self.here, self.dominating = [], "entry", {}
        yield
        self.lines, self.here, self.ended, self.dominating = before

    # -- arithmetic

    add, sub, mul = _binary("add"), _binary("sub"), _binary("mul")
    udiv, urem = _binary("udiv"), _binary("urem")
    and_, or_, xor = _binary("and"), _binary("or"), _binary("xor")
    shl, lshr, ashr = _binary("shl"), _binary("lshr"), _binary("ashr")
    fadd, fmul, fdiv = _binary("fadd"), _binary("fmul"), _binary("fdiv")
    eq, ne = _binary("icmp eq"), _binary("icmp ne")
    ult, ule, ugt, uge = _binary("icmp ult"), _binary("icmp ule"), _binary("icmp ugt"), _binary("icmp uge")
    unordered = _binary("fcmp uno")
    slt, sle, sgt, sge = _binary("icmp slt"), _binary("icmp sle"), _binary("icmp sgt"), _binary("icmp sge")
    zext, sext, trunc = _conversion("zext"), _conversion("sext"), _conversion("trunc")
    bitcast, ptrtoint, inttoptr = _conversion("bitcast"), _conversion("ptrtoint"), _conversion("inttoptr")
    fpext, fptrunc = _conversion("fpext"), _conversion("fptrunc")

    def binary(self, word: str, type_: str, a: Operand, b: Operand) -> str:
        """An instruction of two operands of one type, named by a word such as "add" or "icmp eq"."""
        return self.let(f"{word} {type_} {a}, {b}")

    def convert(self, word: str, source: str, a: Operand, target: str) -> str:
        """A conversion named by a word such as "zext"."""
        return self.let(f"{word} {source} {a} to {target}")

    def select(self, condition: Operand, type_: str, a: Operand, b: Operand, name: str = "", *, of: str = "i1") -> str:
        """One of two values, or of two vectors lane by lane, where the condition is `of` a vector type."""
        return self.let(f"select {of} {condition}, {type_} {a}, {type_} {b}", name)

    # -- memory

    def load(self, type_: str, pointer: str, *, align: Operand = 0, name: str = "") -> str:
        return self.let(f"load {type_}, ptr {pointer}{f', align {align}' if align else ''}", name)

    def store(self, type_: str, value: Operand, pointer: str, *, align: Operand = 0) -> None:
        self.lines.append(f"  store {type_} {value}, ptr {pointer}{f', align {align}' if align else ''}")

    def load_atomic(self, type_: str, pointer: str, ordering: str, align: Operand) -> str:
        """The value at an address, read as one access whatever other threads do there."""
        return self.let(f"load atomic {type_}, ptr {pointer} {ordering}, align {align}")

    def store_atomic(self, type_: str, value: Operand, pointer: str, ordering: str, align: Operand) -> None:
        self.do(f"store atomic {type_} {value}, ptr {pointer} {ordering}, align {align}")

    def atomic(self, word: str, type_: str, pointer: str, value: Operand, ordering: str = "seq_cst") -> str:
        """An atomic operation ("add", "xchg"); the old value."""
        return self.let(f"atomicrmw {word} ptr {pointer}, {type_} {value} {ordering}")

    def compare_and_swap(self, type_: str, pointer: str, expected: Operand, new: Operand) -> tuple[str, str]:
        """Replaces the expected value by a new one, sequentially consistent; a pair of the old value and whether it was
        the expected one, and the type of that pair."""
        pair = self.let(f"cmpxchg ptr {pointer}, {type_} {expected}, {type_} {new} seq_cst seq_cst")
        return pair, f"{{{type_}, i1}}"

    def offset(self, pointer: str, by: Operand, name: str = "") -> str:
        """The pointer to so many bytes (i64) further on."""
        return self.let(f"getelementptr i8, ptr {pointer}, i64 {by}", name)

    def element(self, type_: str, pointer: str, index: Operand, *, by: str = "i64") -> str:
        """The pointer to an element of an array. by: the type of the index; a vector of them gives one of pointers."""
        return self.let(f"getelementptr {type_}, ptr {pointer}, {by} {index}")

    def alloca(self, type_: str, *, align: Operand = 0, name: str = "") -> str:
        """A variable on the stack; its address."""
        return self.let(f"alloca {type_}{f', align {align}' if align else ''}", name)

    # -- vectors and structs

    def extract(self, type_: str, vector: str, lane: Operand, *, by: str = "i64") -> str:
        """An element of a vector. by: the type of its number."""
        return self.let(f"extractelement {type_} {vector}, {by} {lane}")

    def insert(self, type_: str, vector: str, element: str, value: Operand, lane: Operand) -> str:
        """A vector with another element, of the type `element`."""
        return self.let(f"insertelement {type_} {vector}, {element} {value}, i64 {lane}")

    def shuffle(self, type_: str, a: str, order: Sequence[int], b: str = "poison") -> str:
        """Elements of the concatenation of two vectors, in this order."""
        return self.let(f"shufflevector {type_} {a}, {type_} {b}, <{len(order)} x i32> {listed(tuple(order))}")

    def joined(self, element: str, width: int, parts: Sequence[str]) -> str:
        """The concatenation of vectors, a power of two of them, of `width` elements each."""
        while len(parts) > 1:
            pairs = zip(parts[::2], parts[1::2], strict=True)
            parts = [self.shuffle(f"<{width} x {element}>", a, range(2 * width), b) for a, b in pairs]
            width *= 2
        return parts[0]

    def interleave(self, element: str, parts: list[str]) -> str:
        """The elements of a vector access, one vector of all lanes each, as they lie in memory: x y z w, x y z w."""
        if len(parts) == 1:
            return parts[0]
        count, block = len(parts), self.joined(element, W, parts)
        order = [k % count * W + k // count for k in range(W * count)]
        return self.shuffle(f"<{W * count} x {element}>", block, order)

    def deinterleave(self, element: str, block: str, count: int) -> list[str]:
        if count == 1:
            return [block]
        return [self.shuffle(f"<{W * count} x {element}>", block, range(k, W * count, count)) for k in range(count)]

    def extract_value(self, type_: str, struct: str, number: int) -> str:
        return self.let(f"extractvalue {type_} {struct}, {number}")

    def insert_value(self, type_: str, struct: str, part: str, value: Operand, number: int) -> str:
        return self.let(f"insertvalue {type_} {struct}, {part} {value}, {number}")

    # -- functions

    def call_function(self, result: str, function: str, *given: str, attributes: str = "") -> str:
        """Calls a function of the module; the name of its result, "" if void. given: typed arguments ("i32 %x")."""
        text = f"call {result} @{function}({', '.join(given)}){attributes}"
        if result != "void":
            return self.let(text)
        self.do(text)
        return ""

    # -- basic blocks

    def label(self, hint: str = "L") -> str:
        self.count += 1
        return f"{hint}.{self.prefix}{self.count}"

    def at(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.here, self.ended = label, False

    def _leave(self, text: str) -> None:
        self.lines.append("  " + text)
        self.ended = True

    def go(self, label: str) -> None:
        self._leave(f"br label %{label}")

    def branch(self, condition: str, holds: str, fails: str, marks: str = "") -> None:
        self._leave(f"br i1 {condition}, label %{holds}, label %{fails}{marks}")

    def branch_by(self, number: Operand, otherwise: str, ways: Iterable[tuple[Operand, str]]) -> None:
        """Branches to one of several basic blocks, by an i32: numbers with their labels."""
        listed = " ".join(f"i32 {each}, label %{label}" for each, label in ways)
        self._leave(f"switch i32 {number}, label %{otherwise} [{listed}]")

    def ret(self, type_: str = "void", value: Operand = "") -> None:
        """The end of the function, with its result if it has one."""
        self._leave(f"ret {type_} {value}" if type_ != "void" else "ret void")

    def unreachable(self) -> None:
        self._leave("unreachable")

    def phi(self, type_: str, *ways: tuple[Operand, str], name: str = "") -> str:
        return self.let(f"phi {type_} {', '.join(f'[{value}, %{label}]' for value, label in ways)}", name)

    # -- structured control flow

    @contextmanager
    def not_dominating(self) -> Iterator[None]:
        """Basic blocks that do not dominate what follows: values made in them are not reused after them."""
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
        """Code that runs where an i1 does not hold; see `if_then`. cold: it hardly ever runs."""
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
        """Code that runs where an i1 does not hold, and that ends by a return or a branch of its own."""
        return self._arm(condition, holds=False)

    def fault_if(self, condition: str) -> None:
        """Continues where an i1 does not hold; else a fault has been noted, and the function ends."""
        passed = self.label("passed")
        self.branch(condition, "fault", passed)
        self.at(passed)

    @contextmanager
    def each_lane(self, mask: str) -> Iterator[str]:
        """A loop over the lanes of a mask (an i32), the lowest first: a lane's number, an i64."""
        before, turn, act, after, done = self.here, *map(self.label, ("turn", "act", "after", "done"))
        self.go(turn)
        self.at(turn)
        left, rest = self.name(), self.name()
        self.phi("i32", (mask, before), (rest, after), name=left)
        self.branch(self.eq("i32", left, 0), done, act)
        self.at(act)
        self.and_("i32", left, self.sub("i32", left, 1), rest)
        number = self.call("i32", "llvm.cttz.i32", [("i32", left), ("i1", "true")])
        yield self.zext("i32", number, "i64")
        self.go(after)
        self.at(after)
        self.go(turn)
        self.at(done)

    def switch(self, value: str, cases: dict[str, tuple[int, ...]]) -> Switch:
        """Arms by name and the numbers that lead to them; no numbers: all others. See `Switch`."""
        return Switch(self, value, cases)

    # -- records, calls, vectors of pointers

    def field(self, record: type[Record], path: str, pointer: str = "") -> str:
        """The address of a field (see `Record.offset`) of the record at `pointer`, if not the function's own."""
        pointer, at = pointer or HELD[record], record.offset(path)
        return self.offset(pointer, at) if at else pointer

    def get(self, record: type[Record], path: str, pointer: str = "", name: str = "") -> str:
        """The number or the pointer in a field. A truth value is a byte."""
        return self.load(_in_memory(record, path), self.field(record, path, pointer), name=name)

    def put(self, record: type[Record], path: str, value: Operand, pointer: str = "") -> None:
        self.store(_in_memory(record, path), value, self.field(record, path, pointer))

    def bump(self, pointer: str, change: Binary, type_: str, amount: Operand) -> None:
        """Read, change by one of the builder's methods, write."""
        self.store(type_, change(type_, self.load(type_, pointer), amount), pointer)

    def call(self, result: str, function: str, arguments: Iterable[tuple[str, str]], attributes: str = "") -> str:
        """A call of a function or intrinsic, declared once; `arguments` are (type, value)."""
        pairs = list(arguments)
        self.declared.add(f"declare {result} @{function}({', '.join(t for t, _ in pairs)})")
        return self.call_function(result, function, *(f"{t} {v}" for t, v in pairs), attributes=attributes)

    def fill(self, pointer: str, byte: Operand, size: Operand) -> None:
        given = [("ptr", pointer), ("i8", str(byte)), ("i64", str(size)), ("i1", "false")]
        self.call("void", "llvm.memset.p0.i64", given)

    def gather(self, type_: str, align: int, pointers: str, mask: str, otherwise: str, lanes: int = W) -> str:
        """A load by each lane in the mask; the others get `otherwise`."""
        vector = f"<{lanes} x {type_}>"
        given = [*_masked(vector, align, pointers, mask, f"<{lanes} x ptr>"), (vector, otherwise)]
        return self.call(vector, f"llvm.masked.gather.{_suffix(vector)}.v{lanes}p0", given)

    def scatter(self, type_: str, align: int, value: str, pointers: str, mask: str, lanes: int = W) -> None:
        vector = f"<{lanes} x {type_}>"
        given = [(vector, value), *_masked(vector, align, pointers, mask, f"<{lanes} x ptr>")]
        self.call("void", f"llvm.masked.scatter.{_suffix(vector)}.v{lanes}p0", given)

    def load_masked(self, vector: str, align: int, pointer: str, mask: str) -> str:
        """A load of a vector's elements that are in the mask, zeros for the others."""
        given = [*_masked(vector, align, pointer, mask), (vector, "zeroinitializer")]
        return self.call(vector, f"llvm.masked.load.{_suffix(vector)}.p0", given)

    def store_masked(self, vector: str, align: int, value: str, pointer: str, mask: str) -> None:
        """A store of a vector's elements that are in the mask."""
        given = [(vector, value), *_masked(vector, align, pointer, mask)]
        self.call("void", f"llvm.masked.store.{_suffix(vector)}.p0", given)

    def splat(self, type: str, scalar: str, lanes: int = W) -> str:
        vector = f"<{lanes} x {type}>"
        return self.shuffle(vector, self.insert(vector, "poison", type, scalar, 0), [0] * lanes)


def _in_memory(record: type[Record], path: str) -> str:
    _, field = record.locate(path)
    return "ptr" if field.indirect else f"i{8 * field.kind.size}"


def _suffix(vector: str) -> str:
    """A vector type's name in an intrinsic's: "<16 x float>" is v16f32."""
    lanes, element = vector[1:-1].split(" x ")
    return f"v{lanes}{element.replace('float', 'f32').replace('double', 'f64')}"


def _masked(vector: str, align: int, at: str, mask: str, pointer: str = "ptr") -> list[tuple[str, str]]:
    """The operands of a masked access: the pointer or vector of pointers, and the elements that take part."""
    lanes = vector[1:-1].split(" x ")[0]
    return [(pointer, f"align {align} {at}"), (f"<{lanes} x i1>", mask)]


@functools.lru_cache(1024)
def listed(order: tuple[int, ...]) -> str:
    """The elements of a constant vector of i32."""
    return f"<{', '.join(f'i32 {k}' for k in order)}>" if any(order) else "zeroinitializer"


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
        ways = [(number, self.labels[name]) for name, numbers in cases.items() for number in numbers]
        t.branch_by(value, self.labels[default], ways)

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
        self.t.at(self.behind)

    def phi(self, type_: str) -> str:
        self.taken += 1
        return self.t.phi(type_, *((results[self.taken - 1], label) for results, label in self.arms))
