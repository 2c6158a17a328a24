"""What an answer tried and was refused, in words for the teacher: kept by the grader, or told by an audit hook.

The kernel refuses. It also tells the names of refused system calls (`listener`). Which file outside was asked for only
Python knows: an audit hook in the answer's process tells it, which a hostile program can avoid.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Any

SHOWN = 4
"""Examples of each kind that are kept."""
KINDS = {
    "process": "fork vfork clone execve execveat ptrace process_vm_readv process_vm_writev pidfd_open pidfd_getfd "
    "setns unshare kcmp process_madvise process_mrelease setsid setpgid getpgid getsid prlimit64 setrlimit",
    "signal": "kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_send_signal timer_create timer_settime "
    "mq_open mq_notify signalfd signalfd4",
    "network": "socket socketpair connect bind listen accept accept4 sendto sendmsg sendmmsg recvfrom recvmsg recvmmsg "
    "shutdown getsockname getpeername setsockopt getsockopt",
    "permissions": "chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes futimesat utimensat "
    "setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr setxattrat removexattrat "
    "file_setattr setuid setgid setreuid setregid setresuid setresgid setgroups setfsuid setfsgid "
    "capset",
    "file outside": "truncate mount umount2 pivot_root chroot open_by_handle_at name_to_handle_at "
    "open_tree move_mount fsopen fsmount flock inotify_add_watch fanotify_init mount_setattr",
    "memory": "memfd_create memfd_secret shmget shmat semget msgget add_key request_key keyctl userfaultfd",
}
_KIND = {call: kind for kind, calls in KINDS.items() for call in calls.split()}
_FCNTL = {4: "F_SETFL O_ASYNC", 5: "F_GETLK", 6: "F_SETLK", 7: "F_SETLKW", 8: "F_SETOWN", 9: "F_GETOWN",
          10: "F_SETSIG", 11: "F_GETSIG", 15: "F_SETOWN_EX", 36: "F_OFD_GETLK", 37: "F_OFD_SETLK", 38: "F_OFD_SETLKW",
          1024: "F_SETLEASE", 1026: "F_NOTIFY", 1031: "F_SETPIPE_SZ", 1033: "F_ADD_SEALS"}  # fmt: skip
_IOCTL = {
    0x5452: "FIOASYNC",
    0x8901: "FIOSETOWN",
    0x8902: "SIOCSPGRP",
    0x5412: "TIOCSTI",
    0x40086602: "FS_IOC_SETFLAGS",
}
_SIGNAL_FCNTL, _SIGNAL_IOCTL = (4, 8, 9, 10, 11, 15, 1024, 1026), (0x5452, 0x8901, 0x8902)


class Attempts:
    """Refused attempts: kind -> the first examples of it."""

    def __init__(self) -> None:
        self.found: dict[str, list[str]] = {}

    def add(self, kind: str, what: str) -> None:
        """Notes one."""
        shown = self.found.setdefault(kind, [])
        if what not in shown and len(shown) < SHOWN:
            shown.append(what)

    def call(self, name: str, arguments: list[int]) -> None:
        """Notes a refused system call."""
        kind = _KIND.get(name, "system call")
        if name == "fcntl":
            command = arguments[1] & 0xFFFFFFFF
            kind = (
                "signal" if command in _SIGNAL_FCNTL else "file outside" if command in (5, 6, 7, 36, 37, 38) else kind
            )
            name = f"fcntl {_FCNTL.get(command, command)}"
        elif name == "ioctl":
            command = arguments[1] & 0xFFFFFFFF
            kind = "signal" if command in _SIGNAL_IOCTL else "permissions" if command == 0x40086602 else kind
            name = f"ioctl {_IOCTL.get(command, hex(command))}"
        elif name == "prctl":
            name = f"prctl {arguments[0] & 0xFFFFFFFF}"
        self.add(kind, name)

    def told(self, line: str) -> None:
        """Notes what the audit hook told: a kind and an example. It comes from the answer's process, so it is text."""
        kind, _, what = line.partition("\t")
        if kind in (*KINDS, "system call") and what:
            self.add(kind, "".join(c if c.isprintable() else "?" for c in what[:120]))

    def words(self) -> list[str]:
        """One phrase for each kind."""
        return [f"{kind} ({', '.join(shown)})" for kind, shown in sorted(self.found.items())]


