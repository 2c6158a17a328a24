"""`pl.explore()`: controls for every parameter beside one view of what the kernel became, did and got wrong.

    pl.explore()                                       # the first rung
    pl.explore("tiled", head_dim=32, causal=True, seq_q=100, seq_k=100)

The controls are ordinary ipywidgets made from the kernel's own parameters and limits; the view is one anywidget, whose
traits hold what `ptxlab.lab.stages` computes. `pl.attention` gives the same results without a notebook.
"""

from __future__ import annotations

from typing import Any

import anywidget
import ipywidgets as widgets
import traitlets

from ptxlab import kernels
from ptxlab.errors import TargetError
from ptxlab.lab import assets, controls, stages
from ptxlab.lab.session import Session
from ptxlab.lab.stages import Request

FIRST_RESULT = 8.0
"""Seconds that a notebook's first display waits for the numbers that go into its static copy."""


class View(anywidget.AnyWidget):
    """The composite pane. Each trait is one part of an answer, a dictionary with the `seq` of its request, or None."""

    _esm = assets.script()
    _css = assets.style()
    code = traitlets.Any(None, allow_none=True).tag(sync=True)
    pinned = traitlets.Any(None, allow_none=True).tag(sync=True)
    diff = traitlets.Any(None, allow_none=True).tag(sync=True)
    assembly = traitlets.Any(None, allow_none=True).tag(sync=True)
    run = traitlets.Any(None, allow_none=True).tag(sync=True)
    state = traitlets.Any(None, allow_none=True).tag(sync=True)
    problem = traitlets.Any(None, allow_none=True).tag(sync=True)
    status = traitlets.Dict({"text": "", "busy": False, "seq": 0}).tag(sync=True)
    row = traitlets.Int(-1).tag(sync=True)


