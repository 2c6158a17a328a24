"""Matrices between registers and memory, cp.async, and what stops them, on every engine of the emulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulate_programs import ENGINES, fault_of, kernel, run

from ptxlab.emulate.program.lane_types import LANES
from ptxlab.errors import DeviceFault
from ptxlab.isa import fragments

SHARED = ".shared .align 128 .b8 tile[8192];\n"
OUT, X = 0x200_0000_0000, 0x200_0000_1200
"""Where `run` puts the 128 bytes of `out` (one warp) and, a guard gap later, `x`."""

FILL = (
    "    mov.u32 %r7, tile;\n    shl.b32 %r8, %r1, 4;\n    add.u32 %r8, %r8, %r7;\n"
    + "\n".join(
        f"    add.u32 %r5, %r1, {32 * k};\n    shl.b32 %r6, %r5, 2;\n    add.u32 %r6, %r6, %r7;\n"
        "    st.shared.u32 [%r6], %r5;"
        for k in range(16)
    )
    + "\n    bar.warp.sync -1;\n"
)
"""Word k of `tile` becomes k; %r7 is its address, %r8 that of row `lane` (16 bytes each)."""


def stored(*names: str) -> str:
    """Stores registers to `out`, one row of 32 words each."""
    lines = ["    mul.wide.u32 %rd5, %r1, 4;\n    add.u64 %rd6, %rd1, %rd5;"]
    return "\n".join(lines + [f"    st.global.u32 [%rd6+{128 * i}], {r};" for i, r in enumerate(names)])


def same_everywhere(body: str, **options: Any) -> np.ndarray:
    """The words of `out`, which all engines agree on."""
    text = kernel(body, SHARED).replace("sm_80", "sm_90")
    results = [run(engine, text, **options)[0] for engine in ENGINES]
    assert all((r == results[0]).all() for r in results)
    return results[0]


# -- ldmatrix, stmatrix, movmatrix -------------------------------------------------------------------------------------


@pytest.mark.sweep(3)
@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("trans", ["", ".trans"])
@pytest.mark.parametrize("space", [".shared", ""])
def test_rows(count: int, trans: str, space: str) -> None:
    """A matrix loaded, and stored somewhere else as it was."""
    registers = [f"%r{10 + i}" for i in range(count)]
    group, at = "{" + ", ".join(registers) + "}", "%r8"
    body = FILL + "    cvt.u64.u32 %rd8, %r8;\n    cvta.shared.u64 %rd8, %rd8;\n"
    if not space:
        at = "%rd8"
    body += f"    ldmatrix.sync.aligned.m8n8.x{count}{trans}{space}.b16 {group}, [{at}+32];\n{stored(*registers)}\n"
    body += f"    stmatrix.sync.aligned.m8n8.x{count}{trans}{space}.b16 [{at}+4096], {group};\n    bar.warp.sync -1;\n"
    for i in range(count):
        body += (
            f"    shl.b32 %r9, %r1, 2;\n    add.u32 %r9, %r9, %r7;\n    ld.shared.u32 %r20, [%r9+{4096 + 128 * i}];\n"
        )
        body += f"    st.global.u32 [%rd6+{128 * (4 + i)}], %r20;\n"
    out = same_everywhere(body, out=np.zeros(256, np.uint32)).reshape(8, 32)
    matrices = np.arange(2048, dtype=np.uint32).view(np.uint16).reshape(-1, 8)[2 : 2 + 8 * count].reshape(count, 8, 8)
    for i, m in enumerate(matrices):
        loaded = np.ascontiguousarray(m.T if trans else m)
        assert (out[i] == loaded.view(np.uint32).ravel()).all()
        assert (out[4 + i] == np.ascontiguousarray(m).view(np.uint32).ravel()).all()


def test_addresses_may_lie_in_a_register_that_is_loaded() -> None:
    body = FILL + "    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r8, %r9, _, %r11}, [%r8];\n" + stored("%r8", "%r11")
    out = same_everywhere(body, out=np.zeros(64, np.uint32))
    assert (out == np.concatenate([np.arange(32), np.arange(96, 128)])).all()


def test_only_the_lanes_that_name_rows_need_good_addresses() -> None:
    body = f"""{FILL}
    setp.gt.u32 %p1, %r1, 7;
    @%p1 mov.u32 %r8, 3;
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r9}}, [%r8];
{stored("%r9")}"""
    assert (same_everywhere(body) == np.arange(32)).all()


def test_movmatrix() -> None:
    body = "    mul.lo.u32 %r5, %r1, 131074;\n    add.u32 %r5, %r5, 65536;\n"
    body += "    movmatrix.sync.aligned.m8n8.trans.b16 %r6, %r5;\n" + stored("%r6")
    out = same_everywhere(body).view(np.uint16).reshape(8, 8)
    assert (out == np.arange(64).reshape(8, 8).T).all()


# -- wmma.load and wmma.store ------------------------------------------------------------------------------------------

WMMA = [
    *((shape, "a", t) for shape in ("m16n16k16", "m32n8k16", "m8n32k16") for t in ("f16", "u8")),
    *((shape, "b", "bf16") for shape in ("m16n16k16", "m32n8k16", "m8n32k16")),
    *((shape, "c", t) for shape in ("m16n16k16", "m32n8k16", "m8n32k16") for t in ("f16", "f32")),
    ("m16n16k8", "a", "tf32"),
    ("m16n16k8", "b", "tf32"),
    *(("m8n8k4", what, "f64") for what in "abc"),
    ("m8n8k32", "c", "s32"),
    ("m8n8k128", "c", "s32"),
]


@pytest.mark.sweep(7)
@pytest.mark.parametrize(("shape", "what", "type_"), WMMA)
@pytest.mark.parametrize("layout", ["row", "col"])
def test_wmma_load(shape: str, what: str, type_: str, layout: str) -> None:
    """Every place holds the element that `fragments` says; with a stride, from global and from shared memory."""
    f = fragments.wmma(what, shape, type_)
    size = f.bits // 8
    lines, along = (f.rows, f.columns) if layout == "row" else (f.columns, f.rows)
    stride = along + 16
    x = np.random.default_rng(0).integers(0, 256, 8192, dtype=np.uint8)
    whole = x[: lines * stride * size].view(f"u{size}").reshape(lines, stride)[:, :along]
    matrix = whole if layout == "row" else whole.T
    kind = "b64" if f.width == 64 else "b32"
    names = [f"%m{i}" for i in range(f.registers)]
    body = f"    .reg .{kind} %m<9>;\n    mov.u32 %r9, {stride};\n    mul.wide.u32 %rd5, %r1, {f.width // 8};\n"
    body += f"    add.u64 %rd6, %rd1, %rd5;\n{COPY_X}"
    for at, (space, address) in enumerate(((".global", "%rd2"), (".shared", "%r7"), ("", "%rd7"))):
        body += f"    wmma.load.{what}.sync.aligned.{layout}.{shape}{space}.{type_} {{{', '.join(names)}}}, "
        body += f"[{address}], {'%r9' if at else stride};\n"
        for i, r in enumerate(names):
            body += f"    st.global.{kind} [%rd6+{(at * f.registers + i) * 4 * f.width}], {r};\n"
    out = same_everywhere(body, x=x, out=np.zeros(24 * 64, np.uint32)).view(f"u{f.width // 8}")
    words = out[: 3 * f.registers * LANES].reshape(3, f.registers, 1, LANES)
    shifts = (np.arange(f.packed) * f.bits).astype(words.dtype)[:, None]
    held = (words >> shifts) & words.dtype.type((1 << f.bits) - 1)
    assert (held == matrix[f.row, f.column]).all()


SMALL = [
    ("m8n8k32", "a", "s4", "row"),
    ("m8n8k32", "b", "u4", "col"),
    ("m8n8k128", "a", "b1", "row"),
    ("m8n8k128", "b", "b1", "col"),
]


@pytest.mark.parametrize(("shape", "what", "type_", "layout"), SMALL)
@pytest.mark.parametrize("stride", [None, 256])
def test_wmma_load_of_elements_smaller_than_a_byte(
    shape: str, what: str, type_: str, layout: str, stride: int | None
) -> None:
    """The stride counts elements; two of 4 bits share a byte, the first in its lower half."""
    f = fragments.wmma(what, shape, type_)
    x = np.random.default_rng(0).integers(0, 256, 8192, dtype=np.uint8)
    along = f.columns if layout == "row" else f.rows
    bits = np.unpackbits(x, bitorder="little").reshape(-1, f.bits) @ (1 << np.arange(f.bits))
    lines = bits[: 8 * (stride or along)].reshape(8, -1)[:, :along]
    matrix = lines if layout == "row" else lines.T
    body = f"    wmma.load.{what}.sync.aligned.{layout}.{shape}.global.{type_} {{%r5}}, [%rd2]"
    body += f"{'' if stride is None else f', {stride}'};\n" + stored("%r5")
    out = same_everywhere(body, x=x).view(np.uint32)
    shifts = (np.arange(f.packed, dtype=np.uint32) * np.uint32(f.bits))[:, None]
    held = (out[:LANES] >> shifts) & np.uint32((1 << f.bits) - 1)
    assert (held == matrix[f.row[0], f.column[0]]).all()


COPY_X = """
    mov.u32 %r7, tile;
    mov.u32 %r5, %r1;
