"""A class of 200 synthetic submissions, graded here and on a Dask cluster of real processes: the same CSV file?

    python -m benchmarks.course_grading_dask             # writes benchmarks/results/course_grading_dask.md
    python -m benchmarks.course_grading_dask --count 20 --timed 8

The class is that of `course_grading.py`: right, wrong, and all that a grader fears. Half-way a worker is killed. Then a
part of the class is graded with one, two and four workers, for the time. Needs `ptxlab[scale]` and bubblewrap.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import course_grading
from benchmarks.course_grading import RESULTS, SEED
from benchmarks.sweeping import Cluster, processor
from ptxlab.course.class_grading import grade
from ptxlab.course.marks import Graded
from ptxlab.course.report import write_csv
from ptxlab.sweeps.workers import connect

PORT = 8798
WORKERS = 2


def graded(folder: Path, csv: Path, **options: Any) -> float:
    """Grades a class and writes its CSV file; the seconds that it took."""
    start = time.monotonic()
    write_csv(grade(folder, seed=SEED, progress=False, **options), csv)
    return time.monotonic() - start


def on_cluster(folder: Path, csv: Path, log: Path, workers: int, *, kill: int | None = None, **options: Any) -> float:
    """The same on a cluster with so many workers. kill: after so many submissions a worker is killed."""
    cluster = Cluster(log, workers, PORT)

    def after(done: list[Graded]) -> None:
        if len(done) == kill:
            cluster.kill_worker()

    try:
        with connect(cluster.address) as client:
            client.wait_for_workers(workers, timeout=120)
            return graded(folder, csv, client=client, after_each=after, **options)
    finally:
        cluster.close()


def main() -> int:
    """Makes the class, grades it here and there, writes the report; the status is 1 if the files differ."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--timed", type=int, default=40, help="submissions that are graded for the time")
    parser.add_argument("--exercises", nargs="+", default=course_grading.NAMES[:1])
    parser.add_argument("--longest", type=float, default=30.0, help="seconds of an answer's own code at a stretch")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIR")
    chosen = parser.parse_args()
    options: dict[str, Any] = {
        "exercises": chosen.exercises,
        "longest": chosen.longest,
        "each": 4 * chosen.longest,
        "seconds": 16 * chosen.longest,
    }
    cores = len(os.sched_getaffinity(0))
    lines = [
        "# A class, graded on a Dask cluster",
        "",
        f"`python -m benchmarks.course_grading_dask`: {chosen.count} submissions, exercises "
        f"{', '.join(chosen.exercises)}, {processor()}, {cores} cores, Python {platform.python_version()}. Scheduler "
        "and workers are processes of this machine; a worker has one thread.",
        "",
    ]
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        folder, few = place / "class", place / "few"
        for at, count in ((folder, chosen.count), (few, chosen.timed)):
            at.mkdir()
            course_grading.write_class(at, place / "marks.csv", count)
        here, there, log = place / "here.csv", place / "there.csv", place / "log"
        alone = graded(folder, here, **options)
        print(f"here: {alone:.0f} s", flush=True)
        spent = on_cluster(folder, there, log, WORKERS, kill=chosen.count // 2, **options)
        mine, theirs = here.read_text().splitlines(), there.read_text().splitlines()
        differ = [f"{a} | {b}" for a, b in zip(mine, theirs, strict=True) if a != b]
        same = here.read_bytes() == there.read_bytes()
        lines.append(
            f"- {chosen.count} submissions, here {alone:.0f} s, on {WORKERS} workers {spent:.0f} s, one of them killed "
            f"after {chosen.count // 2} submissions (SIGKILL) and replaced: {len(theirs) - 1} lines, the CSV files are "
            f"{'the same, byte for byte' if same else 'NOT the same: ' + '; '.join(differ)}"
        )
        print(lines[-1], flush=True)
        lines.append(f"- {chosen.timed} submissions here: {graded(few, here, **options):.0f} s")
        print(lines[-1], flush=True)
        for workers in (1, 2, 4):
            spent = on_cluster(few, there, log, workers, **options)
            same = same and here.read_bytes() == there.read_bytes()
            says = f"- the same on {workers} workers: {spent:.0f} s" + (" (oversubscribed)" if workers > cores else "")
            lines.append(f"{says}; the same CSV: {here.read_bytes() == there.read_bytes()}")
            print(lines[-1], flush=True)
    lines.append(f"- load average at the end {os.getloadavg()[1]:.1f}")
    (chosen.results / "course_grading_dask.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
