"""Tensor cores: mma.sync, wmma, and the loads that put matrices into registers; Hopper's instructions by name only.

A matrix instruction belongs to a whole warp: each lane holds a fragment, and the engines run it out of line
(kind "warp"). What this table calls `sem=None` of another kind is assembled only.
"""

from __future__ import annotations

from ptxlab.isa.table import op

_MMA = """Multiplies two small matrices that the 32 lanes of a warp hold in their registers and adds a third: d = a*b + c. All
   the speed of modern attention is here: S = Q*K' and O += P*V are loops around it. Products are exact; sums are kept
   in the accumulator's type."""
_ROWCOL = "mma.sync.aligned.shape.row.col"

op("mma.sync.aligned.m8n8k4.alayout.blayout.dtype.f16.f16.ctype  d:any, a:any, b:any, c:any", _MMA, kind="warp",
   alayout=("row", "col"), blayout=("row", "col"), dtype=("f16", "f32"), ctype=("f16", "f32"),
   fixed={"shape": "m8n8k4", "atype": "f16", "btype": "f16"}, version=(6, 4), sm=70)  # fmt: skip
op(f"{_ROWCOL}.dtype.atype.btype.ctype  d:any, a:any, b:any, c:any", _MMA, kind="warp", shape=("m16n8k8", "m16n8k16"),
   dtype=("f16", "f32"), atype=("f16",), btype=("f16",), ctype=("f16", "f32"), version=(6, 5), sm=75,
   notes={"m16n8k16": "Needs sm_80 and PTX 7.0."})  # fmt: skip
op(f"{_ROWCOL}.dtype.atype.btype.ctype  d:any, a:any, b:any, c:any", _MMA, kind="warp", shape=("m16n8k8", "m16n8k16"),
   dtype=("f32",), atype=("bf16",), btype=("bf16",), ctype=("f32",), version=(7, 0), sm=80)  # fmt: skip
op(f"{_ROWCOL}.dtype.atype.btype.ctype  d:any, a:any, b:any, c:any", _MMA + " tf32 reads f32 registers and uses 10 bits of "
   "their fraction.", kind="warp", shape=("m16n8k4", "m16n8k8"), dtype=("f32",), atype=("tf32",), btype=("tf32",),
   ctype=("f32",), version=(7, 0), sm=80)  # fmt: skip
op(f"{_ROWCOL}.dtype.atype.btype.ctype  d:any, a:any, b:any, c:any", _MMA, kind="warp",
   shape=("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"), dtype=("f64",), atype=("f64",), btype=("f64",), ctype=("f64",),
   version=(7, 0), sm=80, notes={"m16n8k16": "m16n8k4, k8 and k16 of f64 need sm_90 and PTX 7.8."})  # fmt: skip
op(f"{_ROWCOL}{{.satfinite}}.dtype.atype.btype.ctype  d:any, a:any, b:any, c:any", _MMA, kind="warp",
   shape=("m8n8k16", "m16n8k16", "m16n8k32"), dtype=("s32",), atype=("u8", "s8"), btype=("u8", "s8"), ctype=("s32",),
   version=(6, 5), sm=75)  # fmt: skip
op(f"{_ROWCOL}{{.satfinite}}.dtype.atype.btype.ctype  d:any, a:any, b:any, c:any", _MMA,
   shape=("m8n8k32", "m16n8k32", "m16n8k64"), dtype=("s32",), atype=("u4", "s4"), btype=("u4", "s4"), ctype=("s32",),
   version=(6, 5), sm=75)  # fmt: skip
op(f"{_ROWCOL}.dtype.atype.btype.ctype.bitop.popc  d:any, a:any, b:any, c:any", _MMA,
   shape=("m8n8k128", "m16n8k128", "m16n8k256"), dtype=("s32",), atype=("b1",), btype=("b1",), ctype=("s32",),
   bitop=("xor", "and"), version=(7, 0), sm=75)  # fmt: skip
op(f"{_ROWCOL}.dtype.atype.btype.ctype  d:any, a:any, b:any, c:any", _MMA, shape=("m16n8k16", "m16n8k32"),
   dtype=("f16", "f32"), atype=("e4m3", "e5m2"), btype=("e4m3", "e5m2"), ctype=("f16", "f32"), version=(8, 4),
   sm=89)  # fmt: skip
