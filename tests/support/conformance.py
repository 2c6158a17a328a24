"""Programs made from the instruction table: every form that is computed, on values at the edges, for both engines.

A program holds a few forms. Each loads its sources, 32 different values a lane and register, executes once, and stores
what it wrote. Running it gives bits; two engines, or a GPU, must give the same ones (NaNs compare as NaN).
"""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ptxlab.isa import form, types
from ptxlab.isa.entries import Op
from ptxlab.isa.examples import opcodes
from ptxlab.isa.table import Form, FormError, all_ops

INTEGERS = [
    0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 32, 33, 63, 64, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF,
    0x80000000, 0x80000001, 0xFFFFFFFE, 0xFFFFFFFF, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1,
]  # fmt: skip
FLOATS = [
    0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 3.4999998, 1e-3, 65504.0, 65519.0, 65520.0, 127.5, 128.5, 255.5, 448.0,
    32767.5, 2147483647.0, 2147483648.0, -2147483648.0, 4294967295.0, 9.223372036854776e18, 1.8446744073709552e19,
    3.4028234e38, 1.1754944e-38, 1e-40, -1e-45, 6.1e-5, 5.9e-8, 1e300, -1e-310, float("inf"), float("-inf"),
    float("nan"),
]  # fmt: skip


def combinations(entry: Op, more: int) -> list[str]:
    """Opcodes of an entry: each word of each slot once, and so many further mixtures of words."""
    found = dict.fromkeys(opcodes(entry))
    rng = random.Random(zlib.crc32(entry.syntax.encode()))
    for _ in range(more):
        words = [entry.name]
        for slot in entry.slots:
            word = rng.choice([*slot.choices, *([None] if slot.optional else [])])
            if word is not None:
                words.append(word)
        try:
            if form(opcode := ".".join(words)).op is entry:
                found[opcode] = None
        except FormError:
            continue  # two modifiers that exclude each other
    return list(found)


def computed() -> Iterator[Op]:
    """The entries whose result follows from their operands alone, lanes of the warp included."""
    for entry in all_ops():
        plain = all(s.type not in ("label", "any", "vec", "addr", "b128") for s in entry.operands)
        if entry.sem is not None and entry.kind in ("pure", "lane") and plain:
            yield entry


def register_type(type_: str) -> str:
    """The type of a register that can hold a PTX type; 8-bit values live in 16-bit registers."""
    if type_ in ("pred", "f32", "f64"):
        return type_
    return f"b{max(16, types.width(type_))}"


@dataclass
class Case:
    """One form in a program: `inputs` (u64, one row of 32 a source), and where its results lie, with their types."""

    form: Form
    text: list[str]
    inputs: list[np.ndarray]
    results: list[tuple[int, str]]


def values(type_: str, rng: np.random.Generator) -> np.ndarray:
    """32 values of a type as bits in u64: edges and noise, in random order."""
    width = 64 if type_ == "pred" else types.width(type_)
    pool = np.array(INTEGERS, np.uint64)
    with np.errstate(all="ignore"):
        if type_ in ("f32", "tf32"):
            pool = np.array(FLOATS).astype(np.float32).view(np.uint32).astype(np.uint64)
        elif type_ == "f64":
            pool = np.array(FLOATS).view(np.uint64)
        elif type_ in ("f16", "bf16", "f16x2", "bf16x2"):
            half = np.array(FLOATS).astype(np.float16).view(np.uint16).astype(np.uint64)
            if type_.startswith("bf"):
                half = np.array(FLOATS).astype(np.float32).view(np.uint32).astype(np.uint64) >> np.uint64(16)
            pool = half | rng.permutation(half) << np.uint64(16)
    noise = rng.integers(0, 1 << 64, 8, np.uint64, endpoint=False)
    near = rng.standard_normal(8)
    if type_ == "f32":
        near_bits = near.astype(np.float32).view(np.uint32).astype(np.uint64)
    elif type_ == "f64":
        near_bits = near.view(np.uint64)
    else:
        near_bits = rng.integers(0, 70, 8).astype(np.uint64)
    chosen = np.concatenate([rng.permutation(pool)[:16], noise, near_bits])
    chosen = np.resize(rng.permutation(chosen), 32)
    return chosen & np.uint64((1 << width) - 1) if width < 64 else chosen


