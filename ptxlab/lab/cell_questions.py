"""What JupyterLab asks of a `%%ptx` or `%%cuda` cell as it is typed: what a word means, and what is wrong.

The plugin in `labextension/` opens a comm to the notebook's kernel for this; without the plugin nobody asks.
"""

from __future__ import annotations

import itertools
import re
import shlex
from typing import Any

from IPython.core.error import UsageError

from ptxlab.errors import CompileError, PtxlabError, PtxWarning, UnavailableError
from ptxlab.lab import language
from ptxlab.lab.hover import explain_cuda
from ptxlab.lab.magics import CUDA_OPTIONS, STUBS
from ptxlab.text.lint import lint

TARGET = "ptxlab.cells"


def install(arch: str = "") -> None:
    """Answers the comms that JupyterLab opens. arch: the target of `%%cuda` cells that name none."""
    import comm

    def opened(channel: Any, _message: Any) -> None:
        @channel.on_msg
        def asked(message: Any) -> None:
            question = message["content"]["data"]
            channel.send({"id": question["id"], "value": answer(question, arch)})

    comm.get_comm_manager().register_target(TARGET, opened)


def answer(question: dict[str, Any], arch: str = "") -> Any:
    """The answer to {kind, text, ...}, where `text` is the whole cell: to "explain" that of `language.explain` for
    `word`, to "check" the mistakes as `language.marks` has them, at the lines of the cell."""
    magic, _, text = question["text"].partition("\n")
    if question["kind"] == "explain":
        word = question["word"]
        return language.explain(word, text) if magic.startswith("%%ptx") else explained(word)
    if STUBS.search(text) or not text.strip():
        return []
    found = language.read(text)[0] if magic.startswith("%%ptx") else compiled(text, magic, arch)
    return [{**mark, "line": mark["line"] + 1} for mark in language.marks(found)]  # the magic's line comes first


def explained(word: str) -> dict[str, Any] | None:
    """What a word of a `%%cuda` cell means: CUDA C++, or PTX in `asm`: a whole opcode, a special register."""
    ptx = word.replace("%%", "%")
    found = language.explain(ptx) if "." in ptx else None
    return found if found is not None and found["word"] == ptx else explain_cuda(word)


def compiled(text: str, magic: str, arch: str = "") -> list[PtxlabError]:
    """What NVRTC says against CUDA C++ under the options of its `%%cuda` line, or else the warnings about its PTX;
    nothing where there is no NVRTC."""
    from ptxlab.frontends import cuda

    try:
        options, rest = CUDA_OPTIONS.parse_known_args(shlex.split(magic)[1:])
    except (ValueError, UsageError):  # an unfinished line of options: running the cell says what is wrong with it
        return []
    named = dict(itertools.pairwise(rest))
    try:
        made = cuda(text, named.get("--arch") or arch or None, named.get("--entry"), options.option, file="cell.cu")
    except UnavailableError:
        return []
    except PtxlabError as error:
        line: int = getattr(error, "line", 0)
        return complaints(getattr(error, "log", "")) or ([error] if line else [])
    found = [(each, each.span.line) for each in lint(made.module) if each.span is not None]
    return [PtxWarning(each.message, rule=each.rule, reason=each.reason, line=line) for each, line in found]


_COMPLAINT = re.compile(r"^cell\.cu\((\d+)\): error[^:]*: (.*)\n  (.*)\n  (\s*)\^", re.MULTILINE)
"""NVRTC shows the line itself, and a caret below the place, both moved by two spaces."""


def complaints(log: str) -> list[PtxlabError]:
    """Each error of NVRTC's log at its place."""
    found: list[PtxlabError] = []
    for number, message, source, before in _COMPLAINT.findall(log):
        word = re.match(r"\w*", source[len(before) :])
        length = len(word[0]) if word else 0
        found.append(CompileError(message, line=int(number), source=source, column=len(before) + 1, length=length))
    return found
