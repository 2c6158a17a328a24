"""Bulk copies in the stepping engine: it fills the buffers of operands, and the same rules as in compiled code copy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxlab.emulate.language import Pointer
from ptxlab.emulate.program.addresses import PARAM_WINDOW
from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.program.model import Code, Literal, Mem, Symbol
from ptxlab.emulate.rules.bulk_checks import BulkChecks
from ptxlab.emulate.rules.bulk_faults import bulk_fault
from ptxlab.emulate.rules.bulk_instructions import LOW, OPERANDS, SHIFTS, bulk_of, finish_groups, issue_lanes
from ptxlab.emulate.runtime.state import SPACES, Fault, Found, MemoryMap
from ptxlab.emulate.runtime.state import Cluster as ClusterRecord
from ptxlab.emulate.runtime.transfers import Queue, Transfer
from ptxlab.emulate.step.lanes import mask_bits
from ptxlab.isa.actions import Action

if TYPE_CHECKING:
    from ptxlab.emulate.step.machine import Machine
    from ptxlab.emulate.step.schedule import BlockRun
    from ptxlab.emulate.step.translate import Read, Step, Translator
    from ptxlab.emulate.step.warp import Warp

# -- records for the rules --------------------------------------------------------------------------------------------


@dataclass
class BulkBlock:
    """A block of a cluster, with those fields of a `Cta` that the rules of bulk copies read."""

    run: BlockRun
    rank: int
    cluster: ClusterRecord
    race_shared: None = None  # races of bulk copies are found by `BulkChecks`
    race_shared_stride: int = 0
    shared: Pointer[int] = field(init=False)
    init_shared: Pointer[int] | None = field(init=False)

    def __post_init__(self) -> None:
        self.shared = Pointer(self.run.spaces.shared.data)
        self.init_shared = None if self.run.check is None else self.run.check.record.written

    @property
    def active(self) -> int:
        """1 until all its threads have exited."""
        return int(bool(self.run.running))


@dataclass
class Slot:
    """An element of `slots`, which hold the blocks of a cluster by rank."""

    cta: BulkBlock


class BulkContext:
    """A worker's context, with those fields of a `Context` that the rules of bulk copies read."""

    def __init__(self, machine: Machine, blocks: Sequence[BlockRun], queue: Pointer[Queue]) -> None:
        self.checks: BulkChecks | None = None
        self.memory: MemoryMap = machine.map
        for index, held in enumerate(machine.live):
            row = self.memory.allocations[index]
            row.host = Pointer(held.data)
            row.written = None if held.written is None else Pointer(held.written)
        self.params: Pointer[int] = Pointer(machine.parameters.data)
        self.fault, self.found = Fault.new(), Found.new()
        self.moved: Pointer[int] | None = None if machine.watch is None else Pointer(machine.watch.moved)
        cluster = ClusterRecord.new()
        cluster.queue = queue
        self.slots = [Slot(BulkBlock(block, rank, cluster)) for rank, block in enumerate(blocks)]

        self.lines = [code.line for code in machine.program.codes]
        self.order: Any = getattr(machine.launch.trace, "order", None)  # a recorder that a user wrote may have none

    @property
    def checked(self) -> bool:
        """Whether `issued` and `completed` are to be called for the checks."""
        return self.checks is not None

    @property
    def traced(self) -> bool:
        """Whether they are to be called for a trace."""
        return self.order is not None

    def issued(self, queue: Queue, transfer: Transfer) -> None:
        """A transfer has been issued."""
        if self.checks is not None:
            self.checks.issued(transfer)
        if self.order is not None:
            block, to = (self.slots[rank].cta.run.index for rank in (transfer.rank, transfer.at_rank))
            self.order.issued(id(transfer), transfer, self.lines[transfer.code], block, to, self.order.steps)

    def completed(self, queue: Queue, transfer: Transfer, before: int) -> None:
        """A transfer has been performed."""
        if self.checks is not None:
            self.checks.completed(transfer, before, None if transfer.word is None else transfer.word[0])
        if self.order is not None:
            self.order.completed(id(transfer), self.order.steps)


