"""Kernels for Hopper as assembled, and what tensor maps save in decode: `python benchmarks/hopper.py [--write]`.

The first table has a row for each option of `hopper`: registers, spills, and how often what matters is in the machine
code. A wait of the machine code that is none of the kernel's would be a product that the assembler serialized. The
second compares the copies of `decode_gqa`, `cp.async` and `copy="tma"`, for each tile of 16 keys and values: what the
emulator counts, as a model of the instructions that a GPU would issue; nothing here is a time. `--write` keeps both
in benchmarks/results/hopper.md. Needs NVIDIA's assembler, and ptxas for `hopper`; no GPU.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import ptxlab as pl
from ptxlab import kernels

RESULT = Path(__file__).parent / "results" / "hopper.md"
ROLES = ("head_dim", "type", "causal", "consumers", "tile", "registers", "spilled bytes", "HGMMA", "UTMALDG",
         "UTMASTG", "USETMAXREG", "waits", "of them the kernel's", "warnings", "assembler")  # fmt: skip
COPIES = ("head_dim", "cache", "copy", "registers", "spilled bytes", "LDGSTS", "UTMALDG", "warp-instructions",
          "FMA pipe", "ALU pipe", "LSU pipe", "bytes in sectors", "bytes by TMA")  # fmt: skip
KEYS, TILE = 512, 16


def options() -> Iterator[kernels.Built]:
    """The builds of `hopper`: what ships for each head_dim and type, and at head_dim 64 fewer consumers."""
    spec = kernels.get("hopper")
    for causal, dim, dtype in itertools.product((False, True), (64, 128, 192, 256), ("f16", "bf16")):
        yield spec.build(head_dim=dim, dtype=dtype, causal=causal, arch="sm_90a")
    for causal, rows in itertools.product((False, True), (64, 128)):
        yield spec.build(head_dim=64, tile_q=rows, causal=causal, arch="sm_90a")


def roles(built: kernels.Built) -> dict[str, Any]:
    """A row of the first table."""
    c, sass = built.config, pl.sass(built.ptx)
    made, count = sass.assembly, opcodes(sass)
    waits = built.ptx.count("wgmma.wait_group.sync.aligned")
    cells = (c.head_dim, c.dtype, "yes" if c.causal else "no", c.tile_q // 64, f"{c.tile_q} x {c.tile_kv}",
             made.registers, made.spill_bytes, count["HGMMA"], count["UTMALDG"], count["UTMASTG"], count["USETMAXREG"],
             count["WARPGROUP.DEPBAR"], waits, len(made.warnings), made.assembler)  # fmt: skip
    return dict(zip(ROLES, cells, strict=True))


def opcodes(sass: pl.gpu.Sass) -> Counter[str]:
    """How often each opcode is in the machine code; of `WARPGROUP` with its first modifier."""
    found: Counter[str] = Counter()
    for instruction in itertools.chain.from_iterable(f.instructions for f in sass.functions):
        first, _, more = instruction.opcode.partition(".")
        found[f"{first}.{more.partition('.')[0]}" if first == "WARPGROUP" else first] += 1
    return found


def copies(dim: int, cache: str, copy: str) -> dict[str, Any]:
    """A row of the second table: twice as many keys, less once, so that what stands before the loop drops out."""
    more = {"cache": cache, "page_size": TILE} if cache == "paged" else {}
    built = kernels.get("decode_gqa", "decode").build(head_dim=dim, arch="sm_90a", copy=copy, **more)
    one, two = (counted(built, keys) for keys in (KEYS, 2 * KEYS))
    tiles = 2 * KEYS // TILE  # of two key/value heads

    def each(metric: str) -> float:
        return (two[metric] - one[metric]) / tiles

    sass = pl.sass(built.ptx)
    made, count = sass.assembly, opcodes(sass)
    pipes = (round(each(f"smsp__inst_executed_pipe_{pipe}.sum")) for pipe in ("fma", "alu", "lsu"))
    cells = (dim, cache, copy, made.registers, made.spill_bytes, count["LDGSTS"], count["UTMALDG"],
             round(each("smsp__inst_executed.sum")), *pipes, round(32 * each("memory_l2_theoretical_sectors_global")),
             round(each("l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum")))  # fmt: skip
    return dict(zip(COPIES, cells, strict=True))


def counted(built: kernels.DecodeBuilt, keys: int) -> dict[str, float]:
    """The counters of one launch: 8 query heads, 2 key/value heads, one sequence."""
    random, dim = np.random.default_rng(0), built.config.head_dim
    q = random.standard_normal((1, 8, dim)).astype(np.float16)
    table, shape = None, (1, 2, keys, dim)
    if built.config.cache == "paged":
        table = random.permutation(keys // TILE).astype(np.int32)[None]
        shape = (keys // TILE, TILE, 2, dim)
    k, v = random.standard_normal((2, *shape)).astype(np.float16)
    out = pl.decode(q, k, v, [keys], table, kernel=built, splits=1, device="cpu", counters=True)
    assert out.error.ok, out.error
    assert out.counters is not None
    return out.counters.metrics


def table(rows: list[dict[str, Any]]) -> list[str]:
    """In Markdown."""
    lines = ["| " + " | ".join(rows[0]) + " |", "|" + " --- |" * len(rows[0])]
    return lines + ["| " + " | ".join(map(str, row.values())) + " |" for row in rows]


def main() -> int:
    """Prints the tables, and writes them; the exit status is 1 where a build spills or a product is serialized."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    first = [roles(built) for built in options()]
    second = [copies(*case) for case in itertools.product((64, 128, 192, 256), ("dense", "paged"), ("cp.async", "tma"))]
    text = "\n".join(
        (
            "# Kernels for Hopper, assembled and counted",
            "",
            "Made by `python benchmarks/hopper.py --write`.",
            "",
            "`hopper` for sm_90a:",
            "",
            *table(first),
            "",
            "`decode_gqa` for sm_90a, modelled, for each tile of 16 keys and their values (pages of 16 keys):",
            "",
            *table(second),
            "",
        )
    )
    print(text)
    if given.write:
        RESULT.write_text(text, encoding="utf-8")
    bad = [row for row in first if row["waits"] != row["of them the kernel's"] or row["warnings"]]
    return 1 if bad or any(row["spilled bytes"] for row in first + second) else 0


if __name__ == "__main__":
    sys.exit(main())