class Explorer(widgets.Box):
    """The controls and the view. `set(head_dim=32)` changes parameters from Python, `wait()` waits for results."""

    def __init__(self, kernel: str = "scalar", **parameters: Any) -> None:
        self.view = View()
        self.session = Session(lambda part, value: setattr(self.view, part, value))
        self._quiet = False
        known = kernels.names("prefill")
        self._fixed: dict[str, Any] = {
            "kernel": controls.dropdown("kernel", known, kernels.get(kernel, "prefill").name)
        }
        self._fixed |= {p.name: controls.control(p) for p in stages.PROBLEM}
        self._fixed["sigma"] = controls.sigma(stages.SIGMA)
        self._fixed["device"] = controls.dropdown("device", _devices(), "auto", "where the kernel runs")
        self._head = controls.dropdown("head", controls.head_options(1, 1), (0, 0), "the head that is plotted")
        self._built: dict[str, Any] = {}
        self._panel = widgets.VBox()
        self._panel.add_class("ptxlab-parameters")
        holder = widgets.Box([self.view])
        holder.add_class("ptxlab-holder")
        super().__init__([self._panel, holder])
        self.add_class("ptxlab-app")
        for control in (*self._fixed.values(), self._head):
            control.observe(self._changed, "value")
        self.view.observe(self._changed, "row")
        self.view.on_msg(self._message)
        self._offer(kernel)
        self.set(**parameters)

    # -- parameters ----------------------------------------------------------------------------------------------------

    @property
    def controls(self) -> dict[str, Any]:
        """Every control by the name of its parameter."""
        return {**self._fixed, **self._built}

    @property
    def parameters(self) -> dict[str, Any]:
        """What the controls say now."""
        return {name: control.value for name, control in self.controls.items()}

    def set(self, **parameters: Any) -> None:
        """Sets parameters by name, all in one step; `seq_len` sets both lengths. `TargetError` names an unknown one."""
        length = parameters.pop("seq_len", None)
        if length is not None:
            parameters = {"seq_q": length, "seq_k": length, **parameters}
        self._quiet = True
        try:
            if "kernel" in parameters:
                self._fixed["kernel"].value = kernels.get(parameters.pop("kernel")).name
                self._offer(self._fixed["kernel"].value)
            row = parameters.pop("row", None)
            for name, value in parameters.items():
                if name not in self.controls:
                    raise TargetError(f"the explorer has no parameter {name!r}; it has {', '.join(self.controls)}")
                controls.assign(name, self.controls[name], value)
            if row is not None:
                self.view.row = row
        finally:
            self._quiet = False
        self._ask()

    def wait(self, timeout: float = 60.0) -> bool:
        """Waits until the view shows the results of the last change; False when that takes longer than `timeout`."""
        return self.session.wait(timeout)

    def pin(self) -> None:
        """Compares later versions with the one that is shown now."""
        self.session.pin()

    def _offer(self, kernel: str) -> None:
        """Puts the controls of this kernel's own parameters into the panel, keeping values that it also has."""
        old = {name: control.value for name, control in self._built.items()}
        for control in self._built.values():
            control.unobserve(self._changed, "value")
        wanted = [p for p in kernels.get(kernel).parameters.values() if p.name != "probes"]
        self._built = {p.name: controls.control(p) for p in wanted}
        for name, control in self._built.items():
            if name in old:
                controls.keep(control, old[name])
            control.observe(self._changed, "value")
        problem = [self._fixed[p.name] for p in stages.PROBLEM] + [self._fixed["sigma"]]
        self._panel.children = [
            widgets.HTML("<h4>Kernel</h4>"), self._fixed["kernel"], *self._built.values(),
            widgets.HTML("<h4>Problem</h4>"), *problem,
            widgets.HTML("<h4>Run</h4>"), self._fixed["device"], self._head,
        ]  # fmt: skip

    def _changed(self, change: Any) -> None:
        if self._quiet:
            return
        self._quiet = True
        try:
            if change["owner"] is self._fixed["kernel"]:
                self._offer(change["new"])
        finally:
            self._quiet = False
        self._ask()

    def _ask(self) -> None:
        """Sends what the controls say to the session."""
        values = self.parameters
        heads = controls.head_options(values["batch"], values["heads"])
        if heads != list(self._head.options):
            self._quiet, before = True, self._quiet
            self._head.options = heads
            self._quiet = before
        build = tuple((name, values[name]) for name in self._built)
        problem = {p.name: values[p.name] for p in stages.PROBLEM}
        self.session.ask(
            Request(values["kernel"], build, sigma=round(values["sigma"], 6), device=values["device"],
                    row=self.view.row,
                    head=self._head.value, **problem)
        )  # fmt: skip

    def _message(self, _view: Any, content: Any, _buffers: Any) -> None:
        if content.get("do") == "pin":
            self.pin()

    # -- display -------------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        code = self.view.code
        return f"explorer of {code['name']}" if code else "explorer"

    def _ipython_display_(self) -> None:
        """Two outputs: the live widget, and a static copy that its style sheet hides while the widget is there.

        In one output they would exclude each other: a notebook opened again with a new kernel shows
        "model not found" in place of the widget and nothing of the copy.
        """
        from IPython.display import display

        data, metadata = self._repr_mimebundle_()
        static = data.pop("text/html")
        display(data, metadata=metadata, raw=True)
        display({"text/html": static, "text/plain": ""}, raw=True)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        from ptxlab.lab.display import explorer_html

        self.wait(FIRST_RESULT)
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        return {**(data or {}), "text/plain": repr(self), "text/html": explorer_html(self.view)}, metadata


def explore(kernel: str = "scalar", **parameters: Any) -> Explorer:
    """Opens the explorer on a kernel of the library, with parameters to start with.

    Parameters: those of the kernel (head_dim, causal, dtype, arch, tile_kv, ...) and seq_q, seq_k (or seq_len for
    both), batch, heads, kv_heads, sigma, seed, device and row.
    """
    return Explorer(kernel, **parameters)


def _devices() -> list[str]:
    from ptxlab import gpu

    return [d for d in stages.DEVICES if d != "gpu" or gpu.available()]
