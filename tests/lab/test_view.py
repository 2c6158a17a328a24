"""What of an answer travels to the explorer's page: large parts once, then their numbers, the whole if asked for."""

from __future__ import annotations

from typing import Any

import pytest

from ptxlab.lab import view as view_module
from ptxlab.lab.view import View


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The states of messages to the page, one for each message."""
    messages: list[dict[str, Any]] = []

    def send(_view: View, message: dict[str, Any], buffers: Any = None) -> None:
        paths = message.get("buffer_paths", [])
        messages.append({k: {**v, "bytes": [k, "json"] in paths} for k, v in message["state"].items() if k == "code"})

    monkeypatch.setattr(View, "_send", send)
    monkeypatch.setattr(view_module, "REST", 1e6)
    return messages


def code(key: int, seq: int) -> dict[str, Any]:
    return {"key": key, "seq": seq, "ptx": ["ret;"] * key}


def parts(messages: list[dict[str, Any]]) -> list[tuple[int, int, bool]]:
    """(seq, number, whether the text was there) of each message's code."""
    return [(m["code"]["seq"], m["code"]["ref"], m["code"]["bytes"]) for m in messages if m]


def test_what_the_page_has_is_named_and_not_sent_again(sent: list[dict[str, Any]]) -> None:
    view = View()
    sent.clear()
    for seq, key in enumerate([1, 2, 1, 2, 3]):
        view.publish({"code": code(key, seq)})
    assert parts(sent) == [(0, 1, True), (1, 2, True), (2, 1, False), (3, 2, False), (4, 3, True)]
    assert view._rest is not None
    view._rest.cancel()


def test_a_page_that_does_not_know_a_number_gets_the_whole(sent: list[dict[str, Any]]) -> None:
    view = View()
    for seq, key in enumerate([1, 2, 1]):
        view.publish({"code": code(key, seq)})
    sent.clear()
    view.forget()  # what the page asks for
    view.publish({"code": code(2, 3)})
    assert parts(sent) == [(2, 1, True), (3, 2, True)]
