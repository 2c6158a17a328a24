"""A campaign as the repository keeps it, in the folder of its card: campaign.json with a row to a line."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

NOTES = 20
"""Notes of a part that are kept: one that halves a kernel until it finds what stops it has hundreds."""
DIGITS = 6
"""Digits of a number that say something."""
NONE = "none: "
"""How the README's row of measured cards begins before there is one."""


def folder_of(card: str) -> str:
    """The name of a card's folder."""
    return re.sub(r"[^a-z0-9]+", "-", card.lower()).strip("-")


def compact(found: Mapping[str, Any]) -> str:
    """The text of campaign.json, so that it stays small and a new run is a readable diff. Left out are what the rows
    say already (`wrong`), rows by which an unfinished part finds where to go on, notes behind the first ones, and
    digits that say nothing."""
    parts = [f"  {_json(name)}: {_json(end)}" for name, end in found["parts"].items()]
    records = []
    for name, record in found["records"].items():
        rows = [f"    {_json(row)}" for row in record["rows"] if not row.keys() <= {"finished", "verdict"}]
        notes = record.get("notes", [])
        more = len(notes) - NOTES
        about = {key: value for key, value in record.items() if key not in ("rows", "notes", "wrong")}
        about["notes"] = [*notes[:NOTES], *([f"and {more} more"] if more > 0 else [])]
        body = ",\n".join(rows)
        records.append(f'  {_json(name)}: {_json(about)[:-1]}, "rows": [\n{body}\n  ]}}')
    head = [f" {_json(name)}: {_json(found[name])}" for name in found if name not in ("parts", "records")]
    both = [f' "{name}": {{\n{text}\n }}' for name, text in (("parts", _lines(parts)), ("records", _lines(records)))]
    return "{\n" + _lines([*head, *both]) + "\n}\n"


def _lines(items: list[str]) -> str:
    return ",\n".join(items)


def _json(value: Any) -> str:
    return json.dumps(_rounded(value), allow_nan=True)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, Mapping):
        return {name: _rounded(one) for name, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, list) else value


def name_in(readme: Path, card: str, folder: str) -> bool:
    """Names a card in the README's row of measured cards, with its table; False where it is named already."""
    text = readme.read_text(encoding="utf-8")
    link = f"[{card}]({folder}/table.md)"
    row = re.search(r"^\| cards measured so far .*?\| (?P<cell>[^|\n]+) \|$", text, re.MULTILINE)
    if row is None:
        raise ValueError(f"{readme.name} has no row of cards measured so far: name {link} in it")
    cell = row["cell"]
    if link in cell:
        return False
    named = f"{link}; {cell.removeprefix(NONE)}" if cell.startswith(NONE) else f"{link}, {cell}"
    at = row.span("cell")
    readme.write_text(text[: at[0]] + named + text[at[1] :], encoding="utf-8")
    return True
