"""The explorer's engine room: one request at a time on a worker thread, the newest only, results as they are ready.

Every request has a sequence number. When a newer one arrives, or it is cancelled, a launch in work is stopped, any
other work stops at its next stage, and what it computed is not published. Results are kept, so that a setting seen
before comes back soon. After a rest the setting that is likely to come next is answered into them.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from IPython.core.getipython import get_ipython

from ptxlab.emulate.runtime.progress import Watching, watched
from ptxlab.errors import PtxlabError
from ptxlab.lab import explorer_views, measures, protocol, run_pane
from ptxlab.lab.explorer_views import Version
from ptxlab.lab.measures import Setting
from ptxlab.lab.subject import Ran, Request, machines

REST = 0.4
"""Seconds after an answer until the setting that is likely to come next is answered ahead."""
KEEP = 160
"""How many parts of answers are kept: some thirty settings have so many."""
SWITCH = "PTXLAB_BUILD_AHEAD"
"""The environment variable that switches this off, with "off"."""
HEAVY = 5e7
"""Multiplications of a run (see `Request.work`) from which on a setting is not answered ahead: it may take a second."""
WORTH_SAYING = 0.1
"""Seconds of building before it is said that something is being built: to say it costs the page a frame."""
LONG = 5.0
"""Seconds: a run that is likely to take longer says so before it begins, or asks whether to begin."""
TELLING_RATE = 1.0
"""Seconds that a run should take by `RATES` for its rate to count: a shorter one is mostly the kernel's translation."""
RATES = {"cpu": 2e-8, "step": 1e-5}
"""Seconds for one multiplication of `Request.work` by device, before a run of the kernel has been measured: between the
fastest and the slowest rung, as measured on two cores."""
TELLING = 0.4
"""Seconds between two words on how far a run is."""
Says = Callable[[str, dict[str, Any]], None]
"""Tells how far a run is: a text, and its `done`, `blocks`, `seconds` and `estimate`."""


class Kept(OrderedDict[tuple[str, Hashable], Any]):
    """The one cache between a control and the page: parts of answers, by their name and what they were made of, the
    newest last."""

    def __call__(self, part: str, key: Hashable, make: Callable[[], Any]) -> Any:
        """What was made before for this key, or is made now; the oldest is let go where there are too many."""
        if (part, key) not in self:
            self[part, key] = make()
        self.move_to_end((part, key))
        while len(self) > KEEP:
            self.popitem(last=False)
        return self[part, key]


