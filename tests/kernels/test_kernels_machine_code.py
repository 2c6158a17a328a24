"""The main loops of `pipelined` and `decode_gqa` in machine code: what a warp issues, and what waits for what.

Between a load from shared memory (LDSM) and the first product (HMMA) that reads it should be other products: a load
takes some 30 cycles, a product keeps the tensor core busy for 4 to 8. A product that adds to the sums of another one
waits for it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

import ptxlab as pl
from ptxlab import kernels, targets
from ptxlab.gpu.disassembler import find_nvdisasm

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


LISTING = """
.text.kernel:
        /*0000*/                   MOV R1, c[0x0][0x28] ;
.L_x_0:
        /*0010*/                   LDSM.16.M88.4 R4, [R1] ;
        /*0020*/                   HMMA.16816.F32.BF16 R20, R8, R30, R20 ;
        /*0030*/              @!P0 HMMA.16816.F32.BF16 R24, R8, R6.reuse, R24 ;
        /*0040*/                   LDSM.16.MT88.4 R30, [R1+0x10] ;
        /*0050*/                   HMMA.16816.F32.BF16 R20, R4, RZ, R20 ;
        /*0060*/               @P0 BRA `(.L_x_0) ;
.L_x_1:
        /*0070*/                   BRA `(.L_x_1);
"""


def test_loops_are_found_and_distances_counted():
    loop = main_loop(LISTING)
    assert [text.split(".")[0].split()[0] for text in loop.code] == ["LDSM", "HMMA", "HMMA", "LDSM", "HMMA", "BRA"]
    assert loop.kinds == {"HMMA": 3, "LDSM": 2, "BRA": 1}
    # the first load is read by the second product behind it, the second one by the first product of the next round
    assert loop.load_distances() == [(1, 1), (3, 1)]
    assert loop.sum_distances() == [2]
    with pytest.raises(ValueError, match=r"^no loop multiplies$"):
        main_loop(LISTING.replace("HMMA", "FFMA"))


@pytest.mark.sweep(2)
@pytest.mark.long
@pytest.mark.assembler
@pytest.mark.skipif(find_nvdisasm() is None, reason="needs nvdisasm")
@pytest.mark.parametrize(("dim", "keys", "most"), [(64, 64, 650), (128, 64, 900)])
def test_the_main_loop_on_hopper_has_nothing_to_spare(dim, keys, most):
    """Per tile and warp of `pipelined`, in machine code: the products, four instructions for each exponential, O's
    rescaling, the loads and the copies; no masking, no spilling, and hardly an instruction for addresses."""
    built = kernels.get("pipelined").build(head_dim=dim, dtype="bf16", arch="sm_90", causal=True)
    assert (built.config.tile_q, built.tile_kv, built.config.warps) == (128, keys, 4)
    _, (threads, _, _), shared = built.launch_shape(1, 1, 1, 1, 1)
    made = pl.sass(built, "sm_90")
    assert made.assembly.spill_bytes == 0
    assert targets.occupancy("sm_90", threads, made.assembly.registers, shared).blocks == 2
    loop = main_loop(made.text)
    count = loop.kinds
    assert count["HMMA"] == 2 * (dim // 16) * (keys // 8) * 2  # 32 rows
    query = 0 if dim == 64 else 2 * (dim // 16)  # stays in registers, or is loaded again
    assert count["LDSM"] == 2 * (dim // 16) * (keys // 16) + query  # K and V
    assert count["MUFU"] == 32 * keys // 32 + 4
    assert count["LDGSTS"] == 2 * keys * dim * 2 // 16 // 128
    assert count["BAR"] == 1
    assert count["VOTE"] == (keys <= 64)  # whether O is rescaled at all
    assert not {"FSEL", "LDL", "STL", "LDG", "STS"} & set(count)
    assert len(loop.code) <= most


@pytest.mark.sweep(2)
@pytest.mark.long
@pytest.mark.assembler
@pytest.mark.skipif(find_nvdisasm() is None, reason="needs nvdisasm")
@pytest.mark.parametrize(("name", "phase", "dim"), [("pipelined", "prefill", 128), ("decode_gqa", "decode", 128)])
def test_products_seldom_wait_for_their_loads(name, phase, dim):
    """Of the loads of K, V and Q hardly any is read by the very next product, and sums rest for a few products."""
    built = kernels.get(name, phase).build(head_dim=dim, dtype="bf16", arch="sm_90")
    loop = main_loop(pl.sass(built, "sm_90").text)
    loads = loop.load_distances()
    assert len(loads) == loop.kinds["LDSM"]
    assert sum(products == 0 for _, products in loads) <= len(loads) // 8
    assert loop.sum_distances()[0] >= 2
