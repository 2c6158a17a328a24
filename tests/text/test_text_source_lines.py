"""The line of the source: the one that the user wrote, whatever compiled it and wherever it was inlined from."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptxlab.text import parse


def told(ptx: str, files: str, name: str = "<ptx>") -> dict[int, list[str]]:
    """What is said of each line of a kernel's body."""
    return {line - 1: span.told() for line, span in parse(f".entry k() {{\n{ptx}\n}}\n{files}", name).spans.items()}


FILES = '.file 1 "main.cu"\n.file 2 "put.cuh", 17, 4\n.file 3 "/usr/include/c.h"\n'
FILES += '.file 4 "/made/in/__nv_nvrtc_builtin_header.h"\n'
INLINED = {
    ".loc 1 3 1": ["main.cu:3"],
    ".loc 1 3 1\n.loc 1 0 1": ["main.cu:3"],
    ".loc 3 5 1": ["/usr/include/c.h:5"],
    ".loc 9 3 1": None,
    ".loc 1 3 1, function_name $L, inlined_at 1 9 1": ["main.cu:3", "called from main.cu:9"],
    ".loc 1 3 1, function_name $L, inlined_at 1 9 1\n.loc 1 3 1": ["main.cu:3"],
    ".loc 1 3 1, function_name $L, inlined_at 1 9 1\n.loc 2 4 1, function_name $L+5, inlined_at 1 3 1\n"
    ".loc 3 5 1, function_name $L+5, inlined_at 2 4 1":
        ["main.cu:3", "which calls put.cuh:4", "which calls /usr/include/c.h:5", "called from main.cu:9"],
    ".loc 3 5 1\n.loc 1 3 1, function_name $L, inlined_at 3 5 1": ["main.cu:3", "called from /usr/include/c.h:5"],
    ".loc 4 5168 1, function_name $L, inlined_at 1 9 1": ["main.cu:9"],
}  # fmt: skip


@pytest.mark.parametrize("locations", INLINED)
def test_the_users_line_comes_first(locations: str) -> None:
    assert told(f"{locations}\nret;", FILES).get(locations.count("\n") + 2) == INLINED[locations]


def test_statements_and_inline_assembly() -> None:
    assembly = ".loc 1 2 1\nmov.u32 %r4, 0;\n{.reg .u32 q; mov.u32 q, %r1;\nmov.u32 %r2, q;\n}"
    call = "call.uni (%r1), // in several lines\nfar,\n(%r1\n);"
    ptx = f".loc 1 8 1\n// begin inline asm\n{assembly}\n// end inline asm\n.loc 1 9 1\nagain:\n{call}\n"
    found = told(ptx + "/* nothing\nagain */ {\n}\nlast: ret;", FILES)
    assert {line: places[0] for line, places in found.items()} == {
        4: "main.cu:8", 5: "main.cu:8", 6: "main.cu:8", 11: "main.cu:9", 18: "main.cu:9"
    }  # fmt: skip


@pytest.mark.parametrize(("calls", "first"), [(1, "main.cu:7"), (2, "put.cuh:4")])
def test_a_function_of_a_header_that_one_line_calls(calls: int, first: str) -> None:
    kernel = ".entry k()\n{\n.loc 1 7 1\ncall far,\n();\n" + (calls - 1) * ".loc 1 8 1\ncall far, ();\n" + "}\n"
    spans = parse(f".func far()\n{{\n.loc 2 4 1\nret;\n}}\n{kernel}{FILES}").spans
    assert spans[4].told()[0] == first


@pytest.mark.parametrize("written", ["{there}/src/scale.cu", "scale.cu", "src/scale.cu", "/built/on/src/scale.cu",
                                     r"C:\\work\\src\\scale.cu"])  # fmt: skip
@pytest.mark.parametrize("beside", ["", "src"])
def test_a_source_is_found_where_file_says_or_beside_the_ptx(tmp_path: Path, written: str, beside: str) -> None:
    source = tmp_path / "src" / "scale.cu"
    source.parent.mkdir()
    source.write_text("a\nb\n")
    files = f'.file 1 "{written.format(there=tmp_path)}"'
    found = told(".loc 1 2 1\nret;", files, str(tmp_path / beside / "scale.ptx"))[2]
    assert found == [f"{source}:2" if beside or "src" in written else "scale.cu:2"]