_SPARSE = "mma.spvariant.sync.aligned.shape.row.col{.satfinite}"
op(f"{_SPARSE}.dtype.atype.btype.ctype  d:any, a:any, b:any, c:any, e:b32, f:int", """The product with a sparse a: two of each four
   elements are zero and left out, `e` says which.""", spvariant=("sp", "sp::ordered_metadata"),
   shape=("m16n8k8", "m16n8k16", "m16n8k32", "m16n8k64", "m16n8k128"), dtype=("f16", "f32", "s32"),
   atype=("f16", "bf16", "tf32", "u8", "s8", "u4", "s4", "e4m3", "e5m2"),
   btype=("f16", "bf16", "tf32", "u8", "s8", "u4", "s4", "e4m3", "e5m2"), ctype=("f16", "f32", "s32"), version=(7, 1),
   sm=80)  # fmt: skip

# -- fragments to and from shared memory -------------------------------------------------------------------------------

op("ldmatrix.sync.aligned.shape.num{.trans}{.space}.b16  d:any, [a]", """Loads one, two or four 8x8 matrices of 16-bit elements
   from shared memory, already spread over the lanes as `mma.sync` wants them; lane k gives the address of row k.
   `.trans` hands out the transpose: V is read so.""", kind="warp", shape=("m8n8",), num=("x1", "x2", "x4"),
   space=("shared", "shared::cta"), version=(6, 5), sm=75)  # fmt: skip
op("stmatrix.sync.aligned.shape.num{.trans}{.space}.b16  [a], b:any", """Stores one, two or four 8x8 matrices of 16-bit elements
   to shared memory from the fragments of a warp; lane k gives the address of row k.""", kind="warp", shape=("m8n8",),
   num=("x1", "x2", "x4"), space=("shared", "shared::cta"), version=(7, 8), sm=90)  # fmt: skip
op("movmatrix.sync.aligned.m8n8.trans.b16  d:b32, a:b32", """Transposes an 8x8 matrix of 16-bit elements that a warp holds in
   one register a lane.""", kind="warp", fixed={"shape": "m8n8"}, version=(7, 8), sm=75)  # fmt: skip

# -- wmma: the older interface -----------------------------------------------------------------------------------------

_SHAPES = ("m16n16k16", "m8n32k16", "m32n8k16")
_SPACES = ("global", "shared", "shared::cta")
_LOAD = """Loads a matrix from memory into the fragments of a warp. Which lane holds what is not specified: only wmma may use
   it, which is why `mma.sync` won."""
for _what, _types in (("a", ("f16", "bf16", "u8", "s8")), ("b", ("f16", "bf16", "u8", "s8")), ("c", ("f16", "f32", "s32"))):
    op(f"wmma.load.matrix.sync.aligned.layout.shape{{.space}}.type  d:any, [a]{{, stride:u32}}", _LOAD, kind="warp",
       matrix=(_what,), layout=("row", "col"), shape=_SHAPES, space=_SPACES, type=_types, version=(6, 0), sm=70)  # fmt: skip
op("wmma.store.d.sync.aligned.layout.shape{.space}.type  [a], b:any{, stride:u32}", """Stores the accumulator fragments of a warp
   to memory as a matrix.""", kind="warp", layout=("row", "col"), shape=_SHAPES, space=_SPACES,
   type=("f16", "f32", "s32"), fixed={"matrix": "d"}, version=(6, 0), sm=70)  # fmt: skip
_WMMA = """Multiplies two matrices that a warp holds as wmma fragments and adds a third: d = a*b + c."""
op("wmma.mma.sync.aligned.alayout.blayout.shape.dtype.ctype{.satfinite}  d:any, a:any, b:any, c:any", _WMMA, kind="warp",
   alayout=("row", "col"), blayout=("row", "col"), shape=_SHAPES, dtype=("f16", "f32"), ctype=("f16", "f32"),
   fixed={"atype": "f16", "btype": "f16"}, version=(6, 0), sm=70)  # fmt: skip
op("wmma.mma.sync.aligned.alayout.blayout.shape.dtype.atype.btype.ctype{.satfinite}  d:any, a:any, b:any, c:any", _WMMA,
   kind="warp", alayout=("row", "col"), blayout=("row", "col"), shape=_SHAPES, dtype=("f32",), atype=("bf16",),
   btype=("bf16",), ctype=("f32",), version=(7, 0), sm=80)  # fmt: skip
op("wmma.mma.sync.aligned.alayout.blayout.shape.dtype.atype.btype.ctype{.satfinite}  d:any, a:any, b:any, c:any", _WMMA,
   kind="warp", alayout=("row", "col"), blayout=("row", "col"), shape=_SHAPES, dtype=("s32",), atype=("u8", "s8"),
   btype=("u8", "s8"), ctype=("s32",), version=(6, 3), sm=72)  # fmt: skip

