"""`ptxlab warm`: what the notebooks run first is in the cache afterwards, and a second time there is nothing to do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import ptxlab as pl
from ptxlab.cli import warm
from ptxlab.emulate.jit.building import build, rule_objects
from ptxlab.emulate.runtime import disk_cache

SOME = {"prefill": ("scalar",), "decode": ("decode", "decode_reduce")}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache, and a process that holds nothing."""
    monkeypatch.setenv("PTXLAB_CACHE", str(tmp_path))
    for cached in (disk_cache.folder, disk_cache.shared):
        cached.cache_clear()
    monkeypatch.setattr(warm, "HEAD_DIMS", (8,))
    monkeypatch.setattr(warm.os, "nice", lambda by: None, raising=False)
    monkeypatch.setattr(pl.kernels, "names", lambda phase=None: SOME.get(phase, ("scalar", "decode")))
    monkeypatch.setattr("ptxlab.emulate.jit.building.linked_rules.build_ahead", lambda cpu: None)
    _forget()
    yield tmp_path
    monkeypatch.undo()
    disk_cache.folder.cache_clear()


def _forget() -> None:
    build._recent.clear()
    rule_objects._built.clear()


@pytest.mark.long
def test_what_is_warm_is_found(cache: Path) -> None:
    said: list[str] = []
    warm.warm(said.append)
    assert said == ["rules", "scalar, head_dim 8", "decode, head_dim 8"]
    entries = len(list((cache / "code").iterdir()))
    _forget()
    q = np.ones((1, 1, 8, 8), np.float32)
    pl.attention(q, q, q, kernel="scalar", device="cpu", counters=True)
    assert len(list((cache / "code").iterdir())) == entries
    said.clear()
    warm.warm(said.append)
    assert said == []
