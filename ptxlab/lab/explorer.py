"""`pl.explore()`: controls for every parameter beside one view of what the kernel became, did and got wrong.

    e = pl.explore()                                   # the first rung
    e.head_dim = 32; e.causal = True                   # each control is a trait, as of any widget
    e.observe(print, "causal")
    pl.explore("tiled", head_dim=32, causal=True, seq_q=100, seq_k=100)
    pl.explore("decode_split", seq_k=500, splits=8)
    pl.explore(ptx, 4, 128, x, y, 2.0, n)              # any PTX or kernel, launched as by pl.launch

The page is one anywidget, whose traits hold what its controls say and what `ptxlab.lab.explorer_views` computes.
`pl.attention` gives the same results without a notebook.
"""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as widgets
import traitlets

from ptxlab import kernels
from ptxlab.errors import LaunchError, TargetError
from ptxlab.lab import assets, edited_kernel, kernel_subject, library_subjects, saved
from ptxlab.lab.controls import Panel
from ptxlab.lab.debugger import Debugger
from ptxlab.lab.edited_kernel import edited
from ptxlab.lab.editing import Editor
from ptxlab.lab.explorer_views import Version
from ptxlab.lab.lower_pane import Below
from ptxlab.lab.noticed import block_number
from ptxlab.lab.session import Session, on_interrupt
from ptxlab.lab.static_copies import Copied
from ptxlab.lab.subject import OPTIONS, PTX, Request, Subject
from ptxlab.lab.variant_controls import BUILDING, named
from ptxlab.names import source_name

FIRST_RESULT = 8.0
"""Seconds that a notebook's first display waits for the numbers that go into its static copy."""


def _packed(value: Any, _view: Any) -> Any:
    """A part that is text, on its way to the page: as bytes, which nothing between here and there reads through."""
    return value and {"seq": value.get("seq", 0), "json": json.dumps(value, allow_nan=False).encode()}


class View(anywidget.AnyWidget):
    """The composite pane. Each trait is one part of an answer, a dictionary with the `seq` of its request, or None."""

    _esm = assets.script()
    _css = assets.style()
    code = traitlets.Any(None, allow_none=True).tag(sync=True, to_json=_packed)
    base = traitlets.Any(None, allow_none=True).tag(sync=True, to_json=_packed)
    diff = traitlets.Any(None, allow_none=True).tag(sync=True, to_json=_packed)
    assembly = traitlets.Any(None, allow_none=True).tag(sync=True)
    run = traitlets.Any(None, allow_none=True).tag(sync=True)
    measures = traitlets.Any(None, allow_none=True).tag(sync=True)
    state = traitlets.Any(None, allow_none=True).tag(sync=True)
    sass = traitlets.Any(None, allow_none=True).tag(sync=True)
    sass_diff = traitlets.Any(None, allow_none=True).tag(sync=True, to_json=_packed)
    problem = traitlets.Any(None, allow_none=True).tag(sync=True)
    status = traitlets.Dict({"state": "building", "text": "", "busy": True, "seq": 0}).tag(sync=True)
    controls: Any = traitlets.List([]).tag(sync=True)
    values: Any = traitlets.Dict({"seq": 0, "given": {}, "notes": {}, "unused": []}).tag(sync=True)
    below: Any = traitlets.Any(None, allow_none=True).tag(sync=True)
    """The bar above what is open over the code."""
    wants_sass = traitlets.Bool(False).tag(sync=True)
    against = traitlets.Enum(("previous", "pinned"), "previous").tag(sync=True)
    """What diff, machine code, counters and figures are compared with."""

    def publish(self, parts: dict[str, Any]) -> None:
        """Sends parts of an answer to the page in one message."""
        with self.hold_sync():
            for part, value in parts.items():
                setattr(self, part, value)


class Chosen(traitlets.Any):
    """What a control says. To assign it is `Explorer.set` of this parameter alone; None where a kernel has none."""

    def __set__(self, explorer: Any, value: Any) -> None:
        explorer.set(**{str(self.name): value})