class Session:
    """Answers requests. `publish(parts)` is called from the worker thread with what is ready: values of "code", "diff",
    "base", "assembly", "run", "measures", "state", "sass", "sass_diff", "problem" and "status"; each holds the `seq` of
    the request it answers. What is ready together is published together, before the next piece of work begins.

    asks: whether a run of more than `LONG` seconds waits for `confirm`. Until then the state is "asking",
    with the `estimate`."""

    def __init__(self, publish: Callable[[dict[str, Any]], None], asks: bool = False) -> None:
        self._publish = publish
        self._running = Running(self._outdated, asks)
        self._asking = -1  # the number of the request that waits to be confirmed
        self._ended = -1  # the number of the request that was cancelled
        self._order = threading.RLock()  # after "cancelled" nothing of that request is published
        self._lock = threading.Condition()
        self._waiting: Request | None = None
        self._thread: threading.Thread | None = None
        self._kept = Kept()
        self._building = 1.0  # seconds that the last version took
        self.seq = 0
        self.request: Request | None = None
        self.version: Version | None = None
        self.against = "previous"  # or "pinned": what settings are compared with
        self._settled: list[Setting] = []  # the setting that was answered last, and the one before it
        self._pinned: Setting | None = None  # the first one, until another is pinned
        self._shown: Request | None = None  # what was answered last

    def ask(self, request: Request, least: int = 0) -> int:
        """Queues a request and returns its number, `least` or more, at once; it replaces one that is waiting and ends
        one in work."""
        with self._lock:
            seq = self.seq = max(self.seq + 1, least)
            self._waiting = self.request = request
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="ptxlab-explorer", daemon=True)
                self._thread.start()
        self._running.hurry()
        return seq

    def pin(self) -> None:
        """Makes the setting that is shown the one that later ones are compared with."""
        if self.version is not None and self.request is not None:
            shown = next((s for s in self._settled[:1] if s.version is self.version), None)
            self._pinned = shown or explorer_views.setting(self.version, self.request)
            self.compare("pinned")

    def compare(self, against: str) -> None:
        """Compares with the "previous" setting or with the "pinned" one: diff, machine code, counters and figures."""
        self.against = against
        self.again()

    def _base(self, key: Request) -> Setting | None:
        """The setting that a request is compared with; None for the first."""
        if self.against == "pinned":
            return self._pinned
        return next((s for s in self._settled if s.key != key), None)

    def again(self) -> None:
        """Asks once more for what was asked last, after a cancellation or against another setting."""
        if self.request is not None:
            self.ask(self.request)

    def confirm(self) -> None:
        """Begins the run that waits. Does nothing while no request waits for this."""
        if self.request is not None and self._asking == self.seq:
            self._running.confirm(self.request)
            self.again()

    def cancel(self) -> None:
        """Ends what is in work: a launch within some thousand instructions of its warps, anything else at its next
        stage; a run that waits to be confirmed is not begun. Does nothing while there is neither."""
        with self._order:
            with self._lock:
                if self._thread is None and self._asking != self.seq:
                    return
                self._asking = -1
                self._waiting, self._ended = None, self.seq
            self._running.hurry()
            self._publish({"status": self._status("cancelled", "cancelled", self.seq)})

    def _outdated(self, seq: int) -> bool:
        """Whether nobody waits for this request any more."""
        return seq != self.seq or seq == self._ended

    def _send(self, seq: int, parts: dict[str, Any]) -> None:
        """Publishes what belongs to a request, unless it is outdated."""
        with self._order:
            if not self._outdated(seq):
                self._publish(parts)

    def _status(self, state: str, text: str, seq: int, **more: Any) -> dict[str, Any]:
        busy = state in ("building", "running")
        return {"state": state, "text": text, "busy": busy, "failed": state == "failed", "seq": seq, **more}

    def wait(self, timeout: float = 60.0) -> bool:
        """Waits until nothing is in work; False when that takes longer than `timeout` seconds. An interrupt of the
        waiting cancels the work."""
        try:
            with self._lock:
                return self._lock.wait_for(lambda: self._thread is None, timeout)
        except KeyboardInterrupt:
            self.cancel()
            raise

    def _work(self) -> None:
        while self._next():
            pass

    def _next(self) -> bool:
        """Answers the request that waits; False if there is none: then nothing is in work any more."""
        with self._lock:
            request, seq, self._waiting = self._waiting, self.seq, None
            if request is None:
                self._thread = None
                self._lock.notify_all()
                return False
        if self._answer(request, seq):
            self._go_on(request, seq)
        return True

    def _go_on(self, request: Request, seq: int) -> None:
        """Sees to the setting that is likely to come next, if this one was another than the last."""
        likely = None
        if self._shown is not None and request.values != self._shown.values:
            likely = next_setting(self._shown, request)
        self._shown = request
        if likely is not None and switched_on():
            timer = threading.Timer(REST, self._ahead, (likely, seq, cells_begun()))
            timer.daemon = True
            timer.start()

    def _ahead(self, request: Request, seq: int, cells: int) -> None:
        """Answers a request for later. It is dropped at its next stage once a cell runs or anything is asked."""
        with contextlib.suppress(
            PtxlabError, Unconfirmed, ValueError, MemoryError, KeyboardInterrupt
        ):  # who asks is told
            for _ in self._stages(request, seq, ahead=True):
                if self._outdated(seq) or cells_begun() != cells:
                    return

    def _answer(self, request: Request, seq: int) -> bool:
        """Publishes the answer part by part; whether it is whole."""
        start = time.perf_counter()
        times: dict[str, float] = {}
        ready: dict[str, Any] = {}
        try:
            for part, value in self._stages(request, seq):
                if self._outdated(seq):
                    return False
                times[part] = time.perf_counter() - start
                if part == "status":  # work begins: what there is so far can be looked at
                    self._send(seq, {**ready, part: self._status(seq=seq, **value, times=dict(times))})
                    ready = {}
                else:
                    ready[part] = None if value is None else {**value, "seq": seq}
            status = self._status("done", f"done in {time.perf_counter() - start:.2f} s", seq)
        except Unconfirmed as held:
            self._asking = seq
            status = self._status("asking", str(held), seq, **held.more)
        except KeyboardInterrupt:
            if self._outdated(seq):  # the watch of the launch has raised it
                return False
            raise
        except Exception as error:  # every error belongs on the page: the widget must live on
            if self._outdated(seq):
                return False
            if not isinstance(error, PtxlabError | ValueError | MemoryError):
                import traceback

                traceback.print_exc()
            ready["problem"] = {**explorer_views.problem(error, self.version if times else None), "seq": seq}
            status = self._status("failed", "stopped: see the message", seq)
        self._send(seq, {**ready, "status": {**status, "times": times}})
        return status["state"] == "done"

    def _stages(self, request: Request, seq: int, ahead: bool = False) -> Iterator[tuple[str, Any]]:
        """The parts of an answer in the order in which a reader wants them. What is kept from before comes at once, so
        nothing is said of the work on it. ahead: nobody waits for it, and it is not what is shown."""
        request.check()
        kept, key, view = self._kept, request.result_key, replace(request, sass=False)
        version = kept.get(("version", request.version_key))
        new = version is None
        if new and self._building > WORTH_SAYING:
            yield "status", {"state": "building", "text": "building"}

        def says(text: str, more: dict[str, Any]) -> None:
            if not ahead:
                self._send(seq, {"status": self._status("running", text, seq, **more)})

        begun = time.perf_counter()
        version = version or explorer_views.begun(request)
        assembling = running = None
        ran_before = ("outcome", key) in kept
        held = None if ran_before else self._running.held(request)
        if version.error is None and ("assembly", key) not in kept:  # the assembler works while Python makes panes
            assembling = begun_ahead(lambda: explorer_views.assemble(version, request))
        if not version.finished:
            explorer_views.finish(version)
            self._building = time.perf_counter() - begun
        kept("version", request.version_key, lambda: version)
        if self._outdated(seq):
            return
        before = self._base(key)
        other = before.version if before else version

        def measured(assembly: Any = (), run: Any = (), ran: Ran | None = None) -> tuple[Setting, protocol.Measures]:
            now = explorer_views.setting(version, request, dict(assembly), dict(run), ran)
            return now, measures.part(now, before, version.code, dict(assembly), dict(run))

        self.version = self.version if ahead else version
        yield "code", version.code
        yield "problem", None
        yield "base", explorer_views.base(other)
        both = other.request.version_key, request.version_key
        yield "diff", kept("diff", both, lambda: explorer_views.diff(other, version))
        yield "measures", measured()[1]
        if version.error is not None:
            raise version.error
        if new:
            yield "status", {"state": "building", "text": "assembling"}
        if held is None and not ran_before and request.subject.family:  # the library's kernels do assemble
            # Not sooner: writing LLVM's text is Python, and would hold up the code pane, where a reader looks first.
            running = begun_ahead(lambda: self._running.run(version, request, seq, says))
        made = {} if assembling is None else assembling.result()
        if refused := made.pop("error", None):
            yield "assembly", made
            yield "measures", measured(made)[1]
            raise refused
        assembly = kept("assembly", key, lambda: made)
        yield "assembly", assembly
        yield "measures", measured(assembly)[1]
        fault: Exception | None = None
        try:
            if held is not None:
                raise held
            if not ran_before:
                yield "status", {"state": "running", **self._running.foreseen(request)}
            self._running.tell(seq)
            begin = running.result if running else lambda: self._running.run(version, request, seq, says)
            ran = kept("outcome", key, begin)
            shown_run = kept("run", view, lambda: run_pane.show(ran, view, version.built))
            yield "run", {**shown_run, "cached": ran_before}
            now, figures = measured(assembly, shown_run, ran)
            if not ahead:  # from now on this setting is shown, and the next one is compared with it
                self._settled = [now, *(s for s in self._settled[:2] if s.key != now.key)][:2]
                self._pinned = self._pinned or now
            yield "measures", figures
            if ("state", view) not in kept:
                yield "status", {"state": "running", "text": "recording the softmax"}
            with self._running.watched(seq, says):
                found = kept("state", view, lambda: explorer_views.state(version, view, ran))
                was = kept.get(("state", replace(before.key, row=view.row, head=view.head))) if before else None
                yield "state", found and {**found, "before": explorer_views.state_before(found, was)}
        except (PtxlabError, Unconfirmed) as stopped:  # the machine code can be shown all the same
            fault = stopped
        if request.sass:
            yield "status", {"state": "building", "text": "disassembling"}
            yield "sass", explorer_views.sass(version, request)
            yield "sass_diff", explorer_views.sass_diff(other, version, request)
        if fault is not None:
            raise fault


