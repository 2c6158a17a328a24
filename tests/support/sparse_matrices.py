"""Sparse matrices as `mma.sp` takes them: packed, with the metadata that the PTX manual describes."""

from __future__ import annotations

import numpy as np


def whole_and_packed(rng: np.random.Generator, type_: str, k: int) -> tuple[np.ndarray, np.ndarray, list[list[str]]]:
    """A sparse 16 x k matrix, its packed form, and for each row the metadata as bits, the last element's first."""
    low = 0 if type_ in ("u8", "u4") else -4
    whole, packed = np.zeros((16, k), np.int64), np.zeros((16, k // 2), np.int64)
    words: list[list[str]] = []
    unit, places, kept = {"tf32": (1, 2, 1), "s4": (2, 4, 2), "u4": (2, 4, 2)}.get(type_, (1, 4, 2))
    for row in range(16):
        meta = []
        for chunk in range(k // (unit * places)):
            for n, place in enumerate(sorted(rng.choice(places, kept, replace=False))):
                for part in range(unit):
                    value = rng.integers(low, 5)
                    whole[row, (chunk * places + place) * unit + part] = value
                    packed[row, (chunk * kept + n) * unit + part] = value
                meta.append(("0100", "1110")[place] if type_ == "tf32" else f"{place:02b}")
        words.append(meta)
    return whole, packed, words


def metadata(words: list[list[str]], type_: str, selector: int, rng: np.random.Generator) -> np.ndarray:
    """e of each lane: where the figures of the manual put each row's bits; lanes that hold none get noise."""
    e = rng.integers(0, 1 << 32, 32, dtype=np.uint64).astype(np.uint32)
    for g in range(8):
        rows = ["".join(reversed(words[r])) for r in (g, g + 8)]  # bit strings, the highest bit first
        upper, lower = rows[1], rows[0]
        half = len(lower) // 2
        if len(lower) == 16:
            lanes = {4 * g + selector: upper + lower}
        elif len(lower) == 32 and type_ in ("f16", "bf16", "tf32"):
            first = 4 * g + 2 * selector
            lanes = {first: upper[half:] + lower[half:], first + 1: upper[:half] + lower[:half]}
        elif len(lower) == 32:
            lanes = {4 * g + 2 * selector: lower, 4 * g + 2 * selector + 1: upper}
        else:
            lanes = {4 * g: lower[half:], 4 * g + 1: upper[half:], 4 * g + 2: lower[:half], 4 * g + 3: upper[:half]}
        for lane, bits in lanes.items():
            e[lane] = int(bits, 2)
    return e
