"""Completion in a real IPython shell, and what the magics keep under a name for each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

import ptxlab as pl
from ptxlab.errors import LaunchError
from ptxlab.lab.named_kernels import KEPT

pytest.importorskip("anywidget", reason="needs anywidget: pip install anywidget")

FILL = """.version 8.0
.target sm_80
.address_size 64
.visible .entry fill(.param .u64 x)
{
    .reg .u32 %lane;
    .reg .u64 %x, %at;
    ld.param.u64 %x, [x];
    mov.u32 %lane, %tid.x;
    mul.wide.u32 %at, %lane, 4;
    add.u64 %at, %at, %x;
    st.global.u32 [%at], %lane;
    ret;
}
"""


@pytest.fixture(params=[False, pytest.param(True, marks=pytest.mark.rest)], ids=["by itself", "with jedi"])
def shell(request: pytest.FixtureRequest) -> Iterator[InteractiveShell]:
    """A fresh IPython with ptxlab's extension, an array and a number. It completes Python's names by itself or, as it
    does if nobody sets it, with jedi, which first reads the stubs of Python's library for some seconds."""
    InteractiveShell.clear_instance()
    config = Config(HistoryManager={"enabled": False}, PtxMagics={"arch": "sm_86"})
    shell = InteractiveShell.instance(config=config)
    shell.Completer.use_jedi = request.param
    shell.run_line_magic("load_ext", "ptxlab")
    shell.user_ns.update(xs=np.zeros(32, np.uint32), xn=32, xname="text")
    KEPT.clear()
    yield shell
    KEPT.clear()
    InteractiveShell.clear_instance()


def offered(shell: InteractiveShell, text: str) -> list[str]:
    """What Tab offers at the end of a cell."""
    with provisionalcompleter():
        return [c.text for c in shell.Completer.completions(text, len(text))]


def run(shell: InteractiveShell, source: str) -> Any:
    with capture_output() as captured:
        result = shell.run_cell(source)
    assert result.success, result.error_in_exec
    assert captured.stderr == ""
    return result.result if result.result is not None else [o.data for o in captured.outputs]


# -- completion --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("%%ptx --a", {"--arch", "--args"}),
        ("%%ptx --counters --cou", set()),
        ("%%cuda --opt", {"--option"}),
        ("%%ptx --arch sm_9", {"sm_90", "sm_90a"}),
        ("%%ptx --device=s", {"step"}),
        ("%%ptx --checks memcheck,ra", {"racecheck"}),
        ("%%ptx --args x", {"xs", "xn"}),
        ("%%ptx --args 3,xs,x", {"xs", "xn"}),
        ("%ptx_explore swi", {"swizzle"}),
        ("%ptx_explore mma dtype=", {"dtype=f16", "dtype=bf16"}),
        ("%ptx_debug scalar seq_", {"seq_len=", "seq_q=", "seq_k="}),
        ("%ptx_debug decode_sp", {"decode_split"}),
        ("%%ptx\n.vis", {".visible"}),
        ("%%ptx\n.entry k() {\n  .reg .f32 %price;\n  add.f32 %pr", {"%price"}),
    ],
)
def test_what_tab_offers(shell: InteractiveShell, text: str, wanted: set[str]) -> None:
    found = set(offered(shell, text))
    assert found == wanted or (not wanted and not found & {"--counters"})


def test_kernels_of_the_cell_and_names_that_were_kept(shell: InteractiveShell) -> None:
    line = "%%ptx --entry f"
    with provisionalcompleter():
        found = [c.text for c in shell.Completer.completions(f"{line}\n{FILL}", len(line))]
    assert found == ["fill"]
    run(shell, f"%%ptx -k first --args xs --trace -o r\n{FILL}")
    assert "first" in offered(shell, "%%ptx --diff fi")
    assert {"first"} <= set(offered(shell, "%ptx_debug fir"))
    assert "r" in offered(shell, "%ptx_debug ")


# -- names -------------------------------------------------------------------------------------------------------------


def test_a_kept_name_stands_for_text_and_launch(shell: InteractiveShell) -> None:
    (data,) = run(shell, f"%%ptx -k fill --grid 1 --block 32 --args xs\n{FILL}")
    assert "uint32 [32]: 0 1 2 3" in data["text/plain"]
    assert KEPT["fill"].text == FILL
    other = FILL.replace("%lane, 4;", "%lane, 8;")
    assert pl.diff("fill", other).summary == pl.diff(FILL, other).summary
    assert pl.editor("fill").text == FILL
    assert pl.show(other, against="fill", keep="other").diff is not None
    assert KEPT["other"].call == ()
    with pytest.raises(LaunchError) as unknown:
        pl.diff("third", other)
    assert str(unknown.value) == (
        "no text was kept under 'third'; keep one with %%ptx -k third or keep='third'; kept are fill, other"
    )
    xs = shell.user_ns["xs"]
    xs[:] = 0
    debugger = run(shell, "%ptx_debug fill")
    assert debugger.recording.kernel == "fill"
    assert xs.tolist() == list(range(32))
    with pytest.raises(UsageError) as caught:
        shell.run_line_magic("ptx_debug", "other")
    assert str(caught.value) == "grid: a kernel needs one to run; write pl.debug(kernel, grid, block, ...)"
    assert repr(run(shell, "%ptx_explore fill")).startswith("explorer of fill")


def test_the_debugger_opens_what_was_recorded_last(shell: InteractiveShell) -> None:
    with pytest.raises(UsageError) as caught:
        shell.run_line_magic("ptx_debug", "")
    assert str(caught.value) == (
        "no cell has recorded steps; write %%ptx --trace, or name what to open: %ptx_debug scalar"
    )
    run(shell, f"%%ptx --args xs --trace\n{FILL}")
    assert run(shell, "%ptx_debug").recording.steps == 6
    wrong = FILL.replace("add.u64 %at, %at, %x;", "mov.u64 %at, 4096;")
    run(shell, f"%%ptx --args xs --trace\n{wrong}")
    assert run(shell, "%ptx_debug").info["note"].startswith("memcheck: ")
