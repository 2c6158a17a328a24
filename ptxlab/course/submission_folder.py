"""What was handed in: the submissions in a folder, each file read once, before any of them runs.

Nothing in such a folder is trusted either: names that are not text, pipes in the place of files, links, folders without
permissions or nested without end are said in a note and cost that submission alone.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ptxlab.course.feedback import catalogue
from ptxlab.course.sandbox.submission import exercises_named
from ptxlab.errors import PtxlabError

LARGEST = 20 << 20
"""Bytes of a submission's files; a larger one is not read."""
ENTRIES, DEPTH = 10_000, 32
"""Files and folders that are looked at in a submission's folder, and how deep they may lie."""
SUFFIXES = (".ipynb", ".py")


@dataclass(frozen=True)
class Handed:
    """A submission as it lies in the folder: its files, read before anything runs, or why there are none."""

    student: str
    files: tuple[tuple[str, bytes], ...]
    note: str = ""


class _NotRead(Exception):
    """Why a submission is not graded."""


def shown(name: str) -> str:
    """A file's name as text that can be printed and written: bytes that are no UTF-8, and signs that a terminal would
    obey, as escapes."""
    text = os.fsencode(name).decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def collect(folder: Path) -> list[Handed]:
    """The submissions in a folder, each file read once, before any of them runs."""
    if not folder.is_dir():
        raise PtxlabError(f"{folder}: there is no such folder of submissions")
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise PtxlabError(f"{folder} cannot be read: {error.strerror}") from None
    found = [_handed(entry) for entry in entries if _is_submission(entry)]
    if not found:
        raise PtxlabError(f"{folder}: no submission in it; a submission is a .ipynb or .py file, or a folder of them")
    names = [h.student for h in found]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise PtxlabError(f"{folder}: two submissions of {', '.join(twice)}; put the files of a student into a folder")
    return found


def _is_submission(entry: os.DirEntry[str]) -> bool:
    suffix = os.path.splitext(entry.name)[1]
    return not entry.name.startswith((".", "_")) and (
        suffix in SUFFIXES or entry.is_symlink() or entry.is_dir(follow_symlinks=False)
    )


def _handed(entry: os.DirEntry[str]) -> Handed:
    whole = entry.is_dir(follow_symlinks=False)
    student = shown(entry.name if whole else os.path.splitext(entry.name)[0])
    try:
        if entry.is_symlink():
            raise _NotRead(f"{shown(entry.name)} is a link; links are not followed")
        files, left = [], LARGEST
        for name, path in sorted(_inside(entry.path)) if whole else [(entry.name, entry.path)]:
            files.append((shown(os.path.basename(name)), _read(path, left)))
            left -= len(files[-1][1])
        return Handed(student, tuple(files), "" if files else "there is no .ipynb or .py file in it")
    except _NotRead as why:
        return Handed(student, (), str(why))


def _inside(folder: str) -> Iterator[tuple[str, str]]:
    """The notebooks and Python files in a folder, with their paths."""
    waiting, seen = [(folder, 0)], 0
    while waiting:
        place, depth = waiting.pop()
        try:
            entries = list(os.scandir(place))
        except OSError as error:
            raise _NotRead(f"the folder {shown(os.path.basename(place))} cannot be read: {error.strerror}") from None
        for entry in entries:
            seen += 1
            if seen > ENTRIES:
                raise _NotRead(f"there are more than {ENTRIES:,} files in it")
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                if depth == DEPTH:
                    raise _NotRead(f"folders in it are nested more than {DEPTH} deep")
                waiting.append((entry.path, depth + 1))
            elif os.path.splitext(entry.name)[1] in SUFFIXES and entry.is_file(follow_symlinks=False):
                yield os.path.relpath(entry.path, folder), entry.path


def _read(path: str, most: int) -> bytes:
    """A file's bytes, if it is one: not a pipe that would never end, nor a device."""
    name = shown(os.path.basename(path))
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
        with open(handle, "rb") as file:
            about = os.fstat(handle)
            if not stat.S_ISREG(about.st_mode):
                raise _NotRead(f"{name} is not a file")
            if about.st_size > most:
                raise _NotRead(f"{name} has {about.st_size:,} bytes; at most {LARGEST:,} are read of a submission")
            return file.read(most + 1)[:most]
    except OSError as error:
        raise _NotRead(f"{name} cannot be read: {error.strerror}") from None


def choose(handed: Sequence[Handed], wanted: Sequence[str]) -> tuple[str, ...]:
    """The exercises to grade, in reading order."""
    known = catalogue()
    if wanted:
        unknown = [w for w in wanted if not any(name.startswith(w) for name in known)]
        if unknown:
            raise PtxlabError(f"there is no exercise {unknown[0]!r}; choose from {', '.join(known)}")
        return tuple(name for name in known if any(name.startswith(w) for w in wanted))
    named = set().union(*(exercises_named(raw) for h in handed for _, raw in h.files))
    chosen = tuple(name for name in known if name in named)
    if not chosen:
        raise PtxlabError("no submission has a cell for an exercise; name them, such as --exercises 01")
    return chosen
