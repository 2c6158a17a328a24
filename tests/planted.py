"""Planted bugs: small kernels that each break one rule of one check, with the lines, and how to repair them.

In a body, a line that begins with `-` is the bug and is missing from the repaired twin; one that begins with `+` is the
repair. `//1` marks the line that the finding names first, `//2` the other one. Before a body come, for thread t of n:

    %r10  &tile[t]    %r11  &tile[t + 1]    %r12  &tile[t + 32]    (modulo n; tile is shared, 4 bytes each)
    %rd3  &out[thread in grid]    %rd11  &out[t]    %rd12  &out[the same thread of the next block]
    %p1  t == 0    %p2  t < 32    %p3  lane 0    %p4  lane < 16    %p5  block 0    %r21  lane    %r20  tile
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from emulate_programs import kernel

import ptxlab as pl

PROLOGUE = """
    mov.u32 %r20, tile;
    mad.lo.u32 %r10, %r1, 4, %r20;
    add.u32 %r5, %r1, 1;
    rem.u32 %r5, %r5, %r3;
    mad.lo.u32 %r11, %r5, 4, %r20;
    add.u32 %r5, %r1, 32;
    rem.u32 %r5, %r5, %r3;
    mad.lo.u32 %r12, %r5, 4, %r20;
    mul.wide.u32 %rd5, %r1, 4;
    add.u64 %rd11, %rd1, %rd5;
    mov.u32 %r6, %nctaid.x;
    add.u32 %r5, %r2, 1;
    rem.u32 %r5, %r5, %r6;
    mad.lo.u32 %r5, %r5, %r3, %r1;
    mul.wide.u32 %rd5, %r5, 4;
    add.u64 %rd12, %rd1, %rd5;
    setp.eq.u32 %p1, %r1, 0;
    setp.lt.u32 %p2, %r1, 32;
    and.b32 %r21, %r1, 31;
    setp.eq.u32 %p3, %r21, 0;
    setp.lt.u32 %p4, %r21, 16;
    setp.eq.u32 %p5, %r2, 0;
    mov.u32 %r22, %r1;
"""
TILE = ".shared .align 16 .b8 tile[4096];"


@dataclass
class Bug:
    """A bug. out: "array" (initialised), "empty" or "out" (nothing written yet). stops: it ends in a fault, and the
    findings are the fault's."""

    check: str
    kind: str
    body: str
    threads: int = 64
    blocks: int = 1
    before: str = TILE
    shared: int = 0
    out: str = "array"
    one_line: bool = False
    stops: bool = False
    target: str = "sm_80"

    def text(self, repaired: bool) -> str:
        """The PTX, with or without the bug."""
        body = []
        for line in self.body.splitlines():
            word = line.strip()
            if word[:1] in ("+", "-"):
                if (word[0] == "+") == repaired:
                    body.append("    " + word[1:].strip())
            else:
                body.append(line)
        text = kernel(PROLOGUE + "\n".join(body), self.before)
        return text if self.target == "sm_80" else text.replace("sm_80", self.target).replace("n 8.0", "n 8.6")

    def lines(self) -> tuple[int, int]:
        """The PTX lines marked //1 and //2; 0 where there is none. `one_line`: both parties stand at the first."""
        found = {1: 0, 2: 0}
        for number, line in enumerate(self.text(False).splitlines(), 1):
            for mark in found:
                if f"//{mark}" in line:
                    found[mark] = number
        return found[1], found[1] if self.one_line else found[2]

    def run(self, device: str, repaired: bool, checks: tuple[str, ...], **options: Any) -> tuple[Any, np.ndarray]:
        """A launch of it, and what it left in `out`."""
        try:
            return self.launch(device, repaired, checks, **options)
        except pl.DeviceFault as fault:
            if repaired or not self.stops:
                raise
            return fault, np.zeros(0, np.uint32)

    def launch(self, device: str, repaired: bool, checks: tuple[str, ...], **options: Any) -> tuple[Any, np.ndarray]:
        """The same; what stops it is raised."""
        total = self.threads * self.blocks
        out: Any = np.full(total + 64, 5, np.uint32)
        if self.out == "empty":
            out = pl.empty(total + 64, np.uint32, device="cpu")
        elif self.out == "out":
            out = pl.out(out)
        x = np.arange(4 * total + 64, dtype=np.uint32)
        done = pl.launch(
            self.text(repaired), self.blocks, self.threads, out, x, device=device, checks=checks, budget=100_000,
            shared=self.shared, **options,
        )  # fmt: skip
        return done, np.asarray(out.array if self.out == "out" else out)


BUGS: dict[str, Bug] = {}


def bug(name: str, check: str, kind: str, body: str, **options: Any) -> None:
    """Adds a bug to the table."""
    assert name not in BUGS, name
    BUGS[name] = Bug(check, kind, body, **options)


# -- races in shared memory --------------------------------------------------------------------------------------------

