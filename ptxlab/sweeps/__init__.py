"""Sweeps: every legal combination of kernels, parameters and problems, measured; on this machine or on a cluster.

s = pl.sweep(["tiled2d", "mma"], {"tile_kv": [16, 32, 64], "causal": [False, True]}, shapes=[256, 512], out="sweep")
s.table                                       # a pandas table, a row for each point; also sweep/table.parquet
pl.sweep(..., client=dask.distributed.Client("tcp://10.0.0.1:8786"))            # the same, elsewhere
"""

from __future__ import annotations

from ptxlab.sweeps.plan import Shape, Written
from ptxlab.sweeps.run import Sweep, open_sweep, sweep
from ptxlab.sweeps.tuning import Tuned, tune

__all__ = ["Shape", "Sweep", "Tuned", "Written", "open_sweep", "sweep", "tune"]
