"""The main loops of `pipelined` and `decode_gqa` in machine code, without a GPU: `python benchmarks/sass_profile.py`.

For each build: registers, spills, the blocks that a multiprocessor holds, how many instructions a warp issues for a
tile, of which kinds, and two distances.

    LDSM to HMMA    products between a load from shared memory and the first product that reads what it loaded. A load
                    takes some 30 cycles, a product keeps the tensor core busy for 4 to 8: with 0 between them the warp
                    waits, unless another one of the same scheduler has something to do.
    HMMA to HMMA    products from one to the next that adds to the same sums, which has to wait for the first.

`--arch`, `--kernel` and `--dim` choose. Needs NVIDIA's assembler and nvdisasm.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import ptxlab as pl
from ptxlab import kernels, targets

DIMS = (64, 128, 256)
KINDS = ("HMMA", "LDSM", "LDGSTS", "MUFU", "FMUL", "FFMA", "FADD", "FMNMX", "F2FP", "SHFL", "BAR")
"""What a line of the table counts apart; the rest are addresses, comparisons and branches."""

_LABEL = re.compile(r"(\.L_x_\d+):")
_CODE = re.compile(r"\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+ +)?([^;]*?)\s*;")
_TARGET = re.compile(r"`\((\.L_x_\d+)\)")
_REGISTER = re.compile(r"\bR(\d+|Z)\b")
_SOURCES = {"16816": (4, 2), "1688": (2, 1)}
"""Registers that a product reads of A and of B."""


@dataclass(frozen=True)
class Loop:
    """The instructions of a loop in order, without their guards."""

    code: tuple[str, ...]

    @property
    def kinds(self) -> Counter[str]:
        """How many instructions there are of each kind: opcodes without their modifiers."""
        return Counter(_kind(text) for text in self.code)

    def load_distances(self) -> list[tuple[int, int]]:
        """For each LDSM: (instructions, products) between it and the first product that reads it, sorted.

        A load at the end of the loop may be read at its beginning; one that no product reads is left out.
        """
        found = []
        for at, text in enumerate(self.code):
            if _kind(text) != "LDSM":
                continue
            first = int(_REGISTER.findall(text)[0])
            loaded = set(range(first, first + 4))
            products = 0
            for step in range(1, len(self.code)):
                other = self.code[(at + step) % len(self.code)]
                if _kind(other) == "HMMA":
                    if _read(other) & loaded:
                        found.append((step - 1, products))
                        break
                    products += 1
        return sorted(found)

    def sum_distances(self) -> list[int]:
        """For each product whose sums come from another one of the loop: how many products earlier that one was."""
        last: dict[str, int] = {}
        found = []
        for n, text in enumerate(text for text in self.code if _kind(text) == "HMMA"):
            result, _a, _b, sums = _REGISTER.findall(text)
            if sums in last:
                found.append(n - last[sums])
            last[result] = n
        return sorted(found)


def _kind(text: str) -> str:
    return text.split()[0].split(".")[0]


def _read(product: str) -> set[int]:
    """The registers of A and B that a product reads."""
    counts = _SOURCES[product.split(".")[1]]
    operands = _REGISTER.findall(product)[1:3]
    return {int(n) + i for n, count in zip(operands, counts, strict=True) if n != "Z" for i in range(count)}


def loops(text: str) -> Iterator[Loop]:
    """The loops of nvdisasm's text, inner ones first: what lies between a label and a branch back to it."""
    places: dict[str, int] = {}
    code: list[str] = []
    for line in text.splitlines():
        if label := _LABEL.match(line):
            places[label[1]] = len(code)
        elif found := _CODE.match(line):
            target = _TARGET.search(found[1])
            code.append(found[1])
            if found[1].startswith("BRA") and target and target[1] in places:
                yield Loop(tuple(code[places[target[1]] :]))


def main_loop(text: str) -> Loop:
    """The first loop that multiplies. ValueError where there is none."""
    for loop in loops(text):
        if "HMMA" in loop.kinds:
            return loop
    raise ValueError("no loop multiplies")


@dataclass(frozen=True)
class Profile:
    """What the assembler made of a kernel."""

    name: str
    registers: int
    spilled: int
    blocks: int
    loop: Loop

    @classmethod
    def of(cls, built: Any, arch: str) -> Profile:
        """The profile of a kernel of the library, on a target."""
        _, (threads, _, _), shared = (
            built.launch_shape(1, 1, 1, 1, 1) if hasattr(built, "tile_kv") else built.launch_shape(1, 1, 1)
        )
        made = pl.sass(built, arch)
        fits = targets.occupancy(arch, threads, made.assembly.registers, shared)
        return cls(built.name, made.assembly.registers, made.assembly.spill_bytes, fits.blocks, main_loop(made.text))

    def cells(self) -> list[Any]:
        """The cells of its line in the table."""
        kinds, loads, sums = self.loop.kinds, self.loop.load_distances(), self.loop.sum_distances()
        rest = len(self.loop.code) - sum(kinds[kind] for kind in KINDS)
        at_once = sum(products == 0 for _, products in loads)
        soon = sum(products < 4 for _, products in loads)
        return [
            self.name,
            self.registers,
            self.spilled,
            self.blocks,
            len(self.loop.code),
            *(kinds[kind] for kind in KINDS),
            rest,
            at_once,
            soon,
            min(sums),
        ]


HEAD = (
    "kernel",
    "registers",
    "spilled bytes",
    "blocks an SM",
    "instructions",
    *KINDS,
    "rest",
    "LDSM to HMMA: 0",
    "under 4",
    "HMMA to HMMA",
)


def builds(arch: str, names: list[str], dims: list[int]) -> Iterator[Any]:
    """The default builds in bf16."""
    for name in names:
        for dim in dims:
            if name == "pipelined":
                for causal in (False, True):
                    yield kernels.get(name).build(head_dim=dim, causal=causal, dtype="bf16", arch=arch)
            else:
                for partial in (False, True):
                    yield kernels.get(name, "decode").build(head_dim=dim, partial=partial, dtype="bf16", arch=arch)


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", nargs="+", default=["sm_80", "sm_89", "sm_90"])
    parser.add_argument("--kernel", nargs="+", default=["pipelined", "decode_gqa"])
    parser.add_argument("--dim", nargs="+", type=int, default=list(DIMS))
    options = parser.parse_args()
    for arch in options.arch:
        print(f"\n{arch}\n\n| " + " | ".join(HEAD) + " |\n|" + " --- |" * len(HEAD))
        for built in builds(arch, options.kernel, options.dim):
            print("| " + " | ".join(map(str, Profile.of(built, arch).cells())) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
