"""`pl.editor()`: PTX that is checked as it is typed, explained where the mouse rests, and run on a key.

e = pl.editor(ptx)                     # text, a kernel of any kind, the name of a kernel of the library, or nothing
e.text                                 # what stands in it; set it to change it
pl.launch(e, 1, 32, x)                 # it is a kernel wherever PTX is
pl.editor(ptx, 1, 32, x)               # with a button that runs it: grid, block, arguments as in pl.launch
"""

from __future__ import annotations

import ast
import threading
from collections.abc import Callable, Sequence
from typing import Any

import anywidget
import numpy as np
import traitlets

from ptxlab import kernels
from ptxlab.errors import BuildError, LaunchError, PtxWarning
from ptxlab.foreign_arrays import as_numpy
from ptxlab.garbage_collection import resting
from ptxlab.gpu import assembler
from ptxlab.lab import assets, language
from ptxlab.lab.cell import Cell, show
from ptxlab.lab.diff import ptx_of
from ptxlab.lab.kernel_subject import BUDGET
from ptxlab.lab.named_kernels import KEPT
from ptxlab.lab.static_copies import Copied
from ptxlab.lab.subject import OPTIONS, PTX, machines
from ptxlab.text import Module
from ptxlab.text.given import given as given_instead

START = """.version 8.0
.target sm_80
.address_size 64

.visible .entry kernel(.param .u64 x)
{
    .reg .u32 %lane;
    .reg .u64 %x, %at;

    ld.param.u64  %x, [x];
    mov.u32       %lane, %tid.x;
    mul.wide.u32  %at, %lane, 4;
    add.u64       %at, %at, %x;
    st.global.u32 [%at], %lane;
    ret;
}
"""
"""What an empty editor begins with."""
_SHOWN = (
    "arch", "against", "sass", "assemble", "keep", "entry", "shared", "device", "checks", "counters", "trace", "seed",
    "budget", "workers", "cooperative", "cluster",
)  # fmt: skip
"""The options of `pl.show`; any other is a parameter of a kernel of the library."""


