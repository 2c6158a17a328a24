"""Whatever the builder's messages tell the reader to write is Python: collected from the tests of these messages."""

from __future__ import annotations

import ast
import importlib
import re
import textwrap
from typing import Any

import pytest
from collected_advice import cases

from ptxlab.builder import mistakes
from ptxlab.isa import find_form


def is_python(text: str) -> bool:
    """Whether lines are Python, with a body where they begin a block or decorate a function."""
    for tail in ("", "\n    pass", "\ndef k(): pass"):
        try:
            ast.parse(textwrap.dedent(text) + tail)
        except SyntaxError:
            continue
        return True
    return False


@pytest.mark.parametrize("topic", ["flow", "kernels", "types", "variables", "warpgroup"])
def test_advice_in_messages_is_python(topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    whole = mistakes.message

    def message(site: Any, what: str, write: str = "", syntax: str = "") -> str:
        written.append(write)
        return whole(site, what, write, syntax)

    monkeypatch.setattr(mistakes, "message", message)
    for name, test in vars(importlib.import_module(f"test_build_errors_{topic}")).items():
        if name.startswith("test_") and callable(test):
            for case in cases(test):
                case()
    assert any(written)
    assert [write for write in written if write and not is_python(write)] == []
    opcodes = set(re.findall(r'k\.op\("([^"]+)"', "\n".join(written))) - {"opcode.with.modifiers"}  # a form to fill in
    assert [opcode for opcode in opcodes if find_form(opcode) is None] == []