COPY:
    mul.wide.u32 %rd8, %r5, 4; add.u64 %rd8, %rd2, %rd8; ld.global.u32 %r6, [%rd8];
    shl.b32 %r8, %r5, 2; add.u32 %r8, %r8, %r7; st.shared.u32 [%r8], %r6;
    add.u32 %r5, %r5, 32; setp.lt.u32 %p1, %r5, 2048; @%p1 bra COPY;
    bar.sync 0;
    cvt.u64.u32 %rd7, %r7; cvta.shared.u64 %rd7, %rd7;
"""


@pytest.mark.sweep(3)
@pytest.mark.parametrize(("shape", "type_"), [(s, t) for s, w, t in WMMA if w == "c"] + [("m16n16k8", "f32")])
@pytest.mark.parametrize("layout", ["row", "col"])
def test_wmma_store(shape: str, type_: str, layout: str) -> None:
    """What was loaded in one order and stored in another is the transpose, with the default strides."""
    f = fragments.wmma("c", shape, type_)
    size = f.bits // 8
    x = np.random.default_rng(0).integers(0, 256, 8192, dtype=np.uint8)
    names = ", ".join(f"%m{i}" for i in range(f.registers))
    body = f"    .reg .{'b64' if f.width == 64 else 'b32'} %m<9>;\n"
    body += f"    wmma.load.c.sync.aligned.{layout}.{shape}.{type_} {{{names}}}, [%rd2];\n"
    body += f"    wmma.store.d.sync.aligned.row.{shape}.global.{type_} [%rd1], {{{names}}};\n"
    out = same_everywhere(body, x=x, out=np.zeros(f.rows * f.columns * size // 4, np.uint32))
    held = x[: f.rows * f.columns * size].view(f"u{size}")
    matrix = held.reshape(f.rows, f.columns) if layout == "row" else held.reshape(f.columns, f.rows).T
    assert (out.view(f"u{size}").reshape(f.rows, f.columns) == matrix).all()


# -- cp.async ----------------------------------------------------------------------------------------------------------


@pytest.mark.sweep(3)
@pytest.mark.parametrize("size", [4, 8, 16])
@pytest.mark.parametrize("more", ["", ", %r12", ", %p1", ", 2", "guard", "split"])
def test_cp_async(size: int, more: str) -> None:
    """Copies `size` bytes per lane to a swizzled place; the rest of what is not read becomes zeros."""
    lane, x = np.arange(LANES), np.arange(1024, dtype=np.uint32)
    guard, given = ("@%p1 " if more == "guard" else ""), (more if "," in more else "")
    body = f"""
    mov.u32 %r7, tile;
    shl.b32 %r10, %r1, 4; add.u32 %r10, %r10, %r7;
    mov.u32 %r11, 7;
    st.shared.v4.u32 [%r10], {{%r11, %r11, %r11, %r11}};
    bar.warp.sync -1;
    mul.lo.u32 %r8, %r1, {size};
    xor.b32 %r9, %r8, {3 * size};
    add.u32 %r9, %r9, %r7;
    cvt.u64.u32 %rd5, %r8; add.u64 %rd5, %rd5, %rd2;
    setp.gt.u32 %p1, %r1, 20; min.u32 %r12, %r1, {size};
    {"@%p1 bra SKIP;" if more == "split" else ""}
    {guard}cp.async.{"cg" if size == 16 else "ca"}.shared.global [%r9], [%rd5+{2 * size}], {size}{given};
