"""How emitted code calls rules."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ptxlab.emulate.jit.llvm.ir_text import RuleCall, Text
from ptxlab.emulate.jit.translation.value_kinds import llvm_type, signature
from ptxlab.emulate.language.rules import rule_of

Function = Callable[..., Any]
THERE = "%check.launch", "%check.block", "%check.warp"
"""The first arguments of rules about a warp, in a build with checks."""


@functools.cache
def declaration(function: Function) -> str:
    """The line that declares a rule in a module that calls it."""
    kinds, head = _types(function)
    return f"declare {head}({', '.join(kinds)})"


def call(function: Function, *arguments: str | int) -> RuleCall:
    """The instruction that calls a rule with these IR values and numbers, as in `call(commit, "%ctx", "%ws", 2)`."""
    kinds, head = _types(function)
    given = [value if isinstance(value, str) else int(value) for value in arguments]
    listed = ", ".join([f"{kind} {value}" for kind, value in zip(kinds, given, strict=True)])
    made = RuleCall(f"call {head}({listed})")
    made.declares = declaration(function)
    return made


def address(t: Text, function: Function) -> str:
    t.declared.add(declaration(function))
    return f'@"{rule_of(function).symbol}"'


@functools.cache
def _types(function: Function) -> tuple[list[str], str]:
    """The types of a rule's parameters in LLVM, and that of its result with the rule's name."""
    kinds, result = signature(rule_of(function))
    return [llvm_type(kind) for kind in kinds], f'{llvm_type(result)} @"{rule_of(function).symbol}"'
