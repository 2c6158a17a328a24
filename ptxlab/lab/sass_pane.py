"""The SASS pane: machine code with highlighting, linked line by line to the PTX that it came from, with hover docs.

The link is line information: each PTX line gets a `.loc` of its own before NVIDIA's assembler sees it, and the
disassembler says for every machine instruction which `.loc` was in force. One PTX instruction may become none, one or
many machine instructions, and the assembler moves them about, so lines of both sides interleave.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Any

from ptxlab.lab.word_table import words
from ptxlab.names import source_name

_WORD = re.compile(
    r"""(?P<g>@!?U?P\w+)|(?P<l>`\([^)]*\))|(?P<r>\b(?:UR|R|UP|P|B)\d+(?:\.\w+)*|\bU?RZ\b|!?\bU?PT\b)"""
    r"""|(?P<x>\bSR_[\w.]+|\bc\[[^\]]*\]\[[^\]]*\]|\bdesc\b)|(?P<n>-?\b(?:0x[0-9a-f]+|\d[\d.e+-]*)\b|[+-]INF)""",
    re.VERBOSE,
)

OPCODES = {name: word.says for name, word in words("machine").items()}
"""What machine opcodes do, in our words."""


def pane(built: Any, arch: str | None, entry: str, options: Sequence[str] = ()) -> dict[str, Any]:
    """{state: "ok", arch, lines, links, docs, instructions}, {state: "missing", note} where the disassembler or the
    assembler is not installed. `lines` are HTML, with the assembler's options beside the kernel's name, `links` pairs
    [PTX line, row], both from 1. Raises `AssemblyError`."""
    from ptxlab import gpu
    from ptxlab.errors import UnavailableError

    try:
        code = gpu.sass(built, arch, options=options)
    except UnavailableError as missing:
        return {"state": "missing", "note": f"needs ptxlab[sass]: {str(missing).splitlines()[0]}"}
    lines: list[str] = []
    links: list[list[int]] = []
    docs: dict[str, str] = {}
    count = 0
    for function in sorted(code.functions, key=lambda f: f.name != entry):
        if lines:
            lines.append("")
        told = f' <span class="s">ptxas {html.escape(" ".join(options))}</span>' if options else ""
        lines.append(f'<span class="d">{html.escape(source_name(function.name))}</span>{told}')
        for instruction in function.instructions:
            lines.append(_html(instruction))
            count += 1
            word = instruction.opcode.partition(".")[0]
            if word in OPCODES:
                docs[word] = OPCODES[word]
            if instruction.line:
                links.append([instruction.line, len(lines)])
    return {
        "state": "ok",
        "arch": code.arch,
        "lines": lines,
        "links": links,
        "docs": docs,
        "instructions": count,
    }


def _html(instruction: Any) -> str:
    """An instruction as HTML with the classes of `lab.highlight`, its address in front."""
    text = instruction.text
    opcode = instruction.opcode
    before, _, after = text.partition(opcode)
    first, *modifiers = opcode.split(".")
    word = f'<span class="o">{html.escape(first)}'
    word += "".join(f'<span class="m">.{html.escape(m)}</span>' for m in modifiers) + "</span>"
    address = f'<span class="c">{instruction.address:04x}</span>'
    return f"{address} {_words(before):<4}{word}{_words(after)}"


def _words(text: str) -> str:
    out, at = [], 0
    for found in _WORD.finditer(text):
        css = {"g": "x"}.get(str(found.lastgroup), str(found.lastgroup))
        out += [html.escape(text[at : found.start()]), f'<span class="{css}">{html.escape(found.group())}</span>']
        at = found.end()
    return "".join([*out, html.escape(text[at:])])
