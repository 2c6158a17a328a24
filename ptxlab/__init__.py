"""ptxlab teaches how attention really runs on a GPU, one PTX instruction at a time, on any machine.

    import ptxlab as pl

    out = pl.attention(q, k, v, kernel="scalar", causal=True)     # run a kernel of the library
    r = pl.launch(ptx, grid, block, x, y, n)                      # run any PTX
    m = pl.parse(ptx)                                             # read it
    a = pl.assemble(ptx)                                          # NVIDIA's assembler: registers, spills, cubin

Importing this loads nothing: each name's module loads when the name is first used.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ptxlab import kernels, reference
    from ptxlab.attention.comparison import compare, compare_decode
    from ptxlab.attention.decode import decode
    from ptxlab.attention.merge import merge_states
    from ptxlab.attention.paged import PagedCache
    from ptxlab.attention.prefill import attention
    from ptxlab.course.gallery import gallery
    from ptxlab.drivers.numba_session import numba
    from ptxlab.drivers.triton_session import triton
    from ptxlab.emulate.trace.recorder import Trace
    from ptxlab.emulate.trace.recording import open_trace
    from ptxlab.errors import (
        AssemblyError,
        BuildError,
        CompileError,
        DeviceFault,
        LaunchError,
        PtxError,
        PtxlabError,
        PtxSyntaxError,
        TargetError,
        TraceError,
        UnavailableError,
        UnsupportedInstruction,
    )
    from ptxlab.frontends.cuda import cuda
    from ptxlab.gpu import assemble, sass
    from ptxlab.kernels.variants import variant
    from ptxlab.lab.cell import show
    from ptxlab.lab.debugger import debug
    from ptxlab.lab.diff import diff
    from ptxlab.lab.editing import editor
    from ptxlab.lab.explorer import explore
    from ptxlab.lab.extension import load_ipython_extension
    from ptxlab.lab.plots import plot_comparison, plot_error, plot_roofline, plot_state, plot_tile
    from ptxlab.launch.buffers import DeviceBuffer, const, empty, out, to_device
    from ptxlab.launch.run import launch
    from ptxlab.launch.tensor_maps import TensorMap
    from ptxlab.launch.textures import Surface, Texture
    from ptxlab.performance.estimate import estimate
    from ptxlab.static import inspect, occupancy, parse
    from ptxlab.sweeps import open_sweep, sweep, tune
    from ptxlab.sweeps.plot import plot_sweep
    from ptxlab.version import __version__ as __version__

_HOMES = {
    name: home
    for home, names in {
        "attention.comparison": "compare compare_decode",
        "attention.decode": "decode",
        "attention.merge": "merge_states",
        "attention.paged": "PagedCache",
        "attention.prefill": "attention",
        "kernels.variants": "variant",
        "course.gallery": "gallery",
        "emulate.trace.recorder": "Trace",
        "emulate.trace.recording": "open_trace",
        "errors": "AssemblyError BuildError CompileError DeviceFault LaunchError PtxError PtxSyntaxError PtxlabError "
        "TargetError TraceError UnavailableError UnsupportedInstruction",
        "drivers": "numba triton",
        "frontends": "cuda",
        "gpu": "assemble sass",
        "lab.cell": "show",
        "lab.debugger": "debug",
        "lab.diff": "diff",
        "lab.editing": "editor",
        "lab.explorer": "explore",
        "lab.extension": "load_ipython_extension",
        "lab.plots": "plot_comparison plot_error plot_roofline plot_state plot_tile",
        "launch.buffers": "DeviceBuffer const empty out to_device",
        "launch.run": "launch",
        "launch.tensor_maps": "TensorMap",
        "launch.textures": "Surface Texture",
        "performance.estimate": "estimate",
        "static": "inspect occupancy parse",
        "sweeps": "open_sweep sweep tune",
        "sweeps.plot": "plot_sweep",
        "version": "__version__",
    }.items()
    for name in names.split()
}
"""Where each public name lives."""

_MODULES = ("builder", "course", "drivers", "emulate", "frontends", "gpu", "isa", "kernels", "lab",
            "performance", "reference", "sweeps", "targets", "text")  # fmt: skip

__all__ = [
    "AssemblyError",
    "BuildError",
    "CompileError",
    "DeviceBuffer",
    "DeviceFault",
    "LaunchError",
    "PagedCache",
    "PtxError",
    "PtxSyntaxError",
    "PtxlabError",
    "Surface",
    "TargetError",
    "TensorMap",
    "Texture",
    "Trace",
    "TraceError",
    "UnavailableError",
    "UnsupportedInstruction",
    "assemble",
    "attention",
    "compare",
    "compare_decode",
    "const",
    "cuda",
    "debug",
    "decode",
    "diff",
    "editor",
    "empty",
    "estimate",
    "explore",
    "gallery",
    "inspect",
    "kernels",
    "launch",
    "load_ipython_extension",
    "merge_states",
    "numba",
    "occupancy",
    "open_sweep",
    "open_trace",
    "out",
    "parse",
    "plot_comparison",
    "plot_error",
    "plot_roofline",
    "plot_state",
    "plot_sweep",
    "plot_tile",
    "reference",
    "sass",
    "show",
    "sweep",
    "to_device",
    "triton",
    "tune",
    "variant",
]


def __getattr__(name: str) -> Any:
    """Loads a public name's module when the name is first used."""
    home = {"doctor": "cli.doctor"}.get(name) or _HOMES.get(name, name if name in _MODULES else "")
    if home:
        from ptxlab.errors import stopped_while  # here, as importing ptxlab loads nothing

        with stopped_while(f"ptxlab.{home} was being imported"):
            value = importlib.import_module(f"ptxlab.{home}")
        value = getattr(value, name) if name in _HOMES else value
    else:
        private = name.startswith("_")  # asked for by inspect and its kin; nothing is loaded for that, or for a module
        if private or importlib.util.find_spec(f"ptxlab.{name}") is not None:
            says = ""
        elif name in importlib.import_module("ptxlab.builder").__all__:
            says = f"\n  write:  from ptxlab.builder import {name}"
        else:
            says = importlib.import_module("ptxlab.options").meant(name, __all__)
        raise AttributeError(f"module 'ptxlab' has no attribute {name!r}{says}", name=name, obj=sys.modules[__name__])
    globals()[name] = value
    return value


class _Package(ModuleType):
    """`launch` and `attention` are functions, which an import of the packages of the same name leaves in place."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in ("attention", "launch") and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
