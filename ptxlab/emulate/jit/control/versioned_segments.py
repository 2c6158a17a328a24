"""Segments that are all of a CTA: loops for CTAs of which all that warps ask is known before (see `loop_versioning`).

    if nothing in the CTA keeps it from it:
        ask whether all lanes stay and all rows lie in their arrays: the loop without these questions
        else ask whether all rows lie in their arrays: the loop under masks
    the loop that asks

The first one is for several CTAs along x, as many as may begin one after the other: indices grow from CTA to CTA as
they do from slice to slice. Where not all holds for these, half as many are asked.

The second one is for tiles at a border, where some lanes of each warp exit: `if (i > 0 && i < n - 1) ...`. A warp then
goes on under the mask of the lanes that stay. Most such rows lie in the array as a whole; where they do not, the CTA
runs in the loop that asks.
"""

from __future__ import annotations

from collections.abc import Callable

from ptxlab.emulate.jit.control.loop_versioning import VersionedLoop
from ptxlab.emulate.jit.control.warp_loop import FEW
from ptxlab.emulate.jit.emitter.emitter import Emitter
from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.llvm.ir_text import PROMOTED, W
from ptxlab.emulate.jit.translation.rule_calls import call, declaration
from ptxlab.emulate.rules.scheduling_rounds import followers, follows, have_followed
from ptxlab.emulate.runtime import state as S

FOLLOWED = f"%{PROMOTED}.followed"
"""How many CTAs have begun in a run that has not been noted."""


