"""Products of a warpgroup, `wgmma`, for `form_programs`: each form on a few layouts of its operands in shared memory.

A kernel of these has one warpgroup: a register of 128 lanes is four rows, and `image` is shared memory for operands.
"""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.gpu import corpus
from benchmarks.gpu.form_matrices import FLOATING, matrix
from benchmarks.gpu.form_rules import EXACT, Array, product_rule
from ptxlab.isa import form
from ptxlab.isa.entries import Op
from ptxlab.isa.fragments import Fragment, product
from ptxlab.isa.table import Form

WARPS = 4
PLAIN = "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16"
"""The product beside forms that only order or wait."""


def takes(entry: Op) -> bool:
    """Whether an entry of the table is one of these."""
    return entry.name == "wgmma"


def add(w: Any, found: Form, n: int) -> None:
    """A form: with small whole numbers, with ones that fill the accumulator, with normal ones."""
    w.threads = 32 * WARPS
    item = w.item(found)
    if not found.shape:
        item.also.append(PLAIN)
        multiply(w, item, form(PLAIN), f"{n}w", "whole", found.opcode)
        return
    multiply(w, item, found, f"{n}w", "whole")
    if found.atype in FLOATING and not found.sparse:
        multiply(w, item, found, f"{n}n", "normal")
    elif found.dtype == "s32" and "satfinite" in found.opcode:
        multiply(w, item, found, f"{n}l", "large")


