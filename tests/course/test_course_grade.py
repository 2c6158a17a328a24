"""Grading a class: what a submission does costs it alone, and nothing that it does is lost or changes a mark."""

from __future__ import annotations

import csv
import dataclasses
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from platform import machine

import pytest

from ptxlab.cli.main import main
from ptxlab.course import build, catalogue
from ptxlab.course.class_grading import Graded, grade
from ptxlab.course.notebook_sources import exercises_in
from ptxlab.course.report import write_csv, write_html

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="grading in processes with limits is tested on Linux"),
    pytest.mark.long,
]

RIGHT = "import math\n" + catalogue()["01-predict"].solution
HEAD = "# %% [exercise] 01-predict\n"
FULL = 1.0
SOURCES = build.sources()
ONLINE = next(source for source in SOURCES if source.stem == "01-scalar")

MISCHIEF = {
    # what a submission does -> (its mark, a phrase of its feedback)
    "good": ("", FULL, "Thread 0 rescaled"),
    "loud": ("print('x' * 10_000_000)", FULL, "Thread 0 rescaled"),
    "loud-errors": ("import sys; sys.stderr.write('y' * 1_000_000)", FULL, "Thread 0 rescaled"),
    "own-files": ("open('mine.txt', 'w').write('hello')", FULL, "Thread 0 rescaled"),
    "endless": ("while True: pass", 0, "Is there an endless loop in it?"),
    "sleeper": ("import time; time.sleep(1000)", 0, "Is there an endless loop in it?"),
    "gone": ("import os; os._exit(0)", 0, "The process of your code ended while it ran"),
    "exit": ("import sys; sys.exit('bye')", 0, "SystemExit: bye"),
    "raises": ("1 / 0", 0, "ZeroDivisionError: division by zero\npart 2:2: 1 / 0"),
    "no-module": ("import not_there", 0, "ModuleNotFoundError: No module named 'not_there'"),
    "not-python": ("def (", 0, "SyntaxError: invalid syntax"),
    "segfault": ("import ctypes; ctypes.string_at(0)", 0, "The process of your code ended while it ran"),
    "memory": ("x = bytearray(1 << 40)", 0, "MemoryError"),
    "recursion": ("f = lambda: f()\nf()", 0, "RecursionError"),
    "big-file": ("open('big', 'wb').write(bytes(1 << 26))", 0, "File too large"),
    "many-files": (
        "import time\nfor i in range(40): open(f'f{i}', 'wb').write(bytes(15 << 20))\ntime.sleep(60)",
        0,
        "No space left on device",
    ),
    "fork": ("import os\nfor i in range(1000): os.fork()", 0, "PermissionError"),
    "kill-parent": ("import os; os.kill(os.getppid(), 9)", 0, "PermissionError"),
    "kill-all": ("import os; os.kill(-1, 9)", 0, "PermissionError"),
    "network": ("import socket; socket.socket()", 0, "PermissionError"),
    "shell": ("import os; os.system('true') and 1 / 0", 0, "ZeroDivisionError"),
    "limits": ("import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 50, 1 << 50))", 0, "rror"),
}


def hand_in(folder: Path, student: str, mischief: str) -> None:
    """A right answer to 01-predict, with something else in its cell before it."""
    (folder / f"{student}.py").write_text(f"{HEAD}{mischief}\n{RIGHT}", encoding="utf-8")


@pytest.fixture(scope="module")
def mischief(request: pytest.FixtureRequest) -> list[str]:
    """Those of `MISCHIEF` that the tests of this run ask about: a sweep leaves out most."""
    asked = {"good", "raises"}  # by the tests of the whole class
    for item in request.session.items:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec"):
            asked.add(item.callspec.params.get("student", ""))
    return [student for student in MISCHIEF if student in asked]


