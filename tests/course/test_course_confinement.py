"""The parts of confinement, each by itself: system calls, Landlock's rights, deleting, what was handed in."""

from __future__ import annotations

import json
import os
import platform
import re
import stat
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from ptxlab.cli.main import main
from ptxlab.course.class_grading import collect
from ptxlab.course.marks import Graded, Mark
from ptxlab.course.report import write_csv, write_html
from ptxlab.course.sandbox import attempts, confinement, landlock, namespaces, seccomp, tree

ROOT = Path(__file__).resolve().parents[2]
linux = pytest.mark.skipif(sys.platform != "linux", reason="confinement is Linux's")
filters = pytest.mark.skipif(seccomp.library() is None, reason="libseccomp is not installed")
SAYS = 7

# -- system calls ------------------------------------------------------------------------------------------------------


def verdict(call: int, *given: int, notify: bool = True) -> str:
    """What the kernel does for a system call: the filter, executed as its manual says (classic BPF)."""
    with tempfile.TemporaryFile() as file:
        assert seccomp.library().seccomp_export_bpf(seccomp.program(notify=notify, says=SAYS), file.fileno()) == 0
        file.seek(0)
        program = list(struct.iter_unpack("=HBBI", file.read()))
    seen = struct.pack("=iIQ6Q", call, seccomp.library().seccomp_arch_native() & 0xFFFFFFFF, 0, *(given + (0,) * 6)[:6])
    at = word = 0
    while True:
        operation, yes, no, constant = program[at]
        at += 1
        if operation == 0x20:  # load
            (word,) = struct.unpack_from("=I", seen, constant)
        elif operation == 0x54:  # and
            word &= constant
        elif operation == 0x05:  # jump
            at += constant
        elif operation == 0x06:  # return
            return {0x7FFF0000: "allow", 0x00050001: "EPERM", 0x00050026: "ENOSYS", 0x80000000: "kill",
                    0x7FC00000: "tell"}[constant]  # fmt: skip
        else:
            held = {0x15: word == constant, 0x25: word > constant, 0x35: word >= constant, 0x45: word & constant != 0}
            at += yes if held[operation] else no


def number(call: str) -> int:
    """The number of a system call here; negative where there is none."""
    return int(seccomp.library().seccomp_syscall_resolve_name(call.encode()))


CALLS = [
    # a call, its arguments, what becomes of it
    ("read", (), "allow"), ("openat", (), "allow"), ("mmap", (0, 4096, 7), "allow"),
    ("mprotect", (0, 4096, 5), "allow"),
    ("futex", (), "allow"), ("rseq", (), "allow"), ("membarrier", (), "allow"), ("exit_group", (), "allow"),
    ("getrandom", (), "allow"), ("futex_waitv", (), "allow"),
    ("clone", (0x003D0F00,), "tell"), ("clone", (17,), "tell"), ("clone3", (), "ENOSYS"),
    ("fcntl", (1, 1), "allow"), ("fcntl", (1, 1030), "allow"), ("fcntl", (1, 4, 0x800), "allow"),
    ("fcntl", (1, 4, 0x2000), "tell"), ("fcntl", (1, 4, 0x2800), "tell"), ("fcntl", (1, 8, 1), "tell"),
    ("fcntl", (1, 10, 9), "tell"), ("fcntl", (1, 15), "tell"), ("fcntl", (1, 6), "tell"),
    ("fcntl", (1, (1 << 32) | 8, 1), "tell"), ("fcntl", (1, (1 << 32) | 1, 1), "allow"),  # the kernel looks at 32 bits
    ("ioctl", (1, 0x5401), "allow"), ("ioctl", (1, 0x5452), "tell"), ("ioctl", (1, 0x8901), "tell"),
    ("prctl", (15,), "allow"), ("prctl", (1, 9), "tell"), ("prctl", (22,), "tell"),
    ("prlimit64", (0, 7, 0, 1), "allow"), ("prlimit64", (1, 7, 0, 1), "tell"), ("prlimit64", (0, 7, 1, 0), "allow"),
    ("sendmsg", (SAYS,), "allow"), ("sendmsg", (SAYS + 1,), "tell"),
    *((name, (), "tell") for name in (
        "kill", "tgkill", "rt_sigqueueinfo", "pidfd_send_signal", "timer_create", "mq_notify", "mq_open", "execve",
        "execveat", "ptrace", "socket", "socketpair", "unshare", "setns", "mount", "fchmod", "fchmodat", "fchmodat2",
        "fchown", "fchownat", "utimensat", "setxattr", "fsetxattr", "removexattr", "truncate", "memfd_create", "shmget",
        "add_key", "keyctl", "io_uring_setup", "bpf", "userfaultfd", "perf_event_open", "seccomp", "setuid", "capset",
        "mknodat", "open_by_handle_at", "flock", "process_vm_readv", "pidfd_getfd", "landlock_restrict_self")),
]  # fmt: skip


