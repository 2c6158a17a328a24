"""The same softmax in each language: compiled now, run, checked, compared with numpy; and what is refused."""

from __future__ import annotations

import importlib
import importlib.util
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxlab as pl
from ptxlab.errors import CompileError, LaunchError, UnavailableError
from ptxlab.frontends.cute import cute
from ptxlab.frontends.cutile import cutile, kept
from ptxlab.frontends.mojo import mojo
from ptxlab.frontends.program import Program, ProgramOptions
from ptxlab.frontends.structs import split
from ptxlab.frontends.torch_extension import device_code, torch_extension
from ptxlab.frontends.warp_kernels import warp

CORPUS = Path(__file__).parents[1] / "corpus" / "languages"
ROWS, COLUMNS = 8, 100


def corpus(name: str) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(CORPUS)
        return importlib.import_module(name)


Array = np.ndarray
Launched = tuple[Any, Any, Any, tuple[Any, ...]]


def with_cute(x: Array, out: Array) -> Launched:
    module, cutlass = corpus("cute_softmax"), importlib.import_module("cutlass")
    return cute(module.softmax, x, out, cutlass.Int32(COLUMNS)), ROWS, 32, (x, out, COLUMNS)


def with_cutile(x: Array, out: Array) -> Launched:
    return cutile(corpus("cutile_softmax").softmax, x, out, 128), ROWS, None, (x, out)


def with_warp(x: Array, out: Array) -> Launched:
    kernel = warp(corpus("warp_softmax").softmax, ROWS)
    return kernel, kernel.metadata["grid"], None, (x, out)


def with_mojo(x: Array, out: Array) -> Launched:
    return mojo((CORPUS / "softmax.mojo").read_text(), file="softmax.mojo"), 1, 32, (x, out, ROWS, COLUMNS)


def with_torch_extension(x: Array, out: Array) -> Launched:
    return torch_extension((CORPUS / "softmax.cu").read_text(), file="softmax.cu"), ROWS, 32, (x, out, COLUMNS)


def with_program(x: Array, out: Array) -> Launched:
    source = device_code((CORPUS / "softmax.cu").read_text())
    program = Program(source, "c++", ProgramOptions(arch="sm_80", name="softmax.cu", define_macro=["UNUSED"]))
    return program.compile("ptx").get_kernel("softmax"), ROWS, 32, (x, out, COLUMNS)


def installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


LANGUAGES: dict[str, tuple[Callable[[Array, Array], Launched], bool, str]] = {
    "CuTe DSL": (with_cute, installed("cutlass"), "pip install nvidia-cutlass-dsl"),
    "cuTile": (with_cutile, installed("cuda.tile"), "pip install 'cuda-tile[tileiras]'"),
    "Warp": (with_warp, installed("warp"), "pip install warp-lang"),
    "Mojo": (with_mojo, bool(shutil.which("mojo", path=str(Path(sys.executable).parent))), "pip install mojo max"),
    "PyTorch extension": (with_torch_extension, installed("cuda.bindings.nvrtc"), "pip install 'ptxlab[cuda]'"),
    "cuda.core": (with_program, installed("cuda.bindings.nvrtc"), "pip install 'ptxlab[cuda]'"),
}


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def data() -> tuple[Array, Array]:
    x = np.random.default_rng(1).standard_normal((ROWS, COLUMNS)).astype(np.float32)
    return x, np.zeros_like(x)


@pytest.mark.parametrize("language", LANGUAGES)
def test_softmax(language: str) -> None:
    compiled, here, install = LANGUAGES[language]
    if not here:
        pytest.skip(f"needs {language}: {install}")
    x, out = data()
    kernel, grid, block, args = compiled(x, out)
    run = pl.launch(kernel, grid, block, *args, device="cpu", checks="all", counters=True)
    np.testing.assert_allclose(out, softmax(x), rtol=1e-5, atol=1e-7)
    assert run.findings == []
    assert kernel.module.target.startswith("sm_80")
    with pytest.raises(LaunchError, match=r"(?m)^softmax\w* takes \d arguments \(x\b.*, out\b.*\), got 1$"):
        pl.launch(kernel, grid, block, x, device="cpu")
    if language != "cuTile":  # it keeps no lines, and guards its accesses
        with pytest.raises(pl.DeviceFault, match=r"past the end of 'out'[^_]*softmax\w*, line \d+:"):
            pl.launch(kernel, grid, block, x, np.zeros((1, 4), np.float32), *args[2:], device="cpu", checks=())
        lines = {span.line for span in kernel.spans.values() if "softmax" in span.file}
        assert len(lines) > 3


