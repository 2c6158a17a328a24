"""Addresses in a cluster, its barrier, and tensor maps that a kernel changes, for `form_programs`.

One warp is a cluster of its own: its rank is 0, and what an address there leads to is compared, not the address.
"""

from __future__ import annotations

from typing import Any

from benchmarks.gpu.form_copies import ROOM
from benchmarks.gpu.form_rules import EXACT
from ptxlab.isa.entries import Op
from ptxlab.isa.table import Form
from ptxlab.isa.tensor_map import FIELDS

VALUES = {
    "global_address": 0x7F12345670, "rank": 3, "box_dim": 17, "global_dim": 1000, "element_stride": 3,
    "global_stride": 0x123450, "elemtype": 5, "interleave_layout": 1, "swizzle_mode": 2, "fill_mode": 1,
}  # fmt: skip
"""What is written to each field of a tensor map."""


def takes(entry: Op) -> bool:
    """Whether an entry of the table is one of these."""
    cluster = entry.name == "barrier" and ".cluster" in entry.syntax
    return cluster or entry.name in ("mapa", "getctarank", "tensormap")


def add(w: Any, found: Form, n: int) -> None:
    """A form of any of them."""
    w.shared = max(w.shared, ROOM + 1024)
    w.add("mad.lo.u32 %r1, %lane, 8, %image;", "ld.global.b64 %t, [%in];", "st.shared.b64 [%r1], %t;")
    if found.op.name == "barrier":
        barrier(w, found)
    elif found.op.name != "tensormap":
        address(w, found)
    elif "replace" in found.opcode:
        change(w, found, n)
    else:
        copy(w, found)
    w.add("bar.warp.sync -1;")


def barrier(w: Any, found: Form) -> None:
    """What the next lane has stored before the barrier."""
    item, arrives = w.item(found), ".arrive" in found.opcode
    w.add("xor.b32 %r2, %lane, 1;", "mad.lo.u32 %r2, %r2, 8, %image;")
    if "relaxed" in found.opcode:
        w.add("fence.acq_rel.cluster;")
    w.add(f"{found.opcode if arrives else 'barrier.cluster.arrive'};")
    w.add(f"{'barrier.cluster.wait' if arrives else found.opcode};", "ld.shared.b64 %t, [%r2];")
    w.store(item, "%t", "b64")


def address(w: Any, found: Form) -> None:
    """mapa: what is at the address that the lane's own has in the block of rank 0. getctarank: that rank."""
    item = w.item(found)
    w.add("cvt.u64.u32 %rd1, %r1;", *([] if found.space else ["cvta.shared.u64 %rd1, %rd1;"]))
    register = "%rd" if found.type == "u64" else "%r"
    if found.op.name == "getctarank":
        w.add(f"{found.opcode} %r2, {register}1;")
        w.store(item, "%r2", "b32")
        return
    w.add("mov.u32 %r3, 0;", f"{found.opcode} {register}2, {register}1, %r3;")
    if found.space and found.type == "u64":
        w.add("cvt.u32.u64 %r2, %rd2;")
    w.add("ld.shared::cluster.b64 %t, [%r2];" if found.space else "ld.b64 %t, [%rd2];")
    w.store(item, "%t", "b64")


def change(w: Any, found: Form, n: int) -> None:
    """tensormap.replace: the map afterwards, and what lies behind it, for each dimension that there is."""
    item, shared = w.item(found), bool(found.space and found.space.startswith("shared"))
    numbered = any(spec.name == "ord" for spec in found.op.operands)
    value, names = VALUES[found.field], [spec.name for spec in found.op.operands]
    immediate = found.operand_type(found.op.operands[names.index("b")]) == "int"
    held = "%rd2" if found.type == "b64" else "%r2"
    w.add(f"mov.{found.type} {held}, {value};")
    for k in range(len(FIELDS[found.field])):
        row = w.room(1, w.rows[0][None])
        w.add(f"add.u64 %rd1, %outall, {256 * row};", "bar.warp.sync -1;")
        operands = [f"[{'%image' if shared else '%rd1'}]", *([str(k)] if numbered else [])]
        w.add(f"@%first {found.opcode} {', '.join([*operands, str(value) if immediate else held])};")
        if shared:
            w.add("bar.warp.sync -1;", "ld.shared.b64 %t, [%r1];", f"st.global.b64 [%out+{256 * row}], %t;")
            w.add("ld.global.b64 %t, [%in];", "bar.warp.sync -1;", "st.shared.b64 [%r1], %t;")
        item.results.append((row, "b64", EXACT, []))


def copy(w: Any, found: Form) -> None:
    """tensormap.cp_fenceproxy: 128 bytes from shared to global memory, and what lies behind them."""
    item, row = w.item(found), w.room(1, w.rows[1][None])
    w.add(f"add.u64 %rd1, %outall, {256 * row};", "bar.warp.sync -1;")
    w.add(f"{found.opcode} [%rd1], [%image], 128;")
    w.add(
        f"fence.proxy.tensormap::generic.acquire.{found.scope} [%rd1], 128;", f"ld.global.b64 %t, [%out+{256 * row}];"
    )
    item.results.append((row, "b64", EXACT, []))
    w.store(item, "%t", "b64")
