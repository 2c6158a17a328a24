"""The pytest plugin from a wheel in a clean environment: `python benchmarks/clean_environment.py [folder]`.

Builds the wheel of this tree, installs it with pytest into a new environment, writes a project of three tests there
(two right, one with a race) and runs it on two cores, once with an empty cache of kernels and once again. What is
printed: the terminal of the first run as it was, then time, memory and the size of what was installed. The status is 1
unless two tests pass and the third one names the line of its kernel. Needs a package index; no GPU.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORES = 2
KERNELS = '''import ptxlab as pl
from ptxlab.builder import Ptr, f32, kernel


@kernel
def reverse(k, x: Ptr[f32], out: Ptr[f32]):
    tile = k.shared(f32, 64)
    t = k.tid.x
    tile[t] = x[t]
    k.barrier()
    out[t] = tile[63 - t]


@kernel
def hasty(k, x: Ptr[f32], out: Ptr[f32]):
    tile = k.shared(f32, 64)
    t = k.tid.x
    tile[t] = x[t]
    out[t] = tile[63 - t]


scale = pl.cuda("""
extern "C" __global__ void scale(float *x, float k, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] *= k;
}
""")
'''
TESTS = """import numpy as np
import pytest

from kernels import hasty, reverse, scale


@pytest.mark.ptxlab(checks="all", seeds=3)
def test_reverse(ptxlab):
    x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    ptxlab.launch(reverse, 1, 64, x, out)
    assert (out == x[::-1]).all()


def test_scale(ptxlab):
    x = np.ones(100, np.float32)
    ptxlab.launch(scale, 1, 128, x, 3.0, 100)
    assert (x == 3).all()


def test_hasty(ptxlab):
    x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    ptxlab.launch(hasty, 1, 64, x, out)
"""
WANTED = ("2 passed", "1 failed", "kernels.py:19: out[t] = tile[63 - t]", "launched at test_kernels.py:22")


def timed(command: list[str | Path], folder: Path, env: dict[str, str]) -> tuple[str, float, float]:
    """What a command prints, its seconds, and the most memory it had in MiB; one that fails as pytest does not is an
    error."""
    start = time.perf_counter()
    with tempfile.TemporaryFile("w+", encoding="utf-8") as out:
        process = subprocess.Popen(command, cwd=folder, env=env, stdout=out, stderr=out)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        said = out.read()
    if process.returncode not in (0, 1) or (process.returncode and "pytest" not in command):
        sys.exit(f"{command}:\n{said}")
    return said, time.perf_counter() - start, usage.ru_maxrss / 2**10


def main(folder: Path) -> int:
    """Builds, installs, runs."""
    folder.mkdir(parents=True, exist_ok=True)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV", "PYTEST_ADDOPTS")}
    env["XDG_CACHE_HOME"] = str(folder / "cache")
    _, building, _ = timed(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, ROOT], folder, env
    )
    [wheel] = folder.glob("ptxlab-*.whl")
    venv.create(folder / "clean", with_pip=True)
    python = folder / "clean" / ("Scripts" if os.name == "nt" else "bin") / "python"
    _, installing, _ = timed([python, "-m", "pip", "install", "--quiet", wheel, "pytest"], folder, env)
    size = sum(file.stat().st_size for file in (folder / "clean").rglob("*") if file.is_file())
    project = folder / "project"
    project.mkdir()
    (project / "kernels.py").write_text(KERNELS, encoding="utf-8")
    (project / "test_kernels.py").write_text(TESTS, encoding="utf-8")
    command = [python, "-m", "pytest", "--ptxlab-sarif", "ptxlab.sarif"]
    said, first, peak = timed(command, project, env)
    _, second, _ = timed(command, project, env)
    print(said)
    print(f"wheel: {wheel.stat().st_size / 2**20:.1f} MiB, built in {building:.0f} s")
    print(f"installed: {size / 2**20:,.0f} MiB with all it depends on, in {installing:.0f} s")
    print(f"three tests on {CORES} cores: {first:.1f} s, again {second:.1f} s; at most {peak:.0f} MiB of memory")
    missing = [text for text in WANTED if not re.search(re.escape(text), said)]
    for text in missing:
        print(f"not said: {text}")
    return int(bool(missing))


if __name__ == "__main__":
    if sys.argv[1:]:
        sys.exit(main(Path(sys.argv[1]).resolve()))
    with tempfile.TemporaryDirectory() as made:
        sys.exit(main(Path(made)))
