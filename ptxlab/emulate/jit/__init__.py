"""The JIT: a program as native code, run by worker threads. The default engine of the emulator.

Reading order: `ptxlab.emulate.runtime.state` (the records of a launch), `llvm` (LLVM IR as text: one builder,
`ir_text`, lanes in it: `values`, `operations`), `affine` (lanes that differ by constants), `translation` (rules to
LLVM), `emitter` (what all that emits code shares: `function`, `lane_operations`, `active_mask`, `registers`,
`semantics`; `instrument`: how counters, checks and traces hook into it), `analysis` (what is found out before),
`memory` (loads and stores: `access`, then `data_transfer`), `atomics`, `matrices`, `checks`, `instruments`, `bodies`.
Then `control`: `blocks` (blocks and their instructions), `control_flow`, `converged_function` and `diverged_function`
(a program's two functions, `@converged` and `@diverged` in LLVM IR), `regions` (what a converged warp runs under
masks), and `converged_flow` (turns of a block's warps without the scheduler). `building` makes one module of LLVM of
all this (`module_text`) and machine code of it (`build`), by `native`; `running` has what a launch needs in memory
(`workers`), `worker_threads`, and `run`, which runs it and reads the counts.
"""

from ptxlab.emulate.jit.running.run import run

__all__ = ["run"]
