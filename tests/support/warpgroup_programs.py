"""Programs with one `wgmma`: tiles laid out by numpy as CUTLASS lists the layouts, and the product of a warpgroup."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from matrix_programs import NUMPY, pack, unpack

import ptxlab as pl
from ptxlab.isa import form
from ptxlab.isa.fragments import Product, product

START = 0x400
"""The first address of a kernel's shared memory on sm_90."""


@dataclass
class Layout:
    """How a tile lies in shared memory. swizzle: 0, 32, 64 or 128 bytes. mn_major: neighbours lie along m or n. gap:
    bytes that are left between what could be dense, a multiple of 16 (with a swizzle of 1024). inside: how many 32-byte
    pieces along k of a wider K-major tile come before this one."""

    swizzle: int = 0
    mn_major: bool = False
    gap: int = 0
    inside: int = 0
    noise: int = field(default=0xA5)

    def place(self, line_bytes: np.ndarray, at: int) -> tuple[np.ndarray, int]:
        """Shared memory up to the end of a tile that begins at the offset `at`, and its descriptor. line_bytes: its
        lines, of what is contiguous; shape (lines, bytes)."""
        lines, length = line_bytes.shape
        width = self.swizzle or 16
        across = 8 * width + self.gap  # from one group of 8 lines to the next
        along = -(-lines // 8) * across + self.gap  # from one swizzle width to the next
        memory = np.full(at + along * (-(-(length + 32 * self.inside) // width)) + 2048, self.noise, np.uint8)
        for line in range(lines):
            for byte in range(0, length, 16):
                where = byte + 32 * self.inside
                row, chunk = line % 8, where % width // 16
                # the pattern: in rows of 128 bytes each row has an order of its own, in rows of 64 two have the same
                chunk ^= row * width // 128 % (width // 16)
                to = at + line // 8 * across + where // width * along + row * width + 16 * chunk
                memory[to : to + 16] = line_bytes[line, byte : byte + 16]
        leading, stride = along, across
        if self.mn_major and not self.swizzle:
            leading, stride = stride, leading
        start = START + at + 32 * self.inside
        mode = {0: 0, 128: 1, 64: 2, 32: 3}[self.swizzle]
        return memory, start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | mode << 62


def in_memory(type_: str, matrix: np.ndarray) -> np.ndarray:
    """The bytes of each row of a matrix of numbers."""
    if type_ == "b1":
        return np.packbits(matrix.astype(np.uint8), axis=-1, bitorder="little")
    return np.ascontiguousarray(matrix.astype(NUMPY[type_])).view(np.uint8)


def program(opcode: str, *, a_registers: bool, more: str, scale: bool, size: int, sparse: int | None = None) -> str:
    """PTX: copies an image to shared memory, loads the registers of each warp, multiplies, and stores them."""
    found = form(opcode)
    p = product(found)
    d, a = p.d.registers, p.a.registers
    registers = "{" + ", ".join(f"%d{k}" for k in range(d)) + "}"
    of_a = "{" + ", ".join(f"%a{k}" for k in range(a)) + "}" if a_registers else "%da"
    of_e = "" if sparse is None else f", %e, {sparse}"
    load = "".join(f"    ld.global.b32 %d{k}, [%rd1+{128 * k}];\n" for k in range(d))
    load += "".join(f"    ld.global.b32 %a{k}, [%rd1+{128 * (d + k)}];\n" for k in range(a))
    load += f"    ld.global.b32 %e, [%rd1+{128 * (d + a)}];\n"
    store = "".join(f"    st.global.b32 [%rd1+{128 * k}], %d{k};\n" for k in range(d))
    return f"""
.version 8.8
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 tile[];
.visible .entry product(.param .u64 image, .param .u64 registers, .param .u64 descriptors)
{{
    .reg .b32 %d<{d}>, %a<{a}>, %e, %r<9>;
    .reg .b64 %rd<9>, %da, %db; .reg .pred %p<3>;
    ld.param.u64 %rd1, [registers]; ld.param.u64 %rd2, [image]; ld.param.u64 %rd3, [descriptors];
    mov.u32 %r1, %tid.x; shr.u32 %r2, %r1, 5;
    and.b32 %r3, %r1, 31;
    mad.lo.u32 %r4, %r2, {128 * (d + a + 1)}, 0;
    mad.lo.u32 %r4, %r3, 4, %r4;
    cvt.u64.u32 %rd4, %r4; add.u64 %rd1, %rd1, %rd4;
{load}    ld.global.b64 %da, [%rd3];
    ld.global.b64 %db, [%rd3+8];
    mov.u32 %r5, tile;
    mul.lo.u32 %r6, %r1, 4; add.u32 %r5, %r5, %r6;
    cvt.u64.u32 %rd5, %r6; add.u64 %rd2, %rd2, %rd5;
$copy:
    ld.global.b32 %r7, [%rd2]; st.shared.b32 [%r5], %r7;
    add.u64 %rd2, %rd2, 512;
    add.u32 %r5, %r5, 512;
    add.u32 %r6, %r6, 512;
    setp.lt.u32 %p1, %r6, {size};
    @%p1 bra $copy;
    fence.proxy.async;
    bar.sync 0;
    setp.{"ne" if scale else "eq"}.u32 %p2, {size}, 0;
    wgmma.fence.sync.aligned;
    {opcode} {registers}, {of_a}, %db{of_e}, %p2{more};
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
{store}    ret;
}}
"""


@dataclass
class Case:
    """A product: a (64 x k) and b (k x n) are small integers, c (64 x n) is what is added, or None. For a sparse form
    a is packed, with the 32 lanes' metadata of each warp."""

    opcode: str
    a: np.ndarray
    b: np.ndarray
    c: np.ndarray | None
    of_a: Layout | None = None
    of_b: Layout = field(default_factory=Layout)
    signs: tuple[int, int] = (1, 1)
    metadata: np.ndarray | None = None
    selector: int | None = None

    def run(self, device: str, **options: object) -> np.ndarray:
        """The 64 x n result, as float64."""
        found = form(self.opcode)
        p: Product = product(found)
        memory = np.zeros(0, np.uint8)
        descriptors = np.zeros(2, np.uint64)
        for k, (type_, matrix, layout) in enumerate(
            ((found.atype, self.a, self.of_a), (found.btype, self.b.T, self.of_b))
        ):
            if layout is not None:
                lines = in_memory(type_, matrix.T if layout.mn_major else matrix)
                at = -(-memory.size // 1024) * 1024
                placed, descriptors[k] = layout.place(lines, at)
                placed[: memory.size] = memory
                memory = placed
        size = -(-memory.size // 512) * 512
        memory = np.concatenate([memory, np.zeros(size - memory.size, np.uint8)])
        registers = np.zeros((4, p.d.registers + p.a.registers + 1, 32), np.uint32)
        for warp in range(4):
            rows = slice(16 * warp, 16 * warp + 16)
            if self.c is not None:
                registers[warp, : p.d.registers] = pack(p.d, self.c[rows].astype(NUMPY[found.dtype]))
            else:
                registers[warp, : p.d.registers] = 0x7FC07FC0  # must not be read
            registers[warp, p.d.registers : -1] = pack(p.a, self.a[rows].astype(NUMPY[found.atype]))
            if self.metadata is not None:
                registers[warp, -1] = self.metadata[warp]
        more = ""
        if any(spec.name == "imm_scale_a" for spec in found.op.operands):
            more = f", {self.signs[0]}, {self.signs[1]}"
        if any(spec.name == "imm_trans_a" for spec in found.op.operands):
            more += "" if self.of_a is None else f", {int(self.of_a.mn_major)}"
            more += f", {int(self.of_b.mn_major)}"
        text = program(
            self.opcode,
            a_registers=self.of_a is None,
            more=more,
            scale=self.c is not None,
            size=size,
            sparse=self.selector,
        )
        self.report = pl.launch(
            text, 1, 128, memory, registers, pl.const(descriptors), shared=size, device=device, **options
        )
        out = np.zeros((64, p.d.columns))
        for warp in range(4):
            values = unpack(p.d, registers[warp, : p.d.registers].astype(np.uint64)).astype(np.float64)
            out[16 * warp + p.d.row, p.d.column] = values
        return out
