"""Matrix products as LLVM functions, one for each form: `f(ptr %ws, ptr %table)`, the registers of d, a, b and c.

`ptxlab.emulate.step.bodies.matrices` says how numbers are computed; both engines agree to the last bit. Kinds of code:

- `_general` follows the fragments: for each k it arranges one column of A and one row of B over the lanes like the
  fragment of the sum, and multiplies. It serves every form; for a sparse A with factors from
  `packed`.
- `_words` does the same with whole words, for elements smaller than a byte.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ptxlab.emulate.jit.llvm.fragments import function, store
from ptxlab.emulate.jit.llvm.ir_text import Text, W
from ptxlab.emulate.jit.matrices.element_conversions import bits, dot, fma, narrow
from ptxlab.emulate.jit.matrices.sparse_factors import Operand, PackedProducts
from ptxlab.isa.fragments import Fragment, Product, words
from ptxlab.isa.sparse import Metadata


def product_function(name: str, p: Product, declared: set[str], satfinite: bool, metadata: Metadata | None) -> str:
    """The text of the function; intrinsics that it calls are added to `declared`. metadata: where a sparse product has
    it."""
    t = Text()
    t.declared = declared
    if metadata is not None:
        _general(t, p, satfinite, PackedProducts(t, p, metadata))
    elif p.a.bits < 8:
        _words(t, p, satfinite)
    else:
        _general(t, p, satfinite)
    return function(t, name)


# -- any form ----------------------------------------------------------------------------------------------------------


def _operands(t: Text, p: Product, a: Fragment, b: Fragment) -> Iterator[Operand]:
    """A and B, as these fragments, and C: their registers follow those of D."""
    first = p.d.registers
    for f in (a, b, p.c):
        yield Operand(t, f, first, numbers=True)
        first += f.registers


def _general(t: Text, p: Product, satfinite: bool, packed: PackedProducts | None = None) -> None:
    a, b, c = _operands(t, p, p.a, p.b)
    spots = [(r, q) for r in range(p.d.registers) for q in range(p.d.packed)]
    start = {s: c.at(p.d.row[s], p.d.column[s]) for s in spots}
    integer = p.d.type == "s32"
    total = dict.fromkeys(spots, "zeroinitializer") if integer else dict(start)
    ty = "double" if p.d.type == "f64" else "float"
    for k in range(p.a.columns):
        for s in spots:
            if packed is not None:
                left, right = packed.factors(k, p.d.row[s], p.d.column[s])
            else:
                left, right = a.at(p.d.row[s], np.full(W, k)), b.at(np.full(W, k), p.d.column[s])
            if integer:
                part = t.mul(f"<{W} x i32>", left, right)
                total[s] = t.add(f"<{W} x i32>", total[s], part)
            else:
                total[s] = fma(t, ty, W, left, right, total[s])
    if integer:
        total = {s: _add(t, start[s], total[s], satfinite) for s in spots}
    for r in range(p.d.registers):
        parts = [narrow(t, p.d.type, W, total[r, q]) for q in range(p.d.packed)]
        _put(t, p.d, r, parts)


def _words(t: Text, p: Product, satfinite: bool) -> None:
    """Elements smaller than a byte: words are arranged over the lanes, and unpacked there."""
    a, b, c = _operands(t, p, words(p.a), words(p.b))
    for r in range(p.d.registers):
        row, column = p.d.row[r, 0], p.d.column[r, 0]
        along = [np.full(W, k) for k in range(p.a.columns // p.a.packed)]
        total = dot(t, p, [(a.at(row, k), b.at(k, column)) for k in along])
        store(t, r, "i32", W, _add(t, c.at(row, column), total, satfinite))


def _add(t: Text, a: str, b: str, satfinite: bool) -> str:
    """c plus the sum of the products, which by itself fits in an s32."""
    vec = f"<{W} x i32>"
    if satfinite:
        return t.call(vec, f"llvm.sadd.sat.v{W}i32", [(vec, a), (vec, b)])
    return t.add(vec, a, b)


def _put(t: Text, f: Fragment, register: int, parts: list[str]) -> None:
    """Writes a register of the result: one or two elements per lane."""
    if len(parts) == 1:
        store(t, register, bits(f), W, parts[0])
        return
    low, high = (t.zext(f"<{W} x i16>", part, f"<{W} x i32>") for part in parts)
    high = t.shl(f"<{W} x i32>", high, "splat (i32 16)")
    store(t, register, "i32", W, t.or_(f"<{W} x i32>", low, high))
