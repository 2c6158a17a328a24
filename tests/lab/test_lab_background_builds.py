"""Building ahead: which setting is likely to come next, and that another process leaves its code in the cache."""

from __future__ import annotations

import time
from typing import Any

import pytest

from ptxlab.lab import background_builds, explorer_views
from ptxlab.lab.background_builds import Builder, next_setting
from ptxlab.lab.requests import request
from ptxlab.lab.session import Session

LONG = {"seq_k": 16384, "heads": 128, "batch": 8}
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
        ("decode", {**LONG, "head_dim": 64}, {**LONG, "head_dim": 72}, {"head_dim": 80}),  # sampled
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
def test_the_next_kernel_is_made_while_nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the session itself: kernel, code pane and diff, which the page is sent."""
    monkeypatch.setenv(background_builds.SWITCH, "on")
    made: list[int] = []
    begun, asked = explorer_views.begun, Builder()
    monkeypatch.setattr(asked, "build", lambda request: None)
    monkeypatch.setattr(explorer_views, "begun", lambda r: (made.append(r.given["head_dim"]), begun(r))[1])
    foretold: list[Any] = []
    session = Session(lambda parts: None, asked, foretell=lambda *told: foretold.append(told))

    def ask(head_dim: int) -> None:
        session.ask(request("scalar", head_dim=head_dim, seq_q=4, seq_k=4, device="step"), f"asked {head_dim}")
        assert session.wait(60)

    def comes(head_dim: int) -> None:
        deadline = time.monotonic() + 60
        while made[-1] != head_dim and time.monotonic() < deadline:
            time.sleep(0.01)

    ask(4)
    ask(5)
    comes(6)
    ask(6)
    comes(7)
    assert made == [4, 5, 6, 7]
    assert session.version is not None
    assert session.version.code["name"] == "scalar_f32_d6"
    assert session.version.against is not None
    assert session.version.against[1]["title"] == "head dim 4 → 6"
    likely, before, parts = foretold[0]
    assert (likely.given["head_dim"], before) == (6, "asked 5")
    assert parts == {"code": session.version.code, "diff": session.version.against[1]}
    ask(12)  # 7 is given up, or has been made for nobody
    assert made[:5] == [4, 5, 6, 7, 12]
