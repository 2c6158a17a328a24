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
in a fault or has findings is one wrong part, and None is returned; a launch that went well is not a part by itself.
"""

from __future__ import annotations

import copy
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from ptxlab.course.causes import Known, Said, digits, fitting, mistaken, of_attention, plain, where
from ptxlab.course.feedback_sentences import LONGEST, Says, met, sentences, short, thrown
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
from ptxlab.options import NotCalled

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
    """One launch, and its arguments as they were before it, so that it can be run again. parts: how many parts there
    were before it; line: the PTX line that a wrong part of it is about; symptom: what a check said of two stores to one
    place in global memory, which is shown only if the values say no more."""

    kernel: Any
    grid: Any
    block: Any
    arrays: tuple[Any, ...]
    before: tuple[Any, ...]
    options: dict[str, Any]
    parts: int
    run: Run | None = None
    line: int = 0
    symptom: tuple[str, ...] = ()


class Grading:
    """One check of one answer: the parts that were looked at so far, and the random numbers of the hidden cases.

    Parameters
    ----------
    exercise
        The exercise that the answer is for.
    seed
        Decides the hidden cases.
    graded
        Whether this is for a mark, so that all cases are looked at. While learning, the first mistake is enough.
    whole
        Whether the hidden cases come where others are wrong, too.

    Attributes
    ----------
    rng
        Random numbers that depend on the exercise only; in hidden cases also on the seed.
    parts
        What was looked at so far, in order.
    """

    def __init__(self, exercise: Named, *, seed: int, graded: bool = False, whole: bool = False) -> None:
        self.exercise, self.seed, self.graded, self.whole = exercise, seed, graded, whole
        of_exercise = zlib.crc32(exercise.name.encode())
        self.rng = np.random.default_rng(of_exercise)
        self._rng_of_hidden = np.random.default_rng([seed, of_exercise])
        self._in_hidden = False
        self.parts: list[Part] = []
        self.notes: list[str] = []
        self.tried: list[str] = []  # the programs that were built, the values that were returned
        self._launches: list[_Launch] = []
        self._told: dict[int, list[tuple[int, str]]] = {}  # which number of a prediction -> (its part, what it said)
        self._asked: list[Said] = []  # the predictions, whose cause is what all of them have in common

    # -- parts and cases -----------------------------------------------------------------------------------------------

    def part(
        self, name: str, condition: Any, says: Says = "", *more: str, sort: str = "value", cause: str = "",
        fits: frozenset[str] | None = None,
    ) -> bool:  # fmt: skip
        """Notes one part of an answer.

        Parameters
        ----------
        name
            What is looked at, in a few words.
        condition
            Whether this part is right.
        says, *more
            Sentences for the student that say what happened, if it is wrong.
        sort
            What it looks at, one of `ptxlab.course.verdict.SORTS`.
        cause
            The sentence that names the mistake, or "".
        fits
            The sentences of all known mistakes that fit; None where none is known.

        Returns
        -------
        bool
            Whether it is right.
        """
        ok = bool(condition)
        said = () if ok else tuple(short(sentence) for sentence in sentences(says) + more if sentence)
        self.parts.append(Part(name, ok, said, self._in_hidden, sort, not ok and bool(cause), fits))
        return ok

    def failing(self) -> tuple[Any, ...]:
        """The smallest launch of which a part is wrong: (line, kernel, grid, block, arguments ...), or ()."""
        ends = [*(launched.parts for launched in self._launches), len(self.parts)][1:]
        pairs = zip(self._launches, ends, strict=True)
        wrong = [launched for launched, end in pairs if not all(p.ok for p in self.parts[launched.parts : end])]
        size = lambda launched: sum(a.nbytes for a in launched.arrays if isinstance(a, np.ndarray))
        least = min(wrong, key=size, default=None)
        return () if least is None else (least.line, least.kernel, least.grid, least.block, *_copied(least.before))

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
        """The cases that the prompt shows, then the edges, then hidden ones that the seed decides.

        Hidden cases come only if all others are right. While learning it stops after the first case with a wrong part,
        except that predictions go through all cases but the hidden ones: what their mistakes have in common is named.

        Parameters
        ----------
        shown
            The cases of the prompt.
        hidden
            Makes a case from random numbers.
        count
            How many hidden cases there are.
        edges
            Cases that the prompt does not show and that always come, where a mistake hides from most others: none, one,
            one more than fits.

        Yields
        ------
        Any
            One case at a time.
        """
        for case in (*shown, *edges):
            yield case
            if self.failed and not self.graded and not self._asked:
                return
        if hidden is None or (self.failed and not self.whole):
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
        for launched in self._launches:
            self._tell_symptom(launched)
        cause, named = mistaken(self._asked)
        for at, part in enumerate(self.parts):
            if cause and not part.ok and part.name.startswith("predicts "):
                self.parts[at] = replace(part, says=(*part.says, cause), cause=named)
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
        right, hidden = points(self.parts)
        begin = STARTS.get(self.exercise.name) or getattr(self.exercise, "begin", None)
        starter, solution = begin or (0, max(len(self.parts), 1))  # of somebody else's, whose starter has nothing right
        return min(max(right + hidden - starter, 0) / (solution - starter), 0.99)

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
                self.part("the text has its headers", False, lacking, sort="broken")
                return None
        elif is_kernel(answer):
            try:
                built = answer(**python) if python and not isinstance(answer, NotCalled) else answer
                _ = built.module if hasattr(type(built), "module") else None
                return built
            except PtxlabError as error:
                self.part("the kernel can be built", False, str(error), sort="broken")
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                self.part("the kernel can be built", False, thrown(error), sort="broken")
            return None
        what = "expected a kernel (a function with @kernel, PTX text, or a kernel of pl.cuda)"
        found = f"text without a .entry: {answer[:40]!r}" if isinstance(answer, str) else type(answer).__name__
        self.part("the answer is a kernel", False, f"`{self.exercise.answer}`: {what}, found {found}.", sort="broken")
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
        signs: Callable[[Any], str] | None = None,
    ) -> Run | None:
        """Runs an answer on the emulator. None if it was stopped by a fault or a check found something: that is a
        wrong part then, which names the thread, the PTX line and the line that wrote it.

        build: Python parameters of the kernel. orders: it runs in other orders of warps and blocks as well, with seeds
        that are the same for everybody; what is found there counts, and so does another result. allow: findings for
        which it is true do not count. signs: the mistake that a finding or a fault is the sign of, in a sentence, or
        "". Otherwise as `ptxlab.launch.run`.
        """
        kernel = self.build(answer, **(build or {}))
        if kernel is None:
            return None
        before = _copied(args)
        options: dict[str, Any] = {"shared": shared, "entry": entry}
        limits: dict[str, Any] = {"checks": checks, "budget": budget, **options}
        self.tried.append(plain(kernel if isinstance(kernel, str) else str(getattr(kernel, "ptx", ""))))
        launched = _Launch(kernel, grid, block, _arrays(args), before, options, len(self.parts))
        self._launches.append(launched)

        def runs(given: tuple[Any, ...], **how: Any) -> Run | None:
            return self._runs(launched, allow, signs, kernel, grid, block, *given, **limits, **how)

        launched.run = runs(args, counters=counters, trace=trace, device=device)
        for seed in ORDERS if orders and launched.run is not None and not launched.symptom else ():
            again = _copied(before)
            if runs(again, seed=seed) is None or not self._same(args, again, kernel, seed):
                return None
        return launched.run

    def _runs(
        self,
        launched: _Launch,
        allow: Callable[[Any], bool] | None,
        signs: Callable[[Any], str] | None,
        *what: Any,
        seed: int | None = None,
        **how: Any,
    ) -> Run | None:
        """Runs a kernel once. None, and a wrong part, if it was stopped or a check found something."""
        order = [] if seed is None else [f"That was in another order of warps and blocks: launch it with seed={seed}."]

        def wrong(name: str, line: int, *found: Any) -> None:
            launched.line = line
            cause = next(filter(None, map(signs, found)), "") if signs else ""
            said = [cause, *(met(one, launched.kernel) for one in found[:2])]
            self.part(name, False, said, *order, sort="finding", cause=cause)

        try:
            run = launch(*what, seed=seed, **how)
        except DeviceFault as fault:
            ends = fault.kind in ("budget", "deadlock")
            wrong("it ends" if ends else "memcheck finds nothing", fault.line, fault)
            return None
        except PtxlabError as error:
            self.part("the kernel can be launched", False, str(error), sort="broken")
            return None
        found = [f for f in run.findings if allow is None or not allow(f)]
        if found and all((f.kind, f.space) == ("WAW", "global") for f in found):
            launched.symptom = (f"{found[0].check} finds nothing", *map(str, found[:2]))
        elif found:
            wrong(f"{found[0].check} finds nothing", getattr(found[0].first, "line", 0), *found)
            return None
        return run

    def _tell_symptom(self, launched: _Launch) -> None:
        """A wrong part for what `launched.symptom` says, once."""
        if launched.symptom:
            name, *says = launched.symptom
            launched.symptom = ()
            self.part(name, False, says, sort="finding")

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
        atol: Any = 1e-5,
        run: Run | None = None,
        says: Says = "",
        only: Any = True,
        known: Known | Callable[[], Known] = (),
    ) -> bool:
        """A part: every element of `got` is within `atol + rtol |want|` (NaN never is, equal infinities are).

        only: a mask of the elements that are asked for. If not, the feedback names the first wrong element, what it
        should be, and the thread that stored it if `got` was an argument of a launch (`run`, by default the last one
        that had it), and then `says`. known: what known mistakes would give; if exactly one gives
        `got`, its sentence stands for `says`.
        """
        got, want = np.asarray(got), np.asarray(want)
        if got.shape != want.shape:
            return self.part(name, False, f"Expected an array of shape {want.shape}, found {got.shape}.")
        with np.errstate(invalid="ignore"):
            right = np.isclose(got.astype(np.float64), want.astype(np.float64), rtol=rtol, atol=atol)
        right |= ~np.broadcast_to(only, right.shape)
        launched, _ = self._whose(got, run)
        least = 1e-12 if got.dtype == np.float64 else 1e-6
        fits = set() if right.all() else fitting(known, got, only, max(rtol, least), atol)
        cause = "".join(fits) if len(fits) == 1 else ""
        if launched is not None and launched.symptom:
            if not cause:
                self._tell_symptom(launched)
                return False
            launched.symptom = ()
        if right.all():
            return self.part(name, True)
        told = frozenset(fits) if known and np.isfinite(got.astype(float)).all() else None
        return self.part(name, False, lambda: self._differs(got, want, right, run, cause, says), cause=cause, fits=told)

    def equal(
        self, name: str, got: Any, want: Any, *, run: Run | None = None, says: Says = "", known: Any = ()
    ) -> bool:
        """A part: every element of `got` is exactly that of `want`."""
        return self.close(name, got, want, rtol=0.0, atol=0.0, run=run, says=says, known=known)

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
        whole = lse is None or not (np.abs(o4.astype(np.float64) - exact.o) <= bound).all()
        got, want, most = (o, exact.o, bound) if whole else (lse, exact.lse, lse_bound)
        shape = np.shape(got)

        def known() -> Known:
            factor = q4.shape[-1] ** -0.5 if scale is None else scale
            return ((out.reshape(shape), why) for out, why in of_attention(q4, k4, v4, factor))

        return self.close(
            name, got, want.reshape(shape), rtol=0, atol=most.reshape(shape), run=run, says=says,
            known=known if whole and not causal else ()
        )  # fmt: skip

    def _differs(self, got: Any, want: Any, right: Any, run: Run | None, cause: str, says: Says) -> list[str]:
        """The first wrong element in words, its cause if it is known, and the thread that stored it."""
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
            + (f"; {many} of {right.size} elements are wrong." if right.size > 1 else "."),
            digits(got[at], want[at]),
            cause or where(~right),
        ]
        if launched is not None:
            given = launched.kernel, launched.grid, launched.block, launched.before, which, offset
            lost = not np.isfinite(got[at]) and bool(np.isfinite(want[at]))
            told, launched.line = writer(*given, lost=lost, **launched.options)
            out.append(told)
        return [*out, *(() if cause else sentences(says))]

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
            return self.part(name, True, sort="cost")

        def tell() -> list[str]:
            lines = dearest(parsed(launched.kernel), costs(run, launched.kernel, what))
            return [f"{found:,} {what}; at most {limit:,} are allowed.", *sentences(says), *lines]

        return self.part(name, False, tell, sort="cost")

    # -- values and functions ------------------------------------------------------------------------------------------

    def call(self, function: Any, *args: Any) -> Any:
        """What a Python function of the answer returns; None after saying what went wrong (it returned None, too)."""
        called = f"{self.exercise.answer}({', '.join(map(repr, args))})"
        if not callable(function):
            says = f"`{self.exercise.answer}`: expected a function, found {type(function).__name__}."
            self.part("the answer is a function", False, says, sort="broken")
            return None
        try:
            result = function(*copy.deepcopy(args))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self.part(f"{called} returns", False, f"{called} stopped: {thrown(error)}", sort="broken")
            return None
        self.tried.append(repr(result)[:LONGEST])
        if result is None or result is ...:
            self.part(f"{called} returns", False, f"{called} returned nothing.", sort="broken")
            return None
        return result

    def predict(
        self, function: Any, args: tuple[Any, ...], truth: Any, says: Says = "", *, rtol: float = 0.0, known: Known = ()
    ) -> bool:
        """A part: `function(*args)` is what the machine found, `truth`: a number, text, or a sequence of them. known:
        what known mistakes say, the same ones in each case; the sentence of the one that says what all predictions say
        is added to `says`."""
        found = self.call(function, *args)
        if found is None:
            return False
        called = f"{self.exercise.answer}({', '.join(map(number, args))})"

        def tell() -> list[str]:
            return ["{}: you say {}, the machine says {}.".format(called, *apart(found, truth)), *sentences(says)]

        return self.told(f"predicts {called}", found, truth, tell, rtol=rtol, known=known)

    def told(self, name: str, found: Any, truth: Any, says: Says = "", *, rtol: float = 0.0, known: Known = ()) -> bool:
        """A part: a prediction is right. Where several numbers are to be told (a tuple), a part for each of them."""
        self._asked.append(Said(found, truth, rtol, tuple(known)))
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
