"""The language of the rules: each of these runs in Python and compiled, on random inputs, with the same results."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled_rules import Compiled

from ptxlab.emulate.jit.translation.value_kinds import RuleError
from ptxlab.emulate.language import *

TIME, LAST_TIME = 30, (1 << 18) - 1


class Warp(Record):
    """A warp, of which a clock's pointer tells."""

    live: u32
    number: u32


class Row(Record):
    """One of many records."""

    key: u64
    count: i32
    flag: boolean


class Clock(Record):
    """Fields of every kind."""

    now: u64
    grain: u32
    on: boolean
    small: u8
    sync: Array[u32] = array(32, 32)
    words: Array[u64] = array(64)
    warp: Ref[Warp]
    writer: Pointer[u64] | None
    head: Row
    rows: Array[Row] = array(4)
    table: Pointer[Row]


# -- rules of each sort


@rule
def arithmetic(a: u32, b: u32, c: u64, d: i32) -> tuple[u32, u64, i64, boolean, u32, u64]:
    x = u32(a * 3 + (b >> 3)) ^ 0xFF
    y = u64((c << 5) + a) | b
    z = i64(d) >> 2
    r = (a // 7) % 5 if b > a else b & -8
    return x, y, z, d < 0 or (a == b and c != 0), u32(r + max(a & 7, 3, b & 15)), u64(c - a) >> TIME & LAST_TIME


@rule(inline=True)
def step(value: u64) -> u64:
    return value ^ u64(value << 7) ^ value >> 9


@rule
def loops(n: u32, mask: u32, seed: u64) -> tuple[u64, u32, u32]:
    total = seed
    for k in range(n):
        if k == 13:
            continue
        if total & 0xFFFF == 0:
            break
        total = step(total)
    seen: u32 = 0
    lowest = u32(77)
    for lane in lanes_of(mask):
        seen = seen * 3 + lane & 0xFFFFFF
        if lane > 20:
            lowest = lane
            break
    left = mask
    while left and not left & 1:
        left >>= 1
    for j in range(2, 12, 3):
        seen ^= u32(j)
    return total, seen, lowest + (left & 0xFF)


@rule
def fields(clock: Clock, w: u32, v: u32) -> u64:
    clock.now += 5
    clock.sync[w, v] = u32(clock.sync[w, v] + clock.warp.live)
    clock.sync.row(w)[0] ^= 9
    clock.words[w] = clock.writer[v] + (clock.writer + 1)[v]
    clock.on = not clock.on
    clock.small = u8(clock.small + 77)
    clock.head.count -= 3
    clock.head.flag = clock.on and clock.warp.number > 3
    clock.rows[w & 3].key = clock.head.key
    clock.table[v & 1].key += 2
    (clock.table + 1)[0].count = 7
    clock.warp.number = first(clock.warp.live) + last(clock.warp.live) * count(clock.warp.live)
    return clock.now if clock.grain == 4 else clock.words[w]


@rule
def is_there(place: Pointer[u64] | None, clock: Clock) -> tuple[boolean, u32]:
    missing = place is None
    if place is not None and place[0] > 5:
        return missing, 1
    return missing, u32(clock.warp is not None)


@rule
def same_place(place: Pointer[u64], other: Pointer[u64]) -> tuple[boolean, boolean, boolean]:
    return place == other, place + 3 == other, place != other


@rule
def on_lanes(a: lanes_u32, b: lanes_u64, m: lanes_bool, mask: u32, x: u32) -> tuple[lanes_u64, lanes_u32, u32, boolean]:
    big = (widen(a) + b) ^ (b >> 7) & x
    chosen = m & (a < x) | ~m & lanes(mask)
    picked = select(chosen, big, b | 1)
    low = narrow(picked) + lane_ids() * 3
    low = minimum(low, a) ^ maximum(low, x)
    low = insert(reversed_lanes(exchanged(low, 4)), x & 31, extract(a, mask & 31))
    x = u32(x + distinct(a, mask) + distinct(b, mask & 0xFFFF) + least(a) + least(b) + either(a) + either(b))
    return picked + splat(u64(x)), low, reversed_bits(bits(chosen)), any_of(a == x) or all_of(m)


@rule
def different(a: lanes_u32, b: lanes_u64, mask: u32) -> tuple[u32, u32, u32]:
    return distinct(a, mask), distinct(b, mask), unlike(a, mask)


@rule
def memory(words: Pointer[u64], index: lanes_u32, m: lanes_bool, values: lanes_u64) -> lanes_u64:
    found = gather(words, index, m)
    scatter(words + 3, index, values, m)
    store_lanes(words + 40, load_lanes(words + 8) + found)
    store_row(words + 80, load_row(words) + row_ids())
    octets = words.cast(u8)
    fill_bytes(octets + 3, 0x5A, 9)
    copy_bytes(octets + 100, octets + 8, 17)
    return found


@rule
def rows(a: row_u64, mask: u32) -> tuple[row_u64, row_bool, u32]:
    chosen = (row_ids() < mask & 15) & (a > 5)
    return select(chosen, a, a + row_ids()), chosen, bits(chosen)


@rule
def temporary(mask: u32, words: Pointer[u32]) -> u64:
    held = local(u64, 32)
    for lane in lanes_of(mask):
        held[31 - lane] = u64(lane) * 3
    total = u64(0)
    for k in range(32):
        total += held[k] << (k & 3)
    before = atomic("add", words, 1, mask & 0xFF)
    return total + atomic("umax", words, 2, 9) + before


@rule
def pair(a: u32, b: u32) -> tuple[u32, boolean]:
    if a > b:
        return a, True
    return b, False


@rule(cold=True)
def reset(clock: Clock) -> None:
    clear(clock)
    clock.grain = 2


@rule
def calls(clock: Clock, a: u32, b: u32) -> u32:
    more, swapped = pair(b=a, a=b)
    a, b = b, a
    if swapped and clock.on:
        reset(clock)
        return clock.grain
    return more ^ u32(swapped) ^ a


RULES = [arithmetic, loops, fields, is_there, same_place, on_lanes, different, memory, rows, temporary, calls]


@pytest.fixture(scope="module")
def compiled() -> Compiled:
    return Compiled(RULES)


def _clock(draw: random.Random) -> Clock:
    clock = Clock.new()
    clock.buffer[: Clock.offset("warp")] = np.frombuffer(draw.randbytes(Clock.offset("warp")), np.uint8)
    clock.on, clock.small, clock.grain = draw.random() < 0.5, draw.randrange(100), draw.choice([2, 4])
    clock.now >>= 8
    clock.words.array[:] >>= np.uint64(2)
    clock.warp = Warp.new()
    clock.warp.live, clock.warp.number = draw.getrandbits(32) | 1, draw.randrange(8)
    clock.writer = Pointer(np.array([draw.getrandbits(60) for _ in range(40)], np.uint64))
    clock.head.key, clock.head.count = draw.getrandbits(64), draw.randrange(-9, 9)
    clock.table = Row.many(2)
    return clock


def _vector(draw: random.Random, size: int) -> np.ndarray:
    some = [draw.getrandbits(size), draw.randrange(9), draw.randrange(9)]
    return np.array([draw.choice(some) if k % 3 else draw.getrandbits(size) for k in range(32)], f"u{size // 8}")


def _arguments(function: Any, draw: random.Random) -> list[Any]:
    r32, r64 = draw.getrandbits(32), draw.getrandbits(64)
    chosen = np.array([draw.random() < 0.7 for _ in range(32)])
    if draw.random() < 0.2:
        chosen[:] = True
    index = np.array([draw.randrange(60) for _ in range(32)], np.uint32)
    words = Pointer(np.array([draw.getrandbits(60) for _ in range(128)], np.uint64))
    small = Pointer(np.array([draw.randrange(100) for _ in range(8)], np.uint32))
    given: dict[Any, list[Any]] = {
        arithmetic: [r32, draw.choice([r32, draw.getrandbits(32)]), r64, draw.randrange(-(1 << 31), 1 << 31)],
        loops: [draw.randrange(40), draw.choice([0, r32, r32 << 20 & 0xFFFFFFFF]), r64],
        fields: [_clock(draw), draw.randrange(32), draw.randrange(32)],
        is_there: [draw.choice([None, words, words + 3]), _clock(draw)],
        same_place: [words, draw.choice([words, words + 3])],
        on_lanes: [
            draw.choice([np.array, np.sort])(_vector(draw, 32)),
            _vector(draw, 64),
            chosen,
            draw.choice([r32, 0xFFFFFFFF]),
            draw.choice([r32, 5]),
        ],
        different: [_vector(draw, 32), _vector(draw, 64), r32],
        memory: [words, index, chosen, _vector(draw, 64)],
        rows: [_vector(draw, 64)[:16], r32],
        temporary: [r32, small],
        calls: [_clock(draw), draw.randrange(5), draw.randrange(5)],
    }
    return given[function]


def _memory(given: list[Any]) -> list[list[int]]:
    """All bytes that arguments lead to; pointers themselves differ."""
    found = []
    for one in given:
        if isinstance(one, Pointer):
            found.append(one.array.view(np.uint8).tolist())
        elif isinstance(one, Clock):
            octets = one.buffer[: Clock.size].copy()
            for name in ("warp", "writer", "table"):
                octets[Clock.offset(name) : Clock.offset(name) + 8] = octets[Clock.offset(name)] = 0
            found.append(octets.tolist())
            for held in ("warp", "table"):
                part = getattr(one, held) if one._views["Q"][Clock.offset(held) // 8] else None
                array = part.buffer if isinstance(part, Record) else None if part is None else part.array
                found.append([] if array is None else array.tolist())
    return found


def _plain(result: Any) -> Any:
    if isinstance(result, tuple):
        return tuple(_plain(one) for one in result)
    return result.tolist() if isinstance(result, np.ndarray) else result


@pytest.mark.parametrize("function", RULES, ids=lambda function: function.__name__)
def test_a_rule_compiled_does_what_it_does_in_python(compiled: Compiled, function: Any) -> None:
    for seed in range(60):
        ours, theirs = (_arguments(function, random.Random(seed)) for _ in range(2))
        assert _plain(compiled(function, *theirs)) == _plain(function(*ours)), seed
        assert _memory(theirs) == _memory(ours), seed


def test_the_layout_of_a_record_is_that_of_c() -> None:
    offsets = [Clock.offset(name) for name in Clock.fields]
    assert offsets == [0, 8, 12, 13, 16, 4112, 4624, 4632, 4640, 4656, 4720]
    assert Clock.size == Clock.dtype.itemsize == 4728
    assert [Clock.dtype.fields[name][1] for name in Clock.fields] == offsets


@rule
def granules(clock: Clock, size: u32) -> u32:
    if clock.grain == 4 and not clock.on:
        return size >> 2
    return size * clock.grain


def test_what_is_known_is_a_constant() -> None:
    clock = Clock.new()
    clock.grain = 3
    known = Compiled([granules], {"Clock.grain": 4, "Clock.on": 0})
    assert known(granules, clock, 100) == 25
    assert Compiled([granules])(granules, clock, 100) == granules(clock, 100) == 300


# -- what is not in the language


def helper(a: int) -> int:
    return a


REFUSED = {
    "mixes(a: u64, b: i64) -> u64: return u64(a + b)": "u64 and i64 have no common type; "
    "cast one of them, as in u64(x)",
    "narrows(a: u64) -> u32: return a": "this is u64, where u32 is needed; write u32(...)",
    "unknown_field(clock: Clock) -> u64: return clock.then": "Clock has no field then; it has "
    "now, grain, on, small, sync, words, warp, writer, head, rows, table",
    "uses_lanes(a: lanes_u32) -> u32: return 1 if a == 3 else 0": "lanes_bool is not a condition; "
    "write any_of(x) or all_of(x)",
    "subscript(a: lanes_u32) -> u32: return a[3]": "lanes_u32 has no elements; write extract(v, lane)",
    "calls_python(a: u32) -> u32: return sorted([a])[0]": "sorted is not known here; "
    "rules call rules, casts and language.vectors",
    "calls_helper(a: u32) -> u32: return helper(a)": "helper is not a rule; write @rule above it",
    "too_large(a: u32) -> u32: wide: u32 = 1 << 40; return wide": "1099511627776 does not fit u32; "
    "write u32(1099511627776)",
    "missing(a: u32) -> u32: return pair(a)[0]": "pair takes (a, b), all of them",
    "loops(a: u32) -> u32: for one in [a, a]: a += one": "rules have no such For: for one in [a, a]:",
    "divides_signed(a: i64) -> i64: return a // 3": "// and % are for unsigned numbers; write u64(x)",
    "returns(a: u32) -> None: return a": "returns -> None returns a value; annotate its type",
    "counts_down(n: u32) -> None: for k in range(n, 0, -1): n += k": "range(start, stop, step): the step is a constant "
    "above 0",
    "several(a: u32) -> u32: x, y = pair(a, a), a; return y + x[0]": "x would be (u32, boolean)",
    "raises(a: u32) -> None: raise ValueError('too many')": "rules have no such Raise: raise ValueError('too many')",
    "adds_truth(a: u32) -> u32: return u32((a > 3) + (a > 4))": "booleans have & | ^; write u32(x) to count with one",
    "unknown_name(a: u32) -> u32: return a + REFUSED": "REFUSED is neither a local of this rule nor a whole number "
    "outside of it",
}
"""Rules by their text, and what is said of them."""


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_not_in_the_language_says_what_to_write(text: str, tmp_path: Path) -> None:
    head, _, body = text.partition(") -> ")
    result, _, body = body.partition(": ")
    lines = [f"@rule\ndef {head}) -> {result}:"]
    lines += [f"    {line}" for line in (body.split("; ") if not body.startswith("for") else [body])]
    file = tmp_path / "refused.py"
    file.write_text("\n".join(lines) + "\n")
    names = {**globals()}
    exec(compile(file.read_text(), str(file), "exec"), names)
    with pytest.raises(TypeError) as error:
        Compiled([names[text.partition("(")[0]]])
    message = str(error.value)
    if isinstance(error.value, RuleError):
        assert re.match(r"refused.py:[1-4]: ", message)
        message = message.partition(": ")[2]
    assert message == REFUSED[text]


def test_an_opaque_pointer_leads_back_to_the_same_view() -> None:
    clock, clock.warp = Clock.new(), Warp.new()
    assert clock.opaque.cast(Clock)[0] is clock
    assert clock.opaque[0] == clock.buffer[0]
