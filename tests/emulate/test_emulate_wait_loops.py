"""Loops around waits for mbarriers, however they are written: where nothing but the phase's end leads out they are
deadlocks without it, and where something else does they go on."""

from __future__ import annotations

import pytest
from emulate_programs import ALL_CHECKS, fault_of, kernel, run

TRY = "mbarrier.try_wait.parity.shared::cta.b64"
TEST = "mbarrier.test_wait.parity.shared::cta.b64"
BEFORE = ".shared .align 8 .b64 full[4];"
START = """
    .reg .pred %again, %over, %early, %other; .reg .b32 %slot, %at, %shift, %tries, %parity;
    .reg .b64 %token, %begin, %now, %wide;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 mbarrier.init.shared.b64 [full], 64;
    @%p1 mbarrier.init.shared.b64 [full+8], COUNT;
    @%p1 mbarrier.init.shared.b64 [full+16], 1;
    @%p1 mbarrier.arrive.shared.b64 %token, [full+16];
    mov.u32 %tries, 0; mov.u32 %slot, 1; mov.u32 %parity, 0; mov.u32 %at, full; add.u32 %at, %at, 8;
    setp.eq.u32 %other, 0, 0;
    bar.sync 0;
    mov.u64 %begin, %globaltimer;
    mbarrier.arrive.shared.b64 %token, [full+8];
"""
"""The threads arrive at full[1], which expects 64 or more, and then wait for its first phase. full[2] is over, full[0]
never is."""
DONE = "\n    st.global.u32 [%rd3], 7;"

