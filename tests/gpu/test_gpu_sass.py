"""The disassembler: machine code with the PTX line of each instruction, and what is said where nvdisasm is missing."""

from __future__ import annotations

import pytest

from ptxlab.errors import AssemblyError, UnavailableError
from ptxlab.gpu import disassembler, sass

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


def test_without_nvdisasm_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disassembler, "find_nvdisasm", lambda: None)
    with pytest.raises(UnavailableError) as caught:
        sass(TEXT)
    assert str(caught.value) == "NVIDIA's disassembler nvdisasm is not installed: pip install 'ptxlab[sass]'"
