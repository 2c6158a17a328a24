"""What the exhibits of the gallery are made of: inputs, trials, and what two texts of PTX have in common."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Case:
    """One input: `says` names it; the other fields are the sizes and kinds that an exhibit may look at.

    rows and keys count query rows and keys, dim the elements of a row, heads the heads; the logits have standard
    deviation `sigma`; `choice` is the exhibit's own (a lane, a variant); `tolerance` is the largest error that passes.
    """

    says: str
    rows: int = 32
    keys: int = 32
    dim: int = 4
    heads: int = 1
    sigma: float = 1.0
    causal: bool = False
    dtype: str = "f32"
    arch: str = "sm_80"
    choice: int = 0
    tolerance: float = 1e-5


@dataclass(frozen=True)
class Trial:
    """A run of one kernel on one case: whether it passes, and what its result looked like in words.

    `found` is what the exhibit's finder said, "" where it found nothing; `line` the PTX line that it named, 0 where it
    names a place in the output instead.
    """

    ok: bool
    result: str
    found: str = ""
    line: int = 0

    def __repr__(self) -> str:
        out = f"{'passes' if self.ok else 'fails'}: {self.result}"
        return out + ("\n" + textwrap.indent(self.found, "    ") if self.found else "")


def ptx_of(kernel: Any) -> str:
    """The PTX of a kernel, or of a text."""
    return kernel if isinstance(kernel, str) else str(kernel.ptx)


def shape(line: str) -> str:
    """What an instruction does, without its comment and the numbers that follow from its place."""
    bare = line.split("//")[0]
    if bare.lstrip().startswith(".reg"):
        return ".reg"
    return " ".join(re.sub(r"(%(?:f|fd|r|rd|p|h|b|rs)|\$[A-Za-z_]+)\d+\b", r"\1", bare).split())


def shortened(words: str) -> str:
    """A message with the package's own files named from the package on."""
    return words.replace(f"{PACKAGE.parent.as_posix()}/", "")
