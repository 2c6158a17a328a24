"""Instructions of LLVM as the emitter writes them, taken apart again."""

from __future__ import annotations

import re
from collections.abc import Container

NAME = re.compile(r"%[\w.$-]+")
LET = re.compile(r"(%[\w.$-]+) = (.*)")
WAY = re.compile(r"\[(<[^>]*>|[^,\]]+), %([\w.$-]+)\]")
TWO = re.compile(r"(add|sub|mul|shl) (i32|i64) (\S+), (\S+)$")
BITS_OF_TWO = re.compile(r"(and|or|xor) i32 (\S+), (\S+)$")
WIDTH = re.compile(r"(sext|zext|trunc) (\w+) (\S+) to (\w+)$")
COMPARED = re.compile(r"icmp (\w+) (i1|i32|i64) (\S+), (\S+)$")
CHOSEN = re.compile(r"select i1 (\S+), \S+ (\S+), \S+ (\S+)$")
ROTATED = re.compile(r"call i64 @llvm\.fshr\.i64\(i64 (\S+), i64 \S+, i64 (\d+)\)$")
PLACE = re.compile(r"getelementptr i8, ptr (%[\w.$-]+), i64 (\d+)$")
LOAD = re.compile(r"load (<[^>]+>|\w+), ptr (%[\w.$-]+)")
STORE = re.compile(r"store (<[^>]+>|\w+) (.+?), ptr (%[\w.$-]+)(?:, align \d+)?$")
IF = re.compile(r"br i1 (\S+), label %([\w.$-]+), label %([\w.$-]+)(.*)$")
LABEL = re.compile(r"label %([\w.$-]+)")
INTRINSIC = re.compile(r"call \w+ @llvm\.(usub\.sat|fsh[lr]|[su]min|[su]max|abs|ctpop|ct[tl]z)\.")
LIVE = "%lanes.live"
"""The lanes of a warp that is under a mask, of which there are some, i32."""
PURE = ("add", "sub", "mul", "shl", "lshr", "ashr", "and", "or", "xor", "icmp", "zext", "sext", "trunc", "select")
"""Words of instructions that only compute."""
_VECTORS = ("getelementptr", "bitcast", "insertelement", "extractelement", "shufflevector", "phi ", "fcmp")
"""The same of pointers, vectors and floats."""


def size(type_: str) -> int:
    """The bytes of a type, or more."""
    lanes, _, element = type_.strip("<>").rpartition(" x ")
    return 8 * int(lanes or 1) if element else 8


def made_type(text: str) -> str:
    """The type of the result of a load or of integer arithmetic."""
    found = WIDTH.match(text)
    return found[4] if found else text.split()[1].rstrip(",")


def names_in(lines: list[str]) -> set[str]:
    """The names that stand in lines."""
    return {name for line in lines for name in NAME.findall(line)}


def without_unused(lines: list[str], known: Container[str]) -> list[str]:
    """The lines, without those whose only effect is a value that no later line reads, or that is known already."""
    out, used = list[str](), set[str]()
    for line in reversed(lines):
        found = LET.match(line.strip())
        if found and (found[1] in known or (found[1] not in used and _only_makes(found[2]))):
            continue
        out.append(line)
        used.update(NAME.findall(found[2] if found else line))
    return out[::-1]


def _only_makes(text: str) -> bool:
    """Whether an instruction has no effect but its result."""
    return text.startswith((*PURE, *_VECTORS)) or bool(LOAD.match(text) or INTRINSIC.match(text))


def folded(text: str) -> str | None:
    """The result of an instruction, where its constants alone decide it."""
    if text.startswith("= "):
        return text[2:]
    if found := COMPARED.match(text):
        order, _, a, b = found.groups()
        if order in ("eq", "ne") and a.lstrip("-").isdigit() and b.lstrip("-").isdigit():
            return str((int(a) == int(b)) == (order == "eq")).lower()
    if found := CHOSEN.match(text):
        return {"true": found[2], "false": found[3]}.get(found[1])
    if found := re.match(r"(add|sub|and|or|xor|getelementptr) (?:i8, )?\S+ (\S+), (?:i64 )?(\S+)$", text):
        neutral = {"and": ("-1", "true")}.get(found[1], ("0", "false"))
        return found[2] if found[3] in neutral else None
    return None
