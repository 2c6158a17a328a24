"""What a wrong result says of its cause: which known mistake gives it, and where the wrong elements are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ptxlab.course.values import number, same
from ptxlab.isa.special_registers import SPECIAL_REGISTERS

Array = NDArray[Any]
Known = Iterable[tuple[Any, str]]
"""Known mistakes: (the result that it gives, or whether it fits; its sentence)."""
_NUMBERS = re.compile(r"\d+(?:, \d+)*")  # one, or a list of them


def fitting(known: Known | Callable[[], Known], got: Array, only: Any, rtol: float, atol: Any) -> set[str]:
    """The sentences of the known mistakes whose result `got` is, within `atol + rtol |result|` where `only` says so."""

    def fits(result: Any) -> bool:
        if isinstance(result, bool | np.bool_):
            return bool(result)
        near = np.isclose(got.astype(float), np.asarray(result, float), rtol, atol, equal_nan=True)
        return bool(np.isfinite(result).any() and (near | ~np.broadcast_to(only, near.shape)).all())

    with np.errstate(all="ignore"):
        return {says for result, says in (known() if callable(known) else known) if fits(result)}


def contradicted(cause: str, others: Iterable[frozenset[str] | None]) -> bool:
    """Whether a sentence does not fit in another case that is wrong; its numbers may be those of the case."""
    plain = [{_NUMBERS.sub("", says) for says in fits} for fits in others if fits is not None]
    return not all(_NUMBERS.sub("", cause) in fits for fits in plain)


class Said(NamedTuple):
    """A prediction: what was said, what the machine found, the tolerance, and what known mistakes say."""

    found: Any
    truth: Any
    rtol: float
    known: Sequence[tuple[Any, str]]


def mistaken(asked: Sequence[Said]) -> tuple[str, bool]:
    """The sentence of the one known mistake that says what all predictions say, or else what the wrong ones share; and
    whether it names the mistake."""
    wrong = [one for one in asked if not same(one.found, one.truth, one.rtol)]
    fits = [all(same(one.found, value, one.rtol) for one, (value, _) in zip(asked, column, strict=True))
            for column in zip(*(one.known for one in asked), strict=False)]  # fmt: skip
    says = {why for fit, (_, why) in zip(fits, wrong[0].known if wrong else (), strict=False) if fit}
    if (
        wrong
        and len(asked) > 2
        and not isinstance(wrong[0].found, list)
        and len({number(one.found, 17) for one in asked}) == 1
    ):
        return f"You say {number(wrong[0].found)} in every case.", True
    return (says.pop(), True) if len(says) == 1 else (_common([(one.found, one.truth) for one in wrong]), False)


def _common(pairs: list[tuple[Any, Any]]) -> str:
    """What wrong predictions have in common: an order, a member, a factor or a distance; "" for nothing."""
    if len(pairs) < 2:
        return ""
    first, _ = pairs[0]
    every = f"in all {len(pairs)} cases that are wrong"
    if all(
        isinstance(found, tuple) and isinstance(truth, tuple) and len(found) == len(truth) for found, truth in pairs
    ):
        if all(same(found[::-1], truth) for found, truth in pairs):
            return "These are the right numbers in the opposite order."
        members = [[(found[at], truth[at]) for found, truth in pairs] for at in range(len(first))]
        off = [at for at, member in enumerate(members) if not all(same(*pair) for pair in member)]
        if len(off) == 1:
            only = f"Number {off[0] + 1} of {len(members)} is wrong, the others are right {every}."
            return " ".join(filter(None, (only, _common(members[off[0]]))))
        return ""
    if not all(isinstance(x, int | float) and not isinstance(x, bool) for pair in pairs for x in pair):
        return ""
    factors = {round(found / truth, 9) if truth else 0.0 for found, truth in pairs}
    steps = {found - truth for found, truth in pairs}
    factor, step = factors.pop(), steps.pop()
    if not factors and factor > 0 and 1 / factor == round(1 / factor):
        return f"The machine says {1 / factor:g} times as much as you, {every}."
    if not factors and factor > 1 and factor == round(factor):
        return f"You say {factor:g} times as much as the machine, {every}."
    return f"You say {abs(step):g} {'more' if step > 0 else 'less'} than the machine, {every}." if not steps else ""


def where(wrong: Array) -> str:
    """Which rows, columns or elements are wrong, if several of eight or more are and they form a pattern."""
    if wrong.ndim != 2:
        wrong = wrong.reshape(-1, wrong.shape[-1]) if wrong.ndim > 2 else wrong.reshape(-1)
    for axis, name in ((0, "row"), (1, "column")) if wrong.ndim == 2 else ((0, "element"),):
        shares: Array = np.atleast_1d(wrong.mean(axis=1 - axis)) if wrong.ndim == 2 else wrong * 1.0
        lines = shares > 0
        if len(lines) < 8 or lines.all() or (lines != (shares > 0.5)).any():
            continue
        bad, good = (_run(np.flatnonzero(which), name) for which in (lines, ~lines))
        if bad and lines.sum() > 1:
            return f"{bad[:1].upper()}{bad[1:]} are wrong, the others are right."
        if good and (~lines).sum() != 2:  # two are always at one distance
            return f"Only {good} are right." if (~lines).sum() > 1 else f"Only {good} is right."
    return ""


def _run(at: Array, name: str) -> str:
    """Numbers that follow each other at one distance, in words."""
    steps = set(np.diff(at).tolist())
    if len(steps) > 1:
        return ""
    if steps <= {1}:
        return f"{name}s {at[0]} to {at[-1]}" if steps else f"{name} {at[0]}"
    return f"{name}s {', '.join(map(str, at[:3]))}{' ...' if len(at) > 3 else ''}"


def plain(ptx: str) -> str:
    """PTX without comments and blanks, its registers and labels named in their order: equal for equal programs."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", ptx, flags=re.DOTALL)
    names: dict[str, str] = {}

    def named(found: re.Match[str]) -> str:
        word = found.group()
        return word if word in SPECIAL_REGISTERS else names.setdefault(word, f"{word[0]}{len(names)}")

    return " ".join(re.sub(r"[%$][A-Za-z_][\w$]*(?:\.[xyzw]\b)?", named, text).split())


