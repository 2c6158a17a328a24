"""Bulk copies: whole tiles, moved by the tensor memory accelerator while the threads go on."""

from __future__ import annotations

from typing import Any

from ptxlab.isa.actions import Action, AsyncGroup
from ptxlab.isa.table import op

_BULK = """Hopper's bulk copy: one thread starts the transfer of many bytes. {} Threads write memory by another path
   than the copy reads it: put `fence.proxy.async` between the two."""
_BY_BARRIER = "An mbarrier counts its bytes, and whoever waits for that phase may use them."
_BY_GROUP = "It belongs to the bulk group that its thread commits next."
_MULTICAST = (
    " Each block whose bit is set in the mask gets the same bytes at the same place, and its own mbarrier counts them."
)
_COUNTED: dict[str, Any] = {
    "completion": ("mbarrier::complete_tx::bytes",), "version": (8, 0), "sm": 90, "group": AsyncGroup.MBARRIER,
    "needs": {"shared::cta": ((8, 6), 90)},
}  # fmt: skip
_GROUPED: dict[str, Any] = {"version": (8, 0), "sm": 90, "group": AsyncGroup.BULK}
_TO = ("shared::cluster", "shared::cta")

op("cp.async.bulk.dst.src.completion{.L2::cache_hint}  [a], [b], size:u32, [m]{, policy:b64}",
   _BULK.format(_BY_BARRIER), does=Action.COPY, dst=_TO, src=("global",), **_COUNTED)  # fmt: skip
op("cp.async.bulk.dst.src.completion  [a], [b], size:u32, [m]", _BULK.format(_BY_BARRIER), does=Action.COPY,
   dst=("shared::cluster",), src=("shared::cta",), **_COUNTED | {"needs": {}})  # fmt: skip
op("cp.async.bulk.dst.src.completion.multicast::cluster{.L2::cache_hint}"
   "  [a], [b], size:u32, [m], mask:u16{, policy:b64}",
   _BULK.format(_BY_BARRIER + _MULTICAST), does=Action.COPY, dst=("shared::cluster",), src=("global",),
   **_COUNTED)  # fmt: skip
op("cp.async.bulk.dst.src.bulk_group{.L2::cache_hint}  [a], [b], size:u32{, policy:b64}", _BULK.format(_BY_GROUP),
   does=Action.COPY, dst=("global",), src=("shared::cta",), **_GROUPED)  # fmt: skip
op("cp.async.bulk.commit_group", """Closes a bulk group: all bulk copies to global memory that this thread has
   started since the last one.""", does=Action.COMMIT, **_GROUPED)  # fmt: skip
op("cp.async.bulk.wait_group{.read}  n:int", """Waits until at most the n youngest bulk groups of this thread are
   still in flight; with `.read` until they have read their sources, which may then be overwritten.""",
   does=Action.WAIT_GROUP, **_GROUPED)  # fmt: skip
op("cp.async.bulk.prefetch.L2.global{.L2::cache_hint}  [a], size:u32{, policy:b64}", """Asks for bytes to be
   brought into L2; changes no result.""", version=(8, 0), sm=90, does=Action.PREFETCH)  # fmt: skip

# -- tiles -------------------------------------------------------------------------------------------------------------

_DIM = ("1d", "2d", "3d", "4d", "5d")
_TILE = """Copies a tile of a tensor in 1 to 5 dimensions, which a tensor map describes: its shape and strides, the
   size of a tile (the box), the swizzle in shared memory, and the value of elements outside the tensor. The
   coordinates are those of the tile's first element, the innermost dimension first. {}"""
for _mode, _im2col, _dims in (("{.tile}", "", _DIM), (".im2col", ", i:any", _DIM[2:])):
    for _cast, _mask in (("", ""), (".multicast::cluster", ", mask:u16")):
        op(f"cp.async.bulk.tensor.dim.dst.src{_mode}.completion{_cast}{{.L2::cache_hint}}"
           f"  [a], [b], [m]{_im2col}{_mask}{{, policy:b64}}",
           _TILE.format(_BY_BARRIER + (_MULTICAST if _cast else "")), does=Action.COPY, dim=_dims, src=("global",),
           dst=_TO[: 1 if _cast else 2], fixed={"tensor": True}, **_COUNTED)  # fmt: skip
for _mode, _dims in (("{.tile}", _DIM), (".im2col_no_offs", _DIM[2:])):
    op(f"cp.async.bulk.tensor.dim.dst.src{_mode}.bulk_group{{.L2::cache_hint}}  [a], [b]{{, policy:b64}}",
       _TILE.format(_BY_GROUP), does=Action.COPY, dim=_dims, dst=("global",), src=("shared::cta",),
       fixed={"tensor": True}, **_GROUPED)  # fmt: skip
    op(f"cp.reduce.async.bulk.tensor.dim.dst.src.operation{_mode}.bulk_group{{.L2::cache_hint}}"
       "  [a], [b]{, policy:b64}",
       _TILE.format("Each element in global memory is reduced with that of the tile. " + _BY_GROUP),
       does=Action.COPY_REDUCE, dim=_dims, dst=("global",), src=("shared::cta",),
       operation=("add", "min", "max", "inc", "dec", "and", "or", "xor"), fixed={"tensor": True},
       **_GROUPED)  # fmt: skip
op("cp.async.bulk.prefetch.tensor.dim.L2.global{.tile}{.L2::cache_hint}  [a]{, policy:b64}", """Asks for a tile of a
   tensor to be brought into L2; changes no result.""", dim=_DIM, fixed={"tensor": True}, version=(8, 0), sm=90,
   does=Action.PREFETCH_TILE)  # fmt: skip
