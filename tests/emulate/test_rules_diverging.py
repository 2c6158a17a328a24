"""Registers when a warp diverges and reconverges: the rules on registers of every kind. That they do the same compiled,
programs show that run on both engines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ptxlab.emulate.language import Pointer
from ptxlab.emulate.rules.diverging import gather_up, spread
from ptxlab.emulate.runtime.state import ScalarRegister

ALL = (1 << 64) - 1
WIDTHS = (8, 4, 2, 1, 0)
ROOM = {8: 256, 4: 128, 2: 64, 1: 64, 0: 64}


def _registers() -> tuple[Any, int, int]:
    """Registers of all widths, two of each: their table, how many they are, and the bytes that they take."""
    rows, at = [], 128
    for width in WIDTHS * 2:
        rows.append((at, 8 * len(rows), width, len(rows), *[0] * 7, 1))
        at += ROOM[width]
    return ScalarRegister.many(np.array(rows, ScalarRegister.dtype).view(np.uint8)), len(rows), at


def test_what_is_spread_is_gathered_again() -> None:
    table, number, size = _registers()
    rng = np.random.default_rng(1)
    for mask in (0xFFFFFFFF, 1, 1 << 31, 0x00F0_0F01):
        state = rng.integers(0, 256, size, np.uint8)
        state[72:80] = 0, *state[73:80]  # a bit that is not set; the other one is
        scalars = state[: 8 * number].copy()
        spread(Pointer(state), table, number)
        for k in range(number):
            row = table[k]
            if row.width:
                lanes = state[row.vector :][: 32 * row.width].reshape(32, row.width)
                assert (lanes == scalars[row.scalar :][: row.width]).all()
        state[: 8 * number] = 0
        assert gather_up(Pointer(state), table, number, mask, ALL)
        assert [bool(state[32]), bool(state[72])] == [bool(scalars[32]), bool(scalars[72])]


def test_lanes_that_differ_do_not_reconverge() -> None:
    """In one lane of one register another value: only a mask with that lane notices."""
    table, number, size = _registers()
    for k in range(number):
        state = np.zeros(size, np.uint8)
        row = table[k]
        if row.width:
            state[row.vector + 7 * row.width] = 1
        else:
            state[row.vector] = 1 << 7
        for mask, same in ((0xFFFFFFFF, False), (0xFFFFFF7F, True), (0x80, True), (0x81, False)):
            assert gather_up(Pointer(state.copy()), table, number, mask, ALL) is same
            assert gather_up(Pointer(state.copy()), table, number, mask, ALL ^ 1 << k)


STEPS = np.array([k % 16 * 4 - 8 for k in range(32)], np.int64)


@pytest.mark.parametrize(("width", "signed", "scale", "base", "inner"), [
    (4, 0, 1, 0xFFFFFFF0, None), (8, 0, 1, (1 << 64) - 20, None), (8, 0, 4, 1 << 40, 8), (8, 1, -12, 5, 0xFFFFFFF8),
    (8, 0, 4, 1 << 40, 0xFFFFFFF8), (8, 1, 2, 7, 0x7FFFFFF0),
])  # fmt: skip
def test_affine_registers_are_spread_and_gathered(
    width: int, signed: int, scale: int, base: int, inner: int | None
) -> None:
    """base + steps, or base + scale * extend(inner + steps) + beyond. Lanes that wrap around do not become scalars
    again."""
    beyond = np.array([0] * 32 if inner is None else [k // 16 * 100 - k for k in range(32)], np.int64)
    row = np.zeros(1, ScalarRegister.dtype)
    size, second = ScalarRegister.size, 0 if inner is None else 8
    row[0] = 64, 0, width, 63, size, size + 256, second, signed, 0, 0, size + 512, scale % (1 << 64)
    constants = [(scale * STEPS + beyond).view(np.uint8), STEPS.view(np.uint8), beyond.view(np.uint8)]
    table = ScalarRegister.many(np.concatenate([row.view(np.uint8), *constants]))
    sums = [(inner or 0) + int(step) for step in STEPS]
    if inner is not None:
        sums = [s % (1 << 32) - (signed and s % (1 << 32) >> 31) * (1 << 32) for s in sums]
    expected = [(base + scale * s + int(b)) % (1 << 8 * width) for s, b in zip(sums, beyond, strict=True)]
    wraps = [s - sums[0] for s in sums] != (STEPS - STEPS[0]).tolist()
    state = np.zeros(64 + 32 * width, np.uint8)
    state[:8], state[8:16] = (np.array([n], np.uint64).view(np.uint8) for n in (base, inner or 0))
    lanes = state[64:].view(f"u{width}")
    spread(Pointer(state), table, 1)
    assert lanes.tolist() == expected
    for mask, changed in ((0xFFFFFFFF, -1), (0xFFFF0000, -1), (0xFFFFFFFF, 9), (0xFFFFFDFF, 9)):
        state[64:] = np.array(expected, f"u{width}").view(np.uint8)
        lanes[changed] += changed >= 0
        there = [s - t for k, (s, t) in enumerate(zip(sums, STEPS.tolist(), strict=True)) if mask >> k & 1]
        fine = len(set(there)) == 1 and (changed < 0 or not mask >> changed & 1)
        assert gather_up(Pointer(state), table, 1, mask, ALL) is fine
        if fine:
            spread(Pointer(state), table, 1)
            assert [n for k, n in enumerate(lanes.tolist()) if mask >> k & 1] == [
                n for k, n in enumerate(expected) if mask >> k & 1
            ]
    assert wraps is (inner in (0xFFFFFFF8, 0x7FFFFFF0) and not (inner == 0xFFFFFFF8 and signed))
