"""PTX on which some version of nvJitLink ends this process, or fails over a comment: found before it is assembled."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Callable, Iterator

from ptxlab.errors import AssemblyError
from ptxlab.gpu import dwarf
from ptxlab.gpu.explain import Source

LONGEST_WORD, LONGEST_LINE, MOST_REGISTERS = 4096, 8192, 10_000_000
"""Beyond these ptxas corrupts its heap or eats the memory, so the text is refused before it gets there."""

COUNTS_FROM_ZERO = (13, 1)
"""Before this version, `mbarrier.init` with a count that ptxas finds to be 0 ends the process (seen with 13.0.88)."""

_COUNT = re.compile(r"\bmbarrier\.init[\w.:]*\s+\[[^\]]*\]\s*,\s*([^;\s]+)\s*;")
_REMARK = re.compile(r'/\*.*?\*/|//[^\n]*|"[^"\n]*"', re.S)


def refuse(source: Source) -> None:
    """AssemblyError for text on which every known version would end this process instead of reporting an error."""
    text = source.text
    if "\0" in text:
        raise source.error("the text holds a NUL character", text.count("\n", 0, text.index("\0")) + 1)
    for match in re.finditer(r"<\s*(\d{8,})\s*>", text):
        if int(match[1]) > MOST_REGISTERS:
            line = text.count("\n", 0, match.start()) + 1
            raise source.error(f"{match[1]} registers in one declaration; at most {MOST_REGISTERS} are assembled", line)
    for number, row in enumerate(text.split("\n"), 1):
        if len(row) > LONGEST_LINE and re.search(rf"[\w$%.]{{{LONGEST_WORD + 1}}}", row):
            raise AssemblyError(f"a word of more than {LONGEST_WORD} characters", line=number, file=source.file)
    bare = _REMARK.sub(_blank, text)
    for hazard in _HAZARDS:
        for at, message, word in hazard(bare):
            raise source.error(message, text.count("\n", 0, at) + 1, word=word)


def _blank(remark: re.Match[str]) -> str:
    """A comment as white space, a string as an empty one of the same length."""
    blank = re.sub(r"[^\n]", " ", remark[0])
    return f'"{blank[2:]}"' if remark[0][0] == '"' else blank


# -- what every version ends the process over --------------------------------------------------------------------------
#
# Each of these takes a text without comments and gives where it meets something, what to say, and the word to mark.
# All were found by assembling damaged texts, and end the process with version 13.5; older ones were not asked.

_Found = Iterator[tuple[int, str, str]]
_INTEGER = r"(?:0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?(?![\w.])"
_VALUE = re.compile(r"([\w$%]+)\s*\[\s*(?:0[xX]?0*U?\s*)?\]\s*(?:\[[^\]]*\]\s*)*=\s*([^\s{\"])")
_BLOCK = re.compile(rf"\.(maxntid|reqntid)\s+({_INTEGER}(?:\s*,\s*{_INTEGER})*)")
_PRESERVED = re.compile(rf"\.abi_preserve\s+({_INTEGER}(?:\s*,\s*{_INTEGER})*)")
_LARGE = re.compile(rf"\.[busf]?(8|16|32|64|128)\s+([\w$%]+)\s*((?:\[\s*{_INTEGER}\s*\]\s*)+)=")
_SCOPED = re.compile(
    r"[{};]|(?<![\w.:])\.(?:reg|shared|local|param|global|const)\b([^;(){}=]*)"
    r"|([\w$%]+)\s*:\s*\.(callprototype|calltargets)\b"
)
_DECLARED = re.compile(r"(?<![\w$%.])([A-Za-z_$%][\w$]*)(?:\s*<\s*(\d+)\s*>)?")
_EXPORTED = re.compile(r"\.(?:visible|weak|extern|common)\s+(?:(\.(?:entry|func)\b)(?:\s*\([^)]*\))?|\.\w+)([^;({=]*)")
_SECTION = re.compile(r"\.section\s+([\w$.]+)\s*\{([^}]*)\}")

DEBUG_SECTIONS = (
    ".debug_abbrev", ".debug_aranges", ".debug_frame", ".debug_info", ".debug_line", ".debug_loc", ".debug_macinfo",
    ".debug_pubnames", ".debug_pubtypes", ".debug_ranges", ".debug_str", ".nv_debug_ptx_txt",
)  # fmt: skip
"""The sections that the assembler knows."""
LARGEST_VALUE = (1 << 31) - 64
"""Bytes of a variable with an initial value; more ends the process."""


def _integers(text: str) -> list[int]:
    """The numbers of a list, as PTX writes them."""
    numbers = [word.strip().rstrip("U") for word in re.split(r"[,\[\]\s]+", text) if word.strip()]
    return [
        int(n, 8) if re.fullmatch(r"0[0-7]+", n) else int(n, 0) if n[:1] != "0" or n[1:2] in "xXbB" else int(n)
        for n in numbers
    ]


def _values(bare: str) -> _Found:
    for match in _VALUE.finditer(bare):
        yield match.start(), f"the initial values of the array {match[1]} belong in braces", match[1]


def _blocks(bare: str) -> _Found:
    for match in _BLOCK.finditer(bare):
        if -math.prod(_integers(match[2])) % (1 << 32) in range(1, 32):
            yield match.start(), f".{match[1]} {match[2]}: a block has at most 1024 threads", f".{match[1]}"


def _preserved(bare: str) -> _Found:
    for match in _PRESERVED.finditer(bare):
        if max(_integers(match[1])) > 255:
            message = f".abi_preserve {match[1]}: a thread has at most 255 registers"
            yield match.start(), message, ".abi_preserve"


def _large(bare: str) -> _Found:
    for match in _LARGE.finditer(bare):
        size = int(match[1]) // 8 * math.prod(_integers(match[3]))
        if size > LARGEST_VALUE:
            message = f"{match[2]} has {size:,} bytes and an initial value; at most {LARGEST_VALUE:,} are assembled"
            yield match.start(), message, match[2]


def _labels(bare: str) -> _Found:
    """A label of a prototype or of call targets that a variable or register of the same braces has already."""
    if ".callprototype" not in bare and ".calltargets" not in bare:
        return
    scopes: list[list[tuple[str, str]]] = [[]]
    parameters: list[tuple[str, str]] = []  # they belong to the braces that follow
    for match in _SCOPED.finditer(bare):
        if match[0] == "{":
            scopes.append(parameters)
            parameters = []
        elif match[0] == "}":
            del scopes[max(1, len(scopes) - 1) :]
        elif match[0] == ";":
            parameters = []
        elif match[1] is not None:
            (parameters if len(scopes) == 1 else scopes[-1]).extend(_DECLARED.findall(match[1]))
        elif any(_same(match[2], name, count) for name, count in scopes[-1]):
            yield match.start(), f"the label {match[2]} of .{match[3]} is the name of a variable already", match[2]


def _same(label: str, name: str, count: str) -> bool:
    """Whether a declared name, or one of a range of registers, is this label."""
    if not count:
        return label == name
    number = label[len(name) :]
    return label.startswith(name) and number.isdecimal() and int(number) < int(count)


def _exported(bare: str) -> _Found:
    """A function with linkage that has the name of a variable with linkage."""
    variables: set[str] = set()
    for match in _EXPORTED.finditer(bare):
        names = _DECLARED.findall(match[2])
        if not names:
            continue
        name = names[0 if match[1] else -1][0]
        if not match[1]:
            variables.add(name)
        elif name in variables:
            yield match.start(2), f"{name} is the name of a variable already", name


def _sections(bare: str) -> _Found:
    if not re.search(r"\.target[^\n]*\bdebug\b", bare):
        return
    for match in _SECTION.finditer(bare):
        if match[1] not in DEBUG_SECTIONS:
            message = f"the assembler has no section {match[1]} for debugging, only {' '.join(DEBUG_SECTIONS)}"
            yield match.start(), message, match[1]
        elif match[1] in (".debug_abbrev", ".debug_str") and (
            name := re.search(r"\.b\d+\s+(\.?[A-Za-z_$][\w$]*)", match[2])
        ):
            yield match.start(2) + name.start(), f"the section {match[1]} holds numbers only", name[1]
        elif match[1] == ".debug_abbrev" and (why := dwarf.misread(match[2])):
            yield match.start(), f"the section .debug_abbrev is damaged: {why}", match[1]


_ENTRY = re.compile(r"\.entry\s+([\w$%]+)\s*\(([^)]*)\)")


def _own_name(bare: str) -> _Found:
    """A parameter that has the name of its kernel: a division after it ends the process."""
    for match in _ENTRY.finditer(bare):
        declared = re.search(rf"\.\w+\s+{re.escape(match[1])}(?![\w$%])", match[2])
        if declared is not None:
            message = f"the parameter {match[1]} has the name of its kernel"
            yield match.start(2) + declared.start(), message, declared[0]


_HAZARDS: tuple[Callable[[str], _Found], ...] = (
    _values,
    _blocks,
    _preserved,
    _large,
    _labels,
    _exported,
    _sections,
    _own_name,
)


def readable(text: str) -> bytes:
    """The text as the assembler takes it. Before 13.4 it refuses letters beyond ASCII in a comment, and up to 13.5 at
    least in the name of a `.file`: there they become `?`, one for one, so that lines and columns stay."""
    if not text.isascii():
        text = _REMARK.sub(lambda match: match[0].encode("ascii", "replace").decode(), text)
    return text.encode(errors="replace")


def survive(source: Source, arch: str, version: tuple[int, int]) -> None:
    """AssemblyError where this version of the assembler would end the process over a count of 0 for an mbarrier.

    A literal 0 is told from the text, in the words of newer versions. Whether a count in a register is found to be 0
    only the assembler knows: such text is tried in a process of its own first (0.2 s, with version 13.0 only).
    """
    if version >= COUNTS_FROM_ZERO or "mbarrier.init" not in source.text:
        return
    tried = False
    for match in _COUNT.finditer(_REMARK.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), source.text)):
        line = source.text.count("\n", 0, match.start()) + 1
        count = match[1]
        if re.fullmatch(r"0[xX]0+U?|0+U?", count):
            words = "Argument 1 of instruction 'mbarrier.init': value '0' out of range, expected to be in range "
            raise source.error(words + "[1..1048575]", line, word=count)
        if not tried and not re.fullmatch(r"(0[xX][0-9a-fA-F]+|\d+)U?", count):
            tried = True
            child = [sys.executable, "-c", _TRIAL, arch]
            done = subprocess.run(child, input=readable(source.text), capture_output=True, check=False)
            if done.returncode < 0:
                number = ".".join(map(str, version))
                raise source.error(
                    f"nvJitLink {number} ends the process over this text: it finds that a count of mbarrier.init is 0, "
                    "which has to be from 1 to 1048575; pip install 'nvidia-nvjitlink>=13.3' for one that does not",
                    line,
                    word=count,
                )


_TRIAL = """
import sys
from cuda.bindings import nvjitlink
text, options = sys.stdin.buffer.read(), ["-arch=" + sys.argv[1]]
handle = nvjitlink.create(1, options)
try:
    nvjitlink.add_data(handle, nvjitlink.InputType.PTX, text, len(text), "kernel.ptx")
    nvjitlink.complete(handle)
except nvjitlink.nvJitLinkError:
    pass  # it reports an error, as it should: the caller will see the same one
"""
