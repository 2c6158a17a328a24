"""The assembler's complaints turned into errors at a PTX line, with the line to write instead where there is one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ptxlab.errors import AssemblyError, Span
from ptxlab.gpu.report import Complaint, read_complaints
from ptxlab.names import in_source_names
from ptxlab.targets import TARGETS


@dataclass(frozen=True, slots=True)
class Source:
    """PTX text with what is known of it: the file's name and the Python expressions its lines came from."""

    text: str
    file: str
    spans: Mapping[int, Span]

    def line(self, number: int) -> str:
        """The text of 1-based line `number`, "" outside the text."""
        lines = self.text.split("\n")
        return lines[number - 1].rstrip("\r") if 0 < number <= len(lines) else ""

    def find(self, pattern: str) -> int:
        """The 1-based number of the first line that `pattern` matches, 0 where none does."""
        match = re.search(pattern, self.text, re.M)
        return self.text.count("\n", 0, match.start()) + 1 if match else 0

    def error(self, message: str, line: int = 0, *, word: str = "", hint: str = "", log: str = "") -> AssemblyError:
        """An error at `line` with a caret under `word`, or under the line's first word where `word` is not in it."""
        text = self.line(line)
        column, length = _place(text, word)
        return AssemblyError(
            message,
            log=log,
            line=line,
            column=column,
            length=length,
            source=text,
            file=self.file,
            hint=hint,
            span=self.spans.get(line),
        )


def _place(text: str, word: str) -> tuple[int, int]:
    """The 1-based column and the length of `word` in `text`, or of the first word; (0, 1) if there is none."""
    match = re.search(rf"(?<![\w%$.]){re.escape(word)}(?![\w$])", text) if word else None
    match = match or re.search(r"[^\s;]+", text)
    return (match.start() + 1, len(match[0])) if match else (0, 1)


def assembly_error(source: Source, log: str, target: str, arch: str, status: str) -> AssemblyError:
    """The error for nvJitLink's error log: the first complaint, with the others in `.others`.

    `target` is the text's `.target`, `arch` what it was assembled for, `status` nvJitLink's own code for the failure.
    """
    complaints = read_complaints(log) or (Complaint(0, _UNREAD.get(status, f"nvJitLink failed with {status}")),)
    first, *others = (_explain(source, complaint, target, arch, log) for complaint in complaints)
    first.others = tuple(others)
    return first


_UNREAD = {
    "ERROR_INCORRECT_INPUT_TYPE": "the text is not PTX: the assembler finds no .version at its start",
    "ERROR_INVALID_INPUT": "the text is empty",
}


def _explain(source: Source, complaint: Complaint, target: str, arch: str, log: str) -> AssemblyError:
    """One complaint, in the assembler's words first, then in ours where its words leave out what to do."""
    words, line, hint = complaint.words, complaint.line, ""
    quoted = re.search(r"'([^']+)'", words)
    word = quoted[1] if quoted else ""
    if match := re.search(r"Unsupported \.version \S+; current version is '([\d.]+)'", words):
        words += " (an update of the wheel nvidia-nvjitlink may know it)"
        word, hint = ".version", f".version {match[1]}"
    elif "SM version specified by .target is higher" in words:
        words += f": .target is {target}, and {arch} is older; PTX runs on its target and on newer GPUs only"
        words += f' (arch="{target}" assembles it)'
        line, word, hint = source.find(r"^\s*\.target\b"), target, f".target {arch}"
    elif "cannot be compiled for architecture" in words or "cannot be compiled to future architecture" in words:
        words += f": what {target} has beyond {target.rstrip('af')} exists on that GPU under its full name only"
        line, word, hint = source.find(r"^\s*\.target\b"), target, f'assemble(ptx, arch="{target}")'
    elif (match := re.search(r"PTX \.version \S+ does not support \.target (\w+)", words)) and match[1] in TARGETS:
        major, minor = TARGETS[match[1]].version
        hint = f".version {major}.{minor}"
    elif match := re.search(r"requires PTX ISA \.version ([\d.]+) or later", words):
        hint = f".version {match[1]}"
    elif match := re.search(r"requires \.target (sm_\w+) or higher", words, re.IGNORECASE):
        hint = f".target {match[1]}"
    elif match := re.search(r"Entry function '([^']+)' uses too much shared data \((\w+) bytes, (\w+) max\)", words):
        words += f": {int(match[2], 16)} bytes of static shared memory, {int(match[3], 16)} are allowed"
        line, word = source.find(rf"\.entry\s+{re.escape(match[1])}\b"), match[1]
        words += f"; dynamic shared memory may have more, with shared={int(match[2], 16)} at the launch"
        hint = ".extern .shared .align 16 .b8 tile[];"
    elif match := re.search(r"Undefined reference to '([^']+)'", words):
        words += ": the text declares this function and has no body for it"
        line, word = source.find(rf"\.func\b[^;{{]*?{re.escape(match[1])}\b"), match[1]
    elif "syntax error" in words and word == "":
        words += " (the text ends too early: a brace or a parenthesis is not closed)"
        line = min(line, source.text.rstrip("\n").count("\n") + 1)
    return source.error(in_source_names(words), line, word=word, hint=hint, log=log)
