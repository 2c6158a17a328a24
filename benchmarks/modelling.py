"""How well the performance model orders configurations: `python -m benchmarks.modelling FOLDER`.

FOLDER is what `python -m benchmarks.gpu` has left; its part `tune` has a time for every configuration of `pipelined`.
Each is modelled for the same problem, and Spearman's rank correlation is printed for each problem, with how much slower
the configuration that the model would choose is than the best one.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from ptxlab import kernels
from ptxlab.performance.estimate import rank_correlation
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
    for (dim, causal, seq), measured in sorted(problems.items()):
        shape = Shape(seq, dim, TOKENS // seq, WIDTH // dim)
        times = [
            modelled(
                spec,
                {"head_dim": dim, "causal": causal, "dtype": "bf16", **{name: row[name] for name in TILES}},
                shape,
                gpu,
            )
            for row in measured
        ]
        real = [float(row["us"]) for row in measured]
        rank, chosen = rank_correlation(real, times), real[times.index(min(times))]
        found.append(f"| {dim} | {causal} | {seq} | {len(real)} | {rank:.2f} | {chosen / min(real):.2f} |")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gpu", help="whose peaks; by default the A100's")
    options = parser.parse_args()
    path = options.folder / "tune.json"
    if not path.is_file():
        parser.error(
            f"{path} is not there: run  python -m benchmarks.gpu --out {options.folder}  on a machine with a GPU"
        )
    print("| D | causal | S | configurations | rank correlation | chosen / best |\n|---|---|---|---|---|---|")
    print("\n".join(lines(json.loads(path.read_text())["rows"], options.gpu)))


if __name__ == "__main__":
    main()
