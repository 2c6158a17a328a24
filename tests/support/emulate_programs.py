"""Runs small PTX programs on the engines of the emulator, for several test files."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import Any, NamedTuple

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

WAYS = ("step", "quick", "optimized") if "jit" in ENGINES else ENGINES
"""All ways to run a program: by the interpreter, or by the JIT's code of either tier."""

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


def function(name: str, body: str) -> str:
    """A function of a number, %n0, which holds its result at the end."""
    return f"""
.func (.param .b32 r) {name}(.param .b32 n)
{{
    .reg .pred %p, %q; .reg .b32 %n<9>;
    ld.param.u32 %n0, [n];
    {body}
    st.param.b32 [r], %n0;
    ret;
}}
"""


def call(name: str, given: str, result: str, guard: str = "") -> str:
    """A call of one; lanes whose guard does not hold get 9."""
    return (
        f"{{ .param .b32 a; .param .b32 b; st.param.b32 [a], {given}; st.param.b32 [b], 9; "
        f"{guard}call (b), {name}, (a); ld.param.b32 {result}, [b]; }}"
    )


def how(way: str) -> dict[str, Any]:
    """The options of `execute` for an engine, or for one of `WAYS`."""
    return {"engine": "jit", "tier": way} if way in ("quick", "optimized") else {"engine": way}


def run(
    way: str,
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
    """Runs `k(out, x)` on an engine, or in one of `WAYS`; gives `out` (by default one u32 a thread, zeros before) and
    the report."""
    block = (threads,) if isinstance(threads, int) else threads
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
        grid=grid,
        block=block,
        params=np.array(addresses, np.uint64).tobytes(),
        memory=memory,
        shared=shared,
        budget=budget,
        **{"workers": 1} | how(way) | options,
    )
    return out, report


def fault_of(way: str, text: str, **launch: Any) -> DeviceFault:
    """What stops a launch that must be stopped; `launch` is what `run` takes."""
    with pytest.raises(DeviceFault) as stopped:
        run(way, text, **launch)
    return stopped.value


class Ended(NamedTuple):
    """How a launch of `k(out, x)` has ended: with a fault, or with all else."""

    fault: str
    out: list[Any]
    x: list[Any]
    lines: dict[int, tuple[int, int]]
    counters: Any
    findings: list[str]


def ended(way: str, text: str, *, x: np.ndarray | None = None, **launch: Any) -> Ended:
    """How one launch ends; `launch` is what `run` takes."""
    x = np.arange(64, dtype=np.uint32) if x is None else x.copy()
    try:
        out, report = run(way, text, x=x, **launch)
    except DeviceFault as fault:
        return Ended(str(fault), [], x.tolist(), {}, None, [])
    return Ended("", out.tolist(), x.tolist(), report.lines, report.counters, [str(each) for each in report.findings])


def agreed(text: str, *, ways: Sequence[str] = WAYS, **launch: Any) -> Ended:
    """How a launch ends in the first way; in all others it must end alike."""
    first, *others = (ended(way, text, **launch) for way in ways)
    for way, other in zip(ways[1:], others, strict=True):
        differ = [name for name, one, two in zip(Ended._fields, first, other, strict=True) if one != two]
        assert not differ, (
            f"{ways[0]} and {way} differ in {', '.join(differ)}: {first.fault!r}, {other.fault!r}\n{text}"
        )
    return first


def said(way: str, text: str, **launch: Any) -> list[str]:
    """What the checks say of a launch, and before it the fault that ends it if there is one; `launch` is what `run`
    takes."""
    try:
        _, report = run(way, text, **launch)
    except DeviceFault as fault:
        return [str(fault), *map(str, fault.findings)]
    return [str(finding) for finding in report.findings]


def launch(
    way: str,
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
        grid=grid,
        block=block,
        params=bytes(params),
        memory=memory,
        shared=shared,
        workers=workers,
        **how(way),
        **options,
    )
