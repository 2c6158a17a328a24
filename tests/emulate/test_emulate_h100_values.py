"""What an H100 printed where the emulator gave something else once: both engines give those bits.

The numbers come from the part `conformance` of `python -m benchmarks.gpu`. Sums of f32 in shared memory and at one
address follow the paragraph of the manual that the H100's other sums agree with.
"""

from __future__ import annotations

import numpy as np
import pytest
from conformance import by_lane, register_type
from emulate_programs import WAYS, kernel, launch, run

from ptxlab.isa import form

PRINTED: dict[str, list[tuple[int, ...]]] = {
    "bfe.s64": [(0x32235d89af62a5c5, 0x8000, 0xd6b2c02a, 0x0),
        (0x8000000000000000, 0x8690d617, 0xf, 0xffffffffffffffff), (0x27, 0x0, 0x6e32c102, 0x27),
        (0x3b, 0x8000, 0x1e, 0x0), (0x7f, 0x80000000, 0xb90cba72, 0x0),
        (0x8000000000000000, 0xf93f6ebc, 0x80000000, 0xffffffffffffffff), (0xfffffffe, 0x8a9bda14, 0x21, 0x0),
        (0xffffffff, 0x80000001, 0x8256a0cd, 0x0), (0x7fff, 0x80000000, 0x80, 0x0),
        (0x37758d73423a7d4d, 0xb, 0x8000, 0x6eeb1ae68474f), (0x20, 0x8000, 0x50fe517f, 0x0),
        (0x75eb18971f5a2730, 0xab43df29, 0x29ba3c5, 0x0),
        (0x9611d52ff1ce9d03, 0x7d568504, 0xffffffff, 0xffffffffffffffff),
        (0x8000000000000000, 0x23b1e02d, 0x20, 0xffffffffffffffff)],
    "bfe.u64": [(0x8000000000000000, 0x98de5f26, 0x7f, 0x0), (0x32c7d616674d7b2a, 0x17d51800, 0x171d5fe8, 0x0),
        (0xd, 0x8000, 0xb623ca98, 0x0), (0x54e03202ae693f9, 0x80000000, 0x26, 0x0),
        (0x21, 0x10000, 0x856f14f1, 0x0), (0xb89f0765bbc5fe2a, 0x10, 0x3d378f20, 0xb89f0765bbc5),
        (0x3bc507e95659cf7c, 0x80000001, 0x29, 0x0), (0x40, 0x80000000, 0x8, 0x0),
        (0x63eb4439a36e4814, 0x4169f71f, 0x2c, 0x0), (0x29b31b6efb722d78, 0x8000, 0x7f, 0x0),
        (0x3f, 0x80000001, 0xfffffffe, 0x0), (0x61004047588261f6, 0xd3026937, 0x2af6bcf5, 0x0),
        (0x103b7a0231d7e76b, 0x5b9e880e, 0x1f6ba267, 0x0), (0x20, 0xda89801, 0xfc0885e0, 0x0)],
    "bfi.b64": [(0x80000001, 0x10000, 0x9a1bb41f, 0x2e, 0x10000),
        (0x3f, 0xfd4925a6650dacfb, 0x1, 0xd1e1792c, 0x7f),
        (0x5537a8c7df1cfec0, 0xfffffffe, 0x1f7f4c12, 0x3c609fca, 0xfffffffe),
        (0x7fffffffffffffff, 0x1, 0x0, 0x8000, 0x7fffffffffffffff),
        (0xffffffff, 0xdd8bda79686bf57, 0x80000000, 0x31, 0xdd8bda79686bf57),
        (0xfffffffe, 0x5, 0x869a3814, 0xffff, 0x5), (0x2, 0x10, 0x8000, 0x602da143, 0x10),
        (0x9109ba2fadf7ee14, 0x37, 0x10000, 0x20, 0x37),
        (0x7f, 0xe525815e8c9f0997, 0x8000, 0xffff, 0xe525815e8c9f0997),
        (0x8, 0x1b, 0xd85d712a, 0xc5fad812, 0x1b), (0xefca5c22b04aa41f, 0xd, 0x7af98b1e, 0x3, 0xd),
        (0xffff, 0x7f, 0xe6c6fb01, 0x4305fb53, 0x7f)],
    "cvt.rn.relu.bf16.f32": [(0x80000000, 0x0)],
    "cvt.rn.relu.bf16x2.f32": [(0x80000000, 0x387fda40, 0x3880), (0x3e819ba4, 0x80000000, 0x3e820000)],
    "cvt.rn.relu.f16.f32": [(0x80000000, 0x0)],
    "cvt.rn.relu.f16x2.f32": [(0xa15deb9, 0x80000000, 0x0), (0x5f800000, 0x80000000, 0x7c000000)],
    "cvt.rn.relu.satfinite.bf16.f32": [(0x80000000, 0x0)],
    "cvt.rn.relu.satfinite.bf16x2.f32": [(0x80000000, 0x477fef00, 0x4780), (0x80000000, 0x7f800000, 0x7f7f)],
    "cvt.rn.relu.satfinite.f16.f32": [(0x80000000, 0x0)],
    "cvt.rn.relu.satfinite.f16x2.f32": [(0x88a065c3, 0x80000000, 0x0), (0x80000000, 0x3f06ac82, 0x3835)],
    "cvt.rn.relu.tf32.f32": [(0x7fc00000, 0x7fffe000)],
    "cvt.rn.satfinite.relu.e4m3x2.f16x2": [(0x14198000, 0x100), (0x80007c00, 0x7e)],
    "cvt.rn.satfinite.relu.e4m3x2.f32": [(0x7f7fffff, 0x80000000, 0x7e00), (0x80000000, 0x6ac7696f, 0x7e)],
    "cvt.rn.satfinite.relu.e5m2x2.f16x2": [(0x80007bff, 0x7b), (0x80000000, 0x0)],
    "cvt.rn.satfinite.relu.e5m2x2.f32": [(0x337d6730, 0x80000000, 0x0), (0x3fa5f013, 0x80000000, 0x3d00)],
    "cvt.rna.satfinite.tf32.f32": [(0x7fc00000, 0x7fbfe000)],
    "cvt.rna.tf32.f32": [(0x7fc00000, 0x7fc00000)],
    "cvt.rp.ftz.f16.f32": [(0x116c2, 0x1)],
    "cvt.rp.ftz.sat.f16.f32": [(0x116c2, 0x1)],
    "cvt.rz.relu.bf16.f32": [(0x80000000, 0x0)],
    "cvt.rz.relu.bf16x2.f32": [(0x80000000, 0x43008000, 0x4300), (0x80000000, 0xba459d04, 0x0)],
    "cvt.rz.relu.f16.f32": [(0x80000000, 0x0)],
    "cvt.rz.relu.f16x2.f32": [(0x80000000, 0x4f000000, 0x7bff), (0x3ebf134b, 0x80000000, 0x35f80000)],
    "cvt.rz.relu.satfinite.bf16.f32": [(0x80000000, 0x0)],
    "cvt.rz.relu.satfinite.bf16x2.f32": [(0x80000000, 0x3f8d646a, 0x3f8d), (0x80000000, 0x43008000, 0x4300)],
    "cvt.rz.relu.satfinite.f16.f32": [(0x80000000, 0x0)],
    "cvt.rz.relu.satfinite.f16x2.f32": [(0x80000000, 0x3f349145, 0x39a4), (0x80000000, 0x5f000000, 0x7bff)],
    "cvt.rz.relu.tf32.f32": [(0x7fc00000, 0x7fffe000)],
    "cvt.rz.tf32.f32": [(0x7fc00000, 0x7fffe000)],
    "fma.rn.ftz.relu.f16x2": [(0xfd7dccce, 0x33, 0x7bff8000, 0x7fff0000),
        (0x7bff8000, 0x3e, 0x78008000, 0x78000000)],
    "fma.rn.oob.relu.bf16": [(0x8000, 0x14, 0x8000, 0x0)],
    "fma.rn.oob.relu.bf16x2": [(0x80008000, 0x4f0042ff, 0x7fc08000, 0x7fff0000)],
    "fma.rn.oob.relu.f16x2": [(0x3f, 0x80007c00, 0x80005804, 0x7c00)],
    "fma.rn.relu.bf16x2": [(0xba956cdd, 0x34, 0x80005f00, 0x5f00)],
    "fma.rn.relu.f16x2": [(0x9b22c762, 0x3c00, 0x80003800, 0x0), (0xf, 0xc1008000, 0x80005bfc, 0x5bfc)],
    "fns.b32": [(0x2, 0x21, 0x80000000, 0x0), (0x7fffffff, 0xffffffff, 0x1, 0xffffffff)],
    "testp.normal.f32": [(0x0, 0x1), (0x80000000, 0x1)],
    "testp.normal.f64": [(0x0, 0x1), (0x8000000000000000, 0x1)],
}  # fmt: skip
"""Forms, each with its operands and the result that the H100 printed for them."""