def test_tinygrad() -> None:
    pytest.importorskip("tinygrad", reason="needs tinygrad: pip install tinygrad")
    from tinygrad import Tensor

    from ptxlab.drivers.tinygrad_device import tinygrad

    x, _ = data()
    with tinygrad(checks="all", counters=True) as session:
        found = Tensor(x).softmax(axis=1).numpy()
    np.testing.assert_allclose(found, softmax(x), rtol=1e-5, atol=1e-7)
    assert len(session.runs) == len(session.kernels) > 0
    assert session.findings == []


# -- parts that need none of the languages -----------------------------------------------------------------------------


STRUCT = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(
\t.param .align 8 .b8 k_param_0[16],
\t.param .align 8 .b8 k_param_1[8],
\t.param .align 4 .b8 k_param_2[12]
)
{
\t.reg .b64 %rd<3>;
\t.reg .b32 %r<3>;
\tld.param.u64 %rd1, [k_param_0];
\tld.param.u32 %r1, [k_param_0+8];
\tld.param.b64 %rd2, [k_param_1];
\tld.param.u32 %r2, [k_param_2];
\tst.global.u32 [%rd1], %r1;
\tst.global.u32 [%rd2], %r2;
\tret;
}
"""


def test_a_struct_that_begins_with_a_pointer_takes_an_array() -> None:
    ptx = split(STRUCT, "k")
    one, two = np.zeros(1, np.uint32), np.zeros(1, np.uint32)
    rest, numbers = (7).to_bytes(8, "little"), (9).to_bytes(12, "little")
    pl.launch(ptx, 1, 1, one, rest, two, numbers, device="step")
    assert (one[0], two[0]) == (7, 9)
    with pytest.raises(CompileError) as refused:
        split(STRUCT.replace("ld.param.u64 %rd1, [k_param_0]", "mov.b64 %rd1, k_param_0"), "k")
    assert str(refused.value) == "k: the address of the struct k_param_0 is taken; such a parameter takes bytes"


def test_the_host_part_of_an_extension_is_left_out() -> None:
    source = (CORPUS / "softmax.cu").read_text()
    device = device_code(source)
    assert device.count("\n") == source.count("\n")
    assert not any(word in device for word in ("torch/", "torch::", "<<<", "PYBIND11"))
    assert all(word in device for word in ("WARP = 32", "over_the_warp(float value", "__global__ void softmax"))
    with pytest.raises(CompileError) as refused:
        torch_extension("torch::Tensor twice(torch::Tensor x) { return x * 2; }")
    assert str(refused.value) == "the source has no __global__ function"


def test_the_ptx_in_a_cubin() -> None:
    names = b"\0.shstrtab\0.nv_debug_ptx_txt\0"
    text = b"\0\0.version 9.0\0.target sm_80\0"
    import struct

    def section(name: int, at: int, size: int) -> bytes:
        return struct.pack("<IIQQQQIIQQ", name, 3, 0, 0, at, size, 0, 0, 1, 0)

    body = names + text
    header = b"\x7fELF".ljust(40, b"\0") + struct.pack("<QIHHHHHH", 64 + len(body), 0, 64, 0, 0, 64, 2, 0)
    table = section(1, 64, len(names)) + section(11, 64 + len(names), len(text))
    assert kept(header + body + table) == ".version 9.0\n.target sm_80\n"
    with pytest.raises(CompileError) as refused:
        kept((header + body + table).replace(b"ptx_txt", b"sass_tx"))
    assert str(refused.value) == "the cubin holds no PTX (section .nv_debug_ptx_txt)"


@pytest.mark.parametrize(
    ("module", "act", "words"),
    [
        ("cutlass.cute", lambda: cute(len), "CuTe DSL is not installed (reason): pip install nvidia-cutlass-dsl"),
        ("cuda.tile", lambda: cutile(len), "cuTile is not installed (reason): pip install 'cuda-tile[tileiras]'"),
        ("warp", lambda: warp(len, 1), "Warp is not installed (reason): pip install warp-lang"),
        ("tinygrad.helpers", lambda: _tinygrad(), "tinygrad is not installed (reason): pip install tinygrad"),
    ],
)
def test_what_is_not_installed_is_named(
    module: str, act: Callable[[], Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [module, *(["cutlass"] if "." in module and module.startswith("cutlass") else [])]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UnavailableError, match=f"^{re.escape(words).replace('reason', '.*')}$"):
        act()


def _tinygrad() -> None:
    from ptxlab.drivers.tinygrad_device import tinygrad

    with tinygrad():
        pass
