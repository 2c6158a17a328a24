"""What a tree of ptxlab costs beside another one: `python -m benchmarks.cut OLD [--only launches checks ...]`.

OLD is a checkout to compare with (`git worktree add OLD COMMIT`); this tree is the new one. Both run the same things in
turn, and each figure is printed as the new tree's time over the old one's, beside its limit:

    launches    every kernel of the library, and twelve CUDA kernels beside the same loops in C (`c_kernels`), memcheck
    checks      the same with racecheck, initcheck, counters and all checks, over memcheck alone
    first       a new process, from `import numpy` to a first result, with its code cached and with nothing cached
    notebooks   every notebook of the course, solutions in (`benchmarks.notebooks`)
    explorer    a moved slider, an opened explorer, a step of the debugger (`benchmarks.explorer`)

Launches run on one core, one worker, in code of the best quality; CPU time, the lower quartile of some rounds.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
PREFILL = ("scalar", "tiled", "tiled2d", "wmma", "mma", "swizzle", "pipelined", "wgmma", "hopper")
DECODE = ("decode", "decode_multiwarp", "decode_paged", "decode_split", "decode_gqa")
OPTIONS: dict[str, dict[str, Any]] = {
    "memcheck": {},
    "racecheck": {"checks": ("memcheck", "racecheck")},
    "initcheck": {"checks": ("memcheck", "initcheck")},
    "counters": {"counters": True},
    "all": {"checks": ("memcheck", "initcheck", "racecheck", "synccheck"), "counters": True},
}
SLOWER = dict.fromkeys(PREFILL + DECODE, 1.6) | {"wmma": 3.0, "tiled2d": 3.0}
"""How many times as long a launch of the library may take."""
OVER_MEMCHECK = {"racecheck": 10, "initcheck": 3, "counters": 3, "all": 14}
"""What a check may cost in the median, over memcheck alone."""
C_OVER_OURS, LONGEST, LONGEST_CHECKED = 0.6, 0.050, 0.3
FIRST = {("smallest", "cached"): 0.1, ("scalar", "uncached"): 0.3, ("hopper", "uncached"): 1.0}
"""Seconds at most until a first result."""
ANYWHERE = 1.2
"""How many times as long the explorer and a notebook may take."""
HOT = 2.0
"""Seconds of launches after which better code is asked for, at the latest."""


# -- a worker: one tree, told what to run through its standard input ---------------------------------------------------


def subject(name: str) -> tuple[Callable[..., Any], Callable[[], list[Any]]]:
    """What a name stands for: a function that launches it once, and one that gives what it has written."""
    import numpy as np

    import ptxlab as pl

    rng = np.random.default_rng(1)
    if name in PREFILL:
        dtype = "float32" if name in ("scalar", "tiled", "tiled2d") else "float16"
        q, k, v = pl.reference.random_inputs(1, 1, 1, 512, 512, 64, dtype=dtype)
        last: list[Any] = []

        def prefill(**options: Any) -> None:
            last[:] = [pl.attention(q, k, v, kernel=name, device="cpu", **options).o]

        return prefill, lambda: last
    if name in DECODE:
        q = rng.standard_normal((4, 4, 64)).astype("float16")
        k, v = (rng.standard_normal((4, 2, 1024, 64)).astype("float16") for _ in range(2))
        table = None
        if name == "decode_paged":
            table = rng.permutation(256).astype(np.int32).reshape(4, 64)
            k, v = (rng.standard_normal((256, 16, 2, 64)).astype("float16") for _ in range(2))
        kept: list[Any] = []

        def decode(**options: Any) -> None:
            kept[:] = [pl.decode(q, k, v, 1024, table, kernel=name, device="cpu", **options).o]

        return decode, lambda: kept
    import c_kernels

    kernel = next(k for k in c_kernels.KERNELS if k.name == name)
    given = kernel.arguments(rng)
    compiled = pl.cuda(kernel.cuda, entry=name, file=f"{name}.cu")
    buffers = [pl.to_device(a, device="cpu") if isinstance(a, np.ndarray) else a for a in given]

    def launch(**options: Any) -> None:
        pl.launch(compiled, kernel.grid, kernel.block, *buffers, device="cpu", workers=1, **options)

    def written() -> list[Any]:
        for k in kernel.written:  # once from the beginning: some kernels add to what is there
            buffers[k].copy_from_host(given[k])
        launch()
        return [buffers[k].copy_to_host().reshape(-1) for k in kernel.written]

    return launch, written


def heat(launch: Callable[[], None]) -> None:
    """Launches until no better code is being made."""
    spent = time.perf_counter()
    while time.perf_counter() - spent < HOT:
        launch()
    busy = True
    while busy:  # other threads of this process build
        begun = time.process_time()
        time.sleep(0.2)
        busy = time.process_time() - begun > 0.02
    launch()


def serve() -> None:
    """Answers a line of standard input with one of standard output: `prepare NAME OPTION`, `run NAME OPTION`, `written
    NAME` or `c NAME`."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    made: dict[str, Any] = {}
    ready: dict[tuple[str, str], Callable[[], None]] = {}
    in_c: dict[str, Any] = {}
    for line in sys.stdin:
        verb, name, *rest = line.split()
        answer: Any = None
        if verb == "prepare":
            if name not in made:
                made[name] = subject(name)
            ready[name, rest[0]] = lambda run=made[name][0], options=OPTIONS[rest[0]]: run(**options)
            heat(ready[name, rest[0]])
        elif verb == "run":
            begun = time.process_time()
            ready[name, rest[0]]()
            answer = time.process_time() - begun
        elif verb == "written":
            answer = [a.astype(float).ravel()[:4096].tolist() for a in made[name][1]()]
        elif verb == "c":
            answer = _c(name, in_c, made)
        print(json.dumps(answer), flush=True)


