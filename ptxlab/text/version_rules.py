"""Whether the `.version` and the `.target` of a text have what it uses, by the rules of NVIDIA's assembler."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ptxlab.isa import Action, Form
from ptxlab.targets import TARGETS
from ptxlab.text.model import Module

OLDEST_VERSION, OLDEST_TARGET = (6, 4), 75
"""The assembler that these rules were compared with knows nothing older: of older texts nothing is said."""


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

    def lack(self, found: Form) -> Lack | None:
        """Why a text cannot have an instruction; None where it can."""
        op, (major, minor) = found.op, self.version
        if op.also is not None and self.version >= op.also[0] and self.number >= op.also[1]:
            return None
        if self.version >= OLDEST_VERSION and found.version > self.version:
            needed = ".".join(map(str, found.version))
            return Lack(
                f"{found.opcode} needs PTX {needed} or later; this text is .version {major}.{minor}",
                f".version {needed}",
            )
        if not self.number:
            return None
        if found.sm > self.number:
            least = f"sm_{found.sm}{'a' * op.specific}"
            later = "" if op.specific else " or later"
            return Lack(f"{found.opcode} needs {least}{later}; this text is for {self.target}", f".target {least}")
        if op.specific and self.target[-1].isdigit():
            return Lack(
                f"{found.opcode} is not in {self.target}, only in targets with a letter after the number",
                f".target {self.target}a",
            )
        if op.does is Action.CONVERT_ADDRESS and found.to is not None and found.type == "u32" and self.number >= 90:
            return Lack(
                f"{found.opcode} is for 32-bit addresses, which {self.target} does not have",
                opcode=found.opcode.replace("u32", "u64"),
            )
        if op.ended is not None and self.version >= op.ended[0] and self.number >= op.ended[1]:
            ended = ".".join(map(str, op.ended[0]))
            return Lack(
                f"{found.opcode} ended with PTX {ended} on sm_{op.ended[1]}; {op.name}.sync, which also takes "
                "the mask of the lanes that take part, is there instead",
            )
        return None

    def unknown(self) -> Lack | None:
        """Why the target does not exist in the version; None where it does, or nothing is known of it."""
        target = TARGETS.get(self.target)
        if target is None or not self.number or not OLDEST_VERSION <= self.version < target.version:
            return None
        (major, minor), needed = self.version, ".".join(map(str, target.version))
        return Lack(
            f"PTX {major}.{minor} does not have {self.target}; PTX {needed} is the first that does",
            f".version {needed}",
        )
