"""The bytes that decode kernels ask for, over those of the keys and values: `python benchmarks/decode.py [--write]`.

The emulator counts them. Its time says nothing about a GPU; `python -m benchmarks.gpu.decode` measures one. --write
keeps the table in benchmarks/results/decode.md.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path

import ml_dtypes
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # `benchmarks` is imported from the root of the repository

import ptxlab as pl
from benchmarks.gpu.decode_steps import Problem, takes
from ptxlab import kernels

RESULT = Path(__file__).parent / "results" / "decode.md"
HEAD = f"{'kernel':<17}{'B':>5}{'keys':>8}{'heads':>7}{'cache':>7}{'splits':>7}"


def counted() -> list[str]:
    """The bytes that each kernel asks for, as a multiple of the keys and values that there are."""
    lines = [
        "no GPU: times, bandwidth, PyTorch and FlashInfer need one; this is what the emulator counts.",
        "",
        "asked for: bytes of global memory in sectors of 32, over those of the keys and values; ideal is 1.",
        f"{HEAD}{'asked for':>11}{'conflicts':>11}",
    ]
    print("\n".join(lines))
    random = np.random.default_rng(0)
    for heads, paged in itertools.product(((8, 2), (8, 1)), (False, True)):
        problem = Problem(1, 512, heads, paged)
        q = random.standard_normal((1, heads[0], problem.dim)).astype(ml_dtypes.bfloat16)
        k, v = random.standard_normal((2, *problem.cache)).astype(ml_dtypes.bfloat16)
        table = problem.table if paged else None
        what = f"{problem.batch:>5}{problem.keys:>8}{f'{heads[0]}/{heads[1]}':>7}{'pages' if paged else 'dense':>7}"
        for name in (n for n in kernels.names("decode") if n != "decode_reduce" and takes(n, problem)):
            splits = 4 if name in ("decode_split", "decode_gqa") else None
            out = pl.decode(q, k, v, [512], table, kernel=name, splits=splits, device="cpu", counters=True)
            assert out.error.ok, out.error
            assert out.counters is not None
            metrics = out.counters.metrics
            asked = 32 * metrics["memory_l2_theoretical_sectors_global"] / problem.bytes
            conflicts = metrics["l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"]
            lines.append(f"{name:<17}{what}{out.splits:>7}{asked:>11.2f}{conflicts:>11}")
            print(lines[-1], flush=True)
    return lines


def main() -> None:
    """Counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help=f"keep the table in {RESULT.name}")
    write = parser.parse_args().write
    text = "\n".join(counted())
    if write:
        made = "# Decode, measured\n\nMade by `python benchmarks/decode.py --write`.\n\n"
        RESULT.write_text(f"{made}```\n{text}\n```\n", encoding="utf-8")


if __name__ == "__main__":
    main()
