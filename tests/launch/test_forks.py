"""Processes are forked while threads launch kernels: their children launch kernels, too."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from ptxlab import forks
from ptxlab.emulate.jit.native import llvm_thread

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
]

KERNELS = '''
import concurrent.futures, faulthandler, multiprocessing, os, random, sys, threading, time
import numpy as np
import ptxlab as pl

TEXT = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out) {{
 .reg .b32 %r<8>; .reg .b64 %d<4>; .reg .pred %p;
 ld.param.u64 %d1, [out];
 mov.u32 %r1, %tid.x;
 mul.lo.u32 %r2, %r1, {factor};
 {extra}
 mul.wide.u32 %d2, %r1, 4;
 add.s64 %d3, %d1, %d2;
 st.global.u32 [%d3], %r2;
 ret;
}}
"""
EXTRA = ("", "setp.lt.u32 %p, %r1, 7; @%p bra X; popc.b32 %r4, %r4; X:", "bar.sync 0;",
         "shfl.sync.idx.b32 %r3, %r2, 0, 31, -1;", "atom.global.max.u32 %r3, [%d1], 0;")
HOW = ({}, {"checks": "all"}, {"counters": True}, {"device": "step"})

def launch(draw):
    factor, out = draw.randrange(1, 1 << 20), np.zeros(64, np.uint32)
    pl.launch(TEXT.format(factor=factor, extra=draw.choice(EXTRA)), 1, 64, out, **draw.choice(HOW))
    assert (out == np.arange(64) * factor).all()

def launch_for_ever(seed):
    draw = random.Random(seed)
    while True:
        launch(draw)

def begin():
    for seed in range(4):
        threading.Thread(target=launch_for_ever, args=(seed,), daemon=True).start()
'''


def ran(script: str, cache: Path) -> str:
    """What a process printed that had these kernels."""
    env = os.environ | {"PTXLAB_CACHE": str(cache)}
    script = (
        f"{KERNELS}{textwrap.dedent(script)}\nsys.stdout.flush()\nos._exit(0)"  # no thread ends with the interpreter
    )
    command = [sys.executable, "-W", "ignore", "-c", script]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)
    return done.stdout + done.stderr


@pytest.mark.rest
def test_children_of_a_process_whose_threads_launch_kernels_launch_kernels(tmp_path: Path) -> None:
    said = ran(
        """
        def child(seed):
            faulthandler.dump_traceback_later(60, exit=True)
            for _ in range(2):
                launch(random.Random(seed))
            os._exit(0)

        begin()
        draw, children, failed = random.Random(1), [], 0
        for seed in range(8):
            time.sleep(0.2 * draw.random())
            pid = os.fork()
            children += [pid or child(seed)]
            if len(children) == 4:
                failed += os.waitpid(children.pop(0), 0)[1] != 0
        print(failed + sum(os.waitpid(pid, 0)[1] != 0 for pid in children), "failed")
        """,
        tmp_path,
    )
    assert said == "0 failed\n"


@pytest.mark.rest
def test_a_pool_of_processes_beside_threads_that_launch_kernels(tmp_path: Path) -> None:
    said = ran(
        """
        def task(seed):
            faulthandler.dump_traceback_later(60, exit=True)
            launch(random.Random(seed))
            return seed

        begin()
        fork = multiprocessing.get_context("fork")
        time.sleep(0.1)
        with concurrent.futures.ProcessPoolExecutor(3, fork) as pool:
            print(sum(pool.map(task, range(9))))
        with fork.Pool(2) as pool:
            print(sum(pool.map(task, range(4))))
        """,
        tmp_path,
    )
    assert said == "36\n6\n"


def answer_of_child(work: Callable[[], object]) -> int:
    """Whether this is true in a child, which has ten seconds."""
    pid = os.fork()
    if pid == 0:
        import signal

        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(10)
        os._exit(0 if work() else 1)
    return os.waitpid(pid, 0)[1]


def beside(work: Callable[[threading.Event, threading.Event], None], then: Callable[[], None]) -> None:
    """Calls a function while another is at work in a thread, which has set the first event and waits for the second."""
    begun, end = threading.Event(), threading.Event()
    thread = threading.Thread(target=work, args=(begun, end))
    thread.start()
    begun.wait()
    try:
        then()
    finally:
        end.set()
        thread.join()


@pytest.mark.parametrize("make", [forks.lock, forks.recursive_lock])
def test_a_lock_that_another_thread_holds_is_free_in_the_child(make: Callable[[], threading.Lock]) -> None:
    lock = make()

    def hold(begun: threading.Event, end: threading.Event) -> None:
        with lock:
            begun.set()
            end.wait()

    def fork() -> None:
        assert answer_of_child(lambda: lock.acquire()) == 0

    beside(hold, fork)


def test_a_fork_waits_for_llvm_and_llvm_for_the_fork() -> None:
    inside = list[str]()

    def work(begun: threading.Event, end: threading.Event) -> None:
        def job() -> None:
            inside.append("in LLVM")
            begun.set()
            end.wait(0.5)
            inside.clear()

        llvm_thread.begin(job)()

    def fork() -> None:
        assert inside
        assert answer_of_child(lambda: not inside) == 0

    beside(work, fork)


def test_a_fork_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forks, "LONGEST", 0.05)

    def stay(begun: threading.Event, end: threading.Event) -> None:
        with forks.guarded():
            begun.set()
            end.wait()

    def fork() -> None:
        assert answer_of_child(lambda: True) == 0

    beside(stay, fork)
    with forks.guarded():
        assert answer_of_child(lambda: True) == 0  # nor for the thread that forks


@pytest.mark.long
def test_a_child_imports_what_another_thread_was_importing(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import sys, time\nsys.begun.set()\ntime.sleep(sys.pause)\nvalue = 1\n")
    said = ran(
        f"""
        launch(random.Random(0))
        sys.path.insert(0, {str(tmp_path)!r})
        sys.begun, sys.pause = threading.Event(), 5
        threading.Thread(target=lambda: __import__("slow"), daemon=True).start()
        sys.begun.wait()
        pid = os.fork()
        if not pid:
            faulthandler.dump_traceback_later(20, exit=True)
            sys.pause = 0
            os._exit(__import__("slow").value != 1)
        print(os.waitpid(pid, 0)[1], "failed")
        """,
        tmp_path,
    )
    assert said == "0 failed\n"
