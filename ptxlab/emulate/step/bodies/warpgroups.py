"""`wgmma` in the interpreter: products begin, and are computed when their warp waits for them.

`ptxlab.emulate.rules.warpgroup_products` says which products a wait completes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from ptxlab.emulate.language import ALL_LANES
from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.program.matrix_operands import Elements, metadata
from ptxlab.emulate.rules import async_proxy, tile_layouts
from ptxlab.emulate.rules import warpgroup_products as queue
from ptxlab.emulate.rules.faults import disagreeing_lanes
from ptxlab.emulate.rules.warpgroup_faults import SIGNS, Tile, no_warpgroup, outside, product_operands, tile_a, tile_b
from ptxlab.emulate.rules.warpgroup_tiles import CORE_LINES, PIECE, REGISTER, first_outside, piece_address
from ptxlab.emulate.runtime.report import WARPGROUP
from ptxlab.emulate.step.access import Touch
from ptxlab.emulate.step.bodies import executes
from ptxlab.emulate.step.bodies.matrices import EVERYONE, Maker, OfWarp, multiply, reader, writer
from ptxlab.emulate.step.lanes import mask_bits
from ptxlab.emulate.step.launch_checks import LaunchChecks
from ptxlab.emulate.step.operands import Product, Step, Translator
from ptxlab.emulate.step.warp import Warp
from ptxlab.isa import fragments
from ptxlab.isa.actions import Action
from ptxlab.isa.fragments import Fragment


def _product(t: Translator, code: Code, held: dict[str, Elements]) -> Callable[[Warp], None]:
    operands = product_operands(code)
    read_a = None if operands.a is None else t.read(operands.a, "b64", code)
    read_b, read_adds = t.read(operands.b, "b64", code), t.read(operands.adds, "pred", code)
    products = t.products

    def run(w: Warp) -> None:
        shared = w.spaces.shared
        if w.warp // WARPGROUP * WARPGROUP + WARPGROUP > w.launch_state.launch.warps:
            raise no_warpgroup(w.faulting(code, 0))
        read = [(read_b, tile_b(code, operands.b_mn), operands.b_mn, True)]
        if read_a is not None:
            read.insert(0, (read_a, tile_a(code, w.warp, operands.a_mn), operands.a_mn, False))
        descriptors, check, checker = {False: 0}, w.spaces.check, w.launch_state.checker
        for descriptor, tile, mn_major, of_b in read:
            values = descriptor(w)
            other = values != values[0]
            if other.any():
                raise disagreeing_lanes(w.faulting(code, int(other.argmax())))
            descriptors[of_b] = int(values[0])
            bad = _outside(int(values[0]), tile, mn_major, int(shared.base), int(shared.size))
            if bad:
                raise outside(w.faulting(code, 0), bad - 1, of_b=of_b)
            if w.touches is not None:
                places = _places(int(values[0]), tile, mn_major).astype(np.uint64).ravel()
                for first in range(0, places.size, LANES):
                    some = np.resize(places[first : first + LANES], LANES)
                    there = np.arange(first, first + LANES) < places.size
                    w.touches.append(Touch("load", "shared", some, PIECE, there))
            if checker is not None:
                who = checker.record, check.record, w.warp, ALL_LANES, code.index, int(values[0])
                lines, pieces = (tile.first_line, tile.lines), (tile.first_piece, tile.pieces)
                tile_layouts.product_begins(*who, *lines, *pieces, mn_major, int(shared.base))
        if queue.is_full(w.in_flight):
            _complete(w, w.in_flight.begun, products)
        queue.begin(w.in_flight, w.executed, code.index, descriptors[False], descriptors[True], bool(read_adds(w)[0]))
        _complete(w, max(mate.record.awaited for mate in w.warpgroup), products)

    products[code.index] = _computed(t, code, held)
    return run


@functools.lru_cache(maxsize=4096)
def _outside(descriptor: int, tile: Tile, mn_major: bool, start: int, size: int) -> int:
    return first_outside(descriptor, tile.first_line, tile.lines, tile.first_piece, tile.pieces, mn_major, start, size)


def _computed(t: Translator, code: Code, held: dict[str, Elements]) -> Product:
    """What computes a product of a warp: `compute(warp, descriptor of a, of b, scale-d)`."""
    form, operands = code.form, product_operands(code)
    p, packed = fragments.product(form), metadata(t.program, code)
    a = reader(t, held["a"], p.a) if "a" in held else None
    c, write = reader(t, held["d"], p.d), writer(t, held["d"], p.d)
    e = reader(t, held["e"], fragments.operands(form)["e"]) if packed is not None else None

    def compute(w: Warp, of_a: int, of_b: int, adds: bool) -> None:
        if a is None:
            left = _fragment_a(w, of_a, tile_a(code, w.warp, operands.a_mn), operands.a_mn, p.a)
        else:
            left = a(w)
        if operands.negative:
            left = left ^ left.dtype.type(SIGNS[p.a.type] & (1 << p.a.bits) - 1)
        right = _fragment_b(w, of_b, tile_b(code, operands.b_mn), operands.b_mn, p.b)
        total = c(w) if adds else np.zeros_like(c(w))
        columns = None if packed is None or e is None else packed.columns(e(w).ravel())
        write(w, multiply(p, left, right, total, bool(form.satfinite), columns))

    return compute


@functools.lru_cache(maxsize=4096)
def _places(descriptor: int, tile: Tile, mn_major: bool) -> np.ndarray:
    """The address of each piece of a tile, shape (lines, pieces)."""
    lines = range(tile.first_line, tile.first_line + tile.lines)
    pieces = range(tile.first_piece, tile.first_piece + tile.pieces)
    return np.array([[piece_address(descriptor, a, b, mn_major) for b in pieces] for a in lines], np.int64)


def _read(w: Warp, descriptor: int, tile: Tile, mn_major: bool) -> np.ndarray:
    """The bytes of a tile, shape (lines, pieces, 16)."""
    shared = w.spaces.shared
    return shared.data[(_places(descriptor, tile, mn_major) - int(shared.base))[:, :, None] + np.arange(PIECE)]


def _fragment_a(w: Warp, descriptor: int, tile: Tile, mn_major: bool, f: Fragment) -> np.ndarray:
    """16 rows of A as elements of its fragment, shape (registers, packed, 32)."""
    data = _read(w, descriptor, tile, mn_major)
    if mn_major:  # (k block, k, half, row) of halves
        data = data.view(np.uint16).reshape(-1, CORE_LINES, 2, 8).transpose(0, 2, 3, 1)
    else:  # (half, row, piece, byte)
        data = data.reshape(2, CORE_LINES, -1, PIECE).transpose(2, 0, 1, 3)
    return _elements(data, f)


def _fragment_b(w: Warp, descriptor: int, tile: Tile, mn_major: bool, f: Fragment) -> np.ndarray:
    data = _read(w, descriptor, tile, mn_major)
    if mn_major:  # (k block, k, left, column)
        data = data.view(np.uint16).reshape(-1, CORE_LINES, tile.pieces, 8).transpose(2, 0, 3, 1)
    else:  # (left, column, piece, byte)
        data = data.reshape(-1, CORE_LINES, tile.pieces, PIECE).transpose(0, 2, 1, 3)
    return _elements(data, f)


def _elements(data: np.ndarray, f: Fragment) -> np.ndarray:
    """Registers of 128 bytes, unpacked into elements."""
    words = np.ascontiguousarray(data).view(np.uint8).reshape(-1, REGISTER).view(np.uint32)[:, None, :]
    shifts = (np.arange(f.packed, dtype=np.uint32) * np.uint32(f.bits))[:, None]
    return (words >> shifts) & np.uint32((1 << f.bits) - 1) if f.packed > 1 else words


def _complete(w: Warp, count: int, products: dict[int, Product]) -> None:
    """Computes the first `count` products of a warp, as far as it has begun them."""
    mask = w.mask
    while (code := queue.completing_product(w.in_flight, count)) != queue.NOTHING_DUE:
        w.run_lanes(EVERYONE)  # whatever lanes of a warp do before their own wait
        entry = w.in_flight.entries[w.in_flight.done % queue.IN_FLIGHT]
        products[code](w, entry.a, entry.b, bool(entry.adds))
        queue.complete(w.in_flight)
    w.run_lanes(mask)


def _wait(t: Translator, code: Code, held: dict[str, Elements]) -> Callable[[Warp], None]:
    left, products = code.number("n"), t.products

    def run(w: Warp) -> None:
        count = queue.waited_for(w.in_flight, left)
        for mate in w.warpgroup:
            _complete(mate, count, products)
        if not all(queue.has_begun(mate.executed, mask_bits(mate.live), count) for mate in w.warpgroup):
            w.record.awaited = count

    return run


_MAKERS: dict[Action, Maker] = {
    Action.WARPGROUP_PRODUCT: _product,
    Action.WARPGROUP_FENCE: lambda t, code, held: lambda w: None,
    Action.WARPGROUP_COMMIT: lambda t, code, held: lambda w: queue.commit(w.in_flight),
    Action.WARPGROUP_WAIT: _wait,
}


@executes(*_MAKERS)
class Warpgroups(OfWarp):
    makers = _MAKERS

    def checked(self, checker: LaunchChecks, code: Code, step: Step) -> Step:
        if code.action is not Action.WARPGROUP_WAIT or not checker.sync:
            return step
        left = code.number("n")

        def run(w: Warp) -> int | None:
            result = step(w)
            async_proxy.waited(w.spaces.check.record, w.warp, code.index, w.in_flight, left)
            return result

        return run
