"""How fast the CPU machine is, as ratios against numpy run beside it: `python benchmarks/emulator.py [--json FILE]`.

memcheck is on, as always. Attention: one head, N = 1024, D = 64, f32, beside numpy in f32 with one thread. Kernels run
with one worker unless two are named. "haswell" makes code for an AVX2 CPU without AVX-512. Times are the best of
several runs; a build starts with nothing cached.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # numpy is to use one thread; it reads this when it is imported

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np

import ptxlab as pl
from ptxlab.emulate import Memory, lower
from ptxlab.emulate.jit import run
from ptxlab.emulate.jit.affine.block_rows import Rows
from ptxlab.emulate.jit.building import build
from ptxlab.emulate.jit.building.linked_rules import parts
from ptxlab.emulate.jit.building.module_text import module_text
from ptxlab.emulate.jit.building.rule_objects import GOOD, QUICK, object_codes
from ptxlab.emulate.jit.instruments.selection import Instruments
from ptxlab.emulate.jit.native import code as native
from ptxlab.emulate.jit.native import compile
from ptxlab.emulate.runtime.report import Launch, Report
from ptxlab.emulate.step import machine as step
from ptxlab.text import Module, parse

HASWELL = native.Cpu("haswell", "")
CORPUS = Path(__file__).resolve().parents[1] / "tests" / "corpus" / "cuda"
N, D = 1024, 64


def best(call: Callable[[], float], times: int = 7) -> float:
    """The smallest of several timings."""
    return min(call() for _ in range(times))


def timed(call: Callable[[], Any]) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


class Prepared:
    """A kernel with its arrays in device memory, to be run again and again."""

    def __init__(
        self, module: Module, grid: tuple[int, ...], block: tuple[int, ...], *args: Any, shared: int = 0
    ) -> None:
        self.program, self.memory = lower(module), Memory()
        packed = bytearray(self.program.param_size)
        for param, value in zip(self.program.params, args, strict=True):
            if isinstance(value, np.ndarray):
                value = np.uint64(self.memory.allocate(value.nbytes, param.name, value).address)
            raw = np.asarray(value, np.dtype(param.type[0].replace("b", "u") + str(param.size))).tobytes()
            packed[param.offset : param.offset + len(raw)] = raw
        self.size = ((*grid, 1, 1)[:3], (*block, 1, 1)[:3])
        self.params, self.shared = bytes(packed), shared

    def run(self, cpu: native.Cpu | None = None, workers: int = 1) -> Report:
        """One launch."""
        launch = Launch(*self.size, self.params, shared=self.shared, workers=workers)
        return run(self.program, launch, self.memory, cpu)

    def measure(self, cpu: native.Cpu | None = None, workers: int = 1) -> tuple[float, float]:
        """Seconds of the best run, and billions of thread-instructions a second in it, once the code is hot."""
        report = self.run(cpu, workers)
        build.prepare(self.program, cpu, rows=Rows.of(self.size[1], self.size[0]))[0].improve()
        seconds = best(lambda: self.run(cpu, workers).seconds)
        return seconds, report.thread_instructions / seconds / 1e9

    def build_ms(self, cpu: native.Cpu, level: int) -> float:
        """Milliseconds of building one PTX instruction, from the parsed text to loaded code, nothing cached."""

        def once() -> float:
            start = time.perf_counter()
            module = module_text(self.program, cpu, Instruments(), diverged=False, small=level == QUICK)
            rules, _ = object_codes(parts(module.rules, self.program, Instruments(), cpu))
            native.load((compile.build(module.text, cpu, level), *rules), cpu)
            return time.perf_counter() - start

        return best(once, 3) * 1e3 / len(self.program.codes)


def attention(name: str, heads: int = 1) -> Prepared:
    """A rung of the ladder, checked on its first head."""
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((1, heads, N, D)).astype(np.float32) for _ in range(3))
    o, lse = np.zeros_like(q), np.zeros((1, heads, N), np.float32)
    kernel = pl.kernels.get(name).build(head_dim=D)
    grid, block, shared = kernel.launch_shape(1, heads, heads, N, N)
    given = kernel.arguments(q, k, v, o, lse, D**-0.5)
    prepared = Prepared(kernel.module, grid, block, *given, shared=shared)
    prepared.run()
    scores = (q[0, 0].astype(float) @ k[0, 0].T) * D**-0.5
    weights = np.exp(scores - scores.max(1, keepdims=True))
    error = np.abs(prepared_output(prepared, "o", q.shape) - weights / weights.sum(1, keepdims=True) @ v[0, 0]).max()
    assert error < 1e-5, f"{name} is wrong by {error}"
    return prepared


def prepared_output(prepared: Prepared, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """What a kernel left in the array of a parameter."""
    data = next(a.data for a in prepared.memory.live() if a.name == name)
    return data.view(np.float32).reshape(shape)[0, 0]


def numpy_attention() -> float:
    """Seconds that numpy takes for the same in f32, one thread, in place where that saves an array."""
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((N, D)).astype(np.float32) for _ in range(3))

    def once() -> None:
        scores = (q * np.float32(D**-0.5)) @ k.T
        scores -= scores.max(1, keepdims=True)
        np.exp(scores, out=scores)
        np.divide(scores @ v, scores.sum(1, keepdims=True))

    return best(lambda: timed(once), 15)


def matmul(name: str, block: int) -> Prepared:
    """nvcc's matrix multiplication, 256 by 256."""
    a, b = np.random.default_rng(1).standard_normal((2, 256, 256)).astype(np.float32)
    c = np.zeros_like(a)
    text = (CORPUS / f"{name}.O3.ptx").read_text()
    prepared = Prepared(parse(text), (256 // block, 256 // block), (block, block), a, b, c, 256, 256, 256)
    prepared.run()
    assert np.allclose(c, a @ b, atol=1e-4), name
    return prepared


CHILD = """
import sys, time, numpy as np, ptxlab as pl
import llvmlite.binding, ptxlab.isa, ptxlab.text
import ptxlab.emulate.jit.building.module_text, ptxlab.emulate.program.kernel_lowering, ptxlab.launch.plan
ptx = open(sys.argv[1]).read()
x = np.ones(32, np.float32)
start = time.perf_counter()
q = np.zeros((1, 1, 32, 64), np.float32)
o, lse = np.zeros_like(q), np.zeros((1, 1, 32), np.float32)
u = np.uint32
pl.launch(ptx, 1, 128, q, q, q, o, lse, u(1), u(1), u(1), u(32), u(32), np.float32(0.125), device="cpu")
print((time.perf_counter() - start) * 1e3)
"""


def step_rate() -> float:
    """Warp-instructions a second of the stepping engine, recording off, on nvcc's matrix multiplication."""
    prepared = matmul("matmul_naive", 16)
    launch = Launch((2, 2, 1), prepared.size[1], prepared.params)
    report = step.run(prepared.program, launch, prepared.memory)
    return report.warp_instructions / report.seconds


def heads(count: int) -> float:
    """Nanoseconds of one thread-instruction of `scalar` on so many heads of 128 rows and keys, one block each."""
    q, k, v, o = np.ones((4, 1, count, 128, 16), np.float32)
    kernel, lse = pl.kernels.get("scalar").build(head_dim=16), np.zeros((1, count, 128), np.float32)
    grid, block, shared = kernel.launch_shape(1, count, count, 128, 128)
    return (
        1 / Prepared(kernel.module, grid, block, *kernel.arguments(q, k, v, o, lse, 0.25), shared=shared).measure()[1]
    )


def arm64_ms(prepared: Prepared) -> float:
    """Milliseconds of code generation for one PTX instruction on arm64, the code not run."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple("aarch64-unknown-linux-gnu")
    machine = target.create_target_machine(cpu="neoverse-n1", opt=QUICK)
    made = module_text(prepared.program, native.Cpu("neoverse-n1", ""), Instruments(), diverged=False, small=True)
    module = llvm.parse_assembly(made.text)
    return best(lambda: timed(lambda: machine.emit_object(module)), 3) * 1e3 / len(prepared.program.codes)


def start_ms() -> tuple[float, float]:
    """Milliseconds from PTX text to the first result in a new process, imports apart: nothing cached, and cached."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kernel.ptx")
        path.write_text(pl.kernels.get("scalar").build(head_dim=D).ptx)
        environment = {**os.environ, "PTXLAB_CACHE": folder}

        def once() -> float:
            command = [sys.executable, "-c", CHILD, str(path)]
            return float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)

        first = once()
        return first, best(once, 5)


