"""The explorer's controls: one ordinary ipywidget for each parameter, made from its choices and limits."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import ipywidgets as widgets

from ptxlab.errors import TargetError
from ptxlab.kernels import Parameter
from ptxlab.lab.subject import TITLES

COUNTS = ("seed", "batch", "heads", "kv_heads", "left", "right", "prefix", "documents", "reach")
"""Parameters that are typed as a number instead of moved with a slider."""


class OutOfRange(TargetError):
    """A parameter that the explorer does not take, with the line to write instead. A notebook shows these words alone:
    the way through the explorer's code says nothing about a number."""

    def _render_traceback_(self) -> list[str]:
        return [f"TargetError: {self}"]


FREE = ("sigma", "own")
"""Parameters of which any value is one that the control offers: a fraction, a text."""
AUTO = "auto"
"""The choice that leaves a size to the kernel. (None would be no choice at all, which a list shows as blank.)"""


def control(p: Parameter) -> Any:
    """The control that suits a parameter: a check box, a list of choices, a slider or, for small counts, a number.

    A value counts when it is let go, not while it is dragged.
    """
    if p.name == "sigma":
        return sigma(p)
    title = TITLES.get(p.name, p.name)
    look = _look(title, p.says)
    if set(p.choices) == {True, False}:
        return widgets.Checkbox(p.default, indent=True, **look)
    if isinstance(p.default, str) and not p.choices:
        return widgets.Textarea(p.default, rows=5, continuous_update=False, **look)
    if p.choices and p.default is not None:
        return dropdown(title, list(p.choices), p.default, p.says)
    if p.default is None:
        sizes = list(p.choices) or [2**n for n in range(11) if p.minimum <= 2**n <= p.maximum]
        return dropdown(title, [(AUTO, AUTO), *((str(n), n) for n in sizes)], AUTO, p.says)
    kind = widgets.BoundedIntText if p.name in COUNTS else widgets.IntSlider
    step = {"step": p.step} if p.step > 1 else {}
    return kind(p.default, min=p.minimum, max=p.maximum, continuous_update=False, **step, **look)


def offered(control: Any) -> Sequence[Any]:
    """The values that a control offers, None for "auto"; none of a slider of fractions or of a text."""
    if isinstance(control, widgets.Dropdown):
        values = [o[1] if isinstance(o, tuple) else o for o in control.options]
        return [None if v == AUTO and _sizes(control) else v for v in values]
    if isinstance(control, widgets.Checkbox):
        return [False, True]
    if isinstance(control, widgets.FloatLogSlider | widgets.Textarea):
        return []
    return range(control.min, control.max + 1, getattr(control, "step", 1))


def sigma(p: Parameter) -> Any:
    """A logarithmic slider from 0.1 to 10."""
    look = _look("sigma σ", p.says)
    slider = widgets.FloatLogSlider(
        p.default, min=-1, max=1, step=0.05, readout_format=".2f", continuous_update=False, **look
    )
    slider.add_class("pl-powers")  # tells the page that the ends of the slider are powers of ten
    return slider


def dropdown(title: str, options: Any, value: Any, says: str = "") -> Any:
    """A list of choices."""
    return widgets.Dropdown(options=options, value=value, **_look(title, says))


def _look(title: str, says: str) -> dict[str, Any]:
    """How every control looks."""
    return {"description": title, "tooltip": says, "style": {"description_width": "62px"}, "layout": {"width": "auto"}}


def value(control: Any) -> Any:
    """What a control says; None for "auto"."""
    auto = isinstance(control, widgets.Dropdown) and control.value == AUTO and _sizes(control)
    return None if auto else control.value


def sent(control: Any) -> list[Any]:
    """[attribute, value] by which a page tells what a control says: a list of choices has its index there."""
    return ["index", control.index] if isinstance(control, widgets.Dropdown) else ["value", control.value]


def _sizes(control: Any) -> bool:
    """Whether a list offers sizes, of which `AUTO` is one (a device may be called "auto" too)."""
    return any(isinstance(o[1], int) for o in control.options if isinstance(o, tuple))


def assign(name: str, control: Any, value: Any) -> None:
    """Sets a control from Python. `OutOfRange` says the range; a tile beyond the offered sizes is added to them."""
    if isinstance(control, widgets.Dropdown):
        values = [o[1] if isinstance(o, tuple) else o for o in control.options]
        value = AUTO if value is None and _sizes(control) else value
        if value not in values and _sizes(control) and isinstance(value, int) and value > 0:
            control.options = [*control.options, (str(value), value)]
        elif value not in values:
            raise OutOfRange(f"{name} must be one of {', '.join(map(str, values))}, not {value!r}")
    elif isinstance(control, widgets.IntSlider | widgets.BoundedIntText):
        step = control.step if isinstance(control, widgets.IntSlider) else 1
        if not _whole(value) or not control.min <= value <= control.max or (value - control.min) % step:
            steps = f" in steps of {step}" if step > 1 else ""
            says = f"{name} must be a whole number from {control.min} to {control.max}{steps}, not {value!r}"
            within = max(control.min, min(control.max, int(value))) if _whole(value) else control.value
            nearest = within - (within - control.min) % step
            raise OutOfRange(f"{says}\n  write:  {name}={nearest}")
    elif isinstance(control, widgets.FloatLogSlider):
        low, high = control.base**control.min, control.base**control.max
        if not isinstance(value, Real) or isinstance(value, bool) or not low <= value <= high:
            raise OutOfRange(f"{name} must be a number from {low:g} to {high:g}, not {value!r}")
    elif isinstance(control, widgets.Textarea) and not isinstance(value, str):
        raise OutOfRange(f"{name} must be the text of a function, not {value!r}")
    elif isinstance(control, widgets.Checkbox) and not isinstance(value, bool):
        raise OutOfRange(f"{name} must be True or False, not {value!r}")
    control.value = value


def _whole(value: Any) -> bool:
    """Whether this is a whole number; True and False count as answers, not as numbers."""
    return isinstance(value, Integral) and not isinstance(value, bool)
