"""The map of device addresses (never host addresses), and the records that `printf`, `assert` and `malloc` keep there.

0x0000_0100_0000_0000   module-scope .global and .const variables of the running kernel
0x0000_0200_0000_0000   Memory.allocate, each allocation followed by a guard gap
0x0000_1100_0000_0000   the .const variables again, at their generic addresses (cvta.const)
0x0000_7f7d_0000_0000   generic window of the kernel parameters (cvta.param)
0x0000_7f7e_0000_0000   generic window of .local
0x0000_7f7f_0000_0000   generic window of .shared; in it, from `PEER` (`isa.convert`) on, the memory of each block of
                        the cluster
"""

from __future__ import annotations

import numpy as np

from ptxlab.emulate.language import Record, u32

GLOBALS_BASE = 0x0000_0100_0000_0000
HEAP = 8 << 20
"""Bytes of the heap of `malloc`, a GPU's default; it gives null where it has no room."""
GRANULE = 16
"""What `malloc` gives begins at a multiple of that many bytes."""
GRID_NAME, GRID_REGISTERS = "%grid", ("%envreg2", "%envreg1")
"""The variable with the address of a cooperative grid's workspace, and the special registers that hold its words."""
HEAP_NAME, GIVEN_NAME = "%heap", "%given"
"""The names of the heap, and of the table of what `malloc` has given of it."""
HEAP_BASE = 0x0000_0200_0000_0000
# As `cvta` and `isspacep` have them (`isa.convert`, which a launch from the cache has no time to load).
CONST_WINDOW = 0x0000_1000_0000_0000
PARAM_WINDOW = 0x0000_7F7D_0000_0000
LOCAL_WINDOW = 0x0000_7F7E_0000_0000
SHARED_WINDOW = 0x0000_7F7F_0000_0000
WINDOW_SIZE = 0x0000_0000_0100_0000

BUFFER = 1 << 20
"""Bytes for the records of `printf`, a GPU's default; records beyond that are lost, and counted."""
HEADER = np.dtype({"names": ["taken"], "formats": [np.uint64], "offsets": [0], "itemsize": 16})
"""What lies in front of the records of `printf`, and of the heap: how many calls there were, or bytes taken."""
PRINTED = np.dtype([("block", np.uint32, 3), ("thread", np.uint32, 3), ("format", np.uint64)])
"""The record of a call of `printf`; its arguments follow."""
ASSERTED = np.dtype([(name, np.uint64) for name in ("text", "file", "number", "function")])
"""The record of an `assert`: addresses, and the number of the line."""


class HeapPiece(Record):
    """What is known of 16 bytes of the heap: the line that freed them (or 0); where an allocation begins, its size."""

    freed: u32
    bytes: u32


def offset_in(record: np.dtype, field: str) -> int:
    assert record.fields is not None
    return record.fields[field][1]