def case(found: Form, number: int, first_input: int, first_result: int, seed: int = 0) -> Case:
    """The text of one form and its inputs; another `seed` makes others."""
    rng = np.random.default_rng(zlib.crc32(found.opcode.encode()) + seed)
    text, inputs, results, operands = [], [], [], []
    spare = 0
    for k, spec in enumerate(found.op.operands):
        type_ = found.operand_type(spec)
        name = f"%c{number}_{k}"
        if spec.role == "dst":
            text.append(f".reg .{register_type(type_)} {name};")
            results.append((k, type_))
            if spec.second:
                operands[-1] += f"|{name}"
                continue
        elif type_ == "int":
            name = str(int(rng.integers(0, 256)))
        elif spec.name == "membermask":
            name = "-1"
        elif spec.name == "c" and found.op.name == "shfl":
            name = str(int(rng.choice([0x1F, 0x0, 0x101F, 0x1C1F])))
        else:
            at = 8 * 32 * (first_input + len(inputs))
            inputs.append(values(type_, rng))
            if found.oob:  # NaNs near the one that marks an element out of bounds, in each operand
                inputs[-1][8 * k : 8 * k + 5] = [0x7FF7, 0xFFF7, 0x7FFF, 0x7FF7 << 16 | 0x7FF6, 0x7FFF << 16 | 0xFFF7]
                inputs[-1] &= np.uint64((1 << types.width(type_)) - 1)
            text.append(f".reg .{register_type(type_)} {name};")
            if type_ == "pred":
                text += [f"ld.global.u64 %t, [%in+{at}];", f"setp.gt.s64 {name}, %t, 3;"]
            else:
                held = register_type(type_)
                text.append(f"ld.global.{held} {name}, [%in+{at}];")
        operands.append(name)
        spare += 1
    text.append(f"{found.opcode} {', '.join(operands)};")
    placed = []
    for k, type_ in results:
        at, name = 8 * 32 * (first_result + len(placed)), f"%c{number}_{k}"
        if type_ == "pred":
            text += [f"selp.b64 %t, 1, 0, {name};", f"st.global.b64 [%out+{at}], %t;"]
        else:
            text.append(f"st.global.{register_type(type_)} [%out+{at}], {name};")
        placed.append((first_result + len(placed), type_))
    return Case(found, text, inputs, placed)


def by_lane(name: str, version: str, target: str, body: str) -> str:
    """A kernel `name(in, out)` in which %in and %out are a lane's own places, 8 bytes from those of the next."""
    return f""".version {version}
.target {target}
.address_size 64
.visible .entry {name}(.param .u64 in, .param .u64 out)
{{
    .reg .b64 %in, %out, %t;
    .reg .b32 %lane;
    ld.param.u64 %in, [in];
    ld.param.u64 %out, [out];
    mov.u32 %lane, %tid.x;
    mad.wide.u32 %in, %lane, 8, %in;
    mad.wide.u32 %out, %lane, 8, %out;
    {body}
    ret;
}}
"""


def last(opcode: str) -> int:
    """The target to run an instruction on that later ones do not have: a vote or shuffle without a mask, a conversion
    of 32-bit addresses. 0 for all others, -1 for what no target has: 32-bit addresses in another block."""
    if form(opcode).op.ended is not None:
        return 60
    if not re.fullmatch(r"cvta\.[\w:.]+\.u32", opcode):
        return 0
    return -1 if "shared::cluster" in opcode else 80


def program(chosen: list[str]) -> tuple[str, np.ndarray, list[Case]]:
    """A PTX module that executes these opcodes one after the other, its input, and the cases in it."""
    cases: list[Case] = []
    inputs: list[np.ndarray] = []
    results = 0
    for number, opcode in enumerate(chosen):
        made = case(form(opcode), number, len(inputs), results)
        cases.append(made)
        inputs += made.inputs
        results += len(made.results)
    sm = max(map(last, chosen), default=0) or max([80, *(c.form.sm for c in cases)])
    version = max([(8, 0), *(c.form.version for c in cases)])
    body = "\n    ".join(line for c in cases for line in c.text)
    target = f"sm_{sm}{'a' * any(c.form.op.specific for c in cases)}"
    text = by_lane("conformance", f"{version[0]}.{version[1]}", target, body)
    data = np.stack(inputs) if inputs else np.zeros((1, 32), np.uint64)
    return text, data, cases


NAN = {
    "f32": (32, 0x7F800000, 0x7FFFFF),
    "f64": (64, 0x7FF << 52, (1 << 52) - 1),
    "f16": (16, 0x7C00, 0x3FF),
    "bf16": (16, 0x7F80, 0x7F),
}
"""Width, exponent and fraction of a float: all ones and not zero make a NaN."""


def canonical(bits: np.ndarray, type_: str) -> np.ndarray:
    """Bits with every NaN made the same one, since the manual leaves most payloads open."""
    out = bits.astype(np.uint64).copy()
    if type_ == "pred":
        return out
    shape = NAN.get({"f16x2": "f16", "bf16x2": "bf16", "tf32": "f32"}.get(type_, type_))
    if shape is None:
        return out & np.uint64((1 << types.width(type_)) - 1)
    width, exponent, mantissa = (np.uint64(x) for x in shape)
    for k in range(types.width(type_) // int(width)):
        shift = np.uint64(k) * width
        field = out >> shift & np.uint64((1 << int(width)) - 1)
        nan = (field & exponent == exponent) & (field & mantissa != 0)
        same = exponent | mantissa
        out = np.where(nan, out & ~(np.uint64((1 << int(width)) - 1) << shift) | same << shift, out)
    return out & np.uint64((1 << types.width(type_)) - 1) if types.width(type_) < 64 else out
