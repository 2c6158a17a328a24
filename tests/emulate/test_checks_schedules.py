"""Shuffled schedules: what races changes with the seed and is replayed by it, what is clean does not."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from emulate_programs import ENGINES, kernel, run
from planted import BUGS

import ptxlab as pl
from ptxlab.frontends.cuda import include_folders

PRECISION = {"f32": np.float32, "f64": np.float64, "f16": np.float16}

RACY = [
    "shared: another warp's element before a barrier", "shared: 16-byte accesses", "shared: 1-byte accesses",
    "shared: 2-byte accesses", "shared: 8-byte accesses", "shared: a word of all, stored and loaded",
    "shared: through generic addresses", "shared: dynamic memory", "shared: a sum read before all have added",
    "shared: a barrier of other warps", "shared: matrix loaded before all rows are stored",
    "shared: another warp's asynchronous copy", "shared: overwritten while another warp still reads",
    "global: one word stored by two blocks", "global: every block stores the same elements",
]  # fmt: skip

GLOBAL = {
    "another block's element": """
    st.global.u32 [%rd3], %r4;
    add.u32 %r5, %r2, 1; mov.u32 %r6, %nctaid.x; rem.u32 %r5, %r5, %r6;
    mad.lo.u32 %r5, %r5, %r3, %r1; mul.wide.u32 %rd5, %r5, 4; add.u64 %rd6, %rd1, %rd5;
    ld.global.u32 %r7, [%rd6];
    st.global.u32 [%rd3+2048], %r7;
""",
    "the last block stays": """
    mov.u32 %r5, %r2; mul.wide.u32 %rd5, %r1, 16; add.u64 %rd6, %rd1, %rd5;
    st.global.v4.u32 [%rd6], {%r5, %r5, %r5, %r5};
""",
    "a counter read long before it is stored": """
    setp.ne.u32 %p2, %r1, 0; @%p2 bra END;
    ld.global.u32 %r7, [%rd1];
    mov.u32 %r8, 0;
WORK:
    add.u32 %r8, %r8, 1; setp.lt.u32 %p1, %r8, 50; @%p1 bra WORK;
    add.u32 %r7, %r7, 1;
    st.global.u32 [%rd1], %r7;
