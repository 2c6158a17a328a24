"""The explorer's controls as data: the page draws one input for each parameter, from its choices and limits.

When one is changed, others may not fit any more: each goes to the nearest value that does, and it is said why.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import traitlets

from ptxlab import gpu
from ptxlab.errors import LaunchError, TargetError
from ptxlab.kernels import Parameter
from ptxlab.lab import library_subjects
from ptxlab.lab.protocol import Control
from ptxlab.lab.subject import DEVICES, TITLES, Request, Subject, Values
from ptxlab.lab.variant_controls import BUILDING, PROBLEM

COUNTS = ("seed", "batch", "heads", "kv_heads", "left", "right", "prefix", "documents", "reach")
"""Parameters that are typed as a number instead of moved with a slider."""
LARGE = 3.4e38
"""The largest number that is typed: of a float."""
LONG = 1000
"""The largest number from which on a size is typed, halved and doubled: one step of a slider would be many."""
FIRST = ("tile_kv", "stages", "tile_q", "warps", "page_size", "kv_heads", "heads", "head_dim")
"""Parameters in the order in which they give way: how a problem is cut before the problem itself. Others come later."""
VARIANT = (*BUILDING, *PROBLEM)
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


# -- all controls of a subject -----------------------------------------------------------------------------------------

VIEWED = frozenset({"head", "row"})
"""What only chooses what of a result is plotted."""


class Panel:
    """The controls of a subject, `named`, and what they say, `said`: its parameters, and kernel, device, head and row,
    of which -1 is the last."""

    def __init__(self, subject: Subject) -> None:
        self.said: dict[str, Any] = {"device": "auto", "head": (0, 0), "row": -1}
        self.own: dict[str, Control] = {}
        self._begun: dict[str, Any] = {}  # what the controls said before anybody touched them
        self._chosen: dict[str, Any] = {}  # what somebody chose, also for kernels that do not have it
        self._moves: list[Moved] = []
        self._row_is: str | None = None  # what a row of the result is
        self._devices = [d for d in DEVICES if d != "gpu" or gpu.available()]
        self.offer(subject)

    @property
    def named(self) -> dict[str, Control]:
        """Every control by the name of its parameter, in the order of the page."""
        family = [(name, name) for name in self.subject.family]
        kernel = {"kernel": choice("kernel", family, group="Kernel")} if family else {}
        places = self.subject.groups(self.values())
        run = {
            "device": choice("device", [(d, d) for d in self._devices], "where the kernel runs"),
            "head": choice("head", places, "the head or sequence that is plotted"),
        }
        by_group = sorted(self.own.items(), key=lambda item: GROUPS.index(item[1]["group"]))
        return kernel | {n: c for n, c in by_group if c["group"] != "Run"} | run | dict(by_group)

    @property
    def parameters(self) -> dict[str, Any]:
        """What the controls say that count; the head only chooses what is plotted, and is not among them."""
        unused = {*self.subject.unused(self.values()), "head"}
        return {name: self.said[name] for name in self.named if name not in unused}

    def values(self) -> dict[str, Any]:
        """What the controls of the subject's own parameters say."""
        return {**self.subject.kept, **{name: self.said[name] for name in self.own}}

    def page(self, seq: int) -> dict[str, Any]:
        """The parts of the page that are about the controls, as the answer to a request of this number."""
        notes: dict[str, str] = {}
        for move in self._moves:
            label = self._label(move.name)
            notes[label] = f"{notes[label]}; {move}" if label in notes else str(move)
        unused = {*self.subject.unused(self.values()), "" if self.subject.rows(self.values())[0] else "head"}
        given = {name: self.said[name] for name in (*self.named, "row")}
        values = {"seq": seq, "given": given, "notes": notes, "unused": sorted(unused - {""})}
        return {"controls": list(self.named.values()), "values": values}

    def forget(self, changed: Collection[str]) -> None:
        """From here on notes are of what follows this change. Who looks elsewhere still reads those of the last."""
        if not VIEWED.issuperset(changed):
            self._moves = []

    @contextmanager
    def or_as_before(self) -> Iterator[None]:
        """Where an error leaves this block, all is as it was."""
        before = {name: dict(x) if isinstance(x, dict) else x for name, x in vars(self).items()}
        try:
            yield
        except Exception:
            vars(self).update(before)
            raise

    def offer(self, subject: Subject) -> None:
        """Takes the parameters of this subject. Values that somebody chose are kept where it has them too, or go to the
        nearest that it has; what stood at its default goes to the default of this one, whose tiles may be larger."""
        self.subject = subject
        for name in self.own:
            self._chosen.pop(name, None)
            if self.said[name] != self._begun[name]:
                self._chosen[name] = self.said[name]
        building = {p.name for p in subject.building}
        self.own = {p.name: control(p, _group(p.name, building)) for p in subject.parameters}
        self._begun = {p.name: p.default for p in subject.parameters}
        self.said |= self._begun | ({"kernel": subject.name} if subject.family else {})
        for name in self.own.keys() & self._chosen.keys():
            self.take(name, self._chosen[name])

    def assign(self, name: str, value: Any, called: str = "") -> None:
        """Sets a control, or the row. `OutOfRange` says what it takes, under the name that it was `called` by."""
        if name == "row":
            what, rows = self.subject.rows(self.values())
            if not isinstance(value, Integral) or isinstance(value, bool) or value < -1:
                raise OutOfRange(f"row must be a whole number of at least 0, or -1 for the last, not {value!r}", -1)
            value = int(value)
            if rows and value >= rows:
                says = f"row must be the number of a {what}, from 0 to {rows - 1}, or -1 for the last, not {value}"
                raise OutOfRange(f"{says}\n  write:  row={rows - 1}", rows - 1)
        elif (control := self.named.get(name)) is None:
            raise OutOfRange(f"the explorer has no parameter {name!r}; it has {', '.join(self.named)}")
        else:
            value = checked(control, value, self.said[name], called)
        if name == "kernel":
            self.offer(library_subjects.named(value))
        self.said[name] = value

    def take(self, name: str, value: Any) -> None:
        """As `assign`, for what somebody has typed: what a control does not take becomes the nearest that it does, with
        a note."""
        try:
            self.assign(name, value)
        except OutOfRange as wrong:
            self.assign(name, wrong.instead)
            self._moves.append(Moved(name, value, wrong.instead, str(wrong).partition("\n")[0]))

    def carry(self, changed: Collection[str]) -> None:
        """Moves what does not fit any more, now that some parameters were changed, to the nearest that does; a head or
        a row that no longer exists is no longer chosen."""
        others = {name: offered(control) for name, control in self.own.items()}
        for move in moved(self.subject, self.values(), changed, others):
            self.assign(move.name, move.after)
            self._moves.append(move)
        heads, head = self.subject.groups(self.values()), self.said["head"]
        if head not in [pair for _, pair in heads]:
            self.said["head"] = heads[0][1]
            why = "it is not among those that are run"
            self._moves.append(Moved("head", head[1] or head[0], heads[0][0], why))
        (what, rows), before, row = self.subject.rows(self.values()), self._row_is, self.said["row"]
        self._row_is = what
        if row < rows and ("row" in changed or before in (None, what)):
            return
        if row >= 0 and rows:
            why = f"the {what}s end at {rows - 1}" if before == what else f"a row is a {what} here"
            self._moves.append(Moved("row", row, rows - 1, why))
        self.said["row"] = -1

    def _label(self, name: str) -> str:
        """What the control of a parameter is called; for the row, which has none, that of how many rows there are."""
        if name == "row":
            name = "seq_q" if "seq_q" in self.own else "heads"
        return TITLES.get(name, name)


GROUPS = ("Kernel", "Variant", "Problem", "Run")


def _group(name: str, building: Collection[str]) -> str:
    """Under which heading the control of a parameter stands."""
    if name in {p.name for p in VARIANT}:
        return "Variant"
    return "Run" if name == "checks" else "Kernel" if name in building else "Problem"


def request(
    subject: Subject | str,
    *,
    device: str = "auto",
    row: int = -1,
    head: tuple[int, int] = (0, 0),
    sass: bool = False,
    **values: Any,
) -> Request:
    """A request with the defaults of a subject, or of a kernel of the library by name, and these values instead."""
    chosen = library_subjects.named(subject) if isinstance(subject, str) else subject
    known = {p.name: p.default for p in chosen.parameters}
    for name in values:
        if name not in known:
            raise TargetError(f"{chosen.name} has no parameter {name!r}; it has {', '.join(known)}")
    return Request(chosen, tuple({**chosen.kept, **known, **values}.items()), device, row, head, sass)
