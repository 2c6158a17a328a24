"""Pipelines: the ring of mbarriers through which one role of a block hands tiles to the others.

    tiles = k.pipeline(stages=2, arrivals=8)   # two mbarriers for each stage: "it is full" and "it is empty again"
    k.barrier()                                # everyone sees them initialised
    with k.warpgroup(0):                       # the producer
        turn = tiles.producer()
        with k.loop(n):
            turn.wait()                        # until the stage is empty; the first time round it is
            turn.expect(nbytes)                # so many bytes will come
            x.load(tile, turn.full, ...)       # and these are they
            turn.next()                        # the next stage; after the last one the first, and the phase flips
    with k.warpgroup(1, 2):                    # the consumers
        turn = tiles.consumer()
        with k.loop(n):
            turn.wait()                        # until all bytes are there
            ...
            turn.release()                     # once for each of the `arrivals`
            turn.next()

An mbarrier's phase is one bit, and a wait names the phase that it waits for. Without `next` a second wait names one
that has ended already, and passes at once: that is caught here, when the kernel is written.
"""

from __future__ import annotations

from typing import Any

from ptxlab.builder.flow import Flow, Waits
from ptxlab.builder.pointer import Ptr, Shared
from ptxlab.builder.registers import Register, Var, b64, pred, u32


class Pipeline:
    """A ring of `stages` places in shared memory. `full[n]` ends a phase when the bytes of stage n have come,
    `empty[n]` when it was released as often as `arrivals` says; without arrivals each stage is filled once."""

    def __init__(self, k: Flow, stages: int, arrivals: int, name: str) -> None:
        self.k, self.stages = k, stages
        self.full: Shared[b64] = k._array(b64, "b64", stages, 8, (), f"{name}full")
        self.empty: Shared[b64] | None = None
        if arrivals:
            self.empty = k._array(b64, "b64", stages, 8, (), f"{name}empty")
        thread = k._emit("mov.u32", "%tid.x", result=u32, temporary=True)
        first = k._emit("setp.eq.u32", thread, 0, result=pred, temporary=True)
        k.guarded, guarded = first, k.guarded
        for n in range(stages):
            k._emit("mbarrier.init.shared::cta.b64", self.full + n, 1)
            if self.empty is not None:
                k._emit("mbarrier.init.shared::cta.b64", self.empty + n, arrivals)
        k._emit("fence.mbarrier_init.release.cluster")
        k.guarded = guarded
        self.barriers = k.barriers

    def producer(self) -> Producer:
        """The place of the role that fills the stages; it starts with all of them empty."""
        return Producer(self, 1)

    def consumer(self) -> Consumer:
        """The place of a role that empties the stages."""
        return Consumer(self, 0)


class Turn(Waits):
    """Where a role is in a pipeline: `stage`, and the `phase` that it waits for; both are variables."""

    def __init__(self, pipeline: Pipeline, phase: int) -> None:
        super().__init__()
        self.pipeline, self.k = pipeline, pipeline.k
        self.stage, self.phase = self._variable("stage", 0), self._variable("phase", phase)
        self.k.turns.append(self)

    def _variable(self, name: str, value: int) -> Var[u32]:
        var: Var[u32] = self.k._register(u32, name, self.k._here, Var)
        self.k._emit("mov.u32", value, into=var)
        return var

    @property
    def full(self) -> Ptr[b64]:
        """The mbarrier that counts the bytes of the stage."""
        return self.pipeline.full + self.stage

    def next(self) -> None:
        """The next stage; after the last one comes the first, and its next phase."""
        k, stages = self.k, self.pipeline.stages
        if self.waited is None:
            raise self.k._error("this turn has not waited for its stage yet", "turn.wait()")
        self._before_next()
        self.waited = None
        self.steps += 1
        flips: Register[Any] | int = 1
        if stages > 1:
            k._emit("add.u32", self.stage, 1, into=self.stage)
            last = k._emit("setp.eq.u32", self.stage, stages, result=pred, temporary=True)
            k._emit("selp.u32", 0, self.stage, last, into=self.stage)
            flips = k._emit("selp.u32", 1, 0, last, result=u32, temporary=True)
        k._emit("xor.b32", self.phase, flips, into=self.phase)

    def _before_next(self) -> None:
        """An error if the role goes to the next stage before it has done its part in this one."""

    def _wait(self, mbarrier: Ptr[b64]) -> None:
        if self.k.barriers == self.pipeline.barriers:
            raise self.k._error(
                "one thread initialises the mbarriers, and there is no barrier between that and this wait",
                "k.barrier()",
            )
        if self.waited is not None:
            raise self.k._error(
                f"this turn has waited already, on line {self.waited.span.line}; that phase is over, and a "
                "second wait for it passes at once",
                "turn.next()\nturn.wait()",
            )
        self.waited = self.k._here
        self.waits += 1
        self.k.wait_for_phase(mbarrier, self.phase)


class Producer(Turn):
    """The role that fills the stages."""

    expected = False

    def wait(self) -> None:
        """Waits until the stage is empty. The first time round it is: the wait names the phase before the first one."""
        if self.pipeline.empty is None:
            raise self.k._error("nobody releases a stage of this pipeline", "k.pipeline(stages, arrivals=...)")
        self._wait(self.pipeline.empty + self.stage)

    def expect(self, nbytes: int) -> None:
        """Announces the bytes of the copies that fill the stage: without this the phase would never end."""
        self.expected = True
        self.k._emit("mbarrier.arrive.expect_tx.shared::cta.b64", self.full, nbytes, temporary=True)

    def _before_next(self) -> None:
        if not self.expected:
            raise self.k._error(
                "no bytes were announced for this stage: its phase never ends, and its consumers wait for ever",
                "turn.expect(nbytes)",
            )
        self.expected = False


class Consumer(Turn):
    """A role that empties the stages."""

    released = False

    def wait(self) -> None:
        """Waits until the stage is full: all bytes are in shared memory, and this thread sees them."""
        self._wait(self.full)

    def release(self) -> None:
        """Arrives at the stage's `empty`: the threads that get here have finished with the tile."""
        if self.pipeline.empty is None:
            raise self.k._error("nobody waits for a stage of this pipeline", "k.pipeline(stages, arrivals=...)")
        if self.waited is None:
            raise self.k._error("this turn releases a stage that it has not waited for", "turn.wait()")
        self.released = True
        self.k._emit("mbarrier.arrive.shared::cta.b64", self.pipeline.empty + self.stage, temporary=True)

    def _before_next(self) -> None:
        if self.pipeline.empty is not None and not self.released:
            raise self.k._error("this stage was not released: its producer waits for ever", "turn.release()")
        self.released = False
