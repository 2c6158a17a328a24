"""The counters of a launch, from what was counted of each instruction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ptxlab.emulate.program.flat_program import Code, Group
from ptxlab.emulate.program.program import Program, once
from ptxlab.emulate.runtime.counters import FIELDS, METRICS, MOVES, PIECES, TALLY, Counters, LineCounters, is_branch
from ptxlab.isa.actions import Action
from ptxlab.isa.properties import Properties

OF_A_LINE = (
    ("warps",), ("threads",), ("on_warps",), ("on_threads",), ("divergent",),
    ("global_requests", "shared_requests"), ("global_sectors",), ("global_ideal",), ("shared_wavefronts",),
    ("shared_ideal",), ("global_bytes", "shared_bytes", "local_bytes"), (), ("bulk_shared_st", "bulk_shared_ld"),
)  # fmt: skip
"""The fields of a tally whose sums the numbers of `LineCounters` are, in their order; its `flops` are not a field."""


class Names:
    """A name for each instruction. numbers: which of `names` each has."""

    def __init__(self, given: Sequence[str]) -> None:
        self.names = list(dict.fromkeys(given))
        places = {name: k for k, name in enumerate(self.names)}
        self.numbers = np.array([places[name] for name in given], np.int64)

    def sums(self, chosen: np.ndarray, amounts: np.ndarray) -> dict[str, int]:
        """The sum of what the chosen instructions of each name have, in the order in which the names first appear."""
        there, first, places = np.unique(self.numbers[chosen], return_index=True, return_inverse=True)
        sums = np.zeros(len(there), np.int64)
        np.add.at(sums, places, amounts)
        return {self.names[there[k]]: int(sums[k]) for k in np.argsort(first).tolist()}


class Known:
    """What is known of a program's instructions before it runs, an element each."""

    def __init__(self, codes: Sequence[Code]) -> None:
        traits = [code.properties for code in codes]
        self.counts = np.array([c.instruction is not None or c.part_of is not None for c in codes], np.bool_)
        self.added = np.array([c.instruction is None for c in codes], np.bool_)
        """Whether lowering has added it; it counts if it moves bytes for another one."""
        self.fills = np.array([c.instruction is not None and c.action is Action.FILL for c in codes], np.bool_)
        self.branches = np.array([is_branch(c) for c in codes], np.bool_)
        self.flops = np.array([p.work.flops for p in traits], np.int64)
        self.of_warp = np.array([p.work.type == "tensor" for p in traits], np.bool_)
        """Whether its floating-point operations are those of a warp."""
        self.products = np.array([_product_bytes(c) for c in codes], np.int64)
        self.lines = np.array([c.line for c in codes], np.int64)
        self.opcodes = Names([_opcode(c) for c in codes])
        self.types = Names([p.work.type for p in traits])
        self.operations = Names([p.work.operation for p in traits])
        self.pipes = Names([p.pipe_in(c.space) for c, p in zip(codes, traits, strict=True)])
        self.directions = Names([_direction(p) for p in traits])


@once
def _known(program: Program) -> Known:
    return Known(program.codes)


