"""Random programs that copy in bulk and use mbarriers, most of them wrongly: who fills, reads, waits, arrives and
fences is drawn.

    python tests/support/random_copies.py COUNT [FIRST SEED]

runs so many programs on both engines and prints those that end otherwise: with another result, fault or finding.
"""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np
from emulate_programs import ALL_CHECKS, ENGINES, WAYS, kernel, run
from seeded_programs import compare, differing

from ptxlab.errors import DeviceFault

BYTES, GATES = 1024, 3
BEFORE = f".shared .align 128 .b8 tile[{BYTES}]; .shared .align 8 .b64 gate[{GATES}];"
START = "mov.u32 %r30, tile; shl.b32 %r20, %r1, 2; add.u32 %r10, %r30, %r20; mov.u32 %r6, 0; mov.u32 %r15, 0;"
APART = "mul.lo.u32 %r21, %r1, 20; and.b32 %r21, %r21, 508; add.u32 %r11, %r30, %r21;"
LOAD = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes"
STORE = "cp.async.bulk.global.shared::cta.bulk_group"
REDUCE = "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32"


class Program:
    """One program."""

    start = START
    """What it computes first."""

    def __init__(self, seed: int) -> None:
        self.random, self.labels = random.Random(seed), 0
        self.threads, self.blocks = self.random.choice((32, 64, 64, 96)), self.random.choice((1, 2))
        gates = [self.random.choice((1, 1, 2, 32, self.threads)) for _ in range(GATES)]
        lines = [self.start, APART, "setp.eq.u32 %p1, %r1, 0;"]
        lines += [f"@%p1 mbarrier.init.shared::cta.b64 [gate+{8 * k}], {n};" for k, n in enumerate(gates)]
        lines += ["bar.sync 0;"] * (self.random.random() < 0.9)
        lines += [line for _ in range(self.random.randint(4, 9)) for line in self._piece(0)]
        lines += ["bar.sync 0;"] * (self.random.random() < 0.5)
        lines += ["cp.async.bulk.wait_group 0;"] * (self.random.random() < 0.5)
        lines += ["st.global.u32 [%rd3], %r6;"]
        text = kernel("\n".join(f"    {line}" for line in lines), BEFORE)
        self.text = text.replace("sm_80", "sm_90")

    def _some(self) -> str:
        """A condition, in %p1: of one thread, or of a warp."""
        pick = self.random.choice
        return pick(
            (
                "setp.eq.u32 %p1, %r1, 0;", "setp.eq.u32 %p1, %r1, 0;",
                f"setp.eq.u32 %p1, %r1, {pick((3, 32, 40))};", "setp.lt.u32 %p1, %r1, 32;",
                "setp.ge.u32 %p1, %r1, 32;", "setp.eq.u32 %p1, %r1, %r1;",
            )
        )  # fmt: skip

    def _piece(self, depth: int) -> list[str]:
        kind, pick = self.random.random(), self.random.choice
        at, count, gate = (
            16 * self.random.randrange(40),
            16 * pick((1, 2, 4, 8, 20)),
            f"[gate+{8 * pick((0, 0, 1, 2))}]",
        )
        self.labels += 1
        if kind < 0.2:
            word = f"[{pick(('%r10', '%r11'))}+{pick((0, 0, 128, at % 512))}]"
            return [self._some(), pick((f"@%p1 st.shared.u32 {word}, %r1;", f"@%p1 ld.shared.u32 %r6, {word};"))]
        if kind < 0.4:
            place = f"[%r30+{pick((0, 128, at))}]"
            copy = f"@%p1 {LOAD} {place}, [%rd2+{at}], {count}, {gate};"
            expected = pick((count, count, count, 16))
            announced = f"@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, {gate}, {expected};"
            return [pick(("setp.eq.u32 %p1, %r1, 0;", "setp.eq.u32 %p1, %r1, 32;")), announced, copy]
        if kind < 0.55:
            sent = f"@%p1 {pick((STORE, STORE, REDUCE))} [%rd1+{at}], [%r30+{pick((0, 128, at))}], {count};"
            left = pick(("0", "1"))
            behind = pick(("", f"@%p1 cp.async.bulk.wait_group {left};", f"@%p1 cp.async.bulk.wait_group.read {left};"))
            fence = pick(("", "fence.proxy.async;", "@%p1 fence.proxy.async.shared::cta;"))
            one = pick(("setp.eq.u32 %p1, %r1, 0;", "setp.eq.u32 %p1, %r1, 33;"))
            return [one, fence, sent, "@%p1 cp.async.bulk.commit_group;", behind]
        if kind < 0.7:
            parity = pick(("0", "0", "1", "%r15"))
            test = pick(("try_wait", "test_wait"))
            return [self._some(), f"@%p1 mbarrier.{test}.parity.shared::cta.b64 %p4, {gate}, {parity};"]
        if kind < 0.8:
            arrival = pick(
                (
                    f"mbarrier.arrive.shared::cta.b64 _, {gate};",
                    f"mbarrier.arrive_drop.shared::cta.b64 _, {gate};",
                    f"mbarrier.arrive.shared::cta.b64 _, {gate}, 2;",
                    f"mbarrier.expect_tx.relaxed.cta.shared::cta.b64 {gate}, 16;",
                    f"cp.async.mbarrier.arrive.noinc.shared::cta.b64 {gate};",
                )
            )
            return [self._some(), f"@%p1 {arrival}"]
        if kind < 0.83:
            again = pick((f"inval.shared::cta.b64 {gate};", f"init.shared::cta.b64 {gate}, {pick((1, 32))};"))
            return ["setp.eq.u32 %p1, %r1, 0;", f"@%p1 mbarrier.{again}"]
        if kind < 0.87:
            return [self._some(), f"@%p1 cp.async.ca.shared.global [%r10+{pick((0, 128))}], [%rd3], 4;"]
        if kind < 0.95 or depth:
            return [pick(("bar.sync 0;", "bar.sync 0;", "fence.proxy.async;", "bar.warp.sync -1;", "membar.cta;"))]
        mark, inner = self.labels, [line for _ in range(3) for line in self._piece(depth + 1)]
        more = "add.u32 %r15, %r15, 1; setp.lt.u32 %p2, %r15, 2;"
        return ["mov.u32 %r15, 0;", f"L{mark}:", *inner, more, f"@%p2 bra L{mark};"]