class VersionedSegments(Part):
    """Writes these loops, in the function of a segment. full: the lanes that its warps run with; None: those that they
    begin with. count_anew: writes that what has been counted is noted."""

    def __init__(self, e: Emitter, full: int | None, count_anew: Callable[[], None]) -> None:
        super().__init__(e)
        self.full, self.count_anew = full, count_anew

    def emit(self, lines: list[str], parted: list[str]) -> str:
        """The end of the function's entry, and the loops. CTAs of which not all is known go on at the label `warp`, and
        begin with the warp `%fw.0`: where from, as operands of a phi. lines: the segment's loop, behind its own
        questions; parted: the same where lanes of most warps exit; none, if there is no such loop."""
        t, e, width = self.t, self.e, self.e.rows.width
        t.alloca("i64", name=FOLLOWED)
        t.store("i64", 0, FOLLOWED)
        along_y = f"ptr %ws, i64 {S.Warp.offset('tid_y')}"
        slices = e.rows.slices
        # Whether warps lie along x, or along y and z.
        line = width == W and not slices and not any(along_y in text for text in lines)
        steps, log2 = ((W, 0), 0) if line else ((0, W // (width or W)), W.bit_length() - (width or W).bit_length())
        if e.rows.lanes:  # a CTA has no other warp
            steps = 0, 0
        t.mul("i64", t.sub("i64", 1, "%warps"), e.file.size, "%before.last")
        t.offset("%last", "%before.last", "%warp.0")
        x, y, z = (t.get(S.Context, f"block_{axis}") for axis in "xyz")
        live = t.get(S.Warp, "first_live", "%last")
        if slices:
            a_slice = t.zext("i32", t.lshr("i32", y, log2), "i64")
            t.sub("i64", a_slice, 1, "%beyond")
            t.zext("i32", t.sub("i32", z, 1), "i64", "%deeper")
        else:
            t.sub("i64", "%warps", 1, "%beyond")
        shape = t.eq("i32", y, 1) if line else t.eq("i32", x, width or -1)
        steady = t.and_("i1", "%known", shape)
        steady = t.and_("i1", steady, t.ugt("i32", z, 0) if slices else t.eq("i32", z, 1))
        if self.full is not None:
            steady = t.and_("i1", steady, t.eq("i32", live, self.full))
        steady = t.and_("i1", steady, t.eq("ptr", "%first", "%warp.0"))
        otherwise = "ask.m" if parted else "warp"
        t.go("begin")
        t.at("begin")
        another = "next.block" if self.e.by_warpgroup else "another"
        t.phi("ptr", ("%first", "entry"), ("%warp.0", another), name="%fw.0")
        t.branch(steady, "look.ahead", "warp")
        t.at("look.ahead")
        several = t.uge("i64", "%warps", FEW)
        loop = self._of_several(lines, steps)
        if loop is None:
            loop = VersionedLoop(lines, S.Warp.size, steps, slices=slices)
        else:
            t.declared.add(declaration(followers))
            t.let(call(followers, "%ctx", "%cta"), "%followers")
            several = t.or_("i1", several, t.uge("i64", "%followers", FEW))
        t.branch(several, "ask.f", otherwise)
        ways = ["begin"]
        self._loop(loop, lines, otherwise)
        if parted:
            self._loop(VersionedLoop(parted, S.Warp.size, steps, slices=slices, tag="m", parted=True), parted, "warp")
            ways.append("ask.m")
        elif loop.runs:
            ways += ["look.ahead", "fewer.f"]
        else:
            ways += ["look.ahead", "ask.f"]
        return "], [".join(f"%fw.0, %{way}" for way in ways)

    def _of_several(self, lines: list[str], steps: tuple[int, int]) -> VersionedLoop | None:
        """The loop for several CTAs along x, if that leaves no more to be asked in it than that for one."""
        if self.e.rows.slices:
            return None
        one, several = (VersionedLoop(lines, S.Warp.size, steps, slices=False, runs=runs) for runs in (False, True))
        branches = [sum(text.startswith("  br i1 ") for text in each.body) for each in (one, several)]
        return several if branches[1] <= branches[0] else None

    def _loop(self, versioned: VersionedLoop, lines: list[str], otherwise: str) -> None:
        """One of the loops, and what is asked before it, from the label `ask.TAG` on."""
        t, tag, runs = self.t, versioned.tag, versioned.runs
        t.at(f"ask.{tag}")
        if runs:
            t.phi("i64", ("%followers", "look.ahead"), ("%half", "fewer.f"), name="%deeper")
        t.lines += versioned.before.lines
        sure = "false" if self._finds_others(versioned) else versioned.sure
        t.branch(sure, f"swift.{tag}", f"fewer.{tag}" if runs else otherwise)
        if runs:  # what does not hold for all of these may hold for half of them
            t.at(f"fewer.{tag}")
            t.lshr("i64", "%deeper", 1, "%half")
            t.branch(t.eq("i64", "%deeper", 0), otherwise, f"ask.{tag}")
        t.at(f"swift.{tag}")
        warp, number, turns, left = (f"%{name}.{tag}" for name in ("ws", "number", "turns", "left"))
        t.phi("ptr", ("%fw.0", f"ask.{tag}"), (f"{warp}.next", f"next.{tag}"), name=warp)
        t.lines += versioned.counted
        if runs:
            t.phi("i64", ("%deeper", f"ask.{tag}"), (f"{left}.next", f"next.{tag}"), name=left)
        elif versioned.slices:
            t.phi("i64", (0, f"ask.{tag}"), (f"{number}.next", f"next.{tag}"), name=number)
        t.store("ptr", warp, f"%{PROMOTED}.ws")
        t.go(f"{lines[0][:-1]}.{tag}")
        t.lines += versioned.body
        t.at(f"warp.done.{tag}")
        if self.e.by_warpgroup:  # the next warp may be of another one, which has its own counts
            place, mask = t.get(S.Warp, "warp_id", warp), (1 << S.LOG_WARPGROUP) - 1
            with t.if_then(t.eq("i32", t.and_("i32", place, mask), mask)):
                self.count_anew()
        t.go(f"warp.over.{tag}")
        t.at(f"warp.over.{tag}")
        t.branch(t.eq("ptr", warp, "%last"), f"cta.done.{tag}" if runs else "through", f"next.{tag}")
        if runs:
            self._next_cta(tag, left)
        t.at(f"next.{tag}")
        t.lines += versioned.chosen
        if runs:
            t.phi("i64", (left, f"warp.over.{tag}"), (f"{left}.less", f"turn.{tag}"), name=f"{left}.next")
            t.phi("i64", (self.e.file.size, f"warp.over.{tag}"), ("%before.last", f"turn.{tag}"), name=f"{warp}.by")
        elif versioned.slices:
            t.eq("i64", number, "%beyond", turns)
            t.select(turns, "i64", 0, t.add("i64", number, 1), f"{number}.next")
        t.lines += versioned.onward
        t.offset(warp, f"{warp}.by" if runs else self.e.file.size, f"{warp}.next")
        t.go(f"swift.{tag}")

    def _finds_others(self, versioned: VersionedLoop) -> bool:
        """Whether an access in a loop with checks may find another allocation than those of warps before it: records
        of the one that its site knew before the loop would then be taken for those of the other."""
        return self.e.checked and any('@"miss' in line for line in versioned.body)

    def _next_cta(self, tag: str, left: str) -> None:
        """Behind the last warp of a CTA: the next one begins in its place, if there is one in this run."""
        t = self.t
        t.at(f"cta.done.{tag}")
        if self.e.by_warpgroup:
            with t.if_then(t.ugt("i64", "%warps", 1 << S.LOG_WARPGROUP)):
                self.count_anew()
        t.branch(t.eq("i64", left, 0), "through", f"turn.{tag}")
        t.at(f"turn.{tag}")
        for field, kind in (("ctaid_x", "i32"), ("linear", "i64")):
            t.bump(t.offset("%cta", S.Cta.offset(field)), t.add, kind, 1)
        t.bump(FOLLOWED, t.add, "i64", 1)
        if self.e.instruments:
            t.declared.add(declaration(follows))
            t.do(call(follows, "%ctx", "%cta"))
        t.sub("i64", left, 1, f"{left}.less")
        t.go(f"next.{tag}")

    def note_followers(self) -> None:
        """Where the function leaves a run: that so many CTAs have begun in it."""
        t = self.t
        count = t.load("i64", FOLLOWED)
        with t.if_then(t.ne("i64", count, 0)):
            t.declared.add(declaration(have_followed))
            t.do(call(have_followed, "%ctx", "%cta", count))
            t.store("i64", 0, FOLLOWED)
