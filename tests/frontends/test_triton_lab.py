"""Triton kernels in the explorer and the debugger: compiled now, shown, run, walked, and refused with reasons."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxlab as pl
from ptxlab.errors import LaunchError

pytest.importorskip("triton", reason="needs Triton: pip install 'ptxlab[triton]'")
pytest.importorskip("anywidget", reason="needs anywidget: pip install anywidget")

ADD = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}
SCAN = {"x": "*i32", "out": "*i32", "totals": "*i32", "columns": "i32"}
ATTENTION = {"q": "*bf16", "k": "*bf16", "v": "*bf16", "out": "*fp32", "n": "i32", "scale": "fp32"}
MATMUL = {"a": "*fp16:16", "b": "*fp16:16", "c": "*fp32:16", "m": "i32:16", "n": "i32:16", "k": "i32:16"}


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """`compiled("add", signature, constants)`: a kernel of the corpus, compiled now."""
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "corpus")
    kernels = importlib.import_module("triton_kernels")
    return lambda name, *given, **options: pl.triton(getattr(kernels, name), *given, **options)


def shown(*args: Any, **options: Any) -> Any:
    """The view of the explorer when it has its results."""
    explorer = pl.explore(*args, device="cpu", **options)
    assert explorer.wait(120)
    return explorer.view


def test_the_explorer_runs_and_counts_it_and_links_its_python(compiled: Callable[..., Any]) -> None:
    k = compiled("add", ADD, {"BLOCK": 64}, num_warps=1)
    x, out = np.arange(700, dtype=np.float32), np.zeros(700, np.float32)
    view = shown(k, 11, None, x, x, out, 700)
    assert view.problem is None
    assert (view.code["title"], view.code["name"], view.code["arch"]) == ("Triton kernel", "add", "sm_80")
    assert "".join(view.code["python"]["lines"]).count("tl.") > 3
    assert {view.code["python"]["numbers"][python - 1] for _, python in view.code["links"]} <= set(range(9, 15))
    assert view.run["arrays"] == [["out", "float32 [700]: 0 2 4 6 8 10 12 14 ..."]]
    assert view.run["thread_instructions"] > 0
    assert not out.any()  # it runs on copies
    alone = pl.explore(k)
    assert alone.wait(60)
    assert alone.parameters["threads"] == 32
    assert alone.view.run["note"].startswith("Not run: give it a grid, a block and arguments")


def test_the_explorer_says_what_does_not_fit(compiled: Callable[..., Any]) -> None:
    k = compiled("add", ADD, {"BLOCK": 64}, num_warps=1)
    x = np.zeros(700, np.float32)
    wants = "x: Ptr[f32], y: Ptr[f32], out: Ptr[f32], n: .u32"
    with pytest.raises(LaunchError) as few:
        pl.debug(k, 11, None, x, x, x.copy())
    assert str(few.value) == f"add takes 4 arguments ({wants}), got 3"
    assert shown(k, 11, None, x, x, x.copy()).problem["message"] == str(few.value)
    exact = "block: add requires exactly (32, 1, 1) threads (.reqntid), not (64, 1, 1)"
    assert shown(k, 11, 64, x, x, x.copy(), 700).problem["message"] == exact
    faulted = shown(k, 11, None, x, x, np.zeros(8, np.float32), 700).problem
    assert faulted["title"] == "The kernel was stopped"
    assert faulted["python_line"] is not None


def test_hoppers_products_run(compiled: Callable[..., Any]) -> None:
    k = compiled("matmul", MATMUL, {"BM": 64, "BN": 32, "BK": 32}, arch="sm_90")
    rng = np.random.default_rng(9)
    a, b = rng.integers(-8, 8, (64, 32)).astype(np.float16), rng.integers(-8, 8, (32, 32)).astype(np.float16)
    c = np.zeros((64, 32), np.float32)
    pl.launch(k, 1, None, a, b, c, 64, 32, 32, device="cpu")
    assert (c == a.astype(np.float32) @ b.astype(np.float32)).all()


def test_the_debugger_walks_it(compiled: Callable[..., Any]) -> None:
    k = compiled("scan", SCAN, {"BLOCK": 256})
    x = np.random.default_rng(8).integers(-99, 99, (6, 180)).astype(np.int32)
    out, totals = np.zeros_like(x), np.array([-(2**31), 0], np.int32)
    d = pl.debug(k, 6, None, x, out, totals, 180, at="redux")
    assert (out == np.cumsum(x, axis=1)).all()
    assert d.recording.warps == [(0, w) for w in range(4)]
    assert {code["kind"] for code in d.info["exchange"]["codes"].values()} == {"shuffle", "collective"}
    key, step = (0, 0), next(n for n, m in enumerate(steps(d, 0)) if m.opcode == "redux.sync.add.s32")
    assert d.info["start"] == list(key)
    code = d.info["exchange"]["codes"][f"{d.recording.walk(*key).moment(step).line}:redux.sync.add.s32"]
    walker = d.recording.walk(*key)
    walker.seek(step + 1)
    given, got = (walker.registers[d.recording.names[code[name]]].astype(np.int32) for name in "ad")
    assert (got == given.sum()).all()
    html = d._repr_mimebundle_()[0]["text/html"]
    assert "where the debugger opens</summary>" in html


def steps(debugger: Any, warp: int) -> list[Any]:
    """All moments of a warp of block 0."""
    walker = debugger.recording.walk(0, warp)
    return [walker.moment(k) for k in range(len(walker))]


def test_attention_shows_fragments_and_maxima(compiled: Callable[..., Any]) -> None:
    k = compiled("attention", ATTENTION, {"D": 32, "BM": 32, "BN": 32})
    words = np.random.default_rng(5).standard_normal((3, 75, 32)).astype(np.float32).view(np.uint32) >> 16
    q, key, value = (w.astype(np.uint16).copy() for w in words)
    d = pl.debug(k, 3, None, q, key, value, np.zeros((75, 32), np.float32), 75, np.float32(0.25), warps=0)
    found = d.info["exchange"]
    assert {f["type"] for f in found["fragments"]} == {"bf16", "f32"}
    assert {code["kind"] for code in found["codes"].values()} >= {"matrix", "shuffle"}
    assert d.info["events"]["0:0"]["maximum"]
    assert d.info["events"]["0:0"]["barrier"]
