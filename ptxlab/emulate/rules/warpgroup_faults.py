"""The faults of `wgmma` in words, and the operands of its products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ptxlab.emulate.program.flat_program import Code, Literal, Reg, Source
from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.rules.faults import FaultingThread
from ptxlab.emulate.runtime.report import WARPGROUP
from ptxlab.errors import DeviceFault
from ptxlab.isa import fragments

SIGNS = {"tf32": 0x80000000, "f16": 0x80008000, "bf16": 0x80008000, "e4m3": 0x80808080, "e5m2": 0x80808080}
"""The sign bits in a register of elements."""

THE_OTHERS = "the other warps of its warpgroup"
"""What a warp waits for at `wgmma.wait_group`, in the words of a deadlock."""


@dataclass(frozen=True)
class ProductOperands:
    """The operands of a product other than the registers of fragments.

    a, b: descriptors; a is None where A is in registers. adds: the predicate. negative: whether the product of the two
    signs is -1. a_mn, b_mn: whether neighbours in memory lie along m or n.
    """

    a: Source | None
    b: Source
    adds: Source
    negative: bool
    a_mn: bool
    b_mn: bool


def product_operands(code: Code) -> ProductOperands:
    named = {name: source for name, (source, _) in code.named.items()}

    def number(name: str) -> int:
        found = named.get(name)
        return int(found.value) if isinstance(found, Literal) else 0

    a = named["a"] if isinstance(named["a"], Reg) else None
    a_mn = a is not None and number("imm_trans_a") == 1
    b_mn = number("imm_trans_a" if a is None else "imm_trans_b") == 1  # with a in registers, the only order is b's
    b, adds = named["b"], named["scale_d"]
    assert b is not None
    assert adds is not None
    negative = (number("imm_scale_a") or 1) * (number("imm_scale_b") or 1) < 0
    return ProductOperands(a, b, adds, negative, a_mn, b_mn)


@dataclass(frozen=True)
class Tile:
    """The part of a matrix in shared memory that a warp reads: lines and 16-byte pieces of them."""

    first_line: int
    lines: int
    first_piece: int
    pieces: int


def tile_a(code: Code, warp: int, mn_major: bool) -> Tile:
    """The 16 rows of A that are those of a warp."""
    row = 16 * (warp % WARPGROUP)
    return Tile(0, fragments.product(code.form).a.columns, row // 8, 2) if mn_major else Tile(row, 16, 0, 2)


def tile_b(code: Code, mn_major: bool) -> Tile:
    b = fragments.product(code.form).b
    bytes_along_k = b.rows * b.bits // 8
    return Tile(0, b.rows, 0, b.columns // 8) if mn_major else Tile(0, b.columns, 0, bytes_along_k // 16)


def outside(at: FaultingThread, address: int, *, of_b: bool) -> DeviceFault:
    """The fault of a descriptor whose tile leaves shared memory."""
    found = at.access_fault("load", "shared", address, 16)
    message = f"the descriptor of {'b' if of_b else 'a'} describes a tile that leaves shared memory: {found.message}"
    hint = "look at its start address, its leading and stride byte offsets, and the swizzle"
    return at.fault("memcheck", message, address=address, hint=hint)


def no_warpgroup(at: FaultingThread) -> DeviceFault:
    """The fault of a product in a warp that is not one of four."""
    warps = at.launch.warps
    message = (
        f"{at.code.form.opcode} needs a warpgroup, four warps in a row of which the first is a multiple of 4; warp "
        f"{at.warp} is in none, since the block has {warps} warp{'' if warps == 1 else 's'}"
    )
    return at.fault("trap", message, hint="launch it with a multiple of 128 threads per block")


def incomplete_warpgroup(at: FaultingThread, begun: Sequence[tuple[int, int]]) -> DeviceFault:
    """The fault of a block that has ended although a warpgroup has not executed its products together. begun: for each
    warp how many it has executed, and the code index of the last."""
    codes = at.program.codes
    group = range(at.warp // WARPGROUP * WARPGROUP, min(at.warp // WARPGROUP * WARPGROUP + WARPGROUP, len(begun)))
    most = max(group, key=lambda w: begun[w][0])
    lines = []
    for w in group:
        count, last = begun[w]
        behind = f", the last in {at.program.place(codes[last].line)}" if count else ""
        lines.append(f"warp {w}: {count} product{'' if count == 1 else 's'}{behind}")
    message = "\n    ".join(
        ["the four warps of a warpgroup execute each wgmma.mma_async together, or wait for each other for ever; these "
         "have not:", *lines]
    )  # fmt: skip
    return at._replace(code=codes[begun[most][1]], thread=LANES * most).fault("deadlock", message)
