"""The instructions of PTX ISA 9.0 that the table does not have."""

from __future__ import annotations

LEFT_OUT = {
    name: what
    for what, names in {
        "video instructions": "vabsdiff vabsdiff2 vabsdiff4 vadd vadd2 vadd4 vavrg2 vavrg4 vmad vmax vmax2 vmax4 vmin "
        "vmin2 vmin4 vset vset2 vset4 vshl vshr vsub vsub2 vsub4",
        "instructions for several GPUs": "multimem",
        "instructions that need sm_100": "tcgen05 clusterlaunchcontrol",
    }.items()
    for name in names.split()
}
"""First word -> why."""
