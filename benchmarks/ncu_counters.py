"""The CPU machine's counters beside Nsight Compute's, on 20 kernels: `python benchmarks/ncu_counters.py [--write]`.

Needs an NVIDIA GPU, `ncu` on the path and the right to read its counters; without these it says so and ends. ncu runs
this file again, which then launches each kernel once on the GPU; the CPU machine counts the same launches. What is
counted of accesses to memory has to be equal. Numbers of instructions need not be, since ncu counts machine code and
the CPU machine PTX: they are shown side by side. `--write` keeps the table in results/ncu_counters.md.
"""

from __future__ import annotations

import argparse
import csv
import io
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

import ptxlab as pl
from ptxlab.emulate.counters import Counters

RESULTS = Path(__file__).parent / "results" / "ncu_counters.md"
EQUAL = (
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
)  # fmt: skip
"""Metrics that have to agree."""
SHOWN = (
    "smsp__inst_executed.sum", "smsp__thread_inst_executed.sum", "smsp__thread_inst_executed_pred_on.sum",
    "smsp__sass_branch_targets.sum", "smsp__sass_branch_targets_threads_divergent.sum",
)  # fmt: skip
"""Metrics of which one counts machine code and the other PTX."""

FRAME = """
.version 7.8
.target sm_80
.address_size 64
.shared .align 128 .b8 tile[32768];
.visible .entry {name}(.param .u64 out, .param .u64 x)
{{
    .reg .pred %p<5>;
    .reg .b32 %r<12>;
    .reg .b64 %rd<9>;
    .reg .f32 %f<5>;
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [x];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd4, %r1, 4;
    add.u64 %rd3, %rd1, %rd4;
{body}
    ret;
}}
"""


def _load(index: str, type_: str = "u32", to: str = "%r7", keep: str = "%r7") -> str:
    """Loads x at a byte offset computed into %r5, and stores what it read."""
    return f"""    {index}
    cvt.u64.u32 %rd5, %r5;
    add.u64 %rd6, %rd2, %rd5;
    ld.global.{type_} {to}, [%rd6];
    st.global.u32 [%rd3], {keep};"""


def _tile(index: str, type_: str = "u32", regs: str = "%r7", values: str = "%r1") -> str:
    """Stores to the tile and loads from it at a byte offset computed into %r5."""
    return f"""    {index}
    mov.u32 %r6, tile;
    add.u32 %r6, %r6, %r5;
    st.shared.{type_} [%r6], {values};
    bar.sync 0;
    ld.shared.{type_} {regs}, [%r6];
    st.global.u32 [%rd3], %r7;"""


FOUR, ONES = "{%r7, %r8, %r9, %r10}", "{%r1, %r1, %r1, %r1}"
MATRIX = """    {index}
    mov.u32 %r6, tile;
    add.u32 %r6, %r6, %r5;
    st.shared.v4.u32 [%r6], {{%r1, %r1, %r1, %r1}};
    bar.sync 0;
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r7, %r8, %r9, %r10}}, [%r6];
    st.global.u32 [%rd3], %r7;"""
KERNELS = {
    "coalesced": _load("shl.b32 %r5, %r1, 2;"),
    "strided_2": _load("shl.b32 %r5, %r1, 3;"),
    "strided_8": _load("shl.b32 %r5, %r1, 5;"),
    "column": _load("shl.b32 %r5, %r1, 7;"),
    "misaligned": _load("shl.b32 %r5, %r1, 2;\n    add.u32 %r5, %r5, 4;"),
    "broadcast": _load("and.b32 %r5, %r1, 0;"),
    "loads_16_bytes": _load("shl.b32 %r5, %r1, 4;", "v4.u32", FOUR),
    "loads_bytes": _load("mov.u32 %r5, %r1;", "u8"),
    "half_of_the_lanes": "    and.b32 %r5, %r1, 1;\n    setp.eq.u32 %p1, %r5, 1;\n    mov.u32 %r7, 5;\n"
    "    @%p1 st.global.u32 [%rd3], %r7;",
    "bank_words": _tile("shl.b32 %r5, %r1, 2;"),
    "bank_2_way": _tile("shl.b32 %r5, %r1, 3;"),
    "bank_8_way": _tile("shl.b32 %r5, %r1, 5;"),
    "bank_32_way": _tile("shl.b32 %r5, %r1, 7;"),
    "bank_padded": _tile("mul.lo.u32 %r5, %r1, 132;"),
    "bank_16_bytes": _tile("shl.b32 %r5, %r1, 4;", "v4.u32", FOUR, ONES),
    "bank_16_bytes_of_128": _tile("shl.b32 %r5, %r1, 7;", "v4.u32", FOUR, ONES),
    "ldmatrix_rows_of_128": MATRIX.format(index="shl.b32 %r5, %r1, 7;"),
    "ldmatrix_swizzled": MATRIX.format(
        index="and.b32 %r5, %r1, 7;\n    shl.b32 %r5, %r5, 4;\n    mad.lo.u32 %r5, %r1, 128, %r5;"
    ),
    "divergent": """    setp.lt.u32 %p1, %r1, 13;
    mov.u32 %r7, 1;
    @!%p1 bra UPPER;
    ld.global.u32 %r7, [%rd2];
    bra BOTH;
UPPER:
    ld.global.u32 %r7, [%rd2+4096];
BOTH:
    st.global.u32 [%rd3], %r7;""",
    "multiply_adds": _load("shl.b32 %r5, %r1, 2;", "f32", "%f1", "%r5").replace(
        "    st.global.u32 [%rd3], %r5;", "    fma.rn.f32 %f1, %f1, %f1, %f1;\n" * 16 + "    st.global.f32 [%rd3], %f1;"
    ),
}
"""Bodies; each is launched with one block of 64 threads."""


