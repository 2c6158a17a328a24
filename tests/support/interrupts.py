"""Interrupts at random moments of a launch: no thread stays behind, and the next launch is right.

    python tests/support/interrupts.py COUNT [WORKERS] [SEED]

A timer raises KeyboardInterrupt in the middle of launches: while they build, start their workers, wait and end. Every
fifth is followed by more, 0.7 ms apart, as when somebody leans on Ctrl-C. `tests/emulate/test_emulate_interrupts.py`
runs a few in a process of its own.
"""

from __future__ import annotations

import collections
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path
from types import FrameType

import numpy as np

import ptxlab as pl
from ptxlab.emulate.jit.running.worker_threads import idle

TEXT = """.version 8.0
.target sm_80
.address_size 64
.visible .entry triple(.param .u64 out, .param .u32 rounds)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r4, [rounds];
    mov.u32 %r1, %tid.x;
    mov.u32 %r3, NUMBER;
    mul.lo.u32 %r2, %r1, 3;
    mad.wide.u32 %rd2, %r1, 4, %rd1;
AGAIN:
    sub.u32 %r4, %r4, 1;
    setp.ne.u32 %p1, %r4, 0;
    @%p1 bra AGAIN;
    st.global.u32 [%rd2], %r2;
    ret;
}
"""
LONG = 1 << 24
"""Rounds of a launch that is interrupted: long enough to be caught, and over by itself if an interrupt is lost."""


def threads() -> int:
    """The threads of this process, whoever started them, but for workers that wait for the next launch."""
    tasks = Path("/proc/self/task")
    return len(list(tasks.iterdir())) - idle() if tasks.exists() else threading.active_count()


def interrupt(number: int, frame: FrameType | None) -> None:
    """The timer's signal, as Ctrl-C."""
    raise KeyboardInterrupt


def launch(text: str, out: np.ndarray, rounds: int, workers: int) -> None:
    """One launch of eight blocks."""
    pl.launch(text, 8, 32, out, rounds, device="cpu", workers=workers)


def interrupted(text: str, out: np.ndarray, workers: int, delay: float, again: float) -> str:
    """What became of a launch that is interrupted after `delay` seconds, and then every `again` seconds."""
    became = "interrupted while the answer was on its way"
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, delay, again)
            launch(text, out, LONG, workers)
            became = "ran"
        except KeyboardInterrupt as stopped:
            became = type(stopped).__name__
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0, 0)
    except KeyboardInterrupt:
        signal.setitimer(signal.ITIMER_REAL, 0, 0)
    return became


def main() -> None:
    """Interrupts so many launches and prints a tally."""
    count, workers = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 4
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 0)
    signal.signal(signal.SIGALRM, interrupt)
    out = np.zeros(32, np.uint32)
    launch(TEXT.replace("NUMBER", "0"), out, 1, workers)
    before, left, start = threads(), 0, time.perf_counter()
    tally: collections.Counter[str] = collections.Counter()
    for k in range(count):
        text = TEXT.replace("NUMBER", str(k if k % 4 == 0 else 0))  # every fourth is built first
        delay = rng.uniform(1e-5, rng.choice([1e-3, 5e-3, 3e-2]))
        tally[interrupted(text, out, workers, delay, 7e-4 if k % 5 == 0 else 0)] += 1
        patience = time.perf_counter() + 0.3  # a worker that goes home at once may not have been scheduled yet
        while threads() > before and time.perf_counter() < patience:
            time.sleep(0.0005)
        left += max(0, threads() - before)
        out[:] = 0
        launch(text, out, 3, workers)
        assert (out == np.arange(32) * 3).all(), f"the launch after interrupt {k} is wrong: {out}"
    seconds = time.perf_counter() - start
    print(f"{count} interrupts of {workers} workers in {seconds:.1f} s: {dict(tally)}; threads left: {left}")
    sys.stdout.flush()
    os._exit(1 if left else 0)  # threads that are left would keep the process alive


if __name__ == "__main__":
    main()