def program(opcode: str, count: int) -> tuple[str, int]:
    """Lane k: the k-th operands from %in, 8 bytes each, the result to %out; and how many operands there are."""
    found = form(opcode)
    result, *given = [register_type(found.operand_type(spec)) for spec in found.op.operands]
    lines = [f".reg .{result} %d;"]
    for k, type_ in enumerate(given):
        lines += [f".reg .{type_} %s{k};", f"ld.global.{type_} %s{k}, [%in+{8 * count * k}];"]
    lines.append(f"{opcode} {', '.join(['%d', *(f'%s{k}' for k in range(len(given)))])};")
    lines += (
        ["selp.b64 %t, 1, 0, %d;", "st.global.b64 [%out], %t;"]
        if result == "pred"
        else [f"st.global.{result} [%out], %d;"]
    )
    text = by_lane("k", "8.1", "sm_90", chr(10).join(lines))
    return text, len(given)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("opcode", PRINTED)
def test_as_the_h100_printed(engine: str, opcode: str) -> None:
    cases = np.array(PRINTED[opcode], np.uint64)
    text, count = program(opcode, len(cases))
    out = np.zeros(len(cases), np.uint64)
    data = np.ascontiguousarray(cases[:, :count].T)
    launch(engine, text, data, out, grid=(1,), block=(len(cases),))
    assert [f"{x:#x}" for x in out.tolist()] == [f"{x:#x}" for x in cases[:, -1].tolist()]


