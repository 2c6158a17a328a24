"""A part of a trace as a trace of its own, small enough for a saved notebook."""

from __future__ import annotations

import io
import json
import struct
import zlib

import numpy as np

from ptxlab.emulate.trace.pages import (
    END_TAG,
    HEAD,
    MAGIC,
    PAGE_HEAD,
    PAGE_TAG,
    VERSION,
    Columns,
    Page,
    by_kind,
    packed,
)
from ptxlab.emulate.trace.recording import Recording

FEWEST = 64
"""Steps of another warp that are worth showing."""
TRIED = 256
"""Steps that the search for the most that fit begins with."""

Key = tuple[int, int]


def excerpt(recording: Recording, limit: int, shown: tuple[Key, int] | None = None) -> tuple[Recording, dict[Key, int]]:
    """An excerpt of at most about `limit` bytes beside the header, and for each warp in it the recorded step, counted
    from 0, with which its steps begin; the whole trace if it fits.

    shown: a warp and a recorded step of it that the excerpt contains; a quarter of its steps lie before that one. By
    default the first step of the first warp. The remaining room goes to the first steps of the other warps, in order.
    The header has the kernel's text and is kept whole. There is at least one page of the chosen warp.
    """
    if recording.size <= limit or not recording.warps:
        return recording, dict.fromkeys(recording.warps, 0)
    (length,) = struct.unpack_from("<I", recording.data, HEAD.size - 4)
    out = bytearray(HEAD.pack(MAGIC, VERSION, length) + bytes(recording.data[HEAD.size : HEAD.size + length]))
    chosen, step = shown or (recording.warps[0], 0)
    begins: dict[Key, int] = {}
    left, pages, steps = limit, 0, 0
    for key in (chosen, *(k for k in recording.warps if k != chosen)):
        total = len(recording.walk(*key))
        begin, found = _fitting(recording, key, step if key == chosen else 0, left, 1 if key == chosen else FEWEST)
        if not found:
            break
        begins[key] = begin
        for first, count, body in found:
            out += PAGE_HEAD.pack(PAGE_TAG, *key, first, count, len(body), zlib.crc32(body)) + body
            left -= len(body)
        pages, steps = pages + len(found), steps + sum(count for _, count, _ in found)
        if sum(count for _, count, _ in found) < total:
            break
    tail = json.dumps({"pages": pages, "steps": steps, "capped": recording.capped or steps < recording.steps}).encode()
    out += END_TAG + struct.pack("<I", len(tail)) + tail
    part = Recording(io.BytesIO(bytes(out)), recording.name)
    part.spans = recording.spans
    return part, begins


Pages = list[tuple[int, int, bytes]]
"""Number of the first step, steps, and bytes of each page."""


def _fitting(recording: Recording, key: Key, step: int, limit: int, least: int) -> tuple[int, Pages]:
    """The most steps of a warp around `step` whose pages fit: where they begin, and the pages; none where not even
    `least` fit and more are wanted than one."""
    total = len(recording.walk(*key))
    fits, too_many, tried = 0, total + 1, max(least, TRIED)
    best: tuple[int, Pages] = 0, []
    while too_many - fits > 1:
        tried = min(tried, too_many - 1)
        begin = max(0, min(step - tried // 4, total - tried))
        found = _window(recording, key, begin, begin + tried)
        if sum(len(body) for *_, body in found) <= limit:
            fits, best = tried, (begin, found)
            tried = 2 * tried if too_many > total else (fits + too_many) // 2
        else:
            too_many = tried
            tried = (fits + too_many) // 2
    if not fits and least == 1:
        return step, _window(recording, key, step, step + 1)
    return best if fits >= min(least, total) else (0, [])


def _window(recording: Recording, key: Key, begin: int, end: int) -> Pages:
    """The recorded steps from `begin` on and before `end` of a warp."""
    out: Pages = []
    base = 0
    for first, count, start, length, crc in recording.pages[key]:
        low, high = max(0, begin - base), min(count, end - base)
        if low < high:
            whole = low == 0 and high == count
            body = bytes(recording.data[start : start + length]) if whole else b""
            out.append((first + low, high - low, body or _cut(recording.page(start, length, crc), low, high)))
        base += count
    return out


def _cut(page: Page, low: int, high: int) -> bytes:
    """The steps from `low` on and before `high` of a page."""
    writes = slice(int(page.first_write[low]), int(page.first_write[high]))
    touches = slice(int(page.first_touch[low]), int(page.first_touch[high]))
    last = {r: k for k, r in enumerate(page.registers[: writes.start].tolist())}
    before = [page.values[last[r]] if r in last else value for r, value in enumerate(page.keyframe)]
    columns = Columns(
        page.codes[low:high],
        page.masks[low:high],
        np.diff(page.first_write[low : high + 1]),
        page.registers[writes],
        by_kind(page.values[writes]),
        np.diff(page.first_touch[low : high + 1]),
        page.touch_head[touches],
        page.touch_masks[touches],
        page.addresses[touches],
    )
    return packed(columns.laid_out(by_kind(before)), level=9)
