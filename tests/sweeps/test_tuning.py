"""`pl.tune`: the search, what it remembers, and `kernel="auto"` that uses it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import ptxlab as pl
from ptxlab.attention import tuned
from ptxlab.sweeps import tuning

optuna = pytest.importorskip("optuna", reason="needs Optuna: pip install 'ptxlab[scale]'")
SHAPE = {"seq": 64, "head_dim": 16}


@pytest.fixture(autouse=True)
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "tuned.json"
    monkeypatch.setenv("PTXLAB_TUNED", str(place))
    return place


def tune(kernel: str = "tiled2d", **more: Any) -> Any:
    given = {"shapes": [SHAPE], "grid": {"tile_kv": [16, 32], "tile_q": [16, 32]}, "device": "cpu", "progress": False}
    return pl.tune(kernel, **(given | more))


def auto() -> Any:
    return pl.attention(*pl.reference.random_inputs(1, 1, 1, 64, 64, 16), device="cpu").kernel


@pytest.mark.rest
def test_every_combination_is_tried_and_the_best_is_what_auto_takes(memory: Path) -> None:
    found = tune()
    assert (found.basis, found.device, len(found.trials), found.refused.total) == ("modelled", "A100", 4, 0)
    assert found.microseconds == min(time for _, time in found.trials)
    assert "µs, modelled" in str(found)
    assert tune().trials == found.trials, "the same search finds the same"
    kernel = auto()
    assert kernel.spec.name == "tiled2d"
    assert {name: getattr(kernel.config, name) for name in found.parameters} == found.parameters
    entries = json.loads(memory.read_text())
    (entry,) = entries.values()
    assert entry["basis"] == "modelled"
    entry["text"] = "another kernel's"
    memory.write_text(json.dumps(entries))
    assert tuned.recall("cpu", tuned.problem("prefill", "f32", 16, 64, False, (1, 1))) is None
    auto()


@pytest.mark.rest
def test_of_two_kernels_the_quicker_one_stays(memory: Path) -> None:
    quick, slow = tune(), tune("scalar", grid={})
    assert slow.microseconds > quick.microseconds
    assert [entry["kernel"] for entry in json.loads(memory.read_text()).values()] == ["tiled2d"]


@pytest.mark.rest
@pytest.mark.long
def test_illegal_combinations_are_counted_and_splits_are_searched() -> None:
    found = tune("mma", grid={"tile_q": [16, 128], "warps": [1, 8]})
    assert found.refused.total + len(found.trials) == 4
    assert found.refused.total >= 1
    shape = {"seq": 256, "head_dim": 64}
    split = tune("decode_split", shapes=[shape], grid={"splits": [1, 4]})
    assert set(split.parameters) == {"splits"}
    q, k, v = pl.reference.random_inputs(1, 1, 1, 1, 256, 64)
    result = pl.decode(q[:, :, 0], k, v, 256, device="cpu")
    assert (result.kernel.spec.name, result.splits) == ("decode_split", split.parameters["splits"])
    assert result.error.ok


@pytest.mark.long
def test_more_than_the_trials_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    found = tune(trials=2)
    assert 1 <= len(found.trials) <= 2


def test_an_interrupt_keeps_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = tuning._spent, []

    def second_is_interrupted(*args: Any) -> float:
        calls.append(args)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(tuning, "_spent", second_is_interrupted)
    found = tune()
    assert found.interrupted
    assert len(found.trials) == 1


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"grid": {"stages": [2]}}, "grid: tiled2d has no 'stages' to tune; choose from tile_kv, tile_q"),
        ({"shapes": []}, "shapes: there is none; write:  shapes=[512]"),
        (
            {"grid": {"tile_q": [7]}},
            "tiled2d: no configuration is legal:\n     1  tiled2d: tile_q must be one of 16, 32, 64, 128, not 7",
        ),
        ({"kernel": "decode_split", "causal": True}, "causal: decode_split decodes one row, which sees all keys"),
    ],
)
def test_what_is_refused(more: dict[str, Any], says: str) -> None:
    with pytest.raises(pl.LaunchError) as caught:
        tune(**more)
    assert str(caught.value) == says


def test_optuna_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(pl.UnavailableError, match=r"pl.tune needs Optuna: pip install 'ptxlab\[scale\]'"):
        tune()
