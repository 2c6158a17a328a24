"""Words of other languages for modifiers, where the nearest spelling would mean something else: `.gte` is `.ge`."""

from __future__ import annotations

import re

_MEANT = {
    "ge": "gte geq gteq egt", "le": "lte leq lteq elt", "ne": "neq noteq", "eq": "eql equal equals",
    "gt": "greater", "lt": "less", "geu": "gteu gequ", "leu": "lteu lequ", "neu": "nequ", "equ": "eqlu",
    "u8": "uchar byte", "u16": "ushort", "u32": "uint unsigned", "u64": "ulong ulonglong size_t",
    "s8": "char", "s16": "short", "s32": "int", "s64": "long longlong",
    "f16": "half fp16", "bf16": "bfloat bfloat16", "f16x2": "half2 fp16x2", "bf16x2": "bfloat162",
    "f32": "float single fp32", "f64": "double fp64", "pred": "bool",
    "global": "gmem device", "shared": "smem", "shared::cluster": "dsmem", "local": "lmem", "const": "cmem constant",
    "cta": "block workgroup", "gpu": "device dev agent grid", "sys": "system", "cluster": "gpu sys system device",
    "acq_rel": "acqrel acquire_release", "sc": "seq_cst seqcst", "acquire": "acq", "release": "rel", "relaxed": "rlx",
    "rn": "rne rnd round nearest rni", "rz": "rtz trunc rzi", "rm": "rd rdn floor rmi", "rp": "ru rup ceil rpi",
    "rni": "rn rne round rint nearest", "rzi": "rz rtz trunc", "rmi": "rm rd floor", "rpi": "rp ru ceil",
    "exch": "xchg exchange swap", "cas": "cmpxchg compare_exchange", "add": "plus sum", "bfly": "xor butterfly",
    "idx": "index broadcast bcast", "up": "shift_up", "down": "shift_down", "lo": "low", "hi": "high", "wide": "widen",
    "sat": "saturate clamp", "ftz": "flush daz", "approx": "fast approximate",
    "gl": "gpu device", "v2": "x2 vec2", "v4": "x4 vec4", "v8": "x8 vec8", "x1": "v1", "x2": "v2", "x4": "v4",
}  # fmt: skip
"""The words that mean a modifier where an instruction does not have it."""
INSTRUCTIONS = {"mod": "rem", "cmp": "setp", "jmp": "bra", "jump": "bra", "load": "ld", "store": "st"}
"""Words of other languages for instructions."""
_MEANINGS: dict[str, tuple[str, ...]] = {}
for _word, _slips in _MEANT.items():
    for _slip in _slips.split():
        _MEANINGS[_slip] = (*_MEANINGS.get(_slip, ()), _word)
_TYPE = re.compile(r"(?:(uint|int|float|fp|bits?)|([usibf]))_?(8|16|32|64|128)(?:_?t|x1)?")
"""A type as C and its kin write it: `u32t`, `int64_t`, `i32`, `float32`."""
_KINDS = {"uint": "u", "int": "s", "i": "s", "float": "f", "fp": "f", "bit": "b", "bits": "b"}

_WEIGHTY = frozenset(
    "sc acq_rel acquire release cta cluster gpu sys volatile sat satfinite cc logical arith arithmetic signed".split()
)
"""Words, or what they mean, without which an instruction does another thing than the one that was meant."""


def meant(word: str) -> tuple[str, ...]:
    """The modifiers that a word may mean, the likeliest first; none where the nearest spelling is as good a guess."""
    low = word.lower()
    found = _TYPE.fullmatch(low)
    if found is not None:
        kind = found[1] or found[2]
        type_ = _KINDS.get(kind, kind) + found[3]
        return (type_,) if type_ != word else ()
    return _MEANINGS.get(low, () if low == word else (low,))


def weighty(word: str) -> bool:
    """Whether an instruction without this word would not do what was meant."""
    return not _WEIGHTY.isdisjoint((word.lower(), *meant(word)))
