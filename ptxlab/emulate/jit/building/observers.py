"""The instruments of a build at work on a function, with what bodies say of their own instructions."""

from __future__ import annotations

from collections.abc import Callable

from ptxlab.emulate.jit.bodies.body import Body
from ptxlab.emulate.jit.bodies.table import Bodies
from ptxlab.emulate.jit.control.blocks import Blocks
from ptxlab.emulate.jit.emitter.instrument import After, Instrument
from ptxlab.emulate.jit.instruments.selection import Instruments
from ptxlab.emulate.program.flat_program import Code


class BodyHooks(Instrument):
    """Counts or checks instructions that have a body, as the body says (see `bodies.body`)."""

    in_loop = True

    def __init__(self, bodies: Bodies, observe: Callable[[Body, Code], After | None]) -> None:
        self.bodies, self.observe = bodies, observe

    def before(self, code: Code) -> After | None:
        body = self.bodies.of(code)
        return None if body is None else self.observe(body, code)


def observers(instruments: Instruments, blocks: Blocks) -> list[Instrument]:
    """The instruments of a function, in the order in which their hooks run before an event. Most builds have none, and
    do not load their modules."""
    e, out = blocks.e, list[Instrument]()
    if instruments.trace and e.diverged:
        from ptxlab.emulate.jit.instruments.tracing import Tracing

        out.append(Tracing(e))
    if instruments.counters:
        from ptxlab.emulate.jit.instruments.counting import Counting

        counting = Counting(e, blocks.memory)
        out += [counting, BodyHooks(blocks.bodies, lambda body, code: body.count(code, counting))]
    if instruments.checks:
        from ptxlab.emulate.jit.checks.accesses import CheckedAccesses
        from ptxlab.emulate.jit.checks.check_instrument import Checks
        from ptxlab.emulate.jit.checks.registers import CheckedLocal, CheckedRegisters
        from ptxlab.emulate.jit.checks.synchronization import CheckedControl

        checks = Checks(e, instruments.checks, blocks.memory)
        of_bodies = BodyHooks(blocks.bodies, lambda body, code: body.check(code, checks))
        out += [CheckedControl(e, checks), of_bodies, CheckedAccesses(e, checks, blocks.memory)]
        out += [CheckedLocal(e, checks), CheckedRegisters(e, checks)]
    return out
