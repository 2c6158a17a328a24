"""The notation of planted bugs: a body of PTX that holds both the bug and its repair, and tables of such bugs.

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
    mov.u32 %r20, tile; mad.lo.u32 %r10, %r1, 4, %r20; add.u32 %r5, %r1, 1; rem.u32 %r5, %r5, %r3;
    mad.lo.u32 %r11, %r5, 4, %r20; add.u32 %r5, %r1, 32; rem.u32 %r5, %r5, %r3;
    mad.lo.u32 %r12, %r5, 4, %r20; mul.wide.u32 %rd5, %r1, 4; add.u64 %rd11, %rd1, %rd5;
    mov.u32 %r6, %nctaid.x; add.u32 %r5, %r2, 1; rem.u32 %r5, %r5, %r6;
    mad.lo.u32 %r5, %r5, %r3, %r1; mul.wide.u32 %rd5, %r5, 4; add.u64 %rd12, %rd1, %rd5;
    setp.eq.u32 %p1, %r1, 0; setp.lt.u32 %p2, %r1, 32; and.b32 %r21, %r1, 31;
    setp.eq.u32 %p3, %r21, 0; setp.lt.u32 %p4, %r21, 16; setp.eq.u32 %p5, %r2, 0; mov.u32 %r22, %r1;
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
    cluster: int = 1

    def text(self, repaired: bool, name: str = "k") -> str:
        """The PTX, with or without the bug, of a kernel of this name."""
        body = []
        for line in self.body.splitlines():
            word = line.strip()
            if word[:1] in ("+", "-"):
                if (word[0] == "+") == repaired:
                    body.append("    " + word[1:].strip())
            else:
                body.append(line)
        text = kernel(PROLOGUE + "\n".join(body), self.before).replace(".entry k(", f".entry {name}(")
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
        """A launch of it, and what it left in `out`; on a GPU nothing is checked, and `checks` are left out."""
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
            out = pl.empty(total + 64, np.uint32, device="gpu" if device == "gpu" else "cpu")
        elif self.out == "out":
            out = pl.out(out)
        x = np.arange(4 * total + 64, dtype=np.uint32)
        if device != "gpu":
            options |= {"checks": checks, "budget": 100_000}
        if self.cluster > 1:
            options["cluster"] = self.cluster
        text = self.text(repaired, options.pop("name", "k"))
        done = pl.launch(text, self.blocks, self.threads, out, x, device=device, shared=self.shared, **options)
        return done, np.asarray(out.array if self.out == "out" else out)


class Planted(dict[str, Bug]):
    """The bugs of one topic, by names that begin with it; all are for one check, and share what else is given."""

    def __init__(self, topic: str, check: str, **common: Any) -> None:
        super().__init__()
        self.topic, self.check, self.common = topic, check, common

    def add(self, name: str, kind: str, *, body: str, **options: Any) -> None:
        """One more; `options` are fields of `Bug`."""
        name = f"{self.topic}: {name}"
        assert name not in self, name
        self[name] = Bug(self.check, kind, body, **(self.common | options))
