"""Answers to exercises as tests need them: code run as a notebook would run it, and known wrong answers."""

from __future__ import annotations

import importlib
import pkgutil

import wrong_answers

from ptxlab.course.cells import SETUP, run, setup

__all__ = ["SETUP", "run", "setup", "wrong"]


def wrong() -> dict[str, tuple[tuple[str, str], ...]]:
    """Exercise -> its typical wrong answers, each with a phrase of the feedback that it is to get."""
    found: dict[str, tuple[tuple[str, str], ...]] = {}
    for module in sorted(m.name for m in pkgutil.iter_modules(wrong_answers.__path__)):
        found |= importlib.import_module(f"wrong_answers.{module}").WRONG
    return found
