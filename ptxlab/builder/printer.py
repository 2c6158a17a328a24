"""From nested lists to PTX text: labels and branches, `.reg` declarations by type, aligned columns, comments once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ptxlab.builder.builder import Builder
from ptxlab.builder.emit import Instr, Mem, Vec
from ptxlab.builder.nodes import If, Loop, Node
from ptxlab.builder.registers import Register
from ptxlab.builder.source import Site
from ptxlab.errors import Span

WIDTH = 104
INDENT = "    "
REGISTER_ORDER = ("pred", "b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64")
FALLBACK = {"p": "pred", "h": "b16", "rs": "b16", "r": "b32", "hh": "b32", "rd": "b64", "f": "f32", "fd": "f64"}
"""What registers without a name are declared as, by the prefix of their number."""


@dataclass(slots=True)
class Line:
    """A line of the body: an instruction (`head` is guard and opcode) or a label (`head` alone)."""

    head: str
    operands: str
    site: Site | None
    named: bool = False
    label: bool = False


def text(k: Builder, *, loc: bool = False) -> tuple[str, dict[int, Span]]:
    """The PTX of a complete kernel, and the Python span of each of its lines (1-based)."""
    lines: list[Line] = []
    _lower(k.body.nodes, lines)
    files: list[str] = []
    body, spans = _body(lines, files if loc else None)
    head = [f".version {k._version[0]}.{k._version[1]}", f".target {k.arch}", ".address_size 64"]
    head += [f'.file {n} "{file}"' for n, file in enumerate(files, 1)]
    head.append("")
    head += [f".extern .shared .align {a.align} .{a.type} {a.name}[];" for a in k.arrays if not a.count]
    if any(not a.count for a in k.arrays):
        head.append("")
    head += [f"// {line}".rstrip() for line in k.doc]
    head += _signature(k)
    head.append("{")
    head += _declarations(k)
    offset = len(head)
    ptx = "\n".join([*head, *body, "}", ""])
    return ptx, {line + offset: span for line, span in spans.items()}


# -- lowering ----------------------------------------------------------------------------------------------------------


def _lower(nodes: Iterable[Node], out: list[Line]) -> None:
    """Appends the lines of a body, structure turned into labels and branches."""
    for node in nodes:
        if isinstance(node, Instr):
            guard = f"@{'!' if node.negated else ''}{node.guard} " if node.guard is not None else ""
            out.append(Line(guard + node.opcode, _operands(node.operands), node.site, node.named))
        elif isinstance(node, If):
            _lower_if(node, out)
        elif isinstance(node, Loop):
            _lower_loop(node, out)
        else:
            label = f"{node.where}_{node.loop.name}"
            out.append(Line(f"@{node.condition} bra", label, node.site))


def _lower_if(node: If, out: list[Line]) -> None:
    n, other = node.number, node.other
    out.append(Line(f"@!{node.condition} bra", f"else_{n}" if other is not None else f"endif_{n}", node.site))
    _lower(node.then.nodes, out)
    if other is not None:
        out.append(Line("bra.uni", f"endif_{n}", node.site))
        out.append(Line(f"else_{n}:", "", None, label=True))
        _lower(other.nodes, out)
    out.append(Line(f"endif_{n}:", "", None, label=True))


def _lower_loop(node: Loop, out: list[Line]) -> None:
    name = node.name
    out.append(Line(f"loop_{name}:", "", None, label=True))
    _lower(node.head.nodes, out)
    out.append(Line(f"@{'' if node.leave_if else '!'}{node.test} bra", f"end_{name}", node.site))
    _lower(node.body.nodes, out)
    if node.continued:
        out.append(Line(f"next_{name}:", "", None, label=True))
    _lower(node.step.nodes, out)
    out.append(Line("bra.uni", f"loop_{name}", node.site))
    out.append(Line(f"end_{name}:", "", None, label=True))


def _operands(operands: Sequence[Any]) -> str:
    return ", ".join([o if type(o) is str else _operand(o) for o in operands])


def _operand(operand: Any) -> str:
    if isinstance(operand, Register):
        return str(operand)
    if isinstance(operand, Mem):
        place = "" if operand.place is None else f", {_operand(operand.place)}"
        return f"[{operand.base}{f'+{operand.offset}' if operand.offset else ''}{place}]"
    if isinstance(operand, Vec):
        inner = [_operand(o) for o in operand.elements]
        return "|".join(inner) if operand.pair else "{" + ", ".join(inner) + "}"
    return str(operand)


# -- the body's text ---------------------------------------------------------------------------------------------------


def _body(lines: list[Line], files: list[str] | None) -> tuple[list[str], dict[int, Span]]:
    """The lines' text with aligned columns and each Python line's comment once; spans by index from 1."""
    column = min(max((len(x.head) for x in lines if not x.label), default=0), 24)
    first = _comment_lines(lines)
    texts = [x.head if x.label else f"{INDENT}{x.head:<{column}} {x.operands}".rstrip() + ";" for x in lines]
    commented = [len(texts[n]) for n in first]
    beside = min(max(commented, default=0), 64) + 2
    out: list[str] = []
    spans: dict[int, Span] = {}
    above: set[tuple[str, int]] = set()
    last: tuple[str, int] | None = None
    for n, x in enumerate(lines):
        site = x.site
        if site is not None:
            key = (site.span.file, site.span.line)
            if (site.above or site.gap) and key not in above:
                above.add(key)
                if site.gap and out and out[-1] and not lines[n - 1].label:
                    out.append("")
                out += [f"{INDENT}// {words}" for words in site.above]
            if files is not None and key != last and not x.label:
                last = key
                if site.span.file not in files:
                    files.append(site.span.file)
                out.append(f"{INDENT}.loc {files.index(site.span.file) + 1} {site.span.line} {site.span.column + 1}")
        comment = first.get(n, "")
        out.append(f"{texts[n]:<{beside}}// {comment}" if comment else texts[n])
        if site is not None:
            spans[len(out)] = site.span
    return out, spans


def _comment_lines(lines: list[Line]) -> dict[int, str]:
    """Index -> comment: of all instructions of a Python line the one that takes the name assigned there, else the
    first, carries the line's comment; later copies (of an unrolled loop) do not."""
    best: dict[tuple[str, int], tuple[bool, int, str]] = {}
    for n, x in enumerate(lines):
        if x.site is None or not x.site.comment:
            continue
        key = (x.site.span.file, x.site.span.line)
        known = best.get(key)
        if known is None or (x.named and not known[0]):
            best[key] = (x.named, n, x.site.comment)
    return {n: comment for _, n, comment in best.values()}


