"""Runs the code of an answer's cell as a notebook would, for everything that grades starters and solutions."""

from __future__ import annotations

import importlib
import itertools
import linecache
from typing import Any

from ptxlab.course.exercise import Exercise

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


def setup(exercise: Exercise) -> str:
    """The code that runs before an exercise's cell."""
    module = importlib.import_module(exercise.grade.__module__)
    return SETUP + str(getattr(module, "SETUP", ""))


def run(exercise: Exercise, code: str) -> Any:
    """What a cell with this code binds to the exercise's answer."""
    space: dict[str, Any] = {"__name__": "__main__"}
    for part in (setup(exercise), code):
        name = f"<cell {next(_count)}>"
        linecache.cache[name] = (len(part), None, part.splitlines(keepends=True), name)
        exec(compile(part, name, "exec"), space)
    return space[exercise.answer]
