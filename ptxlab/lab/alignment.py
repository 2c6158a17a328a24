"""Two texts aligned line by line, by what each instruction does, whatever numbers its registers and labels have.

Compilers and builders number registers in the order they are made. One new instruction renames everything after it, and
a plain text diff lights up from there to the end. Here lines are first aligned by what they do; then one consistent
renaming from the old registers to the new is inferred, and a pair that agrees under it counts as the same instruction.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from ptxlab.isa.opcodes import writes_first
from ptxlab.isa.special_registers import SPECIAL_REGISTERS

Kind = Literal["same", "renamed", "changed", "added", "removed", "note"]

PTX_WORD = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<string>"(?:[^"\\]|\\.)*")
      | (?P<register>%[A-Za-z_$][\w$]*(?:\.(?:[xyzwrgba]|[bh]\d)\b)?|%\d[\w$]*)
      | (?P<label>\$[\w$]+)
      | (?P<word>[A-Za-z_][\w$]*(?:(?:\.|::)[\w$]+)*|\.[A-Za-z_]\w*(?:(?:\.|::)\w+)*)
      | (?P<number>0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}|[0-9][\w.]*)
      | (?P<punct>[^\s\w])""",
    re.VERBOSE | re.DOTALL,
)
_PYTHON = re.compile(r"(?P<word>[A-Za-z_]\w*)|(?P<number>\d[\w.]*)|(?P<punct>[^\s\w])")
_SASS = re.compile(
    r"""(?P<comment>^[0-9a-f]{4,}\b)
      | (?P<register>\b(?:UR|R|UP|P|B)\d+\b)
      | (?P<label>`\([^)]*\))
      | (?P<word>[A-Za-z_][\w$]*(?:\.[\w$]+)*)
      | (?P<number>0x[0-9a-f]+|\d[\w.]*)
      | (?P<punct>[^\s\w])""",
    re.VERBOSE,
)
_PATTERNS = {"ptx": PTX_WORD, "python": _PYTHON, "sass": _SASS}
_WRITE_NOTHING = ("ST", "RED", "BRA", "BRX", "BAR", "BSYNC", "WARPSYNC", "EXIT", "RET", "CALL", "MEMBAR", "NOP")
"""What opcodes of machine code begin with whose first register is read; all others write it."""
_BLOCK = 400_000  # cells of an alignment table that difflib may take (about 60 ms)


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the diff: 0-based line numbers in the old and the new text (None on the side that has no line).

    kind: "same", "renamed" (the same instruction on renumbered registers), "changed", "added", "removed", or "note"
    (a blank or comment line that only one side has). `left` and `right` are the character ranges that differ in a
    changed row.
    """

    kind: Kind
    a: int | None
    b: int | None
    left: tuple[tuple[int, int], ...] = ()
    right: tuple[tuple[int, int], ...] = ()


def compare(old: list[str], new: list[str], language: str = "ptx") -> list[Row]:
    """Aligns two texts line by line; every line of both appears in exactly one row, in order. language: "ptx", "sass"
    (its addresses are not words) or "python" (no word of it is a register)."""
    read = [_read(line, language) for line in old], [_read(line, language) for line in new]
    words = [r[0] for r in read[0]], [r[0] for r in read[1]]
    pairs = _align([r[1] for r in read[0]], [r[1] for r in read[1]])
    pairs = _fill_gaps(pairs, [r[2] for r in read[0]], [r[2] for r in read[1]])
    renaming = _Renaming(pairs, words[0], words[1])
    rows: list[Row] = []
    a = b = 0
    for i, j in [*pairs, (len(old), len(new))]:
        rows += [Row("removed" if words[0][k] else "note", k, None) for k in range(a, i)]
        rows += [Row("added" if words[1][k] else "note", None, k) for k in range(b, j)]
        if i < len(old):
            kind = renaming.judge(words[0][i], words[1][j])
            left, right = _marks(words[0][i], words[1][j], renaming) if kind == "changed" else ((), ())
            rows.append(Row(kind, i, j, left, right))
        a, b = i + 1, j + 1
    return rows


def carried(base: list[str], edited: list[str], other: list[str]) -> list[str] | None:
    """`other`, another build of the PTX `base`, with the changes that made `edited` of it, on its own registers. None
    where a change concerns lines, registers or labels that the two builds do not share."""
    old, new = ([_read(line, "ptx")[0] for line in text] for text in (base, other))
    shared = [(row.a, row.b) for row in compare(base, other) if row.kind in ("same", "renamed")]
    pairs = [(a, b) for a, b in shared if a is not None and b is not None]
    there = {-1: -1, **dict(pairs)}
    names = _Renaming(pairs, old, new).forward
    own = [{w[1] for words in text for w in words if _is_register(w)} for text in (old, new)]
    moved = {words[0][1] for k, words in enumerate(old) if [w[1] for w in words[1:]] == [":"] and k not in there}
    out = list(other)
    for tag, a, b, c, d in reversed(SequenceMatcher(None, base, edited, autojunk=False).get_opcodes()):
        if tag == "equal":
            continue
        places = [there.get(k, -2) for k in range(a, b) or (a - 1,)]
        words = [w for line in edited[c:d] for w in _read(line, "ptx")[0]]
        if -2 in places or any(w[1] in moved or (w[1] in own[1] - own[0] and w[1] not in names) for w in words):
            return None
        begin, end = (places[0], places[-1] + 1) if a < b else (places[0] + 1, places[0] + 1)
        kept = [other[k] for k in range(begin, end) if k not in places]
        out[begin:end] = [_renamed(line, names) for line in edited[c:d]] + kept
    return out


def _renamed(line: str, names: dict[str, str]) -> str:
    """A line of PTX with other names of its registers and labels."""
    for kind, text, at in reversed(_read(line, "ptx")[0]):
        if kind in _NUMBERED:
            line = line[:at] + names.get(text, text) + line[at + len(text) :]
    return line


def declares(line: str) -> bool:
    """Whether a line of PTX holds no instruction: it declares something, or opens or closes a block."""
    words = _read(line, "ptx")[0]
    return bool(words) and (words[0][1].startswith(".") or words[0][1] in "(){},;")


_NUMBERED = frozenset({"register", "label"})
Word = tuple[str, str, int]  # kind (a group of a pattern, or special), text, column


@functools.lru_cache(maxsize=1 << 14)  # the lines of one kernel come again in the next
def _read(line: str, language: str) -> tuple[tuple[Word, ...], str, str]:
    """The words, the shape and the opcode of a line."""
    words = _words(line, _PATTERNS[language])
    return words, _shape(words), _opcode(words)


def _words(line: str, pattern: re.Pattern[str]) -> tuple[Word, ...]:
    """The words of a line without its comments: comments are not instructions, and changes in them do not count."""
    out = []
    for found in pattern.finditer(line):
        kind, text = str(found.lastgroup), found.group()
        if kind != "comment":
            out.append(("special" if kind == "register" and text in SPECIAL_REGISTERS else kind, text, found.start()))
    return tuple(out)


def _is_register(word: Word) -> bool:
    """Whether a word is a register or label, whose number says nothing; special registers are words like any other."""
    return word[0] in _NUMBERED


def _shape(words: tuple[Word, ...]) -> str:
    """What a line does, without the numbers of its registers and labels: `%query12` reads `%query`."""
    if words and words[0][1] == ".reg":  # the counts of `%f<74>` are a consequence of numbering
        return " ".join(text for kind, text, _ in words if kind != "number")
    return " ".join(w[1].rstrip("0123456789") if _is_register(w) else w[1] for w in words)


def _start(words: tuple[Word, ...]) -> int:
    """Where the opcode stands: after the guard `@%p` or `@!%p`, if there is one."""
    if not words or words[0][1] != "@":
        return 0
    return 3 if len(words) > 1 and words[1][1] == "!" else 2


def _opcode(words: tuple[Word, ...]) -> str:
    """The first part of the opcode (`ld` of `@%p ld.global.f32`), or whatever else the line starts with."""
    rest = words[_start(words) :]
    if not rest:
        return ""
    text = rest[0][1]
    return text if text.startswith(".") else text.partition(".")[0]


def _align(a: list[str], b: list[str]) -> list[tuple[int, int]]:
    """Pairs of equal keys, increasing on both sides: lines that occur once are anchors, difflib does the rest."""

    def region(lo_a: int, hi_a: int, lo_b: int, hi_b: int) -> list[tuple[int, int]]:
        head, tail = [], []
        while lo_a < hi_a and lo_b < hi_b and a[lo_a] == b[lo_b]:
            head.append((lo_a, lo_b))
            lo_a, lo_b = lo_a + 1, lo_b + 1
        while lo_a < hi_a and lo_b < hi_b and a[hi_a - 1] == b[hi_b - 1]:
            hi_a, hi_b = hi_a - 1, hi_b - 1
            tail.append((hi_a, hi_b))
        middle: list[tuple[int, int]] = []
        if lo_a < hi_a and lo_b < hi_b:
            anchors = _anchors(a, b, lo_a, hi_a, lo_b, hi_b)
            if anchors:
                for i, j in [*anchors, (hi_a, hi_b)]:
                    middle += region(lo_a, i, lo_b, j)
                    if i < hi_a:
                        middle.append((i, j))
                    lo_a, lo_b = i + 1, j + 1
            elif (hi_a - lo_a) * (hi_b - lo_b) <= _BLOCK:
                matcher = SequenceMatcher(None, a[lo_a:hi_a], b[lo_b:hi_b], autojunk=False)
                for i, j, n in matcher.get_matching_blocks():
                    middle += [(lo_a + i + k, lo_b + j + k) for k in range(n)]
        return head + middle + tail[::-1]

    return region(0, len(a), 0, len(b))


def _anchors(a: list[str], b: list[str], lo_a: int, hi_a: int, lo_b: int, hi_b: int) -> list[tuple[int, int]]:
    """The longest increasing chain of keys that occur exactly once on both sides (patience diff)."""
    count_a, count_b = Counter(a[lo_a:hi_a]), Counter(b[lo_b:hi_b])
    place = {key: j for j, key in enumerate(b[lo_b:hi_b], lo_b) if count_b[key] == 1}
    pairs = [(i, place[a[i]]) for i in range(lo_a, hi_a) if count_a[a[i]] == 1 and a[i] in place and a[i]]
    tops: list[int] = []  # the smallest end of a chain of each length
    ends: list[int] = []
    back: list[int] = []
    for k, (_, j) in enumerate(pairs):
        at = bisect_left(tops, j)
        tops[at : at + 1] = [j]
        ends[at : at + 1] = [k]
        back.append(ends[at - 1] if at else -1)
    chain: list[tuple[int, int]] = []
    k = ends[-1] if ends else -1
    while k >= 0:
        chain.append(pairs[k])
        k = back[k]
    return chain[::-1]


def _fill_gaps(pairs: list[tuple[int, int]], a: list[str], b: list[str]) -> list[tuple[int, int]]:
    """Between aligned lines, pairs what is left by opcode: those are the changed instructions."""
    out: list[tuple[int, int]] = []
    i0 = j0 = 0
    for i, j in [*pairs, (len(a), len(b))]:
        if i0 < i and j0 < j:
            out += [(i0 + x, j0 + y) for x, y in _align(a[i0:i], b[j0:j]) if a[i0 + x]]
        if i < len(a):
            out.append((i, j))
        i0, j0 = i + 1, j + 1
    return out


# -- renaming ----------------------------------------------------------------------------------------------------------


class _Renaming:
    """One consistent renaming of the old registers and labels to the new, voted for by all aligned lines.

    A register that is written again under another name is followed from that line on, so that code that uses a register
    twice for two things (as assemblers' output does) compares equal too.
    """

    def __init__(self, pairs: list[tuple[int, int]], old: list[tuple[Word, ...]], new: list[tuple[Word, ...]]) -> None:
        votes = Counter(
            (before[1], after[1])
            for i, j in pairs
            for before, after in zip(old[i], new[j], strict=False)
            if before[0] in _NUMBERED and after[0] in _NUMBERED
        )
        self.forward: dict[str, str] = {}
        taken: set[str] = set()
        for (x, y), _ in votes.most_common():
            if x not in self.forward and y not in taken:
                self.forward[x] = y
                taken.add(y)

    def unequal(self, old: tuple[Word, ...], new: tuple[Word, ...]) -> list[int]:
        """The places in which two lines of as many words do not agree under the renaming."""
        forward = self.forward
        return [
            k
            for k, (x, y) in enumerate(zip(old, new, strict=True))
            if (forward.get(x[1]) != y[1] if x[0] in _NUMBERED and y[0] in _NUMBERED else x[1] != y[1] or x[0] != y[0])
        ]

    def judge(self, old: tuple[Word, ...], new: tuple[Word, ...]) -> Kind:
        """same, renamed or changed, for one aligned pair of lines, taken in order."""
        length = len(old) == len(new)
        wrong = self.unequal(old, new) if length else []
        alike = length and all(x[1] == y[1] and x[0] == y[0] for x, y in zip(old, new, strict=True))
        if alike and not wrong:
            return "same"
        if old and new and old[0][1] == new[0][1] == ".reg":
            return "renamed" if _shape(old) == _shape(new) else "changed"
        if not length:
            return "changed"
        target = _destination(old) if len(wrong) == 1 else -1
        if wrong == [target] and _is_register(old[target]) and _is_register(new[target]):
            self.forward[old[target][1]] = new[target][1]  # written anew under another name
            wrong = []
        if wrong:
            return "changed"
        return "same" if alike else "renamed"


def _destination(words: tuple[Word, ...]) -> int:
    """The position of the register that a line writes, or -1: stores and branches write none."""
    at = _start(words)
    if at + 1 >= len(words) or words[at][0] != "word":
        return -1
    opcode = words[at][1]
    writes = not opcode.startswith(_WRITE_NOTHING) if opcode[0].isupper() else writes_first(opcode)
    return at + 1 if writes else -1


def _marks(
    old: tuple[Word, ...], new: tuple[Word, ...], renaming: _Renaming
) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]:
    """The character ranges that differ in a pair of changed lines, one list a side."""
    left: list[tuple[int, int]] = []
    right: list[tuple[int, int]] = []
    keys_old = [renaming.forward.get(w[1], w[1]) if _is_register(w) else w[1] for w in old]
    keys_new = [w[1] for w in new]
    if [w[0] for w in old] == [w[0] for w in new]:  # most changed lines: another number, or another register
        stretches = [(k, k + 1, k, k + 1) for k, (x, y) in enumerate(zip(keys_old, keys_new, strict=True)) if x != y]
    else:
        found = SequenceMatcher(None, keys_old, keys_new, autojunk=False).get_opcodes()
        stretches = [(i0, i1, j0, j1) for tag, i0, i1, j0, j1 in found if tag != "equal"]
    for i0, i1, j0, j1 in stretches:
        left += [(w[2], w[2] + len(w[1])) for w in old[i0:i1]]
        right += [(w[2], w[2] + len(w[1])) for w in new[j0:j1]]
    return tuple(left), tuple(right)
