"""Tensor cores: mma.sync, wmma, and the loads that put matrices into registers.

A matrix instruction belongs to a whole warp: each lane holds a fragment, and the engines run it out of line
(kind "warp"). What says `executed=False` is assembled only.
"""

from __future__ import annotations

from typing import Any

from ptxlab.isa.actions import Action
from ptxlab.isa.table import op

_MMA = """Multiplies two small matrices that the 32 lanes of a warp hold in their registers and adds a third: d = a*b
   + c. All the speed of modern attention is here: S = Q*K' and O += P*V are loops around it. Products are exact;
   sums are kept in the accumulator's type."""
_OPERANDS = "d:any, a:any, b:any, c:any"


def _mma(
    shapes: str,
    dtype: str,
    atypes: str,
    version: tuple[int, int],
    sm: int,
    more: str = "",
    words: str = "",
    **options: Any,
) -> None:
    """mma.sync of one family of types: a and b of `atypes`, c and d of `dtype`."""
    both = tuple(atypes.split())
    op(f"mma.sync.aligned.shape.row.col{words}.dtype.atype.btype.ctype{more}  {_OPERANDS}", options.pop("says", _MMA),
       shape=tuple(shapes.split()), dtype=(dtype,), atype=both, btype=both, ctype=(dtype,), version=version, sm=sm,
       **options, does=Action.MATRIX_PRODUCT)  # fmt: skip


op(f"mma.sync.aligned.m8n8k4.alayout.blayout.dtype.f16.f16.ctype  {_OPERANDS}", _MMA, does=Action.MATRIX_PRODUCT,
   alayout=("row", "col"), blayout=("row", "col"), dtype=("f16", "f32"), ctype=("f16",),
   fixed={"shape": "m8n8k4", "atype": "f16", "btype": "f16"}, version=(6, 4), sm=70)  # fmt: skip
op(f"mma.sync.aligned.m8n8k4.alayout.blayout.f32.f16.f16.f32  {_OPERANDS}", _MMA, does=Action.MATRIX_PRODUCT,
   alayout=("row", "col"),
   blayout=("row", "col"), version=(6, 4), sm=70,
   fixed={"shape": "m8n8k4", "dtype": "f32", "atype": "f16", "btype": "f16", "ctype": "f32"})  # fmt: skip
_TF32 = _MMA + " tf32 reads f32 registers and uses 10 bits of their fraction."
for _dtype in ("f16", "f32"):
    _mma("m16n8k8", _dtype, "f16", (6, 5), 75)
    _mma("m16n8k16", _dtype, "f16", (7, 0), 80)
_mma("m16n8k8 m16n8k16", "f32", "bf16", (7, 0), 80)
_mma("m16n8k4 m16n8k8", "f32", "tf32", (7, 0), 80, says=_TF32)
_mma("m8n8k4", "f64", "f64", (7, 0), 80)
_mma("m16n8k4 m16n8k8 m16n8k16", "f64", "f64", (7, 8), 90)
_mma("m8n8k16", "s32", "u8 s8", (6, 5), 75, words="{.satfinite}")
_mma("m16n8k16 m16n8k32", "s32", "u8 s8", (7, 0), 80, words="{.satfinite}")
_mma("m8n8k32", "s32", "u4 s4", (6, 5), 75, words="{.satfinite}")
_mma("m16n8k32 m16n8k64", "s32", "u4 s4", (7, 0), 80, words="{.satfinite}")
_BITS = """Multiplies matrices of single bits: the product of two bits is their `.xor` or `.and`, and d counts the ones
   along k and adds c."""
_mma("m8n8k128", "s32", "b1", (7, 0), 75, ".bits.popc", bits=("xor",), says=_BITS)
_mma("m16n8k128 m16n8k256", "s32", "b1", (7, 0), 80, ".bits.popc", bits=("xor",), says=_BITS)
_mma("m8n8k128 m16n8k128 m16n8k256", "s32", "b1", (7, 1), 80, ".bits.popc", bits=("and",), says=_BITS)
_mma("m16n8k32", "f32", "e4m3 e5m2", (8, 4), 89)
_mma("m16n8k16", "f32", "e4m3 e5m2", (8, 7), 89)
_mma("m16n8k16 m16n8k32", "f16", "e4m3 e5m2", (8, 7), 89)

_SPARSE = """The product with a sparse a: two of every four elements of a row are zero and not stored. e, the metadata,
   says which are stored; f says which lanes hold e (`ptxlab.isa.sparse`). Half of the products, so twice the rate."""
