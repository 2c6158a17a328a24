"""The planted bugs of the tests, numbered, and a few more that the GPU stops: accesses outside what there is."""

from __future__ import annotations

from typing import Any

from benchmarks.gpu import corpus

Planted = corpus.module("planted_bug").Planted
MEMORY = Planted("memory", "memcheck", stops=True)
"""Both memchecks find these; the emulator stops a kernel for them, whatever is checked."""
bug = MEMORY.add

# fmt: off
bug("a load behind the end of an array", "bounds", body="""
    + ld.global.u32 %r6, [%rd3];
    - ld.global.u32 %r6, [%rd3+1048576]; //1
    st.global.u32 [%rd3], %r6;
""")
bug("a store in front of an array", "bounds", body="""
    + st.global.u32 [%rd3], %r1;
    - st.global.u32 [%rd3+-1048576], %r1; //1
""")
bug("a null pointer", "bounds", body="""
    mov.u64 %rd6, 16;
    + mov.u64 %rd6, %rd3;
    ld.global.u32 %r6, [%rd6]; //1
    st.global.u32 [%rd3], %r6;
""")
bug("an address that is not a multiple of its size", "misaligned", body="""
    + ld.global.u32 %r6, [%rd3];
    - ld.global.u32 %r6, [%rd3+2]; //1
    st.global.u32 [%rd3], %r6;
""")
bug("a store behind shared memory", "bounds", body="""
    + st.shared.u32 [%r10], %r1;
    - st.shared.u32 [%r10+262144], %r1; //1
    st.global.u32 [%rd3], %r1;
""")
bug("16 bytes at an address that is a multiple of 4", "misaligned", body="""
    mad.lo.u32 %r6, %r1, 16, %r20;
    - add.u32 %r6, %r6, 4;
    st.shared.v4.u32 [%r6], {%r1, %r1, %r1, %r1}; //1
    st.global.u32 [%rd3], %r1;
""")
# fmt: on


def bugs() -> dict[str, Any]:
    """All bugs by name, in an order that stays."""
    return corpus.module("planted").BUGS | MEMORY


def kernel_name(number: int, repaired: bool) -> str:
    """The name under which a bug, or its repaired twin, is launched: `bug_012`, `fixed_012`."""
    return f"{'fixed' if repaired else 'bug'}_{number:03}"
