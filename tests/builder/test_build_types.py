"""mypy agrees: how registers, variables and pointers are typed, and which mistakes it finds before a kernel runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SOURCE = """from __future__ import annotations
from ptxlab.builder import Builder, Ptr, f32, f64, kernel, u32

@kernel
def f(k: Builder, x: Ptr[f32], n: u32, s: f32) -> None:
    i = k.thread_index()
    v = k.var(f32, 0.0)
    tile = k.shared(f32, 4)
    reveal_type(v)  # Var[f32]
    reveal_type(x[i])  # f32
    reveal_type(v * 2.0 + s)  # f32
    reveal_type(i < n)  # pred
    reveal_type(k.fma(v, s, 1.0))  # f32
    reveal_type(k.max(v, s))  # f32
    reveal_type(k.exp2(v))  # f32
    reveal_type(k.load(x + i, 4))  # list[f32]
    reveal_type(tile + 2)  # Shared[f32]
    reveal_type(k.cvt(f64, v))  # f64
    reveal_type(k.select(i < n, v, 0.0))  # f32
    with k.loop(n) as j:
        reveal_type(j)  # u32
        v += s
        v.set(v * s)
    reveal_type(f(arch="sm_90"))  # Kernel
    i * s  # error
    v.set(n)  # error
    x[1] = n  # error
    k.fmaa(v)  # error
    k.fma(v, s)  # error
    k.fma(v, s, 1.0, rnd="up")  # error
"""


@pytest.mark.slow
def test_mypy_knows_the_types(tmp_path: Path) -> None:
    api = pytest.importorskip("mypy.api")
    file = tmp_path / "typed.py"
    file.write_text(SOURCE, encoding="utf-8")
    config = Path(__file__).parents[2] / "pyproject.toml"
    out, _, _ = api.run(["--config-file", str(config), "--follow-imports", "silent", str(file)])
    found: dict[int, str] = {}
    for line, kind, text in re.findall(r"typed\.py:(\d+): (error|note): (.*)", out):
        revealed = re.search(r'Revealed type is "(.*)"', text)
        name = re.sub(r"[\w.]+\.(?=\w)", "", revealed[1]) if revealed else ""
        found[int(line)] = "error" if kind == "error" else name
    expected = {n: text.partition("  # ")[2] for n, text in enumerate(SOURCE.splitlines(), 1) if "  # " in text}
    assert found == expected
