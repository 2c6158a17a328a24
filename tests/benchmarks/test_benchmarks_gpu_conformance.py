"""The campaign's part about conformance: its programs run, differences and faults are found, bounds are as stated."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.gpu import conformance, form_programs
from benchmarks.gpu.form_rules import difference, rule_for
from benchmarks.gpu.record import Record
from benchmarks.gpu.workers import Died, Worker
from ptxlab.isa import form

pytestmark = pytest.mark.assembler
SOME = {
    "registers": ["add.cc.u32", "addc.u32", "ex2.approx.f32", "div.u32", "min.f32", "cvta.global.u64",
                  "shfl.sync.up.b32"],
    "loads": ["ld.v4.f32", "ld.global.nc.b128", "ld.const.s8", "ld.shared.v2.b64", "ld.global.L2::cache_hint.b32"],
    "stores": ["st.b128", "st.local.v4.u8", "st.shared.f64"],
    "atomics": ["atom.cas.b32", "atom.shared.add.f32", "red.add.noftz.f16x2", "atom.exch.b128",
                "atom.global.add.v2.f32", "red.shared::cluster.add.u32"],
    "matrices": ["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "stmatrix.sync.aligned.m8n8.x2.trans.b16",
                 "mma.sp.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32", "wmma.load.b.sync.aligned.col.m8n8k32.u4",
                 "wmma.mma.sync.aligned.col.row.m16n16k16.f32.bf16.bf16.f32", "movmatrix.sync.aligned.m8n8.trans.b16"],
    "barriers": ["bar.red.popc.u32", "barrier.arrive", "mbarrier.try_wait.parity.b64", "mbarrier.arrive.noComplete.b64",
                 "mbarrier.expect_tx.b64", "cp.async.mbarrier.arrive.noinc.b64", "cp.async.cg.shared.global"],
    "warpgroups": ["wgmma.mma_async.sync.aligned.m64n40k16.f32.f16.f16", "wgmma.wait_group.sync.aligned",
                   "wgmma.mma_async.sp.sync.aligned.m64n24k64.satfinite.s32.s8.u8",
                   "wgmma.mma_async.sp.sync.aligned.m64n8k16.f32.tf32.tf32",
                   "wgmma.mma_async.sync.aligned.m64n16k32.f16.e4m3.e5m2",
                   "wgmma.mma_async.sync.aligned.m64n24k256.s32.b1.b1.and.popc"],
    "copies": ["cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
               "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes",
               "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster",
               "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint", "cp.async.bulk.wait_group.read",
               "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16",
               "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.dec.u32",
               "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32",
               "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.min.s32"],
    "tensors": ["cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes",
                "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster",
                "cp.async.bulk.tensor.4d.shared::cta.global.im2col.mbarrier::complete_tx::bytes",
                "cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group",
                "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group", "prefetch.param.tensormap",
                "cp.async.bulk.prefetch.tensor.3d.L2.global.im2col"],
    "clusters": ["mapa.shared::cluster.u64", "mapa.u64", "getctarank.u64", "barrier.cluster.arrive.relaxed",
                 "barrier.cluster.wait", "tensormap.replace.tile.global_stride.b1024.b64",
                 "tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32",
                 "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned"],
    "hints": ["fence.proxy.async", "prefetch.L1", "discard.L2"],
}  # fmt: skip


def asked(opcodes: list[str], **more: Any) -> dict[str, Any]:
    return {"chunk": "test", "opcodes": opcodes, "device": "step", "arch": "sm_90", **more}


@pytest.mark.sweep(4)
@pytest.mark.long
@pytest.mark.parametrize("family", SOME)
def test_both_engines_agree_on_some_of_each_family(family: str) -> None:
    found = conformance.answer(asked(SOME[family]))
    assert found["refused"] == {}
    assert found["differ"] == []
    said = [*found["equal"], *(one["form"] for name in ("close", "open") for one in found[name])]
    assert sorted(said) == sorted(SOME[family])
    assert {form_programs.family_of(form(opcode).op) for opcode in SOME[family]} == {family}


ACTIVE = [
    x
    for name in ("warpgroups", "copies", "tensors", "clusters")
    for x in SOME[name]
    if not re.search("wait|prefetch|^mapa|getctarank|barrier.cluster", x)
]


@pytest.mark.parametrize("opcode", ACTIVE)
def test_a_program_sees_what_its_form_does(opcode: str) -> None:
    """Without the instruction, only its bytes counted on the mbarrier, the results are others."""
    program = form_programs.build([opcode])
    lines, expected = program.text.splitlines(), ""
    for k, line in enumerate(lines):
        expected = line.rpartition(",")[2] if "arrive.expect_tx" in line else expected
        if f"{opcode} " in line:
            lines[k] = (
                f"@%first mbarrier.complete_tx.shared::cta.b64 [%w],{expected}" if "complete_tx" in opcode else ""
            )
    with_, without = (conformance.run(replace(program, text=text), "step") for text in (program.text, "\n".join(lines)))
    (item,) = program.items
    assert any((with_[row] != without[row]).any() for row, *_ in item.results)


def test_a_difference_has_a_row_with_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = conformance.run

    def other(program: form_programs.Program, device: str) -> Any:
        out = run(program, device)
        if device == "step":
            out[program.items[1].results[0][0], 5] ^= np.uint64(1)
        return out

    monkeypatch.setattr(conformance, "run", other)
    record = Record("conformance", tmp_path / "found.json")
    question = asked(["sub.u32", "add.f32", "mul.lo.u32"])
    found = conformance.answer(question)
    assert conformance.note(record, question, found) == []
    (row,) = [row for row in record.rows if row["verdict"] == "differs"]
    (lane,) = row["lanes"]
    assert (row["form"], lane["lane"], lane["ulp"], lane["lanes"]) == ("add.f32", 5, 1, 1)
    assert int(lane["cpu"], 16) ^ int(lane["gpu"], 16) == 1
    assert record.wrong == [
        f"add.f32({', '.join(lane['inputs'])}) is {lane['gpu']} on the GPU, {lane['cpu']} on the emulator (lane 5; "
        "bit for bit)"
    ]


def test_a_form_that_stops_the_gpu_loses_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that dies over one of six forms: the program is halved until that one is alone."""
    asked_for: list[list[str]] = []

    def ask(self: Worker, question: dict[str, Any]) -> Any:
        asked_for.append(question["opcodes"])
        if "mul.lo.u32" in question["opcodes"]:
            return Died("no answer within 60 s; it was ended")
        lists = {name: [] for name in ("close", "open", "differ")}
        return {"refused": {}, "equal": question["opcodes"], "also": {}, **lists}

    monkeypatch.setattr(Worker, "ask", ask)
    record = Record("conformance", tmp_path / "found.json")
    forms = ["add.u32", "sub.u32", "mul.lo.u32", "abs.s32", "neg.s32", "popc.b32"]
    conformance.compare(record, [asked(forms)], 2)
    assert record.wrong == ["mul.lo.u32: stopped: no answer within 60 s; it was ended"]
    assert record.notes[0] == (
        "add.u32 and 5 other forms in one kernel: no answer within 60 s; it was ended; run again in halves"
    )
    assert sorted(x for row in record.rows if row["verdict"] == "compared" for x in row["equal"]) == sorted(
        set(forms) - {"mul.lo.u32"}
    )
    count = len(asked_for)
    again = Record("conformance", tmp_path / "found.json")
    conformance.compare(again, [asked(forms)], 2)  # nothing is left to do
    assert len(asked_for) == count
    assert conformance.counts(again.rows) == Counter(equal=5, stopped=1)


