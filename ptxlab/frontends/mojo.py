"""Kernels of Mojo to PTX: `mojo build` writes that of each kernel that a program launches."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from ptxlab.errors import CompileError, UnavailableError
from ptxlab.frontends.kernel import CompiledKernel

INSTALL = "pip install mojo max"


def mojo(source: str, *, arch: str | None = None, entry: str = "", file: str = "kernel.mojo") -> CompiledKernel:
    """A kernel of a Mojo program: of a function that its `main` gives to `DeviceContext.enqueue_function`.

    entry: the function's name, where the program launches several. file: what to call the source in messages.
    """
    command = shutil.which("mojo") or shutil.which("mojo", path=str(Path(sys.executable).parent))
    if command is None:
        raise UnavailableError(f"Mojo is not installed (there is no command mojo): {INSTALL}")
    target = arch or "sm_80"
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "kernel.mojo"
        program.write_text(source, encoding="utf-8")
        options = ["--emit", "asm", "--target-accelerator", target, "-g1", "-o", str(program.with_suffix(".s"))]
        done = subprocess.run([command, "build", str(program), *options], capture_output=True, text=True)
        if done.returncode:
            words = done.stderr.replace(str(program), file)
            errors = "\n".join(line for line in words.splitlines() if "Crashpad" not in line)
            raise CompileError(f"{file}: {errors}")
        texts = [each.read_text() for each in sorted(Path(folder).glob("*.ptx"))]
    named = {re.findall(r"\.entry\s+([\w$]+)", text)[0]: text for text in texts}
    fitting = [name for name in named if re.search(rf"(?:^|_){re.escape(entry)}", name)]
    if len(fitting) != 1:
        raise CompileError(f"entry: name one of the kernels {', '.join(named) or '(the program launches none)'}")
    ptx = re.sub(r'(\.file\s+\d+ ")[^"]*/kernel\.mojo"', rf'\1{file}"', named[fitting[0]])
    return CompiledKernel(fitting[0], target, ptx, source, file)
