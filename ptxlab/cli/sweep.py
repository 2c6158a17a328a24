"""`ptxlab sweep SWEEP.toml`: a sweep from a file.

kernels = ["tiled2d", "mma"]
device = "cpu"

[grid]
tile_kv = [16, 32, 64]
causal = [false, true]

[[shapes]]
seq = 256
head_dim = 64
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from ptxlab.errors import LaunchError
from ptxlab.sweeps import Sweep
from ptxlab.sweeps import sweep as run
from ptxlab.sweeps.run import table_packages
from ptxlab.sweeps.workers import connect

KEYS = ("kernels", "grid", "shapes", "device", "checks", "seed")
"""What a file may hold: arguments of `pl.sweep`."""


def read(path: Path) -> dict[str, Any]:
    """The arguments that a file holds. `LaunchError` says what is wrong with it."""
    try:
        wanted = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LaunchError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise LaunchError(f"{path}: no TOML: {error}") from None
    unknown = [key for key in wanted if key not in KEYS]
    if unknown:
        raise LaunchError(f"{path}: there is no {unknown[0]!r} in a sweep; choose from {', '.join(KEYS)}")
    if "kernels" not in wanted:
        raise LaunchError(f'{path}: it names no kernels\n  write:  kernels = ["tiled2d", "mma"]')
    return wanted


def sweep(path: Path, out: Path | None, address: str | None, workers: int | None) -> Sweep:
    """Runs the sweep of a file, here or on the Dask cluster at an address. The table is written where `out` says."""
    wanted = read(path)
    kernels = wanted.pop("kernels")
    if out is not None:
        table_packages()  # before anything is measured
    client = connect(address) if address else None
    found = run(
        kernels,
        wanted.pop("grid", None),
        wanted.pop("shapes", (256,)),
        client=client,
        out=out,
        workers=workers,
        **wanted,
    )
    if out is not None:
        found.save()
    return found
