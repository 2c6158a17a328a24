"""The initial values of a long array are read as one token: what comes of it is what reading word by word gives."""

from __future__ import annotations

import numpy as np
import pytest

import ptxlab as pl
from ptxlab.errors import PtxError, PtxSyntaxError
from ptxlab.text import lexer
from ptxlab.text.model import Declaration, Number, Variable

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
KERNEL = """.visible .entry k(.param .u64 out) {
  .reg .b64 %d<6>;
  .reg .b32 %r<3>;
  ld.param.u64 %d1, [out];
  mov.u32 %r1, %tid.x;
  cvt.u64.u32 %d2, %r1;
  mov.u64 %d3, a;
  add.u64 %d4, %d3, %d2;
  add.u64 %d5, %d1, %d2;
  ld.global.u8 %r2, [%d4];
  st.global.u8 [%d5], %r2;
  ret;
}
"""


def array(values: str, type_: str = "b8", length: str = "") -> str:
    return f"{HEAD}.global .align 8 .{type_} a[{length}] = {values};\n"


def declared(text: str) -> Variable:
    return next(item for item in pl.parse(text).items if isinstance(item, Declaration)).variables[0]


def as_read(text: str) -> list[object]:
    """The variable and its initial values, or where and how it is wrong."""
    try:
        variable = declared(text)
    except PtxSyntaxError as error:
        return [error.line, error.column, error.length, str(error)]
    assert isinstance(variable.initial, tuple)
    values = [(type(v).__name__, *((v.text, v.kind, v.value, v.bits) if isinstance(v, Number) else (str(v),)))
              for v in variable.initial]  # fmt: skip
    return [variable.shape, variable.line, variable.column, *values]


def word_by_word(text: str, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    with monkeypatch.context() as patch:
        patch.setattr(lexer, "_WORDS", lexer._PLAIN)
        return as_read(text)


def values(count: int = 200, **others: str) -> str:
    """Braces with numbers, some of them replaced: `_7="0x10"` is the one of index 7."""
    return "{" + ", ".join(others.get(f"_{k}", str(k % 250)) for k in range(count)) + "}"


CASES = [
    values(), values().replace(", ", ","), values().replace(", ", ",\n  "), values().replace(", ", " , \r\n"),
    values(_3="0x1F", _4="0X1fU", _5="017", _6="0b101", _7="-5", _8="- 7", _9="7U"),
    values(_3="1.5", _4="-1.5e-3", _5="0f3F800000", _6="0dBFF0000000000000", _9="-0f3F800000"),
    values(_3="1+2", _4="3-1", _5="1-"), values(_3="09"), values(_3="0b102"), values(_3="", _4=" "), values(_199=""),
    values(_3="a"), values(_3="."), values(_3="- -5"), values(_3="1 2"), values(_3="12345678901234567890123"),
    values(_3="WARP_SZ"), values(_3="/* three */ 3"), values(_3="{1, 2}"), values().replace("}", ""),
]  # fmt: skip


@pytest.mark.parametrize("given", CASES)
@pytest.mark.parametrize("behind", ["", ".global .u32 b;", ".global .u32 c = ;", "wrong"])
def test_long_arrays_are_read_as_word_by_word(given: str, behind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = array(given) + behind
    assert as_read(text) == word_by_word(text, monkeypatch)


@pytest.mark.parametrize("given", CASES[:6])
def test_a_text_with_a_long_array_is_printed_as_it_stands(given: str) -> None:
    text = array(given) + "// the end\n"
    assert str(pl.parse(text)) == text


def test_an_error_behind_a_long_array_is_found_at_its_place() -> None:
    with pytest.raises(PtxError) as raised:
        pl.parse(array(values().replace(", ", ",\n")) + KERNEL.replace("mov.u64 %d3, a", "mov.u64 %d3 a"))
    assert (raised.value.line, raised.value.source) == (3 + 200 + 7, "  mov.u64 %d3 a;")


def test_a_kernel_reads_a_long_array() -> None:
    numbers = np.random.default_rng(1).integers(0, 256, 512, np.uint8)
    for device in ("cpu", "step"):
        out = np.zeros(512, np.uint8)
        given = "{" + ", ".join(map(str, numbers)) + "}"
        pl.launch(array(given, length="512") + KERNEL, 1, 512, out, device=device)
        assert np.array_equal(out, numbers)


@pytest.mark.parametrize("number", ["0f7FC00000", "0f7F800000", "0dFFF0000000000000"])
def test_bytes_that_are_no_numbers(number: str) -> None:
    """Bytes may be a format of `printf`; floating-point numbers are none."""
    for device in ("cpu", "step"):
        out = np.ones(2, np.uint8)
        pl.launch(array(f"{{{number}, 1}}", length="2") + KERNEL, 1, 2, out, device=device)
        assert out.tolist() == [0, 1]
