"""What becomes of other parameters when one is changed: a value that does not fit any more goes to the nearest one that
does, and it is said why."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ptxlab.errors import LaunchError, TargetError
from ptxlab.lab import variant_controls
from ptxlab.lab.subject import TITLES, Subject, Values

FIRST = ("tile_kv", "stages", "tile_q", "warps", "page_size", "kv_heads", "heads", "head_dim")
"""Parameters in the order in which they give way: how a problem is cut before the problem itself. Others come later."""
VARIANT = (*variant_controls.BUILDING, *variant_controls.PROBLEM)
STAYS = ("seq_q", "seq_k", "batch", "seed", "sigma", "splits", "checks", *(p.name for p in VARIANT))
"""Parameters that no other parameter makes wrong."""

LONG = 1000
"""Values of a range from which on they are not tried one by one."""


@dataclass(frozen=True)
class Moved:
    """A parameter that went from one value to another, and the limit that the first one breaks."""

    name: str
    before: Any
    after: Any
    why: str

    def __str__(self) -> str:
        return f"{TITLES.get(self.name, self.name)} {said(self.before)} → {said(self.after)}: {self.why}"


def said(value: Any) -> str:
    """A value as the controls say it."""
    if isinstance(value, float):
        return f"{value:g}"
    return "auto" if value is None else ("off", "on")[value] if isinstance(value, bool) else str(value)


def moved(
    subject: Subject, values: Values, changed: Collection[str], offered: Mapping[str, Sequence[Any]], most: int = 2
) -> list[Moved]:
    """The parameters, not of those `changed`, that have to move for the values to fit together again, and where they
    go: one if that is enough, of those that do the first of `FIRST`; else `most`. None where the values fit, and where
    so many moves are not enough: the build says why.

    offered: for each parameter the values of its control; None stands for "auto", which is taken last."""
    why = misfit(subject, values)
    if why is None:
        return []
    names = [p.name for p in subject.parameters if p.name not in STAYS and values[p.name] is not None]
    names = [name for name in names if name not in changed]
    names.sort(key=lambda name: FIRST.index(name) if name in FIRST else len(FIRST))
    tries = [(name, value) for name in names for value in by_distance(values[name], offered[name])]
    for name, value in tries:
        if misfit(subject, {**values, name: value}) is None:
            return [Moved(name, values[name], value, reason(why, subject.name))]
    for name, value in tries if most > 1 else ():
        half = {**values, name: value}
        if str(misfit(subject, half)) == str(why):  # the move has not mended what was said first
            continue
        if more := moved(subject, half, {*changed, name}, offered, most - 1):
            return [Moved(name, values[name], value, reason(why, subject.name)), *more]
    return []


def misfit(subject: Subject, values: Values) -> Exception | None:
    """Why values do not fit together; None where they do."""
    try:
        subject.fits(values)
    except (TargetError, LaunchError) as error:
        return error
    return None


def reason(error: Exception, kernel: str) -> str:
    """An error's words without the name of the kernel, which the page says already."""
    return str(error).removeprefix(f"{kernel}: ")


def by_distance(value: Any, offered: Sequence[Any]) -> list[Any]:
    """The other values, the nearest first: numbers by their difference, names by their places in the list; None last.
    Of a long range the nearest alone."""
    if isinstance(offered, range) and len(offered) > LONG and number(value):
        whole = min(max(int(value), offered[0]), offered[-1])
        return [whole - (whole - offered[0]) % offered.step]
    others = [x for x in offered if x != value]
    if number(value):
        return sorted(others, key=lambda x: (not number(x), abs(x - value) if number(x) else 0, x if number(x) else 0))
    here = offered.index(value) if value in offered else 0
    return sorted(others, key=lambda x: (x is None, abs(offered.index(x) - here)))


def number(value: Any) -> bool:
    """Whether this is a number; True and False are names."""
    return isinstance(value, int | float) and not isinstance(value, bool)
