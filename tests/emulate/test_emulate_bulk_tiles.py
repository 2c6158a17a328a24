"""Tiles of tensors on the emulator, there and back: against numpy, with all swizzles, im2col, faults."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from emulate_programs import REGISTERS
from test_emulate_bulk import DONE, SHARED, WAIT

import ptxlab as pl
from ptxlab.emulate.rules.bulk_copies import OPERATIONS
from ptxlab.errors import DeviceFault, LaunchError, UnsupportedInstruction


def tile_kernel(rank: int, copy: str, bytes_: int, after: str = "", im2col: str = "") -> str:
    """A kernel that brings one tile to shared memory, its coordinates are parameters, and writes it out as is."""
    places = ", ".join(f"%r{20 + k}" for k in range(rank))
    params = "".join(f", .param .s32 c{k}" for k in range(rank))
    loads = "\n".join(f"    ld.param.s32 %r{20 + k}, [c{k}];" for k in range(rank))
    return f"""
.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 out{params})
{{{REGISTERS}
    ld.param.u64 %rd1, [out];
    mov.b64 %rd4, map; cvta.param.u64 %rd5, %rd4;
{loads}
    mov.u32 %r1, %tid.x;
    {SHARED}
    @%p1 bra WAIT;
    mbarrier.arrive.expect_tx.shared.b64 %rd10, [bar], {bytes_};
    {copy} [%r5], [%rd5, {{{places}}}], [%r6]{im2col};
    {WAIT}
    {after}
    shl.b32 %r7, %r1, 2;
LOOP:
    add.u32 %r8, %r7, %r5; ld.shared.u32 %r9, [%r8];
    cvt.u64.u32 %rd6, %r7; add.u64 %rd7, %rd1, %rd6; st.global.u32 [%rd7], %r9;
    add.u32 %r7, %r7, 128;
    setp.lt.u32 %p3, %r7, {bytes_};
    @%p3 bra LOOP;
    ret;
}}
"""


def tile_load(dim: int, mode: str = "tile") -> str:
    return f"cp.async.bulk.tensor.{dim}d.shared::cluster.global.{mode}.mbarrier::complete_tx::bytes"


def cut(x: np.ndarray, place: list[int], box: tuple[int, ...], steps: tuple[int, ...], fill: object) -> np.ndarray:
    """The tile that a map describes, by numpy. place: the coordinates, the innermost first."""
    axes = [
        start + np.arange(0, size, step) for start, size, step in zip(place[::-1], box, (*steps[:-1], 1), strict=True)
    ]
    grid = np.meshgrid(*axes, indexing="ij")
    inside = np.all([(g >= 0) & (g < n) for g, n in zip(grid, x.shape, strict=True)], axis=0)
    picked = x[tuple(np.clip(g, 0, n - 1) for g, n in zip(grid, x.shape, strict=True))]
    return np.where(inside, picked, np.asarray(fill, x.dtype))


def swizzle(tile: np.ndarray, pattern: int) -> np.ndarray:
    """Bytes of a tile as they lie in shared memory: chunk c of row r (of 128 bytes) lies where c ^ r says."""
    flat = np.ascontiguousarray(tile).view(np.uint8).reshape(-1)
    if not pattern:
        return flat
    at = np.arange(flat.size)
    out = np.empty_like(flat)
    out[at ^ (at >> 7 & pattern // 16 - 1) << 4] = flat
    return out


TILES = {
    "1d": ((200,), (64,), 0, [16]),
    "2d": ((60, 96), (8, 32), 0, [32, 5]),
    "2d, past the edges": ((60, 96), (16, 32), 0, [80, 50]),
    "2d, before the edges": ((60, 96), (16, 32), 0, [-8, -3]),
    "2d, outside": ((60, 96), (8, 32), 0, [200, 0]),
    "2d, 128 bytes": ((64, 128), (64, 64), 128, [64, 0]),
    "2d, 64 bytes": ((64, 128), (32, 32), 64, [32, 16]),
    "2d, 32 bytes": ((64, 128), (32, 16), 32, [16, 8]),
    "3d": ((6, 20, 64), (2, 8, 64), 128, [0, 6, 3]),
    "4d": ((3, 4, 10, 32), (2, 2, 5, 16), 0, [16, 5, 3, 1]),
    "5d": ((3, 2, 4, 5, 16), (2, 2, 2, 2, 8), 0, [8, 1, 1, 0, 1]),
}


@pytest.mark.sweep(2)
@pytest.mark.parametrize("dtype", [np.float16, np.uint16])
@pytest.mark.parametrize("name", TILES)
def test_tiles(device: str, name: str, dtype: type) -> None:
    shape, box, pattern, place = TILES[name]
    x = np.random.default_rng(3).integers(0, 60000, shape).astype(dtype)
    count = 2 * int(np.prod(box))
    out = np.zeros(count // 4, np.uint32)
    text = tile_kernel(len(shape), tile_load(len(shape)), count)
    pl.launch(text, 1, 32, pl.TensorMap(x, box, swizzle=pattern), out, *place, device=device)
    wanted = swizzle(cut(x, place, box, (1,) * len(shape), 0), pattern)
    assert (out.view(np.uint8) == wanted).all()


def test_steps_and_nans(device: str) -> None:
    """Whatever the type, each 16 bits outside are those that an H100 writes."""
    for dtype in (np.float16, ml_dtypes.bfloat16, np.float32, np.float64):
        x = np.random.default_rng(4).standard_normal((40, 64)).astype(dtype)
        out = np.zeros((8, 32), dtype)
        given = pl.TensorMap(x, (16, 32), fill="nan", steps=(2, 1))
        pl.launch(tile_kernel(2, tile_load(2), out.nbytes), 1, 32, given, out, 48, 30, device=device)
        nan = np.full(out.itemsize // 2, 0x7FF7, np.uint16).view(dtype)[0]
        wanted = cut(x, [48, 30], (16, 32), (2, 1), nan)
        assert np.isnan(wanted.astype(np.float64)).sum() == 8 * 32 - 5 * 16
        assert out.tobytes() == wanted.tobytes()


def test_a_tile_begins_at_a_multiple_of_16_bytes(device: str) -> None:
    x = np.zeros((16, 64), np.float32)
    text = tile_kernel(2, tile_load(2), 4 * 32 * 4)
    for first, behind in ((3, 12), (-1, 12), (33, 4)):
        with pytest.raises(DeviceFault) as stopped:
            pl.launch(text, 1, 32, pl.TensorMap(x, (4, 32)), np.zeros((4, 32), np.float32), first, 0, device=device)
        assert stopped.value.message == (
            f"{tile_load(2)}: the tile must begin at a multiple of 16 bytes in the innermost dimension (its first "
            f"coordinate times the bytes of an element), found {behind} bytes after one; a GPU stops there with an "
            "illegal instruction"
        )


def test_no_tile_goes_before_the_edges(device: str) -> None:
    """An H100 stops there, while it loads such tiles (`TILES`), and leaves out what is behind the edges."""
    x = np.ones((16, 64), np.int32)
    given = pl.TensorMap(x, (4, 32)), np.zeros((4, 32), np.int32)
    for operation in ("", ".add"):
        opcode = f"cp.{'reduce.' * bool(operation)}async.bulk.tensor.2d.global.shared::cta{operation}.tile.bulk_group"
        store = f"@%p1 bra SKIP;\n{opcode} [%rd5, {{%r20, %r21}}], [%r5];\n{DONE}\nSKIP:\nbar.sync 0;"
        text = tile_kernel(2, tile_load(2), 4 * 32 * 4, store)
        for place in ((-4, 0), (0, -1), (-32, -4)):
            with pytest.raises(DeviceFault) as stopped:
                pl.launch(text, 1, 32, *given, *place, device=device)
            assert stopped.value.message == (
                f"{opcode}: a tile that is stored or reduced must not begin at a negative coordinate, found "
                f"{place[0] or place[1]}; a GPU stops there with an illegal instruction (a tile that is loaded may)"
            )
        for place in ((48, 14), (64, 0), (0, 16)):
            pl.launch(text, 1, 32, *given, *place, device=device)
    assert x[:14].tolist() == np.ones((14, 64)).tolist()
    assert x[14:].tolist() == np.repeat([[1] * 48 + [2] * 16], 2, axis=0).tolist()


@pytest.mark.parametrize("operation", ["", "add", "max"])
def test_tiles_go_back(device: str, operation: str) -> None:
    """A tile is brought in from one tensor and stored, or added, to another place of it; what lies outside is left."""
    x = np.random.default_rng(5).integers(0, 1000, (40, 64)).astype(np.int32)
    opcode = f"cp.reduce.async.bulk.tensor.2d.global.shared::cta.{operation}" if operation else ""
    opcode = opcode or "cp.async.bulk.tensor.2d.global.shared::cta"
    after = f"""
    @%p1 bra SKIP;
    mov.u32 %r30, 48; mov.u32 %r31, 35;
    {opcode}.tile.bulk_group [%rd5, {{%r30, %r31}}], [%r5];
    {DONE}
