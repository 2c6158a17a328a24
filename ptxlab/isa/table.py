"""The instruction table's machinery: an entry in the PTX manual's notation, and the form that a dotted opcode names.

    op("fma.rnd{.ftz}{.sat}.f32  d, a, b, c", rnd=ROUNDING, says="...", sem=...)

An entry is written once. The parser validates against it, the builder's methods and the hover docs come from it, and
both engines of the CPU machine execute its `sem`. Slots in braces are optional; a slot whose word is a keyword argument
takes one of the given choices, any other slot is the literal word. Several entries may share an opcode (`fma` has one
for each kind of type); the first that matches wins.

Operands: `d` or `p` at the front is a destination, `[a]` an address, `a{, b}` an optional source, `{!}c` a predicate
that may be negated, `d|p:pred` a destination with an optional second. `a:u32` gives an operand a type of its own;
without it the type is the slot called `type`; `a:atype` is the type in the slot `atype`.
Special operand types: `pred`, `label`, `any` (whatever the operand is), `wide` (twice the width of `type`), `int`
(an immediate), `vec` (`.vec` elements of `type`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from ptxlab.isa.actions import COMPUTES, Action, AsyncGroup
from ptxlab.isa.left_out import LEFT_OUT
from ptxlab.isa.modifiers import NEEDS
from ptxlab.isa.properties import Properties, properties_of
from ptxlab.isa.types import SUB_BYTE, WIDTH


@dataclass(frozen=True, slots=True)
class Slot:
    """A modifier position: its name, whether it may be left out, and the words it may hold (`literal`: its name)."""

    name: str
    optional: bool
    choices: tuple[str, ...]
    literal: bool = False

    @property
    def kind(self) -> str:
        """What the words are: "type", "literal" or "choice"; errors list the words of one kind together."""
        return "type" if all(c in WIDTH for c in self.choices) else "literal" if self.literal else "choice"

    def value(self, word: str | None) -> str | bool | None:
        """What a form has in this slot: the word, True for an optional literal, and None or False for an absent one."""
        if self.literal and self.optional:
            return word is not None
        return word


@dataclass(frozen=True, slots=True)
class OperandSpec:
    """One operand position. role: "dst", "src" or "addr"; type: a PTX type, a slot's name, or a special type."""

    name: str
    role: str
    type: str
    optional: bool = False
    second: bool = False  # the q of p|q
    negatable: bool = False  # the c of {!}c


@dataclass(frozen=True, eq=False)
class Op:
    """An entry of the table.

    does: what its instructions do; everything else that is known of one follows from it and its modifiers (see
    `ptxlab.isa.properties`). group: what an asynchronous operation completes by. executed: whether the CPU machine runs
    it; the others are assembled only, and the CPU machine says so. loose: NVIDIA's assembler takes other operands in it
    than their types say. specific: only targets with a letter have it, sm_90a. ended: the PTX version and architecture
    that are the first without it, if both are reached. also: a lower PTX version that has it on a later architecture.
    """

    name: str
    syntax: str
    slots: tuple[Slot, ...]
    operands: tuple[OperandSpec, ...]
    says: str
    sem: Callable[..., Any] | None
    does: Action
    version: tuple[int, int]
    sm: int
    fixed: dict[str, Any] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    needs: dict[str, tuple[tuple[int, int], int]] = field(default_factory=dict)
    group: AsyncGroup = AsyncGroup.NONE
    executed: bool = True
    loose: bool = False
    specific: bool = False
    ended: tuple[tuple[int, int], int] | None = None
    also: tuple[tuple[int, int], int] | None = None

    @functools.cached_property
    def kind(self) -> str:
        """ "pure" (computed by `sem` alone), "memory", "lane" (reads other lanes), "warp" (matrix instructions), "flow"
        (branches, calls, barriers: run by the engine), "async", "none" (no effect on results: `prefetch`, `fence`), or
        "assembled" where it is not executed."""
        return self.does.kind if self.executed else "assembled"

    @functools.cached_property
    def words(self) -> frozenset[str]:
        """Every word that some slot may hold."""
        return frozenset(word for slot in self.slots for word in slot.choices)

    @functools.cached_property
    def required(self) -> tuple[Slot, ...]:
        """The slots that may not be left out."""
        return tuple(slot for slot in self.slots if not slot.optional)

    def could_hold(self, words: Sequence[str]) -> bool:
        """Whether there are slots for as many words, and one for each of them. Cheap: most entries end here."""
        return len(self.required) <= len(words) <= len(self.slots) and self.words.issuperset(words)