# -- sums of f32 in memory ---------------------------------------------------------------------------------------------

SUMS = [
    (0x000116C2, 0x80000000, 0x00000000),
    (0x0028E3E7, 0x80000000, 0x00000000),
    (0x00800000, 0x80000001, 0x00800000),
    (0x80000001, 0x80000000, 0x80000000),
    (0x80000001, 0x800A9567, 0x80000000),
]
"""Words of global memory, what an H100 added to them, what it left (PTX ISA, atom: subnormal inputs become zeros that
keep their sign)."""
SUMS += [(0x00800001, 0x80800000, 0x00000000), (0x80800003, 0x00800000, 0x80000000), (0x3F800000, 1, 0x3F800000)]
"""And results, by the same paragraph."""
SPACES = {"global": "%rd7", "generic": "%rd7", "shared": "%rd8", "generic to shared": "%rd9"}


def flushed(x: np.ndarray) -> np.ndarray:
    """f32 with zeros in the place of subnormal numbers."""
    return np.where(np.abs(x) < np.float32(2.0**-126), np.copysign(np.float32(0), x), x).astype(np.float32)


def summed(space: str, start: np.ndarray, added: np.ndarray) -> np.ndarray:
    """One f32 and others, one after the other, as they are added in such a space; each sum."""
    change = flushed if "global" in space or space == "generic" else lambda x: x
    out = [np.float32(start)]
    for x in added:
        out.append(change(change(out[-1]) + change(x)))
    return np.array(out, np.float32)


def ways(text: str, x: np.ndarray, **options: int) -> list[list[str]]:
    """What the kernel leaves in x: in all ways, and with two workers."""
    left = []
    for way, workers in (*((way, 1) for way in WAYS), (WAYS[-1], 2)):
        after = x.copy()
        run(way, text, x=after, workers=workers, **options)
        left.append([f"{v:#x}" for v in after.tolist()])
    return left


def places(space: str, words: int) -> str:
    """Copies memory from x to shared memory and back, around `{}`, where a space is that: %rd7 = &x[lane], and %rd8 and
    %rd9 its copy in shared memory, short and generic."""
    there = f"""
        .shared .align 16 .b8 cells[{4 * words}];
        mul.wide.u32 %rd6, %r1, 4; add.u64 %rd7, %rd2, %rd6;
        mov.u64 %rd8, cells; add.u64 %rd8, %rd8, %rd6; cvta.shared.u64 %rd9, %rd8;
        ld.global.b32 %r10, [%rd7]; st.shared.b32 [%rd8], %r10; bar.sync 0;"""
    back = "" if "shared" not in space else "bar.sync 0; ld.shared.b32 %r10, [%rd8]; st.global.b32 [%rd7], %r10;"
    return there + "\n{}\n" + back


