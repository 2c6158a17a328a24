"""The process of a submission's answers, from its grader's side: starts it in its confinement and hears of it."""

from __future__ import annotations

import array
import functools
import os
import signal
import socket
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ptxlab.course.sandbox import namespaces
from ptxlab.course.sandbox.attempts import Attempts
from ptxlab.course.sandbox.isolation import Limits
from ptxlab.course.sandbox.listener import Listener
from ptxlab.course.sandbox.remote import Line
from ptxlab.course.sandbox.wire import Channel, WireError

KEPT = 2000
"""Characters of an answer's own output that are kept; the rest is read and forgotten."""
NOT_STARTED = "The process for the answers did not start: "
STARTING = 30.0
"""Seconds that a process may take to start."""
PACKAGE = Path(__file__).resolve().parents[2]
SYSTEM = (
    "/usr",
    "/lib",
    "/lib64",
    "/bin",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/alternatives",
    f"/etc/python3.{sys.version_info[1]}",
    "/sys/devices/system/cpu",
)
"""The system's libraries, and of its configuration only what a Python needs to start."""


@dataclass(frozen=True)
class Task:
    """What is to be graded: a submission's files, its exercises, and what its processes may use.

    each: seconds of one exercise; longest: seconds of the answer's own code at a stretch. way: how they are confined,
    one of `confinement.WAYS`. secrets: what they may not read wherever it lies.
    """

    files: tuple[tuple[str, bytes], ...]
    exercises: tuple[str, ...]
    folder: Path
    seed: int
    each: float = 30.0
    longest: float = 10.0
    user: int | None = None
    limits: Limits = field(default_factory=Limits)
    way: str = "layers"
    secrets: tuple[Path, ...] = ()


