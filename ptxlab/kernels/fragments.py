"""Matrices in the registers of a warp: what `mma.m16n8k16` multiplies, and how `ldmatrix` brings it there.

A warp multiplies a 16x16 matrix A by a 16x8 matrix B and adds the 16x8 product to C. Lane 4*g + t of the 32 holds:

    A, 16 rows x 16 columns             B, 16 x 8                          C, 16 x 8
    four registers of two halves        two registers of two halves        four floats

              column 2t,2t+1  2t+8,2t+9           column g                      column 2t,2t+1
    row g        a[0]           a[2]     row 2t,2t+1     b[0]          row g       c[0] c[1]
    row g + 8    a[1]           a[3]     row 2t+8,2t+9   b[1]          row g + 8   c[2] c[3]

Lay two C fragments side by side, 16 x 16, round them to 16 bits in pairs, and they lie as an A fragment does: the lane
that computed S[g, 2t] is the lane that needs P[g, 2t]. That is why P never leaves the registers.

`ldmatrix.x4` loads four 8x8 matrices. Lanes 8*j to 8*j + 7 give the addresses of the eight rows of matrix j, 16 bytes
each, and every lane receives the two halves that A or B wants of it; `.trans` hands out the transpose.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ptxlab.builder import Builder, Ptr, Register, Var, f32

Fragment = list[Any]
"""The registers that one lane holds of a matrix: four of an A, two of a B, four f32 of a C."""

ALL_LANES = 0xFFFFFFFF


def matrix(k: Builder, row: Ptr[Any], *, trans: bool = False) -> Fragment:
    """Four 8x8 matrices from shared memory, `row` being the address that this lane gives: one `ldmatrix`."""
    loaded: Fragment = k.op(f"ldmatrix.sync.aligned.m8n8.x4{'.trans' if trans else ''}.shared.b16", row)
    return loaded


def multiply(k: Builder, c: list[Var[f32]], a: Sequence[Any], b: Sequence[Any], dtype: str) -> None:
    """c += a * b: one `mma`, or two of half the depth on sm_75, whose tensor cores take no more at once."""
    if k.target.number >= 80:
        k.op(f"mma.sync.aligned.m16n8k16.row.col.f32.{dtype}.{dtype}.f32", a, b, c, into=c)
    else:
        for half in range(2):
            k.op(
                f"mma.sync.aligned.m16n8k8.row.col.f32.{dtype}.{dtype}.f32",
                a[2 * half : 2 * half + 2],
                [b[half]],
                c,
                into=c,
            )


def pair(k: Builder, low: Register[Any], high: Register[Any], dtype: str) -> Any:
    """Two floats rounded to 16 bits, side by side in a register."""
    if k.target.number >= 80:
        return k.op(f"cvt.rn.{dtype}x2.f32", high, low)
    return k.pack(k.op(f"cvt.rn.{dtype}.f32", low), k.op(f"cvt.rn.{dtype}.f32", high))


def rounded(k: Builder, left: list[Var[f32]], right: list[Var[f32]], dtype: str) -> Fragment:
    """Two C fragments side by side as one A fragment."""
    return [
        pair(k, c[row], c[row + 1], dtype)
        for c in (left, right)
        for row in (0, 2)  # c[0], c[1] are of row g, c[2], c[3] of row g + 8
    ]


def across(k: Builder, value: Var[f32], operation: str) -> None:
    """`value` becomes the maximum ("max") or the sum ("add") over the four lanes that share a row of C."""
    for distance in (1, 2):
        other: Any = k.shfl(value, distance, 31, ALL_LANES, mode="bfly")
        value.set(k.max(value, other) if operation == "max" else value + other)
