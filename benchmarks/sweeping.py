"""Sweeps on a Dask cluster of real processes, disturbed on purpose: `python benchmarks/sweeping.py`.

A scheduler and four workers, each a process of its own. 2,000 points are measured three times: one after the other in
this process, on the cluster undisturbed, and on the cluster while the scheduler is killed and started again, a worker
is killed half-way, and the sweep itself is interrupted and taken up. Printed: whether the tables are equal, rows lost
and rows measured twice, and the time of a point against the serial one. Then, for 100 to 20,000 points whose
measurement is simulated, the memory of the process that sweeps and the time that a point costs besides its measurement.
Writes benchmarks/results/sweeps.md. Needs `ptxlab[scale]`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests/support")]

import sweep_jobs

import ptxlab as pl
from ptxlab.sweeps import Shape, journal, workers
from ptxlab.sweeps.measure import COLUMNS, measure
from ptxlab.sweeps.plan import Refusals, points

PORT = 8797
WORKERS = 4
SAME = [name for name in COLUMNS if name not in ("build_s", "spent_s")]
"""What does not depend on the clock."""
GRID = {"causal": [False, True], "warps": [2, 4]}
KERNELS = ["scalar", "tiled", "decode", "decode_multiwarp"]


def shapes(count: int) -> list[Shape]:
    """Problems for so many points, or a few more: small ones, each another."""
    each = 2 + 2 + 1 + 2
    sizes = ((seq, batch) for batch in range(1, 1000) for seq in range(8, 72))
    chosen = itertools.islice(sizes, -(-count // each))
    return [Shape(seq, head_dim=16, batch=batch) for seq, batch in chosen]


class Cluster:
    """A scheduler and workers, started as anybody starts them; a supervisor's work is done by `worker`."""

    def __init__(self, log: Path) -> None:
        self.log = open(log, "ab")
        self.scheduler, self.workers = self._scheduler(), list[subprocess.Popen[bytes]]()
        for _ in range(WORKERS):
            self.worker()

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        env = os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests/support'}", "OMP_NUM_THREADS": "1"}
        return subprocess.Popen([sys.executable, "-m", *words], stdout=self.log, stderr=self.log, env=env)

    def _scheduler(self) -> subprocess.Popen[bytes]:
        return self._start(
            "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(PORT), "--no-dashboard"
        )

    def worker(self) -> None:
        """One more worker, with one thread and without a nanny: a process that can be killed."""
        self.workers.append(
            self._start("distributed.cli.dask_worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard")
        )

    @property
    def address(self) -> str:
        """Where clients connect."""
        return f"tcp://127.0.0.1:{PORT}"

    def kill_worker(self) -> None:
        """SIGKILL to a worker; a new one is started, as Slurm or Kubernetes do."""
        self.workers.pop(0).kill()
        self.worker()

    def restart_scheduler(self) -> None:
        """SIGKILL to the scheduler; a new one and new workers, as the old ones end with it."""
        self.scheduler.kill()
        self.scheduler.wait()
        self.scheduler = self._scheduler()

        def later() -> None:
            time.sleep(5)
            for worker in self.workers:
                worker.kill()
            count, self.workers = len(self.workers), []
            for _ in range(count):
                self.worker()

        threading.Thread(target=later).start()

    def close(self) -> None:
        """Ends all of it."""
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()
        self.log.close()


def swept(out: Path, count: int, address: str, **options: Any) -> Any:
    """The sweep over the cluster."""
    from distributed import Client

    client = Client(address, timeout=60)
    try:
        client.wait_for_workers(1, timeout=120)
        return pl.sweep(KERNELS, GRID, shapes(count), client=client, out=out, progress=False, **options)
    finally:
        client.close(timeout=5)


def table(rows: Iterator[dict[str, Any]]) -> dict[str, str]:
    """Rows by key, as text without times."""
    return {row["key"]: json.dumps({name: row.get(name) for name in SAME}, sort_keys=True) for row in rows}


def processor() -> str:
    """The name of the processor, where the system says it."""
    found = Path("/proc/cpuinfo")
    lines = found.read_text().splitlines() if found.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def memory() -> float:
    """MiB that this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def driver(out: str, count: str, address: str) -> None:
    """The process that is interrupted, also where a shell runs this benchmark in the background and ignores Ctrl-C."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    found = swept(Path(out), int(count), address)
    sys.exit(130 if found.interrupted else 0)