def launch(name: str, device: str) -> Counters | None:
    """Runs a kernel; on the CPU machine it is counted."""
    text, counts = FRAME.format(name=name, body=KERNELS[name]), device != "gpu"
    out, x = np.zeros(4096, np.uint32), np.arange(16384, dtype=np.uint32)
    return pl.launch(text, 1, 64, out, x, device=device, counters=counts).counters


def parse(text: str) -> dict[str, dict[str, int]]:
    """What `ncu --csv --page raw` printed: for each kernel its metrics. What precedes the table is other output."""
    lines = text.splitlines()
    start = next((k for k, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        raise ValueError(f"ncu printed no table:\n{text.strip()}")
    table = csv.DictReader(io.StringIO("\n".join(line for line in lines[start:] if line.startswith('"'))))
    found: dict[str, dict[str, int]] = {}
    for row in table:
        if row["ID"]:  # the line below the heads holds units
            metrics = {name: row[name] for name in (*EQUAL, *SHOWN) if row.get(name)}
            found[row["Kernel Name"].partition("(")[0]] = {
                name: int(float(value.replace(",", ""))) for name, value in metrics.items()
            }
    return found


def measure() -> dict[str, dict[str, int]]:
    """The metrics of every kernel, from ncu."""
    command = ["ncu", "--csv", "--page", "raw", "--metrics", ",".join((*EQUAL, *SHOWN)), sys.executable, __file__]
    done = subprocess.run([*command, "--launch"], capture_output=True, text=True, check=False)
    if "ERR_NVGPUCTRPERM" in done.stdout + done.stderr:
        raise PermissionError("this user may not read the GPU's counters (ERR_NVGPUCTRPERM)")
    if done.returncode:
        raise RuntimeError(f"ncu ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return parse(done.stdout)


def compare(measured: dict[str, dict[str, int]]) -> tuple[list[str], list[str]]:
    """A table, and what has to be equal and is not."""
    table, differ = [f"{'kernel':<24}{'metric':<62}{'CPU machine':>12}{'ncu':>12}"], []
    for name in KERNELS:
        counters = launch(name, "cpu")
        assert counters is not None
        for metric in (*EQUAL, *SHOWN):
            own, theirs = counters[metric], measured[name].get(metric)
            if own or theirs:
                table.append(f"{name:<24}{metric:<62}{own:>12,}{'-' if theirs is None else f'{theirs:,}':>12}")
            if metric in EQUAL and own != theirs:
                differ.append(f"{name}: {metric} is {own} here and {theirs} in ncu")
    return table, differ


def main() -> None:
    """Prints the table; ends with 1 where something differs that should not."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="into results/ncu_counters.md")
    parser.add_argument("--launch", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.launch:
        for name in KERNELS:
            launch(name, "gpu")
        return
    from ptxlab.gpu import device

    missing = "no NVIDIA GPU" if not device.available() else "" if shutil.which("ncu") else "no ncu on the path"
    if missing:
        print(f"nothing to compare with: there is {missing}")
        return
    table, differ = compare(measure())
    said = "\n".join([*table, "", *(differ or ["everything that has to be equal is"])])
    print(said)
    if options.write:
        date = datetime.now(UTC).date().isoformat()
        RESULTS.write_text(
            f"# Counters beside ncu's\n\n`python benchmarks/ncu_counters.py --write`, {date}.\n\n```\n{said}\n```\n"
        )
    sys.exit(bool(differ))


if __name__ == "__main__":
    main()
