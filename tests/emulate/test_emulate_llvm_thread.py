"""LLVM's thread: the main thread's calls of LLVM run there, and an interrupt in any of them locks nothing."""

from __future__ import annotations

import signal
import threading
import time

import pytest

thread = pytest.importorskip("ptxlab.emulate.jit.native.llvm_thread")


def where() -> str:
    """The name of the thread that does the work."""
    return str(thread.begin(lambda: threading.current_thread().name)())


def test_a_job_that_fails_does_not_end_the_thread(capfd: pytest.CaptureFixture[str]) -> None:
    def fails() -> None:
        raise ValueError("of a job that nobody waits for")

    thread.soon(fails)
    assert where()
    assert "ValueError: of a job that nobody waits for" in capfd.readouterr().err


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs setitimer")
def test_an_interrupt_ends_the_waiting_and_not_the_work() -> None:
    done = threading.Event()

    def slow() -> None:
        time.sleep(0.2)
        done.set()

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            thread.begin(slow)()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert done.wait(60)
    assert where()
