"""Planted bugs: small kernels that each break one rule of one check, with the lines, and how to repair them.

The notation is described in `planted_bug.py`; each topic has a module of its own.
"""

from __future__ import annotations

from planted_bug import Bug
from planted_bulk import BYTES, EXITED, FLIGHT
from planted_bulk_data import ARRAYS, RACES
from planted_clusters import BEGUN, CLUSTERS
from planted_copies import COPIES, LATE
from planted_global import GLOBAL
from planted_init import UNWRITTEN
from planted_local import LOCAL, OVERRUNS, REGISTERS
from planted_mbarrier_data import MBARRIER_COPIES, MBARRIER_RACES
from planted_mbarriers import AGAIN, MBARRIERS, MISSES, UNORDERED
from planted_proxy import PROXY
from planted_scopes import SCOPES
from planted_shared import SHARED
from planted_sync import APART, BARRIERS, MASKS, SHUFFLES

BUGS: dict[str, Bug] = {}
for _topic in (
    SHARED, GLOBAL, UNWRITTEN, LOCAL, REGISTERS, OVERRUNS, BARRIERS, APART, MASKS, SHUFFLES, COPIES, LATE, MBARRIERS,
    UNORDERED, AGAIN, MISSES, MBARRIER_COPIES, MBARRIER_RACES, SCOPES, PROXY, FLIGHT, BYTES, RACES, EXITED, ARRAYS,
    CLUSTERS, BEGUN,
):  # fmt: skip
    assert not BUGS.keys() & _topic.keys()
    BUGS |= _topic
