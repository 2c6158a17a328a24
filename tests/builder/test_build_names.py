"""Names, comments and Python spans survive into the PTX, from files, notebook cells and helper functions alike."""

# ruff: noqa: F841, RUF059

from __future__ import annotations

import linecache
from pathlib import Path
from typing import Any

import build_attention

from ptxlab.builder import Builder, Kernel, Ptr, Register, f32, kernel, u32
from ptxlab.text import parse


def body(built: Any) -> list[str]:
    """The instructions, without the columns' padding."""
    text = built.ptx.partition("{")[2]
    found = [" ".join(line.split()) for line in text.splitlines() if line.strip() not in ("", "}", "ret;")]
    return [line for line in found if not line.startswith((".reg", ".shared", "ld.param"))]


def test_the_attention_kernel_reads_like_its_python() -> None:
    golden = (Path(__file__).parents[1] / "support" / "build_attention.ptx").read_text(encoding="utf-8")
    assert build_attention.attention.ptx == golden
    assert str(parse(golden)) == golden


def test_names_of_assignments() -> None:
    @kernel
    def f(k: Builder, x: f32) -> None:
        a = x + 1.0
        b, c = x * 2.0, x * 3.0
        d = e = -x
        g: f32 = x / 2.0
        h = x - 1.0 if True else x
        many = [x * float(n) for n in range(2)]
        if (w := x + 5.0) is None:
            return
        x + 6.0
        _ = x + 7.0

    assert body(f) == [
        "add.rn.f32 %a, %x, 0f3F800000;",
        "mul.rn.f32 %b, %x, 0f40000000;",
        "mul.rn.f32 %c, %x, 0f40400000;",
        "neg.f32 %e, %x;",
        "div.rn.f32 %g, %x, 0f40000000;",
        "sub.rn.f32 %h, %x, 0f3F800000;",
        "mul.rn.f32 %many0, %x, 0f00000000;",
        "mul.rn.f32 %many1, %x, 0f3F800000;",
        "add.rn.f32 %w, %x, 0f40A00000;",
        "add.rn.f32 %f1, %x, 0f40C00000;",
        "add.rn.f32 %f2, %x, 0f40E00000;",
    ]


def test_a_call_over_several_lines_takes_the_name() -> None:
    @kernel
    def f(k: Builder, x: f32) -> None:
        total = k.fma(
            x,
            x,
            x,
        )  # squares
        chained = k.sqrt(x)

    assert body(f) == ["fma.rn.f32 %total, %x, %x, %x; // squares", "sqrt.rn.f32 %chained, %x;"]


def test_repeated_reserved_and_foreign_names() -> None:
    @kernel
    def f(k: Builder, x: f32) -> None:
        for _ in range(2):
            twice = x * 2.0
        tid = k.tid.x
        laneid = k.laneid
        f1 = x + 1.0
        größe = x + 2.0
        x + 3.0

    assert body(f) == [
        "mul.rn.f32 %twice, %x, 0f40000000;",
        "mul.rn.f32 %twice_2, %x, 0f40000000;",
        "mov.u32 %tid_x, %tid.x;",
        "mov.u32 %laneid_1, %laneid;",
        "add.rn.f32 %f1, %x, 0f3F800000;",
        "add.rn.f32 %f2, %x, 0f40000000;",
        "add.rn.f32 %f3, %x, 0f40400000;",
    ]
    assert parse(f.ptx).kernels


def test_only_the_last_instruction_of_a_helper_takes_the_name() -> None:
    def softplus(k: Builder, x: Any) -> f32:
        power = k.exp2(x)
        return k.log2(power + 1.0)

    def twice(k: Builder, x: Any) -> f32:
        return softplus(k, x * 2.0)

    @kernel
    def f(k: Builder, x: f32) -> None:
        smooth = twice(k, x)  # never negative
        last = (lambda y: y + 1.0)(smooth)

    assert body(f) == [
        "mul.rn.f32 %f1, %x, 0f40000000;",
        "ex2.approx.f32 %power, %f1;",
        "add.rn.f32 %f2, %power, 0f3F800000;",
        "lg2.approx.f32 %smooth, %f2;",
        "add.rn.f32 %last, %smooth, 0f3F800000;",
    ]


def test_tuple_targets_and_vectors() -> None:
    @kernel
    def f(k: Builder, x: Ptr[f32]) -> None:
        a, b = k.load(x, 2)
        row = k.load(x, 4, vector=4)
        low, high = k.unpack(k.address(x), u32)

    assert body(f) == [
        "ld.global.f32 %a, [%x];",
        "ld.global.f32 %b, [%x+4];",
        "ld.global.v4.f32 {%row0, %row1, %row2, %row3}, [%x];",
        "mov.b64 {%low, %high}, %x;",
    ]
    assert ".reg .f32   %row<4>, %a, %b;" in f.ptx