ENDLESS = {
    "the address again": f"""WAIT:
    shl.b32 %shift, %slot, 3; mov.u32 %at, full; add.s32 %at, %at, %shift;
    {TRY} %over, [%at], 0;
    @!%over bra WAIT;""",
    "the address by mad": f"WAIT:\n mov.u32 %at, full; mad.lo.u32 %at, %slot, 8, %at;\n {TEST} %over, [%at], 0;\n"
    " @!%over bra WAIT;",
    "a generic address again": """WAIT:
    cvt.u64.u32 %wide, %at; cvta.shared.u64 %wide, %wide;
    mbarrier.try_wait.parity.b64 %over, [%wide], %parity;
    @!%over bra WAIT;""",
    "the address and the parity of a ring": f"""
    mov.u32 %tries, 1;
ROUND:
    mov.u32 %slot, %tries;
WAIT:
    and.b32 %shift, %slot, 3; shl.b32 %shift, %shift, 3; mov.u32 %at, full; add.s32 %at, %at, %shift;
    shr.u32 %parity, %slot, 2; and.b32 %parity, %parity, 1;
    {TRY} %over, [%at], %parity;
    @!%over bra WAIT;
    add.u32 %tries, %tries, 1; setp.lt.u32 %again, %tries, 3;
    @%again bra ROUND;""",
    "in the middle of a loop": f"""
    bra MIDDLE;
WAIT:
    nanosleep.u32 20;
MIDDLE:
    mov.u32 %at, full;
    {TRY} %over, [%at+8], 0;
    @%over bra DONE;
    add.u32 %tries, %tries, 1;
    bra WAIT;
DONE:""",
    "a token": "WAIT:\n mbarrier.test_wait.shared.b64 %over, [full+8], %token;\n @!%over bra WAIT;",
    "a token that is moved, with a hint": """WAIT:
    mov.u32 %at, full; add.u32 %at, %at, 8; mov.b64 %wide, %token;
    mbarrier.try_wait.acquire.cta.shared::cta.b64 %over, [%at], %wide, 1000;
    @%over bra DONE;
    bra WAIT;
DONE:""",
    "a first wait before the loop": """
    mbarrier.test_wait.shared.b64 %over, [full+8], %token;
    @%over bra DONE;
WAIT:
    mbarrier.try_wait.shared.b64 %over, [full+8], %token;
    @!%over bra WAIT;
DONE:""",
    "numbers for truth values": f"""WAIT:
    {TRY} %over, [%at], 0;
    selp.u16 %h1, 1, 0, %over; cvt.u32.u16 %r21, %h1; and.b32 %r21, %r21, 1;
    setp.ne.s32 %again, %r21, 1;
    @%again bra WAIT;""",
    "signs turned": f"""WAIT:
    {TRY} %over, [%at], 0;
    not.pred %again, %over; setp.ne.and.u32 %again, 0, 1, %again;
    @!%again bra DONE;
    bra.uni WAIT;
DONE:""",
    "a guard that always holds": f"""
    setp.ne.u32 %over, 0, 0; setp.lt.u32 %other, %r1, 2048;
WAIT:
    @%other {TRY} %over, [%at], 0;
    @!%over bra WAIT;""",
    "both of two mbarriers": f"""WAIT:
    {TEST} %again, [full+16], 0;
    {TRY} %over, [full+8], 0;
    and.pred %over, %over, %again;
    @!%over bra WAIT;""",
    "both, the missing one first": f"""WAIT:
    {TRY} %over, [full+8], 0;
    {TEST} %again, [full+16], 0;
    and.pred %over, %over, %again;
    @!%over bra WAIT;""",
    "attempts, the timer and sleep": """WAIT:
    mbarrier.test_wait.shared.b64 %over, [full+8], %token;
    @%over bra DONE;
    add.u32 %tries, %tries, 1; setp.lt.u32 %again, %tries, 16;
    @%again bra WAIT;
    mov.u64 %begin, %globaltimer;
SLEEP:
    mbarrier.test_wait.shared.b64 %over, [full+8], %token;
    @%over bra DONE;
    mov.u64 %now, %globaltimer; sub.u64 %now, %now, %begin; setp.lt.u64 %early, %now, 1000;
    @%early bra SLEEP;
    nanosleep.u32 250;
    bra SLEEP;
DONE:""",
    "a loop of attempts in a loop": f"""OUTER:
    mov.u32 %tries, 0;
WAIT:
    {TRY} %over, [%at], 0;
    @%over bra DONE;
    add.u32 %tries, %tries, 1; setp.lt.u32 %again, %tries, 10;
    @%again bra WAIT;
    mov.u32 %tries, %clock; and.b32 %tries, %tries, 255; nanosleep.u32 %tries;
    bra OUTER;
DONE:""",
    "a flag that is only read": f"""WAIT:
    {TRY} %over, [%at], 0;
    ld.volatile.global.u32 %r21, [%rd2]; add.u32 %tries, %tries, %r21;
    fence.acq_rel.cta;
    @!%over bra WAIT;""",
    "the address from a parameter": f"""WAIT:
    ld.param.u64 %wide, [x]; ld.global.u32 %r21, [%rd2+4];
    mov.u32 %at, full; {TRY} %over, [%at+8], 0;
    @!%over bra WAIT;""",
    "a function that tries, and one that computes the address": """WAIT:
    {
    .param .b32 at; .param .b32 ended;
    st.param.b32 [at], %slot;
    call (ended), try_there, (at);
    ld.param.b32 %r21, [ended];
    }
    setp.eq.u32 %again, %r21, 0;
    @%again bra WAIT;""",
    "a function": "{\n .param .b32 at;\n st.param.b32 [at], %at;\n call wait_there, (at);\n }",
}
FUNCTIONS = f"""
.func (.param .b32 address) there(.param .b32 slot)
{{
    .reg .b32 %a, %b;
    ld.param.b32 %a, [slot];
    shl.b32 %a, %a, 3; mov.u32 %b, full; add.u32 %a, %a, %b;
    st.param.b32 [address], %a;
    ret;
}}
.func (.param .b32 ended) try_there(.param .b32 slot)
{{
    .reg .b32 %a, %b; .reg .pred %over;
    ld.param.b32 %a, [slot];
    {{
    .param .b32 number; .param .b32 address;
    st.param.b32 [number], %a;
    call (address), there, (number);
    ld.param.b32 %a, [address];
    }}
    {TRY} %over, [%a], 0;
    selp.b32 %a, 1, 0, %over; st.param.b32 [ended], %a;
    ret;
}}
.func wait_there(.param .b32 at)
{{
    .reg .b32 %a, %b; .reg .pred %over;
    ld.param.b32 %a, [at];
WAIT:
    add.u32 %b, %a, 0;
    {TRY} %over, [%b], 0;
    @!%over bra WAIT;
    ret;
}}
"""