END:
""",
}
"""Races of blocks; each leaves what depends on their order."""


def left_by(text: str, blocks: int, device: str, seed: int | None, **options: object) -> bytes:
    """What a kernel leaves in memory."""
    out = np.zeros(1024, np.uint32)
    pl.launch(text, blocks, 32, out, np.zeros(64, np.uint32), device=device, seed=seed, **options)  # type: ignore[arg-type]
    return out.tobytes()


@pytest.mark.sweep(6)
@pytest.mark.parametrize("name", RACY)
def test_a_race_depends_on_the_seed_and_is_replayed(name: str, device: str) -> None:
    @functools.cache
    def left(seed: int, repaired: bool) -> bytes:
        return BUGS[name].run(device, repaired, ("memcheck",), seed=seed)[1].tobytes()

    first = [left(seed, False) for seed in range(12)]
    left.cache_clear()
    assert [left(seed, False) for seed in range(12)] == first
    assert len(set(first)) > 1
    assert len({left(seed, True) for seed in range(12)}) == 1


@pytest.mark.parametrize("name", GLOBAL)
def test_a_race_of_blocks_depends_on_the_seed(name: str, device: str) -> None:
    text = kernel(GLOBAL[name])
    first = [left_by(text, 6, device, seed) for seed in range(12)]
    assert [left_by(text, 6, device, seed) for seed in range(12)] == first
    assert len(set(first)) > 1
    found = pl.launch(
        text, 6, 32, np.zeros(1024, np.uint32), np.zeros(64, np.uint32), device=device, checks=("racecheck",)
    ).findings
    assert {f.check for f in found} == {"racecheck"}
    assert all(f.second is not None and f.first is not None and f.second.block != f.first.block for f in found)


@pytest.mark.long
@pytest.mark.sweep(8)
@pytest.mark.parametrize("name", pl.kernels.names("prefill"))
def test_seeds_do_not_change_what_clean_kernels_give(device: str, name: str) -> None:
    spec = pl.kernels.get(name)
    dtype, dim = spec.parameters["dtype"].default, max(16, spec.step)
    q, k, v = pl.reference.random_inputs(1, 2, 1, 40, 40, dim, dtype=PRECISION[dtype])
    results = set()
    for seed in range(100 if device == "cpu" else 1):
        out = pl.attention(q, k, v, kernel=name, scale=0.25, device=device, seed=seed)
        results.add(out.o.tobytes() + out.lse.tobytes())
    assert len(results) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in pl.kernels.names("decode") if name != "decode_reduce"])
def test_seeds_do_not_change_what_decode_gives(name: str) -> None:
    rng = np.random.default_rng(0)
    paged = name == "decode_paged"
    key, value = (rng.standard_normal((8, 16, 2, 32) if paged else (2, 2, 50, 32)).astype(np.float16) for _ in "kv")
    table = np.arange(8, dtype=np.int32).reshape(2, 4) if paged else None
    q = rng.standard_normal((2, 4, 32)).astype(np.float16)
    splits = 3 if name in ("decode_split", "decode_gqa") else None
    results = set()
    for seed in range(100):
        out = pl.decode(q, key, value, [50, 33], table, kernel=name, splits=splits, device="cpu", seed=seed)
        results.add(out.o.tobytes() + out.lse.tobytes())
    assert len(results) == 1


# -- the order of blocks -----------------------------------------------------------------------------------------------

FUNCTION = """.func flag(.param .b64 at)
{
    .reg .b32 %r<2>; .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [at];
    atom.global.add.u32 %r1, [%rd1], 1;
    ret;
}
"""
ONCE = {
    "in no loop": "ld.volatile.global.u32 %r5, [%rd1]; atom.global.add.u32 %r5, [%rd1], 1; bar.sync 0;",
    "behind a loop": """
        mov.u32 %r5, 0;
        ROUND: add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 3; @%p1 bra ROUND;
        atom.global.add.u32 %r6, [%rd1], 1;""",
    "in a function": "call flag, (%rd1);",
}  # fmt: skip
"""Where a thread reads what others change, and cannot wait for it, since it does so once."""
ADDS = "ld.shared.u32 %r11, [%r10]; add.u32 %r12, %r12, %r11;"
RACE = f"mov.u32 %r10, tile; bar.sync 0; st.shared.u32 [%r10], %r1; {20 * ADDS} st.global.u32 [%rd3+1024], %r12;"


@pytest.mark.parametrize("what", ONCE)
def test_only_what_is_repeated_polls(what: str) -> None:
    """A warp that polls leaves others their time slices earlier, by a measure of each engine's own. All others have
    slices of one length, and races end alike in both engines."""
    text, out = kernel(ONCE[what] + RACE, ".shared .align 16 .b8 tile[64];" + FUNCTION), np.zeros(1024, np.uint32)
    given = [run(engine, text, threads=96, blocks=2, out=out)[0].tolist() for engine in ENGINES]
    assert given[1:] == given[:-1]


LOOK_BACK = """
    setp.eq.u32 %p1, %r2, 0; mul.wide.u32 %rd5, %r2, 4; add.u64 %rd6, %rd1, %rd5;
    setp.ne.u32 %p2, %r1, 0; mov.u32 %r7, 0; @%p2 bra END;
    @%p1 bra DONE;
WAIT:
    ld.acquire.gpu.global.u32 %r7, [%rd6+-4];
    setp.eq.u32 %p3, %r7, 0; @%p3 bra WAIT;
DONE:
    add.u32 %r7, %r7, 1;
    st.release.gpu.global.u32 [%rd6], %r7;
