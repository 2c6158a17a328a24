"""The special registers: which there are, what each holds, and every name that PTX declares for them."""

from __future__ import annotations

from typing import NamedTuple

from ptxlab.isa import types


class SpecialRegister(NamedTuple):
    """A read-only register that the hardware provides: its PTX type, what it holds, and whether the lanes of a warp may
    hold different numbers."""

    type: str
    says: str
    varies: bool = False

    @property
    def lane(self) -> str:
        """Its lane type in the emulator."""
        return types.lane(self.type)


def _special_registers() -> dict[str, SpecialRegister]:
    table: dict[str, SpecialRegister] = {}
    for name, says in (
        ("%tid", "The thread's place in its block"),
        ("%ntid", "How many threads a block has"),
        ("%ctaid", "The block's place in the grid (PTX calls a block a CTA, cooperative thread array)"),
        ("%nctaid", "How many blocks the grid has"),
        ("%clusterid", "The cluster's place in the grid"),
        ("%nclusterid", "How many clusters the grid has"),
        ("%cluster_ctaid", "The block's place in its cluster"),
        ("%cluster_nctaid", "How many blocks a cluster has"),
    ):
        for axis in "xyz":
            table[f"{name}.{axis}"] = SpecialRegister("u32", f"{says}, in direction {axis}.", name == "%tid")
    for name, type_, says in (
        ("%laneid", "u32", "The thread's place in its warp, 0 to 31."),
        ("%warpid", "u32", "The warp's slot on its multiprocessor; it may change, so compute warps from %tid."),
        ("%nwarpid", "u32", "How many warp slots the multiprocessor has."),
        ("%smid", "u32", "Which multiprocessor runs the block."),
        ("%nsmid", "u32", "The largest multiprocessor number plus one."),
        ("%gridid", "u64", "The number of the launch."),
        ("%is_explicit_cluster", "pred", "Whether the launch asked for clusters."),
        ("%cluster_ctarank", "u32", "The block's number in its cluster."),
        ("%cluster_nctarank", "u32", "How many blocks the cluster has."),
        ("%lanemask_eq", "u32", "The bit of this lane."),
        ("%lanemask_le", "u32", "The bits of this lane and those below it."),
        ("%lanemask_lt", "u32", "The bits of the lanes below this one."),
        ("%lanemask_ge", "u32", "The bits of this lane and those above it."),
        ("%lanemask_gt", "u32", "The bits of the lanes above this one."),
        ("%clock", "u32", "A counter of the multiprocessor's cycles, its lower 32 bits."),
        ("%clock_hi", "u32", "A counter of the multiprocessor's cycles, its upper 32 bits."),
        ("%clock64", "u64", "A counter of the multiprocessor's cycles."),
        ("%globaltimer", "u64", "Nanoseconds on a clock that the whole GPU shares."),
        ("%globaltimer_lo", "u32", "The lower 32 bits of %globaltimer."),
        ("%globaltimer_hi", "u32", "The upper 32 bits of %globaltimer."),
        ("%total_smem_size", "u32", "Bytes of shared memory of the block, static and dynamic."),
        ("%aggr_smem_size", "u32", "Bytes of shared memory of the block, including what the system reserves."),
        ("%dynamic_smem_size", "u32", "Bytes of dynamic shared memory of this launch."),
        ("%current_graph_exec", "u64", "The CUDA graph that launched the kernel, or 0."),
    ):
        table[name] = SpecialRegister(type_, says, "lane" in name)
    for k in range(8):
        table[f"%pm{k}"] = SpecialRegister("u32", "A performance counter; what it counts is the driver's choice.")
        table[f"%pm{k}_64"] = SpecialRegister("u64", f"%pm{k} with 64 bits.")
    for k in range(32):
        table[f"%envreg{k}"] = SpecialRegister("b32", "A number that the driver hands to the kernel.")
    return table


SPECIAL: dict[str, SpecialRegister] = _special_registers()
"""Special register -> type and meaning: `%tid.x`, `%laneid`, `%clock64`."""

VECTORS = tuple(dict.fromkeys(name.partition(".")[0] for name in SPECIAL if "." in name))
"""Those with elements: `%tid`, `%ntid` ..."""

SPECIAL_REGISTERS = frozenset(
    {
        *SPECIAL,
        *(f"{name}{element}" for name in VECTORS for element in ("", ".w")),
        *(f"%reserved_smem_offset_{what}" for what in ("begin", "end", "cap", "0", "1")),
    }
)
"""Every name that a text may use without declaring it; those that `SPECIAL` does not have, the emulator has not."""

NAMES = tuple(sorted({name[1:].partition(".")[0] for name in SPECIAL_REGISTERS}))
"""The same without percent sign and elements: `tid`, `laneid`, `envreg0`."""

_CLUSTERS = (7, 8), 90
LATER = {
    **dict.fromkeys(("%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid"), _CLUSTERS),
    **dict.fromkeys(("%cluster_ctarank", "%cluster_nctarank", "%is_explicit_cluster"), _CLUSTERS),
    **dict.fromkeys((".reqnctapercluster", ".explicitcluster", ".maxclusterrank"), _CLUSTERS),
    ".blocksareclusters": ((9, 0), 90),
    "%aggr_smem_size": ((8, 1), 90),
    "%current_graph_exec": ((8, 0), 0),
    **{f"%reserved_smem_offset_{which}": ((7, 6), 80) for which in ("begin", "end", "cap", "0", "1")},
}
"""Special registers and directives of functions: the first version and target that have them."""