class Explorer(Copied, widgets.Box):
    """The page, and what opens over it. `set(head_dim=32, causal=True)` changes parameters from Python in one step,
    `explorer.head_dim = 32` one of them, `observe(f, "head_dim")` follows one; `wait()` waits for results."""

    _begun = False

    def __init__(self, subject: Subject | str = "scalar", **parameters: Any) -> None:
        self.view = View()
        self._sending = threading.Lock()  # the session's thread sends answers, this one what is set from Python
        self.session = Session(self._publish, asks=True)
        on_interrupt(self.session)
        self.panel = Panel(library_subjects.named(subject) if isinstance(subject, str) else subject)
        self._below = Below(lambda bar: self._publish({"below": bar}))
        frame = widgets.Box([self.view, self._below])
        frame.add_class("ptxlab-frame")
        self._past: list[tuple[Subject, dict[str, Any]]] = []  # and what the controls said, the newest last
        super().__init__([frame])
        self.add_class("ptxlab-app")
        self.view.on_msg(self._message)
        self.set(**parameters)
        self._begun = True
        self.view.observe(self._looked, "wants_sass")
        self.view.observe(self._compare, "against")

    def __setattr__(self, name: str, value: Any) -> None:
        if self._begun and not name.startswith("_") and not hasattr(self, name):
            self.set(**{name: value})  # which says what there is
        else:
            super().__setattr__(name, value)

    # -- parameters ----------------------------------------------------------------------------------------------------

    @property
    def subject(self) -> Subject:
        """What is explored."""
        return self.panel.subject

    @property
    def controls(self) -> dict[str, Any]:
        """Every control, as the page gets it, by the name of its parameter."""
        return self.panel.named

    @property
    def parameters(self) -> dict[str, Any]:
        """What the controls say now."""
        return self.panel.parameters

    @property
    def notes(self) -> dict[str, str]:
        """What the last change moved of other parameters, and why, by the label of the control."""
        return dict(self.view.values["notes"])

    def set(self, **parameters: Any) -> None:
        """Sets parameters by name, all in one step; `seq_len` sets both lengths. `TargetError`, which is a `TraitError`
        too, names an unknown one, or the values that there are; nothing is changed then. Others that do not fit any
        more go to the nearest values that do: see `notes`."""
        length, sass = parameters.pop("seq_len", None), parameters.pop("sass", None)
        with self.panel.or_as_before():
            self.panel.forget(parameters)
            if "kernel" in parameters:
                self.panel.assign("kernel", parameters.pop("kernel"))
            both = [n for n in ("seq_q", "seq_k") if length is not None and n in self.panel.own and n not in parameters]
            given = dict.fromkeys(both, length) | parameters
            for name in sorted(given, key=lambda name: name == "row"):
                self.panel.assign(name, given[name], "seq_len" if name in both else "")
        self._ask(given, sass=sass)

    def undo(self) -> None:
        """Goes back to what was shown before the last change of a control, or of the kernel by hand."""
        if len(self._past) > 1:
            self._past.pop()
            self._show(*self._past.pop())

    def wait(self, timeout: float = 60.0) -> bool:
        """Waits until the view shows the results of the last change; False when that takes longer than `timeout`."""
        return self.session.wait(timeout)

    def confirm(self) -> None:
        """Begins a run that waits because it takes more than five seconds."""
        self.session.confirm()

    def cancel(self) -> None:
        """Ends what is in work. What is shown stays, and says that it is not what the controls say."""
        self.session.cancel()

    def pin(self) -> None:
        """Compares later versions with the one that is shown now."""
        self.session.pin()
        self.view.against = "pinned"

    # -- from seeing to doing ------------------------------------------------------------------------------------------

    def debug(
        self, line: int | None = None, nth: int = 0, of: int = 0, finding: int | None = None, party: int = 0
    ) -> None:
        """Opens the debugger below, on the block that computes the row that is plotted: at its `nth` step of a PTX
        line, -1 for the last; or, with `of` tiles, at the one that is as far along as tile `nth`. finding: what a check
        found, counted from 0, at its `party`, 0 the thread that noticed, 1 the other. After a fault, without a line: at
        the instruction that faulted."""
        version, request = self.session.version, self.session.request
        if version is None or request is None:
            return
        subject, values, fault = request.subject, request.given, self.view.problem or {}
        place: dict[str, Any] = {} if line is None else {"at": line, "nth": nth, "of": of}
        shape = subject.shape(version.built, values)
        row = request.row if request.row >= 0 else max(0, subject.rows(values)[1] - 1)
        block = subject.block_of(version.built, values, request.head, row)
        if line in (None, fault.get("line")) and fault.get("block") and shape is not None:
            block, place = block_number(fault["block"], shape[0]), {"number": 0}
        elif finding is not None:
            found = (self.view.run or {}).get("findings", [])[finding]
            if found["parties"]:  # else some NaN, at the first of which the debugger opens
                block, place = found["parties"][party]["block"], {"number": finding, "party": party}
        record = functools.partial(subject.recorded, version.built, values)
        self._below.leave(lambda: self._below.debug(record, block, place))

    def edit(self, line: int | None = None) -> None:
        """Opens what the kernel is made from in an editor below, the builder's Python or CUDA C++ where it is known,
        and its PTX, at a line of the PTX; what is applied there is shown here, until it is closed."""
        version, request = self.session.version, self.session.request
        if version is None or request is None:
            return
        self._below.leave(lambda: self._edit(version, request, line or 1))

    def _edit(self, version: Version, request: Request, line: int) -> None:
        base = request.subject.base or request.subject

        def now() -> tuple[Subject, dict[str, Any]]:
            """What is shown of this kernel, and with which values; the kernel as it was, where another is shown."""
            here = base in (self.subject, self.subject.base)
            return (self.subject, {**request.given, **self.panel.values()}) if here else (base, request.given)

        def texts(kind: str) -> tuple[str, str]:
            subject, values = now()
            plain = edited_kernel.unedited(subject, values, kind)
            return plain, subject.edits.get(kind, plain)

        def apply(_: str) -> None:
            (subject, values), language = now(), editor.edit["language"]
            edits = dict(subject.edits) if language == PTX else {}  # a text in PTX stands on what the source gave
            edits |= {k: editor.typed[k] for k in (language, OPTIONS)}
            edits = {k: text for k, text in edits.items() if text != editor.plain.get(k)}
            try:
                made = subject if edits == subject.edits else edited(base, values, edits)
            except Exception as wrong:  # of the text, which stays as it is
                editor.refuse(wrong)
            else:
                self._show(made, values)

        def back() -> None:
            subject, values = now()
            if subject is not base:
                self._show(base, values)

        def loses(closes: bool) -> bool:
            applied = {} if closes else now()[0].edits
            return any(text not in (editor.plain[k], applied.get(k)) for k, text in editor.typed.items())

        shown, languages = request.subject, [PTX]
        if (source := shown.source) is not None:
            languages.insert(int(PTX in shown.edits), source.language)
            if PTX not in shown.edits and version.error is None:
                line = edited_kernel.source_line(source, version.built.module.spans, line)
        name = source_name(version.built.name)
        editor = Editor("", None, version.built.name, line, languages, texts)
        editor.on_apply(apply)
        self._below.show(f"{name}: change it, then Apply", editor, back, "Close, and back to the kernel", loses)

    def save(self, path: str | Path) -> None:
        """Writes what is shown, once it has come, as one file that a browser opens without Python."""
        self.wait()
        Path(path).write_text(self.page(), encoding="utf-8")

    def page(self) -> str:
        """The text of the file that `save` writes, of what is shown now."""
        open_ = self._below.widget
        debugged = open_.shown if isinstance(open_, Debugger) else None
        values = {name: getattr(self.view, name) for name in View.class_own_traits(sync=True)}
        return saved.explorer_page(values, debugged)

    def _show(self, subject: Subject, values: dict[str, Any]) -> None:
        """Another subject, with these values where it has such controls."""
        self.panel.forget(("text",))
        self.panel.offer(subject)
        names = self.panel.named.keys() - {"kernel"}
        for name in filter(names.__contains__, values):
            self.panel.take(name, values[name])
        self._ask()

    def _share(self) -> None:
        """Sends the page to the browser, which saves it. Machine code that is being made belongs to it."""

        def send(ready: bool = True) -> None:
            name = f"{(self.view.code or {}).get('name', 'ptxlab')}.html"
            self.view.send({"kind": "share", "name": name}, buffers=[self.page().encode()])

        if self.view.wants_sass and (self.view.sass or {}).get("seq") != (self.view.code or {}).get("seq"):
            threading.Thread(target=lambda: send(self.wait()), name="ptxlab-share", daemon=True).start()
        else:
            send()

    def _heard(self, given: dict[str, Any], seq: int) -> None:
        """Takes what somebody has set on the page, who numbers it, so that an answer to it is known."""
        self.panel.forget(given)
        for name, value in given.items():
            self.panel.take(name, tuple(value) if isinstance(value, list) else value)
        self._ask(given, seq)

    def _looked(self, change: Any) -> None:
        if self.session.request is not None and self.session.request.sass != change["new"]:
            self._ask()

    def _ask(self, changed: Collection[str] = (), seq: int = 0, sass: bool | None = None) -> None:
        """Sends what the controls say to the session, once what was `changed` and the others fit together; tells the
        page and whoever follows the controls. sass: whether machine code is wanted, None for as before."""
        self.panel.carry(changed)
        if self._past[-1:] != [(self.subject, self.parameters)]:
            self._past.append((self.subject, self.parameters))
        said, wanted = self.panel.said, self.view.wants_sass if sass is None else bool(sass)
        values = tuple(self.panel.values().items())
        seq = self.session.ask(Request(self.subject, values, said["device"], said["row"], said["head"], wanted), seq)
        with self._sending:
            self.view.publish(self.panel.page(seq) | {"wants_sass": wanted})
        now = {name: said[name] for name in (*self.controls, "row")}
        if new := {n: Chosen().tag(control=True) for n in now if not hasattr(self, n)}:
            self.add_traits(**new)
        for name in self.trait_names(control=True):
            self.set_trait(name, now.get(name))

    def _publish(self, parts: dict[str, Any]) -> None:
        """Sends parts of an answer to the page in one message."""
        with self._sending:
            self.view.publish(parts)
        if "status" in parts:
            self._tell_editor(parts["status"])

    def _tell_editor(self, status: dict[str, Any]) -> None:
        """Says in the open editor what became of its text: it may fill the window, with the page far above."""
        editor = self._below.widget
        if not isinstance(editor, Editor) or not self.subject.base:
            return
        run, says = self.view.run or {}, str(status["text"])
        error = run.get("error") if status["state"] == "done" else None
        if error:
            says += (
                f": max error {error['max'] if isinstance(error['max'], str) else format(error['max'], '.2g')}, "
                + ("within" if error["ok"] else "more than")
                + " the tolerance"
            )
        editor.tell(says, self.view.problem["message"] if status["failed"] and self.view.problem else "")

    def _compare(self, change: Any) -> None:
        if change["new"] != self.session.against:
            self.session.compare(change["new"])

    def go_on(self, kernel: str) -> None:
        """Shows another kernel of the library beside what is shown; a second press does nothing."""
        if kernel in self.subject.family and kernel != self.parameters["kernel"]:
            self.set(kernel=kernel)

    def _message(self, _view: Any, content: Any, _buffers: Any) -> None:
        acts: dict[str, Any] = {
            "pin": self.pin,
            "confirm": self.confirm,
            "cancel": self.cancel,
            "again": self.session.again,
            "undo": self.undo,
            "close": lambda: self._below.leave(self._below.clear, True),
            "discard": lambda: self._below.answer(True),
            "keep": lambda: self._below.answer(False),
            "edit": lambda: self.edit(content.get("line")),
            "share": self._share,
            "next": lambda: self.go_on(content.get("kernel", "")),
            "set": lambda: self._heard(content["values"], content["seq"]),
            "debug": lambda: self.debug(**{key: value for key, value in content.items() if key != "kind"}),
        }
        if content.get("kind") in acts:
            acts[content["kind"]]()

    # -- display -------------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        code = self.view.code
        return f"explorer of {code['name']}" if code else "explorer"

    def static_html(self) -> str:
        """What `display.explorer_html` makes of the first numbers, which are waited for."""
        from ptxlab.lab.display import explorer_html

        self.wait(FIRST_RESULT)
        return explorer_html(self.view, self.parameters)

    def when_whole(self, show: Callable[[], Any]) -> None:
        """Shows the copy anew after a first run that took longer, unless something else was asked for meanwhile."""
        first = self.session.seq

        def later() -> None:
            while not self.wait():
                pass
            if self.session.seq == first:
                show()

        if not self.wait(0):
            threading.Thread(target=later, name="ptxlab-copy", daemon=True).start()


