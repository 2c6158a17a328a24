"""The cache of compiled code on disk: found again, rebuilt when damaged, bounded, shared by processes, safe."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import ptxlab as pl

native = pytest.importorskip("ptxlab.emulate.jit.compile", reason="needs llvmlite", exc_type=ImportError)

TEXT = """.version 8.0
.target sm_80
.address_size 64
.visible .entry triple(.param .u64 out)
{
    .reg .b64 %rd<3>;
    .reg .b32 %r<3>;
    ld.param.u64 %rd1, [out];   // a comment
    mov.u32 %r1, %tid.x;
    mul.lo.u32 %r2, %r1, 3;
    mad.wide.u32 %rd2, %r1, 4, %rd1;
    st.global.u32 [%rd2], %r2;
    ret;
}
"""


def run(text: str = TEXT) -> pl.Run:
    """One launch; the result is checked."""
    out = np.zeros(32, np.uint32)
    done = pl.launch(text, 1, 32, out, device="cpu")
    assert (out == np.arange(32) * 3).all()
    return done


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of its own, and nothing remembered in memory."""
    from ptxlab.emulate.jit import build

    monkeypatch.setenv("PTXLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(build, "_recent", type(build._recent)())
    native.folder.cache_clear()
    yield tmp_path / "cache" / "code"
    native.folder.cache_clear()


def forget() -> None:
    """As in a new process: only the disk remembers."""
    from ptxlab.emulate.jit import build

    build._recent.clear()


def test_code_is_found_again(folder: Path) -> None:
    run()
    (entry,) = folder.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    before = entry.read_bytes()
    forget()
    run(TEXT.replace("// a comment", "/* another one */"))
    assert [e.read_bytes() for e in folder.iterdir()] == [before]


def test_other_code_is_another_entry(folder: Path) -> None:
    run()
    run(TEXT.replace("mul.lo.u32 %r2, %r1, 3", "mad.lo.u32 %r2, %r1, 3, 0"))
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize("damage", [b"", b"{}\n", b"no json\nxyz", b"flip"])
def test_a_damaged_entry_is_built_again(folder: Path, damage: bytes) -> None:
    run()
    (entry,) = folder.iterdir()
    good = entry.read_bytes()
    entry.write_bytes(good[:-1] + bytes([good[-1] ^ 1]) if damage == b"flip" else damage)
    forget()
    run()
    assert entry.read_bytes() != damage
    assert native.recall(entry.name) is not None


def test_the_oldest_entries_go_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(parents=True, mode=0o700)
    monkeypatch.setattr(native, "LIMIT", 3000)
    for age, name in enumerate(("old", "middle", "young")):
        native.remember(name, {}, bytes(1000))
        os.utime(folder / name, (1000 + age, 1000 + age))
    native.remember("new", {}, bytes(1000))
    assert sorted(path.name for path in folder.iterdir()) == ["new", "young"]


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs POSIX permissions")
def test_a_folder_that_others_can_write_to_is_not_used(folder: Path) -> None:
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    native.folder.cache_clear()
    assert native.folder() is None
    run()
    assert list(folder.iterdir()) == []


def test_processes_may_share_it(folder: Path) -> None:
    code = (
        "import numpy as np, ptxlab as pl, sys\n"
        "out = np.zeros(32, np.uint32)\n"
        "pl.launch(sys.argv[1], 1, 32, out, device='cpu')\n"
        "assert (out == np.arange(32) * 3).all()"
    )
    environment = {**os.environ, "PTXLAB_CACHE": str(folder.parent)}
    command = [sys.executable, "-c", code, TEXT]
    started = [subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    for process in started:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    assert [path.name for path in folder.iterdir() if path.name.startswith(".new-")] == []
    (entry,) = folder.iterdir()
    assert native.recall(entry.name) is not None


def test_it_can_be_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTXLAB_CACHE", "off")
    native.folder.cache_clear()
    assert native.folder() is None
    native.folder.cache_clear()