def flat(address: str, counts: list[int]) -> list[tuple[int, float, float]]:
    """The driver's memory after so many simulated points, and the milliseconds that each of them took."""
    from distributed import Client

    found = []
    with Client(address) as client, tempfile.TemporaryDirectory() as folder:
        for count in counts:
            start = time.perf_counter()
            book = journal.Journal(Path(folder) / str(count))
            how = {"device": "cpu", "checks": [], "seed": 0}
            every = points(KERNELS, GRID, shapes(count), how, Refusals())
            todo = ((point.key, point.task()) for point in every)
            for key, row in workers.on_dask(todo, client, sweep_jobs.simulated):
                book.add({"key": key} | row)
            book.close()
            spent = time.perf_counter() - start
            found.append((len(book.known), memory(), 1e3 * spent / len(book.known)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--points", type=int, default=2000)
    parser.add_argument("--simulated", type=int, nargs="+", default=[100, 2000, 20000])
    parser.add_argument("--driver", nargs=3, metavar=("OUT", "POINTS", "ADDRESS"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.driver:
        return driver(*chosen.driver)
    count = chosen.points
    every = list(points(KERNELS, GRID, shapes(count), {"device": "cpu", "checks": [], "seed": 0}, Refusals()))
    start = time.perf_counter()
    serial = table({"key": point.key} | measure(point.task()) for point in every)
    alone = time.perf_counter() - start
    lines = [f"{len(every)} points, one after the other: {alone:.1f} s, {1e3 * alone / len(every):.1f} ms each"]
    print(lines[-1], flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cluster = Cluster(folder / "log")
        try:
            start = time.perf_counter()
            found = swept(folder / "quiet", count, cluster.address)
            spent = time.perf_counter() - start
            lines.append(
                f"on the cluster, undisturbed: {spent:.1f} s, {spent / alone:.2f} of the serial time; equal to it: "
                f"{table(found.rows()) == serial}"
            )
            print(lines[-1], flush=True)
            lines += disturbed(cluster, folder / "disturbed", count, serial)
            memories = flat(cluster.address, chosen.simulated)
            lines.append(
                "simulated points, memory of the process that sweeps and time a point (what the cluster and the journal"
                " cost): " + ", ".join(f"{n:,} points {mb:.0f} MiB, {ms:.1f} ms each" for n, mb, ms in memories)
            )
            print(lines[-1], flush=True)
        finally:
            cluster.close()
    cores = len(os.sched_getaffinity(0))
    name = f"{processor()}, {cores} cores, Python {platform.python_version()}"
    about = f"`python benchmarks/sweeping.py`: {name}. A scheduler and {WORKERS} workers, each a process."
    if WORKERS > cores:
        about += f" Oversubscribed: {WORKERS} workers on {cores} cores, so the times show no speed-up."
    text = "# A sweep on a cluster that is disturbed\n\n" + about + "\n\n" + "".join(f"- {line}\n" for line in lines)
    (ROOT / "benchmarks/results/sweeps.md").write_text(text)


def disturbed(cluster: Cluster, out: Path, count: int, serial: dict[str, str]) -> list[str]:
    """The same: the scheduler killed at a quarter, a worker at a half, the sweep interrupted at three quarters."""
    rows = out / journal.ROWS

    def there() -> int:
        return rows.read_bytes().count(b"\n") if rows.exists() else 0

    command = [sys.executable, __file__, "--driver", str(out), str(count), cluster.address]
    first = subprocess.Popen(command, stdout=cluster.log, stderr=cluster.log)
    at = []
    for share, disturb in (
        (0.25, cluster.restart_scheduler),
        (0.5, cluster.kill_worker),
        (0.75, lambda: first.send_signal(signal.SIGINT)),
    ):
        while there() < share * len(serial):
            time.sleep(0.05)
            assert first.poll() is None, f"the sweep ended with {first.returncode} after {there()} rows"
        at.append(there())
        disturb()
    code = first.wait()
    assert code == 130, f"the sweep was to be interrupted, and ended with {code}"
    kept = there()
    second = subprocess.run(command, stdout=cluster.log, stderr=cluster.log, check=False)
    found = list(journal.read(out))
    twice = len(found) - len({row["key"] for row in found})
    lost = sum(row["status"] == "lost" for row in found)
    equal = table(iter(found)) == serial
    lines = [
        f"the scheduler killed and started at row {at[0]}, a worker killed at row {at[1]}, the sweep interrupted "
        f"at row {at[2]} (status {code}, {kept} rows kept) and taken up (status {second.returncode}): "
        f"{len(found)} rows, {len(serial) - len(found) + twice} missing, {twice} twice, {lost} lost; "
        f"equal to the serial table: {equal}"
    ]
    print(lines[-1], *{row["reason"] for row in found if row["reason"]}, flush=True)
    return lines


if __name__ == "__main__":
    main()