def digits(found: Any, want: Any) -> str:
    """In how many decimal digits two nearly equal f64 agree; "" for others."""
    if np.asarray(want).dtype != np.float64 or not np.isfinite(found) or found == want or want == 0:
        return ""
    same = int(-np.log10(abs(float(found) / float(want) - 1)))
    told = f"They agree in the first {same} digits" if 6 <= same <= 14 else ""
    return told and told + (", about as many as an f32 has." if same <= 8 else ".")


ALL = (1, 2, 4, 8)


def exchanged(x: Array, distances: Iterable[int], op: Any, mode: str = "bfly") -> Array:
    """Numbers of lanes, [..., 32], after exchanges of these distances: each lane keeps op(its own, what it hears)."""
    lanes = np.arange(32)
    for d in distances:
        source = {"bfly": lanes ^ d, "down": lanes + d, "up": lanes - d, "idx": lanes * 0 + d}[mode]
        x = op(x, x[..., np.where((source < 0) | (source > 31), lanes, source)])
    return x


def log_sums(m: Array, l: Array) -> Iterator[tuple[Array, str]]:
    """What the usual mistakes make of m + ln l, the logarithm of a sum of exponentials with the maximum m."""
    two, log = np.log2(np.e), np.log(l)
    yield m + log * two, "The distance from the maximum is 1.44 times too large: log2 was not converted back."
    yield log, "Exactly the row's maximum is missing. What was subtracted before the sum?"
    yield m, "What came out is the maximum alone. Where does the sum l go?"
    yield m * two, "What came out is the maximum alone, in units of ln 2. Where does the sum l go?"
    yield (m + log) * two, "What came out is the right number in units of ln 2. What brings log2 to ln?"
    yield m * np.log(2) + log, "The maximum was multiplied by ln 2 once too often. In which units is it?"
    yield m * two + log, "The logarithm of l is in natural units there, and m is in units of ln 2."
    yield (m + log) * two**2, "What came out is log2(e)² times too large. Which factor brings log2 to ln?"
    yield m + l, "The sum l itself was added to the maximum. Which function of it is meant?"
    yield 2 * m + log, "The maximum is in the result twice. From what were the weights measured?"


