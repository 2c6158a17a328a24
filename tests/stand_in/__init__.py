"""A GPU for tests on any Linux machine: a stand-in for `libcuda.so.1` whose kernels run on the emulator.

environment()        # the variables under which a Python process sees the stand-in as its GPU; see README.md
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ptxlab import targets
from ptxlab.gpu import assembler

HERE = Path(__file__).resolve().parent
SOURCE = HERE / "driver" / "libcuda.c"
FLAGS = ("-O1", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-shared", "-fPIC", "-pthread")


def unavailable() -> str:
    """Why the stand-in cannot be used here; "" where it can."""
    if sys.platform != "linux":
        return "the stand-in for libcuda.so.1 needs Linux"
    if _compiler() is None:
        return "the stand-in for libcuda.so.1 needs a C compiler (cc)"
    if _header() is None:
        return "the stand-in for libcuda.so.1 needs cuda.h: pip install 'ptxlab[cuda]'"
    if not assembler.available():
        return f"the stand-in for libcuda.so.1 needs NVIDIA's assembler: {assembler.INSTALL}"
    if importlib.util.find_spec("cuda.core") is None:
        return "the stand-in for libcuda.so.1 needs cuda.core: pip install cuda-core"
    return ""


def environment(
    *,
    target: str = "sm_90",
    memory: int | None = None,
    attributes: Mapping[int, int] | None = None,
    driver: int = 13000,
    fail: str = "",
    hang: str = "",
    refuse: str = "",
    early: bool = False,
    log: str | os.PathLike[str] = "",
) -> dict[str, str]:
    """The environment of this process, changed so that a Python process in it has the stand-in as its GPU.

    target: what GPU it stands in for. memory: bytes of its memory, by default half of this machine's. attributes: other
    values of `CUdevice_attribute`s than the target's. driver: the version that `cuDriverGetVersion` says. fail, hang:
    kernels that are stopped or never end. refuse: functions of the driver that return an error. early: a fault is
    reported by the very next call, not by the next one that waits. log: a file that gets a line for each call.
    """
    name, values = _attributes(target)
    if memory is None:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    paths = [str(library().parent), os.environ.get("LD_LIBRARY_PATH", "")]
    return os.environ | {
        "LD_LIBRARY_PATH": ":".join(path for path in paths if path),
        "PTXLAB_STAND_IN": str(HERE),
        "PTXLAB_STAND_IN_NAME": f"stand-in for {name} (emulator)",
        "PTXLAB_STAND_IN_DRIVER": str(driver),
        "PTXLAB_STAND_IN_MEMORY": str(memory),
        "PTXLAB_STAND_IN_ATTRIBUTES": ",".join(f"{k}={v}" for k, v in (values | dict(attributes or {})).items()),
        "PTXLAB_STAND_IN_FAIL": fail,
        "PTXLAB_STAND_IN_HANG": hang,
        "PTXLAB_STAND_IN_REFUSE": refuse,
        "PTXLAB_STAND_IN_REPORTS": "early" if early else "late",
        "PTXLAB_STAND_IN_LOG": os.fspath(log),
    }


def library() -> Path:
    """The compiled stand-in, kept in the directory for temporary files for as long as its source stays the same."""
    compiler, header = _compiler(), _header()
    if compiler is None or header is None:
        raise RuntimeError(unavailable())
    sources = b"".join(path.read_bytes() for path in sorted(SOURCE.parent.iterdir()))
    content = sources + header.read_bytes() + " ".join((compiler, *FLAGS)).encode()
    folder = Path(tempfile.gettempdir()) / f"ptxlab-stand-in-{hashlib.sha256(content).hexdigest()[:16]}-{os.getuid()}"
    built = folder / "libcuda.so.1"
    if not built.exists():
        folder.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as place:  # several processes may build at the same time
            made = Path(place) / built.name
            command = [compiler, *FLAGS, "-Wl,-soname,libcuda.so.1", "-I", str(header.parent), str(SOURCE)]
            done = subprocess.run([*command, "-o", str(made), "-ldl"], capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(f"{compiler} cannot build {SOURCE}:\n{done.stderr}")
            made.rename(built)
    return built


def _compiler() -> str | None:
    return shutil.which(os.environ.get("CC") or "cc")


def _header() -> Path | None:
    """The `cuda.h` of the wheel `nvidia-cuda-runtime`."""
    spec = importlib.util.find_spec("nvidia")
    for place in (spec.submodule_search_locations or []) if spec is not None else []:
        header = Path(place) / "cu13" / "include" / "cuda.h"
        if header.exists():
            return header
    return None


def _attributes(target: str) -> tuple[str, dict[int, int]]:
    """The name of a GPU of this target, and the CUdevice_attributes that anything here asks for."""
    t = targets.get(target.rstrip("af"))
    name, multiprocessors = t.gpus[0] if t.gpus else (t.name, 1)
    major, minor = divmod(t.number, 10)
    block, grid = targets.BLOCK, targets.GRID
    return name, {
        1: t.threads_per_block, 2: block[0], 3: block[1], 4: block[2], 5: grid[0], 6: grid[1], 7: grid[2],
        8: t.static_shared, 9: 65536, 10: targets.WARP, 12: t.registers_per_sm, 13: 1_980_000, 16: multiprocessors,
        31: 1, 36: 2_619_000, 37: 5120, 38: 50 << 20, 39: t.threads_per_sm, 40: 3, 41: 1, 75: major, 76: minor, 78: 1,
        81: t.shared_per_sm, 82: t.registers_per_sm, 90: 1, 95: 1, 97: t.optin_shared, 106: t.blocks_per_sm,
        111: t.reserved_shared, 115: 1, 120: int(t.number >= 90),
    }  # fmt: skip
