"""What an exercise may limit: which instructions count as what."""

from __future__ import annotations

import dataclasses

import pytest

from ptxlab.course.measures import LINES
from ptxlab.emulate.runtime.counters import LineCounters

COUNTED = ("barriers", "shuffles", "global loads", "global stores", "shared loads", "shared stores", "exponentials")


def line(opcode: str) -> LineCounters:
    """A line that one warp has executed once."""
    numbers = {field.name: 0 for field in dataclasses.fields(LineCounters) if field.name != "opcode"}
    return LineCounters(opcode, **{**numbers, "warps": 1, "threads": 32})


@pytest.mark.parametrize(
    ("opcode", "counts"),
    [
        ("ld.global.f32", ["global loads"]),
        ("ld.relaxed.gpu.global.u32", ["global loads"]),
        ("ld.volatile.global.u32", ["global loads"]),
        ("st.release.gpu.global.u32", ["global stores"]),
        ("ld.shared.v4.f32", ["shared loads"]),
        ("ld.shared::cluster.b32", ["shared loads"]),
        ("ldmatrix.sync.aligned.m8n8.x4.shared.b16", ["shared loads"]),
        ("st.shared.f32", ["shared stores"]),
        ("st.shared.f32; ld.shared.f32", ["shared stores"]),
        ("bar.sync", ["barriers"]),
        ("barrier.cluster.arrive", ["barriers"]),
        ("bar.warp.sync", []),
        ("shfl.sync.bfly.b32", ["shuffles"]),
        ("ex2.approx.ftz.f32", ["exponentials"]),
        ("ld.param.u64", []),
        ("ld.u32", []),
        ("cp.async.cg.shared.global", []),
        ("atom.global.add.u32", []),
    ],
)
def test_what_a_line_counts_as(opcode: str, counts: list[str]) -> None:
    assert [what for what in COUNTED if LINES[what](line(opcode))] == counts
