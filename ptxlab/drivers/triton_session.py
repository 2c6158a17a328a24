"""`pl.triton`: unchanged programs of Triton on the emulator.

with pl.triton(checks="all") as session:
    add[grid](x, y, out, n, BLOCK=1024)     # a kernel of @triton.jit, numpy arrays or torch's CPU tensors
session.findings, session.runs[-1].counters, session.tunings

pl.triton.activate()                        # the same for the rest of the process
pl.explore(pl.triton(add, x, y, out, n, BLOCK=1024), ...)   # the kernel compiled for these arguments
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ptxlab.drivers.check_warnings import warn
from ptxlab.drivers.session import MachineSession, Switch
from ptxlab.drivers.triton_arrays import Addresses, Tensor, _addresses, tensor
from ptxlab.drivers.triton_driver import Driver, Launcher, installed, running, scalar, tensor_map
from ptxlab.drivers.triton_tuning import Tuning, cost, tuning
from ptxlab.errors import CompileError, LaunchError, UnavailableError
from ptxlab.frontends.kernel import CompiledKernel
from ptxlab.frontends.patching import replaced
from ptxlab.frontends.triton import check_installed
from ptxlab.frontends.triton import triton as compiled_for
from ptxlab.launch.buffers import DeviceBuffer
from ptxlab.launch.run import launch


class TritonSession(MachineSession):
    """The emulator in place of a GPU under Triton, from `__enter__` to `__exit__`.

    `runs` is without the launches of autotuning; `tunings` says what autotuners compared, and by which counts.
    """

    LANGUAGE = "Triton"

    def __init__(self, *, arch: str = "sm_80", device: str = "cpu", **options: Any) -> None:
        super().__init__(arch=arch, device=device, **options)
        self.tunings: list[Tuning] = []
        self.addresses = Addresses()
        self.counted: list[float] | None = None
        """Clocks of the launches of a configuration that an autotuner asks about; None while it does not."""
        self._caches: dict[int, dict[Any, Any]] = {}

    def __enter__(self) -> TritonSession:
        _check_installed()
        _active.append(self)
        self._stack.callback(_active.remove, self)
        running.append(self.launch)
        self._stack.callback(running.remove, self.launch)
        _addresses.append(self.addresses)
        self._stack.callback(_addresses.remove, self.addresses)
        self._stack.enter_context(installed(Driver(self.arch, self.benchmark)))
        self._stack.enter_context(_arrays_taken())
        return self

    def launch(self, launcher: Launcher, grid: tuple[int, int, int], args: Sequence[Any]) -> None:
        """Runs a compiled kernel: arrays are copied in, and back when it has succeeded."""
        __tracebackhide__ = True
        kernel, parts = launcher.kernel, list(launcher.parts([tensor(value) for value in args]))
        types = [variable.type for variable in kernel.module.kernels[0].params]
        arrays = [
            (name, value[0].base if kind == "tensor map" else value)
            for name, kind, value in parts
            if kind == "tensor map" or (kind.startswith("*") and hasattr(value, "data_ptr"))
        ]
        placed, found = self.addresses.place(arrays)
        homes = {each.buffer.address: each.buffer for each in placed}
        addresses: Iterator[Any] = iter([homes.get(address, address) for address in found])
        given: list[Any] = []
        for (_, kind, value), type_ in zip(parts, types, strict=False):
            if kind == "tensor map":
                given.append(tensor_map(value[0], value[1], _number(next(addresses))))
            elif kind.startswith("*"):
                given.append(next(addresses) if hasattr(value, "data_ptr") else int(value or 0))
            else:
                given.append(scalar(kind, value, type_))
        scratch = [_scratch(size, grid) for size in launcher.scratch[: len(types) - len(given)]]
        options = dict(shared=kernel.shared, device=self.device, cooperative=launcher.cooperative, **self.options)
        if launcher.blocks > 1:
            options["cluster"] = launcher.blocks
        if self.counted is not None:
            run = launch(kernel, grid, kernel.block, *given, *scratch, **(options | {"counters": True, "checks": ()}))
            self.counted.append(cost(run, self.arch).clocks)
        else:
            run = self.launcher(kernel, grid, kernel.block, *given, *scratch, **options)
            self.runs.append(run)
        for each in placed:
            each.copy_back()
        if run.findings:
            warn(run.findings, *_files())

    def benchmark(self, kernel_call: Callable[[], Any], quantiles: Sequence[float] = (0.5,), **how: Any) -> list[float]:
        """What an autotuner compares instead of times: clocks of the model in `ptxlab.drivers.triton_tuning`."""
        before, self.counted = self.counted, []
        try:
            kernel_call()
            clocks = sum(self.counted)
        finally:
            self.counted = before
        return [clocks] * len(quantiles)

    def tuned(self, autotuner: Any, run: Callable[..., Any], args: Sequence[Any], how: Mapping[str, Any]) -> Any:
        """Runs an autotuned kernel. What it compares here is forgotten with the session: a GPU's times decide there."""
        before = autotuner.cache, autotuner.__dict__.get("do_bench"), autotuner.cache_results
        autotuner.cache = self._caches.setdefault(id(autotuner), {})
        autotuner.__dict__["do_bench"], autotuner.cache_results = self.benchmark, False
        known = set(autotuner.cache)
        try:
            return run(autotuner, *args, **how)
        finally:
            for key in set(autotuner.cache) - known:
                if timings := autotuner.__dict__.pop("configs_timings", None):
                    self.tunings.append(tuning(autotuner, key, timings))
            autotuner.cache, bench, autotuner.cache_results = before
            if bench is None:
                del autotuner.__dict__["do_bench"]
            else:
                autotuner.__dict__["do_bench"] = bench