def _c(name: str, known: dict[str, Any], made: Mapping[str, Any]) -> float:
    """CPU seconds of the C function, whose result is compared with ours the first time."""
    import c_kernels
    import numpy as np

    kernel = next(k for k in c_kernels.KERNELS if k.name == name)
    if name not in known:
        with tempfile.TemporaryDirectory() as folder:
            library = c_kernels.compile_c([kernel], Path(folder))
        known[name] = c_kernels.InC(kernel, kernel.arguments(np.random.default_rng(1)), library)
        known[name].run()
        c_kernels.agree(kernel, made[name][1](), [known[name].arguments[k].reshape(-1) for k in kernel.written])
    return float(known[name].run())


class Tree:
    """A tree's worker."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.environment = os.environ | {"PYTHONPATH": f"{self.root}", "PTXLAB_CACHE": "off"}
        command = [sys.executable, str(HERE), "--worker"]
        self.process = subprocess.Popen(
            command, env=self.environment, cwd=self.root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, *words: str) -> Any:
        """The worker's answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline() or sys.exit(f"the worker of {self.root} has died"))

    def close(self) -> None:
        """Ends the worker."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


# -- what is measured --------------------------------------------------------------------------------------------------


def quartile(times: Iterable[float]) -> float:
    """A quarter of them are shorter."""
    ordered = sorted(times)
    return ordered[len(ordered) // 4]


class Report:
    """Lines of the table, and limits that are missed."""

    def __init__(self) -> None:
        self.missed: list[str] = []

    def row(self, what: str, old: float, new: float, unit: str = "ms", limit: float | None = None) -> None:
        """One figure of both trees; limit: of new over old."""
        ratio = new / old
        scale = 1e3 if unit == "ms" else 1.0
        asked = "" if limit is None else f"  at most {limit}"
        print(f"{what:46}{old * scale:10.2f}{new * scale:10.2f} {unit:3}{ratio:8.2f}{asked}", flush=True)
        self.hold(limit is None or ratio <= limit, f"{what}: {ratio:.2f} times as long, {limit} at most")

    def hold(self, good: bool, otherwise: str) -> None:
        """A limit."""
        if not good:
            self.missed.append(otherwise)


def timed(trees: tuple[Tree, Tree], name: str, option: str, seconds: float) -> tuple[float, float]:
    """CPU seconds of a launch on both trees, in turn."""
    for tree in trees:
        tree.ask("prepare", name, option)
    times: tuple[list[float], list[float]] = [], []
    spent = 0.0
    while len(times[0]) < 5 or (spent < seconds and len(times[0]) < 60):
        for tree, of_one in zip(trees, times, strict=True):
            of_one.append(tree.ask("run", name, option))
            spent += of_one[-1]
    return quartile(times[0]), quartile(times[1])


def launches(old: Path, new: Path, report: Report, seconds: float, options: Iterable[str], names: list[str]) -> None:
    """Launches with memcheck, and with what `options` names besides."""
    import c_kernels

    suite = [k.name for k in c_kernels.KERNELS]
    trees = Tree(old), Tree(new)
    over: dict[str, list[float]] = {option: [] for option in options}
    against_c: list[float] = []
    for name in [n for n in (*PREFILL, *DECODE, *suite) if n in names or not names]:
        before, after = timed(trees, name, "memcheck", seconds)
        report.row(name, before, after, limit=SLOWER.get(name))
        if trees[0].ask("written", name) != trees[1].ask("written", name):
            sys.exit(f"{name}: the two trees' results differ")
        if name in suite:
            in_c = quartile(trees[1].ask("c", name) for _ in range(15))
            against_c.append(in_c / after)
            report.hold(after <= LONGEST, f"{name} takes {after * 1e3:.0f} ms, {LONGEST * 1e3:.0f} at most")
        for option in options:
            slow, slower = timed(trees, name, option, seconds)
            report.row(f"{name}, {option}", slow, slower)
            over[option].append(slower / after)
            if option == "all" and name not in suite:
                limit = LONGEST_CHECKED
                report.hold(slower <= limit, f"{name} with all checks takes {slower:.2f} s, {limit} at most")
    for tree in trees:
        tree.close()
    if against_c:
        mean = math.exp(statistics.mean(map(math.log, against_c)))
        print(f"C over ours, {len(against_c)} kernels: geometric mean {mean:.2f}, worst {min(against_c):.2f}")
        report.hold(mean >= C_OVER_OURS, f"C over ours is {mean:.2f}, {C_OVER_OURS} at least")
    for option, ratios in over.items():
        middle, most = statistics.median(ratios), OVER_MEMCHECK[option]
        print(f"{option} over memcheck: median {middle:.2f}, worst {max(ratios):.1f}; median at most {most}")
        report.hold(middle <= most, f"{option} over memcheck is {middle:.1f} in the median, {most} at most")


SMALLEST = """.version 8.0
.target sm_80
.address_size 64
.visible .entry first(.param .u64 out)
{
    .reg .b32 %t; .reg .b64 %a, %o;
    ld.param.u64 %a, [out];
    mov.u32 %t, %tid.x;
    mul.wide.u32 %o, %t, 4;
    add.u64 %a, %a, %o;
    st.global.u32 [%a], %t;
    ret;
}
"""
RESULTS = {
    "smallest": f"ptxlab.launch({SMALLEST!r}, 1, 32, numpy.zeros(32, numpy.uint32), device='cpu')",
    **{
        name: f"q, k, v = ptxlab.reference.random_inputs(1, 1, 1, 64, 64, 64, dtype='{dtype}'); "
        f"ptxlab.attention(q, k, v, kernel='{name}', device='cpu')"
        for name, dtype in (("scalar", "float32"), ("pipelined", "float16"), ("hopper", "float16"))
    },
}
PROCESS = """import numpy, time
begun = time.perf_counter(), time.process_time()
import ptxlab
{}
print(time.perf_counter() - begun[0], time.process_time() - begun[1])"""


def first(old: Path, new: Path, report: Report, processes: int) -> None:
    """A first result in a new process: the least of some, in turn, of a clock and of CPU time. The limits are of the
    clock, on a quiet machine."""
    with tempfile.TemporaryDirectory() as folder:
        for name, code in RESULTS.items():
            for cached in ("cached", "uncached"):
                least = []
                for root in (old, new):
                    own = {"PYTHONPATH": str(root.resolve()), "PYTHONPYCACHEPREFIX": f"{folder}/{len(least)}/bytecode"}
                    own["PTXLAB_CACHE"] = f"{folder}/{len(least)}/code" if cached == "cached" else "off"
                    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | own
                    least.append((environment, list[tuple[float, float]]()))
                for _ in range(1 + processes):
                    for environment, times in least:
                        command = [sys.executable, "-c", PROCESS.format(code)]
                        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
                        wall, cpu = map(float, done.stdout.split())
                        times.append((wall, cpu))
                for k, clock in enumerate(("clock", "CPU time")):
                    row = [min(each[k] for each in times[1:]) for _, times in least]
                    report.row(f"first result, {name}, {cached}, {clock}", *row)
                after = min(wall for wall, _ in least[1][1][1:])
                most = FIRST.get((name, cached))
                if most is not None:
                    report.hold(after <= most, f"first result of {name}, {cached}: {after:.2f} s, {most} at most")


def _printed(root: Path, *command: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(root.resolve())}
    done = subprocess.run([sys.executable, *command], cwd=root, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} in {root}: {done.stderr[-2000:]}")
    return done.stdout


def notebooks(old: Path, new: Path, report: Report, names: list[str]) -> None:
    """Every notebook, or those named."""
    sources = sorted(p.stem for p in (new / "ptxlab/course/notebooks").glob("[0-9][0-9]-*.py"))
    for name in [s for s in sources if not names or any(s.startswith(n) for n in names)]:
        seconds = []
        for root in (old, new):
            found = re.search(
                rf"^{name}\s+([\d.]+) s", _printed(root, "-m", "benchmarks.notebooks", name), re.MULTILINE
            )
            seconds.append(float(found.group(1)) if found else math.nan)
        report.row(f"notebook {name}", *seconds, unit="s", limit=ANYWHERE)


def explorer(old: Path, new: Path, report: Report, names: list[str]) -> None:
    """The explorer and the debugger in a browser: medians, the lesser of two runs, since they wait for other programs
    on the machine; beside them, without a limit, the 95th percentiles."""
    runs: list[list[dict[str, float]]] = [[], []]
    with tempfile.TemporaryDirectory() as folder:
        for n, root in enumerate((old, new) * 2):
            file = Path(folder) / f"{n}.json"
            _printed(root, "-m", "benchmarks.explorer", "--json", str(file), *(names or ["scalar", "pipelined"]))
            runs[n % 2].append(flat(json.loads(file.read_text())))
    for what in sorted(runs[0][0].keys() & runs[1][0].keys()):
        before, after = (min(run[what] for run in of) for of in runs)
        if before > 0 and what.endswith((" median", " p95")):
            limit = ANYWHERE if what.endswith("median") else None
            report.row(what[-46:], before / 1e3, after / 1e3, limit=limit)


def flat(value: Any, at: str = "") -> dict[str, float]:
    """The numbers of nested dictionaries, by their paths: medians and single ones."""
    if isinstance(value, dict):
        return {k: v for key, inner in value.items() for k, v in flat(inner, f"{at} {key}".strip()).items()}
    if isinstance(value, list) and value and all(isinstance(v, int | float) for v in value):
        return {at: float(statistics.median(value))}
    return {at: float(value)} if isinstance(value, int | float) and not isinstance(value, bool) else {}


def main() -> None:
    """Prints the table, and every limit that is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cut", description=__doc__)
    parser.add_argument("old", nargs="?", type=Path, help="the tree to compare with")
    parser.add_argument("--new", type=Path, default=HERE.parents[1], help="by default this tree")
    parts = ("launches", "checks", "first", "notebooks", "explorer")
    parser.add_argument("--only", nargs="+", choices=parts, default=["launches", "first"])
    parser.add_argument("--names", nargs="+", default=[], help="kernels or notebooks; by default all")
    parser.add_argument("--seconds", type=float, default=2.0, help="CPU time for each figure of a launch")
    parser.add_argument("--processes", type=int, default=7, help="new processes of each tree for a first result")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        serve()
        return
    if options.old is None:
        parser.error("the tree to compare with is missing")
    sys.path.insert(0, str(HERE.parent))
    report = Report()
    print(f"{'':46}{'old':>10}{'new':>10} {'':3}{'ratio':>8}", flush=True)
    if {"launches", "checks"} & set(options.only):
        watched = list(OVER_MEMCHECK) if "checks" in options.only else []
        launches(options.old, options.new, report, options.seconds, watched, options.names)
    if "first" in options.only:
        first(options.old, options.new, report, options.processes)
    if "notebooks" in options.only:
        notebooks(options.old, options.new, report, options.names)
    if "explorer" in options.only:
        explorer(options.old, options.new, report, options.names)
    print("\n".join(["limits missed:", *report.missed]) if report.missed else "all limits are met")


if __name__ == "__main__":
    main()
