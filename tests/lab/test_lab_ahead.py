"""Answering ahead: which setting is likely to come next, and that its answer is there when it is asked for."""

from __future__ import annotations

import time
from typing import Any

import pytest

from ptxlab.lab import ahead, explorer_views, session
from ptxlab.lab.ahead import next_setting
from ptxlab.lab.requests import request

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


@pytest.mark.long
def test_the_next_setting_is_answered_while_nobody_waits_and_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ahead.SWITCH, "on")
    monkeypatch.setattr(session, "REST", 0.05)
    made: list[int] = []
    ran: list[int] = []
    begun, run = explorer_views.begun, explorer_views.run
    monkeypatch.setattr(explorer_views, "begun", lambda r: (made.append(r.given["head_dim"]), begun(r))[1])
    monkeypatch.setattr(explorer_views, "run", lambda v, r: (run(v, r), ran.append(r.given["head_dim"]))[0])
    published: list[dict[str, Any]] = []
    asked = session.Session(published.append)

    def ask(head_dim: int) -> None:
        asked.ask(request("scalar", head_dim=head_dim, seq_q=4, seq_k=4, device="step"))
        assert asked.wait(60)

    def comes(head_dim: int) -> None:
        deadline = time.monotonic() + 60
        while ran[-1] != head_dim and time.monotonic() < deadline:
            time.sleep(0.01)

    ask(4)
    ask(5)
    comes(6)
    told = len(published)
    ask(6)
    assert (made, ran) == ([4, 5, 6], [4, 5, 6]), "nothing was left to do"
    assert published[-1]["status"]["state"] == "done"
    assert len(published) > told
    ask(12)  # 7 is not begun any more
    time.sleep(0.2)
    assert 7 not in made
