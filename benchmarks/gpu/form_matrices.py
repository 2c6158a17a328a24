"""Matrix instructions for `form_programs`: products of small whole numbers (exact in any order) and of normal ones."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from benchmarks.gpu import corpus
from benchmarks.gpu.form_rules import EXACT, Array, product_rule
from ptxlab.isa import form, types
from ptxlab.isa.fragments import Fragment, product
from ptxlab.isa.table import Form

FLOATING = ("f16", "bf16", "tf32", "f64", "e4m3", "e5m2")


def add(w: Any, found: Form, n: int) -> None:
    """A form of any matrix instruction."""
    name = found.op.name
    if name == "mma":
        multiply(w, found, n)
    elif name == "movmatrix":
        at = w.given(np.random.default_rng(3).integers(0, 1 << 32, (1, 32), np.uint64))
        item = w.item(found)
        w.add(f".reg .b32 %m{n}, %v{n};", f"ld.global.b32 %v{n}, [%in+{at}];", f"{found.opcode} %m{n}, %v{n};")
        w.store(item, f"%m{n}", "b32")
    elif name in ("ldmatrix", "stmatrix"):
        rows(w, found, n)
    else:
        tiles(w, found, n)


def rows(w: Any, found: Form, n: int) -> None:
    """ldmatrix and stmatrix: lane n names the 16 bytes at tile + 16 n."""
    count = int(found.num[1:])
    names = [f"%m{n}_{k}" for k in range(count)]
    item = w.item(found)
    w.add(f".reg .b32 {', '.join(names)}, %a{n};", f".reg .b64 %g{n};", f"mov.u32 %a{n}, tile;")
    w.add(f"mad.lo.u32 %a{n}, %lane, 16, %a{n};", f"cvt.u64.u32 %g{n}, %a{n};", f"cvta.shared.u64 %g{n}, %g{n};")
    at = f"%a{n}" if found.space else f"%g{n}"
    group = "{" + ", ".join(names) + "}"
    w.add("mad.lo.u32 %w, %lane, -24, %tile;")
    for k in range(2):  # 512 bytes, 8 a lane and step
        w.add(f"ld.global.b64 %t, [%in+{256 * k}];" if found.op.name == "ldmatrix" else "mov.b64 %t, 0;")
        w.add(f"st.shared.b64 [%w+{256 * k}], %t;")
    w.add("bar.warp.sync -1;")
    if found.op.name == "ldmatrix":
        w.add(f"{found.opcode} {group}, [{at}];")
        for name in names:
            w.store(item, name, "b32")
    else:
        w.add(*(f"ld.global.b32 {x}, [%in+{256 * k}];" for k, x in enumerate(names)))
        w.add(f"{found.opcode} [{at}], {group};", "bar.warp.sync -1;")
        for k in range(2):
            w.add(f"ld.shared.b64 %t, [%w+{256 * k}];")
            w.store(item, "%t", "b64")
    w.add("bar.warp.sync -1;")


def matrix(rng: np.random.Generator, f: Fragment, kind: str) -> Array:
    """A matrix for a fragment: small "whole" numbers, or "normal" ones that the type holds exactly."""
    if kind == "whole" or f.type not in (*FLOATING, "f32"):
        low, high = {"b1": (0, 2), "u8": (0, 5), "u4": (0, 5)}.get(f.type, (-4, 5))
        return rng.integers(low, high, (f.rows, f.columns))
    x = rng.standard_normal((f.rows, f.columns))
    if f.type == "tf32":
        bits = x.astype(np.float32).view(np.uint32) & np.uint32(0xFFFFE000)
        return bits.view(np.float32).astype(np.float64)
    return x.astype(corpus.module("matrix_programs").NUMPY[f.type]).astype(np.float64)


def multiply(w: Any, found: Form, n: int) -> None:
    """mma and mma.sp: once with small whole numbers, once with normal ones (of dense products of floats)."""
    programs, sparse = corpus.module("matrix_programs"), corpus.module("sparse_matrices")
    p, rng = product(found), np.random.default_rng(n)
    item = w.item(found)
    depth = p.b.rows
    for kind in ("whole", "normal") if found.atype in FLOATING and not found.sparse else ("whole",):
        a, b, c = (matrix(rng, f, kind) for f in (p.a, p.b, p.c))
        words: list[list[str]] = []
        if found.sparse:
            _, a, words = sparse.whole_and_packed(rng, found.atype, depth)
        given = [programs.pack(f, x.astype(programs.NUMPY[f.type])) for f, x in ((p.a, a), (p.b, b), (p.c, c))]
        names = {
            m: [f"%{m}{n}{kind[0]}{k}" for k in range(f.registers)]
            for m, f in zip("abcd", (p.a, p.b, p.c, p.d), strict=True)
        }
        for m, f in zip("abcd", (p.a, p.b, p.c, p.d), strict=True):
            w.add(f".reg .b{f.width} {', '.join(names[m])};")
        for m, bits, f in zip("abc", given, (p.a, p.b, p.c), strict=True):
            at = w.given(bits)
            w.add(*(f"ld.global.b{f.width} {x}, [%in+{at + 256 * k}];" for k, x in enumerate(names[m])))
        text = f"{found.opcode} " + ", ".join("{" + ", ".join(names[m]) + "}" for m in "dabc")
        if found.sparse:
            at = w.given(sparse.metadata(words, found.atype, 0, rng)[None].astype(np.uint64))
            w.add(f"ld.global.b32 %w, [%in+{at}];")
            text += ", %w, 0"
        w.add(text + ";")
        rule = EXACT
        if kind == "normal":
            sizes = np.abs(a) @ np.abs(b) + np.abs(c)
            accumulator = p.d.type
        for k, name in enumerate(names["d"]):
            if kind == "normal":
                rule = product_rule(depth, accumulator, sizes[p.d.row[k], p.d.column[k]])
            type_ = {"f16": "f16x2", "f32": "f32", "f64": "f64"}.get(p.d.type, f"b{p.d.width}")
            w.store(item, name, type_, rule)


# -- wmma --------------------------------------------------------------------------------------------------------------


def stored_bytes(x: Array, type_: str, layout: str) -> bytes:
    """A matrix in memory, rows or columns one after the other."""
    lines = x if layout == "row" else x.T
    if type_ in ("s4", "u4", "b1"):
        bits = types.width(type_)
        flat = (np.ascontiguousarray(lines).reshape(-1, 8 // bits) & ((1 << bits) - 1)).astype(np.uint32)
        return (flat << (bits * np.arange(8 // bits, dtype=np.uint32))).sum(1).astype(np.uint8).tobytes()
    kind = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "f32": np.float32, "f64": np.float64,
            "s8": np.int8, "u8": np.uint8, "s32": np.int32}[type_]  # fmt: skip
    return np.ascontiguousarray(lines.astype(kind)).tobytes()


_WMMA = "wmma.mma.sync.aligned.{a}.{b}.{shape}"
PRODUCTS = {
    "f16": f"{_WMMA}.{{d}}.{{d}}",
    "bf16": f"{_WMMA}.f32.bf16.bf16.f32",
    "tf32": f"{_WMMA}.f32.tf32.tf32.f32",
    "f64": f"{_WMMA}.f64.f64.f64.f64",
    **{t: f"{_WMMA}.s32.{t}.{t}.s32" for t in ("s8", "u8", "s4", "u4")},
    "b1": "wmma.mma.xor.popc.sync.aligned.row.col.{shape}.s32.b1.b1.s32",
}
"""A product for fragments of each element type; where a fragment's layout is known to the hardware alone, what a load
has done is seen in a product."""


def product_with(found: Form) -> str:
    """The opcode of a product that takes what a load gives, or gives what a store takes."""
    layout, shape, type_ = found.layout, found.shape, found.type
    if found.matrix in "ab":
        by_matrix = {found.matrix: layout, "ab".replace(found.matrix, ""): "col" if found.matrix == "a" else "row"}
        return PRODUCTS[type_].format(a=by_matrix["a"], b=by_matrix["b"], shape=shape, d="f32")
    element = {"f16": "f16", "f64": "f64"}.get(type_)
    if type_ == "f32":
        element = "tf32" if shape == "m16n16k8" else "f16"
    if type_ == "s32":
        element = {"m8n8k32": "s4", "m8n8k128": "b1"}.get(shape, "s8")
    return PRODUCTS[element or "f16"].format(a="row", b="col", shape=shape, d="f16" if type_ == "f16" else "f32")


def tiles(w: Any, found: Form, n: int) -> None:
    """wmma: a, b and c loaded, multiplied, d stored; one of the four instructions is the form. d is compared."""
    chosen = "mma" if not found.matrix else "store" if found.op.syntax.startswith("wmma.store") else found.matrix
    opcode = found.opcode if chosen == "mma" else product_with(found)
    multiplied = form(opcode)
    p, rng = product(multiplied), np.random.default_rng(n)
    layouts = {"a": multiplied.alayout or "row", "b": multiplied.blayout or "col", "c": "row"}
    if chosen in ("a", "b", "c"):
        layouts[chosen] = found.layout
    item = w.item(found, also=[] if chosen == "mma" else [opcode])
    held: dict[str, Fragment] = {"a": p.a, "b": p.b, "c": p.c, "d": p.d}
    names = {m: [f"%{m}{n}_{k}" for k in range(f.registers)] for m, f in held.items()}
    for m, f in held.items():
        w.add(f".reg .b{f.width} {', '.join(names[m])};")
    for m in "abc":
        f = held[m]
        raw = stored_bytes(matrix(rng, f, "whole"), f.type, layouts[m])
        padded = np.frombuffer(raw + bytes(-len(raw) % 256), np.uint64).reshape(-1, 32)
        at, space = w.given(padded), ".global"
        group, base = "{" + ", ".join(names[m]) + "}", f"%inall+{at}"
        loaded = f"wmma.load.{m}.sync.aligned.{layouts[m]}.{multiplied.shape}{space}.{f.type}"
        if chosen == m:
            loaded, base = found.opcode, in_space(w, found, base, at, len(padded))
        else:
            item.also.append(loaded)
        w.add(f"{loaded} {group}, [{base}];")
    w.add(f"{opcode} " + ", ".join("{" + ", ".join(names[m]) + "}" for m in "dabc") + ";")
    size = p.d.rows * p.d.columns * types.width(p.d.type) // 8
    row, group = w.room(-(-size // 256)), "{" + ", ".join(names["d"]) + "}"
    count = -(-size // 256)
    if chosen == "store":
        stored = found.opcode
        if (found.space or "").startswith("shared"):
            w.add(f"{stored} [tile], {group};", "bar.warp.sync -1;", "mad.lo.u32 %w, %lane, -24, %tile;")
            for k in range(count):
                w.add(f"ld.shared.b64 %t, [%w+{256 * k}];", f"st.global.b64 [%out+{256 * (row + k)}], %t;")
            w.add("bar.warp.sync -1;")
        else:
            w.add(f"{stored} [%outall+{256 * row}], {group};")
    else:
        stored = f"wmma.store.d.sync.aligned.row.{multiplied.shape}.global.{p.d.type}"
        item.also.append(stored)
        w.add(f"{stored} [%outall+{256 * row}], {group};")
    item.results += [(row + k, "b64", EXACT, []) for k in range(count)]


def in_space(w: Any, found: Form, base: str, at: int, rows: int) -> str:
    """The address of a matrix in the space that a load names: in shared memory it is copied there."""
    if not (found.space or "").startswith("shared"):
        return base
    w.add("mad.lo.u32 %w, %lane, -24, %tile;")
    for k in range(rows):
        w.add(f"ld.global.b64 %t, [%in+{at + 256 * k}];", f"st.shared.b64 [%w+{256 * k}], %t;")
    w.add("bar.warp.sync -1;")
    return "tile"