# -- launches: how long they are likely to take, whether to begin them, how far they are, and their end ----------------


class Unconfirmed(Exception):
    """A run that begins only when somebody has said so; `more` is what the status says of it."""

    def __init__(self, text: str, **more: Any) -> None:
        super().__init__(text)
        self.more = more


class Running:
    """The launches of one session. outdated: whether nobody waits any more for the request with this number; asks:
    whether a run of more than `LONG` seconds waits to be confirmed."""

    def __init__(self, outdated: Callable[[int], bool], asks: bool) -> None:
        self._outdated, self._asks = outdated, asks
        self._rates: dict[tuple[str, str], float] = {}  # seconds for one multiplication, by kernel and device
        self._confirmed: set[Request] = set()
        self._watching: Watching | None = None  # the launch in work
        self._telling = 0, 0.0  # the request of which it is said how far its run is, and since when

    def seconds(self, request: Request) -> float | None:
        """The seconds that a run is likely to take; None where that is not known."""
        device, work = machines(request.device)[-1], request.work
        rate = self._rates.get((request.subject.name, device), RATES.get(device))
        return None if work is None or rate is None else work * rate

    def foreseen(self, request: Request) -> dict[str, Any]:
        """What to say of a run that begins: `text`, and `estimate`, its seconds or None where it is short."""
        estimate = self.seconds(request)
        if estimate is None or estimate <= LONG:
            return {"text": "running", "estimate": None}
        return {"text": f"running, about {in_seconds(estimate)}", "estimate": estimate}

    def held(self, request: Request) -> Unconfirmed | None:
        """What to ask before this request's run begins; None where it may begin."""
        estimate = self.foreseen(request)["estimate"]
        if not self._asks or estimate is None or request.result_key in self._confirmed:
            return None
        return Unconfirmed(f"a run of about {in_seconds(estimate)}", estimate=estimate)

    def confirm(self, request: Request) -> None:
        """From now on the run of this request may begin."""
        self._confirmed.add(request.result_key)

    def run(self, version: Version, request: Request, seq: int, says: Says) -> Ran | None:
        """Runs the kernel, and notes how long it took."""
        start = time.perf_counter()
        with self.watched(seq, says, self.seconds(request)):
            ran = explorer_views.run(version, request)
        device, work = machines(request.device)[-1], request.work
        if ran is not None and work and work * RATES.get(device, 0.0) > TELLING_RATE:
            self._rates[request.subject.name, device] = (time.perf_counter() - start) / work
        return ran

    def hurry(self) -> None:
        """Has a launch in work ask at once whether it is outdated."""
        watching = self._watching
        if watching is not None:
            watching.hurry()

    def tell(self, seq: int) -> None:
        """From now on it is said how far the run of this request is: so far the page may have said "building"."""
        self._telling = seq, time.perf_counter()

    @contextmanager
    def watched(self, seq: int, says: Says, expected: float | None = None) -> Iterator[None]:
        """Launches that this thread makes meanwhile are stopped once their request is outdated; of the others it is
        said how far they are. expected: the seconds that they are likely to take, until blocks that are done say
        more."""
        with watched(self._watch(seq, says, expected)) as watching:
            self._watching = watching
            try:
                yield
            finally:
                if self._watching is watching:  # and not a newer one's
                    self._watching = None

    def _watch(self, seq: int, says: Says, expected: float | None) -> Callable[[int, int, int], None]:
        start = time.perf_counter()
        told = start

        def watch(done: int, blocks: int, _instructions: int) -> None:
            nonlocal told
            if self._outdated(seq):
                raise KeyboardInterrupt
            now = time.perf_counter()
            shown, since = self._telling
            if shown != seq or now - max(told, since) < TELLING:
                return
            told, seconds = now, now - start
            estimate = seconds * blocks / done if done else expected
            text = f"running, {done:,} of {blocks:,} blocks done"
            if estimate is not None and estimate > LONG:
                text += f", about {in_seconds(estimate)} in all"
            says(text, {"done": done, "blocks": blocks, "seconds": seconds, "estimate": estimate})

        return watch