@pytest.fixture(scope="module")
def marks(tmp_path_factory: pytest.TempPathFactory, mischief: list[str]) -> dict[str, Graded]:
    """The class, graded once."""
    folder = tmp_path_factory.mktemp("class")
    hand_in(folder, "good", "")
    (first,) = grade(folder, seed=11, jobs=1, progress=False)
    harmless = any("no other processes" in says for says in first.in_force)
    for student in mischief:
        code, _, phrase = MISCHIEF[student]
        hand_in(folder, student, code if harmless or phrase != "PermissionError" else "")
    secret = folder / "secret.txt"
    secret.write_text("the teacher's", encoding="utf-8")
    hand_in(folder, "writes-others", f"open({str(folder / 'good.py')!r}, 'w')")
    hand_in(folder, "reads-others", f"open({str(folder / 'good.py')!r}).read()")
    hand_in(folder, "reads-solutions", "from ptxlab.course.exercises import e01_online")
    hand_in(
        folder,
        "patches-grader",
        "import ptxlab.course.feedback as c\nc.judge = lambda *a, **k: None\n"
        "import ptxlab.course.verdict as e\ne.Feedback.score = 1.0\nraise SystemExit",
    )
    hand_in(
        folder,
        "writes-pipe",
        "import os\nfor f in range(3, 64):\n    try: os.write(f, b'\\xff' * 64)\n    except OSError: pass",
    )
    found = grade(folder, seed=11, each=12, seconds=60, jobs=2, progress=False)
    assert secret.read_text(encoding="utf-8") == "the teacher's"
    return {g.student: g for g in found}


def confined(marks: dict[str, Graded], what: str) -> bool:
    """Whether this machine can do a part of the isolation."""
    return what in " ".join(marks["good"].in_force)


@pytest.mark.rest
@pytest.mark.sweep(3)
@pytest.mark.parametrize("student", MISCHIEF)
def test_a_submission_costs_itself_alone(marks: dict[str, Graded], student: str) -> None:
    _, score, phrase = MISCHIEF[student]
    if phrase == "PermissionError" and not confined(marks, "no other processes"):
        pytest.skip("this machine has no seccomp")
    if student == "many-files" and not confined(marks, "a machine of its own"):
        phrase = "; at most 268,435,456 are allowed."
    mark = marks[student].marks["01-predict"]
    assert phrase in "\n".join(mark.says), mark
    assert mark.score == score


@pytest.mark.rest
def test_nobody_is_lost(marks: dict[str, Graded], mischief: list[str]) -> None:
    assert len(marks) == len(mischief) + 5
    assert marks["good"].total == FULL


@pytest.mark.parametrize("student", ["writes-others", "reads-others", "reads-solutions"])
def test_files_of_others_are_out_of_reach(marks: dict[str, Graded], student: str) -> None:
    if not confined(marks, "files: its own folder only"):
        pytest.skip("this machine has no Landlock")
    mark = marks[student].marks["01-predict"]
    assert mark.score == 0
    assert mark.says[0].startswith(("PermissionError", "FileNotFoundError", "ImportError", "OSError"))
    assert marks[student].note.startswith("refused: file outside (")


@pytest.mark.parametrize("student", ["patches-grader", "writes-pipe"])
def test_a_mark_cannot_be_forged(marks: dict[str, Graded], student: str) -> None:
    assert marks[student].marks["01-predict"].score == 0


@pytest.mark.sweep(4)
@pytest.mark.parametrize("source", [*filter(exercises_in, SOURCES)], ids=lambda path: path.stem)
def test_every_kind_of_answer_comes_across(source: Path, tmp_path: Path) -> None:
    """A notebook with its solutions has full marks for each of its exercises."""
    text = build.text_of(build.notebook(source, solved=True))
    (tmp_path / f"{source.stem}.ipynb").write_text(text, encoding="utf-8")
    (found,) = grade(tmp_path, seed=3, each=90, seconds=400, jobs=1, progress=False)
    assert found.note == ""  # nothing that it needed was refused
    for name in exercises_in(source):
        assert found.marks[name].score == 1.0, found.marks[name]


@pytest.mark.rest
def test_starters_come_across_with_the_line_that_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "ben").mkdir()
    notebook = build.notebook(ONLINE)
    (tmp_path / "ben" / "01-scalar.ipynb").write_text(build.text_of(notebook), encoding="utf-8")
    (found,) = grade(tmp_path, seed=3, jobs=1, progress=False)
    assert found.student == "ben"
    assert all(m.score < 1 for m in found.marks.values())
    window = found.marks["01-window"].says
    assert window[0].startswith("Thread 0 may see key 0; it also read key 1")
    assert window[1].startswith("cell ")
    assert "ld.global.f32" in window[1]


