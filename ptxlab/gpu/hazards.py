"""PTX on which some version of nvJitLink ends this process, or stumbles over a comment: seen before it gets there."""

from __future__ import annotations

import re
import subprocess
import sys

from ptxlab.errors import AssemblyError
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
                    line, word=count,
                )  # fmt: skip


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
