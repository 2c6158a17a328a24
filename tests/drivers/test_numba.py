"""Programs of numba-cuda on the emulator, as they stand: results, checks, host functions, errors."""

from __future__ import annotations

import importlib
import inspect
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxlab as pl
from ptxlab.errors import CompileError, DeviceFault, LaunchError, shown_file

pytest.importorskip("numba_cuda", reason="needs numba-cuda: pip install 'ptxlab[numba]'")

from corpus.numba_mistakes import MISTAKES, no_barrier
from numba import cuda, float32
from numba.core.errors import NumbaPerformanceWarning

from ptxlab.drivers import FindingWarning, Session

pytestmark = pytest.mark.filterwarnings("ignore::numba.core.errors.NumbaPerformanceWarning")


@pytest.fixture(scope="module")
def programs() -> Any:
    """The corpus. A signature is compiled when it is decorated, so the machine is active then."""
    with pytest.MonkeyPatch.context() as patch, pl.numba(), warnings.catch_warnings():
        warnings.simplefilter("ignore", NumbaPerformanceWarning)
        patch.syspath_prepend(Path(__file__).parents[1] / "corpus")
        return importlib.import_module("numba_kernels").PROGRAMS


NAMES = (
    "map guard broadcast shared pooling dot convolution block_sums matmul histogram warp_sums reversed polynomial "
    "halves transposed signature grid_sync mandelbrot"
).split()


def test_the_corpus_is_all_here(programs: Any) -> None:
    assert list(programs) == NAMES


@pytest.mark.long
@pytest.mark.sweep(8)
@pytest.mark.parametrize("name", NAMES)
def test_a_program_runs_as_it_stands(programs: Any, name: str) -> None:
    program = programs[name]
    for device in ("cpu", "step"):
        args = program.args()
        given = [a.copy(order="K") if isinstance(a, np.ndarray) else a for a in args]
        with pl.numba(checks="all", device=device) as session:
            program.kernel[program.grid, program.block, 0, program.shared](*args)
        wanted = program.wanted(*given)
        if program.close:
            np.testing.assert_allclose(args[0], wanted, rtol=program.close, atol=program.close)
        else:
            np.testing.assert_array_equal(args[0], wanted)
        assert session.findings == []
        assert [run.device for run in session.runs] == [device]


@cuda.jit
def add(x: Any, y: Any, out: Any) -> None:
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]


def line_of(function: Any, text: str) -> str:
    """file:line of the first line of a function that holds a text."""
    lines, first = inspect.getsourcelines(function)
    line = next(first + k for k, line in enumerate(lines) if text in line)
    return f"{shown_file(str(inspect.getsourcefile(function)))}:{line}"


@pytest.mark.long
@pytest.mark.sweep(6)
@pytest.mark.parametrize("device", ["cpu", "step"])
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.py_func.__name__)
def test_a_mistake_is_found_at_the_line_of_python(mistake: Any, device: str) -> None:
    """And nothing is found when it is repaired. After a fault arrays are as they were."""
    grid, block, check, says = MISTAKES[mistake]
    for right in (False, True):
        x, out = np.arange(4096, dtype=np.int32) % 64, np.zeros(4096, np.int32)
        words = []
        with pl.numba(checks="all", device=device) as session, warnings.catch_warnings(record=True) as noticed:
            warnings.simplefilter("always", FindingWarning)
            try:
                mistake[grid, block](x, out, right)
            except DeviceFault as fault:
                words = [f"memcheck: {fault}"]
                assert not out.any()
        words += [str(found) for found in session.findings]
        assert len(session.findings) == len([each for each in noticed if each.category is FindingWarning])
        if right:
            assert words == []
        else:
            line = line_of(mistake.py_func, "# here")
            assert any(each.startswith(check) and says in each and line in each for each in words), words


@pytest.mark.long
def test_a_finding_names_the_shared_array() -> None:
    with pl.numba(checks="racecheck"), pytest.warns(FindingWarning) as noticed:
        no_barrier[1, 64](np.ones(64, np.int32), np.ones(64, np.int32), False)
    assert all("of 'tile' (" in str(each.message) for each in noticed)


# -- the host's functions ----------------------------------------------------------------------------------------------


@pytest.mark.long
def test_arrays_stay_on_the_device_between_launches() -> None:
    x = np.arange(100, dtype=np.float32)
    with pl.numba():
        on_device, out = cuda.to_device(x), cuda.device_array_like(x)
        add[1, 128](on_device, on_device, out)
        add[1, 128](out, on_device, out)
        host = np.empty_like(x)
        assert out.copy_to_host(host) is host
        on_device.copy_to_device(host)
        np.testing.assert_array_equal(on_device.copy_to_host(), 3 * x)
        assert out[3] == 9.0
        out[:50] = x[50:]
        np.testing.assert_array_equal(np.asarray(out[::2])[:25], x[50::2])


