"""How long a new process takes to import ptxlab and to its first result: `python benchmarks/startup.py`.

Beside `import numpy` alone, which both may load: a name's module is loaded when the name is first used. The first
result is that of a small kernel on the CPU machine, its code in the cache on disk or nothing cached, from the moment
that numpy is imported; beside it what llvmlite takes alone. Milliseconds of wall time and of processor time, the
least of some processes that take turns. Bytecode is cached, in a folder of the benchmark's own: with
PYTHONDONTWRITEBYTECODE, as containers set it, Python compiles every module in every process, and `import ptxlab;
ptxlab.launch` takes three times as long.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KERNEL = """.version 8.0
.target sm_80
.address_size 64
.visible .entry first(.param .u64 out)
{
    .reg .b32 %r1; .reg .b64 %a; .reg .b64 %o;
    ld.param.u64 %a, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %o, %r1, 4;
    add.u64 %a, %a, %o;
    st.global.u32 [%a], %r1;
    ret;
}
"""
RESULT = f"""import ptxlab
out = numpy.zeros(32, numpy.uint32)
ptxlab.launch({KERNEL!r}, 1, 32, out, device="cpu")"""
MEASURED = (
    ("import numpy", "", "import numpy"),
    ("import ptxlab", "", "import ptxlab"),
    ("import ptxlab; ptxlab.launch", "", "import ptxlab; ptxlab.launch"),
    ("numpy, then llvmlite", "import numpy", "import llvmlite.binding as llvm; llvm.initialize_native_target()"),
    ("numpy, then the first result", "import numpy", RESULT),
    ("the same, nothing cached", "import os, numpy; os.environ['PTXLAB_CACHE'] = 'off'", RESULT),
)
"""What it is, what comes before the clock starts, and what is timed."""
TIMED = """{}
import time
begun = time.perf_counter(), time.process_time()
{}
print(time.perf_counter() - begun[0], time.process_time() - begun[1])"""
PROCESSES = 9


def seconds(before: str, code: str, environment: dict[str, str]) -> tuple[float, float]:
    """Of one fresh process: wall time and processor time."""
    command = [sys.executable, "-c", TIMED.format(before, code)]
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    wall, cpu = map(float, printed.split())
    return wall, cpu


def main() -> None:
    """Prints a line for each."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        own = {"PYTHONPYCACHEPREFIX": f"{folder}/bytecode", "PTXLAB_CACHE": f"{folder}/code", "PYTHONPATH": path}
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | own
        found: list[list[tuple[float, float]]] = [[] for _ in MEASURED]
        for _ in range(1 + PROCESSES):
            for times, (_, before, code) in zip(found, MEASURED, strict=True):
                times.append(seconds(before, code, environment))
        least = [[min(column) for column in zip(*times[1:], strict=True)] for times in found]  # the first fill caches
        for (name, _, _), (wall, cpu) in zip(MEASURED, least, strict=True):
            ratios = f"{wall / least[0][0]:.2f} and {cpu / least[0][1]:.2f} x numpy"
            print(f"{name:30}{wall * 1e3:7.1f} ms, {cpu * 1e3:7.1f} ms of a core: {ratios}")


if __name__ == "__main__":
    main()
