"""The form that a dotted opcode names: the entry whose slots take its words, or else what does not fit."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from ptxlab.isa.entries import Op, Slot
from ptxlab.isa.missing_instructions import NOT_EXECUTED
from ptxlab.isa.table import ON_CHANGE, TABLE, Form, FormError
from ptxlab.isa.types import OTHERS, SUB_BYTE, WIDTH


@functools.cache
def form(opcode: str) -> Form:
    """The form that a dotted opcode names; `FormError` says what does not fit and which words would."""
    known = find_form(opcode)
    if known is None:
        raise FormError(*_refusal(opcode))
    return known


REPEATABLE = frozenset({"NaN", "approx", "cc", "relu", "sat", "satfinite", "shiftamt", "sync", "uni"})
"""Modifiers that may occur twice in an opcode. NVIDIA's assembler refuses all others there (tried on every entry)."""

NAMES = {
    "bar": "warp cta arrive red",
    "barrier": "cta cluster arrive red wait",
    "clusterlaunchcontrol": "try_cancel query_cancel async is_canceled get_first_ctaid",
    "cp": "reduce async bulk prefetch tensor mbarrier arrive commit_group wait_group wait_all",
    "createpolicy": "fractional range cvt",
    "cvt": "pack",
    "cvta": "to",
    "div": "full",
    "dp2a": "lo hi",
    "fence": "proxy",
    "mad": "lo hi wide",
    "mad24": "lo hi",
    "madc": "lo hi",
    "mbarrier": "init inval expect_tx complete_tx arrive arrive_drop test_wait try_wait parity pending_count",
    "membar": "proxy",
    "mul": "lo hi wide",
    "mul24": "lo hi",
    "multimem": "ld_reduce st red cp reduce async bulk",
    "red": "async",
    "setmaxnreg": "inc dec",
    "shf": "l r",
    "st": "async bulk",
    "suld": "b",
    "sured": "b p",
    "sust": "b p",
    "tcgen05": "alloc dealloc relinquish_alloc_permit ld red st wait::ld wait::st cp shift commit mma ws sp",
    "tensormap": "replace cp_fenceproxy",
    "tex": "base level grad",
    "txq": "level",
    "wgmma": "mma_async fence commit_group wait_group",
    "wmma": "load store mma a b c d",
}
"""The words that belong to the names of instructions: they come first and keep their order, the other modifiers
may have any (`fence.gpu.sc`, but not `fence.async.proxy`)."""

ORDERED = (
    frozenset({*WIDTH, *SUB_BYTE, *OTHERS}),
    frozenset({"row", "col"}),
    frozenset({"global", "shared", "shared::cta", "shared::cluster"}),
    frozenset({"and", "xor", "popc"}),
)
"""Modifiers that keep their order among themselves: `cvt.f64.f32` is not `cvt.f32.f64`."""


@functools.lru_cache(maxsize=1 << 13)
def find_form(opcode: str) -> Form | None:
    """The form that a dotted opcode names; None where no entry has it, which is said much faster than why."""
    name, *words = opcode.split(".")
    if name not in TABLE or not _vocabulary(name).issuperset(words):
        return None
    return _form_among(TABLE[name], opcode, words)


@functools.lru_cache(maxsize=1 << 10)
def not_executed(opcode: str) -> Form | None:
    """The form that an opcode names, of those that PTX has and the table does not (see `missing_instructions`)."""
    name, *words = opcode.split(".")
    return _form_among(NOT_EXECUTED.get(name, []), opcode, words)


def known_form(opcode: str) -> Form | None:
    """The form that an opcode names, of all that PTX has."""
    return find_form(opcode) or not_executed(opcode)


def entries_near(opcode: str) -> list[Op]:
    """The entries that a wrong opcode is compared with: those that are not executed where only they have its words."""
    name, *words = opcode.split(".")
    others = NOT_EXECUTED.get(name, [])
    if name not in TABLE:
        return others
    new = {word for entry in others for word in entry.words} - _vocabulary(name)
    return TABLE[name] if new.isdisjoint(words) else others


def _form_among(entries: Sequence[Op], opcode: str, words: Sequence[str]) -> Form | None:
    words = [word for k, word in enumerate(words) if word not in REPEATABLE or word not in words[:k]]
    entries = [entry for entry in entries if entry.could_hold(words)]
    for entry in entries:
        values, _ = _match(entry.slots, words)
        if values is not None:
            return Form(entry, opcode, values)
    for entry in entries:
        values = _match_any_order(entry, words)
        if values is not None:
            return Form(entry, opcode, values)
    return None


@functools.cache
def _vocabulary(name: str) -> frozenset[str]:
    """Every modifier that some entry of an instruction may hold."""
    return frozenset[str]().union(*(entry.words for entry in TABLE[name]))


@dataclass(eq=False, repr=False)
class _Stop:
    """Where matching an entry ended: at which word, and the slot that wanted another one (None: a word too many)."""

    word: int = -1
    slot: Slot | None = None


