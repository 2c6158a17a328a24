"""Highlighting and hover data: whole lines kept, opcodes whole, docs for everything under the mouse."""

from __future__ import annotations

import html
import pathlib
import re

from ptxlab import isa
from ptxlab.errors import Span
from ptxlab.lab import highlight, hover
from ptxlab.text import parse

PTX = """\
.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .pred %more;
    .reg .f32 %f<4>;  // four of them
    .reg .u32 %r1;
    mov.f32 %f1, 0fFF800000;
loop:
    /* two
       lines */
    @!%more fma.rn.ftz.f32 %f0, %f1, %f2, %f3;
    mov.u32 %r1, %tid.x;
    ret;
}
"""


def plain(line: str) -> str:
    """The text of an HTML line."""
    return html.unescape(re.sub(r"<[^>]*>", "", line))


def test_lines_keep_their_text() -> None:
    assert [plain(line) for line in highlight.ptx_lines(PTX)] == PTX.splitlines()
    source = 'def f(x):\n    """One\n    two."""\n\n    return x < 1 and "<b>"\n'
    assert [plain(line) for line in highlight.python_lines(source)] == source.splitlines()


def test_text_that_is_no_ptx_is_still_shown_and_escaped() -> None:
    assert [plain(line) for line in highlight.ptx_lines("<script>alert(1)</script>\n\n?")] == [
        "<script>alert(1)</script>",
        "",
        "?",
    ]
    assert "<script>" not in "".join(highlight.ptx_lines("<script>alert(1)</script>"))


def test_opcode_docs_explain_every_part() -> None:
    doc = hover.opcode("fma.rn.ftz.f32")
    assert doc["says"].startswith("Fused multiply-add")
    assert [name for name, _ in doc["operands"]] == ["d", "a", "b", "c"]
    assert doc["operands"][0] == ["d", "written: .f32."]
    assert doc["operands"][3] == ["c", "read: .f32."]
    assert [part for part, _ in doc["parts"]] == [".rn", ".ftz", ".f32"]
    assert all(says for _, says in doc["parts"])


def test_every_executed_opcode_of_a_module_has_docs() -> None:
    docs = hover.opcodes(parse(PTX))
    assert set(docs) == {"mov.f32", "fma.rn.ftz.f32", "mov.u32", "ret"}


def test_words_and_registers() -> None:
    module = parse(PTX)
    words = hover.words(module)
    assert words["%tid.x"] == isa.SPECIAL["%tid.x"].says
    assert {".version", ".entry", ".param", ".reg"} <= set(words)
    assert hover.registers(module) == {"%more": ".pred", "%f": ".f32", "%r1": ".u32"}
    mangled = PTX.replace("entry k", "entry _ZN3geo1kEv")
    assert hover.words(parse(mangled))["_ZN3geo1kEv"] == "In the source `geo::k`."
    assert '<span class="y">_ZN3geo1kEv</span>' in highlight.ptx_lines(mangled)[3]


def test_python_pane_shows_the_functions_that_emitted(tmp_path: object) -> None:
    file = str(tmp_path) + "/kernels/mine.py"
    source = "import os\n\n\ndef a():\n    def x():\n\n        return 1\n\n\n"
    source += "def no():\n    pass\n\n\n@os.fspath\ndef b():\n    pass\n"
    pathlib.Path(file).parent.mkdir()
    pathlib.Path(file).write_text(source)
    spans = {4: Span(file, 7, 8, 7, 16), 9: Span(file, 16, 4, 16, 8), 10: Span(file, 16, 4, 16, 8)}
    pane, links = highlight.python_pane(spans)
    assert pane is not None
    assert pane["files"] == [(1, "kernels/mine.py")]
    assert [plain(line) for line in pane["lines"]] == [
        "def x():",
        "",
        "    return 1",
        "",
        "@os.fspath",
        "def b():",
        "    pass",
    ]
    assert pane["numbers"] == [5, 6, 7, 0, 14, 15, 16]
    assert links == [[4, 3], [9, 7], [10, 7]]
    other = str(tmp_path) + "/kernels/other.py"
    pathlib.Path(other).write_text("def c():\n    pass\n")
    pane, links = highlight.python_pane({**spans, 11: Span(other, 2, 4, 2, 8)})
    assert pane is not None
    assert pane["files"] == [(1, "kernels/mine.py"), (9, "kernels/other.py")]
    assert plain(pane["lines"][8]) == "# kernels/other.py", "rows count from 1"
    assert links[-1] == [11, 11]


def test_without_readable_source_there_is_no_python_pane() -> None:
    assert highlight.python_pane({3: Span("/nowhere/x.py", 1, 0, 1, 5)}) == (None, [])
    assert highlight.python_pane({}) == (None, [])