SPECIAL_TYPES = ("pred", "label", "any", "int", "vec", "addr")
"""Operand types that are not PTX types of a value (see the top of this file)."""


class Form:
    """An opcode with all its modifiers filled in: `form("fma.rn.ftz.f32")` has `.rnd == "rn"`, `.ftz == True`.

    A slot is an attribute of its name (dots and colons as underscores): the word it holds, None if it is absent. An
    optional literal such as `{.ftz}` is True or False. `opcode` is the whole word, `op` the table entry.
    """

    __slots__ = ("__dict__", "op", "opcode")

    def __init__(self, op: Op, opcode: str, values: dict[str, Any]) -> None:
        self.op, self.opcode = op, opcode
        self.__dict__.update(op.fixed)
        self.__dict__.update(values)

    def __getattr__(self, name: str) -> Any:
        # A slot that this entry does not have reads as absent, so that one `sem` can serve several entries.
        if name.startswith("__"):
            raise AttributeError(name)
        return None

    def __repr__(self) -> str:
        return f"Form({self.opcode})"

    @functools.cached_property
    def properties(self) -> Properties:
        """What its instructions do: to memory, to control, to other lanes, and how much work that is."""
        return properties_of(self)

    @property
    def version(self) -> tuple[int, int]:
        """The lowest PTX version that has this form, its modifiers included."""
        return max([self.op.version, *(version for version, _ in self._needs())])

    @property
    def sm(self) -> int:
        """The lowest architecture that has this form, its modifiers included: 80 for sm_80, 0 for any."""
        return max([self.op.sm, *(sm for _, sm in self._needs())])

    def _needs(self) -> Iterable[tuple[tuple[int, int], int]]:
        for word in self.opcode.split(".")[1:]:
            found = self.op.needs.get(word) or NEEDS.get(word)
            if found:
                yield found

    def operand_type(self, spec: OperandSpec) -> str:
        """The PTX type of an operand of this form, or its special type (`pred`, `any`, `vec`, `addr` ...)."""
        if spec.type == "wide":
            return f"{self.type[0]}{2 * int(self.type[1:])}"
        if spec.type in SPECIAL_TYPES:
            return spec.type
        value = self.__dict__.get(spec.type)
        return value if isinstance(value, str) else spec.type


TABLE: dict[str, list[Op]] = {}
"""Opcode (first word) -> its entries, in the order they are tried."""


class FormError(LookupError):
    """A dotted opcode that no entry matches. `what` says why, `syntax` is the entry that came closest."""

    def __init__(self, what: str, syntax: str = "", at: int = 0, length: int = 1) -> None:
        self.what, self.syntax, self.at, self.length = what, syntax, at, length
        super().__init__(what)


_SLOT = re.compile(r"(\{)?\.([\w:]+)(?(1)\})")


def op(
    syntax: str,
    says: str,
    sem: Callable[..., Any] | None = None,
    *,
    does: Action | None = None,
    group: AsyncGroup = AsyncGroup.NONE,
    executed: bool = True,
    loose: bool = False,
    specific: bool = False,
    ended: tuple[tuple[int, int], int] | None = None,
    also: tuple[tuple[int, int], int] | None = None,
    version: tuple[int, int] = (1, 0),
    sm: int = 0,
    fixed: dict[str, Any] | None = None,
    notes: dict[str, str] | None = None,
    needs: dict[str, tuple[tuple[int, int], int]] | None = None,
    **choices: Iterable[str],
) -> Op:
    """Adds an entry. `does` may be left out where `COMPUTES` has the opcode, and for an entry that only computes. An
    entry that computes, accesses memory or exchanges data between lanes is executed if it has a `sem`; `executed=False`
    marks others that are assembled only. `choices` gives each slot its words; `fixed` are attributes every form of this
    entry has; `notes` explain single modifiers where the entry needs to say more than the general modifier docs;
    `needs` are modifiers that need a later PTX version or architecture than the entry itself. An entry whose type is a
    literal word (`.f32`) has it as `type`, too."""
    head, _, tail = syntax.partition(" ")
    name = head.partition(".")[0].partition("{")[0]
    slots = tuple(
        Slot(key, bool(brace), tuple(choices.get(key, (word,))), key not in choices)
        for brace, word in _SLOT.findall(head[len(name) :])
        for key in (_identifier(word),)
    )
    literal = [s.name for s in slots if not s.optional and s.choices == (s.name,) and s.name in WIDTH]
    if literal and not any(s.name == "type" for s in slots):
        fixed = {"type": literal[-1]} | (fixed or {})
    does = does or COMPUTES.get(name, Action.COMPUTE)
    executed = executed and (sem is not None or does.kind in ("flow", "none", "warp", "async"))
    entry = Op(name, syntax, slots, tuple(_operands(tail)), " ".join(says.split()), sem, does, version, sm,
               dict(fixed or {}), dict(notes or {}), dict(needs or {}), group, executed, loose, specific,
               ended, also)  # fmt: skip
    TABLE.setdefault(name, []).append(entry)
    for answers in (form, found, _refusal):
        answers.cache_clear()
    return entry


