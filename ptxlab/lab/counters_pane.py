"""The counters pane as plain data: instruction mix, sectors and bank conflicts, FLOP and bytes, each with its origin.

Every number says where it comes from: "counted" is what the emulator saw happen, "modelled" follows from a model of
the hardware (sectors, wavefronts, pipes), "measured" comes from a GPU.
"""

from __future__ import annotations

from typing import Any

from ptxlab.emulate.runtime.counters import PIPES
from ptxlab.lab import protocol

MOST = 12
"""Rows of a list before the rest is summed up."""

_SECTORS = {"ld": "loads and cp.async", "st": "stores", "atom": "atomics", "red": "reductions"}
_SAYS = {
    "global requests": "Warp-instructions whose threads access global memory; bulk copies are not counted.",
    "global sectors": "Sectors of 32 bytes that threads touch and bulk copies move. Beside it: the fewest that hold "
    "the bytes.",
    "  of bulk copies": "Sectors that hold the bytes they move.",
    "shared wavefronts": "Wavefronts of shared memory. Beside it: how many there would be without bank conflicts.",
    "bank conflicts": "Wavefronts that bank conflicts added: lanes that need different words of a bank wait for each "
    "other.",
    "wavefronts of wgmma": "Wavefronts of 128 bytes in which wgmma reads its operands, without bank conflicts.",
    "divergent branches": "Branches after which the lanes of a warp did not all go the same way.",
    "masked by guards": "Thread-instructions whose guard predicate did not hold.",
    "time": "The kernel alone, on the GPU.",
}
"""What there is to say of a row, by its name; of others where the row is made."""


def show(counts: Any, run: Any = None) -> protocol.Counters | None:
    """The counters of a run; None where nothing was counted. Lines are [line, opcode, sectors, ideal, wavefronts, ideal
    wavefronts, line of the source]."""
    if counts is None:
        return None
    opcodes: list[Any] = sorted(([name, *pair] for name, pair in counts.opcodes.items()), key=lambda row: -row[1])
    pipes: list[Any] = sorted(([name, n, PIPES[name]] for name, n in counts.pipes.items()), key=lambda row: -row[1])
    return {
        "instructions": {"warps": counts.warp_instructions, "threads": counts.thread_instructions},
        "opcodes": opcodes[:MOST] + _rest(opcodes[MOST:]),
        "pipes": pipes,
        "memory": memory(counts),
        "work": work(counts, run),
        "lines": costly(counts),
    }


def _rest(rows: list[list[Any]]) -> list[Any]:
    return [[f"{len(rows)} others", sum(r[1] for r in rows), sum(r[2] for r in rows)]] if rows else []


def _row(name: str, value: Any, unit: str, origin: Any, ideal: Any = None, says: str = "") -> protocol.CounterRow:
    says = says or _SAYS[name]
    return {"name": name, "value": value, "unit": unit, "origin": origin, "says": says, "ideal": ideal}


def memory(counts: Any) -> list[protocol.CounterRow]:
    """Sectors of global memory and wavefronts of shared memory, with the least that there could be."""
    m = counts.metrics
    requests = sum(m[f"l1tex__t_requests_pipe_lsu_mem_global_op_{op}.sum"] for op in ("ld", "st", "atom", "red"))
    bulk = counts.memory_sectors - counts.global_sectors
    waves, least = m["l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"], m["memory_l1_wavefronts_shared_ideal"]
    fewest = m["memory_l2_theoretical_sectors_global_ideal"] + bulk
    rows = [
        _row("global requests", requests, "warp accesses", "counted"),
        _row("global sectors", counts.memory_sectors, "sectors", "modelled", fewest),
    ]
    rows += [
        _row(f"  of {words.split()[0]}", n, "sectors", "modelled", says=f"Sectors that {words} touch.")
        for op, words in _SECTORS.items()
        if (n := m[f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum"])
    ]
    if bulk:
        rows.append(_row("  of bulk copies", bulk, "sectors", "modelled"))
    if waves:
        conflicts = m["l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"]
        rows.append(_row("shared wavefronts", waves, "wavefronts", "modelled", least))
        rows.append(_row("bank conflicts", conflicts, "extra wavefronts", "modelled"))
    return rows


def work(counts: Any, run: Any = None) -> list[protocol.CounterRow]:
    """Floating-point operations, bytes, and what a GPU measured."""
    m = counts.metrics
    flop = "Floating-point operations: an fma is two, a matrix product 2*M*N*K."
    rows = [
        _row("FLOP, tensor cores" if kind == "tensor" else f"FLOP, {kind}", n, "FLOP", "counted", says=flop)
        for kind, n in counts.flops.items()
    ]
    for space in ("global", "shared", "local"):
        if n := m[f"smsp__sass_data_bytes_mem_{space}.sum"]:
            says = f"Bytes of {space} memory that threads ask for."
            rows.append(_row(f"bytes, {space}", n, "B", "counted", says=says))
    for what, n in counts.moved.items():
        rows.append(_row(f"bytes {what}", n, "B", "counted", says=f"Bytes {what}, while the threads go on."))
    if n := counts.product_wavefronts:
        rows.append(_row("wavefronts of wgmma", n, "wavefronts", "modelled"))
    rows += issue_slots(counts)
    if branches := m["smsp__sass_branch_targets.sum"]:
        divergent = m["smsp__sass_branch_targets_threads_divergent.sum"]
        of = f"{branches:,}" if branches < 1e5 else f"{branches / 1e6:.3g} M"
        rows.append(_row("divergent branches", divergent, f"of {of}", "counted"))
    rows.append(_row("masked by guards", round(100 * counts.predicated_off, 2), "%", "counted"))
    if run is not None and run.device == "gpu":
        rows.append(_row("time", run.seconds, "s", "measured"))
    return rows


def issue_slots(counts: Any) -> list[protocol.CounterRow]:
    """What each warpgroup of a block issues, where there are several: the price of a role."""
    rows = []
    for number, pipes in counts.issue_slots.items() if len(counts.issue_slots) > 1 else ():
        total = sum(pipes.values())
        shares = ", ".join(f"{pipe} {100 * n / total:.0f} %" for pipe, n in sorted(pipes.items(), key=lambda p: -p[1]))
        says = f"Warp-instructions that warps {4 * number} to {4 * number + 3} of all blocks issue: {shares}."
        rows.append(_row(f"issue slots, warpgroup {number}", total, "slots", "counted", says=says))
    return rows


def costly(counts: Any) -> list[Any]:
    """The lines that waste most: sectors beyond the ideal ones, and bank conflicts."""
    rows = [
        [line, c.opcode, c.sectors, c.ideal_sectors, c.wavefronts, c.ideal_wavefronts, str(counts.spans.get(line, ""))]
        for line, c in counts.by_line.items()
        if c.sectors > c.ideal_sectors or c.conflicts > 0
    ]
    return sorted(rows, key=lambda r: (r[3] - r[2]) + (r[5] - r[4]))[:MOST]
