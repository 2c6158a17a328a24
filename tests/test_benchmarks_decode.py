"""`benchmarks/decode.py` without a GPU: it says so, and shows what the CPU machine counts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ptxlab import gpu

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "decode.py"


def run(*options):
    return subprocess.run([sys.executable, str(SCRIPT), *options], capture_output=True, text=True, timeout=600)


@pytest.mark.skipif(gpu.available(), reason="there is a GPU")
def test_without_a_gpu_it_says_so():
    done = run("--device", "gpu")
    assert done.returncode == 1
    assert done.stderr == (
        "there is no NVIDIA GPU here, or its driver is missing; leave --device out for what can be counted\n"
    )


@pytest.mark.slow
def test_decode_gqa_asks_for_keys_and_values_once():
    """Within a tenth: Q, the table and the partial results of a small problem come on top."""
    done = run("--device", "cpu")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("no GPU: ")
    rows = [line.split() for line in done.stdout.splitlines()[4:]]
    asked = {(name, heads, cache): float(ratio) for name, _, _, heads, cache, _, ratio, _ in rows}
    assert len(asked) == 14
    for (name, heads, _), ratio in asked.items():
        group = 4 if heads == "8/2" else 8
        once = 1 if name == "decode_gqa" else group
        assert once <= ratio < 1.14 * once


@pytest.mark.gpu
def test_on_a_gpu_it_measures():
    done = run("--quick")
    assert done.returncode == 0, done.stderr
    assert "copy: " in done.stdout
    assert "decode_gqa " in done.stdout
