"""The cache of compiled code on disk: found again, rebuilt when damaged, bounded, shared by processes, safe."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import ptxlab as pl
from ptxlab.emulate.runtime import disk_cache

OTHERS = ("rules-", "launch-")
"""What the names of entries begin with that are not a program's code."""

pytest.importorskip("ptxlab.emulate.jit.native.code", reason="needs llvmlite", exc_type=ImportError)

TEXT = """.version 8.0
.target sm_80
.address_size 64
.visible .entry triple(.param .u64 out)
{
    .reg .b64 %rd<3>; .reg .b32 %r<3>;
    ld.param.u64 %rd1, [out];   // a comment
    mov.u32 %r1, %tid.x; mul.lo.u32 %r2, %r1, 3;
    mad.wide.u32 %rd2, %r1, 4, %rd1; st.global.u32 [%rd2], %r2;
    ret;
}
"""


def run(text: str = TEXT, **options: str) -> pl.Run:
    """One launch; the result is checked."""
    out = np.zeros(32, np.uint32)
    done = pl.launch(text, 1, 32, out, device="cpu", **options)
    assert (out == np.arange(32) * 3).all()
    return done


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of its own, and nothing remembered in memory."""
    from ptxlab.emulate.jit.building import build
    from ptxlab.emulate.jit.native import llvm_thread

    llvm_thread.wait_until_idle()  # code of tests before this one that is built again, and would be kept here
    monkeypatch.setenv("PTXLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(build, "_recent", type(build._recent)())
    disk_cache.folder.cache_clear()
    yield tmp_path / "cache" / "code"
    disk_cache.folder.cache_clear()


def programs(folder: Path) -> list[Path]:
    """The code of programs; beside it are rules, which all programs call, and what launches must know."""
    return [entry for entry in folder.iterdir() if not entry.name.startswith(OTHERS)]


def forget() -> None:
    """As in a new process: only the disk remembers."""
    from ptxlab.emulate.jit.building import build

    build._recent.clear()


def test_code_is_found_again(folder: Path) -> None:
    run()
    (entry,) = programs(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    before = entry.read_bytes()
    forget()
    run(TEXT.replace("// a comment", "/* another one */"))
    assert [e.read_bytes() for e in programs(folder)] == [before]


IN_A_PROCESS = """import sys, numpy as np, ptxlab as pl
out = np.zeros(32, np.uint32)
pl.launch(sys.argv[1], 1, 32, out, device="cpu")
assert (out == np.arange(32) * 3).all()
"""


def test_nothing_is_kept_by_a_process_whose_package_was_replaced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An update under a living notebook: modules imported before and after it make code that fits neither version."""
    monkeypatch.setattr(disk_cache, "_sources", lambda: "what is on disk now")
    run()
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("damage", [b"", b"{}\n", b"no json\nxyz", b"flip"])
def test_a_damaged_entry_is_built_again(folder: Path, damage: bytes) -> None:
    """Of programs, of rules, and of what launches must know."""
    run()
    for entry in folder.iterdir():
        good = entry.read_bytes()
        entry.write_bytes(good[:-1] + bytes([good[-1] ^ 1]) if damage == b"flip" else damage)
        forget()
        run()
        assert entry.read_bytes() == good


def damaged(good: bytes) -> Iterator[tuple[str, bytes]]:
    """The bytes of an entry with each byte changed in turn, cut off at lengths of all sizes, and with bytes added."""
    rng = np.random.default_rng(0)
    for at, by in enumerate(rng.integers(1, 256, len(good)).tolist()):
        yield f"byte {at} changed", good[:at] + bytes([good[at] ^ by]) + good[at + 1 :]
    for length in sorted({*range(200), *range(200, len(good), 37), len(good) - 1}):
        yield f"cut off after {length} bytes", good[:length]
    yield "a byte added", good + b"\0"
    yield "twice", good + good


def test_no_damage_gets_past_the_checksum(folder: Path) -> None:
    folder.mkdir(parents=True, mode=0o700)
    disk_cache.remember("small", {"state_size": 128, "sites": 1, "level": 0}, bytes(range(256)))
    good = (folder / "small").read_bytes()
    for what, data in damaged(good):
        (folder / "small").write_bytes(data)
        assert disk_cache.recall("small") is None, what
    (folder / "small").write_bytes(good)
    assert disk_cache.recall("small") == ({"state_size": 128, "sites": 1, "level": 0}, bytes(range(256)))
    (folder / "other").write_bytes(good)
    assert disk_cache.recall("other") is None  # an entry is good under its own name only


