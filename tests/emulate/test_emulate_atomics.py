"""Every form of atom and red on both engines: the old values, what is left in memory, in lane order."""

from __future__ import annotations

import numpy as np
import pytest
from conformance import canonical, combinations, register_type, values
from emulate_programs import ENGINES, agreed, ended, kernel, launch

from ptxlab.isa import form, types
from ptxlab.isa.table import Form, all_ops

FORMS = [
    opcode
    for entry in all_ops()
    if entry.name in ("atom", "red") and entry.sem is not None
    for opcode in combinations(entry, 0)
    if form(opcode).space in (None, "global", "shared") and "b128" not in opcode and "L2::cache_hint" not in opcode
]


def text(found: Form) -> str:
    """A kernel of four warps: the first contends for four addresses, one vector each, the lanes of the second for one;
    those of the third have neighbours, in their order, those of the fourth too, but turned by one. Shared memory is
    filled from global memory before, and copied back. Only the first block does anything."""
    count = int(found.vec[1:]) if found.vec else 1
    size = count * types.width(found.type) // 8
    held = register_type(found.type)
    lines, operands = [], []
    for name in ("b", "c") if found.operation == "cas" else ("b",):
        registers = [f"%{name}{k}" for k in range(count)]
        lines.append(f".reg .{held} {', '.join(registers)};")
        for k, register in enumerate(registers):
            row = k + (count if name == "c" else 0)
            lines.append(f"ld.global.{held} {register}, [%in+{256 * row}];")
        operands.append(f"{{{', '.join(registers)}}}" if found.vec else registers[0])
    old = [f"%d{k}" for k in range(count)]
    lines.append(f".reg .{held} {', '.join(old)};")
    dest = f"{{{', '.join(old)}}}, " if found.vec else f"{old[0]}, "
    lines.append(f"{found.opcode} {dest if found.op.name == 'atom' else ''}[%at], {', '.join(operands)};")
    if found.op.name == "atom":
        lines += [f"st.global.{held} [%out+{1024 * k}], {register};" for k, register in enumerate(old)]
    if found.space == "shared":
        lines = [
            ".reg .pred %mover;", ".reg .b64 %from, %to, %s;", ".reg .b32 %word;", ".shared .align 16 .b8 s[512];",
            f"setp.lt.u32 %mover, %thread, {8 * size};", "mov.u64 %s, s;", "mul.wide.u32 %to, %thread, 4;",
            "add.u64 %from, %at, %to;", "add.u64 %to, %s, %to;",
            "@%mover ld.global.b32 %word, [%from];", "@%mover st.shared.b32 [%to], %word;", "bar.sync 0;",
            f"mad.wide.u32 %at, %slot, {size}, %s;", *lines, "bar.sync 0;",
            "@%mover ld.shared.b32 %word, [%to];", "@%mover st.global.b32 [%from], %word;",
        ]  # fmt: skip
    else:
        lines.insert(0, f"mad.wide.u32 %at, %slot, {size}, %at;")
    body = "\n    ".join(lines)
    return f""".version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 memory, .param .u64 out)
{{
    .reg .b64 %in, %at, %out; .reg .b32 %thread, %lane, %slot, %few; .reg .pred %other, %first, %last;
    mov.u32 %slot, %ctaid.x;
    setp.ne.u32 %other, %slot, 0; @%other exit;
    ld.param.u64 %in, [in]; ld.param.u64 %at, [memory]; ld.param.u64 %out, [out];
    mov.u32 %thread, %tid.x; and.b32 %lane, %thread, 31;
    setp.lt.u32 %first, %thread, 32;
    setp.lt.u32 %last, %thread, 64; selp.b32 %few, 0, 31, %last; selp.b32 %few, 3, %few, %first;
    setp.gt.u32 %last, %thread, 95; selp.b32 %slot, 1, 0, %last; add.u32 %slot, %slot, %lane;
    and.b32 %slot, %slot, %few;
    mad.wide.u32 %in, %lane, 8, %in;
    mad.wide.u32 %out, %thread, 8, %out;
    {body}
    ret;
}}
"""


