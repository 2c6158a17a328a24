"""Copies and reductions that run on by themselves, for `form_programs`: bulk copies, `st.async`, `red.async`.

Each form works on 512 bytes, 16 a lane: the target is the start of `image`, the source lies 2048 bytes further on. What
goes from a block to shared memory of its cluster is launched with one, of two blocks, of which the other only waits (an
H100 stops with an illegal instruction in a launch without).
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from benchmarks.gpu import corpus
from benchmarks.gpu.form_rules import EXACT, Array
from ptxlab.isa import types
from ptxlab.isa.entries import Op
from ptxlab.isa.table import Form

BYTES, SOURCE, ROOM = 512, 2048, 16384
"""Bytes of a copy, where its source lies in `image`, and how much shared memory a program has."""


def takes(entry: Op) -> bool:
    """Whether an entry of the table is one of these."""
    bulk = entry.name == "cp" and ".bulk" in entry.syntax and ".tensor" not in entry.syntax
    return bulk or (entry.name in ("st", "red") and ".async" in entry.syntax)


def add(w: Any, found: Form, n: int) -> None:
    """A form of any of them."""
    w.shared = max(w.shared, ROOM + 1024)
    w.add("mad.lo.u32 %r1, %lane, 16, %image;")
    words = found.opcode.split(".")
    if found.op.name != "cp":
        single(w, found, n)
    elif "prefetch" in words:
        item = w.item(found)
        w.add(f"@%first {found.opcode} [%inall], {BYTES}{policy(found)};")
        w.store(item, "%lane", "b32")
    elif found.completion:
        to_shared(w, found, n)
    else:
        to_global(w, found, n)


def in_cluster(w: Any, found: Form, *registers: str) -> None:
    """Makes the program one for a cluster of two blocks, of which the second goes to the end at once. About every
    second form gets the addresses that `mapa` gives for its own block."""
    if w.blocks == 1:
        w.blocks = 2
        w.lines[:0] = ["mov.u32 %w, %cluster_ctarank;", "setp.ne.u32 %done, %w, 0;", "@%done bra LAST;"]
        w.ends += ["LAST:", "barrier.cluster.arrive;", "barrier.cluster.wait;"]
    if zlib.crc32(found.opcode.encode()) & 1:
        wide = found.op.name != "cp" and not found.space
        for register in registers:
            w.add(f"mapa{'.u64' if wide else '.shared::cluster.u32'} {register}, {register}, 0;")


def policy(found: Form) -> str:
    """The operand of a form with a cache hint."""
    return ", %policy" if "cache_hint" in found.opcode else ""


def begun(w: Any, count: int = 1) -> str:
    """A new mbarrier for so many arrivals, its address in %w; its name."""
    place = f"gate+{8 * w.gates}"
    w.gates += 1
    w.add(f"mov.u32 %w, {place};", f"@%first mbarrier.init.shared::cta.b64 [{place}], {count};")
    w.add("fence.proxy.async;", "bar.warp.sync -1;")
    return place


def waited(w: Any, place: str, label: str) -> None:
    """Waits for the first phase of an mbarrier, and ends it."""
    w.add(f"{label}:", f"mbarrier.try_wait.parity.shared::cta.b64 %p1, [{place}], 0;", f"@!%p1 bra {label};")
    w.add("bar.warp.sync -1;", f"@%first mbarrier.inval.shared::cta.b64 [{place}];", "bar.warp.sync -1;")


def kept(w: Any, offset: int, data: Array) -> None:
    """Puts 512 bytes, (2, 32) words in order, to an offset of `image`; fences are the caller's."""
    at = w.given(data)
    w.add(f"add.u64 %rd1, %in, {at};", "mad.lo.u32 %w, %lane, 8, %image;")
    for k in range(2):
        w.add(f"ld.global.b64 %t, [%rd1+{256 * k}];", f"st.shared.b64 [%w+{offset + 256 * k}], %t;")


