"""dp4a gives the sums of products of bytes, in every engine."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import ENGINES, WAYS, kernel, run

pytestmark = pytest.mark.skipif("jit" not in ENGINES, reason="needs llvmlite: there is one engine only")
TYPES = [(a, b) for a in ("s32", "u32") for b in ("s32", "u32")]
EDGES = [0x80808080, 0x7F7F7F7F, 0xFFFFFFFF, 0x00FF807F, 0x807F00FF, 0, 0x01010101, 0x80007FFF]
"""Bytes that are the least and the greatest, signed and not."""


def text(a_type: str, b_type: str) -> str:
    """Each lane's a and c, another lane's b, and b that is the same in all lanes."""
    return kernel(f"""
        add.u64 %rd6, %rd2, %rd4; ld.global.u32 %r5, [%rd6]; ld.global.u32 %r6, [%rd6+256]; ld.global.u32 %r7, [%rd2+4];
        dp4a.{a_type}.{b_type} %r8, %r5, %r6, %r6; dp4a.{a_type}.{b_type} %r8, %r5, %r7, %r8;
        dp4a.{a_type}.{b_type} %r8, %r7, %r7, %r8; st.global.u32 [%rd3], %r8;""")


def expected(a_type: str, b_type: str, x: np.ndarray) -> np.ndarray:
    def each(words: np.ndarray, type_: str) -> np.ndarray:
        return words.view(np.int8 if type_ == "s32" else np.uint8).reshape(-1, 4).astype(np.int64)

    a, b, one = x[:64], x[64:], np.full(64, x[1])
    total = sum((each(p, a_type) * each(q, b_type)).sum(1) for p, q in ((a, b), (a, one), (one, one)))
    return ((total + b) & 0xFFFFFFFF).astype(np.uint32)


def given() -> np.ndarray:
    x = np.random.default_rng(5).integers(0, 1 << 32, 128, dtype=np.uint32)
    x[:8], x[8:64:8], x[64:72], x[72:80] = EDGES, EDGES[0], EDGES, EDGES[0]
    return x


@pytest.mark.parametrize(("a_type", "b_type"), TYPES)
def test_every_engine(a_type: str, b_type: str) -> None:
    x = given()
    for way in WAYS:
        found, _ = run(way, text(a_type, b_type), threads=64, x=x)
        assert found.tolist() == expected(a_type, b_type, x).tolist(), way
