"""128-bit registers on both engines, against Python integers."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import launch, run

from ptxlab.errors import PtxError

LOW = (1 << 64) - 1


def kernel(body: str) -> str:
    """A kernel `k(out, x)`: thread t's 128 bits of x are at [%rd4], those of out at [%rd3]."""
    return f""".version 8.4
.target sm_90
.address_size 64
.global .align 16 .b8 place[64];
.visible .entry k(.param .u64 out, .param .u64 x)
{{
    .reg .b128 %q<6>; .reg .b64 %rd<16>; .reg .b32 %r<16>; .reg .pred %p<4>;
    .local .align 16 .b8 own[32];
    .shared .align 16 .b8 tile[1024];
    ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [x];
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r3, %r2, 32, %r1;
    mad.wide.u32 %rd3, %r3, 16, %rd1;
    mad.wide.u32 %rd4, %r1, 16, %rd2;
    setp.lt.u32 %p1, %r1, 20;
    {body}
    ret;
}}
"""


def numbers(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 1 << 64, (32, 2), np.uint64, endpoint=False)


LOAD = "ld.global.b128 %q1, [%rd4];\n"
STORE = "\nst.global.b128 [%rd3], %q2;"
SHARED = "mov.u32 %r5, tile;\nmad.lo.u32 %r5, %r1, 16, %r5;\n"

MOVES = {
    "register": ("mov.b128 %q2, %q1;", lambda low, high, t: (low, high)),
    "unpacked and packed": (
        "mov.b128 {%rd5, %rd6}, %q1; mov.b128 %q2, {%rd6, %rd5};", lambda low, high, t: (high, low),
    ),
    "words": (
        "mov.b128 {%r5, %r6, %r7, %r8}, %q1; mov.b128 %q2, {%r8, %r7, %r6, %r5};",
        lambda low, high, t: (
            high >> 32 | (high & 0xFFFFFFFF) << 32, low >> 32 | (low & 0xFFFFFFFF) << 32,
        ),
    ),
    "sink": ("mov.b128 {_, %rd6}, %q1; mov.b128 %q2, {%rd6, %rd6};", lambda low, high, t: (high, high)),
    "number": ("mov.b128 %q2, -2;", lambda low, high, t: (LOW - 1, LOW)),
    "guard": (
        "mov.b128 %q2, 7; @%p1 mov.b128 %q2, %q1;", lambda low, high, t: (low, high) if t < 20 else (7, 0),
    ),
    "shared": (
        f"{SHARED} st.shared.b128 [%r5], %q1; bar.sync 0; xor.b32 %r5, %r5, 16; ld.shared.b128 %q2, [%r5];", None,
    ),
    "local": ("st.local.b128 [own+16], %q1; ld.local.b128 %q2, [own+16];", lambda low, high, t: (low, high)),
    "volatile": ("st.volatile.global.b128 [%rd3], %q1; ld.volatile.global.b128 %q2, [%rd3];",
                 lambda low, high, t: (low, high)),
    "ordered": ("st.release.gpu.global.b128 [%rd3], %q1; ld.acquire.gpu.global.b128 %q2, [%rd3];",
                lambda low, high, t: (low, high)),
    "uniform": ("ldu.global.b128 %q2, [%rd4];", lambda low, high, t: (low, high)),
    "mapped": ("st.mmio.relaxed.sys.global.b128 [%rd3], %q1; ld.mmio.relaxed.sys.global.b128 %q2, [%rd3];",
               lambda low, high, t: (low, high)),
    "read only": ("ld.global.nc.L1::no_allocate.b128 %q2, [%rd4];", lambda low, high, t: (low, high)),
}  # fmt: skip


@pytest.mark.sweep(4)
@pytest.mark.parametrize("name", MOVES)
def test_moves(engine: str, name: str) -> None:
    body, expected = MOVES[name]
    x = numbers()
    out = run(engine, kernel(LOAD + body + STORE), x=x, out=np.zeros((32, 2), np.uint64))[0]
    if expected is None:
        assert (out == x.reshape(16, 2, 2)[:, ::-1].reshape(32, 2)).all()
        return
    assert out.tolist() == [list(expected(int(low), int(high), t)) for t, (low, high) in enumerate(x)]


