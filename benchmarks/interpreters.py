"""Programs of numba-cuda or Triton on the emulator and in their own interpreter.

    python benchmarks/interpreters.py numba    # needs numba-cuda
    python benchmarks/interpreters.py triton   # needs Triton and torch, whose CPU tensors its interpreter takes

For each program of tests/corpus: whether each side runs it and agrees with numpy, and the seconds of the second of two
runs; then which of the planted mistakes each notices. The interpreters are settings that are read when kernels are
decorated, so each program runs in a process of its own. No GPU is needed.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import ptxlab as pl

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "corpus"))
SETTING = {"numba": "NUMBA_ENABLE_CUDASIM", "triton": "TRITON_INTERPRET"}
PROGRAMS = {"numba": "numba_kernels", "triton": "triton_programs"}
LIMIT = 120
"""Seconds that one program may take."""
Run = Callable[[], Any]
"""Launches, and gives a program's results, each with what is wanted and how near it is to be."""


def side(language: str, name: str, interpreted: bool) -> Any:
    """What one side does with a program, in a process of its own."""
    env = os.environ | ({SETTING[language]: "1"} if interpreted else {})
    command = [sys.executable, __file__, language, name, "interpreter" if interpreted else "ptxlab"]
    try:
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return f"not done in {LIMIT} s"
    last = (done.stderr.strip().splitlines() or ["nothing said"])[-1]
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else last[:70]


def runs(language: str, name: str) -> tuple[bool, Callable[[], Run]]:
    """Whether a name is that of a mistake, and what prepares a run of it."""
    program = importlib.import_module(PROGRAMS[language]).PROGRAMS.get(name)
    mistake = importlib.import_module(f"{language}_mistakes").MISTAKES.get(name)

    def numba() -> Run:
        if mistake is not None:
            kernel, grid, block, args = mistake
            return lambda: kernel[grid, block](*args())
        args = program.args()
        given = [a.copy(order="K") if isinstance(a, np.ndarray) else a for a in args]

        def run() -> Any:
            program.kernel[program.grid, program.block, 0, program.shared](*args)
            return [(args[0], program.wanted(*given), 1e-4)]

        return run

    def triton() -> Run:
        import torch

        if mistake is not None:
            kernel, grid, args, constants, *_ = mistake
            tensors = [torch.from_numpy(a) for a in args()]
            return lambda: kernel[(grid,)](*tensors, **constants)
        return lambda: list(program(torch.from_numpy))

    return mistake is not None, numba if language == "numba" else triton


def measured(language: str, name: str, machine: contextlib.AbstractContextManager[Any]) -> Any:
    """Seconds, or what went wrong, or which check noticed a mistake."""
    warnings.simplefilter("ignore")
    with machine as session:
        planted, prepare = runs(language, name)
        seconds = 0.0
        for _ in range(1 if planted else 2):
            run = prepare()
            start = time.perf_counter()
            try:
                results = run()
            except Exception as error:
                says = f": {str(error).strip().splitlines()[-1] if str(error) else ''}"
                return f"{type(error).__name__}{'' if planted else says}"[:70]
            seconds = time.perf_counter() - start
            if planted:
                return session.findings[0].check if session is not None and session.findings else "nothing"
            for result, wanted, tolerance in results:
                got, wide = np.asarray(result).astype(np.float64), np.asarray(wanted).astype(np.float64)
                if not np.allclose(got, wide, rtol=tolerance, atol=tolerance):
                    return "wrong"
    return seconds


def main(language: str) -> None:
    """Prints a line for each program and each mistake."""
    ratios = []
    print(f"{'program or mistake':24} {'emulator, all checks':26} {'interpreter':40} ratio")
    with getattr(pl, language)():  # kernels that are compiled when they are decorated want a device
        programs = importlib.import_module(PROGRAMS[language]).PROGRAMS
        mistakes = importlib.import_module(f"{language}_mistakes").MISTAKES
    for name in (*programs, *mistakes):
        here, there = (side(language, name, interpreted) for interpreted in (False, True))
        both = isinstance(here, float) and isinstance(there, float)
        ratios += [there / here] if both else []
        cells = [f"{value * 1e3:.2f} ms" if isinstance(value, float) else str(value) for value in (here, there)]
        print(f"{name:24} {cells[0]:26} {cells[1]:40} {f'{there / here:8.1f} x' if both else ''}", flush=True)
    print(f"\ninterpreter / emulator with all checks, median of {len(ratios)}: {np.median(ratios):.1f} x")


if __name__ == "__main__":
    if sys.argv[3:] == ["interpreter"]:
        print(json.dumps(measured(sys.argv[1], sys.argv[2], contextlib.nullcontext())))
    elif sys.argv[3:] == ["ptxlab"]:
        print(json.dumps(measured(sys.argv[1], sys.argv[2], getattr(pl, sys.argv[1])(checks="all"))))
    elif sys.argv[1:] in (["numba"], ["triton"]):
        main(sys.argv[1])
    else:
        sys.exit(__doc__)
