"""Registers, spills and shared memory of the prefill kernels on each target: `python benchmarks/prefill_registers.py`.

Assembles the default builds of rungs 3 to 7, without and with a causal mask, for every head_dim from 16 to 256, every
type and every target that has the rung's instructions. Prints what spills; the exit status is 1 if anything does.
`--write` puts a Markdown table into benchmarks/results/prefill_registers.md. Rows of kernels that have not changed, by
the last column, are taken over from there. Needs NVIDIA's assembler, no GPU.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import ptxlab as pl
from ptxlab import kernels, targets

RUNGS = ("tiled2d", "wmma", "mma", "swizzle", "pipelined")
ARCHS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_120")
DIMS = tuple(range(16, 257, 16))
RESULT = Path(__file__).parent / "results" / "prefill_registers.md"
HEAD = (
    "kernel",
    "target",
    "tile",
    "warps",
    "registers, full",
    "causal",
    "spilled bytes",
    "shared bytes",
    "blocks per SM",
    "limited by",
    "PTX",
)


@dataclass(frozen=True)
class Case:
    """A row of the table: two builds, of which the second has a causal mask."""

    full: kernels.Built
    causal: kernels.Built

    @property
    def digest(self) -> str:
        """Changes with the instructions of either build, not with their comments."""
        text = re.sub(r"\s*//.*", "", self.full.ptx + self.causal.ptx)
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    @property
    def key(self) -> str:
        """How the row begins: which build this is."""
        return f"| {self.full.name} | {self.full.config.arch} |"

    def row(self) -> str:
        """The row, from the assembler."""
        c = self.full.config
        made = [pl.assemble(built.ptx) for built in (self.full, self.causal)]
        shared = self.full.launch_shape(1, 1, 1, 1, 1)[2]
        fits = targets.occupancy(c.arch, c.threads, max(m.registers for m in made), shared)
        tile = f"{c.tile_q} x {c.tile_kv}" + (f", {c.stages} stages" if c.stages > 1 else "")
        spilled = max(m.spill_bytes for m in made)
        cells = (c.warps, *(m.registers for m in made), spilled, shared, fits.blocks, fits.limiter, self.digest)
        return f"{self.key} {tile} | " + " | ".join(map(str, cells)) + " |"


def cases(rungs: tuple[str, ...] = RUNGS) -> Iterator[Case]:
    """The default builds on each target that has a kernel's instructions."""
    for name in rungs:
        spec = kernels.get(name, "prefill")
        for dtype in spec.dtypes:
            for arch in ARCHS:
                number = targets.get(arch).number
                if number < spec.sm or (dtype == "bf16" and number < 80):
                    continue
                for dim in DIMS:
                    yield Case(*(spec.build(head_dim=dim, causal=c, dtype=dtype, arch=arch) for c in (False, True)))


def known(text: str) -> dict[tuple[str, str], str]:
    """The rows of a table by (how they begin, digest)."""
    found = {}
    for row in text.splitlines():
        cells = row.split(" | ")
        if len(cells) == len(HEAD) and not row.startswith("| kernel"):
            found[f"{cells[0]} | {cells[1]} |", cells[-1].removesuffix(" |")] = row
    return found


def spilled(row: str) -> int:
    """The spilled bytes in a row."""
    return int(row.split(" | ")[HEAD.index("spilled bytes")])


def main() -> int:
    """Prints what spills, and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    before = known(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}
    lines = [
        "# Prefill kernels as assembled",
        "",
        "Made by `python benchmarks/prefill_registers.py --write`.",
        "",
        "| " + " | ".join(HEAD) + " |",
        "|" + " --- |" * len(HEAD),
    ]
    spills = 0
    for case in cases():
        lines.append(before.get((case.key, case.digest)) or case.row())
        if spilled(lines[-1]):
            spills += 1
            print(lines[-1], flush=True)
        if options.write:
            RESULT.parent.mkdir(exist_ok=True)
            RESULT.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines) - 6} rows, {spills} with spills")
    return 1 if spills else 0


if __name__ == "__main__":
    sys.exit(main())