def _identifier(word: str) -> str:
    return word.replace("::", "_").replace(".", "_")


_OPERAND = re.compile(r"\{!\}|\{,|[{}]|\[[^\]]*\]|[\w:|]+")


def _operands(tail: str) -> Iterable[OperandSpec]:
    """The operands of a syntax line: `d, [a], b{, c}, {!}p:pred`."""
    optional = negatable = False
    for word in _OPERAND.findall(tail):
        if word == "{!}":
            negatable = True
        elif word in ("{", "{,"):
            optional = True
        elif word == "}":
            optional = False
        else:
            yield from _one(word, optional, negatable)
            negatable = False


def _one(text: str, optional: bool, negatable: bool) -> Iterable[OperandSpec]:
    if text.startswith("["):
        yield OperandSpec(text.strip("[]"), "addr", "addr", optional)
        return
    first, bar, second = text.partition("|")
    name, _, type_ = first.partition(":")
    role = "dst" if name in ("d", "p") else "src"
    yield OperandSpec(name, role, type_ or "type", optional, negatable=negatable)
    if bar:
        name, _, second_type = second.partition(":")
        yield OperandSpec(name, "dst", second_type or type_ or "type", True, second=True)


def _unknown(name: str) -> str:
    """The message about an instruction that the table does not have."""
    return f"unknown instruction {name!r}" + (f": {LEFT_OUT[name]} are left out" if name in LEFT_OUT else "")


@functools.cache
def form(opcode: str) -> Form:
    """The form that a dotted opcode names; `FormError` says what does not fit and which words would."""
    known = found(opcode)
    if known is None:
        raise FormError(*_refusal(opcode))
    return known


REPEATABLE = frozenset({"NaN", "approx", "cc", "relu", "sat", "satfinite", "shiftamt", "sync", "uni"})
"""Modifiers that may stand twice in an opcode. NVIDIA's assembler refuses all others there (tried on every entry)."""

NAMES = {
    "bar": "warp cta arrive red",
    "barrier": "cta cluster arrive red wait",
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
    "tensormap": "replace cp_fenceproxy",
    "tex": "base level grad",
    "txq": "level",
    "wgmma": "mma_async fence commit_group wait_group",
    "wmma": "load store mma a b c d",
}
"""The words that belong to the names of instructions: they stand at the front and keep their order, the other modifiers
may stand in any (`fence.gpu.sc`, but not `fence.async.proxy`)."""

ORDERED = (
    frozenset({*WIDTH, *SUB_BYTE}),
    frozenset({"row", "col"}),
    frozenset({"global", "shared", "shared::cta", "shared::cluster"}),
    frozenset({"and", "xor", "popc"}),
)
"""Modifiers that keep their order among themselves: `cvt.f64.f32` is not `cvt.f32.f64`."""


@functools.lru_cache(maxsize=1 << 13)
def found(opcode: str) -> Form | None:
    """The form that a dotted opcode names; None where no entry has it, which is said much faster than why."""
    name, *words = opcode.split(".")
    if name not in TABLE or not _vocabulary(name).issuperset(words):
        return None
    words = [word for k, word in enumerate(words) if word not in REPEATABLE or word not in words[:k]]
    entries = [entry for entry in TABLE[name] if entry.could_hold(words)]
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


@dataclass(slots=True)
class _Stop:
    """Where matching an entry ended: at which word, and the slot that wanted another one (None: a word too many)."""

    word: int = -1
    slot: Slot | None = None


@functools.lru_cache(maxsize=1 << 12)
def _refusal(opcode: str) -> tuple[str, str, int, int]:
    """What a `FormError` says of an opcode that no entry matches: the one word that is missing or the one too many,
    else what the entries that came furthest would take there."""
    first, *words = opcode.split(".")
    entries = TABLE.get(first)
    if entries is None:
        return _unknown(first), "", 0, len(first)
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


def all_ops() -> list[Op]:
    """Every entry, in table order."""
    return [entry for entries in TABLE.values() for entry in entries]
