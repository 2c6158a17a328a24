"""Programs of Triton on the CPU machine and in Triton's own interpreter: `python benchmarks/triton_interpreter.py`.

For each program of tests/corpus/triton_programs.py: whether each runs it and agrees with numpy, and the seconds of the
second of two runs, all launches and numpy's part included; then which of the planted mistakes each notices. The
interpreter is a setting of Triton's when kernels are decorated, so each side runs in a process of its own. Needs Triton
and torch, whose CPU tensors the interpreter takes; no GPU.
"""

from __future__ import annotations

import contextlib
import importlib.util
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
LIMIT = 120
"""Seconds that one program may take in the interpreter."""


def side(interpreted: bool) -> dict[str, Any]:
    """What one side does with all programs, each in a process of its own."""
    env = os.environ | ({"TRITON_INTERPRET": "1"} if interpreted else {})
    found: dict[str, Any] = {}
    for name in names():
        command = [sys.executable, __file__, "interpreter" if interpreted else "ptxlab", name]
        try:
            done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            found[name] = f"not done in {LIMIT} s"
            continue
        last = (done.stderr.strip().splitlines() or ["nothing said"])[-1]
        found[name] = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else last[:70]
    return found


def names() -> list[str]:
    """Programs, then mistakes, by the names that their files list."""
    sys.path.insert(0, str(CORPUS))
    import triton_mistakes
    import triton_programs

    return [*triton_programs.PROGRAMS, *triton_mistakes.MISTAKES]


def measured(name: str, machine: contextlib.AbstractContextManager[Any]) -> Any:
    """Seconds, or what went wrong, or which check noticed a mistake."""
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(CORPUS))
    import torch
    import triton_mistakes
    import triton_programs

    with machine as session:
        if name in triton_mistakes.MISTAKES:
            kernel, grid, args, constants, *_ = triton_mistakes.MISTAKES[name]
            try:
                kernel[(grid,)](*map(torch.from_numpy, args()), **constants)
            except Exception as error:
                return type(error).__name__
            return session.findings[0].check if session is not None and session.findings else "nothing"
        seconds = 0.0
        for _ in range(2):
            start = time.perf_counter()
            try:
                results = list(triton_programs.PROGRAMS[name](torch.from_numpy))
            except Exception as error:
                return f"{type(error).__name__}: {str(error).strip().splitlines()[-1] if str(error) else ''}"[:70]
            seconds = time.perf_counter() - start
            for result, wanted, tolerance in results:
                got, wide = np.asarray(result).astype(np.float64), np.asarray(wanted).astype(np.float64)
                if not np.allclose(got, wide, rtol=tolerance, atol=tolerance):
                    return "wrong"
    return seconds


def shown(value: Any) -> str:
    """A cell of the table."""
    return f"{value * 1e3:.1f} ms" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    if sys.argv[1:2] == ["interpreter"]:
        print(json.dumps(measured(sys.argv[2], contextlib.nullcontext())))
    elif sys.argv[1:2] == ["ptxlab"]:
        import ptxlab as pl

        print(json.dumps(measured(sys.argv[2], pl.triton(checks="all"))))
    else:
        absent = [name for name in ("triton", "torch") if importlib.util.find_spec(name) is None]
        if absent:
            sys.exit(f"{' and '.join(absent)}: not installed in {sys.executable}")
        ours, theirs = side(False), side(True)
        ratios = []
        print(f"{'program or mistake':24} {'CPU machine, all checks':26} {'interpreter':40} ratio")
        for name, here in ours.items():
            there = theirs[name]
            both = isinstance(here, float) and isinstance(there, float)
            ratios += [there / here] if both else []
            print(f"{name:24} {shown(here):26} {shown(there):40} {f'{there / here:8.1f} x' if both else ''}")
        print(f"\ninterpreter / CPU machine with all checks, median of {len(ratios)}: {np.median(ratios):.1f} x")