END:
"""
TOGETHER = """
    setp.ne.u32 %p1, %r1, 0; mov.u32 %r6, %nctaid.x; @%p1 bra END;
    atom.add.acq_rel.gpu.global.u32 %r7, [%rd1], 1;
WAIT:
    ld.acquire.gpu.global.u32 %r8, [%rd1];
    setp.lt.u32 %p3, %r8, %r6; @%p3 bra WAIT;
END:
"""


@pytest.mark.long
@pytest.mark.parametrize("seeds", [(None, 0), pytest.param((1, 2), marks=pytest.mark.rest)], ids=["first", "more"])
def test_blocks_that_wait_for_each_other_go_on_in_any_order(device: str, seeds: tuple[int | None, ...]) -> None:
    for seed in seeds:
        chain = np.frombuffer(left_by(kernel(LOOK_BACK), 100, device, seed, budget=20_000_000), np.uint32)
        assert chain[:100].tolist() == list(range(1, 101)), seed
        met = np.frombuffer(left_by(kernel(TOGETHER), 40, device, seed, budget=20_000_000, cooperative=True), np.uint32)
        assert met[0] == 40, seed


def test_blocks_of_a_cooperative_launch_poll_little_before_all_are_resident(device: str) -> None:
    met = np.frombuffer(left_by(kernel(TOGETHER), 40, device, None, budget=200_000, cooperative=True), np.uint32)
    assert met[0] == 40


ONE = "setp.ne.u32 %p1, %r1, 0; mov.u32 %r6, %nctaid.x; @%p1 bra END;"
COMES = "atom.add.acq_rel.gpu.global.u32 %r7, [%rd1], 1;"
GRID = {
    "a counter of all blocks": (ONE, COMES, "ld.acquire.gpu.global.u32 %r8, [%rd1];"),
    "a volatile one": (ONE, COMES, "ld.volatile.global.u32 %r8, [%rd1];"),
    "through a generic address": (ONE, COMES, "ld.relaxed.gpu.u32 %r8, [%rd1];"),
    "by adding nothing": (ONE, COMES, "atom.add.global.u32 %r8, [%rd1], 0;"),
    "by an exchange that changes nothing": (ONE, COMES, "atom.cas.global.b32 %r8, [%rd1], 5, 5;"),
    "that sleeps longer each time": (
        ONE, COMES + "mov.u32 %r9, 8;",
        "nanosleep.u32 %r9; shl.b32 %r9, %r9, 1; ld.acquire.gpu.global.u32 %r8, [%rd1];"),
    "by a whole warp": (
        "mov.u32 %r6, %nctaid.x; setp.eq.u32 %p2, %r1, 0;", "@%p2 " + COMES,
        "ld.acquire.gpu.global.u32 %r8, [%rd1]; bar.warp.sync -1;"),
    "by lanes in turn": (
        "mov.u32 %r6, %nctaid.x; setp.eq.u32 %p2, %r1, 0; setp.gt.u32 %p1, %r1, 3;", "@%p2 " + COMES + "@%p1 bra END;",
        "ld.acquire.gpu.global.u32 %r8, [%rd1];"),
}  # fmt: skip
"""Barriers of the whole grid: who waits, what it does before, how it looks."""
LATER = """
    mul.wide.u32 %rd5, %r2, 4; add.u64 %rd6, %rd1, %rd5; mov.u32 %r9, 0; mov.u32 %r6, %nctaid.x; sub.u32 %r6, %r6, 1;
    st.release.gpu.global.u32 [%rd6], 1; setp.eq.u32 %p1, %r2, %r6; @%p1 bra END;
WAIT:
    ld.acquire.gpu.global.u32 %r8, [%rd6+4]; setp.ne.u32 %p3, %r8, 0; @%p3 bra END;
    add.u32 %r9, %r9, 1; setp.lt.u32 %p2, %r9, 3000; @%p2 bra WAIT;
