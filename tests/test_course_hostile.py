"""Hostile submissions beside honest ones: no mark is lost, nothing outside is touched, each attempt is named."""

from __future__ import annotations

import csv
import html
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import hostile
import pytest

from ptxlab.course.grader import landlock, namespaces, seccomp

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="confinement is Linux's")

ROOT = Path(__file__).resolve().parents[1]
USER = 31_337
"""An ordinary user's number, made for the test by root; nobody else's."""
WITHOUT = {
    # the way that is left -> the system calls that the machine is without; bubblewrap is there in the first alone
    "bubblewrap": (), "namespaces": (), "layers": ("unshare",), "": ("unshare", "landlock_create_ruleset"),
}  # fmt: skip
COMMAND = """
import sys
from ptxlab.course.grader import seccomp
missing = [name for name in sys.argv[1].split(",") if name]
assert not missing or seccomp.refuse_calls(tuple(missing))
from ptxlab.cli import main
sys.exit(main(sys.argv[2:]))
"""


def is_root() -> bool:
    """Whether the tests run as root, who can be anybody."""
    return os.geteuid() == 0


def open_to_others(path: Path) -> bool:
    """Whether any user can get to a file."""
    return path.stat().st_mode & 0o004 != 0 and all(p.stat().st_mode & 0o001 for p in path.parents)


