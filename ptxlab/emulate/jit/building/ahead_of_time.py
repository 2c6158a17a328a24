"""Rules that are built before any program needs them."""

from __future__ import annotations

from ptxlab.emulate.jit.building.linked_rules import usual_parts
from ptxlab.emulate.jit.building.rule_objects import GOOD, object_codes
from ptxlab.emulate.jit.native.code import Cpu


def build_ahead(cpu: Cpu) -> None:
    """Builds the rules that nearly all launches link, so that processes forked from this one find them built."""
    object_codes(usual_parts(cpu), GOOD)
