"""The table of abbreviations in `.debug_abbrev`: the assembler calls exit() where an entry of it makes no sense."""

from __future__ import annotations

import re

FORMS = frozenset(range(1, 0x1A)) - {2}
"""The forms of attributes, DW_FORM_addr and so on (DWARF 4, figure 21)."""


def misread(section: str) -> str:
    """Why the bytes of `.debug_abbrev`, given as PTX writes them, are not a table; empty where they are one.

    An entry is a code, a tag, 0 or 1 for children, and pairs of an attribute and its form up to 0, 0; the table ends in
    the code 0. A table that is cut off is for the assembler to judge.
    """
    numbers = (
        int(word) & 0xFF for row in re.findall(r"\.b8\s+([\d,\s]+)", section) for word in re.findall(r"\d+", row)
    )

    def number() -> int:
        """The next number in LEB128."""
        value = shift = 0
        for byte in numbers:
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
        raise StopIteration

    try:
        while code := number():
            number()
            if (children := next(numbers)) > 1:
                return f"abbreviation {code} says {children} where 0 or 1 tells whether it has children"
            while (attribute := number()) | (form := number()):
                if form not in FORMS:
                    return f"abbreviation {code} gives attribute {attribute} the form {form}, which DWARF does not have"
    except StopIteration:
        pass
    return ""