def collect(program: Program, tally: np.ndarray, issued: np.ndarray) -> Counters:
    """The counters of a launch from its tally: an array of `TALLY`, one element for each of the program's codes. What
    lowering added (the copies around a call) does not count, but for bytes that it moves for an instruction. issued:
    for each warpgroup and code how many warps have executed it."""
    assert tally.dtype == TALLY
    known = _known(program)
    chosen = np.flatnonzero((tally["warps"] != 0) & known.counts)
    records = tally[chosen]
    added, fills = known.added[chosen], known.fills[chosen]
    for name in ("warps", "threads", "on_warps", "on_threads", "shared_requests"):  # they have been counted
        records[name][added] = 0
    records["shared_requests"][fills] = records["on_warps"][fills]
    totals = _totals(known, chosen, records)
    work = known.flops[chosen] * np.where(known.of_warp[chosen], records["on_warps"], records["on_threads"])
    threads = known.opcodes.sums(chosen, records["threads"])
    warps = known.opcodes.sums(chosen, records["warps"])
    works = work != 0
    flops = known.types.sums(chosen[works], work[works])
    pipes = known.pipes.sums(chosen, records["warps"])
    operations = known.operations.sums(chosen, records["on_threads"])
    totals |= {name: count for name, count in operations.items() if name}
    totals |= {f"pipe_{name}": count for name, count in pipes.items()}
    branches = known.branches[chosen]
    if branches.any():
        totals["branches"] = int(records["warps"][branches].sum())
    of_products = int((known.products[chosen] * records["on_warps"]).sum())
    moved = {what: totals[name] if name else of_products for what, name in MOVES.items()}
    by_line = _by_line(known, chosen, records, work)
    return Counters(
        int(records["warps"].sum()),
        int(records["threads"].sum()),
        {name: (warps[name], threads[name]) for name in warps},
        {line: (c.warps, c.threads) for line, c in by_line.items()},
        by_line,
        pipes,
        flops,
        {name: metric.value(totals) for name, metric in METRICS.items()},
        {what: amount for what, amount in moved.items() if amount},
        _issue_slots(known, issued),
        program.spans,
    )


def _opcode(code: Code) -> str:
    instruction = code.instruction or code.part_of
    return "" if instruction is None else instruction.opcode


def _by_line(known: Known, chosen: np.ndarray, records: np.ndarray, work: np.ndarray) -> dict[int, LineCounters]:
    """The counters of each line, in the order of the instructions."""
    columns = [sum((records[name] for name in names), np.zeros(len(records), np.int64)) for names in OF_A_LINE]
    columns[OF_A_LINE.index(())] = work
    out: dict[int, LineCounters] = {}
    rows = zip(
        known.lines[chosen].tolist(), known.opcodes.numbers[chosen].tolist(), np.stack(columns, 1).tolist(), strict=True
    )
    for line, opcode, numbers in rows:
        new, before = LineCounters(known.opcodes.names[opcode], *numbers), out.get(line)
        out[line] = new if before is None else before + new
    return out


def _issue_slots(known: Known, issued: np.ndarray) -> dict[int, dict[str, int]]:
    """Warp-instructions by pipe, for each warpgroup."""
    written = np.flatnonzero(~known.added)
    return {
        k: {pipe: count for pipe, count in known.pipes.sums(written, row[written]).items() if count}
        for k, row in enumerate(issued)
    }


def _totals(known: Known, chosen: np.ndarray, records: np.ndarray) -> dict[str, int]:
    """Each field's sum; of accesses to a space also the sum for each direction, as in `global_bytes_ld`."""
    numbers = records.view(np.int64).reshape(len(records), len(FIELDS))
    totals = dict(zip(FIELDS, numbers.sum(axis=0).tolist(), strict=True))
    directions = known.directions.numbers[chosen]
    for k in np.unique(directions).tolist():
        sums = dict(zip(FIELDS, numbers[directions == k].sum(axis=0).tolist(), strict=True))
        for name in FIELDS:
            if name.startswith(("global_", "shared_", "local_")):
                totals[f"{name}_{known.directions.names[k]}"] = sums[name]
    return totals


def _product_bytes(code: Code) -> int:
    """Bytes of shared memory that one warp's part of a `wgmma` reads: its 16 rows of A, unless they are in registers,
    and a quarter of B, which the four warps share."""
    if code.action is not Action.WARPGROUP_PRODUCT:
        return 0
    columns = int(str(code.form.shape).partition("n")[2].partition("k")[0])
    rows = 0 if isinstance(code.named["a"][0], Group) else 16
    return PIECES * rows + PIECES * (2 if code.form.sparse else 1) * columns // 4


def _direction(properties: Properties) -> str:
    """ld, st, atom or red, as in the metrics' names; copy for cp.async; "" for other copies and mbarriers."""
    if properties.loads != properties.stores:
        return "ld" if properties.loads else "st"
    if properties.lane_copy:
        return "copy"
    return {Action.ATOMIC: "atom", Action.REDUCTION: "red"}.get(properties.action, "")
