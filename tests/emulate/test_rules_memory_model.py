"""The memory model: each rule in Python and compiled against a plain recount, and the record of what was asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ptxlab.emulate.program.addresses import LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW
from ptxlab.emulate.rules import memory_model as M
from ptxlab.emulate.runtime.state import GENERIC, GLOBAL, LOCAL, PARAM, SHARED

rules_in_llvm = pytest.importorskip("compiled_rules")
RULES = [M.sectors, M.lane_groups, M.wavefronts, M.in_spaces, M.remembered_wavefronts, M.count_access, M.lanes_differ]
SIZES = (1, 2, 4, 8, 16)
FULL = 0xFFFFFFFF


@pytest.fixture(scope="module")
def compiled() -> Any:
    return rules_in_llvm.Compiled(RULES)


def masks(rng: np.random.Generator) -> list[int]:
    """Full, half, one lane, and lanes here and there."""
    return [FULL, 0xFFFF, 1 << int(rng.integers(32)), int(rng.integers(1, 1 << 32))]


def addresses(rng: np.random.Generator, size: int) -> list[np.ndarray]:
    """Aligned addresses of 32 lanes: in a row, all one, with strides, in pairs, swizzled, anywhere."""
    lane = np.arange(32, dtype=np.uint64)
    orders = [lane, lane * 0, lane * 2, lane * 32, lane // 2, lane ^ 5, lane & 1 | lane >> 2 << 1, lane % 8 * 8 + lane]
    orders += [rng.integers(0, limit, 32).astype(np.uint64) for limit in (4, 64, 1000, 4096)]
    orders += [lane * 1024, lane * 1024 + lane % 3, lane // 3 * 32]  # in rows far apart, three in each row
    return [(order + np.uint64(rng.integers(0, 256))) * np.uint64(size) for order in orders]


def every(rng: np.random.Generator) -> list[tuple[np.ndarray, int, int]]:
    return [(at, mask, size) for size in SIZES for at in addresses(rng, size) for mask in masks(rng)]


def lanes_of(mask: int) -> list[int]:
    return [lane for lane in range(32) if mask >> lane & 1]


def recounted_sectors(at: np.ndarray, mask: int, size: int) -> tuple[int, int]:
    touched = {int(at[lane]) // 32 for lane in lanes_of(mask)}
    return len(touched), min(len(touched), -(-len(lanes_of(mask)) * size // 32))


def recounted_wavefronts(at: np.ndarray, mask: int, size: int, pairs: bool) -> tuple[int, int]:
    """Bank by bank: the worst one of each group."""
    words = {lane: int(at[lane]) // max(4, size) for lane in lanes_of(mask)}
    banks = lanes = min(32, 128 // size)
    if pairs and size > 4 and any(all(words.get(n ^ d, w) == w for n, w in words.items()) for d in (1, 2)):
        lanes *= 2
    wanted: dict[int, dict[int, set[int]]] = {}
    for lane, word in words.items():
        wanted.setdefault(lane // lanes, {}).setdefault(word % banks, set()).add(word)
    return sum(max(map(len, group.values())) for group in wanted.values()), len(wanted)


def test_sectors(compiled: Any) -> None:
    rng = np.random.default_rng(1)
    for at, mask, size in every(rng):
        expected = recounted_sectors(at, mask, size)
        assert M.sectors(at, mask, size) == expected
        assert compiled(M.sectors, at, mask, size) == expected


@pytest.mark.parametrize("pairs", [False, True])
def test_wavefronts(compiled: Any, pairs: bool) -> None:
    rng = np.random.default_rng(2)
    for at, mask, size in every(rng):
        for lower in (0, 40, 5000):  # as far from the address of another lane
            place = at.astype(np.int64) - lower * size
            offset, expected = place.astype(np.uint32), recounted_wavefronts(place, mask, size, pairs)
            assert M.wavefronts(offset, mask, size, pairs) == expected
            assert compiled(M.wavefronts, offset, mask, size, pairs) == expected


def test_a_remembered_answer_is_that_of_the_question(compiled: Any) -> None:
    rng = np.random.default_rng(3)
    for size in SIZES:
        memos = [M.Memo.new(), M.Memo.new()]
        for at in addresses(rng, size):
            for mask in masks(rng)[:2]:
                for start in (0, 0, 128, 132):  # the same again, moved by whole rows of banks, by a word
                    offset = at.astype(np.uint32) + np.uint32(start)
                    expected = recounted_wavefronts(offset, mask, size, True)
                    assert M.remembered_wavefronts(memos[0], offset, mask, size, True) == expected
                    assert compiled(M.remembered_wavefronts, memos[1], offset, mask, size, True) == expected
        assert bytes(memos[0].buffer) == bytes(memos[1].buffer)


def test_groups(compiled: Any) -> None:
    rng = np.random.default_rng(4)
    for mask in [0, FULL, 1, 1 << 31, *(int(m) for m in rng.integers(0, 1 << 32, 20)), *(1 << k for k in range(32))]:
        for size in (8, 16, 32):
            expected = len({lane // size for lane in lanes_of(mask)})
            assert M.lane_groups(mask, size) == compiled(M.lane_groups, mask, size) == expected


def test_lanes_that_differ(compiled: Any) -> None:
    values = np.full(32, 7, np.uint32)
    values[9] = 8
    for mask, expected in ((FULL, True), (FULL & ~(1 << 9), False), (1 << 9, False), (3 << 8, True), (3, False)):
        assert M.lanes_differ(values, mask) == compiled(M.lanes_differ, values, mask) == expected


STARTS = {GLOBAL: 0x200_0000_0000, SHARED: SHARED_WINDOW, LOCAL: LOCAL_WINDOW, PARAM: PARAM_WINDOW}


def test_generic_addresses_are_told_apart(compiled: Any) -> None:
    spaces = [list(STARTS)[lane % 4] for lane in range(32)]
    at = np.array([STARTS[space] + 4 * lane for lane, space in enumerate(spaces)], np.uint64)
    mask = 0x0FFFFFF0
    expected = tuple(
        sum(1 << lane for lane in lanes_of(mask) if spaces[lane] == space) for space in (GLOBAL, SHARED, LOCAL)
    )
    assert M.in_spaces(at, mask, GENERIC) == compiled(M.in_spaces, at, mask, GENERIC) == expected
    for k, space in enumerate((GLOBAL, SHARED, LOCAL)):
        named = tuple(mask if k == j else 0 for j in range(3))
        assert M.in_spaces(at, mask, space) == compiled(M.in_spaces, at, mask, space) == named
    assert M.in_spaces(at, mask, PARAM) == compiled(M.in_spaces, at, mask, PARAM) == (0, 0, 0)


def test_what_an_instruction_has_asked_for(compiled: Any) -> None:
    rng = np.random.default_rng(5)
    for size in SIZES:
        records = [M.Counted.new(), M.Counted.new()]
        expected = np.zeros((3, 4), np.int64)  # of global, shared, local: requests, bytes, needed, ideal
        for k, at in enumerate(addresses(rng, size)):
            mask, space = int(rng.integers(1, 1 << 32)), (GLOBAL, SHARED, LOCAL, GENERIC)[k % 4]
            at = at + rng.choice(np.array(list(STARTS.values()), np.uint64), 32) if space == GENERIC else at
            M.count_access(records[0], at, mask, size, space, True)
            compiled(M.count_access, records[1], at, mask, size, space, True)
            for j, there in enumerate(M.in_spaces(at, mask, space)):
                need = (recounted_sectors(at, there, size), recounted_wavefronts(at, there, size, True), (0, 0))[j]
                if there:
                    expected[j] += (1, len(lanes_of(there)) * size, *need)
        for record in records:
            for traffic, row in zip((record.in_global, record.in_shared, record.in_local), expected, strict=True):
                assert [traffic.requests, traffic.bytes, traffic.needed, traffic.ideal] == row.tolist()
        assert bytes(records[0].buffer) == bytes(records[1].buffer)
