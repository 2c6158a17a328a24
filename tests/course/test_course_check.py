"""`check` and `Grading`: nothing raises, a hint belongs to its mistake, and what happened in the machine is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import course_answers as answers
import numpy as np
import pytest

from ptxlab.builder import Builder, Ptr, f32, kernel, u32
from ptxlab.course import Exercise, Feedback, Grading, UnknownExercise, check, failing, find, names, progress, score
from ptxlab.course.feedback import founded, graded_by, judge
from ptxlab.course.starter_credit import STARTS, Start
from ptxlab.course.values import apart, same


class Nasty:
    """An answer that resists."""

    def __repr__(self) -> str:
        raise RuntimeError("no")

    def __call__(self, *args: Any) -> Any:
        return Nasty()

    def __bool__(self) -> bool:
        raise RuntimeError("no")


def leaves(*args: Any) -> Any:
    """An answer that wants to leave."""
    raise SystemExit(3)


def warns(*args: Any) -> Any:
    """An answer with numpy's warnings."""
    return [int(np.float32(1e38) * np.float32(1e38) > 0)]


@pytest.mark.parametrize("name", ["01-predict", "01-lse", "01-window"])
@pytest.mark.parametrize(
    "answer",
    [None, ..., 3, "text", ".entry", [1], object(), Nasty(), leaves, warns, print, int, np.zeros(3), Grading, np],
    ids=lambda a: type(a).__name__,
)
def test_nothing_raises(name: str, answer: Any, capfd: pytest.CaptureFixture[str]) -> None:
    found = check(name, answer)
    assert not found
    assert found.says
    assert float(found) < 1
    assert "`" not in found._repr_mimebundle_()["text/html"]
    assert capfd.readouterr().err == ""


def test_a_name_that_no_exercise_has() -> None:
    says = f"there is no exercise '99-dance'; choose from {', '.join(names())}"
    assert check("99-dance", None).says == (says,)
    assert not check([], None)  # type: ignore[arg-type]
    with pytest.raises(UnknownExercise) as caught:
        score("99-dance", None)
    assert str(caught.value) == says


def test_a_hint_belongs_to_the_part_that_is_wrong() -> None:
    exercise = find("01-predict")
    first, second = (f"{hint} ({at} of 2)" for at, hint in enumerate(exercise.hints, 1))
    answered = lambda answer, **how: check("01-predict", answers.run(exercise, answer), **how).hint
    assert answered(exercise.starter) == "", "the starter as it was costs no hint"
    assert answered("def shrinks(scores):\n    return keys\n") == "", "an answer that stops costs none either"
    none = "def shrinks(scores):\n    return [0]\n"
    assert answered(none, hints=False) == ""
    assert [answered(none), answered(none.replace("    return", "    # no\n    return"))] == [first] * 2, "unchanged"
    assert [answered(none.replace("[0]", "[0, 3]")), answered(none.replace("[0]", "[0, 5]"))] == [second] * 2
    shown = "def shrinks(scores):\n    return [0, 3, 5][: len(scores) // 2]\n"
    assert answered(shown) == first, "another part"
    assert (
        check("01-predict", answers.run(exercise, exercise.solution)).says[-1].startswith("The help was about this: ")
    )
    assert "help" not in repr(check("01-predict", answers.run(exercise, exercise.solution)))


def test_who_is_stuck_is_offered_the_smallest_case() -> None:
    exercise = find("03-logsumexp")
    changes = (("j] - top", "j]"), ("* LN2 + top", "* LN2 - top"), ("with k.if_((row < n)", "with k.if_((row > n)"))
    for old, new in changes:
        found = check("03-logsumexp", answers.run(exercise, exercise.solution.replace(old, new)))
    assert 'pl.debug(*pl.course.failing("03-logsumexp")' in found.says[-1]
    _, grid, block, s, lse, n, m = failing("03-logsumexp")
    assert (grid, block, s.shape, lse.shape) == (1, 64, (n, m), (n,))
    with pytest.raises(UnknownExercise):
        failing("03-share")