@pytest.mark.long
def test_slices_and_transposes_of_device_arrays_are_arguments() -> None:
    @cuda.jit
    def scale(a: Any) -> None:
        i, j = cuda.grid(2)
        if i < a.shape[0] and j < a.shape[1]:
            a[i, j] *= 10

    with pl.numba():
        a = cuda.to_device(np.arange(24.0).reshape(4, 6))
        scale[1, (8, 8)](a[1:3, ::2])
        scale[1, (8, 8)](a.T)
        scale[1, (8, 8)](a.reshape(6, 4)[:1])
    wanted = np.arange(24.0).reshape(4, 6)
    wanted[1:3, ::2] *= 10
    wanted *= 10
    wanted.reshape(6, 4)[:1] *= 10
    np.testing.assert_array_equal(a.copy_to_host(), wanted)


def test_initcheck_knows_what_nobody_wrote() -> None:
    with pl.numba(checks="initcheck") as session:
        fresh, out = cuda.device_array(64, np.float32), cuda.device_array(64, np.float32)
        add[1, 64](fresh, fresh, out)
        assert session.findings == []
        with pytest.warns(UserWarning, match="elements of .* have no value"):
            out.copy_to_host()
        with pytest.warns(FindingWarning):
            add[1, 64](out, out, np.zeros(64, np.float32))
    assert session.findings
    with pl.numba(checks="initcheck") as session:
        add[1, 64](np.ones(64, np.float32), np.ones(64, np.float32), fresh)
        add[1, 64](fresh, fresh, np.zeros(64, np.float32))
    assert session.findings == []


def test_hints_say_which_way_an_array_goes() -> None:
    x, out = np.ones(8, np.float32), np.zeros(8, np.float32)

    @cuda.jit
    def swap(a: Any, b: Any) -> None:
        i = cuda.grid(1)
        a[i], b[i] = b[i], a[i]

    with pl.numba():
        swap[1, 8](cuda.In(x), cuda.InOut(out))
    assert x.tolist() == [1.0] * 8
    assert out.tolist() == [1.0] * 8


@pytest.mark.rest
def test_reduce_forall_streams_and_events() -> None:
    with pl.numba() as session:
        total = cuda.reduce(lambda a, b: a + b)
        assert total(np.arange(1000.0)) == 499500.0
        stream, start, end = cuda.stream(), cuda.event(), cuda.event()
        start.record(stream)
        x = np.ones(1000, np.float32)
        with stream.auto_synchronize():
            add.forall(1000, stream=stream)(x, x, x)
        end.record(stream)
        cuda.synchronize()
        assert cuda.event_elapsed_time(start, end) >= 0
        assert cuda.is_available()
        assert cuda.get_current_device().compute_capability == (8, 0)
    assert (x == 2).all()
    assert len(session.runs) > 2


def test_tuples_complex_numbers_and_flags_are_passed() -> None:
    @cuda.jit
    def mixed(out: Any, pair: Any, z: Any, flag: Any, arrays: Any) -> None:
        i = cuda.grid(1)
        out[i] = pair[0] + pair[1] * z.imag + (arrays[0][i] if flag else arrays[1][i])

    out, a, b = np.zeros(4), np.arange(4.0), np.full(4, 100.0)
    with pl.numba():
        mixed[1, 4](out, (1, 2.5), 3 + 4j, True, (a, b))
    assert out.tolist() == [11.0, 12.0, 13.0, 14.0]


def test_print_in_a_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    @cuda.jit
    def say(x: Any) -> None:
        if cuda.threadIdx.x == 2:
            print("x is", x[2])

    with pl.numba():
        say[1, 4](np.arange(4))
    assert capsys.readouterr().out == "[block 0, thread 2] x is 2\n"


# -- compiled kernels --------------------------------------------------------------------------------------------------


def test_a_compiled_kernel_is_a_kernel_like_others() -> None:
    x, out = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
    kernel = pl.numba(add, x, x, out)
    assert kernel.name == "add"
    parts = "x_meminfo x_parent x_nitems x_itemsize x_data".split()
    assert [p.name for p in kernel.module.kernels[0].params][:5] == parts
    run = pl.launch(kernel, 1, 128, x, x, out, device="cpu", counters=True)
    assert (out == 2 * x).all()
    assert run.counters is not None
    lines = {span.line for span in kernel.spans.values() if span.file == __file__}
    assert int(line_of(add.py_func, "out[i] = x[i] + y[i]").rpartition(":")[2]) in lines
    assert pl.numba(add, "void(float32[:], float32[:], float32[:])").name == "add"