def test_an_entry_in_a_folder_that_can_only_be_read_serves(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(parents=True, mode=0o700)
    disk_cache.remember("old", {}, b"code")

    def refused(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "utime", refused)
    assert disk_cache.recall("old") == ({}, b"code")


@pytest.mark.rest
@pytest.mark.skipif(sys.platform == "win32", reason="needs limits on the size of a file")
def test_a_full_disk_leaves_nothing_behind(folder: Path) -> None:
    limit = "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))"
    code = f"import resource, sys\n{limit}\n{IN_A_PROCESS}"
    environment = {**os.environ, "PTXLAB_CACHE": str(folder.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    for size in (0, 100, 1000):
        done = subprocess.run([sys.executable, "-c", code, TEXT, str(size)], env=environment, capture_output=True)
        assert done.returncode == 0, done.stderr.decode()
        assert programs(folder) == []
        left = list(folder.iterdir())  # what launches must know is small
        assert len(left) == (size == 1000)
        assert all(disk_cache.recall(entry.name) is not None for entry in left)


def test_what_a_dead_process_left_is_removed(folder: Path) -> None:
    folder.mkdir(parents=True, mode=0o700)
    for name, age in ((".new-dead", 2 * disk_cache.ABANDONED), (".new-alive", 60)):
        (folder / name).write_bytes(b"half")
        then = time.time() - age
        os.utime(folder / name, (then, then))
    disk_cache.remember("entry", {}, b"code")
    assert sorted(path.name for path in folder.iterdir()) == [".new-alive", "entry"]


def test_an_interrupt_while_an_entry_is_written_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(parents=True, mode=0o700)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        disk_cache.remember("entry", {}, b"code")
    assert list(folder.iterdir()) == []


def test_the_oldest_entries_go_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(parents=True, mode=0o700)
    monkeypatch.setattr(disk_cache, "LIMIT", 3000)
    for age, name in enumerate(("old", "middle", "young")):
        disk_cache.remember(name, {}, bytes(1000))
        os.utime(folder / name, (1000 + age, 1000 + age))
    disk_cache.remember("new", {}, bytes(1000))
    assert sorted(path.name for path in folder.iterdir()) == ["new", "young"]


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs POSIX permissions")
def test_a_folder_that_others_can_write_to_is_not_used(folder: Path) -> None:
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    disk_cache.folder.cache_clear()
    assert disk_cache.folder() is None
    run()
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs POSIX permissions")
def test_a_shared_folder_is_read_and_never_written_to(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk_cache.remember("entry", {"a": 1}, b"code")
    theirs = tmp_path / "shared" / "code"
    theirs.parent.mkdir()
    folder.rename(theirs)
    folder.mkdir(mode=0o700)
    assert disk_cache.recall("entry") is None
    monkeypatch.setenv("PTXLAB_SHARED_CACHE", str(theirs.parent))
    for mode, found in ((0o755, ({"a": 1}, b"code")), (0o555, ({"a": 1}, b"code")), (0o775, None)):
        theirs.chmod(mode)
        disk_cache.shared.cache_clear()
        assert disk_cache.recall("entry") == found
    disk_cache.remember("other", {}, b"mine")
    assert ([path.name for path in folder.iterdir()], len(list(theirs.iterdir()))) == (["other"], 1)
    monkeypatch.setenv("PTXLAB_CACHE", "off")
    theirs.chmod(0o755)
    disk_cache.shared.cache_clear()
    assert disk_cache.shared() is None
    disk_cache.shared.cache_clear()


@pytest.mark.long
def test_processes_may_share_it(folder: Path) -> None:
    environment = {**os.environ, "PTXLAB_CACHE": str(folder.parent)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [sys.executable, "-c", IN_A_PROCESS, TEXT]
    started = [subprocess.Popen(command, env=environment, text=True, **pipes) for _ in range(3)]
    for process in started:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    assert [path.name for path in folder.iterdir() if path.name.startswith(".new-")] == []
    (entry,) = programs(folder)
    assert disk_cache.recall(entry.name) is not None


def put_directory(path: Path) -> None:
    (path / "inside").mkdir(parents=True)


def put_larger(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(disk_cache.LIMIT + 1)


@pytest.mark.skipif(sys.platform == "win32", reason="needs pipes and links")
@pytest.mark.parametrize(
    "put",
    [
        put_directory,
        put_larger,
        lambda path: path.symlink_to(path),
        lambda path: path.symlink_to("/dev/zero"),
        lambda path: os.mkfifo(path),
    ],
    ids=["directory", "larger than the cache", "link to itself", "device", "pipe"],
)
def test_what_stands_in_place_of_an_entry_is_not_read(folder: Path, put: Callable[[Path], None]) -> None:
    run()
    for entry in list(folder.iterdir()):
        entry.unlink()
        put(entry)
        assert disk_cache.recall(entry.name) is None
    forget()
    run()


def test_a_folder_that_is_removed_meanwhile_costs_its_entries_only(folder: Path) -> None:
    run()
    shutil.rmtree(folder.parent)
    forget()
    run()


@pytest.mark.skipif(sys.platform == "win32", reason="a user's folder has another name there")
def test_a_user_without_a_home_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    import pwd

    def unknown(uid: int) -> object:
        raise KeyError(f"getpwuid(): uid not found: {uid}")

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for name in ("HOME", "XDG_CACHE_HOME", "PTXLAB_CACHE"):
        monkeypatch.delenv(name, raising=False)
    disk_cache.folder.cache_clear()
    assert disk_cache.folder() is None
    run(TEXT.replace("triple", "homeless"))
    disk_cache.folder.cache_clear()
