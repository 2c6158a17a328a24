"""A Dask cluster in this process: one worker with one thread, for tests of what travels there and comes back."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest


@contextlib.contextmanager
def small_cluster(**resources: float) -> Iterator[Any]:
    """A client of the cluster, whose worker offers these resources."""
    distributed: Any = pytest.importorskip("distributed", reason="needs Dask: pip install 'ptxlab[scale]'")
    options = {
        "n_workers": 1,
        "threads_per_worker": 1,
        "processes": False,
        "dashboard_address": ":0",
        "resources": resources,
    }
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client