@pytest.mark.rest
def test_a_name_that_another_file_has_by_chance(tmp_path: Path) -> None:
    (tmp_path / "cara").mkdir()
    (tmp_path / "cara" / "00-notes.py").write_text("shrinks = [0, 3, 5]\n", encoding="utf-8")
    notebook = build.notebook(ONLINE, solved=True)
    (tmp_path / "cara" / "01-scalar.ipynb").write_text(build.text_of(notebook), encoding="utf-8")
    (found,) = grade(tmp_path, exercises=["01-predict"], seed=3, jobs=1, progress=False)
    assert found.marks["01-predict"].score == 1.0, found.marks["01-predict"]


@pytest.mark.slow
def test_answers_that_are_far_too_large(tmp_path: Path) -> None:
    long = "def shrinks(scores):\n    return list(range(2_000_000))\n"
    deep = "def shrinks(scores):\n    x = []\n    for i in range(99): x = [x]\n    return x\n"
    more = "def shrinks(scores):\n    return ['x' * (1 << 20)] * 40\n"
    text = "with_lse = '.version 8.0\\n.target sm_80\\n' + '.entry x() { ret; }\\n' * 200_000\n"
    memory = (
        "with_lse = '.version 8.0\\n.target sm_80\\n.address_size 64\\n.global .b8 big[1000000000000];\\n"
        ".entry x() { ret; }'\n"
    )
    for student, code in {
        "long": HEAD + long,
        "deep": HEAD + deep,
        "more": HEAD + more,
        "text": f"# %% [exercise] 01-lse\n{text}",
        "memory": f"# %% [exercise] 01-lse\n{memory}",
        "good": HEAD + RIGHT,
    }.items():
        (tmp_path / f"{student}.py").write_text(code, encoding="utf-8")
    found = {g.student: g for g in grade(tmp_path, seed=3, each=25, jobs=2, progress=False)}
    assert {student: g.total for student, g in found.items() if g.total} == {"good": 1.0}
    assert "There is no key 8" in found["long"].marks["01-predict"].says[0]
    assert "nested more than 40 deep" in found["deep"].marks["01-predict"].says[0]
    assert "at most 33,554,432 are sent" in found["more"].marks["01-predict"].says[0]
    for name in ("text", "memory"):
        assert found[name].marks["01-lse"].says[0]


def test_an_answer_does_not_look_for_fonts(tmp_path: Path) -> None:
    """matplotlib would, in the time of the first answer that draws: it finds a list of them."""
    code = "import os\nassert any('fontlist' in name for name in os.listdir(os.environ['MPLCONFIGDIR']))\n"
    (tmp_path / "ada.py").write_text(HEAD + code + RIGHT, encoding="utf-8")
    (found,) = grade(tmp_path, exercises=["01-predict"], seed=3, progress=False)
    assert found.points("01-predict") == 1.0, found.marks["01-predict"]


@pytest.mark.rest
def test_an_endless_exercise_costs_that_exercise(tmp_path: Path) -> None:
    code = "# %% [exercise] 01-rescale\nwhile True: pass\n" + HEAD + RIGHT
    (tmp_path / "zoe.py").write_text(code, encoding="utf-8")
    (found,) = grade(tmp_path, exercises=["01-rescale", "01-predict"], seed=3, each=6, progress=False)
    assert (found.points("01-predict"), found.points("01-rescale")) == (1.0, 0.0)


@pytest.mark.rest
def test_an_endless_loop_costs_the_longest_stretch(tmp_path: Path) -> None:
    (tmp_path / "zoe.py").write_text("# %% [exercise] 01-predict\nwhile True: pass\n", encoding="utf-8")
    (found,) = grade(tmp_path, exercises=["01-predict"], seed=3, longest=1, each=500, seconds=1000, progress=False)
    assert found.marks["01-predict"].says == ["The time was up: your code did not end. Is there an endless loop in it?"]


def test_a_python_file_has_the_names_of_the_notebook(tmp_path: Path) -> None:
    answers = [f"# %% [exercise] {name}\n{catalogue()[name].solution}\n" for name in ("01-lse", "04-deep")]
    (tmp_path / "zoe.py").write_text("\n".join(answers), encoding="utf-8")
    own = "# %% [exercise] 01-lse\nLN2 = 1.0\n" + catalogue()["01-lse"].solution
    (tmp_path / "own.py").write_text(own, encoding="utf-8")
    mine, zoe = grade(tmp_path, exercises=["01-lse", "04-deep"], seed=3, progress=False)
    assert (zoe.points("01-lse"), zoe.points("04-deep")) == (1.0, 1.0)
    assert "the right number in units of ln 2" in "\n".join(mine.marks["01-lse"].says)


