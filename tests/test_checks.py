"""The checks on both engines: planted bugs are found with their lines, repaired kernels and real ones are silent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cuda_programs
import emulate_programs
import ml_dtypes
import numpy as np
import planted_mbarriers  # noqa: F401  (adds to BUGS)
import pytest
import test_emulate_cuda as corpus
import test_triton_programs as triton
from emulate_programs import ENGINES
from emulate_programs import kernel as kernel_text
from planted import BUGS

import ptxlab as pl
from ptxlab import cli
from ptxlab.build import Builder, Ptr, f32, kernel
from ptxlab.check import argument
from ptxlab.findings import Finding

DEVICES = tuple({"step": "step", "jit": "cpu"}[engine] for engine in ENGINES)
ALL = ("memcheck", "initcheck", "racecheck", "synccheck")
Key = tuple[str, str, int, int]


def key(finding: Finding) -> Key:
    """What a finding is about: the check, the kind, the lines of both parties."""
    assert finding.first is not None
    return finding.check, finding.kind, finding.first.line, finding.second.line if finding.second else 0


# -- planted bugs ------------------------------------------------------------------------------------------------------


def test_there_are_enough() -> None:
    assert len(BUGS) >= 60
    assert {(b.check, b.kind) for b in BUGS.values() if "|" not in b.kind} >= {
        ("racecheck", "RAW"), ("racecheck", "WAR"), ("racecheck", "WAW"), ("initcheck", "uninitialised read"),
        ("synccheck", "divergent barrier"), ("synccheck", "barrier after exit"), ("synccheck", "barrier count"),
        ("synccheck", "mask omits lane"), ("synccheck", "mask names exited lane"), ("synccheck", "shuffle source"),
        ("synccheck", "shuffle range"), ("synccheck", "asynchronous copy"), ("synccheck", "mbarrier phase"),
        ("synccheck", "mbarrier wait"), ("synccheck", "mbarrier in use"), ("synccheck", "mbarrier not initialised"),
        ("synccheck", "mbarrier arrivals"),
    }  # fmt: skip


@pytest.mark.parametrize("name", BUGS)
def test_planted_bug(name: str) -> None:
    planted, seen = BUGS[name], []
    lines = planted.lines()
    wanted = {(planted.check, kind, *ends) for kind in planted.kind.split("|") for ends in (lines, lines[::-1])}
    for device in DEVICES:
        run, _ = planted.run(device, False, ("memcheck", planted.check))
        found = [key(f) for f in run.findings if f.check != "unwritten"]
        assert wanted & set(found), (device, found, lines)
        if planted.stops:
            assert isinstance(run, pl.DeviceFault)  # others wait in vain as well, and which do is the schedule's matter
            continue
        assert all(k[2] in lines for k in found), (device, found, lines)
        # which of two unordered accesses comes first is a matter of the schedule
        seen.append({(c, frozenset(ends)) if c == "racecheck" else (c, k, *ends) for c, k, *ends in found})
    assert all(found == seen[0] for found in seen)


@pytest.mark.parametrize("name", BUGS)
def test_repaired_twin(name: str) -> None:
    for device in DEVICES:
        run, _ = BUGS[name].run(device, True, ALL)
        assert [str(f) for f in run.findings if f.check != "unwritten"] == []


# -- silence -----------------------------------------------------------------------------------------------------------


PRECISION = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16}


@pytest.mark.parametrize(("name", "causal", "device"), [
    pytest.param(name, causal, device, marks=[pytest.mark.slow] if device == "step" and (causal or n % 3) else [])
    for n, name in enumerate(pl.kernels.names("prefill")) for causal in (False, True) for device in DEVICES
])  # fmt: skip
def test_library_is_silent(name: str, causal: bool, device: str) -> None:
    spec = pl.kernels.get(name)
    for dtype in PRECISION.keys() & set(spec.parameters["dtype"].choices):
        if dtype == "f64" and device == "step":
            continue  # the same instructions, slowly
        rows, keys = (40, 70) if device == "cpu" else (20, 24)
        q, k, v = pl.reference.random_inputs(1, 1, 1, rows, keys, 16, dtype=PRECISION[dtype])
        built = spec.build(head_dim=16, causal=causal, dtype=dtype)
        out = pl.attention(q, k, v, kernel=built, causal=causal, device=device, checks=ALL)
        assert [str(f) for f in out.run.findings] == []
        assert out.error.ok


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", [name for name in pl.kernels.names("decode") if name != "decode_reduce"])
def test_decode_is_silent(name: str, device: str) -> None:
    rng, (b, heads, kv_heads, d) = np.random.default_rng(0), (2, 4, 2, 32)
    paged = name == "decode_paged"
    shape = (8, 16, kv_heads, d) if paged else (b, kv_heads, 50, d)
    key, value = (rng.standard_normal(shape).astype(np.float16) for _ in range(2))
    table = np.arange(8, dtype=np.int32).reshape(b, 4) if paged else None
    splits = 3 if name in ("decode_split", "decode_gqa") else None
    q = rng.standard_normal((b, heads, d)).astype(np.float16)
    out = pl.decode(q, key, value, [50, 33], table, kernel=name, splits=splits, device=device, checks=ALL)
    assert [str(f) for f in out.findings] == []
    assert out.error.ok


QUICK = ("reduce", "softmax", "matmul_tiled", "scan", "histogram")


def silent_corpus(file: str, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Finding] = []

    def launch(*args: Any, **options: Any) -> None:
        found.extend(emulate_programs.launch(*args, checks=ALL, **options).findings)

    monkeypatch.setattr(corpus, "launch", launch)
    corpus.KERNELS[file.partition(".")[0]](engine, (corpus.CORPUS / file).read_text())
    assert [str(f) for f in found] == []


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("file", [f for f in corpus.FILES if f.startswith(QUICK) and "nvrtc" in f])
def test_corpus_is_silent(file: str, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    silent_corpus(file, engine, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("file", corpus.FILES)
def test_whole_corpus_is_silent(file: str, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    silent_corpus(file, engine, monkeypatch)


def silent_program(name: str, mode: str, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Finding] = []
    plain = pl.launch

    def launch(*args: Any, **options: Any) -> Any:
        run = plain(*args, checks=ALL, **options)
        found.extend(run.findings)
        return run

    monkeypatch.setattr(pl, "launch", launch)
    outcome = cuda_programs.run(name, cuda_programs.ptx_of(name, mode, "sm_80"), device)
    assert outcome.verdict == "ok", outcome
    assert [str(f) for f in found if f.check != "unwritten"] == []


PROGRAMS = [
    (name, mode)
    for name in cuda_programs.PROGRAMS
    for mode in ("O3", "G")
    if f"{name}.{mode}.sm_80" in cuda_programs.archive()
]


@pytest.mark.parametrize("name", [
    "producer_consumer", "scan_lookback", "threadfence_reduce", "spin_lock", "grid_sync", "cas_loops", "barrier_copy",
    "pipeline_copy", "warp_reductions", "scan_shuffle", "stack_array", "matmul_mma", "matmul_wmma", "sort_bitonic",
])  # fmt: skip
def test_programs_are_silent(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    silent_program(name, "O3", DEVICES[-1], monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "mode"), PROGRAMS)
def test_all_programs_are_silent(name: str, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    silent_program(name, mode, DEVICES[-1], monkeypatch)


def silent_triton(file: str, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Finding] = []
    plain = pl.launch

    def launch(*args: Any, **options: Any) -> Any:
        run = plain(*args, checks=ALL, **options)
        found.extend(run.findings)
        return run

    monkeypatch.setattr(pl, "launch", launch)
    triton.test_kernel(file, engine)
    assert [str(f) for f in found] == []


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("file", [
    pytest.param(f, marks=[] if f.startswith(("softmax", "scan", "matmul_3", "histogram")) else [pytest.mark.slow])
    for f in triton.LAUNCHES if f.endswith("sm_80")
])  # fmt: skip
def test_triton_is_silent(file: str, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    silent_triton(file, engine, monkeypatch)


# -- findings ----------------------------------------------------------------------------------------------------------


@kernel
def mirror(k: Builder, x: Ptr[f32], tile: Ptr[f32]) -> None:
    """Each thread reads what another one has stored, without a barrier."""
    t = k.tid.x
    k.store(tile + t, k.load(x + t))
    k.store(x + t, k.load(tile + (63 - t)))


@pytest.mark.parametrize("device", DEVICES)
def test_a_finding_names_the_python_of_a_builder_kernel(device: str) -> None:
    x, tile = np.zeros((2, 64), np.float32)
    found = pl.launch(mirror, 1, 64, x, tile, device=device, checks=("racecheck",)).findings
    raw = next(f for f in found if f.kind == "RAW")
    assert raw.first is not None
    assert raw.first.span is not None
    assert raw.first.span.file == __file__
    assert str(raw.first.span) in str(raw)


@pytest.mark.parametrize("device", DEVICES)
def test_a_finding_shows_itself(device: str) -> None:
    planted = BUGS["shared: another warp's element before a barrier"]
    run, _ = planted.run(device, False, ("racecheck",))
    (raw,) = [f for f in run.findings if f.kind == "RAW"]
    load, store = planted.lines()
    assert (
        str(raw)
        == f"""racecheck: RAW hazard in shared memory: a thread reads what another thread writes, and \
