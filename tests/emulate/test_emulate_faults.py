"""What stops a kernel, and every word of what is said then, on every engine of the emulator."""

from __future__ import annotations

import _thread
import re
import signal
import threading
from typing import Any

import numpy as np
import pytest
from emulate_programs import ENGINES, fault_of, kernel, run
from random_faults import differences
from slow_cases import slow

from ptxlab.emulate import Memory, execute, lower
from ptxlab.errors import DeviceFault, LaunchError, LaunchKeyboardInterrupt, PtxError, UnsupportedInstruction
from ptxlab.text import parse

OUT, X = 0x200_0000_0000, 0x200_0000_1200
"""Where `run` puts the 128 bytes of `out` (one warp) and, a guard gap later, `x`."""


def fault(engine: str, body: str, before: str = "", **options: object) -> tuple[DeviceFault, str]:
    """The fault of a program, and its message with the line number taken out."""
    error = fault_of(engine, kernel(body, before), **options)
    return error, str(error).replace(f"line {error.line}:", "line N:")


MEMCHECK = {
    "store past the end": (
        "st.global.u32 [%rd3+4], %r1;", (31, 0, 0), OUT + 128,
        f"memcheck: store of 4 bytes at {OUT + 128:#x}: 0 bytes past the end of 'out' (128 bytes at {OUT:#x}); "
        "element 32 of 'out', which has 32 (of 4 bytes)",
    ),
    "load across the end": (
        "ld.global.v2.u32 {%r5, %r6}, [%rd1+120];\n    ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd1+128];",
        (0, 0, 0), OUT + 128,
        f"memcheck: load of 16 bytes at {OUT + 128:#x}: 0 bytes past the end of 'out' (128 bytes at {OUT:#x}); "
        "elements 32 to 35 of 'out', which has 32 (of 4 bytes)",
    ),
    "load in front": (
        "ld.global.u32 %r5, [%rd2+-8];", (0, 0, 0), X - 8,
        f"memcheck: load of 4 bytes at {X - 8:#x}: 8 bytes before 'x' (256 bytes at {X:#x}); "
        "element -2 of 'x', which has 64 (of 4 bytes)",
    ),
    "one lane of many": (
        "setp.eq.u32 %p1, %r1, 9;\n    @%p1 add.u64 %rd3, %rd3, 4000;\n    st.global.u32 [%rd3], %r1;",
        (9, 0, 0), OUT + 4036,
        f"memcheck: store of 4 bytes at {OUT + 4036:#x}: 3908 bytes past the end of 'out' (128 bytes at {OUT:#x}); "
        "element 1009 of 'out', which has 32 (of 4 bytes)",
    ),
    "misaligned": (
        "add.u64 %rd5, %rd3, 2;\n    ld.global.u32 %r5, [%rd5];", (0, 0, 0), OUT + 2,
        f"memcheck: load of 4 bytes at {OUT + 2:#x}: misaligned, the address must be a multiple of 4; "
        f"byte 2 of 'out' (128 bytes at {OUT:#x})",
    ),
    "misaligned vector": (
        "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+8];", (0, 0, 0), OUT + 8,
        f"memcheck: load of 16 bytes at {OUT + 8:#x}: misaligned, the address must be a multiple of 16; "
        f"byte 8 of 'out' (128 bytes at {OUT:#x}); elements 2 to 5 of 'out', which has 32 (of 4 bytes)",
    ),
    "null": (
        "mov.u64 %rd5, 0;\n    st.global.u8 [%rd5], %r1;", (0, 0, 0), 0,
        "memcheck: store of 1 byte at 0x0: a null pointer",
    ),
    "near null": (
        "mov.u64 %rd5, 0;\n    ld.f64 %fd1, [%rd5+16];", (0, 0, 0), 16,
        "memcheck: load of 8 bytes at 0x10: 0x10 past a null pointer",
    ),
    "shared": (
        "mov.u32 %r5, tile;\n    mad.lo.u32 %r5, %r1, 4, %r5;\n    st.shared.u32 [%r5], %r1;", (25, 0, 0), 100,
        "memcheck: store of 4 bytes at 0x64: the block's shared memory is 100 bytes at 0x0; "
        "0 bytes past the end of 'tile' (100 bytes at 0x0); element 25 of 'tile', which has 25 (of 4 bytes)",
    ),
    "shared, by a generic address": (
        "mov.u64 %rd5, tile;\n    cvta.shared.u64 %rd5, %rd5;\n    atom.add.u32 %r5, [%rd5+100], 1;",
        (0, 0, 0), 0x7F7F_0000_0064,
        "memcheck: atomic of 4 bytes at 0x7f7f00000064: the block's shared memory is 100 bytes at 0x0; "
        "0 bytes past the end of 'tile' (100 bytes at 0x0); element 25 of 'tile', which has 25 (of 4 bytes)",
    ),
    "local": (
        ".local .b8 mine[8];\n    mov.u64 %rd5, mine;\n    st.local.u64 [%rd5+8], %rd1;", (0, 0, 0), 8,
        "memcheck: store of 8 bytes at 0x8: each thread has 8 bytes of local memory; 0 bytes past the end of 'mine' "
        "(8 bytes at 0x0); element 1 of 'mine', which has 1 (of 8 bytes)",
    ),
    "constant memory": (
        "mov.u64 %rd5, table;\n    st.u32 [%rd5], %r1;", (0, 0, 0), 0x100_0000_0000,
        "memcheck: store of 4 bytes at 0x10000000000: 'table' is read-only",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MEMCHECK)
def test_memcheck(name: str, engine: str) -> None:
    body, thread, address, message = MEMCHECK[name]
    before = ".shared .align 4 .b8 tile[100];\n.const .align 4 .u32 table[2] = {1, 2};"
    error, text = fault(engine, body, before)
    last = body.splitlines()[-1].strip()
    place = f"  at:     block (0, 0, 0), thread ({thread[0]}, 0, 0)\n  ptx:    k, line N: {last}"
    assert text == f"{message}\n{place}"
    assert (error.kind, error.thread, error.address) == ("memcheck", thread, address)


WRONG = [  # %rd5 is the address of `tile`
    ("cvta.shared.u64 %rd5, %rd5; st.shared.u32 [%rd5+8], %r1;", "a generic address of shared memory, byte 8 of 'tile'",
     "cvta.to.shared.u64 gives the address for .shared; st.u32 takes the generic one"),
    ("cvta.shared.u64 %rd5, %rd5; ld.global.u32 %r5, [%rd5];", "a generic address of shared memory, byte 0 of 'tile'",
     "write ld.u32, which takes a generic address"),
    ("LOOP: add.u64 %rd5, %rd5, 4; setp.lt.u64 %p1, %rd5, 16; @%p1 bra LOOP; atom.relaxed.cta.add.u32 %r5, [%rd5], 1;",
     "shared memory, byte 16 of 'tile'; its address is taken for a generic one",
     "write atom.relaxed.cta.shared.add.u32, or make the address generic: cvta.shared.u64"),
    ("mov.u64 %rd5, mine; ld.volatile.global.u32 %r5, [%rd5+4];",
     "local memory, byte 4 of 'mine'; its address is taken for one in global memory", "write ld.volatile.local.u32"),
    ("cp.async.ca.shared.global [%rd5], [%rd5], 4;",
     "shared memory, byte 0 of 'tile'; its address is taken for one in global memory",
     "this operand of cp.async.ca.shared.global takes an address in global memory"),
    ("ld.shared.u32 %r5, [%rd2+8];", "an address of 'x', which lies in global memory", "write ld.global.u32"),
    ("ld.param.u32 %r5, [%rd2];", "an address of 'x', which lies in global memory", "write ld.global.u32"),
    ("ld.const.u32 %r5, [%rd2];", "an address of 'x', which lies in global memory", "write ld.global.u32"),
    ("mov.u64 %rd5, table; ld.global.nc.u32 %r5, [%rd5];", "an address of 'table', which lies in constant memory",
     "write ld.const.u32"),
    ("mov.u64 %rd5, table; ld.u32 %r5, [%rd5+4];", "an address of 'table', which lies in constant memory",
     "write ld.const.u32, or make the address generic: cvta.const.u64"),
    ("cvta.const.u64 %rd5, table; ld.global.nc.u32 %r5, [%rd5];",
     "a generic address of 'table', which lies in constant memory", "write ld.u32, which takes a generic address"),
    ("cvta.const.u64 %rd5, table; ld.const.u32 %r5, [%rd5];",
     "a generic address of 'table', which lies in constant memory",
     "cvta.to.const.u64 gives the address for .const; ld.u32 takes the generic one"),
    ("mapa.u64 %rd5, %rd5, 0; st.global.u32 [%rd5], %r1;",
     "shared memory, byte 0 of 'tile', in the block of rank 0; its address is taken for one in global memory",
     "write st.shared::cluster.u32"),
    ("cvta.shared.u64 %rd5, %rd5; mapa.u64 %rd5, %rd5, 0; ld.global.u32 %r5, [%rd5+4];",
     "a generic address of shared memory, byte 4 of 'tile', in the block of rank 0",
     "write ld.u32, which takes a generic address"),
    ("mov.u32 %r5, tile; ld.shared.u32 %r5, [%r5+-4];", "4 bytes before 'tile' (100 bytes at 0x0); "
     "element -1 of 'tile', which has 25 (of 4 bytes)", ""),
    ("mov.u32 %r5, tile; ld.shared.u32 %r5, [%r5+6];", "misaligned, the address must be a multiple of 4; the block's "
     "shared memory is 100 bytes at 0x0; byte 6 of 'tile' (100 bytes at 0x0)", ""),
    ("mov.u64 %rd5, 4096; ld.global.u32 %r5, [%rd5];", "near no array", ""),
    ("mov.u64 %rd5, x; ld.global.u32 %r5, [%rd5];", "the address of the parameter 'x', not its value",
     "write ld.param.u64, which loads its value"),
    ("sub.u32 %r5, %r1, 1; mad.wide.u32 %rd5, %r5, 8, %rd2; ld.global.u64 %rd6, [%rd5];",
     "mad.wide.u32 (line N) takes -1 for 4,294,967,295",
     "mad.wide.s32 in PTX reads the number as it is meant; in C, a signed type"),
    ("add.u32 %r5, %r1, 4294967295; mad.wide.u32 %rd5, %r5, 8, %rd2; ld.global.u64 %rd6, [%rd5];",
     "element 4294967295 of 'x', which has 32 (of 8 bytes)", ""),
    ("add.u32 %r5, %r1, 100000; mul.lo.s32 %r5, %r5, %r5; mad.wide.s32 %rd5, %r5, 4, %rd2; ld.global.u32 %r5, [%rd5];",
     "a number that wrapped: mul.lo.s32 (line N) gives 1,410,065,408 instead of 10,000,000,000",
     "compute it with 64 bits: mul.wide.s32 in PTX, long long in C"),
    ("ld.param.u32 %r5, [x]; shl.b32 %r6, %r1, 2; add.u32 %r5, %r5, %r6; cvt.u64.u32 %rd5, %r5; ld.u32 %r5, [%rd5];",
     "ld.param.u32 (line N) keeps the low 32 bits of the address of 'x'",
     "keep addresses of global memory in registers of 64 bits"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "says", "hint"), WRONG)
def test_addresses_in_words(body: str, says: str, hint: str, engine: str) -> None:
    before = ".shared .align 4 .b8 tile[100];\n.const .align 4 .u32 table[2];"
    text = kernel(f".local .b8 mine[8];\n    mov.u64 %rd5, tile; {body}", before)
    error = fault_of(engine, text.replace("sm_80", "sm_90" if "mapa" in body else "sm_80"))
    assert error.message.endswith(says.replace("line N", f"line {error.line}"))
    assert (error.kind, error.hint) == ("memcheck", hint)


def test_past_dynamic_shared_memory(engine: str) -> None:
    before = ".extern .shared .align 4 .b8 row[];\n.shared .align 4 .b8 part[16];"
    _, text = fault(engine, "st.shared.u32 [part], %r1;\n    st.shared.u32 [row+4], %r1;", before)
    assert "; 4 bytes past the end of 'row', dynamic shared memory of 0 bytes at 0x10 (the launch gave none: " in text


def test_host_memory_is_out_of_reach(engine: str) -> None:
    secret = np.arange(16)
    address = secret.ctypes.data
    error, _ = fault(engine, f"mov.u64 %rd5, {address};\n    ld.u64 %rd6, [%rd5];")
    assert error.message.startswith(f"load of 8 bytes at {address:#x}: ")
    assert error.kind == "memcheck"


def test_freed_memory(engine: str) -> None:
    memory = Memory()
    out, x = memory.allocate(128, "out"), memory.allocate(64, "x")
    memory.free(x)
    with pytest.raises(DeviceFault) as caught:
        execute(
            parse(kernel("ld.global.u32 %r5, [%rd2+8];")),
            "k",
            engine=engine,
            grid=(1,),
            block=(32,),
            params=np.array([out.address, x.address], np.uint64).tobytes(),
            memory=memory,
            workers=1,
        )
    assert caught.value.message == (
        f"load of 4 bytes at {x.address + 8:#x}: byte 8 of 'x' (64 bytes at {x.address:#x}), which was freed"
    )


def test_fault_names_block_and_thread_in_three_dimensions(engine: str) -> None:
    body = """
    mov.u32 %r5, %tid.y;
    setp.eq.u32 %p1, %r5, 2; setp.eq.and.u32 %p1, %r2, 1, %p1;
    @%p1 st.global.u32 [%rd1+-4], %r5;"""
    error, _ = fault(engine, body, threads=(5, 3, 2), blocks=3)
    assert (error.block, error.thread) == ((1, 0, 0), (0, 2, 0))


def test_memory_is_as_the_kernel_left_it_after_a_fault(engine: str) -> None:
    memory = Memory()
    data = np.zeros(32, np.uint32)
    out = memory.allocate(128, "out", data)
    text = parse(kernel("st.global.u32 [%rd3], 7;\n    bar.sync 0;\n    ld.global.u32 %r5, [%rd2];"))
    for x, says in (
        (0, "a null pointer; .* 'x', which is 0 \\(None\\)"),
        (1 << 50, "no array; .* 'x', which is 0x4000000000000"),
    ):
        params = np.array([out.address, x], np.uint64).tobytes()
        data[:] = 0
        with pytest.raises(DeviceFault, match=says):
            execute(text, "k", engine=engine, grid=(1,), block=(32,), params=params, memory=memory, workers=1)
        assert (data == 7).all()
        assert memory.live() == [out]


def test_trap(engine: str) -> None:
    _, text = fault(engine, "setp.eq.u32 %p1, %r1, 5;\n    @%p1 trap;")
    assert text == (
        "trap: the kernel executed trap\n  at:     block (0, 0, 0), thread (5, 0, 0)\n  ptx:    k, line N: @%p1 trap;"
    )


@pytest.mark.parametrize(
    ("body", "ends"),
    [
        ("FOREVER:\n    bra FOREVER;", "; no branch leads out of it"),
        ("TRY:\n    atom.global.cas.b32 %r5, [%rd2], 0, 1; setp.ne.u32 %p1, %r5, 0; @%p1 bra TRY;", ""),
    ],
)
def test_budget(body: str, ends: str, engine: str) -> None:
    error, _ = fault(engine, body, x=np.ones(1, np.uint32), budget=20_000)
    assert error.kind == "budget"
    assert error.message == (
        "the launch has run its 20,000 warp-instructions and has not ended\n"
        f"    block (0, 0, 0), warp 0, lanes 0-31: at line {error.line}: {error.source.strip()}\n"
        f"    in the loop of line {error.line}{ends}"
    )
    assert error.hint == "look for an endless loop, or give a larger budget="
    assert error.source.strip() == body.partition("    ")[2]


def test_deadlock_between_barriers(engine: str) -> None:
    body = """
    shr.u32 %r5, %r1, 5; setp.eq.u32 %p1, %r5, 1; @%p1 bra OTHER;
    bar.sync 1;
    exit;
OTHER:
    bar.sync 2;"""
    error, _ = fault(engine, body, threads=96)
    one, two = (1 + kernel(body).splitlines().index(f"    bar.sync {b};") for b in (1, 2))
    assert error.kind == "deadlock"
    assert error.message == (
        "no thread of the block can go on\n"
        f"    warp 0, lanes 0-31: waits for barrier 1 (bar.sync, line {one})\n"
        f"    warp 1, lanes 0-31: waits for barrier 2 (bar.sync, line {two})\n"
        f"    warp 2, lanes 0-31: waits for barrier 1 (bar.sync, line {one})"
    )
    assert (error.line, error.thread) == (one, (0, 0, 0))


def test_deadlock_within_a_warp(engine: str) -> None:
    body = """
    setp.lt.u32 %p1, %r1, 4; @%p1 bra OTHER;
    shfl.sync.bfly.b32 %r5, %r1, 1, 31, -1;
    exit;
OTHER:
    bar.sync 0;"""
    error, _ = fault(engine, body, threads=64)
    lines = kernel(body).splitlines()
    shuffle = 1 + lines.index("    shfl.sync.bfly.b32 %r5, %r1, 1, 31, -1;")
    barrier = 1 + lines.index("    bar.sync 0;")
    waits = (
        f"    warp {{0}}, lanes 4-31: waits for the lanes of its mask (shfl.sync.bfly.b32, line {shuffle})",
        f"    warp {{0}}, lanes 0-3: waits for barrier 0 (bar.sync, line {barrier})",
    )
    expected = ["no thread of the block can go on", waits[0].format(0), waits[1].format(0)]
    assert error.kind == "deadlock"
    found = error.message.splitlines()
    assert sorted(found[:3]) == sorted(expected)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("bar.sync %r5;", "there is no barrier 77: a block has barriers 0 to 15"),
        ("mov.u32 %r6, 40;\n    bar.sync 1, %r6;", "barrier 1 waits for 40 threads, which is not a multiple of 32"),
        ("T: .branchtargets A;\n    brx.idx %r5, T;\nA:", "the index 77 is outside the list of 1 branch targets"),
        (
            ".shared .b32 to[32];\n    mov.u32 %r6, to;\n    cp.async.ca.shared.global [%r6], [%rd1], 8, %r5;",
            "cp.async.ca.shared.global of 8 bytes: the source size goes from 0 to 8, found 77",
        ),
    ],
)
def test_wrong_numbers(body: str, message: str, engine: str) -> None:
    error, _ = fault(engine, f"mov.u32 %r5, 77;\n    {body}")
    assert (error.kind, error.message) == ("trap", message)


