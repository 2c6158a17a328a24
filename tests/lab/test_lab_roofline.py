"""The explorer's counters and roofline: what is counted, what is modelled, and where the peaks come from."""

from __future__ import annotations

from typing import Any

import pytest
from rooflines import SIZES, both

import ptxlab as pl
from ptxlab import kernels
from ptxlab.lab import run_pane
from ptxlab.performance import roofline
from ptxlab.performance.peaks import PEAKS


def run_of(kernel: str, **more: Any) -> Any:
    q, k, v = pl.reference.random_inputs(1, 1, 1, 32, 32, 16, **more)
    return pl.attention(q, k, v, kernel=kernel, device="step", counters=True)


def test_counters_say_what_is_counted_and_what_is_modelled() -> None:
    counts = run_of("tiled").counters
    shown = run_pane.counters(counts)
    assert shown is not None
    assert sum(warps for _, warps, _ in shown["opcodes"]) == shown["instructions"]["warps"] == counts.warp_instructions
    memory = {row["name"].strip(): row for row in shown["memory"]}
    assert memory["global sectors"]["value"] == counts["memory_l2_theoretical_sectors_global"]
    assert memory["global sectors"]["ideal"] == counts["memory_l2_theoretical_sectors_global_ideal"]
    assert (memory["global requests"]["origin"], memory["global sectors"]["origin"]) == ("counted", "modelled")
    assert "bank conflicts" in memory
    work = {row["name"]: row for row in shown["work"]}
    assert work["FLOP, f32"]["value"] == counts.flops["f32"]
    worst = shown["lines"][0]
    assert worst[2] > worst[3] or worst[4] > worst[5]
    assert run_pane.counters(None) is None


def test_a_roofline_bounds_by_memory_below_the_ridge_and_by_arithmetic_above() -> None:
    r = roofline.Roof("k", PEAKS["A100"], {"f32": 195}, asked=195, least=1)
    ridge = 19.5e12 / 2039e9
    assert r.bound(ridge / 2) == "memory bandwidth"
    assert r.attainable(ridge / 2) == pytest.approx(19.5e12 / 2)
    assert r.bound(2 * ridge) == "arithmetic"
    assert [(origin, round(x, 3)) for origin, _, x, _ in r.points()] == [("modelled", 1.0), ("modelled", 195.0)]
    mixed = roofline.Roof("k", PEAKS["A100"], {"f32": 195, "tensor": 3120}, None, 1, seconds=1e-9)
    assert mixed.peak == pytest.approx(3315 / (195 / 19.5e12 + 3120 / 312e12))
    assert mixed.points()[-1][0] == "measured"
    assert mixed.points()[-1][3] == pytest.approx(3315e9)


@pytest.mark.parametrize(
    ("gpu", "sms", "clock", "f32", "f64", "tensor", "tensor_clock"),
    [
        ("A100", 108, 1.41, 64, 32, 1024, None),
        ("H100 SXM", 132, 1.98, 128, 64, 2048, 1.83),
        ("H200", 132, 1.98, 128, 64, 2048, 1.83),
        ("B200", 148, 1.98, 128, 64, 4096, 1.86),
        ("V100", 80, 1.53, 64, 32, 512, None),
        ("T4", 40, 1.59, 64, 2, 512, None),
        ("RTX 3090", 82, 1.695, 128, 2, 256, None),
        ("A10", 72, 1.695, 128, 2, 512, None),
        ("Jetson AGX Orin", 16, 1.3, 128, 2, 1024, None),
        ("RTX 4090", 128, 2.52, 128, 2, 256, None),
        ("L4", 58, 2.04, 128, 2, 512, None),
        ("RTX 5090", 170, 2.407, 128, 2, 256, None),
    ],
)
def test_peaks_are_fma_a_clock_times_the_clock(
    gpu: str, sms: int, clock: float, f32: int, f64: int, tensor: int, tensor_clock: float | None
) -> None:
    """From multiprocessors, multiply-adds of each in a clock, and GHz, as the white papers have them."""
    peaks = PEAKS[gpu]
    assert peaks.sms == sms
    assert peaks.f32 == pytest.approx(sms * f32 * 2 * clock * 1e9, rel=0.01)
    assert peaks.f64 == pytest.approx(sms * f64 * 2 * clock * 1e9, rel=0.02)
    assert peaks.tensor == pytest.approx(sms * tensor * 2 * (tensor_clock or clock) * 1e9, rel=0.01)


