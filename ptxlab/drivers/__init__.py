"""The emulator in the place of a GPU's driver: programs written for a GPU run unchanged."""

from __future__ import annotations

from ptxlab.drivers.check_warnings import FindingWarning
from ptxlab.drivers.numba_session import Session, numba
from ptxlab.drivers.triton_session import TritonSession, triton

__all__ = ["FindingWarning", "Session", "TritonSession", "numba", "triton"]
