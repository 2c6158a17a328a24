"""Which form of an instruction a call means: `k.fma(a, b, c)` with f32 registers is `fma.rn.f32`.

A plan is a form of the instruction table, with its operands sorted out. The resolver fills in what a call leaves
open: the type from the operands, `.rn` where a rounding mode must be named, and words that have no alternative.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ptxlab.builder.registers import TYPES
from ptxlab.isa import TABLE, Form, FormError, Op, form
from ptxlab.isa.entries import OperandSpec, Slot
from ptxlab.isa.types import WIDTH

DEFAULTS = {"rnd": "rn"}
"""What a slot that must be filled gets when the call does not say."""
QUIET = frozenset({"lo", "sync", "aligned"})
"""Words that a call need not say though the opcode has others: C's product, and what comes from the operands."""


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A form with its operands: `results` and `sources` are (spec, PTX type); the type may be special ("pred",
    "label", "any", "int", "addr"). `widening`: integer registers may be wider than the type. `adopts`: a bit-typed
    result takes the type of the first operand of its width."""

    form: Form
    results: tuple[tuple[OperandSpec, str], ...]
    sources: tuple[tuple[OperandSpec, str], ...]
    required: int
    widening: bool
    adopts: bool

    @property
    def opcode(self) -> str:
        """The whole dotted word."""
        return self.form.opcode

    def check(self, ptx: str, found: type[Any]) -> bool:
        """Whether a register of type `found` may be where the instruction wants `ptx`."""
        if ptx == "any" or ptx not in WIDTH:
            return True
        kind: str = found.kind
        if "pred" in (ptx, kind):
            return ptx == kind
        bits = WIDTH[ptx]
        same = found.bits == bits
        wider = self.widening and found.bits > bits
        if ptx[0] == "b" and ptx[1:].isdigit():
            return same or (wider and kind != "float")
        if ptx[0] in "us" and ptx[1:].isdigit():
            return kind in ("signed", "unsigned", "bits") and (same or wider)
        if ptx in ("f32", "f64"):
            return bool(found.ptx == ptx)
        return bool(found.ptx == ptx or (same and kind != "float"))


@functools.cache
def plan(opcode: str) -> Plan:
    """The plan of a dotted opcode; `FormError` where the table has no such form."""
    f = form(opcode)
    results = tuple((s, f.operand_type(s)) for s in f.op.operands if s.role == "dst")
    operands = (s for s in f.op.operands if s.name != "policy" or f.L2_cache_hint)
    sources = tuple((s, f.operand_type(s)) for s in operands if s.role != "dst")
    required = sum(not s.optional for s, _ in sources)
    adopts = bool(results) and results[0][1][0] == "b" and results[0][1][1:].isdigit()
    return Plan(f, results, sources, required, f.properties.wider_registers or f.properties.atomic, adopts)


Kind = tuple[str, ...] | str
"""How the resolver sees an operand: a PTX type, "int", "float", ("ptr", space, element) or ("vec", n, type)."""


@functools.cache
def resolve(name: str, kinds: tuple[Kind, ...], modifiers: tuple[tuple[str, Any], ...]) -> Plan:
    """The plan that `k.name(*operands, **modifiers)` means. Raises `FormError` with what is missing."""
    best: tuple[int, Plan] | None = None
    near: tuple[int, Plan] | None = None  # complete, but some operand does not fit: emitting it says which
    failure: tuple[int, FormError] | None = None
    first: Op | None = None  # that takes the modifiers
    for entry in TABLE[name]:
        given = dict(modifiers)
        words, missing, penalty = _fill(entry, kinds, given)
        wrong_count = _count(entry, len(kinds))
        first = first or (None if given else entry)
        if given:
            failure = _further(failure, 0, _unknown(entry, given))
        elif wrong_count is not None:
            failure = _further(failure, 1, wrong_count)
        elif missing:
            failure = _further(failure, 2 if missing != "type" else 0, _why(name, words, entry, missing))
        else:
            try:
                p = plan(".".join((name, *words)))
            except FormError as why:
                failure = _further(failure, 2, why)
                continue
            fitting = _fitting(p, kinds)
            if fitting == len(kinds) and (best is None or penalty < best[0]):
                best = (penalty, p)
            elif fitting < len(kinds) and (near is None or fitting > near[0]):
                near = (fitting, p)
    if best is not None:
        said = {word.rstrip("_") for word, _ in modifiers} | {_word(*modifier) for modifier in modifiers}
        unsaid = (said.isdisjoint((s.name, *s.choices)) for s in telling(best[1].form.op) if len(s.choices) == 1)
        if first is not None and any(unsaid):
            does = dict.fromkeys(f".{word}" for entry in TABLE[name] for s in telling(entry)[:1] for word in s.choices)
            raise FormError(f"{name} needs a word that says what it does, one of {' '.join(does)}", first.syntax)
        return best[1]
    if near is not None and (failure is None or failure[0] < 2):
        return near[1]
    assert failure is not None
    raise failure[1]


def telling(entry: Op) -> list[Slot]:
    """The slots of an entry without which a call does not say what it does: their words do not follow from the
    operands, and other entries of the opcode have others."""
    slots = (s for s in entry.slots if not s.optional and s.name not in ("type", *DEFAULTS))
    known = _always(entry.name) | WIDTH.keys()
    return [s for s in slots if len(s.choices) > 1 or s.choices[0] not in known]


@functools.cache
def _always(name: str) -> frozenset[str]:
    """The words of an opcode that a call need not say."""
    each = [{s.choices[0] for s in e.slots if len(s.choices) == 1 and not s.optional} for e in TABLE[name]]
    return QUIET.union(set.intersection(*each))


def _further(known: tuple[int, FormError] | None, reached: int, why: FormError) -> tuple[int, FormError]:
    """The failure of the entry that came closest; the first of equals."""
    return (reached, why) if known is None or reached > known[0] else known


def _unknown(entry: Op, given: dict[str, Any]) -> FormError:
    """What is wrong with a modifier that an entry cannot take."""
    word, value = next(iter(given.items()))
    slot = next((s for s in entry.slots if s.name == word.rstrip("_")), None)
    if slot is None or len(slot.choices) == 1:
        return FormError(f"{entry.name} does not take {word}= here", entry.syntax)
    return FormError(f"{entry.name}: {word} must be one of {' '.join(slot.choices)}; found {value!r}", entry.syntax)


def _why(name: str, words: list[str], entry: Op, missing: str) -> FormError:
    """The table's own words about an opcode whose modifiers are not complete."""
    try:
        form(".".join((name, *words)))
    except FormError as why:
        if why.syntax == entry.syntax:
            return why
    slot = next(s for s in entry.slots if s.name == missing)
    choices = " ".join("." + c for c in slot.choices)
    return FormError(f"{name} needs .{slot.name} here, one of {choices}", entry.syntax)


