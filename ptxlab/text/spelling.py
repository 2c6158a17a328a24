"""Suggestions for a word that PTX does not have: opcodes one modifier away, names that are spelt alike.

A file may have the same mistake hundreds of times, so every answer is cached.
"""

from __future__ import annotations

import functools
from itertools import chain

from ptxlab.isa import TABLE, Op, find_form, known_form, types
from ptxlab.isa.matching import entries_near
from ptxlab.isa.meanings import meant, weighty


@functools.lru_cache(maxsize=1 << 12)
def nearest(word: str, names: tuple[str, ...], most: int = 1, alike: float = 0.75) -> list[str]:
    """The names that look like a word, the closest first; `alike` is the least ratio of `difflib`."""
    import difflib  # here, as only mistakes need it

    return difflib.get_close_matches(word, names, most, alike)


@functools.lru_cache(maxsize=1 << 12)
def corrected(opcode: str, at: int, length: int) -> list[str]:
    """Opcodes that the table has, one modifier away, the likeliest first: one more at the place of the error, another
    one there, what another word may mean, or one less. `at` and `length` say where the error is."""
    before, wrong, after = opcode[:at].rstrip("."), opcode[at : at + length].strip("."), opcode[at + length :]
    entries = entries_near(opcode)
    choices = _choices(tuple(entries))
    tail = f".{wrong}{after}" if wrong else ""
    kept = [*before.split(".")[1:], *tail.split(".")[1:]]
    # Only an entry that has all the other words can become right by one more, and only by one that it has.
    more = _choices(tuple(entry for entry in entries if entry.words.issuperset(kept)))
    likely = sorted(choices, key=lambda choice: choice not in ("gpu", "rzi"))  # wide enough; as C rounds
    inserted = (f"{before}.{choice}{tail}" for choice in likely if choice in more)
    close = (word for word in nearest(wrong, tuple(choices), 8, 0.5) if _of_a_kind(wrong, word))
    near = [word for word in meant(wrong) if word in choices] or sorted(close, key=lambda c: sorted(c) != sorted(wrong))
    exchanged = (f"{before}.{choice}{after}" for choice in near)
    words = opcode.split(".")
    others = (
        ".".join([*words[:k], other, *words[k + 1 :]])
        for k, word in enumerate(words)
        for other in meant(word)
        if k and word != wrong and other in choices
    )
    less = [] if weighty(wrong) else [before + after]
    return [text for text in chain(inserted, exchanged, others, less) if known_form(text)]


def _of_a_kind(wrong: str, word: str) -> bool:
    """Whether a word may stand for another one: for a type, bits of its width, or an integer for an integer."""
    if wrong not in types.WIDTH or word not in types.WIDTH:
        return True
    bits = f"b{types.width(wrong)}"
    integers = wrong in types.INTEGERS and word in types.INTEGERS
    return types.width(word) == types.width(wrong) and (integers or bits in (wrong, word))


@functools.lru_cache(maxsize=1 << 10)
def _choices(entries: tuple[Op, ...]) -> dict[str, None]:
    """Every modifier that one of these entries takes, in their order."""
    return dict.fromkeys(word for entry in entries for slot in entry.slots for word in slot.choices)


@functools.lru_cache(maxsize=1 << 12)
def counts(opcode: str) -> list[tuple[Op, int, int]]:
    """The entries that an opcode may mean, with the least and the most operands of each."""
    name, *words = opcode.split(".")
    entries = [
        entry  # with a slot for every modifier, and a modifier for every slot that needs one, in any order
        for entry in TABLE[name]
        if entry.words.issuperset(words) and all(any(w in slot.choices for w in words) for slot in entry.required)
    ]
    if not entries and (form := find_form(opcode)) is not None:
        entries = [form.op]
    return [(entry, *operand_count(entry)) for entry in entries]


def operand_count(entry: Op) -> tuple[int, int]:
    """The least and the most operands of an entry."""
    specs = [spec for spec in entry.operands if not spec.second]
    return sum(not spec.optional for spec in specs), len(specs)
