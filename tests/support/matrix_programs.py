"""Programs with matrix products, and matrices as registers, for the tests of both engines."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from emulate_programs import kernel, run

from ptxlab.isa import form
from ptxlab.isa.fragments import Fragment, Product, product

NUMPY = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "f32": np.float32, "f64": np.float64,
    "s8": np.int8, "u8": np.uint8, "s4": np.int8, "u4": np.uint8, "b1": np.uint8, "s32": np.int32,
    "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
}  # fmt: skip
BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def pack(f: Fragment, matrix: np.ndarray) -> np.ndarray:
    """A matrix as registers: uint64 of shape (registers, 32)."""
    bits = np.ascontiguousarray(matrix).view(BITS[matrix.dtype.itemsize])[f.row, f.column].astype(np.uint64)
    bits &= np.uint64((1 << f.bits) - 1)
    return np.bitwise_or.reduce(bits << shifts(f), axis=1)


def unpack(f: Fragment, registers: np.ndarray) -> np.ndarray:
    """Elements by (register, position, lane), of the fragment's type."""
    cut = registers[:, None, :] >> shifts(f) & np.uint64((1 << f.bits) - 1)
    return cut.astype(BITS[f.bits // 8]).view(NUMPY[f.type])


def shifts(f: Fragment) -> np.ndarray:
    """How far each position in a register is shifted."""
    return (np.arange(f.packed) * f.bits).astype(np.uint64)[:, None]


def program(opcode: str, selector: int | None = None) -> tuple[str, Product]:
    """A kernel that loads a, b and c (and e, where there is a selector), a register every 256 bytes of x, multiplies
    and stores d to out the same way."""
    p = product(form(opcode))
    widths = {name: getattr(p, name).width for name in "abcd"}
    names = {
        name: [f"%{'m' if widths[name] == 32 else 'x'}{name}{i}" for i in range(getattr(p, name).registers)]
        for name in "abcd"
    }
    lines = [
        ".reg .b32 %ma<20>, %mb<20>, %mc<20>, %md<20>;\n    .reg .b64 %xa<20>, %xb<20>, %xc<20>, %xd<20>;",
        "mul.wide.u32 %rd5, %r1, 8;\n    add.u64 %rd6, %rd2, %rd5;\n    add.u64 %rd7, %rd1, %rd5;",
    ]
    at = 0
    for name in "abc":
        for r in names[name]:
            lines.append(f"ld.global.b{widths[name]} {r}, [%rd6+{at}];")
            at += 256
    d, a, b, c = ("{" + ", ".join(names[name]) + "}" for name in "dabc")
    if selector is None:
        lines.append(f"{opcode} {d}, {a}, {b}, {c};")
    else:
        lines.append(f"ld.global.b32 %r3, [%rd6+{at}];\n    {opcode} {d}, {a}, {b}, {c}, %r3, {selector};")
    lines += [f"st.global.b{widths['d']} [%rd7+{256 * i}], {r};" for i, r in enumerate(names["d"])]
    text = kernel("    " + "\n    ".join(lines))
    return text.replace("sm_80", f"sm_{max(80, form(opcode).sm)}"), p


def multiply(
    engine: str,
    opcode: str,
    a: np.ndarray,
    b: np.ndarray,
    c: np.ndarray,
    e: np.ndarray | None = None,
    selector: int | None = None,
) -> np.ndarray:
    """Runs a product on registers, each (registers, 32) of uint64; d as such. e (32) and selector: of a sparse one."""
    text, p = program(opcode, selector)
    x = np.zeros((64, 32), np.uint64)
    given = np.concatenate([a, b, c] if e is None else [a, b, c, e[None].astype(np.uint64)])
    x[: len(given)] = given
    return run(engine, text, x=x, out=np.zeros((32, 32), np.uint64))[0][: p.d.registers]
