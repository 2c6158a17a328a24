"""The campaign's parts about the library's kernels, explain and tune: digests, choices and verdicts."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

import ptxlab as pl
from benchmarks.gpu import explain, ncu, tune
from benchmarks.gpu.record import Record
from ptxlab import kernels

# -- explain -----------------------------------------------------------------------------------------------------------

MEASURED = {
    "gpu__time_duration.sum": "1,234,000",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active": "71.5",
    "smsp__inst_issued.avg.pct_of_peak_sustained_active": "40",
    "launch__registers_per_thread": "255",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum": "0",
    "dram__bytes.sum.per_second": "2500000000000",
    "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio": "1.5",
    "smsp__average_warps_issue_stalled_long_scoreboard_not_issued_per_issue_active.ratio": "1.4",
    "smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio": "3",
    "smsp__average_warps_issue_stalled_selected_per_issue_active.ratio": "1",
    "smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio": "0.5",
}
FAKE = """#!{python}
# An ncu that prints a raw page of one kernel, or the words with which it ends.
import json, sys
if {words!r}:
    print({words!r})
    sys.exit(1)
options = sys.argv[sys.argv.index("raw") + 1:]
assert options[:2] == ["--set", "full"], options
assert "--metrics" not in options
kernel = options[options.index("benchmarks.gpu.explain_target") + 1]
measured = json.loads({measured!r})
print("==PROF== Connected to process 1")
print(",".join(json.dumps(x) for x in ("ID", "Kernel Name", *measured)))
print(",".join('""' for _ in range(2 + len(measured))))
print(",".join(json.dumps(x) for x in ("0", kernel + "_bf16_d128", *measured.values())))
"""


def fake(folder: Path, words: str = "") -> str:
    path = folder / "ncu"
    path.write_text(FAKE.format(python=sys.executable, words=words, measured=json.dumps(MEASURED)))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_a_profile_has_a_digest_and_its_raw_page(tmp_path: Path) -> None:
    record = Record("explain", tmp_path / "found.json")
    explain.measure(record, {"decode_gqa, B 1": ("decode_gqa", "--batch", "1")}, fake(tmp_path))
    (row,) = record.rows
    assert row["digest"] == {
        "time": 1234000.0,
        "tensor pipe busy": 71.5,
        "issue slots used": 40.0,
        "bank conflicts": 0.0,
        "bytes from and to DRAM": 2.5e12,
        "registers": 255.0,
    }
    assert row["stalls"] == pytest.approx(
        {"math_pipe_throttle": 0.5, "long_scoreboard": 0.25, "selected": 1 / 6, "lg_throttle": 1 / 12}
    )
    assert next(iter(row["stalls"])) == "math_pipe_throttle"
    assert record.notes[0].startswith(
        "decode_gqa, B 1: ncu has no metric for instructions a cycle, warps ready to issue"
    )
    raw = (tmp_path / "found_decode_gqa_b_1.csv").read_text().splitlines()
    assert len(raw) == 3
    assert raw[0].startswith('"ID","Kernel Name","gpu__time_duration.sum"')


def test_what_keeps_ncu_from_profiling_is_missing(tmp_path: Path) -> None:
    record = Record("explain", tmp_path / "found.json")
    explain.measure(record, explain.PROBLEMS, fake(tmp_path, "==ERROR== ERR_NVGPUCTRPERM - no permission"))
    assert record.wrong == [f"missing: profile of pipelined, D 128, S 4096: {ncu.DENIED}"]  # and none of the others
    record = Record("explain", tmp_path / "other.json", rehearsal=True)
    explain.measure(record, {"a": ("pipelined",)}, fake(tmp_path, "==ERROR== An error was reported by the driver"))
    assert record.wrong == []
    assert record.absent[0]["why"].endswith("==ERROR== An error was reported by the driver")


# -- tune --------------------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.assembler
def test_each_choice_has_a_row_and_a_failure_is_one(tmp_path: Path) -> None:
    """Whatever is built and timed: what a choice raises is its row, and the others go on."""
    record = Record("tune", tmp_path / "found.json")
    about = {"kernel": "pipelined", "dim": 64, "causal": False, "seq": 128}
    spec = kernels.get("pipelined", "prefill")

    def one(built: Any, assembly: Any, choice: dict[str, Any]) -> dict[str, Any]:
        if choice["tile_kv"] == 32:
            raise pl.LaunchError("no room")
        return {"default": False, "us": 2.0, "registers": assembly.registers, "wrong": ""}

    def build(choice: dict[str, Any]) -> Any:
        return spec.build(head_dim=64, dtype="bf16", arch="sm_90", **choice)

    choices = [{"tile_q": 16, "tile_kv": n, "warps": 1, "stages": 2} for n in (16, 32)]
    tune.each(record, about, choices, build, "sm_90", one)
    assert [row["us"] for row in record.rows] == [2.0, None]
    assert record.rows[0]["registers"] > 50
    assert record.wrong == ["pipelined, D 64, S 128: 16 x 32, 1 warp, 2 stages: no room"]
