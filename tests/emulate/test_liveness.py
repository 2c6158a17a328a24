"""What an instruction reads and writes is found out once, and again when it changes."""

from __future__ import annotations

import ptxlab as pl
from ptxlab.emulate.program.flat_program import Reg
from ptxlab.emulate.program.liveness import reads, writes
from ptxlab.emulate.program.lowering_cache import lower

PTX = """\
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 y)
{
    .reg .b32 %a, %b, %c;
    .reg .pred %p;
    mov.u32 %a, 1;
    mov.u32 %b, 2;
    setp.lt.u32 %p, %a, %b;
    @%p add.u32 %c, %a, %b;
    ret;
}
"""


def test_reads_and_writes() -> None:
    program = lower(pl.parse(PTX))
    at = {register.name: register.index for register in program.registers}
    add = next(code for code in program.codes if code.name == "add")
    assert writes(add) == (at["%c"],)
    assert sorted(reads(add)) == sorted(at[name] for name in ("%a", "%b", "%p", "%c"))
    assert reads(add) is reads(add)
    add.dests, add.sources = (Reg(at["%a"]),), (Reg(at["%b"]), Reg(at["%b"]))
    assert writes(add) == (at["%a"],)
    assert sorted(set(reads(add))) == sorted(at[name] for name in ("%a", "%b", "%p"))
    add.guard = None
    assert set(reads(add)) == {at["%b"]}
