"""torch's attention as a contestant: one back end forced, recorded in a CUDA graph of torch's own."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from ml_dtypes import bfloat16

import ptxlab as pl
from benchmarks.gpu.timing import said

BACKENDS = {"torch flash": "FLASH_ATTENTION", "torch cuDNN": "CUDNN_ATTENTION"}


def find_torch() -> tuple[Any, str]:
    """torch and "", or None and why it cannot be used."""
    if importlib.util.find_spec("torch") is None:
        return None, "not installed: pip install torch"
    try:
        torch = importlib.import_module("torch")
    except (ImportError, OSError) as error:  # OSError: a library that it loads is missing
        return None, f"it cannot be imported: {said(error)}"
    if not torch.cuda.is_available():
        return None, f"torch {torch.__version__} sees no GPU: install a build of it for CUDA"
    return torch, ""


def tensor(torch: Any, buffer: pl.DeviceBuffer, dtype: str) -> Any:
    """A copy of a device buffer as torch's own memory, in bf16 or f16."""
    words = np.dtype(np.int16)
    if buffer.device == "gpu":
        from cuda.bindings import driver

        from ptxlab.gpu import device

        made = torch.empty(buffer.shape, dtype=torch.int16, device="cuda")
        torch.cuda.synchronize()
        device.check(driver.cuMemcpyDtoD(made.data_ptr(), buffer.address, buffer.nbytes))
        device.check(driver.cuCtxSynchronize())  # a copy within the device does not wait for itself
    else:
        made = torch.from_numpy(buffer.copy_to_host().view(words))
    return made.view(torch.bfloat16 if dtype == "bf16" else torch.float16)


class Torch:
    """Calls of torch, each of which returns its o, recorded one after the other."""

    def __init__(self, torch: Any, calls: Sequence[Callable[[], Any]]) -> None:
        self.torch, self.launches = torch, len(calls)
        self._calls = list(calls)  # the graph knows addresses only: the tensors must live as long as it does
        cuda = torch.cuda
        side = cuda.Stream()  # torch wants calls before a capture to run on another stream than the default one
        side.wait_stream(cuda.current_stream())
        with cuda.stream(side):
            for call in calls[:3]:
                call()
        cuda.current_stream().wait_stream(side)
        cuda.synchronize()
        self._graph = cuda.CUDAGraph()
        # relaxed: a buffer of ours that Python happens to give back meanwhile must not end the recording
        with cuda.graph(self._graph, capture_error_mode="relaxed"):
            self.outputs = [call() for call in calls]

    def replay(self) -> float:
        """Seconds of one call by GPU events."""
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.torch.cuda.synchronize()
        start.record()
        self._graph.replay()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end)) / 1e3 / self.launches

    def poison(self) -> None:
        """NaN in every output."""
        for o in self.outputs:
            o.fill_(float("nan"))

    def unwritten(self) -> int:
        """NaN in all outputs."""
        return int(sum(self.torch.isnan(o).sum() for o in self.outputs))

    def rows(self, n: int, where: tuple[Any, ...]) -> tuple[Any, Any]:
        """The rows of output n; torch's lse is not to be had."""
        batch, head, *some = where
        o = self.outputs[n]
        found = o[batch, head, some[0]] if some else o.reshape(o.shape[0], o.shape[1], o.shape[-1])[batch, head][None]
        half = found.dtype == self.torch.bfloat16
        raw = found.contiguous().view(self.torch.int16).cpu().numpy()
        return raw.view(bfloat16 if half else np.float16), None

    def free(self) -> None:
        """Gives the memory back to the driver, so that others can have it."""
        self.outputs, self._calls, self._graph = [], [], None
        self.torch.cuda.empty_cache()


def prefill(torch: Any, backend: str, sets: Sequence[Sequence[Any]], causal: bool, launches: int) -> Torch:
    """scaled_dot_product_attention with a back end forced; RuntimeError where torch has it not for this problem."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    attention = torch.nn.functional.scaled_dot_product_attention
    with sdpa_kernel(getattr(SDPBackend, BACKENDS[backend])):
        return Torch(torch, [lambda n=n: attention(*sets[n % len(sets)], is_causal=causal) for n in range(launches)])


def decode(torch: Any, q: Any, caches: Sequence[tuple[Any, Any]], launches: int) -> Torch:
    """A decode step by scaled_dot_product_attention, whichever back end torch takes: q [B, Hq, 1, D], dense caches."""
    attention = torch.nn.functional.scaled_dot_product_attention

    def call(n: int) -> Callable[[], Any]:
        key, value = caches[n % len(caches)]
        return lambda: attention(q, key, value, enable_gqa=True)

    return Torch(torch, [call(n) for n in range(launches)])


def flashinfer(
    torch: Any, q: Any, caches: Sequence[tuple[Any, Any]], table: Any, heads: tuple[int, int], launches: int
) -> Torch:
    """FlashInfer's decode over caches in pages, `[pages, page_size, Hkv, D]` as ours: q [B, Hq, D]."""
    import flashinfer

    page, dim = caches[0][0].shape[1], q.shape[-1]
    pages = torch.from_numpy(table).cuda()
    starts = torch.arange(0, pages.numel() + 1, pages.shape[1], dtype=torch.int32, device="cuda")
    last = torch.full((q.shape[0],), page, dtype=torch.int32, device="cuda")
    workspace = torch.empty(256 * 2**20, dtype=torch.uint8, device="cuda")
    wrapper = flashinfer.BatchDecodeWithPagedKVCacheWrapper(
        workspace, "NHD", use_tensor_cores=heads[0] // heads[1] >= 4
    )
    wrapper.plan(starts, pages.reshape(-1), last, *heads, dim, page, data_type=q.dtype, q_data_type=q.dtype)
    return Torch(torch, [lambda n=n: wrapper.run(q, caches[n % len(caches)]) for n in range(launches)])