def test_progress_has_no_answers(tmp_path: Path) -> None:
    exercise = find("01-predict")
    assert repr(progress()).startswith(f"0 of {len(names())} exercises   Next: 00-square\n")
    check("01-window", None)
    check("01-predict", lambda scores: [77])
    check("01-predict", answers.run(exercise, exercise.solution))
    assert "77" not in (tmp_path / "progress.json").read_text()
    assert repr(progress()).startswith(f"1 of {len(names())} exercises   Next: 01-lse\n")
    assert "✓ predict" in repr(progress())
    (tmp_path / "progress.json").write_text("[")
    assert "is damaged" in check("01-predict", lambda scores: []).says[-1]


def asked(answer: Any, seed: int) -> list[Any]:
    """What an answer to 01-predict is asked when it is graded."""
    questions: list[Any] = []
    judge(find("01-predict"), lambda scores: questions.append(scores) or answer(scores), seed=seed, graded=True)
    return questions


def test_the_same_seed_asks_the_same() -> None:
    right = answers.run(find("01-predict"), find("01-predict").solution)
    assert asked(right, 1) == asked(right, 1) != asked(right, 2)
    assert asked(right, 1)[0] == asked(right, 2)[0], "the case that is shown comes first"


def test_an_answer_that_fails_a_case_that_is_always_in_is_asked_the_same_for_every_seed() -> None:
    assert asked(lambda scores: [9], 1) == asked(lambda scores: [9], 2)


@pytest.mark.parametrize(
    ("right", "mark"),
    [
        ((False, False, False, False), 0.0),  # the starter has the first part right, so it does not count
        ((True, False, False, False), 0.0),
        ((True, True, False, False), 1 / 3),
        ((True, True, True, False), 2 / 3),  # all but a hidden case: the hidden cases are one part
        ((True, True, True, True), 1.0),
    ],
)
def test_a_mark_counts_from_the_starter(right: tuple[bool, ...], mark: float, monkeypatch: pytest.MonkeyPatch) -> None:
    def grade(g: Grading, answer: Any) -> None:
        for case in g.vary((0, 1), hidden=lambda rng: int(rng.integers(3, 9)), edges=(2,), count=3):
            g.part(f"case {case}", right[min(case, 3)], "no")

    monkeypatch.setitem(STARTS, "02-x", Start(1, 4))
    assert [graded(grade, seed).score for seed in range(3)] == [pytest.approx(mark)] * 3


# -- what Grading says -------------------------------------------------------------------------------------------------


@kernel
def double(k: Builder, x: Ptr[f32], y: Ptr[f32], n: u32) -> None:
    """y = 2 x, with mistakes to choose from."""
    i = k.thread_index()
    k.return_if(i >= n)
    y[i] = k.select(i == 5, 0.0, x[i] * 2.0)


@kernel
def endless(k: Builder, x: Ptr[f32], y: Ptr[f32], n: u32) -> None:
    """Never ends."""
    with k.loop(1 << 31):
        y[0] = 1.0


@kernel
def racing(k: Builder, x: Ptr[f32], y: Ptr[f32], n: u32) -> None:
    """All threads store to one place."""
    i = k.thread_index()
    y[0] = x[i]


@kernel
def strided(k: Builder, x: Ptr[f32], y: Ptr[f32], n: u32) -> None:
    """Reads a column."""
    i = k.thread_index()
    y[i] = x[i * 8]


def graded(grade: Any, seed: int = 1) -> Feedback:
    """The feedback of a grade function."""
    exercise = Exercise("02-x", "t", "fix", 1, "p", "answer = 1", "answer = 2", "answer", ("a", "b"), ("g",), grade)
    return judge(exercise, "unused", seed=seed, graded=True)


