"""The frame of small kernels that are right or wrong in one way, and tables of them.

Before a body come, for thread t of n: %r10 &tile[t], %r11 &tile[t ^ 1], %r12 &tile[t + 32], %r20 tile, %r21 lane, %r22
warp; %p1 t == 0, %p2 t < 32, %p3 lane 0, %p4 lane < 16.
"""

from __future__ import annotations

from dataclasses import dataclass

from emulate_programs import kernel

RAW, WAR, WAW = (("racecheck", kind) for kind in ("RAW", "WAR", "WAW"))
ANY_SYNC = ("synccheck", "")

SHARED = """
.shared .align 16 .b8 tile[8192]; .shared .align 8 .b32 flag[64];
"""
PROLOGUE = """
    mov.u32 %r20, tile; mad.lo.u32 %r10, %r1, 4, %r20; add.u32 %r5, %r1, 32; rem.u32 %r5, %r5, %r3;
    mad.lo.u32 %r12, %r5, 4, %r20; xor.b32 %r5, %r1, 1; mad.lo.u32 %r11, %r5, 4, %r20;
    and.b32 %r21, %r1, 31; shr.u32 %r22, %r1, 5; setp.eq.u32 %p1, %r1, 0; setp.lt.u32 %p2, %r1, 32;
    setp.eq.u32 %p3, %r21, 0; setp.lt.u32 %p4, %r21, 16; mov.u32 %r6, 0;
"""


@dataclass
class Small:
    """A body; the (check, kind) of which one at least is found, a kind of "" being any; none: it is clean."""

    body: str
    finds: tuple[tuple[str, str], ...] = ()
    blocks: int = 1
    threads: int = 64

    def text(self) -> str:
        """The PTX."""
        return kernel(PROLOGUE + self.body, SHARED)


class Kernels(dict[str, Small]):
    """Small kernels of one topic, by name."""

    def clean(self, name: str, *, body: str) -> None:
        """One in which nothing is to be found."""
        self[f"clean: {name}"] = Small(body)

    def wrong(self, name: str, *finds: tuple[str, str], body: str, blocks: int = 1, threads: int = 64) -> None:
        """One that breaks a rule."""
        self[f"wrong: {name}"] = Small(body, finds, blocks, threads)