def explore(
    kernel: Any = "scalar",
    grid: Any = None,
    block: Any = None,
    *args: Any,
    entry: str | None = None,
    shared: int = 0,
    budget: int | None = None,
    **parameters: Any,
) -> Explorer:
    """Opens the explorer.

    Parameters
    ----------
    kernel
        A name of the library, a kernel that it has built or a result of it; PTX text, a module, a kernel of the
        builder, of `pl.cuda` or of `pl.triton`; or a `lab.subject.Subject`.
    grid, block, *args, entry, shared, budget
        As for `pl.launch`, for kernels that are not of the library. Without a grid such a kernel is shown and not run.
    **parameters
        To start with: those of the kernel (head_dim, causal, dtype, arch, tile_kv, ...) and seq_q, seq_k (or seq_len
        for both), batch, heads, kv_heads, sigma, seed, device, row and sass (whether to show machine code).
    """
    with _in_words():
        return _explorer(kernel, grid, block, args, {"entry": entry, "shared": shared, "budget": budget}, parameters)


@contextmanager
def _in_words() -> Iterator[None]:
    """A notebook says what is wrong with the arguments in words alone: the way through the explorer's code says nothing
    about them."""
    try:
        yield
    except (TargetError, LaunchError, kernels.UnknownKernel) as error:
        if not hasattr(error, "_render_traceback_"):
            words = f"{type(error).__name__}: {error}"
            told: Any = error
            told._render_traceback_ = lambda: [words]
        raise


def _explorer(
    kernel: Any, grid: Any, block: Any, args: tuple[Any, ...], launch: dict[str, Any], parameters: dict[str, Any]
) -> Explorer:
    """The explorer on whatever was asked for."""
    if grid is None and block is not None:  # shown for blocks of that size, and not run
        block, parameters = None, {"block": block, **parameters}
    if isinstance(kernel, Subject):
        return Explorer(kernel, **parameters)
    built = getattr(kernel, "kernel", kernel) if hasattr(kernel, "inputs") else kernel
    spec = getattr(built, "spec", None)
    if spec is not None and grid is None:
        subject = library_subjects.named(spec.name)
        shown = {p.name: getattr(built.config, p.name) for p in subject.building if p not in BUILDING}
        if (mods := getattr(built.config, "mods", None)) is not None:
            shown |= named(mods)
        return Explorer(subject, **{**shown, **parameters})
    if isinstance(kernel, str) and not kernel_subject.is_ptx(kernel):
        if grid is not None:
            raise TargetError(f"explore: grid, block and arguments go with PTX or a kernel; {kernel!r} brings its own")
        kernels.get(kernel)
        return Explorer(kernel, **parameters)
    return Explorer(kernel_subject.subject_of(built, grid, block, args, **launch), **parameters)
