"""What PTX ISA 9.0 has and the instruction table does not: forms of Blackwell, which can only be assembled.

They are written as the table's entries are, so that a text which has them is told from one that is wrong: only their
modifiers are checked, and that the target has them. Operands are named, not judged; which modifiers exclude each other,
and which need another target than the rest of their form, is left to NVIDIA's assembler.
"""

from __future__ import annotations

from ptxlab.isa.actions import Action
from ptxlab.isa.entries import Op

NOT_EXECUTED: dict[str, list[Op]] = {}
"""Opcode (first word) -> forms that the table does not have."""


def _form(syntax: str, says: str, sm: int = 100, specific: bool = False, until: int = 0, /, **words: str) -> None:
    """A form, in the notation of the table. sm, specific, until: as of `Op`. words: those of each slot, with spaces
    between."""
    name = syntax.partition(".")[0].partition("{")[0]
    choices = {slot: tuple(each.split()) for slot, each in words.items()}
    entry = Op(name, syntax, choices, says, None, Action.NOTHING, (8, 6), sm, executed=False, loose=True,
               specific=specific, until=until)  # fmt: skip
    NOT_EXECUTED.setdefault(name, []).append(entry)


_LETTER, _DATACENTER, _CONSUMER = (100, True), (100, True, 120), (120, True)
"""Targets with a letter: all from sm_100a on, those before sm_120a, those from it on."""
_SIX = "b6x16_p32 b4x16_p64"
_SPACE, _SCOPE = "shared shared::cta", "cta cluster gpu sys"

# -- tensor memory and its products ------------------------------------------------------------------------------------

_GROUP = "cta_group::1 cta_group::2"
_TENSOR_MEMORY = (
    "Manages tensor memory, which holds the operands and results of Blackwell's matrix products.",
    *_DATACENTER,
)
_form("tcgen05.alloc.group.sync.aligned{.shared::cta}.b32  [a], n", *_TENSOR_MEMORY, group=_GROUP)
_form("tcgen05.dealloc.group.sync.aligned.b32  a, n", *_TENSOR_MEMORY, group=_GROUP)
_form("tcgen05.relinquish_alloc_permit.group.sync.aligned", *_TENSOR_MEMORY, group=_GROUP)
_MOVES = "Moves data between tensor memory and the registers of a warp.", *_DATACENTER
_SHAPES, _NUMBERS = "32x32b 16x64b 16x128b 16x256b 16x32bx2", "x1 x2 x4 x8 x16 x32 x64 x128"
_form("tcgen05.ld.sync.aligned.shape.num{.pack::16b}.b32  d, [a]{, n}", *_MOVES, shape=_SHAPES, num=_NUMBERS)
_form("tcgen05.ld.red.sync.aligned.shape.num.operation{.abs}{.NaN}.type  d, p, [a]{, n}", *_MOVES,
      shape="32x32b 16x32bx2", num=_NUMBERS, operation="min max", type="f32 u32 s32")  # fmt: skip
_form("tcgen05.st.sync.aligned.shape.num{.unpack::16b}.b32  [a]{, n}, b", *_MOVES, shape=_SHAPES, num=_NUMBERS)
_form("tcgen05.what.sync.aligned", "Waits for loads or stores of tensor memory.", *_DATACENTER,
      what="wait::ld wait::st")  # fmt: skip
_form("tcgen05.what", "Orders operations on tensor memory against a barrier.", *_DATACENTER,
      what="fence::before_thread_sync fence::after_thread_sync")  # fmt: skip
_form("tcgen05.cp.group.shape{.multicast}{.b8x16}{.format}  [a], b", "Copies from shared to tensor memory.",
      *_DATACENTER, group=_GROUP, shape="128x256b 4x256b 128x128b 64x128b 32x128b",
      multicast="warpx2::02_13 warpx2::01_23 warpx4", format=_SIX)  # fmt: skip
_form("tcgen05.shift.group.down  [a]", "Moves rows of tensor memory.", *_DATACENTER, group=_GROUP)
_form("tcgen05.commit.group.mbarrier::arrive::one{.shared::cluster}{.multicast::cluster}.b64  [a]{, mask}",
      "Lets an mbarrier know when earlier operations on tensor memory are done.", *_DATACENTER,
      group=_GROUP)  # fmt: skip
_form("tcgen05.mma{.ws}{.sp}.group.kind{.block_scale}{.scale}{.ashift}{.collector}"
      "  [d], a, b{, [metadata]}, i{, [scale_a], [scale_b]}{, disabled}, enabled{, scale}",
      "Multiplies matrices in shared and tensor memory, and adds to one in tensor memory.",
      *_DATACENTER, group=_GROUP,
      kind=" ".join(f"kind::{kind}" for kind in "f16 tf32 f8f6f4 i8 mxf8f6f4 mxf4 mxf4nvf4".split()),
      scale="scale_vec::1X scale_vec::2X scale_vec::4X block16 block32",
      collector=" ".join(f"collector::{at}::{use}" for at in "a b0 b1 b2 b3".split()
                         for use in "fill use lastuse discard".split()))  # fmt: skip
