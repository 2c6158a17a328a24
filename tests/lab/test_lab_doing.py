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
from ptxlab.builder import Builder, Ptr, f32, kernel, u32
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


CUDA = """__constant__ float weights[N];
__global__ void scale(float* x, int n) {
    int i = threadIdx.x;
    if (i < n) x[i] *= weights[i % N];
}
"""


@kernel
def grow(k: Builder, x: Ptr[f32], n: u32, times: int = 1) -> None:
    """Adds to each element."""
    i = k.thread_index()
    k.return_if(i >= n)
    for _ in range(times):
        x[i] = x[i] + 1.0


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


def turn(editor: Editor, language: str) -> None:
    """Changes the language of what is edited, as the page does."""
    editor._answer(editor, {"kind": "turn", "language": language, "seq": editor.edit["seq"] + 1}, None)


def apply(explorer: Any, **edit: str) -> Any:
    """Applies what is edited with these changes, as the page does; gives the editor, once there is an answer."""
    editor = explorer._below.widget
    editor._apply({**editor.edit, **edit, "seq": editor.edit["seq"] + 1})
    assert explorer.wait()
    return editor


@pytest.mark.long
def test_the_python_of_a_kernel_is_edited_and_its_controls_stay(explorer: Any) -> None:
    explorer.edit(line_of(explorer, "ex2.approx"))
    editor = opened(explorer, Editor)
    assert "exp2" in editor.text.splitlines()[editor.options["line"] - 1], "it opens where the pane is"
    halved = editor.text.replace("k.exp2(row_max - top)", "k.exp2(row_max - top) * 0.5")
    apply(explorer, text=halved)
    assert explorer.view.diff["title"].startswith("text as built → Python changed from line ")
    assert explorer.view.diff["summary"].startswith("+1 −0 ")
    assert explorer.view.run["error"]["ok"] is False
    assert explorer.view.state["kernel"]["l"] != explorer.view.state["numpy"]["l"]
    explorer.set(head_dim=24, seq_k=3)
    assert explorer.wait()
    assert explorer.view.run["error"]["ok"] is False, "what was built anew has the edit, too"
    turn(editor, "PTX")
    assert editor.text == explorer.session.version.built.ptx
    shown = explorer.view.code
    turn(editor, "Python")
    for wrong, says in (
        ("row = k.thread_index(", "Python cannot read this: '(' was never closed"),
        ("row = many", "Python cannot run this: NameError: name 'many' is not defined"),
        ("row = k.nope()", "k has no `nope`"),
    ):
        given = halved.replace("row = k.thread_index()", wrong)
        apply(explorer, text=given)
        assert editor.result["says"] == "not applied: see the message"
        (item,) = editor.problems["items"]
        assert item["message"].endswith(f":{item['line']}: {says}")
        assert wrong in given.splitlines()[item["line"] - 1]
        assert (explorer.view.code is shown, editor.text) == (True, given)
    explorer.undo()  # the sizes
    assert explorer.wait()
    assert (explorer.parameters["head_dim"], explorer.view.run["error"]["ok"]) == (16, False)
    explorer.undo()
    assert explorer.wait()
    assert (explorer.subject.edits, explorer.view.run["error"]["ok"]) == ({}, True)


@pytest.mark.parametrize(("mine", "after"), [(grow, "-1 0 1 2"), (grow(times=3), "-3 -2 -1 0")])
def test_ones_own_kernels_are_edited_in_their_source(mine: Any, after: str) -> None:
    explorer = pl.explore(mine, 1, 32, np.arange(4, dtype=np.float32), 4, device="step")
    assert explorer.wait()
    explorer.edit()
    editor = opened(explorer, Editor)
    assert editor.text.startswith("@kernel\ndef grow(")
    apply(explorer, text=editor.text.replace("+ 1.0", "- 1.0"))
    assert explorer.view.run["arrays"] == [("x", f"float32 [4]: {after}")]
    turn(editor, "PTX")
    apply(explorer, text=editor.text.replace("sub.rn.f32", "mul.rn.f32"))
    assert explorer.view.run["arrays"] == [], "what is multiplied by 1 has not changed"
    assert "arch" not in explorer.controls, "what the text was made for has no control"
    explorer.debug()
    assert "mul.rn.f32" in opened(explorer, Debugger).recording.text


def test_cuda_is_edited_and_keeps_its_options_and_variables() -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    compiled = pl.cuda(CUDA, options=["-DN=2"])
    compiled["weights"] = np.float32([2, 3])
    explorer = pl.explore(compiled, 1, 32, np.ones(4, np.float32), 4, device="step", arch="sm_90")
    assert explorer.wait()
    explorer.edit()
    editor = opened(explorer, Editor)
    assert (editor.text, editor.options["languages"]) == (CUDA, ["CUDA C++", "PTX"])
    apply(explorer, text=CUDA.replace("*=", "+="))
    assert explorer.view.run["arrays"] == [("x", "float32 [4]: 3 4 3 4")]
    assert explorer.view.code["arch"] == "sm_90"
    apply(explorer, text=CUDA.replace("*= w", "*= v"))
    assert [(item["line"], item["message"]) for item in editor.problems["items"]] == [
        (4, 'kernel.cu(4): error: identifier "veights" is undefined')
    ]
    assert explorer.view.run["arrays"] == [("x", "float32 [4]: 3 4 3 4")]


@pytest.mark.assembler
def test_the_assembler_is_told_more(explorer: Any) -> None:
    before = explorer.view.assembly["registers"]
    explorer.edit()
    editor = opened(explorer, Editor)
    apply(explorer, ptxas="-O3  --maxrregcount=24")
    assert (explorer.view.assembly["registers"], before > 24) == (24, True)
    assert explorer.view.diff["title"] == "ptxas options none → -O3 --maxrregcount=24"
    apply(explorer, ptxas="-O3 --registers")
    assert "options: ptxas says: Unknown option" in editor.result["html"]
    assert explorer.view.assembly["registers"] == 24
    explorer.undo()
    assert explorer.wait()
    assert explorer.view.assembly["registers"] == before


@pytest.mark.long
def test_an_edited_kernel_is_run_compared_and_left_again(explorer: Any) -> None:
    explorer.edit()
    editor = opened(explorer, Editor)
    turn(editor, "PTX")
    assert editor.text == explorer.session.version.built.ptx
    wrong = editor.text.replace("ex2.approx.f32", "lg2.approx.f32", 1)
    apply(explorer, text=wrong)
    assert explorer.subject.edits == {"PTX": wrong}
    assert explorer.view.code["title"] == "Online softmax, one thread per row, edited"
    assert explorer.view.diff["summary"] == "+1 −1 ~0"
    assert explorer.view.run["error"]["ok"] is False
    assert explorer.view.diff["title"].startswith("text as built → PTX changed from line ")
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
    apply(explorer, text=editor.text.replace("lg2.approx", "nonsense"))
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
