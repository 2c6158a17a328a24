"""What this machine has and lacks: Python, NVIDIA's wheels, a GPU, a disassembler, a browser; for `ptxlab doctor`."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from ptxlab.errors import PtxlabError

TINY_PTX = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n    ret;\n}\n"
"""The smallest kernel: what `examine` gives to the assembler to see that it works."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked for. `value` is what was found ("" when missing), `hint` what to do about it, in a few words."""

    name: str
    ok: bool
    value: str
    hint: str = ""

    def __str__(self) -> str:
        mark = "ok" if self.ok else "--"
        tail = f"  ({self.hint})" if self.hint and not self.ok else ""
        return f"{mark}  {self.name:<12} {self.value or 'not found'}{tail}"


def examine() -> list[Finding]:
    """Everything `ptxlab doctor` prints, in order. Nothing is installed or changed; takes about a second."""
    return [
        Finding("python", sys.version_info >= (3, 11), platform.python_version(), "3.11 or newer is needed"),
        Finding("platform", True, f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs"),
        _package("numpy", "the emulator cannot run without it"),
        _compiler(),
        _assembler(),
        _nvrtc(),
        _disassembler(),
        _gpu(),
        _package("jupyterlab", "for notebooks: pip install ptxlab"),
        _browser(),
    ]


def missing(purpose: str = "test") -> list[str]:
    """One line for each optional thing that is not here and what that means; `purpose` is "test" or "lab"."""
    consequence = {
        "test": dict.fromkeys(("assembler", "gpu", "browser"), "its tests are skipped"),
        "lab": {
            "assembler": "kernels run, registers and spills are not shown",
            "gpu": "kernels run on the emulator",
            "compiler": "kernels run in the interpreter",
        },
    }[purpose]
    looked = {"assembler": _assembler, "gpu": _gpu, "compiler": _compiler, "browser": _browser}
    lines = []
    for name, says in consequence.items():
        found = looked[name]()
        if not found.ok:
            lines.append(f"ptxlab: no {_TITLES[name]}: {says}" + (f" ({found.hint})" if found.hint else ""))
    return lines


_TITLES = {"assembler": "NVIDIA assembler", "gpu": "NVIDIA GPU", "compiler": "llvmlite", "browser": "browser"}


def browser() -> str | None:
    """The path of a Chromium or Chrome: `PTXLAB_BROWSER` if set, else the first on PATH or in its usual place."""
    named = os.environ.get("PTXLAB_BROWSER")
    if named:
        return named if Path(named).exists() else None
    for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge"):
        path = shutil.which(name)
        if path:
            return path
    mac = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
    return str(mac) if mac.exists() else None


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


def _package(name: str, hint: str) -> Finding:
    return Finding(name, importlib.util.find_spec(name) is not None, _version(name), hint)


def _compiler() -> Finding:
    """llvmlite and the vector extensions that it will generate code for."""
    try:
        from llvmlite import binding
    except ImportError:
        return Finding("llvmlite", False, "", "pip install llvmlite")
    features = binding.get_host_cpu_features()
    vectors = [name for name in ("avx512f", "avx2", "fma", "f16c", "neon", "sve") if features.get(name)]
    return Finding("llvmlite", True, f"{_version('llvmlite')}, {binding.get_host_cpu_name()}: {' '.join(vectors)}")


def _assembler() -> Finding:
    """NVIDIA's assembler, by assembling the smallest kernel."""
    from ptxlab.gpu.assembler import assemble

    name = "assembler"
    try:
        made = assemble(TINY_PTX)
    except PtxlabError as error:
        return Finding(name, False, "", str(error).splitlines()[0])
    return Finding(
        name, True, f"nvJitLink {_version('nvidia-nvjitlink')}, {made.seconds * 1e3:.1f} ms for an empty kernel"
    )


def _nvrtc() -> Finding:
    version = _version("nvidia-cuda-nvrtc")
    return Finding("nvrtc", bool(version), version, "for CUDA C++, on Linux and Windows: pip install nvidia-cuda-nvrtc")


def _disassembler() -> Finding:
    from ptxlab.gpu.disassembler import find_nvdisasm

    path = find_nvdisasm()
    return Finding("nvdisasm", path is not None, path or "", "pip install 'ptxlab[sass]'")


def _gpu() -> Finding:
    from ptxlab.gpu.device import describe, unavailable

    why = unavailable()
    return Finding("gpu", False, "", why) if why else Finding("gpu", True, str(describe()))


def _browser() -> Finding:
    path = browser()
    return Finding("browser", path is not None, path or "", "Chromium or Chrome; or set PTXLAB_BROWSER")


if __name__ == "__main__":
    if "--missing" in sys.argv:
        print("\n".join(missing(sys.argv[-1])))
    else:
        print("\n".join(map(str, examine())))
