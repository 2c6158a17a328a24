"""Matrix instructions of the interpreter: products of fragments, and their loads and stores.

How numbers are computed (the JIT does the same, to the last bit):

- f16, bf16, tf32 and 8-bit floats are widened exactly; of a tf32 operand the low 13 bits of the fraction are ignored.
- An f32 or f64 sum begins with c and adds the products one by one, k ascending, each by a fused multiply-add: rounded
  once, to nearest even. Subnormal numbers are kept.
- An f16 sum is computed in f32 in that way and rounded to f16 once, at the end.
- Integer sums are exact; then they wrap, or with `.satfinite` end at the limits of s32. Products of bits are their
  exclusive or, or their and.
- A NaN result is the canonical one: 0x7FFFFFFF in f32, 0x7FFF in f16, 0x7FF8000000000000 in f64.

Hardware differs in the last bits: tensor cores add several products at once and truncate the sum, as no manual
describes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ptxlab.emulate.language import u64
from ptxlab.emulate.program.flat_program import Code, Literal, Reg, Source
from ptxlab.emulate.program.lane_types import DTYPE, LANES
from ptxlab.emulate.program.matrix_operands import Elements, bits_of, elements, metadata
from ptxlab.emulate.rules.faults import disagreeing_lanes, incomplete_warp
from ptxlab.emulate.rules.matrix_access import piece_offset
from ptxlab.emulate.rules.memcheck import in_shared
from ptxlab.emulate.runtime.state import SPACES
from ptxlab.emulate.step.access import Touch
from ptxlab.emulate.step.bodies import Body, executes
from ptxlab.emulate.step.control_flow import WARPGROUP_BEGUN, diverging, union
from ptxlab.emulate.step.lanes import Lanes, mask_bits
from ptxlab.emulate.step.memory_ranges import Region
from ptxlab.emulate.step.operands import Read, Step, Translator
from ptxlab.emulate.step.warp import NO_GROUP, LaneGroup, Wait, Warp
from ptxlab.isa import fragments, types
from ptxlab.isa.actions import Action
from ptxlab.isa.fragments import Fragment
from ptxlab.isa.rounding import CANONICAL_NAN

EVERYONE = np.ones(LANES, np.bool_)
_FMA = Lanes().fma
_HALVES = np.dtype(np.uint16)


Maker = Callable[["Translator", Code, dict[str, Elements]], Callable[[Warp], None]]


class OfWarp(Body):
    """Instructions of the whole warp. makers: what makes for each action what all 32 lanes do."""

    reports = checked_after = guards = True
    makers: ClassVar[dict[Action, Maker]]

    def step(self, t: Translator, code: Code) -> Step:
        """Raises `PtxError` where an operand has the wrong registers."""
        step = _converged(t, code, t.instrument(code, self.makers[code.action](t, code, elements(t.program, code))))
        return step if code.guard is None else _guarded(t, code, step)


# -- all lanes of the warp ---------------------------------------------------------------------------------------------


def _converged(t: Translator, code: Code, act: Callable[[Warp], object]) -> Step:
    """Lanes wait here until all live lanes have arrived; then the instruction runs once, for all 32. What waits for
    products of `wgmma` then waits for the other warps that take part in them."""
    wait = Wait(code, WARPGROUP_BEGUN) if code.action is Action.WARPGROUP_WAIT else None

    def release(w: Warp, group: LaneGroup) -> None:
        same = [g for g in w.others if g.pc == code.index and g.wait is not None]
        mask = union(same)
        if (w.live & ~mask).any():
            return
        running = w.mask
        everybody(w, mask)
        w.run_lanes(running)
        for each in same:
            each.pc, each.wait = t.following[code.index], wait if w.record.awaited else None

    def everybody(w: Warp, mask: np.ndarray) -> None:
        w.run_lanes(mask)
        if not w.full:
            raise incomplete_warp(w.faulting(code, 0), mask_bits(w.mask), guarded=False)
        act(w)

    def run(w: Warp) -> int | None:
        if not w.diverged:
            everybody(w, w.mask)
            return w.wait(wait, t.following[code.index]) if w.record.awaited and wait is not None else None
        group = LaneGroup(code.index, w.mask, Wait(code, members=EVERYONE, release=release))
        w.others.append(group)
        release(w, group)
        return NO_GROUP

    return run


def _guarded(t: Translator, code: Code, step: Step) -> Step:
    """The guard must be the same in all active lanes."""
    assert code.guard is not None
    guard, behind = code.guard, diverging(step, t.following[code.index], *code.guard)

    def run(w: Warp) -> int | None:
        held = w.held(*guard)
        if held.any() and (held != w.mask).any():
            raise incomplete_warp(w.faulting(code, 0), mask_bits(held), guarded=True)
        return behind(w)

    return run


# -- registers ---------------------------------------------------------------------------------------------------------


def reader(t: Translator, held: Elements, f: Fragment) -> Callable[[Warp], np.ndarray]:
    """Reads the elements of a fragment as bits: unsigned integers of shape (registers, packed, 32)."""
    whole = DTYPE[f"i{f.width}"]
    each = [_bits(source, f.width) for source in held]
    shifts = (np.arange(f.packed, dtype=whole) * whole.type(f.bits))[:, None]
    cut = whole.type((1 << f.bits) - 1)

    def read(w: Warp) -> np.ndarray:
        bits = np.stack([one(w) for one in each])[:, None, :]
        return (bits >> shifts) & cut if f.packed > 1 else bits

    return read


def _bits(source: Source | None, width: int) -> Callable[[Warp], Any]:
    whole = DTYPE[f"i{width}"]
    if isinstance(source, Literal):
        constant = np.full(LANES, bits_of(source, width), whole)
        return lambda w: constant
    assert isinstance(source, Reg)
    index = source.index
    return lambda w: w.regs[index].view(whole)


def writer(t: Translator, held: Elements, f: Fragment) -> Callable[[Warp, np.ndarray], None]:
    """Writes elements as `reader` reads them."""
    whole = DTYPE[f"i{f.width}"]
    lanes = [DTYPE[t.program.registers[e.index].lane] if isinstance(e, Reg) else whole for e in held]
    shifts = (np.arange(f.packed, dtype=whole) * whole.type(f.bits))[:, None]

    def write(w: Warp, elements: np.ndarray) -> None:
        packed = np.bitwise_or.reduce(elements.astype(whole) << shifts, axis=1)
        for dest, lane, bits in zip(held, lanes, packed, strict=True):
            if isinstance(dest, Reg):
                w.regs[dest.index] = bits.view(lane)

    return write


@functools.cache
def _eighths(type: str) -> np.ndarray:
    """All 256 values of an 8-bit float, as f32."""
    fraction, bias = (3, 7) if type == "e4m3" else (2, 15)
    code = np.arange(128)
    exponent, part = code >> fraction, code & ((1 << fraction) - 1)
    value = np.where(exponent > 0, part + (1 << fraction), part) * 2.0 ** (np.maximum(exponent, 1) - bias - fraction)
    if type == "e5m2":
        value = np.where(exponent == 31, np.where(part == 0, np.inf, np.nan), value)
    else:
        value[127] = np.nan
    return np.concatenate([value, -value]).astype(np.float32)


def decode(type: str, bits: np.ndarray) -> np.ndarray:
    """Elements of a matrix operand as numbers: f32 (exact), f64, or int64."""
    if type == "f64":
        return bits.view(np.float64)
    if type in ("f32", "tf32"):
        return (bits & np.uint32(0xFFFFE000) if type == "tf32" else bits).view(np.float32)
    if type == "f16":
        return bits.astype(np.uint16).view(np.float16).astype(np.float32)
    if type == "bf16":
        return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
    if type in ("e4m3", "e5m2"):
        return np.asarray(_eighths(type)[bits])
    if type in types.SUB_BYTE:
        number = bits.astype(np.int64)
        return (number ^ 8) - 8 if types.is_signed(type) else number
    narrow = bits.astype(DTYPE[f"i{types.width(type)}"])
    return (narrow.view(f"i{narrow.itemsize}") if types.is_signed(type) else narrow).astype(np.int64)


def encode(type: str, values: np.ndarray) -> np.ndarray:
    """A sum, as the bits of the accumulator's type; int64 wraps."""
    if type == "s32":
        return values.astype(np.uint32)
    result = values.astype({"f16": np.float16, "f32": np.float32, "f64": np.float64}[type])
    bits = result.view(DTYPE[f"i{types.width(type)}"])
    return np.where(np.isnan(result), bits.dtype.type(CANONICAL_NAN[type]), bits)