bug(
    "shared: another warp's element before a barrier",
    "racecheck",
    "RAW",
    """
    st.shared.u32 [%r10], %r1; //2
    + bar.sync 0;
    ld.shared.u32 %r6, [%r12]; //1
    st.global.u32 [%rd3], %r6;
""",
)
bug(
    "shared: overwritten while another warp still reads",
    "racecheck",
    "WAR",
    """
    st.shared.u32 [%r10], %r1;
    bar.sync 0;
    ld.shared.u32 %r6, [%r12]; //2
    + bar.sync 0;
    st.shared.u32 [%r10], 77; //1
    st.global.u32 [%rd3], %r6;
""",
)
bug(
    "shared: one word stored by two warps",
    "racecheck",
    "WAW",
    """
    - @%p3 st.shared.u32 [tile], %r1; //1
    + @%p1 st.shared.u32 [tile], %r1;
""",
    one_line=True,
)
bug(
    "shared: all lanes store to one word",
    "racecheck",
    "WAW",
    """
    - st.shared.u32 [tile], %r1; //1
    + st.shared.u32 [%r10], %r1;
""",
    threads=32,
    one_line=True,
)
bug(
    "shared: two lanes of a store share a word",
    "racecheck",
    "WAW",
    """
    shr.u32 %r6, %r1, 1;
    mad.lo.u32 %r6, %r6, 4, %r20;
    - st.shared.u32 [%r6], %r1; //1
    + st.shared.u32 [%r10], %r1;
""",
    threads=32,
    one_line=True,
)
bug(
    "shared: two lanes of a 16-byte store share a place",
    "racecheck",
    "WAW",
    """
    shr.u32 %r6, %r1, 1;
    - mad.lo.u32 %r6, %r6, 16, %r20;
    + mad.lo.u32 %r6, %r1, 16, %r20;
    st.shared.v4.u32 [%r6], {%r1, %r1, %r1, %r1}; //1
""",
    threads=32,
    one_line=True,
)
bug(
    "shared: another lane's element without bar.warp.sync",
    "racecheck",
    "RAW",
    """
    st.shared.u32 [%r10], %r1; //2
    + bar.warp.sync 0xffffffff;
    ld.shared.u32 %r6, [%r11]; //1
    st.global.u32 [%rd3], %r6;
""",
    threads=32,
)
bug(
    "shared: overwritten while another lane still reads",
    "racecheck",
    "WAR",
    """
    st.shared.u32 [%r10], %r1;
    bar.warp.sync 0xffffffff;
    ld.shared.u32 %r6, [%r11]; //2
    + bar.warp.sync 0xffffffff;
    st.shared.u32 [%r10], %r6; //1
""",
    threads=32,
)
bug(
    "shared: two lanes store to a word one after the other",
    "racecheck",
    "WAW",
    """
    setp.eq.u32 %p6, %r21, 1;
    @%p3 st.shared.u32 [tile], 1; //2
    + bar.warp.sync 0xffffffff;
    @%p6 st.shared.u32 [tile], 2; //1
""",
    threads=32,
)
bug(
    "shared: stored in a branch, loaded behind it",
    "racecheck",
    "RAW",
    """
    @!%p3 bra JOIN;
    st.shared.u32 [tile], 7; //2
JOIN:
    + bar.warp.sync 0xffffffff;
    ld.shared.u32 %r6, [tile]; //1
    st.global.u32 [%rd3], %r6;
""",
    threads=32,
)
bug(
    "shared: 16-byte accesses",
    "racecheck",
    "RAW",
    """
    mad.lo.u32 %r13, %r1, 16, %r20;
    xor.b32 %r6, %r1, 32;
    mad.lo.u32 %r14, %r6, 16, %r20;
    st.shared.v4.u32 [%r13], {%r1, %r1, %r1, %r1}; //2
    + bar.sync 0;
    ld.shared.v4.u32 {%r15, %r16, %r17, %r18}, [%r14]; //1
    st.global.u32 [%rd3], %r15;
""",
)
for _type, _size in (("u8", 1), ("u16", 2), ("u64", 8)):
    _register = "%rd15" if _size == 8 else "%r15"
    bug(
        f"shared: {_size}-byte accesses",
        "racecheck",
        "RAW",
        f"""
    mad.lo.u32 %r13, %r1, {_size}, %r20;
    xor.b32 %r6, %r1, 32;
    mad.lo.u32 %r14, %r6, {_size}, %r20;
    mov.{"u64" if _size == 8 else "u32"} {_register}, 3;
    st.shared.{_type} [%r13], {_register}; //2
    + bar.sync 0;
    ld.shared.{_type} {_register}, [%r14]; //1
    {"cvt.u32.u64 %r15, %rd15;" if _size == 8 else ""}
    st.global.u32 [%rd3], %r15;
""",
    )