OPERATIONS = (
    "red{}.add.u32 {}, 1;", "red{}.or.b32 {}, %r1;", "red.relaxed.cta{}.max.u32 {}, %r1;",
    "red{}.add.noftz.f16x2 {}, %r1;", "atom{}.add.u32 %r7, {}, 1;", "atom{}.cas.b32 %r7, {}, 0, 7;",
    "atom.acq_rel.cta{}.exch.b32 %r7, {}, %r1;", "atom.release.gpu{}.inc.u32 %r7, {}, 5;",
)  # fmt: skip
STORES = (
    "st{}.u32 {}, %r1;", "st{}.u8 {}, %r1;", "st{}.v2.u32 {}, {{%r1, %r6}};", "st.release.cta{}.u32 {}, 1;",
    "st.volatile{}.u32 {}, 1;", "ld{}.u32 %r6, {};", "ld.acquire.cta{}.u32 %r6, {};",
    "ld{}.v2.u32 {{%r6, %r7}}, {};",
)  # fmt: skip
ADDRESSES = (
    "cvt.u64.u32 %rd20, %r10; cvta.shared.u64 %rd20, %rd20; and.b32 %r12, %r20, 504; add.u32 %r12, %r30, %r12;"
    " and.b32 %r13, %r20, 112; add.u32 %r13, %r30, %r13; mov.u32 %r7, 0;"
)


