"""The PTX of the library, byte by byte: that of every build as it was when it was measured on an H100.

Measured results stand in `benchmarks/results/`; they are those of this PTX. A kernel that is changed on purpose gets
new digests here (`python tests/kernels/test_kernels_unchanged.py`) and new results there.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from ptxlab import kernels
from ptxlab.errors import PtxlabError

SIZES = (16, 32, 64, 96, 128, 256)
ARCHITECTURES = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_120")
MEASURED = {
    "scalar": ("e5069e343273cf6d", "d5d2db9cfb08c5be"),
    "tiled": ("b1a4beba6b3a008b", "9c2ab04c71951844"),
    "tiled2d": ("ed65328956245d81", "0a703a3d85f94c23"),
    "wmma": ("d3d5a0980b19c2f2", "7cf2c42c697b8d10"),
    "mma": ("dd9f9f057786271c", "f68afdba56ed5c4c"),
    "swizzle": ("838014638f62ba8c", "ca7d2068abea1e5c"),
    "pipelined": ("b89e7364013bd607", "7bc4261c04c2af2a"),
    "wgmma": ("1b2922f21a623f2a", "bc491f0e62dabfe1"),
    "hopper": ("18c5dd0929bbfe5c", "3aa427ca2d0fe719"),
    "decode": ("343f7f3c6325c091", "8aa2d9fedbd82b9b"),
    "decode_multiwarp": ("3f7ba71f3c65650c", "05fe93b50d354688"),
    "decode_paged": ("7c14db031dbc8080", "6ecc07caf6ab207a"),
    "decode_split": ("4b55a15f1cb1d01c", "fa1be910efc7c417"),
    "decode_reduce": ("0b62ed493052ac90", "842403e3dded286f"),
    "decode_gqa": ("3fa87a20166e226f", "b301047f159d618d"),
}
"""Digests of each kernel's PTX in commit d9966848: of its builds by `one_by_one`, and of those by `in_pairs`."""


def values(name: str) -> dict[str, list[Any]]:
    """The values to build a kernel with, the default first: all choices, or sizes within the limits."""
    found: dict[str, list[Any]] = {}
    for key, parameter in kernels.get(name).parameters.items():
        sizes = (parameter.minimum, parameter.minimum + parameter.step, *SIZES)
        some: tuple[Any, ...] = parameter.choices or tuple(v for v in sizes if parameter.allows(v))
        if isinstance(parameter.default, bool):
            some = (False, True)
        if key == "arch":
            some = ARCHITECTURES
        found[key] = list(dict.fromkeys([parameter.default, *some]))
    return found


def one_by_one(name: str) -> Iterator[dict[str, Any]]:
    """The default build, then every value of each parameter."""
    yield {}
    for key, some in values(name).items():
        yield from ({key: value} for value in some[1:])


def in_pairs(name: str) -> Iterator[dict[str, Any]]:
    """The first four values of each two parameters."""
    for (one, some), (other, more) in itertools.combinations(values(name).items(), 2):
        for value, second in itertools.product(some[:4], more[:4]):
            yield {one: value, other: second}


def digest(name: str, settings: Iterator[dict[str, Any]]) -> str:
    """One digest of all these builds' PTX. What the kernel refuses to build counts as refused."""
    text = hashlib.sha256()
    for given in settings:
        chosen = {key: value for key, value in given.items() if value is not None}
        try:
            text.update(kernels.get(name).build(**chosen).ptx.encode())
        except PtxlabError:
            text.update(b"refused")
    return text.hexdigest()[:16]


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", kernels.names())
def test_the_library_is_the_one_that_was_measured(name):
    assert digest(name, one_by_one(name)) == MEASURED[name][0]


@pytest.mark.rest
@pytest.mark.parametrize("name", kernels.names())
def test_the_library_is_the_one_that_was_measured_in_pairs_of_settings(name):
    assert digest(name, in_pairs(name)) == MEASURED[name][1]


if __name__ == "__main__":
    for each in kernels.names():
        print(f'    "{each}": ("{digest(each, one_by_one(each))}", "{digest(each, in_pairs(each))}"),')
