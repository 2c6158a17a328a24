"""A stand-in for torch with a GPU, for the benchmarks: tensors over numpy, CUDA graphs that run what was recorded, and
attention in float64 with the flash back end only. Every call takes a millisecond."""

from __future__ import annotations

import contextlib
import sys
import types

import ml_dtypes
import numpy as np

from ptxlab import reference


class Tensor:
    """What the benchmarks ask of torch's tensors."""

    def __init__(self, array):
        self.array = array

    @property
    def dtype(self):
        return self.array.dtype

    @property
    def shape(self):
        return self.array.shape

    def view(self, to):
        return Tensor(self.array.view(to) if isinstance(to, np.dtype) else self.array.reshape(to))

    def reshape(self, *shape):
        return Tensor(self.array.reshape(shape))

    def __getitem__(self, index):
        return Tensor(self.array[index])

    def contiguous(self):
        return Tensor(np.ascontiguousarray(self.array))

    def cpu(self):
        return self

    def fill_(self, value):
        self.array[...] = value

    def sum(self):
        return int(self.array.sum())

    def numpy(self):
        return self.array


class Torch:
    """The module's parts, and what happened: `forced`, the back ends of each call of attention."""

    def __init__(self):
        self.clock, self.forced, self._now, self._graph = 0, [], None, None

    def attention(self, q, k, v, *, is_causal=False, enable_gqa=False):
        """scaled_dot_product_attention. cuDNN's back end is not there, as on a GPU that is too old for it."""
        if self._now == "cudnn":
            raise RuntimeError("No available kernel. Aborting execution.\nMore.")
        self.forced.append(self._now)
        o = Tensor(np.zeros(q.shape, q.dtype))

        def call():
            self.clock += 1
            o.array[...] = self.answer(q.array, k.array, v.array, is_causal).astype(o.dtype)

        if self._graph is None:
            call()
        else:
            self._graph.append(call)
        return o

    def answer(self, q, k, v, causal):
        """What attention gives; a test may plant something else."""
        return reference.attention(q, k, v, causal=causal).o

    def module(self, monkeypatch):
        """The stand-in as `import torch` finds it."""
        here = self

        class Graph(list):
            def replay(self):
                for call in self:
                    call()

        class Event:
            def __init__(self, enable_timing):
                assert enable_timing

            def record(self):
                self.at = here.clock

            def synchronize(self):
                """Nothing runs."""

            def elapsed_time(self, end):
                return float(end.at - self.at)

        @contextlib.contextmanager
        def graph(recorded, capture_error_mode):
            assert capture_error_mode == "relaxed"
            here._graph = recorded
            yield
            here._graph = None

        @contextlib.contextmanager
        def sdpa_kernel(backend):
            here._now = backend
            try:
                yield
            finally:
                here._now = None

        stream = types.SimpleNamespace(wait_stream=lambda other: None)
        torch, attention = types.ModuleType("torch"), types.ModuleType("torch.nn.attention")
        attention.SDPBackend = types.SimpleNamespace(FLASH_ATTENTION="flash", CUDNN_ATTENTION="cudnn")
        attention.sdpa_kernel = sdpa_kernel
        torch.from_numpy, torch.isnan = Tensor, lambda x: Tensor(np.isnan(x.array))
        torch.int16, torch.float16, torch.bfloat16 = map(np.dtype, (np.int16, np.float16, ml_dtypes.bfloat16))
        functional = types.SimpleNamespace(scaled_dot_product_attention=self.attention)
        torch.nn = types.SimpleNamespace(functional=functional)
        torch.cuda = types.SimpleNamespace(
            Stream=lambda: stream,
            current_stream=lambda: stream,
            stream=lambda s: contextlib.nullcontext(),
            synchronize=lambda: None,
            empty_cache=lambda: None,
            CUDAGraph=Graph,
            graph=graph,
            Event=Event,
        )
        monkeypatch.setitem(sys.modules, "torch", torch)
        monkeypatch.setitem(sys.modules, "torch.nn", types.ModuleType("torch.nn"))
        monkeypatch.setitem(sys.modules, "torch.nn.attention", attention)
        return torch
