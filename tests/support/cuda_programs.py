"""Runs the CUDA C++ programs of `cuda_cases` on the engines, and prints what became of each.

python tests/support/cuda_programs.py                      # program x compiler x engine: ok, refused, WRONG or fault
python tests/support/cuda_programs.py fft --arch sm_90     # one program, another target
python tests/support/cuda_programs.py --compiler nvrtc     # compiled now, by NVRTC
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import functools
import io
import os
import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuda_cases import NEEDS, PROGRAMS

import ptxlab as pl

HERE = Path(__file__).parents[1]
SOURCES = HERE / "cuda" / "programs"
ARCHIVE = HERE / "corpus" / "cuda_programs.tar.xz"
ARCHS = ("sm_75", "sm_80", "sm_90")
MODES = ("O3", "G")


@functools.cache
def archive() -> dict[str, str]:
    """The PTX of every program as nvcc compiled it, by `<name>.<mode>.<arch>`."""
    with tarfile.open(ARCHIVE) as files:
        return {m.name.removesuffix(".ptx"): files.extractfile(m).read().decode() for m in files}  # type: ignore[union-attr]


def exists(name: str, arch: str) -> bool:
    """Whether a program can be compiled for a target."""
    return int(arch[3:]) >= NEEDS.get(name, 75)


def ptx_of(name: str, mode: str, arch: str, compiler: str = "nvcc") -> str:
    """A program's PTX: nvcc's from the corpus, or NVRTC's, compiled now."""
    if compiler == "nvcc":
        return archive()[f"{name}.{mode}.{arch}"]
    source = (SOURCES / f"{name}.cu").read_text()
    return pl.cuda(source, arch, options=("-G",) if mode == "G" else (), file=f"{name}.cu").ptx


@dataclass(frozen=True)
class Outcome:
    """What became of a program: verdict "ok", "refused", "WRONG" or "fault", and the words that belong to it."""

    verdict: str
    says: str = ""

    def __str__(self) -> str:
        return f"{self.verdict} {self.says}".strip()


@contextlib.contextmanager
def printed_by_a_gpu() -> Iterator[list[Message]]:
    """What kernels print meanwhile: a driver writes it to the standard output of the process, past Python."""
    libc = ctypes.CDLL(None)
    said: list[Message] = []
    sys.stdout.flush()
    libc.fflush(None)
    with tempfile.TemporaryFile() as file:
        before = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            yield said
        finally:
            libc.fflush(None)
            os.dup2(before, 1)
            os.close(before)
            file.seek(0)
            said.append(Message(file.read().decode()))


@dataclass(frozen=True)
class Message:
    """Printed text, as in `Run.messages`."""

    text: str


def run(name: str, text: str, device: str, **options: Any) -> Outcome:
    """Runs a program on a device of `pl.launch` and compares its results."""

    def launch(entry: str, grid: Any, block: Any, *arguments: Any, **more: Any) -> Any:
        if device != "gpu":
            more["budget"] = 50_000_000
            return pl.launch(text, grid, block, *arguments, entry=entry, device=device, **options, **more)
        with printed_by_a_gpu() as said:
            done = pl.launch(text, grid, block, *arguments, entry=entry, device=device, **options, **more)
        done.messages += said
        return done

    try:
        with contextlib.redirect_stdout(io.StringIO()):  # what the kernels print
            PROGRAMS[name](launch)
    except pl.UnsupportedInstruction as error:
        return Outcome("refused", error.message)
    except pl.DeviceFault as error:
        return Outcome("fault", str(error))
    except AssertionError as error:
        return Outcome("WRONG", str(error))
    return Outcome("ok")


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="PROGRAM", help="which programs; all by default")
    parser.add_argument("--arch", action="append", choices=ARCHS, help="target, sm_80 by default")
    parser.add_argument("--mode", action="append", choices=MODES, help="O3 or G, both by default")
    parser.add_argument("--device", action="append", choices=("step", "cpu", "gpu"), help="step and cpu by default")
    parser.add_argument("--compiler", choices=("nvcc", "nvrtc"), default="nvcc")
    given = parser.parse_args()
    verdicts: Counter[str] = Counter()
    for name in given.names or PROGRAMS:
        for arch in given.arch or ("sm_80",):
            if not exists(name, arch):
                continue
            for mode in given.mode or MODES:
                text = ptx_of(name, mode, arch, given.compiler)
                for device in given.device or ("step", "cpu"):
                    start = time.perf_counter()
                    outcome = run(name, text, device)
                    seconds = time.perf_counter() - start
                    verdicts[outcome.verdict] += 1
                    print(f"{name:22} {arch} {mode:2} {device:4} {seconds:6.2f} s  {outcome}", flush=True)
    print(", ".join(f"{count} {verdict}" for verdict, count in verdicts.items()))


if __name__ == "__main__":
    main()
