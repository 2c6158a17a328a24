"""Landlock (Linux 5.13): which files this process may open, whoever it runs as; the kernel enforces it."""

from __future__ import annotations

import ctypes
import os
import stat
import struct
import sys
from collections.abc import Sequence
from pathlib import Path

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same on every architecture
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE = 1, 2, 4, 8, 1 << 14
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
"""Rights on files that a version of Landlock knows: the lowest bits. From version 5 on there are 16."""


def version() -> int:
    """The version of the kernel's Landlock; 0 where there is none."""
    if sys.platform != "linux":
        return 0
    return max(0, int(ctypes.CDLL(None).syscall(_CREATE, None, 0, 1)))


def handled(version: int) -> tuple[int, ...]:
    """What a version is asked to take away: rights on files, on TCP ports (binding, connecting), and what may go out of
    the process (to abstract Unix sockets, signals)."""
    files = (1 << _FILE_RIGHTS.get(version, 16)) - 1
    return (files, *((3,) if version >= 4 else ()), *((3,) if version >= 6 else ()))


def restrict(folder: Path, readable: Sequence[Path]) -> bool:
    """Allows everything in `folder` and reading in `readable`, nothing else; no signal leaves this process where the
    kernel can see to that (version 6). Whether it is in force."""
    libc, there = ctypes.CDLL(None, use_errno=True), version()
    if not there:
        return False
    words = handled(there)
    access = words[0]
    ruleset = libc.syscall(
        _CREATE, ctypes.create_string_buffer(struct.pack(f"={len(words)}Q", *words)), 8 * len(words), 0
    )
    if ruleset < 0:
        return False
    rules = [(path, _EXECUTE | _READ_FILE | _READ_DIR) for path in readable]
    rules += [(folder, access), (Path("/dev/null"), _READ_FILE | _WRITE_FILE | _TRUNCATE)]
    try:
        for path, allowed in rules:
            try:
                handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except OSError:  # not there, or not for this user
                continue
            if not stat.S_ISDIR(os.fstat(handle).st_mode):
                allowed &= _EXECUTE | _READ_FILE | _WRITE_FILE | _TRUNCATE
            rule = ctypes.create_string_buffer(struct.pack("=Qi", allowed & access, handle))
            failed = libc.syscall(_ADD, ruleset, 1, rule, 0)
            os.close(handle)
            if failed:
                return False
        return not libc.syscall(_RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)
