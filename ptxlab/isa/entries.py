"""What the instruction table is made of: entries in the PTX manual's notation, their slots and operands, and opcodes.

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
from typing import Any, NamedTuple

from ptxlab.isa.actions import Action, AsyncGroup
from ptxlab.isa.modifiers import NEEDS
from ptxlab.isa.types import WIDTH


class Slot(NamedTuple):
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


class OperandSpec(NamedTuple):
    """One operand position. role: "dst", "src" or "addr"; type: a PTX type, a slot's name, or a special type."""

    name: str
    role: str
    type: str
    optional: bool = False
    second: bool = False  # the q of p|q
    negatable: bool = False  # the c of {!}c


@dataclass(eq=False, repr=False)
class Op:
    """An entry of the table. Its syntax is taken apart when it is first asked for: a launch asks a few entries of many.

    choices: the words of its slots. given: what every form has beside those (see `fixed`). does: what its instructions
    do; everything else that is known of one follows from it and its modifiers (see `ptxlab.isa.properties`). group:
    what an asynchronous operation completes by. executed: whether the emulator runs it; the others are assembled
    only, and the emulator says so. loose: NVIDIA's assembler takes other operands in it than their types say.
    specific: only targets with a letter have it, sm_90a. ended: the PTX version and architecture that are the first
    without it, if both are reached. also: a lower PTX version that has it on a later architecture. until: the first
    architecture that is without it in each version.
    """

    name: str
    syntax: str
    choices: dict[str, tuple[str, ...]]
    says: str
    sem: Callable[..., Any] | None
    does: Action
    version: tuple[int, int]
    sm: int
    given: dict[str, Any] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    needs: dict[str, tuple[tuple[int, int], int]] = field(default_factory=dict)
    group: AsyncGroup = AsyncGroup.NONE
    executed: bool = True
    loose: bool = False
    specific: bool = False
    ended: tuple[tuple[int, int], int] | None = None
    also: tuple[tuple[int, int], int] | None = None
    until: int = 0

    @functools.cached_property
    def slots(self) -> tuple[Slot, ...]:
        """The positions of its modifiers."""
        head = self.syntax.partition(" ")[0]
        return tuple(
            Slot(key, bool(brace), self.choices.get(key, (word,)), key not in self.choices)
            for brace, word in _SLOT.findall(head[len(self.name) :])
            for key in (_identifier(word),)
        )

    @functools.cached_property
    def operands(self) -> tuple[OperandSpec, ...]:
        """The positions of its operands."""
        return tuple(_operands(self.syntax.partition(" ")[2]))

    @functools.cached_property
    def fixed(self) -> dict[str, Any]:
        """Attributes that every form of it has; a type that is a literal word is `type`, too."""
        literal = [s.name for s in self.slots if not s.optional and s.choices == (s.name,) and s.name in WIDTH]
        if literal and not any(s.name == "type" for s in self.slots):
            return {"type": literal[-1]} | self.given
        return self.given

    @functools.cached_property
    def kind(self) -> str:
        """ "pure" (computed by `sem` alone), "memory", "lane" (reads other lanes), "warp" (matrix instructions), "flow"
        (branches, calls, barriers: run by the engine), "async", "effect" (another effect on memory than these), "none"
        (no effect on results: `prefetch`, `fence`), or "assembled" where it is not executed."""
        return self.does.kind if self.executed else "assembled"

    @functools.cached_property
    def words(self) -> frozenset[str]:
        """Every word that some slot may hold."""
        return frozenset(word for slot in self.slots for word in slot.choices)

    @functools.cached_property
    def operand_counts(self) -> tuple[int, int]:
        """How many operands it takes, at least and at most; the two halves of `d|p` are one."""
        fewest = sum(1 for spec in self.operands if not spec.optional)
        return fewest, sum(1 for spec in self.operands if not spec.second)

    @functools.cached_property
    def required(self) -> tuple[Slot, ...]:
        """The slots that may not be left out."""
        return tuple(slot for slot in self.slots if not slot.optional)

    def could_hold(self, words: Sequence[str]) -> bool:
        """Whether there are slots for as many words, and one for each of them. Cheap: most entries end here."""
        return len(self.required) <= len(words) <= len(self.slots) and self.words.issuperset(words)


SPECIAL_TYPES = ("pred", "label", "any", "int", "vec", "addr")
"""Operand types that are not PTX types of a value (see the top of this file)."""


class Opcode:
    """An opcode with all its modifiers filled in: that of `form("fma.rn.ftz.f32")` has `.rnd == "rn"`, `.ftz == True`.

    A slot is an attribute of its name (dots and colons as underscores): the word it holds, None if it is absent. An
    optional literal such as `{.ftz}` is True or False. `opcode` is the whole word, `op` the table entry.
    """

    __slots__ = ("__dict__", "op", "opcode")

    def __init__(self, op: Op, opcode: str, values: dict[str, Any]) -> None:
        self.op, self.opcode = op, opcode
        self.__dict__.update(op.fixed)
        self.__dict__.update(values)

    def __getattr__(self, name: str) -> Any:
        # A slot that this entry does not have reads as absent, so that one `sem` can serve several entries. From now on
        # it is so for all opcodes, without this call: thousands of instructions ask.
        if name.startswith("__"):
            raise AttributeError(name)
        setattr(Opcode, name, None)
        return None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.opcode})"

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


_SLOT = re.compile(r"(\{)?\.([\w:]+)(?(1)\})")


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
