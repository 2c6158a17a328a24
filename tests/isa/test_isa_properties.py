"""What the table says an instruction does, and what follows from its modifiers."""

from __future__ import annotations

from typing import Any

import pytest

from ptxlab.emulate.runtime.counters import PIPES
from ptxlab.isa import TABLE, Action, AsyncGroup, action_of, all_ops, form, writes_first
from ptxlab.isa.actions import COMPUTES
from ptxlab.isa.examples import opcodes
from ptxlab.isa.work import Work


@pytest.mark.parametrize(("opcode", "expected"), [
    ("ld.global.f32", {"loads": True, "stores": False, "space": "global", "strong": False, "orders": False}),
    ("ld.volatile.shared.u32", {"loads": True, "space": "shared", "strong": True, "polls": True, "orders": True}),
    ("ld.acquire.gpu.f32", {"space": "generic", "strong": True, "acquires": True, "releases": False, "polls": True}),
    ("st.release.cta.shared::cta.u32", {"stores": True, "loads": False, "space": "shared", "releases": True}),
    ("atom.global.add.u32", {"loads": True, "stores": True, "touches": "atomic", "strong": True, "polls": True}),
    ("red.relaxed.gpu.global.add.u32", {"touches": "atomic", "action": Action.REDUCTION, "atomic": True}),
    ("fence.acq_rel.gpu", {"releases": True, "acquires": True, "loads": False, "space": ""}),
    ("membar.gl", {"action": Action.FENCE, "releases": True, "acquires": True, "scope": "gpu"}),
    ("membar.cta", {"scope": "cta"}),
    ("membar.sys", {"scope": "sys"}),
    ("fence.sc.cluster", {"scope": "cluster"}),
    ("fence.proxy.async.shared::cta", {"scope": ""}),
    ("atom.shared::cta.add.u32", {"scope": "gpu"}),
    ("red.relaxed.cta.global.add.u32", {"scope": "cta"}),
    ("atom.global.cas.b32", {"scope": "gpu", "acquires": False}),
    ("ld.volatile.global.u32", {"scope": "sys"}),
    ("ld.global.u32", {"scope": ""}),
    ("bar.sync", {"barrier": True, "aligned": True, "waits": True, "ends_block": True, "converges": False}),
    ("bar.arrive", {"barrier": True, "aligned": True, "waits": False}),
    ("barrier.sync", {"barrier": True, "aligned": False, "waits": True}),
    ("barrier.sync.aligned", {"aligned": True}),
    ("bar.warp.sync", {"barrier": False, "action": Action.WARP_BARRIER, "converges": True}),
    ("shfl.sync.bfly.b32", {"converges": True, "action": Action.SHUFFLE}),
    ("shfl.bfly.b32", {"converges": False}),
    ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", {"converges": True, "aligned": True, "product": True}),
    ("ldmatrix.sync.aligned.m8n8.x4.shared.b16", {"rows": True, "touches": "load", "space": "shared"}),
    ("wmma.store.d.sync.aligned.row.m16n16k16.f32", {"fragment": True, "touches": "store", "product": False}),
    ("bra", {"jumps": True, "falls_through": False, "ends_block": True}),
    ("call", {"jumps": True, "falls_through": True}),
    ("brkpt", {"action": Action.TRAP, "jumps": False, "falls_through": False}),
    ("cp.async.ca.shared.global", {"group": AsyncGroup.CP_ASYNC, "touches": "", "loads": True, "stores": True}),
    ("cp.async.wait_group", {"group": AsyncGroup.CP_ASYNC, "waits": True}),
    ("cp.async.mbarrier.arrive.b64", {"group": AsyncGroup.CP_ASYNC, "mbarrier": True, "strong": True}),
    ("cp.async.bulk.commit_group", {"group": AsyncGroup.BULK}),
    ("wgmma.wait_group.sync.aligned", {"group": AsyncGroup.WGMMA, "waits": True}),
    ("mbarrier.init.b64", {"group": AsyncGroup.MBARRIER, "mbarrier": True, "strong": False}),
    ("mbarrier.try_wait.b64", {"mbarrier": True, "strong": True, "waits": True, "polls": True}),
    ("cvt.u32.u8", {"wider_registers": True, "loads": False}),
    ("fma.rn.f32", {"work": Work("fma", "ffma", "f32", 2), "wider_registers": False}),
    ("add.rn.f16x2", {"work": Work("fp16", "hadd", "f16", 2)}),
    ("mul.f64", {"work": Work("fp64", "dmul", "f64", 1)}),
    ("add.s32", {"work": Work("alu", "", "s32", 0)}),
])  # fmt: skip
def test_properties(opcode: str, expected: dict[str, Any]) -> None:
    properties = form(opcode).properties
    assert {name: getattr(properties, name) for name in expected} == expected


def test_constants_and_parameters_have_their_own_pipe() -> None:
    load, atomic = form("ld.f32").properties, form("atom.add.u32").properties
    assert [load.pipe_in(space) for space in ("global", "shared", "local", "const", "param", "frame")] == [
        "lsu", "lsu", "lsu", "adu", "adu", "adu",
    ]  # fmt: skip
    assert atomic.pipe_in("const") == "lsu"


@pytest.mark.parametrize("name", TABLE)
def test_every_entry_agrees_with_itself(name: str) -> None:
    forms = [(entry, opcode) for entry in TABLE[name] for opcode in opcodes(entry)]
    for entry, opcode in forms:
        p = form(opcode).properties
        assert p.action is entry.does, opcode
        assert (p.loads or p.stores) <= bool(p.space), f"{opcode}: memory without an address"
        assert p.work.pipe in PIPES, opcode
        assert p.touches in ("", "load", "store", "atomic"), opcode
        assert not (p.action.kind in ("pure", "lane") and (p.loads or p.stores or p.jumps)), opcode
        assert (p.action.kind == "warp") <= p.converges, opcode
        assert (p.jumps or not p.falls_through) <= p.ends_block, opcode


def test_every_action_belongs_to_an_instruction() -> None:
    added = {Action.PASS_ARGUMENTS, Action.TAKE_REDUCED}
    assert {entry.does for entry in all_ops()} == set(Action) - added
    assert COMPUTES.keys() <= TABLE.keys()


def test_what_a_text_says_that_may_be_wrong() -> None:
    assert action_of("ld.global.f32") is Action.LOAD
    assert action_of("ld.nowhere") is Action.LOAD
    assert action_of("nothing.u32") is None
    assert [writes_first(o) for o in ("add.s32", "st.global.f32", "bra", "bar.sync", "bar.red.popc.u32", "call")] == [
        True, False, False, False, True, False,
    ]  # fmt: skip
    assert writes_first("nothing.u32")