def _scratch(size: int, grid: tuple[int, int, int]) -> DeviceBuffer | None:
    """Memory that the compiler wants for each block, as kernels that make tensor descriptors do."""
    blocks = grid[0] * grid[1] * grid[2]
    return DeviceBuffer((size * blocks,), "u1", "cpu", "scratch") if size else None


def _number(address: DeviceBuffer | int) -> int:
    return address if isinstance(address, int) else address.address


def _files() -> tuple[str, ...]:
    """Files of Triton between a program's line and a launch."""
    from triton import runtime

    return (runtime.__file__,)


DESCRIPTORS = (3, 9)
"""The oldest version that a session is tested with; earlier ones pass tensor descriptors otherwise."""
_active: list[TritonSession] = []
"""Sessions that are entered; the last one runs kernels."""


def _check_installed() -> None:
    check_installed(DESCRIPTORS)
    import triton

    if triton.knobs.runtime.interpret:
        raise UnavailableError("Triton interprets kernels: unset TRITON_INTERPRET before they are decorated")


# -- in place of the driver --------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _arrays_taken() -> Iterator[None]:
    """While entered, kernels of Triton take numpy arrays, and tensors have addresses in the machine."""
    from triton.runtime import autotuner, jit
    from triton.tools import tensor_descriptor

    function, tuner, descriptor = jit.JITFunction, autotuner.Autotuner, tensor_descriptor.TensorDescriptor
    run, tuned, checked = function.run, tuner.run, descriptor.__post_init__

    def item(self: Any, grid: Any) -> Any:
        return lambda *args, **how: self.run(
            *map(tensor, args), grid=grid, warmup=False, **{name: tensor(value) for name, value in how.items()}
        )

    def run_here(self: Any, *args: Any, **how: Any) -> Any:
        addresses, __tracebackhide__ = _active[-1].addresses, True
        addresses.quiet += 1
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="TRITON_")  # what its defaults will be one day
                return run(self, *map(tensor, args), **{name: tensor(value) for name, value in how.items()})
        finally:
            addresses.quiet -= 1

    def tuned_here(self: Any, *args: Any, **how: Any) -> Any:
        return _active[-1].tuned(self, tuned, args, how)

    def checked_here(self: Any) -> None:
        self.base = tensor(self.base)
        checked(self)

    changes = [
        (jit.KernelInterface, "__getitem__", item),
        (function, "run", run_here),
        (tuner, "run", tuned_here),
        (descriptor, "__post_init__", checked_here),
    ]
    torch = sys.modules.get("torch")
    if torch is not None:
        changes.append((torch.Tensor, "data_ptr", lambda self: _addresses[-1].address_of(self)))
    with replaced(changes):
        yield


# -- pl.triton ---------------------------------------------------------------------------------------------------------


class Triton(Switch[TritonSession]):
    """`pl.triton`; see the module."""

    def __call__(self, kernel: Any = None, *args: Any, arch: str | None = None, **options: Any) -> Any:
        """Without a kernel: a session, to be used with `with`. With one: that kernel, compiled.

        Parameters
        ----------
        kernel
            A function under `@triton.jit`.
        *args
            Its arguments as a launch takes them, those of `tl.constexpr` by name: `pl.triton(add, x, y, out, n,
            BLOCK=256)`; or the types of its arguments, and its constants: `pl.triton(add, {"x": "*fp32", "n": "i32"},
            {"BLOCK": 256}, num_warps=4)`, see `ptxlab.frontends.triton`.
        arch
            The target, by default sm_80.
        **options
            num_warps, num_stages; of a session device ("cpu" or "step"), and those of `pl.launch` for each launch:
            checks, counters, seed, budget, workers, trace.
        """
        if kernel is None:
            return TritonSession(arch=arch or "sm_80", **({"device": "cpu"} | options))
        if (args and isinstance(args[0], Mapping)) or "signature" in options:
            return compiled_for(kernel, *args, arch=arch, **options)
        return self._compiled(kernel, args, arch or "sm_80", options)

    def tensor(self, array: Any) -> Tensor:
        """A numpy array with the methods of a tensor that programs call: `.data_ptr()`, `.stride()`, `.numel()`."""
        found: Tensor = tensor(array)
        return found

    def _compiled(self, kernel: Any, args: Sequence[Any], arch: str, options: dict[str, Any]) -> CompiledKernel:
        """A kernel for the arguments of a launch."""
        if not hasattr(kernel, "warmup"):
            raise LaunchError(f"kernel: expected a function with @triton.jit, got {kernel!r}")
        with TritonSession(arch=arch, device="cpu"):
            try:
                made = kernel.run(*map(tensor, args), grid=(1,), warmup=True, **options)
            except Exception as error:  # Triton raises what its passes raise
                raise CompileError(f"{getattr(kernel, '__name__', kernel)}: {error}") from error
            launcher = Launcher(arch, made.src, made.metadata)
        launcher.kernel.trailing = (None,) * len(launcher.scratch)
        return launcher.kernel


triton = Triton(TritonSession)
