"""What a saved notebook keeps of the debugger and the explorer, and how much of it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import ptxlab as pl
from ptxlab.emulate.excerpt import excerpt
from ptxlab.lab import saved

pytest.importorskip("anywidget", reason="needs anywidget: pip install anywidget")


@pytest.fixture(scope="module")
def opened() -> pl.lab.debugger.Debugger:
    """Four warps of a kernel with barriers, much more than a notebook keeps."""
    return pl.debug("tiled", seq_len=40, head_dim=16)


def same(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("limit", [1, 3_000, 24_000, 150_000])
def test_an_excerpt_begins_as_the_trace_does(opened, limit):
    whole = opened.recording
    part = excerpt(whole, limit)
    assert (part.kernel, part.text, part.names, part.capped) == (whole.kernel, whole.text, whole.names, True)
    assert part.warps == whole.warps[: len(part.warps)]
    header = whole.size - sum(length + 32 for pages in whole.pages.values() for _, _, _, length, _ in pages)
    assert part.size <= header + limit + 2_000
    steps = [len(part.walk(*key)) for key in part.warps]
    assert sum(steps) == part.steps < whole.steps
    for key, count in zip(part.warps, steps, strict=True):
        old, new = whole.walk(*key), part.walk(*key)
        for at in sorted({1, count // 2 + 1, count}):
            a, b = old.seek(at), new.seek(at)
            assert (a.number, a.line, a.opcode, list(a.writes)) == (b.number, b.line, b.opcode, list(b.writes))
            assert same(a.mask, b.mask)
            assert len(a.accesses) == len(b.accesses)
            for x, y in zip(a.accesses, b.accesses, strict=True):
                assert (x.kind, x.space, x.size) == (y.kind, y.space, y.size)
                assert same(x.address, y.address)
                assert same(x.mask, y.mask)
            for name in whole.names:
                assert same(np.array(old.registers[name]), np.array(new.registers[name])), (key, at, name)
    assert limit > 1 or steps == [1]


def test_a_small_trace_is_kept_whole(opened):
    assert excerpt(opened.recording, opened.recording.size) is opened.recording


def test_the_copy_has_tables_and_the_viewer(opened):
    html = opened._repr_mimebundle_()[0]["text/html"]
    tables, script = html.split("<script>")
    assert "step 233 of 4059: the first new maximum" in tables
    assert tables.count("</summary>") == 5
    assert script.count("</script>") == 1
    assert "http" not in html


def test_a_notebook_with_explorer_and_debugger_is_small(opened):
    explorer = pl.explore()
    outputs = []
    for widget in (explorer, opened):
        data = widget._repr_mimebundle_()
        data = dict(data[0] if isinstance(data, tuple) else data)
        copy = {"text/html": data.pop("text/html"), "text/plain": ""}
        outputs += [{"output_type": "display_data", "data": d, "metadata": {}} for d in (data, copy)]
    sizes = [len(json.dumps(output)) for output in outputs]
    assert sum(sizes) < 295_000, sizes


def test_a_page_of_its_own_has_the_whole_trace(opened, tmp_path: Path):
    opened.save(tmp_path / "tiled.html")
    page = (tmp_path / "tiled.html").read_text()
    assert page.startswith('<!doctype html><html lang="en">')
    assert "<title>tiled_f32_d16, step by step</title>" in page
    assert saved._packed(bytes(opened.recording.data)) in page
