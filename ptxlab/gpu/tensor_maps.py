"""Tensor maps made by the driver: it alone knows all the bits that a GPU wants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ptxlab.errors import LaunchError
from ptxlab.gpu.device import current

NAMES = {
    "u8": "UINT8", "u16": "UINT16", "u32": "UINT32", "s32": "INT32", "u64": "UINT64", "s64": "INT64", "f16": "FLOAT16",
    "f32": "FLOAT32", "f64": "FLOAT64", "bf16": "BFLOAT16",
}  # fmt: skip
"""How the driver names the types of elements."""


@dataclass(frozen=True)
class Described:
    """What a map says. Dimensions and all that belongs to them begin with the innermost; strides are bytes, from the
    next dimension on. lower, upper: of im2col, the corners of the bounding box; then `box` is (channels per pixel,
    pixels per column)."""

    type: str
    dims: Sequence[int]
    strides: Sequence[int]
    box: Sequence[int]
    steps: Sequence[int]
    swizzle: int
    promotion: int
    nan: bool
    lower: Sequence[int] | None = None
    upper: Sequence[int] | None = None


def encoded(what: Described, address: int) -> bytes:
    """The 128 bytes for a tensor at an address of the GPU."""
    from cuda.bindings import driver

    current()

    def option(kind: str, name: str) -> Any:
        return getattr(getattr(driver, f"CUtensorMap{kind}"), f"CU_TENSOR_MAP_{name}")

    def numbers(values: Sequence[int], bits: int) -> list[Any]:
        make = driver.cuuint64_t if bits == 64 else driver.cuuint32_t
        return [make(int(n)) for n in values]

    # the driver refuses a null pointer for the strides, with one dimension too, of which it reads none
    first = (
        option("DataType", f"DATA_TYPE_{NAMES[what.type]}"),
        len(what.dims),
        address,
        numbers(what.dims, 64),
        numbers(what.strides or [16], 64),
    )
    last = (
        numbers(what.steps, 32),
        option("Interleave", "INTERLEAVE_NONE"),
        option("Swizzle", f"SWIZZLE_{what.swizzle}B" if what.swizzle else "SWIZZLE_NONE"),
        option("L2promotion", f"L2_PROMOTION_L2_{what.promotion}B" if what.promotion else "L2_PROMOTION_NONE"),
        option("FloatOOBfill", "FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA" if what.nan else "FLOAT_OOB_FILL_NONE"),
    )
    if what.lower is None or what.upper is None:
        result = driver.cuTensorMapEncodeTiled(*first, numbers(what.box, 32), *last)
    else:
        result = driver.cuTensorMapEncodeIm2col(*first, list(what.lower), list(what.upper), *what.box, *last)
    if int(result[0]):
        raise LaunchError(f"TensorMap: the driver refuses it ({result[0].name}): {what}")
    return b"".join(int(word).to_bytes(8, "little") for word in result[1].opaque)
