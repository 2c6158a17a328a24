"""A passage of a library kernel's source, for a notebook to show."""

from __future__ import annotations

from itertools import takewhile

from ptxlab import kernels


def passage(kernel: str, first: str, behind: str | None = None) -> str:
    """Lines of a kernel of the library, without their common indentation.

    Parameters
    ----------
    kernel
        Its name; `UnknownKernel` lists the names.
    first
        With what the first line begins; `ValueError` where none does.
    behind
        With what the line after the last begins; by default the block ends that the first line stands in.
    """
    lines = kernels.get(kernel).source.splitlines()
    found = [n for n, line in enumerate(lines) if line.lstrip().startswith(first)]
    if not found:
        raise ValueError(f"no line of {kernel} begins with {first!r}")
    start = lines[found[0]]
    margin = start[: len(start) - len(start.lstrip())]

    def goes_on(line: str) -> bool:
        return (not line or line.startswith(margin)) and not (behind and line.lstrip().startswith(behind))

    block = [start, *takewhile(goes_on, lines[found[0] + 1 :])]
    return "\n".join(line.removeprefix(margin) for line in block).rstrip()
