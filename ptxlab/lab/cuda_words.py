"""Words of CUDA C++: what each one means and which PTX it becomes, for `%%cuda` cells as they are typed."""

from __future__ import annotations

from typing import Any

from ptxlab.lab.word_table import words

WORDS = words("declaration", "variable", "type", "function")
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
        member = word.removeprefix(name) if found.kind == "variable" and word.startswith(f"{name}.") else ""
        told["terms"] = [["in PTX", f"`{found.ptx}{member}`"]]
    return told


def starting(fragment: str) -> list[tuple[str, str]]:
    """(word, what it is) of the words that begin so."""
    return [(name, word.kind) for name, word in WORDS.items() if name.startswith(fragment)]
