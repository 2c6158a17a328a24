"""How emitted code calls rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptxlab.emulate.jit.translation.value_kinds import llvm_type, signature
from ptxlab.emulate.language.rules import rule_of
from ptxlab.emulate.rules.accesses import IN_ONE_ALLOCATION

Function = Callable[..., Any]
THERE = "%check.launch", "%check.block", "%check.warp"
"""The first arguments of rules about a warp, in a build with checks."""
ANYWHERE = str(IN_ONE_ALLOCATION)
"""The pattern of addresses of which nothing else is known."""


def declaration(function: Function) -> str:
    """The line that declares a rule in a module that calls it."""
    kinds, result = signature(rule_of(function))
    listed = ", ".join(llvm_type(kind).text for kind in kinds)
    return f'declare {llvm_type(result).text} @"{rule_of(function).symbol}"({listed})'


def call(function: Function, *arguments: str) -> str:
    """The instruction that calls a rule with these IR values, as in `call(fence, "%ctx", "%cta", "%ws")`."""
    kinds, result = signature(rule_of(function))
    listed = ", ".join(f"{llvm_type(kind).text} {value}" for kind, value in zip(kinds, arguments, strict=True))
    return f'call {llvm_type(result).text} @"{rule_of(function).symbol}"({listed})'
