"""Initial memory of the workers of a launch: memory that is made once for a kernel and a size of blocks, and copied.

A launch of a small kernel takes about as long as to prepare this memory; what a worker needs is one buffer in it.
"""

from __future__ import annotations

import os
from itertools import accumulate
from typing import Any

import numpy as np

from ptxlab.emulate.jit.building.build import Loaded
from ptxlab.emulate.language import ALL_LANES, Pointer
from ptxlab.emulate.language.records import zeroed
from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.runtime.report import WARPGROUP, Launch, unravel
from ptxlab.emulate.runtime.state import MOVED, Context, Cta, Executions, Site, Warp

_wide_lock = np.zeros(1, np.uint32)
"""The one lock of 128-bit atomics: several functions of a program may run at once. (A host instruction needs no lock,
but memory that is aligned on the host.)"""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _wide_lock.fill(0))


class Layout:
    """Arrays one after the other in one buffer, each at a multiple of 128 bytes; given are their types and shapes."""

    def __init__(self, **fields: tuple[Any, Any]) -> None:
        formats = [np.dtype(type_and_shape) for type_and_shape in fields.values()]
        ends = list(accumulate(-(-each.itemsize // 128) * 128 for each in formats))
        self.offsets = dict(zip(fields, [0, *ends], strict=False))
        """Where each begins, in bytes."""
        self.size, offsets = ends[-1], [0, *ends[:-1]]
        self.dtype = np.dtype({"names": list(fields), "formats": formats, "offsets": offsets, "itemsize": self.size})

    def new(self) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Zeroed memory as bytes, and its arrays by their names."""
        octets = zeroed(self.size)
        whole: Any = octets.view(self.dtype)[0]
        return octets, whole


class Image:
    """The initial memory of workers of all launches of a kernel with blocks of one size. It does not change."""

    def __init__(self, program: Program, built: Loaded, launch: Launch) -> None:
        blocks, codes, tally = len(built.block_work), built.summary.instructions, 0
        counted, warps = built.instruments.counters, launch.warps
        warpgroups = -(-warps // WARPGROUP) if counted else 1
        if counted:
            from ptxlab.emulate.rules.memory_model import Counted

            tally = Counted.size * codes
        self.exits, self.order = np.array(program.exits, np.uint32), np.arange(warps, dtype=np.uint32)
        self.memory = Layout(
            context=(np.uint8, Context.size),
            sites=(np.uint8, Site.size * built.sites),
            counts=(Executions.dtype, (warpgroups, blocks)),
            rest=(Executions.dtype, (warpgroups, codes)),
            tally=(np.uint8, tally),
            moved=(np.uint64, (codes * counted, len(MOVED))),
        )
        """A worker's memory: its context first, its sites and counts."""
        self.cta = Layout(record=(np.uint8, Cta.size), states=(np.uint8, (warps, built.state_size)))
        """The memory of a resident block, but for its shared and local memory."""
        states = np.zeros(warps, Warp.dtype)
        threads = np.arange(LANES * warps, dtype=np.uint32).reshape(-1, LANES)
        states["tid_x"], states["tid_y"], states["tid_z"] = unravel(threads, launch.block)
        states["first_live"] = ALL_LANES
        states["first_live"][-1] = ALL_LANES >> (-launch.threads % LANES)  # the last one may have fewer threads
        states["warp_id"] = self.order
        self.warps = states.view(np.uint8).reshape(warps, Warp.size)
        """The states of the warps, as bytes."""
        self.context = context = Context.new()
        """The context, without what differs from launch to launch."""
        context.wide_lock, context.exits = Pointer(_wide_lock), Pointer(self.exits)
        context.order = Pointer(self.order)  # with a seed a worker has a copy, shuffled again for every round
        context.warps, context.state_size = warps, built.state_size
        context.site_count, context.clears = built.sites, built.clears
        context.basic_blocks = blocks if warpgroups > 1 else 0
        context.entry = 2 * built.summary.first
        for name, needed in built.scheduled.items():
            setattr(context, name.partition(".")[2], needed)
        context.block_x, context.block_y, context.block_z = launch.block

    @staticmethod
    def of(program: Program, built: Loaded, launch: Launch) -> Image:
        """The image for such a launch, made when it is first needed."""
        found = built.images.get(launch.block)
        if found is None:
            if len(built.images) >= SHAPES:
                built.images.clear()
            found = built.images[launch.block] = Image(program, built, launch)
        assert isinstance(found, Image)
        return found


SHAPES = 16
"""Sizes of blocks of which a kernel's images are kept at most."""