@pytest.mark.parametrize(("answer", "named"), [(lambda n: n * n, True), (lambda n: 9, False)])
def test_a_known_mistake_that_fits_one_case_by_chance_is_not_named(answer: Any, named: bool) -> None:
    def grade(g: Grading, answer: Any) -> None:
        for n in g.vary((3,), hidden=lambda rng: int(rng.integers(5, 9)), edges=(4,), count=3):
            says = f"{', '.join(map(str, range(n)))}: You square."  # its list of numbers is that of the case
            g.close("y", np.array([answer(n)]), np.array([n + 2]), known=[(np.array([n * n]), says)])

    exercise = Exercise("02-x", "t", "fix", 1, "p", "answer = 1", "answer = 2", "answer", ("a", "b"), ("g",), grade)
    found = founded(exercise, answer, graded_by(exercise, answer))
    assert not found.ok
    assert ("You square." in repr(found)) is named


def arrays(n: int) -> tuple[Any, Any]:
    """x and y."""
    return np.arange(n, dtype=np.float32), np.full(n, np.nan, np.float32)


@pytest.mark.long
def test_the_thread_that_stored_it() -> None:
    def grade(g: Grading, answer: Any) -> None:
        x, y = arrays(40)
        run = g.launch(double, 2, 32, x, y, 40)
        g.close("twice", y, 2 * x, run=run)

    found = graded(grade)
    assert found.says[0] == "y[5] should be 10, it is 0; 1 of 40 elements are wrong."
    assert found.says[1].startswith("Block (0, 0, 0), thread (5, 0, 0) stored it:\n")
    assert "test_course_check.py:" in found.says[1]
    assert "st.global.f32 [%rd2], %f" in found.says[1]


def test_two_numbers_that_differ_are_shown_so_that_they_do() -> None:
    g = Grading(find("03-logsumexp"), seed=0)
    g.close("right", np.float32([231.19, 4]), np.array([231.21, 4]), rtol=1e-5)
    g.equal("right", np.float32([1 / 3]), np.array([1 / 3]))
    g.predict(lambda: 0.123456, (), 0.123457)
    assert [part.says[0] for part in g.parts] == [
        "logsumexp[0] should be 231.21, it is 231.19; 1 of 2 elements are wrong.",
        "logsumexp[0] should be 0.33333333, it is 0.33333334.",
        "logsumexp(): you say 0.123456, the machine says 0.123457.",
    ]
    assert apart(2.0, 2.0) == ("2", "2")


def test_an_element_that_nobody_stored() -> None:
    def grade(g: Grading, answer: Any) -> None:
        x, y = arrays(40)
        g.launch(double, 1, 32, x, y, 40)
        g.close("twice", y[32:], 2 * x[32:])

    found = graded(grade)
    assert found.says[0] == "y[32] should be 64, it is nan; 8 of 8 elements are wrong."
    assert found.says[1] == "No thread stored it: it still holds what it held before the launch."


@pytest.mark.parametrize(
    ("answer", "phrase"),
    [
        (endless, "budget: "),
        (racing, "racecheck: WAW hazard in global memory"),
        (strided, "memcheck: load of 4 bytes at "),
        (".version 8.0\n.target sm_80\n.entry x(.param .u64 a) { ret; }", "x takes 1 argument"),
        (
            ".version 8.0\n.target sm_80\n.entry x(.param .u64 a, .param .u64 b, .param .u32 n) {\nfma.f32 %r;\n}",
            "<ptx>:4:",
        ),
        ("hello", "found text without a .entry: 'hello'"),
        (3, "`answer`: expected a kernel (a function with @kernel, PTX text, or a kernel of pl.cuda), found int."),
    ],
    ids=["endless", "race", "outside", "arguments", "syntax", "text", "number"],
)
def test_a_launch_that_goes_wrong(answer: Any, phrase: str) -> None:
    def grade(g: Grading, _: Any) -> None:
        x, y = arrays(40)
        if g.launch(answer, 1, 32, x, y, 40, budget=10_000) is not None:
            g.close("twice", y, 2 * x)  # what is wrong in the result tells the race

    found = graded(grade)
    assert found.score == 0
    assert phrase in repr(found), found