def text(loop: str, count: int) -> str:
    before = BEFORE + (FUNCTIONS if "there" in loop else "")
    return kernel(START.replace("COUNT", str(count)) + loop + DONE, before).replace("sm_80", "sm_90")


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", ENDLESS)
def test_an_arrival_is_missing(name: str, engine: str) -> None:
    """The same with a seed and with checks."""
    module = text(ENDLESS[name], 65)
    for seed, checks in ((None, ("memcheck",)), (3, ("memcheck",)), (None, ALL_CHECKS)):
        stopped = fault_of(engine, module, threads=64, blocks=2, budget=100_000, seed=seed, checks=checks)
        first, *lines = stopped.message.splitlines()
        assert (stopped.kind, first) == ("deadlock", "no thread of the block can go on")
        for warp, line in enumerate(lines):
            assert line.startswith(f"    warp {warp}, lanes 0-31: waits for ")
            assert "of the mbarrier at 'full', byte 8, which has not ended: 1 of 65 arrivals missing" in line
        assert len(lines) == 2


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", ENDLESS)
def test_all_arrive(name: str, engine: str) -> None:
    for seed in (None, 1, 2):
        out, _ = run(engine, text(ENDLESS[name], 64), threads=64, blocks=2, seed=seed)
        assert (out == 7).all()


OTHER_WAYS = {
    "so many attempts": f"""WAIT:
    {TRY} %over, [full], 0;
    @%over bra DONE;
    add.u32 %tries, %tries, 1; setp.lt.u32 %again, %tries, 500;
    @%again bra WAIT;
DONE:""",
    "some time": f"""WAIT:
    {TRY} %over, [full], 0;
    mov.u64 %now, %globaltimer; sub.u64 %now, %now, %begin; setp.lt.u64 %early, %now, 4000;
    setp.eq.and.u32 %again, 0, 0, %early; not.pred %over, %over; and.pred %again, %again, %over;
    @%again bra WAIT;""",
    "a flag": f"""
    setp.eq.u32 %p2, %r1, 63; @%p2 bra LAST;
WAIT:
    {TRY} %over, [full], 0;
    ld.volatile.global.u32 %r21, [%rd2];
    setp.eq.u32 %again, %r21, 77; or.pred %over, %over, %again;
    @!%over bra WAIT;
    bra DONE;
LAST:
    add.u32 %tries, %tries, 1; setp.lt.u32 %again, %tries, 3000;
    @%again bra LAST;
    st.volatile.global.u32 [%rd2], 77;
DONE:""",
    "either of two mbarriers": f"""WAIT:
    {TRY} %over, [full], 0;
    {TEST} %again, [full+8], 0;
    or.pred %over, %over, %again;
    @!%over bra WAIT;""",
    "one mbarrier after the other": f"""
    mov.u32 %at, full;
WAIT:
    {TRY} %over, [%at], 0;
    xor.b32 %at, %at, 8;
    @!%over bra WAIT;""",
    "another one from the second attempt on": f"""
    mov.u32 %at, full;
WAIT:
    {TRY} %over, [%at], 0;
    mov.u32 %at, full; add.u32 %at, %at, 8;
    @!%over bra WAIT;""",
    "an address of the round before": f"""
    mov.u32 %slot, 0;
WAIT:
    mov.u32 %at, full; mad.lo.u32 %at, %slot, 8, %at;
    {TRY} %over, [%at], 0;
    mov.u32 %slot, %parity; mov.u32 %parity, 1;
    setp.eq.u32 %again, %slot, 0; @%again bra WAIT;
    {TRY} %over, [full+8], 0;
    @!%over bra WAIT;""",
    "another parity": f"""WAIT:
    {TEST} %over, [full], %parity;
    mov.u32 %parity, 1;
    @!%over bra WAIT;""",
    "a function that says so": f"""
    mov.u32 %parity, 0;
WAIT:
    {TRY} %over, [full], 0;
    {{
    .param .b32 number; .param .b32 address;
    st.param.b32 [number], %parity;
    call (address), there, (number);
    ld.param.b32 %r21, [address];
    }}
    add.u32 %parity, %parity, 1;
    setp.lt.u32 %again, %r21, 16384;
    @%again bra WAIT;""",
    "a wait to which nobody comes": f"""WAIT:
    setp.eq.u32 %again, 0, 0;
    @%again bra DONE;
    {TRY} %over, [full], 0;
    @!%over bra WAIT;
DONE:""",
    "an exit": f"WAIT:\n {TRY} %over, [full], 0;\n st.global.u32 [%rd3], 7;\n @!%over exit;\n bra WAIT;",
    "an arrival": f"""WAIT:
    mbarrier.arrive.shared.b64 _, [full];
    {TRY} %over, [full], 0;
    @!%over bra WAIT;""",
    "lanes that meet": f"""
    setp.eq.u32 %p2, %r1, 0; @!%p2 bra MEET;
WAIT:
    {TRY} %over, [full+24], 0;
    @%over bra DONE;
    bar.warp.sync 3;
    bra WAIT;
MEET:
    setp.ne.u32 %p2, %r1, 1; @%p2 bra DONE;
    bar.warp.sync 3;
    mbarrier.arrive.shared.b64 _, [full+24];
    bar.warp.sync 3;
DONE:""",
}
"""Ways out of a wait that do not need its phase to end, and waits for which another thread of the warp has to come."""