SKIP:
    bar.sync 0;
    """
    before, out = x.copy(), np.zeros(8 * 32, np.int32)
    text = tile_kernel(2, tile_load(2), out.nbytes, after)
    pl.launch(text, 1, 32, pl.TensorMap(x, (8, 32), swizzle=128), out, 0, 0, device=device)
    tile, there = before[:5, :16], before[35:, 48:]
    wanted = before.copy()
    wanted[35:, 48:] = {"": lambda: tile, "add": lambda: tile + there, "max": lambda: np.maximum(tile, there)}[
        operation
    ]()
    assert (x == wanted).all()


ELEMENTS = {
    "uint8": "", "uint16": "", "uint32": "add min max inc dec and or xor", "int32": "add min max and or xor",
    "uint64": "add min max and or xor", "int64": "min max", "float16": "add min max",
    "bfloat16": "add min max", "float32": "add", "float64": "add",
}  # fmt: skip
"""The reductions of elements in a tensor, as the manual has them; but as an H100 has those of 64 bits."""


@pytest.mark.parametrize("name", ELEMENTS)
def test_reductions_of_elements(device: str, name: str) -> None:
    """Any other is a fault. (The coordinates are numbers here, not registers.)"""
    x = np.zeros((4, 64), getattr(ml_dtypes, name, name))
    given = pl.TensorMap(x, (4, 32 // x.itemsize)), np.zeros(32, np.uint32), 0, 0
    for operation in OPERATIONS:
        opcode = f"cp.reduce.async.bulk.tensor.2d.global.shared::cta.{operation}.bulk_group"
        reduces = f"@%p1 bra SKIP;\n{opcode} [%rd5, {{0, 0}}], [%r5];\n{DONE}\nSKIP:\nbar.sync 0;"
        text = tile_kernel(2, tile_load(2), 128, reduces)
        if operation in ELEMENTS[name].split():
            pl.launch(text, 1, 32, *given, device=device)
            continue
        with pytest.raises(DeviceFault) as stopped:
            pl.launch(text, 1, 32, *given, device=device)
        assert stopped.value.message.startswith(f"{opcode}: elements of the type in the tensor map at 0x")


def test_im2col(device: str) -> None:
    """The pixels of a 3x3 filter's tap, row by row of the image, zeros at its border."""
    images, height, width, channels, pixels = 2, 5, 6, 16, 24
    x = np.random.default_rng(6).integers(1, 1000, (images, height, width, channels)).astype(np.int32)
    out = np.zeros(pixels * channels, np.int32)
    for tap in ((0, 0), (2, 1)):
        offsets = ", {%h1, %h2}"
        text = tile_kernel(4, tile_load(4, "im2col"), out.nbytes, im2col=offsets)
        text = text.replace(
            "    @%p1 bra WAIT;", f"    mov.u16 %h1, {tap[0]};\n    mov.u16 %h2, {tap[1]};\n    @%p1 bra WAIT;", 1
        )
        given = pl.TensorMap(x, (pixels, channels), lower=(-1, -1), upper=(-1, -1))
        start = (2, 1, 0)  # w, h, n of the first pixel
        pl.launch(text, 1, 32, given, out, 0, *start, device=device)
        wanted, (w, h, n) = [], start
        for _ in range(pixels):
            at_w, at_h = w + tap[0], h + tap[1]
            inside = 0 <= at_w < width and 0 <= at_h < height and n < images
            wanted.append(x[n, at_h, at_w] if inside else np.zeros(channels, np.int32))
            w += 1
            if w >= width - 1:
                w, h = -1, h + 1
            if h >= height - 1:
                h, n = -1, n + 1
        assert out.reshape(pixels, channels).tolist() == [row.tolist() for row in wanted]


