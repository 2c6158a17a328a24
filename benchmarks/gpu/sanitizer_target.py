"""Launches planted bugs and repaired twins, each once and under a name of its own: what compute-sanitizer is to watch.

    python -m benchmarks.gpu.sanitizer_target fixed_012 bug_012

A line `begin bug_012` before each, `end bug_012 ok` or `end bug_012 refused: ...` behind it. A kernel that the GPU
stops ends the process with status 3 after `end bug_012 fault: ...`: whoever started it goes on behind that one.
"""

from __future__ import annotations

import argparse
import sys

import ptxlab as pl
from benchmarks.gpu.sanitizer_bugs import bugs, kernel_name


def main() -> int:
    """Launches what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", metavar="KERNEL", help="bug_012 or fixed_012")
    parser.add_argument("--device", default="gpu", choices=("gpu", "step"))
    options = parser.parse_args()
    known = list(bugs().values())
    for name in options.names:
        word, _, number = name.partition("_")
        repaired = word == "fixed"
        assert kernel_name(int(number), repaired) == name, name
        print(f"begin {name}", flush=True)
        try:
            known[int(number)].launch(options.device, repaired, ("memcheck",), name=name)
        except pl.DeviceFault as error:
            print(f"end {name} fault: {error.message}", flush=True)
            return 3
        except pl.PtxlabError as error:
            print(f"end {name} refused: {str(error).splitlines()[0]}", flush=True)
            continue
        print(f"end {name} ok", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
