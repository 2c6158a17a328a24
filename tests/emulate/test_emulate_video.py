"""Video instructions on both engines, against the manual's pseudocode in Python's integers."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from emulate_programs import DEVICES

import ptxlab as pl
from ptxlab.errors import PtxError
from ptxlab.gpu import assembler
from ptxlab.isa import TABLE, all_ops, examples, form
from ptxlab.isa.actions import Action
from ptxlab.text.validate import validate

OPS = [entry for entry in all_ops() if entry.does is Action.VIDEO]
KERNEL = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 words)
{{
    .reg .b32 %a, %b, %c, %d, %n, %m; .reg .b64 %out, %words, %at;
    ld.param.u64 %out, [out]; ld.param.u64 %words, [words];
    mov.u32 %n, %tid.x;
    mul.wide.u32 %at, %n, 12; add.u64 %words, %words, %at; ld.global.u32 %a, [%words];
    ld.global.u32 %b, [%words+4]; ld.global.u32 %c, [%words+8];
    mul.wide.u32 %at, %n, {row};
    add.u64 %out, %out, %at;
{body}
    ret;
}}
"""


def signed(value: int, bits: int, yes: bool) -> int:
    value %= 1 << bits
    return value - (1 << bits) if yes and value >> bits - 1 else value


def part(word: int, selector: str, type_: str) -> int:
    bits = {"b": 8, "h": 16}.get(selector[:1], 32)
    return signed(word >> bits * int(selector[1:] or 0), bits, type_[0] == "s")


def clamp(value: int, bits: int, yes: bool) -> int:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if yes else (0, (1 << bits) - 1)
    return min(max(value, low), high)


