"""The words that are explained, from `words.tsv`: of CUDA C++, directives of PTX, opcodes of machine code."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


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


CUDA = words("declaration", "variable", "type", "function")
"""Those of CUDA C++, by name, without the namespace that they are in: for `%%cuda` cells as they are typed."""


def explain_cuda(word: str) -> dict[str, Any] | None:
    """The docs of a word as `lab.language.explain` has them, None where there is nothing to say. A namespace before it
    and a member after it, as in `wmma::mma_sync` and `threadIdx.x`, are left out."""
    name = word.partition(".")[0].rpartition("::")[2]
    found = CUDA.get(name)
    if found is None:
        return None
    told: dict[str, Any] = {"word": name, "says": found.says}
    if found.syntax:
        told["syntax"] = found.syntax
    if found.ptx:
        member = word.removeprefix(name) if found.kind == "variable" and word.startswith(f"{name}.") else ""
        told["terms"] = [["in PTX", f"`{found.ptx}{member}`"]]
    return told
