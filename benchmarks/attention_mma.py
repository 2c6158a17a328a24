"""Flash attention on tensor-core instructions, beside numpy: `python benchmarks/attention_mma.py [--write]`.

One head, N = 1024, D = 64, not causal, f16 and bf16 with f32 sums; numpy does the same in f32 with one thread. The
kernel is what a GPU would get: four warps of 16 query rows, tiles of 64 keys that cp.async brings in while the tile
before is multiplied, rows swizzled in shared memory so that ldmatrix meets no bank conflict, mma.sync for S = Q*K' and
O += P*V, and the running maximum and sum of FlashAttention-2. One worker, memcheck on, processor time. The three take
turns; a ratio is that of the lower quartiles, and beside it stand the best of each. `--write` keeps the lines in
benchmarks/results/attention_mma.md, one paragraph for each CPU. Goals: 0.7 of numpy's time for f16, 0.5 for bf16.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # numpy is to use one thread; it reads this when it is imported
for _name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(_name, None)  # numpy chooses its own kernels

import argparse
import ctypes
import math
import platform
import time
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np

from ptxlab.emulate import Memory, lower
from ptxlab.emulate.jit import run as launch
from ptxlab.emulate.jit.building import build
from ptxlab.emulate.jit.matrices.half_forms import vectors
from ptxlab.emulate.jit.native import code as native
from ptxlab.emulate.runtime.report import Launch
from ptxlab.text import parse

D, ROWS, KEYS, WARPS = 64, 64, 64, 4
"""Width of a head; rows of Q a block; rows of K and V a tile; warps a block."""
TILE = KEYS * D * 2
"""Bytes of a tile."""
RESULT = Path(__file__).parent / "results" / "attention_mma.md"
STEPS = range(D // 16)

Emit = Callable[[str], None]
"""Takes a line of PTX."""


def attention_ptx(type_: str) -> str:
    """The kernel `attention(q, k, v, o, tiles, scale)` for `type_` "f16" or "bf16"; scale includes log2(e)."""
    out = [
        f".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry attention(.param .u64 q, .param .u64 k, "
        f".param .u64 v, .param .u64 o, .param .u32 tiles, .param .f32 scale)\n.reqntid {32 * WARPS}\n{{",
        f".shared .align 128 .b8 tile_k[{2 * TILE}];\n.shared .align 128 .b8 tile_v[{2 * TILE}];",
        ".reg .pred %more, %next;\n.reg .b32 %t<8>, %q<16>, %p<16>, %b<4>, %row_k<4>, %row_v<4>, %to_k, %to_v, %flip;",
        ".reg .b32 %tile, %tiles, %ahead;\n.reg .b64 %pq, %pk, %pv, %po, %at;",
        ".reg .f32 %s<32>, %o<32>, %top<2>, %sum<2>, %peak, %other, %shrink, %low, %scale;",
    ]
    emit = out.append
    for line in """
    ld.param.u64 %pq, [q]; ld.param.u64 %pk, [k]; ld.param.u64 %pv, [v]; ld.param.u64 %po, [o];
    ld.param.u32 %tiles, [tiles]; ld.param.f32 %scale, [scale];
    mov.u32 %t0, %tid.x; and.b32 %t1, %t0, 31; shr.u32 %t2, %t0, 5; shr.u32 %t3, %t1, 2; and.b32 %t4, %t1, 3;
    // this lane's part of Q and O: row 16*warp + lane/4 of the block, 4 bytes at 4*(lane%4)
    mov.u32 %t5, %ctaid.x; shl.b32 %t5, %t5, 6; shl.b32 %t2, %t2, 4; add.u32 %t5, %t5, %t2; add.u32 %t5, %t5, %t3;
    shl.b32 %t5, %t5, 7; shl.b32 %t4, %t4, 2; add.u32 %t5, %t5, %t4; cvt.u64.u32 %at, %t5;
    add.u64 %pq, %pq, %at; add.u64 %po, %po, %at;
    // ldmatrix: lanes 8*j to 8*j + 7 name the rows of matrix j; 16-byte column c of row r lies at c ^ (r & 7)
    and.b32 %t2, %t1, 7; shr.u32 %t3, %t1, 3; and.b32 %t4, %t3, 1; shr.u32 %t3, %t3, 1;""".splitlines()[1:]:
        emit(line)
    for j in STEPS:
        for name, column, row, start in (("row_k", "%t4", "%t3", "tile_k"), ("row_v", "%t3", "%t4", "tile_v")):
            emit(f"add.u32 %t5, {column}, {2 * j}; xor.b32 %t5, %t5, %t2; shl.b32 %t5, %t5, 4;")
            emit(f"shl.b32 %t6, {row}, 3; add.u32 %t6, %t6, %t2; shl.b32 %t6, %t6, 7; add.u32 %t5, %t5, %t6;")
            emit(f"mov.u32 %t6, {start}; add.u32 %{name}{j}, %t5, %t6;")
    for line in """
    // cp.async: thread i brings column i%8 of row i/8, and of the rows 16, 32, 48 below
    and.b32 %t1, %t0, 7; shr.u32 %t2, %t0, 3; and.b32 %t3, %t2, 7; xor.b32 %t3, %t3, %t1; shl.b32 %t3, %t3, 4;
    shl.b32 %t2, %t2, 7; add.u32 %t3, %t3, %t2; mov.u32 %t4, tile_k; add.u32 %to_k, %t3, %t4;
    mov.u32 %t4, tile_v; add.u32 %to_v, %t3, %t4;
    shl.b32 %t0, %t0, 4; cvt.u64.u32 %at, %t0; add.u64 %pk, %pk, %at; add.u64 %pv, %pv, %at;""".splitlines()[1:]:
        emit(line)
    for step in STEPS:
        for i in range(4):
            emit(f"ld.global.b32 %q{4 * step + i}, [%pq + {32 * step + 16 * (i >> 1) + 1024 * (i & 1)}];")
    _bring(emit)
    for half in range(2):
        emit(f"mov.f32 %top{half}, 0fFF800000; mov.f32 %sum{half}, 0f00000000;")
    for i in range(32):
        emit(f"mov.f32 %o{i}, 0f00000000;")
    emit("mov.u32 %tile, 0;\nLOOP:")
    # the next tile goes into the other half of the buffers
    emit("add.u32 %ahead, %tile, 1; setp.lt.u32 %next, %ahead, %tiles; and.b32 %flip, %tile, 1;")
    emit(f"mul.lo.u32 %flip, %flip, {-2 * TILE}; add.s32 %flip, %flip, {TILE};")
    emit("add.s32 %to_k, %to_k, %flip; add.s32 %to_v, %to_v, %flip; @!%next bra LAST;")
    _bring(emit)
    emit("cp.async.wait_group 1; bra READY;\nLAST:\ncp.async.wait_group 0;\nREADY:\nbar.sync 0;")
    for i in range(32):
        emit(f"mov.f32 %s{i}, 0f00000000;")
    _products(emit, type_, "s", "q", lambda step, pair: ("", f"%row_k{step} + {2048 * pair}"))
    _softmax(emit)
    for step in STEPS:
        for i in range(4):
            n = 8 * step + 4 * (i >> 1) + 2 * (i & 1)
            emit(f"cvt.rn.{type_}x2.f32 %p{4 * step + i}, %s{n + 1}, %s{n};")
    _products(emit, type_, "o", "p", lambda step, pair: (".trans", f"%row_v{pair} + {2048 * step}"))
    for j in STEPS:
        emit(f"add.s32 %row_k{j}, %row_k{j}, %flip; add.s32 %row_v{j}, %row_v{j}, %flip;")
    emit("bar.sync 0; mov.u32 %tile, %ahead; @%next bra LOOP;")
    for half in range(2):
        for lanes in (1, 2):
            emit(f"shfl.sync.bfly.b32 %other, %sum{half}, {lanes}, 31, -1; add.f32 %sum{half}, %sum{half}, %other;")
        emit(f"rcp.approx.f32 %sum{half}, %sum{half};")
    for n in range(8):
        for half in range(2):
            a, b = (f"%o{4 * n + 2 * half + odd}" for odd in (0, 1))
            emit(f"mul.f32 {a}, {a}, %sum{half}; mul.f32 {b}, {b}, %sum{half};")
            emit(f"cvt.rn.{type_}x2.f32 %t0, {b}, {a}; st.global.b32 [%po + {16 * n + 1024 * half}], %t0;")
    emit("ret;\n}")
    return "\n".join(out) + "\n"


def _bring(emit: Emit) -> None:
    """Starts the copies of the next tile of K and V."""
    for n in range(4):
        for name in "kv":
            emit(f"cp.async.cg.shared.global [%to_{name} + {2048 * n}], [%p{name} + {2048 * n}], 16;")
    emit(f"cp.async.commit_group; add.u64 %pk, %pk, {TILE}; add.u64 %pv, %pv, {TILE};")


def _products(emit: Emit, type_: str, sums: str, left: str, where: Callable[[int, int], tuple[str, str]]) -> None:
    """64 columns of `sums` += `left` times a tile; `where` says how the 16x16 pieces of the tile are loaded."""
    for step in STEPS:
        for pair in range(4):
            trans, address = where(step, pair)
            emit(f"ldmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 {{%b0, %b1, %b2, %b3}}, [{address}];")
            for odd in range(2):
                first = 4 * (2 * pair + odd)
                d = ", ".join(f"%{sums}{first + i}" for i in range(4))
                a = ", ".join(f"%{left}{4 * step + i}" for i in range(4))
                emit(
                    f"mma.sync.aligned.m16n8k16.row.col.f32.{type_}.{type_}.f32 {{{d}}}, {{{a}}}, "
                    f"{{%b{2 * odd}, %b{2 * odd + 1}}}, {{{d}}};"
                )


def _softmax(emit: Emit) -> None:
    """The running maximum and sum of two rows a lane; S becomes P, and O shrinks by how much the maximum has grown."""
    for half in range(2):
        mine = [f"%s{4 * n + 2 * half + odd}" for n in range(8) for odd in range(2)]
        emit(f"max.f32 %peak, {mine[0]}, {mine[1]};")
        for s in mine[2:]:
            emit(f"max.f32 %peak, %peak, {s};")
        for lanes in (1, 2):
            emit(f"shfl.sync.bfly.b32 %other, %peak, {lanes}, 31, -1; max.f32 %peak, %peak, %other;")
        emit(f"max.f32 %peak, %peak, %top{half}; sub.f32 %shrink, %top{half}, %peak;")
        emit(f"mul.f32 %shrink, %shrink, %scale; ex2.approx.f32 %shrink, %shrink; mov.f32 %top{half}, %peak;")
        emit(f"mul.f32 %low, %peak, %scale; neg.f32 %low, %low; mul.f32 %sum{half}, %sum{half}, %shrink;")
        for s in mine:
            emit(f"fma.rn.f32 {s}, {s}, %scale, %low; ex2.approx.f32 {s}, {s}; add.f32 %sum{half}, %sum{half}, {s};")
            emit(f"mul.f32 {s.replace('s', 'o')}, {s.replace('s', 'o')}, %shrink;")


class Prepared:
    """The kernel for a type, with its arrays; `run()` launches it and gives seconds."""

    def __init__(self, type_: str, n: int = 1024) -> None:
        dtype = np.float16 if type_ == "f16" else ml_dtypes.bfloat16
        rng = np.random.default_rng(0)
        self.given = [rng.standard_normal((n, D)).astype(dtype) for _ in range(3)]
        self.o = np.zeros((n, D), dtype)
        self.memory, self.program = Memory(), lower(parse(attention_ptx(type_)))
        arrays = dict(zip("qkvo", (*self.given, self.o), strict=True))
        addresses = [self.memory.allocate(x.nbytes, name, x.view(np.uint16)).address for name, x in arrays.items()]
        params = np.array(addresses, np.uint64).tobytes() + np.uint32(n // KEYS).tobytes()
        params += np.float32(math.log2(math.e) / math.sqrt(D)).tobytes()
        self.launch = Launch((n // ROWS, 1, 1), (32 * WARPS, 1, 1), params, workers=1)
        self.run()
        build.prepare(self.program)[0].improve()

    def run(self) -> None:
        launch(self.program, self.launch, self.memory)

    def error(self) -> float:
        """The largest error against float64."""
        exact = _softmaxed(*(x.astype(np.float64) for x in self.given))
        return float(np.abs(self.o.astype(np.float64) - exact).max())


def _softmaxed(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    s = q @ k.T
    s *= q.dtype.type(1 / math.sqrt(D))
    s -= s.max(1, keepdims=True)
    np.exp(s, out=s)
    return np.asarray((s @ v) / s.sum(1, keepdims=True))


def processor_time(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def cpu_class() -> str:
    """The CPU, its name in LLVM, and what its products of halves are made of."""
    host = native.host()
    found = vectors(host.features)
    names = ["NEON, by element" if found.by_element else f"{32 * found.lanes}-bit vectors"]
    names += ["fused multiply-adds"] * found.fused + ["F16C"] * ("+f16c" in host.features)
    info = Path("/proc/cpuinfo")
    read = info.read_text().splitlines() if info.exists() else []
    models = [line.split(":")[1].strip() for line in read if line.startswith("model name")]
    name = models[0] if models else platform.processor()
    return f"{name} ({host.name}; {', '.join(names + ['vdpbf16ps for bf16'] * found.dots)})"


def blas() -> str:
    """Which of its kernels numpy's OpenBLAS runs, where it tells."""
    for path in sorted(Path(np.__file__).parents[1].glob("numpy.libs/*openblas*")):
        name = getattr(ctypes.CDLL(str(path)), "scipy_openblas_get_corename64_", None)
        if name is not None:
            name.restype = ctypes.c_char_p
            return f"OpenBLAS for {name().decode()}"
    return "its BLAS"


