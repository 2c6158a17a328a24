"""The command line of a script that compares the engines on programs made from numbers: `SCRIPT COUNT [FIRST]`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any


def differing(
    seeds: Sequence[int], make: Callable[[int], Any], outcome: Callable[[str, Any, int], object], ways: Sequence[str]
) -> list[str]:
    """The programs that do not end in every way as in the first, in words."""
    said = []
    for seed in seeds:
        program = make(seed)
        expected, *others = (outcome(way, program, seed) for way in ways)
        said += [
            f"program {seed}, {program.blocks} blocks of {program.threads}: {way} ends otherwise"
            for way, other in zip(ways[1:], others, strict=True)
            if other != expected
        ]
    return said


def compare(about: str | None, differences: Callable[[int, int], list[str]], at_once: int = 1) -> int:
    """Prints what `differences(first, count)` says of the programs; the exit status. about: the script's docstring."""
    options = argparse.ArgumentParser(description=(about or "").partition("\n")[0])
    options.add_argument("count", type=int)
    options.add_argument("first", type=int, nargs="?", default=0)
    given = options.parse_args()
    wrong = 0
    for first in range(given.first, given.first + given.count, at_once):
        count = min(at_once, given.first + given.count - first)
        found = differences(first, count)
        print(*found, sep="\n", end="\n" if found else "", flush=True)
        wrong += bool(found)
        done = first + count - given.first
        if done % (100 * at_once) == 0:
            print(f"{done} programs from {given.first} on: {wrong} kernels differ", flush=True)
    print(f"{given.count} programs from {given.first} on: the engines differ on {wrong} kernels")
    return wrong > 0
