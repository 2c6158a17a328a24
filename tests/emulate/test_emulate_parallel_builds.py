"""A program's code is built in pieces at the same time, and before it is asked for. It does the same as any other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import ptxlab as pl

pytest.importorskip("ptxlab.emulate.jit", reason="needs llvmlite", exc_type=ImportError)

from ptxlab.emulate.jit.building import build, module_text
from ptxlab.emulate.jit.native import llvm_thread
from ptxlab.emulate.rules import instructions
from ptxlab.emulate.runtime import disk_cache


@pytest.fixture
def forget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Makes this process forget its programs, and gives it a cache on disk by name."""

    def forget(name: str) -> None:
        llvm_thread.wait_until_idle()
        monkeypatch.setenv("PTXLAB_CACHE", str(tmp_path / name))
        disk_cache.folder.cache_clear()
        build._recent.clear()

    monkeypatch.setattr(build, "HOT", float("inf"))
    monkeypatch.setattr(build, "_recent", type(build._recent)())
    yield forget
    disk_cache.folder.cache_clear()


def launched(kernel: str) -> tuple[np.ndarray, build.Loaded]:
    """What a kernel of the library gives, and its code."""
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((1, 1, 64, 64)).astype(np.float16) for _ in range(3))
    out = pl.attention(q, k, v, kernel=kernel, device="cpu")
    return np.asarray(out.o), next(reversed(build._recent.values()))


@pytest.mark.long
@pytest.mark.parametrize("kernel", ["mma", "wmma", pytest.param("pipelined", marks=pytest.mark.rest)])
def test_functions_apart_do_the_same(
    forget: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, kernel: str
) -> None:
    with monkeypatch.context() as together:
        together.setattr(module_text, "APART", float("inf"))
        forget("together")
        expected, whole = launched(kernel)
    forget("apart")
    found, built = launched(kernel)
    assert [len(each._halves["converged"].blobs) for each in (whole, built)] == [1, 2]
    assert found.tobytes() == expected.tobytes()
    forget("apart")
    found, recalled = launched(kernel)
    assert recalled.cached
    assert recalled._halves["converged"].blobs == built._halves["converged"].blobs
    assert found.tobytes() == expected.tobytes()


@pytest.mark.long
def test_what_one_thread_copies_is_built_before_the_warp_diverges(
    forget: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[tuple[str, set[str]]] = []
    begin = build.Loaded._begin

    def noted(self: build.Loaded, which: str, quality: int) -> build.Begun:
        begun.append((which, set(self._halves)))
        return begin(self, which, quality)

    monkeypatch.setattr(build.Loaded, "_begin", noted)
    forget("ahead")
    expected, built = launched("hopper")
    assert begun == [("converged", set()), ("part", set())]
    assert built._which == "part"
    assert not built._begun
    begun.clear()
    forget("later")
    with monkeypatch.context() as unforeseen:
        unforeseen.setattr(instructions, "is_bulk", lambda code: False)
        build.prepare(built.program, None, rows=built.rows)[0].diverged()
    assert begun == [("converged", set()), ("part", {"converged"})]
    begun.clear()
    forget("ahead")
    found, built = launched("hopper")
    assert built.cached
    assert not begun
    assert found.tobytes() == expected.tobytes()
