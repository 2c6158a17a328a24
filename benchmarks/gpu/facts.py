"""What the machine is: versions, why anything is missing, clocks, and the ceilings of copying and multiplying here.

    python -m benchmarks.gpu.facts [--json FILE] [--rehearse]

The ceilings are measured, not looked up: a copy of 2 GiB on the device (bytes read and written both counted), a product
of two 8192 x 8192 matrices of bf16 random numbers by torch, and the host's time for one more launch of a kernel that
has been launched before, beside the driver's own call.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import platform
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable
from importlib import metadata
from typing import Any

import numpy as np

import ptxlab as pl
from benchmarks.gpu.record import UNUSABLE, Record, leave, record_for
from ptxlab.gpu import assembler, device

PACKAGES = (
    "numpy", "ml_dtypes", "llvmlite", "cuda-core", "cuda-bindings", "nvidia-nvjitlink", "nvidia-cuda-nvrtc",
    "torch", "nvidia-cudnn-cu13", "triton", "flashinfer-python", "pytest", "pytest-xdist",
)  # fmt: skip
WANTED = {"torch": "the rivals and the bf16 ceiling", "triton": "the Triton kernel", "pytest-xdist": "the tests"}
"""Packages without which parts of the campaign cannot be measured."""
TOOLS = {"ncu": "counters and profiles", "compute-sanitizer": "the comparison of checks"}
QUERIES = (
    "clocks.sm",
    "clocks.max.sm",
    "clocks.mem",
    "clocks.max.mem",
    "power.limit",
    "temperature.gpu",
    "ecc.mode.current",
    "clocks_event_reasons.active",
    "memory.used",
)

SAXPY = """\
.version 7.0
.target sm_75
.address_size 64
.visible .entry saxpy(.param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n)
{
    .reg .pred %p;
    .reg .b32 %r<5>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    ld.param.f32 %f1, [a];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r2, %r2, %r3, %r4;
    setp.ge.u32 %p, %r2, %r1;
    @%p ret;
    mul.wide.u32 %rd3, %r2, 4;
    add.u64 %rd4, %rd1, %rd3;
    add.u64 %rd5, %rd2, %rd3;
    ld.global.f32 %f2, [%rd4];
    ld.global.f32 %f3, [%rd5];
    fma.rn.f32 %f3, %f1, %f2, %f3;
    st.global.f32 [%rd5], %f3;
    ret;
}
"""


def software(record: Record) -> None:
    """The versions of everything that takes part."""
    record.add(what="python", value=f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    record.add(what="processors", value=f"{os.cpu_count()}")
    record.add(what="ptxlab", value=pl.__version__)  # run from the tree, it need not be installed
    for name in PACKAGES:
        try:
            record.add(what=name, value=metadata.version(name))
        except metadata.PackageNotFoundError:
            record.add(what=name, value="not installed")
            if name in WANTED:
                record.missing(name, f"not installed: {WANTED[name]} cannot be measured")
    record.add(what="assembler", value=".".join(map(str, assembler.version())))
    for name, purpose in TOOLS.items():
        path = shutil.which(name)
        if path is None:
            record.missing(name, f"not on the path: {purpose} cannot be measured")
            continue
        try:
            said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False, timeout=30).stdout
        except (OSError, subprocess.TimeoutExpired) as error:
            record.missing(name, f"it does not start ({error}): {purpose} cannot be measured")
            continue
        record.add(what=name, value=next((line for line in said.splitlines() if "ersion" in line), said.strip()))


def card(record: Record) -> None:
    """The card, its driver and its clocks as they are now; nothing is changed."""
    found = device.describe()
    record.add(what="card", value=found.name)
    record.add(what="arch", value=found.arch)
    record.add(what="multiprocessors", value=str(found.multiprocessors))
    record.add(what="memory", value=f"{found.memory_bytes / 2**30:.1f} GiB")
    record.add(what="CUDA of the driver", value=".".join(map(str, found.cuda)))
    smi = shutil.which("nvidia-smi")
    if smi is None:
        record.missing("nvidia-smi", "not on the path: no clocks and no driver version")
        return
    record.add(what="driver", value=asked(smi, "driver_version"))
    for query in QUERIES:
        record.add(what=query, value=asked(smi, query))


def asked(smi: str, query: str) -> str:
    """What nvidia-smi answers to one query; each by itself, since versions differ in what they know."""
    command = [smi, "-i", "0", f"--query-gpu={query}", "--format=csv,noheader"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    return done.stdout.strip() if done.returncode == 0 else f"not known: {done.stdout.strip() or done.stderr.strip()}"


def first_kernel(record: Record) -> None:
    """One launch from text to result, compared with numpy."""
    draw = np.random.default_rng(0)
    x, y = draw.standard_normal((2, 1000), np.float32)
    expected = np.float32(2.0) * x.astype(np.float64) + y
    run = pl.launch(SAXPY, 8, 128, pl.const(x), y, 2.0, 1000, device="gpu")
    error = float(np.abs(y - expected).max())
    record.add(what="saxpy", value=f"{run.device}, error {error:.1e}", wrong="" if error < 1e-6 else "saxpy is wrong")


def copying(record: Record, size: int, repeats: int) -> None:
    """Bytes read and written a second by the driver's copy on the device."""
    from cuda.bindings import driver

    source, to = (pl.empty(size // 4, np.uint32, device="gpu") for _ in range(2))
    stream = device.current().default_stream
    seconds = []
    for _ in range(repeats):
        with device.Stopwatch("copy", stream) as watch:
            device.check(driver.cuMemcpyDtoDAsync(to.address, source.address, size, stream.handle), "copy")
        seconds.append(watch.seconds())
    source.free(), to.free()
    record.add(what="copy", value=f"{2 * size / min(seconds) / 1e9:.1f} GB/s", gb_s=2 * size / min(seconds) / 1e9)


def multiplying(record: Record, size: int, repeats: int) -> None:
    """FLOP per second of a bf16 product by torch on random numbers: the median of `repeats`, after a second of them."""
    torch = torch_with_cuda()
    if isinstance(torch, str):
        record.missing("the bf16 ceiling", torch)
        return
    a, b = (torch.randn((size, size), dtype=torch.bfloat16, device="cuda") for _ in range(2))
    began, seconds = time.monotonic(), []
    while time.monotonic() - began < 1.0:
        a @ b
        torch.cuda.synchronize()
    for _ in range(repeats):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        a @ b
        end.record()
        end.synchronize()
        seconds.append(start.elapsed_time(end) / 1e3)
    rate = 2 * size**3 / statistics.median(seconds) / 1e12
    record.add(what="bf16 product", value=f"{rate:.0f} TFLOP/s ({size} x {size} x {size})", tflops=rate)
    if smi := shutil.which("nvidia-smi"):
        record.add(what="clocks.sm just after it", value=asked(smi, "clocks.sm"))


def torch_with_cuda() -> Any:
    """The module torch, or a sentence why it cannot be used."""
    try:
        torch = importlib.import_module("torch")
    except ImportError as error:
        return f"torch cannot be imported ({error})"
    return torch if torch.cuda.is_available() else "torch sees no CUDA here"


def launching(record: Record, repeats: int) -> None:
    """The host's time for one more launch of `pipelined` on buffers of the device, beside the driver's call alone."""
    from cuda.bindings import driver

    from ptxlab import kernels, reference

    arch = device.describe().arch
    built = kernels.Config.auto(64, 64, 64, False, "bf16", arch, kernel="pipelined").build()
    buffers = [pl.empty((1, 1, 64, 64), np.uint16, device="gpu") for _ in range(4)]
    lse = pl.empty((1, 1, 64), np.float32, device="gpu")
    grid, block, shared = built.launch_shape(1, 1, 1, 64, 64)
    given = built.arguments(*buffers, lse=lse, scale=reference.default_scale(64))
    whole, bare = [], []
    for _ in range(repeats):
        began = time.perf_counter()
        run = pl.launch(built, grid, block, *given, shared=shared, device="gpu")
        whole.append(time.perf_counter() - began - run.seconds)
    kernel = device.ready(SAXPY, "saxpy", 0)
    config = device.launch_config((1, 1, 1), (128, 1, 1), 0, False, None)
    config.hStream = device.current().default_stream.handle
    nothing = [bytes(8), bytes(8), bytes(4), bytes(4)]  # n = 0: no thread touches the null pointers
    pointers, _keep = device.parameter_block(nothing)
    for _ in range(repeats):
        began = time.perf_counter()
        device.check(driver.cuLaunchKernelEx(config, kernel.handle, ctypes.addressof(pointers), 0), "saxpy")
        bare.append(time.perf_counter() - began)
    device.current().default_stream.sync()
    ours, least = (statistics.median(x) * 1e6 for x in (whole, bare))
    record.add(
        what="host time of a repeated pl.launch",
        value=f"{ours:.0f} us, {ours / least:.1f} x the driver's call",
        microseconds=ours,
        driver_microseconds=least,
    )


def table(found: dict[str, Any]) -> str:
    """The facts as Markdown."""
    lines = ["| what | value |", "| --- | --- |"]
    return "\n".join(lines + [f"| {row['what']} | {row['value']} |" for row in found["rows"]])


def main() -> int:
    """Measures and prints."""
    record, _ = record_for("facts", __doc__)
    record.rows.clear()  # facts of another day are none
    software(record)
    if why := device.unavailable():
        record.add(what="GPU", value=why, wrong=f"no GPU: {why}")
        record.end()
        return UNUSABLE
    small = record.rehearsal
    each: dict[str, Callable[[], None]] = {
        "card": lambda: card(record),
        "saxpy": lambda: first_kernel(record),
        "copy": lambda: copying(record, 2**20 if small else 2**31, 3 if small else 10),
        "bf16 product": lambda: multiplying(record, 64 if small else 8192, 3 if small else 20),
        "host time of a repeated pl.launch": lambda: launching(record, 5 if small else 200),
    }
    for what, measure in each.items():
        try:
            measure()
        except Exception as error:  # shown in its row: what can be known of a broken GPU is wanted most
            says = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
            record.add(what=what, value=says, wrong=f"{what}: {says}")
    return record.end("; ".join(f"{row['what']} {row['value']}" for row in record.rows if row["what"] in SUMMARY))


SUMMARY = ("card", "driver", "copy", "bf16 product")

if __name__ == "__main__":
    leave(main())
