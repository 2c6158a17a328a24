"""`Grading`: what an exercise's checks use to run an answer and to say what happened in the machine.

def _grade(g: Grading, answer: Any) -> None:
    for n in g.vary((37,), hidden=lambda rng: int(rng.integers(1, 80))):
        o = np.full(n, np.nan, np.float32)
        run = g.launch(answer, -(-n // 32), 32, x, o, n, counters=True)
        if run is not None:
            g.close(f"right at {n} keys", o, expected)
            g.at_most("reads no key twice", run, "sectors", 4 * n)

The mark counts the parts that are right, less those that the starter has right already. Each number that a prediction
is to tell is a part in each case; a prediction that never changes has none of them right. A cost is looked at only
where the result is right: to do nothing costs nothing. Cases that are shown, and edges, are the same for every seed,
their data included; the seed draws the hidden cases only. These are run once all others are right, and count as one
part: so the mark of an answer that fails any case but the hidden ones does not depend on the seed. A launch that ends
in a fault or has findings is one wrong part, and None is returned; a launch that went well is no part by itself.
"""

from __future__ import annotations

import copy
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from ptxlab.course.feedback_sentences import Says, sentences, short, thrown
from ptxlab.course.kernel_answers import headers_lacking, is_kernel, parameter, parsed
from ptxlab.course.measures import costs, dearest, measure
from ptxlab.course.starter_credit import STARTS, points
from ptxlab.course.value_watch import place
from ptxlab.course.values import apart, number, same
from ptxlab.course.verdict import Feedback, Part
from ptxlab.course.writers import writer
from ptxlab.errors import DeviceFault, PtxlabError
from ptxlab.launch.buffers import Const, Out
from ptxlab.launch.run import ALL_CHECKS, Run, launch

ORDERS = (1, 2)
"""Seeds of the schedules in which a launch runs besides the fixed one, where an exercise is about order."""
BUDGET = 5_000_000
"""Warp-instructions of one launch, unless an exercise says otherwise: an endless loop ends within a second."""


class Named(Protocol):
    """An exercise, as a check of an answer to it knows it: its name, and the name that the answer's cell binds."""

    @property
    def name(self) -> str: ...
    @property
    def answer(self) -> str: ...


@dataclass
class _Launch:
    """One launch, and its arguments as they were before it, so that it can be run again."""

    run: Run
    kernel: Any
    grid: Any
    block: Any
    arrays: tuple[Any, ...]
    before: tuple[Any, ...]
    options: dict[str, Any]


