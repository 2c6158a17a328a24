"""One corpus of small PTX programs with known results, for every engine of the emulator."""

from __future__ import annotations

from engine_case import Case
from engine_flow import FLOW
from engine_lanes import LANES
from engine_memory import MEMORY

CASES: dict[str, Case] = {**FLOW, **MEMORY, **LANES}
