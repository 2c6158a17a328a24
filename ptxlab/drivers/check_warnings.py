"""What a check noticed in a kernel that a program launched by itself: a Python warning at the program's own line."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ptxlab import errors
from ptxlab.findings import Finding


class FindingWarning(UserWarning):
    """What a check noticed in a kernel of numba or Triton."""


def warn(findings: Iterable[Finding], *between: str) -> None:
    """Warns of each finding at the line that launched the kernel. between: the language's files, whose functions are
    between that line and this one."""
    for finding in findings:
        errors.warn(finding.headed(), FindingWarning, *(str(Path(file).parent) for file in between))
