"""Hints by mistake: what a student is told besides what happened, and when."""

from __future__ import annotations

import ast
import inspect
import textwrap
import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ptxlab.course.exercise import Exercise
from ptxlab.course.progress_kept import keep, kept, solved
from ptxlab.course.verdict import Feedback, Part

PAIRS = {
    "value": ("Compare your kernel with the starter, which is right. Where does the first value differ?",
              "Take the smallest case and one thread. Which of its values is the first that you did not expect?"),
    "cost": ("Look at the line that is named first. Which threads execute it, and how often?",
             "Which of these executions give something that a thread has already, or that another one could give it?"),
    "finding": ("Look at the lines that are named. Which thread executes them, and which of the two comes first?",
                "What in your kernel makes the one wait for the other?"),
    "memcheck": ("Which thread executes the line that is named, and which element does it want?",
                 "What keeps threads without such an element away from that line?"),
    "initcheck": ("Which place is read there, and which thread should have written it?",
                  "Does that thread write it in this case, and before it is read?"),
    "it ends": ("Which threads are still there, and what do they repeat, or wait for?",
                "What ends that loop, or that wait, and which thread does it?"),
}  # fmt: skip
"""Sort of part, or what its name begins with -> its two hints, where the exercise's own are about another sort."""
STUCK = 3
"""Changed answers without progress after which the smallest case that fails is offered."""


def untouched(exercise: Exercise, answer: Any) -> bool:
    """Whether an answer is the starter as it was, but for comments and blanks."""
    tree = ast.parse(exercise.starter)
    text = answer if isinstance(answer, str) else getattr(answer, "source", None)
    if isinstance(text, str):
        return text in [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    cell = getattr(getattr(answer, "function", answer), "__globals__", {}) | {exercise.answer: answer}
    own: list[ast.stmt] = []
    try:
        for node in tree.body:
            written: Any = cell.get(getattr(node, "name", ""))
            own += ast.parse(textwrap.dedent(inspect.getsource(getattr(written, "function", written)))).body
    except (OSError, TypeError, SyntaxError):  # no function, or one that was typed where no file keeps it
        return False
    return [ast.dump(node) for node in own] == [ast.dump(node) for node in tree.body]


def pair(exercise: Exercise, part: Part) -> tuple[str, ...]:
    """The two hints of a wrong part: where to look, then what to ask."""
    about = {"optimise": ("cost",), "fix": ("value", "finding", "cost")}.get(exercise.kind, ("value",))
    if part.sort in about:
        return exercise.hints
    return next((PAIRS[kind] for kind in ("memcheck", "initcheck", "it ends") if part.name.startswith(kind)),
                PAIRS[part.sort])  # fmt: skip


def advised(
    exercise: Exercise, answer: Any, found: Feedback, tried: Sequence[str], hints: bool
) -> tuple[Feedback, bool]:
    """Feedback with its hint, and whether the student is stuck; what was tried is kept as a number, no answer is.

    The same part wrong again with a changed answer has its second hint, another part its own first. An answer is
    changed if its PTX or its value is. An answer that cannot run, the untouched starter and an unchanged answer cost no
    hint, and where `found` names the mistake none is shown.
    """
    known = kept().get(exercise.name, {})
    wrong = next((part for part in found.parts if not part.ok), None)
    if found.ok:
        helped = f"The help was about this: {known['part']}." if known.get("hints") else ""
        keep(exercise.name, solved(known))
        return replace(found, says=(*found.says, *filter(None, [helped]))), False
    if wrong is None or wrong.sort == "broken" or untouched(exercise, answer):
        return found, False
    now, right = zlib.crc32("\n".join(tried).encode()), sum(part.ok for part in found.parts)
    if now != known.get("tried"):
        shown = known.get("hints", 0) if known.get("part") == wrong.name else 0
        stuck = known.get("stuck", 0) + 1 if right <= known.get("right", -1) else 1
        shown = min(shown + (not wrong.cause), 2)
        known = known | {"tried": now, "part": wrong.name, "hints": shown, "stuck": stuck, "right": right}
        keep(exercise.name, known)
    if wrong.cause or not hints or not known["hints"]:
        return found, hints and known["stuck"] >= STUCK
    at = known["hints"]
    return replace(found, hint=f"{pair(exercise, wrong)[at - 1]} ({at} of 2)"), known["stuck"] >= STUCK
