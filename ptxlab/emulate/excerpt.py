"""A part of a trace as a trace of its own, small enough for a saved notebook."""

from __future__ import annotations

import io
import json
import struct
import zlib

import numpy as np

from ptxlab.emulate.lanes import DTYPE, LANES
from ptxlab.emulate.recording import Recording
from ptxlab.emulate.trace import END_TAG, HEAD, MAGIC, PAGE_HEAD, PAGE_TAG, VERSION, Columns, Page

FEWEST = 64
"""Steps of another warp that are worth showing."""


def excerpt(recording: Recording, limit: int) -> Recording:
    """The first steps of the first warps, in at most about `limit` bytes beside the header; the whole trace if it fits.

    The header holds the kernel's text and is kept whole. Of the first warp there is always something.
    """
    if recording.size <= limit:
        return recording
    (length,) = struct.unpack_from("<I", recording.data, HEAD.size - 4)
    out = bytearray(HEAD.pack(MAGIC, VERSION, length) + bytes(recording.data[HEAD.size : HEAD.size + length]))
    left, pages, steps, full = limit, 0, 0, False
    for key in recording.warps:
        for first, count, start, length, crc in recording.pages[key]:
            body = bytes(recording.data[start : start + length])
            if length > left:
                full = True
                count, body = _fitting(recording.page(start, length, crc), left, 1 if pages == 0 else FEWEST)
                if not count:
                    break
            out += PAGE_HEAD.pack(PAGE_TAG, *key, first, count, len(body), zlib.crc32(body)) + body
            left, pages, steps = left - len(body), pages + 1, steps + count
            if full:
                break
        if full:
            break
    tail = json.dumps({"pages": pages, "steps": steps, "capped": True}).encode()
    out += END_TAG + struct.pack("<I", len(tail)) + tail
    return Recording(io.BytesIO(bytes(out)), recording.name)


def _fitting(page: Page, limit: int, least: int) -> tuple[int, bytes]:
    """The most steps of a page whose bytes fit, and those bytes; (0, b"") where not even `least` do and more are
    wanted than one."""
    low, high, best = least, page.codes.size, b""
    while low <= high:
        middle = (low + high) // 2
        body = _cut(page, middle)
        if len(body) <= limit:
            low, best = middle + 1, body
        else:
            high = middle - 1
    if best:
        return low - 1, best
    return (1, _cut(page, 1)) if least == 1 else (0, b"")


def _cut(page: Page, steps: int) -> bytes:
    """The first steps of a page."""
    writes, touches = int(page.first_write[steps]), int(page.first_touch[steps])
    values = page.values[:writes]
    rows = {t: [k for k, v in enumerate(values) if v.dtype == t] for t in dict.fromkeys(DTYPE.values())}
    return Columns(
        page.codes[:steps], page.masks[:steps], np.diff(page.first_write[: steps + 1]), page.registers[:writes],
        {t: np.array([values[k] for k in ks], t).reshape(-1, LANES) for t, ks in rows.items()},
        {t: np.array(ks, np.int64) for t, ks in rows.items()}, np.diff(page.first_touch[: steps + 1]),
        page.touch_head[:touches], page.touch_masks[:touches], page.addresses[:touches],
    ).pack(page.keyframe, level=9)  # fmt: skip
