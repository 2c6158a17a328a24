"""What an error in a text of PTX looks like, from its parts: tests assert whole messages without drawing each caret."""

from __future__ import annotations


def message(text: str, at: str, says: str, write: str = "", syntax: str = "", file: str = "k.ptx") -> str:
    """The whole message. at: `line:column+length` of what is marked in the text."""
    place, _, length = at.partition("+")
    line, column = map(int, place.split(":"))
    shown = [f"{file}:{place}: {says}", f"    {text.splitlines()[line - 1]}".replace("\t", " ")]
    shown.append(" " * (3 + column) + "^" + "~" * (int(length or 1) - 1))
    shown += [f"  syntax: {syntax}"] * bool(syntax) + [f"  write:  {write}"] * bool(write)
    return "\n".join(shown)