class Editor(Copied, anywidget.AnyWidget):
    """The widget, opened at a line. `edit` is {text, language, ptxas, seq} as the page has it, with the assembler's
    options, `problems` what is wrong with the text number `seq`.

    languages: those that one can change to, the first is shown; texts: gives for each, and for `OPTIONS`, what stands
    there where nobody has edited it, and what stands there now."""

    _esm = assets.script("editor")
    _css = assets.style("editor")
    edit: Any = traitlets.Dict({"text": "", "language": PTX, "ptxas": "", "seq": 0}).tag(sync=True)
    problems = traitlets.Dict({}).tag(sync=True)
    result = traitlets.Dict({}).tag(sync=True)
    options = traitlets.Dict({}).tag(sync=True)

    def __init__(
        self,
        text: str,
        call: tuple[Any, ...] | None,
        name: str = "",
        line: int = 1,
        languages: Sequence[str] = (PTX,),
        texts: Callable[[str], tuple[str, str]] | None = None,
        **options: Any,
    ) -> None:
        call = call and tuple(as_numpy(value) for value in call)
        self.call, self.launch_options, self.name = call, options, name
        self.cell: Cell | None = None
        self.typed: dict[str, str] = {}
        """What stands in each language that has been shown, and in `OPTIONS`."""
        self.plain: dict[str, str] = {}
        """What stood there where nobody had edited it."""
        self._texts = texts or (lambda kind: (text, text) if kind == PTX else ("", ""))
        self._before = {k: a.copy() for k, a in enumerate(call or ()) if isinstance(a, np.ndarray)}
        self._callbacks: list[Callable[[str], Any]] = []
        self._lock = threading.Condition()
        self._waiting: dict[str, Any] | None = None
        self._refused = -1  # the number of a text of which more is known than what it looks like
        self._thread: threading.Thread | None = None
        edit = {"language": languages[0], "text": self._turned(languages[0]), "ptxas": self._turned(OPTIONS), "seq": 0}
        super().__init__(
            edit=edit,
            options={
                "runs": call is not None,
                "name": name,
                "line": line,
                "languages": list(languages),
                "ptxas": texts is not None and assembler.available(),
            },
            problems={"seq": -1, "stage": "", "items": [], "count": 0, "note": ""},
        )
        self.on_msg(self._answer)
        self._check(edit)

    # -- the text ------------------------------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """The PTX as it stands in the editor, a moment after the last key."""
        return str(self.edit["text"])

    @text.setter
    def text(self, text: str) -> None:
        self.edit = {**self.edit, "text": text, "seq": self.edit["seq"] + 1}

    def _turned(self, kind: str) -> str:
        """What is shown of a language: what somebody has typed there, else what stands there now."""
        plain, now = self._texts(kind)
        if self.typed.get(kind) in (None, self.plain.get(kind)):
            self.typed[kind] = now
        self.plain[kind] = plain
        return self.typed[kind]

    @property
    def ptx(self) -> str:
        """The same: an editor can stand wherever a kernel can."""
        return self.text

    @property
    def module(self) -> Any:
        """The parsed text; `PtxSyntaxError` while it is none."""
        from ptxlab.text import parse

        return parse(self.text)

    def on_apply(self, callback: Callable[[str], Any]) -> None:
        """Calls `callback(text)` when the button is pressed, or Ctrl+Enter."""
        self._callbacks.append(callback)

    def tell(self, says: str, message: str = "") -> None:
        """Says under the text what became of it, where something else runs what was applied. message: of a failure."""
        from ptxlab.lab import display

        shown = [f'<pre class="pl-error">{display.text(message)}</pre>'] if message else []
        self.result = {"seq": self.edit["seq"], "html": display.page(*shown), "says": says}

    def refuse(self, error: Exception) -> None:
        """Says what is wrong with what was applied, and marks its line."""
        wrong: Any = error
        self._refused, wrong.line = self.edit["seq"], getattr(error, "text_line", 0)
        items = [{**language.problem(wrong), "message": str(error).partition("\n")[0]}] if wrong.line else []
        self.problems = {"seq": self.edit["seq"], "stage": "applied", "items": items, "count": 1, "note": ""}
        self.tell("not applied: see the message", str(error))

    def run(self) -> Cell:
        """Runs the text as the button does, with the grid, block and arguments that the editor was opened with.

        Every run begins with the arrays as they were then, and leaves its results in them. One that does not end is
        stopped, on the emulator, after the `budget` that was given or `kernel_subject.BUDGET`.
        """
        grid, block, *args = self.call or (None, None)
        for k, array in self._before.items():
            args[k - 2][...] = array
        where = machines(self.launch_options.get("device") or "auto")[0]
        options = {"budget": BUDGET.get(where), **self.launch_options}
        self.cell = show(self.text, grid, block, *args, **options)
        return self.cell

    # -- checking ------------------------------------------------------------------------------------------------------

    @traitlets.observe("edit")
    def _edited(self, change: Any) -> None:
        new = change["new"]
        if hasattr(self, "_lock") and change["old"]:
            self.typed |= {new["language"]: new["text"], OPTIONS: " ".join(new["ptxas"].split())}
            self._check(new)

    def _check(self, edit: dict[str, Any]) -> None:
        """Asks for a text to be checked. One that waits is replaced; what a newer one overtakes is not published."""
        with self._lock:
            self._waiting = edit
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="ptxlab-editor", daemon=True)
                self._thread.start()

    def wait(self, timeout: float = 60.0) -> bool:
        """Waits until the text is checked; False when that takes longer than `timeout` seconds."""
        with self._lock:
            return self._lock.wait_for(lambda: self._thread is None, timeout)

    def _work(self) -> None:
        while True:
            with self._lock:
                edit, self._waiting = self._waiting, None
                if edit is None:
                    self._thread = None
                    self._lock.notify_all()
                    return
            if edit["language"] != PTX:
                self._publish(edit, "read", _python_mistakes(edit) if edit["language"] == "Python" else [], "")
                continue
            with resting():  # until the mistakes are shown
                found, module = language.read(edit["text"])
                warned = bool(found) and all(isinstance(each, PtxWarning) for each in found)
                self._publish(edit, "read", found, "no mistakes; assembling")
            if module is not None and (warned or not found) and self._is_newest(edit):
                refused, note = language.assembled(module, self.launch_options.get("arch"))
                self._publish(edit, "assembled", [*refused, *found], note)

    def _is_newest(self, edit: dict[str, Any]) -> bool:
        return self._waiting is None and self.edit["seq"] == edit["seq"] != self._refused

    def _publish(self, edit: dict[str, Any], stage: str, found: list[Any], note: str) -> None:
        """Shows errors and warnings. `count` is how many errors there are; without any, the note is shown."""
        if self._is_newest(edit):
            warnings = sum(isinstance(each, PtxWarning) for each in found)
            self.problems = {
                "seq": edit["seq"],
                "stage": stage,
                "items": language.marks(found),
                "count": len(found) - warnings,
                "note": f"{warnings} warning{'s' * (warnings > 1)}; {note}" if warnings else note,
            }

    # -- questions of the page -----------------------------------------------------------------------------------------

    def _answer(self, widget: Any, content: dict[str, Any], buffers: Any) -> None:
        kind, text = content["kind"], content.get("text", "")
        if kind == "apply":
            self._apply(content)
        elif kind == "turn":
            turned = {"text": self._turned(content["language"]), "language": content["language"]}
            self.edit = {**self.edit, **turned, "seq": content["seq"]}
        elif kind == "explain":
            self.send({"id": content["id"], "value": language.explain(content["word"], text)})
        elif kind == "complete":
            word, options = language.complete(text[: content["at"]], text)
            value = {"word": word, "options": [[o.word, o.kind, o.says] for o in options]}
            self.send({"id": content["id"], "value": value})

    def _apply(self, content: dict[str, Any]) -> None:
        self.edit = {**self.edit, **{key: content[key] for key in self.edit.keys() & content.keys()}}
        for callback in self._callbacks:
            callback(self.text)
        if self.call is None:
            return
        cell = self.run()
        says = "stopped: see the message" if cell.error is not None else str(cell.run or "").partition("\n")[0]
        html = cell.html(bool(self.launch_options.get("counters")))
        self.result = {"seq": content["seq"], "html": html, "says": says}

    # -- how it looks without a kernel ---------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"editor of {self.name or 'PTX'}, {len(self.text.splitlines())} lines"

    def static_html(self) -> str:
        """The text, highlighted."""
        from ptxlab.lab import display

        static = display.page(display.ptx_html(self.text), "<p>a copy; run the cell to edit</p>")
        return f'<div class="ptxlab-copy">{static}</div>'