class Process:
    """The process of a submission's answers."""

    def __init__(self, task: Task) -> None:
        asked, question = os.pipe()
        reply, replied = os.pipe()
        hears, tells = os.pipe()
        here, there = socket.socketpair()
        folder = task.folder / "home"
        home = folder if task.way == "layers" else namespaces.HOME
        places = list(mounted(*task.secrets, task.folder.parent))
        passed = (asked, replied, tells, there.fileno())
        command = [sys.executable, "-P", "-s", "-m", "ptxlab.course.sandbox.student", *map(str, passed)]
        if task.way == "bubblewrap":
            command = namespaces.wrapped(str(namespaces.bubblewrap()), places, command)
        try:
            self.popen = subprocess.Popen(
                command,
                pass_fds=passed,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env=environment(home),
                start_new_session=True,
            )
        except OSError:
            for handle in (question, reply, hears):
                os.close(handle)
            here.close()
            raise
        finally:
            for handle in (asked, replied, tells):
                os.close(handle)
            there.close()
        self.channel = Channel(reply, question)
        self.line = Line(self.channel)
        self.output = ""
        self.attempts = Attempts()
        self.listener: Listener | None = None
        self._readers = [
            threading.Thread(target=self._keep_output, daemon=True),
            threading.Thread(target=self._note_attempts, args=(hears,), daemon=True),
        ]
        for reader in self._readers:
            reader.start()
        try:
            self.channel.send(
                {
                    "way": task.way,
                    "folder": str(folder),
                    "user": task.user,
                    "files": list(task.files),
                    "readable": [str(p) for p in readable(*task.secrets, task.folder.parent)],
                    "places": [str(p) for p in places],
                    "hidden": [str(p) for p in solutions()],
                    "limits": [task.limits.seconds, task.limits.memory, task.limits.file, task.limits.disk],
                    "fonts": list_of_fonts(),
                }
            )
            self._listen(here)
            start = self.channel.receive(STARTING)
            if "failed" in start:
                raise WireError(str(start["failed"]))
            self.in_force = [str(says) for says in start.get("in force", [])]
        except WireError as error:
            self.stop()
            why = " ".join(self.output.split()) or str(error)
            raise WireError(f"{NOT_STARTED}{why}") from None
        finally:
            here.close()

    def _listen(self, here: socket.socket) -> None:
        """Takes the listener of refused system calls. If the process cannot make one, it closes its end without."""
        here.settimeout(STARTING)
        try:
            _, given, _, _ = here.recvmsg(1, socket.CMSG_SPACE(4))
        except TimeoutError:
            raise WireError("no answer in time") from None
        for level, kind, data in given:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                self.listener = Listener(array.array("i", data)[0], self.attempts, self._end)

    def _end(self) -> None:
        try:
            os.killpg(self.popen.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def _keep_output(self) -> None:
        """Reads all that the process prints and keeps the beginning."""
        assert self.popen.stdout is not None
        while part := os.read(self.popen.stdout.fileno(), 1 << 16):
            if len(self.output) < KEPT:
                self.output = (self.output + part.decode("utf-8", "replace"))[:KEPT]

    def _note_attempts(self, hears: int) -> None:
        """Notes what the audit hook tells, a line each."""
        with open(hears, "rb") as told:
            while line := told.readline(KEPT):
                self.attempts.told(line.decode("utf-8", "replace").rstrip("\n"))

    def ask_probe(self, secret: Path) -> list[str]:
        """What the process can do of what it must not; see `Student.on_probe`."""
        self.line.ends = time.monotonic() + STARTING
        return [str(name) for name in self.line.ask("probe", secret=str(secret))["could"]]

    def ended(self) -> str:
        """How the process ended by itself, in words; "" if it has not."""
        try:
            code = self.popen.wait(1.0)
        except subprocess.TimeoutExpired:
            return ""
        number = -code if code < 0 else code - 128
        if number == getattr(signal, "SIGSYS", 0):
            return "SIGSYS, a system call of another architecture"
        if number in set(signal.Signals):
            return signal.Signals(number).name
        return f"exit status {code}"

    def stop(self) -> None:
        """Ends the process and all that it started; returns when nothing of it is left."""
        self._end()
        self.popen.wait()
        for reader in self._readers:
            reader.join(10.0)  # what it tells ends when the last of its processes has
        if self.listener is not None:
            self.listener.close()
        for handle in (self.channel.read, self.channel.write):
            os.close(handle)
        if self.popen.stdout is not None:
            self.popen.stdout.close()


@functools.cache
def list_of_fonts() -> dict[str, str]:
    """The file with matplotlib's list of the fonts that are here, its name and text. An answer that draws would make it
    anew: a second, and on a busy machine much of its time."""
    import matplotlib
    import matplotlib.font_manager as manager

    made = Path(matplotlib.get_cachedir()) / f"fontlist-v{manager.FontManager.__version__}.json"
    return {made.name: made.read_text(encoding="utf-8")} if made.is_file() else {}  # none: its folder cannot be written


def environment(home: Path) -> dict[str, str]:
    """The variables of an answer's process: nothing of the teacher's but the path to Python's packages."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "SYSTEMROOT") if name in os.environ}
    one = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    own = {
        name: str(home)
        for name in (
            "HOME",
            "TMPDIR",
            "TMP",
            "TEMP",
            "XDG_CACHE_HOME",
            "PTXLAB_CACHE",
            "MPLCONFIGDIR",
            "IPYTHONDIR",
            "JUPYTER_CONFIG_DIR",
        )
    }
    path = [str(PACKAGE.parent), *import_path()]
    return (
        kept
        | one
        | own
        | {
            "PYTHONPATH": os.pathsep.join(dict.fromkeys(path)),
            "PYTHONDONTWRITEBYTECODE": "1",
            "MPLBACKEND": "Agg",
            "PYTHONUNBUFFERED": "1",
            "PYTHONHASHSEED": "0",
            "PYTHONIOENCODING": "utf-8:backslashreplace",
        }
    )


def import_path() -> list[str]:
    """Where Python finds packages, without the folder that it was started in: submissions may lie there."""
    return [p for p in (sys.path if sys.flags.safe_path else sys.path[1:]) if p]


def all_places() -> list[Path]:
    """The places that Python needs: the system's libraries, Python itself, its packages, and ptxlab."""
    python = (sys.prefix, sys.base_prefix, *sysconfig.get_paths().values())
    packages = []
    for path in dict.fromkeys([PACKAGE.parent, *map(Path, import_path())]):
        checkout = (path / "ptxlab").is_dir() and (path / "pyproject.toml").exists()  # it has the tests and more, too
        packages.append(path / "ptxlab" if checkout else path)
    return [p for p in dict.fromkeys([*map(Path, SYSTEM), *map(Path, python), *packages]) if p.exists()]


def solutions() -> list[Path]:
    """What an answer may not read in any ptxlab that lies on the path: the solutions."""
    places = [path / "ptxlab" / "course" / "exercises" for path in (PACKAGE.parent, *map(Path, import_path()))]
    return list(dict.fromkeys(place.resolve() for place in places if place.is_dir()))


def readable(*secrets: Path) -> Iterator[Path]:
    """What an answer may read: `all_places` without the solutions and other secrets; where something secret lies in
    one, what lies in it besides."""
    hidden = [s.resolve() for s in (*solutions(), *secrets)]
    for place in sorted({p.resolve() for p in (*all_places(), *map(Path, namespaces.DEVICES))}):
        yield from _without(place, hidden)


def mounted(*secrets: Path) -> Iterator[Path]:
    """What is mounted into an answer's namespaces: `all_places`, as they are named and as they really are. The
    solutions, which lie in one of them, get something mounted over them."""
    hidden = [s.resolve() for s in secrets]
    for place in all_places():
        if any(s.is_relative_to(place.resolve()) for s in hidden):
            yield from _without(place.resolve(), hidden)
        else:
            yield from (place, place.resolve())


def _without(place: Path, secrets: Sequence[Path]) -> Iterator[Path]:
    within = [s for s in secrets if s.is_relative_to(place)]
    if not within:
        if not any(place.is_relative_to(s) for s in secrets):
            yield place
    elif place not in within:
        for child in sorted(place.iterdir()):
            if not child.is_symlink():
                yield from _without(child, within)