# -- products ----------------------------------------------------------------------------------------------------------


def _multiply(t: Translator, code: Code, held: dict[str, Elements]) -> Callable[[Warp], None]:
    form = code.form
    p, packed = fragments.product(form), metadata(t.program, code)
    reads = {name: reader(t, held[name], f) for name, f in fragments.operands(form).items() if name != "d"}
    write = writer(t, held["d"], p.d)

    def run(w: Warp) -> None:
        bits = {name: read(w) for name, read in reads.items()}
        columns = None if packed is None else packed.columns(bits["e"].ravel())
        write(w, multiply(p, bits["a"], bits["b"], bits["c"], bool(form.satfinite), columns))

    return run


def multiply(
    p: fragments.Product,
    a: np.ndarray,
    b: np.ndarray,
    c: np.ndarray,
    satfinite: bool = False,
    columns: np.ndarray | None = None,
) -> np.ndarray:
    """d = a*b + c on elements as bits, each of shape (registers, packed, 32). columns: of a packed A, the column of
    each of its elements, shape (rows, packed columns)."""
    whole_a, whole_b = (decode(f.type, bits).ravel()[f.first] for f, bits in ((p.a, a), (p.b, b)))
    row, column = p.d.row.ravel(), p.d.column.ravel()
    total = decode(p.c.type, c).ravel()[p.c.first[row, column]]
    for k in range(p.a.columns):
        left, right = whole_a[row, k], whole_b[k if columns is None else columns[row, k], column]
        if p.bits:
            total = total + (left ^ right if p.bits == "xor" else left & right)
        else:
            total = total + left * right if p.d.type == "s32" else _FMA(left, right, total)
    if satfinite:
        total = np.clip(total, -(1 << 31), (1 << 31) - 1)
    return encode(p.d.type, total).reshape(p.d.row.shape)


