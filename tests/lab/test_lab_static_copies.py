"""What a saved copy of the debugger keeps of a trace, around the step that was asked for, and where it opens."""

from __future__ import annotations

import numpy as np
import pytest

import ptxlab as pl
from ptxlab.emulate.trace.excerpt import excerpt
from ptxlab.lab import saved
from ptxlab.lab.trace_events import Shown

pytest.importorskip("anywidget", reason="needs anywidget: pip install anywidget")

LOOP = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{
    .reg .pred %p;
    .reg .u32 %t;
    .reg .f32 %row_max, %f;
    mov.u32 %t, 0;
LOOP:
    cvt.rn.f32.u32 %row_max, %t;
    add.u32 %t, %t, 1;
    setp.lt.u32 %p, %t, COUNT;
    @%p bra LOOP;
    mul.f32 %f, %row_max, %row_max;
    ret;
}
"""
"""A kernel that takes many steps before the one at its end."""


def looping(count: int) -> str:
    """The kernel, with this many rounds."""
    return LOOP.replace("COUNT", str(count))


def test_it_opens_in_the_first_warp_that_was_there() -> None:
    text = looping(3).replace("mov.u32 %t, 0;", "mov.u32 %t, %tid.x;\n    setp.lt.u32 %p, %t, 64;\n    @%p bra END;")
    d = pl.debug(text.replace("    ret;", "END:\n    ret;"), 1, 96, np.zeros(1, np.float32), at="mul.f32")
    assert d.info["start"] == [0, 2]
    assert "start" not in pl.debug(d.recording, at=".reg .pred").info  # no warp ever is there
    assert pl.debug(d.recording).info.keys().isdisjoint({"at", "start"})


@pytest.mark.long
def test_a_saved_copy_keeps_the_steps_around_the_one_that_was_asked_for() -> None:
    whole = pl.debug(looping(5000), 1, 64, np.zeros(1, np.float32)).recording
    last = len(whole.walk(0, 0)) - 2
    assert whole.walk(0, 0).moment(last).opcode == "mul.f32"
    for key, step in (((0, 0), last), ((0, 1), last), ((0, 1), 9000), ((0, 0), 4096), ((0, 1), 0)):
        part, begins = excerpt(whole, 3000, (key, step))
        kept, full, begin = part.walk(*key), whole.walk(*key), begins[key]
        assert part.size < 3100 + whole.pages[0, 0][0][2]
        assert (begins, part.capped) == ({key: begin}, True)
        assert begin <= step < begin + len(kept)
        assert len(kept) > 300
        for k in (0, step - begin, len(kept) - 1):
            a, b = kept.moment(k), full.moment(begin + k)
            assert (a.number, a.line, a.mask.tolist()) == (b.number, b.line, b.mask.tolist())
            kept.seek(k)
            full.seek(begin + k)
            assert all((kept.registers[name] == full.registers[name]).all() for name in whole.names)
    assert excerpt(whole, 10**9) == (whole, {(0, 0): 0, (0, 1): 0})
    few = pl.debug(looping(40), 1, 64, np.zeros(1, np.float32)).recording
    part, _ = excerpt(few, few.size - 1)  # it fits without the header's room, and harder compressed
    assert (part.steps, part.capped) == (few.steps, False)
    part, begins = excerpt(whole, 1)
    assert (part.steps, begins) == (1, {(0, 0): 0})


@pytest.mark.long
def test_a_saved_copy_says_what_it_keeps() -> None:
    whole = pl.debug(looping(5000), 1, 64, np.zeros(1, np.float32)).recording
    lines = [n for n, line in enumerate(whole.text.splitlines(), 1) if "mul.f32" in line]
    part, info = saved.copy_part(Shown(whole, at=lines), 3000)
    begin = 20_003 - part.steps
    assert info["kept"] == {"0:0": [begin, 20_003]}
    assert (info["at"], info["start"]) == (lines, [0, 0])
    assert info["copy"] == (
        f"A saved copy: it keeps steps {begin + 1:,} to 20,003 of 20,003 of block 0, warp 0, and nothing of the other "
        "warp. Run the cell for all of them."
    )
    info = saved.copy_part(Shown(whole, at=lines), 3000, lean=False)[1]
    assert info["docs"]
    assert info["copy"].endswith("nothing of the other warp."), "a page that is shared has no cell to be run"
    assert saved.copy_part(Shown(whole), None)[1].keys().isdisjoint({"copy", "kept"})
    few = pl.debug(looping(40), 1, 96, np.zeros(1, np.float32)).recording
    size = sum(page[3] for page in few.pages[0, 0])
    assert saved.copy_part(Shown(few), 2 * size)[1]["copy"].startswith(
        "A saved copy: it keeps all 163 steps of block 0, warp 0, and steps of 1 of the 2 other warps."
    )
