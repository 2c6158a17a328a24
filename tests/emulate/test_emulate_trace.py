"""Traces: what is recorded, read back, walked forwards and backwards, and refused."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulate_programs import ENGINES, kernel, launch, run
from engine_cases import CASES
from planted import BUGS
from planted_proxy import GIVEN_BACK
from random_races import Program
from test_emulate_cuda import CORPUS, FILES, KERNELS

import ptxlab as pl
from ptxlab.emulate.step.interpreter import Step
from ptxlab.emulate.trace.asynchronous import MbarrierEvent, mbarrier_events, product_groups
from ptxlab.emulate.trace.pages import HEAD
from ptxlab.emulate.trace.recording import Recording
from ptxlab.errors import DeviceFault, LaunchError, TraceError

LOOP = """
    .shared .align 16 .b8 tile[4096];
    mov.u32 %r5, 0;
    shl.b32 %r6, %r1, 2;
    mov.u32 %r7, tile; add.u32 %r7, %r7, %r6;
    cvt.rn.f32.u32 %f1, %r1;
    cvt.u64.u32 %rd7, %r1;
LOOP:
    mad.lo.u32 %r8, %r5, 1664525, %r1;
    and.b32 %r9, %r8, 3; setp.eq.u32 %p1, %r9, 0; @%p1 bra SKIP;
    fma.rn.f32 %f1, %f1, 0f3F7D70A4, 0f3F800000;
    st.shared.u32 [%r7], %r8;
    mul.lo.u64 %rd7, %rd7, 6364136223846793005;
