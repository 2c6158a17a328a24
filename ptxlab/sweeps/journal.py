"""A sweep on disk: a line of JSON for each row, written when the row is there, so that nothing is lost and nothing is
measured twice."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ptxlab.errors import LaunchError

ROWS, TABLE, LOCK = "rows.jsonl", "table.parquet", "in-use"


class Journal:
    """The folder of a sweep, open for writing: `rows.jsonl` grows, `table.parquet` is made of it at the end.

    A folder belongs to one sweep at a time; `LaunchError` says which process has it. What a stopped process left half
    written is cut off.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._locked = _lock(folder / LOCK)
        self._file = open(folder / ROWS, "a+b")
        self.known = self._keys()

    def _keys(self) -> set[str]:
        """The points that are there. A last line without an end is dropped."""
        self._file.seek(0)
        keys, whole = set(), 0
        for line in self._file:
            if not line.endswith(b"\n"):
                break
            whole += len(line)
            keys.add(str(json.loads(line)["key"]))
        self._file.seek(whole)
        self._file.truncate()
        return keys

    def add(self, row: dict[str, Any]) -> None:
        """Writes a row, to the disk and not only to the system's memory every so often."""
        self._file.write(json.dumps(row, allow_nan=True).encode() + b"\n")
        self._file.flush()
        self.known.add(row["key"])

    def close(self) -> None:
        """Gives the folder back."""
        if not self._file.closed:
            os.fsync(self._file.fileno())
            self._file.close()
            self._locked.unlink(missing_ok=True)


def read(folder: Path) -> Iterator[dict[str, Any]]:
    """The rows of a folder, as they were written; a half-written last line is left out."""
    path = folder / ROWS
    if not path.exists():
        raise LaunchError(f"{folder}: there is no sweep here ({ROWS} is missing)")
    with open(path, "rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield json.loads(line)


def _lock(path: Path) -> Path:
    """Marks the folder as used by this process; a mark of a process that has ended does not count."""
    for _ in range(2):
        try:
            with open(path, "x") as file:
                file.write(str(os.getpid()))
            return path
        except FileExistsError:
            text = path.read_text() if path.exists() else ""
            if text.isdigit() and _lives(int(text)):
                raise LaunchError(
                    f"{path.parent}: process {text} is writing a sweep there; choose another folder"
                ) from None
            path.unlink(missing_ok=True)
    raise LaunchError(f"{path.parent}: another sweep has just begun there; choose another folder")


def _lives(pid: int) -> bool:
    """Whether there is such a process. Asks psutil where there is one: os.kill ends processes on Windows."""
    if os.name == "nt":
        import psutil

        return bool(psutil.pid_exists(pid))
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
