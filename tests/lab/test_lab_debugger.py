"""The Python side of the debugger: what it accepts, what goes to the page, its events and its static copy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from debugger_page import REVERSE

import ptxlab as pl
from ptxlab.errors import DeviceFault, LaunchError, TraceError
from ptxlab.lab import debugger, display, lane_exchange, trace_events

pytest.importorskip("anywidget", reason="needs anywidget: pip install anywidget")

PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{
    .reg .pred %p;
    .reg .u32 %t, %bank;
    .reg .f32 %row_max, %f;
    .reg .u64 %out, %at;
    .shared .align 4 .b8 tile[8192];
    ld.param.u64 %out, [out];
    mov.u32 %t, %tid.x;
    setp.lt.u32 %p, %t, 8;
    mov.f32 %row_max, 0f3F800000;
    cvt.rn.f32.u32 %f, %t;
    @!%p bra JOIN;
    max.f32 %row_max, %row_max, %f;
JOIN:
    shl.b32 %bank, %t, 3;
    st.shared.f32 [%bank], %row_max;
    bar.sync 0;
    mul.wide.u32 %at, %t, 64;
    add.u64 %at, %at, %out;
    st.global.f32 [%at], %row_max;
    ret;
}
"""
LINES = PTX.splitlines()
LIBRARY = (*pl.kernels.names("prefill"), *pl.kernels.names("decode"))


def opened(**options: Any) -> debugger.Debugger:
    """The debugger on two warps of `PTX`."""
    return pl.debug(PTX, 1, 64, np.zeros(64 * 16, np.float32), **options)


def test_the_page_is_given_the_bytes_of_a_trace_file(tmp_path: Path) -> None:
    d = opened()
    d.recording.save(tmp_path / "k.trace")
    assert d.trace == (tmp_path / "k.trace").read_bytes()
    assert d.info["kernel"] == "k"
    assert len(d.info["lines"]) == len(LINES)
    assert set(d.info["events"]) == {"0:0", "0:1"}
    assert d.info["capped"] is False
    assert d.info["note"] == ""
    assert repr(d) == "debugger of k"


def test_where_it_opens() -> None:
    out = np.zeros(32 * 16, np.float32)
    traced = pl.launch(PTX, 1, 32, out, trace=pl.Trace())
    stores = [n for n, line in enumerate(LINES, 1) if "st.global" in line]
    assert stores
    found = pl.debug(traced, at="st.global")
    assert found.info["at"] == found.shown.at == stores
    assert pl.debug(traced, at=stores[0]).info["at"] == [stores[0]]
    assert "at" not in pl.debug(traced).info


@pytest.mark.rest
@pytest.mark.long
def test_the_rungs_for_hopper_open_at_what_they_are_about() -> None:
    for name, opcode in (("wgmma", "wgmma.mma_async"), ("hopper", "cp.async.bulk.tensor")):
        d = pl.debug(name, seq_len=16, **({"tile_q": 64, "tile_kv": 16} if name == "hopper" else {}))
        found = trace_events.first_step(d.recording, d.shown.at)
        assert found is not None
        assert d.info["start"] == [0, 0] == list(found[0])
        moment = d.recording.walk(*found[0]).moment(found[1])
        assert moment.opcode.startswith(opcode)


def test_what_is_accepted(tmp_path: Path) -> None:
    out = np.zeros(64 * 16, np.float32)
    run = pl.launch(PTX, 1, 64, out, trace=pl.Trace())
    run.trace.save(tmp_path / "k.trace")
    wanted = run.trace.steps
    for what in (run, run.trace, tmp_path / "k.trace", str(tmp_path / "k.trace")):
        assert pl.debug(what).recording.steps == wanted
    assert opened().recording.steps == wanted
    assert opened(warps=1, steps=5).recording.warps == [(0, 1)]
    assert opened(warps=1, steps=5).recording.steps == 5
    library = pl.debug("scalar", seq_len=8, head_dim=16, sigma=2.0, device="step", warps=0)
    assert library.recording.kernel == "scalar_f32_d16"
    assert library.recording.warps == [(0, 0)]


