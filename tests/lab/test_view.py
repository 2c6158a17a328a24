"""What of an answer travels to the explorer's page: large parts once, then their numbers, the whole if asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ptxlab.lab import view as view_module
from ptxlab.lab.view import KNOWN, View


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


def test_what_travels_ahead_is_named_when_it_is_wanted(
    sent: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    view = View()
    sent.clear()
    ahead: list[tuple[dict[str, Any], Any]] = []
    monkeypatch.setattr(View, "send", lambda _view, message, buffers: ahead.append((message, buffers)))
    part = code(2, 0)
    view.foretell({"code": part})
    view.foretell({"code": part}, 3, {"control": ["value", 2]})  # once is enough
    view.publish({"code": code(1, 1)})
    view.publish({"code": code(2, 2)})
    view.foretell({"code": code(1, 0)})
    assert [(message["parts"], message["sent"]) for message, _ in ahead] == [
        ({"code": 2}, [2]),
        ({"code": 2}, []),
        ({"code": 1}, []),
    ]
    assert [(message["subject"], message["asked"]) for message, _ in ahead][:2] == [
        (0, None),
        (3, {"control": ["value", 2]}),
    ]
    assert [[json.loads(b) for b in buffers] for _, buffers in ahead] == [[part], [], []]
    assert parts(sent) == [(1, 1, True), (2, 2, False)]
    assert view._rest is not None
    view._rest.cancel()


def test_results_with_their_bytes_are_named_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view_module, "REST", 1e6)
    messages: list[dict[str, Any]] = []
    monkeypatch.setattr(View, "_send", lambda _view, message, buffers=None: messages.append((message, buffers)))
    view = View()
    messages.clear()
    result = {"key": 1, "map": {"values": b"abcd"}}
    for seq in range(2):
        view.publish({"run": {**result, "seq": seq}, "state": {"key": 2, "seq": seq, "tiles": 4}})
    (first, buffers), (second, none) = messages
    assert first["buffer_paths"] == [["run", "whole", "map", "values"]]
    assert [bytes(b) for b in buffers] == [b"abcd"]
    assert first["state"]["state"]["whole"]["tiles"] == 4
    assert second["state"] == {"run": {"seq": 1, "ref": 1}, "state": {"seq": 1, "ref": 2}}
    assert not none
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


def test_after_a_rest_and_for_copies_the_state_is_whole(sent: list[dict[str, Any]]) -> None:
    view = View()
    for seq, key in enumerate([1, 2, 1]):
        view.publish({"code": code(key, seq)})
    assert "json" in view.get_state()["code"]  # a page that opens, a saved copy
    sent.clear()
    assert view._rest is not None
    view._rest.cancel()
    view._rest.function()
    view.publish({"code": code(2, 3)})
    assert parts(sent) == [(2, 1, True), (3, 2, False)], "what was sent before is still known"
    view._rest.cancel()


def test_only_so_many_are_taken_for_granted(sent: list[dict[str, Any]]) -> None:
    view = View()
    sent.clear()
    for seq in range(KNOWN + 1):
        view.publish({"code": code(seq, seq)})
    view.publish({"code": code(1, 100)})
    view.publish({"code": code(0, 101)})
    assert parts(sent)[-2:] == [(100, 1, False), (101, 0, True)]
    assert view._rest is not None
    view._rest.cancel()