@pytest.mark.parametrize("reduces", [False, True])
def test_im2col_goes_back(device: str, reduces: bool) -> None:
    """Pixels are brought in and stored, or added, some images further on."""
    x = np.random.default_rng(7).integers(0, 100, (4, 6, 8)).astype(np.int32)
    opcode = (
        "cp.reduce.async.bulk.tensor.3d.global.shared::cta.add"
        if reduces
        else ("cp.async.bulk.tensor.3d.global.shared::cta")
    )
    after = f"""
    @%p1 bra SKIP;
    mov.u32 %r30, 0; mov.u32 %r31, 2;
    {opcode}.im2col_no_offs.bulk_group [%rd5, {{%r30, %r30, %r31}}], [%r5];
    {DONE}
SKIP:
    bar.sync 0;
    """
    text = tile_kernel(3, tile_load(3, "im2col"), 256, after, ", {%h1}")
    text = text.replace("@%p1 bra WAIT;", "mov.u16 %h1, 0;\n    @%p1 bra WAIT;", 1)
    wanted, out = x.copy(), np.zeros(64, np.int32)
    pixels = x.reshape(-1, 8)[:8]
    wanted.reshape(-1, 8)[12:20] = pixels + (wanted.reshape(-1, 8)[12:20] if reduces else 0)
    pl.launch(text, 1, 32, pl.TensorMap(x, (8, 8), lower=(0,), upper=(0,)), out, 0, 0, 0, device=device)
    assert (x == wanted).all()