def drawn(type_: str, rng: np.random.Generator) -> tuple[list[Array], Array]:
    """Values of a type for 16 bytes per lane: by element, [32] each, and all bytes in order as (2, 32) words."""
    width = types.width(type_)
    given = [corpus.module("conformance").values(type_, rng) for _ in range(128 // width)]
    return given, np.stack(given).T.astype(f"u{width // 8}", order="C").view(np.uint64).reshape(2, 32)


def read(w: Any, item: Any, n: int, type_: str, place: str, inputs: list[Array], count: int = 0) -> None:
    """Stores a lane's elements as results. place: space and address, `shared:%r1`."""
    space, _, address = place.partition(":")
    width, held = types.width(type_), corpus.module("conformance").register_type(type_)
    load = f"b{width}" if held.startswith("b") else held
    w.add(f".reg .{held} %l{n};")
    for k in range(count or 128 // width):
        w.add(f"ld.{space}.{load} %l{n}, [{address}+{width // 8 * k}];")
        w.store(item, f"%l{n}", type_, EXACT, [x[k] for x in inputs])


def operands(found: Form) -> tuple[str, list[Array], Array, list[Array], Array]:
    """The type of elements, and two draws of it."""
    rng = np.random.default_rng(zlib.crc32(found.opcode.encode()))
    type_ = found.type or "b32"
    return type_, *drawn(type_, rng), *drawn(type_, rng)


def to_shared(w: Any, found: Form, n: int) -> None:
    """A copy that an mbarrier counts: from global memory, or from shared memory to that of the cluster."""
    item = w.item(found)
    type_, old, old_bits, new, new_bits = operands(found)
    kept(w, 0, old_bits)
    source = f"%inall+{w.given(new_bits)}"
    if found.src != "global":
        kept(w, SOURCE, new_bits)
        w.add(f"add.u32 %r2, %image, {SOURCE};")
        source = "%r2"
    place, mask = begun(w), ", %h1" if "multicast" in found.opcode else ""
    w.add("mov.u16 %h1, 1;", f"@%first mbarrier.arrive.expect_tx.shared::cta.b64 %rd2, [{place}], {BYTES};")
    w.add("mov.u32 %r3, %image;", "mov.u32 %r4, %w;")
    if found.src != "global":
        in_cluster(w, found, "%r3", "%r4")
    w.add(f"@%first {found.opcode} [%r3], [{source}], {BYTES}, [%r4]{mask}{policy(found)};")
    waited(w, place, f"WAIT{n}")
    read(w, item, n, type_, "shared:%r1", [old, new])


def to_global(w: Any, found: Form, n: int) -> None:
    """A copy or reduction from shared to global memory, in a group that is waited for."""
    item, words = w.item(found), found.opcode.split(".")
    type_, old, old_bits, new, new_bits = operands(found)
    if "commit_group" in words or "wait_group" in words:
        opcode, wait = "cp.async.bulk.global.shared::cta.bulk_group", found.opcode
    else:
        opcode, wait = found.opcode, "cp.async.bulk.wait_group"
    kept(w, SOURCE, new_bits)
    row = w.room(2, old_bits)
    w.add("fence.proxy.async;", "bar.warp.sync -1;", f"add.u32 %r2, %image, {SOURCE};")
    w.add(f"add.u64 %rd2, %outall, {256 * row};", "mad.wide.u32 %rd3, %lane, 16, %rd2;")
    w.add(f"@%first {opcode} [%rd2], [%r2], {BYTES}{policy(found)};", "@%first cp.async.bulk.commit_group;")
    if "commit_group" not in words:
        w.add(f"@%first {wait if 'wait_group' in words else 'cp.async.bulk.wait_group'} 0;")
    w.add("bar.warp.sync -1;")
    if "read" in words:  # the source may be overwritten
        kept(w, SOURCE, old_bits)
    w.add("@%first cp.async.bulk.wait_group 0;", "bar.warp.sync -1;")
    read(w, item, n, type_, "global:%rd3", [old, new])


def single(w: Any, found: Form, n: int) -> None:
    """st.async and red.async: each lane's value, or two or four, to its own place."""
    item = w.item(found)
    count, width = int(found.vec[1:]) if found.vec else 1, types.width(found.type)
    rng = np.random.default_rng(zlib.crc32(found.opcode.encode()))
    values, held = corpus.module("conformance").values, corpus.module("conformance").register_type(found.type)
    old, new = ([values(found.type, rng) for _ in range(count)] for _ in range(2))
    w.add("mad.lo.u32 %r1, %lane, 32, %image;", f".reg .{held} {', '.join(f'%s{n}_{k}' for k in range(count))};")
    for k in range(count):
        w.add(f"ld.global.{held} %s{n}_{k}, [%in+{w.given(old[k][None])}];")
        w.add(f"st.shared.{held} [%r1+{width // 8 * k}], %s{n}_{k};")
        w.add(f"ld.global.{held} %s{n}_{k}, [%in+{w.given(new[k][None])}];")
    place = begun(w)
    w.add(f"@%first mbarrier.arrive.expect_tx.shared::cta.b64 %rd2, [{place}], {32 * count * width // 8};")
    to, gate = "%r3", "%r4"
    w.add("mov.u32 %r3, %r1;", "mov.u32 %r4, %w;")
    if not found.space:
        to, gate = "%rd1", "%rd2"
        w.add("cvt.u64.u32 %rd1, %r1;", "cvta.shared.u64 %rd1, %rd1;")
        w.add("cvt.u64.u32 %rd2, %w;", "cvta.shared.u64 %rd2, %rd2;")
    in_cluster(w, found, to, gate)
    group = ", ".join(f"%s{n}_{k}" for k in range(count))
    w.add("bar.warp.sync -1;", f"{found.opcode} [{to}], {f'{{{group}}}' if found.vec else group}, [{gate}];")
    waited(w, place, f"WAIT{n}")
    read(w, item, n, found.type, "shared:%r1", [old, new], count)
