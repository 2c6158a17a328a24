"""`ptxlab check FILE.ptx`: runs a kernel from a file with all checks, its arguments written on the command line.

    ptxlab check sum.ptx --grid 2 --block 128 f32[256] out:f32[2] 256

An argument is a number (`256`, `0.5`, or `f64:0.5` where the width matters), or an array: `f32[256]` holds random
numbers (whole ones from 0 to 99 for integers), `f32[8,8]=0` zeros, `out:f32[2]` is written only, `x.npy` is a file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ptxlab.errors import LaunchError
from ptxlab.launch.buffers import Out
from ptxlab.launch.run import ALL_CHECKS, Run, launch

DTYPES: dict[str, Any] = {
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    **{f"u{n}": np.dtype(f"uint{n}") for n in (8, 16, 32, 64)},
    **{f"s{n}": np.dtype(f"int{n}") for n in (8, 16, 32, 64)},
    **{f"b{n}": np.dtype(f"uint{n}") for n in (8, 16, 32, 64)},
}
"""The element types of an argument, by their PTX names."""

_ARRAY = re.compile(r"(out:)?([a-z]+\d+)\[(\d+(?:,\d+)*)\](?:=(.+))?")
_TYPED = re.compile(r"([a-z]+\d+):(.+)")


def argument(text: str, seed: int = 0) -> Any:
    """What a word of the command line stands for: a number, an array, or `pl.out` of one. Raises `LaunchError`."""
    if text.endswith(".npy"):
        return np.ascontiguousarray(np.load(text))
    if found := _ARRAY.fullmatch(text):
        out, dtype, shape = found[1], _dtype(found[2], text), tuple(int(n) for n in found[3].split(","))
        if found[4] is not None:
            return np.full(shape, _number(found[4], text), dtype)
        if out:
            return Out(np.zeros(shape, dtype))
        rng = np.random.default_rng(seed)
        floats = np.dtype(dtype).kind == "f"
        return (rng.standard_normal(shape) if floats else rng.integers(0, 100, shape)).astype(dtype)
    if found := _TYPED.fullmatch(text):
        return np.dtype(_dtype(found[1], text)).type(_number(found[2], text))
    return _number(text, text)


def _dtype(name: str, text: str) -> Any:
    if name not in DTYPES:
        raise LaunchError(f"{text}: there is no type {name!r}; there is {', '.join(DTYPES)}")
    return DTYPES[name]


def _number(word: str, text: str) -> int | float:
    for read in (lambda w: int(w, 0), float):
        try:
            return read(word)
        except ValueError:
            continue
    raise LaunchError(f"{text}: a number, an array such as f32[256] or out:f32[256], or a .npy file is wanted")


def check(
    path: Path,
    arguments: Sequence[str],
    grid: Sequence[int],
    block: Sequence[int],
    *,
    checks: Sequence[str] = ALL_CHECKS,
    device: str = "cpu",
    **options: Any,
) -> Run:
    """Runs the kernel of a PTX file with the checks; the run's `findings` are what they noticed, or those of the
    `DeviceFault` that stopped it. options: further ones of `pl.launch`."""
    try:
        text = path.read_text()
    except OSError as error:
        raise LaunchError(f"{path}: {error.strerror}") from None
    values = [argument(word, k) for k, word in enumerate(arguments)]
    return launch(text, tuple(grid), tuple(block), *values, checks=tuple(checks), device=device, **options)
