"""FlashAttention-4's own forward kernels: PTX that its packages write without a GPU; launches of that for sm_90a.

The packages `flash-attn-4` and `nvidia-cutlass-dsl` (with triton, and torch for the CPU) are taken from the Python that
the variable FLASH_ATTENTION_PYTHON names, by default from the one that runs. What the parameters of the kernels are was
read from `flash_fwd_sm90.py` and `tile_scheduler.py` of version 4.0.0b36. `flash_attention_4_ampere` launches that of
sm_80.
"""

from __future__ import annotations

import functools
import importlib.util
import math
import os
import re
import struct
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

import ptxlab as pl
from ptxlab import reference

PYTHON = os.environ.get("FLASH_ATTENTION_PYTHON", sys.executable)
WRITER = """
import sys
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from flash_attn.cute.interface import _flash_attn_fwd
dim, causal, dtype = int(sys.argv[1]), sys.argv[2] == "True", getattr(torch, sys.argv[3])
heads, packed = int(sys.argv[4]), sys.argv[5] == "True"
with FakeTensorMode():
    q = torch.empty(1, 200, heads, dim, dtype=dtype, device="cuda")
    k, v = (torch.empty(1, 300, 1, dim, dtype=dtype, device="cuda") for _ in range(2))
    _flash_attn_fwd(q, k, v, causal=causal, return_lse=True, pack_gqa=packed)
"""
SMS = {"sm_80": "108", "sm_90a": "132"}
ROWS = {64: 192, 128: 128}
KEYS = 128
"""Query rows by head_dim, and keys, of a tile."""
SHARED = 227 * 1024
L2 = 50 * 1024 * 1024
"""What the scheduler of causal kernels thinks of the L2 cache."""
TWO_HEADS = 2


def available() -> bool:
    """Whether the packages are there."""
    if PYTHON != sys.executable:
        return Path(PYTHON).exists()
    return bool(importlib.util.find_spec("flash_attn")) and bool(importlib.util.find_spec("cutlass"))


@functools.cache
def written(
    dim: int, causal: bool, dtype: str, *, arch: str = "sm_90a", group: int = TWO_HEADS, packed: bool = False
) -> str:
    """The PTX for `group` query heads per key/value head, its long names made short.

    packed: the rows of a tile are those of all heads of a group.
    """
    with tempfile.TemporaryDirectory() as folder:
        command = [PYTHON, "-c", WRITER, str(dim), str(causal), dtype, str(group), str(packed)]
        environment = os.environ | {
            "FLASH_ATTENTION_ARCH": arch.rstrip("a"),
            "FLASH_ATTENTION_NUM_SMS": SMS[arch],
            "CUTE_DSL_ARCH": arch,
            "CUTE_DSL_KEEP": "ptx",
            "CUTE_DSL_DUMP_DIR": folder,
        }
        subprocess.run(command, env=environment, cwd=folder, check=True, capture_output=True, timeout=600)
        (file,) = Path(folder).glob("*.ptx")
        text = file.read_text(encoding="utf-8")
    text = re.sub(r"\bkernel_cutlass_kernel\w+?_param_(?=\d)", "p", text)
    return re.sub(r"\bkernel_cutlass_kernel\w+", "forward", text)


@dataclass(frozen=True)
class Problem:
    """Random inputs: `[batch, 2 or 1 heads, rows or keys, dim]`."""

    dim: int
    causal: bool = False
    dtype: str = "float16"
    batch: int = 1
    rows: int = 200
    keys: int = 600

    @property
    def ptx(self) -> str:
        """The kernel for it."""
        return written(self.dim, self.causal, self.dtype)

    def run(self, ptx: str, checks: Sequence[str], device: str = "cpu") -> tuple[pl.Run, reference.Error]:
        """A launch, and how far o and lse are from float64."""
        b, h, m, n, d = self.batch, TWO_HEADS, self.rows, self.keys, self.dim
        numbers = np.dtype(ml_dtypes.bfloat16 if self.dtype == "bfloat16" else self.dtype)
        rng = np.random.default_rng(m + n)
        q, k, v = (rng.standard_normal(s).astype(numbers) for s in ((b, h, m, d), (b, 1, n, d), (b, 1, n, d)))
        o, lse = np.zeros_like(q), pl.to_device(np.zeros((b, h, m), np.float32), device="cpu")
        scale = reference.default_scale(d)
        blocks = -(-m // ROWS[d])
        shapes = [struct.pack("<4i", *shape) for shape in ((m, d, h, b), (n, d, 1, b), (n, d, 1, b), (m, d, h, b))]
        arguments: list[Any] = [
            *shapes,
            struct.pack("<Q3i4x2q", lse.address, m, h, b, m, h * m),
            *(_map(array, rows) for array, rows in ((q, ROWS[d]), (k, KEYS), (v, KEYS), (o, ROWS[d]))),
            scale * math.log2(math.e),
            bytes(1),
            bytes(1),
            *self._schedule(blocks),
        ]
        grid = blocks * h * b if self.causal else (blocks, h, b)
        run = pl.launch(ptx, grid, 128 + 2 * ROWS[d], *arguments, shared=SHARED, device=device, checks=checks)
        error = reference.measure(
            o, lse.copy_to_host(), q, k, v, causal=self.causal, scale=scale, tile=KEYS, precision=None
        )
        return run, error

    def _schedule(self, blocks: int) -> list[Any]:
        """The parameters of the tile scheduler."""
        heads = TWO_HEADS * self.batch
        if not self.causal:
            return [blocks, TWO_HEADS, self.batch, *divided(1)]
        one_head = self.keys * 2 * self.dim * 2
        section = 1 << (L2 // one_head).bit_length() - 1
        divisors = [TWO_HEADS, section, section * blocks, max(heads % section, 1)]
        return [
            blocks * heads,
            blocks,
            TWO_HEADS,
            self.batch,
            section,
            *(p for n in divisors for p in divided(n)),
            heads // section,
            *divided(1),
        ]


def _map(array: Any, rows: int) -> pl.TensorMap:
    return pl.TensorMap(array, box=(1, 1, rows, 64), swizzle=128)


def divided(n: int) -> list[Any]:
    """A divisor as the kernels take it, for divisions by multiplication and shifts; and the number itself."""
    bits = (n - 1).bit_length()
    multiplier = (((1 << bits) - n) << 32) // n + 1
    return [struct.pack("<2I2B2x", n, multiplier & 0xFFFFFFFF, min(bits, 1), max(bits - 1, 0)), n]


WAITING = re.compile(
    r"\s*(@%\w+ )?(bar\.|barrier\.|fence\.|mbarrier\.|setmaxnreg|wgmma\.(fence|commit|wait)"
    r"|cp\.async\.(bulk\.)?(commit|wait))"
)


def waits(ptx: str) -> list[int]:
    """The lines that wait, order, arrive or commit."""
    return [n for n, line in enumerate(ptx.splitlines()) if WAITING.match(line)]


def without(ptx: str, at: int) -> str:
    """The text without what line `at` does; a wait for a phase says that it is over."""
    lines = ptx.splitlines()
    waited = re.search(r"try_wait\S*\s+(%?\w+),", lines[at])
    lines[at] = f"setp.eq.b32 {waited[1]}, 0, 0;" if waited else ""
    return "\n".join(lines)