def test_control_c_ends_an_endless_loop(engine: str) -> None:
    text = kernel("setp.lt.u32 %p1, %r1, 40; @%p1 bra FOREVER;\n    bar.sync 3;\n    exit;\nFOREVER:\n    bra FOREVER;")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background starts without one
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    try:
        with pytest.raises(LaunchKeyboardInterrupt) as caught:
            run(engine, text, blocks=3, threads=96, budget=None)
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
    at = 1 + text.splitlines().index("    bra FOREVER;")
    first, runs, *_, waits, loop = str(caught.value).splitlines()
    assert re.fullmatch(r"kernel k was stopped after [\d,]+ warp-instructions", first)
    assert runs.endswith(f": at line {at}: bra FOREVER;")
    assert waits.endswith(f"waiting for barrier 3, line {at - 3}: bar.sync 3;")
    assert loop == f"    in the loop of line {at}; no branch leads out of it"
    places = {(each.warp, len(each.lanes)): each.waits_for for each in caught.value.warps if each.block == (0, 0, 0)}
    assert places == {(0, 32): "", (1, 8): "", (1, 24): "barrier 3", (2, 32): "barrier 3"}


def test_unknown_form_is_refused_at_load(engine: str) -> None:
    out = np.zeros(32, np.uint32)
    with pytest.raises(UnsupportedInstruction) as caught:
        text = kernel("st.global.u32 [%rd3], 1;\n    tcgen05.fence::before_thread_sync;")
        run(engine, text.replace("sm_80", "sm_100a"), out=out)
    assert caught.value.source.strip().startswith("tcgen05")
    assert not out.any()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("T: .branchtargets ; brx.idx %r1, T;", "the .branchtargets list 'T' is empty"),
        (
            "cp.async.ca.shared.global [%r5], [%rd1], 4, 8;",
            "cp.async.ca.shared.global copies 4 bytes here, and cannot read 8: write 4",
        ),
    ],
)
def test_operands_that_do_not_fit_are_refused_at_load(body: str, message: str) -> None:
    with pytest.raises(PtxError) as caught:
        lower(parse(kernel(body)))
    assert message in str(caught.value)
    assert body in str(caught.value)