@pytest.mark.long
def test_children_compare() -> None:
    """With real children: forms, and a program with a known result."""
    record = Record("conformance")
    name = "generic addresses of three spaces in one instruction"
    program = {"chunk": f"program: {name}", "program": name, "device": "step", "arch": "sm_90"}
    conformance.compare(record, [asked(["add.u32", "vote.all.pred"]), program], 1)
    assert record.wrong == []
    assert conformance.counts(record.rows) == Counter({"equal": 1, "refused": 1, "programs equal": 1})
    found = conformance.coverage(record.rows, 90)
    assert found["entries"] == len(form_programs.all_ops())
    assert found["left"]["vote.all.pred"] == "no GPU from sm_70 on has it"
    assert found["left"]["tex.1d.v4.u32.s32"] == "a launch on a GPU takes no textures and surfaces"
    assert found["left"]["trap"] == "stops the kernel"
    assert "add.u16" not in found["left"]
    assert "cvta.global.u32" not in found["left"]  # the program has one
    assert found["compared"] + len(found["left"]) == found["entries"]


@pytest.mark.long
def test_every_executed_entry_is_in_a_family_or_has_a_reason() -> None:
    without = {entry.name for entry in form_programs.all_ops() if entry.executed and not form_programs.family_of(entry)}
    assert without == {*"mov bra brx call ret exit trap brkpt multimem alloca stacksave stackrestore".split()}


