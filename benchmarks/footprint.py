"""What the machine keeps: the memory of a process that runs many kernels, and that of a launch of a million blocks.

`python -m benchmarks.footprint [--kernels 10000] [--blocks 1000000]`: MiB of the process (resident), and the files
and MiB of the cache on disk, which is a folder of its own for the run. Ten thousand kernels take some minutes.
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

MIB = 1 << 20


def resident() -> float:
    """MiB of this process now; where the system does not tell, at most so far."""
    statm = Path("/proc/self/statm")
    gc.collect()
    if statm.exists():
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / MIB
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else MIB)


def kernel(number: int) -> str:
    """A small kernel unlike those of other numbers: each thread adds it to its own element."""
    return f""".version 8.0
.target sm_80
.address_size 64
.visible .entry add{number}(.param .u64 out)
{{
    .reg .b32 %r<6>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %tid.x;
    mad.lo.u32 %r3, %r1, 32, %r2;
    and.b32 %r3, %r3, 1023;
    mul.wide.u32 %rd2, %r3, 4;
    add.u64 %rd3, %rd1, %rd2;
    red.global.add.u32 [%rd3], {number};
    ret;
}}
"""


def many_kernels(count: int, folder: Path) -> None:
    """Launches so many kernels, each once, and says ten times how large the process has become."""
    import numpy as np

    import ptxlab as pl

    print(f"{'kernels':>10}{'MiB':>10}{'seconds':>10}{'cached':>10}{'MiB':>10}")
    out, begun = np.zeros(1024, np.uint32), time.perf_counter()
    for number in range(1, count + 1):
        out[:] = 0
        pl.launch(kernel(number), 32, 32, out, device="cpu", workers=1)
        if not (out == number).all():
            raise SystemExit(f"kernel {number} wrote {out}")
        if number % max(1, count // 10) == 0:
            sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
            row = f"{number:10,}{resident():10.0f}{time.perf_counter() - begun:10.1f}"
            print(f"{row}{len(sizes):10,}{sum(sizes) / MIB:10.1f}", flush=True)


def many_blocks(count: int) -> None:
    """One launch of so many blocks, without checks and with all of them."""
    import numpy as np

    import ptxlab as pl

    print(f"{'blocks':>10}{'MiB before':>12}{'MiB after':>12}{'seconds':>10}")
    for checks in (["memcheck"], "all"):
        for blocks in (1024, count):
            out, before, begun = np.zeros(1024, np.uint32), resident(), time.perf_counter()
            pl.launch(kernel(1), blocks, 32, out, device="cpu", workers=1, checks=checks)
            seconds = time.perf_counter() - begun
            if int(out.sum()) != 32 * blocks:
                raise SystemExit(f"{blocks} blocks have added up {out.sum()}")
            row = f"{blocks:10,}{before:12.0f}{resident():12.0f}{seconds:10.2f}"
            print(f"{row}   {'all checks' if checks == 'all' else 'memcheck'}", flush=True)


def main() -> None:
    """Runs both."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.footprint", description=__doc__)
    parser.add_argument("--kernels", type=int, default=10_000, help="kernels to launch once each")
    parser.add_argument("--blocks", type=int, default=1_000_000, help="blocks of the large launch")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # the last code may still be stored
        os.environ["PTXLAB_CACHE"] = folder  # before ptxlab looks for it
        many_kernels(options.kernels, Path(folder))
        many_blocks(options.blocks)


if __name__ == "__main__":
    main()
