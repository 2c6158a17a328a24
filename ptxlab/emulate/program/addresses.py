"""The map of device addresses (never host addresses): where data, allocations and generic windows begin.

0x0000_0100_0000_0000   module-scope .global and .const variables of the running kernel
0x0000_0200_0000_0000   Memory.allocate, each allocation followed by a guard gap
0x0000_7f7d_0000_0000   generic window of the kernel parameters (cvta.param)
0x0000_7f7e_0000_0000   generic window of .local
0x0000_7f7f_0000_0000   generic window of .shared; in it, from `PEER` (`isa.convert`) on, the memory of each block of
                        the cluster
"""

from __future__ import annotations

GLOBALS_BASE = 0x0000_0100_0000_0000
HEAP = 8 << 20
"""Bytes of the heap of `malloc`, a GPU's default; it gives null where it has no room."""
GRANULE = 16
"""What `malloc` gives begins at a multiple of that many bytes."""
HEAP_BASE = 0x0000_0200_0000_0000
# As `cvta` and `isspacep` have them (`isa.convert`, which a launch from the cache has no time to load).
PARAM_WINDOW = 0x0000_7F7D_0000_0000
LOCAL_WINDOW = 0x0000_7F7E_0000_0000
SHARED_WINDOW = 0x0000_7F7F_0000_0000
WINDOW_SIZE = 0x0000_0000_0100_0000