SKIP:
    cp.async.commit_group;
    cp.async.wait_group 0;
    cp.async.wait_all;
    bar.warp.sync -1;
    ld.shared.v4.u32 {{%r11, %r12, %r13, %r14}}, [%r10];
    mul.wide.u32 %rd6, %r1, 16; add.u64 %rd6, %rd1, %rd6;
    st.global.v4.u32 [%rd6], {{%r11, %r12, %r13, %r14}};
"""
    out = same_everywhere(body, x=x, out=np.zeros(128, np.uint32)).view(np.uint8)
    expected = np.full(128, 7, np.uint32).view(np.uint8)
    copied = {", %r12": np.minimum(lane, size), ", %p1": np.where(lane > 20, 0, size), ", 2": np.full(LANES, 2)}
    runs = {"guard": lane > 20, "split": lane <= 20}.get(more, lane >= 0)
    for k in lane[runs]:
        count = int(copied.get(more, np.full(LANES, size))[k])
        to, source = (k * size) ^ (3 * size), (k + 2) * size
        expected[to : to + size] = 0
        expected[to : to + count] = x.view(np.uint8)[source : source + count]
    assert (out == expected).all()


# -- what stops them ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("to", "source", "lane"), [(8, 0, 0), (0, 8, 0), (16, 0, 31), (0, 16, 31)])
def test_cp_async_that_goes_wrong_in_a_later_round(to: int, source: int, lane: int) -> None:
    """Misaligned, or beyond what the first round has filled and emptied to its end."""
    text = kernel(
        f"""
        mov.u32 %r10, tile; mad.lo.u32 %r10, %r1, 16, %r10; mul.wide.u32 %rd5, %r1, 16; add.u64 %rd6, %rd2, %rd5;
        mov.u32 %r11, 0;
    AGAIN:
        cp.async.cg.shared.global [%r10], [%rd6], 16;
        add.u32 %r10, %r10, {to}; add.u64 %rd6, %rd6, {source}; add.u32 %r11, %r11, 1;
        setp.lt.u32 %p1, %r11, 3; @%p1 bra AGAIN;
        cp.async.wait_all;""",
        f".shared .align 16 .b8 tile[{1024 if to == 8 else 512}];",
    )
    said = []
    for engine in ENGINES:
        caught = fault_of(engine, text, x=np.arange(256 if source == 8 else 128, dtype=np.uint32))
        said.append(str(caught))
    assert f"thread ({lane}, 0, 0)" in said[0]
    assert said == said[:1] * len(ENGINES)


def fault(engine: str, body: str, **options: Any) -> tuple[DeviceFault, str]:
    """The fault of a program, and its message without place and line."""
    caught = fault_of(engine, kernel(body, SHARED), **options)
    return caught, caught.message


MMA = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"
PRODUCT = f"{MMA} {{%f1, %f2, %f3, %f4}}, {{%r5, %r5}}, {{%r5}}, {{%f1, %f1, %f1, %f1}};"

INCOMPLETE = {
    "small block": (PRODUCT, 16, 0, "only lanes 0-15 are there"),
    "exited": (
        f"setp.gt.u32 %p1, %r1, 3;\n    @%p1 bra ON;\n    exit;\nON:\n    {PRODUCT}", 32, 4,
        "only lanes 4-31 are there",
    ),
    "guard": (
        f"setp.gt.u32 %p1, %r1, 3;\n    @%p1 {PRODUCT}", 32, 4, "its guard holds in lanes 4-31 only",
    ),
    "branch around": (
        f"setp.eq.u32 %p1, %r1, 3;\n    @%p1 bra ON;\n    {PRODUCT}\nON:", 32, 0, "only lanes 0-2 and 4-31 are there",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", INCOMPLETE)
def test_not_all_lanes(engine: str, name: str) -> None:
    body, threads, lane, words = INCOMPLETE[name]
    error, message = fault(engine, f"    mov.u32 %r5, 0;\n    mov.f32 %f1, 0f00000000;\n    {body}", threads=threads)
    assert (error.kind, error.thread) == ("trap", (lane, 0, 0))
    assert message == f"{MMA} needs all 32 lanes of the warp; {words}"


def test_two_halves_of_a_warp_at_two_products(engine: str) -> None:
    body = f"""
    mov.u32 %r5, 0; mov.f32 %f1, 0f00000000;
    setp.lt.u32 %p1, %r1, 16; @%p1 bra OTHER;
    {PRODUCT}
    bra JOIN;
