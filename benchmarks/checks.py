"""What watching costs on the CPU machine, as ratios to a plain run: `python -m benchmarks.checks [--write]`.

Three kernels: attention with one thread per row, attention with K and V in shared memory (one head, N = 1024, D = 64),
and nvcc's tiled matrix multiplication. One worker; CPU time, in turn with plain runs, so that other programs on the
machine change little; builds apart. Then traces of 100,000 warp-steps: what one weighs, how long it takes to record, to
save, to open, and to walk. `--write` keeps all of it in results/checks.json and results/checks.md.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np

import ptxlab as pl
from benchmarks.emulator import Prepared, attention, matmul
from ptxlab.emulate.jit.affine.block_rows import Rows
from ptxlab.emulate.jit.building.build import prepare
from ptxlab.emulate.jit.instruments.selection import instruments_of
from ptxlab.emulate.jit.running.run import Run
from ptxlab.emulate.runtime.report import Launch
from ptxlab.emulate.trace.recorder import Trace

RESULTS = Path(__file__).parent / "results"
RUNS = 40
"""Runs of each, in turn with plain ones."""


def runner(prepared: Prepared, *, trace: Trace | None = None, **options: object) -> Callable[[], float]:
    """A function that runs a kernel with these options and gives the CPU time that it took, without the preparations,
    and without the packing of a trace afterwards: while the kernel runs its steps are only written down."""
    launch = Launch(*prepared.size, prepared.params, shared=prepared.shared, workers=1, **options)  # type: ignore[arg-type]

    def once() -> float:
        this = launch
        if trace is not None:
            this = launch._replace(trace=trace.recorder(prepared.program, launch))
        made = Run(prepared.program, built, this, prepared.memory)
        begun = time.process_time()
        made.wait()
        return time.process_time() - begun

    built = prepare(prepared.program, None, instruments_of(launch), Rows.of(launch.block, launch.grid))[0]
    once()
    built.improve()
    return once


def quick(times: list[float]) -> float:
    """A quarter of the times are shorter: the clock is coarse, and now and then gives one that is much too short."""
    return sorted(times)[len(times) // 4]


KERNELS: dict[str, Callable[[], Prepared]] = {
    "scalar attention": lambda: attention("scalar"),
    "tiled attention": lambda: attention("tiled"),
    "nvcc tiled matmul": lambda: matmul("matmul_tiled", 16),
}
WATCHED: dict[str, tuple[dict[str, Any], int | None]] = {
    "counters": ({"counters": True}, 4),
    "initcheck": ({"checks": ("memcheck", "initcheck")}, 3),
    "racecheck": ({"checks": ("memcheck", "racecheck")}, 8),
    "synccheck": ({"checks": ("memcheck", "synccheck")}, None),
    "all four checks": ({"checks": ("memcheck", "initcheck", "racecheck", "synccheck")}, 12),
    "trace of one warp": ({"trace": Trace(blocks=0, warps=0)}, 3),
}
"""What is measured: options of a launch, and the ratio that is asked for."""

LOOP = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry loop(.param .u64 x, .param .u32 rounds)
{
    .reg .pred %p;
    .reg .b32 %r<5>;
    .reg .b64 %rd<4>;
    .reg .f32 %f<3>;
    ld.param.u64 %rd1, [x];
    ld.param.u32 %r1, [rounds];
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %rd2, %r2, 4;
    add.u64 %rd3, %rd1, %rd2;
    mov.u32 %r3, 0;
ROUND:
    ld.global.f32 %f1, [%rd3];
    fma.rn.f32 %f2, %f1, 0f3F000000, 0f3F800000;
    st.global.f32 [%rd3], %f2;
    add.u32 %r4, %r3, %r2;
    xor.b32 %r4, %r4, 85;
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p, %r3, %r1;
    @%p bra ROUND;
    ret;
}
"""


