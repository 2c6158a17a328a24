"""What the process of an answer may not do: resource limits, another user, no signals, no writing outside its folder.

Everything here is Linux without privileges, but for the change of user, which root can do. `confine` returns what is in
force, in words, for the report: a machine that cannot do one thing still does the others.
"""

from __future__ import annotations

import ctypes
import os
import platform
import stat
import struct
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

FIRST_USER, USERS = 30_000, 30_000
"""The user ids that submissions get, where root grades."""


@dataclass(frozen=True)
class Limits:
    """seconds: processor time of a process. memory, file, disk: bytes (address space, largest file, all files)."""

    seconds: int = 60
    memory: int = 3 << 30
    file: int = 16 << 20
    disk: int = 256 << 20


OWN = ("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/sys")
"""What a process may know of itself and of the machine."""


def limit(limits: Limits) -> str:
    """Sets the resource limits of this process and of what it starts; "" where the system has none."""
    try:
        import resource
    except ImportError:  # Windows
        return ""
    wanted = [(resource.RLIMIT_CPU, limits.seconds), (resource.RLIMIT_FSIZE, limits.file), (resource.RLIMIT_CORE, 0),
              (resource.RLIMIT_NOFILE, 256)]  # fmt: skip
    if sys.platform == "linux":  # macOS does not keep RLIMIT_AS
        wanted.append((resource.RLIMIT_AS, limits.memory))
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


def confine(folder: Path, user: int | None, readable: Sequence[Path]) -> list[str]:
    """Takes from this process what an answer has no use for; what is in force, in words. It cannot be undone.

    folder: the only place it may write to. user: the user to become (root only). readable: what it may read besides.
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
    libc.prctl(1, 9, 0, 0, 0)  # PR_SET_PDEATHSIG: if the grader dies, so does the answer
    if libc.prctl(38, 1, 0, 0, 0):  # PR_SET_NO_NEW_PRIVS
        return done
    if _landlock(libc, folder, readable):
        done.append("files: its own folder only")
    if _seccomp(libc):
        done.append("no other processes, signals or network")
    return done


def hide() -> None:
    """Keeps processes of the same user out of this one's memory and files (/proc)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE


