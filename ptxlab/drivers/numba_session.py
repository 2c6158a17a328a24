"""`pl.numba`: unchanged programs of numba-cuda on the emulator.

with pl.numba(checks="all") as session:
    add[blocks, threads](x, y, out)         # a kernel of @cuda.jit, numpy arrays or cuda.to_device
session.findings, session.runs[-1].counters

pl.numba.activate()                         # the same for the rest of the process
pl.explore(pl.numba(add, x, y, out))        # the kernel compiled for these arguments
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ptxlab import forks
from ptxlab.drivers.check_warnings import warn
from ptxlab.drivers.numba_arrays import DeviceArray, device_of, host_functions, placed
from ptxlab.drivers.session import MachineSession, Switch
from ptxlab.errors import LaunchError
from ptxlab.frontends.kernel import CompiledKernel
from ptxlab.frontends.numba_kernels import asked_for, capability, compiled, flat, modules
from ptxlab.frontends.patching import replaced
from ptxlab.launch.run import Run

Dim = tuple[int, int, int]


class Session(MachineSession):
    """The emulator in place of a GPU under numba-cuda, from `__enter__` to `__exit__`."""

    LANGUAGE = "numba"

    def __enter__(self) -> Session:
        modules()
        _active.append(self)
        self._stack.callback(_active.remove, self)
        self._stack.enter_context(asked_for(capability(self.arch)))
        self._stack.enter_context(_in_place_of_the_driver(self.arch))
        return self

    def launch(self, dispatcher: Any, grid: Dim, block: Dim, shared: int, args: Sequence[Any]) -> Run:
        """Compiles a kernel for its arguments, runs it, and copies host arrays back."""
        __tracebackhide__ = True
        types = chosen_types(dispatcher, args)
        kernel = kernel_for(dispatcher, types, self.arch)
        names = list(inspect.signature(dispatcher.py_func).parameters)
        copied: dict[int, tuple[Any, DeviceArray, bool]] = {}

        def place(value: Any, name: str) -> DeviceArray:
            hint, inner = _hint(value)
            known = device_of(inner)
            if known is not None:
                return known
            if id(inner) not in copied:
                copied[id(inner)] = inner, placed(inner, name), hint != "In"
                copied[id(inner)][1].buffer.host = True
            return copied[id(inner)][1]

        given = [
            part
            for name, kind, value in zip(names, types, args, strict=True)
            for part in flat(kind, _hint(value)[1], functools.partial(place_hinted, value, name, place))
        ]
        cooperative = "grid barrier" in kernel.metadata
        found = self.launcher(
            kernel, grid, block, *given, shared=shared, device=self.device, cooperative=cooperative, **self.options
        )
        for host, array, back in copied.values():
            if back and isinstance(host, np.ndarray):
                host[...] = array.array
        self.runs.append(found)
        warn(found.findings)
        return found


def place_hinted(value: Any, name: str, place: Callable[[Any, str], DeviceArray], part: Any) -> DeviceArray:
    """Places an array, or a part of a tuple of arrays, under the hint (`cuda.In`, `cuda.Out`) of the argument."""
    return place(value if _hint(value)[1] is part else part, name)


_active: list[Session] = []
"""Sessions that are entered; the last one runs kernels."""
_lock = forks.recursive_lock()


def _hint(value: Any) -> tuple[str, Any]:
    """The name of numba's hint around an argument ("In", "Out", "InOut" or ""), and the argument."""
    from numba.cuda.args import ArgHint

    return (type(value).__name__, value.value) if isinstance(value, ArgHint) else ("", value)


# -- kernels -----------------------------------------------------------------------------------------------------------


def chosen_types(dispatcher: Any, args: Sequence[Any]) -> tuple[Any, ...]:
    """The numba types that a kernel is compiled for: those of the signature given to `@cuda.jit` that takes the
    arguments, or the arguments' own."""
    wanted = len(inspect.signature(dispatcher.py_func).parameters)
    if len(args) != wanted:
        raise TypeError(f"{dispatcher.py_func.__name__} takes {wanted} arguments, got {len(args)}")
    own = tuple(dispatcher.typeof_pyval(_hint(value)[1]) for value in args)
    signatures: list[tuple[Any, ...]] = getattr(dispatcher, _SIGNATURES, [])
    if not signatures or own in signatures:
        return own
    for signature in signatures:
        if all(dispatcher.typingctx.can_convert(a, b) is not None for a, b in zip(own, signature, strict=True)):
            return signature
    listed = "\n".join(f"  ({', '.join(map(str, each))})" for each in signatures)
    raise TypeError(
        f"{dispatcher.py_func.__name__}: no signature takes ({', '.join(map(str, own))}); @cuda.jit was given\n{listed}"
    )


_SIGNATURES, _KERNELS = "_ptxlab_signatures", "_ptxlab_kernels"


