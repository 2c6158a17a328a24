"""Whether `.version` and `.target` are at the head of a text, exist, fit each other, and have what the text uses, by
the rules of NVIDIA's assembler."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeGuard

from ptxlab.isa import Action, Form
from ptxlab.isa.special_registers import LATER
from ptxlab.targets import FIRST, NEWEST, VERSIONS
from ptxlab.text.lexer import Token
from ptxlab.text.model import Declaration, Directive, Function, Module
from ptxlab.text.spelling import nearest

BESIDES = ("texmode_unified", "texmode_independent", "debug", "map_f64_to_f32")
"""What may follow the name of a target."""
FIRST_WITHOUT_32_BITS = 90
"""The number of the first target that has no 32-bit addresses in global memory."""
CONFLICTS = ((".maxntid", ".reqntid"), (".reqnctapercluster", ".maxclusterrank"))
"""Directives that a function has not both."""
OLDEST_VERSION, OLDEST_TARGET = (2, 0), 20
"""These rules were compared with nothing older: of older texts nothing is said."""


@dataclass(frozen=True, slots=True)
class Lack:
    """What is missing, and the directive to write instead, or the opcode."""

    message: str
    directive: str = ""
    opcode: str = ""


@dataclass(frozen=True, slots=True)
class Since:
    """The version and the target of a text. number: 90 for sm_90a; 0 where nothing is said of the target."""

    version: tuple[int, int]
    target: str
    number: int

    @classmethod
    def of(cls, module: Module) -> Since:
        """What a module's directives say."""
        match = re.fullmatch(r"sm_(\d+)[af]?", module.target)
        number = int(match[1]) if match else 0
        return cls(module.version, module.target, number if number >= OLDEST_TARGET else 0)

    def lack_of(self, word: str) -> Lack | None:
        """Why a text cannot have a special register or a directive of a function; None where it can."""
        version, number = LATER.get(word, ((0, 0), 0))
        if self.version < version:
            needed, given = _dotted(version), _dotted(self.version)
            return Lack(f"{word} needs PTX {needed} or later; this text is .version {given}", f".version {needed}")
        if self.number and self.number < number:
            return Lack(f"{word} needs sm_{number} or later; this text is for {self.target}", f".target sm_{number}")
        return None

    def lack(self, found: Form) -> Lack | None:
        """Why a text cannot have an instruction; None where it can."""
        op = found.op
        if op.also is not None and self.version >= op.also[0] and self.number >= op.also[1]:
            return None
        if self.version >= OLDEST_VERSION and found.version > self.version:
            needed = _dotted(found.version)
            says = f"{found.opcode} needs PTX {needed} or later; this text is .version {_dotted(self.version)}"
            return Lack(says, f".version {needed}")
        if not self.number:
            return None
        if found.sm > self.number or 0 < op.until <= self.number:
            least = f"sm_{found.sm}{'a' * op.specific}"
            later = "" if op.specific else " or later"
            return Lack(f"{found.opcode} needs {least}{later}; this text is for {self.target}", f".target {least}")
        if op.specific and self.target[-1].isdigit():
            says = f"{found.opcode} is not in {self.target}, only in targets with a letter after the number"
            return Lack(says, f".target {self.target}a")
        narrow = op.does is Action.CONVERT_ADDRESS and found.to is not None and found.type == "u32"
        if narrow and self.number >= FIRST_WITHOUT_32_BITS:
            says = f"{found.opcode} is for 32-bit addresses, which {self.target} does not have"
            return Lack(says, opcode=found.opcode.replace("u32", "u64"))
        if op.ended is not None and self.version >= op.ended[0] and self.number >= op.ended[1]:
            ended = f"{found.opcode} ended with PTX {_dotted(op.ended[0])} on sm_{op.ended[1]}"
            instead = "which also takes the mask of the participating lanes, replaces it"
            opcode = found.opcode.replace(op.name, f"{op.name}.sync", 1)
            return Lack(f"{ended}; {op.name}.sync, {instead}", opcode=opcode)
        return None


# -- the head of a text ------------------------------------------------------------------------------------------------


def mistakes_of_head(module: Module) -> Iterator[tuple[Token, Lack]]:
    """What is wrong with `.version` and `.target`, and where: they begin the text in this order, exist, and fit."""
    first, second = (*module.items[:2], None, None)[:2]
    if first is None:
        return
    if not _named(first, "version"):
        needed = max(FIRST.get(module.target, (0, 0)), (8, 0))
        message = "the text does not begin with the .version of PTX that it is written in"
        yield _start(first), Lack(message, f".version {_dotted(needed)}")
        return
    major, minor = module.version
    if module.version < NEWEST and not 0 <= minor <= VERSIONS.get(major, -1):
        at = min(v for v in VERSIONS.items() if v[0] >= major)
        yield first.tokens[1], Lack(f"there is no PTX {major}.{minor}", f".version {_dotted(at)}")
    if not _named(second, "target"):
        message = "after .version the text does not say which .target it is for"
        yield _start(second or first), Lack(message, ".target sm_80" if module.version >= (7, 0) else ".target sm_50")
        return
    yield from _mistakes_of_target(module, second)
    narrow = module.address_size == 32 and Since.of(module).number >= FIRST_WITHOUT_32_BITS
    for item in module.items if narrow else ():
        if _named(item, "address_size"):
            yield item.tokens[1], Lack(f"{module.target} has 64-bit addresses only", ".address_size 64")


def _mistakes_of_target(module: Module, directive: Directive) -> Iterator[tuple[Token, Lack]]:
    """What is wrong with the words of a `.target`."""
    names = [token for token in directive.tokens[1:] if token.text != ","]
    for which, token in enumerate(names):
        name = token.text.replace("compute_", "sm_")
        needed = FIRST.get(name)
        if needed is not None and needed > module.version:
            old, new = _dotted(module.version), _dotted(needed)
            message = f"PTX {old} does not have {token.text}; PTX {new} is the first that does"
            yield token, Lack(message, f".version {new}")
        elif needed is None and module.version <= NEWEST and not (which and name in BESIDES):
            close = nearest(name, tuple(FIRST), 1, 0.6)
            yield token, Lack(f"there is no target {token.text}", f".target {close[0]}" if close else "")


def _named(item: object, name: str) -> TypeGuard[Directive]:
    return isinstance(item, Directive) and item.name == name


def _start(item: Function | Declaration | Directive) -> Token:
    """The first token of an item."""
    return (item.head if isinstance(item, Function) else item.tokens)[0]


def _dotted(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))
