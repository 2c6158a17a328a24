"""What an instruction is: one table entry for each form, read by the parser, the builder, the docs and both engines."""

from __future__ import annotations

from ptxlab.isa import (
    arithmetic,
    compare,
    convert,
    flow,
    floating,
    lanes,
    logic,
    matrix,
    memory,
)
from ptxlab.isa.table import TABLE, Form, FormError, Op, all_ops, form

__all__ = ["TABLE", "Form", "FormError", "Op", "all_ops", "form"]
