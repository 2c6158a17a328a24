"""The CPU machine in the place of a GPU's driver: programs written for a GPU run as they stand."""

from __future__ import annotations

from ptxlab.drivers.numba_session import FindingWarning, Session, numba

__all__ = ["FindingWarning", "Session", "numba"]