def main() -> None:
    """Prints the ratios; `--write` keeps them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--times", type=int, default=60)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((1024, D)).astype(np.float32) for _ in range(3))
    kernels = {type_: Prepared(type_) for type_ in ("f16", "bf16")}
    calls: dict[str, Callable[[], object]] = {"numpy": lambda: _softmaxed(q, k, v)}
    calls |= {type_: kernel.run for type_, kernel in kernels.items()}
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(options.times):
        for name, call in calls.items():
            taken[name].append(processor_time(call))
    quartile = {name: sorted(times)[len(times) // 4] * 1e3 for name, times in taken.items()}
    best = {name: min(times) * 1e3 for name, times in taken.items()}
    versions = f"numpy {np.__version__} with {blas()}, Python {platform.python_version()}"
    lines = [
        f"## {cpu_class()}",
        f"{platform.system()}, {versions}; {time.strftime('%Y-%m-%d')}; {options.times} turns.",
        f"- numpy f32, one thread: {quartile['numpy']:.2f} ms, best {best['numpy']:.2f}",
    ]
    for name, kernel in kernels.items():
        lines.append(
            f"- mma.sync {name}: {quartile[name]:.2f} ms, best {best[name]:.2f}; "
            f"{quartile[name] / quartile['numpy']:.2f} of numpy's time, of the best {best[name] / best['numpy']:.2f}; "
            f"error {kernel.error():.1e}"
        )
    print("\n".join(lines))
    if options.write:
        _keep(lines)


def _keep(lines: list[str]) -> None:
    """Puts the paragraph of this CPU in place of what stood there for it."""
    head = "# Tensor-core attention beside numpy\n\n`python benchmarks/attention_mma.py --write`; no GPU is involved.\n"
    before = RESULT.read_text().split("\n## ")[1:] if RESULT.exists() else []
    others = [part.strip() for part in before if f"## {part}".splitlines()[0] != lines[0]]
    parts = [head, *(f"## {part}\n" for part in others), "\n".join([lines[0], "", lines[1], "", *lines[2:], ""])]
    RESULT.write_text("\n".join(parts))


if __name__ == "__main__":
    main()
