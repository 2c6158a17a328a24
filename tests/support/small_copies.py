"""Small kernels with asynchronous copies, waited for in time or not.

What the registers hold is said in `small_kernels.py`.
"""

from __future__ import annotations

from small_kernels import Kernels

COPIES = Kernels()
clean, wrong = COPIES.clean, COPIES.wrong

PLACES = """
    mul.wide.u32 %rd5, %r1, 16; add.u64 %rd6, %rd2, %rd5; shl.b32 %r7, %r1, 4;
    add.u32 %r7, %r7, %r20;
"""
"""%rd6 and %r7 are the 16 bytes of this thread in x and in the tile."""
IN_TWO_GROUPS = f"""{PLACES}
    cp.async.cg.shared.global [%r7], [%rd6], 16;
    cp.async.commit_group;
    cp.async.cg.shared.global [%r7+1024], [%rd6], 16;
    cp.async.commit_group;
"""
"""Each thread copies its 16 bytes twice, the second time to 1024 bytes further on."""

# fmt: off
clean("cp.async, first group", body=IN_TWO_GROUPS + """
    cp.async.wait_group 1;
    bar.sync 0;
    ld.shared.v4.u32 {%r6, %r8, %r9, %r13}, [%r7+0]; st.global.u32 [%rd3], %r6;
    cp.async.wait_all;
""")
clean("cp.async, own data without barrier", body=IN_TWO_GROUPS + """
    cp.async.wait_group 0;
    ld.shared.v4.u32 {%r6, %r8, %r9, %r13}, [%r7+1024]; st.global.u32 [%rd3], %r6;
    cp.async.wait_all;
""")
clean("cp.async that fills with zeros", body=PLACES + """
    mov.u32 %r8, 4;
    cp.async.cg.shared.global [%r7], [%rd6], 16, %r8;
    cp.async.wait_all;
    ld.shared.v4.u32 {%r6, %r8, %r9, %r13}, [%r7]; st.global.u32 [%rd3], %r13;
""")