@pytest.mark.sweep(5)
@pytest.mark.parametrize("name", pl.kernels.names("decode"))
def test_decode_kernels(name: str) -> None:
    d = pl.debug(name, seq_len=20, heads=4, kv_heads=2)
    assert d.recording.kernel.startswith(name)
    assert d.info["events"]["0:0"]["maximum"]


@pytest.mark.long
def test_a_paged_cache_and_three_splits() -> None:
    paged = pl.debug("decode_split", seq_k=40, splits=3, cache="paged", page_size=8, warps=2, steps=50)
    assert paged.recording.grid[1:] == (3, 1) or 3 in paged.recording.grid
    with pytest.raises(LaunchError) as caught:
        pl.debug("decode", splits=2)
    assert str(caught.value) == "splits: decode does not split the keys; write 'decode_split' or 'decode_gqa'"


@pytest.mark.rest
@pytest.mark.long
def test_results_are_run_again_where_they_carry_no_trace() -> None:
    q, k, v = pl.reference.random_inputs(1, 2, 1, 8, 12, 32)
    plain = pl.attention(q, k, v, kernel="scalar", causal=True, state=True)
    traced = pl.attention(q, k, v, kernel="scalar", causal=True, state=True, trace=pl.Trace())
    assert pl.debug(traced).recording is traced.run.trace
    repeated, first = (r.walk(0, 0) for r in (pl.debug(plain).recording, traced.run.trace))
    assert repeated.seek(-1).line == first.seek(-1).line
    assert len(repeated) == len(first)
    assert (repeated.registers["%row_sum"] == first.registers["%row_sum"]).all()
    assert pl.debug(plain, warps=0, steps=9).recording.steps == 9
    for options in ({"kernel": "decode"}, {"kernel": "decode_split", "splits": 2}, {"kernel": "decode", "state": True}):
        out = pl.decode(q[:, :, 0], k, v, 12, **options)
        assert pl.debug(out).recording.kernel == out.kernel.name
    traced = pl.decode(q[:, :, 0], k, v, 12, kernel="decode_split", splits=2, trace=pl.Trace())
    assert [pl.debug(run).recording.kernel for run in traced.runs] == [built.name for built in traced.kernels]


CUDA = """extern "C" __global__ void largest(const float *x, float *y, int n) {
    float m = -1e30f;
    #pragma unroll 1
    for (int k = 0; k < n; k++) m = fmaxf(m, x[k]);
    if (threadIdx.x < 3) y[threadIdx.x] = m;
}"""


def test_a_kernel_of_a_compiler_has_maxima_too() -> None:
    x, y = np.array([1, 3, 2, 5, 5, 7], np.float32), np.zeros(3, np.float32)
    d = pl.debug(pl.cuda(CUDA), 1, 32, x, y, 6)
    assert y.tolist() == [7, 7, 7]
    found = d.info["events"]["0:0"]
    assert len(found["divergence"]) == 1
    walker = d.recording.walk()
    grown = [max(float(after[0]) for _, after in walker.moment(k).writes.values()) for k in found["maximum"]]
    assert sorted(set(grown)) == [1, 3, 5, 7]


def test_a_launch_writes_its_arrays() -> None:
    out = np.zeros(32 * 16, np.float32)
    pl.debug(PTX, 1, 32, out)
    assert out[::16].tolist() == [1, 1, 2, 3, 4, 5, 6, 7, *[1] * 24]


def step_of(recording: Any, word: str, key: tuple[int, int] = (0, 0)) -> int:
    """The first step at a PTX line that holds this text."""
    walker = recording.walk(*key)
    return next(k for k in range(len(walker)) if word in LINES[walker.moment(k).line - 1])


def test_events() -> None:
    recording = opened().recording
    found = trace_events.events(recording, (0, 0))
    assert found == {
        "barrier": [step_of(recording, "bar.sync")],
        "divergence": [step_of(recording, "max.f32")],
        "maximum": [step_of(recording, "mov.f32"), step_of(recording, "max.f32")],
    }
    assert trace_events.events(recording, (0, 1))["divergence"] == []