def layouts(rng: np.random.Generator, found: Form) -> tuple[Any, Any]:
    """Where a and b lie: None for an a in registers. A K-major tile with a swizzle may be one of several in a line; the
    64 bytes along k of a sparse product's b are no less than a swizzle's width, as the canonical layouts have it."""
    layout = corpus.module("warpgroup_programs").Layout
    narrow = found.atype in ("f16", "bf16")
    out = []
    for sparse in (False, bool(found.sparse)):
        major = narrow and bool(rng.integers(2))
        swizzle = int(rng.choice([0, 64, 128] if sparse and not major else [0, 32, 64, 128]))
        inside = 0 if major or sparse else int(rng.integers(max(1, swizzle // 32)))
        gap = int(rng.choice([0, 1024] if swizzle else [0, 16, 48]))
        out.append(layout(swizzle, major, gap, inside))
    return (None if rng.integers(3) == 0 else out[0]), out[1]


def words(of_a: Any, of_b: Any) -> str:
    """Layouts, for a row that tells of a difference."""

    def one(x: Any) -> str:
        if x is None:
            return "registers"
        return f"{'MN' if x.mn_major else 'K'}-major, swizzle {x.swizzle}, gap {x.gap}, piece {x.inside}"

    return f"a: {one(of_a)}; b: {one(of_b)}"


def numbers(rng: np.random.Generator, found: Form, kind: str) -> tuple[Array, Array, Array, Array | None, int]:
    """a (packed where it is sparse), b, c, the metadata of each warp and the selector."""
    p, sparse = product(found), corpus.module("sparse_matrices")
    group = replace_rows(p.a), replace_rows(p.c)
    b, c = matrix(rng, p.b, kind), matrix(rng, group[1], "whole" if kind == "large" else kind)
    if kind == "large":  # near both ends of the accumulator
        c = rng.choice([-(1 << 31), (1 << 31) - 1], c.shape) - np.sign(c) * rng.integers(0, 99, c.shape)
        c = np.clip(c, -(1 << 31), (1 << 31) - 1)
    if not found.sparse:
        return matrix(rng, group[0], kind), b, c, None, 0
    two = found.atype in ("f16", "bf16", "tf32")  # pairs of lanes hold the metadata of 16-bit types, and of tf32
    selector = int(rng.integers(2)) if two else 0
    parts = [sparse.whole_and_packed(rng, found.atype, p.b.rows) for _ in range(WARPS)]
    e = np.stack([sparse.metadata(x[2], found.atype, selector, rng) for x in parts])
    return np.concatenate([x[1] for x in parts]), b, c, e, selector


def replace_rows(f: Fragment) -> Any:
    """The shape of all four warps' fragments together."""
    return replace(f, rows=16 * WARPS)


def image(found: Form, a: Array, b: Array, of_a: Any, of_b: Any) -> tuple[Array, list[int]]:
    """Shared memory with the operands, and their descriptors without the address of its first byte."""
    support = corpus.module("warpgroup_programs")
    memory, descriptors = np.zeros(0, np.uint8), []
    for type_, x, layout in ((found.atype, a, of_a), (found.btype, b.T, of_b)):
        if layout is None:
            descriptors.append(0)
            continue
        lines = support.in_memory(type_, x.T if layout.mn_major else x)
        placed, descriptor = layout.place(lines, -(-memory.size // 1024) * 1024)
        placed[: memory.size] = memory
        memory = placed
        descriptors.append(int(descriptor) - (support.START >> 4))
    return np.concatenate([memory, np.zeros(-memory.size % 1024, np.uint8)]), descriptors


def multiply(w: Any, item: Any, found: Form, name: str, kind: str, of_which: str = "") -> None:
    """One product. What it adds to, the signs and the layouts are drawn by the form's name."""
    programs, p = corpus.module("matrix_programs"), product(found)
    rng = np.random.default_rng(zlib.crc32(f"{of_which or found.opcode} {kind}".encode()))
    of_a, of_b = layouts(rng, found)
    a, b, c, e, selector = numbers(rng, found, kind)
    scale = kind == "large" or bool(rng.integers(4))
    memory, descriptors = image(found, a, b, of_a, of_b)
    w.shared = max(w.shared, memory.size + 1024)
    at = w.given(memory.view(np.uint64).reshape(-1, 32))
    held = "f32" if p.d.type == "f32" else "b32"
    d = [f"%d{name}_{k}" for k in range(p.d.registers)]
    w.add(f".reg .{held} {', '.join(d)};", f".reg .b64 %db{name}, %da{name};", f".reg .b32 %e{name};")
    loaded(w, d, held, p.c, c.astype(programs.NUMPY[p.c.type]))
    group = "{" + ", ".join(d) + "}"
    if of_a is None:
        registers = [f"%a{name}_{k}" for k in range(p.a.registers)]
        w.add(f".reg .b32 {', '.join(registers)};")
        loaded(w, registers, "b32", p.a, a.astype(programs.NUMPY[found.atype]))
    source = f"%da{name}" if of_a is not None else "{" + ", ".join(registers) + "}"
    more = ""
    if e is not None:
        w.add(f"ld.global.b32 %e{name}, [%in+{w.given(e.astype(np.uint64))}];")
        more = f", %e{name}, {selector}"
    signs = tuple(int(x) for x in rng.choice([-1, 1], 2))
    behind, known = "", {spec.name for spec in found.op.operands}
    if "imm_scale_a" in known:
        behind = f", {signs[0]}, {signs[1]}"
    if "imm_trans_a" in known:
        behind += "" if of_a is None else f", {int(of_a.mn_major)}"
        behind += f", {int(of_b.mn_major)}"
    w.add("add.u32 %r1, %image, 0;", "mad.lo.u32 %r1, %lane, 8, %r1;", f"add.u64 %rd1, %in, {at};", "mov.u32 %r2, 0;")
    w.add("bar.sync 0;", f"COPY{name}:", "ld.global.b64 %t, [%rd1];", "st.shared.b64 [%r1], %t;")
    w.add("add.u64 %rd1, %rd1, 1024;", "add.u32 %r1, %r1, 1024;", "add.u32 %r2, %r2, 1024;")
    w.add(f"setp.lt.u32 %p1, %r2, {memory.size};", f"@%p1 bra COPY{name};", "fence.proxy.async;", "bar.sync 0;")
    w.add("shr.u32 %r1, %image, 4;", "cvt.u64.u32 %rd1, %r1;", f"add.u64 %db{name}, %rd1, {descriptors[1]:#x};")
    w.add(f"add.u64 %da{name}, %rd1, {descriptors[0]:#x};", f"setp.{'ne' if scale else 'eq'}.u32 %p2, %image, 0;")
    w.add("wgmma.fence.sync.aligned;", f"{found.opcode} {group}, {source}, %db{name}{more}, %p2{behind};")
    w.add("wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;")
    said = f"{kind} numbers; {words(of_a, of_b)}; {'a * b + d' if scale else 'a * b'}; signs {signs}"
    rule, sizes = replace(EXACT, about=said), np.zeros(())
    if kind == "normal":
        sizes = np.abs(a) @ np.abs(b) + (np.abs(c) if scale else 0)
    type_ = {"f16": "f16x2", "f32": "f32"}.get(p.d.type, "b32")
    for k, register in enumerate(d):
        row = w.room(WARPS)
        w.add(f"st.global.{held} [%out+{256 * row}], {register};")
        for warp in range(WARPS):
            if kind == "normal":
                limits = sizes[16 * warp + p.d.row[k], p.d.column[k]]
                rule = product_rule(p.b.rows, p.d.type, limits, found.atype)
                rule = replace(rule, about=said)
            item.results.append((row + warp, type_, rule, []))


def loaded(w: Any, registers: list[str], held: str, f: Fragment, x: Array) -> None:
    """Registers of all warps, from a matrix of 64 rows."""
    packed = [corpus.module("matrix_programs").pack(f, x[16 * k : 16 * k + 16]) for k in range(WARPS)]
    at = w.given(np.stack(packed, axis=1).reshape(-1, 32))
    w.add(*(f"ld.global.{held} {name}, [%in+{at + 256 * WARPS * k}];" for k, name in enumerate(registers)))
