"""From seeing to doing: the explorer's kernel edited and run, its steps opened at a line, all of it saved as a page."""

from __future__ import annotations

import base64
import json
import re
import threading
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxlab as pl
from ptxlab.lab import session
from ptxlab.lab.debugger import Debugger
from ptxlab.lab.editing import Editor

FAULTY = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry f(.param .u64 x)
{
    .reg .u64 %a, %o;
    .reg .u32 %t;
    ld.param.u64 %a, [x];
    mov.u32 %t, %tid.x;
    mul.wide.u32 %o, %t, 4;
    add.u64 %a, %a, %o;
    st.global.u32 [%a], %t;
    ret;
}
"""

ENDLESS = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry endless()
{
AGAIN:
    bra AGAIN;
}
"""


@pytest.fixture
def explorer() -> Any:
    """The first rung, small, on the interpreter."""
    made = pl.explore("scalar", seq_len=5, head_dim=16, device="step")
    assert made.wait()
    return made


def opened(explorer: Any, kind: type) -> Any:
    """What is open below the explorer, once it is of a kind."""
    deadline = time.monotonic() + 60
    while not isinstance(explorer._below.widget, kind):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return explorer._below.widget


def line_of(explorer: Any, word: str) -> int:
    """The first PTX line with a word."""
    text = explorer.session.version.lines
    return next(n for n, line in enumerate(text, 1) if word in line)


@pytest.mark.long
def test_an_edited_kernel_is_run_compared_and_left_again(explorer: Any) -> None:
    explorer.edit()
    editor = opened(explorer, Editor)
    assert editor.text == explorer.session.version.built.ptx
    wrong = editor.text.replace("ex2.approx.f32", "lg2.approx.f32", 1)
    editor._apply({"text": wrong, "seq": 1})
    assert explorer.wait()
    assert explorer.subject.edit == wrong
    assert explorer.view.code["title"] == "Online softmax, one thread per row, edited"
    assert explorer.view.diff["summary"] == "+1 −1 ~0"
    assert explorer.view.run["error"]["ok"] is False
    assert explorer.view.diff["title"].startswith("text as built → changed from line ")
    drawn = explorer.view.state  # of the text, by the probes of the kernel
    assert drawn["kernel"]["l"] != drawn["numpy"]["l"]
    assert len(drawn["kernel"]["l"]) == drawn["tiles"]
    assert editor.result["says"].startswith("done in ")
    assert editor.result["says"].endswith(", more than the tolerance")
    assert "pl-error" not in editor.result["html"].partition("</style>")[2]
    assert "head_dim" not in explorer.controls
    explorer.set(seq_q=4)
    assert explorer.wait()
    assert explorer.view.run["map"]["seq"] == 4
    editor._apply({"text": editor.text.replace("lg2.approx", "nonsense"), "seq": 2})
    assert explorer.wait()
    assert explorer.view.problem["line"] > 0
    assert editor.result["says"] == "stopped: see the message"
    assert "nonsense.ftz.f32" in editor.result["html"] or "nonsense.f32" in editor.result["html"]
    for kind, asks, open_ in (("close", True, editor), ("keep", False, editor), ("close", True, editor)):
        explorer._message(None, {"kind": kind}, None)
        assert (explorer.view.below["asks"], explorer._below.widget) == (asks, open_)
    explorer._message(None, {"kind": "discard"}, None)
    assert (explorer.view.below, explorer._below.widget) == (None, None)
    assert explorer.wait()
    assert explorer.view.problem is None
    assert explorer.view.run["error"]["ok"] is True
    assert explorer.parameters["head_dim"] == 16
    assert explorer.parameters["seq_q"] == 4


@pytest.mark.long
def test_the_debugger_opens_at_the_line_and_the_tile(explorer: Any) -> None:
    line = line_of(explorer, "ex2.approx")
    explorer.debug(line, 3, 5)
    debugger = opened(explorer, Debugger)
    assert [debugger.info[name] for name in ("at", "nth", "of", "start")] == [[line], 3, 5, [0, 0]]
    explorer._below.clear()
    assert explorer._below.widget is None


@pytest.mark.long
def test_an_interrupt_ends_the_recording(explorer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, stopped = threading.Event(), threading.Event()

    def record(trace: Any) -> Any:
        """A recording that goes on until it is ended."""
        begun.set()
        try:
            return pl.launch(ENDLESS, 1, 32, device="cpu", trace=trace, budget=None)
        finally:
            stopped.set()

    session.cancel_all()  # nothing is in work
    explorer._below.debug(record, 0, {})
    assert begun.wait(60)
    assert explorer.view.below["close"] == "Stop"
    session.cancel_all()
    assert stopped.wait(60)
    assert explorer.view.below is None
    explorer.debug(line_of(explorer, "ex2.approx"))
    debugger = opened(explorer, Debugger)
    session.cancel_all()  # what is open stays open
    assert explorer._below.widget is debugger
    explorer._below.clear()


def test_the_debugger_opens_on_the_block_of_the_row() -> None:
    explorer = pl.explore("scalar", seq_q=130, seq_k=2, heads=2, head_dim=16, device="cpu", row=129)
    assert explorer.wait()
    explorer.head = (0, 1)
    assert explorer.wait()
    explorer.debug()
    assert {block for block, _ in opened(explorer, Debugger).recording.warps} == {3}


def test_after_a_fault_it_opens_at_the_instruction_that_faulted() -> None:
    explorer = pl.explore(FAULTY, 1, 64, np.zeros(40, np.uint32), device="step")
    assert explorer.wait()
    assert (explorer.view.problem["block"], explorer.view.problem["thread"]) == ((0, 0, 0), (40, 0, 0))
    explorer.debug()
    debugger = opened(explorer, Debugger)
    found = debugger.info["findings"][debugger.info["opens"][0]]["parties"][0]
    assert (found["block"], found["warp"], found["lane"]) == (0, 1, 8)
    assert found["step"] == len(debugger.recording.walk(0, 1)) - 1
    assert debugger.info["note"].startswith("memcheck: store of 4 bytes")


def test_what_is_not_run_says_so_in_place_of_the_debugger() -> None:
    explorer = pl.explore(FAULTY)
    assert explorer.wait()
    explorer.debug()
    deadline = time.monotonic() + 60
    while not explorer.view.below["note"]:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert explorer.view.below["note"] == (
        "Not run: give it a grid, a block and arguments, as in pl.explore(kernel, grid, block, x, y, n)."
    )


def test_a_page_holds_all_that_is_shown(explorer: Any, tmp_path: Path) -> None:
    explorer.debug(line_of(explorer, "ex2.approx"))
    opened(explorer, Debugger)
    explorer.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    found = re.search(r'bytes\("([^"]+)"\)', page)
    assert found is not None
    parts = json.loads(zlib.decompress(base64.b64decode(found[1])))["values"]
    assert parts["status"]["state"] == "saved"
    assert parts["code"]["name"] == "scalar_f32_d16"
    assert parts["run"]["error"]["ok"] is True
    assert len(parts["state"]["kernel"]["m"]) == 5
    assert parts["values"]["given"]["seq_q"] == 5
    assert "http" not in re.sub(r"http://www\.w3\.org/\S+", "", page)
