"""Whether a GPU can be used here, and why not: packages, driver and card, looked up once for a process."""

from __future__ import annotations

import functools
import os
import re
import sys
from importlib import metadata

from ptxlab import forks

NEEDED = (1, 0, 1)
"""The oldest cuda-core that works: 1.0.0 cannot be imported beside its bindings, earlier ones have other names."""

_ANSWERS = {
    "CUDA_ERROR_NO_DEVICE": "it sees no GPU",
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": "its parts are of different versions, as after an update: restart the machine",
    "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE": "CUDA's compatibility package does not support this GPU",
    "CUDA_ERROR_SYSTEM_NOT_READY": "a service that the GPU needs, such as nvidia-fabricmanager, does not run",
    "CUDA_ERROR_MPS_CONNECTION_FAILED": "the MPS server does not answer",
    "CUDA_ERROR_UNKNOWN": "as after a suspend, or where the kernel module nvidia_uvm is not loaded",
}
"""What the driver answers when it is asked for GPUs, in words (CUDA driver API, CUresult)."""


@functools.cache
def unavailable() -> str:
    """Why no GPU can be used here, in one line; "" where one can. Looked up once for a process."""
    if sys.platform == "darwin":
        return "NVIDIA's driver and packages exist for Linux and Windows only"
    if says := _package_trouble():
        return says
    from cuda.bindings import driver

    try:
        (answer,) = driver.cuInit(0)
        count = 0
        if not int(answer):
            answer, count = driver.cuDeviceGetCount()
    except RuntimeError as error:  # cuda.pathfinder finds no driver library, or one without what is needed
        # an older cuda-bindings, such as 13.0.3, has no name for it
        if type(error).__name__ == "DynamicLibNotFoundError" or str(error).startswith("Failed to dlopen"):
            return (
                f"NVIDIA's driver is not installed (no {'nvcuda.dll' if sys.platform == 'win32' else 'libcuda.so.1'})"
            )
        return f"NVIDIA's driver cannot be used: {str(error).splitlines()[0]}"
    if not int(answer) and count:
        return ""
    name = answer.name if int(answer) else "CUDA_ERROR_NO_DEVICE"
    words = _ANSWERS.get(name, driver.cuGetErrorString(answer)[1])
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    shown = "" if visible is None else f" with CUDA_VISIBLE_DEVICES={visible!r}"
    return f"NVIDIA's driver answers {name}{shown}: {words.decode() if isinstance(words, bytes) else words}"


_importing = forks.lock()


def _package_trouble() -> str:
    """What is wrong with the packages that reach the driver, and what to install; "" for nothing."""
    found = {}
    for name in ("cuda-core", "cuda-bindings"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            return f"{name} is not installed: pip install 'cuda-core>={'.'.join(map(str, NEEDED))},<2' cuda-bindings"
    numbers = re.findall(r"\d+", found["cuda-core"])[:3]
    if tuple(map(int, numbers)) < NEEDED:
        needed = ".".join(map(str, NEEDED))
        return f"cuda-core {found['cuda-core']} is too old: pip install 'cuda-core>={needed},<2'"
    try:
        with _importing:  # a second thread would see cuda.core without its names
            import cuda.bindings.driver
            import cuda.core  # noqa: F401
    except ImportError as error:
        both = " and ".join(f"{name} {version}" for name, version in found.items())
        return f"{both} cannot be imported ({error}): pip install --upgrade cuda-core cuda-bindings"
    return ""


def available() -> bool:
    """Whether there is an NVIDIA GPU with a driver, and the packages to use it; `unavailable` says why not."""
    return not unavailable()
