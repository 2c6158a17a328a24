"""A passage of a library kernel's source, for a notebook to show."""

from __future__ import annotations

from itertools import takewhile

from ptxlab import kernels


def passage(kernel: str, first: str, behind: str | None = None) -> str:
    """The lines of a kernel of the library from the one that begins with `first` to before the one that begins with
    `behind`, or to the end of the block that it stands in, without their common indentation.

    Raises `UnknownKernel` for a name that no kernel has, `ValueError` where no line begins with `first`.
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