nothing makes the read come after the write; a barrier between the two would order them
  at:     block (0, 0, 0), thread (32, 0, 0) (warp 1, lane 0) loads 4 bytes
            line {load}: ld.shared.u32 %r6, [%r12]; //1
  and:    block (0, 0, 0), thread (0, 0, 0) (warp 0, lane 0) stores 4 bytes
            line {store}: st.shared.u32 [%r10], %r1; //2
  in:     shared memory, byte 0 of 'tile' (4096 bytes)"""
    )
    assert (raw.space, raw.address, raw.count) == ("shared", 0, 1)
    exported = json.loads(json.dumps(raw.to_dict()))
    assert exported["first"]["thread"] == [32, 0, 0]
    assert exported["second"]["line"] == store
    html = raw._repr_mimebundle_()["text/html"]
    assert "<b>racecheck</b> RAW" in html
    assert "ld.shared.u32 %r6, [%r12]" in html
    assert str(raw).splitlines()[0] in repr(run)


TWO_LANES = {
    "all read, the first writes": ("ld.shared.u32 %r6, [tile];\n @%p1 st.shared.u32 [tile], 5;", "WAR", {(0, 1)}),
    "the first reads, all write": ("@%p1 ld.shared.u32 %r6, [tile];\n st.shared.u32 [tile], 5;", "WAR", {(1, 0)}),
    "upper lanes read, one of them writes": (
        "@!%p4 ld.shared.u32 %r6, [tile];\n setp.eq.u32 %p6, %r1, 16;\n @%p6 st.shared.u32 [tile], 5;", "WAR",
        {(16, 17)},
    ),
    "the last two read, one of them writes": (
        "setp.gt.u32 %p6, %r1, 29;\n @%p6 ld.shared.u32 %r6, [tile];\n setp.eq.u32 %p6, %r1, 30;\n"
        "@%p6 st.shared.u32 [tile], 5;", "WAR", {(30, 31)},
    ),
    "the first writes, all read": ("@%p1 st.shared.u32 [tile], 5;\n ld.shared.u32 %r6, [tile];", "RAW", {(1, 0)}),
}  # fmt: skip


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", TWO_LANES)
def test_a_finding_names_two_threads(name: str, device: str) -> None:
    body, kind, lanes = TWO_LANES[name]
    start = "setp.eq.u32 %p1, %r1, 0;\n setp.lt.u32 %p4, %r1, 16;\n @%p1 st.shared.u32 [tile], 1;\n bar.sync 0;\n"
    text = kernel_text(f"    {start}    {body}\n    st.global.u32 [%rd3], %r6;", ".shared .align 4 .b8 tile[4096];")
    given = np.zeros(32, np.uint32), np.zeros(32, np.uint32)
    found = pl.launch(text, 1, 32, *given, device=device, checks=("racecheck",)).findings
    assert [f.kind for f in found] == [kind]
    assert {(f.first.lane, f.second.lane) for f in found if f.first and f.second} == lanes


@pytest.mark.parametrize("device", DEVICES)
def test_occurrences_are_counted(device: str) -> None:
    run, _ = BUGS["unwritten: shared memory"].run(device, False, ("initcheck",))
    (found,) = run.findings
    assert found.count == 2  # two warps
    assert str(found).endswith("  seen:   2 times")


@pytest.mark.parametrize("device", DEVICES)
def test_a_finding_of_each_warp_counts(device: str) -> None:
    text = kernel_text("    and.b32 %r5, %r1, 31;\n setp.lt.u32 %p1, %r5, 16;\n @%p1 exit;\n bar.sync 0;")
    given = np.zeros(96, np.uint32), np.zeros(32, np.uint32)
    (found,) = pl.launch(text, 1, 96, *given, device=device, checks=("synccheck",)).findings
    assert (found.kind, found.count) == ("barrier after exit", 3)
    stopped, _ = BUGS["mbarrier: bytes that nobody reports"].run(device, False, ("synccheck",))
    assert [(f.kind, f.count) for f in stopped.findings] == [("deadlock", 1), ("mbarrier wait", 2)]


@pytest.mark.parametrize("device", DEVICES)
def test_nothing_is_checked_unless_asked_for(device: str) -> None:
    for planted in (BUGS["unwritten: shared memory"], BUGS["shared: all lanes store to one word"]):
        assert planted.run(device, False, ("memcheck",))[0].findings == []
    assert BUGS["unwritten: shared memory"].run(device, False, ("racecheck", "synccheck"))[0].findings == []


def test_an_unknown_check_is_refused() -> None:
    with pytest.raises(pl.LaunchError) as error:
        BUGS["unwritten: shared memory"].run("step", False, ("leakcheck",))
    assert str(error.value) == ("checks: there is no 'leakcheck'; there is memcheck, initcheck, racecheck, synccheck")


@pytest.mark.parametrize("device", DEVICES)
def test_a_buffer_stays_written_between_launches(device: str) -> None:
    planted = BUGS["unwritten: a device buffer"]
    buffer = pl.empty(128, np.uint32, device="cpu")
    x = np.zeros(128, np.uint32)

    def reads(checks: tuple[str, ...]) -> list[Finding]:
        return pl.launch(planted.text(False), 1, 64, buffer, x, device=device, checks=checks).findings

    assert reads(("initcheck",))
    pl.launch(planted.text(True), 1, 64, buffer, x, device=device, checks=("initcheck",))
    assert reads(("initcheck",)) == []
    other = pl.to_device(x, device="cpu")
    assert pl.launch(planted.text(False), 1, 64, other, x, device=device, checks=("initcheck",)).findings == []
    unknown = pl.empty(128, np.uint32, device="cpu")
    pl.launch(planted.text(False), 1, 64, unknown, x, device=device)  # keeps no record of what it writes
    assert pl.launch(planted.text(False), 1, 64, unknown, x, device=device, checks=("initcheck",)).findings == []


# -- the command -------------------------------------------------------------------------------------------------------


def test_the_command_reports_and_sets_its_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    planted = BUGS["shared: another warp's element before a barrier"]
    buggy, repaired = tmp_path / "buggy.ptx", tmp_path / "repaired.ptx"
    buggy.write_text(planted.text(False))
    repaired.write_text(planted.text(True))
    rest = ["out:u32[64]", "u32[64]=0", "--block", "64,1", "--device", DEVICES[-1]]
    assert cli.main(["check", str(repaired), *rest]) == 0
    assert capsys.readouterr().out == "nothing found\n"
    assert cli.main(["check", str(buggy), *rest, "--checks", "racecheck,memcheck", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert {f["check"] for f in found} == {"racecheck"}
    assert {f["kind"] for f in found} == {"RAW", "WAR"}
    assert cli.main(["check", str(buggy), "u33[64]", "1"]) == 2
    assert capsys.readouterr().err.startswith("ptxlab: u33[64]: there is no type 'u33'; there is f16, f32")


@pytest.mark.parametrize("device", DEVICES)
def test_the_command_reports_what_stops_a_kernel(
    device: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    planted = BUGS["mbarrier: bytes that nobody reports"]
    path = tmp_path / "stops.ptx"
    path.write_text(planted.text(False))
    wait, arrive = planted.lines()
    given = ["check", str(path), "out:u32[128]", "u32[320]=0", "--block", "64", "--device", device]
    assert cli.main(given) == 1
    said = capsys.readouterr().out
    assert said.startswith("synccheck: no thread of the block can go on\n    warp 0, lanes 0-31: waits for phase 0")
    assert cli.main([*given, "--json"]) == 1
    stopped, noted = json.loads(capsys.readouterr().out)
    assert (stopped["check"], stopped["kind"], stopped["first"]["line"]) == ("synccheck", "deadlock", wait)
    assert (noted["kind"], noted["first"]["line"], noted["second"]["line"]) == ("mbarrier wait", wait, arrive)
    with pytest.raises(pl.DeviceFault) as fault:  # checks= gives the same
        planted.launch(device, False, ALL)
    assert [f.to_dict() for f in fault.value.findings] == [
        {**f, **{party: f[party] and {**f[party], **{k: tuple(f[party][k]) for k in ("block", "thread")}}
                 for party in ("first", "second")}} for f in (stopped, noted)
    ]  # fmt: skip


@pytest.mark.parametrize("device", DEVICES)
def test_a_fault_is_a_finding(device: str) -> None:
    text = kernel_text("    ld.global.u32 %r5, [%rd1+65536];")
    with pytest.raises(pl.DeviceFault) as fault:
        pl.launch(text, (2, 1), (8, 8), np.zeros(4, np.uint32), np.zeros(4, np.uint32), device=device)
    (found,) = fault.value.findings
    assert found.first is not None
    assert (found.check, found.kind, found.first.line) == ("memcheck", "invalid access", fault.value.line)
    assert (found.first.block, found.first.thread, found.first.warp) == ((0, 0, 0), (0, 0, 0), 0)
    assert found.message.startswith(fault.value.message)
    assert found.address == fault.value.address


def test_arguments_of_the_command(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(3, dtype=np.float32))
    assert argument(str(tmp_path / "x.npy")).tolist() == [0, 1, 2]
    assert (argument("0x10"), argument("0.5")) == (16, 0.5)
    assert argument("f64:0.5").dtype == np.float64
    assert argument("s16[2,3]=7").tolist() == [[7, 7, 7], [7, 7, 7]]
    assert argument("f32[4]", 1).dtype == np.float32
    assert argument("out:f32[4]").shape == (4,)
    with pytest.raises(pl.LaunchError) as error:
        argument("hello")
    assert str(error.value) == ("hello: a number, an array such as f32[256] or out:f32[256], or a .npy file is wanted")


# -- lanes that did something together ---------------------------------------------------------------------------------


@kernel
def reused(k: Builder, x: Ptr[f32], y: Ptr[f32]) -> None:
    """All lanes read one word, and then lane 0 overwrites it."""
    word = k.shared(f32, 1)
    lane = k.tid.x
    with k.if_(lane == 0):
        word[0] = x[0]
    k.op("bar.warp.sync", 0xFFFFFFFF)
    y[lane] = word[0]
    with k.if_(lane == 0):
        word[0] = x[1]


@pytest.mark.parametrize("device", DEVICES)
def test_a_thread_does_not_race_with_itself_in_words(device: str) -> None:
    x, y = np.zeros(2, np.float32), np.zeros(32, np.float32)
    run = pl.launch(reused, 1, 32, x, y, device=device, checks=("memcheck", "racecheck"))
    (found,) = run.findings
    assert found.kind == "WAR"
    assert found.first is not None
    assert found.second is not None
    assert (found.first.lane, found.second.lane, found.second.did) == (0, 1, "loads 4 bytes")
