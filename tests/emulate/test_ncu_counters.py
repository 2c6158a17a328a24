"""The comparison with Nsight Compute: its kernels count, what ncu prints is read, what it lacks is left out."""

from __future__ import annotations

import functools
import json
import shutil
import stat
import sys
from pathlib import Path

import pytest

from benchmarks.gpu import counter_kernels, counters, ncu
from benchmarks.gpu.record import Record
from ptxlab.emulate.runtime.counters import METRICS
from ptxlab.gpu import assembler
from ptxlab.gpu.disassembler import find_nvdisasm

PRINTED = """==PROF== Connected to process 4711 (/usr/bin/python3.11)
==PROF== Profiling "coalesced" - 0: 0%....50%....100% - 1 pass
==PROF== Disconnected from process 4711
"ID","Process ID","Kernel Name","Block Size","l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum","smsp__inst_executed.sum"
"","","","","sector","inst"
"0","4711","coalesced","(64, 1, 1)","8","1,024"
"1","4711","column(unsigned long, unsigned long)","(64, 1, 1)","64.000000","n/a"
"""
SECTORS, EXECUTED = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "smsp__inst_executed.sum"


def test_what_ncu_prints_is_read() -> None:
    read = ncu.parse(PRINTED)
    assert {name: {m: row[m] for m in row if "__" in m} for name, row in read.items()} == {
        "coalesced": {SECTORS: 8, EXECUTED: 1024},
        "column": {SECTORS: 64},
    }
    with pytest.raises(ncu.NcuError, match="ncu printed no table:\nnothing here"):
        ncu.parse("nothing here\n")


def test_small_kernels_are_counted() -> None:
    assert len(counter_kernels.KERNELS) == 25
    assert {*counters.EQUAL, *counters.SHOWN} <= set(METRICS)
    sectors = {
        name: counter_kernels.launch(name, "step")[SECTORS]
        for name in ("coalesced", "strided_2", "column", "misaligned", "broadcast", "loads_16_bytes", "loads_bytes")
    }
    assert list(sectors.values()) == [8, 16, 64, 10, 2, 32, 2]
    conflicts = {
        name: counter_kernels.launch(name, "step")["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"]
        for name in ("bank_words", "bank_2_way", "bank_8_way", "bank_32_way", "bank_padded", "ldmatrix_swizzled")
    }
    assert list(conflicts.values()) == [0, 2, 14, 62, 0, 0]
    assert counter_kernels.launch("multiply_adds", "step")[counters.FMA] == 16 * 64


def own_numbers(name: str) -> dict[str, float]:
    counted = counter_kernels.launch(name, "cpu")
    return {metric: float(counted[metric]) for metric in (*counters.EQUAL, *counters.SHOWN)}


def test_differences_are_wrong_unless_a_reason_predicts_them() -> None:
    same = own_numbers("coalesced")
    assert counters.compare("coalesced", same)["wrong"] == ""
    row = counters.compare("coalesced", same | {SECTORS: 9})
    assert row["wrong"] == f"coalesced: {SECTORS} is 8 here and 9 in ncu"
    joined = counters.compare("coalesced", same | {counters.GLOBAL[0]: 1})
    assert joined["wrong"] == ""
    assert joined["metrics"][counters.GLOBAL[0]][2] == "explained"
    fewer_bytes = same | {counters.GLOBAL[0]: 1, counters.BYTES[0]: 8}
    assert counters.compare("coalesced", fewer_bytes)["wrong"].endswith("is 2 here and 1 in ncu")
    more = counters.compare("coalesced", same | {counters.FMA: 3})
    assert more["wrong"] == f"coalesced: {counters.FMA} is 0 here and 3 in ncu"


def test_copies_count_as_loads() -> None:
    """Measured on an H100: of copies of zeros nothing is read, and nothing is asked for."""
    requests, sectors = counters.GLOBAL[:2]
    for name, found in {"copies_4_bytes": (2, 8), "copies_16_bytes": (2, 32), "copies_of_zeros": (0, 0)}.items():
        counted = counter_kernels.launch(name, "step")
        assert (counted[requests], counted[sectors]) == found
        assert counted[counters.WAVEFRONTS[1]] == counted[counters.BYTES[0]] == 0


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "found"), [("decode_gqa", (138, 2088)), pytest.param("pipelined", (192, 3072), marks=pytest.mark.rest)]
)
def test_the_library_copies_as_ncu_counted_on_an_h100(name: str, found: tuple[int, int]) -> None:
    counted = counter_kernels.launch(name, "cpu")
    assert (counted[counters.GLOBAL[0]], counted[counters.GLOBAL[1]]) == found


@pytest.mark.rest
@pytest.mark.skipif(find_nvdisasm() is None or not assembler.available(), reason="needs the assembler and nvdisasm")
def test_joined_broadcasts_are_known_by_the_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """ncu's numbers are those of an H100."""
    for function in (counter_kernels.launch, counter_kernels.machine_code):  # they are asked the same again and again
        monkeypatch.setattr(counter_kernels, function.__name__, functools.cache(function))
    theirs = own_numbers("tiled") | {counters.WAVEFRONTS[0]: 65_536.0, counters.BYTES[2]: 524_288.0}
    row = counters.compare("tiled", theirs)
    assert row["wrong"] == ""
    assert row["metrics"][counters.WAVEFRONTS[0]][2] == "explained"
    not_broadcast = counters.compare("tiled", theirs | {counters.BYTES[2]: own_numbers("tiled")[counters.BYTES[2]]})
    assert counters.WAVEFRONTS[0] in not_broadcast["wrong"]
    assert counters.WAVEFRONTS[0] in counters.compare("tiled", theirs | {counters.WAVEFRONTS[0]: 65_535.0})["wrong"]
    own = counter_kernels.launch("tiled", "cpu")
    elsewhere = counters.Case(counters.WAVEFRONTS[0], own, theirs, "bank_words")  # whose machine code has LDS
    assert counters.verdict(elsewhere)[0] == "differs"