for _shapes, _dtype, _factors, _more, _version, _sm in (
    ("m16n8k16 m16n8k32", "f16", "f16", "", (7, 1), 80),
    ("m16n8k16 m16n8k32", "f32", "f16", "", (7, 1), 80),
    ("m16n8k16 m16n8k32", "f32", "bf16", "", (7, 1), 80),
    ("m16n8k8 m16n8k16", "f32", "tf32", "", (7, 1), 80),
    ("m16n8k32 m16n8k64", "s32", "u8 s8", "{.satfinite}", (7, 1), 80),
    ("m16n8k64 m16n8k128", "s32", "u4 s4", "{.satfinite}", (7, 1), 80),
    ("m16n8k64", "f32", "e4m3 e5m2", "", (8, 4), 89),
):
    for _sparse in ("sp", "sp::ordered_metadata"):
        _both = tuple(_factors.split())
        op(f"mma.{_sparse}.sync.aligned.shape.row.col{_more}.dtype.atype.btype.ctype  {_OPERANDS}, e:b32, f:int",
           _SPARSE, does=Action.MATRIX_PRODUCT, shape=tuple(_shapes.split()), dtype=(_dtype,), atype=_both, btype=_both,
           ctype=(_dtype,), fixed={"sparse": True}, version=max(_version, (8, 5) if "::" in _sparse else _version),
           sm=_sm)  # fmt: skip

# -- fragments to and from shared memory -------------------------------------------------------------------------------

op("ldmatrix.sync.aligned.shape.num{.trans}{.space}.b16  d:any, [a]", """Loads one, two or four 8x8 matrices of 16-bit
   elements from shared memory, already spread over the lanes as `mma.sync` wants them; lane k gives the address of row
   k. `.trans` hands out the transpose, as attention needs it of V.""", does=Action.LOAD_ROWS, shape=("m8n8",),
   num=("x1", "x2", "x4"),
   space=("shared", "shared::cta"), version=(6, 5), sm=75)  # fmt: skip
op("stmatrix.sync.aligned.shape.num{.trans}{.space}.b16  [a], b:any", """Stores one, two or four 8x8 matrices of 16-bit
   elements to shared memory from the fragments of a warp; lane k gives the address of row k.""",
   does=Action.STORE_ROWS,
   shape=("m8n8",), num=("x1", "x2", "x4"), space=("shared", "shared::cta"), version=(7, 8), sm=90)  # fmt: skip
op("movmatrix.sync.aligned.m8n8.trans.b16  d:b32, a:b32", """Transposes an 8x8 matrix of 16-bit elements, one
   register per lane of a warp.""", does=Action.TRANSPOSE, fixed={"shape": "m8n8"}, version=(7, 8), sm=75)  # fmt: skip

# -- wmma: the older interface -----------------------------------------------------------------------------------------

_SHAPES = ("m16n16k16", "m8n32k16", "m32n8k16")
_SPACES = ("global", "shared", "shared::cta")
_LOAD = """Loads a matrix from memory into the fragments of a warp. Which lane holds what is not specified: only wmma
   may use it, which is why `mma.sync` won."""
_IN: tuple[str, ...] = ("f16", "bf16", "u8", "s8")
for _what, _types in (("a", _IN), ("b", _IN), ("c", ("f16", "f32", "s32"))):
    op("wmma.load.matrix.sync.aligned.layout.shape{.space}.type  d:any, [a]{, stride:u32}", _LOAD,
       does=Action.LOAD_FRAGMENT,
       matrix=(_what,), layout=("row", "col"), shape=_SHAPES, space=_SPACES, type=_types, version=(6, 3), sm=70,
       needs={"bf16": ((7, 0), 80), "u8": ((6, 3), 72), "s8": ((6, 3), 72), "s32": ((6, 3), 72)})  # fmt: skip
for _what, _shape, _type in (
    ("a", "m16n16k8", "tf32"), ("b", "m16n16k8", "tf32"), ("c", "m16n16k8", "f32"), ("a", "m8n8k4", "f64"),
    ("b", "m8n8k4", "f64"), ("c", "m8n8k4", "f64"),
):  # fmt: skip
    op(f"wmma.load.matrix.sync.aligned.layout.shape{{.space}}.{_type}  d:any, [a]{{, stride:u32}}", _LOAD,
       does=Action.LOAD_FRAGMENT,
       matrix=(_what,), layout=("row", "col"), shape=(_shape,), space=_SPACES, fixed={"type": _type},
       version=(7, 0), sm=80)  # fmt: skip
for _what, _layout, _shape, _types in (
    ("a", "row", "m8n8k32", ("u4", "s4")),
    ("b", "col", "m8n8k32", ("u4", "s4")),
    ("a", "row", "m8n8k128", ("b1",)),
    ("b", "col", "m8n8k128", ("b1",)),
):
    op("wmma.load.matrix.sync.aligned.layout.shape{.space}.type  d:any, [a]{, stride:u32}",
       _LOAD + " `stride` counts elements.", does=Action.LOAD_FRAGMENT, matrix=(_what,), layout=(_layout,),
       shape=(_shape,), space=_SPACES, type=_types, version=(6, 3), sm=75)  # fmt: skip
