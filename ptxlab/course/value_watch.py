"""Watches a kernel on the interpreter: which thread read what, where a number came from, where the first NaN is.

watch = Watch()
pl.launch(kernel, grid, block, *args, device="step", trace=watch)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxlab.errors import place_in_words
from ptxlab.text import Address, Instruction, Name, Vector, parse

if TYPE_CHECKING:
    from ptxlab.emulate.step.interpreter import Step

LANES = 32
PACKAGE = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Event:
    """One instruction of one warp: `values` are what its destinations hold after it, 32 lanes each.

    `first` is the warp's first thread, counted over a one-dimensional grid; `addresses` are the bytes it loaded from
    or stored to, `size` bytes each; `mask` the lanes that took part.
    """

    first: int
    instruction: Instruction
    mask: Any
    values: tuple[Any, ...]
    addresses: Any = None
    size: int = 0
    what: str = ""

    @property
    def line(self) -> int:
        """The PTX line."""
        return self.instruction.line


class Watch:
    """A recorder for `launch(trace=...)` that keeps every step of a launch with `block` threads per block. only: the
    one warp that it keeps, (block, warp)."""

    def __init__(self, block: int, only: tuple[int, int] | None = None) -> None:
        self.block, self.only = block, only
        self.events: list[Event] = []

    def wants(self, block: int, warp: int) -> bool:
        """All of them, or the one: exercises are small."""
        return self.only in (None, (block, warp))

    def record(self, step: Step) -> None:
        """Keeps one step."""
        if step.code.instruction is None:
            return
        first = step.block * self.block + step.warp * LANES
        values = tuple(new.copy() for _, _, new in step.writes)
        touch = step.touches[0] if step.touches else None
        mask = step.mask.copy() if touch is None else touch.mask.copy()
        self.events.append(
            Event(
                first,
                step.code.instruction,
                mask,
                values,
                None if touch is None else touch.address.copy(),
                0 if touch is None else touch.size,
                "" if touch is None else touch.what,
            )
        )

    def of(self, thread: int) -> Iterator[tuple[Event, int]]:
        """The steps that a thread took part in, in order, with its lane."""
        for event in self.events:
            lane = thread - event.first
            if 0 <= lane < LANES and event.mask[lane]:
                yield event, lane

    def parameter(self, name: str) -> int:
        """The value of an integer or pointer parameter, as the first thread that loaded it saw it."""
        for event in self.events:
            source = event.instruction.operands[-1] if event.instruction.operands else None
            if event.instruction.name == "ld" and isinstance(source, Address) and source.base == Name(name):
                return int(event.values[0][int(event.mask.argmax())])
        return 0

    def reads(self, thread: int, start: int, size: int) -> list[tuple[int, Event]]:
        """(byte offset from `start`, step) of every load by a thread from the `size` bytes at `start`."""
        found = []
        for event, lane in self.of(thread):
            if event.what == "load" and event.addresses is not None:
                offset = int(event.addresses[lane]) - start
                if 0 <= offset < size:
                    found.append((offset, event))
        return found

    def first_nan(self, thread: int) -> Event | None:
        """The instruction that first gave a thread a NaN, or None."""
        for event, lane in self.of(thread):
            if any(v.dtype.kind == "f" and np.isnan(v[lane]) for v in event.values):
                return event
        return None

    def first_wrapped(self, thread: int) -> Event | None:
        """The subtraction, or addition, that first took a thread's u32 below zero, or None."""
        for event, lane in self.of(thread):
            name = event.instruction.opcode
            if name in ("sub.u32", "add.u32") and int(event.values[0][lane]) & 0x8000_0000:
                return event
        return None

    def lost(self, lane: int) -> str:
        """The operation that first gave a lane, or else another lane of its warp, infinity out of numbers, and the one
        that first gave it a NaN, with their operands, in words."""
        for lanes in ([lane], range(LANES)):
            held: dict[str, Any] = {}
            told: dict[str, str] = {}
            for event in self.events:
                names = [o.text for o in event.instruction.operands[1:] if isinstance(o, Name)]
                given = [held[n] for n in names if n in held and held[n].dtype.kind == "f"]
                for name, value in zip(destinations(event.instruction), event.values, strict=False):
                    held[name] = value
                    if value.dtype.kind != "f" or not given or event.what:
                        continue
                    inf = np.isposinf(value) & ~np.isposinf(given).any(axis=0)
                    inf |= np.isneginf(value) & np.isfinite(given).all(axis=0)
                    nan = np.isnan(value) & ~np.isnan(given).any(axis=0)
                    for at in lanes:
                        if event.mask[at] and (inf | nan)[at]:
                            operands = ", ".join(f"{x[at]:.4g}" for x in given)
                            says = f"`{event.instruction.opcode}` of {operands} is {value[at]:g}"
                            told.setdefault("nan" if nan[at] else "inf", says)
                if "nan" in told:
                    break
            if told:
                return f"{', and '.join(told.values())}.\n"
        return ""

    def inputs(self, event: Event, thread: int) -> list[float | int]:
        """What the named source registers of a step held in a thread: their last values before it."""
        names = [o.text for o in event.instruction.operands[1:] if isinstance(o, Name)]
        held: dict[str, float | int] = {}
        for before, lane in self.of(thread):
            if before is event:
                break
            for name, value in zip(destinations(before.instruction), before.values, strict=False):
                held[name] = value[lane].item()
        return [held[n] for n in names if n in held]


def destinations(instruction: Instruction) -> list[str]:
    """The registers that an instruction writes, as far as exercises need it: those of the first operand."""
    first = instruction.operands[0] if instruction.operands else None
    return (
        [str(e) for e in first.elements]
        if isinstance(first, Vector)
        else [str(first)]
        if isinstance(first, Name)
        else []
    )


def place(kernel: Any, line: int) -> str:
    """Where a PTX line is: the line itself and the Python that wrote it. `In[7]:12, PTX line 40: ex2... ;`"""
    module = parse(kernel) if isinstance(kernel, str) else getattr(kernel, "module", kernel)
    source = str(module).splitlines()[line - 1].split("//")[0]
    words = " ".join(source.split())
    span = module.spans.get(line)
    if span is None:
        return f"PTX line {line}: {words}"
    if Path(span.file).is_relative_to(PACKAGE):  # a kernel of the library, wherever it is installed
        span = span._replace(file=Path(span.file).relative_to(PACKAGE.parent).as_posix())
    return f"{place_in_words(line, span)}: {words}"


def probed(kernel: Any, which: int) -> int:
    """The PTX line that computed what `k.probe` stores as m (0), l (1) or rescale (2); 0 where it cannot be told."""
    instructions = [i for f in kernel.module.kernels for i in f.instructions()]
    for at, i in enumerate(instructions):
        if i.opcode.startswith("st.global") and str(i.operands[0]).startswith("[%probe_at"):
            stored = instructions[at + which].operands[1]
            lines = [j.line for j in instructions[: at + which] if destinations(j) == [str(stored)]]
            return lines[-1] if lines else 0
    return 0