def test_local_memory_has_a_limit(engine: str) -> None:
    run(engine, kernel(".local .b8 mine[524288];"))
    with pytest.raises(LaunchError) as caught:  # one variable alone is refused by its declaration
        run(engine, kernel(".local .b8 mine[300000];\n    .local .b8 more[300000];"))
    assert str(caught.value) == ("local memory: k needs 600,000 bytes per thread, a GPU has at most 524,288")


def test_memory_that_this_machine_does_not_have(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from ptxlab.emulate.runtime import report

    def refused(self: object) -> int:
        raise MemoryError("no room")

    monkeypatch.setattr(report.Launch, "warps", property(refused))
    with pytest.raises(LaunchError) as caught:
        run(engine, kernel(""))
    assert str(caught.value) == "memory: the launch needs more than this machine has: no room"


def test_grids_of_billions_of_blocks(engine: str) -> None:
    """What such a grid cannot do is refused before anything is laid out for each of its blocks."""
    module = parse(kernel(""))

    def launch(**options: Any) -> None:
        execute(
            module, "k", engine=engine, grid=(2**31 - 1,), block=(32,), params=bytes(16), memory=Memory(), **options
        )

    with pytest.raises(DeviceFault) as spent:
        launch(budget=1000)
    assert str(spent.value).startswith(
        "budget: the launch has 2,147,483,647 warps, which run more than its 1,000 warp-instructions\n"
    )
    with pytest.raises(LaunchError) as shuffled:
        launch(seed=1)
    assert str(shuffled.value) == "seed: at most 4,194,304 blocks are shuffled, the grid has 2,147,483,647"
    with pytest.raises(LaunchError) as together:
        launch(cooperative=True)
    assert str(together.value) == (
        "cooperative: all blocks have to be resident at once, and the largest GPU of sm_80 holds 3,456 of these; the "
        "grid has 2,147,483,647\n  write:  pl.launch(kernel, 3456, ...)    # and a loop over the work of "
        "the other blocks"
    )


def test_a_long_block_stops_before_the_next_begins(engine: str) -> None:
    """Blocks that cannot wait for others run one after the other, however long they take."""
    body = """
    setp.eq.u32 %p1, %r2, 1; @%p1 bra STORE;
    mov.u32 %r5, 0;
    LOOP: add.u32 %r5, %r5, 1;
    setp.lt.u32 %p2, %r5, 20000; @%p2 bra LOOP;
    STORE: st.global.u32 [%rd3+4096], %r5;"""
    error, _ = fault(engine, body, blocks=2)
    assert error.block == (0, 0, 0)


@pytest.mark.long
@pytest.mark.skipif("jit" not in ENGINES, reason="needs llvmlite: there is one engine only")
@pytest.mark.parametrize(
    ("first", "count"),
    [
        (0, 1),
        *(pytest.param(*given, marks=pytest.mark.rest) for given in ((1, 2), (3, 3))),
        *slow((first, 3) for first in range(6, 600, 3)),
    ],
)
def test_engines_stop_random_programs_at_the_same_place(first: int, count: int) -> None:
    assert differences(first, count) == []


def test_a_fault_tells_what_was_found_before(engine: str) -> None:
    body = "st.shared.u32 [tile], %r1;\n st.global.u32 [%rd3+512], %r1;"
    text = kernel(body, ".shared .align 4 .u32 tile;")
    stopped = fault_of(engine, text, checks=("memcheck", "racecheck"))
    assert [each.check for each in stopped.findings] == ["memcheck", "racecheck"]
    assert str(stopped).splitlines()[3:5] == [
        "  before: 1 finding",
        "    racecheck: WAW hazard in shared memory: two lanes of one store write different values to the same place; "
        "let one thread write there, or give each its own place",
    ]
