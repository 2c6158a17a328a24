"""Planted reads of asynchronous copies that have not come yet, in the notation of `planted_bug.py`."""

from __future__ import annotations

from typing import Any

from planted_bug import Planted

COPIES = Planted("copy", "synccheck")
OWN = """
    mul.wide.u32 %rd6, %r1, 4; add.u64 %rd6, %rd2, %rd6;
    cp.async.ca.shared.global [%r10], [%rd6], 4; //2
"""
"""Each thread copies its element of x into its element of the tile."""


def bug(name: str, *, body: str, **options: Any) -> None:
    """What is done to the target of a copy that is still in flight."""
    COPIES.add(name, "asynchronous copy", body=body, **options)


LATE = Planted("late copy", "racecheck", before=".shared .align 16 .b8 tile[4096];")
LATE.add(
    "a store of what is there before the copy comes",
    "WAW",
    body="""
    st.shared.u32 [%r10], 7;
    bar.sync 0;
    @%p2 cp.async.ca.shared.global [%r10], [%rd2], 4; //2
    @%p2 cp.async.wait_all;
    + bar.sync 0;
    @!%p2 st.shared.u32 [%r12], 7; //1
    bar.sync 0;
    st.global.u32 [%rd3], %r1;
""",
)

# fmt: off
bug("read before any wait", threads=32, body=OWN + """
    + cp.async.wait_all;
    ld.shared.u32 %r6, [%r10]; //1
    st.global.u32 [%rd3], %r6;""")
bug("committed and not waited for", threads=32, body=OWN + """
    cp.async.commit_group;
    + cp.async.wait_group 0;
    ld.shared.u32 %r6, [%r10]; //1
    st.global.u32 [%rd3], %r6;""")
bug("waits for all groups but the one that is read", threads=32, body=OWN + """
    cp.async.commit_group;
    - cp.async.wait_group 1;
    + cp.async.wait_group 0;
    ld.shared.u32 %r6, [%r10]; //1
    st.global.u32 [%rd3], %r6;""")
bug("waits for groups, and has committed none", threads=32, body=OWN + """
    + cp.async.commit_group;
    cp.async.wait_group 0;
    ld.shared.u32 %r6, [%r10]; //1
    st.global.u32 [%rd3], %r6;""")
bug("a barrier instead of a wait", body=OWN + """
    + cp.async.wait_all;
    bar.sync 0;
    ld.shared.u32 %r6, [%r12]; //1
    st.global.u32 [%rd3], %r6;""")
bug("16 bytes, their last word", threads=32, body="""
    mad.lo.u32 %r13, %r1, 16, %r20;
    cp.async.cg.shared.global [%r13], [%rd2], 16; //2
    + cp.async.wait_all;
    ld.shared.u32 %r6, [%r13+12]; //1
    st.global.u32 [%rd3], %r6;""")
bug("a matrix loaded while it is copied", threads=32, body="""
    mad.lo.u32 %r13, %r1, 16, %r20;
    cp.async.cg.shared.global [%r13], [%rd2], 16; //2
    cp.async.commit_group;
    + cp.async.wait_group 0;
    bar.warp.sync 0xffffffff;
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r15, %r16, %r17, %r18}, [%r13]; //1
    st.global.u32 [%rd3], %r15;""")
bug("overwritten before it has come", body="""
    mul.wide.u32 %rd5, %r1, 4; add.u64 %rd6, %rd2, %rd5;
    cp.async.ca.shared.global [%r10], [%rd6], 4; //2
    + cp.async.wait_all;
    st.shared.u32 [%r10], 5; //1
    - cp.async.wait_all;
    bar.sync 0;
    ld.shared.u32 %r6, [%r12];
    st.global.u32 [%rd3], %r6;""")

for _name, _space, _base in (("shared memory", ".shared", "%r20"), ("a generic address", "", "%rd7")):
    bug(f"a tile loaded by wmma while it is copied, {_name}", threads=32, body=f"""
    cvt.u64.u32 %rd7, %r20; cvta.shared.u64 %rd7, %rd7; mul.wide.u32 %rd5, %r1, 16;
    add.u64 %rd6, %rd2, %rd5; shl.b32 %r7, %r1, 4; add.u32 %r7, %r7, %r20;
    cp.async.cg.shared.global [%r7], [%rd6], 16; //2
    + cp.async.wait_all;
    bar.warp.sync -1;
    wmma.load.a.sync.aligned.row.m16n16k16{_space}.f16 {{%r6, %r8, %r9, %r13, %r14, %r15, %r16, %r17}}, [{_base}]; //1
    cp.async.wait_all;
    st.global.u32 [%rd3], %r6;""")
