"""Answers to exercises as tests need them: code run as a notebook would run it, and known wrong answers."""

from __future__ import annotations

import importlib
import itertools
import linecache
import pkgutil
from typing import Any

import wrong_answers

SETUP = """
import math
import numpy as np
import ptxlab as pl
from ptxlab import reference
from ptxlab.builder import *
from ptxlab.builder import Builder, Ptr, kernel
from ptxlab.course import check
LOG2E, LN2 = math.log2(math.e), math.log(2)
"""
"""What every notebook has before its exercises; a module of exercises may have more in its own `SETUP`."""
_count = itertools.count(1)


def setup(exercise: Any) -> str:
    """The code that runs before an exercise's cell."""
    module = importlib.import_module(exercise.grade.__module__)
    return SETUP + getattr(module, "SETUP", "")


def run(exercise: Any, code: str) -> Any:
    """What a cell with this code binds to the exercise's answer."""
    space: dict[str, Any] = {"__name__": "__main__"}
    for part in (setup(exercise), code):
        name = f"<cell {next(_count)}>"
        linecache.cache[name] = (len(part), None, part.splitlines(keepends=True), name)
        exec(compile(part, name, "exec"), space)
    return space[exercise.answer]


def wrong() -> dict[str, tuple[tuple[str, str], ...]]:
    """Exercise -> its typical wrong answers, each with a phrase of the feedback that it is to get."""
    found: dict[str, tuple[tuple[str, str], ...]] = {}
    for module in sorted(m.name for m in pkgutil.iter_modules(wrong_answers.__path__)):
        found |= importlib.import_module(f"wrong_answers.{module}").WRONG
    return found
