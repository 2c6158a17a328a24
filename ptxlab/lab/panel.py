"""The explorer's controls: which there are for a subject, what they say, and which follow when one is changed."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any

from ptxlab import gpu
from ptxlab.lab import controls, library_subjects
from ptxlab.lab.controls import Moved, OutOfRange
from ptxlab.lab.protocol import Control
from ptxlab.lab.subject import DEVICES, TITLES, Subject
from ptxlab.lab.variant_controls import BUILDING, PROBLEM

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
        kernel = {"kernel": controls.choice("kernel", family, group="Kernel")} if family else {}
        places = self.subject.groups(self.values())
        run = {
            "device": controls.choice("device", [(d, d) for d in self._devices], "where the kernel runs"),
            "head": controls.choice("head", places, "the head or sequence that is plotted"),
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
        self.own = {p.name: controls.control(p, _group(p.name, building)) for p in subject.parameters}
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
            value = controls.checked(control, value, self.said[name], called)
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
        offered = {name: controls.offered(control) for name, control in self.own.items()}
        for move in controls.moved(self.subject, self.values(), changed, offered):
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
    if name in {p.name for p in (*BUILDING, *PROBLEM)}:
        return "Variant"
    return "Run" if name == "checks" else "Kernel" if name in building else "Problem"
