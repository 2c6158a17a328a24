"""Rung 6: the kernel of rung 5, but chunk c of row r of a tile lies at c ^ (r & 7): no bank conflict is left.

`ldmatrix` wants the same 16 bytes of eight rows. In rung 5 these lie a whole row apart, and a row of 64 elements is 128
bytes: all eight in the same four of the 32 banks, which can give out one word each at a time. Eight trips instead of
one, for every `ldmatrix` of the kernel.

Padding each row by 16 bytes would cure that, at the price of memory. The xor costs none, and it is its own inverse: as
r & 7 goes through 0 to 7, c ^ (r & 7) does too, in another order. So eight rows of one chunk (what ldmatrix reads) and
eight chunks of one row (what eight neighbouring threads write) both meet every bank once. Rows that are no multiple of
128 bytes, such as those of head_dim 80, do part of this by themselves and need fewer bits of r: the rule and its
pictures are in tiles.py. It leaves no conflict at any head_dim.

What it costs is arithmetic on addresses, and little of that: a lane always points at the same row of its 8x8 matrices,
so what it xors is a constant of the lane, and stepping along the row flips bits of the address. Compare the PTX with
rung 5's: `xor` before the loop, and the loop itself unchanged but for the addresses.
"""

from __future__ import annotations

import functools
from dataclasses import replace

from ptxlab.builder import Kernel
from ptxlab.kernels import mma
from ptxlab.kernels.spec import Config
from ptxlab.kernels.tiles import Layout


def make(config: Config) -> Kernel:
    """The kernel for a configuration: rung 5's, with another layout of its tiles."""
    return mma.attention("swizzle", config, Layout(config.head_dim, swizzled=True))


SPEC = replace(
    mma.SPEC,
    name="swizzle",
    rung=6,
    title="No bank conflicts",
    question="Where do 8-way conflicts come from, and why does xor cure reads and writes?",
    idea="XOR swizzle of 16-byte chunks",
    brings=("xor", "ldmatrix", "bank conflicts"),
    look="the bank conflicts, compared with `mma`; and the diff of the two: some xor before the loop",
    opens="xor",
    make=make,
    shared_bytes=functools.partial(mma.shared_bytes, swizzled=True),
)
