"""The CUDA driver's error codes as ptxlab's errors: their cause, and what to do next."""

from __future__ import annotations

import re

from ptxlab.errors import DeviceFault, LaunchError, PtxlabError, UnavailableError
from ptxlab.names import source_name

STOPPED = {
    "CUDA_ERROR_ILLEGAL_ADDRESS": "an access outside every allocation",
    "CUDA_ERROR_MISALIGNED_ADDRESS": "an access to an address that is not a multiple of its size",
    "CUDA_ERROR_INVALID_ADDRESS_SPACE": "an access to memory of another state space than the instruction names",
    "CUDA_ERROR_ILLEGAL_INSTRUCTION": "an instruction that this GPU does not have, or trap",
    "CUDA_ERROR_INVALID_PC": "a jump outside the code",
    "CUDA_ERROR_HARDWARE_STACK_ERROR": "the call stack overflowed or was overwritten",
    "CUDA_ERROR_ASSERT": "an assertion failed",
    "CUDA_ERROR_LAUNCH_TIMEOUT": "it ran longer than the display driver allows",
    "CUDA_ERROR_LAUNCH_FAILED": "trap, or an access outside shared or local memory",
    "CUDA_ERROR_EXTERNAL_DEVICE": "a fault in another device's memory",
    "CUDA_ERROR_TENSOR_MEMORY_LEAK": "tensor memory was not given back",
}
"""What the GPU stops a kernel for; the process cannot use the GPU afterwards (CUDA driver API, CUresult)."""

REFUSED = {
    "CUDA_ERROR_INVALID_VALUE": "a size of the launch is out of range",
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": "the block needs more registers or threads than a multiprocessor has",
    "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE": "a cooperative grid must be resident at once, and this one is too large",
    "CUDA_ERROR_INVALID_CLUSTER_SIZE": "the cluster is larger than this GPU allows",
    "CUDA_ERROR_NOT_SUPPORTED": "this GPU does not support this kind of launch",
    "CUDA_ERROR_OUT_OF_MEMORY": "the GPU has not enough free memory",
    "CUDA_ERROR_NOT_FOUND": "the code has no kernel of this name",
}
"""What the driver refuses before anything runs; the GPU stays usable."""

TOO_OLD = (
    "CUDA_ERROR_NO_BINARY_FOR_GPU",
    "CUDA_ERROR_INVALID_IMAGE",
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
    "CUDA_ERROR_INVALID_SOURCE",
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
)
"""What an older driver answers to the machine code of a newer assembler."""

_lost = ""


def context_lost(reason: str = "") -> str:
    """Why this process cannot use the GPU any more, "" while it can; the first `reason` that is given stays."""
    global _lost
    _lost = _lost or reason
    return _lost


def result_name(error: object) -> str | None:
    """`CUDA_ERROR_...` of a driver result or of an exception that `cuda.core` raised; None for anything else."""
    match = re.search(r"\bCUDA_ERROR_\w+", getattr(error, "name", "") or str(error))
    return match[0] if match else None


def fault(error: object, kernel: str) -> PtxlabError:
    """The error for a driver result (or `cuda.core`'s exception): DeviceFault, LaunchError or UnavailableError."""
    name, kernel = result_name(error) or str(error), source_name(kernel)
    if name in REFUSED:
        return LaunchError(f"{kernel or 'GPU'}: {REFUSED[name]} ({name})")
    if name in TOO_OLD:
        return UnavailableError(
            f"the GPU's driver does not take the code of this assembler ({name}): update the driver, or install the "
            "assembler of the driver's CUDA, such as pip install 'nvidia-nvjitlink<13.1'; device='cpu' needs neither"
        )
    says = STOPPED.get(name, "the GPU stopped it")
    context_lost(f"{kernel or 'a kernel'} was stopped by the GPU ({name}), after which this process cannot use it")
    return DeviceFault(
        "gpu",
        f"{says} ({name})",
        kernel=kernel,
        hint="run it with device='cpu', which names the block, the thread, the PTX line and the address; "
        "this process needs a restart before it can use the GPU again",
    )


def endless(kernel: str, seconds: float, variable: str) -> DeviceFault:
    """The error for a kernel that has not ended after `seconds`, which an environment variable asks for."""
    kernel = source_name(kernel)
    context_lost(f"{kernel} did not end within {seconds:g} s and may still run on the GPU")
    return DeviceFault(
        "gpu",
        f"it did not end within {seconds:g} s ({variable})",
        kernel=kernel,
        hint="run it with device='cpu', which says where it waits; this process needs a restart before it can use the "
        "GPU again",
    )
