"""Structured control flow: `with k.loop(n) as j`, `with k.if_(p)`, `with k.else_()`, `with k.guard(p)`.

Bodies are nested lists, so an `else` cannot attach to the wrong `if`: it is legal only while that `if` is the last node
of its list. The lists become labels and branches once, in the printer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from ptxlab.builder import mistakes
from ptxlab.builder.blocks import Block, Inside
from ptxlab.builder.memory import Memory
from ptxlab.builder.nodes import If, Jump, Loop
from ptxlab.builder.pointer import Ptr
from ptxlab.builder.registers import Register, Scope, pred, u32
from ptxlab.builder.source import Site
from ptxlab.builder.suggestions import call_at

T = TypeVar("T")


class Waits:
    """How often a role has waited, and how often it went on to the next stage."""

    def __init__(self) -> None:
        self.waited: Site | None = None  # where, if the stage was not left since
        self.waits = self.steps = 0


def check_loop(turns: list[tuple[Waits, int, int]]) -> None:
    """An error if a round of a loop waits but does not call `next`. turns: with their waits and steps when it began."""
    for turn, waits, steps in turns:
        if turn.waits > waits and turn.steps == steps and turn.waited is not None:
            raise mistakes.error(
                turn.waited,
                "this wait is in a loop that does not go on to the next stage: from the second round on "
                "it names a phase that is over, and passes at once",
                "turn.next()",
            )


class Flow(Memory):
    """The control-flow half of the builder."""

    def __init__(self, arch: str) -> None:
        super().__init__(arch)
        self._ifs = 0
        self._loops: list[Loop] = []
        self._turns: list[list[tuple[Waits, int, int]]] = []  # how far they were when each loop began
        self._labels: set[str] = set()
        self.turns: list[Waits] = []  # of pipelines

    def if_(self, condition: Register[pred]) -> Block[None]:
        """`with k.if_(p):` the body runs in the threads where `p` holds; the others branch around it."""
        self._predicate(condition, "if_")
        node = If(condition, self._new_if(), self._here)

        def enter() -> Scope:
            self.scope.nodes.append(node)
            return node.then

        return Block(self, "if_", enter)

    def _new_if(self) -> int:
        self._ifs += 1
        return self._ifs

    def else_(self) -> Block[None]:
        """`with k.else_():` directly after a `with k.if_(p):`."""
        node = self.scope.nodes[-1] if self.scope.nodes else None
        if not isinstance(node, If) or node.other is not None:
            why = (
                "this `if_` has its `else_` already"
                if isinstance(node, If)
                else (
                    "an instruction was emitted between this `else_` and its `if_`"
                    if any(isinstance(n, If) for n in self.scope.nodes)
                    else "there is no `if_` in this body"
                )
            )
            raise self._error(
                f"k.else_() must follow its `with k.if_(...)` directly; {why}",
                "with k.if_(p):\n    ...\nwith k.else_():\n    ...",
            )

        def enter() -> Scope:
            node.other = Scope("else_")
            return node.other

        return Block(self, "else_", enter)

    @overload
    def loop(self, stop: Register[T], *, start: Register[T] | int = 0, step: Register[T] | int = 1) -> Block[T]: ...
    @overload
    def loop(self, stop: int, *, start: Register[T], step: Register[T] | int = 1) -> Block[T]: ...
    @overload
    def loop(self, stop: int, *, start: int = 0, step: int = 1) -> Block[u32]: ...
    def loop(self, stop: Any, *unknown: Any, start: Any = 0, step: Any = 1) -> Block[Any]:
        """`with k.loop(n) as j:` a real loop in the PTX. It costs four instructions per round and one before it.

        The type of `j` is that of the registers among the bounds, else u32. `range(a, b)` is `k.loop(b, start=a)`.

        Parameters
        ----------
        stop
            `j` stays below it, or above it where `step` is negative. Only this is given without its name.
        start
            The first `j`.
        step
            A negative one is a number, with a signed type.
        """
        site = self._here
        if unknown:
            raise self._error(
                "k.loop takes one argument without a name: where the loop stops",
                mistakes.as_loop(list(call_at(site).arguments) or ["start", "stop", "step"][: 1 + len(unknown)]),
            )
        cls: type[Any] | None = None
        for what, value in (("stop", stop), ("start", start), ("step", step)):
            if isinstance(value, Register):
                self._usable(value)
                if value.type.kind not in ("signed", "unsigned") or value.type.bits < 32:
                    raise self._error(
                        f"a loop counts integers, {what} {self._shown(value)} is {value.type.ptx}",
                        self._converted(u32, value),
                    )
                if cls is not None and value.type is not cls:
                    raise self._error(
                        f"a loop counts in one type, found {cls.ptx} and {value.type.ptx}", self._converted(cls, value)
                    )
                cls = value.type
            elif not hasattr(value, "__index__"):
                within = value if isinstance(value, tuple) else ()
                if isinstance(value, range):
                    within = (value.start, value.stop, value.step)
                parts = [self._python(v) if isinstance(v, Register) else repr(v) for v in within]
                write = mistakes.as_loop(parts) if parts else ""
                raise self._error(f"a loop counts integers, {what} is {value!r}", write)
        kind: type[Any] = cls or u32
        if not isinstance(step, Register) and step == 0:
            raise self._error("a loop with step 0 never ends")
        down = not isinstance(step, Register) and step < 0
        if down and kind.kind != "signed":
            raise self._error(
                f"counting down needs a signed type, this loop counts in {kind.ptx}: below 0 it would wrap around",
                "k.loop(k.cvt(s32, stop), start=..., step=-1)",
            )
        index: list[Any] = []

        def enter() -> Scope:
            i = self._emit(f"mov.{kind.ptx}", start, result=kind, site=site)
            node = self._new_loop(i.label, site)
            i.scope = node.body
            index.append(i)
            with Inside(self, node.head):
                node.test = self._emit(
                    f"setp.{'le' if down else 'ge'}.{kind.ptx}", i, stop, result=pred, site=site, temporary=True
                )
            self.scope.nodes.append(node)
            self._enter_loop(node)
            return node.body

        def leave() -> None:
            node = self._leave_loop()
            with Inside(self, node.step):
                self._emit(f"add.{kind.ptx}", index[0], step, into=index[0], site=site)

        return Block(self, "loop", enter, leave, lambda: index[0])

    def while_(self, condition: Callable[[], pred]) -> Block[None]:
        """`with k.while_(lambda: lo < hi):` computes the condition before every round and leaves when it is false."""
        site = self._here
        if not callable(condition):
            text = site.text[len("k.while_(") : -1] if site.text.startswith("k.while_(") else "condition"
            raise self._error(
                "a while loop computes its condition before every round, so it takes a function",
                f"with k.while_(lambda: {text}):",
            )

        def enter() -> Scope:
            node = self._new_loop("", site)
            node.leave_if = False
            self.scope.nodes.append(node)
            self._enter_loop(node)
            with Inside(self, node.head):
                test = condition()
                self._predicate(test, "while_", site)
                node.test = test
            return node.body

        return Block(self, "while_", enter, self._leave_loop)

    def wait_for_phase(self, mbarrier: Ptr[Any], phase: Any) -> None:
        """Waits until the phase of an mbarrier with this parity (0 or 1) is over: `mbarrier.try_wait` in a loop."""
        self._unguarded("a wait inside `with k.guard(...)`: a guard applies to single instructions", "with k.if_(p):")
        node = self._new_loop("", self._here)
        self.scope.nodes.append(node)
        with Inside(self, node.head):
            node.test = self._emit(
                "mbarrier.try_wait.parity.shared::cta.b64", mbarrier, phase, result=pred, temporary=True
            )

    def _enter_loop(self, node: Loop) -> None:
        self._loops.append(node)
        self._turns.append([(turn, turn.waits, turn.steps) for turn in self.turns])

    def _leave_loop(self) -> Loop:
        check_loop(self._turns.pop())
        return self._loops.pop()

    def break_if(self, condition: Register[pred]) -> None:
        """Leaves the innermost loop where `condition` holds."""
        self._jump("end", condition, "break_if")

    def continue_if(self, condition: Register[pred]) -> None:
        """Goes on with the next round of the innermost loop where `condition` holds."""
        self._jump("next", condition, "continue_if")

    def _jump(self, where: str, condition: Any, name: str) -> None:
        self._predicate(condition, name)
        if not self._loops:
            raise self._error(f"k.{name} is not inside a loop", "with k.loop(n) as j:")
        self._unguarded(f"k.{name} inside `with k.guard(...)`: an instruction has one guard", f"k.{name}(a & b)")
        node = self._loops[-1]
        node.continued |= where == "next"
        self.scope.nodes.append(Jump(node, where, condition, self._here))

    def guard(self, condition: Register[pred]) -> Block[None]:
        """`with k.guard(p):` puts `@p` before every instruction of the body, instead of branching around it.

        What the body computes is undefined in the threads where `p` does not hold: use it inside, or select.
        """
        self._predicate(condition, "guard")
        self._unguarded("an instruction has one guard; combine the two", "with k.guard(a & b):")
        scope = self.scope

        def enter() -> Scope:
            self.guarded = condition
            return scope

        def leave() -> None:
            self.guarded = None

        return Block(self, "guard", enter, leave)

    def return_if(self, condition: Register[pred]) -> None:
        """`@p ret;`: the threads where `condition` holds are done."""
        self._predicate(condition, "return_if")
        self._unguarded("k.return_if inside `with k.guard(...)`: an instruction has one guard", "k.return_if(a & b)")
        self.guarded = condition
        try:
            self._emit("ret")
        finally:
            self.guarded = None

    def _unguarded(self, what: str, write: str) -> None:
        if self.guarded is not None:
            raise self._error(what, write)

    def _new_loop(self, index: str, site: Site) -> Loop:
        name, n = index or "1", 1
        while name in self._labels:
            n += 1
            name = f"{index}_{n}" if index else str(n)
        self._labels.add(name)
        return Loop(name, site, Scope("loop"), Scope("loop"), Scope("loop"))

    def _predicate(self, condition: Any, name: str, site: Site | None = None) -> None:
        if isinstance(condition, bool):
            raise self._error(
                f"k.{name} got {condition}, which Python knows when the kernel is built; a plain "
                "`if` chooses what is emitted",
                "if ...:",
                site,
            )
        if not isinstance(condition, Register):
            raise self._error(f"k.{name} needs a predicate, found {condition!r}", f"k.{name}(x < y)", site)
        self._usable(condition)
        if condition.type.kind != "pred":
            raise self._error(
                f"k.{name} needs a predicate, {self._shown(condition)} is {condition.type.ptx}",
                f"k.{name}({self._python(condition)} != 0)",
                site,
            )
