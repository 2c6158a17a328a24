"""What an exhibit of the gallery is: a kernel with one bug, its repair, inputs that hide and show it, a finder."""

from __future__ import annotations

import difflib
import html
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ptxlab.errors import UnavailableError

PACKAGE = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Case:
    """One input: `says` names it; the other fields are the sizes and kinds that an exhibit may look at.

    rows and keys count query rows and keys, dim the elements of a row, heads the heads; the logits have standard
    deviation `sigma`; `choice` is the exhibit's own (a lane, a variant); `tolerance` is the largest error that passes.
    """

    says: str
    rows: int = 32
    keys: int = 32
    dim: int = 4
    heads: int = 1
    sigma: float = 1.0
    causal: bool = False
    dtype: str = "f32"
    arch: str = "sm_80"
    choice: int = 0
    tolerance: float = 1e-5


@dataclass(frozen=True)
class Trial:
    """A run of one kernel on one case: whether it passes, and what its result looked like in words.

    `found` is what the exhibit's finder said, "" where it found nothing; `line` the PTX line that it named, 0 where it
    names a place in the output instead.
    """

    ok: bool
    result: str
    found: str = ""
    line: int = 0

    def __repr__(self) -> str:
        out = f"{'passes' if self.ok else 'fails'}: {self.result}"
        return out + ("\n" + textwrap.indent(self.found, "    ") if self.found else "")


@dataclass(frozen=True)
class Hunt:
    """A buggy kernel before anything is explained: how it does on each case, (case, trial), and its PTX."""

    number: int
    seen: tuple[tuple[Case, Trial], ...]
    ptx: str

    def _lines(self) -> list[str]:
        marks = [f"{case.says}: {'passes' if trial.ok else 'fails'}: {trial.result}" for case, trial in self.seen]
        return [f"exhibit {self.number}: one thing is wrong in this kernel", *marks]

    def __repr__(self) -> str:
        return "\n".join([*self._lines(), "", self.ptx])

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        head, *marks = (html.escape(line) for line in self._lines())
        said = "".join(f"<li>{line}</li>" for line in marks)
        code = f'<pre style="max-height:30em;overflow:auto">{html.escape(self.ptx)}</pre>'
        return {"text/plain": repr(self), "text/html": f"<div><h4>{head}</h4><ul>{said}</ul>{code}</div>"}


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

    def diff(self, case: Case | None = None) -> str:
        """The repair, as a unified diff of the two kernels' PTX."""
        return changes(ptx_of(self.buggy(case)), ptx_of(self.repaired(case)))

    def hunt(self) -> Hunt:
        """The buggy kernel to look at first: it passes here and fails there, and nothing says why."""
        cases = (*self.innocent, *self.guilty)
        return Hunt(
            self.number, tuple((case, self.trial(self.buggy(case), case)) for case in cases), ptx_of(self.buggy())
        )

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
        return "\n".join([*out, "", "the repair:", self.diff()])

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _place_html(self) -> str:
        return f"<p>Found in: {_linked(self.place)}</p>" if self.place else ""

    def _repr_html_(self) -> str:
        rows = []
        for name, says, trial, why in self._shown():
            mark, colour, result, found = "", "inherit", why, ""
            if trial is not None:
                mark, colour = ("✓ passes", "#1a7f37") if trial.ok else ("✗ fails", "#bf5b04")
                result = trial.result
                if trial.found:
                    found = f'<pre style="margin:4px 0;white-space:pre-wrap">{html.escape(trial.found)}</pre>'
            rows.append(
                f'<tr style="vertical-align:top"><td>{name}</td><td style="text-align:left">{html.escape(says)}</td>'
                f'<td style="color:{colour};white-space:nowrap">{mark}</td><td style="text-align:left">'
                f"{html.escape(result)}{found}</td></tr>"
            )
        return (
            f"<div><h4>{html.escape(self.heading)}</h4><p>{html.escape(self.story)}</p>"
            f"<p>Found by: <b>{html.escape(self.finder)}</b></p>{self._place_html()}<table>{''.join(rows)}</table>"
            f"<p>The repair:</p><pre>{''.join(map(_coloured, self.diff().splitlines()))}</pre></div>"
        )


def _linked(text: str) -> str:
    """Text in HTML, its addresses as links."""
    return re.sub(r"https://[^\s<]*[\w/]", r'<a href="\g<0>">\g<0></a>', html.escape(text))


def _coloured(line: str) -> str:
    colour = {"+": "#1a7f37", "-": "#cf222e"}.get(line[:1], "inherit")
    return f'<span style="color:{colour}">{html.escape(line)}</span>\n'


def ptx_of(kernel: Any) -> str:
    """The PTX of a kernel, or of a text."""
    return kernel if isinstance(kernel, str) else str(kernel.ptx)


def changes(old: str, new: str, context: int = 2, longest: int = 24) -> str:
    """A unified diff that does not see the numbers of nameless registers (`%f12`, `%rd3`) and labels, nor comments.

    A new instruction renumbers everything after it; a plain diff would show all of that. Of each piece at most
    `longest` lines are shown, with the number of those left out.
    """
    a, b = old.splitlines(), new.splitlines()
    matcher = difflib.SequenceMatcher(None, [_shape(line) for line in a], [_shape(line) for line in b], autojunk=False)
    out = ["--- buggy", "+++ repaired"]
    for group in matcher.get_grouped_opcodes(context):
        out.append(f"@@ -{group[0][1] + 1} +{group[0][3] + 1} @@")
        start = len(out)
        for tag, i0, i1, j0, j1 in group:
            if tag == "equal":
                out += [f"  {line}" for line in b[j0:j1]]
            else:
                out += [f"- {line}" for line in a[i0:i1]] + [f"+ {line}" for line in b[j0:j1]]
        if len(out) - start > longest:
            out[start + longest :] = [f"  ... and {len(out) - start - longest} more lines"]
    return "\n".join(out)


def _shape(line: str) -> str:
    """What an instruction does, without its comment and the numbers that follow from its place."""
    bare = line.split("//")[0]
    if bare.lstrip().startswith(".reg"):
        return ".reg"
    return " ".join(re.sub(r"(%(?:f|fd|r|rd|p|h|b|rs)|\$[A-Za-z_]+)\d+\b", r"\1", bare).split())


def shortened(words: str) -> str:
    """A message with the package's own files named from the package on."""
    return words.replace(f"{PACKAGE.parent.as_posix()}/", "")
