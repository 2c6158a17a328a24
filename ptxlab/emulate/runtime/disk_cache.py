"""The cache on disk: compiled code, and what launches must know with it.

An entry may hold native code that will be run, so it lives in a directory of the user's own (mode 0700, owner checked)
and begins with a checksum of its name and of every byte after it; one that does not match is made again. Its name is
made of everything that it depends on, this package's own sources included.
"""

from __future__ import annotations

import contextlib
import functools
import os
import pickle
import stat
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ptxlab.emulate.program.program import DIGEST, digest_of

LIMIT = 256 << 20
"""Bytes that the cache may take on disk; the entries used longest ago go first."""


def _sources() -> str:
    """A fingerprint of the sources that entries depend on: a change in any of them makes all entries stale."""
    package, parts = str(Path(__file__).resolve().parents[2]), list[str]()

    def note(path: str, status: os.stat_result) -> None:
        parts.append(f"{path.removeprefix(package)}:{status.st_size}:{status.st_mtime_ns}")

    def look(folder: str) -> None:
        with os.scandir(folder) as found:
            for each in found:
                if each.name.endswith(".py"):
                    note(each.path, each.stat())
                elif each.name != "__pycache__" and each.is_dir():
                    look(each.path)

    for folder in ("isa", "emulate", "text", "launch"):
        look(os.path.join(package, folder))
    targets = os.path.join(package, "targets.py")
    note(targets, os.stat(targets))
    parts.sort()
    return digest_of("\n".join(parts).encode()).hexdigest()


_SOURCES = _sources()
"""The fingerprint of the sources that this process runs: taken at import, since files may change later."""


def key(*parts: str) -> str:
    """The name of an entry that depends on these texts and on the sources."""
    named = digest_of()
    for part in (*parts, _SOURCES, sys.byteorder):
        octets = part.encode("utf-8", "surrogatepass")
        named.update(b"%d:" % len(octets) + octets)
    return named.hexdigest()


@functools.cache
def folder() -> Path | None:
    """The cache's directory, made if need be; None where there is no safe place or PTXLAB_CACHE is "off"."""
    named = os.environ.get("PTXLAB_CACHE", "")
    if named == "off":
        return None
    try:
        base = Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ptxlab"
        path = base / "code"
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = path.stat()
        if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o022):
            return None
    except (OSError, RuntimeError):  # RuntimeError: this user has no home, as in some containers
        return None
    return path


@functools.cache
def shared() -> Path | None:
    """A cache that is read and never written to: `code` in the folder PTXLAB_SHARED_CACHE, which users of a computer
    share. Its code is run, so it must be root's or this user's, and nobody else may write there."""
    named = os.environ.get("PTXLAB_SHARED_CACHE", "")
    if not named or os.environ.get("PTXLAB_CACHE", "") == "off":
        return None
    path = Path(named) / "code"
    try:
        status = path.stat()
    except OSError:
        return None
    if hasattr(os, "getuid") and (status.st_uid not in (0, os.getuid()) or status.st_mode & 0o022):
        return None
    return path


def recall(entry: str) -> tuple[dict[str, Any], bytes] | None:
    """A cache entry's notes and code, from the user's folder or the shared one; None when missing or damaged."""
    for where in (folder(), shared()):
        found = _read(where, entry) if where is not None else None
        if found is not None:
            return found
    return None


def _read(where: Path, entry: str) -> tuple[dict[str, Any], bytes] | None:
    path = where / entry
    data = _contents(path)
    if data is None:
        return None  # missing or not readable: it is built again
    content = data[DIGEST:]
    if data != _sealed(entry, content):
        return None  # damaged: it is built again and replaced
    with contextlib.suppress(OSError):  # a read-only folder can still be read from
        os.utime(path)
    found: tuple[dict[str, Any], bytes] = pickle.loads(content)
    return found


def _contents(path: Path) -> bytes | None:
    """The bytes of a regular file, not larger than the whole cache may be: reading a pipe or a device may not end."""
    try:
        with open(os.open(path, _OPENED), "rb") as file:
            status = os.fstat(file.fileno())
            return file.read() if stat.S_ISREG(status.st_mode) and status.st_size <= LIMIT else None
    except OSError:
        return None


_OPENED = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def remember(entry: str, notes: dict[str, Any], blob: bytes) -> None:
    remember_all({entry: (notes, blob)})


def remember_all(entries: Mapping[str, tuple[dict[str, Any], bytes]]) -> None:
    """Writes cache entries, notes and code by name, each whole or not at all; a full disk or a read-only home costs no
    more than the entries.

    Nothing is cached once the package on disk differs from the running one (an update under an open notebook): modules
    imported before and after it would make code that fits neither."""
    where = folder()
    if not entries or where is None or _sources() != _SOURCES:
        return
    try:
        for entry, (notes, blob) in entries.items():
            data = _sealed(entry, pickle.dumps((notes, blob)))
            with tempfile.NamedTemporaryFile(dir=where, prefix=_NEW, delete=False) as file:
                unfinished = Path(file.name)
                try:
                    file.write(data)
                    file.close()
                    os.replace(unfinished, where / entry)
                except BaseException:  # a full disk, or Ctrl-C
                    unfinished.unlink(missing_ok=True)
                    raise
            _written[where] = _written.get(where, LIMIT) + len(data)
        if _written[where] > LIMIT // 64:
            _prune(where)
            _written[where] = 0
    except OSError:
        return


_NEW = ".new-"
"""The prefix of an entry's name while it is written."""
_written: dict[Path, int] = {}
"""Bytes that this process wrote into a folder since it last pruned it: with thousands of entries that takes as long as
compiling a kernel, so it is done at first and once in a while."""
ABANDONED = 3600
"""Seconds after which such a file belongs to a process that died."""


def _sealed(entry: str, content: bytes) -> bytes:
    """The bytes of an entry's file: a checksum of its name and contents, and the contents."""
    return digest_of(entry.encode() + b"\n" + content).digest() + content


def _prune(where: Path) -> None:
    """Removes old half-written files, and the entries used longest ago while the cache is too large."""
    entries = []
    with os.scandir(where) as found:
        for file in found:
            try:
                status = file.stat()
            except FileNotFoundError:
                continue  # another process pruned it
            if file.name.startswith(_NEW):
                if time.time() - status.st_mtime > ABANDONED:
                    Path(file).unlink(missing_ok=True)
                continue
            entries.append((status.st_mtime_ns, status.st_size, file.path))
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= LIMIT:
            break
        Path(path).unlink(missing_ok=True)
        total -= size
