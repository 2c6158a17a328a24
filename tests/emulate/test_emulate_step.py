"""What only the interpreter does: it can be watched, and it holds its registers to their types."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import kernel, launch, run
from engine_cases import CASES
from test_emulate_cuda import CORPUS, FILES, KERNELS

from ptxlab.emulate import lower
from ptxlab.emulate.program.lane_types import DTYPE
from ptxlab.emulate.step.interpreter import Step
from ptxlab.text import parse


class Everything:
    """A recorder that keeps every step of some warps."""

    def __init__(self, block: int | None = None, warp: int | None = None) -> None:
        self.block, self.warp = block, warp
        self.steps: list[Step] = []

    def wants(self, block: int, warp: int) -> bool:
        return self.block in (None, block) and self.warp in (None, warp)

    def record(self, step: Step) -> None:
        self.steps.append(step)


def test_recorder_sees_masks_registers_and_accesses() -> None:
    body = """
    setp.lt.u32 %p1, %r1, 4; @!%p1 bra SKIP;
    add.u32 %r5, %r1, 10;
    @%p1 st.global.v2.u32 [%rd1+8], {%r5, %r1};
SKIP:
    mov.u32 %r6, 1;"""
    text = kernel(body)
    watcher = Everything()
    _, report = run("step", text, trace=watcher)
    assert report.trace is watcher
    assert len(watcher.steps) == report.warp_instructions
    lines = text.splitlines()
    by_text = {lines[s.code.line - 1].strip(): s for s in watcher.steps}
    registers = {r.index: r.name for r in lower(parse(text)).registers}
    add = by_text["add.u32 %r5, %r1, 10;"]
    assert np.flatnonzero(add.mask).tolist() == [0, 1, 2, 3]
    ((number, old, new),) = add.writes
    assert registers[number] == "%r5"
    assert old.tolist() == [0] * 32
    assert new.tolist() == [10, 11, 12, 13] + [0] * 28
    (touch,) = by_text["@%p1 st.global.v2.u32 [%rd1+8], {%r5, %r1};"].touches
    assert (touch.what, touch.space, touch.size) == ("store", "global", 8)
    assert (touch.address[:4] == 0x200_0000_0008).all()
    assert np.flatnonzero(touch.mask).tolist() == [0, 1, 2, 3]
    assert by_text["mov.u32 %r6, 1;"].mask.all()


@pytest.mark.sweep(5)
@pytest.mark.parametrize("name", [*CASES, *(f for f in FILES if f.count(".") == 2 and f.split(".")[0] in KERNELS)])
def test_registers_hold_their_type(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every value written into a register has its declared lane type and 32 lanes, and watching changes no result."""
    watcher = Everything()
    if name in CASES:
        c = CASES[name]
        text = c.text()
        found, _ = c.run("step", trace=watcher)
        assert found.tolist() == c.wanted()
    else:
        text = (CORPUS / name).read_text()
        monkeypatch.setattr("test_emulate_cuda.launch", lambda *a, **k: launch(*a, trace=watcher, **k))
        KERNELS[name.partition(".")[0]]("step", text)
    registers = lower(parse(text)).registers
    for step in watcher.steps:
        for number, _, new in step.writes:
            assert new.dtype == DTYPE[registers[number].lane], text.splitlines()[step.code.line - 1]
            assert new.shape == (32,)


def test_a_long_divergent_loop_does_not_tear_the_warp_apart() -> None:
    """Lanes that leave a loop early wait for the others, as long as those do not poll memory."""
    body = """
    mov.u32 %r5, 0;
    mul.lo.u32 %r7, %r1, 60;
LOOP:
    add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, %r7; @%p1 bra LOOP;
    activemask.b32 %r6;
    st.global.u32 [%rd3], %r6;"""
    found, _ = run("step", kernel(body))
    assert (found == 0xFFFFFFFF).all()


def test_atomics_on_packed_halves() -> None:
    body = (
        "mov.b32 %r5, 0x3C003800;\n    atom.global.add.noftz.f16x2 %r6, [%rd2], %r5;\n    ld.global.u32 %r7, [%rd2];\n"
    )
    found, _ = run("step", kernel(body + "    st.global.u32 [%rd3], %r7;"), x=np.zeros(1, np.uint32))
    assert found.view(np.float16).reshape(-1, 2)[0].tolist() == [16.0, 32.0]
