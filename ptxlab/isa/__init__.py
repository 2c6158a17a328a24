"""What an instruction is: one table entry for each form, read by the parser, the builder, the docs and both engines."""

from __future__ import annotations

from ptxlab.isa import (
    arithmetic,
    bulk_copies,
    compare,
    convert,
    floating,
    flow,
    fp8,
    lanes,
    logic,
    matrix,
    memory,
    multimem,
    texture,
    video,
    warpgroup,
)
from ptxlab.isa.actions import Action, AsyncGroup
from ptxlab.isa.entries import Op
from ptxlab.isa.matching import find_form, form, known_form
from ptxlab.isa.opcodes import action_of, writes_first
from ptxlab.isa.properties import Properties
from ptxlab.isa.special_registers import SPECIAL
from ptxlab.isa.table import TABLE, Form, FormError, all_ops

MODULES = (
    arithmetic,
    floating,
    compare,
    logic,
    convert,
    fp8,
    memory,
    multimem,
    lanes,
    flow,
    matrix,
    bulk_copies,
    warpgroup,
    texture,
    video,
)
"""The modules that fill the table; importing this package fills it whole."""

__all__ = [
    "MODULES", "SPECIAL", "TABLE", "Action", "AsyncGroup", "Form", "FormError", "Op", "Properties", "action_of",
    "all_ops", "find_form", "form", "known_form", "writes_first",
]  # fmt: skip
