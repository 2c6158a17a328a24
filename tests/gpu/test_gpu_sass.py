"""The disassembler: machine code with the PTX line of each instruction, and what is said where nvdisasm is missing."""

from __future__ import annotations

import pytest

from ptxlab.errors import AssemblyError, UnavailableError
from ptxlab.gpu import disassembler, sass
from ptxlab.gpu.disassembler import SassInstruction, mark_lines, read_sass
from ptxlab.text import parse

TEXT = """\
.version 8.0
.target sm_80
.address_size 64
.file 3 "kernel.cu"

.visible .entry add_one(
    .param .u64 data
)
{
    .reg .b64 %rd<2>; .reg .f32 %f<2>; .reg .pred %p;
    ld.param.u64 %rd0, [data];
    .loc 3 7 1
    ld.global.f32 %f0, [%rd0]; setp.gt.f32 %p, %f0, 0f00000000;
    {
        .reg .f32 %one;
        mov.f32 %one, 0f3F800000;  // one
        add.f32 %f1, %f0, %one;
    }
    @%p st.global.f32 [%rd0], %f1;
    ret;
}
"""

nvdisasm = pytest.mark.skipif(disassembler.find_nvdisasm() is None, reason="needs nvdisasm: pip install 'ptxlab[sass]'")


@pytest.mark.long
@pytest.mark.sweep(2)
@nvdisasm
@pytest.mark.assembler
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_120"])
def test_each_instruction_knows_its_ptx_line(arch: str) -> None:
    made = sass(TEXT, arch)
    (function,) = made.functions
    assert (made.arch, made.assembly.arch, function.name) == (arch, arch, "add_one")
    assert {"LDG.E"} <= {code.opcode for code in function.at_line(13)}
    assert [code.opcode for code in function.at_line(17)] == ["FADD"]
    assert "STG.E" in {code.opcode for code in function.at_line(19)}
    assert [code.address for code in function.instructions] == [16 * n for n in range(len(function.instructions))]
    assert "NOP" not in {code.opcode for code in function.instructions}
    assert "EXIT" in {code.opcode for code in function.instructions}
    assert str(made) == made.text


@nvdisasm
@pytest.mark.assembler
def test_errors_show_the_text_as_it_was_written() -> None:
    with pytest.raises(AssemblyError) as caught:
        sass(TEXT.replace("add.f32", "addd.f32"))
    assert str(caught.value) == (
        "<ptx>:17:9: Not a name of any known instruction: 'addd'\n"
        "            addd.f32 %f1, %f0, %one;\n"
        "            ^~~~\n  from:   kernel.cu:7"
    )


def test_lines_are_marked_without_moving_any() -> None:
    marked = mark_lines(parse(TEXT))
    assert marked.count("\n") == TEXT.count("\n") + 2
    lines = marked.split("\n")
    assert lines[3].strip() == ""
    assert lines[10] == "    .loc 1 11 0 ld.param.u64 %rd0, [data];"
    assert lines[11].strip() == ""
    assert lines[12] == "    .loc 1 13 0 ld.global.f32 %f0, [%rd0]; .loc 1 13 0 setp.gt.f32 %p, %f0, 0f00000000;"
    assert lines[15] == "        .loc 1 16 0 mov.f32 %one, 0f3F800000;  // one"
    assert lines[18] == "    .loc 1 19 0 @%p st.global.f32 [%rd0], %f1;"
    assert marked.endswith('\n.file 1 "ptx"\n')


def test_reads_what_nvdisasm_prints() -> None:
    text = (
        "//--------------------- .text.k --------------------------\n.text.k:\n"
        '\t//## File "ptx", line 7\n        /*0000*/                   MOV R1, c[0x0][0x28] ;\n'
        '\t//## File "ptx", line 9\n        /*0010*/              @!P0 FFMA.FTZ R2, R1, R1, R2 ;\n.L_x_0:\n'
        "        /*0020*/              @!UP0 UIADD3 UR4, UR4, 0x1, URZ ;\n        /*0030*/                   EXIT ;\n"
        ".L_x_1:\n        /*0040*/                   BRA `(.L_x_1);\n        /*0050*/                   NOP;\n"
    )
    (function,) = read_sass(text)
    assert function.instructions == (
        SassInstruction(0, "MOV R1, c[0x0][0x28]", 7),
        SassInstruction(16, "@!P0 FFMA.FTZ R2, R1, R1, R2", 9),
        SassInstruction(32, "@!UP0 UIADD3 UR4, UR4, 0x1, URZ", 9),
        SassInstruction(48, "EXIT", 9),
    )
    assert [code.opcode for code in function.instructions] == ["MOV", "FFMA.FTZ", "UIADD3", "EXIT"]


def test_without_nvdisasm_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disassembler, "find_nvdisasm", lambda: None)
    with pytest.raises(UnavailableError) as caught:
        sass(TEXT)
    assert str(caught.value) == "NVIDIA's disassembler nvdisasm is not installed: pip install 'ptxlab[sass]'"