def test_a_limit_names_the_line_that_costs_most() -> None:
    def grade(g: Grading, answer: Any) -> None:
        x, y = np.zeros(256, np.float32), np.zeros(32, np.float32)
        run = g.launch(strided, 1, 32, x, y, 32, counters=True)
        assert run is not None
        assert g.at_most("stores", run, "global stores", 1)
        assert g.at_most("registers", run, "registers", 64)
        assert g.at_most("a metric", run, "smsp__inst_executed_op_global_ld.sum", 1)
        g.at_most("coalesced", run, "sectors", 8)

    found = graded(grade)
    assert found.says[0] == "36 sectors; at most 8 are allowed."
    assert found.says[1].startswith("36 of them: ")
    assert "ld.global.f32" in found.says[1]
    assert (found.ok, found.score) == (False, 0.75)


def test_what_a_function_may_return() -> None:
    def grade(g: Grading, answer: Any) -> None:
        for good, truth in (
            (4, 4),
            (4.0, 4),
            (np.int64(4), 4),
            ([1, 2], (1, 2)),
            ((1, 2), [1, 2]),
            ({1, 2}, {2, 1}),
            ([2, 1], {1, 2}),
            (True, True),
            ("a", "a"),
            (np.array([1, 2]), [1, 2]),
        ):
            assert g.predict(lambda n, good=good: good, (1,), truth), (good, truth)
        for bad, truth in (
            (True, 1),
            (1, True),
            ("4", 4),
            ([1], [1, 2]),
            ([1, 2], [2, 1]),
            (4, [4]),
            (float("nan"), 4),
            ({1}, {1, 2}),
            (1.5, 1),
            ("A", "a"),
        ):
            assert not g.predict(lambda n, bad=bad: bad, (1,), truth), (bad, truth)

    found = graded(grade)
    assert found.says == ("answer(1): you say True, the machine says 1.",)


@pytest.mark.parametrize(
    ("found", "truth", "right"),
    [
        (10**400, 3, False), (10**400, 10**400, True), (float("inf"), 3, False),
        ([[0], [1]], {0, 1}, False), ({0, True}, {0, 1}, False), ([1, 0, 1], {0, 1}, True), ([0], {0, 1}, False),
        ("x" * 9, "x", False), (1j, 1, False), (np.float32(0.5), 0.5, True),
    ],
)  # fmt: skip
def test_answers_of_any_kind_are_compared(found: Any, truth: Any, right: bool) -> None:
    assert same(found, truth) is right


def test_a_huge_answer_is_not_repeated_whole() -> None:
    says = check("02-sectors", lambda *given: "x" * 10**6).says[0]
    assert len(says) < 3100
    assert says.endswith(" characters)")


def test_full_marks_need_every_part() -> None:
    assert graded(lambda g, answer: None).score == 0
    assert graded(lambda g, answer: [g.part(str(at), True) for at in range(5)]).score == 1
    many = graded(lambda g, answer: [g.part(str(at), at != 500) for at in range(1000)])
    assert many.score < 1
    assert not many


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"name": "tail"}, "exercise tail: name: two digits, a dash and small letters, as 02-tail"),
        ({"kind": "guess"}, "exercise 02-x: kind: one of predict, fill, fix, write, optimise"),
        ({"hints": ("one",)}, "exercise 02-x: hints: two, where to look and what to ask"),
        ({"level": 4}, "exercise 02-x: level: 1, 2 or 3"),
        ({"graded": ()}, "exercise 02-x: graded: at least one sentence"),
        ({"answer": "a b"}, "exercise 02-x: answer: the name that the cell assigns"),
    ],
)
def test_data_that_is_not_whole(changes: dict[str, Any], says: str) -> None:
    given = {"name": "02-x", "title": "t", "kind": "fix", "level": 1, "prompt": "p", "starter": "a", "solution": "b",
             "answer": "answer", "hints": ("a", "b"), "graded": ("g",), "grade": lambda g, a: None}  # fmt: skip
    with pytest.raises(ValueError) as caught:
        Exercise(**given | changes)
    assert str(caught.value) == says
