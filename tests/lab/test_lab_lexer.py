"""The Pygments lexer: no error token on any PTX that we have, and the right colour for what other lexers get wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pygments.token import Error, Whitespace

from ptxlab.lab.lexer import PtxLexer

CORPUS = sorted((Path(__file__).parents[1] / "corpus").glob("*/*.ptx"))


TOKENS = {
    "@!%p1 fma.rn.f32 %f1, %f2, 0fFF800000, -1.5;": """
        Operator @; Operator !; Variable %p1; Keyword fma; Pseudo .rn; Type .f32; Variable %f1; Punctuation ,;
        Variable %f2; Punctuation ,; Float 0fFF800000; Punctuation ,; Operator -; Float 1.5; Punctuation ;""",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes": """
        Keyword cp; Pseudo .async; Pseudo .bulk; Declaration .shared::cluster; Declaration .global;
        Pseudo .mbarrier::complete_tx::bytes""",
    "$L_1: /* a */ mov.u32 %r1, %tid.x; // row\n.reg .bf16x2 %tidy; ret;": """
        Label $L_1; Punctuation :; Multiline /*; Multiline  a ; Multiline */; Keyword mov; Type .u32; Variable %r1;
        Punctuation ,; Builtin %tid.x; Punctuation ;; Single // row; Declaration .reg; Type .bf16x2; Variable %tidy;
        Punctuation ;; Keyword ret; Punctuation ;""",
}
"""A text, and the kind of each word: a double colon belongs to its modifier, `%tidy` is no special register."""


@pytest.mark.parametrize("text", TOKENS)
def test_the_kind_of_each_word(text: str) -> None:
    found = [f"{kind[-1]} {value}" for kind, value in PtxLexer().get_tokens(text) if kind is not Whitespace]
    assert found == re.split(r";\s+", TOKENS[text].strip())


@pytest.mark.sweep(4)
@pytest.mark.parametrize("path", CORPUS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_no_error_token_in_the_corpus(path: Path) -> None:
    text = path.read_bytes().decode().replace("\r\n", "\n")
    tokens = list(PtxLexer(stripnl=False, ensurenl=False).get_tokens(text))
    assert [value for kind, value in tokens if kind in Error] == []
    assert "".join(value for _, value in tokens) == text
