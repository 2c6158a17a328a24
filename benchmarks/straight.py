"""How long straight-line PTX takes to its first result's code, by lines: `python benchmarks/straight.py [lines ...]`.

CPU seconds of one process with nothing cached, by stage. `ratio` is the time per line beside that of the shortest text:
1.0 where the whole is linear in the text.
"""

from __future__ import annotations

import itertools
import sys
import time

from ptxlab.emulate import lower
from ptxlab.emulate.jit.building.module_text import module_text
from ptxlab.emulate.jit.building.rule_objects import QUICK
from ptxlab.emulate.jit.instruments.selection import Instruments
from ptxlab.emulate.jit.native import code as native
from ptxlab.emulate.jit.native import compile
from ptxlab.garbage_collection import resting
from ptxlab.text import parse

LINES = (1_000, 4_000, 16_000, 100_000)
REUSED, FRESH = "six registers", "fresh registers"


def straight(lines: int, kind: str) -> str:
    """A kernel of so many integer instructions without a branch. REUSED: six registers over and over. FRESH: each line
    writes a register of its own and reads those of one line and of 20 lines before, more than the CPU can hold."""
    body = []
    for k in range(lines):
        if kind == REUSED:
            body.append(f"mad.lo.u32 %r{2 + k % 6}, %r{2 + (k + 5) % 6}, %r{2 + k % 6}, {k};")
        else:
            body.append(f"mad.lo.u32 %r{k + 8}, %r{k + 7}, %r{max(k - 20, 0) + 7}, {k};")
    start = "\n".join(f"mov.u32 %r{k}, %tid.x;" for k in range(1, 8))
    code = "\n".join(body)
    result = 2 + (lines - 1) % 6 if kind == REUSED else lines + 7
    return f""".version 8.0
.target sm_80
.address_size 64
.visible .entry straight(.param .u64 out)
{{
.reg .b32 %r<{lines + 8}>;
.reg .b64 %rd<3>;
{start}
{code}
ld.param.u64 %rd1, [out];
mad.wide.u32 %rd2, %r1, 4, %rd1;
st.global.u32 [%rd2], %r{result};
ret;
}}
"""


def stages(text: str) -> list[float]:
    """CPU seconds of parsing, lowering, writing LLVM IR, and LLVM, all with the cycle collector off, as in a launch."""
    with resting():
        return _stages(text)


def _stages(text: str) -> list[float]:
    cpu, marks = native.host(), [time.process_time()]
    module = parse(text)
    marks.append(time.process_time())
    program = lower(module)
    marks.append(time.process_time())
    written = module_text(program, cpu, Instruments(), diverged=False, small=True)
    marks.append(time.process_time())
    compile.build(written.text, cpu, QUICK)
    marks.append(time.process_time())
    return [after - before for before, after in itertools.pairwise(marks)]


if __name__ == "__main__":
    stages(straight(100, FRESH))  # tables and LLVM's start
    for kind in (REUSED, FRESH):
        print(f"{kind:16}{'parse':>8}{'lower':>8}{'IR':>8}{'LLVM':>8}{'all':>8}{'ratio':>8}")
        first = 0.0
        for lines in map(int, sys.argv[1:] or LINES):
            seconds = stages(straight(lines, kind))
            each = sum(seconds) / lines
            first = first or each
            columns = "".join(f"{s:8.2f}" for s in (*seconds, sum(seconds)))
            print(f"{lines:16,}{columns}{each / first:8.2f}", flush=True)
