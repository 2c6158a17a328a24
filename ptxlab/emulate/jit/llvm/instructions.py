"""A builder of LLVM instructions: a method writes one as a line of text, and gives the name of its result.

Operands come in LLVM's order, a type before its operands: `b.add("i64", x, 1)` is `add i64 %x, 1`. They are names and
literals as LLVM writes them, or numbers. `name` is the result's, if not a fresh one.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Protocol, cast

Operand = str | int


class Binary(Protocol):
    """A method of the builder that writes an instruction of two operands."""

    def __call__(self, type_: str, a: Operand, b: Operand, name: str = "") -> str: ...


class _Conversion(Protocol):
    def __call__(self, source: str, a: Operand, target: str, name: str = "") -> str: ...


def _binary(word: str) -> Binary:
    """A method that writes an instruction of two operands of one type."""

    def method(self: Instructions, type_: str, a: Operand, b: Operand, name: str = "") -> str:
        return self.let(f"{word} {type_} {a}, {b}", name)

    return cast(Binary, method)


def _conversion(word: str) -> _Conversion:
    """A method that writes an instruction that makes a value another type."""

    def method(self: Instructions, source: str, a: Operand, target: str, name: str = "") -> str:
        return self.let(f"{word} {source} {a} to {target}", name)

    return cast(_Conversion, method)


class Instructions:
    """The lines of a function, and methods that write one more."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.lines: list[str] = []
        self.count = 0
        self.ended = False
        """Whether the last instruction leaves its basic block."""

    def name(self) -> str:
        """A fresh SSA name."""
        self.count += 1
        return f"%{self.prefix}{self.count}"

    def do(self, text: str) -> None:
        """An instruction without a result."""
        self.lines.append("  " + text)

    def let(self, text: str, name: str = "") -> str:
        """An instruction with a result; its name."""
        if not name:
            self.count += 1
            name = f"%{self.prefix}{self.count}"
        self.lines.append(f"  {name} = {text}")
        return name

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
        """An instruction of two operands of one type, where its word is not known before: "add", "icmp eq"."""
        return self.let(f"{word} {type_} {a}, {b}")

    def convert(self, word: str, source: str, a: Operand, target: str) -> str:
        """A conversion, where its word is not known before."""
        return self.let(f"{word} {source} {a} to {target}")

    def select(self, condition: Operand, type_: str, a: Operand, b: Operand, name: str = "", *, of: str = "i1") -> str:
        """One of two values, or of two vectors lane by lane, where the condition is `of` a vector type."""
        return self.let(f"select {of} {condition}, {type_} {a}, {type_} {b}", name)

    # -- memory

    def load(self, type_: str, pointer: str, *, align: Operand = 0, name: str = "") -> str:
        """What lies somewhere."""
        return self.let(f"load {type_}, ptr {pointer}{f', align {align}' if align else ''}", name)

    def store(self, type_: str, value: Operand, pointer: str, *, align: Operand = 0) -> None:
        """Puts a value somewhere."""
        self.lines.append(f"  store {type_} {value}, ptr {pointer}{f', align {align}' if align else ''}")

    def load_atomic(self, type_: str, pointer: str, ordering: str, align: Operand) -> str:
        """The same as one access, whatever other threads do there."""
        return self.let(f"load atomic {type_}, ptr {pointer} {ordering}, align {align}")

    def store_atomic(self, type_: str, value: Operand, pointer: str, ordering: str, align: Operand) -> None:
        """Puts a value somewhere, as one access."""
        self.do(f"store atomic {type_} {value}, ptr {pointer} {ordering}, align {align}")

    def atomic(self, word: str, type_: str, pointer: str, value: Operand, ordering: str = "seq_cst") -> str:
        """An atomic operation ("add", "xchg"); the old value."""
        return self.let(f"atomicrmw {word} ptr {pointer}, {type_} {value} {ordering}")

    def compare_and_swap(self, type_: str, pointer: str, expected: Operand, new: Operand) -> tuple[str, str]:
        """Puts a new value where the expected one lies, sequentially consistent; the pair of the old value and whether
        it was the expected one, and the type of that pair."""
        pair = self.let(f"cmpxchg ptr {pointer}, {type_} {expected}, {type_} {new} seq_cst seq_cst")
        return pair, f"{{{type_}, i1}}"

    def offset(self, pointer: str, by: Operand, name: str = "") -> str:
        """The pointer to so many bytes (i64) further on."""
        return self.let(f"getelementptr i8, ptr {pointer}, i64 {by}", name)

    def element(self, type_: str, pointer: str, index: Operand, *, by: str = "i64") -> str:
        """The pointer to an element of an array. by: the type of the index; a vector of them gives one of pointers."""
        return self.let(f"getelementptr {type_}, ptr {pointer}, {by} {index}")

    def alloca(self, type_: str, *, align: Operand = 0, name: str = "") -> str:
        """Room on the stack."""
        return self.let(f"alloca {type_}{f', align {align}' if align else ''}", name)

    # -- vectors and structs

    def extract(self, type_: str, vector: str, lane: Operand, *, by: str = "i64") -> str:
        """An element of a vector. by: the type of its number."""
        return self.let(f"extractelement {type_} {vector}, {by} {lane}")

    def insert(self, type_: str, vector: str, element: str, value: Operand, lane: Operand) -> str:
        """A vector with another element, of the type `element`."""
        return self.let(f"insertelement {type_} {vector}, {element} {value}, i64 {lane}")

    def shuffle(self, type_: str, a: str, order: Sequence[int], b: str = "poison") -> str:
        """The elements of two vectors, one behind the other, in this order."""
        return self.let(f"shufflevector {type_} {a}, {type_} {b}, <{len(order)} x i32> {listed(tuple(order))}")

    def part(self, type_: str, struct: str, number: int) -> str:
        """A part of a struct."""
        return self.let(f"extractvalue {type_} {struct}, {number}")

    # -- functions

    def call_function(self, result: str, function: str, *given: str, convention: str = "", attributes: str = "") -> str:
        """Calls a function that the module has; the name of its result, or "" if it is void. given: the arguments with
        their types ("i32 %x")."""
        text = f"call {convention}{result} @{function}({', '.join(given)}){attributes}"
        if result != "void":
            return self.let(text)
        self.do(text)
        return ""

    # -- the ends of basic blocks, and their beginnings

    def _leave(self, text: str) -> None:
        self.lines.append("  " + text)
        self.ended = True

    def go(self, label: str) -> None:
        """To another basic block."""
        self._leave(f"br label %{label}")

    def branch(self, condition: str, holds: str, fails: str, marks: str = "") -> None:
        """To one of two basic blocks, by an i1."""
        self._leave(f"br i1 {condition}, label %{holds}, label %{fails}{marks}")

    def branch_by(self, number: Operand, otherwise: str, ways: Iterable[tuple[Operand, str]]) -> None:
        """To one of several basic blocks, by an i32: numbers with their labels."""
        listed = " ".join(f"i32 {each}, label %{label}" for each, label in ways)
        self._leave(f"switch i32 {number}, label %{otherwise} [{listed}]")

    def ret(self, type_: str = "void", value: Operand = "") -> None:
        """The end of the function, with its result if it has one."""
        self._leave(f"ret {type_} {value}" if type_ != "void" else "ret void")

    def unreachable(self) -> None:
        """The end of a basic block that is never executed."""
        self._leave("unreachable")

    def phi(self, type_: str, *ways: tuple[Operand, str], name: str = "") -> str:
        """The value for the basic block that led here: values with their labels."""
        return self.let(f"phi {type_} {', '.join(f'[{value}, %{label}]' for value, label in ways)}", name)


@functools.lru_cache(1024)
def listed(order: tuple[int, ...]) -> str:
    """The elements of a constant vector of i32."""
    return f"<{', '.join(f'i32 {k}' for k in order)}>" if any(order) else "zeroinitializer"
