"""Random kernels in CUDA C++, run by both engines and, compiled by the C++ compiler that is there, on this computer.

Threads walk through loops, leave early, switch, swap pointers, keep structures, bytes and vectors in place, call
functions, shuffle, share memory and add to words of all; their indices have one to three dimensions. Each stores to
elements of its own, so that what a kernel leaves does not depend on who comes first. In some programs an index leaves
its array or a pointer is misaligned.

    python tests/support/random_cuda.py COUNT [FIRST SEED]

runs so many programs and prints those on which two ways differ. Needs NVRTC.
"""

from __future__ import annotations

import ctypes
import functools
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from emulate_programs import ALL_CHECKS
from random_cuda_text import BOTH, LINK, Text
from seeded_programs import compare

import ptxlab as pl
from ptxlab.emulate import Memory, execute, lower
from ptxlab.errors import DeviceFault
from ptxlab.text import parse

WAYS = {"jit": "step", "workers": "step", "optimized": "step", "checked step": "step", "checked jit": "checked step"}
"""How a program is run, and what that is compared with. "workers": two of them; "optimized": in
code of that tier; "checked": with all checks and counters."""
QUICKLY = ("jit",)
"""Those of two programs in three: the others take longer."""
HOST = Path(__file__).with_name("random_cuda_host.hpp")
AT_ONCE = 10
"""Programs compiled by one call of each compiler."""


