"""Runs small PTX programs on the engines of the CPU machine, for several test files."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

from ptxlab.emulate import Memory, execute, lower
from ptxlab.emulate.runtime.report import Report
from ptxlab.errors import DeviceFault
from ptxlab.text import parse


def _engines() -> tuple[str, ...]:
    """`step` always; `jit` where llvmlite is installed."""
    compiler = importlib.util.find_spec("ptxlab.emulate.jit")
    there = compiler is not None and compiler.origin is not None and importlib.util.find_spec("llvmlite") is not None
    return ("step", "jit") if there else ("step",)


ENGINES = _engines()
DEVICES = tuple({"step": "step", "jit": "cpu"}[engine] for engine in ENGINES)
"""The engines as devices of `pl.launch`."""
ALL_CHECKS = ("memcheck", "initcheck", "racecheck", "synccheck")

WAYS = (*ENGINES, "good") if "jit" in ENGINES else ENGINES
"""The engines, and "good": `jit` with the code of launches that take long (see `improve`)."""

NUMPY = {"b32": np.dtype(np.int32), "u32": np.dtype(np.int32), "b64": np.dtype(np.int64), "f32": np.dtype(np.float32)}
"""PTX type of a scalar parameter -> the numpy type that packs it."""

REGISTERS = """
    .reg .pred %p<10>;
    .reg .b16 %h<10>;
    .reg .b32 %r<40>;
    .reg .b64 %rd<30>;
    .reg .f32 %f<10>;
    .reg .f64 %fd<10>;
"""


def kernel(body: str, before: str = "") -> str:
    """A module around a kernel `k(out, x)`: %r1 is the thread's number in its block, %rd3 = &out[thread in grid]."""
    return f"""
.version 8.8
.target sm_80
.address_size 64
{before}
.visible .entry k(.param .u64 out, .param .u64 x)
{{{REGISTERS}
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [x];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mad.lo.u32 %r4, %r2, %r3, %r1;
    mul.wide.u32 %rd4, %r4, 4;
    add.u64 %rd3, %rd1, %rd4;
{body}
    ret;
}}
"""


def run(
    engine: str,
    text: str,
    *,
    threads: int | tuple[int, ...] = 32,
    blocks: int | tuple[int, ...] = 1,
    out: np.ndarray | None = None,
    x: np.ndarray | None = None,
    shared: int = 0,
    budget: int | None = 2_000_000,
    **options: Any,
) -> tuple[np.ndarray, Report]:
    """Runs `k(out, x)` in one of `WAYS`; gives `out` (by default one u32 a thread, zeros before) and the report."""
    block = (threads,) if isinstance(threads, int) else threads
    if engine == "good":
        improve(text, block, options.get("counters", False), options.get("checks", ("memcheck",)))
        engine = "jit"
    grid = (blocks,) if isinstance(blocks, int) else blocks
    memory = Memory()
    if out is None:
        out = np.zeros(int(np.prod(grid)) * int(np.prod(block)), np.uint32)
    out = out.copy()
    x = np.arange(64, dtype=np.uint32) if x is None else x
    addresses = [memory.allocate(a.nbytes, name, a).address for name, a in (("out", out), ("x", x))]
    report = execute(
        parse(text),
        "k",
        engine=engine,
        grid=grid,
        block=block,
        params=np.array(addresses, np.uint64).tobytes(),
        memory=memory,
        shared=shared,
        budget=budget,
        **{"workers": 1} | options,
    )
    return out, report


def said(way: str, text: str, **options: Any) -> list[str]:
    """What a program's checks say, and the fault that ends it if there is one, in words; options: those of `run`."""
    try:
        _, report = run(way, text, **options)
    except DeviceFault as fault:
        return [str(fault), *map(str, fault.findings)]
    return [str(finding) for finding in report.findings]


def launch(
    engine: str,
    text: str,
    *arguments: Any,
    grid: tuple[int, ...],
    block: tuple[int, ...],
    shared: int = 0,
    workers: int = 1,
    **options: Any,
) -> Report:
    """Runs the only kernel of a module; arrays are used in place, scalars are packed as the parameter's type says."""
    module, memory = parse(text), Memory()
    program = lower(module)
    params = bytearray(program.param_size)
    for parameter, value in zip(program.params, arguments, strict=True):
        if isinstance(value, np.ndarray):
            value = np.uint64(memory.allocate(value.nbytes, parameter.name, value).address)
        else:
            value = NUMPY[parameter.type].type(value)
        params[parameter.offset : parameter.offset + parameter.size] = value.tobytes()
    return execute(
        module,
        program.name,
        engine=engine,
        grid=grid,
        block=block,
        params=bytes(params),
        memory=memory,
        shared=shared,
        workers=workers,
        **options,
    )


class Thorough:
    """Whether `improve` also builds the rules in full quality; `tests/emulate/conftest.py` asks for it in the long run.
    They are objects of their own, nothing of a program's code is built into them, and those of the checks take seconds
    for each set of numbers that is known of a program."""

    rules = True


def improve(text: str, block: tuple[int, ...], counters: bool, checks: tuple[str, ...]) -> None:
    """Builds the code of a launch in full quality."""
    from ptxlab.emulate.jit.affine.block_rows import Rows
    from ptxlab.emulate.jit.building import build as building
    from ptxlab.emulate.jit.building.build import prepare
    from ptxlab.emulate.jit.building.rule_objects import QUICK, object_codes
    from ptxlab.emulate.jit.instruments.selection import Instruments

    program = lower(parse(text), shared_gaps="initcheck" in checks)
    x, y, z = (*block, 1, 1)[:3]
    built, _ = prepare(program, None, Instruments(counters, frozenset(checks) - {"memcheck"}), Rows.of((x, y, z)))
    with pytest.MonkeyPatch.context() as patch:
        if not Thorough.rules:
            patch.setattr(building, "object_codes", lambda parts, *_: object_codes(parts, QUICK))
        built.improve()