# -- declarations ------------------------------------------------------------------------------------------------------


def _signature(k: Builder) -> list[str]:
    opening = f".visible .entry {k.name}("
    if not k.parameters:
        return [opening + ")", *_directives(k)]
    lines = [INDENT + p.declaration for p in k.parameters]
    return [opening, *[line + "," for line in lines[:-1]], lines[-1], ")", *_directives(k)]


def _directives(k: Builder) -> list[str]:
    return [f".{name} {words}" for name, words in k.directives.items()]


def _declarations(k: Builder) -> list[str]:
    """`.shared` and `.reg` lines, registers grouped by type, families as `%acc<64>`."""
    out = [f"{INDENT}.shared .align {a.align} .{a.type} {a.name}[{a.count}];" for a in k.arrays if a.count]
    families = {f"{stem}{n}" for stem, (_, count) in k.families.items() for n in range(count)}
    named: dict[str, list[str]] = {}
    for stem, (cls, count) in k.families.items():
        named.setdefault(cls.declared, []).append(f"%{stem}<{count}>")
    numbers: dict[str, list[str]] = {}
    for r in k.registers:
        if r.dead is not None or not r.label or r.label in families:
            continue
        if r.hint is None:
            numbers.setdefault(r.type.prefix, []).append(r.label)
        else:
            named.setdefault(r.type.declared, []).append(f"%{r.label}")
    for prefix, labels in numbers.items():
        declared = FALLBACK[prefix]
        count = len(labels) + 1
        whole = {f"{prefix}{n}" for n in range(1, count)} == set(labels) and not k._owns(f"{prefix}0")
        named.setdefault(declared, []).extend([f"%{prefix}<{count}>"] if whole else [f"%{x}" for x in labels])
    for declared in REGISTER_ORDER:
        if declared in named:
            out += _wrapped(f"{INDENT}.reg .{declared:<5}", named[declared])
    return [*out, ""] if out else []


def _wrapped(opening: str, names: list[str]) -> list[str]:
    """`.reg .f32 %a, %b;` in lines of at most `WIDTH` characters."""
    out, line = [], opening
    for name in names:
        if line != opening and len(line) + len(name) + 3 > WIDTH:
            out.append(line + ";")
            line = opening
        line += f" {name}" if line == opening else f", {name}"
    return [*out, line + ";"]