def _movmatrix(t: Translator, code: Code, held: dict[str, Elements]) -> Callable[[Warp], None]:
    source, dest = fragments.rows_of_8(1, False), fragments.rows_of_8(1, True)
    read, write = reader(t, held["a"], source), writer(t, held["d"], dest)
    return lambda w: write(w, read(w).ravel()[source.first][dest.row, dest.column])


# -- rows in shared memory ---------------------------------------------------------------------------------------------


def _rows(t: Translator, code: Code, count: int, what: str) -> Callable[[Warp], tuple[np.ndarray, np.ndarray]]:
    """Shared memory as rows of 8 elements of 16 bits, and the `count` rows whose addresses the first lanes give."""
    mem = next(k for k, type_ in enumerate(code.source_types) if type_ == "addr")
    address: Read = t.read(code.sources[mem], "addr", code)
    lanes, space = np.arange(LANES) < count, SPACES[code.space]

    def find(w: Warp) -> tuple[np.ndarray, np.ndarray]:
        places = address(w).astype(np.uint64)
        if w.touches is not None:
            w.touches.append(Touch(what, code.space, places, 16, lanes))
        shared, given = w.spaces.shared, places[:count].tolist()
        offsets = np.array([in_shared(space, at) for at in given], np.uint64) - shared.base
        if not shared.holds(offsets, 16):
            for lane, at in enumerate(given):
                w.place(code, what, "shared", in_shared(space, at), lane, 16)
        return shared.view(_HALVES).reshape(-1, 8), offsets >> np.uint64(4)

    return find


def _ldmatrix(t: Translator, code: Code, held: dict[str, Elements]) -> Callable[[Warp], None]:
    f = fragments.operands(code.form)["d"]
    find, write = _rows(t, code, f.rows, "load"), writer(t, held["d"], f)

    def run(w: Warp) -> None:
        shared, rows = find(w)
        write(w, shared[rows][f.row, f.column])

    return run


