"""The comparison with Nsight Compute: its kernels count, its parser reads what ncu prints; with a GPU, the figures."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import ModuleType

import pytest

from ptxlab.emulate.counters import METRICS

PRINTED = """==PROF== Connected to process 4711 (/usr/bin/python3.11)
==PROF== Profiling "coalesced" - 0: 0%....50%....100% - 1 pass
==PROF== Disconnected from process 4711
"ID","Process ID","Kernel Name","Block Size","l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum","smsp__inst_executed.sum"
"","","","","sector","inst"
"0","4711","coalesced","(64, 1, 1)","8","1,024"
"1","4711","column(unsigned long, unsigned long)","(64, 1, 1)","64.000000","32"
"""


@pytest.fixture
def ncu(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    import importlib

    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "benchmarks")
    return importlib.import_module("ncu_counters")


def test_what_ncu_prints_is_read(ncu: ModuleType) -> None:
    sectors, executed = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "smsp__inst_executed.sum"
    assert ncu.parse(PRINTED) == {
        "coalesced": {sectors: 8, executed: 1024}, "column": {sectors: 64, executed: 32},
    }  # fmt: skip
    with pytest.raises(ValueError, match="ncu printed no table:\nnothing here"):
        ncu.parse("nothing here\n")


def test_twenty_kernels_are_counted(ncu: ModuleType) -> None:
    assert len(ncu.KERNELS) == 20
    assert {*ncu.EQUAL, *ncu.SHOWN} <= set(METRICS)
    sectors = {
        name: ncu.launch(name, "step")["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"]
        for name in ("coalesced", "strided_2", "column", "misaligned", "broadcast", "loads_16_bytes", "loads_bytes")
    }
    assert list(sectors.values()) == [8, 16, 64, 10, 2, 32, 2]
    conflicts = {
        name: ncu.launch(name, "step")["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"]
        for name in ("bank_words", "bank_2_way", "bank_8_way", "bank_32_way", "bank_padded", "ldmatrix_swizzled")
    }
    assert list(conflicts.values()) == [0, 2, 14, 62, 0, 0]
    assert ncu.launch("multiply_adds", "step")["smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"] == 16 * 64


def test_differences_are_listed(ncu: ModuleType) -> None:
    same = {name: {m: ncu.launch(name, "step")[m] for m in (*ncu.EQUAL, *ncu.SHOWN)} for name in ncu.KERNELS}
    assert ncu.compare(same)[1] == []
    same["coalesced"][ncu.EQUAL[1]] += 1
    assert ncu.compare(same)[1] == [f"coalesced: {ncu.EQUAL[1]} is 8 here and 9 in ncu"]


@pytest.mark.gpu
@pytest.mark.skipif(shutil.which("ncu") is None, reason="needs ncu")
def test_counters_equal_those_of_ncu(ncu: ModuleType) -> None:
    try:
        measured = ncu.measure()
    except PermissionError as error:
        pytest.skip(str(error))
    assert ncu.compare(measured)[1] == []