_PROCESS = {"os.fork": "fork", "os.forkpty": "fork", "os.exec": "execve", "os.posix_spawn": "execve",
            "os.system": "execve", "subprocess.Popen": "execve", "os.spawn": "execve"}  # fmt: skip
_READ = ("os.listdir", "os.scandir", "os.walk", "os.chdir")
_WRITE = {"os.remove": 1, "os.rename": 2, "os.mkdir": 1, "os.rmdir": 1, "os.link": 2, "os.symlink": 2, "os.truncate": 1,
          "shutil.rmtree": 1, "os.chmod": 1, "os.chown": 1, "os.utime": 1, "os.setxattr": 1, "os.removexattr": 1,
          "os.getxattr": 1, "os.listxattr": 1}  # fmt: skip
_PERMISSIONS = ("os.chmod", "os.chown", "os.utime", "os.setxattr", "os.removexattr")


def watch(handle: int, home: str, readable: Iterable[str], listed: Iterable[str], *, kernel: bool) -> None:
    """Adds an audit hook to this process that writes attempts at files outside to a pipe, a few of each kind.

    listed: folders that importing looks into. kernel: refused system calls are told by the kernel, so not by the hook.
    """
    inside = tuple(readable)
    known = {*listed, *inside}
    own = (home, "/proc/self", f"/proc/{os.getpid()}")
    os.set_blocking(handle, False)
    realpath, fspath, write, fsdecode = os.path.realpath, os.fspath, os.write, os.fsdecode
    told: dict[str, int] = {}
    busy = [False]

    def under(path: str, places: Iterable[str]) -> bool:
        return any(path == place or path.startswith(place.rstrip("/") + "/") for place in places)

    def cached(path: str) -> bool:  # importing looks for them whether they are there or not
        folder, name = path.rsplit("/", 1)
        return folder.endswith("/__pycache__") and name.endswith(".pyc") and folder[: -len("/__pycache__")] in known

    def tell(kind: str, what: str) -> None:
        told[kind] = told.get(kind, 0) + 1
        if told[kind] > 4 * SHOWN:
            return
        line = f"{kind}\t{what[:200]}".replace("\n", " ").encode("utf-8", "backslashreplace") + b"\n"
        try:
            write(handle, line)
        except OSError:  # the pipe is full or closed: the attempt is refused all the same, only not named
            told[kind] = 1 << 30

    def path_of(given: Any) -> str | None:
        if not isinstance(given, str | bytes | os.PathLike):
            return None
        try:
            return realpath(fsdecode(fspath(given)))
        except (ValueError, TypeError, OSError):  # no path that the system would take
            return None

    def look(event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            flags = args[2] if isinstance(args[2], int) else 0
            path = path_of(args[0])
            if path is None or under(path, own):
                return
            if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC):
                if path != "/dev/null":
                    tell("file outside", path)
            elif not under(path, inside) and path not in known and not cached(path):
                tell("file outside", path)
        elif event in _READ:
            path = path_of(args[0] if args[0] is not None else ".")
            if path is not None and not under(path, (*own, *inside)) and path not in known:
                tell("file outside", path)
        elif event in _WRITE:
            for given in args[: _WRITE[event]]:
                path = path_of(given)
                if path is not None and not under(path, (home,)):
                    tell("file outside", path)
            if event in _PERMISSIONS and not kernel:
                tell("permissions", event)
        elif event == "import" and f"{args[0]}.".startswith("ptxlab.course.exercises."):
            tell("file outside", f"the solutions ({args[0]})")
        elif not kernel and event in _PROCESS:
            tell("process", _PROCESS[event])
        elif not kernel and event in ("os.kill", "os.killpg", "signal.pthread_kill"):
            tell("signal", event.split(".")[1])
        elif not kernel and event == "socket.__new__":
            tell("network", "socket")

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if not busy[0]:
            busy[0] = True
            try:
                look(event, args)
            finally:
                busy[0] = False

    sys.addaudithook(hook)