def test_bytes_of_matrices_are_told_apart() -> None:
    theirs = own_numbers("ldmatrix_swizzled")
    assert theirs[counters.BYTES[2]] == 1024
    for found, said in ((0.0, "explained"), (512.0, "shown")):
        row = counters.compare("ldmatrix_swizzled", theirs | {counters.BYTES[2]: found})
        assert row["metrics"][counters.BYTES[2]][2] == said


@pytest.mark.rest
@pytest.mark.skipif(find_nvdisasm() is None or not assembler.available(), reason="needs the assembler and nvdisasm")
def test_the_assembler_leaves_loads_as_wide_as_they_are() -> None:
    wide = {"loads_16_bytes": "LDG.E.128", "bank_16_bytes": "LDS.128", "bank_16_bytes_of_128": "LDS.128"}
    for name, opcode in wide.items():
        assert opcode in counter_kernels.machine_code(name)


FAKE = """#!{python}
# An ncu that knows only some metrics, and prints 1 for each of them and every kernel on its command line.
import sys
assert sys.argv[1:8] == ["--clock-control", "none", "--print-units", "base", "--csv", "--page", "raw"], sys.argv
metrics = sys.argv[sys.argv.index("--metrics") + 1].split(",")
with open({log!r}, "a") as log:
    log.write(f"{{len(metrics)}}\\n")
if {denied!r}:
    print("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters")
    sys.exit(1)
for metric in metrics:
    if metric in {unknown!r}:
        print(f"==ERROR== Failed to find metric {{metric}}")
        sys.exit(9)
    if metric in {bad!r}:
        print("==ERROR== UnknownError")
        sys.exit(9)
kernels = sys.argv[sys.argv.index("benchmarks.gpu.counter_kernels") + 1:]
print("==PROF== Connected to process 1")
print(",".join(f'"{{x}}"' for x in ("ID", "Kernel Name", *metrics)))
print(",".join('""' for _ in range(2 + len(metrics))))
for k, name in enumerate(kernels):
    print(",".join(f'"{{x}}"' for x in (k, name, *("1" for _ in metrics))))
"""


def fake(folder: Path, **options: object) -> str:
    path = folder / "ncu"
    given = {"unknown": (), "bad": (), "denied": False, "log": str(folder / "log")} | options
    path.write_text(FAKE.format(python=sys.executable, **given))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_unknown_metrics_cost_themselves_only(tmp_path: Path) -> None:
    command = ncu.python("benchmarks.gpu.counter_kernels", "coalesced")
    tool = fake(tmp_path, unknown=("b.sum", "d.sum"))
    found = ncu.profile(command, ("a.sum", "b.sum", "c.sum", "d.sum"), ncu=tool)
    assert found.dropped == {"b.sum": "ncu does not know it", "d.sum": "ncu does not know it"}
    assert found.values == {"coalesced": {"ID": 0, "a.sum": 1, "c.sum": 1}}
    assert (tmp_path / "log").read_text().split() == ["4", "3", "2"]


@pytest.mark.long
def test_metrics_that_fail_without_a_name_are_found_by_halving(tmp_path: Path) -> None:
    command = ncu.python("benchmarks.gpu.counter_kernels", "coalesced")
    found = ncu.profile(command, tuple("abcdefgh"), ncu=fake(tmp_path, bad=("c",)))
    assert found.dropped == {"c": "==ERROR== UnknownError"}
    assert sorted(found.values["coalesced"]) == ["ID", *"abdefgh"]
    with pytest.raises(ncu.NcuError, match="ncu ended with 9:\n==ERROR== UnknownError"):
        ncu.profile(command, ("a", "b"), ncu=fake(tmp_path, bad=("a", "b")))


def test_rows_and_what_is_missing(tmp_path: Path) -> None:
    record = Record("counters", tmp_path / "found.json")
    counters.measure(record, ["coalesced"], fake(tmp_path, unknown=(SECTORS,)))
    assert record.notes == [f"{SECTORS} was not measured: ncu does not know it"]
    assert record.rows[0]["metrics"][SECTORS] == [8, None, "not measured", ""]
    assert len(record.wrong) == 1
    text = counters.table(json.loads((tmp_path / "found.json").read_text()))
    assert f"| coalesced | {SECTORS} | 8 | - | not measured |" in text
    denied = Record("counters")
    counters.measure(denied, ["coalesced"], fake(tmp_path, denied=True))
    assert denied.wrong == [f"missing: counters of coalesced: {ncu.DENIED}"]


@pytest.mark.gpu
@pytest.mark.skipif(shutil.which("ncu") is None, reason="needs ncu")
def test_counters_equal_those_of_ncu() -> None:
    record = Record("counters")
    counters.measure(record, list(counter_kernels.KERNELS), "ncu")
    if any(one["why"] == ncu.DENIED for one in record.absent):
        pytest.skip(ncu.DENIED)
    assert record.wrong == []
