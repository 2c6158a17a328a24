"""`replaced`: attributes of another package's modules, replaced for a while."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

_ABSENT = object()


@contextlib.contextmanager
def replaced(changes: Sequence[tuple[Any, str, Any]]) -> Iterator[None]:
    """While entered, each (place, name, value) is set as an attribute; then it is as it was."""
    before = [(place, name, place.__dict__.get(name, _ABSENT)) for place, name, _ in changes]
    try:
        for place, name, value in changes:
            setattr(place, name, value)
        yield
    finally:
        for place, name, value in before:
            if value is _ABSENT:
                delattr(place, name)
            else:
                setattr(place, name, value)
