"""What the process of an answer may not do: `confine` takes it away for good, layer upon layer.

Resource limits, a user of its own (where root grades), no privileges, Landlock for files, seccomp for system calls.
Each layer works without the others, and what is in force is returned in words. `namespaces` is the layer around them.
"""

from __future__ import annotations

import array
import ctypes
import os
import select
import socket
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ptxlab.course.sandbox import landlock, seccomp


@dataclass(frozen=True)
class Limits:
    """seconds: processor time of a process. memory, file, disk: bytes (address space, largest file, all files)."""

    seconds: int = 60
    memory: int = 3 << 30
    file: int = 16 << 20
    disk: int = 256 << 20


OWN = (
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/vm/overcommit_memory",
)
"""What a process may know of itself and of the machine."""


def limit(limits: Limits) -> str:
    """Sets the resource limits of this process and of what it starts; "" where the system has none."""
    try:
        import resource
    except ImportError:  # Windows
        return ""
    wanted = [
        (resource.RLIMIT_CPU, limits.seconds),
        (resource.RLIMIT_FSIZE, limits.file),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 256),
    ]
    if sys.platform == "linux":  # macOS does not keep RLIMIT_AS
        wanted += [
            (resource.RLIMIT_AS, limits.memory),
            (resource.RLIMIT_MEMLOCK, 0),
            (resource.RLIMIT_MSGQUEUE, 0),
            (resource.RLIMIT_SIGPENDING, 64),
        ]
    for which, most in wanted:
        hard = resource.getrlimit(which)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(which, (most, most))
    return "processor time, memory and file size limited"


def limit_memory(most: int) -> None:
    """Limits what this process may add to its address space: a kernel may declare any amount of memory.

    What it starts with, which may be more than the limit where a notebook does the grading, is not its own doing.
    """
    if sys.platform == "linux":
        import resource

        there = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (there + most, resource.getrlimit(resource.RLIMIT_AS)[1]))


def confine(folder: Path, user: int | None, readable: Sequence[Path], says: socket.socket | None = None) -> list[str]:
    """Takes from this process what an answer has no use for; what is in force, in words. It cannot be undone.

    folder: the only place it may write to. user: the user to become (root only). readable: what it may read besides.
    says: a Unix socket to send the listener of refused system calls through.
    """
    done = []
    if user is not None:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
        done.append("a user of its own")
    if sys.platform != "linux":
        return done
    libc = ctypes.CDLL(None, use_errno=True)
    _drop_capabilities(libc)
    die_with_parent()
    if says is not None and _hung_up(says):  # it ended before this process asked to end with it
        os._exit(1)
    if libc.prctl(38, 1, 0, 0, 0):  # PR_SET_NO_NEW_PRIVS
        return done
    alone = len(os.listdir("/proc/self/task")) == 1  # Landlock is for the thread that asks, and those it starts
    if alone and landlock.restrict(folder, [*readable, *map(Path, OWN)]):
        done.append(f"files: its own folder only (Landlock {landlock.version()})")
    if seccomp.library():
        says_at, listener = -1 if says is None else says.fileno(), -1
        if says is not None:
            listener = seccomp.install(notify=True, says=says_at)
        if says is not None and listener >= 0:  # from here on a refused call waits until somebody listens
            given = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [listener]))
            says.sendmsg([b"x"], [given])
            os.close(listener)
            done.append("no other processes, signals or network (seccomp, system calls by allow-list, refusals noted)")
        elif seccomp.install(notify=False, says=says_at) == 0:
            done.append("no other processes, signals or network (seccomp, system calls by allow-list)")
    return done


def hide() -> None:
    """Keeps processes of the same user out of this one's memory and files (/proc)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE


def die_with_parent() -> None:
    """Ends this process when the one that started it ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)  # PR_SET_PDEATHSIG


def _hung_up(line: socket.socket) -> bool:
    """Whether nobody is at the other end of a socket any more."""
    poll = select.poll()
    poll.register(line, 0)  # that the other end is closed is told without being asked for
    return bool(poll.poll(0))


def _drop_capabilities(libc: ctypes.CDLL) -> None:
    """Takes all capabilities, of root or of a namespace, from this process."""
    if hasattr(libc, "capset"):
        head = ctypes.create_string_buffer(struct.pack("=II", 0x20080522, 0))  # _LINUX_CAPABILITY_VERSION_3
        libc.capset(head, ctypes.create_string_buffer(24))