class Grading:
    """One check of one answer: the parts that were looked at so far, and the random numbers of the hidden cases.

    graded: this is for a mark, so all cases are looked at; while learning, the first mistake is enough. `rng` gives
    random numbers that depend on the exercise only; in hidden cases, on the seed as well.
    """

    def __init__(self, exercise: Named, *, seed: int, graded: bool = False) -> None:
        self.exercise, self.seed, self.graded = exercise, seed, graded
        of_exercise = zlib.crc32(exercise.name.encode())
        self.rng = np.random.default_rng(of_exercise)
        self._rng_of_hidden = np.random.default_rng([seed, of_exercise])
        self._in_hidden = False
        self.parts: list[Part] = []
        self.notes: list[str] = []
        self._launches: list[_Launch] = []
        self._told: dict[int, list[tuple[int, str]]] = {}  # which number of a prediction -> (its part, what it said)

    # -- parts and cases -----------------------------------------------------------------------------------------------

    def part(self, name: str, condition: Any, says: Says = "", *more: str) -> bool:
        """Notes one part: right if `condition` holds; if not, `says` tells what happened. Returns which it was."""
        ok = bool(condition)
        said = () if ok else tuple(short(sentence) for sentence in sentences(says) + more if sentence)
        self.parts.append(Part(name, ok, said, self._in_hidden))
        return ok

    def note(self, says: str) -> None:
        """A sentence for an answer that is right: what the machine saw."""
        self.notes.append(says)

    @property
    def failed(self) -> bool:
        """Whether some part so far is wrong."""
        return not all(part.ok for part in self.parts)

    def vary(
        self,
        shown: Sequence[Any],
        hidden: Callable[[np.random.Generator], Any] | None = None,
        count: int = 2,
        *,
        edges: Sequence[Any] = (),
    ) -> Iterator[Any]:
        """The cases that the prompt shows, then the edges, then `count` hidden ones that the seed decides.

        edges: cases that the prompt does not show and that are always in, where a mistake hides from most others: none,
        one, one more than fits. Hidden cases come only if all others are right. While learning it stops after the first
        case with a wrong part.
        """
        for case in (*shown, *edges):
            yield case
            if self.failed and not self.graded:
                return
        if hidden is None or self.failed:
            return
        before, self.rng = self.rng, self._rng_of_hidden
        self._in_hidden = True
        try:
            for case in [hidden(self.rng) for _ in range(count)]:
                yield case
                if self.failed and not self.graded:
                    return
        finally:
            self._in_hidden, self.rng = False, before

    def feedback(self) -> Feedback:
        """What was found: of the first wrong part what it says, or the notes if all is right."""
        wrong = next((part for part in self.parts if not part.ok), None)
        ok = wrong is None and bool(self.parts)
        if self.graded:
            self._count_no_constants()
        says = tuple(dict.fromkeys(self.notes)) if wrong is None else wrong.says or (f"Not yet: {wrong.name}.",)
        if wrong is None and not self.parts:
            says = ("Nothing could be looked at.",)
        return Feedback(self.exercise.name, ok, says, "", 1.0 if ok else self._share(), tuple(self.parts))

    def _count_no_constants(self) -> None:
        """A prediction that says the same in all cases, and is not always right, has no part right."""
        for told in self._told.values():
            if len({says for _, says in told}) == 1 and not all(self.parts[at].ok for at, _ in told):
                for at, value in told:
                    says = f"`{self.exercise.answer}` says {value} in every case, whatever it is asked."
                    part = self.parts[at]
                    self.parts[at] = replace(part, ok=False, says=part.says or (says,))

    def _share(self) -> float:
        """The mark of an answer that is not right: its right parts beyond the starter's, of those there are to win."""
        begin = STARTS.get(self.exercise.name)
        right, hidden = points(self.parts)
        if begin is None:  # an exercise of somebody else, whose starter nobody has measured
            return min((right + hidden) / max(len(self.parts), 1), 0.99)
        return min(max(right + hidden - begin.starter, 0) / (begin.solution - begin.starter), 0.99)

    # -- kernels -------------------------------------------------------------------------------------------------------

    def build(self, answer: Any, **python: Any) -> Any:
        """The kernel that an answer is, built with Python parameters where it takes some; None after saying why not.

        PTX text, modules and the kernels of the builder, of `pl.cuda` and of `pl.triton` are kernels.
        """
        if isinstance(answer, str):
            if ".entry" in answer:
                lacking = headers_lacking(answer)
                if not lacking:
                    return answer
                self.part("the text has its headers", False, lacking)
                return None
        elif is_kernel(answer):
            try:
                built = answer(**python) if python and callable(answer) else answer
                _ = built.module if hasattr(type(built), "module") else None
                return built
            except PtxlabError as error:
                self.part("the kernel can be built", False, str(error))
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                self.part("the kernel can be built", False, thrown(error))
            return None
        what = "a kernel is wanted (a function with @kernel, PTX text, or a kernel of pl.cuda)"
        found = f"text without a .entry: {answer[:40]!r}" if isinstance(answer, str) else type(answer).__name__
        self.part("the answer is a kernel", False, f"`{self.exercise.answer}`: {what}, found {found}.")
        return None

    def launch(
        self,
        answer: Any,
        grid: Any,
        block: Any,
        *args: Any,
        build: dict[str, Any] | None = None,
        checks: Sequence[str] = ALL_CHECKS,
        counters: bool = False,
        trace: Any = None,
        shared: int = 0,
        budget: int = BUDGET,
        orders: bool = False,
        device: str = "auto",
        entry: str | None = None,
        allow: Callable[[Any], bool] | None = None,
    ) -> Run | None:
        """Runs an answer on the CPU machine. None if it was stopped by a fault or a check found something: that is a
        wrong part then, which names the thread, the PTX line and the line that wrote it.

        build: Python parameters of the kernel. orders: it runs in other orders of warps and blocks as well, with seeds
        that are the same for everybody; what is found there counts, and so does another result. allow: findings for
        which it is true do not count. Otherwise as `ptxlab.launch.run`.
        """
        kernel = self.build(answer, **(build or {}))
        if kernel is None:
            return None
        before = _copied(args)
        options: dict[str, Any] = {"shared": shared, "entry": entry}
        limits: dict[str, Any] = {"checks": checks, "budget": budget, **options}

        def runs(given: tuple[Any, ...], **how: Any) -> Run | None:
            return self._runs(allow, kernel, grid, block, *given, **limits, **how)

        run = runs(args, counters=counters, trace=trace, device=device)
        if run is None:
            return None
        for seed in ORDERS if orders else ():
            again = _copied(before)
            if runs(again, seed=seed) is None or not self._same(args, again, kernel, seed):
                return None
        self._launches.append(_Launch(run, kernel, grid, block, _arrays(args), before, options))
        return run

    def _runs(self, allow: Callable[[Any], bool] | None, *what: Any, seed: int | None = None, **how: Any) -> Run | None:
        """Runs a kernel once. None, and a wrong part, if it was stopped or a check found something."""
        order = [] if seed is None else [f"That was in another order of warps and blocks: launch it with seed={seed}."]
        try:
            run = launch(*what, seed=seed, **how)
        except DeviceFault as fault:
            name = "it ends" if fault.kind in ("budget", "deadlock") else "no access outside of memory"
            self.part(name, False, str(fault), *order)
            return None
        except PtxlabError as error:
            self.part("the kernel can be launched", False, str(error))
            return None
        found = [f for f in run.findings if allow is None or not allow(f)]
        if found:
            self.part(f"{found[0].check} finds nothing", False, [str(f) for f in found[:2]], *order)
            return None
        return run

    def _same(self, args: Sequence[Any], again: Sequence[Any], kernel: Any, seed: int) -> bool:
        """Whether a launch in another order left the same numbers, but for rounding; a wrong part if not."""
        for which, (one, other) in enumerate(zip(_arrays(args), _arrays(again), strict=True)):
            rtol, atol = (1e-3, 1e-4) if isinstance(one, np.ndarray) and one.dtype.kind == "f" else (0.0, 0.0)
            if isinstance(one, np.ndarray) and not np.allclose(one, other, rtol, atol, equal_nan=True):
                says = f"`{parameter(kernel, which)}` depends on the order of warps and blocks: try seed={seed}."
                return self.part("the same in every order", False, says)
        return True

    def place(self, run: Run, line: int) -> str:
        """A PTX line of a launch, with the Python that wrote it."""
        return place(parsed(self._of(run).kernel), line)

    # -- comparisons ---------------------------------------------------------------------------------------------------

    def close(
        self,
        name: str,
        got: Any,
        want: Any,
        *,
        rtol: float = 1e-4,
        atol: float = 1e-5,
        run: Run | None = None,
        says: Says = "",
        only: Any = True,
    ) -> bool:
        """A part: every element of `got` is within `atol + rtol |want|` (NaN never is, equal infinities are).

        only: a mask of the elements that are asked for. If not, the feedback names the first wrong element, what it
        should be, and the thread that stored it if `got` was an argument of a launch (`run`, by default the last one
        that had it), and then `says`.
        """
        got, want = np.asarray(got), np.asarray(want)
        if got.shape != want.shape:
            return self.part(name, False, f"An array of shape {want.shape} is wanted, found {got.shape}.")
        with np.errstate(invalid="ignore"):
            right = np.isclose(got.astype(np.float64), want.astype(np.float64), rtol=rtol, atol=atol)
        right |= ~np.broadcast_to(only, right.shape)
        if right.all():
            return self.part(name, True)
        return self.part(name, False, lambda: self._differs(got, want, right, run, says))

    def equal(self, name: str, got: Any, want: Any, *, run: Run | None = None, says: Says = "") -> bool:
        """A part: every element of `got` is exactly that of `want`."""
        return self.close(name, got, want, rtol=0.0, atol=0.0, run=run, says=says)

    def attention(
        self,
        name: str,
        o: Any,
        q: Any,
        k: Any,
        v: Any,
        *,
        lse: Any = None,
        causal: bool = False,
        scale: float | None = None,
        run: Run | None = None,
        says: Says = "",
    ) -> bool:
        """A part: `o` (and `lse`) is attention, within the tolerance that the library's own kernels are held to.

        Shapes as in `ptxlab.reference`; those with fewer dimensions are taken as one batch and one head.
        """
        from ptxlab import reference

        four = [np.asarray(x).reshape((1,) * (4 - np.ndim(x)) + np.shape(x)) for x in (o, q, k, v)]
        o4, q4, k4, v4 = four
        exact = reference.attention(q4, k4, v4, causal=causal, scale=scale)
        bound, lse_bound = reference.tolerance(o4, q4, k4, v4, exact, causal=causal, scale=scale)
        gap = np.abs(o4.astype(np.float64) - exact.o)
        right = (gap <= bound).reshape(np.shape(o))
        if not right.all():
            want = exact.o.reshape(np.shape(o))
            return self.part(name, False, lambda: self._differs(np.asarray(o), want, right, run, says))
        if lse is not None:
            want = exact.lse.reshape(np.shape(lse))
            with np.errstate(invalid="ignore"):
                near = (lse == want) | (np.abs(lse - want) <= lse_bound.reshape(np.shape(lse)))
            if not near.all():
                return self.part(name, False, lambda: self._differs(np.asarray(lse), want, near, run, says))
        return self.part(name, True)

    def _differs(self, got: Any, want: Any, right: Any, run: Run | None, says: Says) -> list[str]:
        """The first wrong element in words, with the thread that stored it."""
        at = tuple(int(i) for i in np.argwhere(~right)[0])
        launched, which = self._whose(got, run)
        name, shown, offset = self.exercise.answer, at, 0
        if launched is not None:
            whole = launched.arrays[which]
            name = parameter(launched.kernel, which)
            offset = _address(got) + sum(i * step for i, step in zip(at, got.strides, strict=True)) - _address(whole)
            shown = tuple(int(i) for i in np.unravel_index(offset // whole.itemsize, whole.shape))
        index = "[" + ", ".join(map(str, shown)) + "]" if shown else ""
        many = int((~right).sum())
        should, found = apart(want[at], got[at])
        out = [
            f"{name}{index} should be {should}, it is {found}"
            + (f"; {many} of {right.size} elements are wrong." if right.size > 1 else ".")
        ]
        if launched is not None:
            out.append(
                writer(
                    launched.kernel, launched.grid, launched.block, launched.before, which, offset, **launched.options
                )
            )
        return [*out, *sentences(says)]

    def _whose(self, array: Any, run: Run | None) -> tuple[_Launch | None, int]:
        """The launch that `array` was an argument of, and which one."""
        for launched in reversed(self._launches):
            if run is None or launched.run is run:
                for which, a in enumerate(launched.arrays):
                    if isinstance(a, np.ndarray) and a.size and np.may_share_memory(a, array):
                        return launched, which
        return None, -1

    def _of(self, run: Run) -> _Launch:
        return next(launched for launched in self._launches if launched.run is run)

    # -- costs ---------------------------------------------------------------------------------------------------------

    def at_most(self, name: str, run: Run, what: str, limit: float, says: Says = "") -> bool:
        """A part: a launch costs at most `limit` of something in `ptxlab.course.measures.MEASURES` ("bank conflicts",
        "sectors", "warp instructions", "registers", ...) or of a metric of `run.counters`. If it costs more, the
        feedback names the lines that cost most. The launch needs `counters=True` (not for "registers")."""
        launched = self._of(run)
        found = measure(run, launched.kernel, what)
        if found <= limit:
            return self.part(name, True)

        def tell() -> list[str]:
            lines = dearest(parsed(launched.kernel), costs(run, launched.kernel, what))
            return [f"{found:,} {what}; at most {limit:,} are allowed.", *sentences(says), *lines]

        return self.part(name, False, tell)

    # -- values and functions ------------------------------------------------------------------------------------------

    def call(self, function: Any, *args: Any) -> Any:
        """What a Python function of the answer returns; None after saying what went wrong (it returned None, too)."""
        called = f"{self.exercise.answer}({', '.join(map(repr, args))})"
        if not callable(function):
            says = f"`{self.exercise.answer}`: a function is wanted, found {type(function).__name__}."
            self.part("the answer is a function", False, says)
            return None
        try:
            result = function(*copy.deepcopy(args))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self.part(f"{called} returns", False, f"{called} stopped: {thrown(error)}")
            return None
        if result is None or result is ...:
            self.part(f"{called} returns", False, f"{called} returned nothing.")
            return None
        return result

    def predict(self, function: Any, args: tuple[Any, ...], truth: Any, says: Says = "", *, rtol: float = 0.0) -> bool:
        """A part: `function(*args)` is what the machine found, `truth`: a number, text, or a sequence of them."""
        found = self.call(function, *args)
        if found is None:
            return False
        called = f"{self.exercise.answer}({', '.join(map(number, args))})"

        def tell() -> list[str]:
            return ["{}: you say {}, the machine says {}.".format(called, *apart(found, truth)), *sentences(says)]

        return self.told(f"predicts {called}", found, truth, tell, rtol=rtol)

    def told(self, name: str, found: Any, truth: Any, says: Says = "", *, rtol: float = 0.0) -> bool:
        """A part: a prediction is right. Where several numbers are to be told (a tuple), a part for each of them."""
        several = isinstance(truth, tuple) and isinstance(found, list | tuple | np.ndarray) and len(found) == len(truth)
        pairs = list(zip(found, truth, strict=True)) if several else [(found, truth)]
        right = True
        for which, (one, wanted) in enumerate(pairs):
            if not self._in_hidden:
                self._told.setdefault(which, []).append((len(self.parts), number(one, 17)))
            which_one = f", number {which + 1} of {len(pairs)}" if several else ""
            right &= self.part(f"{name}{which_one}", same(one, wanted, rtol=rtol), says)
        return right


def _copied(args: Sequence[Any]) -> tuple[Any, ...]:
    """Arguments of a launch that it does not share with another."""
    return tuple(copy.deepcopy(a) if isinstance(a, np.ndarray | Const | Out) else a for a in args)


def _arrays(args: Sequence[Any]) -> tuple[Any, ...]:
    """Arguments of a launch, arrays as they are."""
    return tuple(a.array if isinstance(a, Const | Out) else a for a in args)


def _address(array: Any) -> int:
    """Where an array's first element lies."""
    return int(array.__array_interface__["data"][0])
