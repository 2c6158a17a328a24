"""The `wgmma` of a trace: the groups of products of each warp, and when each was issued, committed and waited for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ptxlab.emulate.program.flat_program import Literal
from ptxlab.emulate.program.lowering_cache import lower
from ptxlab.emulate.trace.recording import Recording
from ptxlab.isa.actions import Action
from ptxlab.text import parse

TOLD = (Action.WARPGROUP_PRODUCT, Action.WARPGROUP_COMMIT, Action.WARPGROUP_WAIT)


@dataclass
class ProductGroup:
    """A group of products of one warp. products: how many; line: that of the first. issued, committed, waited: how many
    steps of all recorded warps came before its first product, its commit_group, and the wait_group that
    waits for it; -1 where the trace ends first."""

    block: int
    warp: int
    products: int
    line: int
    issued: int
    committed: int = -1
    waited: int = -1


def product_groups(recording: Recording) -> list[ProductGroup]:
    """The groups of all warps, in the order in which they were issued. Raises `TraceError` where steps are missing."""
    program = lower(parse(recording.text), recording.kernel, recording.arch)
    tells = np.array([code.action in TOLD for code in program.codes])
    out: list[ProductGroup] = []
    for (block, warp), places in recording.places().items():
        codes = recording.codes_of((block, warp))
        group: ProductGroup | None = None
        in_flight: list[ProductGroup] = []
        for number in np.flatnonzero(tells[codes]).tolist():
            code, at = program.codes[int(codes[number])], int(places[number])
            if code.action is Action.WARPGROUP_PRODUCT:
                if group is None:
                    group = ProductGroup(block, warp, 0, code.line, at)
                    out.append(group)
                group.products += 1
            elif code.action is Action.WARPGROUP_COMMIT and group is not None:
                group.committed, group = at, None
                in_flight.append(out[-1])
            elif code.action is Action.WARPGROUP_WAIT:
                left = next(int(source.value) for source in code.sources if isinstance(source, Literal))
                while len(in_flight) > left:
                    in_flight.pop(0).waited = at
    return sorted(out, key=lambda group: group.issued)
