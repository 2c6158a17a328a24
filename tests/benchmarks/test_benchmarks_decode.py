"""The decode benchmark: its numbers and its checks, and what it counts without a GPU."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.gpu import contest, decode, decode_steps
from benchmarks.gpu.contest import Place
from benchmarks.gpu.decode_steps import Prepared, Problem
from benchmarks.gpu.record import DONE, UNFINISHED

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "decode.py"
CPU = Place.of("cpu")
SMALL = Problem(2, 64, (8, 2), False, 64, most=3, cold=2**17)


@pytest.mark.slow
def test_decode_gqa_asks_for_keys_and_values_once():
    """Within a tenth: Q, the table and the partial results of a small problem come on top."""
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("no GPU: ")
    rows = [line.split() for line in done.stdout.splitlines()[4:]]
    asked = {(name, heads, cache): float(ratio) for name, _, _, heads, cache, _, ratio, _ in rows}
    assert len(asked) == 14
    for (name, heads, _), ratio in asked.items():
        group = 4 if heads == "8/2" else 8
        once = 1 if name == "decode_gqa" else group
        assert once <= ratio < 1.14 * once


@pytest.mark.gpu
def test_on_a_gpu_it_measures(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["decode", "--rehearse"])
    assert decode.main() == DONE
    printed = capsys.readouterr().out
    assert "copy: " in printed
    assert "decode_gqa " in printed


# -- numbers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("paged", [False, True])
def test_the_host_knows_what_lies_in_the_caches(paged):
    problem = Problem(2, 48, (4, 2), paged, 64, cold=2**17)
    prepared = Prepared(problem, CPU)
    assert len(prepared.caches) == problem.copies == 3
    for which, pair in enumerate(prepared.caches):
        for n, buffer in enumerate(pair):
            cache = buffer.copy_to_host()
            for b, h in ((0, 0), (1, 1)):
                if paged:
                    found = np.concatenate([cache[page, :, h] for page in problem.table[b]])
                else:
                    found = cache[b, h]
                np.testing.assert_array_equal(found, decode_steps.numbers(problem.pairs(b, h), 2 * which + n))
    values = np.abs(cache.astype(np.float32))
    assert values.min() >= 0.5
    assert values.max() < 1
    assert abs(float(cache.astype(np.float32).mean())) < 0.05
    prepared.free()


# -- checks ------------------------------------------------------------------------------------------------------------


def measured(name, problem=SMALL, change=lambda made, prepared: made):
    """What the contest says of one kernel."""
    prepared = Prepared(problem, CPU)

    def prepare():
        return change(decode_steps.ours(name, prepared), prepared)

    return contest.contest({name: prepare}, prepared.answers(), rounds=2, warm=0.0)[name]


@pytest.mark.long
@pytest.mark.sweep(2)
@pytest.mark.parametrize("paged", [False, True])
@pytest.mark.parametrize("name", ["decode_gqa", "decode_split"])
def test_right_kernels_pass(name, paged):
    found = measured(name, Problem(2, 192, (8, 2), paged, 64, most=3, cold=2**17))
    assert (found.wrong, found.failed, len(found.seconds)) == ("", "", 2)


@pytest.mark.long
def test_wrong_kernels_are_caught():
    def a_head_less(made, prepared):
        made.steps = [(kernel, (grid[0] - 1, *grid[1:]), *rest) for kernel, grid, *rest in made.steps]
        return made

    def a_key_less(made, prepared):
        prepared.given["lengths"].copy_from_host(np.full(2, 63, np.int32))
        return made

    found = measured("decode_gqa", change=a_head_less)
    assert found.wrong == f"{3 * 2 * 4 * (64 + 1)} elements of the output were not written"
    found = measured("decode_gqa", change=a_key_less)
    assert found.wrong.startswith("launch 0, batch, head and rows (0, 0): error ")
    assert found.median is None


# -- the run -----------------------------------------------------------------------------------------------------------


def main(monkeypatch, *options):
    """The part as from its command line, on the emulator, with one small problem of each kind."""
    small = [SMALL, Problem(2, 64, (8, 2), True, 64, most=3, cold=2**17)]
    monkeypatch.setattr(decode, "problems", lambda _: small)
    monkeypatch.setattr(sys, "argv", ["decode", "--device", "cpu", *map(str, options)])
    return decode.main()


@pytest.mark.rest
@pytest.mark.long
def test_on_the_cpu_machine_and_again(monkeypatch, capsys, tmp_path):
    file = tmp_path / "decode.json"
    assert main(monkeypatch, "--json", file, "--seconds", 0) == UNFINISHED
    assert capsys.readouterr().out.splitlines()[-1] == (
        "1 rows; goal: decode_gqa >= 85 % of the copy where a step reads 200 MB or more: not measured, "
        "9 left for the next run"
    )
    assert main(monkeypatch, "--json", file) == DONE
    rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
    assert [(row["kernel"], row.get("cache")) for row in rows] == [
        ("copy", None),
        ("decode_gqa", "dense"),
        ("decode", "dense"),
        ("decode_multiwarp", "dense"),
        ("decode_split", "dense"),
        ("decode_gqa", "pages"),
        ("decode_paged", "pages"),
        ("decode_split", "pages"),
    ]
    for row in rows[1:]:
        assert row["gb_s"] == pytest.approx(2 * 2 * 2 * 2 * 64 * 64 / row["seconds"] / 1e9)
        assert (row["launches"], row["replays"], row["wrong"]) == (3, 2, "")
        assert "share" not in row
    monkeypatch.setattr(decode, "Prepared", pytest.fail)  # a second run has nothing to measure
    monkeypatch.setattr(decode, "copy_rates", pytest.fail)
    assert main(monkeypatch, "--json", file) == DONE


# -- problems and table ------------------------------------------------------------------------------------------------
