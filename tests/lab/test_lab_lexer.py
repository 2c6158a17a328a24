"""The Pygments lexer: no error token on any PTX that we have, and the right colour for what other lexers get wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from pygments.token import Comment, Error, Keyword, Name, Number, Operator, Punctuation, Whitespace

from ptxlab.lab.lexer import PtxLexer

CORPUS = sorted((Path(__file__).parents[1] / "corpus").glob("*/*.ptx"))


def _tokens(text: str) -> list[tuple[object, str]]:
    return [(kind, value) for kind, value in PtxLexer().get_tokens(text) if kind is not Whitespace]


@pytest.mark.sweep(4)
@pytest.mark.parametrize("path", CORPUS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_no_error_token_in_the_corpus(path: Path) -> None:
    text = path.read_bytes().decode().replace("\r\n", "\n")
    tokens = list(PtxLexer(stripnl=False, ensurenl=False).get_tokens(text))
    assert [value for kind, value in tokens if kind in Error] == []
    assert "".join(value for _, value in tokens) == text


def test_guarded_instruction() -> None:
    assert _tokens("@!%p1 fma.rn.f32 %f1, %f2, 0fFF800000, -1.5;") == [
        (Operator, "@"),
        (Operator, "!"),
        (Name.Variable, "%p1"),
        (Keyword, "fma"),
        (Keyword.Pseudo, ".rn"),
        (Keyword.Type, ".f32"),
        (Name.Variable, "%f1"),
        (Punctuation, ","),
        (Name.Variable, "%f2"),
        (Punctuation, ","),
        (Number.Float, "0fFF800000"),
        (Punctuation, ","),
        (Operator, "-"),
        (Number.Float, "1.5"),
        (Punctuation, ";"),
    ]


def test_double_colons_belong_to_the_modifier() -> None:
    assert _tokens("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [$x]")[:6] == [
        (Keyword, "cp"),
        (Keyword.Pseudo, ".async"),
        (Keyword.Pseudo, ".bulk"),
        (Keyword.Declaration, ".shared::cluster"),
        (Keyword.Declaration, ".global"),
        (Keyword.Pseudo, ".mbarrier::complete_tx::bytes"),
    ]


def test_labels_special_registers_directives_comments() -> None:
    assert _tokens("$L_1: /* a\n; */ mov.u32 %r1, %tid.x; // row\n.reg .bf16x2 %tidy; ret;") == [
        (Name.Label, "$L_1"),
        (Punctuation, ":"),
        (Comment.Multiline, "/*"),
        (Comment.Multiline, " a\n; "),
        (Comment.Multiline, "*/"),
        (Keyword, "mov"),
        (Keyword.Type, ".u32"),
        (Name.Variable, "%r1"),
        (Punctuation, ","),
        (Name.Builtin, "%tid.x"),
        (Punctuation, ";"),
        (Comment.Single, "// row"),
        (Keyword.Declaration, ".reg"),
        (Keyword.Type, ".bf16x2"),
        (Name.Variable, "%tidy"),
        (Punctuation, ";"),
        (Keyword, "ret"),
        (Punctuation, ";"),
    ]