def test_maps_that_cannot_be() -> None:
    x = np.zeros((8, 64), np.float16)
    for message, make in {
        "TensorMap: expected an array, got list": lambda: pl.TensorMap([1, 2], (8, 8)),
        "TensorMap: the box needs 2 sizes, got (8,)": lambda: pl.TensorMap(x, (8,)),
        "TensorMap: a row of the box must be a multiple of 16 bytes, got 8": lambda: pl.TensorMap(x, (8, 4)),
        "TensorMap: swizzle must be 0, 32, 64 or 128 bytes, got 16": lambda: pl.TensorMap(x, (8, 8), swizzle=16),
        "TensorMap: a row of the box has 128 bytes; with swizzle=64 it has at most 64\n  write:  box=(..., 32)":
            lambda: pl.TensorMap(x, (8, 64), swizzle=64),
        "TensorMap: a box must have 1 to 256 elements in each dimension, got (512, 64)":
            lambda: pl.TensorMap(x, (512, 64)),
    }.items():  # fmt: skip
        with pytest.raises(LaunchError) as refused:
            make()
        assert str(refused.value) == message


def test_no_tensor_map(device: str) -> None:
    text = tile_kernel(2, tile_load(2), 512)
    with pytest.raises(DeviceFault, match="there is no tensor map at 0x7f7d00000000; make one with"):
        pl.launch(text, 1, 32, bytes(128), np.zeros(128, np.uint32), 0, 0, device=device)


