"""Sparse products: the layout of the metadata of `mma.sp`, the positions of the packed A's elements in their rows.

In A's rows half of the elements are zero and left out: two of each four, with tf32 one of each two, with 4-bit integers
two pairs of each four pairs. The others are packed, in the fragment of a matrix with half the columns; operand e has
two bits for each element (or pair), its position among the four. tf32 takes four bits for each element, 0b0100 or
0b1110, as if it were two halves of which both are kept: bit 1 distinguishes the two.

A group of four lanes, 4*g to 4*g + 3, holds the metadata of rows g and g + 8. `f`, the selector, says which of them:

    16 bits per row    one lane, 4*g + f: row g in the lower half of its e, row g + 8 in the upper
    32 bits per row    two lanes, 4*g + 2*f and the next. With elements of 16 or 32 bits both have both rows, the first
                     the first half of the columns; with smaller ones the first has row g, the second row g + 8
    64 bits per row    all four: row g and row g + 8, first half of the columns, then the same of the second half

Source: PTX ISA 9.0, "Sparse matrix storage" (granularity, selector) and the figures of "Matrix fragments for sparse
mma"; the order of words agrees with how CUTLASS reorders metadata before `ldmatrix`. Metadata that the manual calls
undefined (an index twice, tf32's other values) is taken as the bits say.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

import numpy as np

from ptxlab.isa import types
from ptxlab.isa.fragments import Fragment, product
from ptxlab.isa.table import Form


@dataclass(eq=False, repr=False)
class Metadata:
    """For the packed A of a form: its element in row r and packed column j is in column
    `base[j] + unit * index` of the whole row, index = e of lane `lane[r, j]`, shifted right by `shift[r, j]`, `& mask`.
    """

    base: np.ndarray = field(repr=False)
    lane: np.ndarray = field(repr=False)
    shift: np.ndarray = field(repr=False)
    unit: int
    mask: int
    selector: int

    def columns(self, e: np.ndarray) -> np.ndarray:
        """The column of each element of the packed A, int of its shape, from the 32 lanes' e."""
        index = e.astype(np.uint32)[self.lane] >> self.shift.astype(np.uint32) & np.uint32(self.mask)
        return np.asarray(self.base + self.unit * index.astype(np.int64))


def selectors(form: Form) -> int:
    """How many selectors there are: 4, 2 or 1 of them (0 and up)."""
    bits = _bits_of_a_row(product(form).a)
    return 64 // bits


def _bits_of_a_row(a: Fragment) -> int:
    each = {"tf32": 4, "s4": 1, "u4": 1}.get(a.type, 2)
    return a.columns * each


@functools.cache
def metadata(form: Form, selector: int) -> Metadata:
    """The metadata of an `mma.sp` form. `selector` is one of `range(selectors(form))`."""
    a = product(form).a
    narrow = types.width(a.type) <= 8
    unit = 2 if a.type in types.SUB_BYTE else 1
    kept, places, each = (1, 2, 4) if a.type == "tf32" else (2, 4, 2)
    row, j = np.arange(a.rows)[:, None], np.arange(a.columns)[None, :]
    group, lower = row % 8, row // 8
    number, count = j // unit, a.columns // unit
    bits = _bits_of_a_row(a)
    if bits == 16:
        lane, shift = selector + 0 * j, 16 * lower + each * number
    elif bits == 32 and not narrow:
        lane, shift = 2 * selector + number // (count // 2), 16 * lower + each * (number % (count // 2))
    else:
        lane, shift = 2 * selector + 2 * (number // 16) + lower, each * (number % 16)
    lane, shift = np.broadcast_arrays(4 * group + lane, shift + (1 if a.type == "tf32" else 0) + 0 * row)
    base = unit * places * (number[0] // kept) + np.arange(a.columns) % unit
    return Metadata(base, lane, shift, unit, places - 1, selector)
