"""The GPU's whole path without a GPU: real cuda-core and cuda-bindings, a stand-in for the driver, kernels that run."""

from __future__ import annotations

import functools
import json
import os
import re
import select
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import stand_in
from slow_cases import slow

pytestmark = [
    pytest.mark.skipif(bool(stand_in.unavailable()), reason=stand_in.unavailable()),
    pytest.mark.long,
]

TESTS = Path(__file__).parents[1]
HEAD = """
import struct
import numpy as np
import ptxlab as pl
from ptxlab.errors import DeviceFault, PtxlabError
from ptxlab.gpu import device, graph
from stand_in import programs

def attempt(work, *args, **options):
    try:
        return work(*args, **options)
    except PtxlabError as error:
        print(type(error).__name__, str(error).splitlines()[0])
"""
FAULT = "DeviceFault gpu: an access outside every allocation (CUDA_ERROR_ILLEGAL_ADDRESS)\n"
LOST = (
    "UnavailableError {} was stopped by the GPU ({}), after which this process cannot use it; "
    "restart Python (in a notebook: Kernel, Restart), or write device='cpu'\n"
)


SERVER = (
    HEAD
    + """
import faulthandler
import json
import os
import signal
import sys

import cuda.core  # it takes longer than most tests, and does not look for a driver yet

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has tests in the background ignore it
for line in sys.stdin:
    asked = json.loads(line)
    if child := os.fork():
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    os.environ.clear()
    os.environ.update(asked["environment"])
    for number, file in enumerate(asked["files"], 1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), number)
    faulthandler.dump_traceback_later(100, exit=True, file=2)
    exec(asked["code"])
    break
"""
)
"""Imports once what the tests need, and runs the code of each in a process forked before there is any CUDA. One that
hangs ends with the stacks of its threads."""


class Done(NamedTuple):
    """What a process with the stand-in wrote."""

    out: str
    err: str
    log: str


@functools.cache
def server() -> subprocess.Popen[str]:
    """A process with `SERVER`, which ends with this one: its input is closed then."""
    command = [sys.executable, "-c", SERVER]
    environment = environment_of() | {"OPENBLAS_NUM_THREADS": "1"}  # a process with threads had better not fork
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def environment_of(**options: object) -> dict[str, str]:
    """The stand-in's, in which the modules of the tests are found."""
    environment = stand_in.environment(**options)
    places = [str(TESTS), str(TESTS.parent), environment.get("PYTHONPATH", "")]
    return environment | {"PYTHONPATH": os.pathsep.join(places)}


def run(code: str, log: Path, *, fresh: bool = False, **options: object) -> Done:
    """Python code in a process whose GPU is the stand-in. fresh: in one that has not imported cuda.core yet."""
    environment, code = environment_of(log=log, **options), textwrap.dedent(code)
    if fresh:
        command = [sys.executable, "-c", HEAD + code]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
        assert done.returncode == 0, done.stderr
        return Done(done.stdout, done.stderr, log.read_text())
    out, err = (log.with_name(name) for name in ("out.txt", "err.txt"))
    for file in (out, err):
        file.unlink(missing_ok=True)
    files, process = [str(out), str(err)], server()
    print(json.dumps({"environment": environment, "files": files, "code": code}), file=process.stdin, flush=True)
    assert select.select([process.stdout], [], [], 120)[0], "it does not end"
    assert process.stdout.readline() == "0\n", err.read_text()
    return Done(out.read_text(), err.read_text(), log.read_text())


