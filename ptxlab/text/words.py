"""The PTX manual's names that are not in the instruction table: every opcode, and the special registers."""

from __future__ import annotations

OPCODES = frozenset(
    """
    abs activemask add addc alloca and applypriority atom bar barrier bfe bfi bfind bmsk bra brev brkpt brx call clz
    clusterlaunchcontrol cnot copysign cos cp createpolicy cvt cvta discard div dp2a dp4a elect ex2 exit fence fma fns
    getctarank griddepcontrol isspacep istypep ld ldmatrix ldu lg2 lop3 mad mad24 madc mapa match max mbarrier membar
    min mma mov movmatrix mul mul24 multimem nanosleep neg not or pmevent popc prefetch prefetchu prmt rcp red redux
    rem ret rsqrt sad selp set setmaxnreg setp shf shfl shl shr sin slct sqrt st stackrestore stacksave stmatrix sub
    subc suld sured sust suq szext tanh tcgen05 tensormap testp tex tld4 trap txq vabsdiff vabsdiff2 vabsdiff4 vadd
    vadd2 vadd4 vavrg2 vavrg4 vmad vmax vmax2 vmax4 vmin vmin2 vmin4 vote vset vset2 vset4 vshl vshr vsub vsub2 vsub4
    wgmma wmma xor
    """.split()
)
"""The first word of every instruction of PTX ISA 9.0, whether the instruction table has it or not."""

_VECTOR_REGISTERS = "tid ntid ctaid nctaid clusterid nclusterid cluster_ctaid cluster_nctaid"
_SCALAR_REGISTERS = """
    laneid warpid nwarpid smid nsmid gridid is_explicit_cluster cluster_ctarank cluster_nctarank lanemask_eq
    lanemask_le lanemask_lt lanemask_ge lanemask_gt clock clock_hi clock64 globaltimer globaltimer_lo globaltimer_hi
    reserved_smem_offset_begin reserved_smem_offset_end reserved_smem_offset_cap reserved_smem_offset_0
    reserved_smem_offset_1 total_smem_size aggr_smem_size dynamic_smem_size current_graph_exec
"""

SPECIAL_REGISTERS = frozenset(
    {
        *(f"%{name}{element}" for name in _VECTOR_REGISTERS.split() for element in ("", ".x", ".y", ".z", ".w")),
        *(f"%{name}" for name in _SCALAR_REGISTERS.split()),
        *(f"%pm{i}" for i in range(8)),
        *(f"%pm{i}_64" for i in range(8)),
        *(f"%envreg{i}" for i in range(32)),
    }
)
"""The registers that the machine declares: `%tid.x`, `%laneid`, `%clock64`."""
