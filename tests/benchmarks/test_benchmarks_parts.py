"""The parts prefill, ladder and decode on a stand-in for NVIDIA's driver: graphs, events, faults, what is missing."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
import stand_in

from benchmarks.gpu.record import UNFINISHED, WRONG

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(stand_in.unavailable()), reason=stand_in.unavailable() or "there is a stand-in"),
    pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="torch does not know the stand-in"),
]


def part(name, *options, **environment):
    """Runs a part with the stand-in as its GPU."""
    command = [sys.executable, "-m", f"benchmarks.gpu.{name}", *map(str, options)]
    given = stand_in.environment(**environment)
    return subprocess.run(command, capture_output=True, text=True, timeout=900, cwd=ROOT, env=given)


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ({"fail": "swizzle_bf16_d128"}, "gpu: an access outside every allocation (CUDA_ERROR_ILLEGAL_ADDRESS)"),
        ({"hang": "swizzle_bf16_d128"}, "gpu: it did not end within 3 s (PTXLAB_GPU_LIMIT)"),
    ],
    ids=["fault", "hang"],
)
def test_a_kernel_that_the_gpu_stops_is_wrong_and_the_next_run_goes_on(option, says, tmp_path, monkeypatch):
    file = tmp_path / "prefill.json"
    monkeypatch.setenv("PTXLAB_GPU_LIMIT", "3")
    done = part("prefill", "--rehearse", "--json", file, **option)
    assert done.returncode == UNFINISHED, done.stdout + done.stderr
    found = json.loads(file.read_text(encoding="utf-8"))
    (wrong,) = found["wrong"]
    assert wrong == f"swizzle, bf16, D 128, full, S 128: DeviceFault: {says}"
    assert found["left"] > 0
    done = part("prefill", "--rehearse", "--json", file)
    assert done.returncode == WRONG, done.stdout + done.stderr
    found = json.loads(file.read_text(encoding="utf-8"))
    assert found["wrong"] == [wrong]
    assert (found["left"], len([row for row in found["rows"] if row["kernel"] != "Triton"])) == (0, 12)