def reached(lane: int, distances: Sequence[int]) -> Known:
    """What the usual mistakes say of the lanes that a lane hears in butterflies at these distances."""
    steps: tuple[tuple[Callable[[int, int], int], str], ...] = (
        (lambda a, d: a + d, "You add the distance. The partner of lane 5 at distance 1 is lane 4: 5 ^ 1."),
        (lambda a, d: a - d, "You subtract the distance. The partner of lane 4 at distance 1 is lane 5: 4 ^ 1."),
        (lambda a, d: (a + d) % 32, "You add the distance. The partner of lane 5 at distance 1 is lane 4: 5 ^ 1."),
        (lambda a, d: (a - d) % 32, "You subtract the distance. The partner of lane 4 at distance 1 is lane 5: 4 ^ 1."),
        (lambda a, d: a | d, "You set the bit. The partner of lane 5 at distance 1 is lane 4: `^` changes the bit."),
        (lambda a, d: a ^ d, "The lane itself is missing. Does it lose its own number?"),
    )
    path = [lane]
    for d in distances:
        path.append(path[-1] ^ d)
    along = "You follow one number from lane to lane. In each step all lanes hear: what had the partner heard before?"
    yield set(path), along
    yield {path[-1]}, along
    yield {lane, lane ^ sum(distances)}, "You add up the distances. What had its partners heard before?"
    size = 2 ** len(distances)
    block = set(range(lane // size * size, (lane // size + 1) * size))
    yield block, f"You name {size} lanes side by side. Which bits change at these distances?"
    yield {lane, lane ^ distances[-1]}, "You name the last partner alone. What had the lane heard before?"
    yield {lane, *(lane ^ d for d in distances)}, "You name its own partners. What had those heard before?"
    for step, says in steps:
        lanes = {lane}
        for d in distances:
            lanes |= {step(other, d) for other in lanes}
        yield lanes - {lane} if "itself" in says else lanes, says


TILES = (4, 8, 16, 32, 64)


def of_attention(q: Array, key: Array, value: Array, scale: Any) -> Iterator[tuple[Array, str]]:
    """What known mistakes make of attention without a mask, `[B, H, S, D]`, with their sentences."""
    q, key, value = (x.astype(np.float64) for x in (q, key, value))
    key, value = (np.repeat(x, q.shape[1] // x.shape[1], 1) for x in (key, value))
    raw = q @ key.swapaxes(-1, -2)
    scores, count = raw * scale, key.shape[2]

    def softmax(s: Array, times: Any = 1.0) -> Array:
        weights = np.exp(s - s.max(-1, keepdims=True)) * times
        out: Array = weights @ value / weights.sum(-1, keepdims=True)
        return out

    yield softmax(raw), "What came out is attention with unscaled scores. Where does `scale` go?"
    yield softmax(scores * scale), "What came out is attention with scores that are scaled twice."
    yield softmax(scores * np.log(2)), "What came out is attention with powers of 2 in place of e. Where does LOG2E go?"
    yield softmax(raw * np.log(2)), "The scores are neither scaled nor multiplied by LOG2E."
    alone = np.broadcast_to(value[..., -1:, :], (*q.shape[:-1], value.shape[-1]))
    yield alone, "What came out is the value of the last key: all before it were multiplied by 0."
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    yield weights @ value, "What came out is not divided by the sum of the weights."
    for size in TILES:
        left = count % size
        if 0 < left < count:
            last, places = count - left, np.arange(count)
            says = f"Keys {last} to {count - 1} fill {left} of the {size} places of the last tile"
            twice = 1.0 + ((places >= last - size + left) & (places < last))
            yield (
                softmax(scores, twice),
                f"What came out is attention in which keys {last - size + left} to {last - 1} count twice. "
                f"{says}: what is in the other {size - left}?",
            )
            yield softmax(scores, places < last), f"What came out is attention without the last tile. {says}."
    for size in (1, *TILES):
        yield from _online(scores, value, size)
    for lanes, of in ((np.arange(count) % n, f"of every {n}th key") for n in (2, 4, 8, 16, 32)):
        top = np.stack([scores[..., lanes == lane].max(-1) for lane in range(lanes.max() + 1)], -1)[..., lanes]
        weights = np.exp(scores - top)
        yield (
            weights @ value / weights.sum(-1, keepdims=True),
            f"Weights were added that have different maxima: one {of}. Who shares the maximum of a row?",
        )


def _online(scores: Array, value: Array, size: int) -> Iterator[tuple[Array, str]]:
    """Softmax in tiles of keys, in which the sum, the row, or both are not rescaled when the maximum grows."""
    top = np.full((*scores.shape[:-1], 1), -np.inf)
    sums, rows = [0.0 * np.ones_like(top)] * 2, [np.zeros((*scores.shape[:-1], value.shape[-1]))] * 2
    for first in range(0, scores.shape[-1], size):
        part = scores[..., first : first + size]
        new = np.maximum(top, part.max(-1, keepdims=True))
        rescale, weights, top = np.exp(top - new), np.exp(part - new), new
        sums = [x * r + weights.sum(-1, keepdims=True) for x, r in zip(sums, (rescale, 1.0), strict=True)]
        rows = [
            x * r + weights @ value[..., first : first + size, :] for x, r in zip(rows, (rescale, 1.0), strict=True)
        ]
    for row, total, what in (
        (0, 1, "The sum l is"),
        (1, 0, "The row o is"),
        (1, 1, "Neither the sum l nor the row o is"),
    ):
        yield rows[row] / sums[total], f"{what} not rescaled when the maximum of a row grows."