@filters
@pytest.mark.parametrize(("call", "given", "wanted"), CALLS, ids=str)
def test_the_filter(call: str, given: tuple[int, ...], wanted: str) -> None:
    if number(call) < 0:
        pytest.skip("libseccomp does not know this call yet, so it has no number")
    assert verdict(number(call), *given) == wanted
    thread = call == "clone" and given[0] & 0x10000
    expected = "allow" if thread else wanted.replace("tell", "EPERM")
    assert verdict(number(call), *given, notify=False) == expected


@filters
def test_other_numbers_than_those_known() -> None:
    assert verdict(1000) == verdict(-1) == "tell"
    for call in range(500):
        listed = seccomp.name(call) in (*seccomp.ALLOWED, "fcntl", "prlimit64")
        assert (verdict(call) == "allow") == listed, seccomp.name(call)
    if platform.machine() == "x86_64":
        assert verdict(0x40000000 | number("fchmod")) == "kill"


NEWER = set(
    "set_mempolicy_home_node cachestat fchmodat2 map_shadow_stack futex_wake futex_wait futex_requeue statmount "
    "listmount setxattrat removexattrat file_setattr".split()
)
"""Calls of Linux 5.17 and later, which an older libseccomp does not know."""


@filters
def test_each_allowed_call_is_one() -> None:
    listed = {*seccomp.ALLOWED, *seccomp.QUIET.split(), *seccomp.FIRST_WORDS}
    named = [name for names in attempts.KINDS.values() for name in names.split()]
    assert not set(seccomp.ALLOWED) & {*seccomp.QUIET.split(), *named}
    assert len(named) == len(set(named))
    assert {call for call in (*listed, *named) if number(call) == -1} <= NEWER


CONFINED = """
import ctypes, os, sys
from pathlib import Path
from ptxlab.course.sandbox import isolation
print(isolation.confine(Path(sys.argv[1]), None, [Path("/usr")])[-1])
for attempt in (os.fork, lambda: os.kill(os.getppid(), 0), lambda: os.chmod(sys.argv[1], 0)):
    try:
        attempt()
        print("done")
    except OSError as error:
        print(type(error).__name__)
"""


@filters
def test_without_a_listener_the_kernel_refuses_by_itself(tmp_path: Path) -> None:
    """As before Linux 5.7."""
    run = subprocess.run([sys.executable, "-c", CONFINED, tmp_path], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == [
        "no other processes, signals or network (seccomp, system calls by allow-list)",
        *["PermissionError"] * 3,
    ]


def test_what_a_refused_call_is_called() -> None:
    found = attempts.Attempts()
    found.call("fcntl", [3, 8, 1])
    found.call("fcntl", [3, 8, 1])
    found.call("ioctl", [3, 0x8902])
    found.call("fchmodat", [])
    found.call("bpf", [])
    found.told("file outside\t/etc/\x1b[2J")
    found.told("nonsense\t/etc")
    assert found.words() == [
        "file outside (/etc/?[2J)",
        "permissions (fchmodat)",
        "signal (fcntl F_SETOWN, ioctl SIOCSPGRP)",
        "system call (bpf)",
    ]


# -- Landlock ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "words"),
    [(1, (0x1FFF,)), (2, (0x3FFF,)), (3, (0x7FFF,)), (4, (0x7FFF, 3)), (5, (0xFFFF, 3)), (6, (0xFFFF, 3, 3)),
     (7, (0xFFFF, 3, 3))],
)  # fmt: skip
def test_what_each_version_of_landlock_is_asked_for(version: int, words: tuple[int, ...]) -> None:
    assert landlock.handled(version) == words


