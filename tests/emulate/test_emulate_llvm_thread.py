"""LLVM's thread: the main thread's calls of LLVM run there, and an interrupt in any of them locks nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

thread = pytest.importorskip("ptxlab.emulate.jit.native.llvm_thread")


def where() -> str:
    """The name of the thread that does the work."""
    return str(thread.begin(lambda: threading.current_thread().name)())


def test_the_main_threads_calls_run_elsewhere() -> None:
    assert where() != threading.main_thread().name


def test_other_threads_make_their_own_calls() -> None:
    names: list[str] = []
    worker = threading.Thread(target=lambda: names.append(where()), name="worker")
    worker.start()
    worker.join()
    assert names == ["worker"]


def test_what_a_call_raises_comes_back() -> None:
    def fails() -> None:
        raise ValueError("no such target")

    with pytest.raises(ValueError, match=r"^no such target$"):
        thread.begin(fails)()
    assert where()


def test_what_somebody_waits_for_comes_first() -> None:
    order: list[str] = []
    gate = threading.Event()
    thread.soon(gate.wait)
    thread.later(lambda: order.append("later"))
    answers = [thread.begin(order.append, f"urgent {n}") for n in range(3)]
    gate.set()
    for answer in answers:
        answer()
    thread.begin(int)()
    thread.begin(int)()
    deadline = time.monotonic() + 60
    while len(order) < 4 and time.monotonic() < deadline:
        time.sleep(0.001)
    assert order == ["urgent 0", "urgent 1", "urgent 2", "later"]


def test_a_job_that_fails_does_not_end_the_thread(capfd: pytest.CaptureFixture[str]) -> None:
    def fails() -> None:
        raise ValueError("of a job that nobody waits for")

    thread.soon(fails)
    assert where()
    assert "ValueError: of a job that nobody waits for" in capfd.readouterr().err


def test_the_other_threads_work_beside_the_first() -> None:
    first, second, third = threading.Event(), threading.Event(), threading.Event()
    answers = [thread.beside(lambda: (first.set(), third.wait(60))[1])]
    answers.append(thread.beside(lambda: (second.set(), third.wait(60))[1]))
    answers.append(thread.begin(lambda: first.wait(60) and second.wait(60)))
    assert answers.pop()()
    third.set()
    assert all(answer() for answer in answers)
    named = thread.beside(lambda: threading.current_thread().name)()
    assert named not in (where(), threading.main_thread().name)


def test_all_is_done_before_a_fork() -> None:
    done: list[str] = []
    for begin in (thread.beside, thread.beside, thread.begin):
        begin(lambda: (time.sleep(0.05), done.append("")))
    thread.later(lambda: (time.sleep(0.05), done.append("")))
    thread.wait_until_idle()
    assert len(done) == 4


MODULE = """define i32 @twice(i32 %x) {
  %y = add i32 %x, %x
  ret i32 %y
}"""


def test_code_generated_without_the_lock_is_the_same() -> None:
    llvm, native = pytest.importorskip("llvmlite.binding"), pytest.importorskip("ptxlab.emulate.jit.native.compile")
    from ptxlab.emulate.jit.native.code import host
    from ptxlab.emulate.jit.native.library import library

    def both() -> tuple[bytes, bytes]:
        cpu = host()
        library()  # which initializes the target
        target = llvm.Target.from_default_triple()
        machine = target.create_target_machine(opt=0, cpu=cpu.name, features=cpu.features, jit=True)
        known = machine.emit_object(llvm.parse_assembly(MODULE, context=llvm.create_context()))
        return known, native.build(MODULE, host(), 0)

    known, built = thread.begin(both)()
    assert built == known


def test_a_module_that_cannot_be_read_keeps_nobody_waiting() -> None:
    native = pytest.importorskip("ptxlab.emulate.jit.native.compile")
    from ptxlab.emulate.jit.native.code import host

    result = thread.beside(native.build, "define nothing", host(), 0)
    with pytest.raises(RuntimeError, match="LLVM IR parsing error"):
        result()


@pytest.mark.long
def test_code_is_generated_while_another_thread_calls_llvm() -> None:
    """It would wait for llvmlite's lock, and make a call or two."""
    llvm, native = pytest.importorskip("llvmlite.binding"), pytest.importorskip("ptxlab.emulate.jit.native.compile")
    from ptxlab.emulate.jit.native.code import host

    body = "\n".join(f"  %v{k + 1} = mul i32 %v{k}, %x" for k in range(100_000))
    text = f"define i32 @long(i32 %x) {{\n  %v0 = add i32 %x, 1\n{body}\n  ret i32 %v100000\n}}"
    done, calls = threading.Event(), 0
    built = thread.beside(lambda: (native.build(text, host(), 0), done.set()))
    while not done.is_set():
        thread.begin(llvm.get_default_triple)()
        calls += 1
    built()
    assert calls > 50


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


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_has_a_thread_of_its_own() -> None:
    program = """
import os
from ptxlab.emulate.jit.native import library, llvm_thread
def host():
    return llvm_thread.begin(lambda: library.library().host())()
host()
child = os.fork()
if child == 0:
    os._exit(0 if host()[0] else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert (ran.stdout, ran.returncode) == ("0\n", 0), ran.stderr