_LAUNCH = "Takes over the work of a cluster that has not been launched yet."
_form("clusterlaunchcontrol.try_cancel.async{.shared::cta}.mbarrier::complete_tx::bytes{.multicast::cluster::all}.b128"
      "  [a], [m]", _LAUNCH)  # fmt: skip
_form("clusterlaunchcontrol.query_cancel.is_canceled.pred.b128  p, a", _LAUNCH)
_form("clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128  d, a", _LAUNCH)
_form("clusterlaunchcontrol.query_cancel.which.b32.b128  d, a", _LAUNCH,
      which="get_first_ctaid::x get_first_ctaid::y get_first_ctaid::z")  # fmt: skip

# -- small floats ------------------------------------------------------------------------------------------------------

_FLOATS = "e4m3 e5m2 e3m2 e2m3 e2m1"
_PRODUCT = "Multiplies matrices of 8-, 6- and 4-bit floats that a warp holds, and adds a third."
for _sparse, _deep, _deeper in (("", 32, 64), (".sp::ordered_metadata", 64, 128)):
    _operands = "d, a, b, c" + (", e, f" if _sparse else "")
    _form(f"mma{_sparse}.sync.aligned.m16n8k{_deep}.row.col.kind::f8f6f4.dtype.atype.btype.ctype  {_operands}",
          _PRODUCT, *_LETTER, dtype="f16 f32", ctype="f16 f32", atype=_FLOATS, btype=_FLOATS)  # fmt: skip
    for _kind, _k, _types, _scale, _stypes in (
        ("mxf8f6f4", _deep, _FLOATS, "{.scale_vec::1X}", "ue8m0"),
        ("mxf4", _deeper, "e2m1", "{.scale_vec::2X}", "ue8m0"),
        ("mxf4nvf4", _deeper, "e2m1", ".scale_vec::2X", "ue8m0"),
        ("mxf4nvf4", _deeper, "e2m1", ".scale_vec::4X", "ue4m3 ue8m0"),
    ):
        _form(f"mma{_sparse}.sync.aligned.m16n8k{_k}.row.col.kind::{_kind}.block_scale{_scale}.f32.atype.btype.f32.stype"
              f"  {_operands}, scale_a, selector_a, scale_b, selector_b", _PRODUCT, *_CONSUMER,
              atype=_types, btype=_types, stype=_stypes)  # fmt: skip
_CONVERTS = "Converts to or from 8-, 6- and 4-bit floats.", *_LETTER
_SMALL, _PAIRS = "e2m1x2 e2m3x2 e3m2x2", "f16x2 bf16x2"
_form("cvt.rn.satfinite{.relu}.dtype.f32  d, a, b", *_CONVERTS, dtype=_SMALL)
_form("cvt.rn{.relu}.f16x2.atype  d, a", *_CONVERTS, atype=_SMALL)
_form("cvt.rn.satfinite{.relu}.dtype.atype  d, a", *_CONVERTS, dtype=_SMALL, atype=_PAIRS)
_form("cvt.rn.satfinite{.relu}.dtype.bf16x2  d, a", *_CONVERTS, dtype="e4m3x2 e5m2x2")
_form("cvt.rn{.relu}.bf16x2.atype  d, a", *_CONVERTS, atype=f"{_SMALL} e4m3x2 e5m2x2")
_form("cvt.rnd{.satfinite}.ue8m0x2.f32  d, a, b", *_CONVERTS, rnd="rz rp")
_form("cvt.rnd{.satfinite}.ue8m0x2.bf16x2  d, a", *_CONVERTS, rnd="rz rp")
_form("cvt.rn.bf16x2.ue8m0x2  d, a", *_CONVERTS)
_STOCHASTIC = "Rounds f32 up or down by random bits.", 100, True, 110
_form("cvt.rs{.relu}{.satfinite}.dtype.f32  d, a, b, r", *_STOCHASTIC, dtype=_PAIRS)
_form("cvt.rs{.relu}.satfinite.dtype.f32  d, a, r", *_STOCHASTIC, dtype="e4m3x4 e5m2x4 e2m3x4 e3m2x4 e2m1x4")
_ROWS = "Loads or stores matrices of 8-bit elements, which may be 6 or 4 bits wide in memory.", *_LETTER
_form("ldmatrix.sync.aligned.m8n16.num{.space}.b8x16.format  d, [a]", *_ROWS, num="x1 x2 x4", space=_SPACE, format=_SIX)
_form("ldmatrix.sync.aligned.m16n16.num.trans{.space}.b8x16.format  d, [a]", *_ROWS, num="x1 x2", space=_SPACE,
      format=_SIX)  # fmt: skip