def user_for(number: int, readable: Iterable[Path]) -> int | None:
    """A user id for the processes of one submission; None where that cannot be: only root can, and only if others may
    read Python and its packages."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return None
    for path in readable:
        if not all(p.stat().st_mode & 0o001 for p in (path, *path.parents) if p.is_dir()):
            return None
    return FIRST_USER + number % USERS


def _drop_capabilities(libc: ctypes.CDLL) -> None:
    """Takes from root what makes it more than a user that owns some files."""
    number = {"x86_64": 126, "aarch64": 91}.get(platform.machine())
    if number is not None and os.geteuid() == 0:
        head = ctypes.create_string_buffer(struct.pack("=II", 0x20080522, 0))
        libc.syscall(number, head, ctypes.create_string_buffer(24))


# -- files -------------------------------------------------------------------------------------------------------------

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_ALL_ACCESS = {1: (1 << 13) - 1, 2: (1 << 14) - 1}


def _landlock(libc: ctypes.CDLL, folder: Path, readable: Sequence[Path]) -> bool:
    """Landlock (Linux 5.13): everything in `folder`, reading in `readable`, nothing else."""
    abi = libc.syscall(444, None, 0, 1)
    if abi < 1:
        return False
    access = _ALL_ACCESS.get(abi, (1 << 15) - 1)
    ruleset = libc.syscall(444, ctypes.byref(ctypes.c_uint64(access)), 8, 0)
    if ruleset < 0:
        return False
    rules = [(path, _EXECUTE | _READ_FILE | _READ_DIR) for path in (*readable, *map(Path, OWN))]
    rules += [(folder, access), (Path("/dev/null"), _READ_FILE | _WRITE_FILE)]
    try:
        for path, allowed in rules:
            try:
                handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except OSError:  # not there, or not for this user
                continue
            if not stat.S_ISDIR(os.fstat(handle).st_mode):
                allowed &= _EXECUTE | _READ_FILE | _WRITE_FILE
            rule = ctypes.create_string_buffer(struct.pack("=Qi", allowed & access, handle))
            failed = libc.syscall(445, ruleset, 1, rule, 0)
            os.close(handle)
            if failed:
                return False
        return not libc.syscall(446, ruleset, 0)
    finally:
        os.close(ruleset)


# -- system calls ------------------------------------------------------------------------------------------------------

_MACHINES = {
    # architecture of the audit, clone, clone3, refused system calls
    "x86_64": (0xC000003E, 56, 435, {
        "kill": 62, "tkill": 200, "tgkill": 234, "pidfd_send_signal": 424, "rt_sigqueueinfo": 129,
        "rt_tgsigqueueinfo": 297, "fork": 57, "vfork": 58, "execve": 59, "execveat": 322, "ptrace": 101,
        "process_vm_readv": 310, "process_vm_writev": 311, "socket": 41, "socketpair": 53, "setsid": 112,
        "setpgid": 109, "io_uring_setup": 425, "bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "mount": 165,
        "unshare": 272, "setns": 308, "keyctl": 250, "prlimit64": 302, "setpriority": 141, "sched_setaffinity": 203,
        "pidfd_open": 434, "pidfd_getfd": 438, "setrlimit": 160,
        "shmget": 29, "semget": 64, "msgget": 68,
    }),
    "aarch64": (0xC00000B7, 220, 435, {
        "kill": 129, "tkill": 130, "tgkill": 131, "pidfd_send_signal": 424, "rt_sigqueueinfo": 138,
        "rt_tgsigqueueinfo": 240, "execve": 221, "execveat": 281, "ptrace": 117, "process_vm_readv": 270,
        "process_vm_writev": 271, "socket": 198, "socketpair": 199, "setsid": 157, "setpgid": 154,
        "io_uring_setup": 425, "bpf": 280, "perf_event_open": 241, "userfaultfd": 282, "mount": 40, "unshare": 97,
        "setns": 268, "keyctl": 219, "prlimit64": 261, "setpriority": 140, "sched_setaffinity": 122, "pidfd_open": 434,
        "pidfd_getfd": 438, "setrlimit": 164,
        "shmget": 194, "semget": 190, "msgget": 186,
    }),
}  # fmt: skip
_ALLOW, _EPERM, _ENOSYS, _KILL = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000
_CLONE_THREAD = 0x00010000


def _seccomp(libc: ctypes.CDLL) -> bool:
    """A seccomp filter: threads may be made, processes and signals to others may not, nor sockets."""
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        return False
    audit, clone, clone3, refused = machine
    load, equal, jump_set, give = 0x20, 0x15, 0x45, 0x06  # BPF: load a word, jump if equal, jump if bit set, return
    program = [(load, 0, 0, 4), (equal, 1, 0, audit), (give, 0, 0, _KILL), (load, 0, 0, 0)]
    if audit == 0xC000003E:
        program += [(0x35, 0, 1, 0x40000000), (give, 0, 0, _EPERM)]  # the x32 calls have other numbers
    for number in refused.values():
        program += [(equal, 0, 1, number), (give, 0, 0, _EPERM)]
    program += [(equal, 0, 1, clone3), (give, 0, 0, _ENOSYS)]  # its flags cannot be read here: clone is used instead
    program += [(equal, 0, 3, clone), (load, 0, 0, 16), (jump_set, 1, 0, _CLONE_THREAD), (give, 0, 0, _EPERM)]
    program += [(give, 0, 0, _ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *op) for op in program))
    head = ctypes.create_string_buffer(struct.pack("@HxxxxxxP", len(program), ctypes.addressof(code)))
    number = 317 if audit == 0xC000003E else 277
    return not libc.syscall(number, 1, 1, head)  # SECCOMP_SET_MODE_FILTER for all threads
