"""`ptxlab course`: lists the exercises, releases notebooks to a class, grades what comes back."""

from __future__ import annotations

import argparse
import contextlib
import os
import secrets
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ptxlab.cli.usage import Parser
from ptxlab.errors import PtxlabError

if TYPE_CHECKING:
    from ptxlab.course.marks import Journal


def main(argv: Sequence[str]) -> int:
    """Runs one command of `ptxlab course`; the exit status is 0 when all went well."""
    options = _parser().parse_args(argv)
    status: int = options.run(options)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="ptxlab course", description="Exercises, notebooks for a class, its marks.")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    listed = commands.add_parser("list", help="the exercises")
    listed.set_defaults(run=_list)
    listed.add_argument("notebooks", nargs="*", metavar="NN", help="of these notebooks; by default all")
    release = commands.add_parser("release", help="write the students' notebooks into a new folder")
    release.set_defaults(run=_release)
    release.add_argument("folder", type=Path, metavar="DIR")
    release.add_argument("--notebooks", nargs="+", default=(), metavar="NN", help="by default all")
    release.add_argument("--nbgrader", type=Path, metavar="DIR", help="also write a teacher's course for nbgrader")
    release.add_argument("--seed", type=int, metavar="N", help="of the hidden cases in the teacher's course")
    shown = commands.add_parser("slides", help="write notebooks as slides, with the outputs of their committed run")
    shown.set_defaults(run=_slides)
    shown.add_argument("notebooks", nargs="+", metavar="NN")
    shown.add_argument("--folder", type=Path, default=Path("slides"), metavar="DIR")
    tested = commands.add_parser("test", help="test exercises of your own: starters, solutions, wrong answers")
    tested.set_defaults(run=_test)
    tested.add_argument("folder", type=Path, metavar="DIR", help="with exercises/eNN_name.py and notebooks/NN-name.py")
    grade = commands.add_parser("grade", help="grade a folder of submissions: notebooks, .py files, or folders of them")
    grade.set_defaults(run=_grade)
    grade.add_argument("folder", type=Path, metavar="DIR")
    grade.add_argument("--exercises", nargs="+", default=(), metavar="NAME", help="names, or beginnings such as 01")
    grade.add_argument("--csv", type=Path, default=Path("marks.csv"), metavar="FILE")
    grade.add_argument("--html", type=Path, default=Path("marks.html"), metavar="FILE")
    grade.add_argument("--seed", type=int, metavar="N", help="of the hidden cases; by default one at random")
    grade.add_argument("--seconds", type=float, default=120.0, metavar="S", help="time of a submission")
    grade.add_argument("--each", type=float, default=30.0, metavar="S", help="time of one exercise")
    grade.add_argument(
        "--longest", type=float, default=10.0, metavar="S", help="time of an answer's own code at a stretch"
    )
    grade.add_argument("--memory", type=float, default=3.0, metavar="GIB", help="of a submission's process")
    where = grade.add_mutually_exclusive_group()
    where.add_argument("--jobs", type=int, metavar="N", help="submissions at a time; by default one per core")
    where.add_argument("--dask", metavar="ADDRESS", help="grade on a Dask cluster, such as tcp://10.0.0.1:8786")
    grade.add_argument("--resume", action="store_true", help="go on where it stopped: keep the marks there are")
    grade.add_argument("--unconfined", action="store_true", help="grade although submissions can do harm here")
    grade.add_argument("--quiet", action="store_true", help="no progress bar")
    return parser


def _list(options: argparse.Namespace) -> int:
    from ptxlab.course.feedback import catalogue

    there = dict.fromkeys(e.notebook for e in catalogue().values())
    for number in options.notebooks:
        if number not in there:
            raise PtxlabError(f"there are no exercises of a notebook {number!r}; there are some of {', '.join(there)}")
    chosen = [e for e in catalogue().values() if not options.notebooks or e.notebook in options.notebooks]
    for e in chosen:
        print(f"{e.name:<16} {'*' * e.level:<3}  {e.kind:<9} {e.points:>2}  {e.title}")
    return 0