bug(
    "shared: a word of all, stored and loaded",
    "racecheck",
    "RAW",
    """
    @%p1 st.shared.u32 [tile+64], %r3; //2
    + bar.sync 0;
    ld.shared.u32 %r6, [tile+64]; //1
    st.global.u32 [%rd3], %r6;
""",
)
bug(
    "shared: through generic addresses",
    "racecheck",
    "RAW",
    """
    cvt.u64.u32 %rd6, %r10;
    cvta.shared.u64 %rd6, %rd6;
    cvt.u64.u32 %rd7, %r12;
    cvta.shared.u64 %rd7, %rd7;
    st.u32 [%rd6], %r1; //2
    + bar.sync 0;
    ld.u32 %r6, [%rd7]; //1
    st.global.u32 [%rd3], %r6;
""",
)
bug(
    "shared: dynamic memory",
    "racecheck",
    "RAW",
    """
    st.shared.u32 [%r10], %r1; //2
    + bar.sync 0;
    ld.shared.u32 %r6, [%r12]; //1
    st.global.u32 [%rd3], %r6;
""",
    before=".extern .shared .align 16 .b8 tile[];",
    shared=256,
)
bug(
    "shared: a sum read before all have added",
    "racecheck",
    "RAW|WAR",
    """
    @%p1 st.shared.u32 [tile], 0;
    bar.sync 0;
    red.shared.add.u32 [tile], 1; //2
    + bar.sync 0;
    ld.shared.u32 %r6, [tile]; //1
    st.global.u32 [%rd3], %r6;
""",
)
bug(
    "shared: added to before it is zeroed",
    "racecheck",
    "WAW",
    """
    @%p1 st.shared.u32 [tile], 0; //2
    + bar.sync 0;
    red.shared.add.u32 [tile], 1; //1
""",
)
bug(
    "shared: a barrier that counts one warp only",
    "racecheck",
    "RAW",
    """
    st.shared.u32 [%r10], %r1; //2
    - bar.sync 1, 32;
    + bar.sync 1, 64;
    ld.shared.u32 %r6, [%r12]; //1
    st.global.u32 [%rd3], %r6;
""",
)
bug(
    "shared: a barrier of other warps",
    "racecheck",
    "RAW",
    """
    setp.lt.u32 %p6, %r1, 64;
    st.shared.u32 [%r10], %r1; //2
    - @%p6 bar.sync 1, 64;
    + bar.sync 0;
    ld.shared.u32 %r6, [%r12]; //1
    st.global.u32 [%rd3], %r6;
""",
    threads=96,
)
bug(
    "shared: arrives before it has stored",
    "racecheck",
    "RAW",
    """
    @%p2 bra CONSUMER;
    + st.shared.u32 [%r10], %r1;
    bar.arrive 1, 64;
    - st.shared.u32 [%r10], %r1; //2
    bra END;
CONSUMER:
    bar.sync 1, 64;
    ld.shared.u32 %r6, [%r12]; //1
    st.global.u32 [%rd3], %r6;
END:
""",
)
BUGS["shared: arrives before it has stored"].kind = "WAR|RAW"
bug(
    "shared: the next round overwrites what is being read",
    "racecheck",
    "WAR",
    """
    mov.u32 %r7, 0;
ROUND:
    add.u32 %r8, %r1, %r7;
    st.shared.u32 [%r10], %r8; //1
    bar.sync 0;
    ld.shared.u32 %r6, [%r12]; //2
    + bar.sync 0;
    add.u32 %r7, %r7, 1;
    setp.lt.u32 %p6, %r7, 3;
    @%p6 bra ROUND;
    st.global.u32 [%rd3], %r6;
""",
)
bug(
    "shared: a sum in a tree without barriers",
    "racecheck",
    "RAW|WAR",
    """
    st.shared.u32 [%r10], %r1;
    bar.sync 0;
    shr.u32 %r7, %r3, 1;
LEVEL:
    setp.ge.u32 %p6, %r1, %r7;
    @%p6 bra NEXT;
    mad.lo.u32 %r8, %r7, 4, %r10;
    ld.shared.u32 %r6, [%r8]; //1
    ld.shared.u32 %r9, [%r10];
    add.u32 %r9, %r9, %r6;
    st.shared.u32 [%r10], %r9; //2
NEXT:
    + bar.sync 0;
    shr.u32 %r7, %r7, 1;
    setp.gt.u32 %p6, %r7, 0;
    @%p6 bra LEVEL;
""",
    threads=128,
)
bug(
    "shared: a flag stored plainly",
    "racecheck",
    "RAW",
    """
    @%p1 st.shared.u32 [tile], 0;
    bar.sync 0;
    @!%p2 bra WAIT;
    - @%p1 st.shared.u32 [tile], 1; //2
    + @%p1 st.volatile.shared.u32 [tile], 1;
    bra END;
WAIT:
    ld.volatile.shared.u32 %r6, [tile]; //1
    setp.eq.u32 %p6, %r6, 0;
    @%p6 bra WAIT;
END:
""",
)
bug(
    "shared: a flag without a fence",
    "racecheck",
    "RAW",
    """
    @%p1 st.shared.u32 [tile], 0;
    bar.sync 0;
    @!%p2 bra WAIT;
    @%p1 st.shared.u32 [tile+64], 9; //2
    + membar.cta;
    @%p1 st.volatile.shared.u32 [tile], 1;
    bra END;
WAIT:
    ld.volatile.shared.u32 %r6, [tile];
    setp.eq.u32 %p6, %r6, 0;
    @%p6 bra WAIT;
    ld.shared.u32 %r7, [tile+64]; //1
    st.global.u32 [%rd3], %r7;
END:
""",
)
bug(
    "shared: matrix loaded before all rows are stored",
    "racecheck",
    "RAW",
    """
    mad.lo.u32 %r13, %r1, 16, %r20;
    st.shared.v4.u32 [%r13], {%r1, %r1, %r1, %r1}; //2
    + bar.sync 0;
    xor.b32 %r6, %r1, 32;
    mad.lo.u32 %r14, %r6, 16, %r20;
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r15, %r16, %r17, %r18}, [%r14]; //1
    st.global.u32 [%rd3], %r15;
""",
)
bug(
    "shared: another warp's asynchronous copy",
    "racecheck",
    "RAW",
    """
    mul.wide.u32 %rd6, %r1, 4;
    add.u64 %rd6, %rd2, %rd6;
    cp.async.ca.shared.global [%r10], [%rd6], 4; //2
    cp.async.commit_group;
    cp.async.wait_group 0;
    + bar.sync 0;
    ld.shared.u32 %r6, [%r12]; //1
    st.global.u32 [%rd3], %r6;
""",
)
bug(
    "shared: an asynchronous copy over what is still read",
    "racecheck",
    "WAR",
    """
    st.shared.u32 [%r10], %r1;
    bar.sync 0;
    ld.shared.u32 %r6, [%r12]; //2
    + bar.sync 0;
    cp.async.ca.shared.global [%r10], [%rd2], 4; //1
    cp.async.wait_all;
    st.global.u32 [%rd3], %r6;
""",
)

