"""Who holds which element of a matrix, against the manual's formulas, and that nobody is left out."""

from __future__ import annotations

import numpy as np
import pytest

from ptxlab.isa import TABLE, Form, form
from ptxlab.isa import fragments as F
from ptxlab.isa.entries import Op

G, T = np.arange(32) // 4, np.arange(32) % 4
"""The manual's groupID and threadID_in_group."""


def flat(f: F.Fragment) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns by (element, lane), elements numbered as the manual numbers a0, a1, ..."""
    return f.row.reshape(-1, 32), f.column.reshape(-1, 32)


def expect(f: F.Fragment, row: object, column: object) -> None:
    """Compares with functions of the element's number."""
    rows, columns = flat(f)
    for i in range(len(rows)):
        assert (rows[i] == row(i)).all(), i  # type: ignore[operator]
        assert (columns[i] == column(i)).all(), i  # type: ignore[operator]


def product(opcode: str) -> F.Product:
    return F.product(form(f"mma.sync.aligned.{opcode}"))


def test_m16n8k16_f16() -> None:
    p = product("m16n8k16.row.col.f32.f16.f16.f32")
    expect(p.a, lambda i: G + 8 * (i in (2, 3, 6, 7)), lambda i: 2 * T + (i & 1) + 8 * (i >= 4))
    expect(p.b, lambda i: 2 * T + (i & 1) + 8 * (i >= 2), lambda i: G)
    expect(p.c, lambda i: G + 8 * (i >= 2), lambda i: 2 * T + (i & 1))


def test_m16n8k8_tf32() -> None:
    p = product("m16n8k8.row.col.f32.tf32.tf32.f32")
    expect(p.a, lambda i: G + 8 * (i in (1, 3)), lambda i: T + 4 * (i >= 2))
    expect(p.b, lambda i: T + 4 * i, lambda i: G)


def test_m16n8k32_s8() -> None:
    p = product("m16n8k32.row.col.s32.s8.u8.s32")
    expect(p.a, lambda i: G + 8 * (4 <= i < 8 or i >= 12), lambda i: 4 * T + (i & 3) + 16 * (i >= 8))
    expect(p.b, lambda i: 4 * T + (i & 3) + 16 * (i >= 4), lambda i: G)


def test_m16n8k16_f64() -> None:
    p = product("m16n8k16.row.col.f64.f64.f64.f64")
    expect(p.a, lambda i: G + 8 * (i & 1), lambda i: T + 2 * (i - (i & 1)))
    expect(p.b, lambda i: T + 4 * i, lambda i: G)


def test_m8n8k4_f16_is_four_products() -> None:
    p = product("m8n8k4.row.col.f32.f16.f16.f32")
    lane = np.arange(32)
    quad, upper = (lane & 15) // 4, 4 * (lane >= 16)
    expect(p.a, lambda i: 8 * quad + lane % 4 + upper, lambda i: i)
    expect(p.b, lambda i: i, lambda i: 8 * quad + lane % 4 + upper)
    expect(p.c, lambda i: 8 * quad + (lane & 1) + (i & 2) + upper, lambda i: 8 * quad + (i & 4) + (lane & 2) + (i & 1))


def test_ldmatrix_and_its_transpose() -> None:
    plain, turned = F.rows_of_8(4, False), F.rows_of_8(4, True)
    expect(plain, lambda i: 8 * (i // 2) + G, lambda i: 2 * T + (i & 1))
    expect(turned, lambda i: 8 * (i // 2) + 2 * T + (i & 1), lambda i: G)


def _forms() -> dict[str, list[Form]]:
    """Opcode -> each combination of the slots that decide about fragments."""
    deciding = ("shape", "dtype", "atype", "ctype", "type", "matrix", "num", "alayout", "blayout")

    def words(op: Op) -> list[str]:
        out = [op.name]
        for slot in op.slots:
            if slot.optional:
                continue
            some = slot.choices if slot.name in deciding else slot.choices[:1]
            out = [f"{o}.{c}" for o in out for c in some]
        return out

    matrices = {name: [op for op in entries if op.kind == "warp"] for name, entries in TABLE.items()}
    return {
        name: [form(n) for n in dict.fromkeys(w for op in entries for w in words(op))]
        for name, entries in matrices.items()
        if entries
    }


@pytest.mark.parametrize("forms", _forms().values(), ids=_forms())
def test_every_element_is_held(forms: list[Form]) -> None:
    for one in forms:
        all_held(one)


def all_held(one: Form) -> None:
    """Each element of each operand is in a register of a lane, and the lane's register leads back to it."""
    for name, f in F.operands(one).items():
        if one.shape == "m8n8k4" and f.rows == f.columns == 32:  # four 8x8 blocks on the diagonal
            held = np.kron(np.eye(4), np.ones((8, 8))) > 0
        else:
            held = np.ones((f.rows, f.columns), np.bool_)
        assert ((f.first >= 0) == held).all(), (one.opcode, name)
        row, column = f.element(5, f.registers - 1)
        assert (5, f.registers - 1, 0) in f.where(row, column), (one.opcode, name)