def test_a_tile_needs_its_coordinates(device: str) -> None:
    text = tile_kernel(1, tile_load(1), 512).replace("[%rd5, {%r20}]", "[%rd5]")
    with pytest.raises(UnsupportedInstruction, match=r"needs the coordinates of its tile.*write \[map, {x, y}\]"):
        pl.launch(text, 1, 32, bytes(128), np.zeros(128, np.uint32), 0, device=device)


@pytest.mark.parametrize("im2col", [False, True])
def test_tiles_for_two_blocks_and_prefetches(device: str, im2col: bool) -> None:
    """Each of two blocks gets the tile; a prefetch changes nothing."""
    x = np.arange(6 * 10 * 8, dtype=np.int32).reshape(6, 10, 8)
    mode, more = ("im2col", ", {%h1}") if im2col else ("tile", "")
    opcode = tile_load(3, mode) + ".multicast::cluster"
    text = tile_kernel(3, opcode, 256, im2col=f"{more}, %h2")
    head = f"""mov.u16 %h1, 0;
    mov.u16 %h2, 3;
    cp.async.bulk.prefetch.L2.global [%rd1], 64;
    cp.async.bulk.prefetch.tensor.3d.L2.global.{mode} [%rd5, {{%r20, %r21, %r22}}]{more};
    mov.u32 %r30, %cluster_ctarank;
    mul.wide.u32 %rd11, %r30, 256; add.u64 %rd1, %rd1, %rd11;
    @!%p1 mbarrier.arrive.expect_tx.shared.b64 %rd10, [bar], 256;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    setp.ne.u32 %p3, %r30, 0; @%p3 bra WAIT;
    @%p1 bra WAIT;"""
    text = text.replace("@%p1 bra WAIT;", head, 1)
    text = text.replace("    mbarrier.arrive.expect_tx.shared.b64 %rd10, [bar], 256;\n    cp", "    cp")
    text = text.replace("    ret;", "    barrier.cluster.arrive;\n    barrier.cluster.wait;\n    ret;")
    given = pl.TensorMap(x, (8, 8), lower=(0,), upper=(0,)) if im2col else pl.TensorMap(x, (2, 4, 8))
    out = np.zeros((2, 64), np.int32)
    pl.launch(text, 2, 32, given, out, 0, 2, 1, device=device, cluster=2)
    wanted = x[1].reshape(-1, 8)[2:10] if im2col else x[1:3, 2:6]
    assert out.tolist() == [wanted.ravel().tolist()] * 2


@pytest.mark.parametrize("swizzled", [True, False])
def test_what_of_a_tile_has_to_be_written_before_it_goes(device: str, swizzled: bool) -> None:
    """Of rows of 8 chunks the first 4 lie in the tensor. Without the swizzle some of those are unwritten."""
    text = f"""
.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128])
{{{REGISTERS}
    mov.b64 %rd4, map; cvta.param.u64 %rd5, %rd4; mov.u32 %r1, %tid.x;
    {SHARED}
    shr.u32 %r7, %r1, 2; shl.b32 %r8, %r7, 7; and.b32 %r9, %r1, 3; shl.b32 %r9, %r9, 4; add.u32 %r8, %r8, %r9;
    shl.b32 %r7, %r7, 4; {"xor.b32 %r8, %r8, %r7;" if swizzled else ""} add.u32 %r8, %r8, %r5;
    st.shared.v4.u32 [%r8], {{%r1, %r1, %r1, %r1}};
    fence.proxy.async; bar.sync 0;
    @%p1 bra SKIP;
    cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd5, {{48, 0}}], [%r5];
    {DONE}
SKIP: bar.sync 0;
    ret;
}}
"""
    x = np.zeros((8, 64), np.uint32)
    run = pl.launch(text, 1, 32, pl.TensorMap(x, (8, 32), swizzle=128), device=device, checks="all")
    assert [f.kind for f in run.findings] == ([] if swizzled else ["uninitialised read"])
    assert not swizzled or (x[:, 48:] == np.arange(32).reshape(8, 4).repeat(4, axis=1)).all()
