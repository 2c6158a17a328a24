"""Registers when a warp diverges and reconverges: the rules on registers of every kind. That they do the same compiled,
programs show that run on both engines."""

from __future__ import annotations

from typing import Any

import numpy as np

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
