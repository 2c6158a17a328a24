"""wgmma on both engines: every family of types, every size, swizzle and major against numpy, on exact numbers."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import DEVICES
from sparse_matrices import metadata, whole_and_packed
from warpgroup_programs import Case, Layout

from ptxlab.isa import TABLE, form

FLOATS = tuple(range(8, 257, 8))
INTEGERS = (8, 16, 24, *range(32, 257, 16))
FAMILIES = {
    "f32.f16.f16": (16, FLOATS), "f16.f16.f16": (16, FLOATS), "f32.bf16.bf16": (16, FLOATS),
    "f32.tf32.tf32": (8, FLOATS), "f32.e4m3.e5m2": (32, FLOATS), "f16.e5m2.e4m3": (32, FLOATS),
    "s32.s8.u8": (32, INTEGERS), "satfinite.s32.u8.s8": (32, INTEGERS), "s32.s8.s8": (32, INTEGERS),
    "satfinite.s32.u8.u8": (32, INTEGERS), "s32.b1.b1.and.popc": (256, INTEGERS),
}  # fmt: skip
SWIZZLES = (0, 32, 64, 128)


def operands(rng: np.random.Generator, types: str, n: int, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Small integers, so that every sum is exact."""
    if "b1" in types:
        return rng.integers(0, 2, (64, k)), rng.integers(0, 2, (k, n)), rng.integers(-99, 99, (64, n))
    a = rng.integers(0 if ".u8." in types else -2, 3, (64, k))
    b = rng.integers(0 if types.endswith("u8") else -2, 3, (k, n))
    return a, b, rng.integers(-9, 10, (64, n))


@pytest.mark.sweep(87)
@pytest.mark.parametrize("types", FAMILIES)
@pytest.mark.parametrize("part", range(8))
def test_every_size(device: str, types: str, part: int) -> None:
    """All n of a family, with a swizzle, a place in a wider tile, a source of A and a scale-d that change from one to
    the next."""
    k, sizes = FAMILIES[types]
    rng = np.random.default_rng(len(types))
    for number, n in list(enumerate(sizes))[part::8]:
        number += number // 8  # else all sizes of a part would have the same swizzle
        a, b, c = operands(rng, types, n, k)
        swizzle = SWIZZLES[number % 4]
        of_b = Layout(swizzle, gap=1024 * (number % 2), inside=number % max(1, swizzle // 32))
        of_a = None if number % 3 == 0 else Layout(SWIZZLES[number // 4 % 4])
        case = Case(
            f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.{types}", a, b, None if number % 5 == 1 else c, of_a, of_b
        )
        expected = a @ b + (0 if case.c is None else c)
        assert (case.run(device) == expected).all(), case.opcode


@pytest.mark.sweep(7)
@pytest.mark.parametrize("types", ["f32.f16.f16", "f32.bf16.bf16", "f16.f16.f16"])
@pytest.mark.parametrize("swizzle", SWIZZLES)
def test_majors(device: str, types: str, swizzle: int) -> None:
    rng = np.random.default_rng(swizzle)
    for n, a_major, b_major, gap in (
        (64, True, True, 0),
        (8, False, True, 1024),
        (200, True, False, 0),
        (136, None, True, 0),
    ):
        a, b, c = operands(rng, types, n, 16)
        of_a = None if a_major is None else Layout(swizzle, a_major, gap)
        case = Case(f"wgmma.mma_async.sync.aligned.m64n{n}k16.{types}", a, b, c, of_a, Layout(swizzle, b_major, gap))
        assert (case.run(device) == a @ b + c).all(), (n, a_major, b_major)


@pytest.mark.sweep(7)
@pytest.mark.parametrize("types", [t for t in FAMILIES if "s32" not in t])
def test_signs(device: str, types: str) -> None:
    k, _ = FAMILIES[types]
    for signs, of_a in (((-1, 1), Layout()), ((1, -1), None), ((-1, -1), Layout(64))):
        a, b, c = operands(np.random.default_rng(3), types, 24, k)
        case = Case(f"wgmma.mma_async.sync.aligned.m64n24k{k}.{types}", a, b, c, of_a, signs=signs)
        assert (case.run(device) == signs[0] * signs[1] * (a @ b) + c).all()


@pytest.mark.sweep(9)
@pytest.mark.parametrize("types", [t for t in FAMILIES if "b1" not in t])
def test_sparse(device: str, types: str) -> None:
    """A packed as for mma.sp, 16 rows and 32 lanes of metadata for each warp."""
    dense, _ = FAMILIES[types]
    rng, atype = np.random.default_rng(4), form(f"wgmma.mma_async.sync.aligned.m64n16k{dense}.{types}").atype
    for selector, of_a, b_major in (
        (0, Layout(32), False),
        (0 if "8" in atype or "e" in atype else 1, None, "16" in atype),
    ):
        parts = [whole_and_packed(rng, atype, 2 * dense) for _ in range(4)]
        whole, packed = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
        e = np.stack([metadata(words, atype, selector, rng) for _, _, words in parts])
        b, c = rng.integers(0, 3, (2 * dense, 48)), rng.integers(-9, 9, (64, 48))
        case = Case(
            f"wgmma.mma_async.sp.sync.aligned.m64n48k{2 * dense}.{types}",
            packed,
            b,
            c,
            of_a,
            Layout(128, b_major),
            metadata=e,
            selector=selector,
        )
        assert (case.run(device) == whole @ b + c).all(), selector


@pytest.mark.skipif(len(DEVICES) < 2, reason="llvmlite is not installed")
@pytest.mark.parametrize("types", ["f32.f16.f16", "f32.bf16.bf16", "f16.f16.f16", "f32.tf32.tf32"])
def test_engines_agree_on_rounding(types: str) -> None:
    """Random numbers, whose sums are rounded: both engines round alike, and are near float64."""
    k, _ = FAMILIES[types]
    rng = np.random.default_rng(5)
    a, b, c = (rng.standard_normal(shape) for shape in ((64, k), (k, 40), (64, 40)))
    results = [Case(f"wgmma.mma_async.sync.aligned.m64n40k{k}.{types}", a, b, c, Layout(64)).run(d) for d in DEVICES]
    assert (results[0] == results[1]).all()
    assert np.abs(results[0] - (a @ b + c)).max() < (0.1 if "bf16" in types else 0.02)


def test_every_entry_of_a_product_was_multiplied() -> None:
    products = [entry for entry in TABLE["wgmma"] if entry.does.name == "WARPGROUP_PRODUCT"]
    shown = set()
    for types, (k, _) in FAMILIES.items():
        shown.add(form(f"wgmma.mma_async.sync.aligned.m64n16k{k}.{types}").op)
        if "b1" not in types:
            shown.add(form(f"wgmma.mma_async.sp.sync.aligned.m64n16k{2 * k}.{types}").op)
    assert shown == set(products)