def in_seconds(seconds: float) -> str:
    """A time that nobody knows exactly: 8 s, 40 s, 3 min, 2 h."""
    if seconds < 60:
        return f"{seconds:.0f} s" if seconds < 10 else f"{round(seconds, -1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.0f} h"


def begun_ahead(work: Callable[[], Any]) -> Future[Any]:
    """Begins work at once, in a thread of its own that the interpreter's end does not wait for; its `result` waits for
    what it gives, or raises what it raised."""
    found: Future[Any] = Future()

    def do() -> None:
        try:
            found.set_result(work())
        except BaseException as error:  # belongs to whoever asks for the result
            found.set_exception(error)

    threading.Thread(target=do, name="ptxlab-ahead", daemon=True).start()
    return found


# -- what is likely to be asked for next: one who moves a slider by a step will move it again, the same way ------------


def switched_on() -> bool:
    """Whether anything is answered ahead."""
    return os.environ.get(SWITCH) != "off"


def next_setting(before: Request, now: Request) -> Request | None:
    """The setting that is likely to come after two others: a parameter of the PTX moved on as it was moved last. None
    where something else was changed, or where it cannot be moved further."""
    changed = [(name, old, new) for (name, new), (_, old) in zip(now.values, before.values, strict=False) if old != new]
    if before.subject is not now.subject or len(changed) != 1:
        return None
    ((name, old, new),) = changed
    parameter = next((p for p in now.subject.building if p.name == name), None)
    if parameter is None or not now.subject.family:
        return None
    values = parameter.choices or range(parameter.minimum, parameter.maximum + 1)
    if old not in values or new not in values:
        return None
    there = 2 * values.index(new) - values.index(old)
    if not 0 <= there < len(values):
        return None
    value = values[there]
    after = replace(now, values=tuple((n, value if n == name else x) for n, x in now.values), sass=False)
    work = after.work
    return None if work is None or work > HEAVY else after