# -- races in global memory --------------------------------------------------------------------------------------------

bug(
    "global: one word stored by two blocks",
    "racecheck",
    "WAW",
    """
    - @%p1 st.global.u32 [%rd1], %r2; //1
    + @%p1 st.global.u32 [%rd3], %r2;
""",
    blocks=3,
    one_line=True,
)
bug(
    "global: every block stores the same elements",
    "racecheck",
    "WAW",
    """
    - st.global.u32 [%rd11], %r2; //1
    + st.global.u32 [%rd3], %r2;
""",
    blocks=2,
    one_line=True,
)
bug(
    "global: another block's element",
    "racecheck",
    "RAW|WAR",
    """
    st.global.u32 [%rd3], %r1; //2
    - ld.global.u32 %r6, [%rd12]; //1
    + ld.global.u32 %r6, [%rd3];
    st.shared.u32 [%r10], %r6;
""",
    blocks=2,
)
bug(
    "global: another warp's element before a barrier",
    "racecheck",
    "RAW",
    """
    st.global.u32 [%rd3], %r1; //2
    + bar.sync 0;
    xor.b32 %r6, %r1, 32;
    mul.wide.u32 %rd6, %r6, 4;
    add.u64 %rd6, %rd1, %rd6;
    ld.global.u32 %r7, [%rd6]; //1
    st.shared.u32 [%r10], %r7;
""",
)
bug(
    "global: overwritten while another warp still reads",
    "racecheck",
    "WAR",
    """
    xor.b32 %r6, %r1, 32;
    mul.wide.u32 %rd6, %r6, 4;
    add.u64 %rd6, %rd1, %rd6;
    ld.global.u32 %r7, [%rd6]; //2
    + bar.sync 0;
    st.global.u32 [%rd3], %r7; //1
""",
)
bug(
    "global: another lane's element without bar.warp.sync",
    "racecheck",
    "RAW",
    """
    st.global.u32 [%rd3], %r1; //2
    + bar.warp.sync 0xffffffff;
    xor.b32 %r6, %r1, 1;
    mul.wide.u32 %rd6, %r6, 4;
    add.u64 %rd6, %rd1, %rd6;
    ld.global.u32 %r7, [%rd6]; //1
    st.shared.u32 [%r10], %r7;
""",
    threads=32,
)
bug(
    "global: all lanes store to one word",
    "racecheck",
    "WAW",
    """
    - st.global.u32 [%rd1], %r1; //1
    + st.global.u32 [%rd3], %r1;
""",
    threads=32,
    one_line=True,
)
bug(
    "global: a counter that is not atomic",
    "racecheck",
    "RAW|WAR",
    """
    - ld.global.u32 %r6, [%rd1]; //1
    - add.u32 %r6, %r6, 1;
    - st.global.u32 [%rd1], %r6; //2
    + red.global.add.u32 [%rd1], 1;
""",
    threads=1,
    blocks=3,
)
bug(
    "global: a sum read while blocks still add",
    "racecheck",
    "RAW|WAR",
    """
    - red.global.add.u32 [%rd1], 1; //2
    - ld.global.u32 %r6, [%rd1]; //1
    + atom.global.add.u32 %r6, [%rd1], 1;
    st.shared.u32 [%r10], %r6;
""",
    threads=32,
    blocks=2,
)
bug(
    "global: a flag without a fence",
    "racecheck",
    "RAW",
    """
    @!%p5 bra WAIT;
    st.global.u32 [%rd1+8], 9; //2
    + fence.acq_rel.gpu;
    st.relaxed.gpu.global.u32 [%rd1+4], 1;
    bra END;
WAIT:
    ld.relaxed.gpu.global.u32 %r6, [%rd1+4];
    setp.ne.u32 %p6, %r6, 1;
    @%p6 bra WAIT;
    ld.global.u32 %r7, [%rd1+8]; //1
    st.shared.u32 [%r10], %r7;
END:
""",
    threads=1,
    blocks=2,
)
bug(
    "global: a flag that is released, data after it",
    "racecheck",
    "RAW|WAR",
    """
    @!%p5 bra WAIT;
    + st.global.u32 [%rd1+8], 9;
    st.release.gpu.global.u32 [%rd1+4], 1;
    - st.global.u32 [%rd1+8], 9; //2
    bra END;
WAIT:
    ld.acquire.gpu.global.u32 %r6, [%rd1+4];
    setp.ne.u32 %p6, %r6, 1;
    @%p6 bra WAIT;
    ld.global.u32 %r7, [%rd1+8]; //1
    st.shared.u32 [%r10], %r7;
END:
""",
    threads=1,
    blocks=2,
)
bug(
    "global: a flag stored plainly",
    "racecheck",
    "RAW",
    """
    @!%p5 bra WAIT;
    - st.global.u32 [%rd1+4], 1; //2
    + st.volatile.global.u32 [%rd1+4], 1;
    bra END;
WAIT:
    ld.volatile.global.u32 %r6, [%rd1+4]; //1
    setp.ne.u32 %p6, %r6, 1;
    @%p6 bra WAIT;
END:
""",
    threads=1,
    blocks=2,
)
bug(
    "global: the last block sums without a fence",
    "racecheck",
    "RAW",
    """
    st.global.u32 [%rd3+16], %r2; //2
    + membar.gl;
    atom.global.inc.u32 %r6, [%rd1], 99;
    setp.ne.u32 %p6, %r6, 7;
    @%p6 bra END;
    ld.global.u32 %r7, [%rd1+16]; //1
    st.shared.u32 [%r10], %r7;
END:
""",
    threads=1,
    blocks=3,
)
bug(
    "global: a lock given back without a fence",
    "racecheck",
    "RAW|WAR|WAW",
    """
LOCK:
    atom.global.cas.b32 %r6, [%rd1+4], 5, 1;
    setp.ne.u32 %p6, %r6, 5;
    @%p6 bra LOCK;
    ld.global.u32 %r7, [%rd1]; //1
    add.u32 %r7, %r7, 1;
    st.global.u32 [%rd1], %r7; //2
    + membar.gl;
    atom.global.exch.b32 %r6, [%rd1+4], 5;
""",
    threads=1,
    blocks=3,
)
bug(
    "global: a variable of the module",
    "racecheck",
    "WAW",
    """
    mov.u64 %rd6, shared_by_all;
    - @%p1 st.global.u32 [%rd6], %r2; //1
    + @%p1 red.global.add.u32 [%rd6], %r2;
""",
    blocks=2,
    before=TILE + "\n.global .align 4 .u32 shared_by_all;",
    one_line=True,
)
bug(
    "global: 16-byte stores that overlap others",
    "racecheck",
    "WAW",
    """
    - mul.wide.u32 %rd6, %r4, 8;
    + mul.wide.u32 %rd6, %r4, 16;
    - and.b64 %rd6, %rd6, -16;
    add.u64 %rd6, %rd1, %rd6;
    st.global.v4.u32 [%rd6], {%r1, %r1, %r1, %r1}; //1
""",
    threads=16,
    one_line=True,
)
bug(
    "global: bytes through generic addresses",
    "racecheck",
    "RAW",
    """
    cvt.u64.u32 %rd6, %r1;
    add.u64 %rd6, %rd1, %rd6;
    xor.b32 %r6, %r1, 32;
    cvt.u64.u32 %rd7, %r6;
    add.u64 %rd7, %rd1, %rd7;
    st.u8 [%rd6], %r1; //2
    + bar.sync 0;
    ld.u8 %r7, [%rd7]; //1
    st.shared.u32 [%r10], %r7;
""",
)