@pytest.mark.parametrize(("vec", "type_"), [("v8", "b32"), ("v8", "f32"), ("v4", "b64"), ("v4", "f64")])
def test_256_bits_at_once(engine: str, vec: str, type_: str) -> None:
    """Elements come back in the opposite order, but for the last, which is not kept."""
    count, held = int(vec[1:]), f"b{type_[1:]}"
    names = [f"%e{k}" for k in range(count)]
    body = f".reg .{held} {', '.join(names)};\nmad.wide.u32 %rd3, %r1, 32, %rd1; mad.wide.u32 %rd4, %r1, 32, %rd2;\n"
    body += f"ld.global.L1::evict_last.L2::evict_last.{vec}.{type_} {{{', '.join(names[:-1])}, _}}, [%rd4];\n"
    body += f"mov.{held} {names[-1]}, {names[0]};\n"
    body += f"@%p1 st.global.L2::evict_first.{vec}.{type_} [%rd3], {{{', '.join(reversed(names))}}};"
    x = np.random.default_rng(0).integers(0, 1 << 30, (32, count)).astype(f"u{32 // count}")
    out = run(engine, kernel(body).replace("8.4", "8.8").replace("sm_90", "sm_100"), x=x, out=np.zeros_like(x))[0]
    want = np.concatenate([x[:, :1], x[:, -2::-1]], axis=1)
    want[20:] = 0
    assert (out == want).all()


@pytest.mark.parametrize("space", ["global", "shared"])
def test_lanes_exchange_in_order(engine: str, space: str) -> None:
    """The first lane finds what was there, every other one what the lane before it has left."""
    at = {"global": "mov.u64 %rd7, place;", "shared": "mov.u32 %r6, tile; cvt.u64.u32 %rd7, %r6;"}[space]
    body = f"{at} mov.b128 %q3, 9; st.{space}.b128 [%rd7], %q3; atom.{space}.relaxed.gpu.exch.b128 %q2, [%rd7], %q1;"
    x = numbers()
    out = run(engine, kernel(LOAD + body + STORE), x=x, out=np.zeros((32, 2), np.uint64))[0]
    assert out.tolist() == [[9, 0], *x[:-1].tolist()]


def test_compare_and_swap_looks_at_all_128_bits(engine: str) -> None:
    """Lane t expects the number t in the upper half and leaves t + 1 there, but for lanes that expect another lower
    half."""
    body = """mov.u64 %rd7, place; cvt.u64.u32 %rd8, %r1; add.u64 %rd9, %rd8, 1; mov.b64 %rd10, 0;
    setp.ge.u32 %p2, %r1, 20; selp.u64 %rd11, 1, 0, %p2;
    mov.b128 %q3, {%rd11, %rd8}; mov.b128 %q4, {%rd10, %rd9};
    atom.global.cas.b128 %q2, [%rd7], %q3, %q4;"""
    out = run(engine, kernel(LOAD + body + STORE), x=numbers(), out=np.zeros((32, 2), np.uint64))[0]
    assert out.tolist() == [[0, min(t, 20)] for t in range(32)]


def test_counting_in_128_bits(engine: str) -> None:
    """Blocks at work together lose no step of a counter whose halves hold the same number: neither warps that have
    converged nor diverged ones, whose code is another."""
    body = """mov.u64 %rd7, place; ld.global.b128 %q3, [%rd7];
AGAIN:
    mov.b128 {%rd8, %rd9}, %q3; add.u64 %rd8, %rd8, 1; add.u64 %rd9, %rd9, 1; mov.b128 %q4, {%rd8, %rd9};
    atom.global.cas.b128 %q2, [%rd7], %q3, %q4; mov.b128 {%rd10, %rd11}, %q2; mov.b128 {%rd12, %rd13}, %q3;
    mov.b128 %q3, %q2; setp.ne.u64 %p2, %rd10, %rd12; setp.ne.or.u64 %p2, %rd11, %rd13, %p2; @%p2 bra AGAIN;"""
    blocks = 8 if engine == "step" else 400
    options = {"workers": 2} if engine == "jit" else {}
    out = run(
        engine,
        kernel(LOAD + body + STORE),
        x=numbers(),
        out=np.zeros((32 * blocks, 2), np.uint64),
        blocks=blocks,
        **options,
    )[0]
    assert (out[:, 0] == out[:, 1]).all()
    assert sorted(out[:, 0].tolist()) == list(range(32 * blocks))


def test_128_bits_are_aligned(engine: str) -> None:
    from ptxlab.errors import DeviceFault

    with pytest.raises(DeviceFault, match="16 bytes"):
        run(engine, kernel("ld.global.b128 %q2, [%rd4+8];" + STORE), x=numbers(), out=np.zeros((32, 2), np.uint64))


def test_narrower_registers_are_refused() -> None:
    with pytest.raises(PtxError) as error:
        launch("step", kernel("ld.global.b128 %rd5, [%rd4];"), numbers(), numbers(), grid=(1,), block=(32,))
    assert error.value.message == "ld.global.b128 takes 128 bits here; %rd5 is .b64"