@pytest.mark.long
def test_symbols_have_the_names_of_the_source() -> None:
    @cuda.jit(device=True, inline="never")
    def scaled(x: Any, k: Any) -> Any:
        part = cuda.shared.array(32, float32)
        part[cuda.threadIdx.x % 32] = x
        return part[(cuda.threadIdx.x + 1) % 32] * k

    @cuda.jit
    def both(x: Any, n: Any, pair: Any) -> None:
        tile = cuda.shared.array((64, 2), float32)
        i = cuda.threadIdx.x
        tile[i, 0] = scaled(x[i], 2.0) + scaled(pair[0], 3)
        x[i + n] = tile[i ^ 32, 0]

    x = np.zeros(64, np.float32)
    kernel = pl.numba(both, x, 5, (1, 2.0))
    assert (kernel.name, "_ZN" in kernel.ptx) == ("both", False)
    findings = pl.launch(kernel, 1, 64, x, 0, (1, 2.0), checks="all", device="cpu").findings
    places = {finding.where.partition(" of ")[2].replace("part_2", "part") for finding in findings}
    assert places == {"'tile' (512 bytes)", "'part' (128 bytes)"}
    for args, says in {
        (900, (1, 2.0)): "past the end of 'x' (256 bytes at",
        (2.5, (1, 2.0)): "both, argument 2 (n: int64): expected what it was compiled for, got float 2.5",
        (0,): "both takes 3 arguments (x, n, pair), got 2",
    }.items():
        with pytest.raises((DeviceFault, LaunchError)) as stopped:
            pl.launch(kernel, 1, 64, x, *args, device="cpu")
        assert says in str(stopped.value)


def test_the_explorer_shows_it() -> None:
    pytest.importorskip("anywidget", reason="needs anywidget: pip install anywidget")
    x = np.arange(64, dtype=np.float32)
    explorer = pl.explore(pl.numba(add, x, x, x), 1, 64, x, x, np.zeros_like(x), device="cpu")
    assert explorer.wait(60)
    assert [name for name, _ in explorer.view.run["arrays"]] == ["out"]


# -- errors ------------------------------------------------------------------------------------------------------------


def test_what_numba_refuses_is_said_in_its_words() -> None:
    @cuda.jit
    def wrong(x: Any) -> None:
        x[0] = undefined_name  # type: ignore[name-defined]  # noqa: F821

    with pl.numba(), pytest.raises(CompileError) as error:
        wrong[1, 1](np.zeros(1))
    assert "NameError: name 'undefined_name' is not defined" in str(error.value)


def refusals() -> Iterator[tuple[Any, type[Exception], str]]:
    """What is refused, and with which words."""
    gpu = "device is 'cpu' or 'step', not 'gpu'; on a GPU numba runs without ptxlab"
    yield lambda: pl.numba(device="gpu"), LaunchError, gpu
    function = "kernel: expected a function with @cuda.jit, got <built-in function len>"
    yield lambda: pl.numba(len, 3), LaunchError, function
    which = "<lambda>: for which arguments?\n  write:  pl.numba(<lambda>, x, y)    with what it is launched with"
    yield lambda: pl.numba(cuda.jit(lambda x: None)), LaunchError, which
    yield lambda: launched(add, np.zeros(8)), TypeError, "add takes 3 arguments, got 1"
    contiguous = "x: numba takes contiguous host arrays\n  write:  np.ascontiguousarray(x)"
    yield lambda: launched(add, np.zeros((8, 8))[:, 2], np.zeros(8), np.zeros(8)), ValueError, contiguous


def launched(kernel: Any, *args: Any) -> None:
    with pl.numba():
        kernel[1, 8](*args)


@pytest.mark.parametrize(("act", "kind", "words"), [pytest.param(*case, id=case[2][:30]) for case in refusals()])
def test_bad_input_is_refused_with_the_line_to_write(act: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind) as error:
        act()
    assert str(error.value) == words


def test_numba_gets_its_driver_back() -> None:
    before = cuda.to_device, cuda.is_available
    session = pl.numba.activate(checks="all")
    assert isinstance(session, Session)
    assert cuda.to_device is not before[0]
    pl.numba.deactivate()
    assert (cuda.to_device, cuda.is_available) == before
    with pytest.raises(ZeroDivisionError), pl.numba():
        raise ZeroDivisionError
    assert (cuda.to_device, cuda.is_available) == before
