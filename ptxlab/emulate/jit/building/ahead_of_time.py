"""Rules that are built, or translated to LLVM text, before any program needs them.

`python -m ptxlab.emulate.jit.building.ahead_of_time` writes the text that is committed: see `translated_rules`.
"""

from __future__ import annotations

from ptxlab.emulate.jit.building import translated_rules
from ptxlab.emulate.jit.building.linked_rules import translated_ahead, usual_parts
from ptxlab.emulate.jit.building.rule_objects import GOOD, object_codes, translated
from ptxlab.emulate.jit.native.code import Cpu


def build_ahead(cpu: Cpu) -> None:
    """Builds the rules that nearly all launches link, so that processes forked from this one find them built."""
    object_codes(usual_parts(cpu), GOOD)


if __name__ == "__main__":
    for part in translated_ahead(Cpu("", "")):
        translated_rules.write(part, translated(part))
