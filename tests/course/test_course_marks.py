"""Marks follow how much of an answer is right: more never gets less, what knows nothing gets nothing, and each way that
an exercise offers gets all."""

from __future__ import annotations

import ast
import functools
import itertools
from collections.abc import Callable
from typing import Any

import course_answers as answers
import numpy as np
import pytest

from ptxlab.builder import Builder, Ptr, f32, kernel, u32
from ptxlab.course import catalogue, exercise_checks, kernel_answers
from ptxlab.course.exercise import Exercise
from ptxlab.course.exercise_checks import Grading
from ptxlab.course.feedback import judge
from ptxlab.launch.buffers import Const, Out
from ptxlab.launch.run import launch

EXERCISES = catalogue()
SEED = 7
ANY_CASES = ("13-convict",)
"""Where an answer that never changes can be right: it chooses inputs, and large ones find all bugs."""


def is_function(name: str) -> bool:
    """Whether an exercise's answer is a function of Python."""
    answer = answers.run(EXERCISES[name], EXERCISES[name].solution)
    return callable(answer) and not kernel_answers.is_kernel(answer)


MODS = ("19-window", "19-alibi", "19-documents")
"""Functions that are called once, with numbers that have no value yet."""
FUNCTIONS = [name for name in EXERCISES if name not in MODS and is_function(name)]
KERNELS = [name for name in EXERCISES if name not in (*MODS, *FUNCTIONS)]


def mark(name: str, answer: Any, seed: int = SEED) -> float:
    """The mark of an answer."""
    return judge(EXERCISES[name], answer, seed=seed, graded=True).score


def fixed(asked: Callable[[int], list[str]]) -> list[str]:
    """The cases of an exercise that are the same for two seeds."""
    others = asked(SEED + 1)
    return [case for case in dict.fromkeys(asked(SEED)) if case in others]


def growing(cases: list[str]) -> list[set[str]]:
    """More and more of the cases, in four steps at most: from the first on, and from the last on."""
    counts = sorted({0, min(1, len(cases)), len(cases) // 2, len(cases)})
    return [set(way[:count]) for way in (cases, cases[::-1]) for count in counts]


def grows(marks: list[float]) -> bool:
    """Whether marks for more and more cases begin with nothing and never go down."""
    half = len(marks) // 2
    return all(one == sorted(one) and one[0] == 0.0 for one in (marks[:half], marks[half:]))


# -- functions ---------------------------------------------------------------------------------------------------------


@functools.cache
def questions(name: str, seed: int = SEED) -> dict[str, Any]:
    """What a function is asked, and what it should say."""
    solution, found = answers.run(EXERCISES[name], EXERCISES[name].solution), {}

    def listening(*args: Any) -> Any:
        found[repr(args)] = solution(*args)
        return found[repr(args)]

    mark(name, listening, seed)
    return found


@pytest.mark.sweep(19)
@pytest.mark.parametrize("wrong", [None, -12345])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_more_right_predictions_never_get_less(name: str, wrong: int | None) -> None:
    solution = answers.run(EXERCISES[name], EXERCISES[name].solution)
    cases = fixed(lambda seed: list(questions(name, seed)))
    marks = [
        mark(name, lambda *args, known=known: solution(*args) if repr(args) in known else wrong)
        for known in growing(cases)
    ]
    assert grows(marks), marks
    assert marks[-1] > marks[1], "all are worth more than one"


@pytest.mark.long
@pytest.mark.sweep(10)
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in ANY_CASES])
def test_an_answer_that_never_changes_gets_nothing(name: str) -> None:
    told = list(questions(name).values())
    for value in (*told, 0, 1, "", [], (), set(), (0, 0), (0, 0, 0), [0]):
        assert mark(name, lambda *_, value=value: value) == 0.0, value
    assert mark(name, lambda *_: None) == 0.0


def chosen_of(name: str, chosen: tuple[bool, ...]) -> float:
    """The mark of an answer that has some of its numbers right."""
    solution = answers.run(EXERCISES[name], EXERCISES[name].solution)

    def partly_right(*args: Any) -> Any:
        return tuple(value if right else -7 for value, right in zip(solution(*args), chosen, strict=True))

    return mark(name, partly_right)


