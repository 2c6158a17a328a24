"""What a GPU can do at most: peaks from NVIDIA's data sheets, and what a multiprocessor does in a clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ptxlab.errors import TargetError
from ptxlab.targets import WARP


@dataclass(frozen=True, slots=True)
class Peaks:
    """What a GPU can do at most: FLOP/s without sparsity, of fma in f32 and f64 and of f16 products on tensor cores
    (summed in f32), and bytes/s of its memory. `source` is where the numbers are; those of arithmetic are what its
    `sms` multiprocessors do in a clock, times its boost clock."""

    gpu: str
    targets: tuple[str, ...]
    f32: float
    f64: float
    tensor: float
    bandwidth: float
    sms: int
    source: str

    def of(self, kind: str) -> float:
        """The peak for operations of a kind of `Counters.flops`; those without one of their own run as f32 does."""
        return {"tensor": self.tensor, "f64": self.f64}.get(kind, self.f32)


def _peaks(
    gpu: str, targets_: str, f32: float, f64: float, tensor: float, gigabytes: float, sms: int, source: str
) -> Peaks:
    return Peaks(gpu, tuple(targets_.split()), f32 * 1e12, f64 * 1e12, tensor * 1e12, gigabytes * 1e9, sms, source)


PEAKS: dict[str, Peaks] = {
    p.gpu: p
    for p in (
        _peaks("A100", "sm_80", 19.5, 9.7, 312, 2039, 108, "NVIDIA A100 data sheet, SXM with 80 GB"),
        _peaks("H100 SXM", "sm_90 sm_90a", 67, 34, 989, 3350, 132, "NVIDIA H100 data sheet, SXM, without sparsity"),
        _peaks("H200", "sm_90 sm_90a", 67, 34, 989, 4800, 132, "NVIDIA H200 data sheet, SXM, without sparsity"),
        _peaks("B200", "sm_100 sm_100a", 75, 37, 2250, 7700, 148,
               "NVIDIA Blackwell data sheet, HGX B200, without sparsity"),
        _peaks("V100", "sm_70", 15.7, 7.8, 125, 900, 80, "NVIDIA V100 data sheet, SXM2"),
        _peaks("T4", "sm_75", 8.1, 0.25, 65, 320, 40, "NVIDIA T4 data sheet; f64 is 1/32 of f32"),
        _peaks("RTX 3090", "sm_86", 35.6, 0.56, 71, 936, 82, "NVIDIA GA102 white paper 2.0, appendix A; f64 is 1/64"),
        _peaks("A10", "sm_86", 31.2, 0.49, 125, 600, 72, "NVIDIA A10 data sheet; f64 is 1/64 of f32"),
        _peaks("Jetson AGX Orin", "sm_87", 5.3, 0.083, 42.5, 204.8, 16,
               "NVIDIA Jetson AGX Orin technical brief; f16 is 1/4 of sparse int8, f64 1/64 of f32"),
        _peaks("RTX 4090", "sm_89", 82.6, 1.29, 165.2, 1008, 128, "NVIDIA Ada white paper, appendix A; f64 is 1/64"),
        _peaks("L4", "sm_89", 30.3, 0.47, 121, 300, 58, "NVIDIA L4 data sheet, without sparsity; f64 is 1/64 of f32"),
        _peaks("RTX 5090", "sm_120", 104.8, 1.64, 209.5, 1792, 170, "NVIDIA RTX Blackwell white paper; f64 is 1/64"),
    )
}  # fmt: skip
"""The GPUs whose peaks are known here, the first of each target being the one that stands for it."""


def peaks(arch: str, gpu: str | None = None) -> Peaks:
    """The peaks of a GPU by name, or of the one that stands for a target. `TargetError` names those there are."""
    if gpu is not None:
        if gpu not in PEAKS:
            raise TargetError(f"gpu: no peaks are known here for {gpu!r}; choose from {', '.join(PEAKS)}")
        return PEAKS[gpu]
    found = [p for p in PEAKS.values() if arch in p.targets]
    if not found:
        known = ", ".join(sorted({t for p in PEAKS.values() for t in p.targets}))
        raise TargetError(f"target: no peaks are known here for {arch!r}; there are some for {known}; or name a gpu=")
    return found[0]


def array_bytes(result: Any) -> int | None:
    """Bytes of the arrays of a result, each once; of a cache only the keys that count and that a mask lets be seen."""
    inputs = getattr(result, "inputs", None)
    if inputs is None:
        return None
    ends = result.o.nbytes + result.lse.nbytes
    lengths = getattr(result, "lengths", None)
    if lengths is None:
        return int(sum(x.nbytes for x in inputs)) + int(ends)
    q, key = inputs[0], inputs[1]
    heads = key.shape[2 if inputs[3] is not None else 1]
    spans = result.problem.spans
    seen = int(lengths.sum() if spans is None else (spans[:, 1] - spans[:, 0]).sum())
    cached = int(2 * seen * heads * q.shape[-1] * key.itemsize)
    return int(q.nbytes) + cached + int(ends)


# -- one multiprocessor, one clock -------------------------------------------------------------------------------------

SCHEDULERS = 4
"""Warp-instructions that a multiprocessor can issue in a clock, one for each of its partitions [1]."""
SHARED_WAVEFRONTS = 1.0
"""Wavefronts of shared memory in a clock: 32 banks of 4 bytes [1]."""
L1_SECTORS = 4.0
"""Sectors of 32 bytes that the L1 cache gives in a clock: 128 bytes [2]."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Warp-instructions that each pipe of a multiprocessor takes in a clock, and clocks in a second.

    `tensor` is in floating-point operations a clock, `warp_tensor` those of products of single warps (mma, wmma). Pipes
    that are not here (branches, barriers, constants) have an issue slot as their only cost.
    """

    clock: float
    pipes: dict[str, float]
    tensor: float
    warp_tensor: float


# Results a clock of a multiprocessor: CUDA Programming Guide, "Arithmetic Instructions", table of throughput [1];
# load/store units: NVIDIA's white papers of each architecture [2]. Columns: f32 (also integer multiplication), integer
# and logic, special functions, instructions of f16x2, lanes of loads and stores.
_LANES = {
    70: (64, 64, 16, 64, 32),
    75: (64, 64, 16, 64, 16),
    80: (64, 64, 16, 128, 32),
    86: (128, 64, 16, 64, 16),
    87: (128, 64, 16, 64, 16),
    89: (128, 64, 16, 64, 16),
    90: (128, 64, 16, 128, 32),
    100: (128, 64, 16, 128, 32),
    120: (128, 128, 16, 64, 16),
}
_WARP_PRODUCTS = {90: 2 / 3}
"""What mma and wmma reach of a peak that wgmma alone has. Nsight Compute on an H100 gives both, in operations a clock
of a multiprocessor: `sm__ops_path_tensor_op_hmma_src_bf16_dst_fp32_sparsity_off.avg.peak_sustained` is 2730.67, that
of `hgmma` 4096."""


def rates(limits: Peaks) -> Rates:
    """What a multiprocessor of this GPU does in a clock. The clock is the one that the peak of f32 stands for."""
    number = min(int(name.removeprefix("sm_").rstrip("af")) for name in limits.targets)
    f32, integer, special, half, lsu = _LANES[number]
    clock = limits.f32 / (limits.sms * f32 * 2)
    f64 = limits.f64 / (limits.sms * clock * 2)
    lanes = {"fma": f32, "alu": integer, "xu": special, "fp16": half, "fp64": f64, "lsu": lsu}
    tensor = limits.tensor / (limits.sms * clock)
    pipes = {pipe: n / WARP for pipe, n in lanes.items()}
    return Rates(clock, pipes, tensor, tensor * _WARP_PRODUCTS.get(number, 1.0))