@pytest.mark.sweep(25)
@pytest.mark.skipif(len(ENGINES) < 2, reason="needs llvmlite: one engine alone has nothing to be compared with")
@pytest.mark.parametrize("opcode", FORMS)
def test_engines_agree(opcode: str) -> None:
    found, rng = form(opcode), np.random.default_rng(7)
    count = int(found.vec[1:]) if found.vec else 1
    width = types.width(found.type)
    data = np.stack([values(found.type, rng) for _ in range(2 * count)])
    start = values(found.type, rng)[: 4 * count]
    start = np.resize(start, 32 * count).astype(np.dtype(f"u{width // 8}"))
    if found.operation == "cas":
        data[:count, ::3] = start[0]  # some of them succeed
    ran = {}
    for engine, blocks in (("step", 1), ("jit", 1), ("jit", 2)):  # with one worker, and with locks between two
        memory, out = start.copy(), np.zeros((count, 128), np.uint64)
        launch(engine, text(found), data.copy(), memory, out, grid=(blocks,), block=(128,), workers=blocks)
        ran[engine, blocks] = memory, out
    for blocks in (1, 2):
        for a, b in zip(ran["step", 1], ran["jit", blocks], strict=True):
            assert (canonical(a, found.type) == canonical(b, found.type)).all(), (blocks, a, b)
    if found.operation != "cas":
        assert (ran["jit", 1][0] != start).any()


SUMS = [(op, kind) for kind in ("u32", "s32", "u64", "s64") for op in ("add", "min", "max")]
SUMS = [(op, kind) for op, kind in SUMS if (op, kind) != ("add", "s64")]
SUMS += [(op, kind) for kind in ("b32", "b64") for op in ("and", "or", "xor")]
needs_both = pytest.mark.skipif("jit" not in ENGINES, reason="needs llvmlite")


def changes_alike(text: str, start: np.ndarray) -> None:
    """The kernel changes x, and to the same in all ways, and with two workers."""
    found = agreed(text, threads=77, blocks=5, x=start)
    assert found.x == ended("optimized", text, threads=77, blocks=5, x=start, workers=2).x != start.tolist()


BINS = ".shared .align 8 .b8 bins[144];"
HISTOGRAM = """
    .reg .{kind} %value;
    mov.u32 %r15, bins; mov.u32 %r10, 0; setp.lt.u32 %p1, %r1, 16;
    mul.lo.u32 %r11, %r1, {size}; cvt.u64.u32 %rd5, %r11; add.u64 %rd5, %rd2, %rd5; add.u32 %r11, %r11, %r15;
    @%p1 ld.global.{bits} {word}, [%rd5+{first}]; @%p1 st.shared.{bits} [%r11], {word};
    bar.sync 0;
AGAIN:
    mad.lo.u32 %r12, %r4, 0x9e3779b1, %r10; shr.u32 %r13, %r12, 28;
    and.b32 %r14, %r10, 3; setp.eq.u32 %p2, %r14, 1; selp.u32 %r13, 3, %r13, %p2;
    cvt.u64.u32 %rd6, %r12; mul.lo.u64 %rd6, %rd6, 0x9e3779b97f4a7c15; mov.{bits} %value, {value};
    mad.lo.u32 %r16, %r13, {size}, %r15; mad.wide.u32 %rd7, %r13, {size}, %rd2;
    red.{space}.{op}.{kind} [{at}+{size}], %value;
    add.u32 %r10, %r10, 1; setp.lt.u32 %p1, %r10, 6; @%p1 bra AGAIN;
    bar.sync 0;
    setp.lt.u32 %p1, %r1, 16; @%p1 ld.shared.{bits} {word}, [%r11]; @%p1 red.global.{op}.{kind} [%rd5+256], {word};
"""
"""Each lane adds to one of 16 places, in every fourth round all to the same."""


def histogram(op: str, kind: str, space: str, value: str, first: int) -> str:
    """The kernel. first: where in `x` the places' first values lie."""
    wide, at = kind[1:] == "64", "%rd7" if space == "global" else "%r16"
    given = {"size": 8, "bits": "b64", "word": "%rd8"} if wide else {"size": 4, "bits": "b32", "word": "%r17"}
    value = value or ("%rd6" if wide else "%r12")
    return kernel(HISTOGRAM.format(op=op, kind=kind, space=space, at=at, value=value, first=first, **given), BINS)


PLACES = np.arange(96, dtype=np.uint64) * 0x9E3779B97F4A7C15


@needs_both
@pytest.mark.long
@pytest.mark.sweep(21)
@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("value", ["", "5"], ids=["values of their own", "one value"])
@pytest.mark.parametrize(("op", "kind"), SUMS)
def test_a_histogram(op: str, kind: str, value: str, space: str) -> None:
    changes_alike(histogram(op, kind, space, value, first=512), PLACES)  # no block changes those


