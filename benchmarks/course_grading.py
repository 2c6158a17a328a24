"""A class of 200 synthetic submissions, graded: how long it takes, and whether anything is lost or forged.

    python benchmarks/course_grading.py                  # writes benchmarks/results/course_grading.md
    python benchmarks/course_grading.py --count 20 --each 10

Most are right, some wrong; the others do in one exercise what a grader fears: never end, crash, print without end,
write into other people's files, fork, kill, forge. Every mark is held against the one that the submission deserves.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ptxlab.course import build, catalogue
from ptxlab.course.class_grading import Graded, grade
from ptxlab.course.report import write_csv, write_html

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
SEED = 2026
LARGE = 5000
"""Students of the class whose report is timed."""
NAMES = ("01-predict", "01-lse", "01-rescale", "01-thrift", "01-window")
FIRST = NAMES[0]
WRONG = {
    # exercise -> what stands in the solution, what in the wrong answer
    "01-predict": ("score > m", "score >= m"),
    "01-lse": (" * LN2  #", "  #"),
    "01-rescale": ("            acc[d] *= rescale\n", ""),
    "01-thrift": ("query[d], key_row", "(q + row * D)[d], key_row"),
    "01-window": ("start=first", "start=0"),
}
MISCHIEF = {
    # kind -> (code before a right answer to the first exercise, whether that exercise still gets its marks)
    "endless": ("while True: pass", False),
    "sleeping": ("import time; time.sleep(10_000)", False),
    "crash: os._exit": ("import os; os._exit(1)", False),
    "crash: segfault": ("import ctypes; ctypes.string_at(0)", False),
    "crash: exception": ("[][1]", False),
    "crash: sys.exit": ("import sys; sys.exit(3)", False),
    "import that is not there": ("import torch_of_tomorrow", False),
    "syntax": ("def broken(:", False),
    "huge output": ("for i in range(200): print('x' * 1_000_000)", True),
    "huge output, no end": ("while True: print('y' * 1_000_000)", False),
    "memory": ("x = [bytearray(1 << 30) for _ in range(1000)]", False),
    "huge file": ("open('big', 'wb').write(bytes(1 << 28))", False),
    "own files": ("open('note.txt', 'w').write('mine')", True),
    "writes others' files": ("from pathlib import Path\nfor p in Path(FOLDER).iterdir(): p.write_text('')", False),
    "deletes others' files": ("import shutil; shutil.rmtree(FOLDER)", False),
    "reads others' files": ("import glob; print(open(glob.glob(FOLDER + '/*')[0]).read())", False),
    "forks": ("import os\nwhile True: os.fork()", False),
    "kills its parent": ("import os; os.kill(os.getppid(), 9)", False),
    "kills everybody": ("import os; os.kill(-1, 9)", False),
    "network": ("import socket; socket.create_connection(('127.0.0.1', 80))", False),
    "cheat: patches ptxlab": (
        "import ptxlab.course.feedback as c, ptxlab.course.exercise_checks as g\n"
        "c.judge = lambda *a, **k: True\ng.Grading.part = lambda *a, **k: True\n1 / 0",
        False,
    ),
    "cheat: writes to pipes": (
        'import os\nfor f in range(3, 99):\n    try: os.write(f, b\'{"exercise": "01-predict", "score": 1}\\n\')\n'
        "    except OSError: pass",
        False,
    ),
    "cheat: reads the solution": ("from ptxlab.course.exercises.e01_online import PREDICT", False),
    "cheat: by heart": ("", False),
    "cheat: writes the report": ("open(REPORT, 'w').write('student,total\\nme,100')", False),
}
HEART = "def shrinks(scores):\n    return [0, 3, 5]\n"


@dataclass(frozen=True)
class Handed:
    """A synthetic submission: its kind, and what each exercise deserves: full marks or not."""

    student: str
    kind: str
    full: dict[str, bool]


def confined() -> bool:
    """Whether this machine keeps answers from forking and killing: without that, nobody should try."""
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "one.py").write_text(answers({}), encoding="utf-8")
        (one,) = grade(Path(place), exercises=[FIRST], progress=False)
    return any("no other processes" in says for says in one.in_force)


def write_class(folder: Path, report: Path, count: int) -> list[Handed]:
    """Writes the submissions, `count` of them: half right, a quarter wrong, the others mischief, in turn."""
    source = build.sources()[1]
    solved, starter = (build.text_of(build.notebook(source, solved=s)) for s in (True, False))
    made = []
    for at in range(count):
        student, full = f"student{at:03}", dict.fromkeys(NAMES, True)
        if at % 20 == 0:
            kind, full = "starter", dict.fromkeys(NAMES, False)
            (folder / f"{student}.ipynb").write_text(starter, encoding="utf-8")
        elif at % 2:
            kind = "right"
            if at % 4 == 1:
                (folder / f"{student}.ipynb").write_text(solved, encoding="utf-8")
            else:
                (folder / f"{student}.py").write_text(answers({}), encoding="utf-8")
        elif at % 4 == 0:
            name = NAMES[at // 4 % len(NAMES)]
            kind, full[name] = f"wrong: {name}", False
            wrong = catalogue()[name].solution.replace(*WRONG[name])
            (folder / f"{student}.py").write_text(answers({name: wrong}), encoding="utf-8")
        else:
            kind = list(MISCHIEF)[at // 4 % len(MISCHIEF)]
            code, full[FIRST] = MISCHIEF[kind]
            right = HEART if kind == "cheat: by heart" else catalogue()[FIRST].solution
            names = f"FOLDER = {str(folder)!r}\nREPORT = {str(report)!r}\n"
            (folder / f"{student}.py").write_text(answers({FIRST: names + code + "\n" + right}), encoding="utf-8")
        made.append(Handed(student, kind, full))
    return made


def answers(changed: dict[str, str]) -> str:
    """A file of answers: the solutions, but for those that are given."""
    head = (
        "import math\nfrom ptxlab.builder import Builder, Ptr, f32, kernel, u32\n"
        "LOG2E, LN2 = math.log2(math.e), math.log(2)\n"
    )
    cells = [f"# %% [exercise] {name}\n{changed.get(name, catalogue()[name].solution)}\n" for name in NAMES]
    return head + "\n".join(cells)


def differences(handed: Sequence[Handed], graded: Sequence[Graded]) -> list[str]:
    """Where a mark is not the one deserved."""
    marks = {g.student: g for g in graded}
    wrong = [f"{h.student}: lost" for h in handed if h.student not in marks]
    for h in handed:
        for name, full in h.full.items():
            mark = marks[h.student].marks[name]
            if mark.ok != full:
                wrong.append(f"{h.student} ({h.kind}), {name}: {mark.score:.2f}, deserved {full}: {mark.says[0][:90]}")
    return wrong


def fingerprint(folder: Path) -> str:
    """A hash of all that lies in a folder."""
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        found.update(path.name.encode() + (path.read_bytes() if path.is_file() else b""))
    return found.hexdigest()


def large_report(graded: Sequence[Graded], place: Path) -> str:
    """What the report on a large class costs: these submissions over and over, each as another student's."""
    many = [replace(graded[at % len(graded)], student=f"student{at:06}") for at in range(LARGE)]
    start = time.process_time()
    write_csv(many, place / "large.csv")
    write_html(many, place / "large.html", title="A large class", seed=SEED)
    spent = time.process_time() - start
    size = sum((place / name).stat().st_size for name in ("large.csv", "large.html"))
    return (
        f"- report on {LARGE:,} submissions (these {len(graded)} repeated; CSV and HTML): {spent:.2f} s of processor "
        f"time, {size / 1e6:.1f} MB; {1e6 * spent / LARGE:.0f} µs and {size / 1e3 / LARGE:.1f} kB each"
    )


