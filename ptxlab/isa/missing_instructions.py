"""The instructions of PTX ISA 9.0 that the table does not have."""

from __future__ import annotations

LEFT_OUT = {
    name: what
    for what, names in {"instructions that need sm_100": "tcgen05 clusterlaunchcontrol"}.items()
    for name in names.split()
}
"""First word -> why."""
