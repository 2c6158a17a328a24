"""What `with k.if_(p):` and its like enter: where the body's instructions go, and which names may not be bound anew."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Generic, NoReturn, TypeVar

from ptxlab.builder import mistakes
from ptxlab.builder.emit import Emitter
from ptxlab.builder.registers import Register, Scope, Var
from ptxlab.builder.source import Site
from ptxlab.errors import BuildError, Span

T = TypeVar("T")


class Inside:
    """Sends what is emitted to another scope, for the instructions a loop adds by itself."""

    def __init__(self, k: Emitter, scope: Scope) -> None:
        self.k, self.scope = k, scope

    def __enter__(self) -> None:
        self.outer, self.k.scope = self.k.scope, self.scope

    def __exit__(self, *_: object) -> None:
        self.k.scope = self.outer


class Block(Generic[T]):
    """What `k.if_`, `k.loop`, ... return: it must be entered by `with`, and watches for rebound variables."""

    def __init__(
        self,
        k: Emitter,
        what: str,
        enter: Callable[[], Scope],
        leave: Callable[[], object] | None = None,
        value: Callable[[], Any] | None = None,
    ) -> None:
        self.k, self.what, self.site = k, what, k._here
        self._enter, self._leave, self._value = enter, leave, value
        if k._with is not None:
            raise k._with.not_entered()
        if what != "guard" and k.guarded is not None:
            raise k._error(
                f"k.{what} inside `with k.guard(...)`: a guard applies to single instructions",
                "with k.if_(p):",
            )
        k._with = self

    def __enter__(self) -> T:
        k = self.k
        k._with = None
        k.source.here(sys._getframe(1))
        self._frame = k._frame
        self._outer = k.scope
        self._held = _held(self._frame, k)
        self._before = len(k.registers)
        self._scope = self._enter()
        k.scope = self._scope
        value: Any = self._value() if self._value else None
        entered: T = value
        return entered

    def __iter__(self) -> NoReturn:
        self.k._with = None
        write = f"with {self.site.text}{' as i' if self.what == 'loop' else ''}:"
        what = f"k.{self.what} is not a Python loop: the threads execute its body"
        raise mistakes.type_error(self.site, what, write)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        k = self.k
        k.scope = self._outer
        if kind is not None:
            k.guarded = None
            return
        if k._with is not None:
            raise k._with.not_entered()
        self._not_rebound()
        if self._scope is not self._outer:
            self._scope.open = False
        if self._leave:
            self._scope.open = True
            self._leave()
            self._scope.open = self._scope is self._outer

    def not_entered(self) -> BuildError:
        """The error of `k.if_(p)` without `with`."""
        return mistakes.error(self.site, f"k.{self.what}(...) does nothing without `with`", f"with {self.site.text}:")

    def __bool__(self) -> NoReturn:
        self.k._with = None
        raise mistakes.type_error(
            self.site,
            f"`if k.{self.what}(...):` would be evaluated when the kernel is built",
            f"with {self.site.text}:",
        )

    def _not_rebound(self) -> None:
        """A name that held a variable before the body must hold it after: the next round reads the old register."""
        local = self._frame.f_locals
        for name, (held, elements) in self._held.items():
            now = local.get(name)
            changed = None
            if elements is None:
                inside = isinstance(now, Var) and any(r is now for r in self.k.registers[self._before :])
                if now is not held and now is not None and not inside:
                    changed = held
            elif now is held:
                changed = next((old for old, new in zip(elements, now, strict=False) if old is not new), None)
            found = self._assigned(name, elements is not None) if changed is not None else None
            if changed is not None and found is not None:
                raise self._rebound(changed.hint or name, changed, found)

    def _assigned(self, name: str, element: bool) -> tuple[ast.expr, ast.expr] | None:
        """The assignment to `name` (or to its elements) in this body, if there is one."""
        facts = self.k.source.facts(self._frame.f_code.co_filename)
        span = self.site.span
        last = facts.ends.get((span.line, span.column, span.end_line, span.end_column), 0)
        found = [
            a for a in (facts.stored if element else facts.assigned).get(name, []) if span.line < a[0].lineno <= last
        ]
        return min(found, key=lambda a: a[0].lineno) if found else None

    def _rebound(self, name: str, var: Register[Any], found: tuple[ast.expr, ast.expr]) -> BuildError:
        target, value = found
        span = Span(
            self._frame.f_code.co_filename,
            target.lineno,
            target.col_offset,
            value.end_lineno or target.lineno,
            value.end_col_offset or target.col_offset,
        )
        return mistakes.error(
            Site(span),
            f"inside `with k.{self.what}(...)` the Python name `{name}` was bound to something else; the "
            f"variable {self.k._shown(var)} keeps its old value",
            f"{ast.unparse(target)}.set({ast.unparse(value)})",
        )


def _held(frame: FrameType, k: Emitter) -> dict[str, tuple[Any, list[Any] | None]]:
    """The locals that hold variables, or lists of them."""
    out: dict[str, tuple[Any, list[Any] | None]] = {}
    for name, value in frame.f_locals.items():
        if isinstance(value, Var):
            if value.k is k and value.scope.open:
                out[name] = (value, None)
        elif type(value) is list and value and isinstance(value[0], Var):
            out[name] = (value, list(value))
    return out