OTHER:
    {PRODUCT}
JOIN:
"""
    error, message = fault(engine, body)
    first, second = (k + 1 for k, line in enumerate(kernel(body, SHARED).splitlines()) if line.strip() == PRODUCT)
    assert error.kind == "deadlock"
    assert message == (
        "no thread of the block can go on\n"
        f"    warp 0, lanes 0-15: waits for the other lanes of its warp ({MMA}, line {second})\n"
        f"    warp 0, lanes 16-31: waits for the other lanes of its warp ({MMA}, line {first})"
    )


LD, ST = "ldmatrix.sync.aligned.m8n8.x4.shared.b16", "stmatrix.sync.aligned.m8n8.x2.shared.b16"
ROWS = (
    "    mov.u32 %r7, tile;\n    shl.b32 %r8, %r1, 4;\n    add.u32 %r8, %r8, %r7;\n    setp.eq.u32 %p1, %r1, 9;\n    "
)
WLOAD = "wmma.load.a.sync.aligned.row.m16n16k16"
EIGHT = "{%r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17}"
TILE = 0
"""Where `tile` lies in shared memory: the first variable of an sm_80 kernel."""

MEMCHECK = {
    "row past the end": (
        f"{ROWS}{LD} {{%r10, %r11, %r12, %r13}}, [%r8+7696];",
        31,
        TILE + 8192,
        f"load of 16 bytes at {TILE + 8192:#x}: the block's shared memory is 8192 bytes at {TILE:#x}; 0 bytes past the "
        f"end of 'tile' (8192 bytes at {TILE:#x}); elements 4096 to 4103 of 'tile', which has 4096 (of 2 bytes)",
    ),
    "misaligned row": (
        f"{ROWS}@%p1 add.u32 %r8, %r8, 8;\n    {LD} {{%r10, %r11, %r12, %r13}}, [%r8];",
        9,
        TILE + 152,
        f"load of 16 bytes at {TILE + 152:#x}: misaligned, the address must be a multiple of 16; the block's shared "
        f"memory is 8192 bytes at {TILE:#x}; byte 152 of 'tile' (8192 bytes at {TILE:#x}); elements 76 to 83 of "
        "'tile', which has 4096 (of 2 bytes)",
    ),
    "all rows at one bad place": (
        f"{ROWS}{LD} {{%r10, %r11, %r12, %r13}}, [%r7+8192];",
        0,
        TILE + 8192,
        f"load of 16 bytes at {TILE + 8192:#x}: the block's shared memory is 8192 bytes at {TILE:#x}; 0 bytes past the "
        f"end of 'tile' (8192 bytes at {TILE:#x}); elements 4096 to 4103 of 'tile', which has 4096 (of 2 bytes)",
    ),
    "generic address outside of shared memory": (
        f"{ROWS}{LD.replace('.shared', '')} {{%r10, %r11, %r12, %r13}}, [%rd1];",
        0,
        OUT,
        f"load of 16 bytes at {OUT:#x}: an address of 'out', which lies in global memory",
    ),
    "wmma past the end": (
        f"{WLOAD}.global.f16 {EIGHT}, [%rd2];",
        0,
        X + 256,
        f"load of 16 bytes at {X + 256:#x}: 0 bytes past the end of 'x' (256 bytes at {X:#x}); "
        "elements 128 to 135 of 'x', which has 128 (of 2 bytes)",
    ),
    "wmma misaligned": (
        f"{WLOAD}.shared.f16 {EIGHT}, [tile], 20;",
        4,
        TILE + 40,
        f"load of 16 bytes at {TILE + 40:#x}: misaligned, the address must be a multiple of 16; the block's shared "
        f"memory is 8192 bytes at {TILE:#x}; byte 40 of 'tile' (8192 bytes at {TILE:#x}); elements 20 to 27 of "
        "'tile', which has 4096 (of 2 bytes)",
    ),
    "cp.async from behind the end": (
        f"{ROWS}cvt.u64.u32 %rd5, %r8;\n    add.u64 %rd5, %rd5, %rd2;\n    "
        "cp.async.cg.shared.global [%r8], [%rd5+16], 16;",
        15,
        X + 256,
        f"load of 16 bytes at {X + 256:#x}: 0 bytes past the end of 'x' (256 bytes at {X:#x})",
    ),
    "cp.async misaligned": (
        f"{ROWS}cp.async.ca.shared.global [%r8], [%rd2+4], 8;",
        0,
        X + 4,
        f"load of 8 bytes at {X + 4:#x}: misaligned, the address must be a multiple of 8; byte 4 of 'x' "
        f"(256 bytes at {X:#x})",
    ),
    "cp.async to behind the end": (
        f"{ROWS}cp.async.ca.shared.global [%r8+8188], [%rd2], 4;",
        1,
        TILE + 8204,
        f"store of 4 bytes at {TILE + 8204:#x}: the block's shared memory is 8192 bytes at {TILE:#x}; "
        f"12 bytes past the end of 'tile' (8192 bytes at {TILE:#x})",
    ),
}


@pytest.mark.parametrize("name", MEMCHECK)
def test_memcheck(engine: str, name: str) -> None:
    body, lane, address, words = MEMCHECK[name]
    error, message = fault(engine, f"    {body.strip()}", out=np.zeros(32, np.uint32))
    assert (error.kind, error.thread, error.address) == ("memcheck", (lane, 0, 0), address)
    assert message == words


def test_wmma_needs_one_address(engine: str) -> None:
    body = f"    setp.eq.u32 %p1, %r1, 5;\n    @%p1 add.u64 %rd2, %rd2, 64;\n    {WLOAD}.global.f16 {EIGHT}, [%rd2];"
    error, message = fault(engine, body)
    assert (error.kind, error.thread) == ("trap", (5, 0, 0))
    assert (
        message == f"{WLOAD}.global.f16 needs the same address and stride in all lanes; lane 5 has others than lane 0"
    )
