"""Rules compiled for this machine, called from Python: what a test compares with the same rules run as Python."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ptxlab.emulate.jit.building.rule_objects import build
from ptxlab.emulate.jit.native import code as native
from ptxlab.emulate.jit.translation.rule_calls import Function
from ptxlab.emulate.jit.translation.translator import SLOT, module_of
from ptxlab.emulate.jit.translation.value_kinds import signature
from ptxlab.emulate.language.records import Record, address_of, zeroed
from ptxlab.emulate.language.rules import rule_of
from ptxlab.emulate.language.types import Pointer, Scalar, Vector


class Compiled:
    """Rules compiled for this machine, to be called from Python: `Compiled([ordered])(ordered, block, record, me)`."""

    def __init__(self, functions: Sequence[Function], known: Mapping[str, int] | None = None) -> None:
        self.text = module_of(functions, known or {}, entries=True)
        self.code = native.load([build(self.text, native.host())], native.host())

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
