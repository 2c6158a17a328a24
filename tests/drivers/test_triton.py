"""Programs of Triton on the emulator, as they stand: results, checks, autotuning, errors."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxlab as pl
from ptxlab.drivers import FindingWarning, TritonSession
from ptxlab.errors import CompileError, DeviceFault, LaunchError

pytest.importorskip("triton", reason="needs Triton: pip install 'ptxlab[triton]'")

import triton
import triton.language as tl
from triton.runtime import driver


def corpus(name: str) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parents[1] / "corpus")
        return importlib.import_module(name)


@pytest.fixture(scope="module")
def programs() -> Any:
    return corpus("triton_programs").PROGRAMS


@pytest.fixture(scope="module")
def mistakes() -> Any:
    return corpus("triton_mistakes").MISTAKES


NAMES = ("vector_add softmax matmul grouped_matmul persistent_matmul described layer_norm attention mixed").split()


def test_the_corpus_is_all_here(programs: Any) -> None:
    assert list(programs) == NAMES


def agrees(program: Callable[[Any], Any], to: Any, **options: Any) -> TritonSession:
    """Runs a program and compares its results with numpy's."""
    with pl.triton(**options) as session:
        for result, wanted, tolerance in program(to):
            got, wide = np.asarray(result).astype(np.float64), np.asarray(wanted).astype(np.float64)
            np.testing.assert_allclose(got, wide, rtol=tolerance, atol=tolerance)
    assert session.runs
    return session


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", NAMES)
def test_a_program_runs_as_it_stands(programs: Any, name: str) -> None:
    assert agrees(programs[name], pl.triton.tensor, checks="all").findings == []


@pytest.mark.parametrize("name", ["persistent_matmul", "described"])
def test_hoppers_descriptors(programs: Any, name: str) -> None:
    session = agrees(programs[name], pl.triton.tensor, arch="sm_90", counters=True)
    assert any("bulk copies" in what for what in session.runs[0].counters.moved)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", NAMES)
def test_tensors_of_torch(programs: Any, name: str) -> None:
    torch = pytest.importorskip("torch", reason="needs torch: pip install torch")
    agrees(programs[name], torch.from_numpy)


@pytest.mark.parametrize("name", ["vector_add", "mixed"])
def test_the_interpreter(programs: Any, name: str) -> None:
    assert agrees(programs[name], pl.triton.tensor, device="step").runs[0].device == "step"


# -- checks ------------------------------------------------------------------------------------------------------------


@triton.jit
def scale_kernel(x_ptr, out_ptr, n, k, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, (x * k).to(out_ptr.dtype.element_ty), mask=at < n)


def line_of(function: Any, text: str) -> str:
    """file:line of the first line of a kernel that holds a text."""
    lines, first = inspect.getsourcelines(function.fn)
    return f"{inspect.getsourcefile(function.fn)}:{next(first + k for k, line in enumerate(lines) if text in line)}"


MISTAKES = (
    "past_the_end sum_without_atomic rotate_without_barrier lock_released_early tiles_overlap sums_by_lane".split()
)


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found_at_the_line_of_triton(mistakes: Any, name: str) -> None:
    assert list(mistakes) == MISTAKES
    kernel, grid, args, constants, check, text = mistakes[name]
    line = line_of(kernel, text)
    given = args()
    if check == "memcheck":
        before = [array.copy() for array in given]
        with pl.triton(), pytest.raises(DeviceFault) as fault:
            kernel[(grid,)](*given, **constants)
        assert "0 bytes past the end of 'x_ptr'" in str(fault.value)
        assert line in str(fault.value)
        assert all(map(np.array_equal, given, before)), "after a fault arrays are as they were"
        return
    with pl.triton(checks="all") as session, pytest.warns(FindingWarning) as noticed:
        kernel[(grid,)](*given, **constants)
    assert {finding.check for finding in session.findings} == {check}
    assert any(line in str(each.message) for each in noticed)
    assert {each.filename for each in noticed} == {__file__}


def test_without_fusion_all_lanes_have_the_same_sum(mistakes: Any) -> None:
    kernel, grid, args, constants, *_ = mistakes["sums_by_lane"]
    with pl.triton(checks="all") as session:
        kernel[(grid,)](*args(), **constants, enable_fp_fusion=False)
    assert session.findings == []


