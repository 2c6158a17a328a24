"""What launches must know of a text is recalled from the disk: launches do what they did."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxlab as pl
from ptxlab import text as ptx_text
from ptxlab.emulate.program import lowering_cache
from ptxlab.emulate.runtime import disk_cache
from ptxlab.launch import plan as plans
from ptxlab.text import parser

pytest.importorskip("ptxlab.emulate.jit", reason="needs llvmlite", exc_type=ImportError)

from ptxlab.emulate.jit.building import build
from ptxlab.emulate.jit.native import llvm_thread

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
TABLE = """.const .align 4 .u32 table[4] = {7, 11, 13, 17};
.global .align 4 .u32 calls;
"""
SCALED = """.visible .entry scaled(.param .u64 out, .param .u32 n)
{
    .shared .align 4 .b32 tile[32];
    .reg .pred %p; .reg .b64 %rd<6>; .reg .b32 %r<9>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    setp.ge.u32 %p, %r2, %r1;
    @%p bra END;
    mov.u32 %r3, tile;
    mad.lo.u32 %r3, %r2, 4, %r3;
    st.shared.u32 [%r3], %r2;
    and.b32 %r4, %r2, 3;
    mul.wide.u32 %rd2, %r4, 4;
    mov.u64 %rd3, table;
    add.u64 %rd3, %rd3, %rd2;
    ld.const.u32 %r5, [%rd3];
    ld.shared.u32 %r6, [%r3];
    mul.lo.u32 %r7, %r5, %r6;
    mul.wide.u32 %rd4, %r2, 4;
    add.u64 %rd5, %rd1, %rd4;
    st.global.u32 [%rd5], %r7;
    red.global.add.u32 [calls], 1;
END:
    ret;
}
"""
TEXT = HEAD + TABLE + SCALED
EXPECTED = np.arange(32, dtype=np.uint32) * np.array([7, 11, 13, 17], np.uint32)[np.arange(32) % 4]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of its own, in a process that remembers nothing."""
    llvm_thread.wait_until_idle()
    monkeypatch.setenv("PTXLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(build, "HOT", float("inf"))
    disk_cache.folder.cache_clear()
    forget()
    yield tmp_path / "cache" / "code"
    disk_cache.folder.cache_clear()
    forget()


def forget() -> None:
    """As in a new process: only the disk remembers."""
    for cached in (plans._plans, lowering_cache._recent, build._recent):
        cached.clear()
    parser._cached.cache_clear()


def run(text: Any = TEXT, n: int = 32, size: int = 32, **options: Any) -> pl.Run:
    """One launch; the result is checked."""
    out = np.zeros(size, np.uint32)
    done = pl.launch(text, 1, 32, out, n, device=options.pop("device", "cpu"), **options)
    assert (out[:n] == EXPECTED[:n]).all()
    return done


def kept(folder: Path) -> list[Path]:
    """The entries of plans."""
    return [entry for entry in folder.iterdir() if entry.name.startswith("launch-")]


@pytest.mark.parametrize("options", [{}, {"seed": 1}, {"arch": "sm_90"}, {"entry": "scaled"}], ids=str)
def test_a_text_that_has_run_runs_again(folder: Path, options: dict[str, Any]) -> None:
    first = run(**options)
    assert len(kept(folder)) == 1
    forget()
    assert run(**options).findings == first.findings
    run(n=20, **options)
    assert len(kept(folder)) == 1
    forget()
    run(arch="sm_86", **{k: v for k, v in options.items() if k != "arch"})  # another program
    assert len(kept(folder)) == 2


@pytest.mark.parametrize("engine", ["cpu", "step"])
def test_faults_are_the_same(folder: Path, engine: str) -> None:
    run()
    said = []
    for recalled in (False, True):
        if recalled:
            forget()
        with pytest.raises(pl.DeviceFault) as stopped:
            run(size=16, device=engine)
        fault = stopped.value
        said.append((str(fault), fault.line, fault.address, [str(f) for f in fault.findings]))
    assert said[0] == said[1]
    assert "st.global.u32 [%rd5], %r7" in said[1][0]


@pytest.mark.long
def test_counters_findings_and_traces_are_the_same(folder: Path) -> None:
    text = TEXT.replace("    st.shared.u32 [%r3], %r2;\n", "")  # initcheck: it is read and never written
    out = np.zeros(32, np.uint32)

    def watched() -> tuple[Any, ...]:
        done = pl.launch(text, 1, 32, out, 32, device="cpu", checks="all", counters=True, trace=pl.Trace())
        assert done.counters is not None
        steps = done.trace.codes_of((0, 0)).tolist()
        return [str(finding) for finding in done.findings], done.counters.by_line, steps

    first = watched()
    assert first[0]
    forget()
    assert watched() == first


def test_errors_are_raised_as_before(folder: Path) -> None:
    run()
    forget()
    out = np.zeros(32, np.uint32)
    for args, options, error, says in (
        ((out,), {}, pl.LaunchError, r"scaled takes 2 arguments \(out: .u64, n: .u32\), got 1"),
        ((out, "x"), {}, pl.LaunchError, r"scaled, argument 2 \(n: .u32\): expected"),
        ((out, 1), {"entry": "other"}, pl.LaunchError, "entry: no kernel 'other' in the module; it has scaled"),
        ((out, 1), {"shared": 1 << 20}, pl.TargetError, "shared"),
        ((out, 1), {"textures": {"t": 1}}, pl.LaunchError, "textures: scaled has no .texref or .surfref 't'"),
    ):
        with pytest.raises(error, match=says):
            pl.launch(TEXT, 1, 32, *args, device="cpu", **options)


def test_kernels_of_one_text_are_told_apart(folder: Path) -> None:
    text = TEXT + SCALED.replace("scaled", "twice").replace(
        "st.global.u32", "add.u32 %r7, %r7, %r7;\n    st.global.u32"
    )
    out = np.zeros((2, 32), np.uint32)
    for _ in range(2):
        out[:] = 0
        for k, entry in enumerate(("scaled", "twice")):
            assert pl.launch(text, 1, 32, out[k], 32, entry=entry, device="cpu").kernel == entry
        assert (out == [EXPECTED, 2 * EXPECTED]).all()
        forget()
        with pytest.raises(pl.LaunchError, match="2 kernels"):
            pl.launch(text, 1, 32, out[0], 32, device="cpu")
        forget()


class Editor:
    """A kernel whose text changes."""

    name = "scaled"

    def __init__(self) -> None:
        self.ptx = TEXT

    @property
    def module(self) -> Any:
        return ptx_text.parse(self.ptx, file="<editor>")


def test_a_text_that_has_changed_meanwhile_is_not_taken_for_the_one_that_ran(folder: Path) -> None:
    run(Editor())
    forget()
    editor = Editor()
    run(editor)
    editor.ptx = TEXT.replace("mul.lo.u32 %r7, %r5, %r6", "add.u32 %r7, %r5, %r6")
    out = np.zeros(32, np.uint32)
    pl.launch(editor, 1, 32, out, 32, device="cpu")
    assert (out == EXPECTED // np.maximum(np.arange(32), 1) * (np.arange(32) > 0) + np.arange(32))[1:].all()


def test_nothing_is_kept_where_there_is_no_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTXLAB_CACHE", "off")
    disk_cache.folder.cache_clear()
    forget()
    run()
    assert not folder.exists() or not list(folder.iterdir())