def test_the_largest_steps_across_pages() -> None:
    """A trace of more than one page: growth is held against the page before."""
    body = """
    mov.u32 %t, 0;
LOOP:
    cvt.rn.f32.u32 %row_max, %t;
    add.u32 %t, %t, 1;
    setp.lt.u32 %p, %t, 1500;
    @%p bra LOOP;
    ret;"""
    text = PTX[: PTX.index("    ld.param.u64")] + body + "\n}\n"
    recording = pl.debug(text, 1, 32, np.zeros(1, np.float32)).recording
    assert len(recording.pages[0, 0]) > 1
    found = trace_events.events(recording, (0, 0))["maximum"]
    assert found == [1 + 4 * k for k in range(1, 1500)]


def test_the_static_copy_shows_a_few_steps() -> None:
    data, _ = opened()._repr_mimebundle_()
    html = data["text/html"]
    assert data["text/plain"] == "debugger of k"
    for says in ("the first step", "the first barrier", "the warp diverges for the first time", "the last step"):
        assert html.count(f": {says}</summary>") == 1
    assert "8 of 32 lanes executed max.f32." in html
    assert "%row_max before" in html
    tables, _ = html.split("<script>")
    assert len(tables) < 15_000
    assert len(html) < 70_000


def test_a_kernel_that_does_not_end_is_shown_as_far_as_its_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    endless = PTX.replace("bar.sync 0;", "bar.sync 0;\n    bra JOIN;")
    out = np.zeros(512, np.float32)
    assert (
        "has run its 900 warp-instructions and has not ended" in pl.debug(endless, 1, 32, out, budget=900).info["note"]
    )
    monkeypatch.setattr(debugger, "BUDGET", 5000)
    found = pl.debug(endless, 1, 32, out)
    assert found.info["note"].startswith("budget: the launch has run its 5,000 warp-instructions and has not ended")
    assert found.recording.steps > 1000
    with pytest.raises(LaunchError) as caught:
        pl.debug(PTX, 1, 32, out, steps="all")
    assert str(caught.value) == "trace: start and steps count from 0, got start=0, steps='all'"


def test_a_kernel_that_faults_is_shown_up_to_there() -> None:
    bad = PTX.replace("mul.wide.u32 %at, %t, 64;", "mov.u64 %at, 1048576;")
    d = pl.debug(bad, 1, 32, np.zeros(32 * 16, np.float32))
    assert d.info["note"].startswith("memcheck: ")
    last = d.recording.walk().seek(-1)
    assert last is not None
    assert last.opcode == "add.u64"
    assert "memcheck: " in d._repr_mimebundle_()[0]["text/html"]
    with pytest.raises(DeviceFault) as caught:
        pl.launch(bad, 1, 32, np.zeros(32 * 16, np.float32), trace=pl.Trace())
    assert pl.debug(caught.value).info["note"] == str(caught.value)


def told(d: debugger.Debugger) -> list[tuple[str, list[tuple[Any, ...]]]]:
    """What the page is told of findings: the check, and where and at which step each party is."""
    return [
        (each["check"], [(p["block"], p["warp"], p["lane"], p["step"]) for p in each["parties"]])
        for each in d.info["findings"]
    ]


def test_findings_lead_to_the_steps_of_both_accesses() -> None:
    race = ("racecheck", [(0, 1, 0, 10), (0, 0, 31, 8)])
    d = pl.debug(REVERSE, 1, 64, np.zeros(64, np.float32))  # a kernel of one's own: all checks
    assert told(d)[0] == race
    assert [d.recording.walk(b, w).moment(step).opcode for b, w, _, step in race[1]] == [
        "ld.shared.f32",
        "st.shared.f32",
    ]
    assert d.info["checks"] == ["memcheck", "racecheck", "synccheck"]
    assert d.shown.opens() == ((0, 1), 10)
    run = pl.launch(REVERSE, 1, 64, np.zeros(64, np.float32), checks="racecheck", trace=pl.Trace())
    nan = ("NaN", [(0, 0, 0, 10)])  # what shared memory holds before it is written
    assert told(pl.debug(run)) == [race, nan]
    assert run.findings[0].message in pl.debug(run).static_html()
    elsewhere = pl.debug(REVERSE, 2, 64, np.zeros(128, np.float32), blocks=1, checks="racecheck")
    assert [step for *_, step in told(elsewhere)[0][1]] == [None, None], "block 0 is not recorded"
    assert told(pl.debug(REVERSE, 1, 64, np.zeros(64, np.float32), checks="memcheck")) == [nan]