def cpu_time(call: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of a call, and what it gives."""
    begun = time.process_time()
    value = call()
    return time.process_time() - begun, value


def traces(device: str) -> dict[str, float]:
    """What a trace of 100,000 steps of one warp costs."""

    def run(trace: Trace | None) -> Any:
        x = np.arange(32, dtype=np.float32)
        return pl.launch(LOOP, 1, 32, x, 12_500, device=device, workers=1, trace=trace)

    run(None)
    plain, _ = cpu_time(lambda: run(None))
    run(Trace())
    recording, recorded = cpu_time(lambda: run(Trace()))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.trace"
        saving, _ = cpu_time(lambda: recorded.trace.save(path))
        opening, opened = cpu_time(lambda: pl.open_trace(path))
        walk = opened.walk(0, 0)
        walking, _ = cpu_time(lambda: [walk.forward() for _ in range(opened.steps)])
        back, _ = cpu_time(lambda: [walk.back() for _ in range(opened.steps)])
        places = np.random.default_rng(0).integers(1, opened.steps, 200).tolist()
        seeking, _ = cpu_time(lambda: [dict(walk.registers) for at in places if walk.seek(at) is not None])
        return {
            "steps": opened.steps, "bytes": path.stat().st_size, "bytes a step": path.stat().st_size / opened.steps,
            "run, s": plain, "run and record, s": recording, "save, s": saving, "open, s": opening,
            "forwards through all, s": walking, "backwards through all, s": back,
            "a random step with all registers, ms": 1000 * seeking / len(places),
        }  # fmt: skip


def main() -> None:
    """Prints the tables; `--write` keeps them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="into results/checks.json and results/checks.md")
    options = parser.parse_args()
    cpu = f"CPU: {llvm.get_host_cpu_name()}, {platform.system()}, Python {platform.python_version()}, one core"
    said = [cpu, ""]
    ratios: dict[str, dict[str, float]] = {}

    def say(line: str) -> None:
        said.append(line)
        print(line, flush=True)

    print(cpu, end="\n\n")
    for name, make in KERNELS.items():
        prepared = make()
        plain = runner(prepared)
        ratios[name] = {"plain, ms": quick([plain() for _ in range(RUNS)]) * 1e3}
        say(f"{name:<20}{'plain':<20}{ratios[name]['plain, ms']:>9.2f} ms")
        for what, (given, asked) in WATCHED.items():
            watched = runner(prepared, **given)
            pairs = [(plain(), watched()) for _ in range(RUNS)]
            ratio = ratios[name][what] = quick([w for _, w in pairs]) / quick([p for p, _ in pairs])
            say(f"{name:<20}{what:<20}{ratio:>9.2f} x plain" + (f"   at most {asked} asked" if asked else ""))
    say("")
    table = {device: traces(device) for device in ("cpu", "step")}
    say(f"{'a trace of one warp':<40}{'cpu':>12}{'step':>12}")
    for row in table["cpu"]:
        numbers = [table[device][row] for device in ("cpu", "step")]
        say(f"{row:<40}" + "".join(f"{n:>12,}" if isinstance(n, int) else f"{n:>12.4f}" for n in numbers))
    missed = [
        f"{name}, {what}"
        for name, row in ratios.items()
        for what, (_, asked) in WATCHED.items()
        if asked is not None and row[what] > asked
    ]
    if options.write:
        date = datetime.now(UTC).date().isoformat()
        made = {"date": date, "device": cpu, "command": "python -m benchmarks.checks --write"}
        kept = {**made, "ratio to plain": ratios, "asked": {k: v for k, (_, v) in WATCHED.items()}, "traces": table}
        (RESULTS / "checks.json").write_text(json.dumps(kept, indent=1) + "\n")
        (RESULTS / "checks.md").write_text(
            f"# What watching costs\n\n`{made['command']}` on {date}; no GPU is involved. Ratios of CPU time to that "
            "with memcheck alone; the figures are in `checks.json`.\n\n```\n" + "\n".join(said) + "\n```\n"
        )
    if missed:
        sys.exit("more than asked: " + "; ".join(missed))


if __name__ == "__main__":
    main()
