"""The performance model: what a clock does, chains of dependent instructions, waves, and the limit that it names."""

from __future__ import annotations

import math

import numpy as np
import pytest

import ptxlab as pl
from ptxlab.emulate import lower
from ptxlab.performance.estimate import Estimate, estimate, rank_correlation
from ptxlab.performance.latency import block_clocks
from ptxlab.performance.peaks import PEAKS, array_bytes, rates

TEXT = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry work(.param .u64 x)
{{
    .reg .b64 %rd<4>; .reg .b32 %r<4>; .reg .f32 %f<80>;
    .shared .align 4 .b8 tile[16384];
    ld.param.u64 %rd1, [x];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    mov.u32 %r2, tile;
    mad.lo.u32 %r3, %r1, {stride}, %r2;
{body}
    st.global.f32 [%rd3], %f1;
    ret;
}}
"""


def run_of(body: list[str], grid: int = 1, stride: int = 4) -> Estimate:
    text = TEXT.format(body="\n".join("    " + line for line in body), stride=stride)
    run = pl.launch(text, grid, 32, np.zeros(32, np.float32), counters=True, device="cpu", checks=())
    return estimate(run, kernel=text)


@pytest.mark.parametrize(
    ("gpu", "boost"),
    [("A100", 1.41), ("H100 SXM", 1.98), ("T4", 1.59), ("RTX 3090", 1.70), ("RTX 4090", 2.52), ("V100", 1.53)],
)
def test_the_clock_that_a_peak_stands_for_is_the_boost_clock(gpu: str, boost: float) -> None:
    assert rates(PEAKS[gpu]).clock / 1e9 == pytest.approx(boost, rel=0.01)


@pytest.mark.parametrize("gpu", PEAKS)
def test_every_gpu_has_rates(gpu: str) -> None:
    rate = rates(PEAKS[gpu])
    assert 0.03 < rate.pipes["fp64"] <= 2.1
    assert 256 <= rate.tensor <= 9000


def test_a_chain_waits_and_independent_instructions_do_not() -> None:
    def clocks(body: list[str]) -> int:
        program = lower(pl.parse(TEXT.format(body="\n".join(body), stride=4)))
        return sum(block_clocks(program.codes, block) for block in program.blocks)

    chain = ["fma.rn.f32 %f1, %f1, %f1, %f1;"] * 60
    free = [f"fma.rn.f32 %f{2 + n}, %f1, %f1, %f1;" for n in range(60)]
    assert clocks(chain) == 4 * 60 + 1, "the store needs the last result"
    assert 60 < clocks(free) < 80


@pytest.mark.long
def test_a_wave_more_takes_as_long_again() -> None:
    body = ["fma.rn.f32 %f1, %f1, %f1, %f1;"] * 60
    one = run_of(body)
    assert one.bound == "latency of a warp"
    assert "1 blocks, " in str(one)
    assert "modelled; limited by latency of a warp" in str(one)
    resident = one.works[0].occupancy.blocks * PEAKS["A100"].sms
    full, more = run_of(body, resident // 2), run_of(body, resident + 1)
    assert full.waves < 1 < more.waves
    assert more.clocks > full.clocks


def test_bank_conflicts_are_what_limits() -> None:
    body = [line for n in range(20) for line in (f"st.shared.f32 [%r3], %f{2 + n};",)]
    straight, conflicts = run_of(body), run_of(body, stride=128)
    wavefronts = [next(t for t in e.terms if t.resource == "shared memory").asked for e in (straight, conflicts)]
    assert wavefronts == [20, 20 * 32]
    assert conflicts.bound == "shared memory"


@pytest.mark.long
def test_a_result_of_the_library_knows_its_kernel_and_its_bytes() -> None:
    q, k, v = pl.reference.random_inputs(1, 2, 2, 64, 64, 16)
    result = pl.attention(q, k, v, kernel="tiled", device="cpu", counters=True, checks=())
    found = pl.estimate(result, gpu="T4")
    assert found.least == array_bytes(result) == 4 * q.nbytes + 2 * 64 * 4
    assert found.peaks.gpu == "T4"
    assert found.microseconds >= found.memory_seconds * 1e6 > 0
    asked = {term.resource: term.asked for term in found.terms}
    assert asked["issue slots"] * math.prod(result.run.grid) == result.counters.warp_instructions
    split = pl.decode(q[:, :, 0], k, v, 64, kernel="decode_split", splits=2, device="cpu", counters=True, checks=())
    assert [work.blocks for work in pl.estimate(split).works] in ([4, 2], [2, 4])


def test_what_cannot_be_estimated_is_said() -> None:
    q, k, v = pl.reference.random_inputs(1, 1, 1, 16, 16, 16)
    result = pl.attention(q, k, v, kernel="tiled", device="cpu")
    with pytest.raises(pl.LaunchError, match="nothing was counted; write counters=True"):
        pl.estimate(result)
    with pytest.raises(pl.LaunchError, match=r"pl\.estimate\(run, kernel=kernel\)"):
        pl.estimate(result.run)
    with pytest.raises(pl.LaunchError, match=r"a result of pl\.attention, pl\.decode or pl\.launch, got int"):
        pl.estimate(3)


def test_rank_correlation() -> None:
    assert rank_correlation([1, 2, 3, 4], [10, 20, 40, 30]) == pytest.approx(0.8)
    assert rank_correlation([1, 2, 2, 3], [3, 2, 2, 1]) == pytest.approx(-1)
    assert math.isnan(rank_correlation([1, 1], [1, 2]))


@pytest.mark.rest
@pytest.mark.long
def test_a_warp_reaches_two_thirds_of_what_a_warpgroup_does_on_hopper() -> None:
    """As Nsight Compute says of an H100: 2730.67 and 4096 operations a clock. Elsewhere a warp reaches the peak."""
    for gpu, share in (("H100 SXM", 2 / 3), ("A100", 1.0)):
        rate = rates(PEAKS[gpu])
        assert rate.warp_tensor / rate.tensor == pytest.approx(share)

    def tensor(kernel: str) -> float:
        inputs = pl.reference.random_inputs(1, 1, 1, 128, 128, 64, dtype=np.float16)
        out = pl.attention(*inputs, kernel=kernel, device="cpu", checks=(), counters=True)
        return next(t.rate for t in pl.estimate(out, gpu="H100 SXM").terms if t.resource == "tensor cores")

    rate = rates(PEAKS["H100 SXM"])
    assert tensor("pipelined") == rate.warp_tensor
    assert tensor("wgmma") == rate.tensor
