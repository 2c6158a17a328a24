"""The hunt: a wrong kernel, three guesses at a line, and answers that come from the runs of both kernels."""

from __future__ import annotations

import contextlib
import difflib
import html
import re
import zlib
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxlab.course.gallery import finders
from ptxlab.course.gallery.cases import Case, Trial, ptx_of, shape
from ptxlab.course.value_watch import destinations
from ptxlab.course.values import counted
from ptxlab.errors import DeviceFault, PtxlabError
from ptxlab.text import Vector

if TYPE_CHECKING:
    from ptxlab.emulate.step.interpreter import Step

GUESSES = 3
MOST_PLACES, MOST_LINES = 4, 8
"""A repair in more places, or with more lines of one place removed, cannot be guessed by its line."""


class NoGuess(PtxlabError, ValueError):
    """There is nothing to guess, or no guess left."""


class Lines:
    """A recorder: which threads execute each PTX line, and a checksum of what it gives them. Whole numbers of 64 bits
    are left out: they are addresses, which differ from run to run."""

    def __init__(self) -> None:
        self.threads: defaultdict[int, set[tuple[int, int]]] = defaultdict(set)
        self.sums: defaultdict[int, dict[tuple[int, int], int]] = defaultdict(dict)
        self._held: dict[tuple[int, int, str], Any] = {}

    def wants(self, block: int, warp: int) -> bool:
        """All of them."""
        return True

    def record(self, step: Step) -> None:
        """Adds one step."""
        line, warp, instruction = step.code.line, (step.block, step.warp), step.code.instruction
        if instruction is None:
            return
        self.threads[line] |= {(step.block, 32 * step.warp + int(lane)) for lane in np.flatnonzero(step.mask)}
        values = [new for _, _, new in step.writes]
        self._held |= {(*warp, name): v for name, v in zip(destinations(instruction), values, strict=False)}
        if not values:  # a store, or a branch: what its operands hold
            named = [e for o in instruction.operands for e in (o.elements if isinstance(o, Vector) else (o,))]
            values = [self._held[(*warp, str(e))] for e in named if (*warp, str(e)) in self._held]
        for value in values:
            if value.dtype.itemsize < 8 or value.dtype.kind == "f":
                self.sums[line][warp] = zlib.crc32(value[step.mask].tobytes(), self.sums[line].get(warp, 0))