def kernel_for(dispatcher: Any, types: tuple[Any, ...], arch: str) -> CompiledKernel:
    """A kernel compiled once for its types and target."""
    with _lock:
        kernels = dispatcher.__dict__.setdefault(_KERNELS, {})
        if (types, arch) not in kernels:
            kernels[types, arch] = compiled(dispatcher, types, arch)
        found: CompiledKernel = kernels[types, arch]
        return found


class Configured:
    """A kernel with its grid, block and dynamic shared memory: what `kernel[grid, block]` is."""

    def __init__(self, dispatcher: Any, grid: Any, block: Any, stream: Any = 0, sharedmem: int = 0) -> None:
        from numba.cuda.errors import normalize_kernel_dimensions

        self.dispatcher, self.stream, self.sharedmem = dispatcher, stream, sharedmem
        self.griddim, self.blockdim = normalize_kernel_dimensions(grid, block)

    def __call__(self, *args: Any) -> None:
        __tracebackhide__ = True
        _active[-1].launch(self.dispatcher, self.griddim, self.blockdim, self.sharedmem, args)


THREADS = 256
"""Threads of a block that `forall` takes where none are given; on a GPU numba asks the driver for them."""


class ForAll:
    """What `kernel.forall(n)` is: a grid of enough blocks for `n` threads."""

    def __init__(self, dispatcher: Any, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> None:
        if ntasks < 0:
            raise ValueError(f"forall: expected a number of tasks of at least 0, got {ntasks}")
        self.dispatcher, self.ntasks, self.sharedmem = dispatcher, ntasks, sharedmem
        self.threads = tpb or THREADS

    def __call__(self, *args: Any) -> None:
        if self.ntasks:
            blocks = -(-self.ntasks // self.threads)
            Configured(self.dispatcher, blocks, self.threads, 0, self.sharedmem)(*args)


# -- in place of the driver --------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _in_place_of_the_driver(arch: str) -> Iterator[None]:
    """Puts the emulator where numba would ask the driver, and takes it out again."""
    cuda = modules()
    from numba.cuda import dispatcher as dispatching
    from numba.cuda.core import sigutils

    def compile(self: Any, sig: Any) -> None:
        types, _ = sigutils.normalize_signature(sig)
        self.__dict__.setdefault(_SIGNATURES, []).append(tuple(types))

    def specialize(self: Any, *args: Any) -> Any:
        return self

    owner = dispatching.CUDADispatcher
    changes: list[tuple[Any, str, Any]] = [
        (owner, "configure", lambda self, *given, **how: Configured(self, *given, **how)),
        (owner, "forall", lambda self, *given, **how: ForAll(self, *given, **how)),
        (owner, "compile", compile),
        (owner, "specialize", specialize),
        (owner, "disable_compile", lambda self, val=True: None),  # it would miss what `compile` has not compiled
        *((cuda, name, function) for name, function in host_functions(arch).items()),
    ]
    with replaced(changes):
        yield


# -- pl.numba ----------------------------------------------------------------------------------------------------------


class Numba(Switch[Session]):
    """`pl.numba`; see the module."""

    def __call__(self, kernel: Any = None, *args: Any, arch: str = "sm_80", device: str = "cpu", **options: Any) -> Any:
        """Without a kernel: a session, to be used with `with`. With one: that kernel compiled for `args`.

        Parameters
        ----------
        kernel
            A function under `@cuda.jit`.
        *args
            Arguments as a launch takes them, or one signature such as "void(float32[:], int32)"; none where `@cuda.jit`
            was given a signature or the kernel has been launched.
        arch
            The target.
        device
            "cpu" or "step".
        **options
            Of `pl.launch`, for each launch of the session: checks, counters, seed, budget, workers, trace.
        """
        if kernel is None:
            return Session(arch=arch, device=device, **options)
        return kernel_for(kernel, _types_for(kernel, args), arch)


def _types_for(kernel: Any, args: Sequence[Any]) -> tuple[Any, ...]:
    """The types to compile a kernel for when it is not launched."""
    if not hasattr(kernel, "py_func"):
        raise LaunchError(f"kernel: expected a function with @cuda.jit, got {kernel!r}")
    if len(args) == 1 and isinstance(args[0], str):
        modules()
        from numba.cuda.core import sigutils

        types, _ = sigutils.normalize_signature(args[0])
        return tuple(types)
    if args:
        return chosen_types(kernel, args)
    known = [*getattr(kernel, _SIGNATURES, ()), *(types for types, _ in getattr(kernel, _KERNELS, ()))]
    if not known:
        name = kernel.py_func.__name__
        raise LaunchError(
            f"{name}: for which arguments?\n  write:  pl.numba({name}, x, y)    with what it is launched with"
        )
    found: tuple[Any, ...] = known[-1]
    return found


numba = Numba(Session)
