"""What a site caches holds for the same instructions in all code of a program: for converged warps, for diverged ones,
and for blocks that are written several times."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import ENGINES, WAYS, kernel, run

from ptxlab.errors import DeviceFault

pytestmark = pytest.mark.skipif("jit" not in ENGINES, reason="needs llvmlite: there is one engine only")

BASES = "\n".join(f"or.b64 %rd{k}, %rd2, {4 * k};\nld.global.u32 %r{k}, [%rd{k}];" for k in range(10, 18))
BODY = f"""
    mul.wide.u32 %rd5, %r1, 4;
    add.u64 %rd6, %rd2, %rd5;
    ld.global.u32 %r5, [%rd6];
    and.b32 %r6, %r5, 1;
    setp.eq.u32 %p1, %r6, 0;
    mov.u32 %r7, 0;
    @%p1 bra EVEN;
    ld.global.u32 %r7, [%rd6+64];
EVEN:
    {BASES}
    setp.lt.u32 %p2, %r5, 7;
    @%p2 bra FEW;
    add.u64 %rd8, %rd2, AWAY;
    ld.global.u64 %rd9, [%rd8];
    cvt.u32.u64 %r7, %rd9;
    setp.gt.u32 %p3, %r5, 20;
    @%p3 bra END;
FEW:
    add.u32 %r7, %r7, %r17;
    st.global.u32 [%rd3], %r7;
END:
"""
"""A side that the function for converged warps has twice; words loaded from 8 bases by the whole warp; and a load of 8
bytes by lanes that have parted from others."""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("away", "ends"), [(248, True), (256, False), (400, False)])
def test_a_diverged_load_of_8_bytes_stays_within_the_array_that_words_were_loaded_from(
    way: str, away: int, ends: bool
) -> None:
    text = kernel(BODY.replace("AWAY", str(away)))
    if ends:
        out, _ = run(way, text)
        odd = np.arange(32) % 2
        wanted = np.where(np.arange(32) < 7, 17 + (np.arange(32) + 16) * odd, np.where(np.arange(32) > 20, 0, 17 + 62))
        assert out.tolist() == wanted.tolist()
        return
    with pytest.raises(DeviceFault, match=rf"load of 8 bytes at .*: {away - 256} bytes past the end of 'x'"):
        run(way, text)
