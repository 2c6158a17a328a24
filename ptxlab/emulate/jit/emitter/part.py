"""The base of what is written against an emitter: the emitter, its text, its operations on values, its active mask."""

from __future__ import annotations

from ptxlab.emulate.jit.emitter.emitter import Emitter


class Part:
    """A part of what emits code. It writes into the emitter's text."""

    def __init__(self, e: Emitter) -> None:
        self.e, self.t, self.m, self.active, self.program = e, e.t, e.machine, e.active, e.program