_form("ldmatrix.sync.aligned.m16n16.num.trans{.space}.b8  d, [a]", *_ROWS, num="x1 x2", space=_SPACE)
_form("stmatrix.sync.aligned.m16n8.num.trans{.space}.b8  [a], b", *_ROWS, num="x1 x2 x4", space=_SPACE)

# -- numbers -----------------------------------------------------------------------------------------------------------

_MIXED = "Computes in f32 with factors or terms of 16 bits."
for _name, _rnd, _operands in (
    ("add", "{.rnd}", "d, a, b"),
    ("sub", "{.rnd}", "d, a, b"),
    ("fma", ".rnd", "d, a, b, c"),
):
    _form(f"{_name}{_rnd}{{.sat}}.f32.atype  {_operands}", _MIXED, rnd="rn rz rm rp", atype="f16 bf16")

# -- memory ------------------------------------------------------------------------------------------------------------

_LINES = "L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate"
_WIDE = "Loads or stores 256 bits."
_POLICY, _HINTS = "{.level1}{.level2}{.L2::cache_hint}{.prefetch}.vec.type", {
    "level1": _LINES, "level2": _LINES.replace("L1", "L2"), "prefetch": "L2::64B L2::128B L2::256B",
    "scope": _SCOPE, "order": "relaxed acquire release",
}  # fmt: skip
for _vec, _types in (("v8", "b32 u32 s32 f32"), ("v4", "b64 u64 s64 f64")):
    for _start, _operands in (
        ("ld.global{.cop}.nc", "d, [a]"),
        ("ld.order.scope{.global}", "d, [a]"),
        ("st.order.scope{.global}", "[a], b"),
    ):
        _form(f"{_start}{_POLICY}  {_operands}{{, policy}}", _WIDE, cop="ca cg cs", vec=_vec, type=_types, **_HINTS)
_IO = "Stores to memory-mapped I/O without waiting."
_form("st.async.mmio.release.sys{.global}.type  [a], b", _IO,
      type="b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64 f32 f64")  # fmt: skip
_form("red.async.mmio.release.sys{.global}.operation.type  [a], b", _IO,
      operation="add min max inc dec and or xor", type="b32 b64 u32 u64 s32 s64")  # fmt: skip
_ALL = "Loads from, stores to or reduces in the same place of several GPUs."
_EIGHTS, _HALVES = "e4m3 e5m2 e4m3x2 e5m2x2 e4m3x4 e5m2x4", "f16 bf16 f16x2 bf16x2"
_ORDER = {"order": "weak relaxed acquire release", "scope": _SCOPE, "vec": "v2 v4 v8", "operation": "add min max"}
_form("multimem.ld_reduce{.order}{.scope}{.global}.operation{.acc}{.vec}.type  d, [a]", _ALL,
      90, acc="acc::f16 acc::f32", type=f"{_EIGHTS} {_HALVES}", **_ORDER)  # fmt: skip
_form("multimem.st{.order}{.scope}{.global}{.vec}.type  [a], b", _ALL, 90, type=f"{_EIGHTS} {_HALVES}", **_ORDER)
_form("multimem.red{.order}{.scope}{.global}.operation{.vec}.type  [a], b", _ALL, 90, type=_HALVES, **_ORDER)
_TILES = "Copies tiles of a tensor: four rows gathered or scattered, convolutions along a width, a pair of blocks."
_TILED = {"dim": "1d 2d 3d 4d 5d", "mode": "tile tile::gather4 im2col im2col::w im2col::w::128"}
_TO = "shared::cluster shared::cta"
_form("cp.async.bulk.tensor.dim.dst.global{.mode}.mbarrier::complete_tx::bytes{.multicast::cluster}{.group}"
      "{.L2::cache_hint}  [a], [b], [m]{, i}{, mask}{, policy}", _TILES, dst=_TO, group=_GROUP, **_TILED)  # fmt: skip
_form("cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group{.L2::cache_hint}  [a], [b]", _TILES,
      *_DATACENTER)  # fmt: skip
_form("cp.async.bulk.prefetch.tensor.dim.L2.global.mode{.L2::cache_hint}  [a]{, i}{, policy}", _TILES, **_TILED)
_MASKED = "Copies some bytes of each sixteen, or leaves out those beyond the end of a buffer."
_form("cp.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}.cp_mask  [a], [b], size, mask", _MASKED)
_form("cp.async.bulk.dst.global.mbarrier::complete_tx::bytes.ignore_oob{.L2::cache_hint}"
      "  [a], [b], size, l, r, [m]", _MASKED, 90, dst=_TO)  # fmt: skip
_form("tensormap.replace.tile.swizzle_atomicity{.space}.b1024.b32  [a], b", "Replaces a field of a tensor map.",
      *_LETTER, space="global shared::cta")  # fmt: skip