def _python_mistakes(edit: dict[str, Any]) -> list[Any]:
    """What Python cannot read."""
    try:
        ast.parse(edit["text"])
    except SyntaxError as wrong:
        found: Any = BuildError(f"Python cannot read this: {wrong.msg}")
        found.line, found.column, found.length = wrong.lineno or 1, wrong.offset or 0, 1
        return [found]
    return []


def editor(kernel: Any = START, grid: Any = None, block: Any = None, *args: Any, **options: Any) -> Editor:
    """Opens an editor for PTX.

    Parameters
    ----------
    kernel
        PTX text, or a name that it was kept under; anything that has PTX (a module, a kernel of the builder, of
        `pl.cuda`, another editor); the name of a kernel of the library. By default a small kernel to begin with.
    grid, block, *args
        As for `pl.launch`; with them a button runs the text and shows the results.
    **options
        As for `pl.show`; for a kernel of the library also its parameters.

    Raises
    ------
    UnknownKernel
        For a name that no kernel has; it lists the names.
    LaunchError
        For what is no PTX.
    """
    name = getattr(kernel, "name", "") or ""
    if isinstance(kernel, str) and kernel in kernels.names():
        given = {key: options.pop(key) for key in tuple(options) if key not in _SHOWN}
        kernel = kernels.get(kernel).build(**given)
        name = kernel.name
    elif isinstance(kernel, str) and kernel in KEPT:
        name = kernel
    elif isinstance(kernel, str) and kernel and "\n" not in kernel:
        kernels.get(kernel)  # says what there is
    elif not isinstance(kernel, str | Module) and not any(hasattr(kernel, part) for part in ("ptx", "module")):
        raise LaunchError(f"kernel: expected PTX text or a kernel, found {given_instead(kernel)}")
    call = None if grid is None and block is None else (grid, block, *args)
    return Editor(ptx_of(kernel), call, str(name), **options)
