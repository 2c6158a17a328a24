"""Hostile submissions beside honest ones: no mark is lost, nothing outside is touched, each attempt is named."""

from __future__ import annotations

import contextlib
import csv
import html
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import hostile
import pytest
from slow_cases import slow

from ptxlab.course.sandbox import landlock, namespaces, seccomp

pytestmark = [pytest.mark.skipif(sys.platform != "linux", reason="confinement is Linux's"), pytest.mark.long]

ROOT = Path(__file__).resolve().parents[2]
USER = 31_337
"""An ordinary user's number, made for the test by root; nobody else's."""
WITHOUT = {
    # the way that is left -> the system calls that the machine is without; bubblewrap is there in the first alone
    "bubblewrap": (),
    "namespaces": (),
    "layers": ("unshare",),
    "": ("unshare", "landlock_create_ruleset"),
}
COMMAND = """
import ctypes, sys
from ptxlab.course.sandbox.seccomp import library
if sys.argv[1]:
    made = ctypes.c_void_p(library().seccomp_init(0x7FFF0000))
    for name in sys.argv[1].split(","):  # ENOSYS
        number = library().seccomp_syscall_resolve_name(name.encode())
        assert library().seccomp_rule_add_array(made, 0x00050026, number, 0, None) == 0
    assert library().seccomp_load(made) == 0
from ptxlab.cli.main import main
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
        for name in ("class", "outside", "tmp", "home", "out", "bin", "outside/inner"):
            (self.folder / name).mkdir()
        outside = self.folder / "outside"
        for name, mode in (("private", 0o600), ("public", 0o666), ("inner/deep", 0o640)):
            (outside / name).write_text(f"planted: {name}", encoding="utf-8")
            (outside / name).chmod(mode)
        with contextlib.suppress(OSError):  # not every file system has them
            os.setxattr(outside / "public", "user.planted", b"here")
        outside.chmod(0o777)
        self.folder.chmod(0o755)
        self.environment = {"PATH": str(self.folder / "bin"), "HOME": str(self.folder / "home"), "LANG": "C.UTF-8",
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
        if not open_to_others(ROOT / "ptxlab/cli/main.py") or not open_to_others(packages / "numpy" / "__init__.py"):
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
        return {
            "outside": str(self.folder / "outside"),
            "submissions": str(self.folder / "class"),
            "report": str(self.folder / "out" / "marks.csv"),
        }

    def grade(self, way: str, *options: str) -> subprocess.CompletedProcess[str]:
        """Runs the command on a machine that has a way of confinement, and no stricter one."""
        run = self.start(way, *options)
        out, err = run.communicate(timeout=1500)
        return subprocess.CompletedProcess(run.args, run.returncode, out, err)

    def start(self, way: str, *options: str) -> subprocess.Popen[str]:
        """Starts it."""
        bwrap = self.folder / "bin" / "bwrap"
        if way == "bubblewrap" and not bwrap.exists():
            bwrap.symlink_to(str(namespaces.bubblewrap()))
        out = self.folder / "out"
        identity = {"user": USER, "group": USER, "extra_groups": []} if self.ordinary else {}
        return subprocess.Popen(
            [self.python, "-P", "-c", COMMAND, ",".join(WITHOUT[way]), "course", "grade", str(self.folder / "class"),
             "--csv", str(out / "marks.csv"), "--html", str(out / "marks.html"), "--quiet", *options],
            env=self.environment, cwd=out, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, **identity,
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
    if not seccomp.library() or not landlock.version():
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
        if name in WITHOUT[way]:  # the machine that is played here refuses it before anybody is told
            continue
        row = rows[f"{at:03}-{name}"]
        if attack.named not in row["note"] or float(row["01-predict"]) != attack.score or attack.told not in told:
            wrong.append((name, row["01-predict"], row["note"]))
    assert wrong == []
    assert page.count("<script>") == 1
    assert not any(ord(c) < 32 and c not in "\t\n\r" for c in page)


LOOK = """
import sys
needed = [*sys.path, sys.prefix, sys.base_prefix]  # Python may lie in the home of somebody
places = (OUTSIDE, CLASS, REPORT, '/etc/passwd', '/home', '/tmp', '/root/.bashrc')
seen = [place for place in places if os.path.lexists(place) and not any(n.startswith(place + '/') for n in needed)]
processes = [pid for pid in range(2, 5000) if os.path.lexists(f'/proc/{pid}') and pid not in (os.getpid(),)]
raise ValueError(f'seen: {seen}, {processes}')
"""


@pytest.mark.rest
@pytest.mark.parametrize("way", ["namespaces", *slow(["bubblewrap"])])
def test_names_of_other_files_are_out_of_sight(folder: Path, way: str) -> None:
    needs(way, False)
    place = Place(folder, False)
    hostile.hand_in(folder / "class", {"looks": hostile.Attack(LOOK)}, 0, place.places)
    assert place.grade(way).returncode == 0
    page = html.unescape((folder / "out" / "marks.html").read_text(encoding="utf-8"))
    assert "seen: [], []" in page


@pytest.mark.rest
@pytest.mark.parametrize("ordinary", [False, *slow([True])])
def test_less_than_the_documented_confinement_is_refused(folder: Path, ordinary: bool) -> None:
    needs("", ordinary)
    place = Place(folder, ordinary)
    trace = Path(place.places["outside"], "ran")
    attack = hostile.Attack(f"open({str(trace)!r}, 'w').close()", "", "", 1)
    hostile.hand_in(folder / "class", {"writes": attack}, 1, place.places)
    done = place.grade("")
    assert done.returncode == 2
    assert "  not in force: Landlock (Linux 5.13)\n" in done.stdout
    assert "  not in force: an answer cannot write files outside of its folder\n" in done.stdout
    assert done.stderr == (
        "ptxlab: this machine cannot confine submissions as docs/security.md says: not in force: an answer cannot read "
        "files outside of its folder; not in force: an answer cannot write files outside of its folder. Install "
        "libseccomp, and bubblewrap or Linux 5.13 or newer with Landlock; if you trust the submissions, grade anyway "
        "with --unconfined\n"
    )
    assert not trace.exists()
    assert list((folder / "out").iterdir()) == []
    assert place.grade("", "--unconfined").returncode == 0
    assert trace.exists()
    assert {row["total"] for row in place.rows().values()} == {"2", "1"}


@pytest.mark.rest
@pytest.mark.parametrize("way", ["layers", *slow(["bubblewrap", "namespaces"])])
def test_more_files_than_a_submission_may_have(folder: Path, way: str) -> None:
    needs(way, False)
    place = Place(folder, False)
    hostile.hand_in(folder / "class", {"many": hostile.SLOW_TO_CLEAN}, 1, place.places)
    assert place.grade(way).returncode == 0
    assert place.rows()["000-right"]["total"] == "2"
    many = place.rows()["000-many"]
    assert way != "layers" or many["note"] == "01-predict: it made more than 20,000 files"
    assert list((folder / "tmp").iterdir()) == []


@pytest.mark.rest
def test_grading_goes_on_where_it_was_killed(folder: Path) -> None:
    needs("layers", False)
    place = Place(folder, False)
    sleeper = hostile.Attack("time.sleep(1000)", "the time was up", "", 0)
    hostile.hand_in(
        folder / "class", {"a": hostile.Attack(""), "b": hostile.Attack("1 / 0"), "c": sleeper}, 1, place.places
    )
    run = place.start("layers", "--jobs", "1", "--seed", "5")
    table = folder / "out" / "marks.csv"
    while not table.exists() or len(place.rows()) < 3:
        assert run.poll() is None
        time.sleep(0.05)
    run.kill()
    run.communicate()
    first = place.rows()
    assert list(first) == ["000-a", "000-right", "001-b"]
    while place.processes():  # they end with the grader
        time.sleep(0.05)
    done = place.grade("layers", "--resume", "--each", "3")
    assert done.returncode == 0, done.stderr
    rows = place.rows()
    assert {name: rows[name] for name in first} == first  # with the same seconds: they were not graded again
    assert rows["002-c"]["note"].startswith("01-predict: stopped: the time was up")
    assert "; seed 5\n" in done.stdout
    (folder / "class" / "001-b.py").write_text(hostile.HEAD + hostile.RIGHT, encoding="utf-8")
    assert place.grade("layers", "--resume", "--each", "3").returncode == 0
    assert place.rows()["001-b"]["01-predict"] == "1"  # handed in anew
    assert place.grade("layers", "--resume", "--seed", "6").stderr == (
        f"ptxlab: {table}.journal has the seed 5, not 6; resume without --seed\n"
    )


EVERYWHERE = [(way, ordinary) for way in ("bubblewrap", "namespaces", "layers") for ordinary in (False, True)]


@pytest.mark.parametrize(
    ("way", "ordinary", "attacks"),
    [
        pytest.param("layers", True, "fast", marks=pytest.mark.rest),
        *slow([("bubblewrap", False, "fast")]),
        *slow((*place, "all") for place in EVERYWHERE),
    ],
)
def test_hostile_and_honest_submissions(folder: Path, way: str, ordinary: bool, attacks: str) -> None:
    needs(way, ordinary)
    if attacks == "fast":
        held(Place(folder, ordinary), way, {name: hostile.ATTACKS[name] for name in hostile.FAST}, 2, "--jobs", "2")
    else:
        held(Place(folder, ordinary), way, hostile.ATTACKS, 20, "--each", "12", "--jobs", "2")


def test_there_are_many_attacks() -> None:
    assert len(hostile.ATTACKS) >= 60