def _release(options: argparse.Namespace) -> int:
    from ptxlab.course.release import release, teachers

    if options.seed is not None and options.nbgrader is None:
        raise PtxlabError("--seed is for the teacher's course; also write --nbgrader DIR")
    for path in release(options.folder, notebooks=options.notebooks):
        print(path)
    if options.nbgrader is not None:
        for path in teachers(options.nbgrader, notebooks=options.notebooks, seed=options.seed):
            print(path)
    return 0


def _test(options: argparse.Namespace) -> int:
    from ptxlab.course import own, own_tested

    os.environ[own.VARIABLE] = str(options.folder)
    status = 0
    for name, wrong in own_tested.tested():
        print("\n".join([f"{name}: {'not yet' if wrong else 'good'}", *(f"  {says}" for says in wrong)]))
        status |= bool(wrong)
    return status


def _slides(options: argparse.Namespace) -> int:
    from ptxlab.course.slides import slides

    for number in options.notebooks:
        print(slides(number, options.folder))
    return 0


def _grade(options: argparse.Namespace) -> int:
    from ptxlab.course.class_grading import grade
    from ptxlab.course.marks import Graded
    from ptxlab.course.report import write_csv, write_html
    from ptxlab.course.sandbox import confinement
    from ptxlab.course.submission_folder import choose, collect
    from ptxlab.sweeps.workers import connect

    for name in ("seconds", "each", "longest", "memory", "jobs"):
        value = getattr(options, name)
        if value is not None and value <= 0:
            raise PtxlabError(f"--{name} is more than 0, not {value:g}")
    for path in (options.csv, options.html):
        if not path.resolve().parent.is_dir():
            raise PtxlabError(f"{path}: there is no folder {path.parent}")
    handed = collect(options.folder)
    journal = _journal(options, lambda: choose(handed, options.exercises))
    client = confined = None
    if options.dask is not None:
        client = connect(options.dask)
    else:
        confined = confinement.probe(options.folder)
        print("\n".join(confined.lines()), flush=True)
        if not options.unconfined:
            confined.refuse()
    journal.begin()
    title = f"Marks of {options.folder.resolve().name}"

    def write(graded: list[Graded]) -> None:
        try:
            write_csv(graded, options.csv)
            write_html(graded, options.html, title=title, seed=journal.seed)
        except OSError as error:
            kept = f"what was graded is in {journal.path}: go on with --resume"
            raise PtxlabError(f"{error.filename} cannot be written: {error.strerror}; {kept}") from error

    start = time.monotonic()
    with _ended_by_signals(), client or contextlib.nullcontext():
        graded = grade(
            options.folder, exercises=options.exercises, seed=journal.seed, seconds=options.seconds, each=options.each,
            longest=options.longest, memory=int(options.memory * (1 << 30)), jobs=options.jobs,
            progress=not options.quiet, unconfined=options.unconfined, confined=confined, client=client,
            journal=journal, after_each=write
        )  # fmt: skip
    write(graded)
    full = sum(all(mark.ok for mark in g.marks.values()) for g in graded)
    print(f"{len(graded)} submissions in {time.monotonic() - start:.0f} s, {full} with full marks; seed {journal.seed}")
    for g in graded:
        if g.note:
            print(f"  {g.student}: {g.note}")
    print(f"{options.csv}\n{options.html}")
    return 0


def _journal(options: argparse.Namespace, chosen: Callable[[], tuple[str, ...]]) -> Journal:
    """Where the marks are kept while grading: a new journal beside the CSV file, or the one to go on with."""
    from ptxlab.course.marks import Journal

    path = options.csv.with_name(options.csv.name + ".journal")
    if not options.resume:
        seed = secrets.randbelow(1 << 31) if options.seed is None else options.seed
        return Journal(path, seed, chosen())
    journal = Journal.read(path)
    if options.seed not in (None, journal.seed):
        raise PtxlabError(f"{path} has the seed {journal.seed}, not {options.seed}; resume without --seed")
    if options.exercises and chosen() != journal.exercises:
        raise PtxlabError(f"{path} holds marks of {', '.join(journal.exercises)}; resume without --exercises")
    return journal


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Being ended (SIGTERM, a terminal that closes) is like Ctrl-C: what is done is kept and nothing is left behind."""
    before = {}
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            number = getattr(signal, name)
            before[number] = signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
