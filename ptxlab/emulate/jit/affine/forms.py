"""Forms: what is constant in a value whose lanes differ by constants, or by multiples of one scalar (see `values`)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import gcd

from ptxlab.emulate.jit.llvm.values import BITS

FARTHEST = 1 << 30
"""Limit of the distance between two lanes, before scaling: so the order of two lanes tells whether one has wrapped
around. Also the largest scale."""
MOST_TIMES = 1 << 16
"""Limit of the strides between two lanes: so what a stride of 32 bits adds, scaled, is far below 2^63."""

ALL = 64
"""Low bits that are 0, of a number that is 0."""


def low_zeros(number: int) -> int:
    """How many of the low bits are 0, of a number of at most 64 bits."""
    return (number & -number).bit_length() - 1 if number % (1 << ALL) else ALL


@dataclass(frozen=True)
class Form:
    """The constants of an affine value. steps: lane 0 has 0. extension: "zext" or "sext", or "" for the first form,
    which has no scale either. times: how many strides each lane adds to lane 0; empty where there is no stride.
    beyond: what each lane adds to the extended sum, lane 0 none; empty where lanes add nothing.

    Forms that differ in what follows are equal. zeros: how many low bits of the base are known to be 0, in the first
    form. index: whether it is a `%tid`, which is never negative."""

    type: str
    steps: tuple[int, ...]
    extension: str = ""
    scale: int = 1
    times: tuple[int, ...] = ()
    beyond: tuple[int, ...] = ()
    zeros: int = field(default=0, compare=False)
    index: bool = field(default=False, compare=False)

    @property
    def ends(self) -> tuple[int, int]:
        """The steps of the lanes with the least and the greatest value, where no lane wraps around."""
        return (self.low, self.high) if self.scale > 0 else (self.high, self.low)

    @property
    def disjoint(self) -> bool:
        """Whether no bit is 1 in the base and in a step."""
        return not self.extension and not self.times and self.low >= 0 and self.high >> self.zeros == 0

    @property
    def known(self) -> bool:
        """Whether the base is known to be 0, and so each lane."""
        return self.zeros >= BITS[self.type]

    @property
    def lane_offsets(self) -> tuple[int, ...]:
        """What each lane adds to lane 0 where no lane wraps around, but for strides."""
        beyond = self.beyond or (0,) * len(self.steps)
        return tuple(self.scale * step + more for step, more in zip(self.steps, beyond, strict=True))

    @property
    def outside(self) -> tuple[int, ...]:
        """What each lane adds without being extended."""
        return (self.beyond or (0,) * len(self.steps)) if self.extension else self.steps

    @property
    def level(self) -> bool:
        """Whether all lanes have the same value."""
        return not any(self.steps) and not self.times and not self.beyond

    @property
    def low(self) -> int:
        return min(self.steps)

    @property
    def high(self) -> int:
        return max(self.steps)

    @property
    def stride_type(self) -> str:
        return "i32" if self.extension else self.type

    def common(self, other: Form) -> Form:
        """What is known of both of two equal forms."""
        return replace(self, zeros=min(self.zeros, other.zeros), index=self.index and other.index)

    def with_beyond(self, beyond: list[int], scale: int) -> Form | None:
        """An extended form with this scale whose lanes add this to the extended sum; None if they are too far apart."""
        if max(beyond) - min(beyond) > FARTHEST:
            return None
        return replace(self, beyond=tuple(beyond) if any(beyond) else (), scale=scale)


def signed(number: int, bits: int) -> int:
    """A number modulo 2^bits, as near to 0 as can be."""
    half = 1 << bits - 1
    return (number + half) % (1 << bits) - half


def form_of(
    type_: str, steps: list[int], zeros: int = 0, times: tuple[int, ...] = (), *, index: bool = False
) -> Form | None:
    """The form with these steps, modulo the type's size; None where lanes are too far apart."""
    near = tuple(signed(step, BITS[type_]) for step in steps)
    if max(near) - min(near) > FARTHEST:
        return None
    return Form(type_, near, times=times, zeros=0 if times else min(zeros, BITS[type_]), index=index)


def times_of(form: Form) -> tuple[Form, int] | None:
    """The form of a value without a stride times a scalar, and by how much the scalar is to be multiplied to be its
    stride. None where lanes are too far apart."""
    factor = gcd(*form.steps)
    times = tuple(step // factor for step in form.steps)
    if max(times) - min(times) > MOST_TIMES:
        return None
    return Form(form.type, (0,) * len(times), times=times), factor
