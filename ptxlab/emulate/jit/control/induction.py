"""How scalars change from warp to warp of a CTA: not at all, by a constant step, or otherwise (see
`loop_versioning`)."""

from __future__ import annotations

from typing import NamedTuple

Need = tuple[str, ...]
"""What is to be asked: ("exact", name, "sext" or "zext"); ("alike", name of a comparison); ("inside", name of a
comparison, its limit, the two steps, bits that must be 0 in them)."""


class Induction(NamedTuple):
    """A number that grows by `step`, an i64. deep: in CTAs of several slices along z, what it grows by from a warp to
    the one in the next slice. needs: what makes it so. zeros: it is rotated by so many bits."""

    step: str
    deep: str = "0"
    needs: frozenset[Need] = frozenset()
    zeros: int = 0


class Truth(NamedTuple):
    """An i1, or an integer made of some, that is the same in all warps where its needs are met."""

    needs: frozenset[Need]


class Other(NamedTuple):
    """A value of which nothing is known."""


SAME, OTHER = Truth(frozenset()), Other()
Kind = Induction | Truth | Other
