"""Folders that somebody else has filled: how much lies in one, and how to delete it, whatever is in it.

A submission may nest folders deeper than Python can recurse or a path can be long, take all permissions from them, and
give them names that are no text. So nothing here recurses or builds a path: a folder is emptied by moving the
folders in it up to its own level.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path


def size(folder: Path, most: int, entries: int) -> tuple[int, int]:
    """Bytes and number of the files in a folder, as far as they can be seen. It stops counting above `most` bytes or
    `entries` files."""
    found = number = 0
    waiting = [os.fsencode(folder)]
    while waiting:
        place = waiting.pop()
        try:
            inside = os.scandir(place)
        except OSError:  # gone in the meantime, without permissions, or deeper than a path can be long
            continue
        with inside:
            for entry in inside:
                number += 1
                try:
                    found += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                except OSError:  # gone in the meantime
                    continue
                if found > most or number > entries:
                    return found, number
    return found, number


def remove(folder: Path) -> str:
    """Deletes a folder with all that is in it; "", or why something is left. Nobody may be working in it any more."""
    try:
        os.chmod(folder, 0o700)
        top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"{folder} could not be deleted: {error.strerror}"
    try:
        _empty(top)
        os.rmdir(folder)
    except OSError as error:
        return f"{folder} could not be deleted: {error.strerror}"
    finally:
        os.close(top)
    return ""


def _empty(top: int) -> None:
    """Empties an open folder: files go, and what lies in a folder's folder comes up to be dealt with here."""
    moved = 0
    folders = _without_files(top)
    while folders:
        name = folders.pop()
        os.chmod(name, 0o700, dir_fd=top)
        inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
        try:
            for below in _without_files(inner):
                moved += 1
                up = f".{moved}.{os.getpid()}".encode()
                os.chmod(below, 0o700, dir_fd=inner)  # a folder is moved by whoever may write to it
                os.rename(below, up, src_dir_fd=inner, dst_dir_fd=top)
                folders.append(up)
        finally:
            os.close(inner)
        os.rmdir(name, dir_fd=top)


def _without_files(folder: int) -> list[bytes]:
    """Deletes what is no folder in an open folder; the names of the folders."""
    folders = []
    for name in map(os.fsencode, os.listdir(folder)):
        if stat.S_ISDIR(os.lstat(name, dir_fd=folder).st_mode):
            folders.append(name)
        else:
            os.unlink(name, dir_fd=folder)
    return folders