@pytest.mark.rest
def test_the_time_of_a_submission(tmp_path: Path) -> None:
    (tmp_path / "zoe.py").write_text("# %% [exercise] 01-predict\nwhile True: pass\n", encoding="utf-8")
    (found,) = grade(tmp_path, exercises=["01-predict", "01-lse"], seed=3, seconds=3, jobs=1, progress=False)
    assert found.seconds < 8
    assert {m.says[0] for m in found.marks.values()} == {"The time for the whole submission was up (3 s)."}


CONFINED = """
import os, sys
from pathlib import Path
from platform import machine
from ptxlab.course.sandbox import isolation
print(isolation.confine(Path(sys.argv[1]), 40_123, [Path("/usr")]))
print(os.getuid(), os.getgid(), os.getgroups())
for attempt in (lambda: os.setuid(0), lambda: os.kill(os.getppid(), 0), lambda: open(sys.argv[2]),
                lambda: os.listdir("/"), lambda: open(sys.argv[1] + "/mine", "w"), lambda: os.fork()):
    try:
        attempt()
        print("done")
    except OSError as error:
        print(type(error).__name__)
"""


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can change the user")
def test_a_user_of_its_own() -> None:
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)  # pytest's own folders are closed to other users
        home, secret = Path(place) / "home", Path(place) / "secret"
        home.mkdir()
        os.chown(home, 40_123, 40_123)
        secret.write_text("x", encoding="utf-8")
        secret.chmod(0o600)
        done = subprocess.run([sys.executable, "-c", CONFINED, home, secret], capture_output=True, text=True)
    in_force, ids, *tried = done.stdout.splitlines()
    assert ids == "40123 40123 []", done.stderr
    assert "a user of its own" in in_force
    if "no other processes" in in_force and "files" in in_force:
        assert tried == ["PermissionError"] * 4 + ["done", "PermissionError"]


# -- the command -------------------------------------------------------------------------------------------------------


