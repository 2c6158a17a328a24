"""Hopper's matrix product, `wgmma`: four warps together, operands straight from shared memory, while the threads go on.

A warpgroup is four warps in a row, the first of them a multiple of 4. Warp w of it computes rows 16*w to 16*w + 15 of
d = a*b + d; a lies in shared memory or in the registers of its warp, b in shared memory, both described by 64-bit
descriptors (`ptxlab.emulate.rules.warpgroup_tiles`). `fence` orders registers, `commit_group` closes a group of
products, and `wait_group` waits for it: only then may d be read, and a be changed.
"""

from __future__ import annotations

from ptxlab.isa.actions import Action, AsyncGroup
from ptxlab.isa.table import op

_SAYS = """Multiplies two matrices and adds a third, d = a*b + d, four warps together: b, and a if it is not in
   registers, are read from shared memory as their descriptors say. The threads go on at once; d may be touched after
   `wgmma.wait_group`. If scale_d is false, d = a*b."""
_SIGNS = _SAYS + " imm_scale_a and imm_scale_b, 1 or -1, are their signs."
_MAJORS = (
    _SIGNS
    + """ imm_trans_a and imm_trans_b are 1 where neighbours in memory lie along m or n and not along k; with
   a in registers there is no imm_trans_a."""
)
_SPARSE = " a is stored without its zeros. e, the metadata, says where its elements belong; f says which lanes hold e."


def _columns(last: int, step: int) -> tuple[int, ...]:
    """The sizes that n may have."""
    return tuple(range(8, last + 1, step))


_FLOATS = _columns(256, 8)
_INTEGERS = (8, 16, 24, *range(32, 257, 16))
_SCALES, _TRANSPOSES = ", imm_scale_a:int, imm_scale_b:int", ", imm_trans_a:int{, imm_trans_b:int}"


def _product(
    dtypes: str,
    atypes: str,
    k: int,
    columns: tuple[int, ...],
    signs: str,
    says: str,
    *,
    btypes: str = "",
    before: str = "",
    behind: str = "",
    sparse: bool = True,
    since: tuple[int, int] = (8, 0),
) -> None:
    """The products of one family of types, dense and with a sparse a."""
    for packed in (False, True) if sparse else (False,):
        depth = 2 * k if packed else k
        op(f"wgmma.mma_async{'.sp' if packed else ''}.sync.aligned.shape{before}.dtype.atype.btype{behind}"
           f"  d:any, a:any, b:b64{', e:b32, f:int' if packed else ''}, scale_d:pred{signs}",
           says + (_SPARSE if packed else ""), does=Action.WARPGROUP_PRODUCT, group=AsyncGroup.WGMMA,
           shape=tuple(f"m64n{n}k{depth}" for n in columns), dtype=tuple(dtypes.split()), atype=tuple(atypes.split()),
           btype=tuple((btypes or atypes).split()), version=max(since, (8, 2)) if packed else since,
           sm=90, specific=True,
           fixed={"sparse": True} if packed else {} if not behind else {"bits": "and"})  # fmt: skip


_product("f16 f32", "f16", 16, _FLOATS, _SCALES + _TRANSPOSES, _MAJORS)
_product("f32", "bf16", 16, _FLOATS, _SCALES + _TRANSPOSES, _MAJORS)
_product("f32", "tf32", 8, _FLOATS, _SCALES, _SIGNS)
_product("f16 f32", "e4m3 e5m2", 32, _FLOATS, _SCALES, _SIGNS)
for _type in ("u8", "s8"):
    _product("s32", _type, 32, _INTEGERS, "", _SAYS, before="{.satfinite}")
_product("s32", "u8 s8", 32, _INTEGERS, "", _SAYS, btypes="s8 u8", before="{.satfinite}", since=(8, 4))
_product("s32", "b1", 256, _INTEGERS, "", _SAYS + " The product of two bits is their `.and`; d counts the ones.",
         behind=".and.popc", sparse=False)  # fmt: skip

op("wgmma.fence.sync.aligned", """Orders what a warpgroup does with its registers before the products that follow: it
   comes before the first one, and wherever d, or a in registers, was written by anything but a product.""",
   version=(8, 0), sm=90, specific=True, does=Action.WARPGROUP_FENCE, group=AsyncGroup.WGMMA)  # fmt: skip
op("wgmma.commit_group.sync.aligned", """Closes a group: the products that the warp has begun since the last one.""",
   version=(8, 0), sm=90, specific=True, does=Action.WARPGROUP_COMMIT, group=AsyncGroup.WGMMA)  # fmt: skip
op("wgmma.wait_group.sync.aligned  n:int", """Waits until at most the n latest groups are in flight. After it the
   results of the others are in their registers, and what they read may be overwritten.""", version=(8, 0), sm=90,
   specific=True, does=Action.WARPGROUP_WAIT, group=AsyncGroup.WGMMA)  # fmt: skip