def test_comments_go_with_the_named_instruction_and_are_printed_once() -> None:
    @kernel
    def f(k: Builder, x: f32) -> None:
        # how far it fell
        # since the start
        rescale = k.exp2(x - 1.0)  # shrinks
        for n in range(2):
            y = rescale * float(n)  # one of many
        z = k.copy(y, **({} if "# no comment" else {"#": "#"}))  # after strings

    assert body(f) == [
        "// how far it fell",
        "// since the start",
        "sub.rn.f32 %f1, %x, 0f3F800000;",
        "ex2.approx.f32 %rescale, %f1; // shrinks",
        "mul.rn.f32 %y, %rescale, 0f00000000; // one of many",
        "mul.rn.f32 %y_2, %rescale, 0f3F800000;",
        "mov.f32 %z, %y_2; // after strings",
    ]


def test_spans_point_at_the_expression() -> None:
    module = build_attention.attention.module
    lines = str(module).splitlines()
    source = Path(build_attention.__file__).read_text(encoding="utf-8").splitlines()

    def text(start: str) -> str:
        number = next(n for n, line in enumerate(lines, 1) if " ".join(line.split()).startswith(start))
        span = module.spans[number]
        assert span.file == build_attention.__file__
        return source[span.line - 1][span.column : span.end_column]

    assert text("ex2.approx.f32 %rescale") == "k.exp2(row_max - new_max)"
    assert text("sub.rn.f32 %f3") == "row_max - new_max"
    assert text("mul.rn.f32 %score") == "score *= scale_log2e"
    assert text("setp.ge.u32 %p1") == "k.loop(n)"
    assert text("add.u32 %j") == "k.loop(n)"
    assert text("bra.uni loop_j") == "k.loop(n)"
    assert text("ld.param.f32 %scale") == "scale: f32"
    assert text("st.global.f32 [%out_row]") == "out_row[d]"


def _run(source: str, file: str) -> Kernel:
    """Executes source as a notebook does: compiled under a name whose text only `linecache` knows."""
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names: dict[str, Any] = {"kernel": kernel, "f32": f32, "Ptr": Ptr, "u32": u32, "Builder": Builder}
    exec(compile(source, file, "exec"), names)
    built: Kernel = names["f"]()
    return built


CELL = """@kernel
def f(k, x: Ptr[f32], n: u32):
    i = k.thread_index()
    y = x[i]  # load
    x[i] = y + {}
"""


def test_notebook_cells() -> None:
    for future in ("", "from __future__ import annotations\n"):
        built = _run(future + CELL.format("1.0"), "<ipython-input-7-abc>")
        assert "ld.global.f32 %y, [%rd1]; // load" in body(built)
        line = next(n for n, x in enumerate(built.ptx.splitlines(), 1) if "%y, [" in x)
        assert str(built.module.spans[line]) == f"<ipython-input-7-abc>:{4 + bool(future)}"


def test_a_cell_that_runs_again_is_read_again() -> None:
    first = _run(CELL.format("1.0"), "<cell>")
    again = _run("# a line more\n" + CELL.format("2.0").replace("y", "z"), "<cell>")
    assert "add.rn.f32 %f1, %y, 0f3F800000;" in body(first)
    assert "add.rn.f32 %f1, %z, 0f40000000;" in body(again)


def test_without_source_the_names_are_numbers() -> None:
    names: dict[str, Any] = {"kernel": kernel, "f32": f32, "Ptr": Ptr, "u32": u32}
    exec(compile(CELL.format("1.0"), "<gone>", "exec"), names)
    assert "ld.global.f32 %f1, [%rd1];" in body(names["f"])


def test_loc_lines_on_request() -> None:
    with_loc = build_attention.attention(loc=True)
    assert f'.file 1 "{build_attention.__file__}"' in with_loc.ptx
    assert with_loc.ptx.count(".loc 1 ") > 20
    assert ".loc" not in build_attention.attention.ptx
    kept = [x for x in with_loc.ptx.splitlines() if not x.strip().startswith((".loc", ".file"))]
    assert "\n".join(kept) + "\n" == build_attention.attention.ptx
    assert with_loc.module.spans.keys() != build_attention.attention.module.spans.keys()


def test_registers_show_themselves() -> None:
    seen: list[str] = []

    @kernel
    def f(k: Builder, x: f32, p: Ptr[f32]) -> None:
        total = k.var(f32, 0.0)
        seen.extend(map(repr, (x, total, x + 1.0, p, p + 2)))
        assert isinstance(total, Register)

    f()
    assert seen == ["<f32 %x>", "<f32 %total>", "<f32 `x + 1.0`>", "<Ptr[f32] global %p>", "<Ptr[f32] global %p+8>"]
    assert repr(f()) == "<kernel f(x: f32, p: Ptr[f32]) for sm_80, 18 lines>"
