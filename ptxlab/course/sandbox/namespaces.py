"""A machine of its own for an answer's process: namespaces made by bubblewrap where it is installed, or by the process.

In it there is one process, no network, an empty folder in memory to write to, and read-only the places that Python
needs. Other submissions, the grader and the rest of the disk do not exist there, and when the process ends, nothing is
left that would have to be deleted.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import stat
import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

HOME = Path("/student")
"""The folder of an answer's process, inside."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
FILES = 20_000
"""Files and folders that an answer may make."""

_NEWNS, _NEWUTS, _NEWIPC, _NEWUSER, _NEWPID, _NEWNET = 1 << 17, 1 << 26, 1 << 27, 1 << 28, 1 << 29, 1 << 30
_RDONLY, _NOSUID, _NODEV, _NOEXEC, _BIND, _REC, _PRIVATE = 1, 2, 4, 8, 1 << 12, 1 << 14, 1 << 18
_DETACH, _RECURSIVE, _AT_FDCWD, _MOUNT_SETATTR = 2, 0x8000, -100, 442


def bubblewrap() -> str | None:
    """The path of `bwrap`; None where it is not installed."""
    return shutil.which("bwrap") if sys.platform == "linux" else None


def wrapped(bwrap: str, places: Sequence[Path], command: Sequence[str]) -> list[str]:
    """A command in namespaces of bubblewrap's, with the right to mount `own_folders`, which it gives up afterwards."""
    root = os.geteuid() == 0
    made = [bwrap, *(() if root else ("--unshare-user",)), "--unshare-pid", "--unshare-net", "--unshare-ipc",
            "--unshare-uts", "--unshare-cgroup-try", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
            "--cap-add", "CAP_SYS_ADMIN"]  # fmt: skip
    if root:  # it becomes a user of its own instead of living in a user namespace
        made += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_DAC_READ_SEARCH"]
    mounted = outermost(places)
    within = set(mounted)
    above = {folder for place in (*mounted, HOME) for folder in place.parents}
    for folder in sorted(above):  # what bubblewrap makes by itself may be closed to other users
        if not within.intersection((folder, *folder.parents)):
            made += ["--dir", str(folder)]
    for place in mounted:
        made += ["--ro-bind", str(place), str(place)]
    for device in DEVICES:
        made += ["--dev-bind", device, device]
    made += ["--proc", "/proc", "--dir", str(HOME), "--remount-ro", "/", "--chdir", "/", "--"]
    return [*made, *command]


def outermost(places: Sequence[Path]) -> list[Path]:
    """The places that lie in no other one, as they are named and as they really are."""
    found: list[Path] = []
    for place in sorted({q for p in places if p.exists() for q in (p, p.resolve())}):  # a folder, then what lies in it
        if not found or not place.is_relative_to(found[-1]):
            found.append(place)
    return found


def enter(places: Sequence[Path], root: Path) -> None:
    """Puts this process into namespaces of its own; OSError where the system does not allow that.

    It goes on as a child, the first process of its namespace; what called waits for it and ends as it does. root: an
    empty folder to build the new root on.
    """
    flags = _NEWNS | _NEWUTS | _NEWIPC | _NEWPID | _NEWNET
    user, group = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)
    _done(libc.unshare(flags | (0 if user == 0 else _NEWUSER)), "unshare")
    if user:
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")
    child = os.fork()
    if child:
        _follow(libc, child)
    libc.prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
    _mount(libc, None, Path("/"), None, _REC | _PRIVATE)
    _mount(libc, "tmpfs", root, "tmpfs", _NOSUID, "size=1m,mode=755")
    for place in (*outermost(places), *map(Path, DEVICES)):
        inside = root / place.relative_to("/")
        if stat.S_ISDIR(place.stat().st_mode):
            inside.mkdir(parents=True, exist_ok=True)
        else:
            inside.parent.mkdir(parents=True, exist_ok=True)
            inside.touch()
        _mount(libc, str(place), inside, None, _BIND | _REC)
        _read_only(libc, inside, recursive=True, devices=str(place) in DEVICES)
    (root / "proc").mkdir()
    _mount(libc, "proc", root / "proc", "proc", _RDONLY | _NOSUID | _NODEV | _NOEXEC)
    (root / HOME.relative_to("/")).mkdir(parents=True)
    os.chdir(root)
    _done(libc.pivot_root(b".", b"."), "pivot_root")
    _done(libc.umount2(b".", _DETACH), "umount2")
    os.chdir("/")
    _read_only(libc, Path("/"), recursive=False, devices=True)


def own_folders(hidden: Sequence[Path], size: int, user: int | None) -> None:
    """Inside: mounts the folder to write to, in memory, and an empty one over each place that is not to be seen."""
    libc = ctypes.CDLL(None, use_errno=True)
    owner = os.geteuid() if user is None else user
    own = f"size={size},nr_inodes={FILES},mode=700,uid={owner},gid={os.getegid() if user is None else user}"
    _mount(libc, "tmpfs", HOME, "tmpfs", _NOSUID | _NODEV | _NOEXEC, own)
    for place in hidden:
        if place.is_dir():
            _mount(libc, "tmpfs", place, "tmpfs", _RDONLY | _NOSUID | _NODEV | _NOEXEC, "size=4k,mode=000")


def _mount(libc: ctypes.CDLL, source: str | None, at: Path, kind: str | None, flags: int, data: str = "") -> None:
    raw = None if source is None else os.fsencode(source)
    failed = libc.mount(raw, os.fsencode(at), None if kind is None else kind.encode(), flags, data.encode() or None)
    _done(failed, f"mount {at}")


def _read_only(libc: ctypes.CDLL, at: Path, *, recursive: bool, devices: bool) -> None:
    """mount_setattr (Linux 5.12): a mount, with those below it, is read-only from now on."""
    attributes = struct.pack("=4Q", _RDONLY | _NOSUID | (0 if devices else _NODEV), 0, 0, 0)
    below = _RECURSIVE if recursive else 0
    failed = libc.syscall(
        _MOUNT_SETATTR, _AT_FDCWD, os.fsencode(at), below, ctypes.create_string_buffer(attributes), 32
    )
    _done(failed, f"mount_setattr {at}")


def _done(failed: int, what: str) -> None:
    if failed:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _follow(libc: ctypes.CDLL, child: int) -> NoReturn:
    """Waits for a child and ends as it did; it is ended with this process."""
    libc.prctl(1, signal.SIGKILL, 0, 0, 0)
    os.closerange(0, 256)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os._exit(status if status >= 0 else 128 - status)