_SMALL = ("m8n8k32", "m8n8k128")
op("wmma.load.matrix.sync.aligned.layout.shape{.space}.s32  d:any, [a]{, stride:u32}", _LOAD, does=Action.LOAD_FRAGMENT,
   matrix=("c",), layout=("row", "col"), shape=_SMALL, space=_SPACES, version=(6, 3), sm=75)  # fmt: skip
_STORE = """Stores the accumulator fragments of a warp to memory as a matrix."""
op("wmma.store.d.sync.aligned.layout.shape{.space}.type  [a], b:any{, stride:u32}", _STORE, does=Action.STORE_FRAGMENT,
   layout=("row", "col"), shape=_SHAPES, space=_SPACES, type=("f16", "f32", "s32"), fixed={"matrix": "d"},
   version=(6, 3), sm=70)  # fmt: skip
op("wmma.store.d.sync.aligned.layout.shape{.space}.s32  [a], b:any{, stride:u32}", _STORE, does=Action.STORE_FRAGMENT,
   layout=("row", "col"), shape=_SMALL, space=_SPACES, fixed={"matrix": "d"}, version=(6, 3), sm=75)  # fmt: skip
for _shape, _type in (("m16n16k8", "f32"), ("m8n8k4", "f64")):
    op(f"wmma.store.d.sync.aligned.layout.shape{{.space}}.{_type}  [a], b:any{{, stride:u32}}", _STORE,
       does=Action.STORE_FRAGMENT,
       layout=("row", "col"), shape=(_shape,), space=_SPACES, fixed={"matrix": "d", "type": _type},
       version=(7, 0), sm=80)  # fmt: skip
_WMMA = """Multiplies two matrices that a warp holds as wmma fragments and adds a third: d = a*b + c."""
op("wmma.mma.sync.aligned.alayout.blayout.shape.dtype.ctype  d:any, a:any, b:any, c:any", _WMMA,
   does=Action.FRAGMENT_PRODUCT,
   alayout=("row", "col"), blayout=("row", "col"), shape=_SHAPES, dtype=("f16", "f32"), ctype=("f16", "f32"),
   fixed={"atype": "f16", "btype": "f16"}, version=(6, 3), sm=70)  # fmt: skip
for _dtype, _type, _more, _version, _sm in (
    ("f32", "bf16", "", (7, 0), 80),
    ("s32", "u8", "{.satfinite}", (6, 3), 72),
    ("s32", "s8", "{.satfinite}", (6, 3), 72),
):
    op(f"wmma.mma.sync.aligned.alayout.blayout.shape.dtype.atype.btype.ctype{_more}  d:any, a:any, b:any, c:any", _WMMA,
       does=Action.FRAGMENT_PRODUCT, alayout=("row", "col"), blayout=("row", "col"), shape=_SHAPES, dtype=(_dtype,),
       atype=(_type,), btype=(_type,), ctype=(_dtype,), version=_version, sm=_sm)  # fmt: skip

for _shape, _dtype, _type, _more in (("m16n16k8", "f32", "tf32", ""), ("m8n8k4", "f64", "f64", "{.rn}")):
    op(f"wmma.mma.sync.aligned.alayout.blayout.shape.dtype.atype.btype.ctype{_more}  d:any, a:any, b:any, c:any", _WMMA,
       does=Action.FRAGMENT_PRODUCT, alayout=("row", "col"), blayout=("row", "col"), shape=(_shape,), dtype=(_dtype,),
       atype=(_type,), btype=(_type,), ctype=(_dtype,), version=(7, 0), sm=80)  # fmt: skip

for _type in ("u4", "s4"):
    op("wmma.mma.sync.aligned.row.col.shape.s32.atype.btype.s32{.satfinite}  d:any, a:any, b:any, c:any", _WMMA,
       does=Action.FRAGMENT_PRODUCT, shape=("m8n8k32",), atype=(_type,), btype=(_type,),
       fixed={"dtype": "s32", "ctype": "s32"}, version=(6, 3), sm=75)  # fmt: skip
op("wmma.mma.bits.popc.sync.aligned.row.col.shape.s32.b1.b1.s32  d:any, a:any, b:any, c:any", _BITS,
   does=Action.FRAGMENT_PRODUCT, bits=("xor", "and"), shape=("m8n8k128",),
   fixed={"dtype": "s32", "atype": "b1", "btype": "b1", "ctype": "s32"}, version=(6, 3), sm=75,
   needs={"and": ((7, 1), 80)})  # fmt: skip