def test_a_run_in_a_notebook_shows_every_finding_with_its_threads() -> None:
    run = pl.launch(REVERSE, 1, 64, np.zeros(64, np.float32), checks=("memcheck", "racecheck"))
    shown = display.run_html(run)
    assert [f.kind for f in run.findings] == ["RAW"]
    for words in (run.findings[0].message, run.findings[0].where, run.findings[0].first.source.strip()):
        assert words in shown
    assert shown.count("thread (31, 0, 0) (warp 0, lane 31)") == 1


def test_of_a_loop_the_accesses_are_shown_that_no_barrier_orders() -> None:
    d = pl.debug(REVERSE.replace("// bar", "bar"), 1, 64, np.zeros(64, np.float32), checks="racecheck")
    ((_, parties),) = told(d)  # a load, and the store of the next round: before it stands no barrier
    passed = {}
    for block, warp, _, step in parties:
        opcodes = [d.recording.walk(block, warp).moment(k).opcode for k in range(step + 1)]
        passed[opcodes[-1]] = opcodes.count("bar.sync")
    assert passed == {"ld.shared.f32": 1, "st.shared.f32": 1}


def test_a_fault_in_a_block_that_was_not_asked_for_is_shown_too() -> None:
    d = pl.debug(REVERSE, 2, 64, np.zeros(100, np.float32), checks="memcheck")
    assert told(d)[0] == ("memcheck", [(1, 1, 4, 5)])  # thread 36 of block 1; the load itself has done nothing
    assert d.shown.opens() == ((1, 1), 5)


def refused(kind: type[Exception], *args: Any, **options: Any) -> str:
    with pytest.raises(kind) as caught:
        pl.debug(*args, **options)
    return str(caught.value)


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    out = np.zeros(32 * 16, np.float32)
    run = pl.launch(PTX, 1, 32, out)
    assert refused(TraceError, run) == (
        "this Run carries no trace; write pl.launch(kernel, grid, block, ..., trace=pl.Trace())"
    )
    assert refused(LaunchError, PTX) == "grid: a kernel needs one to run; write pl.debug(kernel, grid, block, ...)"
    assert refused(LaunchError, PTX, 1) == (
        "block: the number of threads is missing; write pl.debug(kernel, grid, block, ...)"
    )
    assert refused(LaunchError, "scaler") == (
        f"'scaler' is neither a trace file nor a kernel of the library; did you mean scalar?; those "
        f"are {', '.join(LIBRARY)}"
    )
    assert refused(LaunchError, run, shared=4) == (
        "shared: belongs to a launch; write pl.debug(kernel, grid, block, ..., shared=...)"
    )
    traced = pl.launch(PTX, 1, 32, out, trace=pl.Trace())
    for nowhere in ("ldmatrix", 0, 999):
        assert refused(TraceError, traced, at=nowhere) == (
            f"at: k has no line {nowhere!r}; name a PTX line or words that it has"
        )
    for odd in (True, 2.5, [3]):
        assert refused(TraceError, traced, at=odd) == (
            f"at: expected the number of a PTX line, or words in it such as 'bar.sync'; got {odd!r}"
        )
    assert pl.debug(traced, at=np.int64(3)).shown.at == [3]
    monkeypatch.setattr(debugger, "LIMIT", 100)
    assert refused(TraceError, traced) == (
        f"trace has {traced.trace.size:,} bytes, more than the 100 that a page is given; record less of it: "
        "trace=pl.Trace(blocks=0, warps=0, steps=20000)"
    )


# -- the magic ---------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_the_magics(shell: Any) -> None:
    from IPython.core.error import UsageError
    from IPython.utils.capture import capture_output

    shell.user_ns["x"] = np.zeros(32 * 16, np.float32)
    with capture_output():
        shell.run_cell_magic("ptx", "--args x --trace -o run", PTX)
    steps = shell.user_ns["run"].trace.steps
    assert shell.run_line_magic("ptx_debug", "run").recording.steps == steps
    d = shell.run_line_magic("ptx_debug", "scalar seq_len=4 head_dim=16 warps=0")
    assert d.recording.warps == [(0, 0)]
    for line, says in (
        ("scalar 4", "'4' is not a parameter; write name=value, such as head_dim=32"),
        (
            "nothing",
            f"'nothing' is neither a trace file nor a kernel of the library; those are {', '.join(LIBRARY)}",
        ),
    ):
        with pytest.raises(UsageError) as caught:
            shell.run_line_magic("ptx_debug", line)
        assert str(caught.value) == says


