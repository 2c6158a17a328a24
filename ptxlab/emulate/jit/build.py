"""A program made ready to run: compiled or recalled from the cache, with what the runner must know beside the code."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field

from ptxlab.emulate.jit import compile as native
from ptxlab.emulate.jit import state as S
from ptxlab.emulate.jit.analysis import live_in, uniform_registers
from ptxlab.emulate.jit.compile import Cpu
from ptxlab.emulate.jit.helpers import grid, helpers
from ptxlab.emulate.jit.instruments import Instruments, emitters
from ptxlab.emulate.jit.values import BITS
from ptxlab.emulate.program import Program

_ALWAYS = """!0 = !{!"branch_weights", i32 2000, i32 1}
declare i32 @llvm.cttz.i32(i32, i1)
declare i32 @llvm.ctpop.i32(i32)
declare i64 @llvm.fshr.i64(i64, i64, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""


@dataclass
class Loaded:
    """Machine code of a program. `state_size` and `sites` size a worker's memory; `slow` is made when first needed."""

    cpu: Cpu
    instruments: Instruments
    entry: str
    state_size: int
    sites: int
    fast: native.Code
    _slow: native.Code | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def grid(self) -> int:
        """The address of the compiled loop over the grid."""
        return self.fast.address("grid")

    def slow(self, program: Program) -> int:
        """The address of the function for warps that have split, compiled now if it has not been."""
        with self._lock:
            if self._slow is None:
                recalled = native.recall(self.entry + "-slow")
                if recalled is None:
                    text, _, _ = module_text(program, self.cpu, self.instruments, slow=True)
                    blob = native.build(text, self.cpu)
                    native.remember(self.entry + "-slow", {}, blob)
                else:
                    blob = recalled[1]
                self._slow = native.load(blob, self.cpu)
            return self._slow.address("slow")


_recent: OrderedDict[str, Loaded] = OrderedDict()
_lock = threading.Lock()
KEPT = 64
"""Programs whose machine code stays loaded; those used longest ago go first."""


def prepare(program: Program, cpu: Cpu | None = None, instruments: Instruments | None = None) -> tuple[Loaded, bool]:
    """Compiles a program, or finds it among those compiled lately or kept on disk; and whether it was found.

    The same code may come again with other comments and line numbers: faults are reported by the new text."""
    cpu, instruments = cpu or native.host(), instruments or Instruments()
    entry = native.key("\n".join(program.lines), program.name, program.arch, cpu, instruments.key)
    with _lock:
        found = _recent.get(entry)
        if found is not None:
            _recent.move_to_end(entry)
            return found, True
    recalled = native.recall(entry)
    if recalled is None:
        text, state_size, sites = module_text(program, cpu, instruments, slow=False)
        blob = native.build(text, cpu)
        native.remember(entry, {"state_size": state_size, "sites": sites}, blob)
    else:
        notes, blob = recalled
        state_size, sites = notes["state_size"], notes["sites"]
    loaded = Loaded(cpu, instruments, entry, state_size, sites, native.load(blob, cpu))
    with _lock:
        _recent[entry] = loaded
        while len(_recent) > KEPT:
            _recent.popitem(last=False)
    return loaded, recalled is not None


def module_text(program: Program, cpu: Cpu, instruments: Instruments, *, slow: bool) -> tuple[str, int, int]:
    """The LLVM module of a program (its `fast` half with the grid loop, or its `slow` half), the size of a warp's state
    and the number of access sites."""
    uniform = uniform_registers(program)
    alive = live_in(program)
    file = S.RegisterFile(program, uniform)
    warp = emitters(instruments)[slow](program, uniform, alive, file, wide=cpu.wide)
    function = warp.function()
    at_start = [
        (file.vector[r], 4 if register.lane == "i1" else 4 * BITS[register.lane])
        for r, register in enumerate(program.registers)
        if alive[0] >> r & 1
    ]
    at_start += [(file.scalar[r], 8) for r in range(len(program.registers)) if alive[0] >> r & 1 and uniform[r]]
    known = set(_ALWAYS.splitlines())
    declared = "\n".join(sorted(d for d in warp.t.declared if d not in known))
    parts = [
        _ALWAYS, declared, helpers(program, warp.sites),
        *warp.helpers_needed.values(), function,
    ]  # fmt: skip
    if not slow:
        parts.append(grid(file.size, at_start))
    return "\n".join(parts), file.size, warp.sites