@pytest.mark.parametrize("name", ["05-holder", "11-part", "15-holds", "16-phase", "18-fused"])
def test_each_of_several_numbers_counts(name: str) -> None:
    count = len(next(iter(questions(name).values())))
    marks = {chosen: chosen_of(name, chosen) for chosen in itertools.product((False, True), repeat=count)}
    assert marks[(False,) * count] == 0.0
    assert marks[(True,) * count] == 1.0
    for few, more in itertools.permutations(marks, 2):
        if all(a <= b for a, b in zip(few, more, strict=True)):
            assert marks[few] <= marks[more], (few, more)
    if name == "05-holder":  # whose starter has nothing right
        assert sorted(marks.values()) == pytest.approx([0, 7 / 22, 7 / 22, 7 / 22, 14 / 22, 14 / 22, 14 / 22, 1])


def rescales(*, rule: str, first: bool = True) -> Callable[[list[float]], list[int]]:
    """An answer to 01-predict."""

    def shrinks(scores: list[float]) -> list[int]:
        named, top = [0] if first else [], scores[0]
        for key, score in enumerate(scores[1:], 1):
            larger = {"larger": score > top, "as large": score >= top, "than before": score > scores[key - 1]}[rule]
            named += [key] if larger else []
            top = max(top, score)
        return named

    return shrinks


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 84231])
def test_a_rule_counts_more_than_a_guess(seed: int) -> None:
    guesses = [lambda scores: [], lambda scores: [0], lambda scores: [0, 3, 5], lambda scores: list(range(len(scores)))]
    assert [mark("01-predict", guess, seed) for guess in guesses] == [0.0] * 4
    half = [mark("01-predict", rescales(rule=rule), seed) for rule in ("as large", "than before")]
    assert 0.0 < min(half)
    without_the_first = mark("01-predict", rescales(rule="larger", first=False), seed)
    assert max(half) < without_the_first
    assert 0.5 < without_the_first < 1.0
    assert mark("01-predict", rescales(rule="larger"), seed) == 1.0


def test_a_prediction_that_never_changes_is_told_so() -> None:
    found = judge(EXERCISES["01-predict"], lambda scores: [0], graded=True)
    assert not any(part.ok for part in found.parts)
    assert "`shrinks` says [] in every case, whatever it is asked." in [part.says[0] for part in found.parts]


# -- kernels -----------------------------------------------------------------------------------------------------------


class Partly:
    """Stands for `launch`: a right kernel, whose results are kept in some cases only; in others it left `value`."""

    def __init__(self, known: set[str] | None = None, value: float | None = None) -> None:
        self.known, self.value = known, value
        self.cases: list[str] = []

    def __call__(self, kernel: Any, grid: Any, block: Any, *args: Any, **options: Any) -> Any:
        arrays = [a.array if isinstance(a, Const | Out) else a for a in args]
        before = [a.copy() if isinstance(a, np.ndarray) else None for a in arrays]
        run = launch(kernel, grid, block, *args, **options)
        self.cases.append(repr([(a.shape, a.dtype) if isinstance(a, np.ndarray) else a for a in arrays]))
        if self.known is not None and self.cases[-1] not in self.known:
            for array, was in zip(arrays, before, strict=True):
                if was is not None and was.tobytes() != array.tobytes():
                    array[...] = was if self.value is None or array.dtype.kind != "f" else self.value
        return run


@pytest.fixture
def partly(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[float, list[str]]]:
    """The mark of a solution that is right in some cases, and the cases that it was launched in."""

    def graded(name: str, *given: Any, seed: int = SEED) -> tuple[float, list[str]]:
        launches = Partly(*given)
        monkeypatch.setattr(exercise_checks, "launch", launches)
        found = mark(name, answers.run(EXERCISES[name], EXERCISES[name].solution), seed)
        return found, launches.cases

    return graded


