"""The explorer's controls as data: the page draws one input for each parameter, from its choices and limits."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import traitlets

from ptxlab.errors import TargetError
from ptxlab.kernels import Parameter
from ptxlab.lab.parameter_adjustment import by_distance, number
from ptxlab.lab.protocol import Control
from ptxlab.lab.subject import TITLES

COUNTS = ("seed", "batch", "heads", "kv_heads", "left", "right", "prefix", "documents", "reach")
"""Parameters that are typed as a number instead of moved with a slider."""
LARGE = 3.4e38
"""The largest number that is typed: of a float."""
LONG = 1000
"""The largest number from which on a size is typed, halved and doubled: one step of a slider would be many."""


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
