"""The magics in a real IPython shell: `%%ptx` runs PTX on notebook arrays, and mistakes are shown, never raised."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

import ptxlab as pl
from ptxlab.lab.cell import Cell, show

SCALE = """\
.version 7.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 x, .param .f32 factor, .param .u32 n)
{
    .reg .pred %past;
    .reg .f32 %v, %factor;
    .reg .u32 %row, %n, %t<3>;
    .reg .u64 %x, %offset;
    mov.u32 %t0, %ctaid.x;
    mov.u32 %t1, %ntid.x;
    mov.u32 %t2, %tid.x;
    mad.lo.u32 %row, %t0, %t1, %t2;
    ld.param.u32 %n, [n];
    setp.ge.u32 %past, %row, %n;
    @%past bra done;
    ld.param.u64 %x, [x];
    ld.param.f32 %factor, [factor];
    mul.wide.u32 %offset, %row, 4;
    add.u64 %x, %x, %offset;
    ld.global.f32 %v, [%x];
    mul.f32 %v, %v, %factor;
    st.global.f32 [%x], %v;
done:
    ret;
}
"""


def run(shell: InteractiveShell, line: str, cell: str = SCALE) -> Cell:
    """Runs `%%ptx line` and returns what it displayed."""
    with capture_output() as captured:
        result = shell.run_cell(f"%%ptx {line}\n{cell}")
    assert result.success, result.error_in_exec
    assert captured.stderr == ""
    (shown,) = captured.outputs
    assert "<style>" in shown.data["text/html"]
    cell_ = Cell("")
    cell_.__dict__.update(text=shown.data["text/plain"], html=shown.data["text/html"])
    return cell_


def text(shell: InteractiveShell, line: str, cell: str = SCALE) -> str:
    """The plain text that `%%ptx line` displays."""
    return str(run(shell, line, cell).__dict__["text"])


def test_runs_with_arrays_and_literals(shell: InteractiveShell) -> None:
    x = np.arange(50, dtype=np.float32)
    shell.user_ns["x"] = x
    out = text(shell, "--grid 2 --block 32 --args x,2.5,50 --device step --counters -o r")
    assert np.array_equal(x, 2.5 * np.arange(50, dtype=np.float32))
    assert "x: float32 [50]: 0 2.5 5 7.5 10 12.5 15 17.5 ..." in out
    assert shell.user_ns["r"].device == "step"
    assert shell.user_ns["r"].counters.opcodes["mul.f32"] == (2, 50)


def test_without_a_launch_it_reads_and_assembles(shell: InteractiveShell) -> None:
    out = text(shell, "-o m")
    assert shell.user_ns["m"].kernels[0].name == "scale"
    assert str(shell.user_ns["m"]) == SCALE
    assert out.startswith("assembled: ") or "not installed" in out


def test_a_syntax_error_is_shown_with_its_caret_and_the_notebook_goes_on(shell: InteractiveShell) -> None:
    out = text(shell, "-o r", SCALE.replace("ld.global.f32 %v, [%x];", "ld.global.f32 %v, [%x;"))
    lines = out.splitlines()
    assert lines[0].startswith("<ptx>:21:")
    assert lines[1].strip() == "ld.global.f32 %v, [%x;"
    assert lines[2].strip().startswith("^")
    assert shell.user_ns["r"] is None


def test_a_fault_is_shown_at_its_line(shell: InteractiveShell) -> None:
    shell.user_ns["x"] = np.ones(8, np.float32)
    shown = run(shell, "--block 32 --args x,3.0,32 --device step")
    assert shown.__dict__["text"].startswith("memcheck: ")
    assert "scale, line 21: ld.global.f32 %v, [%x];" in shown.__dict__["text"]
    assert 'class="pl-error"' in shown.__dict__["html"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--args y,1,2", "--args: there is no variable 'y' in the notebook; its arrays are x"),
        ("--args x,1q,2", "--args: '1q' is neither a number nor a variable"),
        ("--grid 0", "--grid: expected one to three positive whole numbers, as in --grid 4,2; found '0'"),
        (
            "--block 1,2,3,4",
            "--block: expected one to three positive whole numbers, as in --block 4,2; found '1,2,3,4'",
        ),
        ("--diff old", "--diff: no text 'old' was kept and there is no such variable; keep one with %%ptx -k NAME"),
    ],
)
def test_wrong_options_are_explained(shell: InteractiveShell, line: str, message: str) -> None:
    shell.user_ns["x"] = np.ones(8, np.float32)
    assert text(shell, line) == message


def test_all_checks_spaces_and_options_that_there_are_not(shell: InteractiveShell) -> None:
    x = shell.user_ns["x"] = np.ones(8, np.float32)
    run(shell, "--grid 1 --block 8 --args x, 2.0, 8 --checks all")
    assert (x == 2).all()
    with pytest.raises(UsageError, match=r"%%ptx has no option --blocks; did you mean --block\?; its"):
        shell.run_cell_magic("ptx", "--blocks 32", SCALE)


def test_diff_with_a_kept_text(shell: InteractiveShell) -> None:
    text(shell, "-k first")
    out = text(shell, "--diff first", SCALE.replace("mul.f32 %v, %v, %factor;", "add.f32 %v, %v, %factor;"))
    assert "- " + " " * 4 + "mul.f32 %v, %v, %factor;\n+ " + " " * 4 + "add.f32 %v, %v, %factor;" in out
    assert "+0 -0 ~1" in out or "+1 -1 ~0" in out


def test_a_stub_is_recognised(shell: InteractiveShell) -> None:
    out = text(shell, "-o r", "# YOUR CODE HERE\nraise NotImplementedError()\n")
    assert out == "this cell still holds its stub; write PTX in its place"
    assert shell.user_ns["r"] is None


def test_defaults_come_from_the_configuration(shell: InteractiveShell) -> None:
    shell.run_line_magic("config", "PtxMagics.device = 'step'")
    shell.user_ns["x"] = np.ones(8, np.float32)
    text(shell, "--args x,2,8 -o r")
    assert shell.user_ns["r"].device == "step"


def test_the_same_as_a_plain_call() -> None:
    x = np.ones(8, np.float32)
    cell = show(SCALE, 1, 32, x, 4.0, 8, device="step", against=SCALE)
    assert cell.ok
    assert cell.run.device == "step"
    assert list(cell.arrays) == ["x"]
    assert cell.diff is not None
    assert cell.diff.summary == "no instruction changed"
    assert not cell.warnings
    warned = show(SCALE.replace("ret;", ".reg .f32 %m;\n    max.f32 %m, %m, %m;\n    ret;"))
    assert warned.ok
    assert str(warned.warnings[0]) in repr(warned)
    assert 'class="pl-warning"' in warned._repr_html_()
    broken = show(SCALE.replace("ret;", "ret"))
    assert isinstance(broken.error, pl.PtxSyntaxError)
    assert repr(broken) == str(broken.error)


def test_objects_have_html(shell: InteractiveShell) -> None:
    def html(thing: Any) -> str:
        data, _ = shell.display_formatter.format(thing)
        return str(data["text/html"])

    assert 'class="o"' in html(pl.parse(SCALE))
    x = np.ones(8, np.float32)
    launched = html(pl.launch(SCALE, 1, 32, x, 4.0, 8, device="step", counters=True))
    assert "<th>ret</th><td>32</td>" in launched
    assert "+0 -1 ~0" in html(pl.diff(SCALE, SCALE.replace("    ret;\n", "")))


def test_kernels_of_the_builder_are_shown_and_named_by_their_cell(shell: InteractiveShell) -> None:
    shell.run_cell("import ptxlab as pl\nfrom ptxlab.builder import Ptr, f32, kernel, u32")
    for name, body in (("fine", "x[n] = 1.0"), ("wrong", "if n > 3: x[n] = 1.0")):
        source = f"@kernel\ndef {name}(k, x: Ptr[f32], n: u32):\n    {body}\n\nshown = pl.show({name})"
        assert shell.run_cell(source, store_history=True).success
        if name == "fine":
            assert shell.user_ns["shown"].ok
            assert pl.show(shell.user_ns["fine"](arch="sm_90")).ok
    assert str(shell.user_ns["shown"].error).startswith(f"In[{shell.execution_count - 1}]:3: `n > 3` is a register")
    data, _ = shell.display_formatter.format(shell.user_ns["fine"])
    assert "<b>fine</b>" in data["text/html"]
    data, _ = shell.display_formatter.format(shell.user_ns["wrong"])
    assert 'class="pl-error"' in data["text/html"]
    assert data["text/plain"] == "<kernel function wrong(k, x: Ptr[f32], n: u32)>"