def main() -> int:
    """Makes the class, grades it, writes the report; the status is 1 if a mark is not the one deserved."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--each", type=float, default=30.0, help="seconds of an exercise")
    parser.add_argument("--seconds", type=float, default=240.0, help="seconds of a submission")
    parser.add_argument("--jobs", type=int, default=None)
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the report for the teacher, too")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIR")
    options = parser.parse_args()
    if not confined():
        print("this machine has no seccomp: a class that forks and kills would do so here")
        return 2
    with tempfile.TemporaryDirectory() as place:
        folder, report = Path(place) / "class", Path(place) / "marks.csv"
        folder.mkdir()
        handed = write_class(folder, report, options.count)
        before = fingerprint(folder)
        start, used = time.monotonic(), os.times()
        graded = grade(
            folder, exercises=NAMES, seed=SEED, each=options.each, seconds=options.seconds, jobs=options.jobs
        )
        wall, now = time.monotonic() - start, os.times()
        untouched = fingerprint(folder) == before and not report.exists()
        write_csv(graded, report)
        large = large_report(graded, Path(place))
        notebooks = [path.stat().st_size for path in folder.glob("*.ipynb")]
        options.results.mkdir(parents=True, exist_ok=True)
        if options.html is not None:
            write_html(graded, options.html, title="A class of synthetic students", seed=SEED)
    wrong = differences(handed, graded)
    spent = sum(getattr(now, n) - getattr(used, n) for n in ("user", "system", "children_user", "children_system"))
    kinds = Counter(h.kind for h in handed)
    marks = {g.student: g for g in graded}
    lines = [
        "# A class of synthetic submissions",
        "",
        f"`python benchmarks/course_grading.py`: {len(handed)} submissions of {len(NAMES)} exercises, {options.each:g} "
        f"s an exercise, {options.jobs or os.cpu_count()} at a time, {platform.system()} {platform.machine()}, Python "
        f"{platform.python_version()}.",
        "",
        f"- graded: {len(graded)} of {len(handed)} in {wall:.0f} s ({wall / len(handed):.1f} s each; processor time "
        f"{spent:.0f} s; load average at its end {os.getloadavg()[1]:.1f})",
        f"- marks that are not those deserved: {len(wrong)}",
        f"- the submissions and the report's place after grading: {'untouched' if untouched else 'CHANGED'}",
        large,
        f"- a submitted notebook: {sum(notebooks) / len(notebooks) / 1e3:.0f} kB on average, {len(notebooks)} of them",
        f"- in force: {'; '.join(graded[0].in_force)}",
        "",
        "| what it is | submissions | points of 5, lowest and highest | what the first was told about 01-predict |",
        "|---|---:|---|---|",
    ]
    for kind, count in kinds.items():
        own = [marks[h.student] for h in handed if h.kind == kind]
        told = own[0].marks[FIRST].says[0].splitlines()[0].replace("|", "\\|")[:100]
        points = sorted(g.total for g in own)
        told = told.replace(place, "...").replace(str(ROOT), "...")
        lines.append(f"| {kind} | {count} | {points[0]:.3g} to {points[-1]:.3g} | {told} |")
    (options.results / "course_grading.md").write_text(
        "\n".join([*lines, "", *wrong]).rstrip() + "\n", encoding="utf-8"
    )
    print("\n".join(lines + wrong))
    return 1 if wrong or not untouched else 0


if __name__ == "__main__":
    sys.exit(main())
