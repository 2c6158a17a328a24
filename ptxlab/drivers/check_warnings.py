"""What a check noticed in a kernel that a program launched by itself: a Python warning at the program's own line."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from pathlib import Path

from ptxlab.findings import Finding


class FindingWarning(UserWarning):
    """What a check noticed in a kernel of numba or Triton."""


def warn(findings: Iterable[Finding], *between: str) -> None:
    """Warns of each finding at the line that launched the kernel. between: the language's files, whose functions stand
    between that line and this one."""
    passed = (str(Path(__file__).parents[1]), *(str(Path(file).parent) for file in between))
    for finding in findings:
        level, frame = 1, sys._getframe()
        while frame.f_back is not None and frame.f_code.co_filename.startswith(passed):
            level, frame = level + 1, frame.f_back
        warnings.warn(str(finding), FindingWarning, stacklevel=level)
