"""Format strings of C's `printf`: the arguments that one takes, and the text that it makes of their bytes."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_CONVERSION = re.compile(r"%([-+ #0]*)(\*|\d+)?(?:\.(\*|\d*))?(hh|h|ll|l|j|z|t|L)?([diouxXcsfFeEgGaAp%])")
_WIDE = ("ll", "l", "j", "z", "t")


@dataclass(frozen=True)
class Message:
    """The output of one call of `printf`, and its thread: block and thread as (x, y, z)."""

    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    text: str


def named(messages: Sequence[Message]) -> str:
    """The messages as a program would print them, each line with the thread that began it."""
    out: list[str] = []
    fresh = True
    for message in messages:
        for line in message.text.splitlines(keepends=True):
            out.append(f"[block {_index(message.block)}, thread {_index(message.thread)}] {line}" if fresh else line)
            fresh = line.endswith("\n")
    return "".join(out)


def _index(index: tuple[int, int, int]) -> str:
    x, y, z = index
    return f"{x},{y},{z}" if z else f"{x},{y}" if y else f"{x}"


def arguments_of(text: str) -> list[str]:
    """The arguments of a format as `struct` codes: i (an int), q (64 bits), d (a double)."""
    codes = []
    for match in _CONVERSION.finditer(text):
        _, width, precision, length, kind = match.groups()
        if kind == "%":
            continue
        codes += ["i"] * ((width == "*") + (precision == "*"))
        codes.append("d" if kind in "fFeEgGaA" else "q" if kind in "sp" or length in _WIDE else "i")
    return codes


def formatted(text: str, raw: bytes, string: Callable[[int, int], str], most: int) -> str:
    """The text that a format makes of its arguments, each at its natural alignment in `raw`. most: characters of it.

    `string` reads the text at a device address, for `%s`: at most the given number of characters.
    """
    at, left = 0, most

    def take(code: str) -> int | float:
        nonlocal at
        size = struct.calcsize(code)
        at = -(-at // size) * size
        if at + size > len(raw):
            return 0
        value: int | float = struct.unpack_from(f"<{code}", raw, at)[0]
        at += size
        return value

    def convert(match: re.Match[str]) -> str:
        nonlocal left
        flags, width, precision, length, kind = match.groups()
        if kind == "%":
            return "%"
        if width == "*":
            stars = int(take("i"))
            flags, width = (flags + "-", str(-stars)) if stars < 0 else (flags, str(stars))
        if precision == "*":
            precision = str(max(0, int(take("i"))))
        value = take("d" if kind in "fFeEgGaA" else "q" if kind in "sp" or length in _WIDE else "i")
        width = str(min(int(width[:9]), left)) if width else ""
        dot = "" if precision is None else f".{min(int(precision[:9] or 0), left)}"
        said = _one((flags, width, dot, length or "", kind), value, string, left)[:left]
        left -= len(said)
        return said

    return _CONVERSION.sub(convert, text)[:most]


def _one(spec: tuple[str, ...], value: int | float, string: Callable[[int, int], str], most: int) -> str:
    flags, width, dot, length, kind = spec
    if isinstance(value, float):
        if kind in "aA":
            said = value.hex() if math.isfinite(value) else str(value)
            return f"%{flags}{width}s" % (said.upper() if kind == "A" else said)
        return f"%{flags}{width}{dot}{kind}" % value
    if kind == "s":
        return f"%{flags}{width}s" % string(value & 0xFFFFFFFFFFFFFFFF, int(dot[1:] or most))
    if kind == "c":
        return f"%{flags}{width}s" % chr(value & 255)
    if kind == "p":
        return f"%{flags}{width}s" % f"{value & 0xFFFFFFFFFFFFFFFF:#x}"
    bits = {"hh": 8, "h": 16, "": 32}.get(length, 64)
    value &= (1 << bits) - 1
    if kind in "di":
        value -= value >> (bits - 1) << bits
    elif kind == "u":
        kind = "d"
    elif kind == "o" and "#" in flags:  # Python writes 0o7, C 07
        return f"%{flags.replace('#', '')}{width}s" % f"0{value:o}"
    return f"%{flags}{width}{dot}{kind}" % value
