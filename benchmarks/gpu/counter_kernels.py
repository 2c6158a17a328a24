"""Kernels whose counters are held beside Nsight Compute's: 25 small ones, and kernels of the library on small problems.

    python -m benchmarks.gpu.counter_kernels coalesced scalar

launches some of them once each on the GPU: what ncu is to watch.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import ptxlab as pl
from ptxlab import kernels, reference
from ptxlab.emulate.runtime.counters import Counters
from ptxlab.errors import UnavailableError
from ptxlab.gpu.disassembler import sass

FRAME = """
.version 7.8
.target sm_80
.address_size 64
.shared .align 128 .b8 tile[32768];
.visible .entry {name}(.param .u64 out, .param .u64 x)
{{
    .reg .pred %p<5>;
    .reg .b32 %r<12>;
    .reg .b64 %rd<9>;
    .reg .f32 %f<5>;
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [x];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd4, %r1, 4;
    add.u64 %rd3, %rd1, %rd4;
{body}
    ret;
}}
"""


FOUR, ONES = "{%r7, %r8, %r9, %r10}", "{%r1, %r1, %r1, %r1}"
ALL_FOUR = """
    xor.b32 %r7, %r7, %r8;
    xor.b32 %r9, %r9, %r10;
    xor.b32 %r7, %r7, %r9;"""
"""Whoever loads four words uses them: the assembler makes a load narrower whose other words nobody wants."""


def _load(index: str, type_: str = "u32", to: str = "%r7", keep: str = "%r7") -> str:
    """Loads x at a byte offset computed into %r5, and stores what it read."""
    return f"""    {index}
    cvt.u64.u32 %rd5, %r5;
    add.u64 %rd6, %rd2, %rd5;
    ld.global.{type_} {to}, [%rd6];{ALL_FOUR if to == FOUR else ""}
    st.global.u32 [%rd3], {keep};"""


def _tile(index: str, type_: str = "u32", regs: str = "%r7", values: str = "%r1") -> str:
    """Stores to the tile and loads from it at a byte offset computed into %r5."""
    return f"""    {index}
    mov.u32 %r6, tile;
    add.u32 %r6, %r6, %r5;
    st.shared.{type_} [%r6], {values};
    bar.sync 0;
    ld.shared.{type_} {regs}, [%r6];{ALL_FOUR if regs == FOUR else ""}
    st.global.u32 [%rd3], %r7;"""


def _copy(size: int, source: int | None = None) -> str:
    """Copies x to the tile asynchronously; source: bytes that are read of those that are written."""
    how, read = "cg" if size == 16 else "ca", "" if source is None else f", {source}"
    return f"""    mul.lo.u32 %r5, %r1, {size};
    cvt.u64.u32 %rd5, %r5;
    add.u64 %rd6, %rd2, %rd5;
    mov.u32 %r6, tile;
    add.u32 %r6, %r6, %r5;
    cp.async.{how}.shared.global [%r6], [%rd6], {size}{read};
    cp.async.wait_all;
    bar.sync 0;
    ld.shared.u32 %r7, [%r6];
    st.global.u32 [%rd3], %r7;"""


MATRIX = f"""    {{index}}
    mov.u32 %r6, tile;
    add.u32 %r6, %r6, %r5;
    st.shared.v4.u32 [%r6], {{{{%r1, %r1, %r1, %r1}}}};
    bar.sync 0;
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{{%r7, %r8, %r9, %r10}}}}, [%r6];{ALL_FOUR}
    st.global.u32 [%rd3], %r7;"""
KERNELS = {
    "coalesced": _load("shl.b32 %r5, %r1, 2;"),
    "strided_2": _load("shl.b32 %r5, %r1, 3;"),
    "strided_8": _load("shl.b32 %r5, %r1, 5;"),
    "column": _load("shl.b32 %r5, %r1, 7;"),
    "misaligned": _load("shl.b32 %r5, %r1, 2;\n    add.u32 %r5, %r5, 4;"),
    "broadcast": _load("and.b32 %r5, %r1, 0;"),
    "loads_16_bytes": _load("shl.b32 %r5, %r1, 4;", "v4.u32", FOUR),
    "loads_bytes": _load("mov.u32 %r5, %r1;", "u8"),
    "half_of_the_lanes": "    and.b32 %r5, %r1, 1;\n    setp.eq.u32 %p1, %r5, 1;\n    mov.u32 %r7, 5;\n"
    "    @%p1 st.global.u32 [%rd3], %r7;",
    "bank_words": _tile("shl.b32 %r5, %r1, 2;"),
    "bank_2_way": _tile("shl.b32 %r5, %r1, 3;"),
    "bank_8_way": _tile("shl.b32 %r5, %r1, 5;"),
    "bank_32_way": _tile("shl.b32 %r5, %r1, 7;"),
    "bank_padded": _tile("mul.lo.u32 %r5, %r1, 132;"),
    "bank_16_bytes": _tile("shl.b32 %r5, %r1, 4;", "v4.u32", FOUR, ONES),
    "bank_16_bytes_of_128": _tile("shl.b32 %r5, %r1, 7;", "v4.u32", FOUR, ONES),
    "ldmatrix_rows_of_128": MATRIX.format(index="shl.b32 %r5, %r1, 7;"),
    "ldmatrix_swizzled": MATRIX.format(
        index="and.b32 %r5, %r1, 7;\n    shl.b32 %r5, %r5, 4;\n    mad.lo.u32 %r5, %r1, 128, %r5;"
    ),
    "divergent": """    setp.lt.u32 %p1, %r1, 13;
    mov.u32 %r7, 1;
    @!%p1 bra UPPER;
    ld.global.u32 %r7, [%rd2];
    bra BOTH;