@pytest.fixture(scope="module", autouse=True)
def _server_ends() -> Iterator[None]:
    yield
    if server.cache_info().currsize:
        server().kill()
        server().communicate()
        server.cache_clear()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The file with the calls of the driver."""
    return tmp_path / "calls.txt"


def gpu_tests(log: Path, *files: str) -> str:
    """The summary of the tests marked `gpu` in some files, run on the stand-in."""
    environment = stand_in.environment(log=log)
    for name in [name for name in environment if name.startswith("PYTEST_")]:  # those of this run
        del environment[name]
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "gpu", *files]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=TESTS)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()[-1]


# -- what runs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "files",
    [
        "gpu/test_gpu_device.py launch/test_launch_run.py launch/test_module_variables.py",
        *slow(f"kernels/test_kernels_{name}.py" for name in ("decode", "decode_systems", "prefill")),
        *slow(["benchmarks/test_benchmarks_decode.py"]),
    ],
)
def test_the_gpu_tests_pass(log: Path, files: str) -> None:
    assert re.match(r"\d+ passed", gpu_tests(log, *files.split()))


@pytest.mark.rest
def test_auto_takes_the_quickest_rung_of_the_gpu(log: Path) -> None:
    """The stand-in is an H100: `hopper` takes head_dim 64, and nothing has to be said for it."""
    done = run("""
        for dim in (64, 80):
            q, k, v = pl.reference.random_inputs(1, 1, 1, 9, 20, dim, dtype=np.float16)
            result = pl.attention(q, k, v, device="gpu")
            print(result.kernel.config.kernel, result.kernel.config.arch, result.error.ok)
        """, log)  # fmt: skip
    assert done.out.splitlines() == ["hopper sm_90a True", "pipelined sm_90a True"]


def test_variables_and_text(log: Path) -> None:
    """A module's variables stay on whatever device it runs, those of text do not; printf reaches standard output."""
    done = run("""
        print(device.describe().name, device.describe().arch, device.describe().cuda)
        counts = np.zeros(4, np.uint32)
        module = pl.parse(programs.COUNT)
        for device in ("gpu", "gpu", "cpu", "gpu", "step"):
            for kernel in (programs.COUNT, module):
                pl.launch(kernel, 1, 4, counts, device=device)
            print(counts.max(), module["next"])
        module["next"] = 90
        pl.launch(module, 1, 4, counts)
        pl.launch(programs.COUNT, 1, 4, counts)
        print(counts.max(), module["next"])
        pl.launch(programs.PRINT, 2, 1, device="gpu")
        """, log)  # fmt: skip
    first, *lines = done.out.splitlines()
    assert first == "stand-in for H100 SXM (emulator) sm_90 (13, 0)"
    assert lines[:6] == ["3 4", "7 8", "11 12", "15 16", "19 20", "3 94"]
    assert (sorted(lines[6:]), done.err) == (["block 0", "block 1"], "")
    assert done.log.endswith("at exit: 9 launches; alive: 0 allocations (0 bytes), 0 streams, 2 events, 0 graphs\n")


@pytest.mark.rest
def test_functions_that_call_themselves_get_their_stack(log: Path) -> None:
    """A driver gives a thread 1024 bytes; a launch asks for what the emulator gives, once, and only where needed."""
    done = run(f"""
        import sys
        sys.path.append({str(TESTS / "support")!r})
        from cuda_programs import ptx_of, run
        for name in ("reductions", "recursion", "recursion"):
            print(run(name, ptx_of(name, "O3", "sm_90"), "gpu").verdict)
        """, log)  # fmt: skip
    assert done.out.splitlines() == ["ok"] * 3
    assert [line for line in done.log.splitlines() if line.startswith("cuCtxSetLimit")] == ["cuCtxSetLimit 0 = 16384"]


@pytest.mark.rest
def test_the_driver_assembles_what_moves_registers(log: Path) -> None:
    """Without `ptxas` the text goes to the driver, whose assembler minds `setmaxnreg`; an old driver gets the cubin."""
    code = """
        import os

        os.environ["PTXAS"] = ""
        built = pl.kernels.get("hopper").build(head_dim=64, tile_q=64, tile_kv=16, arch="sm_90a")
        q = np.random.default_rng(9).standard_normal((1, 1, 20, 64)).astype(np.float16)
        print(attempt(lambda: pl.attention(q, q, q, kernel=built, device="gpu").error.ok))
        """
    done = run(code, log)
    assert (done.out, done.log.count("cuLibraryLoadData\n  PTX\n")) == ("True\n", 1)
    done = run(code, log, refuse="cuLibraryLoadData=CUDA_ERROR_UNSUPPORTED_PTX_VERSION")
    assert done.log.count("cuLibraryLoadData\n") == 1 + 2  # the text, and then the cubin


