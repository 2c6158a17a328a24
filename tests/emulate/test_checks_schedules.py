"""Shuffled schedules: what races changes with the seed and is replayed by it, what is clean does not."""

from __future__ import annotations

import functools
import importlib

import numpy as np
import pytest
from emulate_programs import ENGINES, kernel, run
from planted import BUGS

import ptxlab as pl

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
    dtype = spec.parameters["dtype"].default
    dim = max(16, spec.step)
    built = spec.build(head_dim=dim)
    q, k, v = pl.reference.random_inputs(1, 2, 1, 40, 40, dim, dtype=PRECISION[dtype])
    grid, block, shared = built.launch_shape(1, 2, 1, 40, 40)
    results = set()
    for seed in range(100 if device == "cpu" else 1):
        o, lse = np.zeros_like(q), np.zeros((1, 2, 40), np.float32)
        given = built.arguments(q, k, v, o, lse, 0.25)
        pl.launch(built, grid, block, *given, shared=shared, device=device, seed=seed)
        results.add(o.tobytes() + lse.tobytes())
    assert len(results) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in pl.kernels.names("decode") if name != "decode_reduce"])
def test_seeds_do_not_change_what_decode_gives(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    paged = name == "decode_paged"
    key, value = (rng.standard_normal((8, 16, 2, 32) if paged else (2, 2, 50, 32)).astype(np.float16) for _ in "kv")
    table = np.arange(8, dtype=np.int32).reshape(2, 4) if paged else None
    q = rng.standard_normal((2, 4, 32)).astype(np.float16)
    splits = 3 if name in ("decode_split", "decode_gqa") else None
    module, results = importlib.import_module("ptxlab.attention.decode"), set()
    for seed in range(100):
        monkeypatch.setattr(module, "launch", functools.partial(pl.launch, seed=seed))
        out = pl.decode(q, key, value, [50, 33], table, kernel=name, splits=splits, device="cpu")
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
