"""What `validate` refuses for its type NVIDIA's assembler refuses as well: every entry of the table, each register in
turn replaced by registers and literals of other types."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

import pytest

import ptxlab as pl
from ptxlab.isa import all_ops, form
from ptxlab.isa.actions import SAMPLERS, Action
from ptxlab.isa.examples import DECLARATIONS, line, opcodes
from ptxlab.text import parse
from ptxlab.text.validate import validate

TYPES = ("pred", "b16", "u16", "f16", "b32", "s32", "f32", "f16x2", "b64", "u64", "f64")
LITERALS = ("1", "1.0", "0f3F800000", "%tid.x", "%clock64", "tile")
HEAD = """.version 9.0
.target sm_90a
.address_size 64
.const .b8 table[64];
.visible .entry k(.param .u64 input)
{
""" + "".join(f".reg .{type} %odd_{type};\n" for type in TYPES)
OTHERS = SAMPLERS | {Action.VIDEO}
"""What has its registers in braces, which are not checked, or takes a number as its result (`vadd`)."""
CHUNK = 400
FORMS = 2
"""Opcodes of each entry."""


def _lines() -> Iterator[str]:
    for entry in all_ops():
        if entry.kind in ("warp", "flow") or not entry.executed or entry.does in OTHERS:
            continue
        # What is newer is refused for the target of `HEAD`, whatever its operands are.
        for opcode in islice((opcode for opcode in opcodes(entry) if form(opcode).sm <= 90), FORMS):
            if entry.name == "cvta" and opcode.endswith("u32"):
                continue  # refused for the target, too, in a complaint that names no line
            text = line(opcode)
            for register in re.finditer(r"(?<=[ ,])%[a-z]+\d+(?=[,;])", text):
                for other in (*(f"%odd_{type}" for type in TYPES), *LITERALS):
                    yield text[: register.start()] + other + text[register.end() :]


def _module(lines: list[str]) -> tuple[str, int]:
    """A module with these lines, and the line that is before the first."""
    head = HEAD + DECLARATIONS
    return head + "\n".join(lines) + "\ndone:\nret;\n}\n", head.count("\n")


@pytest.mark.slow
@pytest.mark.assembler
def test_what_does_not_fit_is_not_assembled() -> None:
    lines, taken, judged = list(_lines()), [], 0
    for first in range(0, len(lines), CHUNK):
        text, before = _module(lines[first : first + CHUNK])
        found = {error.line for error in validate(parse(text), CHUNK)}
        with pytest.raises(pl.AssemblyError) as caught:
            pl.assemble(text)
        refused = {error.line for error in caught.value.errors}
        taken += [lines[first + n - before - 1] for n in sorted(found - refused)]
        judged += len(refused)
        assert len(refused) < 2 * len(found)  # most of what the assembler refuses is found
    assert taken == []
    assert judged > 18_000
