"""Programs of numba-cuda on the CPU machine and in numba's own simulator: `python benchmarks/numba_simulator.py`.

For each program of tests/corpus/numba_kernels.py: whether each runs it and agrees with numpy, and the seconds of one
launch once it is compiled; then which of some planted mistakes each notices. The simulator is a setting of numba's when
it is imported, so each side runs in a process of its own. Needs numba-cuda; no GPU.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

CORPUS = Path(__file__).resolve().parent.parent / "tests" / "corpus"
MISTAKES = ("past_the_end", "no_barrier", "barrier_of_some", "unwritten_shared", "sum_without_atomic")
"""The kernels of tests/corpus/numba_mistakes.py."""


def side(simulated: bool) -> dict[str, Any]:
    """What one side does with all programs, in a process of its own."""
    env = os.environ | ({"NUMBA_ENABLE_CUDASIM": "1"} if simulated else {})
    command = [sys.executable, __file__, "simulator" if simulated else "ptxlab"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def measured(machine: contextlib.AbstractContextManager[Any]) -> dict[str, Any]:
    """Results, times and notices of this process's side."""
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(CORPUS))
    found: dict[str, Any] = {}
    with machine as session:
        import numba_kernels
        import numba_mistakes

        for name, program in numba_kernels.PROGRAMS.items():
            found[name] = _one(program)
        for name in MISTAKES:
            kernel, grid, block, args = numba_mistakes.MISTAKES[name]
            before = len(session.findings) if session is not None else 0
            try:
                kernel[grid, block](*args())
                noticed = session is not None and len(session.findings) > before
                found[name] = session.findings[before].check if noticed else "nothing"
            except Exception as error:
                found[name] = type(error).__name__
    return found


def _one(program: Any) -> Any:
    """Seconds of a launch, the second of two, or why it is wrong."""
    seconds = 0.0
    for _ in range(2):
        args = program.args()
        given = [a.copy(order="K") if isinstance(a, np.ndarray) else a for a in args]
        start = time.perf_counter()
        try:
            program.kernel[program.grid, program.block, 0, program.shared](*args)
        except Exception as error:
            return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:60]
        seconds = time.perf_counter() - start
        if not np.allclose(args[0], program.wanted(*given), rtol=1e-4, atol=1e-5):
            return "wrong"
    return seconds


def shown(value: Any) -> str:
    """A cell of the table."""
    return f"{value * 1e3:.2f} ms" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    if sys.argv[1:] == ["simulator"]:
        print(json.dumps(measured(contextlib.nullcontext())))
    elif sys.argv[1:] == ["ptxlab"]:
        import ptxlab as pl

        print(json.dumps(measured(pl.numba(checks="all"))))
    else:
        ours, theirs = side(False), side(True)
        ratios = []
        for name, here in ours.items():
            there = theirs[name]
            both = isinstance(here, float) and isinstance(there, float)
            ratios += [there / here] if both else []
            print(f"{name:20} {shown(here):28} {shown(there):60} {f'{there / here:8.1f} x' if both else ''}")
        print(f"\nsimulator / CPU machine with all checks, median of {len(ratios)}: {np.median(ratios):.1f} x")