@pytest.mark.sweep(35)
@pytest.mark.parametrize("name", [name for name in KERNELS if name != "01-window"])
def test_more_right_results_never_get_less(name: str, partly: Callable[..., tuple[float, list[str]]]) -> None:
    cases = fixed(lambda seed: partly(name, seed=seed)[1])
    marks = [partly(name, known)[0] for known in growing(cases)]
    assert grows(marks), marks
    assert marks[-1] >= 0.5
    for value in (0.0, 1.0, -np.inf):
        assert partly(name, set(), value)[0] == 0.0, value


def idle(exercise: Exercise) -> str:
    """An answer's kernel without anything in it."""
    code = exercise.solution
    if ".entry" in code:
        return code[: code.index("{")] + "{ ret; }" + code[code.rindex("}") + 1 :]
    tree = ast.parse(code)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == exercise.answer:
            node.body = [s for s in node.body if ".box(" in ast.unparse(s)] or [ast.Pass()]
    return ast.unparse(tree)


@pytest.mark.sweep(9)
@pytest.mark.parametrize("name", [name for name in KERNELS if "pl.cuda" not in EXERCISES[name].solution])
def test_a_kernel_that_does_nothing_gets_nothing(name: str) -> None:
    assert mark(name, answers.run(EXERCISES[name], idle(EXERCISES[name]))) == 0.0


# -- order -------------------------------------------------------------------------------------------------------------

TURNS = EXERCISES["13-turns"].solution
SYNC = '    k.op("bar.warp.sync", -1)\n'


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 3])
def test_turns_without_a_meeting_of_the_warp_lose_marks(seed: int) -> None:
    before, between, after = TURNS.split(SYNC)
    for code in (before + between + SYNC + after, before + SYNC + between + after):
        found = judge(EXERCISES["13-turns"], answers.run(EXERCISES["13-turns"], code), seed=seed, graded=True)
        assert found.score < 1.0
        assert "racecheck" in found.says[0]
    assert mark("13-turns", answers.run(EXERCISES["13-turns"], TURNS), seed) == 1.0


@kernel
def last_one(k: Builder, x: Ptr[f32], y: Ptr[u32]) -> None:
    """y[0] = the block that came last: no race, and another number in another order."""
    with k.if_(k.tid.x == 0):
        with k.loop((k.ctaid.x * 5 + 3) % 7 * 40):
            k.op("fence.acq_rel.cta")
        k.op("atom.global.exch.b32", y, k.ctaid.x)


def test_a_result_that_depends_on_the_order_is_wrong() -> None:
    def grade(g: Grading, answer: Any) -> None:
        y = np.zeros(1, np.uint32)
        assert g.launch(answer, 12, 32, np.zeros(1, np.float32), y, orders=True) is None

    exercise = Exercise("02-x", "t", "fix", 1, "p", "answer = 1", "answer = 2", "answer", ("a", "b"), ("g",), grade)
    found = judge(exercise, last_one(), graded=True)
    assert found.says[0].startswith("`y` depends on the order of warps and blocks: try seed="), found


# -- the ways that hints and texts offer -------------------------------------------------------------------------------


def changed(name: str, *pairs: tuple[str, str], starter: bool = False) -> str:
    """A solution, or a starter, with lines changed."""
    code = EXERCISES[name].starter if starter else EXERCISES[name].solution
    for old, new in pairs:
        assert old in code, old
        code = code.replace(old, new)
    return code