def test_device_print(capsys: pytest.CaptureFixture[str]) -> None:
    @triton.jit
    def say(x_ptr):
        tl.device_print("x is", tl.load(x_ptr))

    with pl.triton():
        say[(1,)](np.array([42], np.int32), num_warps=1)
    assert capsys.readouterr().out.startswith("[block 0, thread 0] pid (0, 0, 0) idx () x is: 42\n")


# -- arguments ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float8_e5m2", "int8", "uint16", "int64", "float64"])
def test_types_of_elements(kind: str) -> None:
    import ml_dtypes

    dtype = np.dtype(getattr(ml_dtypes, kind, kind))
    x, out = np.arange(8).astype(dtype), np.zeros(8, dtype)
    with pl.triton():
        scale_kernel[(1,)](x, out, np.int32(8), np.float32(2) if dtype.kind in "fV" else 2, BLOCK=16)
    assert out.astype(float).tolist() == [0, 2, 4, 6, 8, 10, 12, 14]


@triton.jit
def product_kernel(a_ptr, b_ptr, c_ptr, K, N: tl.constexpr, BLOCK: tl.constexpr):
    m, n = tl.arange(0, N), tl.arange(0, N)
    total = tl.zeros((N, N), tl.float32)
    for start in range(0, K, BLOCK):
        k = start + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + m[:, None] * K + k[None, :])
        total = tl.dot(a, tl.load(b_ptr + k[:, None] * N + n[None, :]), total)
    tl.store(c_ptr + m[:, None] * N + n[None, :], total)


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    ("arch", "kind", "instruction"),
    [
        ("sm_80", "float8_e5m2", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
        ("sm_89", "float8_e4m3fn", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"),
        ("sm_90", "float8_e4m3fn", "wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3"),
    ],
)
def test_products_of_fp8(arch: str, kind: str, instruction: str) -> None:
    import ml_dtypes

    rng, dtype = np.random.default_rng(0), getattr(ml_dtypes, kind)
    a, b = rng.standard_normal((64, 128)).astype(dtype), rng.standard_normal((128, 64)).astype(dtype)
    c = np.zeros((64, 64), np.float32)
    kernel = pl.triton(product_kernel, a, b, c, 128, N=64, BLOCK=64, arch=arch)
    assert instruction in kernel.ptx
    assert pl.launch(kernel, 1, None, a, b, c, 128, device="cpu", checks="all").findings == []
    np.testing.assert_allclose(c, a.astype(float) @ b.astype(float), atol=1e-5)


def test_views_strides_and_arrays_that_overlap() -> None:
    base = np.arange(64, dtype=np.float32)
    with pl.triton(checks="all"):
        scale_kernel[(1,)](base[1:17], base[33:49], 16, 10.0, BLOCK=16)
        scale_kernel[(1,)](base[:20], base[4:12], 4, 1.0, BLOCK=16)
    wanted = np.arange(64, dtype=np.float32)
    wanted[33:49] = wanted[1:17] * 10
    wanted[4:8] = wanted[:4]
    assert base.tolist() == wanted.tolist()
    read_only = np.ones(16, np.float32)
    read_only.flags.writeable = False
    with pl.triton():
        scale_kernel[(1,)](read_only, base, 16, 3.0, BLOCK=16)
        scale_kernel[(0,)](read_only, base, 16, 5.0, BLOCK=16)
    assert base[:16].tolist() == [3.0] * 16


def test_a_kernel_says_what_it_uses_and_is_launched_again() -> None:
    x, out = np.ones(100, np.float32), np.zeros(100, np.float32)
    with pl.triton(arch="sm_90") as session:
        found = scale_kernel.warmup(x, out, 100, 2.0, BLOCK=128, grid=(1,))
        found._init_handles()
        assert 8 <= found.n_regs <= 255
        assert found.n_spills == 0
        found[(1, 1, 1)](x, out, 100, 2.0, 128)
        limits = driver.active.utils.get_device_properties(0)
    assert (limits["multiprocessor_count"], limits["warpSize"]) == (132, 32)
    assert (out == 2).all()
    assert len(session.runs) == 1


# -- autotuning --------------------------------------------------------------------------------------------------------


def test_an_autotuner_goes_by_counters_and_says_so() -> None:
    @triton.autotune(
        configs=[triton.Config({"BLOCK": 64}, num_warps=4), triton.Config({"BLOCK": 64}, num_warps=2)],
        key=["n"],
        reset_to_zero=["out_ptr"],
    )
    @triton.jit
    def tuned(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.atomic_add(out_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)

    x, out = np.ones(512, np.float32), np.zeros(512, np.float32)
    with pl.triton() as session:
        tuned[lambda meta: (triton.cdiv(512, meta["BLOCK"]),)](x, out, 512)
        tuned[lambda meta: (triton.cdiv(512, meta["BLOCK"]),)](x, out, 512)
    assert (out == 2).all()
    assert len(session.runs) == 2
    (found,) = session.tunings
    assert str(found).splitlines()[0] == (
        "tuned for 512, float32, float32: clocks by a model, from counters; not timed"
    )
    assert found.best == "BLOCK 64, num_warps 2, num_stages 3"
    assert len(found.clocks) == 2
    assert tuned.cache == {}, "what counters say is not kept for a GPU"


# -- compiled kernels --------------------------------------------------------------------------------------------------


def test_a_kernel_for_the_arguments_of_a_launch() -> None:
    x, out = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
    kernel = pl.triton(scale_kernel, x, out, 100, 2.0, BLOCK=128, num_warps=2)
    pl.launch(kernel, 1, None, x, out, 100, 2.0, device="cpu")
    assert out.tolist() == (2 * x).tolist()
    assert kernel.block == 64
    by_types = pl.triton(scale_kernel, {"x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "k": "fp32"}, {"BLOCK": 64})
    assert by_types.name == "scale_kernel"


def test_memory_that_the_compiler_wants_for_each_block() -> None:
    """Tensor descriptors made in a kernel for sm_90 lie in global memory, which is the launch's to give."""

    @triton.jit
    def doubled(x_ptr, out_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
        x = tl.make_tensor_descriptor(x_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
        out = tl.make_tensor_descriptor(out_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
        row = tl.program_id(0) * BM
        out.store([row, 0], x.load([row, 0]) * 2)

    x = np.arange(64 * 32, dtype=np.float32).reshape(64, 32)
    for by_types in (False, True):
        out = np.zeros_like(x)
        if by_types:
            kinds = {"x_ptr": "*fp32:16", "out_ptr": "*fp32:16", "M": "i32", "N": "i32"}
            kernel = pl.triton(doubled, kinds, {"BM": 16, "BN": 32}, arch="sm_90")
        else:
            kernel = pl.triton(doubled, x, out, 64, 32, BM=16, BN=32, arch="sm_90")
        assert "cp.async.bulk" in kernel.ptx
        assert pl.launch(kernel, 4, None, x, out, 64, 32, device="cpu", checks="all").findings == []
        assert (out == 2 * x).all()


# -- errors ------------------------------------------------------------------------------------------------------------


def refusals() -> Iterator[tuple[Any, type[Exception], str]]:
    """What is refused, and with which words."""
    gpu = "device is 'cpu' or 'step', not 'gpu'; on a GPU Triton runs without ptxlab"
    yield lambda: pl.triton(device="gpu"), LaunchError, gpu
    function = "kernel: expected a function with @triton.jit, got <built-in function len>"
    yield lambda: pl.triton(len, 3), LaunchError, function
    ended = "this kernel was compiled within a session that has ended\n  write:  with pl.triton(): ...    around both"
    yield launched_later, LaunchError, ended


def launched_later() -> None:
    x = np.zeros(8, np.float32)
    with pl.triton():
        kernel = scale_kernel.warmup(x, x, 8, 2.0, BLOCK=8, grid=(1,))
        run = kernel.run
    run(1, 1, 1, 0, None, None, None, None, None, x, x, 8, 2.0, 8)


@pytest.mark.parametrize(("act", "kind", "words"), [pytest.param(*case, id=case[2][:30]) for case in refusals()])
def test_bad_input_is_refused_with_the_line_to_write(act: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind) as error:
        act()
    assert str(error.value) == words


def test_what_triton_refuses_is_said_in_its_words() -> None:
    @triton.jit
    def wrong(x_ptr):
        tl.store(x_ptr, undefined_name)  # noqa: F821

    with pytest.raises(CompileError) as error:
        pl.triton(wrong, np.zeros(1, np.float32))
    assert "undefined_name is not defined" in str(error.value)


def test_triton_gets_its_driver_back() -> None:
    before = driver._active, triton.runtime.JITFunction.run
    session = pl.triton.activate(checks="all")
    assert isinstance(session, TritonSession)
    assert driver._active is not before[0]
    pl.triton.deactivate()
    with pytest.raises(ZeroDivisionError), pl.triton():
        raise ZeroDivisionError
    assert (driver._active, triton.runtime.JITFunction.run) == before
