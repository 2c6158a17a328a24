"""Rules as LLVM: their modules, and how emitted code and Python call them. `rule_objects` builds and keeps them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ptxlab.emulate.jit.native import compile as native
from ptxlab.emulate.jit.translation.kinds import llvm_type
from ptxlab.emulate.jit.translation.rule_objects import build
from ptxlab.emulate.jit.translation.translator import SLOT, Translator, signature
from ptxlab.emulate.language.records import Record, address_of, zeroed
from ptxlab.emulate.language.rules import rule_of
from ptxlab.emulate.language.types import Pointer, Scalar, Vector
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


def module_of(
    functions: Sequence[Function],
    known: Mapping[str, int],
    *,
    entries: bool = False,
    elsewhere: Sequence[Function] = (),
) -> str:
    """The LLVM module of some rules. entries: with functions by which Python can call them. elsewhere: rules that are
    called in another module."""
    translator = Translator(known, {rule_of(function) for function in elsewhere})
    translator.add(functions)
    if entries:
        for function in functions:
            translator.entry(function)
    return translator.text


class Compiled:
    """Rules compiled for this machine, to be called from Python: `Compiled([ordered])(ordered, block, record, me)`."""

    def __init__(self, functions: Sequence[Function], known: Mapping[str, int] | None = None) -> None:
        self.text = module_of(functions, known or {}, entries=True)
        self.code = native.load([build(self.text, native.host())], native.host())

    def __call__(self, function: Function, *arguments: Any) -> Any:
        """What a rule gives; numbers, lanes, pointers and records go in and come out as in Python."""
        import ctypes

        kinds, result = signature(rule_of(function))
        results = result if isinstance(result, tuple) else () if result is None else (result,)
        room = zeroed(SLOT * (len(kinds) + len(results) + 1))
        for k, (kind, given) in enumerate(zip(kinds, arguments, strict=True)):
            octets = _octets(kind, given)
            room[SLOT * k : SLOT * k + octets.size] = octets
        run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.code.address(f"call.{rule_of(function).symbol}"))
        run(room.ctypes.data)
        found = [_read(kind, room[SLOT * (len(kinds) + k) :]) for k, kind in enumerate(results)]
        return tuple(found) if isinstance(result, tuple) else found[0] if found else None


def _octets(kind: Any, given: Any) -> np.ndarray:
    """The bytes of an argument."""
    if isinstance(kind, Vector):
        if kind.element.bits == 1:
            return np.packbits(given, bitorder="little")
        return np.ascontiguousarray(given, kind.element.dtype).view(np.uint8)
    if isinstance(kind, Scalar):
        return np.array([given]).astype(kind.dtype).view(np.uint8)
    assert given is None or isinstance(given, Record | Pointer)
    return np.array([0 if given is None else address_of(given)], np.uint64).view(np.uint8)


def _read(kind: Any, octets: np.ndarray) -> Any:
    """A result."""
    if isinstance(kind, Vector):
        if kind.element.bits == 1:
            return np.unpackbits(octets[: kind.width // 8], bitorder="little").view(np.bool_)
        return octets[: kind.width * kind.element.size].view(kind.element.dtype).copy()
    if isinstance(kind, Scalar):
        return octets[: kind.size].view(kind.dtype)[0].item()
    return int(octets[:8].view(np.uint64)[0])