def main() -> None:
    """Prints a table; `--json` writes the figures to a file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    host, rows = native.host(), {}
    print(f"{host.name}{' with AVX-512' if host.wide else ''}, {platform.system()}, one core unless said\n")

    def row(what: str, value: float, unit: str, goal: str = "") -> None:
        rows[what] = value
        print(f"{what:<58}{value:>9.2f} {unit:<22}{goal}", flush=True)

    reference = numpy_attention()
    row("numpy f32 attention, 1 thread", reference * 1e3, "ms")
    kernels = {name: attention(name) for name in ("scalar", "tiled")}
    cpus = {"own": host, "haswell": HASWELL} if "x86" in platform.machine() else {"own": host}
    for label, cpu in cpus.items():
        for name, prepared in kernels.items():
            seconds, rate = prepared.measure(cpu)
            part = 1 if cpu.wide else 3  # AVX2 has half the lanes and no masks: a third is asked of it
            row(f"{name}, {label}: time", seconds / reference, "x numpy", f"at most {5 * part}" * (name == "scalar"))
            row(f"{name}, {label}: rate", rate, "G thread-instr./s", f"at least {15 / part:g}" * (name == "tiled"))
            for tier, level in (("first", QUICK), ("hot", GOOD)):
                ms = prepared.build_ms(cpu, level)
                row(f"{name}, {label}: build, {tier}", ms, "ms/PTX instruction", f"at most {0.5 if cpu.wide else 1}")
    several = attention("scalar", heads=8)
    (seconds, _), (both, _) = several.measure(workers=1), several.measure(workers=2)
    row("scalar, 8 heads, two workers", seconds / both, "x one worker", "at least 1.8")
    for name, least in (("matmul_naive", 8), ("matmul_tiled", 5)):
        for label, cpu in cpus.items():
            rate = matmul(name, 16).measure(cpu)[1]
            row(f"nvcc {name} 256, {label}", rate, "G thread-instr./s", f"at least {least}" * cpu.wide)
    row("scalar, arm64: code generation, first", arm64_ms(kernels["scalar"]), "ms/PTX instruction")
    row("step, nvcc matmul_naive", step_rate() / 1e3, "k warp-instr./s", "at least 100")
    one = heads(1)
    for count in (100, 10_000):
        row(f"scalar in {count} blocks, a thread-instruction", heads(count) / one, "x that of 1 block", "flat, or less")
    first, cached = start_ms()
    row("new process, nothing cached: PTX text to first result", first, "ms")
    row("new process, cached: PTX text to first result", cached, "ms", "at most 30")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
