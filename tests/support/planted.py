"""Planted bugs: small kernels that each break one rule of one check, with the lines, and how to repair them.

The notation is described in `planted_bug.py`; each topic has a module of its own.
"""

from __future__ import annotations

from planted_async import BYTES, EXITED, FLIGHT, PROXY, RACES
from planted_bug import Bug
from planted_clusters import CLUSTERS
from planted_copies import COPIES, LATE
from planted_global import GLOBAL
from planted_init import UNWRITTEN
from planted_local import LOCAL, OVERRUNS, REGISTERS
from planted_mbarrier_data import MBARRIER_COPIES, MBARRIER_RACES
from planted_mbarriers import AGAIN, MBARRIERS, UNORDERED
from planted_scopes import SCOPES
from planted_shared import SHARED
from planted_sync import BARRIERS, MASKS, SHUFFLES

BUGS: dict[str, Bug] = {}
for _topic in (
    SHARED, GLOBAL, UNWRITTEN, LOCAL, REGISTERS, OVERRUNS, BARRIERS, MASKS, SHUFFLES, COPIES, LATE, MBARRIERS,
    UNORDERED, AGAIN, MBARRIER_COPIES, MBARRIER_RACES, SCOPES, PROXY, FLIGHT, BYTES, RACES, EXITED, CLUSTERS,
):  # fmt: skip
    assert not BUGS.keys() & _topic.keys()
    BUGS |= _topic