def _stmatrix(t: Translator, code: Code, held: dict[str, Elements]) -> Callable[[Warp], None]:
    f = fragments.operands(code.form)["b"]
    find, read = _rows(t, code, f.rows, "store"), reader(t, held["b"], f)

    def run(w: Warp) -> None:
        shared, rows = find(w)
        if w.touches:
            w.touches[-1].before = np.resize(shared[rows].view("V16"), LANES)
        shared[rows] = read(w).astype(_HALVES).ravel()[f.first]

    return run


# -- wmma.load and wmma.store ------------------------------------------------------------------------------------------


def _wmma_access(t: Translator, code: Code, held: dict[str, Elements]) -> Callable[[Warp], None]:
    form = code.form
    ((name, f),) = fragments.operands(form).items()
    what, layout = "store" if name == "b" else "load", str(form.layout)
    lines, along = (f.rows, f.columns) if layout == "row" else (f.columns, f.rows)
    address: Read = t.read(code.named["a"][0], "addr", code)
    stride: Read = t.read(code.named["stride"][0], "u32", code)
    each, dtype = types.width(form.type), DTYPE[f"i{f.bits}"]
    read = reader(t, held["b"], f) if what == "store" else None
    write = writer(t, held["d"], f) if what == "load" else None
    pieces, space = fragments.pieces(f, layout), code.space or "generic"

    def places(w: Warp) -> list[tuple[Region, int]]:
        base, step = address(w).astype(np.uint64), stride(w)
        other = base != base[0] if step is None else (base != base[0]) | (step != step[0])
        if other.any():
            raise disagreeing_lanes(w.faulting(code, int(other.argmax())))
        step = along * f.bits // 8 if step is None else int(step[0]) * each // 8
        at = [u64(int(base[0]) + piece_offset(piece.line, piece.start, step)) for piece in pieces]
        if w.touches is not None:
            for first in range(0, len(at), LANES):
                some = np.array(at[first : first + LANES], np.uint64)
                full = np.concatenate([some, np.zeros(LANES - some.size, np.uint64)])
                w.touches.append(Touch(what, code.space, full, pieces[0].size, np.arange(LANES) < some.size))
        region = w.region(space, at[0])
        if region is not None and region.lane_offset is None and (region.writable or what == "load"):
            offsets = np.array(at, np.uint64) - region.base
            if region.holds(offsets, pieces[0].size):
                return [(region, offset) for offset in offsets.tolist()]
        found = zip(at, pieces, strict=True)
        return [w.place(code, what, space, a, p.lane, p.size, warp=True) for a, p in found]

    def load(w: Warp) -> None:
        assert write is not None
        found = zip(places(w), pieces, strict=True)
        data = np.concatenate([region.data[at : at + p.size] for (region, at), p in found]).view(dtype)
        matrix = data.reshape(lines, along) if layout == "row" else data.reshape(lines, along).T
        write(w, matrix[f.row, f.column])

    def store(w: Warp) -> None:
        assert read is not None
        found = places(w)
        matrix = read(w).astype(dtype).ravel()[f.first]
        data = np.ascontiguousarray(matrix if layout == "row" else matrix.T).view(np.uint8).ravel()
        start = 0
        for (region, at), p in zip(found, pieces, strict=True):
            region.data[at : at + p.size] = data[start : start + p.size]
            if region.written is not None:
                region.written[at : at + p.size] = 255
            start += p.size

    return load if what == "load" else store


_MAKERS: dict[Action, Maker] = {
    Action.MATRIX_PRODUCT: _multiply,
    Action.FRAGMENT_PRODUCT: _multiply,
    Action.TRANSPOSE: _movmatrix,
    Action.LOAD_ROWS: _ldmatrix,
    Action.STORE_ROWS: _stmatrix,
    Action.LOAD_FRAGMENT: _wmma_access,
    Action.STORE_FRAGMENT: _wmma_access,
}


@executes(*_MAKERS)
class Matrices(OfWarp):
    """Products of matrices in registers, and their loads and stores."""

    makers = _MAKERS
