"""`python tests/stand_in [options] -- command`: runs a command with the stand-in as its GPU; options as of
`environment`: `--target sm_80 --fail add --log calls.txt`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "support")]

import stand_in  # noqa: E402


def main() -> None:
    """Reads the options and becomes the command."""
    parser = argparse.ArgumentParser(prog="python tests/stand_in", description=stand_in.__doc__)
    parser.add_argument("--target", default="sm_90", help="the GPU that it stands in for")
    parser.add_argument("--memory", type=int, help="bytes of its memory")
    parser.add_argument("--driver", type=int, default=13000, help="the version of the driver")
    parser.add_argument("--fail", default="", help="kernels that are stopped: pattern[=CUDA_ERROR_...][@n],...")
    parser.add_argument("--hang", default="", help="kernels that never end: pattern[@n],...")
    parser.add_argument("--refuse", default="", help="calls that fail: pattern[=CUDA_ERROR_...][@n],...")
    parser.add_argument("--early", action="store_true", help="a fault is reported by the very next call")
    parser.add_argument("--log", default="", help="a file that gets a line for each call")
    parser.add_argument("command", nargs="+", help="after --: what to run")
    options = vars(parser.parse_args())
    command = options.pop("command")
    if reason := stand_in.unavailable():
        sys.exit(reason)
    os.execvpe(command[0], command, stand_in.environment(**options))


main()
