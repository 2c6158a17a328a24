"""The line to write instead of a call that the builder does not have: in PTX's dots, in CUDA's words, half complete."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from keyword import iskeyword

from ptxlab.builder.plan import telling
from ptxlab.builder.registers import TYPES, Register
from ptxlab.builder.source import Site
from ptxlab.isa import TABLE, Op, find_form
from ptxlab.isa.cuda_lines import lines
from ptxlab.isa.meanings import meant

LINES = 20
"""A call that is longer is shown without its arguments."""
_USUAL = {("shfl", "c"): "31", ("shfl", "membermask"): "0xffffffff", ("vote", "membermask"): "0xffffffff"}
"""What stands for an operand that a call leaves out."""
_USUAL_WORDS = frozenset({"gpu", "gl", "bfly", "m16n8k16", "arrive"})
"""Words that are suggested before the others that could be there."""


@dataclass(frozen=True)
class Call:
    """A call as it is written: `k.bar.sync(0)`; a name alone has no arguments."""

    function: str
    arguments: Sequence[str] = ()
    keywords: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        given = [*self.arguments, *(f"{name}={value}" for name, value in self.keywords.items())]
        return f"{self.function}({', '.join(given)})"


def call_at(site: Site) -> Call:
    """The call that begins at a place of the source, or the name there; `k` where the source is gone."""
    text = "".join(linecache.getlines(site.span.file)[site.span.line - 1 :][:LINES])
    text = text.encode()[site.span.column :].decode(errors="replace")
    name = re.match(r"\w+(\s*\.\s*\w+)*", text)
    if name is None:
        return Call("k")
    for end in re.finditer(r"\)", text) if text[name.end() :].lstrip().startswith("(") else ():
        try:
            node = ast.parse(text[: end.end()], mode="eval").body
        except SyntaxError:
            continue
        if isinstance(node, ast.Call):
            keywords = {k.arg: _text(text, k.value) for k in node.keywords if k.arg}
            return Call(ast.unparse(node.func), [_text(text, a) for a in node.args], keywords)
    return Call(re.sub(r"\s", "", name[0]))


def _text(text: str, node: ast.expr) -> str:
    return " ".join((ast.get_source_segment(text, node) or "x").split())


def address_of(value: object) -> str:
    """The pointer to what was loaded, `p + i` for the register `p[i]`; "" for another value."""
    found = re.fullmatch(r"(.+?)\[(.+)\]", value.site.text if isinstance(value, Register) else "")
    return f"{found[1]} + {found[2]}" if found else ""


def instead(call: Call) -> str:
    """The line for a call of something that the builder does not have; "" where nothing is known of the name."""
    k, *words = call.function.split(".")
    known = lines(words[0]) if words else None
    if known is not None:
        k_line = known.python_for(call.arguments)
        member = f".{words[1]}" if len(words) > 1 and k_line.startswith("k.") and "(" not in k_line else ""
        return re.sub(r"\bk\.", f"{k}.", k_line) + (member or (".x" if known.ptx in _TRIPLES else ""))
    type_ = next((t for t in (*meant(words[-1]), words[-1]) if t in TYPES), "") if len(words) == 1 else ""
    if type_:
        number = call.arguments and re.fullmatch(r"[-+.\w]*[0-9][.\w]*", call.arguments[0]) is not None
        return f"{k}.mov({call.arguments[0]}, {type_})" if number else f"{k}.cvt({type_}, {(*call.arguments, 'x')[0]})"
    if len(words) == 1:
        words = words[0].split("_")
    words = [word.rstrip("_") for word in words if word]
    if words and words[0] in TABLE:
        return in_keywords(replace(call, function=k), words)
    types = [word for word in words[1:] if word in TYPES]
    return str(replace(call, function=f"{k}.{words[0]}", arguments=[*types, *call.arguments])) if types else ""


_TRIPLES = ("%tid", "%ctaid", "%ntid", "%nctaid")


def in_keywords(call: Call, words: Sequence[str]) -> str:
    """A call of the builder that names an instruction by all its words, `fma`, `rn` and `f32`."""
    k, name, opcode = call.function, words[0], ".".join(words)
    if opcode in ("bar.sync", "barrier.sync") and not call.keywords:
        given = [] if list(call.arguments) == ["0"] else call.arguments
        return str(Call(f"{k}.barrier", given))
    if name == "cvt" and len(words) > 2:
        return str(Call(f"{k}.cvt", [words[-2], *call.arguments]))
    opcode = {"cp.async": "cp.async.ca.shared.global"}.get(opcode, opcode)
    if find_form(opcode) is not None:
        return str(Call(f"{k}.op", [f'"{opcode}"', *call.arguments], call.keywords))
    return completed(name, replace(call, function=f"{k}.{name}", arguments=[*call.arguments, *map(repr, words[1:])]))


def completed(name: str, call: Call) -> str:
    """A call of an instruction's method with the operands and words that it lacks; "" where it has too many, or where
    the source is gone."""
    if "." not in call.function:
        return ""
    if (name, len(call.arguments)) in (("ld", 2), ("st", 3)):
        k, _, _ = call.function.rpartition(".")
        return str(replace(call, function=f"{k}.load" if name == "ld" else f"{k}.store"))
    words = {word.strip("'\"") for word in (*call.arguments, *call.keywords.values(), *call.keywords)}
    words &= {word for e in TABLE[name] for word in e.words}
    count = sum(not a.startswith(("'", '"')) for a in call.arguments)

    def far(entry: Op) -> tuple[int, ...]:
        sources = [s for s in entry.operands if s.role != "dst"]
        least = sum(not s.optional for s in sources)
        return (
            not entry.words.issuperset(words),
            "sync" not in entry.words and any("sync" in e.words for e in TABLE[name]),
            max(least - count, count - len(sources), 0),
            len(telling(entry)),
            entry.words.isdisjoint(_USUAL_WORDS),
        )

    entry = min(TABLE[name], key=far)
    said: dict[str, str] = {}
    arguments: list[str] = []
    for key, value in [*(("", value) for value in call.arguments), *call.keywords.items()]:
        word = value.strip("'\"")
        if not key and word == value:
            arguments.append(value)
            continue
        slot = next((s for s in entry.slots if word in s.choices), None)
        slot = slot or next((s for s in entry.slots if key in (s.name, *s.choices)), None)
        if slot is not None:
            chosen = next(w for w in (word, key, *meant(word), slot.choices[0]) if w in slot.choices)
            said[slot.name] = "True" if slot.literal else f'"{chosen}"' if word != value or value == "True" else value
        elif key in ("into", "both"):
            said[key] = value
    sources = [s for s in entry.operands if s.role != "dst"]
    if len(arguments) > len(sources):
        return ""
    for spec in sources[len(arguments) :]:
        if not spec.optional:
            arguments.append(_USUAL.get((name, spec.name), spec.name))
    for slot in telling(entry):
        usual = next((w for w in slot.choices if w in _USUAL_WORDS), slot.choices[0])
        said.setdefault(slot.name, "True" if slot.literal else f'"{usual}"')
    return str(Call(call.function, arguments, {f"{n}_" if iskeyword(n) else n: text for n, text in said.items()}))
