"""CUDA C++ programs (`tests/cuda/programs/<name>.cu`) with their inputs, launches and numpy results.

A program is a function of its name. It is handed `launch(entry, grid, block, *arguments)`, which runs a kernel of the
file on some engine and changes the arrays in place, and compares what comes back with numpy.
"""

from __future__ import annotations

from cuda_cases import algebra, functions, grids, language, library, sorting, threads, words
from cuda_cases.table import NEEDS, PROGRAMS

__all__ = ["NEEDS", "PROGRAMS", "algebra", "functions", "grids", "language", "library", "sorting", "threads", "words"]