op("cp.async.bulk.prefetch.tensor.dim.L2.global.im2col{.L2::cache_hint}  [a], i:any{, policy:b64}", """Asks for a tile
   of a tensor to be brought into L2; changes no result.""", dim=_DIM[2:], fixed={"tensor": True}, version=(8, 0),
   sm=90, does=Action.PREFETCH_TILE)  # fmt: skip

# -- reductions --------------------------------------------------------------------------------------------------------

_REDUCE = "Reduces bytes in memory with those of a shared tile, element by element. "
_REDUCTIONS: tuple[tuple[tuple[str, ...], str, tuple[str, ...]], ...] = (
    (("add", "min", "max"), "", ("u32", "s32", "u64")), (("inc", "dec"), "", ("u32",)), (("min", "max"), "", ("s64",)),
    (("and", "or", "xor"), "", ("b32", "b64")), (("add",), "", ("f32", "f64")), (("min", "max"), "", ("f16", "bf16")),
    (("add",), ".noftz", ("f16", "bf16")),
)  # fmt: skip
for _operations, _noftz, _types in _REDUCTIONS:
    op(f"cp.reduce.async.bulk.dst.src.bulk_group{{.L2::cache_hint}}.operation{_noftz}.type"
       "  [a], [b], size:u32{, policy:b64}", _BULK.format(_REDUCE + _BY_GROUP), does=Action.COPY_REDUCE,
       dst=("global",), src=("shared::cta",), operation=_operations, type=_types, **_GROUPED)  # fmt: skip
_IN_SHARED: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("add",), ("u32", "s32", "u64")),
    (("min", "max"), ("u32", "s32")),
    (("inc", "dec"), ("u32",)),
    (("and", "or", "xor"), ("b32",)),
)
for _operations, _types in _IN_SHARED:
    op("cp.reduce.async.bulk.dst.src.completion.operation.type  [a], [b], size:u32, [m]",
       _BULK.format(_REDUCE + _BY_BARRIER), does=Action.COPY_REDUCE, dst=("shared::cluster",), src=("shared::cta",),
       operation=_operations, type=_types, **_COUNTED | {"needs": {}})  # fmt: skip

# -- single values to another block ------------------------------------------------------------------------------------

_ASYNC = (
    """Hopper's {} in the shared memory of another block of the cluster, which counts its bytes on an mbarrier there."""
)
_TO_BLOCK: dict[str, Any] = {
    "space": ("shared::cluster",), "completion": ("mbarrier::complete_tx::bytes",), "version": (8, 1), "sm": 90,
    "group": AsyncGroup.MBARRIER, "fixed": {"single": True},
}  # fmt: skip
_VECTORS: tuple[tuple[str, str, dict[str, Any]], ...] = (("", "b", {}), (".vec", "b:vec", {"vec": ("v2", "v4")}))
for _vec, _b, _counts in _VECTORS:
    op(f"st.async{{.weak}}{{.space}}.completion{_vec}.type  [a], {_b}, [m]", _ASYNC.format("store"), does=Action.COPY,
       **_counts, type=("b32", "b64", "u32", "u64", "s32", "s64", "f32", "f64"), **_TO_BLOCK)  # fmt: skip
for _operations, _types in _IN_SHARED:
    op("red.async.relaxed.cluster{.space}.completion.operation.type  [a], b, [m]", _ASYNC.format("atomic operation"),
       does=Action.COPY_REDUCE, operation=_operations, type=_types, **_TO_BLOCK)  # fmt: skip

# -- tensor maps -------------------------------------------------------------------------------------------------------

_REPLACE = """Changes a field of a tensor map in memory, {}. The map is read by another path: a fence
   (`fence.proxy.tensormap`) or `tensormap.cp_fenceproxy` must come before the next copy that uses it."""
_IN_MAP: dict[str, Any] = {
    "mode": ("tile",), "space": ("global", "shared::cta"), "version": (8, 3), "sm": 90, "does": Action.REPLACE_FIELD,
    "specific": True,
}  # fmt: skip
for _field, _type in (("global_address", "b64"), ("rank", "b32")):
    op(f"tensormap.replace.mode.field{{.space}}.b1024.type  [a], b:{_type}",
       _REPLACE.format("the address of the tensor, or its rank minus one"), field=(_field,), type=(_type,),
       **_IN_MAP)  # fmt: skip
_BY_DIM: tuple[tuple[tuple[str, ...], str], ...] = (
    (("box_dim", "global_dim", "element_stride"), "b32"),
    (("global_stride",), "b64"),
)
for _by_dim, _type in _BY_DIM:
    op(f"tensormap.replace.mode.field{{.space}}.b1024.type  [a], ord:int, b:{_type}",
       _REPLACE.format("that of dimension `ord`, 0 for the innermost; strides are bytes, stride 0 that of dimension 1"),
       field=_by_dim, type=(_type,), **_IN_MAP)  # fmt: skip
op("tensormap.replace.mode.field{.space}.b1024.type  [a], b:int",
   _REPLACE.format("a number that the manual's tables list"),
   field=("elemtype", "interleave_layout", "swizzle_mode", "fill_mode"), type=("b32",), **_IN_MAP)  # fmt: skip
op("tensormap.cp_fenceproxy.dst.src.tensormap::generic.release.scope.sync.aligned  [a], [b], size:int",
   """A warp copies a tensor map, 128 bytes, from shared to global memory, and makes it visible to copies: a thread
   that then acquires it by `fence.proxy.tensormap` may use it.""", dst=("global",), src=("shared::cta",),
   scope=("cta", "cluster", "gpu", "sys"), version=(8, 3), sm=90, does=Action.COPY_MAP)  # fmt: skip