def computed(i: Any, name: str, x: int, y: int) -> int:
    """The first operation, of two numbers."""
    if name == "vset":
        return int({"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}[i.cmp])
    if name in ("vshl", "vshr"):
        y = y & 31 if i.mode == "wrap" else min(y, 32)
        return x << y if name == "vshl" else x >> y
    total = x + y
    return {"vadd": total, "vsub": x - y, "vabsdiff": abs(x - y), "vmin": min(x, y), "vmax": max(x, y),
            "vavrg": (total + (total >= 0)) >> 1}[name]  # fmt: skip


def expected(opcode: str, chosen: dict[str, str], minus: str, a: int, b: int, c: int) -> int:
    """What the manual's pseudocode gives. chosen: the selectors."""
    i = form(opcode)
    name, yes = i.op.name.rstrip("24"), i.dtype == "s32"
    if i.count:
        return grid_stride(i, name, chosen, a, b, c)
    x, y = part(a, chosen["a"], i.atype), part(b, chosen["b"], i.btype)
    if name == "vmad":
        negated = ("a" in minus) != ("b" in minus)
        both = i.atype == "s32" or i.btype == "s32" or negated or "c" in minus
        total = x * y * (-1 if negated else 1)
        third = signed(~c if "c" in minus and not negated else c, 32, both)
        total += third + (1 if i.po or ("c" in minus and not negated) else 0)
        if i.scale:
            total >>= int(i.scale[3:])
        return (clamp(signed(total, 64, both), 32, both) if i.sat else total) % (1 << 32)
    result, where = computed(i, name, x, y), chosen["d"]
    bits = {"b": 8, "h": 16}.get(where[:1], 32)
    if i.sat:
        result = clamp(result, bits, yes)
    result %= 1 << 32
    if i.op2 == "add":
        return (result + c) % (1 << 32)
    if i.op2:
        return {"min": min, "max": max}[i.op2](result, c, key=lambda v: signed(v, 32, yes))
    if where:
        at = bits * int(where[1:])
        field = (1 << bits) - 1
        return c & ~(field << at) | (result & field) << at
    return result


def grid_stride(i: Any, name: str, chosen: dict[str, str], a: int, b: int, c: int) -> int:
    count, bits = i.count, 32 // i.count
    letter, both = ("h", "b")[count == 4], a | b << 32
    whole = "10" if count == 2 else "3210"
    sides = {"a": chosen["a"][1:] or whole, "b": chosen["b"][1:] or ("32" if count == 2 else "7654")}
    result = c
    for k in range(count):
        if str(k) not in (chosen["d"][1:] or whole):
            continue
        x, y = (part(both, letter + sides[s][count - 1 - k], t) for s, t in (("a", i.atype), ("b", i.btype)))
        value = computed(i, name, x, y)
        if i.sat:
            value = clamp(value, bits, i.dtype == "s32")
        if i.add:
            result += value
        else:
            field = ((1 << bits) - 1) << bits * k
            result = result & ~field | value << bits * k & field
    return result % (1 << 32)


def some(rng: random.Random, entry: Any) -> tuple[str, dict[str, str], str, str]:
    """A random form of an entry: opcode, selectors, operands with a minus, and the line."""
    opcode = rng.choice(list(examples.opcodes(entry)))
    i = form(opcode)
    chosen, minus = dict.fromkeys("dabc", ""), ""
    if i.count:
        letter, digits = ("h", "01") if i.count == 2 else ("b", "0123")
        for s in "ab":
            chosen[s] = rng.choice(
                ["", letter + "".join(rng.choices("0123" if i.count == 2 else "01234567", k=i.count))]
            )
        mask = "".join(k for k in reversed(digits) if rng.random() < 0.6)
        chosen["d"] = rng.choice(["", letter + mask if mask else ""])
    else:
        parts = ["", "b0", "b1", "b2", "b3", "h0", "h1"]
        chosen["a"], chosen["b"] = rng.choice(parts), rng.choice(parts)
        if entry.name == "vmad":
            minus = "" if i.po else rng.choice(["", "a", "b", "c", "ab"])
        elif not i.op2:
            chosen["d"] = rng.choice(parts)
    given = "dab" if not i.count and entry.name != "vmad" and not i.op2 and not chosen["d"] else "dabc"
    names = [f"{'-' if s in minus else ''}%{s}" + (f".{chosen[s]}" if chosen[s] else "") for s in given]
    return opcode, chosen, minus, f"    {opcode} {', '.join(names)};"


def run(device: str, forms: list[Any], words: Any) -> Any:
    body = "\n".join(f"{f[3]}\n    st.global.u32 [%out+{4 * k}], %d;" for k, f in enumerate(forms))
    module = pl.parse(KERNEL.format(body=body, row=4 * len(forms)))
    assert validate(module) == []
    if device == DEVICES[0] and assembler.available():
        pl.gpu.assemble(module)
    out = np.zeros((len(words), len(forms)), np.uint32)
    pl.launch(module, 1, len(words), out, pl.const(words), device=device)
    return out


@pytest.mark.parametrize("seed", [0, 1])
def test_video_instructions(device: str, seed: int) -> None:
    rng = random.Random(seed)
    forms = [some(rng, entry) for entry in OPS]
    words = np.random.default_rng(seed).integers(0, 1 << 32, (32, 3)).astype(np.uint32)
    edges = [0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F00, 33]
    words[:8] = np.reshape(rng.choices(edges, k=24), (8, 3))
    got = run(device, forms, words)
    for k, (opcode, chosen, minus, line) in enumerate(forms):
        wanted = [expected(opcode, chosen, minus, *map(int, row)) for row in words]
        assert got[:, k].tolist() == wanted, line


def test_every_opcode_is_there() -> None:
    assert len({entry.name for entry in OPS}) == 23
    assert all(entry.name in TABLE for entry in OPS)


@pytest.mark.parametrize(("line", "message"), [
    ("vadd.s32.s32.s32 %d, %a.h2, %b;", "vadd.s32.s32.s32 takes .b0 to .b3, .h0 and .h1, found .h2"),
    ("vadd.s32.s32.s32 %d.h0, %a, %b;", "vadd.s32.s32.s32: a selector on the result and the operand c belong together"),
    ("vadd2.s32.s32.s32 %d, %a.h14, %b, %c;", "vadd2.s32.s32.s32 takes .h and 2 digits from 0 to 3 after a and b, "
     "found .h14"),
    ("vadd4.s32.s32.s32 %d.h1, %a, %b, %c;", "vadd4.s32.s32.s32: the mask of the result is .b3210 or a part of it"),
])  # fmt: skip
def test_selectors_that_are_none(line: str, message: str) -> None:
    inputs = np.zeros(1, np.uint32), np.zeros(3, np.uint32)
    with pytest.raises(PtxError) as caught:
        pl.launch(KERNEL.format(body=line, row=4), 1, 1, *inputs, device="cpu")
    assert caught.value.message == message
