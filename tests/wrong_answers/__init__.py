"""Typical wrong answers, a module for one notebook or several: `WRONG`, exercise -> ((code, phrase of the feedback), ...)."""

from __future__ import annotations

from ptxlab.course.feedback import find


def but(name: str, *changes: tuple[str, str]) -> str:
    """The solution of an exercise with mistakes in it: (what it has, what stands there instead)."""
    code = find(name).solution
    for old, new in changes:
        assert old in code, (name, old)
        code = code.replace(old, new)
    return code
