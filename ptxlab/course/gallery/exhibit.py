"""What an exhibit of the gallery is: a kernel with one bug, its repair, inputs that hide and show it, a finder."""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ptxlab.course.gallery.cases import Case, Trial, ptx_of
from ptxlab.course.gallery.hunt import Game, games
from ptxlab.errors import UnavailableError

if TYPE_CHECKING:
    from ptxlab.lab.diff import Diff

LONGEST = 80
"""Lines of a repair that are printed."""


@dataclass(frozen=True)
class Exhibit:
    """One bug. `build(fixed, case)` makes the kernel (or PTX text), `trial(kernel, case)` runs it and lets the finder
    look.

    It shows itself: the story, both kernels on the inputs, what the finder says, and the repair as a diff of the PTX.
    place: where the mistake stands or stood in public code (project, file, kernel); "" for those of our own making.
    """

    number: int
    title: str
    finder: str
    story: str
    build: Callable[[bool, Case], Any]
    trial: Callable[[Any, Case], Trial]
    guilty: tuple[Case, ...]
    innocent: tuple[Case, ...] = ()
    place: str = ""

    def buggy(self, case: Case | None = None) -> Any:
        """The kernel with the bug, built for a case (the first guilty one)."""
        return self.build(False, case or self.guilty[0])

    def repaired(self, case: Case | None = None) -> Any:
        """The kernel without it."""
        return self.build(True, case or self.guilty[0])

    def diff(self, case: Case | None = None) -> Diff:
        """The repair: the difference of the two kernels' PTX."""
        from ptxlab.lab.diff import diff

        return diff(ptx_of(self.buggy(case)), ptx_of(self.repaired(case)), names=("buggy", "repaired"))

    def hunt(self) -> Game:
        """The buggy kernel to look at first: it passes here and fails there, and nothing says why. It begins anew."""
        games[self.number] = Game(self)
        return games[self.number]

    def guess(self, line: int) -> Game:
        """One of three guesses at the PTX line of the mistake. The answer comes from the runs of both kernels: found,
        a line that the repair changes or beside which it adds one; victim, a line with other values or other threads
        than in the repaired kernel; innocent, one with the same. `NoGuess` says why there is none."""
        game = games[self.number] if self.number in games else self.hunt()
        game.guess(line)
        return game

    def explain(self) -> Exhibit:
        """The story, both kernels, the repair. What is guessed afterwards, until the next `hunt`, has no stars."""
        (games[self.number] if self.number in games else self.hunt()).explained = True
        return self

    @cached_property
    def trials(self) -> list[tuple[str, Case, Trial]]:
        """("buggy" or "repaired", case, what happened): the buggy kernel on every case, then the repaired one."""
        cases = (*self.innocent, *self.guilty)
        return [
            (name, case, self.trial(make(case), case))
            for name, make in (("buggy", self.buggy), ("repaired", self.repaired))
            for case in cases
        ]

    def _shown(self) -> list[tuple[str, str, Trial | None, str]]:
        """(kernel, case, trial, ""), or one (kernel, case, None, why) where something optional is missing here."""
        try:
            return [(name, case.says, trial, "") for name, case, trial in self.trials]
        except UnavailableError as missing:
            return [("both", "any", None, f"not tried here: {missing}")]

    @property
    def heading(self) -> str:
        """The number and the title."""
        return f"{self.number}. {self.title}"

    def __repr__(self) -> str:
        out = [self.heading, "", *textwrap.wrap(self.story, 100), "", f"found by: {self.finder}", ""]
        if self.place:
            out[-1:] = [
                *textwrap.wrap(f"found in: {self.place}", 100, break_long_words=False, break_on_hyphens=False),
                "",
            ]
        out += [f"{name}, {says}: {trial or why}" for name, says, trial, why in self._shown()]
        repair = self.diff().unified().splitlines()
        if len(repair) > LONGEST:
            repair[LONGEST:] = [f"... and {len(repair) - LONGEST} more lines"]
        return "\n".join([*out, "", "the repair:", *repair])

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _place_html(self) -> str:
        return f"<p>Found in: {_linked(self.place)}</p>" if self.place else ""

    def _repr_html_(self) -> str:
        rows = []
        for name, says, trial, why in self._shown():
            mark, colour, result, found = "", "inherit", why, ""
            if trial is not None:
                mark, colour = ("✓ passes", "var(--pl-good)") if trial.ok else ("✗ fails", "var(--pl-warn)")
                result = trial.result
                if trial.found:
                    found = f'<pre style="margin:4px 0;white-space:pre-wrap">{html.escape(trial.found)}</pre>'
            rows.append(
                f'<tr style="vertical-align:top"><td>{name}</td><td style="text-align:left">{html.escape(says)}</td>'
                f'<td style="color:{colour};white-space:nowrap">{mark}</td><td style="text-align:left">'
                f"{html.escape(result)}{found}</td></tr>"
            )
        from ptxlab.lab import display

        return display.page(
            f"<div><h4>{html.escape(self.heading)}</h4><p>{html.escape(self.story)}</p>"
            f"<p>Found by: <b>{html.escape(self.finder)}</b></p>{self._place_html()}<table>{''.join(rows)}</table>"
            f"<p>The repair:</p>{self.diff().html()}</div>"
        )


def _linked(text: str) -> str:
    """Text in HTML, its addresses as links."""
    return re.sub(r"https://[^\s<]*[\w/]", r'<a href="\g<0>">\g<0></a>', html.escape(text))
