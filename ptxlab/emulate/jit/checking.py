"""The checks in compiled code: what is emitted around accesses, barriers and `.sync` instructions."""

from __future__ import annotations

from ptxlab.emulate.program import Program


def checking(checks: frozenset[str]) -> type:
    return type("Checking", (), {})


def check_helpers(program: Program, checks: frozenset[str]) -> str:
    return """
define internal void @check.started(ptr %ctx, ptr %cta) {
 ret void }
define internal void @check.opened(ptr %ctx, ptr %cta, ptr %states, i64 %n, i64 %b, i32 %came, i32 %alive) {
 ret void }
"""
