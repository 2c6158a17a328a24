"""Barriers, mbarriers and asynchronous copies for `form_programs`: each form at work within one warp."""

from __future__ import annotations

from typing import Any

from ptxlab.isa.entries import Op
from ptxlab.isa.table import Form

NAMES = ("bar", "barrier", "mbarrier", "cp")


def takes(entry: Op) -> bool:
    """Whether an entry is one of these, and executed by the emulator."""
    return entry.name in NAMES and entry.executed and entry.sem is None


def add(w: Any, found: Form, n: int) -> None:
    """A form of any of them."""
    {"bar": barrier, "barrier": barrier, "mbarrier": mbarrier, "cp": copy}[found.op.name](w, found, n)


def barrier(w: Any, found: Form, n: int) -> None:
    """What the lane next to this one has stored before the barrier; counts and votes of a reduction."""
    item, words = w.item(found), found.opcode.split(".")
    w.add("xor.b32 %r1, %lane, 1;", "mad.lo.u32 %r2, %lane, -32, %tile;", "mad.lo.u32 %r2, %r1, 32, %r2;")
    w.add(f"mad.lo.u32 %r3, %lane, 3, {n};", "st.shared.b32 [%tile], %r3;", "setp.lt.u32 %p1, %lane, 13;")
    if "warp" in words:
        w.add(f"{found.opcode} -1;")
    elif "arrive" in words:  # the warp arrives, and is the other half of the barrier as well
        w.add(f"{found.opcode} 2, 64;", "bar.sync 2, 64;")
    elif "popc" in words:
        w.add(f"{found.opcode} %r4, 1, %p1;")
        w.store(item, "%r4", "b32")
    elif "red" in words:
        w.add(f"{found.opcode} %p2, 1, %p1;")
        w.store(item, "%p2", "pred")
    else:
        w.add(f"{found.opcode} 0;")
    w.add("ld.shared.b32 %r4, [%r2];")
    w.store(item, "%r4", "b32")
    w.add("bar.warp.sync -1;")


def mbarrier(w: Any, found: Form, n: int) -> None:
    """Thirty-two arrivals end a phase: who waits for it sees that, and how many arrivals were open before."""
    item, words = w.item(found), found.opcode.split(".")
    place = f"gate+{8 * w.gates}"
    w.gates += 1
    w.add(f"mov.u32 %w, {place};", "cvt.u64.u32 %gate, %w;", "cvta.shared.u64 %gate, %gate;")
    at = place if found.space else "%gate"
    loop = f"WAIT{n}"
    first = "@%first "
    init = f"mbarrier.init.shared::cta.b64 [{place}], 32;"
    arrive = f"mbarrier.arrive.shared::cta.b64 %rd2, [{place}];"
    wait = f"mbarrier.test_wait.parity.shared::cta.b64 %p1, [{place}], 0;"
    extra: list[str] = []
    state = "_" if "shared::cluster" in found.opcode else "%rd2"  # another block's mbarrier gives no state
    if "init" in words:
        init = f"{found.opcode} [{at}], 32;"
    elif "noComplete" in words:
        arrive = f"{found.opcode} {state}, [{at}], 1;"
        init = init.replace("32;", "64;")
        extra = [f"mbarrier.arrive.shared::cta.b64 _, [{place}];"]
    elif "arrive" in words or "arrive_drop" in words:
        count = ", 0" if "expect_tx" in words else ""
        arrive = f"{found.opcode} {state}, [{at}]{count};"
    elif "expect_tx" in words:
        extra = [f"{first}{found.opcode} [{at}], 16;", f"{first}mbarrier.complete_tx.shared::cta.b64 [{place}], 16;"]
    elif "complete_tx" in words:
        extra = [
            f"{first}mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [{place}], 16;",
            f"{first}{found.opcode} [{at}], 16;",
        ]
    elif "parity" in words:
        wait = f"{found.opcode} %p1, [{at}], 0;"
    elif "test_wait" in words or "try_wait" in words:
        wait = f"{found.opcode} %p1, [{at}], %rd2;"
    before = extra if "tx" in found.opcode and extra else []
    w.add(first + init, "bar.warp.sync -1;", *before, "bar.warp.sync -1;", arrive, *([] if before else extra))
    w.add(f"{loop}:", wait, f"@!%p1 bra {loop};", "bar.warp.sync -1;")
    w.store(item, "%p1", "pred")
    end = f"{first}{found.opcode} [{at}];" if "inval" in words else f"{first}mbarrier.inval.shared::cta.b64 [{place}];"
    w.add(end, "bar.warp.sync -1;")


def copy(w: Any, found: Form, n: int) -> None:
    """cp.async: 16 bytes per lane from global to shared memory, waited for in each of the ways there are."""
    item, words = w.item(found), found.opcode.split(".")
    w.add("mov.b64 %t, 0;", "st.shared.b64 [%tile], %t;", "st.shared.b64 [%tile+8], %t;", "bar.warp.sync -1;")
    policy = ", 16, %policy" if "cache_hint" in found.opcode else ""
    copied, waits = "cp.async.ca.shared.global [%tile], [%in32], 16;", ["cp.async.wait_all;"]
    if "mbarrier" in words:
        place = f"gate+{8 * w.gates}"
        w.gates += 1
        w.add(f"mov.u32 %w, {place};", "cvt.u64.u32 %gate, %w;", "cvta.shared.u64 %gate, %gate;")
        w.add(
            f"@%first mbarrier.init.shared::cta.b64 [{place}], {64 if 'noinc' in words else 32};", "bar.warp.sync -1;"
        )
        waits = [
            f"{found.opcode} [{place if found.space else '%gate'}];",
            f"mbarrier.arrive.shared::cta.b64 %rd2, [{place}];",
            f"WAIT{n}:",
            f"mbarrier.test_wait.parity.shared::cta.b64 %p1, [{place}], 0;",
            f"@!%p1 bra WAIT{n};",
        ]
    elif "commit_group" in words or "wait_group" in words:
        waits = ["cp.async.commit_group;", "cp.async.wait_group 0;"]
    elif "wait_all" not in words:
        copied = f"{found.opcode} [%tile], [%in32], 16{policy};"
    w.add(copied, *waits, "bar.warp.sync -1;")
    for k in range(2):
        w.add(f"ld.shared.b64 %t, [%tile+{8 * k}];")
        w.store(item, "%t", "b64")
