"""Object code of rules: built once, held by the process and cached on disk.

Rules are loaded beside a program's code, as object files of their own, and like it they come in two qualities. QUICK
code is built when a rule is first needed, and takes milliseconds; GOOD code has all of LLVM's passes behind it, takes
ten times as long, and replaces the other when a program has run for a while.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from ptxlab import forks
from ptxlab.emulate.jit.building.rule_parts import Part
from ptxlab.emulate.jit.native.code import Cpu
from ptxlab.emulate.runtime import disk_cache
from ptxlab.garbage_collection import resting

QUICK, GOOD = 0, 1
"""How hard the compiler tries."""


def build(text: str, cpu: Cpu, quality: int = GOOD) -> bytes:
    """Object code of a module. GOOD: all of LLVM's passes. QUICK: locals become registers, and nothing else is done."""
    from ptxlab.emulate.jit.native.compile import Passes
    from ptxlab.emulate.jit.native.compile import build as built
    from ptxlab.emulate.jit.native.llvm_thread import begin

    level, passes = (2, Passes.ALL) if quality == GOOD else (0, Passes.VALUES_OF_LOCALS)
    return begin(built, text, cpu, level, passes=passes)()


_built: OrderedDict[tuple[Part, int], bytes] = OrderedDict()
_lock = forks.lock()
MOST_LOADED = 128
"""Object codes that a process holds; those used longest ago go first."""


def object_codes(parts: Sequence[Part], quality: int = QUICK) -> tuple[list[bytes], int]:
    """Object codes of parts, each of this quality or better, built if there is none; and the lowest quality of all."""
    found = [_best(part, quality) for part in parts]
    missing = [part for part, (blob, _) in zip(parts, found, strict=True) if blob is None]
    made = {part: _keep(part, quality, build(translated(part), part.cpu, quality)) for part in missing}
    disk_cache.remember_all({part.entry(quality): ({}, blob) for part, blob in made.items()})
    codes = [made[part] if blob is None else blob for part, (blob, _) in zip(parts, found, strict=True)]
    return codes, min((has for _, has in found), default=GOOD)


def translated(part: Part) -> str:
    """The LLVM module of a part, as its rules say it."""
    from ptxlab.emulate.jit.building.linked_rules import functions_of, rules_of_other_parts
    from ptxlab.emulate.jit.translation.translator import module_of

    with resting():
        return module_of(functions_of(part.symbols), dict(part.known), rules_of_other_parts(part))


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
    recalled = disk_cache.recall(part.entry(quality))
    return None if recalled is None else _keep(part, quality, recalled[1])


def _keep(part: Part, quality: int, blob: bytes) -> bytes:
    with _lock:
        _built[part, quality] = blob
        while len(_built) > MOST_LOADED:
            _built.popitem(last=False)
    return blob