@needs_both
@pytest.mark.sweep(3)
@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("watched", ["counters", "initcheck", "racecheck"])
def test_a_histogram_that_is_watched(space: str, watched: str) -> None:
    """One place in shared memory has never been written, and a block reads what another one adds to."""
    options = {"counters": True} if watched == "counters" else {"checks": ("memcheck", watched)}
    found = agreed(histogram("add", "u32", space, "", first=0), threads=77, blocks=5, x=PLACES, **options)
    assert bool(found.findings) == ((watched, space) in (("initcheck", "shared"), ("racecheck", "global")))


@needs_both
@pytest.mark.parametrize("wrong", [2, 4 * 65, -4 * 32, 1 << 33])
def test_a_row_that_leaves_its_array(wrong: int) -> None:
    found = agreed(
        kernel(f"""
        mad.wide.u32 %rd7, %r1, 4, %rd2; red.global.add.u32 [%rd7], 1;
        setp.eq.u32 %p1, %r2, 3; selp.b64 %rd8, {wrong}, 0, %p1; add.u64 %rd7, %rd7, %rd8;
        red.global.add.u32 [%rd7], 1;"""),
        threads=64,
        blocks=5,
        x=np.zeros(96, np.uint32),
    )
    assert "block (3, 0, 0)" in found.fault


@needs_both
@pytest.mark.sweep(3)
@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("wrong", [2, 4096, -4096])
def test_one_lane_of_a_histogram_at_a_wrong_address(space: str, wrong: int) -> None:
    text = kernel(
        f"""
        mov.u32 %r10, bins; and.b32 %r11, %r1, 7; shl.b32 %r11, %r11, 2; add.u32 %r12, %r10, %r11;
        st.shared.u32 [%r12], 0; bar.sync 0;
        setp.eq.u32 %p1, %r4, 150; @%p1 add.u32 %r11, %r11, {wrong};
        add.u32 %r12, %r10, %r11; cvt.s64.s32 %rd5, %r11; add.s64 %rd5, %rd5, %rd2;
        red.{space}.add.u32 [{"%rd5" if space == "global" else "%r12"}], %r1;""",
        BINS.replace("144", "32"),
    )
    assert "thread (54, 0, 0)" in agreed(text, threads=96, blocks=4, x=np.zeros(8, np.uint32)).fault


@needs_both
@pytest.mark.sweep(3)
@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize(("kind", "start"), [
    ("f32", 0x7FA00001), ("f32", 0xFFC12345), ("f32", 0x7F800000), ("f32", 0x3F800000),
    ("f64", 0x7FF4000000000001), ("f64", 0xFFF8000012345678), ("f64", 0xFFF0000000000000),
])  # fmt: skip
@pytest.mark.parametrize("value", ["one", "infinite", "nan"])
def test_a_sum_of_floats_whose_old_values_nobody_reads(space: str, kind: str, start: int, value: str) -> None:
    """The NaN that it leaves is the canonical one, whichever has gone in: the same bits in all ways."""
    wide = kind == "f64"
    register, word, size = ("%fd1", "%rd11", 8) if wide else ("%f1", "%r11", 4)
    special = {"one": "3F", "infinite": "FF", "nan": "7F"}[value]
    bits = f"0d{special}F0000000000000" if wide else f"0f{special}800000"
    if value == "nan":
        bits = "0dFFF4000000000123" if wide else "0fFFA00123"
    at = "%rd2" if space == "global" else "%rd10"
    back = f"ld.shared.b{8 * size} {word}, [%rd10]; st.global.b{8 * size} [%rd2], {word};"
    body = f"""
        mov.u64 %rd10, cell; ld.global.b{8 * size} {word}, [%rd2]; st.shared.b{8 * size} [%rd10], {word};
        cvt.rn.{kind}.u32 {register}, %r1; setp.eq.u32 %p1, %r1, 11; selp.{kind} {register}, {bits}, {register}, %p1;
        bar.warp.sync 0xffffffff;
        and.b32 %r6, %r1, 1; setp.eq.u32 %p2, %r6, 1; @%p2 red.{space}.add.{kind} [{at}], {register};
        bar.warp.sync 0xffffffff; {"" if space == "global" else back}"""
    (left,) = agreed(kernel(body, ".shared .align 8 .b8 cell[8];"), x=np.array([start], np.uint64)).x
    if start not in (0x3F800000, 0xFFF0000000000000, 0x7F800000) or value == "nan":
        assert left == (0x7FF8000000000000 if wide else 0x7FFFFFFF)