def test_what_a_launch_may_ask_for(log: Path) -> None:
    """Cluster, cooperative and more than 48 KB of shared memory are taken; what is too large is refused, as by a
    driver, and the next launch works."""
    done = run("""
        x = np.zeros(2048, np.uint32)
        memory = device.allocate(x.nbytes)
        memory.write(x)

        def bump(grid, block, **options):
            values = [struct.pack("<Q", memory.address), struct.pack("<I", 1)]
            attempt(device.run, programs.BUMP, "bump", grid, block, values, **options)

        bump((4, 1, 1), (32, 1, 1), cluster=(2, 1, 1))
        bump((4, 1, 1), (32, 1, 1), cluster=(4, 1, 1), cooperative=True)
        bump((2, 1, 1), (1024, 1, 1), shared=200 * 1024)
        print(np.bincount(memory.read().view(np.uint32)))
        bump((1, 1, 1), (32, 33, 1))
        bump((1, 1, 1), (1, 1, 65))
        bump((1, 65536, 1), (32, 1, 1))
        bump((0, 1, 1), (32, 1, 1))
        bump((16, 1, 1), (32, 1, 1), cluster=(16, 1, 1))
        bump((1, 1, 1), (32, 1, 1), shared=228 * 1024)
        bump((2**20, 1, 1), (32, 1, 1), cooperative=True)
        bump((2, 1, 1), (1024, 1, 1))
        print(np.bincount(memory.read().view(np.uint32)))
        values = [struct.pack("<Q", memory.address)]
        attempt(device.run, programs.CLUSTER, "cluster", (4, 1, 1), (32, 1, 1), values, cluster=(2, 1, 1))
        print(memory.read().view(np.uint32)[:4])
        memory.free()
        """, log)  # fmt: skip
    too_large = "LaunchError bump: a size of the launch is out of range (CUDA_ERROR_INVALID_VALUE)\n"
    assert done.out == (
        "[   0 1920    0  128]\n" + 4 * too_large + "LaunchError bump: the cluster is larger than this GPU allows "
        "(CUDA_ERROR_INVALID_CLUSTER_SIZE)\n"
        "TargetError shared: stand-in for H100 SXM (emulator) has 232448 bytes for a block of bump, "
        "233472 are asked for\n"
        "LaunchError bump: a cooperative grid must be resident at once, and this one is too large "
        "(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE)\n"
        "[   0    0 1920    0  128]\n"
        "[ 0  1 16 17]\n"
    )
    assert done.err == ""
    assert "  1048576 blocks, 4224 are resident\n  CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE\n" in done.log


def test_a_graph_keeps_its_parameters_and_reads_memory_anew(log: Path) -> None:
    done = run("""
        memory = device.allocate(256)
        memory.write(np.zeros(64, np.uint32))
        values = [struct.pack("<Q", memory.address), struct.pack("<I", 7)]
        nodes = [graph.Node(programs.BUMP, "bump", (n, 1, 1), (32, 1, 1), values) for n in (1, 2)]
        recorded = graph.Graph(nodes)
        del values, nodes
        print(np.bincount(memory.read().view(np.uint32)))
        print(recorded.replay(3) > 0)
        print(memory.read().view(np.uint32)[[0, 63]])
        recorded.free()
        memory.free()
        """, log)  # fmt: skip
    assert done.out == "[64]\nTrue\n[42 21]\n"
    assert "cuStreamBeginCapture mode 2\n" in done.log
    assert done.log.endswith("at exit: 6 launches; alive: 0 allocations (0 bytes), 0 streams, 2 events, 0 graphs\n")


def test_memory_that_python_gives_back_does_not_end_a_recording(log: Path) -> None:
    """The garbage collector may run between two launches that are recorded."""
    done = run("""
        memory, others = device.allocate(256), [device.allocate(64)]
        memory.write(np.zeros(64, np.uint32))
        values = [struct.pack("<Q", memory.address), struct.pack("<I", 7)]
        config = device.launch_config
        device.launch_config = lambda *given, **more: (others.clear(), config(*given, **more))[1]
        recorded = graph.Graph([graph.Node(programs.BUMP, "bump", (2, 1, 1), (32, 1, 1), values)] * 2)
        print(recorded.replay() > 0, memory.read().view(np.uint32)[[0, 63]])
        """, log)  # fmt: skip
    assert done.out == "True [14 14]\n"
    begun, ended = (done.log.index(name) for name in ("cuStreamBeginCapture", "cuStreamEndCapture"))
    assert "cuMemFree" in done.log[begun:ended]


