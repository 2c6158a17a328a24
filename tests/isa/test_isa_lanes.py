"""Votes, matches and reductions against loops over the 32 lanes, written from the manual's definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from isa_oracle import Wide, assert_same, lanes

from ptxlab.isa import form

LANE = np.arange(32)


class Warp(Wide):
    """One warp: the lanes that execute together are `mask`."""

    def __init__(self, active: int = 0xFFFFFFFF) -> None:
        super().__init__(32)
        self.bits = active
        self.mask = (active >> LANE & 1).astype(bool)

    def lane_read(self, a: Any, index: Any) -> Any:
        assert index.max() < 32
        return a[index]

    def ballot(self, a: Any) -> Any:
        return np.full(32, sum(1 << k for k in range(32) if a[k] and self.mask[k]), np.uint32)


def run(opcode: str, *sources: Any, active: int = 0xFFFFFFFF) -> Any:
    found = form(opcode)
    assert found.op.sem is not None
    return found.op.sem(Warp(active), found, *sources)


def every(value: int) -> Any:
    return np.full(32, value & 0xFFFFFFFF, np.uint32)


def test_an_illegal_clamp_leaves_only_lane_0() -> None:
    """clamp 32 is clamp 0: every source lane but 0 is out of range, and the lane keeps its own value."""
    a = lanes("b32", LANE)
    for source, want in ((0, 0), (5, None)):
        d, p = run("shfl.sync.idx.b32", a, every(source), every(32), every(-1))
        assert_same(d, a if want is None else every(want))
        assert_same(p, np.full(32, want is not None))


@pytest.mark.parametrize("active", [0xFFFFFFFF, 0x0000FFFF, 0x80000001, 0x00F0F000])
def test_votes(active: int) -> None:
    mask = every(active)
    here = (active >> LANE & 1).astype(bool)
    for yes in (0, 0xFFFFFFFF, 0x00001000, active, active & 0xFF0F0F01):
        p = (yes >> LANE & 1).astype(bool)
        said = p[here]
        assert_same(run("vote.sync.ballot.b32", p, mask, active=active), every(yes & active))
        assert_same(run("vote.sync.all.pred", p, mask, active=active), np.full(32, said.all()))
        assert_same(run("vote.sync.any.pred", p, mask, active=active), np.full(32, said.any()))
        assert_same(run("vote.sync.uni.pred", p, mask, active=active), np.full(32, said.all() or not said.any()))
    assert_same(run("activemask.b32", active=active), every(active))
    leader = (active & -active).bit_length() - 1
    d, p = run("elect.sync", mask, active=active)
    assert_same(d[here], every(leader)[here])
    assert_same(p[here], (LANE == leader)[here])


@pytest.mark.parametrize("type", ["b32", "b64"])
def test_matches(type: str) -> None:
    active = 0xF0F0FFFF
    here = (active >> LANE & 1).astype(bool)
    a = lanes(type, (LANE % 5) * (1 if type == "b32" else 1 << 40))
    want = [sum(1 << k for k in range(32) if here[k] and a[k] == a[lane]) for lane in range(32)]
    got = run(f"match.any.sync.{type}", a, every(active), active=active)
    assert_same(got[here], lanes("b32", want)[here])
    d, p = run(f"match.all.sync.{type}", a, every(active), active=active)
    assert_same(d, every(0))
    assert not p.any()
    same = np.where(here, a[0], a[0] + 1).astype(a.dtype)  # lanes outside may hold anything
    d, p = run(f"match.all.sync.{type}", same, every(active), active=active)
    assert_same(d, every(active))
    assert p.all()


@pytest.mark.parametrize("active", [0xFFFFFFFF, 0x0FF000F0, 0x00000100])
def test_reductions(active: int) -> None:
    here = (active >> LANE & 1).astype(bool)
    a = np.random.default_rng(active & 7).integers(0, 1 << 32, 32, np.uint32)
    some = a[here]
    signed = some.view(np.int32)
    expected = {
        "add.u32": some.astype(np.uint64).sum(), "min.u32": some.min(), "max.u32": some.max(), "min.s32": signed.min(),
        "max.s32": signed.max(), "add.s32": some.astype(np.uint64).sum(), "and.b32": np.bitwise_and.reduce(some),
        "or.b32": np.bitwise_or.reduce(some), "xor.b32": np.bitwise_xor.reduce(some),
    }  # fmt: skip
    for name, want in expected.items():
        assert_same(run(f"redux.sync.{name}", a, every(active), active=active), every(int(want)), name)


@pytest.mark.parametrize("active", [0xFFFFFFFF, 0x0FF000F0, 0x00000100])
def test_reductions_of_floats(active: int) -> None:
    here = (active >> LANE & 1).astype(bool)
    rng = np.random.default_rng(active & 7)
    numbers = rng.standard_normal(32).astype(np.float32)
    numbers[rng.integers(0, 32, 6)] = [0.0, -0.0, np.inf, -np.inf, 1e-42, -1e-42]
    with_nan = np.where(rng.random(32) < 0.4, np.float32(np.nan), numbers)
    for a in (numbers, with_nan, np.full(32, np.nan, np.float32), np.resize(np.float32([0.0, -0.0]), 32)):
        for name, word, pick in (("min", "", min), ("max", "", max), ("min", ".abs", min), ("max", ".abs", max)):
            some = [float(x) for x in (np.abs(a) if word else a)[here]]
            real = [x for x in some if x == x]
            want = pick(real, key=lambda x: (x, np.copysign(1, x))) if real else np.nan
            got = run(f"redux.sync.{name}{word}.f32", a, every(active), active=active)
            assert_same(got, np.full(32, want, np.float32), name, word)
            want = want if len(real) == len(some) else np.nan
            got = run(f"redux.sync.{name}{word}.NaN.f32", a, every(active), active=active)
            assert_same(got, np.full(32, want, np.float32), name, word, "NaN")