# -- reads of what nobody has written ----------------------------------------------------------------------------------

bug(
    "unwritten: shared memory",
    "initcheck",
    "uninitialised read",
    """
    + st.shared.u32 [%r10], %r1;
    ld.shared.u32 %r6, [%r10]; //1
    st.global.u32 [%rd3], %r6;
""",
)
bug(
    "unwritten: loaded before it is stored",
    "initcheck",
    "uninitialised read",
    """
    - ld.shared.u32 %r6, [%r10]; //1
    st.shared.u32 [%r10], %r1;
    + ld.shared.u32 %r6, [%r10];
    st.global.u32 [%rd3], %r6;
""",
)
bug(
    "unwritten: the threads of the tail do not load their share",
    "initcheck",
    "uninitialised read",
    """
    setp.lt.u32 %p6, %r1, 40;
    - @%p6 st.shared.u32 [%r10], %r1;
    + st.shared.u32 [%r10], %r1;
    bar.sync 0;
    ld.shared.u32 %r6, [%r12]; //1
    st.global.u32 [%rd3], %r6;
""",
)
bug(
    "unwritten: one byte of a word",
    "initcheck",
    "uninitialised read",
    """
    - st.shared.u8 [%r10], 1;
    + st.shared.u32 [%r10], 1;
    ld.shared.u32 %r6, [%r10]; //1
    st.global.u32 [%rd3], %r6;
""",
    threads=32,
)
bug(
    "unwritten: the last word of a 16-byte load",
    "initcheck",
    "uninitialised read",
    """
    mad.lo.u32 %r13, %r1, 16, %r20;
    st.shared.v2.u32 [%r13], {%r1, %r1};
    - st.shared.u32 [%r13+8], %r1;
    + st.shared.v2.u32 [%r13+8], {%r1, %r1};
    ld.shared.v4.u32 {%r15, %r16, %r17, %r18}, [%r13]; //1
    st.global.u32 [%rd3], %r18;
""",
)
bug(
    "unwritten: one address for all lanes",
    "initcheck",
    "uninitialised read",
    """
    + @%p1 st.shared.u32 [tile+256], 1;
    bar.sync 0;
    ld.shared.u32 %r6, [tile+256]; //1
    st.global.u32 [%rd3], %r6;
""",
)
bug(
    "unwritten: a half",
    "initcheck",
    "uninitialised read",
    """
    mad.lo.u32 %r13, %r1, 2, %r20;
    + st.shared.u16 [%r13], 1;
    ld.shared.u16 %r6, [%r13]; //1
    st.global.u32 [%rd3], %r6;
""",
)
bug(
    "unwritten: every other double",
    "initcheck",
    "uninitialised read",
    """
    mad.lo.u32 %r13, %r1, 8, %r20;
    and.b32 %r6, %r1, 1;
    setp.eq.u32 %p6, %r6, 0;
    - @%p6 st.shared.u64 [%r13], 1;
    + st.shared.u64 [%r13], 1;
    ld.shared.f64 %fd1, [%r13]; //1
    st.global.u32 [%rd3], 1;
""",
    threads=32,
)
bug(
    "unwritten: added to in shared memory",
    "initcheck",
    "uninitialised read",
    """
    + @%p1 st.shared.u32 [tile], 0;
    bar.sync 0;
    red.shared.add.u32 [tile], 1; //1
""",
)
bug(
    "unwritten: dynamic shared memory",
    "initcheck",
    "uninitialised read",
    """
    + st.shared.u32 [%r10], %r1;
    + bar.sync 0;
    ld.shared.u32 %r6, [%r12]; //1
    st.global.u32 [%rd3], %r6;
""",
    before=".extern .shared .align 16 .b8 tile[];",
    shared=256,
)
bug(
    "unwritten: shared memory through a generic address",
    "initcheck",
    "uninitialised read",
    """
    cvt.u64.u32 %rd6, %r10;
    cvta.shared.u64 %rd6, %rd6;
    + st.u32 [%rd6], %r1;
    ld.u32 %r6, [%rd6]; //1
    st.global.u32 [%rd3], %r6;
""",
)
bug(
    "unwritten: rows of a matrix",
    "initcheck",
    "uninitialised read",
    """
    mad.lo.u32 %r13, %r1, 16, %r20;
    - @%p4 st.shared.v4.u32 [%r13], {%r1, %r1, %r1, %r1};
    + st.shared.v4.u32 [%r13], {%r1, %r1, %r1, %r1};
    bar.warp.sync 0xffffffff;
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r15, %r16, %r17, %r18}, [%r13]; //1
    st.global.u32 [%rd3], %r15;
""",
    threads=32,
)
bug(
    "unwritten: a device buffer",
    "initcheck",
    "uninitialised read",
    """
    + st.global.u32 [%rd3], %r1;
    ld.global.u32 %r6, [%rd3]; //1
    st.shared.u32 [%r10], %r6;
""",
    out="empty",
)
bug(
    "unwritten: an output is added to",
    "initcheck",
    "uninitialised read",
    """
    - ld.global.u32 %r6, [%rd3]; //1
    - add.u32 %r6, %r6, 1;
    - st.global.u32 [%rd3], %r6;
    + st.global.u32 [%rd3], 1;
""",
    out="out",
)
bug(
    "unwritten: every other element of an output",
    "initcheck",
    "uninitialised read",
    """
    and.b32 %r6, %r1, 1;
    setp.eq.u32 %p6, %r6, 0;
    - @%p6 st.global.u32 [%rd3], %r1;
    + st.global.u32 [%rd3], %r1;
    ld.global.u32 %r7, [%rd3]; //1
    st.shared.u32 [%r10], %r7;
""",
    out="out",
)
bug(
    "unwritten: one element of a buffer, for all lanes",
    "initcheck",
    "uninitialised read",
    """
    + @%p1 st.global.u32 [%rd1+8], 1;
    bar.sync 0;
    ld.global.u32 %r6, [%rd1+8]; //1
    st.shared.u32 [%r10], %r6;
""",
    out="empty",
)
bug(
    "unwritten: a device buffer is added to",
    "initcheck",
    "uninitialised read",
    """
    + st.global.u32 [%rd3], 0;
    red.global.add.u32 [%rd3], 1; //1
""",
    out="empty",
)
bug(
    "unwritten: a device buffer through a generic address",
    "initcheck",
    "uninitialised read",
    """
    + st.u32 [%rd3], 0;
    ld.u32 %r6, [%rd3]; //1
    st.shared.u32 [%r10], %r6;
""",
    out="empty",
)
bug(
    "unwritten: copied asynchronously from a device buffer",
    "initcheck",
    "uninitialised read",
    """
    + st.global.u32 [%rd3], 0;
    cp.async.ca.shared.global [%r10], [%rd3], 4; //1
    cp.async.wait_all;
""",
    out="empty",
)