_FENCE = 'k.op("fence.acq_rel.gpu")'
_SCORES = """    for n in range(own):
        at = lane + 32 * n
        dot.set(k.fma(q[at], key_row[at], dot))
"""
WAYS = {
    "08-coalesce": (
        "keep the elements and load them with one instruction",
        changed("08-coalesce", (_SCORES, """    ours = k.load(q + lane * own, own, vector=own)
    theirs = k.load(key_row + lane * own, own, vector=own)
    for mine, its in zip(ours, theirs):
        dot.set(k.fma(mine, its, dot))
""")),
    ),
    "10-last": (
        "what was read of V is replaced by 0 before it is multiplied",
        changed("10-last", (
            "acc.set(k.fma(weight, (value + row)[lane], acc))",
            "acc.set(k.fma(weight, k.select(j < keys, (value + row)[lane], 0.0), acc))",
        ), starter=True),
    ),
    "14-down": (
        "lane 0 tells the others",
        changed("14-down", ("    float scale", "    total = __shfl_sync(0xffffffff, total, 0);\n    float scale"),
                starter=True),
    ),
    "13-digits": ("decimal numbers", changed("13-digits", ("0d3FE62E42FEFA39EF", "0.6931471805599453"))),
    "13-turns": (
        "one fence before lane 0 passes the turn on, and one after it has got the turn",
        changed("13-turns", (
            "            pass  # not this block's turn: ask again\n",
            f"            pass\n        {_FENCE}\n",
        ), (
            '        k.op("atom.global.exch', f'        {_FENCE}\n        k.op("atom.global.exch',
        ), starter=True),
    ),
    "16-release": (
        "arrivals=2, and one lane of each warp after a bar.warp.sync",
        changed("16-release", ("arrivals=64", "arrivals=2"), (
            "            turn.release()\n",
            "            k.op('bar.warp.sync', -1)\n"
            "            with k.if_(k.tid.x % 32 == 0):\n                turn.release()\n",
        )),
    ),
    "11-tail": (
        "any lines that give all their share",
        changed("11-tail", ("size = (keys + (splits - 1)) // splits", "size = keys"),
                ("k.min(split * size, keys)", "split * keys // splits"),
                ("k.min(first + size, keys)", "(split + 1) * keys // splits")),
    ),
    "14-rope": (
        "in whatever language you like",
        '''rope = pl.cuda("""
extern "C" __global__ void rope(const float *x, const float *c, const float *s, float *y, int h) {
    int i = threadIdx.x, at = blockIdx.x * h + i;
    const float *row = x + blockIdx.x * 2 * h;
    float a = row[i], b = row[i + h], cosine = c[at], sine = s[at];
    y[blockIdx.x * 2 * h + i] = a * cosine - b * sine;
    y[blockIdx.x * 2 * h + i + h] = b * cosine + a * sine;
}
""")
''',
    ),
    "04-rows": (
        "a lane per row",
        EXERCISES["04-rows"].solution.partition("    lane = k.tid.x")[0] + """    lane = k.tid.x
    with k.if_(lane < 16):
        mine = k.load(tile + lane * 16, 16, vector=4)
        row_sum = k.var(f32, 0.0)
        for x in mine:
            row_sum += x
        for n, x in enumerate(mine):
            (c + lane * 16)[n] = x / row_sum
""",
    ),
}  # fmt: skip
"""Exercise -> (what its text or a hint offers besides the solution, the answer)."""


@pytest.mark.long
@pytest.mark.sweep(9)
@pytest.mark.parametrize("name", WAYS)
def test_what_is_offered_gets_full_marks(name: str) -> None:
    answer = answers.run(EXERCISES[name], WAYS[name][1])
    for seed in range(50 if name == "08-coalesce" else 4):
        found = judge(EXERCISES[name], answer, seed=seed, graded=True)
        assert found.score == 1.0, (seed, found)


# -- headers -----------------------------------------------------------------------------------------------------------

HEADERS = ".version 7.8\n.target sm_80\n.address_size 64"


@pytest.mark.parametrize(
    ("lacking", "says"),
    [
        ((".version",), "The text has no .version, and"),
        ((".target",), "The text has no .target, and"),
        ((".version", ".target", ".address_size"), "The text has no .version and no .target, and"),
    ],
)
def test_ptx_without_headers_is_told_its_first_lines(lacking: tuple[str, ...], says: str) -> None:
    text = answers.run(EXERCISES["00-square"], EXERCISES["00-square"].solution)
    bare = "\n".join(line for line in text.splitlines() if not line.startswith(lacking))
    found = judge(EXERCISES["00-square"], bare, graded=True)
    assert found.score == 0.0
    assert found.says == (f"{says} NVIDIA's assembler refuses it. It must begin with:\n{HEADERS}",)
    assert mark("00-square", f"{HEADERS}\n{bare.partition('.visible')[1]}{bare.partition('.visible')[2]}") == 1.0
