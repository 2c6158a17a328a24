"""Parse then print gives every PTX text back byte for byte; damaged text gives that too, or a PtxSyntaxError."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ptxlab.errors import PtxSyntaxError
from ptxlab.text import parse
from ptxlab.text.lexer import Source, lex

CORPUS = sorted((Path(__file__).parents[1] / "corpus").glob("*/*.ptx"))
GRAMMAR = [path.read_bytes().decode() for path in CORPUS if path.parent.name == "grammar" and len(path.suffixes) == 1]
PIECES = sorted({token.text for text in GRAMMAR for token in lex(Source(text))} | {'"', "/*", "//", "\0", "é", "\n"})


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_parse_then_print_is_identical(path: Path) -> None:
    data = path.read_bytes()
    module = parse(data.decode(), str(path))
    assert str(module).encode() == data
    assert "".join(str(token) for token in lex(Source(data.decode()))).encode() == data


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_corpus_names_no_folder_of_a_machine(path: Path) -> None:
    text = re.sub(r"//[^\n]*", "", path.read_bytes().decode())
    spelled = bytes(int(b) & 255 for run in re.findall(r"\.b8 ([\d, ]+)", text) for b in run.split(","))
    for folder in ("tmp", "home", "root", "usr", "work", "Users"):
        assert f"/{folder}" not in text
        assert f"/{folder}".encode() not in spelled


def _identical_or_refused(text: str) -> None:
    try:
        printed = str(parse(text))
    except PtxSyntaxError as error:
        printed, place = text, (error.line, error.column)
    else:
        place = (1, 1)
    assert printed == text
    assert min(place) >= 1


@pytest.mark.long
@given(st.data())
@settings(max_examples=100)
def test_damaged_text(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(GRAMMAR))
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 12)))
        text = text[:start] + data.draw(st.sampled_from(PIECES)) + text[end:]
    _identical_or_refused(text)


@pytest.mark.long
@given(st.lists(st.sampled_from(PIECES), max_size=40), st.sampled_from([" ", "", "\n"]))
@settings(max_examples=100)
@example([".const", ".u64", "x", "=", "9" * 5000, ";"], " ")
@example([".const", ".u64", "x", "=", "1", "<<", "99999999999999999", ";"], " ")
@example([".const", ".u64", "x", "=", "0d7FF0000000000000", "%", "2", ";"], " ")
@example([".const", ".u64", "x", "=", "(.s64)", "0d7FF8000000000000", ";"], "")
@example([".reg", ".b32", "%r<", "0x7fffffffffffffff", ">", ";"], "")
def test_any_words_in_a_row(pieces: list[str], between: str) -> None:
    _identical_or_refused(between.join(pieces))
    _identical_or_refused(".entry k {" + between.join(pieces) + "}")


@pytest.mark.long
@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    _identical_or_refused(text)


@pytest.mark.parametrize(
    "text",
    [
        ".entry k " + "{" * 5000,
        ".entry k { mov.b32 %r, " + "{" * 5000,
        ".const .u32 x = " + "(" * 5000,
        ".const .u32 x = " + "-" * 5000 + "1;",
        ".const .u32 x = " + "1?" * 5000,
        ".const .u32 x[] = " + "{" * 5000,
        ".entry k { ld.b32 %r, " + "[" * 5000,
        ".entry k { ld.b32 %r, " + "a[" * 5000,
        ".entry k { ret; /*" + " *" * 5000,
        '.file 1 "' + "\\" * 5000,
        " \t" * 5000 + "#",
    ],
    ids=lambda text: text.partition("   ")[0][:24].strip() or "white space",
)
def test_deep_or_endless_text_is_refused_at_once(text: str) -> None:
    start = time.perf_counter()
    with pytest.raises(PtxSyntaxError):
        parse(text)
    assert time.perf_counter() - start < 1


@pytest.mark.long
def test_a_constant_of_any_length_is_linear() -> None:
    text = ".const .u64 x = 1" + "+1" * 5000 + ";"
    module = parse(text)
    assert str(module) == text
    assert module.variables[0].initial.value == 5001
