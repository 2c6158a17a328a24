"""Roles, pipelines and tensor maps: what they emit, and their traps, whole messages."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import pytest

from ptxlab import builder
from ptxlab.builder import Builder, TensorMap, b32, kernel, u32
from ptxlab.errors import BuildError


def built(write: Callable[[Builder, Any], None]) -> str:
    """The PTX of a kernel with a tensor map, without blanks at the ends and runs of them."""

    @kernel(arch="sm_90a")
    def f(k: Builder, x: TensorMap) -> None:
        write(k, x)

    return "\n".join(" ".join(line.split("//")[0].split()) for line in f().ptx.splitlines())


def both(k: Builder, x: TensorMap) -> None:
    k.launch_bounds(384)
    x.box(32, 32, swizzle=64)
    tile = k.dynamic_shared(b32, align=1024)
    ring = k.pipeline(stages=2, arrivals=128)
    k.barrier()
    with k.warpgroup(0, registers=40), k.if_(k.tid.x == 0):
        turn = ring.producer()
        with k.loop(k.mov(5, u32)) as n:
            turn.wait()
            turn.expect(2048)
            x.load(tile + turn.stage * 512, turn.full, n * 32, 0)
            turn.next()
    with k.warpgroup(1, registers=232):
        turn = ring.consumer()
        with k.loop(k.mov(5, u32)):
            turn.wait()
            turn.release()
            turn.next()


def test_what_a_pipeline_emits() -> None:
    text = built(both)
    for line in (
        ".param .align 64 .b8 x[128]",
        ".shared .align 8 .b64 ring_full[2];",
        ".shared .align 8 .b64 ring_empty[2];",
        "fence.mbarrier_init.release.cluster;",
        "setmaxnreg.dec.sync.aligned.u32 40;",
        "setmaxnreg.inc.sync.aligned.u32 232;",
        "cvta.param.u64 %x, %rd1;",
    ):
        assert line in text, line
    assert text.count("mbarrier.init.shared::cta.b64") == 4
    assert text.count("mbarrier.try_wait.parity.shared::cta.b64") == 2
    assert "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes" in text
    assert text.count("xor.b32 %phase") == 2  # each of the two roles flips its own


CONSUMER = "turn = k.pipeline(2, arrivals=1).consumer()\nk.barrier()"
TRAPS = [
    # what a kernel does, what is said of it, what to write
    (f"{CONSUMER}\nturn.wait()\nturn.release()\nturn.wait()",
     "this turn has waited already, on line 3; that phase is over, and a second wait for it passes at once",
     "turn.next()\nturn.wait()"),
    (f"{CONSUMER}\nwith k.loop(k.mov(3, u32)):\n    turn.wait()\n    turn.release()",
     "this wait is in a loop that does not go on to the next stage: from the second round on it names a phase that is "
     "over, and passes at once", "turn.next()"),
    ("k.pipeline(2, arrivals=1).consumer().wait()",
     "one thread initialises the mbarriers, and there is no barrier between that and this wait", "k.barrier()"),
    ("x.box(64)\nturn = k.pipeline(2, arrivals=1).producer()\nk.barrier()\nturn.wait()\n"
     "x.load(k.dynamic_shared(b32), turn.full, 0)\nturn.next()",
     "no bytes were announced for this stage: its phase never ends, and its consumers wait for ever",
     "turn.expect(nbytes)"),
    (f"{CONSUMER}\nturn.wait()\nturn.next()", "this stage was not released: its producer waits for ever",
     "turn.release()"),
    ("k.pipeline(2, arrivals=1).consumer().release()", "this turn releases a stage that it has not waited for",
     "turn.wait()"),
    ("with k.warpgroup(1):\n    k.barrier()",
     "this barrier waits for all threads of the block, and only some of its warpgroups reach it", "k.barrier(1, 128)"),
    ("k.launch_bounds(384)\nfor n in range(3):\n    with k.warpgroup(n, registers=240): pass",
     "the roles ask for 92160 registers; a multiprocessor has 65536, so the last one to ask waits for ever", ""),
    ("k.launch_bounds(256)\nk.warpgroup(2)", "a block of 256 threads has no warpgroup 2", ""),
    ("x.store(k.dynamic_shared(b32), 0, 0)", "the shape of a tile of x is missing", "x.box(64, 64, swizzle=128)"),
    ("x.box(8, 8)\nx.store(k.dynamic_shared(b32), 0)", "the box of x has 2 dimensions, the place has 1", ""),
    ("x.box(64)\ntile = k.dynamic_shared(f32)\ntile[k.tid.x] = 1.0\nk.barrier()\nx.store(tile, 0)",
     "threads have stored to shared memory, and this copy reads it by another path, the async proxy; there is "
     "no fence between", 'k.op("fence.proxy.async.shared::cta")  # by the threads that stored, before the barrier'),
    ("k.pipeline(2).producer().wait()", "nobody releases a stage of this pipeline",
     "k.pipeline(stages, arrivals=...)"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "says", "write"), TRAPS)
def test_traps(code: str, says: str, write: str) -> None:
    names = vars(builder)
    linecache.cache["trap.py"] = (len(code), None, code.splitlines(keepends=True), "trap.py")
    with pytest.raises(BuildError) as raised:
        built(lambda k, x: exec(compile(code, "trap.py", "exec"), {**names, "k": k, "x": x}))
    first, *others = str(raised.value).splitlines()
    lines = [line[10:] for line in others if line.startswith(("  write:", "          "))]
    assert (first.split(": ", 1)[1], "\n".join(lines)) == (says, write)