# -- between lanes -----------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_what_lanes_exchange() -> None:
    d = pl.debug("mma", seq_len=16, head_dim=16, warps=0)
    found = d.info["exchange"]
    names = d.recording.names
    product = next(code for key, code in found["codes"].items() if ":mma." in key)
    layouts = [found["fragments"][f] for _, f, _ in product["operands"]]
    assert [name for name, *_ in product["operands"]] == ["d", "a", "b", "c"]
    assert [(f["rows"], f["columns"], f["type"]) for f in layouts] == [
        (16, 8, "f32"),
        (16, 16, "f16"),
        (16, 8, "f16"),
        (16, 8, "f32"),
    ]
    assert names[product["operands"][0][2][0]].startswith("%scores")
    load = next(code for key, code in found["codes"].items() if ":ldmatrix." in key)
    assert found["fragments"][load["operands"][0][1]]["blocks"] == 4
    shuffle = next(code for key, code in found["codes"].items() if ":shfl." in key)
    assert (shuffle["mode"], shuffle["clamp"], shuffle["mask"]) == ("bfly", {"value": 31}, {"value": 0xFFFFFFFF})


def test_guards_are_named_by_their_register() -> None:
    d = opened()
    line = 1 + next(k for k, text in enumerate(LINES) if "@!%p bra" in text)
    assert d.info["exchange"]["guards"] == {f"{line}:bra": [d.recording.numbers["%p"], True, False]}


@pytest.mark.rest
@pytest.mark.long
def test_sixteen_bit_elements_are_shown_as_what_they_are() -> None:
    found = pl.debug("mma", dtype="bf16", seq_len=16, head_dim=16, warps=0).info["exchange"]["fragments"]
    assert {f["type"] for f in found} == {"bf16", "f32"}
    assert pl.debug("decode_gqa", dtype="bf16", seq_len=20, warps=0, steps=9).recording.steps == 9


def test_votes_and_reductions_are_told_to_the_page() -> None:
    body = """
    mov.u32 %t, %tid.x;
    setp.lt.u32 %p, %t, 8;
    vote.sync.any.pred %p, !%p, 0xFFFFFFFF;
    activemask.b32 %bank;
    redux.sync.min.s32 %t, %t, %bank;
    match.all.sync.b32 %bank|%p, %t, -1;
    elect.sync _|%p, 3;
    match.any.sync.b64 %bank, 0xFFFFFFFFFFFFFFFF, 3;
    ret;"""
    text = PTX[: PTX.index("    ld.param.u64")].replace("8.0", "8.6").replace("sm_80", "sm_90") + body + "\n}\n"
    recording = pl.debug(text, 1, 2, np.zeros(1, np.float32)).recording
    codes, number = lane_exchange.exchanges(recording)["codes"], recording.numbers
    found = {key.partition(":")[2]: code for key, code in codes.items()}
    plain = {"kind": "collective", "mode": None, "operation": None, "type": "", "abs": False, "a": None, "not": False}
    plain |= {"d": number["%bank"], "p": None, "mask": None}
    p, t, everyone = number["%p"], number["%t"], {"value": 0xFFFFFFFF}
    assert found == {
        "vote.sync.any.pred": plain
        | {"action": "VOTE", "mode": "any", "type": "pred", "a": p, "not": True, "d": p, "mask": everyone},
        "activemask.b32": plain | {"action": "ACTIVE_MASK", "type": "b32"},
        "match.all.sync.b32": plain
        | {"action": "MATCH", "mode": "all", "type": "b32", "a": t, "p": p, "mask": {"value": -1}},
        "redux.sync.min.s32": plain
        | {"action": "REDUCE_LANES", "operation": "min", "type": "s32", "a": t, "d": t, "mask": number["%bank"]},
        "elect.sync": plain | {"action": "ELECT", "d": None, "p": p, "mask": {"value": 3}},
        "match.any.sync.b64": plain
        | {
            "action": "MATCH",
            "mode": "any",
            "type": "b64",
            "a": {"value": "18446744073709551615"},
            "mask": {"value": 3},
        },
    }
