"""The explorer on a kernel that is not of the library: CUDA C++ with arguments, in a real JupyterLab and Chromium."""

from __future__ import annotations

from typing import Any

import pytest
from explorer_page import EXPLORER, box, line, settle

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
pytest.importorskip(
    "cuda.bindings.nvrtc", reason="needs NVIDIA's compiler: pip install cuda-bindings nvidia-cuda-nvrtc"
)
pytestmark = [pytest.mark.browser]

WINDOW = (1600, 1000)
CELLS = (
    '''import numpy as np
import ptxlab as pl

k = pl.cuda("""__global__ void third(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] / 3.0f;
}""")
pl.explore(k, 2, 32, np.ones(40, np.float32), np.zeros(40, np.float32), 40)''',
)


@pytest.mark.rest
def test_a_cuda_kernel_shows_its_source_its_counters_and_what_it_changed(lab: Any) -> None:
    assert lab.inner_text(f"{EXPLORER} h3") == "third"
    source = lab.locator(f"{EXPLORER} section[aria-label='CUDA C++']")
    assert "__global__ void third" in source.text_content()
    assert "div.rn.f32" in lab.text_content(f"{EXPLORER} section[aria-label=PTX] .pl-now")
    assert lab.is_visible(f"{EXPLORER} section[aria-label='Instruction mix']")  # no error map: the counters are shown
    lab.click(f"{EXPLORER} [aria-label=language] button:has-text('CUDA C++')")
    line(lab, 4, "CUDA C++").click()  # y[i] = x[i] / 3
    chosen = lab.locator(f"{EXPLORER} section[aria-label=PTX] .pl-now [aria-selected=true]").all_text_contents()
    assert any("div.rn.f32" in text for text in chosen), chosen
    assert any("st.global.f32" in text for text in chosen), chosen
    lab.click(f"{EXPLORER} button:has-text('Pictures')")
    changed = lab.inner_text(f"{EXPLORER} section[aria-label='Three ways']")
    assert "What the run changed" in changed
    assert "0.333333" in changed
    assert lab.is_hidden(f"{EXPLORER} section[aria-label='Error']")


@pytest.mark.rest
def test_another_option_of_the_compiler_changes_ptx_and_diff(lab: Any) -> None:
    before = int(lab.get_attribute(EXPLORER, "data-seq"))
    box(lab, "fast math").click()
    settle(lab, before)
    assert "div.approx" in lab.text_content(f"{EXPLORER} section[aria-label=PTX] .pl-now")
    assert not lab.inner_text(f"{EXPLORER} .pl-diff-note").startswith("no instruction")
    lab.click(f"{EXPLORER} [aria-label=language] button:has-text('PTX')")
    lab.click(f"{EXPLORER} button:has-text('Diff')")
    assert "div.approx" in lab.inner_text(f"{EXPLORER} .pl-diff")
    lab.click(f"{EXPLORER} button:has-text('Code')")
