"""Random programs that copy in bulk and by `cp.async`, use mbarriers, and change memory atomically, most wrongly.

They are those of `random_copies.py` with atomic operations, loops that wait, vectors, matrices and other addresses of
shared memory.

    python tests/support/random_async.py COUNT [FIRST SEED]

runs so many programs on both engines and prints those that end otherwise: with another result, fault or finding.

A turn of a warp is longer in one engine than in the other. So where nothing orders accesses, and a warp waits in a loop
meanwhile, another of several faults or hazards may come first: seeds 4389, 4753, 6042 and 6964.
"""

from __future__ import annotations

import sys

from emulate_programs import ALL_CHECKS, ENGINES
from random_copies import GATES, START, Program, outcome
from seeded_programs import compare, differing

OPERATIONS = (
    "red{}.add.u32 {}, 1;",
    "red{}.or.b32 {}, %r1;",
    "red.relaxed.cta{}.max.u32 {}, %r1;",
    "red{}.add.noftz.f16x2 {}, %r1;",
    "atom{}.add.u32 %r7, {}, 1;",
    "atom{}.cas.b32 %r7, {}, 0, 7;",
    "atom.acq_rel.cta{}.exch.b32 %r7, {}, %r1;",
    "atom.release.gpu{}.inc.u32 %r7, {}, 5;",
)
STORES = (
    "st{}.u32 {}, %r1;",
    "st{}.u8 {}, %r1;",
    "st{}.v2.u32 {}, {{%r1, %r6}};",
    "st.release.cta{}.u32 {}, 1;",
    "st.volatile{}.u32 {}, 1;",
    "ld{}.u32 %r6, {};",
    "ld.acquire.cta{}.u32 %r6, {};",
    "ld{}.v2.u32 {{%r6, %r7}}, {};",
)
ADDRESSES = (
    "cvt.u64.u32 %rd20, %r10; cvta.shared.u64 %rd20, %rd20; and.b32 %r12, %r20, 504; add.u32 %r12, %r30, %r12;"
    " and.b32 %r13, %r20, 112; add.u32 %r13, %r30, %r13; mov.u32 %r7, 0;"
)


class Mixed(Program):
    """One program."""

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


def differences(first: int, count: int) -> list[str]:
    """The programs on which the engines differ, in words."""

    def ended(way: str, program: Program, seed: int) -> object:
        result, findings = outcome(way, program, ALL_CHECKS if seed % 4 else ("memcheck", "racecheck"))
        if isinstance(result, str):  # how far other blocks are when one is stopped is the schedule's matter
            findings = [finding.partition("\n  seen:")[0] for finding in findings]
        return result, findings

    return differing(range(first, first + count), Mixed, ended, ENGINES)


if __name__ == "__main__":
    sys.exit(compare(__doc__, differences))
