"""The host's time for a repeated launch on a GPU: `python benchmarks/launching.py`.

`pl.launch` of `pipelined` on buffers of the device, 11 arguments, over and over: what Python does before and after the
driver's call. Beside it the same launch with nothing kept from the one before (the kernel's text read again: how every
launch was made before plans were kept), and on a GPU the driver's call alone.

Without a GPU it runs on the stand-in for the driver (`tests/stand_in`); the driver's call, which there runs the kernel
in Python, is left out, and the kernel has done nothing.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import ptxlab as pl
from ptxlab import kernels, reference
from ptxlab.gpu import device
from ptxlab.launch import plan

ROOT = Path(__file__).resolve().parents[1]


def prepared() -> Callable[[], pl.Run]:
    """A launch of a small problem."""
    built = kernels.Config.auto(64, 64, 64, False, "bf16", device.describe().arch, kernel="pipelined").build()
    buffers = [pl.empty((1, 1, 64, 64), np.uint16, device="gpu") for _ in range(4)]
    lse = pl.empty((1, 1, 64), np.float32, device="gpu")
    grid, block, shared = built.launch_shape(1, 1, 1, 64, 64)
    given = built.arguments(*buffers, lse=lse, scale=reference.default_scale(64))
    return lambda: pl.launch(built, grid, block, *given, shared=shared, device="gpu")


def microseconds(call: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """Minimum and median of so many calls; the GPU's time between its events is taken off."""
    found = []
    for _ in range(repeats):
        began = time.perf_counter()
        run = call()
        found.append(time.perf_counter() - began - run.seconds)
    return min(found) * 1e6, statistics.median(found) * 1e6


def forgetful(launch: Callable[[], pl.Run]) -> Callable[[], pl.Run]:
    """The same launch, with the kernel's text read again each time."""

    def call() -> pl.Run:
        plan._plans.clear()
        return launch()

    return call


def main() -> int:
    """Prints the two times and their ratio."""
    real = "PTXLAB_STAND_IN" not in os.environ
    if real and not device.available():
        sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/support")]
        import stand_in

        if why := stand_in.unavailable():
            print(f"nothing is measured: no GPU ({device.unavailable()}), and no stand-in for one ({why})")
            return 0
        return subprocess.run([sys.executable, __file__], env=stand_in.environment(), check=False).returncode
    launch = prepared()
    launch()
    if not real:
        from cuda.bindings import driver

        driver.cuLaunchKernelEx = lambda *arguments: (driver.CUresult.CUDA_SUCCESS,)
    repeated, anew = microseconds(launch, 2000), microseconds(forgetful(launch), 200)
    print(f"{device.describe()}{'' if real else '; the call of the driver left out'}")
    print(f"a repeated launch:              {repeated[1]:7.1f} us (least {repeated[0]:.1f}); 50 us are asked for")
    print(f"the same, nothing kept of it:   {anew[1]:7.1f} us (least {anew[0]:.1f})")
    print(f"ratio:                          {repeated[1] / anew[1]:7.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
