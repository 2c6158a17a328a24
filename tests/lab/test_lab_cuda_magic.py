"""`%%cuda` in a real IPython shell: compiled, shown and run on notebook arrays; mistakes are shown, never raised."""

from __future__ import annotations

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from ptxlab.frontends.cuda import available

pytestmark = pytest.mark.skipif(not available(), reason="needs NVRTC: pip install cuda-bindings nvidia-cuda-nvrtc")

SCALE = """\
extern "C" __global__ void scale(float *x, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= factor * TIMES;
}
template <int N> __global__ void fill(int *x) { x[threadIdx.x] = N; }
"""


def run(shell: InteractiveShell, line: str, cell: str = SCALE) -> str:
    """Runs `%%cuda line`; what it displayed, as text."""
    with capture_output() as captured:
        shell.run_cell_magic("cuda", line, cell)
    (output,) = captured.outputs
    return str(output.data["text/plain"])


def test_a_cell_runs_on_notebook_arrays(shell: InteractiveShell) -> None:
    shell.user_ns["x"] = np.arange(100, dtype=np.float32)
    run(shell, "--option=-DTIMES=2 --grid 2 --block 64 --args x,1.5,100 --device step -o r")
    assert shell.user_ns["x"].tolist() == [3 * i for i in range(100)]
    assert (shell.user_ns["r"].kernel, shell.user_ns["r"].device) == ("scale", "step")
    shell.user_ns["y"] = np.zeros(8, np.int32)
    assert "fill<7> on cpu" in (shown := run(shell, '--option=-DTIMES=1 --entry "fill<7>" --block 8 --args y'))
    assert "\nx: int32 [8]: 7 7 7 7 7 7 7 7" in shown  # as the kernel calls it
    run(shell, "-o k", "__device__ float half[2]; __global__ void first(float* x) { *x = half[0]; }")
    assert shell.user_ns["k"]["half"].tolist() == [0, 0]


def test_the_compilers_error_is_shown(shell: InteractiveShell) -> None:
    shown = run(shell, "")
    assert shown.startswith(
        'cell.cu(3): error: identifier "TIMES" is undefined\n'
        "      if (i < n) x[i] *= factor * TIMES;\n"
        "                                  ^"
    )


def test_a_fault_names_the_line_of_the_cell(shell: InteractiveShell) -> None:
    shell.user_ns["x"] = np.zeros(4, np.float32)
    shown = run(shell, "--option=-DTIMES=1 --block 32 --args x,1.0,32")
    assert "(cell.cu:3)" in shown
