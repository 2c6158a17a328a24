"""The controls beside the explorer: which there are for a subject, and which of them follow when one is changed."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import ipywidgets as widgets

from ptxlab.lab import controls, parameter_adjustment
from ptxlab.lab.subject import DEVICES, TITLES, Subject
from ptxlab.lab.variant_controls import BUILDING, OWN, PROBLEM


class Panel(widgets.VBox):
    """The controls of a subject: its parameters, and kernel, device and head. `changed` hears of each that is moved.
    `editor` holds `text`, the function of one's own, and stands where there is room for it."""

    def __init__(self, subject: Subject, changed: Callable[[Any], None]) -> None:
        super().__init__()
        self.add_class("ptxlab-parameters")
        self.text = controls.control(OWN)  # stays, and with it what can be undone there
        self.editor = widgets.VBox([widgets.HTML(f"<h4>Your own</h4> {OWN.says}"), self.text])
        self.editor.add_class("ptxlab-own")
        self._changed = changed
        self.subject = subject
        self.fixed: dict[str, Any] = {}
        if subject.family:
            self.fixed["kernel"] = controls.dropdown("kernel", list(subject.family), subject.name)
        self.fixed["device"] = controls.dropdown("device", _devices(), "auto", "where the kernel runs")
        self.head = controls.dropdown("head", [("0", (0, 0))], (0, 0), "the head or sequence that is plotted")
        self.own: dict[str, Any] = {}
        self._begun: dict[str, Any] = {}  # what the controls said before anybody touched them
        self._moves: list[parameter_adjustment.Moved] = []
        self._row_is: str | None = None  # what a row of the result is
        for control in (*self.fixed.values(), self.head):
            control.observe(changed, "value")
        self.offer(subject)

    @property
    def named(self) -> dict[str, Any]:
        """Every control by the name of its parameter; the head only chooses what is plotted, and is not among them."""
        return {**self.fixed, **self.own}

    @property
    def parameters(self) -> dict[str, Any]:
        """What the controls say."""
        unused = self.subject.unused(self.values())
        return {name: controls.value(control) for name, control in self.named.items() if name not in unused}

    def values(self) -> dict[str, Any]:
        """What the controls of the subject's own parameters say."""
        values = {**self.subject.kept, **{name: controls.value(control) for name, control in self.own.items()}}
        if "sigma" in values:
            values["sigma"] = round(values["sigma"], 6)
        return values

    def notes(self) -> dict[str, str]:
        """What has followed since `forget`, and why, by the label of the control."""
        notes: dict[str, str] = {}
        for move in self._moves:
            label = self._label(move.name)
            notes[label] = f"{notes[label]}; {move}" if label in notes else str(move)
        return notes

    def forget(self) -> None:
        """From here on `notes` are of what follows another change."""
        self._moves = []

    def offer(self, subject: Subject) -> None:
        """Shows the controls of this subject's parameters. Values that somebody chose are kept where it has them too,
        or go to the nearest that it has; what stood at its default goes to the default of this one, whose tiles may be
        larger."""
        self.subject = subject
        chosen = {n: controls.value(c) for n, c in self.own.items() if c.value != self._begun.get(n)}
        for control in self.own.values():
            control.unobserve(self._changed, "value")
        self.own = {p.name: self.text if p is OWN else controls.control(p) for p in subject.parameters}
        self._begun = {name: control.value for name, control in self.own.items()}
        for p in subject.parameters:
            control = self.own[p.name]
            if p.name in chosen:
                value = chosen[p.name]
                if p.name not in controls.FREE:
                    offers = controls.offered(control)
                    move = parameter_adjustment.nearest(p, value, offers, controls.value(control), subject.name)
                    if move is not None:
                        self._moves.append(move)
                        value = move.after
                controls.assign(p.name, control, value)
            control.observe(self._changed, "value")
        building = {p.name for p in subject.building}
        apart = {"checks", *(p.name for p in (*BUILDING, *PROBLEM))}
        parts = {
            "Kernel": [
                *([self.fixed["kernel"]] if "kernel" in self.fixed else []),
                *(control for name, control in self.own.items() if name in building - apart),
            ],
            "Variant": [control for name, control in self.own.items() if name in apart - {"checks", OWN.name}],
            "Problem": [control for name, control in self.own.items() if name not in building | apart],
            "Run": [self.fixed["device"], self.head, *([self.own["checks"]] if "checks" in self.own else [])],
        }
        self.children = [
            child for title, some in parts.items() if some for child in (widgets.HTML(f"<h4>{title}</h4>"), *some)
        ]

    def carry(self, changed: Collection[str], row: int) -> int:
        """Moves what does not fit any more, now that some parameters were changed, to the nearest that does; a head or
        a row that no longer exists is no longer chosen. Returns the row, -1 for the last."""
        values = self.values()
        for p in self.subject.parameters:
            if p.name in changed and p.name not in controls.FREE:  # typed between two steps of a slider
                offers = controls.offered(self.own[p.name])
                self._move(parameter_adjustment.nearest(p, values[p.name], offers, p.default, self.subject.name))
        offered = {name: controls.offered(control) for name, control in self.own.items()}
        for move in parameter_adjustment.moved(self.subject, self.values(), changed, offered):
            self._move(move)
        self._carry_head()
        unused = self.subject.unused(self.values())
        for name, control in self.own.items():
            control.layout.display = "none" if name in unused else None
        shown = self.text in self.own.values() and OWN.name not in unused
        self.editor.layout.display = None if shown else "none"
        (what, rows), before = self.subject.rows(self.values()), self._row_is
        self._row_is = what
        if row < rows and ("row" in changed or before in (None, what)):
            return row
        if row >= 0 and rows:
            why = f"the {what}s end at {rows - 1}" if before == what else f"a row is a {what} here"
            self._moves.append(parameter_adjustment.Moved("row", row, rows - 1, why))
        return -1

    def _carry_head(self) -> None:
        heads, head = self.subject.groups(self.values()), self.head.value
        if heads == list(self.head.options):
            return
        self.head.options = heads
        if head in [pair for _, pair in heads]:
            self.head.value = head
        elif head != (0, 0):
            why = "it is not among those that are run"
            self._moves.append(parameter_adjustment.Moved("head", head[1] or head[0], heads[0][0], why))

    def _move(self, move: parameter_adjustment.Moved | None) -> None:
        if move is not None:
            controls.assign(move.name, self.own[move.name], move.after)
            self._moves.append(move)

    def _label(self, name: str) -> str:
        """What the control of a parameter is called; for the row, which has none, that of how many rows there are."""
        if name == "row":
            name = "seq_q" if "seq_q" in self.own else "heads"
        return TITLES.get(name, name)


def _devices() -> list[str]:
    from ptxlab import gpu

    return [d for d in DEVICES if d != "gpu" or gpu.available()]
