"""Object code of rules: built once, held by the process and cached on disk.

Rules are loaded beside a program's code, as object files of their own, and like it they come in two tiers. Tier 0 is
built when a rule is first needed, and takes milliseconds; tier 1 has all of LLVM's passes behind it, takes ten times as
long, and replaces the other when a program has run for a while.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ptxlab import forks
from ptxlab.emulate.jit.native import code as native
from ptxlab.emulate.jit.native.code import Cpu
from ptxlab.emulate.runtime import disk_cache

if TYPE_CHECKING:
    from ptxlab.emulate.jit.translation.rule_calls import Function

TIER_0, TIER_1 = 0, 1
"""How hard the compiler tries."""


@dataclass(frozen=True)
class RuleObject:
    """Rules of one file that become one object file: those that other code may call, and what is known of it. It keeps
    their names, so that they are not imported for code from the cache."""

    module: str
    names: tuple[str, ...]
    known: tuple[tuple[str, int], ...]
    cpu: Cpu

    def entry(self, tier: int) -> str:
        what = f"rules {self.module} {self.names} {self.known} {tier}"
        return "rules-" + native.key("", "", "", self.cpu, what)

    @property
    def rules(self) -> tuple[Function, ...]:
        module = importlib.import_module(self.module)
        return tuple(getattr(module, name) for name in self.names)

    def build(self, tier: int) -> bytes:
        from ptxlab.emulate.jit.translation.translator import module_of

        # Rules of another object may be called if that one knows the same: nothing.
        elsewhere = shared() if not self.known and set(shared()).isdisjoint(self.rules) else ()
        return object_code(module_of(self.rules, dict(self.known), elsewhere), self.cpu, tier)


def shared() -> tuple[Function, ...]:
    """The rules of memcheck that rules of other files call. A copy of them would be a third of each such file."""
    from ptxlab.emulate.rules import memcheck

    return memcheck.stop, memcheck.resolve, memcheck.forget


def object_code(text: str, cpu: Cpu, tier: int = TIER_1) -> bytes:
    """Object code of a module. Tier 1: all of LLVM's passes. Tier 0: locals become registers, and nothing else."""
    return native.build(text, cpu, 2, "all")() if tier == TIER_1 else native.build(text, cpu, 0, "sroa")()


_built: dict[str, bytes] = {}
_lock = forks.lock()
MOST_LOADED = 128
"""Object codes that a process holds; those that came first go first."""


def object_codes(objects: Sequence[RuleObject], tier: int = TIER_0) -> tuple[list[bytes], int]:
    """Their object codes, each of this tier or better, built if there is none; and the lowest tier of all."""
    codes, made, lowest = list[bytes](), dict[str, bytes](), TIER_1
    for each in objects:
        code = _find(each.entry(TIER_1))
        if code is None:
            lowest, entry = min(lowest, tier), each.entry(tier)
            code = _find(entry)
            if code is None:
                code = made[entry] = _keep(entry, each.build(tier))
        codes.append(code)
    disk_cache.remember_all({entry: ({}, code) for entry, code in made.items()})
    return codes, lowest


def _find(entry: str) -> bytes | None:
    held = _built.get(entry)
    if held is not None:
        return held
    recalled = disk_cache.recall(entry)
    return None if recalled is None else _keep(entry, recalled[1])


def _keep(entry: str, blob: bytes) -> bytes:
    with _lock:
        _built[entry] = blob
        while len(_built) > MOST_LOADED:
            del _built[next(iter(_built))]
    return blob
