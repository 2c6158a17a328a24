"""What the mouse finds out about a word: opcodes of PTX, modifiers, operands and others; CUDA C++; machine opcodes."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ptxlab import isa
from ptxlab.isa import glossary
from ptxlab.isa.docs import explain
from ptxlab.isa.memory import SECTORS
from ptxlab.lab import descriptors
from ptxlab.names import source_name
from ptxlab.text.model import Declaration, Module

# -- the table of words, `words.tsv`: of CUDA C++, directives of PTX, opcodes of machine code --------------------------


@dataclass(frozen=True)
class Word:
    """What a word means, how it is written, and the PTX that it becomes, "" where that depends or is none."""

    says: str
    syntax: str
    ptx: str
    kind: str


@functools.cache
def table(*kinds: str) -> dict[str, Word]:
    """The words of these kinds by name, in the order of the table."""
    found, kind = {}, ""
    for line in Path(__file__).with_name("words.tsv").read_text(encoding="utf-8").splitlines():
        if heading := re.fullmatch(r"\[(\w+)\]", line):
            kind = heading[1]
        elif kind in kinds and line and line[0] != "#":
            name, syntax, ptx, says = line.split("\t")
            found[name] = Word(says, syntax, ptx, kind)
    return found


CUDA = table("declaration", "variable", "type", "function")
"""Those of CUDA C++, by name, without the namespace that they are in: for `%%cuda` cells as they are typed."""


def explain_cuda(word: str) -> dict[str, Any] | None:
    """The docs of a word as `lab.language.explain` has them, None where there is nothing to say. A namespace before it
    and a member after it, as in `wmma::mma_sync` and `threadIdx.x`, are left out."""
    name = word.partition(".")[0].rpartition("::")[2]
    found = CUDA.get(name)
    if found is None:
        return None
    told: dict[str, Any] = {"word": name, "says": found.says}
    if found.syntax:
        told["syntax"] = found.syntax
    if found.ptx:
        member = word.removeprefix(name) if found.kind == "variable" and word.startswith(f"{name}.") else ""
        told["terms"] = [["in PTX", f"`{found.ptx}{member}`"]]
    return told


# -- the words of a kernel ---------------------------------------------------------------------------------------------

DIRECTIVES = {name: word.says for name, word in table("directive").items()}
"""Directives and what they say."""

BASIC = {"register", "warp", "lane", "block", "PTX"}
"""Terms of the glossary that every reader of PTX knows after the first notebook: hover texts do not repeat them."""
OF_SECTORS, OF_BANKS = ("sector", "coalesced"), ("bank", "bank conflict")
"""Terms that explain how long an access takes: to global memory, and to shared memory."""
SERVED = {
    "shared": "The 32 addresses of a warp are served by 32 banks, each of which holds every 32nd word: lanes that want "
    "different words of one bank are served one after the other, a bank conflict.",
    "param": "Every thread reads the same address, from a cache of constants.",
    "const": "A cache serves one address at a time: it is fast where all lanes of the warp read the same one.",
    "local": "Each thread has its own; neighbouring lanes lie side by side, so that one access serves a warp.",
}
"""What stands in place of the sentence about sectors, by the space that an opcode names."""


@functools.cache
def opcode(word: str) -> dict[str, Any]:
    """{says, syntax, parts: [[modifier, doc]], operands: [[name, doc]], terms: [[term, meaning]], since} of an opcode;
    `FormError` if unknown. terms: what its text uses of the glossary."""
    doc = explain(word)
    says = doc.says.replace(SECTORS, next((SERVED[at] for at in _spaces(word) if at in SERVED), SECTORS))
    terms = [term for term in glossary.terms(says) if term not in BASIC]
    if ".shared" in word:  # it is the banks that decide how long such an access takes, not the sectors
        terms = [*OF_BANKS, *(term for term in terms if term not in (*OF_BANKS, *OF_SECTORS))]
    return {
        "says": says,
        "syntax": doc.syntax,
        "parts": [[f".{part}", says] for part, says in doc.modifiers],
        "operands": [list(pair) for pair in doc.operands],
        "terms": [[term, glossary.GLOSSARY[term]] for term in terms[:3]],
        "since": doc.since + (f"; {doc.accuracy}" if doc.accuracy else ""),
    }


def _spaces(word: str) -> list[str]:
    """The state spaces that an opcode names, without what follows `::`."""
    return [part.partition("::")[0] for part in word.split(".")[1:]]


def opcodes(module: Module) -> dict[str, dict[str, Any]]:
    """The docs of every opcode that the module uses and the table knows."""
    out = {}
    for word in {i.opcode for f in module.functions for i in f.instructions()}:
        try:
            out[word] = opcode(word)
        except isa.FormError:
            continue  # nothing to say about it; the machine names it when it is loaded
    return out


def words(module: Module) -> dict[str, str]:
    """The docs of the special registers and directives that the module's text uses, and the names of its symbols."""
    text = str(module)
    found = set(re.findall(r"%[a-z]\w*(?:\.[xyzw]\b)?|(?<![\w%])\.[a-z]\w*", text))
    out = {w: DIRECTIVES[w] for w in found if w in DIRECTIVES}
    out |= {w: isa.SPECIAL[w].says for w in found if w in isa.SPECIAL}
    symbols = {symbol: source_name(symbol) for symbol in re.findall(r"\b_Z[\w$]+", text)}
    return out | {symbol: f"In the source `{name}`." for symbol, name in symbols.items() if name != symbol}


def registers(module: Module) -> dict[str, str]:
    """The type of each declared register by name, or by prefix for `%f<4>`."""
    blocks = [f.body for f in module.functions if f.body is not None]
    declared = (s for block in blocks for s in block.walk() if isinstance(s, Declaration))
    return {v.name: f".{v.type}" for s in declared for v in s.variables if v.space == "reg"}


NOTHING: dict[str, Any] = {"docs": {}, "words": {}, "registers": {}, "roles": {}, "fields": {}}
"""What there is to say where the text cannot be read."""


def of_module(module: Module) -> dict[str, Any]:
    """All that a page is given: {docs, words, registers, roles, fields}; the last two are of `descriptors`."""
    found = registers(module)
    roles = descriptors.roles(str(module), found)
    fields = {role: descriptors.ROLES[role] for role in dict.fromkeys(roles.values())}
    docs = {"docs": opcodes(module), "words": words(module), "registers": found}
    return {**docs, "roles": roles, "fields": fields}
