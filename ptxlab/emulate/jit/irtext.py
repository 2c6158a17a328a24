"""The text of an LLVM function while it is written: instructions, labels, fresh names."""

from __future__ import annotations

from collections.abc import Iterable

from ptxlab.emulate.jit.fields import offset
from ptxlab.emulate.language import Record
from ptxlab.emulate.runtime.state import Context, Cta, Warp

W = 32
"""Lanes of a warp."""
HELD: dict[type[Record], str] = {Context: "%ctx", Cta: "%cta", Warp: "%ws"}
"""The parameters of the functions that run code."""


class Text:
    """The text of one LLVM function while it is written; labels and names are numbered here."""

    def __init__(self, prefix: str = "v") -> None:
        self.prefix = prefix
        self.lines: list[str] = []
        self.cold: list[str] = []
        self.declared: set[str] = set()
        self.count = 0

    def name(self) -> str:
        """A fresh SSA name."""
        self.count += 1
        return f"%{self.prefix}{self.count}"

    def label(self, hint: str = "L") -> str:
        """A fresh label."""
        self.count += 1
        return f"{hint}.{self.prefix}{self.count}"

    def do(self, text: str) -> None:
        """An instruction without a result."""
        self.lines.append("  " + text)

    def let(self, text: str) -> str:
        """An instruction with a result; its name."""
        name = self.name()
        self.lines.append(f"  {name} = {text}")
        return name

    def at(self, label: str) -> None:
        """Starts a basic block."""
        self.lines.append(f"{label}:")

    def field(self, record: type[Record], path: str, pointer: str = "") -> str:
        """The address of a field (see `offset`) of the record that `pointer` points to, if not the function's own."""
        pointer, at = pointer or HELD[record], offset(record, path)
        return self.let(f"getelementptr i8, ptr {pointer}, i64 {at}") if at else pointer

    def bump(self, pointer: str, operation: str, amount: str) -> None:
        """Read, change, write: `operation` is the word and the type, as in "add i64"."""
        old = self.let(f"load {operation.split()[1]}, ptr {pointer}")
        new = self.let(f"{operation} {old}, {amount}")
        self.do(f"store {operation.split()[1]} {new}, ptr {pointer}")

    def call(self, result: str, function: str, arguments: Iterable[tuple[str, str]], attributes: str = "") -> str:
        """A call of a function or intrinsic, declared once; `arguments` are (type, value)."""
        pairs = list(arguments)
        self.declared.add(f"declare {result} @{function}({', '.join(t for t, _ in pairs)})")
        listed = ", ".join(f"{t} {v}" for t, v in pairs)
        return self.let(f"call {result} @{function}({listed}){attributes}")

    def gather(self, type_: str, align: int, pointers: str, mask: str, otherwise: str) -> str:
        """32 loads; lanes that are not in the mask get `otherwise`."""
        suffix, vec = type_.replace("float", "f32").replace("double", "f64"), f"<{W} x {type_}>"
        name = f"llvm.masked.gather.v{W}{suffix}.v{W}p0"
        self.declared.add(f"declare {vec} @{name}(<{W} x ptr>, <{W} x i1>, {vec})")
        listed = f"<{W} x ptr> align {align} {pointers}, <{W} x i1> {mask}, {vec} {otherwise}"
        return self.let(f"call {vec} @{name}({listed})")

    def scatter(self, type_: str, align: int, value: str, pointers: str, mask: str) -> None:
        """32 stores, of the lanes in the mask."""
        suffix, vec = type_.replace("float", "f32").replace("double", "f64"), f"<{W} x {type_}>"
        name = f"llvm.masked.scatter.v{W}{suffix}.v{W}p0"
        self.declared.add(f"declare void @{name}({vec}, <{W} x ptr>, <{W} x i1>)")
        self.do(f"call void @{name}({vec} {value}, <{W} x ptr> align {align} {pointers}, <{W} x i1> {mask})")

    def splat(self, type: str, scalar: str) -> str:
        """A vector of one scalar SSA value."""
        first = self.let(f"insertelement <{W} x {type}> poison, {type} {scalar}, i64 0")
        return self.let(f"shufflevector <{W} x {type}> {first}, <{W} x {type}> poison, <{W} x i32> zeroinitializer")