class Mixed(Program):
    """One with atomic operations, loops that wait, vectors, matrices and other addresses of shared memory, too.

    A time slice of a warp is longer in one engine than in the other. So where nothing orders accesses, and a warp waits
    in a loop meanwhile, another of several faults or hazards may come first: seeds 4389, 4753, 6042 and 6964.
    """

    start = f"{START} {ADDRESSES}"

    def _piece(self, depth: int) -> list[str]:
        kind, pick = self.random.random(), self.random.choice
        gate = f"[gate+{8 * self.random.randrange(GATES)}]"
        space, base = pick(((".shared", "%r10"), (".shared", "%r12"), (".shared::cta", "tile"), ("", "%rd20")))
        self.labels += 1
        if kind < 0.2:
            given = pick(OPERATIONS).format(space, f"[{base}+{pick((0, 0, 64, 256))}]")
            return [self._some(), pick((given, f"@%p1 {given}"))]
        if kind < 0.25:
            return [self._some(), f"@%p1 {pick(OPERATIONS).format('.global', pick(('[%rd1]', '[%rd3]', '[%rd1+64]')))}"]
        if kind < 0.35:
            given = pick(STORES).format(
                space, f"[{pick(('%r12', base))}+{pick((0, 0, 64, 256))}]" if space else "[%rd20]"
            )
            return [self._some(), pick((given, f"@%p1 {given}"))]
        if kind < 0.4:
            return [self._some(), f"@%p1 cp.async.ca.shared.global [{pick(('%r13', '%r13+128'))}], [%rd2], 16;"]
        if kind < 0.45:
            return [
                self._some(),
                f"@%p1 {pick(('cp.async.wait_all;', 'cp.async.commit_group;', 'cp.async.wait_group 0;'))}",
            ]
        if kind < 0.5:
            wait = f"mbarrier.try_wait.parity.shared::cta.b64 %p4, {gate}, {pick(('0', '0', '1'))};"
            here = self.labels
            return [self._some(), f"@!%p1 bra S{here};", f"W{here}:", wait, f"@!%p4 bra W{here};", f"S{here}:"]
        if kind < 0.55:
            again = pick((f"inval.shared::cta.b64 {gate};", f"init.shared::cta.b64 {gate}, {pick((1, 32))};"))
            return [self._some(), f"@%p1 mbarrier.{again}"]
        if kind < 0.57:
            return ["stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r13], {%r1};"]
        return super()._piece(depth)


def outcome(way: str, program: Program, checks: tuple[str, ...]) -> tuple[Any, list[str]]:
    """The result or the fault, in words, and what the checks find. way: one of `WAYS`."""
    given: dict[str, Any] = {"threads": program.threads, "blocks": program.blocks, "checks": checks}
    x, out = np.arange(512, dtype=np.uint32), np.zeros(512, np.uint32)
    try:
        out, report = run(way, program.text, x=x, out=out, **given)
    except DeviceFault as fault:
        return str(fault), [str(finding) for finding in fault.findings]
    return out.tolist(), [str(finding) for finding in report.findings]


def differences(first: int, count: int) -> list[str]:
    """The programs on which the ways differ, in words."""

    def ended(way: str, program: Program, seed: int) -> object:
        return outcome(way, program, ALL_CHECKS if seed % 3 else ("memcheck", "racecheck"))

    return differing(range(first, first + count), Program, ended, WAYS)


def mixed_differences(first: int, count: int) -> list[str]:
    """The same of mixed programs, in the engines."""

    def ended(way: str, program: Program, seed: int) -> object:
        result, findings = outcome(way, program, ALL_CHECKS if seed % 4 else ("memcheck", "racecheck"))
        if isinstance(result, str):  # how far other blocks are when one is stopped is the schedule's matter
            findings = [finding.partition("\n  seen:")[0] for finding in findings]
        return result, findings

    return differing(range(first, first + count), Mixed, ended, ENGINES)


if __name__ == "__main__":
    sys.exit(compare(__doc__, lambda first, count: differences(first, count) + mixed_differences(first, count)))
