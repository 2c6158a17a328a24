"""Words of CUDA C++: what each one means and which PTX it becomes, for `%%cuda` cells as they are typed."""

from __future__ import annotations

from typing import Any

from ptxlab.lab.cuda_functions import FUNCTIONS
from ptxlab.lab.cuda_names import DECLARATIONS, TYPES, VARIABLES

WORDS = DECLARATIONS | VARIABLES | TYPES | FUNCTIONS
"""All of them, by name, without the namespace that they are in."""


def explain(word: str) -> dict[str, Any] | None:
    """The docs of a word as `lab.language.explain` has them, None where there is nothing to say. A namespace before it
    and a member after it, as in `wmma::mma_sync` and `threadIdx.x`, are left out."""
    name = word.partition(".")[0].rpartition("::")[2]
    found = WORDS.get(name)
    if found is None:
        return None
    told: dict[str, Any] = {"word": name, "says": found.says}
    if found.syntax:
        told["syntax"] = found.syntax
    if found.ptx:
        member = word.removeprefix(name) if name in VARIABLES and word.startswith(f"{name}.") else ""
        told["terms"] = [["in PTX", f"`{found.ptx}{member}`"]]
    return told


def starting(fragment: str) -> list[tuple[str, str]]:
    """(word, what it is) of the words that begin so."""
    kinds = {"declaration": DECLARATIONS, "variable": VARIABLES, "type": TYPES}
    kind = {name: kind for kind, words in kinds.items() for name in words}
    return [(name, kind.get(name, "function")) for name in WORDS if name.startswith(fragment)]