SKIP:
    ld.shared.u32 %r10, [%r7];
    @%p1 xor.b32 %r10, %r10, %r5;
    cvt.f64.f32 %fd1, %f1;
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p2, %r5, ROUNDS; @%p2 bra LOOP;
    st.global.u32 [%rd3], %r10;"""


class FaultExits:
    """A recorder that keeps all registers at some numbers of steps: what a walker must show there."""

    def __init__(self, stops: set[int], registers: int) -> None:
        self.stops, self.registers, self.count = stops, registers, 0
        self.kept: dict[int, tuple[list[np.ndarray], Step]] = {}

    def wants(self, block: int, warp: int) -> bool:
        return (block, warp) == (0, 0)

    def record(self, step: Step) -> None:
        self.count += 1
        if self.count in self.stops:
            self.kept[self.count] = list(step.registers[: self.registers]), step


def recorded(body: str, trace: Any, engine: str = "step", **options: Any) -> Recording:
    _, report = run(engine, kernel(body), trace=trace, **options)
    assert isinstance(report.trace, Recording)
    return report.trace


def check_against_a_rerun(opened: Recording, rerun: Any, stops: set[int]) -> None:
    """Every register at each stop, in an order that goes back as often as forth."""
    watcher = FaultExits(stops, len(opened.registers))
    rerun(watcher)
    w = opened.walk(0, 0)
    assert len(w) == watcher.count
    for at in np.random.default_rng(1).permutation(sorted(stops)).tolist():
        moment = w.seek(at)
        values, step = watcher.kept[at]
        assert (moment.number, moment.line) == (at - 1, step.code.line)
        assert (moment.mask == step.mask).all()
        for name, value in zip(opened.names, values, strict=True):
            assert w.registers[name].dtype == value.dtype
            assert w.registers[name].tobytes() == value.tobytes(), (at, name)
        assert len(moment.accesses) == len(step.touches)
        for access, touch in zip(moment.accesses, step.touches, strict=True):
            assert (access.kind, access.space, access.size) == (touch.what, touch.space, touch.size)
            assert (access.address == touch.address).all()
            assert (access.mask == touch.mask).all()


@pytest.mark.sweep(2)
@pytest.mark.long
@pytest.mark.parametrize("rounds", [2075, pytest.param(8300, marks=pytest.mark.rest)])
def test_a_long_run_walked_both_ways(tmp_path: Path, engine: str, rounds: int) -> None:
    """A hundred thousand steps, or a quarter of that, saved, opened, and held against another run of the kernel."""
    body = LOOP.replace("ROUNDS", str(rounds))
    recorded(body, pl.Trace(), engine, threads=32).save(tmp_path / "run.trace")
    opened = pl.open_trace(tmp_path / "run.trace")
    assert opened.steps >= 100_000 * rounds // 8300
    assert opened.size == (tmp_path / "run.trace").stat().st_size
    assert opened.bytes_per_step < 60
    stops = set(np.random.default_rng(2).integers(1, opened.steps, 150).tolist()) | {1, 4096, 4097, opened.steps}
    check_against_a_rerun(opened, lambda r: run("step", kernel(body), trace=r), stops)


@pytest.mark.sweep(4)
@pytest.mark.long
@pytest.mark.parametrize("name", ["softmax.G", "matmul_tiled.O3", "reduce.O3", "scan.G"])
def test_compiled_kernels(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reports: list[Any] = []
    text = (CORPUS / f"{name}.ptx").read_text()

    def rerun(trace: Any) -> None:
        monkeypatch.setattr("test_emulate_cuda.launch", lambda *a, **k: reports.append(launch(*a, trace=trace, **k)))
        KERNELS[name.partition(".")[0]]("step", text)

    rerun(pl.Trace())
    trace = reports[-1].trace
    count = len(trace.walk(0, 0))
    check_against_a_rerun(trace, rerun, {*range(1, count, max(1, count // 200)), count})


def same_steps(one: Recording, other: Recording, name: str = "") -> None:
    """Two traces agree: instructions, lanes, registers and accesses. Where functions return to is told in other
    numbers, and lanes that wait for each other are one step or several: then there is nothing to compare. Where they
    are several, what the first ones get is told at their step or at that of the last. (Left out is a shuffle from a
    lane that takes no part, which PTX leaves open.)"""
    assert one.warps == other.warps
    for key in one.warps:
        a, b = one.walk(*key), other.walk(*key)
        pages = [[w._find(k)[0].codes[w._find(k)[1]] for k in range(len(w))] for w in (a, b)]
        if pages[0] != pages[1]:
            assert any(word in one.text for word in ("sync", "volatile", "atom")), name
            continue
        for at in range(1, len(a) + 1, max(1, len(a) // 40)):
            x, y = a.seek(at), b.seek(at)
            assert (x.mask == y.mask).all() or "sync" in x.opcode
            if "shfl.sync" in x.opcode and not x.mask.all():
                continue
            for register in a.registers:
                if not register.startswith("%return"):
                    assert a.registers[register].tobytes() == b.registers[register].tobytes(), (name, at, register)
            if not any(name.startswith("%return") for name in (*x.writes, *y.writes)) and "sync" not in x.opcode:
                assert set(x.writes) == set(y.writes), (name, at, x.opcode)
            if "wmma" in x.opcode:
                continue
            assert len(x.accesses) == len(y.accesses)
            for p, q in zip(x.accesses, y.accesses, strict=True):
                assert (p.kind, p.space, p.size) == (q.kind, q.space, q.size), (name, at, x.opcode)
                assert (p.mask == q.mask).all()
                assert (p.address[p.mask] == q.address[q.mask]).all()


def test_a_load_of_a_matrix_over_its_own_address(engine: str) -> None:
    body = """
    .shared .align 16 .b8 tile[512];
    shl.b32 %r6, %r1, 4;
    mov.u32 %r7, tile; add.u32 %r7, %r7, %r6; st.shared.u32 [%r7], 0;
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r7}, [%r7];"""
    walk = recorded(body, pl.Trace(warps=0), engine).walk(0, 0)
    steps = [walk.seek(at) for at in range(1, len(walk) + 1)]
    (access,) = next(s for s in steps if s is not None and s.opcode.startswith("ldmatrix")).accesses
    assert access.address[access.mask].tolist() == list(range(0, 128, 16))


@pytest.mark.skipif("jit" not in ENGINES, reason="llvmlite is not installed")
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith("a guarded shuffle")])
def test_engines_agree(name: str) -> None:
    same_steps(*(CASES[name].run(engine, trace=pl.Trace(warps=0))[1].trace for engine in ENGINES), name)


@pytest.mark.sweep(7)
@pytest.mark.skipif("jit" not in ENGINES, reason="llvmlite is not installed")
@pytest.mark.parametrize("file", [f for f in FILES if f.count(".") == 2])
def test_engines_agree_on_compiled_code(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    traces: list[Any] = []
    monkeypatch.setattr(
        "test_emulate_cuda.launch",
        lambda *a, **k: traces.append(launch(*a, trace=pl.Trace(warps=0, steps=2000), **k).trace),
    )
    for engine in ENGINES:
        KERNELS[file.partition(".")[0]](engine, (CORPUS / file).read_text())
    same_steps(*traces, file)


@pytest.mark.sweep(11)
@pytest.mark.skipif("jit" not in ENGINES, reason="llvmlite is not installed")
@pytest.mark.parametrize("seed", range(24))
def test_engines_agree_on_random_programs(seed: int) -> None:
    """Guards that hold for no lane, constants written once more, accesses of all kinds, faults."""
    program, traces = Program(seed), []
    for engine in ENGINES:
        given = {"threads": program.threads, "blocks": program.blocks, "x": np.arange(program.words, dtype=np.uint32)}
        try:
            traces.append(run(engine, program.text, trace=pl.Trace(blocks=None), **given)[1].trace)
        except DeviceFault as fault:
            traces.append(fault.trace)
    assert isinstance(traces[0], Recording)
    assert isinstance(traces[1], Recording)
    same_steps(traces[0], traces[1], f"program {seed}")


def test_forward_and_back(engine: str) -> None:
    trace = recorded("add.u32 %r5, %r1, 10;\n add.u32 %r5, %r5, 1;\n st.global.u32 [%rd3], %r5;", pl.Trace(), engine)
    w = trace.walk()
    assert w.last is None
    assert not w.registers["%r5"].any()
    while (moment := w.forward()).opcode != "add.u32":
        pass
    assert moment.mask.all()
    assert moment.writes["%r5"][0].tolist() == [0] * 32
    assert w.registers["%r5"].tolist() == [lane + 10 for lane in range(32)]
    assert w.forward().writes["%r5"][1].tolist() == [lane + 11 for lane in range(32)]
    store = w.forward()
    (access,) = store.accesses
    assert (access.kind, access.space, access.size) == ("store", "global", 4)
    assert (np.diff(access.address.astype(np.int64)) == 4).all()
    w.back(2)
    assert w.registers["%r5"].tolist() == [lane + 10 for lane in range(32)]
    assert w.seek(-1).opcode == "ret"
    assert w.forward().opcode == "ret"
    assert w.seek(0) is None
    assert w.back() is None
    assert repr(trace) == f"trace of k: 12 steps of 1 warp, {trace.size:,} bytes, {trace.size / 12:.1f} a step"


def test_blocks_warps_and_windows(engine: str) -> None:
    body = "add.u32 %r5, %r1, 10;\n st.global.u32 [%rd3], %r5;"
    trace = recorded(body, pl.Trace(blocks=[0, 2], warps=1, start=6, steps=4), engine, threads=64, blocks=3)
    assert trace.warps == [(0, 1), (2, 1)]
    w = trace.walk(block=2)
    assert (w.block, w.warp, len(w)) == (2, 1, 4)
    assert w.registers["%r2"].tolist() == [2] * 32  # what ran before the window is known
    assert [w.forward().number for _ in range(4)] == [6, 7, 8, 9]
    assert w.registers["%r5"].tolist() == [42 + lane for lane in range(32)]
    everything = recorded(body, pl.Trace(blocks=None), engine, threads=64, blocks=3)
    assert everything.warps == [(b, w) for b in range(3) for w in range(2)]


def test_chosen_lines() -> None:
    text = kernel(LOOP.replace("ROUNDS", "9"))
    line = 1 + next(k for k, t in enumerate(text.splitlines()) if "add.u32 %r5, %r5, 1;" in t)
    _, report = run("step", text, trace=pl.Trace(lines=[line]))
    w = report.trace.walk()
    assert len(w) == 9
    for k in range(9):
        assert w.forward().line == line
        assert w.registers["%r5"].tolist() == [k + 1] * 32
        assert w.registers["%r8"].tolist() == [(k * 1664525 + lane) % 2**32 for lane in range(32)]


def test_a_limit_ends_the_recording_and_says_so(engine: str) -> None:
    trace = recorded(LOOP.replace("ROUNDS", "2000"), pl.Trace(limit=200_000), engine)
    assert trace.capped
    assert 0 < trace.steps < 20_000
    assert trace.size < 210_000
    assert repr(trace).endswith(", capped")
    trace.walk().seek(-1)


def test_a_trace_ends_at_a_fault(tmp_path: Path, engine: str) -> None:
    with pytest.raises(DeviceFault) as caught:
        recorded("add.u32 %r5, %r1, 10;\n ld.global.u32 %r6, [%r5+0];", pl.Trace(path=tmp_path / "fault.trace"), engine)
    w = caught.value.trace.walk()
    assert w.seek(-1).opcode == "add.u32"
    assert pl.open_trace(tmp_path / "fault.trace").steps == len(w)


def test_attention_can_be_traced() -> None:
    q, k, v = pl.reference.random_inputs(1, 1, 1, 32, 32, 16)
    built = pl.kernels.get("scalar").build(head_dim=16)
    grid, block, shared = built.launch_shape(1, 1, 1, 32, 32)
    o, lse = np.zeros_like(q), np.zeros(q.shape[:3], q.dtype)
    given = built.arguments(q, k, v, o, lse, 0.25)
    r = pl.launch(built, grid, block, *given, shared=shared, trace=pl.Trace(warps=0))
    assert r.device == ("cpu" if "jit" in ENGINES else "step")
    assert r.trace.steps > 1000
    assert r.trace.walk().recording.kernel == built.name


def test_the_compiling_engine_says_what_it_cannot_record() -> None:
    with pytest.raises(LaunchError) as caught:
        pl.launch(kernel(""), 1, 32, np.zeros(32), np.zeros(32), device="cpu", trace=pl.Trace(lines=[30]))
    assert str(caught.value) == ("trace: the JIT records whole warps, not chosen lines; write device='step'")


# -- files that are refused --------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "k.trace"
    recorded(LOOP.replace("ROUNDS", "800"), pl.Trace()).save(path)
    return path


def refused(path: Path) -> str:
    with pytest.raises(TraceError) as caught:
        pl.open_trace(path)
    return str(caught.value)


def test_another_kind_of_file(file: Path) -> None:
    file.write_bytes(b"\x7fELF" + bytes(100))
    assert refused(file) == "k.trace is not a trace: it begins with b'\\x7fELF\\x00\\x00\\x00\\x00'"
    file.write_bytes(b"")
    assert refused(file) == "k.trace is not a trace: it begins with b''"


def test_a_newer_format(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[8:12] = struct.pack("<I", 2)
    file.write_bytes(data)
    assert refused(file) == "k.trace is a trace of format 2; this ptxlab reads format 1: update ptxlab"
    data[8:12] = struct.pack("<I", 0)
    file.write_bytes(data)
    assert refused(file) == "k.trace is a trace of format 0; this ptxlab reads format 1: record it again"


def test_a_file_that_was_cut_off(file: Path) -> None:
    data = file.read_bytes()
    head = HEAD.size + HEAD.unpack_from(data)[2]
    for length in (10, head - 1):
        file.write_bytes(data[:length])
        assert refused(file) == "k.trace was cut off: it ends within its header"
    for length in (head, head + 3, head + 20, head + 2000):
        file.write_bytes(data[:length])
        assert refused(file) == "k.trace was cut off: it ends after 0 whole pages, 0 steps"
    for length in (len(data) - 1, len(data) - 30):
        file.write_bytes(data[:length])
        assert refused(file).startswith("k.trace was cut off: it ends after 3 whole pages, ")


def test_a_damaged_file(file: Path) -> None:
    data = bytearray(file.read_bytes())
    head = HEAD.size + HEAD.unpack_from(data)[2]
    data[head + 500] ^= 1
    file.write_bytes(data)
    with pytest.raises(TraceError) as caught:
        pl.open_trace(file).walk().forward()
    assert str(caught.value) == f"k.trace is damaged: the page at byte {head + 32} does not have its checksum"
    data[head : head + 4] = b"????"
    file.write_bytes(data)
    assert refused(file) == f"k.trace is damaged: byte {head} has b'????', not a page"


def test_steps_and_warps_that_are_not_there(file: Path) -> None:
    trace = pl.open_trace(file)
    with pytest.raises(TraceError) as caught:
        trace.walk(3, 1)
    assert str(caught.value) == "k.trace has no steps of block 3, warp 1; it has (block:warp) 0:0"
    with pytest.raises(TraceError) as caught:
        trace.walk().seek(10**6)
    assert str(caught.value) == f"there are {trace.steps} recorded steps of block 0, warp 0; not 1000000"
    with pytest.raises(LaunchError) as wrong:
        pl.Trace(start=-1)
    assert str(wrong.value) == "trace: start and steps count from 0, got start=-1, steps=None"


# -- what is asynchronous ----------------------------------------------------------------------------------------------


def test_mbarriers_are_replayed(device: str) -> None:
    """A ring of one stage, four times round: what is replayed agrees with what each wait has answered."""
    ring = BUGS["bulk copy: the phase is not flipped"]
    trace = ring.run(device, True, (), trace=pl.Trace())[0].trace
    events = mbarrier_events(trace)
    full, empty = sorted({event.address for event in events})

    def told(event: MbarrierEvent) -> tuple[str, int, int, int, bool]:
        return event.what, event.phase, event.pending, event.bytes, event.ended

    assert [told(event) for event in events if event.address == full and event.what not in ("waits", "passed")] == [
        ("init", 0, 1, 0, False),
        *(one for n in range(4) for one in (("arrive", n, 0, 256, False), ("complete_tx", n + 1, 1, 0, True))),
    ]
    released = [event for event in events if event.address == empty and event.what == "arrive"]
    assert [(event.lane, event.pending, event.phase) for event in released[:32]] == [
        (lane, 31 - lane if lane < 31 else 32, lane // 31) for lane in range(32)
    ]
    answers = {"passed": True, "waits": False}
    for event in (event for event in events if event.what in answers):
        moment = trace.walk(0, event.warp).moment(event.number)
        assert moment.line == event.line
        for _, after in moment.writes.values():
            assert after[event.lane] == answers[event.what]
    assert {event.what for event in events} >= set(answers)


def test_groups_of_products(device: str) -> None:
    trace = GIVEN_BACK.run(device, True, (), trace=pl.Trace())[0].trace
    groups, places = product_groups(trace), trace.places()
    line = GIVEN_BACK.lines()[1]
    assert sorted((group.warp, group.products, group.line) for group in groups) == [(w, 1, line) for w in range(4)]
    for group in groups:
        told = group.issued, group.committed, group.waited
        steps = [int(np.searchsorted(places[0, group.warp], at)) for at in told]
        opcodes = [trace.walk(0, group.warp).moment(step).opcode.split(".")[1] for step in steps]
        assert opcodes == ["mma_async", "commit_group", "wait_group"]


def test_a_part_of_the_steps_tells_nothing_of_mbarriers() -> None:
    ring = BUGS["bulk copy: the phase is not flipped"]
    trace = ring.run("step", True, (), trace=pl.Trace(start=5))[0].trace
    with pytest.raises(TraceError) as refused:
        mbarrier_events(trace)
    assert str(refused.value) == (
        "trace does not hold all steps of its warps, and so their order is not known: record without start=, steps= "
        "and lines=, and with a larger limit="
    )
