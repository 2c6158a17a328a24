"""Prefill kernels beside torch's and Triton's on a GPU: `python benchmarks/prefill.py [--json FILE] [--write]`.

The part `prefill` of the GPU campaign on its own, with the same options (`python -m benchmarks.gpu.prefill --help`).
--write puts its table into benchmarks/results/prefill.md. `--device cpu` runs small problems on the CPU machine: its
times say nothing about a GPU.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # `benchmarks` is imported from the root of the repository

import ptxlab as pl
from benchmarks.gpu import prefill

RESULT = Path(__file__).parent / "results" / "prefill.md"


def main() -> int:
    """The exit status of the part; 0 where there is no GPU to measure."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--device", default="gpu")
    options, more = parser.parse_known_args()
    if options.device == "gpu" and not pl.gpu.available() and not {"-h", "--help"} & set(more):
        print("no NVIDIA GPU, or no driver for it: nothing is measured (--device cpu shows that it all runs)")
        return 0
    sys.argv = [sys.argv[0], "--device", options.device, *more]
    return prefill.main(RESULT if options.write else None)


if __name__ == "__main__":
    sys.exit(main())
