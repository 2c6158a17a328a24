"""A request to the explorer: one setting of all controls, and what of it a kernel and a result depend on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ptxlab.errors import TargetError
from ptxlab.lab.subject import DEVICES, Subject


@dataclass(frozen=True)
class Request:
    """One setting of all controls. `values` are the subject's parameters as (name, value) pairs, `row` the row of the
    whole problem whose softmax is plotted (-1: the last one), `head` the (batch, head) that is shown, `sass`: whether
    machine code is wanted."""

    subject: Subject
    values: tuple[tuple[str, Any], ...] = ()
    device: str = "auto"
    row: int = -1
    head: tuple[int, int] = (0, 0)
    sass: bool = False

    @property
    def given(self) -> dict[str, Any]:
        """The parameters by name."""
        return dict(self.values)

    @property
    def work(self) -> float | None:
        """The multiplications of a run, in those of a prefill kernel that take as long; None where nobody can say."""
        size = self.subject.size(self.given)
        return None if size is None else size * self.subject.costs

    @property
    def version_key(self) -> tuple[Any, ...]:
        """What the PTX depends on: the subject and the parameters that change it."""
        names = {p.name for p in self.subject.building} | {"splits"}
        return self.subject, tuple(pair for pair in self.values if pair[0] in names)

    @property
    def result_key(self) -> Request:
        """The request without what only chooses a view of the result."""
        return replace(self, row=-1, head=(0, 0), sass=False)

    def check(self) -> None:
        """`TargetError` or `LaunchError` names the first parameter of the problem that is out of its range."""
        self.subject.check(self.given)
        if self.device not in DEVICES:
            raise TargetError(f"{self.subject.name}: device must be one of {', '.join(DEVICES)}, not {self.device!r}")


def request(
    subject: Subject | str,
    *,
    device: str = "auto",
    row: int = -1,
    head: tuple[int, int] = (0, 0),
    sass: bool = False,
    **values: Any,
) -> Request:
    """A request with the defaults of a subject, or of a kernel of the library by name, and these values instead."""
    from ptxlab.lab.library_subjects import named

    chosen = named(subject) if isinstance(subject, str) else subject
    known = {p.name: p.default for p in chosen.parameters}
    for name in values:
        if name not in known:
            raise TargetError(f"{chosen.name} has no parameter {name!r}; it has {', '.join(known)}")
    return Request(chosen, tuple({**chosen.kept, **known, **values}.items()), device, row, head, sass)
