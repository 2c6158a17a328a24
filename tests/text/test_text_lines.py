"""A statement that fills a line is read as one token: what comes of it is what reading word by word gives."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from ptxlab.errors import PtxError
from ptxlab.text import Block, Function, Instruction, Module, parse
from ptxlab.text.lexer import Source, lex
from ptxlab.text.model import Words
from ptxlab.text.parser import _Parser
from ptxlab.text.validate import validate

CORPUS = Path(__file__).parents[1] / "corpus"
FILES = {str(path.relative_to(CORPUS)): path.read_bytes().decode() for path in sorted(CORPUS.rglob("*.ptx"))}
SMALL = {name: text for name, text in FILES.items() if len(text) < 12_000}
WORDS = sorted({token.text for text in SMALL.values() for token in lex(Source(text)) if len(token.text) < 20})
ODD = ["a ? b : c", "%r1 %r2", ", ,", "@%p1", "@!p", "{ %r1 }", "[%r1 + 4]", "x:", "ret;", "a b;", "\n.loc 1 2 3", "%"]


def read(text: str, lines: bool) -> tuple[object, list[object]]:
    """What a text is, whole lines at once or word by word, with its errors."""
    try:
        module = _Parser(Source(text, "k.ptx"), lines).module()
    except PtxError as error:
        return shown(error), []
    assert str(module) == text
    found = validate(module)
    assert [(e.line, e.column) for e in found] == sorted((e.line, e.column) for e in found)
    return tuple(nodes(module)), [shown(error) for error in found]


def shown(error: PtxError) -> tuple[object, ...]:
    return error.line, error.column, error.length, str(error)


def nodes(module: Module) -> Iterator[object]:
    """Every statement of a module with its tokens."""
    todo = list(module.items)
    while todo:
        node = todo.pop(0)
        yield repr(node)
        yield tuple(getattr(node, "tokens", ()))
        if isinstance(node, Function) and node.body is not None:
            todo[:0] = node.body.statements
        elif isinstance(node, Block):
            todo[:0] = node.statements


@pytest.mark.sweep(11)
@pytest.mark.parametrize("name", FILES)
def test_files(name: str) -> None:
    assert read(FILES[name], True) == read(FILES[name], False)


def damaged(text: str, rng: random.Random) -> str:
    """A text with one to three tokens left out, exchanged, or others put in front of them."""
    words = [str(token) for token in lex(Source(text))]
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(words))
        other = rng.choice(rng.choice([WORDS, ODD]))
        words[at] = rng.choice(["", f" {other}", f" {other} {words[at]}", words[rng.randrange(len(words))]])
    return "".join(words)


@pytest.mark.sweep(40)
@pytest.mark.parametrize("seed", range(400))
def test_damaged_files(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(3):
        text = damaged(SMALL[rng.choice(sorted(SMALL))], rng)
        assert read(text, True) == read(text, False)


HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k() {\n.reg .b32 %r<9>;\n.reg .pred p;\n"


@pytest.mark.parametrize(
    "body",
    [
        "add.s32 %r1, %r2, 4 ;",
        "@p add.s32 %r1, %r2, -4;",
        "@!p\tbra $L;\n$L:",
        "mov.b64 {%r1,%r2}, { %r3, %r4 };",
        "ld.u32 %r1, [%r2+4]; st.u32 [ %r2 + 8 ], %r1;",
        "mov.u32 %r1, WARP_SZ;",
        "mov.u32 %r1, 017; mov.u32 %r1, 0x1F; mov.u32 %r1, 1234567890123456789;",
        "setp.lt.s32 p|p, %r1, %r2;",
        "bar.sync 0; ret;",
        ".loc 1 20 3\nret;",
        ".loc 1 20 3, function_name $L__info, inlined_at 1 30 5\nret;",
        ".loc 1 20 3\n, function_name $L__info + 7\nret;",
        "targets: // where to\n .branchtargets one, two;\none: two: ret;",
        ".reg .b32 a, b; mov.b32 a, b;",
        ".reg .v2 .b32 a; .reg .q32 a;",
        ".reg .b32 %x<0>; .reg .b32 %y<010>;",
        "add.s32 %r1, %r2, // four\n 4;",
        "mov.u32\n%r1, 5;",
        "mov.u32 %r1 %r2;",
        "@%r1 add.f32 %r1, p, %x9;\n" * 3,
        "@%r1 add.f32 %r1, p, %r2;\n" * 3 + "@%r1 add.f32 %r1,\np, %r2;\n",
        "add.s32 %a, %a, %s1; { add.s32 %f1, %f1, %r1;\nadd.s32 %f1, %f1, %r1;\n"
        ".reg .b32 %a; .reg .b32 %n<2>; .reg .b32 %f<9>; add.s32 %f1, %f1, %n1; }\n",
        ".reg .f32 %f<3>; add.f32 %r1, %f1, %r2;\nadd.f32 %r1, %f1, %r2;\n{ .reg .f64 %f<3>; add.f32 %r1, %f1, %r2; }",
        "mov.u32 %r1, 08;",
        "mov.u32 %r1, .5;\n/* never closed",
        "@% mov.u32 %r1, %r2;",
        "mov.u32 %r1, %r2\nmov.u32 %r2, %r1;",
        '.pragma "nounroll"\nmov.u32 %r1, %r2;',
        ".callprototype _ (.param .b32 x)\nmov.u32 %r1, %r2;",
    ],
)
def test_statements(body: str) -> None:
    assert read(f"{HEAD}{body}\n}}", True) == read(f"{HEAD}{body}\n}}", False)


def test_lines_are_whole_until_their_words_are_wanted() -> None:
    module = parse(HEAD + "\t// sum\n\tadd.s32 %r1, %r2, 4;\n}")
    (add,) = module.kernels[0].instructions()
    assert isinstance(add.tokens, Words)
    assert [t.text for t in add.tokens] == ["add.s32", "%r1", ",", "%r2", ",", "4", ";"]
    assert (add.tokens[0].before, add.tokens[1].line, add.tokens[1].column) == ("\n\t// sum\n\t", 8, 10)
    assert str(add) == str(add.tokens) == "\n\t// sum\n\tadd.s32 %r1, %r2, 4;"
    assert len(add.tokens) == 7
    assert add.tokens[1:2] == (add.tokens[1],)


def test_a_line_is_as_frozen_as_the_rest() -> None:
    first, second = (next(parse(HEAD + "add.s32 %r1, %r2, 4;\n}").kernels[0].instructions()) for _ in range(2))
    assert first == second
    assert hash(first) == hash(second)
    by_word = Instruction(None, first.opcode, first.operands, tuple(first.tokens), first.line, first.column)
    assert first == by_word
    assert by_word == first
    assert hash(first) == hash(by_word)
    assert first != next(parse(HEAD + "add.s32 %r1, %r2, 5;\n}").kernels[0].instructions())