@pytest.mark.parametrize(
    ("name", "words", "untouched", "verdict"),
    [
        ("a guarded shuffle that waits", (21,), False, "open"),  # one word of its results is open
        ("a guarded shuffle that waits", (20,), False, "differs"),
        ("a guarded shuffle that waits", (21, 22), False, "differs"),
        ("a lock within a warp", (0,), False, "open"),
        ("a lock within a warp", (0,), True, "differs"),  # but a result that was not written is wrong
    ],
)
def test_what_ptx_leaves_open_may_differ(name: str, words: tuple[int, ...], untouched: bool, verdict: str) -> None:
    record = Record("conformance")
    question = {"chunk": f"program: {name}", "program": name, "device": "gpu", "arch": "sm_90"}
    lanes = [{"word": word, "gpu": 0, "cpu": word ^ 16} for word in words]
    conformance.note(record, question, {"forms": [], "lanes": lanes, "untouched": untouched})
    assert [row["verdict"] for row in record.rows] == [verdict]
    said = f"program {name!r}: word {words[0]} is 0, not {words[0] ^ 16}"
    assert record.wrong == [said] * (verdict == "differs")


def bits(*values: float) -> Any:
    return np.array(values, np.float32).view(np.uint32).astype(np.uint64)


@pytest.mark.parametrize(
    ("opcode", "inputs", "a", "b", "wrong"),
    [
        ("add.f32", [1.0, 2.0], 3.0, np.nextafter(np.float32(3), np.float32(4)), True),
        ("ex2.approx.f32", [1.0], 2.0, 2.0 + 2 * 2.0**-22, False),  # 2 ulp and 0.93 of the emulator's
        ("ex2.approx.f32", [1.0], 2.0, 2.0 + 3 * 2.0**-22, True),
        ("ex2.approx.f32", [np.inf], np.inf, 3e38, True),
        ("sin.approx.f32", [1.0], 0.5, 0.5 + 2.0**-21, False),
        ("sin.approx.f32", [1.0], 0.5, 0.5 + 2.0**-19, True),
        ("sin.approx.f32", [100.0], 0.5, 0.5 + 2.0**-16, False),  # a wider bound for larger angles
        ("sin.approx.f32", [1000.0], 0.5, 0.9, False),  # none beyond 100 pi
        ("rsqrt.approx.f32", [-1.0], np.nan, 1.0, True),
    ],
)
def test_bounds(opcode: str, inputs: list[float], a: float, b: float, wrong: bool) -> None:
    one, other = bits(a), bits(b)
    found = difference(rule_for(form(opcode)), "f32", one, other, [bits(x) for x in inputs], one == other)
    assert bool(found.wrong) == wrong


def test_division_by_zero_is_open() -> None:
    a, b = np.array([5, 5], np.uint64), np.array([6, 6], np.uint64)
    inputs = [np.array([9, 9], np.uint64), np.array([0, 2], np.uint64)]
    assert difference(rule_for(form("div.u32")), "u32", a, b, inputs, a == b).wrong == [1]