# -- instructions ------------------------------------------------------------------------------------------------------


def translate(t: Translator, code: Code) -> Step:
    """The step of an instruction that copies in bulk, commits such copies to a group or waits for one."""
    if code.action not in (Action.COMMIT, Action.WAIT_GROUP):
        return _Copy(t, code).run
    commits = code.action is Action.COMMIT
    left = next((int(s.value) for s in code.sources if isinstance(s, Literal)), 0)

    def group(w: Warp) -> int | None:
        context: Any = w.spaces.cluster.context
        finish_groups(context, context.slots[w.spaces.rank].cta, w.record, mask_bits(w.mask), left, commits)
        return None

    return group


class _Copy:
    """One bulk copy."""

    def __init__(self, t: Translator, code: Code) -> None:
        self.code, self.what = code, bulk_of(code)
        names = [s.name for s in code.form.op.operands]
        self.reads: dict[str, Read] = dict(zip(names, t.readers(code), strict=False))
        self.given = {name: code.named[name][0] for name in names}
        self.place = t.read(code.sources[-1], "any", code) if code.form.tensor else None
        self.source_space = SPACES["global" if code.form.src == "global" else "shared"]

    def run(self, w: Warp) -> int | None:
        data, more, what = np.zeros((7, LANES), np.uint64), np.zeros((8, LANES), np.int64), self.what
        for column, name in enumerate(OPERANDS):
            if self.given.get(name) and not (name == "b" and self.code.form.single):
                data[column] = self._address(w, name)
        if self.code.form.single:
            data[LOW // LANES :] = self._value(w)
        if self.place is not None:
            for column, value in enumerate(_list(self.place(w))):
                more[column] = value.view(np.int32)
        if self.given.get("i"):
            for column, value in enumerate(_list(self.reads["i"](w))):
                more[SHIFTS + column] = value.view(f"i{value.dtype.itemsize}")
        context: Any = w.spaces.cluster.context
        if issue_lanes(
            context, context.slots[w.spaces.rank].cta, w.record, mask_bits(w.mask), Pointer(data.ravel()),
            Pointer(more.view(np.uint64).ravel()), what.kind, int(what.grouped), int(what.multicast),
            self.source_space, what.operation, what.type, what.count, self.code.index,
        ):  # fmt: skip
            found, machine = context.fault, w.machine
            raise bulk_fault(
                machine.program, machine.launch, machine.memory, self.code, kind=found.kind, address=found.address,
                count=found.count, align=found.multiple, block=w.block_index, thread=LANES * w.warp + found.lane,
            )  # fmt: skip
        return None

    def _address(self, w: Warp, name: str) -> np.ndarray:
        """An address, a size or a mask of each lane."""
        source = self.given[name]
        if isinstance(source, Mem) and isinstance(source.base, Symbol) and source.base.space == "param":
            return np.full(LANES, PARAM_WINDOW + source.base.value + source.offset, np.uint64)
        return np.asarray(self.reads[name](w)).astype(np.uint64)

    def _value(self, w: Warp) -> np.ndarray:
        """The value of `st.async` or `red.async` as two numbers of each lane."""
        parts = [np.ascontiguousarray(part).view(np.uint8) for part in _list(self.reads["b"](w))]
        octets = np.concatenate([part.reshape(LANES, -1) for part in parts], axis=1)
        room = np.zeros((LANES, 16), np.uint8)
        room[:, : octets.shape[1]] = octets[:, :16]
        numbers: np.ndarray = room.view(np.uint64).T
        return numbers


def _list(given: Any) -> tuple[np.ndarray, ...]:
    """The elements of an operand: several where it stands in braces."""
    return given if isinstance(given, tuple) else (given,)
