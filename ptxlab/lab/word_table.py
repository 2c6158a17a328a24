"""The words that are explained, from `words.tsv`: of CUDA C++, directives of PTX, opcodes of machine code."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Word:
    """What a word means, how it is written, and the PTX that it becomes, "" where that depends or is none."""

    says: str
    syntax: str
    ptx: str
    kind: str


@cache
def words(*kinds: str) -> dict[str, Word]:
    """The words of these kinds by name, in the order of the table."""
    found, kind = {}, ""
    for line in Path(__file__).with_name("words.tsv").read_text(encoding="utf-8").splitlines():
        if heading := re.fullmatch(r"\[(\w+)\]", line):
            kind = heading[1]
        elif kind in kinds and line and line[0] != "#":
            name, syntax, ptx, says = line.split("\t")
            found[name] = Word(says, syntax, ptx, kind)
    return found
