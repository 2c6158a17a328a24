"""A kernel launched again and again: each launch begins like the first, and nothing of it stays."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

from ptxlab.emulate import Memory, execute
from ptxlab.text import parse

pytest.importorskip("llvmlite")

PTX = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry increment(.param .u64 y)
{
    .reg .b32 %r<4>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [y];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd1, %rd1, %rd2;
    ld.global.u32 %r2, [%rd1];
    add.u32 %r2, %r2, 1;
    st.global.u32 [%rd1], %r2;
    ret;
}
"""


@pytest.mark.parametrize("options", [{}, {"workers": 2}, {"counters": True}], ids=lambda o: "+".join(o) or "plain")
def test_the_memory_of_a_launch_is_freed_when_it_ends(options: dict[str, Any]) -> None:
    """Without waiting for the collector of cycles: copies of large arrays would pile up until it runs."""
    module = parse(PTX)
    gc.collect()
    gc.disable()
    try:
        for _ in range(2):  # the first one builds
            memory = Memory()
            y = memory.allocate(128, "y")
            execute(
                module, None, grid=(1,), block=(32,), params=y.address.to_bytes(8, "little"), memory=memory, **options
            )
            assert (y.data.view(np.uint32) == 1).all()
            gone = weakref.ref(memory)
            del memory, y
        assert gone() is None
    finally:
        gc.enable()