# -- barriers, masks, copies -------------------------------------------------------------------------------------------

bug(
    "barrier: in a branch of half a warp",
    "synccheck",
    "divergent barrier",
    """
    - @!%p4 bra SKIP;
    bar.sync 0; //1
SKIP:
    st.global.u32 [%rd3], %r1; //2
""",
    threads=32,
)
bug(
    "barrier: with a guard of half a warp",
    "synccheck",
    "divergent barrier",
    """
    - @%p4 bar.sync 0; //1
    + bar.sync 0;
    st.global.u32 [%rd3], %r1; //2
""",
    threads=32,
)
bug(
    "barrier: one in each branch",
    "synccheck",
    "divergent barrier",
    """
    - @%p4 bra OTHER;
    bar.sync 0; //2
    st.global.u32 [%rd3], 1;
    - bra END;
    - OTHER:
    - bar.sync 0; //1
    - st.global.u32 [%rd3], 2;
    - END:
    - mov.u32 %r6, 0;
""",
    threads=32,
)
bug(
    "barrier: lanes go round a different number of times",
    "synccheck",
    "divergent barrier",
    """
    - and.b32 %r7, %r1, 3;
    + mov.u32 %r7, 3;
ROUND:
    bar.sync 0; //1
    sub.u32 %r7, %r7, 1;
    setp.gt.s32 %p6, %r7, 0;
    @%p6 bra ROUND;
    st.global.u32 [%rd3], %r1; //2
""",
    threads=32,
)
bug(
    "barrier: a round that some lanes skip",
    "synccheck",
    "divergent barrier",
    """
    mov.u32 %r7, 0;
ROUND:
    add.u32 %r8, %r21, %r7;
    and.b32 %r8, %r8, 1;
    - setp.eq.u32 %p6, %r8, 0;
    + setp.eq.u32 %p6, %r7, 0;
    @%p6 bra NEXT;
    bar.sync 0; //1
NEXT:
    add.u32 %r7, %r7, 1; //2
    setp.lt.u32 %p7, %r7, 2;
    @%p7 bra ROUND;
""",
    threads=32,
)
bug(
    "barrier: barrier.sync.aligned of half a warp",
    "synccheck",
    "divergent barrier",
    """
    - @!%p4 bra SKIP;
    barrier.sync.aligned 0; //1
SKIP:
    st.global.u32 [%rd3], %r1; //2
""",
    threads=32,
)
bug(
    "barrier: a vote of the block in a branch",
    "synccheck",
    "divergent barrier",
    """
    - @!%p4 bra SKIP;
    bar.red.popc.u32 %r6, 0, %p1; //1
SKIP:
    st.global.u32 [%rd3], %r1; //2
""",
    threads=32,
)
bug(
    "barrier: an arrival of half a warp",
    "synccheck",
    "divergent barrier",
    """
    - @%p4 bar.arrive 1, 64; //1
    + bar.arrive 1, 64;
    st.global.u32 [%rd3], %r1; //2
""",
    threads=32,
)
bug(
    "barrier: threads past the end have exited",
    "synccheck",
    "barrier after exit",
    """
    setp.ge.u32 %p6, %r1, 40;
    - @%p6 exit;
    bar.sync 0; //1
    + @%p6 exit;
    st.global.u32 [%rd3], %r1;
""",
)
bug(
    "barrier: threads return from a branch",
    "synccheck",
    "barrier after exit",
    """
    setp.lt.u32 %p6, %r1, 40;
    - @%p6 bra GO;
    - st.global.u32 [%rd3], 0;
    - ret;
    - GO:
    bar.sync 0; //1
    st.global.u32 [%rd3], %r1;
""",
)
bug(
    "barrier: the other half exits",
    "synccheck",
    "barrier after exit",
    """
    - @%p4 bra GO;
    - exit;
    - GO:
    bar.sync 0; //1
    st.global.u32 [%rd3], %r1;
""",
    threads=32,
)
bug(
    "barrier: warps disagree on the count",
    "synccheck",
    "barrier count",
    """
    @%p2 bra OTHER;
    - bar.sync 1, 32; //1
    + bar.sync 1, 64;
    bra END;
OTHER:
    bar.sync 1, 64; //2
END:
""",
)
bug(
    "barrier: a count against all threads",
    "synccheck",
    "barrier count",
    """
    @%p2 bra OTHER;
    - bar.sync 1; //1
    + bar.sync 1, 64;
    bra END;
OTHER:
    bar.sync 1, 64; //2
END:
""",
)
for _name, _line in {
    "shuffle": "shfl.sync.bfly.b32 %r6, %r1, 1, 31, MASK;", "vote": "vote.sync.ballot.b32 %r6, %p1, MASK;",
    "bar.warp.sync": "bar.warp.sync MASK;", "redux": "redux.sync.add.s32 %r6, %r1, MASK;",
    "match": "match.any.sync.b32 %r6, %r1, MASK;",
}.items():  # fmt: skip
    bug(
        f"mask: a {_name} that leaves out executing lanes",
        "synccheck",
        "mask omits lane",
        f"""
    - {_line.replace("MASK", "0x0000ffff")} //1
    + {_line.replace("MASK", "0xffffffff")}
""",
        threads=32,
    )
    bug(
        f"mask: a {_name} that names exited lanes",
        "synccheck",
        "mask names exited lane",
        f"""
    @!%p4 exit;
    - {_line.replace("MASK", "0xffffffff")} //1
    + {_line.replace("MASK", "0x0000ffff")}
""",
        threads=32,
    )