# -- deleting ----------------------------------------------------------------------------------------------------------


def nested(folder: Path, depth: int) -> None:
    """A folder in a folder in a folder: a path with all their names would be too long."""
    name = "d" * 20
    here = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=here)
        inner = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=inner))
        os.close(here)
        here = inner
    os.close(here)


@pytest.mark.long
@linux
def test_deleting_what_cannot_be_walked(tmp_path: Path) -> None:
    folder = tmp_path / "home"
    folder.mkdir()
    nested(folder, 1500)  # deeper than Python recurses, and than a path can be long
    for name in (b"\xff\xfe", b"new\nline", b"-rf", b"x" * 255):
        (Path(os.fsdecode(os.path.join(os.fsencode(folder), name)))).mkdir()
    for at in range(500):
        (folder / f"f{at}").touch(mode=0)
    (folder / "to").symlink_to(tmp_path)
    (folder / "closed").mkdir()
    (folder / "closed" / "inner").mkdir(mode=0)
    (folder / "closed").chmod(0)
    os.mkfifo(folder / "pipe")
    (tmp_path / "kept").write_text("x", encoding="utf-8")
    assert tree.size(folder, 1 << 40, 100)[1] == 101
    found, number = tree.size(folder, 1 << 40, 1 << 40)
    assert found > 0
    assert number > 500
    folder.chmod(0)
    assert tree.remove(folder) == ""
    assert [p.name for p in tmp_path.iterdir()] == ["kept"]
    assert tree.remove(folder) == ""


@linux
def test_what_cannot_be_deleted_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "home"
    folder.mkdir()
    assert tree.remove(folder / "..").startswith(
        f"{folder}/.. could not be deleted: rm: refusing to remove '.' or '..'"
    )


# -- what was handed in ------------------------------------------------------------------------------------------------


@pytest.mark.long
@linux
def test_a_hostile_folder_of_submissions(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    nested_home = tmp_path / "deep"
    nested_home.mkdir()
    nested(nested_home, 1100)
    (tmp_path / os.fsdecode(b"caf\xe9.py")).write_text("x = 1", encoding="utf-8")
    (tmp_path / "\x1b[2Jclear.py").write_text("x = 1", encoding="utf-8")
    (tmp_path / "loop").mkdir()
    (tmp_path / "loop" / "again").symlink_to("..")
    (tmp_path / "loop" / "mine.py").write_text("x = 1", encoding="utf-8")
    (tmp_path / "large.py").touch()
    os.truncate(tmp_path / "large.py", 1 << 40)
    (tmp_path / "folder.py").mkdir()
    notes = {h.student: h.note for h in collect(tmp_path)}
    assert tree.remove(nested_home) == ""  # pytest could not delete it
    assert notes == {
        "pipe": "pipe.py is not a file",
        "deep": "folders in it are nested more than 32 deep",
        "caf\\xe9": "",
        "\\x1b[2Jclear": "",
        "loop": "",
        "large": "large.py has 1,099,511,627,776 bytes; at most 20,971,520 are read of a submission",
        "folder.py": "there is no .ipynb or .py file in it",
    }


def test_what_is_no_text_is_written_all_the_same(tmp_path: Path) -> None:
    mark = Mark(says=["ValueError: \ud800 \x1b[2J"], output="\udcff\0")
    graded = [Graded("ann", {"01-predict": mark}, note="\ud800")]
    write_csv(graded, tmp_path / "marks.csv")
    write_html(graded, tmp_path / "marks.html")
    assert "\\ud800" in (tmp_path / "marks.csv").read_text(encoding="utf-8")
    page = (tmp_path / "marks.html").read_text(encoding="utf-8")
    assert "ValueError: \\ud800 \N{REPLACEMENT CHARACTER}[2J" in page
    assert sorted(p.name for p in tmp_path.iterdir()) == ["marks.csv", "marks.html"]


def test_a_report_is_replaced_as_a_whole(tmp_path: Path) -> None:
    table, link = tmp_path / "marks.csv", tmp_path / "link.csv"
    table.write_text("old", encoding="utf-8")
    table.chmod(0o600)
    link.symlink_to(table)
    before = table.stat().st_ino
    write_csv([], link)
    assert link.is_symlink()
    assert table.read_text(encoding="utf-8").startswith("student,")
    assert stat.S_IMODE(table.stat().st_mode) == 0o600
    assert table.stat().st_ino != before


# -- other systems -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_other_systems_say_what_is_missing_and_stop(
    system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "ann.py").write_text("# %% [exercise] 01-predict\nshrinks = 1\n", encoding="utf-8")
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.chdir(tmp_path)
    assert main(["course", "grade", "class", "--quiet"]) == 2
    said = capsys.readouterr()
    assert "  not in force: namespaces, Landlock and seccomp: they are Linux's\n" in said.out
    for promise in confinement.DOCUMENTED.values():
        assert f"  not in force: {promise}\n" in said.out
    assert said.err.endswith("if you trust the submissions, grade anyway with --unconfined\n")
    assert [p.name for p in tmp_path.iterdir()] == ["class"]


