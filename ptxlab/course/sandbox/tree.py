"""Folders that somebody else has filled: how much lies in one, and how to delete it, whatever is in it.

A submission may nest folders deeper than Python can recurse or a path can be long, take all permissions from them, and
give them names that are not text. So nothing here recurses or builds a path.
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
    """Empties an open folder: goes down a folder at a time and comes back up by "..", so two are open at most."""
    here = os.dup(top)
    above: list[tuple[bytes, list[bytes]]] = []  # the name of each folder on the way, and its siblings still to do
    folders = _without_files(here)
    try:
        while folders or above:
            if folders:
                name = folders.pop()
                os.chmod(name, 0o700, dir_fd=here)
                inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
                above.append((name, folders))
                os.close(here)
                here = inner
                folders = _without_files(here)
            else:
                name, folders = above.pop()
                outer = os.open("..", os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
                os.close(here)
                here = outer
                os.rmdir(name, dir_fd=here)
    finally:
        os.close(here)


def _without_files(folder: int) -> list[bytes]:
    """Deletes what is not a folder in an open folder; the names of the folders."""
    folders = []
    for name in map(os.fsencode, os.listdir(folder)):
        if stat.S_ISDIR(os.lstat(name, dir_fd=folder).st_mode):
            folders.append(name)
        else:
            os.unlink(name, dir_fd=folder)
    return folders