@pytest.mark.sweep(6)
@pytest.mark.parametrize("name", OTHER_WAYS)
def test_another_way_out(name: str, engine: str) -> None:
    module = text(OTHER_WAYS[name], 64)
    module = module.replace("    bar.sync 0;", "    @%p1 mbarrier.init.shared.b64 [full+24], 1;\n    bar.sync 0;")
    for seed in (1,) if engine == "step" else (None, 1, 2, 3):
        out, _ = run(engine, module, threads=64, blocks=2, seed=seed, budget=1_000_000)
        assert (out == 7).all(), seed


WRONG_BYTES = """
    .reg .pred %over; .reg .b32 %at, %shift, %slot;
    mov.u32 %slot, 1;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 mbarrier.init.shared.b64 [full+8], 1;
    bar.sync 0;
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [full+8], BYTES;
    @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd2], 128, [full+8];
WAIT:
    shl.b32 %shift, %slot, 3; mov.u32 %at, full; add.s32 %at, %at, %shift;
    mbarrier.try_wait.parity.shared::cta.b64 %over, [%at], 0;
    @!%over bra WAIT;
    ld.shared.u32 %r20, [tile+8];
    st.global.u32 [%rd3], %r20;"""


@pytest.mark.parametrize(
    ("bytes_", "said"), [(128, ""), (256, "128 bytes missing"), (64, "64 bytes more have come than were announced")]
)
def test_bytes_of_a_ring(bytes_: int, said: str, engine: str) -> None:
    before = BEFORE + " .shared .align 128 .b8 tile[256];"
    module = kernel(WRONG_BYTES.replace("BYTES", str(bytes_)), before).replace("sm_80", "sm_90")
    for seed in (None, 1, 2):
        if not said:
            out, _ = run(engine, module, threads=64, seed=seed)
            assert (out == 2).all()
            continue
        stopped = fault_of(engine, module, threads=64, seed=seed, budget=100_000)
        assert stopped.kind == "deadlock"
        assert f"byte 8, which has not ended: {said}" in stopped.message
