"""No way out of a launch leaves a thread behind: Ctrl-C at any moment, and threads that cannot be started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from emulate_programs import kernel, run
from slow_cases import slow

threads = pytest.importorskip(
    "ptxlab.emulate.jit.running.worker_threads", reason="needs llvmlite", exc_type=ImportError
)

SCRIPT = Path(__file__).parents[1] / "support" / "interrupts.py"


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="needs setitimer")
@pytest.mark.parametrize(("count", "workers"), [(60, 4), *slow([(500, 1), (500, 2), (500, 8)])])
def test_interrupts_leave_no_thread(count: int, workers: int) -> None:
    environment = {**os.environ, "PTXLAB_CACHE": "off", "PYTHONPATH": str(SCRIPT.parents[2])}
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(count), str(workers)],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "threads left: 0" in done.stdout, done.stdout


def test_a_launch_that_gets_no_thread_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    from ptxlab.emulate.jit.running import run as jit

    def start(function: Any, args: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threads, "_thread", SimpleNamespace(start_new_thread=start))
    monkeypatch.setattr(jit, "HERE", 0.0)  # the caller's thread would run it all, in code that is fast enough
    long = kernel("mov.u32 %r30, 0; AGAIN: add.u32 %r30, %r30, 1; setp.lt.u32 %p1, %r30, 5000000; @%p1 bra AGAIN;")
    for ready in (0, 1):  # for one of the two
        waiting = [threads._idle.pop() for _ in range(threads.idle() - ready)]
        with pytest.raises(RuntimeError, match="start new thread"):
            run("jit", long, out=np.zeros(4096, np.uint32), blocks=2, workers=2, budget=None)
        threads._idle.extend(waiting)
