"""Rules compiled for this machine, called from Python: what a test compares with the same rules run as Python."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ptxlab.emulate.jit.building.rule_objects import object_code
from ptxlab.emulate.jit.llvm.ir_text import Text
from ptxlab.emulate.jit.native import code as native
from ptxlab.emulate.jit.translation.rule_calls import Function, call
from ptxlab.emulate.jit.translation.translator import module_of
from ptxlab.emulate.jit.translation.value_kinds import llvm_type, signature
from ptxlab.emulate.language.records import Record, address_of, zeroed
from ptxlab.emulate.language.rules import rule_of
from ptxlab.emulate.language.types import Pointer, Scalar, Vector

SLOT = 256
"""Bytes of an argument or result in the block of a function that is called from Python."""


class Compiled:
    """Rules compiled for this machine, to be called from Python: `Compiled([ordered])(ordered, block, record, me)`."""

    def __init__(self, functions: Sequence[Function], known: Mapping[str, int] | None = None) -> None:
        self.text, cpu = module_of(functions, known or {}), native.host()
        self.code = native.Code([object_code(self.text, cpu), object_code(_entries(functions), cpu)], cpu)

    def __call__(self, function: Function, *arguments: Any) -> Any:
        """What a rule gives; numbers, lanes, pointers and records go in and come out as in Python."""
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


def _entries(functions: Sequence[Function]) -> str:
    """A module of functions by which Python calls rules: each takes a pointer to slots for arguments and results."""
    declared, defined = set[str](), list[str]()
    for function in functions:
        kinds, result = signature(rule_of(function))
        t = Text()
        given = [_unpacked(t, kind, t.offset("%slots", SLOT * k)) for k, kind in enumerate(kinds)]
        calling = call(function, *given)
        if result is None:
            t.do(calling)
        else:
            found = t.let(calling)
            several = isinstance(result, tuple)
            for k, kind in enumerate(result if several else (result,)):
                one = t.extract_value(llvm_type(result), found, k) if several else found
                t.store(_slot_type(kind), _packed(t, kind, one), t.offset("%slots", SLOT * (len(kinds) + k)), align=8)
        t.ret()
        declared |= t.declared
        defined.append(t.function(f'void @"call.{rule_of(function).symbol}"(ptr %slots)', "nounwind", ""))
    return "\n".join([*declared, *defined])


def _slot_type(kind: Any) -> str:
    """The LLVM type of a value in its slot, where truth values are bits or a byte."""
    if isinstance(kind, Vector) and kind.element.bits == 1:
        return f"i{kind.width}"
    return "i8" if llvm_type(kind) == "i1" else llvm_type(kind)


def _unpacked(t: Text, kind: Any, slot: str) -> str:
    """An argument from its slot."""
    held, wanted = t.load(_slot_type(kind), slot, align=8), llvm_type(kind)
    if wanted == _slot_type(kind):
        return held
    return t.convert("trunc" if wanted == "i1" else "bitcast", _slot_type(kind), held, wanted)


def _packed(t: Text, kind: Any, value: str) -> str:
    """A result as its slot holds it."""
    if llvm_type(kind) == _slot_type(kind):
        return value
    return t.convert("zext" if llvm_type(kind) == "i1" else "bitcast", llvm_type(kind), value, _slot_type(kind))


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
