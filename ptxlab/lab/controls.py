"""The explorer's controls as data: the page draws one input for each parameter, from its choices and limits.

When one is changed, others may not fit any more: each goes to the nearest value that does, and it is said why.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import traitlets

from ptxlab.errors import LaunchError, TargetError
from ptxlab.kernels import Parameter
from ptxlab.lab import variant_controls
from ptxlab.lab.protocol import Control
from ptxlab.lab.subject import TITLES, Subject, Values

COUNTS = ("seed", "batch", "heads", "kv_heads", "left", "right", "prefix", "documents", "reach")
"""Parameters that are typed as a number instead of moved with a slider."""
LARGE = 3.4e38
"""The largest number that is typed: of a float."""
LONG = 1000
"""The largest number from which on a size is typed, halved and doubled: one step of a slider would be many."""
FIRST = ("tile_kv", "stages", "tile_q", "warps", "page_size", "kv_heads", "heads", "head_dim")
"""Parameters in the order in which they give way: how a problem is cut before the problem itself. Others come later."""
VARIANT = (*variant_controls.BUILDING, *variant_controls.PROBLEM)
STAYS = ("seq_q", "seq_k", "batch", "seed", "sigma", "splits", "checks", *(p.name for p in VARIANT))
"""Parameters that no other parameter makes wrong."""

MANY = 1000
"""Values of a range from which on they are not tried one by one."""


class OutOfRange(TargetError, traitlets.TraitError):
    """A parameter that the explorer does not take, with the line to write `instead`. A notebook shows these words
    alone: the way through the explorer's code says nothing about a number."""

    def __init__(self, says: str, instead: Any = None) -> None:
        super().__init__(says)
        self.instead = instead

    def _render_traceback_(self) -> list[str]:
        return [f"TargetError: {self}"]


def control(p: Parameter, group: str = "") -> Control:
    """The control that suits a parameter: a check box, a list of choices, a slider, a number or a text. A size that is
    left to the kernel has the choice "auto", which is None."""
    if p.name == "sigma":
        return _control(p.name, "powers", p.says, group, min=0.1, max=10)
    if isinstance(p.default, str) and not p.choices:
        return _control(p.name, "text", p.says, group)
    if isinstance(p.default, float):
        return _control(p.name, "number", p.says, group, min=-LARGE, max=LARGE)
    if set(p.choices) == {True, False}:
        return _control(p.name, "check", p.says, group)
    if p.choices and p.default is not None:
        return choice(p.name, [(str(c), c) for c in p.choices], p.says, group)
    if p.default is None:
        sizes = list(p.choices) or [2**n for n in range(11) if p.minimum <= 2**n <= p.maximum]
        limits = {} if p.choices else {"min": 1, "max": p.maximum}
        return choice(p.name, [("auto", None), *((str(n), n) for n in sizes)], p.says, group, **limits)
    kind = "number" if p.name in COUNTS else "size" if p.maximum > LONG else "slider"
    return _control(p.name, kind, p.says, group, min=p.minimum, max=p.maximum, step=p.step)


def choice(name: str, options: Sequence[tuple[str, Any]], says: str = "", group: str = "Run", **limits: int) -> Control:
    """A list of choices, each with what it is called. limits: `min` and `max` of others, which are added to them."""
    return _control(name, "choice", says, group, options=list(options), **limits)


def _control(name: str, kind: str, says: str, group: str, **more: Any) -> Control:
    made: Any = {"name": name, "label": TITLES.get(name, name), "kind": kind, "says": says, "group": group, **more}
    return made


def offered(control: Control) -> Sequence[Any]:
    """The values that a control offers, None for "auto"; none of a slider of fractions or of a text."""
    if control["kind"] == "choice":
        return [value for _, value in control["options"]]
    if "step" in control:
        return range(int(control["min"]), int(control["max"]) + 1, control["step"])
    return [False, True] if control["kind"] == "check" else []


def checked(control: Control, value: Any, now: Any, name: str = "") -> Any:
    """The value, as the control has it; `now` is what it says. A size that is not among those offered is added to them.
    `OutOfRange` says what the control takes, and what to write instead, under the `name` that was written."""
    kind, values, name = control["kind"], offered(control), name or control["name"]
    low, high = control.get("min", 0), control.get("max", 0)
    if isinstance(value, Integral) and not isinstance(value, bool):
        value = int(value)  # of numpy's, too
    known = not isinstance(values, range) or isinstance(value, int)  # for others a range is looked through
    if known and isinstance(value, bool) == (kind == "check") and value in values:
        return values[values.index(value)]
    if kind == "text" and isinstance(value, str):
        return value
    fraction = kind in ("number", "powers") and "step" not in control
    if fraction and number(value) and low <= value <= high:
        return round(float(value), 6) if kind == "powers" else float(value)
    if kind == "choice" and isinstance(value, int) and low <= value <= high > 0:
        control["options"] = [*control["options"], (str(value), value)]
        return value
    step = control.get("step", 1)
    whole = f"a whole number from {low} to {high}" + (f" in steps of {step}" if step > 1 else "")
    takes = {
        "choice": f"one of {', '.join(label for label, _ in control.get('options', ()))}",
        "check": "True or False",
        "text": "the text of a function",
    }.get(kind, f"a number from {low:g} to {high:g}" if fraction else whole)
    instead = now
    if number(value) and kind != "check":
        instead = by_distance(value, values)[0] if values else max(low, min(high, value))
    if kind == "text":
        instead = "def f(score, b, h, q_idx, kv_idx): return score"
    raise OutOfRange(f"{name} must be {takes}, not {value!r}\n  write:  {name}={instead!r}", instead)


# -- what becomes of others --------------------------------------------------------------------------------------------


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
    if isinstance(offered, range) and len(offered) > MANY and number(value):
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
