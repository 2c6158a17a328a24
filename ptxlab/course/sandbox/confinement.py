"""What keeps submissions apart on this machine: tried out before the first of them runs, not taken for granted.

A process like that of an answer is started in the strictest way there is and attempts what an answer must not do. What
it could do, or what the strictest way is not possible for, is said in words.
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from ptxlab.course.sandbox import namespaces
from ptxlab.course.sandbox.process import NOT_STARTED, Process, Task, all_places
from ptxlab.errors import PtxlabError, UnavailableError

WAYS = ("bubblewrap", "namespaces", "layers")
"""How an answer's process can be confined, strictest first: in a sandbox of bubblewrap's, in namespaces that it makes
itself, or by Landlock and seccomp alone, which are there in the other ways, too."""
FIRST_USER, USERS = 30_000, 30_000
"""The user ids that submissions get, where root grades."""
DOCUMENTED = {
    "reads": "an answer cannot read files outside of its folder",
    "writes": "an answer cannot write files outside of its folder",
    "processes": "an answer cannot start processes",
    "signals": "an answer cannot send signals",
    "network": "an answer cannot open sockets",
    "permissions": "an answer cannot change permissions or owners",
}
"""What docs/security.md promises, and what `Student.on_probe` attempts."""


@dataclass(frozen=True)
class Confinement:
    """way: one of `WAYS`. in_force, missing: in words. holes: what of `DOCUMENTED` this machine does not do."""

    way: str = "layers"
    in_force: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    holes: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether all that is documented is in force."""
        return not self.holes

    def lines(self) -> list[str]:
        """What is in force and what is not, for the terminal."""
        system = f"{platform.system()} {platform.machine()}"
        found = [f"each answer runs in a process of its own; on this machine ({system})"]
        found += [f"  in force:     {says}" for says in self.in_force or ("nothing",)]
        found += [f"  not in force: {says}" for says in self.missing]
        return found + [f"  not in force: {DOCUMENTED[hole]}" for hole in self.holes]

    def refuse(self) -> None:
        """Raises `UnavailableError` if something that is documented is not in force."""
        if self.holes:
            raise UnavailableError(
                "this machine cannot confine submissions as docs/security.md says: "
                + "; ".join(f"not in force: {DOCUMENTED[hole]}" for hole in self.holes)
                + ". Install libseccomp, and bubblewrap or Linux 5.13 or newer with Landlock; if you trust the "
                "submissions, grade anyway with --unconfined"
            )


def probe(folder: Path | None = None) -> Confinement:
    """The strictest confinement that works here, with what it does not do. folder: the submissions."""
    if sys.platform != "linux":
        words = ("processor time and file size limited",) if hasattr(os, "fork") else ()
        return Confinement("layers", words, ("namespaces, Landlock and seccomp: they are Linux's",), tuple(DOCUMENTED))
    missing: list[str] = []
    best = Confinement(holes=tuple(DOCUMENTED))
    for way in WAYS:
        if way == "bubblewrap" and namespaces.bubblewrap() is None:
            missing.append("bubblewrap: it is not installed")
            continue
        found, problem = _tried(way, folder)
        if problem:
            missing.append(f"{way}: {problem}")
            continue
        if found.complete or way == WAYS[-1]:
            best = found
            break
        missing.append(f"{way}: " + "; ".join(DOCUMENTED[hole] for hole in found.holes))
    if best.way == "bubblewrap":
        missing = []
    if best.way == "layers":
        missing.append("an answer does not see that other files and processes exist (namespaces)")
    lacks = {
        "files": "Landlock (Linux 5.13)",
        "no other": "seccomp (libseccomp; Debian, Ubuntu: apt install libseccomp2)",
    }
    for beginning, what in lacks.items():
        if not any(says.startswith(beginning) for says in best.in_force):
            missing.append(what)
    if os.geteuid() == 0 and "a user of its own" not in best.in_force:
        missing.append("a user of its own: Python is not readable for other users")
    return replace(best, missing=tuple(missing))


def _tried(way: str, folder: Path | None) -> tuple[Confinement, str]:
    """What a process that is confined in one way can do after all; and why there is none, or ""."""
    with tempfile.TemporaryDirectory(prefix="ptxlab-probe-") as place:
        work = Path(place)
        work.chmod(0o711)
        secret = work / "secret"
        secret.write_text("the grader's", encoding="utf-8")
        secret.chmod(0o666)
        home = work / "00000" / "home"
        home.mkdir(parents=True, mode=0o700)
        home.parent.chmod(0o711)
        user = user_for(way, 0)
        if user is not None:
            os.chown(home, user, user)
        task = Task((), (), home.parent, 0, user=user, way=way, secrets=(folder,) if folder else ())
        try:
            process = Process(task)
        except (OSError, PtxlabError) as error:
            return Confinement(way), str(error).splitlines()[0].removeprefix(NOT_STARTED)
        try:
            could = process.ask_probe(secret)
        finally:
            process.stop()
    return Confinement(way, tuple(process.in_force), (), tuple(hole for hole in DOCUMENTED if hole in could)), ""


def user_for(way: str, number: int) -> int | None:
    """A user id for the processes of one submission; None where that cannot be: only root can, and only if others may
    read Python and its packages. In namespaces it does not matter in which folders those lie."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return None
    for path in all_places():
        above = path.parents if way == "layers" else ()
        if not all(p.stat().st_mode & 0o001 for p in (path, *above) if p.is_dir()):
            return None
    return FIRST_USER + number % USERS
