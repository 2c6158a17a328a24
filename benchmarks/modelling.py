"""How good the performance model is: `python -m benchmarks.modelling FOLDER --gpu "H100 SXM"`.

FOLDER is what `python -m benchmarks.gpu` has left (build/gpu); its part `tune` has a time for every configuration of
`pipelined`. Each is modelled for the same problem. Printed for each problem are Spearman's rank correlation, how much
slower the configuration that the model would choose is than the best one, and how many times the modelled time the
measured one is: the least, the median and the most.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

from ptxlab import kernels
from ptxlab.performance.estimate import rank_correlation
from ptxlab.performance.peaks import PEAKS
from ptxlab.sweeps.plan import Shape
from ptxlab.sweeps.tuning import modelled

TILES = ("tile_q", "tile_kv", "warps", "stages")
TOKENS, WIDTH = 16384, 2048
"""Of the problems of that part."""


def lines(rows: list[dict[str, Any]], gpu: str | None) -> list[str]:
    """A line of a table for each problem."""
    problems: dict[tuple[int, bool, int], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        if row.get("kernel") == "pipelined" and row.get("us"):
            problems[row["dim"], row["causal"], row["seq"]].append(row)
    spec, found = kernels.get("pipelined"), []
    arch = PEAKS[gpu].targets[0] if gpu else str(spec.parameters["arch"].default)
    for (dim, causal, seq), measured in sorted(problems.items()):
        shape = Shape(seq, dim, TOKENS // seq, WIDTH // dim)
        times = [
            modelled(
                spec,
                {
                    "head_dim": dim,
                    "causal": causal,
                    "dtype": "bf16",
                    "arch": arch,
                    **{name: row[name] for name in TILES},
                },
                shape,
                gpu,
            )
            for row in measured
        ]
        real = [float(row["us"]) for row in measured]
        rank, chosen = rank_correlation(real, times), real[times.index(min(times))]
        off = sorted(true / said for true, said in zip(real, times, strict=True))
        found.append(
            f"| {dim} | {'causal' if causal else 'full'} | {seq} | {len(real)} | {rank:.2f} | {chosen / min(real):.2f} "
            f"| {off[0]:.2f}, {statistics.median(off):.2f}, {off[-1]:.2f} |"
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gpu", help="whose peaks; by default the A100's")
    options = parser.parse_args()
    if not (tune := options.folder / "tune.json").is_file():
        parser.error(
            f"{options.folder} has no times of the part tune: run  python -m benchmarks.gpu --out {options.folder}  "
            "on a machine with a GPU"
        )
    rows = json.loads(tune.read_text(encoding="utf-8"))["rows"]
    print("| D | mask | S | configurations | rank correlation | chosen / best | measured / modelled |")
    print("|---|---|---|---|---|---|---|")
    print("\n".join(lines(rows, options.gpu)))


if __name__ == "__main__":
    main()