bug(
    "shuffle: clamp 32 instead of 31",
    "synccheck",
    "shuffle range",
    """
    - shfl.sync.idx.b32 %r6, %r1, 5, 32, 0xffffffff; //1
    + shfl.sync.idx.b32 %r6, %r1, 5, 31, 0xffffffff;
""",
    threads=32,
)
bug(
    "shuffle: a lane that the block does not have",
    "synccheck",
    "shuffle source",
    """
    - shfl.sync.down.b32 %r6, %r1, 16, 31, 0x000fffff; //1
    + shfl.sync.idx.b32 %r6, %r1, 0, 31, 0x000fffff;
""",
    threads=20,
)
bug(
    "shuffle: from a lane that the mask does not name",
    "synccheck",
    "shuffle source",
    """
    @!%p4 bra END;
    - shfl.sync.idx.b32 %r6, %r1, 20, 31, 0x0000ffff; //1
    + shfl.sync.idx.b32 %r6, %r1, 10, 31, 0x0000ffff;
END:
    mov.u32 %r7, 0;
""",
    threads=32,
)
bug(
    "shuffle: exchanged with the half that went elsewhere",
    "synccheck",
    "shuffle source",
    """
    @!%p4 bra END;
    - shfl.sync.bfly.b32 %r6, %r1, 16, 31, 0x0000ffff; //1
    + shfl.sync.bfly.b32 %r6, %r1, 8, 31, 0x0000ffff;
END:
    mov.u32 %r7, 0;
""",
    threads=32,
)
bug(
    "shuffle: from a lane that has exited",
    "synccheck",
    "shuffle source",
    """
    setp.gt.u32 %p6, %r21, 29;
    @%p6 exit;
    - shfl.sync.idx.b32 %r6, %r1, 31, 31, 0x3fffffff; //1
    + shfl.sync.idx.b32 %r6, %r1, 29, 31, 0x3fffffff;
""",
    threads=32,
)
_COPY = """
    mul.wide.u32 %rd6, %r1, 4;
    add.u64 %rd6, %rd2, %rd6;
    cp.async.ca.shared.global [%r10], [%rd6], 4; //2
"""
bug(
    "copy: read before any wait",
    "synccheck",
    "asynchronous copy",
    _COPY
    + """
    + cp.async.wait_all;
    ld.shared.u32 %r6, [%r10]; //1
    st.global.u32 [%rd3], %r6;
""",
    threads=32,
)
bug(
    "copy: committed and not waited for",
    "synccheck",
    "asynchronous copy",
    _COPY
    + """
    cp.async.commit_group;
    + cp.async.wait_group 0;
    ld.shared.u32 %r6, [%r10]; //1
    st.global.u32 [%rd3], %r6;
""",
    threads=32,
)
bug(
    "copy: waits for all groups but the one that is read",
    "synccheck",
    "asynchronous copy",
    _COPY
    + """
    cp.async.commit_group;
    - cp.async.wait_group 1;
    + cp.async.wait_group 0;
    ld.shared.u32 %r6, [%r10]; //1
    st.global.u32 [%rd3], %r6;
""",
    threads=32,
)
bug(
    "copy: waits for groups, and has committed none",
    "synccheck",
    "asynchronous copy",
    _COPY
    + """
    + cp.async.commit_group;
    cp.async.wait_group 0;
    ld.shared.u32 %r6, [%r10]; //1
    st.global.u32 [%rd3], %r6;
""",
    threads=32,
)
bug(
    "copy: a barrier instead of a wait",
    "synccheck",
    "asynchronous copy",
    _COPY
    + """
    + cp.async.wait_all;
    bar.sync 0;
    ld.shared.u32 %r6, [%r12]; //1
    st.global.u32 [%rd3], %r6;
""",
)
bug(
    "copy: 16 bytes, their last word",
    "synccheck",
    "asynchronous copy",
    """
    mad.lo.u32 %r13, %r1, 16, %r20;
    cp.async.cg.shared.global [%r13], [%rd2], 16; //2
    + cp.async.wait_all;
    ld.shared.u32 %r6, [%r13+12]; //1
    st.global.u32 [%rd3], %r6;
""",
    threads=32,
)
bug(
    "copy: a matrix loaded while it is copied",
    "synccheck",
    "asynchronous copy",
    """
    mad.lo.u32 %r13, %r1, 16, %r20;
    cp.async.cg.shared.global [%r13], [%rd2], 16; //2
    cp.async.commit_group;
    + cp.async.wait_group 0;
    bar.warp.sync 0xffffffff;
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r15, %r16, %r17, %r18}, [%r13]; //1
    st.global.u32 [%rd3], %r15;
""",
    threads=32,
)
bug(
    "copy: overwritten before it has come",
    "synccheck",
    "asynchronous copy",
    """
    mul.wide.u32 %rd5, %r1, 4;
    add.u64 %rd6, %rd2, %rd5;
    cp.async.ca.shared.global [%r10], [%rd6], 4; //2
    + cp.async.wait_all;
    st.shared.u32 [%r10], 5; //1
    - cp.async.wait_all;
    bar.sync 0;
    ld.shared.u32 %r6, [%r12];
    st.global.u32 [%rd3], %r6;
""",
)
for _name, _base in (("shared memory", "%r20"), ("a generic address", "%rd7")):
    bug(
        f"copy: a tile loaded by wmma while it is copied, {_name}",
        "synccheck",
        "asynchronous copy",
        f"""
    cvt.u64.u32 %rd7, %r20;
    cvta.shared.u64 %rd7, %rd7;
    mul.wide.u32 %rd5, %r1, 16;
    add.u64 %rd6, %rd2, %rd5;
    shl.b32 %r7, %r1, 4;
    add.u32 %r7, %r7, %r20;
    cp.async.cg.shared.global [%r7], [%rd6], 16; //2
    + cp.async.wait_all;
    bar.warp.sync -1;
    wmma.load.a.sync.aligned.row.m16n16k16{".shared" if "r20" in _base else ""}.f16 {{%r6, %r8, %r9, %r13, %r14, %r15,\
 %r16, %r17}}, [{_base}]; //1
    cp.async.wait_all;
    st.global.u32 [%rd3], %r6;
""",
        threads=32,
    )
