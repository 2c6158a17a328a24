"""What `pl.tune` has found, remembered on disk: for a device and a kind of problem the kernel that was best.

An entry holds the hash of the PTX that its parameters gave. Where the same parameters give another text today, the
entry is not used: what was measured was another kernel.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ptxlab.errors import PtxlabError
from ptxlab.launch.buffers import memory_of
from ptxlab.performance.peaks import PEAKS, peaks

FILE = "tuned.json"


def path() -> Path:
    """The file: PTXLAB_TUNED, or `tuned.json` beside the cache of compiled code."""
    named = os.environ.get("PTXLAB_TUNED") or ""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(named) if named else base / "ptxlab" / FILE


def problem(phase: str, dtype: str, head_dim: int, keys: int, causal: bool, heads: tuple[int, int]) -> dict[str, Any]:
    """What an entry is for: lengths up to the same power of two share it. heads: query heads, and those of keys and
    values; of decode alone, where they decide how many blocks there are. Prefill takes any."""
    found = {"phase": phase, "dtype": dtype, "head_dim": head_dim, "keys": 1 << max(0, keys - 1).bit_length()}
    return found | ({"causal": causal} if phase == "prefill" else {"heads": list(heads)})


def text_hash(ptx: str) -> str:
    """The name of a kernel's text."""
    return hashlib.sha256(ptx.encode()).hexdigest()[:24]


def read(place: Path | None = None) -> dict[str, Any]:
    """All entries; none where the file is not there or is no JSON, as after a crash of another program."""
    try:
        found = json.loads((place or path()).read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def remember(device: str, about: Mapping[str, Any], entry: Mapping[str, Any]) -> Path:
    """Writes an entry; gives the file back. If two kernels are for the same device and problem, the
    quicker one stays, and a measured time counts before a modelled one."""
    place, name = path(), _name(device, about)
    place.parent.mkdir(parents=True, exist_ok=True)
    entries = read(place)
    older = entries.get(name, {})
    if older.get("kernel", entry["kernel"]) != entry["kernel"] and _rank(older) < _rank(entry):
        return place
    entries[name] = {"device": device, **about, **entry}
    fresh = place.with_suffix(f".{os.getpid()}")
    fresh.write_text(json.dumps(entries, indent=1))
    os.replace(fresh, place)
    return place


def recall(device: str, about: Mapping[str, Any]) -> tuple[Any, int | None] | None:
    """The kernel remembered for a problem on this device ("gpu", "cpu", "step"), built, and its splits; None where
    there is none, or its text has changed since. On the emulator it is the one for the GPU that stands for sm_80."""
    from ptxlab import kernels

    entries = read()
    for name in _devices(device) if entries else ():
        entry = entries.get(_name(name, about))
        if not isinstance(entry, dict):
            continue
        with contextlib.suppress(PtxlabError, KeyError, TypeError):  # an entry of another version of the library
            built = kernels.get(entry["kernel"], about["phase"]).build(**entry["parameters"])
            if text_hash(built.ptx) == entry["text"]:
                return built, entry["splits"]
    return None


def _devices(device: str) -> list[str]:
    """The names under which entries may be: that of the GPU, and of those whose peaks stand for its target."""
    if memory_of(device) != "gpu":
        return [peaks("sm_80").gpu]
    from ptxlab.gpu import device as gpu

    found = gpu.describe()
    return [found.name, *(p.gpu for p in PEAKS.values() if found.arch in p.targets)]


def _rank(entry: Mapping[str, Any]) -> tuple[bool, float]:
    return entry["basis"] != "measured", float(entry["microseconds"])


def _name(device: str, about: Mapping[str, Any]) -> str:
    return json.dumps([device, dict(sorted(about.items()))])