def _count(entry: Op, count: int) -> FormError | None:
    sources = [s for s in entry.operands if s.role != "dst"]
    least = sum(not s.optional for s in sources)
    if least <= count <= len(sources):
        return None
    return FormError(miscounted(entry.name, sources, count), entry.syntax)


def miscounted(name: str, sources: Sequence[OperandSpec], count: int) -> str:
    """What is said of a call with another number of operands."""
    names = ", ".join(s.name for s in sources)
    takes = f"{name} takes {len(sources) or 'no'} operand{'s' if len(sources) != 1 else ''}"
    return f"{takes}{f' ({names})' if names else ''}, found {count}"


def _fill(entry: Op, kinds: tuple[Kind, ...], given: dict[str, Any]) -> tuple[list[str], str, int]:
    """The words of an entry's slots; takes what it uses out of `given`. Also the slot that is missing
    (or ""), and how many words were chosen that nobody asked for."""
    words: list[str] = []
    missing, penalty = "", 0
    sources = [s for s in entry.operands if s.role != "dst"]
    for slot in entry.slots:
        value = given.get(slot.name, given.get(slot.name + "_"))
        if value is not None:
            word = _word(slot.name, value)
            if len(slot.choices) == 1 and value is True:
                word = slot.choices[0]
            if value is False or word in slot.choices:
                given.pop(slot.name, None)
                given.pop(slot.name + "_", None)
                if value is not False:
                    words.append(word)
                    continue
            if not slot.optional:
                missing = missing or slot.name
                continue
            if value is not False:
                continue
        if slot.optional and slot.name != "space":
            continue
        inferred = _infer(slot.name, slot.choices, sources, kinds)
        if inferred:
            words.append(inferred)
        elif slot.optional:
            continue
        elif slot.choices == (slot.name,) or len(slot.choices) == 1:
            words.append(slot.choices[0])
            penalty += slot.choices[0] not in WIDTH
        elif DEFAULTS.get(slot.name) in slot.choices:
            words.append(DEFAULTS[slot.name])
        else:
            missing = missing or slot.name
    for name in [n for n, value in given.items() if n in entry.fixed and entry.fixed[n] == _word(n, value)]:
        given.pop(name)
    return words, missing, penalty


def _word(slot: str, value: Any) -> str:
    """A modifier as it was given: a word, a type class, or the 4 of `.v4`."""
    if isinstance(value, type):
        return str(getattr(value, "ptx", ""))
    return f"v{value}" if slot == "vec" and isinstance(value, int) else str(value)


def _infer(slot: str, choices: Sequence[str], sources: Sequence[OperandSpec], kinds: Sequence[Kind]) -> str:
    """The word of a slot that the operands imply: the type of the first register that has the slot's type, the space
    or element type of a pointer, the length of a vector."""
    for spec, kind in zip(sources, kinds, strict=False):
        if isinstance(kind, tuple) and kind[0] == "vec":
            if slot == "vec" and f"v{kind[1]}" in choices:
                return f"v{kind[1]}"
            kind = kind[2]
        if isinstance(kind, str) and kind in TYPES and spec.type in (slot, "vec" if slot == "type" else slot):
            return _nearest(kind, choices)
    for kind in kinds:
        if isinstance(kind, tuple) and kind[0] == "ptr":
            if slot == "space" and kind[1] in choices:
                return kind[1]
            if slot == "type":
                return _nearest(kind[2], choices)
    return ""


def _nearest(ptx: str, choices: Sequence[str]) -> str:
    """The type itself if it is a choice, else the bit type of its width, else nothing."""
    if ptx in choices:
        return ptx
    bits = f"b{TYPES[ptx].bits}"
    return bits if bits in choices else ""


def _fitting(p: Plan, kinds: Sequence[Kind]) -> int:
    """How many operands fit the form's operand types."""
    fits = 0
    for (_, ptx), kind in zip(p.sources, kinds, strict=False):
        fits += not (isinstance(kind, str) and kind in TYPES) or ptx == "addr" or p.check(ptx, TYPES[kind])
    return fits