UPPER:
    ld.global.u32 %r7, [%rd2+4096];
BOTH:
    st.global.u32 [%rd3], %r7;""",
    "multiply_adds": _load("shl.b32 %r5, %r1, 2;", "f32", "%f1", "%r5").replace(
        "    st.global.u32 [%rd3], %r5;", "    fma.rn.f32 %f1, %f1, %f1, %f1;\n" * 16 + "    st.global.f32 [%rd3], %f1;"
    ),
    "shuffles": "    mov.u32 %r7, %r1;\n"
    + "".join(
        f"    shfl.sync.bfly.b32 %r8, %r7, {far}, 31, 0xffffffff;\n    add.u32 %r7, %r7, %r8;\n"
        for far in (1, 2, 4, 8, 16)
    )
    + "    st.global.u32 [%rd3], %r7;",
    "copies_4_bytes": _copy(4),
    "copies_16_bytes": _copy(16),
    "copies_of_zeros": _copy(16, 0),
    "skipped_by_a_warp": """    setp.lt.u32 %p1, %r1, 32;
    mov.u32 %r7, 1;
    @%p1 ld.global.u32 %r7, [%rd3+4096];
    st.global.u32 [%rd3], %r7;""",
}
"""Bodies; each is launched with one block of 64 threads."""


LIBRARY = {
    "scalar": "f32", "tiled": "f32", "mma": "bf16", "swizzle": "bf16", "pipelined": "bf16", "decode_gqa": "bf16",
}  # fmt: skip
"""Kernels of the library, with their element types."""
NAMES = (*KERNELS, *LIBRARY)


def launch(name: str, device: str) -> Counters | None:
    """Runs a kernel; on the emulator it is counted."""
    counts = device != "gpu"
    if name in LIBRARY:
        return _library(name, device, counts)
    text = FRAME.format(name=name, body=KERNELS[name])
    out, x = np.zeros(4096, np.uint32), np.arange(16384, dtype=np.float32)
    return pl.launch(text, 1, 64, out, x, device=device, counters=counts).counters


def _built(name: str) -> Any:
    """A kernel of the library."""
    spec: Any = kernels.get(name, "decode") if name == "decode_gqa" else kernels.get(name, "prefill")
    return spec.build(head_dim=64, dtype=LIBRARY[name], arch="sm_90")


def machine_code(name: str) -> list[str]:
    """The opcodes of what the assembler makes of a kernel; none where there is no assembler or disassembler."""
    try:
        made = sass(_built(name).ptx if name in LIBRARY else FRAME.format(name=name, body=KERNELS[name]), "sm_90")
    except UnavailableError:
        return []
    return [instruction.opcode for function in made.functions for instruction in function.instructions]


def _library(name: str, device: str, counts: bool) -> Counters | None:
    """A kernel of the library: two heads of 128 positions and head_dim 64, the same text on both machines."""
    dtype, built = {"f32": "float32", "bf16": "bfloat16"}[LIBRARY[name]], _built(name)
    if name == "decode_gqa":
        q, k, v = reference.random_inputs(1, 8, 2, 1, 128, 64, dtype=dtype)
        return pl.decode(q[:, :, 0], k, v, 128, kernel=built, splits=1, device=device, counters=counts).counters
    q, k, v = reference.random_inputs(1, 2, 2, 128, 128, 64, dtype=dtype)
    return pl.attention(q, k, v, kernel=built, device=device, counters=counts).counters


def main() -> None:
    """Launches on the GPU."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", choices=NAMES, metavar="KERNEL")
    for name in parser.parse_args().names:
        launch(name, "gpu")


if __name__ == "__main__":
    main()