@dataclass
class Place:
    """A folder for one class: what is handed in, what lies beside it, and what grading leaves."""

    folder: Path
    ordinary: bool
    environment: dict[str, str] = field(default_factory=dict)
    python: str = sys.executable

    def __post_init__(self) -> None:
        for name in ("class", "outside", "tmp", "out", "bin", "outside/inner"):
            (self.folder / name).mkdir()
        outside = self.folder / "outside"
        for name, mode in (("private", 0o600), ("public", 0o666), ("inner/deep", 0o640)):
            (outside / name).write_text(f"planted: {name}", encoding="utf-8")
            (outside / name).chmod(mode)
        os.setxattr(outside / "public", "user.planted", b"here")
        outside.chmod(0o777)
        self.folder.chmod(0o755)
        self.environment = {"PATH": str(self.folder / "bin"), "HOME": str(self.folder / "tmp"), "LANG": "C.UTF-8",
                            "TMPDIR": str(self.folder / "tmp"), "PYTHONPATH": str(ROOT),
                            "PYTHONDONTWRITEBYTECODE": "1"}  # fmt: skip
        if self.ordinary:
            self._for_others()
            for path in (self.folder, *self.folder.rglob("*")):
                os.chown(path, USER, USER, follow_symlinks=False)

    def _for_others(self) -> None:
        """A Python and packages that another user can read: those there are, or a copy of what it needs."""
        real = Path(sys.executable).resolve()
        if not open_to_others(real):
            other = Path(f"/usr/bin/python{sys.version_info[0]}.{sys.version_info[1]}")
            if not other.exists():
                pytest.skip(f"other users cannot read {real}, and there is no {other}")
            self.python = str(other)
        packages = Path(sysconfig.get_paths()["purelib"])
        if not open_to_others(ROOT / "ptxlab" / "cli.py") or not open_to_others(packages / "numpy" / "__init__.py"):
            copied = self.folder / "packages"
            for name in ("numpy", "numpy.libs", "llvmlite", "ml_dtypes", "tqdm"):
                if (packages / name).exists():
                    shutil.copytree(packages / name, copied / name)
            shutil.copytree(ROOT / "ptxlab", copied / "ptxlab")
            self.environment["PYTHONPATH"] = str(copied)
        elif self.python != sys.executable:
            self.environment["PYTHONPATH"] = os.pathsep.join((str(ROOT), str(packages)))

    @property
    def places(self) -> dict[str, str]:
        """What the attacks aim at."""
        return {"outside": str(self.folder / "outside"), "submissions": str(self.folder / "class"),
                "report": str(self.folder / "out" / "marks.csv")}  # fmt: skip

    def grade(self, way: str, *options: str) -> subprocess.CompletedProcess[str]:
        """Runs the command on a machine that has a way of confinement, and no stricter one."""
        bwrap = self.folder / "bin" / "bwrap"
        if way == "bubblewrap" and not bwrap.exists():
            bwrap.symlink_to(str(namespaces.bubblewrap()))
        out = self.folder / "out"
        identity = {"user": USER, "group": USER, "extra_groups": []} if self.ordinary else {}
        return subprocess.run(
            [self.python, "-P", "-c", COMMAND, ",".join(WITHOUT[way]), "course", "grade", str(self.folder / "class"),
             "--csv", str(out / "marks.csv"), "--html", str(out / "marks.html"), "--quiet", *options],
            env=self.environment, cwd=out, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False,
            timeout=1500, **identity,
        )  # fmt: skip

    def rows(self) -> dict[str, dict[str, str]]:
        """The CSV file, by student without its number."""
        with (self.folder / "out" / "marks.csv").open(encoding="utf-8", newline="") as file:
            return {row["student"]: row for row in csv.DictReader(file)}

    def processes(self) -> list[str]:
        """The processes that are still there of those that were started for this class."""
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            try:
                if str(self.folder).encode() in path.read_bytes():
                    found.append((path.parent / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                continue
        return found


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that other users can get to, as pytest's own cannot be."""
    with tempfile.TemporaryDirectory(prefix="ptxlab-test-") as place:
        yield Path(place)


def needs(way: str, ordinary: bool) -> None:
    """Skips what this machine cannot try."""
    if ordinary and not is_root():
        pytest.skip("only root can be another user")
    if way == "bubblewrap" and namespaces.bubblewrap() is None:
        pytest.skip("bubblewrap is not installed")
    if not seccomp.machine() or not landlock.version():
        pytest.skip("this machine has no Landlock or no seccomp filter")


def held(place: Place, way: str, attacks: dict[str, hostile.Attack], honest: int, *options: str) -> None:
    """Grades attacks and honest answers together, and holds the result against all that is promised."""
    names = hostile.hand_in(place.folder / "class", attacks, honest, place.places)
    if place.ordinary:
        for path in (place.folder / "class").iterdir():
            os.chown(path, USER, USER)
    before = hostile.snapshot(place.folder / "outside") | hostile.snapshot(place.folder / "class")
    done = place.grade(way, "--seed", "7", "--exercises", *hostile.EXERCISES, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert (f"no other process, file or network ({way})" in done.stdout) == (way != "layers"), done.stdout
    assert hostile.snapshot(place.folder / "outside") | hostile.snapshot(place.folder / "class") == before
    assert sorted(p.name for p in (place.folder / "out").iterdir()) == ["marks.csv", "marks.csv.journal", "marks.html"]
    assert list((place.folder / "tmp").iterdir()) == []
    assert place.processes() == []
    rows = place.rows()
    assert len(rows) == len(attacks) + honest
    right = {name: (rows[name]["01-predict"], rows[name]["01-lse"], rows[name]["note"]) for name in names}
    assert right == dict.fromkeys(names, ("1", "1", ""))
    page = (place.folder / "out" / "marks.html").read_text(encoding="utf-8")
    told, wrong = html.unescape(page), []
    for at, (name, attack) in enumerate(attacks.items()):
        row = rows[f"{at:03}-{name}"]
        if attack.named not in row["note"] or float(row["01-predict"]) != attack.score or attack.told not in told:
            wrong.append((name, row["01-predict"], row["note"]))
    assert wrong == []
    assert page.count("<script>") == 1
    assert not any(ord(c) < 32 and c not in "\t\n\r" for c in page)


ORDINARY = pytest.mark.parametrize("ordinary", [False, True], ids=["as oneself", "as an ordinary user"])


@ORDINARY
@pytest.mark.parametrize("way", ["bubblewrap", "namespaces", "layers"])
def test_hostile_and_honest_submissions(folder: Path, way: str, ordinary: bool) -> None:
    needs(way, ordinary)
    attacks = {name: hostile.ATTACKS[name] for name in hostile.FAST}
    held(Place(folder, ordinary), way, attacks, 3, "--jobs", "2")


@pytest.mark.slow
@ORDINARY
@pytest.mark.parametrize("way", ["bubblewrap", "namespaces", "layers"])
def test_all_hostile_submissions(folder: Path, way: str, ordinary: bool) -> None:
    needs(way, ordinary)
    assert len(hostile.ATTACKS) >= 60
    held(Place(folder, ordinary), way, hostile.ATTACKS, 20, "--each", "12", "--jobs", "2")
