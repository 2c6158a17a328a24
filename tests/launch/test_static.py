"""The static side: registers alive line by line, instruction mix, occupancy, and the command that shows them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ptxlab as pl
from ptxlab import static
from ptxlab.cli import main as cli
from ptxlab.errors import LaunchError, TargetError

PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 n)
{
    .reg .pred %p<3>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<4>;
    .reg .f64 %fd<3>;
    .shared .align 4 .b8 tile[2048];
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, 0;
LOOP:
    add.u32 %r3, %r2, %r1;
    cvt.rn.f64.u32 %fd1, %r3;
    add.f64 %fd2, %fd1, %fd1;
    st.global.f64 [%rd1], %fd2;
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, %r1;
    @%p1 bra LOOP;
    st.shared.u32 [tile], %r2;
    ret;
}
"""
FIRST = 11
"""The line of the first instruction."""


@pytest.fixture
def no_assembler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static, "_assembled", lambda module, name, arch: None)


def test_registers_alive_at_each_line(no_assembler: None) -> None:
    """Worked out by hand: a pointer and an f64 are two registers each, a predicate is none."""
    s = pl.inspect(PTX)
    assert s.pressure == {
        11: 2,  # rd1
        12: 3,  # rd1 r1
        13: 4,  # rd1 r1 r2
        15: 5,  # rd1 r1 r2 r3
        16: 6,  # rd1 r1 r2 fd1
        17: 6,  # fd1 before, fd2 behind
        18: 6,
        19: 4,
        20: 4,
        21: 4,  # round the loop: rd1 r1 r2
        22: 1,  # r2
        23: 0,
    }
    assert (s.peak, s.registers, s.assembled) == (16, 6, False)
    assert s.listing().splitlines()[FIRST - 1 : FIRST + 1] == [
        "    2      ld.param.u64 %rd1, [out];",
        "    3      ld.param.u32 %r1, [n];",
    ]


def test_a_guarded_write_keeps_the_old_value_alive(no_assembler: None) -> None:
    text = PTX.replace("    add.u32 %r3, %r2, %r1;", "    @%p2 add.u32 %r3, %r2, %r1;")
    assert pl.inspect(text).pressure[13] == 5  # r3 as well: lanes without the guard still read what it held


def test_mix(no_assembler: None) -> None:
    s = pl.inspect(PTX, block=256)
    assert s.instructions == 12
    assert s.mix["add.u32"] == 2
    assert s.pipes == {"alu": 4, "adu": 2, "lsu": 2, "cbu": 2, "xu": 1, "fp64": 1}
    assert s.shared == 2048
    shown = """k for sm_80: 12 instructions
  pipes      alu 4, adu 2, lsu 2, cbu 2, xu 1, fp64 1
  mostly     add.u32 2, ld.param.u64 1, ld.param.u32 1, mov.u32 1, cvt.rn.f64.u32 1, add.f64 1
  registers  6 (the most alive at once; the assembler is not installed); 6 alive at line 16
  memory     2048 bytes shared, 0 bytes local per thread
  occupancy  8 blocks = 64 warps per SM on sm_80 (100%), limited by threads"""
    assert str(s) == shown


def test_occupancy_of_numbers() -> None:
    assert pl.occupancy(64, 256, arch="sm_90").blocks == 4
    assert pl.occupancy(32, 128, shared=100 * 1024, arch="sm_80").limiter == "shared memory"
    with pytest.raises(LaunchError) as caught:
        pl.occupancy(64, 256)
    assert str(caught.value) == 'arch: a number of registers needs a target, such as arch="sm_80"'
    with pytest.raises(TargetError):
        pl.occupancy(255, 1024, arch="sm_80")
    with pytest.raises(LaunchError, match=r"^kernel: expected PTX text, a parsed module or a builder's kernel"):
        pl.inspect(3.5)


def test_occupancy_of_a_kernel(no_assembler: None) -> None:
    found = pl.occupancy(PTX, block=64, shared=30 * 1024)
    assert (found.limiter, found.blocks) == ("shared memory", 4)  # 164 KB for blocks of 2 + 30 + 1
    assert pl.occupancy(PTX, block=32, arch="sm_90").limiter == "blocks"


@pytest.mark.assembler
def test_the_assembler_has_the_last_word() -> None:
    built = pl.kernels.get("scalar").build(head_dim=32)
    s = pl.inspect(built, block=128)
    assert s.assembled
    assert s.registers == pl.assemble(built.ptx).registers
    assert 0.6 < max(s.pressure.values()) / s.registers < 1.6


def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path, no_assembler: None) -> None:
    path = tmp_path / "k.ptx"
    path.write_text(PTX)
    assert cli.main(["static", str(path), "--block", "256"]) == 0
    assert capsys.readouterr().out == str(pl.inspect(PTX, block=256)) + "\n"
    assert cli.main(["static", str(path), "--lines"]) == 0
    assert capsys.readouterr().out == pl.inspect(PTX).listing() + "\n"
    assert cli.main(["static", "scalar", "--json", "--block", "128"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["kernel"].startswith("scalar")
    assert shown["occupancy"]["blocks"] > 0
    assert cli.main(["static", "nothing.ptx"]) == 2
    assert capsys.readouterr().err == ("ptxlab: nothing.ptx: No such file or directory, and no kernel of that name\n")


def test_a_name_of_the_library_is_a_kernel() -> None:
    ptx = pl.kernels.get("scalar").build().ptx
    assert str(pl.parse("scalar")) == ptx == pl.show("scalar", assemble=False).ptx
    assert pl.inspect("scalar", block=(16, 2)) == pl.inspect(ptx, block=32)
    assert pl.occupancy("scalar", 32) == pl.occupancy(ptx, 32)
    for call in (pl.parse, pl.assemble, pl.inspect):
        with pytest.raises(pl.kernels.UnknownKernel, match=r"there is no kernel 'scaler'; did you mean scalar\?"):
            call("scaler")


@pytest.mark.assembler
def test_a_name_of_the_library_is_assembled() -> None:
    ptx = pl.kernels.get("scalar").build().ptx
    assert pl.assemble("scalar").cubin == pl.assemble(ptx).cubin
    assert pl.sass("scalar").text == pl.sass(ptx).text
