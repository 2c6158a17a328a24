"""What `docs/machine.md` says is not found: today it is not. A check that finds one makes a planted bug of it."""

from __future__ import annotations

import pytest
from emulate_programs import ALL_CHECKS, DEVICES
from planted_bug import Bug
from planted_missed import MISSED
from planted_proxy import COMMIT, DONE, FENCE, PRODUCT, TILES

LATER = Bug("initcheck", "uninitialised read", blocks=2, body="""
    ld.shared.u32 %r6, [%r10];
    mov.u32 %r30, 0;
MORE: add.u32 %r30, %r30, 1; setp.lt.u32 %p6, %r30, 300; @%p6 bra MORE;
    - setp.ne.u32 %p6, %r2, 0; @%p6 st.global.u32 [%rd3], %r6;""")  # fmt: skip

PADDED = Bug(
    "initcheck",
    "uninitialised read",
    threads=128,
    target="sm_90a",
    body=TILES
    + f"""
    setp.lt.u32 %p2, %r1, 112; setp.lt.u32 %p7, %r1, 96;
    @%p2 st.shared.v4.b32 [%r31], {{%r30, %r30, %r30, %r30}};
    @%p8 st.shared.v4.b32 [%r31+2048], {{%r30, %r30, %r30, %r30}};
    {FENCE}
    bar.sync 0;
    wgmma.fence.sync.aligned;
    {PRODUCT} {COMMIT} {DONE}
    @%p7 st.global.f32 [%rd3], %f0;""",
)


@pytest.mark.parametrize("name", MISSED)
def test_nothing_is_found(name: str, device: str) -> None:
    for repaired in (False, True):
        run, _ = MISSED[name].run(device, repaired, ALL_CHECKS)
        assert [str(f) for f in run.findings if f.check != "unwritten"] == []


def test_a_value_that_a_later_block_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled code follows values in a second run, which ends after some instructions."""
    monkeypatch.setattr("ptxlab.emulate.step.interpreter.FOLLOWED", 1000)
    assert [len(LATER.run(device, False, ALL_CHECKS)[0].findings) for device in DEVICES] == [1, 0][: len(DEVICES)]


def test_rows_of_a_product_that_nobody_uses(device: str) -> None:
    """A false positive: `wgmma` reads rows without values, and nobody uses what it makes of them."""
    run, _ = PADDED.run(device, False, ALL_CHECKS)
    assert [(f.check, f.kind) for f in run.findings] == [("initcheck", "uninitialised read")]