def test_a_grid_that_leaves_multiprocessors_idle_has_a_lower_roof() -> None:
    full = roofline.Roof("k", PEAKS["A100"], {"f32": 195}, asked=1, least=1, blocks=4000)
    one = roofline.Roof("k", PEAKS["A100"], {"f32": 195}, asked=1, least=1, blocks=1)
    assert (full.peak, full.bound(195)) == (pytest.approx(19.5e12), "arithmetic")
    assert (one.peak, one.bound(195)) == (pytest.approx(19.5e12 / 108), "arithmetic of 1 of 108 SMs")
    result = run_of("tiled")
    shown = run_pane.roof_part(roofline.roof(result))
    assert shown["own"] == ("1 of 108 SMs", pytest.approx(19.5e12 / 108))
    assert all(point["y"] <= shown["own"][1] for point in shown["points"])


@pytest.mark.sweep(8)
@pytest.mark.parametrize(
    ("name", "more"),
    [
        *((name, {}) for name in kernels.names()),
        ("hopper", {"head_dim": 128, "causal": True}),
        ("decode_gqa", {"copy": "tma", "arch": "sm_90a"}),
    ],
)
def test_the_page_has_the_roof_that_python_has(name: str, more: dict[str, Any]) -> None:
    found, shown = both(name, **SIZES, **more)
    points = [(p["origin"], p["what"], p["x"], p["y"]) for p in shown["roofline"]["points"]]
    assert points == found.points()
    assert [p["bound"] for p in shown["roofline"]["points"]] == [found.bound(x) for _, _, x, _ in found.points()]
    sectors = {row["name"].strip(): row["value"] for row in shown["counters"]["memory"]}
    assert found.asked is not None
    assert 0 <= 32 * sectors["global sectors"] - found.asked < 32
    assert sectors["global sectors"] == sum(n for name, n in sectors.items() if name.startswith("of "))


@pytest.mark.long
def test_bulk_copies_count_in_the_roof_and_among_the_sectors() -> None:
    """`hopper` loads and stores its tiles by bulk copies: its threads alone store the log-sum-exp."""
    _, shown = both("hopper", **SIZES, seq_q=64)
    assert [round(p["x"]) for p in shown["roofline"]["points"]] == [172, 237]
    rows = {row["name"].strip(): row for row in shown["counters"]["memory"]}
    assert rows["of bulk copies"]["value"] > 100 * rows["of stores"]["value"]
    assert rows["global sectors"]["ideal"] == rows["global sectors"]["value"]


@pytest.mark.long
def test_plot_roofline_names_gpu_source_and_origin() -> None:
    result = run_of("tiled")
    figure = pl.plot_roofline([result, result], gpu="H100 SXM")
    (axis,) = figure.axes
    assert axis.get_title(loc="left") == "peaks: NVIDIA H100 data sheet, SXM, without sparsity"
    assert [t.get_text() for t in axis.get_legend().get_texts()] == ["tiled_f32_d16, modelled"] * 2
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert "limited by" in str(roofline.roof(result))
    q, k, v = pl.reference.random_inputs(1, 2, 1, 1, 40, 32)
    decoded = pl.decode(q[:, :, 0], k, v, 40, kernel="decode", device="step", counters=True)
    assert roofline.roof(decoded).least == q.nbytes + 2 * 40 * 32 * 4 + decoded.o.nbytes + decoded.lse.nbytes
    assert roofline.roof(result.run, arch="sm_90").peaks.gpu == "H100 SXM"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: pl.plot_roofline([]), "results: there is none to plot"),
        (lambda r: pl.plot_roofline(3), "results: expected results of pl.attention, pl.decode or pl.launch, got int"),
        (lambda r: pl.plot_roofline(r), "scalar_f32_d16: this result has no counters; write counters=True"),
        (
            lambda r: roofline.peaks("sm_50"),
            "target: no peaks are known here for 'sm_50'; there are some for sm_100, sm_100a, sm_120, sm_70, sm_75, "
            "sm_80, sm_86, sm_87, sm_89, sm_90, sm_90a; or name a gpu=",
        ),
        (lambda r: pl.plot_error(3), "result: expected a result of pl.attention or pl.decode, got int"),
        (lambda r: pl.plot_state(None), "result: expected a result of pl.attention or pl.decode, got NoneType"),
        (lambda r: pl.plot_state(r, row=1.5), "row: there are 1 recorded rows, 1.5 is not one of them"),
        (lambda r: pl.plot_error(r, head=1), "head: (batch, head) are below (1, 1), 1 is not"),
        (lambda r: pl.plot_error(r, head=(0, 0.5)), "head: (batch, head) are below (1, 1), (0, 0.5) is not"),
        (lambda r: pl.plot_comparison(r), "found: expected a result of pl.compare or pl.compare_decode, got Result"),
    ],
)
def test_what_cannot_be_plotted_is_named(call: Any, message: str) -> None:
    q, k, v = pl.reference.random_inputs(1, 1, 1, 2, 2, 16)
    result = pl.attention(q, k, v, kernel="scalar", device="step", state=True)
    with pytest.raises(pl.PtxlabError) as caught:
        call(result)
    assert str(caught.value) == message
