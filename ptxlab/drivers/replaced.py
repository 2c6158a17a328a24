"""`replaced`: attributes of another package's objects, replaced for the time of a `with`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

_ABSENT = object()


@contextlib.contextmanager
def replaced(changes: Iterable[tuple[Any, str, Any]]) -> Iterator[None]:
    """Sets attributes, each an (owner, name, value), and puts back what was there. An attribute that the owner did not
    have itself, such as an inherited method, is removed again."""
    before: list[tuple[Any, str, Any]] = []
    try:
        for owner, name, value in changes:
            before.append((owner, name, owner.__dict__.get(name, _ABSENT)))
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in reversed(before):
            if value is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, value)
