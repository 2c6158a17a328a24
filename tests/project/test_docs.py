"""The documentation: its examples run, every opcode and kernel has a page, and Sphinx builds it without a warning."""

from __future__ import annotations

import doctest
import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import ptxlab as pl
from ptxlab.isa.table import TABLE

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(path for path in DOCS.glob("*.md") if ">>>" in path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_what_a_page_shows_is_what_happens(page: Path) -> None:
    result = doctest.testfile(str(page), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert result.attempted > 0
    assert result.failed == 0


def test_every_opcode_has_a_page(generate: ModuleType) -> None:
    index = generate.isa_index()
    for opcode, entries in TABLE.items():
        assert f"\n{opcode}\n" in index
        page = generate.isa_page(opcode, entries)
        assert all(entry.syntax in page for entry in entries)
    # the semantics as they are executed, down to what they call
    popc, fma = (generate.isa_page(name, TABLE[name]) for name in ("popc", "fma"))
    assert "m.popc(" in popc
    assert "def sum_to_odd(" in fma


def test_a_page_of_a_kernel(generate: ModuleType) -> None:
    page = generate.kernel_page("tiled")
    assert pl.kernels.get("tiled").source in page
    assert "| `smsp__inst_executed.sum` |" in page


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("sphinx") is None, reason="needs Sphinx: ptxlab[docs]")
def test_the_site(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", str(DOCS), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    for name in ("index", "start", "generated/api", "generated/isa/fma", "generated/kernels/decode_paged"):
        assert (tmp_path / f"{name}.html").is_file(), name
    for name, term in (("machine", "divergence"), ("generated/isa/bra", "diverged")):  # linked where it is used first
        assert (tmp_path / f"{name}.html").read_text(encoding="utf-8").count(f"glossary.html#term-{term}") == 1, name