@functools.lru_cache(maxsize=1 << 12)
def _refusal(opcode: str) -> tuple[str, str, int, int]:
    """What a `FormError` says of an opcode that no entry matches: the one word that is missing or the one too many,
    else what the entries that came furthest would take there."""
    first, *words = opcode.split(".")
    entries = entries_near(opcode)
    if not entries:
        from ptxlab.options import meant  # here, as only mistakes need it

        return f"unknown instruction {first!r}{meant(first, TABLE)}", "", 0, len(first)
    starts = [len(first) + 1 + sum(len(w) + 1 for w in words[:k]) for k in range(len(words) + 1)]
    missing = [_missing(entry, words) for entry in entries]
    if any(missing):
        stops = [stop or _Stop() for stop in missing]
    else:
        for k, word in enumerate(words):
            rest = words[:k] + words[k + 1 :]
            entry = next((e for e in entries if e.could_hold(rest) and _match(e.slots, rest)[0] is not None), None)
            if entry is not None:
                return f"{first} does not take .{word} here", entry.syntax, starts[k], len(word)
        stops = [_match(entry.slots, words)[1] for entry in entries]
    at = max(stop.word for stop in stops)
    near = [(entry, stop.slot) for entry, stop in zip(entries, stops, strict=True) if stop.word == at]
    entry, slot = next(((e, s) for e, s in near if s is not None), near[0])
    if slot is None:
        return f"{first} does not take .{words[at]} here", entry.syntax, starts[at], len(words[at])
    alike = [s for _, s in near if s is not None and (any(missing) or slot.name == s.name or slot.kind == s.kind)]
    choices = dict.fromkeys(c for s in alike for c in s.choices)
    wanted = " ".join(f".{c}" for c in choices)
    many = len(choices) > 1
    if many and (slot.kind == "type" or len({s.name for s in alike}) == 1):
        what = f".{next((s.name for s in alike if not s.literal), 'type')} here, one of {wanted}"
    else:
        what = f"one of {wanted} here" if many else f"{wanted} here"
    given = f"found .{words[at]}" if at < len(words) else "found nothing"
    length = len(words[at]) if at < len(words) else 1
    return f"{first} needs {what}; {given}", entry.syntax, starts[at], length


def _missing(entry: Op, words: Sequence[str]) -> _Stop | None:
    """The required slot whose word is missing, and where that word belongs."""
    if not entry.words.issuperset(words):
        return None
    for k, slot in enumerate(entry.slots):
        if slot.optional:
            continue
        values, _ = _match(entry.slots[:k] + entry.slots[k + 1 :], words)
        if values is not None:
            return _Stop(sum(1 for s in entry.slots[:k] if values[s.name]), slot)
    return None


def _match(slots: tuple[Slot, ...], words: Sequence[str]) -> tuple[dict[str, Any] | None, _Stop]:
    """Fits words to slots, backtracking over the optional ones; else where it stopped."""
    stop = _Stop()

    def fit(s: int, w: int) -> dict[str, Any] | None:
        if s == len(slots):
            if w == len(words):
                return {}
            if w > stop.word:
                stop.word, stop.slot = w, None
            return None
        slot = slots[s]
        if w < len(words) and words[w] in slot.choices:
            rest = fit(s + 1, w + 1)
            if rest is not None:
                return {slot.name: slot.value(words[w])} | rest
        if slot.optional:
            rest = fit(s + 1, w)
            if rest is not None:
                return {slot.name: slot.value(None)} | rest
        elif w > stop.word:
            stop.word, stop.slot = w, slot
        return None

    return fit(0, 0), stop


def _match_any_order(entry: Op, words: Sequence[str]) -> dict[str, Any] | None:
    """Fits words to slots in any order, as NVIDIA's assembler does: compilers write `atom.global.gpu.acq_rel.add.f32`
    as well as `atom.add.acq_rel.gpu.global.f32`."""
    values: dict[str, Any] = {s.name: s.value(None) for s in entry.slots}
    free = list(entry.slots)
    belonging = frozenset(NAMES.get(entry.name, "").split())
    at = 0
    for slot in takewhile(lambda slot: not belonging.isdisjoint(slot.choices), entry.slots):
        free.remove(slot)
        if words[at : at + 1] and words[at] in slot.choices:
            values[slot.name] = slot.value(words[at])
            at += 1
        elif not slot.optional:
            return None
    for word in words[at:]:
        held = next((s for s in free if word in s.choices), None)
        rank = next((rank for rank in ORDERED if word in rank), None)
        if rank is not None:
            held = next((s for s in free if rank.issuperset(s.choices)), held)
        if held is None or word not in held.choices:
            return None
        values[held.name] = held.value(word)
        free.remove(held)
    return values if all(s.optional for s in free) else None


ON_CHANGE += [form.cache_clear, find_form.cache_clear, _vocabulary.cache_clear, _refusal.cache_clear]