def test_a_dependent_launch_of_a_graph_may_start_early(log: Path) -> None:
    """`decode_reduce` for sm_90 waits by itself, so its launch does not; the first of a graph has none to wait for."""
    code = """
        from ptxlab.launch import replay

        for arch in ("sm_80", "sm_90"):
            reduce = pl.kernels.get("decode_reduce", "decode").build(head_dim=64, dtype="f16", arch=arch)
            recorded = attempt(replay.record, [(reduce, (2, 1, 1), (64, 1, 1), 0, [None, None, None, 2, 1])] * 2)
            print(reduce.dependent)
            recorded and recorded.free()
        """
    done = run(code, log)
    assert done.out.splitlines() == ["False", "True"]
    assert re.findall(r"  decode_reduce\S* grid .* attributes (\d)", done.log) == ["0", "0", "0", "1"]
    done = run(code, log, refuse="cuLaunchKernelEx=CUDA_ERROR_INVALID_VALUE")
    assert done.out.count("LaunchError decode_reduce") == 2
    assert done.log.endswith("0 streams, 0 events, 0 graphs\n")


def test_threads_launch_at_the_same_time(log: Path) -> None:
    """Among them the first launch of all, which imports cuda.core; each frees memory while others' kernels run."""
    done = run("""
        import threading

        def work(n):
            for _ in range(20):
                buffer = pl.to_device(np.zeros(320, np.uint32), device="gpu")
                pl.launch(programs.BUMP, 10, 32, buffer, n, device="gpu")
                if (buffer.copy_to_host() != n).any():
                    print("wrong")
                buffer.free()

        threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        """, log, fresh=True)  # fmt: skip
    assert (done.out, done.err) == ("", "")
    assert "at exit: 80 launches; alive: 0 allocations (0 bytes), 0 streams," in done.log


# -- what goes wrong ---------------------------------------------------------------------------------------------------


@pytest.mark.sweep(2)
@pytest.mark.parametrize("early", [False, True], ids=["reported late", "reported early"])
def test_an_address_that_is_not_allocated_is_a_fault(log: Path, early: bool) -> None:
    """Freed memory, seen by the emulator. A driver may report it at the next call or when it is waited for."""
    done = run("""
        memory = device.allocate(128)
        kept = pl.to_device(np.zeros(32, np.uint32), device="gpu")
        address = memory.address
        memory.free()
        values = [struct.pack("<Q", address), struct.pack("<I", 1)]
        attempt(device.run, programs.BUMP, "bump", (1, 1, 1), (32, 1, 1), values)
        attempt(device.allocate, 64)
        attempt(kept.copy_to_host)
        """, log, early=early)  # fmt: skip
    assert done.out == FAULT + 2 * LOST.format("bump", "CUDA_ERROR_ILLEGAL_ADDRESS")
    assert "  memcheck: load of 4 bytes at 0x50000000000: " in done.log
    assert "  will be CUDA_ERROR_ILLEGAL_ADDRESS\n" in done.log


@pytest.mark.sweep(2)
@pytest.mark.parametrize(
    ("launch", "name"),
    [
        ("programs.BUMP, 'bump', (1, 1, 1), (1, 1, 1), [struct.pack('<Q', memory.address + 2), bytes(4)]",
         "CUDA_ERROR_MISALIGNED_ADDRESS"),
        ("programs.BUMP, 'bump', (2, 1, 1), (32, 1, 1), [struct.pack('<Q', memory.address), bytes(4)]",
         "CUDA_ERROR_ILLEGAL_ADDRESS"),
        ("programs.TRAP, 'stop', (1, 1, 1), (1, 1, 1), []", "CUDA_ERROR_LAUNCH_FAILED"),
        ("programs.BEYOND, 'beyond', (1, 1, 1), (1, 1, 1), []", "CUDA_ERROR_LAUNCH_FAILED"),
    ],
    ids=["misaligned", "past the end", "trap", "shared"],
)  # fmt: skip
def test_each_fault_has_its_result(log: Path, launch: str, name: str) -> None:
    done = run(f"""
        memory = device.allocate(128)
        attempt(device.run, {launch})
        """, log)  # fmt: skip
    assert done.out.startswith("DeviceFault gpu: ")
    assert done.out.endswith(f" ({name})\n")


