"""A long run of damaged programs, in processes of their own: what became of each, which died and which hung.

    python tests/support/fuzz_record.py COUNT [--first SEED] [--jobs N] [--folder FOLDER] [--write]

Runs `tests/support/fuzz.py` in batches, both engines by turns. A batch that dies, or spends more than 60 seconds on one
program, is recorded with the seed it was at, and the rest of it goes on in a new process. All of it is kept in FOLDER
(by default `fuzz-run` in the working directory), so that the same command continues where it was stopped. `--write`
puts the tally into benchmarks/results/fuzz.md; the programs that went wrong stay in FOLDER.
"""

from __future__ import annotations

import argparse
import collections
import os
import platform
import queue
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BATCH, PATIENCE = 250, 60.0
"""Programs in a process, and seconds for one of them."""
STOPPED = threading.Event()
"""Set by Ctrl-C: the next run of the same command goes on from here."""
REPORT = ROOT / "benchmarks" / "results" / "fuzz.md"


def outcomes(journal: Path) -> dict[int, str]:
    """What a batch has noted: seed -> outcome; "" for the one that it was at when it ended."""
    found: dict[int, str] = {}
    for line in journal.read_text().splitlines() if journal.exists() else ():
        seed, _, became = line.partition("\t")
        if seed.isdigit():
            found[int(seed)] = became
    return found


def batch(first: int, count: int, folder: Path) -> None:
    """Runs the programs first to first + count - 1, of those that have no outcome yet."""
    journal = folder / f"{first}.txt"
    noted = journal.read_text() if journal.exists() else ""
    if not noted.endswith("\n"):  # stopped by hand: the program that it was at has not ended
        journal.write_text(noted[: noted.rfind("\n") + 1])
    environment = {**os.environ, "PTXLAB_CACHE": "off", "PYTHONPATH": str(ROOT)}
    while left := [seed for seed in range(first, first + count) if not outcomes(journal).get(seed)]:
        command = [sys.executable, "-X", "faulthandler", str(ROOT / "tests/support/fuzz.py"),
                   str(first + count - left[0]), str(left[0]), "both", "--journal", str(journal)]  # fmt: skip
        with (folder / f"{first}.log").open("a") as log:
            process = subprocess.Popen(
                command, cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True
            )
            size, since, ended = -1, time.monotonic(), "CRASH"
            while process.poll() is None:
                time.sleep(0.2)
                if STOPPED.is_set():
                    process.kill()
                    process.wait()
                    return
                now = journal.stat().st_size if journal.exists() else 0
                if now != size:
                    size, since = now, time.monotonic()
                elif time.monotonic() - since > PATIENCE:
                    ended = "HANG"
                    process.kill()
                    process.wait()
        at = [seed for seed, became in outcomes(journal).items() if not became]
        if at:
            with journal.open("a") as file:
                file.write(f"\t{ended} {process.returncode}\n" if ended == "CRASH" else f"\t{ended}\n")
        elif process.returncode:
            raise RuntimeError(f"batch {first} ended with {process.returncode} before a program: see {log.name}")


def tally(folder: Path, first: int, count: int) -> collections.Counter[str]:
    """How many programs had each outcome so far."""
    found: collections.Counter[str] = collections.Counter()
    for journal in folder.glob("*.txt"):
        for seed, became in outcomes(journal).items():
            if became and first <= seed < first + count:
                found[became] += 1
    return found


def wrong(found: collections.Counter[str]) -> dict[str, int]:
    """Crashes, hangs, and exceptions that are not ptxlab's own."""
    kinds = {"crashes": "CRASH", "hangs (60 s)": "HANG", "exceptions not ptxlab's own": "WRONG"}
    return {words: sum(n for became, n in found.items() if became.startswith(kind)) for words, kind in kinds.items()}


def report(found: collections.Counter[str], first: int, seconds: float, ran: int, jobs: int) -> str:
    """The page: what was run, on what, and what became of it."""
    counts = "\n".join(f"| {words} | {n:,} |" for words, n in wrong(found).items())
    rows = "\n".join(f"| {became} | {n:,} |" for became, n in found.most_common())
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    rate = f"{ran / seconds / jobs:.1f} programs a second on one core" if ran else "nothing was left to run"
    return f"""# Damaged programs

{sum(found.values()):,} programs, seeds {first} to {first + sum(found.values()) - 1}, both engines by turns
(`python tests/support/fuzz_record.py`): nvcc's, Triton's, hand-written and random sources, with instructions, numbers,
addresses, declarations or the launch's arguments damaged. Recorded {datetime.now(UTC):%Y-%m-%d} at commit
{commit.stdout.strip()}, Python {platform.python_version()}, {platform.machine()}; {rate}.

| | |
|---|---:|
{counts}

| outcome | programs |
|---|---:|
{rows}
"""


def main() -> None:
    """Runs what is left, and prints the tally as it goes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int)
    parser.add_argument("--first", type=int, default=1_000_000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path("fuzz-run"))
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    folder: Path = given.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for first in range(given.first, given.first + given.count, BATCH):
        waiting.put(first)
    before, start = sum(tally(folder, given.first, given.count).values()), time.monotonic()
    failed: list[BaseException] = []

    def work() -> None:
        while not failed and not STOPPED.is_set():
            try:
                first = waiting.get_nowait()
                batch(first, min(BATCH, given.first + given.count - first), folder)
            except queue.Empty:
                return
            except BaseException as error:
                failed.append(error)
                return
            if STOPPED.is_set():
                return
            found = tally(folder, given.first, given.count)
            ran, seconds = sum(found.values()), time.monotonic() - start
            rate = max(ran - before, 1) / seconds
            left = (given.count - ran) / rate / 60
            print(
                f"{ran:,} of {given.count:,}, {rate:.1f} a second, {left:.0f} minutes to go; {wrong(found)}; "
                f"{dict(found.most_common())}",
                flush=True,
            )

    workers = [threading.Thread(target=work) for _ in range(given.jobs)]
    for worker in workers:
        worker.start()
    try:
        for worker in workers:
            worker.join()
    except KeyboardInterrupt:
        STOPPED.set()
        for worker in workers:
            worker.join()
        raise
    if failed:
        raise failed[0]
    found = tally(folder, given.first, given.count)
    page = report(found, given.first, time.monotonic() - start, sum(found.values()) - before, given.jobs)
    print(page)
    if given.write:
        REPORT.write_text(page)
    sys.exit(any(wrong(found).values()))


if __name__ == "__main__":
    main()
