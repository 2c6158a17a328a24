"""Compiled rules: their object code, built once and cached on disk, and how emitted code and Python call them.

Rules are loaded beside a program's code, as object files of their own, and like it they come in two qualities. QUICK
code is built when a rule is first needed, and takes milliseconds; GOOD code has all of LLVM's passes behind it, takes
ten times as long, and replaces the other when a program has run for a while.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from ptxlab.emulate.jit import compile as native
from ptxlab.emulate.jit import llvm_thread
from ptxlab.emulate.jit.compile import Cpu
from ptxlab.emulate.jit.llvm_thread import uninterrupted
from ptxlab.emulate.jit.translation.kinds import llvm_type
from ptxlab.emulate.jit.translator import SLOT, Translator, signature
from ptxlab.emulate.language.records import Record, address_of, zeroed
from ptxlab.emulate.language.rules import rule_of
from ptxlab.emulate.language.types import Pointer, Scalar, Vector
from ptxlab.text.collection import resting

Function = Callable[..., Any]


def declaration(function: Function) -> str:
    """The line that declares a rule in a module that calls it."""
    kinds, result = signature(rule_of(function))
    listed = ", ".join(str(llvm_type(kind)) for kind in kinds)
    return f'declare {llvm_type(result)} @"{rule_of(function).symbol}"({listed})'


def call(function: Function, *arguments: str) -> str:
    """The instruction that calls a rule with these IR values, as in `call(fence, "%ctx", "%cta", "%ws")`."""
    kinds, result = signature(rule_of(function))
    listed = ", ".join(f"{llvm_type(kind)} {value}" for kind, value in zip(kinds, arguments, strict=True))
    return f'call {llvm_type(result)} @"{rule_of(function).symbol}"({listed})'


def module_of(functions: Sequence[Function], known: Mapping[str, int], *, entries: bool = False) -> str:
    """The LLVM module of some rules. entries: with functions by which Python can call them."""
    translator = Translator(known)
    translator.add(functions)
    if entries:
        for function in functions:
            translator.entry(function)
    return str(translator.module)


QUICK, GOOD = 0, 1
"""How hard the compiler tries."""


@uninterrupted
def build(text: str, cpu: Cpu, quality: int = GOOD) -> bytes:
    """Object code of a module. GOOD: all of LLVM's passes. QUICK: locals become registers, and nothing else is done."""
    level = 2 if quality == GOOD else 0
    context, machine = llvm.create_context(), native.machine_for(cpu, level)
    module = llvm.parse_assembly(text, context=context)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    passes = llvm.create_pass_builder(machine, options)
    if quality == GOOD:
        manager = passes.getModulePassManager()
    else:
        manager = llvm.create_new_module_pass_manager()
        manager.add_sroa_pass()
        manager.add_simplify_cfg_pass()
    manager.run(module, passes)
    blob = bytes(machine.emit_object(module))
    for part in (manager, passes, options, module, machine, context):
        part.close()
    return blob


@dataclass(frozen=True)
class Part:
    """Rules that are built together: what other code may call, and what is known of it."""

    functions: tuple[Function, ...]
    known: tuple[tuple[str, int], ...]
    cpu: Cpu

    def entry(self, quality: int) -> str:
        """The name of its cache entry."""
        symbols = ",".join(rule_of(function).symbol for function in self.functions)
        return "rules-" + native.key(symbols, "", "", self.cpu, f"rules {self.known} {quality}")


_built: OrderedDict[tuple[Part, int], bytes] = OrderedDict()
_lock = threading.Lock()
KEPT = 128
"""Object codes that a process holds; those used longest ago go first."""


def object_codes(parts: Sequence[Part], quality: int = QUICK) -> tuple[list[bytes], int]:
    """Object codes of parts, each of this quality or better, built if there is none; and the lowest quality of all."""
    found = [_best(part, quality) for part in parts]
    with resting():  # all of them, while LLVM builds what it was given before
        texts = {
            part: module_of(part.functions, dict(part.known))
            for part, (blob, _) in zip(parts, found, strict=True)
            if blob is None
        }
    builds = {part: llvm_thread.begin(build, text, part.cpu, quality) for part, text in texts.items()}
    made = {part: _keep(part, quality, result()) for part, result in builds.items()}
    native.remember_all({part.entry(quality): ({}, blob) for part, blob in made.items()})
    codes = [made[part] if blob is None else blob for part, (blob, _) in zip(parts, found, strict=True)]
    return codes, min((has for _, has in found), default=GOOD)


def _best(part: Part, quality: int) -> tuple[bytes | None, int]:
    """Object code of this quality or better that there is already, and the quality that it has or will have."""
    good = _find(part, GOOD)
    return (good, GOOD) if good is not None or quality == GOOD else (_find(part, quality), quality)


def _find(part: Part, quality: int) -> bytes | None:
    """Object code that this process holds, or that is on disk."""
    with _lock:
        held = _built.get((part, quality))
        if held is not None:
            _built.move_to_end((part, quality))
            return held
    recalled = native.recall(part.entry(quality))
    return None if recalled is None else _keep(part, quality, recalled[1])


def _keep(part: Part, quality: int, blob: bytes) -> bytes:
    with _lock:
        _built[part, quality] = blob
        while len(_built) > KEPT:
            _built.popitem(last=False)
    return blob


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