class Program:
    """One program: its text, how it is launched, and with what."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.made = Text(random.Random(seed), f"k{seed}")
        self.ptx, self.host = "", None

    def arrays(self) -> list[np.ndarray]:
        """Fresh arguments for its pointers."""
        draw, found = np.random.default_rng(self.seed), list[np.ndarray]()
        for given in self.made.arrays:
            octets = draw.integers(0, 256, given.count * given.size, np.uint8)
            octets[draw.random(octets.size) < given.small] = 0
            if given.type in ("f32", "f64"):
                numbers = draw.normal(0, 100, given.count).astype({"f32": np.float32, "f64": np.float64}[given.type])
                special = draw.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-41, 3e38], given.count)
                with np.errstate(over="ignore"):
                    octets = np.where(draw.random(given.count) < 0.15, special.astype(numbers.dtype), numbers)
            found.append(np.ascontiguousarray(octets).view(np.uint8).copy())
        return found


@functools.cache
def compiled(first: int, count: int) -> list[Program]:
    """So many programs, compiled for both machines."""
    programs = [Program(seed) for seed in range(first, first + count)]
    for program in programs:
        program.ptx = pl.cuda(BOTH + program.made.text, options=("--fmad=false",)).ptx
    folder = Path(tempfile.mkdtemp(prefix="random-cuda-"))
    source, library = folder / "all.cpp", folder / "all.so"
    parts = [
        f"namespace of_{p.seed} {{\n{p.made.text}\n{LINK.format(name=p.made.name, **p.made.link)}}}"
        for p in programs
        if not p.made.approximate
    ]
    source.write_text(HOST.read_text() + BOTH + "\n".join(parts))
    options = ["-O1", "-fwrapv", "-fno-strict-aliasing", "-ffp-contract=off", "-w", "-shared", "-fPIC"]
    subprocess.run(["g++", *options, "-o", str(library), str(source)], check=True)
    loaded = ctypes.CDLL(str(library))
    source.unlink(), library.unlink(), folder.rmdir()
    for program in programs:
        if not program.made.approximate:
            program.host = getattr(loaded, f"run_{program.made.name}")
    return programs


def on_host(program: Program) -> list[np.ndarray]:
    """What it leaves in its arrays when the host runs it."""
    made, arrays = program.made, program.arrays()
    pointers = (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])
    program.host(pointers, (ctypes.c_uint * 6)(*made.grid, *made.block), *made.scalars)
    return arrays


def on_machine(program: Program, way: str) -> tuple[Any, ...]:
    """What it leaves, and what is reported of it, on an engine."""
    made, arrays, memory = program.made, program.arrays(), Memory()
    checks, counters = (ALL_CHECKS, True) if way.startswith("checked") else (("memcheck",), False)
    module = parse(program.ptx)
    lowered = lower(module)
    params = bytearray(lowered.param_size)
    places = []
    for given, array in zip(made.arrays, arrays, strict=True):
        places.append(memory.allocate(array.size, given.name, array, track_writes=given.unwritten).address)
    values = [np.uint64(places[at] + off) for at, off in made.pointers] + [
        np.int32(made.scalars[0]),
        np.int32(made.scalars[1]),
    ]
    for parameter, value in zip(lowered.params, values, strict=True):
        params[parameter.offset : parameter.offset + parameter.size] = value.tobytes()
    said: tuple[Any, ...]
    try:
        report = execute(
            module,
            lowered.name,
            engine="step" if way.endswith("step") else "jit",
            tier=way if way == "optimized" else None,
            grid=made.grid,
            block=made.block,
            params=bytes(params),
            memory=memory,
            workers=2 if way == "workers" else 1,
            checks=checks,
            counters=counters,
            budget=3_000_000,
        )
        said = ("ended", report.lines, [str(f) for f in report.findings])
        if counters:
            said += (report.counters.metrics, report.counters.by_line)
    except DeviceFault as fault:
        said = (str(fault), [str(f) for f in fault.findings])
    return (arrays, said)


def same(program: Program, a: list[np.ndarray], b: list[np.ndarray]) -> str:
    """Where two outcomes differ: the name of the first array that does; every NaN is the same."""
    for given, x, y in zip(program.made.arrays, a, b, strict=True):
        if given.type in ("f32", "f64"):
            kind = {"f32": np.float32, "f64": np.float64}[given.type]
            u, v = x.view(kind), y.view(kind)
            bits = np.uint32 if given.type == "f32" else np.uint64
            equal = (u.view(bits) == v.view(bits)) | (np.isnan(u) & np.isnan(v))
        else:
            equal = x == y
            if given.type == "S":
                u, v = (a.reshape(-1, 24)[:, 12:16].copy().view(np.float32)[:, 0] for a in (x, y))
                equal.reshape(-1, 24)[np.isnan(u) & np.isnan(v), 12:16] = True
        if not equal.all():
            at = int(np.flatnonzero(~equal)[0])
            return f"{given.name}[{at}] ({int((~equal).sum())} elements differ)"
    return ""


def differences(first: int, count: int) -> list[str]:
    """The programs on which two ways differ, in words."""
    said = []
    for program in compiled(first, count):
        made = program.made
        head = f"program {program.seed}, grid {made.grid} of {made.block}"
        ways = list(WAYS) if program.seed % 3 == 0 else QUICKLY
        found = {way: on_machine(program, way) for way in ("step", *ways)}
        ended = found["step"][1][0] == "ended"
        for way in ways:
            against = WAYS[way]
            if way == "workers" and not ended:  # other blocks may have run by then
                continue
            where = same(program, found[way][0], found[against][0])
            if where:
                said.append(f"{head}: {way} and {against} leave other {where}")
            mine, other = found[way][1], found[against][1]
            if way == "checked step":
                mine, other = mine[:1], other[:1]
            if mine != other:
                at = next(k for k, (p, q) in enumerate(zip(mine, other, strict=False)) if p != q)
                words = f"\n   {str(mine[at])[:600]}\n   {str(other[at])[:600]}"
                said.append(f"{head}: {way} and {against} say otherwise:{words}")
        if ended and not made.faulty and not made.approximate:
            where = same(program, found["step"][0], on_host(program))
            if where:
                said.append(f"{head}: step and the host leave other {where}")
        if ended and not made.faulty and "checked step" in found and found["checked step"][1][2]:
            said.append(f"{head}: findings {found['checked step'][1][2][0][:300]}")
    return said


if __name__ == "__main__":
    sys.exit(compare(__doc__, differences, AT_ONCE))
