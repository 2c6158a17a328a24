"""Suggestions for a word that PTX does not have: opcodes one modifier away, names that are spelt alike.

A file may have the same mistake hundreds of times, so every answer is cached.
"""

from __future__ import annotations

import functools
import heapq
from collections import Counter
from itertools import chain

from ptxlab.isa import TABLE, Op, find_form


@functools.lru_cache(maxsize=1 << 12)
def nearest(word: str, names: tuple[str, ...], most: int = 1, alike: float = 0.75) -> list[str]:
    """The names that look like a word, the closest first; `alike` is the least ratio of `difflib`.

    The same answers as `difflib.get_close_matches`, twenty times faster: the letters that a name shares with the word
    bound the ratio, so the ratio itself is computed for the best names only.
    """
    import difflib  # here, as only mistakes need it

    letters, length = _letters(word), len(word)
    bounds = [(2.0 * (letters & other).bit_count() / (length + size), name) for name, size, other in _lettered(names)]
    hopeful = sorted(((bound, name) for bound, name in bounds if bound >= alike), reverse=True)
    matcher = difflib.SequenceMatcher()
    matcher.set_seq2(word)
    best: list[tuple[float, str]] = []
    for bound, name in hopeful:
        if len(best) == most and bound < best[0][0]:
            break
        matcher.set_seq1(name)
        ratio = matcher.ratio()
        if ratio >= alike:
            (heapq.heappush if len(best) < most else heapq.heappushpop)(best, (ratio, name))
    return [name for _, name in sorted(best, reverse=True)]


@functools.lru_cache(maxsize=1 << 14)
def _letters(word: str) -> int:
    """The letters of a word, which are ASCII, as bits, with 128 more for the second time that one comes, and so on: two
    words share as many letters as bits."""
    return sum(1 << ord(letter) + 128 * n for letter, times in Counter(word).items() for n in range(times))


@functools.lru_cache(maxsize=64)
def _lettered(names: tuple[str, ...]) -> list[tuple[str, int, int]]:
    """Each name with its length and its letters."""
    return [(name, len(name), _letters(name)) for name in names]


@functools.lru_cache(maxsize=1 << 12)
def corrected(opcode: str, at: int, length: int) -> str:
    """An opcode that the table has, one modifier away: one more at the place of the error, another one, or one less;
    empty where there is none. `at` and `length` say where the error is."""
    before, wrong, after = opcode[:at].rstrip("."), opcode[at : at + length].strip("."), opcode[at + length :]
    entries = TABLE.get(opcode.partition(".")[0], [])
    choices = _choices(tuple(entries))
    tail = f".{wrong}{after}" if wrong else ""
    kept = [*before.split(".")[1:], *tail.split(".")[1:]]
    # Only an entry that has all the other words can become right by one more, and only by one that it has.
    more = _choices(tuple(entry for entry in entries if entry.words.issuperset(kept)))
    inserted = (f"{before}.{choice}{tail}" for choice in choices if choice in more)
    near = nearest(wrong, tuple(choices), 3, 0.5)
    exchanged = (f"{before}.{choice}{after}" for choice in near)
    return next((text for text in chain(inserted, exchanged, [before + after]) if find_form(text) is not None), "")


@functools.lru_cache(maxsize=1 << 10)
def _choices(entries: tuple[Op, ...]) -> dict[str, None]:
    """Every modifier that one of these entries takes, in their order."""
    return dict.fromkeys(word for entry in entries for slot in entry.slots for word in slot.choices)


@functools.lru_cache(maxsize=1 << 12)
def counts(opcode: str) -> list[tuple[Op, int, int]]:
    """The entries that an opcode may mean, with the least and the most operands of each."""
    name, *words = opcode.split(".")
    form = find_form(opcode)
    entries = [entry for entry in TABLE[name] if _could_be(entry, words)] or ([form.op] if form is not None else [])
    return [(entry, *operand_count(entry)) for entry in entries]


def _could_be(entry: Op, words: list[str]) -> bool:
    """Whether an entry has a slot for every modifier, and a modifier for every slot that needs one, in any order."""
    return entry.words.issuperset(words) and all(any(w in slot.choices for w in words) for slot in entry.required)


def operand_count(entry: Op) -> tuple[int, int]:
    """The least and the most operands of an entry."""
    specs = [spec for spec in entry.operands if not spec.second]
    return sum(not spec.optional for spec in specs), len(specs)
