"""The records of `printf`, `assert` and `malloc` in device memory, which kernels write and launches read."""

from __future__ import annotations

import numpy as np

from ptxlab.emulate.language import Record, u32

BUFFER = 1 << 20
"""Bytes for the records of `printf`, a GPU's default; records beyond that are lost, and counted."""
HEADER = np.dtype({"names": ["taken"], "formats": [np.uint64], "offsets": [0], "itemsize": 16})
"""What lies in front of the records of `printf`, and of the heap: how many calls there were, or bytes taken."""
PRINTED = np.dtype([("block", np.uint32, 3), ("thread", np.uint32, 3), ("format", np.uint64)])
"""The record of a call of `printf`; its arguments follow."""
ASSERTED = np.dtype([(name, np.uint64) for name in ("text", "file", "number", "function")])
"""The record of an `assert`: addresses, and the number of the line."""


class HeapPiece(Record):
    """What is known of 16 bytes of the heap: the line that freed them, 0 if none has; where an allocation begins, its
    size."""

    freed: u32
    bytes: u32


def offset_in(record: np.dtype, field: str) -> int:
    """Where a field of a record begins."""
    assert record.fields is not None
    return record.fields[field][1]