@dataclass
class Game:
    """The hunt of one `Exhibit`: the lines that were guessed, each with its answer and what is said of it."""

    exhibit: Any
    guessed: dict[int, tuple[str, str]] = field(default_factory=dict)
    explained: bool = False

    @cached_property
    def seen(self) -> list[tuple[Case, Trial]]:
        """The buggy kernel on every case, those that show the bug first."""
        e = self.exhibit
        return [(case, e.trial(e.buggy(case), case)) for case in (*e.guilty, *e.innocent)]

    @cached_property
    def texts(self) -> tuple[list[str], list[str]]:
        """The lines of both kernels."""
        return ptx_of(self.exhibit.buggy()).splitlines(), ptx_of(self.exhibit.repaired()).splitlines()

    @cached_property
    def mine(self) -> Lines:
        """What the buggy kernel does with the first input that shows the bug."""
        return self._run(self.exhibit.buggy())

    @cached_property
    def right(self) -> Lines:
        """What the repaired kernel does with it."""
        return self._run(self.exhibit.repaired())

    def _run(self, kernel: Any) -> Lines:
        lines = Lines()
        with finders.watched(lines), contextlib.suppress(DeviceFault):  # what it did until then is recorded
            self.exhibit.trial(kernel, self.exhibit.guilty[0])
        return lines

    @cached_property
    def answer(self) -> tuple[set[int], dict[int, int], bool]:
        """Lines that the repair changes or beside which it adds some, with the finder's lines where it only adds; the
        line of the repaired text that each other one is; whether the bug can be guessed by its line."""
        old, new = ([shape(line) for line in text] for text in self.texts)
        codes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        code = [n for n, line in enumerate(self.texts[0], 1) if is_instruction(line)]
        found: set[int] = set()
        changed = [(i0, i1) for tag, i0, i1, _, _ in codes if tag != "equal"]
        for i0, i1 in changed:
            found |= {*range(i0 + 1, i1 + 1)}
        if not found:  # it only adds lines
            for i0, _ in changed:
                found |= {*[n for n in code if n <= i0][-1:], *[n for n in code if n > i0][:1]}
            trial = self.seen[0][1]
            found |= {trial.line, *(int(n) for n in re.findall(r"\bline (\d+)", trial.found))} & set(code)
        twins = {i0 + n: j0 + n for tag, i0, i1, j0, _ in codes if tag == "equal" for n in range(1, i1 - i0 + 1)}
        return found, twins, len(changed) <= MOST_PLACES and max(b - a for a, b in changed) <= MOST_LINES

    def guess(self, line: int) -> None:
        """Answers a guess. A line without an instruction, and one that was guessed before, cost none."""
        (found, twins, fits), text = self.answer, self.texts[0]
        code = [n for n, one in enumerate(text, 1) if is_instruction(one)]
        for wrong, says in (
            (not fits, f"the repair of exhibit {self.exhibit.number} has too many places; see .explain()"),
            (self.won or len(self.guessed) == GUESSES, "no guess is left; see .explain(), or begin anew: .hunt()"),
            (not 1 <= line <= len(text), f"there is no line {line}; lines go from 1 to {len(text)}"),
            (line not in {*found, *code}, f"line {line} has no instruction"),
        ):  # fmt: skip
            if wrong:
                raise NoGuess(says)
        twin = twins.get(line, 0)
        mine, other = self.mine.threads[line], self.right.threads[twin]
        who = f"{counted(len(mine), 'thread')} execute{'s' * (len(mine) == 1)} it"
        if line in found:
            rest = ", ".join(map(str, sorted(found - {line})))
            told = self.seen[0][1].found.partition("\n")[0]
            self.guessed[line] = "found", f"{told}{f' (Or line {rest}.)' if rest else ''}"
        elif mine != other and not text[line - 1].strip().startswith("ret"):  # a branch to it ends the thread, too
            self.guessed[line] = "victim", f"{who}, and {len(other)} in the repaired kernel. What sends them here?"
        elif self.mine.sums[line] != self.right.sums[twin]:
            says = "The line is right, and its values are not those of the repaired kernel. Look before it."
            self.guessed[line] = "victim", says
        else:
            self.guessed[line] = "innocent", f"{who}, as in the repaired kernel, with the same values."

    @property
    def won(self) -> bool:
        """Whether a guess has found it."""
        return any(verdict == "found" for verdict, _ in self.guessed.values())

    @property
    def stars(self) -> int:
        """Three for the first guess, one for the third, none after an explanation."""
        return 0 if self.explained or not self.won else GUESSES + 1 - len(self.guessed)

    def _said(self) -> tuple[str, list[str], list[str]]:
        """The heading, what is known, what became of the guesses."""
        e, left = self.exhibit, GUESSES - len(self.guessed)
        stars = "★" * self.stars + "☆" * (3 - self.stars)
        title = f"{e.title}  {stars}" if self.won else "one thing is wrong in this kernel"
        tried = enumerate(self.guessed.items(), 1)
        told = [f"Guess {n}, line {line}: {verdict}. {says}".strip() for n, (line, (verdict, says)) in tried]
        if not self.answer[2]:
            told = ["The repair has too many places to guess one of them: .explain() tells the story."]
        elif not self.won:
            told.append(f"{counted(left, 'guess', 'guesses')} left: .guess(line=...), or .explain()")
        known = sorted(self.seen, key=lambda one: one[0] in e.guilty)
        cases = [f"{case.says}: {'passes' if trial.ok else 'fails'}: {trial.result}" for case, trial in known]
        return f"exhibit {e.number}: {title}", cases, told

    def _rows(self, lines: list[str]) -> list[str]:
        """Number, threads, sign, line."""
        signs = {n: {"found": "✓", "victim": "▼", "innocent": "○"}[verdict] for n, (verdict, _) in self.guessed.items()}
        count = {n: len(self.mine.threads[n]) or "" for n in range(1, len(lines) + 1)}
        return [f"{n:>4} {count[n]:>7} {signs.get(n, ' ')} {line}" for n, line in enumerate(lines, 1)]

    def __repr__(self) -> str:
        head, cases, told = self._said()
        return "\n".join([head, *cases, *told, "", "line threads", *self._rows(self.texts[0])])

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        from ptxlab.lab import display, highlight

        head, *says = self._said()
        cases, told = ("".join(f"<li>{html.escape(one)}</li>" for one in some) for some in says)
        rows = self._rows(highlight.ptx_lines("\n".join(self.texts[0])))
        for n, (verdict, _) in self.guessed.items():
            colour = "add" if verdict == "found" else "chg"
            rows[n - 1] = f'<span style="background:var(--pl-{colour})">{rows[n - 1]}</span>'
        body = f"<h4>{html.escape(head)}</h4><ul>{cases}</ul><ul role=status>{told}</ul>"
        return {"text/plain": repr(self), "text/html": display.page(body, display.block(["line threads", *rows]))}


def is_instruction(line: str) -> bool:
    """Whether a line of PTX has an instruction."""
    bare = line.split("//")[0].strip()
    return bare.endswith(";") and not bare.startswith(".")


games: dict[int, Game] = {}
"""The hunts of this session, by the exhibit's number."""