def test_memory_that_runs_out(log: Path) -> None:
    done = run("""
        held = device.allocate(600_000)
        attempt(device.allocate, 600_000)
        attempt(pl.launch, programs.BUMP, 1, 32, np.zeros(2**18, np.uint32), 1, device="gpu")
        held.free()
        device.allocate(600_000).free()
        """, log, memory=1_000_000)  # fmt: skip
    assert done.out == "".join(
        f"LaunchError {n} bytes: the GPU has not enough free memory (CUDA_ERROR_OUT_OF_MEMORY)\n"
        for n in (600_000, 2**20)
    )
    assert done.log.endswith("at exit: 0 launches; alive: 0 allocations (0 bytes), 0 streams, 0 events, 0 graphs\n")


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    ("options", "out"),
    [
        ({"fail": "bump@2"}, "1\n" + FAULT + LOST.format("bump", "CUDA_ERROR_ILLEGAL_ADDRESS")),
        ({"fail": "count,b*p=CUDA_ERROR_HARDWARE_STACK_ERROR"},
         "DeviceFault gpu: the call stack overflowed or was overwritten (CUDA_ERROR_HARDWARE_STACK_ERROR)\n"
         + 2 * LOST.format("bump", "CUDA_ERROR_HARDWARE_STACK_ERROR")),
        ({"refuse": "cuMemAlloc*=CUDA_ERROR_OUT_OF_MEMORY@2"},
         "1\n" + 2 * "LaunchError 128 bytes: the GPU has not enough free memory (CUDA_ERROR_OUT_OF_MEMORY)\n"),
        ({"refuse": "cuEventRecord@3"},
         "1\nDeviceFault gpu: the GPU stopped it (CUDA_ERROR_UNKNOWN)\n" + LOST.format("bump", "CUDA_ERROR_UNKNOWN")),
        ({"refuse": "cuLibraryLoadData=CUDA_ERROR_NO_BINARY_FOR_GPU"},
         3 * ("UnavailableError the GPU's driver does not take the code of this assembler "
         "(CUDA_ERROR_NO_BINARY_FOR_GPU): update the driver, or install the assembler of the driver's CUDA, such as "
         "pip install 'nvidia-nvjitlink<13.1'; device='cpu' needs neither\n")),
    ],
    ids=["kernel", "kernel with its result", "memory", "event", "code"],
)  # fmt: skip
def test_failures_on_demand(log: Path, options: dict[str, str], out: str) -> None:
    """A kernel's failure is for good; a refused call is one call, and what follows is ptxlab's to decide."""
    done = run("""
        def bump():
            x = np.zeros(32, np.uint32)
            pl.launch(programs.BUMP, 1, 32, x, 1, device="gpu")
            print(x[0])

        for _ in range(3):
            attempt(bump)
        """, log, **options)  # fmt: skip
    assert done.out == out


@pytest.mark.parametrize(("hang", "launch"), [
    ("bump", "programs.BUMP, 'bump', (1, 1, 1), (32, 1, 1), [struct.pack('<Q', memory.address), bytes(4)]"),
    ("", "programs.LOOP, 'loop', (1, 1, 1), (1, 1, 1), []"),
], ids=["in a wait", "while the launch returns"])  # fmt: skip
def test_a_kernel_that_never_ends_can_be_interrupted(log: Path, hang: str, launch: str) -> None:
    """Ctrl-C ends the waiting; then nothing that would wait for the kernel is tried, and the process can end."""
    done = run(f"""
        import signal

        memory = device.allocate(128)
        device.ready(*({launch})[:2], 0)
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.4)
        try:
            device.run({launch})
        except KeyboardInterrupt:
            print("interrupted")
        attempt(memory.read)
        """, log, **({"hang": hang} if hang else {}))  # fmt: skip
    assert done.out == (
        f"interrupted\nUnavailableError {hang or 'loop'} was interrupted and may still run on the GPU; "
        "restart Python (in a notebook: Kernel, Restart), or write device='cpu'\n"
    )
    assert not hang or "cuEventQuery\n  CUDA_ERROR_NOT_READY\n" in done.log