def test_a_journal_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ann.py").write_text("# %% [exercise] 01-predict\nshrinks = 1\n", encoding="utf-8")
    command = ["course", "grade", str(tmp_path), "--csv", str(tmp_path / "marks.csv"), "--resume"]
    assert main(command) == 2
    path = tmp_path / "marks.csv.journal"
    assert capsys.readouterr().err == (
        f"ptxlab: {path} is not there, so there is nothing to resume; grade without --resume\n"
    )
    path.write_text("{}\n", encoding="ascii")
    assert main(command) == 2
    assert capsys.readouterr().err == f"ptxlab: {path} was not written by grading; grade without --resume\n"
    path.write_text(json.dumps({"seed": 5, "exercises": ["01-lse"]}) + "\n", encoding="ascii")
    assert main([*command, "--exercises", "01-predict"]) == 2
    assert capsys.readouterr().err == f"ptxlab: {path} holds marks of 01-lse; resume without --exercises\n"


# -- bubblewrap --------------------------------------------------------------------------------------------------------


@linux
def test_what_bubblewrap_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    command = namespaces.wrapped("/usr/bin/bwrap", [Path("/usr")], ["python3", "-V"])
    assert command[:3] == ["/usr/bin/bwrap", "--unshare-user", "--unshare-pid"]
    assert command[command.index("--ro-bind") :][:3] == ["--ro-bind", "/usr", "/usr"]
    assert command[-3:] == ["--", "python3", "-V"]
    assert "CAP_SETUID" not in command


# -- what the documentation says ---------------------------------------------------------------------------------------


def test_each_test_that_the_documentation_names_is_there() -> None:
    text = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/\w+/\w+\.py)::(\w+)`", text)
    assert len(named) >= 10
    for path, name in named:
        assert f"\ndef {name}(" in (ROOT / path).read_text(encoding="utf-8"), f"{path} has no {name}"
    last = ""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else [""]
        if not line.startswith("|"):
            last = ""
        elif not last:
            last = cells[-1]
        elif last == "test" and not cells[-1].startswith("---"):
            assert re.fullmatch(r"`tests/\w+/\w+\.py::\w+`", cells[-1]), line


def test_an_answer_whose_judge_has_ended_ends_too(tmp_path: Path) -> None:
    """Also where the judge was killed before the answer's process could ask to end with it."""
    code = (
        "import socket\nfrom pathlib import Path\nfrom ptxlab.course.sandbox import isolation\n"
        "here, there = socket.socketpair()\nprint(isolation._hung_up(there), flush=True)\nhere.close()\n"
        f"isolation.confine(Path({str(tmp_path)!r}), None, [Path('/')], there)\nprint('lives')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (1, "False\n"), done.stderr