END:
"""
SMALL = {"shared": 160 << 10, "arch": "sm_87"}
"""Launches of which 16 blocks are resident: one for each multiprocessor of the largest GPU."""


@pytest.mark.parametrize("name", GRID)
def test_blocks_wait_for_blocks_that_have_not_begun(name: str, device: str) -> None:
    who, before, looks = GRID[name]
    text = kernel(f"{who} {before}\nWAIT: {looks} setp.lt.u32 %p3, %r8, %r6; @%p3 bra WAIT;\nEND:")
    met = np.frombuffer(left_by(text, 16, device, None, **SMALL), np.uint32)
    assert met[0] == 16
    with pytest.raises(pl.DeviceFault) as stuck:
        left_by(text, 18, device, None, budget=400_000, **SMALL)
    message, at, line, hint = str(stuck.value).split("\n")
    assert message == (
        "deadlock: blocks 0-15 wait for blocks that have not begun; 16 are resident, as many as the largest GPU of "
        "sm_87 holds"
    )
    assert at == "  at:     block (0, 0, 0), thread (0, 0, 0)"
    assert "[%rd1]" in line
    assert hint == "  hint:   launch at most 16 blocks, with cooperative=True"
    with pytest.raises(pl.LaunchError, match="the largest GPU of sm_87 holds 16 of these; the grid has 18"):
        left_by(text, 18, device, None, cooperative=True, **SMALL)


@pytest.mark.parametrize("body", [LOOK_BACK, LATER], ids=["for those before", "and give up in time"])
def test_blocks_that_wait_otherwise_go_on(body: str, device: str) -> None:
    left_by(kernel(body), 40, device, None, budget=4_000_000, **SMALL)


def test_registers_count_for_a_cooperative_grid(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    class Assembled:
        registers = 128

        def kernel(self, name: str) -> Assembled:
            return self

    monkeypatch.setattr(pl.gpu, "assemble", lambda *given: Assembled())
    text = kernel(TOGETHER)
    with pytest.raises(pl.LaunchError, match="the largest GPU of sm_80 holds 1,728 of these; the grid has 2,000"):
        left_by(text, 2000, device, None, cooperative=True)


# -- the second order of checked launches ------------------------------------------------------------------------------

TICKETS = """
    mov.u32 %r20, tile; shl.b32 %r5, %r1, 2; add.u32 %r10, %r20, %r5; and.b32 %r21, %r1, 31; setp.lt.u32 %p4, %r21, 16;
    setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p3, %r21, 0;
    @%p1 st.shared.u32 [%r20+1024], 0;
    bar.sync 1, 128;
    st.shared.u32 [%r10+2048], %r1;
    mov.u32 %r7, 0; @%p3 atom.shared.add.u32 %r7, [%r20+1024], 1;
    shfl.sync.idx.b32 %r7, %r7, 0, 31, -1;
    shr.u32 %r8, %r1, 5; setp.eq.u32 %p6, %r7, 1; setp.eq.and.u32 %p6, %r8, 2, %p6;
    @!%p6 bra DONE;
    WHAT
DONE:
    bar.sync 2, 128;
    st.global.u32 [%rd3], %r7;
