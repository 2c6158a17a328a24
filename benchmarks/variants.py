"""What a variant costs: `python benchmarks/variants.py [--keys N] [KERNEL ...]` prints the table of docs/variants.md.

Warp instructions that each kernel of the library executes with a variant, as a multiple of those without, on the
emulator: head_dim 64, one head, as many rows as keys; in decode 4 heads of 2 sequences. Needs no GPU.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

import ptxlab as pl
from ptxlab import kernels
from ptxlab.kernels import variants

SLOPES = 2.0 ** -np.arange(1, 5)
COLUMNS: dict[str, Callable[[int], dict[str, Any]]] = {
    "ALiBi": lambda keys: {"score_mod": variants.alibi(SLOPES)},
    "soft cap": lambda keys: {"score_mod": variants.softcap(30)},
    "bias table": lambda keys: {"score_mod": variants.relative_bias(np.ones((4, 257)))},
    "window of 256": lambda keys: {"mask_mod": variants.sliding_window(255)},
    "documents of 256": lambda keys: {"mask_mod": variants.document(np.arange(keys) // 256)},
    "causal as a mask": lambda keys: {"mask_mod": variants.causal()},
    "`causal=True`": lambda keys: {"causal": True},
    "sinks": lambda keys: {"sinks": np.zeros(4)},
}
DECODE = "decode", "decode_multiwarp", "decode_paged", "decode_split", "decode_gqa"


def prefill(name: str, keys: int, given: dict[str, Any]) -> float:
    """Warp instructions of a prefill kernel."""
    dtype = np.float16 if "f16" in kernels.get(name).dtypes else np.float32
    q, k, v = np.random.default_rng(0).standard_normal((3, 1, 1, keys, 64)).astype(dtype)
    if "sinks" in given:
        given = {"sinks": given["sinks"][:1]}
    return executed(pl.attention(q, k, v, kernel=name, device="cpu", counters=True, **given))


def decode(name: str, keys: int, given: dict[str, Any]) -> float:
    """Warp instructions of a decode kernel, and of the one that merges."""
    dtype, page = np.float16 if name == "decode_gqa" else np.float32, 16
    random = np.random.default_rng(0)
    q = random.standard_normal((2, 4, 64)).astype(dtype)
    k, v = random.standard_normal((2, 2, 2, keys, 64)).astype(dtype)
    table = None
    if name == "decode_paged":
        k, v = (np.ascontiguousarray(np.swapaxes(x, 1, 2)).reshape(-1, page, 2, 64) for x in (k, v))
        table = np.arange(len(k), dtype=np.int32).reshape(2, -1)
    splits = {"splits": 4} if name in ("decode_split", "decode_gqa") else {}
    lengths = np.full(2, keys, np.int32)
    return executed(pl.decode(q, k, v, lengths, table, kernel=name, device="cpu", counters=True, **splits, **given))


def executed(result: Any) -> float:
    """Warp instructions of all launches of a result."""
    return sum(float(run.counters.warp_instructions) for run in result.runs)


def main() -> None:
    """Prints the table, a row as soon as it is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*", default=[*kernels.names("prefill"), *DECODE])
    parser.add_argument("--keys", type=int, default=2048)
    args = parser.parse_args()
    print(f"| | {' | '.join(COLUMNS)} |\n|---|{'--:|' * len(COLUMNS)}")
    for name in args.kernels:
        count, cells = (decode if name in DECODE else prefill), []
        plain = count(name, args.keys, {})
        for column, given in COLUMNS.items():
            none = name in DECODE and "causal" in column
            cells.append("" if none else f"{count(name, args.keys, given(args.keys)) / plain:.2f}")
        print(f"| `{name}` | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
