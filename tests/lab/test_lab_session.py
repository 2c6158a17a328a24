"""Requests of the explorer while they run: cancelled, outrun by a newer one, how far they are, how long they take."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from ptxlab.emulate.runtime import progress
from ptxlab.lab import explorer_views, session
from ptxlab.lab.controls import request
from ptxlab.lab.session import Running, Session, in_seconds

LONG = {"subject": "scalar", "head_dim": 64, "seq_q": 128, "seq_k": 512, "device": "step"}
SHORT = {"subject": "scalar", "head_dim": 16, "seq_q": 2, "seq_k": 2, "device": "step"}


class Page:
    """Stands where the browser stands: keeps what is published."""

    def __init__(self) -> None:
        self.states: list[dict[str, Any]] = []
        self.runs: list[int] = []

    def __call__(self, parts: dict[str, Any]) -> None:
        if parts.get("run"):
            self.runs.append(parts["run"]["seq"])
        if "status" in parts:
            self.states.append(parts["status"])

    def until(self, state: str) -> dict[str, Any]:
        """Waits for a state."""
        deadline = time.monotonic() + 60
        while not self.states or self.states[-1]["state"] != state:
            assert time.monotonic() < deadline, self.states
            time.sleep(0.01)
        return self.states[-1]


@pytest.fixture
def page() -> Page:
    return Page()


@pytest.fixture
def asked(page: Page) -> Iterator[Session]:
    made = Session(page)
    yield made
    made.cancel()
    assert made.wait(60)


def test_a_run_is_cancelled(asked: Session, page: Page) -> None:
    seq = asked.ask(request(**LONG), 7)
    assert seq == 7, "the number that the page gave it"
    running = page.until("running")
    assert running["text"].startswith("running, about ")
    assert running["estimate"] > session.LONG
    asked.cancel()
    assert page.states[-1] == {"state": "cancelled", "text": "cancelled", "busy": False, "failed": False, "seq": seq}
    assert asked.wait(60)
    assert page.states[-1]["state"] == "cancelled", "what is cancelled says nothing more"
    assert page.runs == []
    asked.cancel()  # nothing is in work
    assert len([s for s in page.states if s["state"] == "cancelled"]) == 1


@pytest.fixture
def interruptible() -> Iterator[None]:
    """SIGINT raises, also where a shell has begun the tests in the background and had them ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_who_interrupts_the_waiting_ends_the_run(asked: Session, page: Page) -> None:
    asked.ask(request(**LONG))
    page.until("running")
    # A signal that arrives, as the notebook's does: it ends the waiting for a lock, which `interrupt_main` does not.
    stop = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        stop.start()
        asked.wait()
    assert page.states[-1]["state"] == "cancelled"


def test_an_interrupt_between_two_cells_ends_the_run(asked: Session, page: Page) -> None:
    session.on_interrupt(asked)
    asked.ask(request(**LONG))
    page.until("running")
    session.cancel_all()
    assert page.states[-1]["state"] == "cancelled"


def test_what_was_cancelled_can_be_asked_for_again(asked: Session, page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    run = explorer_views.run
    monkeypatch.setattr(explorer_views, "run", lambda version, one: (asked.cancel(), run(version, one))[1])
    asked.ask(request(**SHORT))
    assert asked.wait(60)
    assert page.states[-1]["state"] == "cancelled"
    monkeypatch.setattr(explorer_views, "run", run)
    asked.again()
    assert asked.wait(60)
    assert page.states[-1]["state"] == "done"
    assert page.runs == [2]


def test_a_newer_request_ends_a_run(asked: Session, page: Page) -> None:
    asked.ask(request(**LONG))
    page.until("running")
    last = asked.ask(request(**SHORT))
    assert asked.wait(60)
    assert page.states[-1]["state"] == "done"
    assert page.runs == [last]


def test_a_run_says_how_far_it_is(asked: Session, page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    def long(version: Any, one: Any) -> None:
        watching = progress._watching.get()
        assert watching is not None
        watch = watching.watch
        page.until("running")  # the run begins while the code is still being shown
        watch(0, 64, 10)
        watch(16, 64, 1000)

    monkeypatch.setattr(session, "TELLING", 0.0)
    monkeypatch.setattr(Running, "seconds", lambda *_: 20.0)
    monkeypatch.setattr(explorer_views, "run", long)
    asked.ask(request(**SHORT))
    assert asked.wait(60)
    told = [s for s in page.states if "blocks" in s]
    assert told[0]["text"] == "running, 0 of 64 blocks done, about 20 s in all"
    assert told[1]["text"] == "running, 16 of 64 blocks done"
    assert (told[1]["done"], told[1]["blocks"]) == (16, 64)
    assert told[1]["estimate"] == pytest.approx(4 * told[1]["seconds"])


def test_a_long_run_waits_until_it_is_confirmed(page: Page) -> None:
    """It is said how long it would take; cancelled it is not begun."""
    asked = Session(page, asks=True)
    asked.ask(request(**{**LONG, "seq_q": 512}))
    assert asked.wait(60)
    asking = page.states[-1]
    assert (asking["state"], asking["busy"], asking["estimate"] > session.LONG) == ("asking", False, True)
    assert asking["text"].startswith("a run of about ")
    asked.cancel()
    assert page.states[-1]["state"] == "cancelled"
    asked.confirm()  # nothing waits for this any more
    assert page.states[-1]["state"] == "cancelled"
    asked.again()
    assert asked.wait(60)
    assert page.states[-1]["state"] == "asking"
    asked.confirm()
    page.until("running")
    asked.cancel()
    assert asked.wait(60)


@pytest.mark.parametrize(
    ("seconds", "words"), [(7.6, "8 s"), (23.0, "20 s"), (58.0, "60 s"), (200.0, "3 min"), (20_000.0, "6 h")]
)
def test_times_that_nobody_knows_exactly(seconds: float, words: str) -> None:
    assert in_seconds(seconds) == words


def test_what_was_answered_before_is_answered_at_once(asked: Session, page: Page) -> None:
    other = {**SHORT, "head_dim": 8}
    for given in (SHORT, other):
        asked.ask(request(**given))
        assert asked.wait(60)
    states = len(page.states)
    for given in (SHORT, other, SHORT):
        seq = asked.ask(request(**given))
        assert asked.wait(60)
        assert (page.states[-1]["state"], page.states[-1]["seq"]) == ("done", seq), "there was nothing to wait for"
        assert page.runs[-1] == seq
    assert len(page.states) == states + 3
    assert asked.wait(60)
    asked.ask(request(**SHORT, row=1))  # another view of it
    assert asked.wait(60)
    assert page.states[-1]["state"] == "done"
