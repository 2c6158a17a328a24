"""What suits a device: a kernel's target, the default decode kernel, and into how many parts it splits the keys."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ptxlab import kernels, targets
from ptxlab.errors import LaunchError
from ptxlab.launch.buffers import memory_of
from ptxlab.options import is_whole

if TYPE_CHECKING:
    from ptxlab.gpu.device import Description
    from ptxlab.kernels import Spec

KEYS_A_SPLIT = 64
"""A split is not worth its partial result for fewer keys."""
SPLITTING = ("decode_split", "decode_gqa")
"""The kernels that take `splits`."""


MOST_WAVES = 2
"""A grid of more waves is hardly better filled, and each split more is another partial result to merge."""


def split_count(blocks: int, processors: int, keys: int) -> int:
    """Into how many parts to split `keys` keys, if without a split there are `blocks` blocks for so many processors.

    None if the blocks fill 80 % of the processors. Otherwise the grid runs in waves, and the last wave is rarely full:
    of all counts that make one or two waves, the smallest that keeps 95 % as many processors busy as the best one.

    A wave is one block for each processor, even where two or three fit: one has enough keys in flight to keep the
    memory busy (see `decode_gqa`), and twice as many splits would cost `decode_reduce` twice as many steps.
    """
    most = max(1, min(keys // KEYS_A_SPLIT, MOST_WAVES * processors // max(blocks, 1)))
    if blocks >= 0.8 * processors or most == 1:
        return 1

    def busy(splits: int) -> float:
        waves = blocks * splits / processors
        return waves / max(1, math.ceil(waves))

    best = max(busy(n) for n in range(1, most + 1))
    return next(n for n in range(1, most + 1) if busy(n) >= 0.95 * best)


def splits_for(
    splits: int | None, name: str, grouped: bool, heads: tuple[int, int, int], keys: int, device: str
) -> int:
    """How many parts the keys are split into; 1 for kernels that do not split them."""
    if splits is not None:
        if not is_whole(splits) or not 1 <= splits <= 65535:
            raise LaunchError(f"splits: expected a whole number from 1 to 65535, got {splits!r}")
        if name not in (*SPLITTING, "auto") and splits > 1:
            raise LaunchError(f"splits: {name} does not split the keys; write kernel='decode_split' or 'decode_gqa'")
        return int(splits)
    if name not in (*SPLITTING, "auto"):
        return 1
    batch, heads_q, heads_kv = heads
    blocks = batch * (heads_kv * -(-(heads_q // heads_kv) // 16) if grouped else heads_q)
    return split_count(blocks, _processors(device), keys)


def suits_gqa(dtype: str, dim: int, arch: str) -> bool:
    """Whether `decode_gqa` can be built for this."""
    wanted = {"dtype": dtype, "head_dim": dim, "arch": arch}
    takes = kernels.get("decode_gqa", "decode").parameters
    return all(takes[name].allows(value) for name, value in wanted.items())


def auto(grouped: bool, splits: int, paged: bool) -> str:
    """The kernel for `kernel="auto"`; grouped: whether `decode_gqa` can be built."""
    if grouped:
        return "decode_gqa"
    return "decode_split" if splits > 1 else "decode_paged" if paged else "decode_multiwarp"


# -- targets -----------------------------------------------------------------------------------------------------------


def arch_of(device: str) -> str:
    """The target to build for: the GPU that will run it, or sm_80 on the emulator."""
    arch = _gpu().arch if memory_of(device) == "gpu" else ""
    return arch if arch in targets.TARGETS else "sm_80"


def target_of(spec: Spec, device: str) -> str:
    """The target to build a rung for: the GPU's own, with the features that no other has where the rung needs them."""
    if memory_of(device) != "gpu":
        return spec.arch
    arch = arch_of(device)
    return spec.arch if spec.arch == f"{arch}a" else arch


def fullest(device: str) -> str:
    """The target that says most of what the GPU has: sm_90a on an H100, where the quickest rung needs it."""
    arch = arch_of(device)
    return f"{arch}a" if memory_of(device) == "gpu" and f"{arch}a" in targets.TARGETS else arch


def _processors(device: str) -> int:
    """Multiprocessors of the GPU, or of the one that the emulator stands for."""
    return _gpu().multiprocessors if memory_of(device) == "gpu" else targets.get("sm_80").gpus[0][1]


def _gpu() -> Description:
    from ptxlab.gpu import device

    return device.describe()