"""
"""The third warp does what it does as the second one: in the order of numbers it is the third."""
SECOND = {
    "racecheck": ("ld.shared.u32 %r9, [%r20+2048];", "ld.shared.u32 %r9, [%r10+2048];"),
    "initcheck": (
        "ld.shared.u32 %r9, [%r20+3000]; setp.eq.u32 %p9, %r9, 7; @%p9 st.global.u32 [%rd3], %r9;",
        "ld.shared.u32 %r9, [%r10+2048]; st.global.u32 [%rd3], %r9;",
    ),
    "synccheck": ("bar.warp.sync 0xFFFF;", "bar.warp.sync -1;"),
    "synccheck, exchange": ("@%p4 shfl.sync.idx.b32 %r9, %r1, 0, 31, -1;", "shfl.sync.idx.b32 %r9, %r1, 0, 31, -1;"),
    "synccheck, deadlock": ("bar.sync 3, 128;", "bar.sync 3, 32;"),
    "synccheck, divergent": ("@%p4 bar.sync 3, 32;", "bar.sync 3, 32;"),
    "memcheck": ("ld.global.u32 %r9, [%rd1+1048576];", "ld.global.u32 %r9, [%rd1];"),
}


@pytest.mark.parametrize("name", SECOND)
def test_a_second_order_finds_what_the_first_hides(name: str, device: str) -> None:
    def launched(text: str, **options: object) -> tuple[list[pl.Finding], bytes, object]:
        out = pl.to_device(np.zeros(1024, np.uint32), device=device)
        run = pl.launch(text, 1, 128, out, np.zeros(64, "u4"), device=device, counters=True, **options)  # type: ignore[arg-type]
        return run.findings, out.copy_to_host().tobytes(), run.counters and run.counters.warp_instructions

    wrong, right = (kernel(TICKETS.replace("WHAT", what), ".shared .align 16 .b8 tile[4096];") for what in SECOND[name])
    plain, checked = launched(wrong), launched(wrong, checks="all")
    assert checked[1:] == plain[1:]
    assert {finding.check for finding in checked[0]} >= {name.partition(",")[0]}
    assert all(finding.seed == 0 for finding in checked[0])
    assert "  order:  seen in another order of the warps only: pl.launch(..., seed=0)" in str(checked[0][0])
    assert launched(right, checks="all")[0] == launched(right, checks="all", seed=0)[0] == []
    try:
        alone = launched(wrong, checks="all", seed=0)[0]
    except pl.DeviceFault as fault:
        alone = list(fault.findings)
    assert {(f.check, f.kind) for f in alone} == {(f.check, f.kind) for f in checked[0]}


@pytest.mark.skipif(not include_folders(), reason="needs CUDA's headers: pip install 'ptxlab[cuda]'")
def test_the_second_order_leaves_nothing_behind(device: str) -> None:
    """Heap, variables of the module and what is printed are those of the first run."""
    source = """#include <cstdio>
    __device__ int times = 0;
    extern "C" __global__ void k(int *out) {
        asm volatile("bar.sync 1, 64;");
        if (threadIdx.x != 0) return;
        printf("%d\\n", ++times); int *p = (int *)malloc(16); *p = times; out[0] = *p; free(p);
    }"""
    made, out = pl.cuda(source, entry="k"), np.zeros(1, np.int32)
    for turn in (1, 2):
        run = pl.launch(made, 1, 64, out, device=device, checks="all")
        assert (run.printed, out.tolist(), int(made["times"]), run.findings) == (f"{turn}\n", [turn], turn, [])


@pytest.mark.skipif(not include_folders(), reason="needs CUDA's headers: pip install 'ptxlab[cuda]'")
@pytest.mark.long
def test_a_grid_is_valid_in_a_cooperative_launch_only(device: str) -> None:
    made = pl.cuda(
        "#include <cooperative_groups.h>\n"
        'extern "C" __global__ void k(int *out, int sure) { auto grid = cooperative_groups::this_grid();\n'
        "    if (sure || grid.is_valid()) grid.sync(); out[blockIdx.x] = grid.is_valid() ? 1 : 2; }",
        entry="k",
    )
    for cooperative in (False, True):
        out = np.zeros(3, np.int32)
        pl.launch(made, 3, 32, out, 0, device=device, cooperative=cooperative)
        assert out.tolist() == [2 - cooperative] * 3
    with pytest.raises(pl.DeviceFault, match=r"hint: +a barrier of the whole grid .* needs coop"):
        pl.launch(made, 3, 32, out, 1, device=device)
