"""Large problems in the explorer: blocks run by themselves count as they do in the grid, and stand for the others."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import ptxlab as pl
from ptxlab.emulate.trace.recorder import Trace
from ptxlab.lab import explorer_views, run_pane, sampled_runs
from ptxlab.lab.requests import Request, request


def answer(name: str, **values: Any) -> tuple[Any, dict[str, Any], Request, Any]:
    asked = request(name, **values)
    version = explorer_views.build(asked)
    ran = explorer_views.run(version, asked)
    return ran, run_pane.show(ran, asked, version.built), asked, version


@pytest.mark.sweep(3)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("name", "rows"), [("scalar", 256), ("tiled", 256), ("mma", 128)])
def test_blocks_by_themselves_count_what_the_grid_counts(
    monkeypatch: pytest.MonkeyPatch, name: str, rows: int, causal: bool
) -> None:
    values = {"seq_q": rows, "seq_k": 160, "head_dim": 16, "causal": causal, "heads": 2}
    whole, _, _, _ = answer(name, **values)
    assert whole.sampled is None
    every = {"scalar": 128, "tiled": 128, "mma": 64}[name]
    plan = sampled_runs.Plan(((0, 0), (0, 1)), tuple(range(0, rows, every)), every, 2 * rows // every)
    monkeypatch.setattr(sampled_runs, "plan", lambda values, tile_q: plan)
    ran, shown, _, _ = answer(name, **values)
    assert shown["sample"].startswith("4 of 4 blocks were run, of 2 of 2 heads")
    assert ran.judged.measured.ok
    assert shown["findings"] == []
    assert ran.run.grid == whole.run.grid
    assert ran.counts.thread_instructions == whole.counts.thread_instructions
    assert ran.counts.opcodes == whole.counts.opcodes
    assert ran.counts.metrics == whole.counts.metrics


@pytest.mark.rest
@pytest.mark.long
def test_a_few_blocks_stand_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"seq_q": 1024, "seq_k": 1024, "head_dim": 16, "causal": True, "heads": 4, "kv_heads": 2}
    whole, _, _, _ = answer("tiled", **values)
    monkeypatch.setattr(sampled_runs, "WHOLE", 8e6)
    monkeypatch.setattr(sampled_runs, "MOST_BLOCKS", 3)
    ran, shown, asked, version = answer("tiled", **values)
    assert shown["sample"] == "4 of 32 blocks were run, of 2 of 4 heads; counts are scaled up from them"
    assert ran.counts.thread_instructions == pytest.approx(whole.counts.thread_instructions, rel=0.002)
    assert shown["error"]["ok"]
    assert shown["map"]["numbers"][:2] == [128, 129]
    assert shown["tiles"]["sampled"] == [[128, 255], [768, 895]]
    assert asked.subject.groups(asked.given) == [("batch 0, head 0", (0, 0)), ("batch 0, head 3", (0, 3))]
    assert asked.subject.work(asked.given) < 8e6
    state = explorer_views.state(version, asked, ran)
    assert state is not None
    assert (state["label"], state["row"]) == ("batch 0, head 0, row 895", 895)
    assert len(state["scores"]) == 896
    np.testing.assert_allclose(state["kernel"]["l"], state["numpy"]["l"], rtol=1e-4)
    last = asked.subject.block_of(version.built, asked.given, (0, 3), 895)
    assert last == 8 * 3 + 6
    assert len(asked.subject.recorded(version.built, asked.given, Trace(blocks=last, limit=1 << 20)).trace.warps) == 4


def test_the_largest_problem_is_planned_within_its_time() -> None:
    asked = request("tiled", seq_q=16384, seq_k=16384, heads=128, kv_heads=8, batch=8)
    plan = sampled_runs.plan(asked.given, 128)
    assert plan is not None
    assert plan.blocks == 128 * 128 * 8
    assert asked.subject.work(asked.given) <= 2 * 128 * 16384 * 64
    assert sampled_runs.plan(request("tiled").given, 128) is None
    with pytest.raises(pl.TargetError) as caught:
        request("tiled", seq_q=16385).check()
    assert str(caught.value) == "tiled: seq_q is a whole number from 1 to 16384, not 16385"


@pytest.mark.long
@pytest.mark.sweep(3)
@pytest.mark.parametrize(("name", "more"), [
    ("decode_split", {}), ("decode_multiwarp", {}), ("decode_gqa", {"cache": "paged", "page_size": 8}),
    ("decode_paged", {}), ("decode", {}), ("decode_gqa", {}), ("decode_reduce", {}),
])  # fmt: skip
def test_heads_of_a_few_sequences_stand_for_all_of_decoding(
    monkeypatch: pytest.MonkeyPatch, name: str, more: dict[str, Any]
) -> None:
    values = {"seq_k": 70, "heads": 8, "kv_heads": 4, "batch": 3, "head_dim": 32, **more}
    whole, _, _, _ = answer(name, **values)
    monkeypatch.setattr(sampled_runs, "WHOLE", 150e3)
    ran, shown, asked, version = answer(name, **values)
    heads, sequences = ran.sampled.rows, [pair[0] for pair in ran.sampled.heads]
    assert shown["sample"] == (
        f"{len(heads)} of 8 heads were run, of {len(sequences)} of 3 sequences; counts are scaled up from them"
    )
    assert 0 < len(heads) * len(sequences) < 24
    assert asked.subject.groups(asked.given) == [(str(b), (b, 0)) for b in sequences]
    assert ran.run.grid == whole.run.grid
    assert ran.counts.thread_instructions == whole.counts.thread_instructions
    assert ran.counts.metrics == whole.counts.metrics
    assert shown["error"]["ok"]
    assert shown["map"]["numbers"] == list(heads)
    asked = dataclasses.replace(asked, head=(sequences[-1], 0), row=heads[0])
    state = explorer_views.state(version, asked, ran)
    assert state is not None
    assert (state["label"], state["row"]) == (f"sequence {sequences[-1]}, head {heads[0]}", heads[0])
    np.testing.assert_allclose(state["kernel"]["l"], state["numpy"]["l"], rtol=1e-3)
    block = asked.subject.block_of(version.built, asked.given, asked.head, asked.row)
    steps = asked.subject.recorded(version.built, asked.given, Trace(blocks=block)).trace
    assert len(steps.warps) == ran.run.block[0] // 32