# -- Hopper: assembled only --------------------------------------------------------------------------------------------

_WGMMA = """Hopper's matrix product: four warps together, operands straight from shared memory, running while the threads go on.
   FlashAttention-3 is built on it. The CPU machine does not run it yet."""
_N = tuple(f"m64n{n}k{k}" for k in (16, 8, 32) for n in range(8, 257, 8))
op("wgmma.mma_async.sync.aligned.shape.dtype.atype.btype  d:any, a:any, b:any, scale_d:any{, imm_scale_a:int}{, imm_scale_b:int}{, imm_trans_a:int}{, imm_trans_b:int}",
   _WGMMA, shape=_N, dtype=("f16", "f32", "s32"), atype=("f16", "bf16", "tf32", "e4m3", "e5m2", "u8", "s8"),
   btype=("f16", "bf16", "tf32", "e4m3", "e5m2", "u8", "s8"), version=(8, 0), sm=90)  # fmt: skip
op("wgmma.fence.sync.aligned", _WGMMA, version=(8, 0), sm=90)
op("wgmma.commit_group.sync.aligned", _WGMMA, version=(8, 0), sm=90)
op("wgmma.wait_group.sync.aligned  n:int", _WGMMA, version=(8, 0), sm=90)

_BULK = """Hopper's bulk copy: one thread starts the transfer of a whole tile and an mbarrier counts its bytes. The CPU machine
   does not run it yet."""
op("cp.async.bulk.dst.src.completion{.multicast::cluster}{.L2::cache_hint}  [a], [b], size:u32, [m]{, mask:u16}{, policy:b64}",
   _BULK, dst=("shared::cluster", "shared::cta"), src=("global", "shared::cta"),
   completion=("mbarrier::complete_tx::bytes",), version=(8, 0), sm=90)  # fmt: skip
op("cp.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}  [a], [b], size:u32{, policy:b64}", _BULK, version=(8, 0),
   sm=90)  # fmt: skip
op("cp.async.bulk.commit_group", _BULK, version=(8, 0), sm=90)
op("cp.async.bulk.wait_group{.read}  n:int", _BULK, version=(8, 0), sm=90)
op("cp.async.bulk.prefetch.L2.global{.L2::cache_hint}  [a], size:u32{, policy:b64}", _BULK, version=(8, 0), sm=90)
_DIM = ("1d", "2d", "3d", "4d", "5d")
op("cp.async.bulk.tensor.dim.dst.global{.mode}.completion{.multicast::cluster}{.L2::cache_hint}  [a], [b], [m]{, mask:u16}{, policy:b64}",
   _BULK, dim=_DIM, dst=("shared::cluster", "shared::cta"), mode=("tile", "im2col"),
   completion=("mbarrier::complete_tx::bytes",), version=(8, 0), sm=90)  # fmt: skip
op("cp.async.bulk.tensor.dim.global.shared::cta{.mode}.bulk_group{.L2::cache_hint}  [a], [b]{, policy:b64}", _BULK, dim=_DIM,
   mode=("tile", "im2col_no_offs"), version=(8, 0), sm=90)  # fmt: skip
op("cp.reduce.async.bulk.dst.shared::cta.completion{.L2::cache_hint}.operation{.noftz}.type  [a], [b], size:u32{, policy:b64}",
   _BULK, dst=("global",), completion=("bulk_group",), operation=("add", "min", "max", "and", "or", "xor", "inc", "dec"),
   type=("u32", "s32", "u64", "s64", "f16", "bf16", "f32", "f64", "b32", "b64"), version=(8, 0), sm=90)  # fmt: skip
op("tensormap.replace.mode.field{.space}.b1024.type  [a]{, b:any}{, c:any}", """Changes a field of a tensor map in memory. The
   CPU machine does not run it yet.""", mode=("tile",), field=("global_address", "rank", "box_dim", "global_dim",
   "global_stride", "element_stride", "elemtype", "interleave_layout", "swizzle_mode", "fill_mode"),
   space=("global", "shared::cta"), type=("b32", "b64"), version=(8, 3), sm=90)  # fmt: skip
op("mapa{.space}.type  d, a, b:u32", """The address of the same shared variable in another block of the cluster. The CPU machine
   does not run it yet.""", space=("shared::cluster",), type=("u32", "u64"), version=(7, 8), sm=90)  # fmt: skip
op("getctarank{.space}.type  d:u32, a", """Which block of the cluster a shared address belongs to. The CPU machine does not run it
   yet.""", space=("shared::cluster",), type=("u32", "u64"), version=(7, 8), sm=90)  # fmt: skip
