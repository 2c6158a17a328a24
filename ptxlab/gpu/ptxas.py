"""`ptxas`, NVIDIA's assembler as a program, for text that moves registers between warps.

nvJitLink compiles for linking, and there `setmaxnreg` is ignored: what it assembles of such a kernel is right, but
spills in the roles that were to have many registers, and is slow. Where there is a `ptxas`, it assembles such text; it
is a process of its own, so no text can end this one.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

MOVES_REGISTERS = re.compile(rb"^[^/\n]*\bsetmaxnreg\.", re.MULTILINE)
"""A line that has one, with a label, guard or `.loc` before it, but not in a comment."""
SECONDS = 300
"""After which it is given up."""


@functools.cache
def path() -> str:
    """The program: what the variable PTXAS names, that on the PATH, or that of a wheel. "" where there is none, or
    where PTXAS is empty."""
    if "PTXAS" in os.environ:
        return os.environ["PTXAS"]
    if found := shutil.which("ptxas"):
        return found
    try:
        from cuda.pathfinder import find_nvidia_binary_utility
    except ImportError:
        return ""
    return find_nvidia_binary_utility("ptxas") or ""


def assembled(ptx: bytes, arch: str, lineinfo: bool, more: tuple[str, ...] = ()) -> tuple[bytes, str, str] | str:
    """(cubin, report, "ptxas 13.0"); or why there is none, in words: what is wrong with the text nvJitLink says."""
    if not path():
        return "there is no ptxas here"
    with tempfile.TemporaryDirectory() as folder:
        text, cubin = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        text.write_bytes(ptx.rstrip(b"\0"))
        options = [f"-arch={arch}", "-v", *(["-lineinfo"] if lineinfo else []), *more]
        try:
            name = _release(path())
            done = _run(path(), *options, "-o", str(cubin), str(text))
        except (OSError, subprocess.TimeoutExpired) as error:  # confined processes may start no other
            return f"{path()} does not run: {error}"
        if done.returncode:  # an older one may not know the text's PTX version
            return f"{name} does not take the text: {(done.stderr.splitlines() or ['no reason given'])[0]}"
        return cubin.read_bytes(), done.stdout + done.stderr, name


@functools.cache
def _release(program: str) -> str:
    """What a program says it is, as "ptxas 13.0"."""
    found = re.search(r"release ([\d.]+)", _run(program, "--version").stdout)
    return f"ptxas {found[1]}" if found else "ptxas"


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