@pytest.mark.rest
def test_the_command(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder, table, page = tmp_path / "class", tmp_path / "marks.csv", tmp_path / "marks.html"
    folder.mkdir()
    hand_in(folder, "ann", "")
    (folder / "bob.py").symlink_to("ann.py")
    (folder / "eve.py").write_text(f"{HEAD}import socket\ntry: socket.socket()\nexcept OSError: pass\n{RIGHT}")
    command = ["course", "grade", str(folder), "--csv", str(table), "--html", str(page), "--seed", "5", "--quiet"]
    assert main(command) == 0
    said = capfd.readouterr()
    assert said.err == ""
    assert said.out.startswith(f"each answer runs in a process of its own; on this machine (Linux {machine()})\n")
    assert said.out.index("  in force:     ") < said.out.index("\n3 submissions in ")
    assert ", 2 with full marks; seed 5\n" in said.out
    assert "  bob: bob.py is a link; links are not followed\n" in said.out
    assert "  eve: refused: network (socket)\n" in said.out
    assert table.read_text(encoding="utf-8").startswith("student,01-predict,total,maximum,percent,note\nann,1,1,1,")
    assert "hidden cases from seed 5" in page.read_text(encoding="utf-8")
    assert main([*command, "--each", "0"]) == 2
    assert capfd.readouterr().err == "ptxlab: --each is more than 0, not 0\n"


@pytest.mark.rest
def test_ctrl_c_keeps_what_is_done(tmp_path: Path) -> None:
    hand_in(tmp_path, "ann", "")
    hand_in(tmp_path, "bob", "import time; time.sleep(1000)")
    hand_in(tmp_path, "cleo", "")
    code = (
        "import sys, pathlib, signal; from ptxlab.course.class_grading import grade\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a job in the background starts without one
        "done = lambda marks: print('done', flush=True)\n"
        "how = dict(seed=1, jobs=1, seconds=600, each=300, progress=False, after_each=done)\n"
        "for g in grade(pathlib.Path(sys.argv[1]), **how):\n"
        "    print(g.student, g.total, g.note, flush=True)\n"
    )
    run = subprocess.Popen([sys.executable, "-c", code, tmp_path], stdout=subprocess.PIPE, text=True)
    children = Path(f"/proc/{run.pid}/task/{run.pid}/children")
    assert run.stdout is not None
    assert run.stdout.readline() == "done\n"  # ann's
    time.sleep(1)  # until bob's grader runs
    seen = children.read_text(encoding="utf-8").split()
    run.send_signal(signal.SIGINT)
    out, _ = run.communicate(timeout=60)
    said = [line for line in out.splitlines() if line != "done"]
    assert said == ["ann 1.0 ", "bob 0.0 not graded: interrupted", "cleo 0.0 not graded: interrupted"]
    assert seen
    assert not any(Path(f"/proc/{pid}").exists() for pid in seen)


# -- the report --------------------------------------------------------------------------------------------------------


def test_the_report(marks: dict[str, Graded], tmp_path: Path) -> None:
    strange = dataclasses.replace(marks["raises"], student='=1+1<script>"')
    graded = [strange, *marks.values()]
    write_csv(graded, tmp_path / "marks.csv")
    write_html(graded, tmp_path / "marks.html", title="A & B", seed=11)
    with (tmp_path / "marks.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(graded)
    assert rows[0]["student"] == "'=1+1<script>\""
    by_name = {row["student"]: row for row in rows}
    assert (by_name["good"]["01-predict"], by_name["good"]["percent"]) == ("1", "100.0")
    assert by_name["raises"]["total"] == "0"
    page = (tmp_path / "marks.html").read_text(encoding="utf-8")
    assert "A &amp; B" in page
    assert page.count("<script>") == 1
    assert "=1+1&lt;script&gt;" in page
    assert "ZeroDivisionError: division by zero" in page
    assert page.count("<details") == len(graded)


UNCAUGHT = {
    "thread": "import threading\nthread = threading.Thread(target=lambda: 1 / 0)\nthread.start()\nthread.join()",
    "deep": "import threading\ndef f(): f()\nthread = threading.Thread(target=f)\nthread.start()\nthread.join()",
    "leaves": "import sys, threading\nthread = threading.Thread(target=sys.exit)\nthread.start()\nthread.join()",
    "interrupt": "import threading\ndef f(): raise KeyboardInterrupt\nthread = threading.Thread(target=f)\n"
    "thread.start()\nthread.join()",
    "finalizer": "class A:\n    def __del__(self): 1 / 0\na = A()\ndel a",
    "hook": "import sys\nsys.excepthook(ValueError, ValueError('x'), None)",
    "warning": "import warnings\nwarnings.warn('look here')",
    "traceback": "import traceback\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    traceback.print_exc()",
    "logging": "import logging\nlogging.warning('%d', 'no number')",
}


@pytest.mark.rest
def test_what_goes_wrong_innocently_is_no_attempt(tmp_path: Path) -> None:
    hand_in(tmp_path, "ada", "\n".join(UNCAUGHT.values()))
    (ada,) = grade(tmp_path, seed=11, jobs=1, progress=False)
    assert (ada.total, ada.note) == (FULL, "")
    printed = ada.marks["01-predict"].output
    assert "ZeroDivisionError: division by zero" in printed
    assert "thread = threading.Thread(target=lambda: 1 / 0)" in printed


@pytest.mark.rest
def test_a_submission_without_headers_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "bare.py").write_text(RIGHT, encoding="utf-8")
    (tmp_path / "empty.py").write_text("x = 1\n", encoding="utf-8")
    (tmp_path / "called.py").write_text(f'{RIGHT}\ncheck("01-predict", shrinks)\n', encoding="utf-8")
    hand_in(tmp_path, "good", "")
    found = {g.student: g for g in grade(tmp_path, seed=11, jobs=2, progress=False)}
    assert {student: g.total for student, g in found.items()} == {"bare": 1, "empty": 0, "called": 1, "good": 1}
    note = (
        "no cell says which exercise it answers, so answers were looked for by their names, and of several with one "
        "name the last was taken: write `# %% [exercise] 01-predict` above each, or keep its call of `check`"
    )
    assert {student: g.note for student, g in found.items()} == {"bare": note, "empty": note, "called": "", "good": ""}
