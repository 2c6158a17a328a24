"""Writes words.js: the words of PTX that ptx.js tells apart, from the lists that the Python lexer takes.

python frontend/words.py        from the root of the repository; then build the bundle again: make bundle
"""

from __future__ import annotations

import json
from pathlib import Path

from ptxlab.isa.special_registers import NAMES
from ptxlab.lab.lexer import TYPES, UNDOTTED

PATH = Path(__file__).with_name("words.js")


def words() -> str:
    """The text of words.js."""
    lists = {"TYPES": sorted(TYPES), "SPECIAL": NAMES, "UNDOTTED": UNDOTTED}
    head = "// Words of PTX, written by words.py from the lists that ptxlab/lab/lexer.py takes.\n\n"
    return head + "".join(f"export const {name} = {json.dumps(listed)};\n" for name, listed in lists.items())


if __name__ == "__main__":
    PATH.write_text(words(), encoding="utf-8")
