"""Registers, spills and shared memory of the prefill kernels on each target: `python benchmarks/prefill_registers.py`.

Assembles the default build of rungs 3 to 7, causal, for head_dim 16, 64, 80, 128 and 256, and prints a Markdown table.
`--write` puts it into benchmarks/results/prefill_registers.md; `--every` assembles every head_dim from 16 to 256, full
and causal, and lists only what spills. Needs NVIDIA's assembler, no GPU.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import ptxlab as pl
from ptxlab import kernels, targets

RUNGS = ("tiled2d", "wmma", "mma", "swizzle", "pipelined")
ARCHS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_120")
DIMS = (16, 64, 80, 128, 256)
RESULT = Path(__file__).parent / "results" / "prefill_registers.md"


def builds(dims: tuple[int, ...], causal: tuple[bool, ...]) -> list[kernels.Built]:
    """The default builds on each target that has a kernel's instructions."""
    made = []
    for name in RUNGS:
        spec = kernels.get(name)
        for dtype in spec.dtypes:
            for arch in ARCHS:
                number = targets.get(arch).number
                if number < spec.sm or (dtype == "bf16" and number < 80):
                    continue
                for dim in dims:
                    for masked in causal:
                        made.append(spec.build(head_dim=dim, causal=masked, dtype=dtype, arch=arch))
    return made


def row(built: kernels.Built) -> str:
    """A line of the table."""
    c = built.config
    made = pl.assemble(built.ptx)
    shared = built.launch_shape(1, 1, 1, 1, 1)[2]
    fits = targets.occupancy(c.arch, c.threads, made.registers, shared)
    tile = f"{c.tile_q} x {c.tile_kv}" + (f", {c.stages} stages" if c.stages > 1 else "")
    cells = (built.name, c.arch, tile, c.warps, made.registers, made.spill_bytes, shared, fits.blocks, fits.limiter)
    return "| " + " | ".join(map(str, cells)) + " |"


def table() -> str:
    """The whole table."""
    head = (
        "kernel",
        "target",
        "tile",
        "warps",
        "registers",
        "spilled bytes",
        "shared bytes",
        "blocks an SM",
        "limited by",
    )
    lines = ["# Prefill kernels as assembled", "", "Made by `python benchmarks/prefill_registers.py --write`.", ""]
    lines += ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join(lines + [row(built) for built in builds(DIMS, (True,))]) + "\n"


def main() -> int:
    """Prints or writes; the exit status says whether anything spills."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--every", action="store_true")
    options = parser.parse_args()
    if options.every:
        spilling = 0
        for built in builds(tuple(range(16, 257, 16)), (False, True)):
            made = pl.assemble(built.ptx)
            if made.spill_bytes:
                spilling += 1
                print(
                    f"{built.name} on {built.config.arch}: {made.registers} registers, {made.spill_bytes} bytes spilled"
                )
        return 1 if spilling else 0
    text = table()
    if options.write:
        RESULT.parent.mkdir(exist_ok=True)
        RESULT.write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
