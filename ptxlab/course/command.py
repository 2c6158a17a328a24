"""`ptxlab course`: lists the exercises, releases notebooks to a class, grades what comes back."""

from __future__ import annotations

import argparse
import json
import secrets
import time

from ptxlab.course.check import catalogue
from ptxlab.errors import PtxlabError


def main(options: argparse.Namespace) -> int:
    """Runs one command; `options` are those of `ptxlab.cli`."""
    return {"list": _list, "release": _release, "grade": _grade}[options.course](options)


def _list(options: argparse.Namespace) -> int:
    chosen = [e for e in catalogue().values() if not options.notebooks or e.notebook in options.notebooks]
    if options.json:
        print(json.dumps([
            {"name": e.name, "title": e.title, "kind": e.kind, "level": e.level, "points": e.points,
             "graded": list(e.graded)} for e in chosen
        ], indent=2))  # fmt: skip
        return 0
    for e in chosen:
        print(f"{e.name:<16} {'*' * e.level:<3}  {e.kind:<9} {e.points:>2}  {e.title}")
    return 0


def _release(options: argparse.Namespace) -> int:
    from ptxlab.course.release import release, teachers

    if options.seed is not None and options.nbgrader is None:
        raise PtxlabError("--seed is for the teacher's course; write --nbgrader DIR, too")
    for path in release(options.folder, notebooks=options.notebooks):
        print(path)
    if options.nbgrader is not None:
        for path in teachers(options.nbgrader, notebooks=options.notebooks, seed=options.seed):
            print(path)
    return 0


def _grade(options: argparse.Namespace) -> int:
    from ptxlab.course.grade import grade
    from ptxlab.course.report import write_csv, write_html

    for name in ("seconds", "each", "memory", "jobs"):
        value = getattr(options, name)
        if value is not None and value <= 0:
            raise PtxlabError(f"--{name} is more than 0, not {value:g}")
    for path in (options.csv, options.html):
        if not path.resolve().parent.is_dir():
            raise PtxlabError(f"{path}: there is no folder {path.parent}")
    seed = secrets.randbelow(1 << 31) if options.seed is None else options.seed
    start = time.monotonic()
    graded = grade(
        options.folder, exercises=options.exercises, seed=seed, seconds=options.seconds, each=options.each,
        memory=int(options.memory * (1 << 30)), jobs=options.jobs, progress=not options.quiet,
    )  # fmt: skip
    write_csv(graded, options.csv)
    write_html(graded, options.html, title=f"Marks of {options.folder.resolve().name}", seed=seed)
    full = sum(all(mark.ok for mark in g.marks.values()) for g in graded)
    noted = [g for g in graded if g.note]
    print(f"{len(graded)} submissions in {time.monotonic() - start:.0f} s, {full} with full marks; seed {seed}")
    for g in noted:
        print(f"  {g.student}: {g.note}")
    print(f"{options.csv}\n{options.html}")
    return 0
