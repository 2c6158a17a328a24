"""The base of an emitter's parts: the emitter, its text, its operations on values, its active mask."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptxlab.emulate.jit.emitter.emit import Emitter


class Part:
    """A part of an emitter. It writes into the emitter's text."""

    def __init__(self, e: Emitter) -> None:
        self.e, self.t, self.m, self.active, self.program = e, e.t, e.machine, e.active, e.program
