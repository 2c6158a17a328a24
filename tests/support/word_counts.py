"""How much a student reads in a notebook's source before there is something to do."""

from __future__ import annotations

import re
from pathlib import Path

TASK = "**Your turn"


def words_in(source: Path) -> tuple[int, int]:
    """(words before the first task, words in all): a task is an exercise, or a paragraph that begins with `TASK`."""
    words, before = 0, None
    parts = re.split(r"^# %%(.*)$", source.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for kind, body in zip(parts[1::2], parts[2::2], strict=True):
        if before is None and ("[exercise]" in kind or TASK in body):
            before = words + _words(body.partition(TASK)[0])
        words += _words(body) * ("[markdown]" in kind)
    return (words if before is None else before), words


def _words(text: str) -> int:
    return len(re.findall(r"[^\W_]+", re.sub(r"\(http[^)]*\)", "", text)))
