"""Elements of matrices as numbers, in LLVM IR: bits widened to f32, f64 or i32, taken out of words that hold eight or
32, and sums made narrow again."""

from __future__ import annotations

from ptxlab.emulate.jit.llvm.ir_text import Text, W
from ptxlab.isa.fragments import Fragment, Product
from ptxlab.isa.types import is_signed

VEC = f"<{W} x i32>"


def bits(f: Fragment) -> str:
    return f"i{f.bits}"


def widen(t: Text, type_: str, n: int, value: str) -> str:
    """n elements as bits -> f32, f64 or i32."""
    if type_ == "f64":
        return t.bitcast(f"<{n} x i64>", value, f"<{n} x double>")
    if type_ in ("f32", "tf32"):
        if type_ == "tf32":
            value = t.and_(f"<{n} x i32>", value, "splat (i32 -8192)")
        return t.bitcast(f"<{n} x i32>", value, f"<{n} x float>")
    if type_ == "bf16":
        high = t.shl(f"<{n} x i32>", t.zext(f"<{n} x i16>", value, f"<{n} x i32>"), "splat (i32 16)")
        return t.bitcast(f"<{n} x i32>", high, f"<{n} x float>")
    if type_ in ("s32", "b32"):
        return value
    if type_ in ("s8", "u8"):
        return t.let(f"{'sext' if is_signed(type_) else 'zext'} <{n} x i8> {value} to <{n} x i32>")
    if type_ in ("e4m3", "e5m2"):
        return _eighth(t, type_, n, value)
    half = t.bitcast(f"<{n} x i16>", value, f"<{n} x half>")
    return t.fpext(f"<{n} x half>", half, f"<{n} x float>")


def _eighth(t: Text, type_: str, n: int, value: str) -> str:
    """An 8-bit float through the f16 with the same fields: e5m2 is its upper byte, e4m3's exponent is 8 too low."""
    wide = t.zext(f"<{n} x i8>", value, f"<{n} x i16>")
    if type_ == "e5m2":
        return widen(t, "f16", n, t.shl(f"<{n} x i16>", wide, "splat (i16 8)"))
    size = t.and_(f"<{n} x i16>", wide, "splat (i16 127)")
    sign = t.and_(f"<{n} x i16>", t.shl(f"<{n} x i16>", wide, "splat (i16 8)"), "splat (i16 -32768)")
    half = t.or_(f"<{n} x i16>", t.shl(f"<{n} x i16>", size, "splat (i16 7)"), sign)
    number = t.fmul(f"<{n} x float>", widen(t, "f16", n, half), "splat (float 256.0)")
    nan = t.eq(f"<{n} x i16>", size, "splat (i16 127)")
    return t.select(nan, f"<{n} x float>", "splat (float 0x7FF8000000000000)", number, of=f"<{n} x i1>")


_NAN = {"f16": "i16 32767", "f32": "i32 2147483647", "f64": "i64 9221120237041090560"}


def narrow(t: Text, type_: str, n: int, value: str) -> str:
    """A sum -> the bits of the accumulator's type, a NaN canonical."""
    if type_ == "s32":
        return value
    wide = "double" if type_ == "f64" else "float"
    nan = t.unordered(f"<{n} x {wide}>", value, "zeroinitializer")
    if type_ == "f16":
        value, wide = t.fptrunc(f"<{n} x float>", value, f"<{n} x half>"), "half"
    bits = _NAN[type_].split()[0]
    whole = t.bitcast(f"<{n} x {wide}>", value, f"<{n} x {bits}>")
    return t.select(nan, f"<{n} x {bits}>", f"splat ({_NAN[type_]})", whole, of=f"<{n} x i1>")


def fma(t: Text, ty: str, n: int, a: str, b: str, c: str) -> str:
    suffix = {"float": "f32", "double": "f64"}[ty]
    vec = f"<{n} x {ty}>"
    return t.call(vec, f"llvm.fma.v{n}{suffix}", [(vec, a), (vec, b), (vec, c)])


# -- elements smaller than a byte --------------------------------------------------------------------------------------


def dot(t: Text, p: Product, pairs: list[tuple[str, str]]) -> str:
    """The sum, over pairs of words, of the products of the elements of A and B in them."""
    total = "zeroinitializer"
    for left, right in pairs:
        if p.bits:
            parts = [t.call(VEC, f"llvm.ctpop.v{W}i32", [(VEC, t.let(f"{p.bits} {VEC} {left}, {right}"))])]
        else:
            parts = [t.mul(VEC, nibble(t, p.a.type, left, k), nibble(t, p.b.type, right, k)) for k in range(8)]
        for part in parts:
            total = t.add(VEC, total, part)
    return total


def nibble(t: Text, type_: str, word: str, k: int) -> str:
    """Element k of each word's eight, as i32."""
    high = t.shl(VEC, word, f"splat (i32 {28 - 4 * k})")
    return t.let(f"{'ashr' if is_signed(type_) else 'lshr'} {VEC} {high}, splat (i32 28)")