def test_a_kernel_that_never_ends_is_given_up_after_a_while(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory that nobody refers to any more is not given back then, since the driver would wait for ever."""
    monkeypatch.setenv("PTXLAB_GPU_LIMIT", "0.3")
    done = run("""
        def bump(n):
            x = pl.empty(n, np.uint32, device="gpu")
            pl.launch(programs.BUMP, 1, 32, x, 1, device="gpu")

        attempt(bump, 32)
        attempt(bump, 32)
        """, log, hang="bump")  # fmt: skip
    assert done.out == (
        "DeviceFault gpu: it did not end within 0.3 s (PTXLAB_GPU_LIMIT)\n"
        "UnavailableError bump did not end within 0.3 s and may still run on the GPU; "
        "restart Python (in a notebook: Kernel, Restart), or write device='cpu'\n"
    )
    monkeypatch.setenv("PTXLAB_GPU_LIMIT", "soon")
    done = run("attempt(pl.launch, programs.BUMP, 1, 32, np.zeros(32, np.uint32), 1, device='gpu')", log)
    assert done.out == "LaunchError PTXLAB_GPU_LIMIT: expected a number of seconds, such as 30, found 'soon'\n"


def test_a_copy_behind_a_kernel_that_never_ends_is_ended_from_outside(log: Path) -> None:
    environment = environment_of(log=log, hang="bump")
    code = """
    from cuda.bindings import driver

    memory = device.allocate(128)
    loaded = device.ready(programs.BUMP, "bump", 0)
    config = device.launch_config((1, 1, 1), (32, 1, 1), 0, False, None)
    pointers, held = device.parameter_block([struct.pack("<Q", memory.address), bytes(4)])
    import ctypes
    driver.cuLaunchKernelEx(config, loaded.handle, ctypes.addressof(pointers), 0)
    memory.read()
    """
    with subprocess.Popen([sys.executable, "-c", HEAD + textwrap.dedent(code)], env=environment) as process:
        while process.poll() is None and not (log.exists() and "waits for ever\n" in log.read_text()):
            time.sleep(0.02)
        process.terminate()
    assert process.returncode == -signal.SIGTERM


def test_another_gpu(log: Path) -> None:
    """An A100 has no clusters and less shared memory, and takes no code that is for others."""
    done = run("""
        print(device.describe())
        x = np.zeros(32, np.uint32)
        pl.launch(programs.BUMP, 1, 32, x, 1, device="gpu")
        print(x[0])
        attempt(pl.launch, programs.BUMP, 1, 32, x, 1, device="gpu", cluster=1)
        attempt(device.run, programs.BUMP, "bump", (1, 1, 1), (1, 1, 1), [bytes(8), bytes(4)], shared=164 * 1024)
        """, log, target="sm_80", driver=12080, memory=40 << 30)  # fmt: skip
    assert done.out == (
        "stand-in for A100 (emulator) (sm_80, 108 SMs, 40 GiB), driver for CUDA 12.8\n1\n"
        "LaunchError bump: this GPU does not support this kind of launch (CUDA_ERROR_NOT_SUPPORTED)\n"
        "TargetError shared: stand-in for A100 (emulator) has 166912 bytes for a block of bump, "
        "167936 are asked for\n"
    )
    assert "  sm_80 has no clusters\n" in done.log


# -- the tool ----------------------------------------------------------------------------------------------------------


def test_a_command_with_the_stand_in_as_its_gpu() -> None:
    code = "from ptxlab import gpu; print(gpu.describe())"
    options = ["--target", "sm_89", "--memory", str(24 << 30), "--driver", "13010"]
    command = [sys.executable, str(TESTS / "stand_in"), *options, "--", sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (
        "stand-in for RTX 4090 (emulator) (sm_89, 128 SMs, 24 GiB), driver for CUDA 13.1\n",
        "",
    )


def test_without_its_environment_it_is_no_gpu() -> None:
    environment = dict(os.environ) | {"LD_LIBRARY_PATH": str(stand_in.library().parent)}
    code = "from cuda.bindings import driver; print(driver.cuInit(0)[0].name)"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("CUDA_ERROR_NO_DEVICE\n", "")
