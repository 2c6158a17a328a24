"""Answering ahead: which setting is likely to come next, and that its answer is there when it is asked for."""

from __future__ import annotations

from typing import Any

import pytest

from ptxlab.lab.controls import request
from ptxlab.lab.session import next_setting

LONG = {"seq_k": 16384, "heads": 128, "batch": 8, "kv_heads": 1}
"""A problem that runs for seconds."""


@pytest.mark.parametrize(
    ("kernel", "before", "now", "after"),
    [
        ("scalar", {"head_dim": 64}, {"head_dim": 65}, {"head_dim": 66}),
        ("mma", {"head_dim": 64}, {"head_dim": 48}, {"head_dim": 32}),
        ("mma", {"head_dim": 240}, {"head_dim": 256}, None),  # the last
        ("tiled", {"causal": False}, {"causal": True}, None),  # there is no third
        ("scalar", {"seq_q": 64}, {"seq_q": 65}, None),  # the same PTX
        ("scalar", {"head_dim": 8}, {"head_dim": 9, "causal": True}, None),
        ("scalar", {}, {}, None),
        ("decode", {**LONG, "head_dim": 64}, {**LONG, "head_dim": 72}, None),
    ],
)
def test_the_next_setting_goes_on_in_the_same_way(
    kernel: str, before: dict[str, Any], now: dict[str, Any], after: dict[str, Any] | None
) -> None:
    found = next_setting(request(kernel, **before), request(kernel, **now))
    assert found == (None if after is None else request(kernel, **(now | after)))


def test_another_kernel_says_nothing_of_the_next_setting() -> None:
    assert next_setting(request("scalar"), request("tiled")) is None