def cells_begun() -> int:
    """How many cells of the notebook have begun so far."""
    shell: Any = get_ipython()
    return 0 if shell is None else len(shell.history_manager.input_hist_raw)


# -- what the notebook's ■ (Kernel > Interrupt) ends besides a cell: work in threads that goes on after its cell -------

_ended: weakref.WeakSet[Any] = weakref.WeakSet()


def on_interrupt(work: Any) -> None:
    """From now on, and as long as it lives, the work is cancelled by an interrupt that comes while no cell runs: by its
    `cancel`, which does nothing while there is none. Between two cells ipykernel ignores SIGINT; while a cell runs, the
    interrupt is that cell's, as ever."""
    _ended.add(work)
    kernel: Any = getattr(get_ipython(), "kernel", None)
    # What the kernel has kept here is in place again when the cell that now runs has ended.
    if getattr(kernel, "saved_sigint_handler", None) is signal.SIG_IGN:
        kernel.saved_sigint_handler = _interrupted


def _interrupted(*_: Any) -> None:
    """The handler of SIGINT between two cells."""
    # Not here: this may have come between any two instructions of who holds a lock that a cancellation needs.
    threading.Thread(target=cancel_all, name="ptxlab-interrupt", daemon=True).start()


def cancel_all() -> None:
    """Cancels all work that is there."""
    for work in tuple(_ended):
        work.cancel()
