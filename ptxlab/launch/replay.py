"""`record(steps)`: launches on buffers of the GPU, recorded as one CUDA graph and replayed without Python.

graph = record([(kernel, grid, block, shared, args), ...])
graph.replay()             # seconds; what is to differ next time is written into the buffers in between
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ptxlab.errors import LaunchError
from ptxlab.launch import arguments
from ptxlab.launch.options import three
from ptxlab.launch.plan import planned

if TYPE_CHECKING:
    from ptxlab.gpu.graph import Graph

Step = tuple[Any, Any, Any, int, Sequence[Any]]
"""(kernel, grid, block, bytes of dynamic shared memory, arguments), as `launch` takes them."""


def record(steps: Sequence[Step]) -> Graph:
    """A graph of the launches in order. Arguments are device buffers of the GPU and numbers; `LaunchError` names one
    that is an array, `UnavailableError` says that there is no GPU.

    A kernel whose `dependent` is true, such as `decode_reduce` for sm_90, may start before the one in front of it ends.
    """
    from ptxlab.gpu.graph import Graph, Node
    from ptxlab.launch.gpu_run import with_variables

    nodes = []
    for kernel, grid, block, shared, args in steps:
        plan = planned(kernel)
        shared = shared or getattr(kernel, "shared", 0)
        bound = plan.bind(args)
        for b in bound:
            if b.array is not None or (b.buffer is not None and b.buffer.device != "gpu"):
                raise LaunchError(f"{b.parameter}: a graph needs buffers of the GPU; write pl.to_device(array)")
        values = [b.scalar if b.buffer is None else arguments.on_gpu(b, int(b.buffer.address)) for b in bound]
        sizes, dependent = (three("grid", grid), three("block", block)), getattr(kernel, "dependent", False)
        nodes.append(Node(with_variables(kernel, plan, shared), plan.name, *sizes, values, shared, dependent))
    return Graph(nodes)
