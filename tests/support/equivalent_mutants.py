"""Variants of solutions that are no mistakes: exercise -> what changed -> why the grader must not mind."""

from __future__ import annotations

EQUIVALENT: dict[str, dict[str, str]] = {}
