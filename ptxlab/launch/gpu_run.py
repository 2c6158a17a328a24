"""A launch on a GPU: arrays copied there, the kernel run, and copied back."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

from ptxlab.errors import DeviceFault
from ptxlab.findings import Finding, unwritten
from ptxlab.gpu import device as gpu
from ptxlab.launch.arguments import on_gpu, poison_byte
from ptxlab.launch.parameters import Bound
from ptxlab.launch.plan import Plan
from ptxlab.module_variables import State, holds_addresses, variables_of


def with_variables(kernel: Any, plan: Plan, shared: int) -> Any:
    """What to load for a kernel: its variables on the GPU then hold what the host has set, and what launches on other
    devices have left. PTX text has nothing that could keep them; it is loaded anew."""
    variables = variables_of(plan.module)
    if not variables:
        return getattr(kernel, "original", kernel)
    state = getattr(kernel, "state", None) or State()
    kernel = SimpleNamespace(ptx=plan.visible, module=plan.module, state=state)
    code = gpu.ready(kernel, plan.name, shared).code
    if code.movable is None:
        code.movable = [v.name for v in variables if not holds_addresses(v)]
    state.sent(code, code.movable)
    return kernel


def run_on_gpu(
    kernel: Any,
    plan: Plan,
    sizes: tuple[tuple[int, int, int], tuple[int, int, int]],
    bound: list[Bound],
    shared: int,
    cooperative: bool,
    cluster: tuple[int, int, int] | None,
) -> tuple[float, list[Finding], float]:
    """The seconds of the kernel alone, what was noticed, and the seconds of the rest. The bytes that a launch changes
    are left in `bound`."""
    made: dict[int, Any] = {}
    values: list[bytes] = []
    started = time.perf_counter()
    try:
        for at, b in enumerate(bound):
            if b.array is not None and b.same_as < 0:
                made[at] = gpu.allocate(b.staged.size)
                made[at].write(b.staged)
            held = b.buffer or made.get(b.same_as if b.same_as >= 0 else at)
            values.append(b.scalar if held is None else on_gpu(b, int(held.address)))
        kernel = with_variables(kernel, plan, shared)
        seconds = gpu.run(kernel, plan.name, *sizes, values, shared=shared, cooperative=cooperative, cluster=cluster)
        for at, allocation in made.items():
            if bound[at].back:
                bound[at].staged = allocation.read()
    except DeviceFault:
        made.clear()  # the GPU has dropped all memory of this process
        raise
    finally:
        for allocation in made.values():
            allocation.free()
    findings: list[Finding] = []
    for b in bound:
        if b.poison and b.array is not None:
            # The GPU keeps no record of stores: an element that still holds the poison counts as unwritten.
            same = b.staged.reshape(-1, b.array.itemsize) == poison_byte(b.array.dtype)
            findings += unwritten(b.parameter.name, same.all(axis=1), b.array.shape)
    return seconds, findings, time.perf_counter() - started - seconds