@pytest.mark.sweep(3)
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("old", [False, True], ids=["red", "atom"])
def test_a_sum_per_lane(space: str, old: bool) -> None:
    given = np.resize(np.array(SUMS, np.uint32), (32, 3))
    opcode = f"{'atom' if old else 'red'}{'.' + space if space in ('global', 'shared') else ''}.add.f32"
    body = f"""
        ld.global.f32 %f1, [%rd7+128];
        {opcode} {"%f2, " if old else ""}[{SPACES[space]}], %f1;
        {"st.global.f32 [%rd7+128], %f2;" if old else ""}"""
    text = kernel(places(space, 32).replace("{}", body))
    left = ways(text, np.concatenate([given[:, 0], given[:, 1]]))
    want = given[:, 2]
    if "shared" in space:
        want = (given[:, 0].copy().view(np.float32) + given[:, 1].copy().view(np.float32)).view(np.uint32)
    expected = [f"{v:#x}" for v in [*want.tolist(), *given[:, 0 if old else 1].tolist()]]
    assert left == [expected] * len(left)


@pytest.mark.sweep(7)
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("old", [False, True], ids=["red", "atom"])
@pytest.mark.parametrize(("scale", "threads"), [(2.0**-126, 32), (2.0**-126, 7), (2.0**-102, 32), (1.0, 32)])
def test_sums_at_one_address(space: str, old: bool, scale: float, threads: int) -> None:
    """Lanes that all add to one word: in a register, one after the other, where nothing is small without a look."""
    rng = np.random.default_rng(threads)
    added = (rng.standard_normal(32) * scale).astype(np.float32)
    opcode = f"{'atom' if old else 'red'}{'.' + space if space in ('global', 'shared') else ''}.add.f32"
    cell = {"%rd7": "%rd2", "%rd8": "%rd10", "%rd9": "%rd11"}[SPACES[space]]
    body = f"""
        mov.u64 %rd10, cells; cvta.shared.u64 %rd11, %rd10;
        ld.global.f32 %f1, [%rd7+128];
        {opcode} {"%f2, " if old else ""}[{cell}], %f1;
        {"st.global.f32 [%rd7+128], %f2;" if old else ""}"""
    text = kernel(places(space, 32).replace("{}", body))
    start = np.zeros(32, np.float32)
    start[0] = added[3]
    sums = summed(space, start[0], added[:threads])
    after, more = start.copy(), added.copy()
    after[0] = sums[-1]
    if old:
        more[:threads] = sums[:-1]
    left = ways(text, np.concatenate([start, added]).view(np.uint32), threads=threads)
    expected = [f"{v:#x}" for v in np.concatenate([after, more]).view(np.uint32).tolist()]
    assert left == [expected] * len(left)


def test_lanes_in_both_spaces(engine: str) -> None:
    """Generic addresses flush by where they point: of a warp, the odd lanes to shared memory."""
    tiny = np.full(32, 3, np.uint32)
    body = """
        and.b32 %r11, %r1, 1; setp.eq.u32 %p1, %r11, 1; selp.b64 %rd7, %rd9, %rd7, %p1;
        mov.f32 %f1, 0f00000005; red.add.f32 [%rd7], %f1; bar.sync 0;
        @%p1 ld.shared.b32 %r10, [%rd8]; add.u64 %rd7, %rd2, %rd6; @%p1 st.global.b32 [%rd7], %r10;"""
    text = kernel(places("global", 32).replace("{}", body))
    run(engine, text, x=tiny)
    assert tiny.tolist() == [0, 8] * 16


@pytest.mark.parametrize("opcode", ["red.global.add.v2.f32", "atom.add.v4.f32", "red.relaxed.cta.global.add.v2.f32"])
def test_vectors_of_sums(engine: str, opcode: str) -> None:
    size = int(opcode.split(".")[-2][1:])
    x = np.concatenate([np.resize(column, 32 * size) for column in np.array(SUMS, np.uint32).T[:2]])
    names = [f"%f{k}" for k in range(size)]
    body = f"""
        mul.wide.u32 %rd5, %r1, {4 * size}; add.u64 %rd5, %rd2, %rd5;
        {" ".join(f"ld.global.f32 {name}, [%rd5+{128 * size + 4 * k}];" for k, name in enumerate(names))}
        {opcode} {"{%f4, %f5, %f6, %f7}, " if "atom" in opcode else ""}[%rd5], {{{", ".join(names)}}};"""
    run(engine, kernel(body).replace("8.0", "8.1").replace("sm_80", "sm_90"), x=x)
    assert x[: 32 * size].tolist() == np.resize(np.array(SUMS, np.uint32)[:, 2], 32 * size).tolist()
