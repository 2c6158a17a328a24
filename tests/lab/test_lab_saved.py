"""A notebook with explorer and debugger, executed and saved: it shows both without a kernel, and stays small."""

from __future__ import annotations

import json

import pytest

pytestmark = [pytest.mark.notebook]

LIMIT = 300_000
"""Bytes of a committed notebook."""
CELLS = (
    "import ptxlab as pl",
    'pl.explore("scalar", seq_len=256, head_dim=64, device="cpu")',
    'pl.explore("decode_split", seq_k=200, heads=4, device="cpu")',
    'pl.debug("scalar", head_dim=16, seq_len=32)',
)


@pytest.fixture(scope="module")
def saved() -> dict[str, object]:
    """The executed notebook as a committed file has it: without the state of widgets."""
    import nbformat  # both take a second to import, which a run without these tests need not wait for
    from nbclient import NotebookClient

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    NotebookClient(notebook, timeout=300, kernel_name="python3", store_widget_state=False).execute()
    found: dict[str, object] = json.loads(nbformat.writes(notebook))
    return found


def html_of(cell: dict[str, object]) -> str:
    """All static HTML of a cell's outputs."""
    outputs: list[dict[str, dict[str, object]]] = cell["outputs"]  # type: ignore[assignment]
    return "".join("".join(o.get("data", {}).get("text/html", "")) for o in outputs)


@pytest.mark.rest
def test_explorer_and_debugger_show_their_content_without_a_kernel(saved: dict[str, object]) -> None:
    _, prefill, decode, debugger = saved["cells"]  # type: ignore[misc]
    shown = html_of(prefill)
    assert "scalar_f32_d64 for sm_80" in shown
    assert "✓ pass" in shown
    assert shown.count("<img ") == 2
    assert "CPU machine against numpy float64" in shown
    assert "global sectors" in shown
    assert "decode_split_f32_d64" in html_of(decode)
    assert "scalar_f32_d16" in html_of(debugger)
    assert "widgets" not in saved["metadata"]  # type: ignore[operator]


@pytest.mark.rest
def test_the_file_is_small(saved: dict[str, object]) -> None:
    size = len(json.dumps(saved).encode())
    assert size < LIMIT, f"{size:,} bytes"
