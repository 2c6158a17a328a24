"""What may be given for which parameter: every message of a `LaunchError`, whole."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest

import ptxlab as pl
from ptxlab.builder import Builder, Ptr, f32, kernel
from ptxlab.errors import shown_file

RAW = """.version 8.0
.target sm_80
.address_size 64
.visible .entry first(
    .param .u64 x, .param .u32 n, .param .f32 a, .param .s32 s, .param .f64 b, .param .b32 bits,
    .param .align 8 .b8 blob[16], .param .u64 .ptr .global .align 4 p
)
{
    ret;
}
"""
NAMES = "scalar, tiled, tiled2d, wmma, mma, swizzle, pipelined, wgmma, hopper"
LISTED = ": expected an array, a device buffer or a 64-bit integer, got a list of"
DECODE = "pl.decode(q, k_cache, v_cache, lengths, kernel='decode')"
ATTENTION = "pl.attention(q, k, v, kernel=pl.kernels.get('tiled2d').build(head_dim=16, dtype='f32', tile_kv=16))"
CUDA = 'extern "C" __global__ void k(int *o) { o[threadIdx.x] = 1; }'
W = "\n  write:  "
Q = np.zeros((1, 1, 4, 16), np.float32)
TWO = RAW + ".visible .entry second() { ret; }\n"


def good():
    return {
        "x": np.zeros(4, np.float32), "n": 4, "a": 1.5, "s": -3, "b": 2.0, "bits": np.float32(1), "blob": bytes(16),
        "p": np.zeros(4, np.float32),
    }  # fmt: skip


def refused(**changed):
    with pytest.raises(pl.LaunchError) as caught:
        pl.launch(RAW, 1, 32, *(good() | changed).values(), device="step")
    return str(caught.value)


def test_the_good_arguments_are_taken():
    run = pl.launch(RAW, 1, 32, *good().values(), device="step")
    assert pl.launch(TWO, 1, 32, entry="second", device="step").kernel == "second"
    assert (run.kernel, run.device, run.grid, run.block) == ("first", "step", (1, 1, 1), (32, 1, 1))
    for checks in ("memcheck", "racecheck", "initcheck, racecheck", ["all"]):
        assert pl.launch(RAW, 1, 32, *good().values(), device="step", checks=checks).findings == []


def test_none_is_a_null_pointer():
    ptx = RAW.replace(
        "    ret;",
        """    .reg .b64 %address<2>;
    ld.param.u64 %address0, [p];
    ld.param.u64 %address1, [x];
    st.global.u64 [%address1], %address0;
    ret;""",
    )
    x = np.full(1, 7, np.uint64)
    pl.launch(ptx, 1, 1, *(good() | {"x": x, "p": None}).values(), device="step")
    assert x.tolist() == [0]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"x": 1.5}, "argument 1 (x: .u64): expected an array, a device buffer or a 64-bit integer, got float 1.5"),
        ({"x": pl.const([1, 2])}, f"argument 1 (x: .u64){LISTED} 2\n  write:  x = np.array(x, np.int32)"),
        ({"n": np.zeros(3, np.float32)},
         "argument 2 (n: .u32): expected an integer, or np.uint32, got an array of float32 [3]"),
        ({"n": -1}, "argument 2 (n: .u32): expected an integer from 0 to 4294967295, got -1"),
        ({"n": np.int64(4)}, f"argument 2 (n: .u32): expected an integer, or np.uint32, got np.int64 4{W}int(n)"),
        ({"n": 4.0}, "argument 2 (n: .u32): expected an integer, or np.uint32, got float 4.0\n  write:  int(n)"),
        ({"n": b"1234"}, "argument 2 (n: .u32): expected an integer, or np.uint32, got 4 bytes"),
        ({"a": np.float64(1)}, f"argument 3 (a: .f32): expected a float, or np.float32, got np.float64 1.0{W}float(a)"),
        ({"s": 1 << 31}, "argument 4 (s: .s32): expected an integer from -2147483648 to 2147483647, got 2147483648"),
        ({"b": "2"}, "argument 5 (b: .f64): expected a float, or np.float64, got str '2'"),
        ({"bits": 1.0}, "argument 6 (bits: .b32): expected an integer, or a numpy scalar of 4 bytes, got float 1.0"),
        ({"blob": bytes(15)}, "argument 7 (blob: .b8[16]): expected 16 bytes, got 15"),
        ({"blob": 7}, "argument 7 (blob: .b8[16]): expected 16 bytes, got int 7"),
        ({"p": 7}, "argument 8 (p: .u64): expected an array or a device buffer, got int 7"),
        ({"x": b"1234"}, "argument 1 (x: .u64): expected an array, a device buffer or a 64-bit integer, got 4 bytes\n"
         "  write:  pl.const(np.frombuffer(x, np.uint8))"),
        ({"p": np.zeros(3, object)},
         "argument 8 (p: .u64): expected numbers, got an array of object [3], which holds Python objects\n"
         "  write:  p.astype(np.float32)    # if each of them is a number"),
        ({"p": np.zeros((4, 4), np.float32).T},
         "argument 8 (p: .u64): expected a C-contiguous array, got strides (4, 16) for shape (4, 4)\n"
         "  write:  c = np.ascontiguousarray(p)    # and give c to the kernel\n"
         "          p[...] = c    # after the launch, for results"),
        ({"p": np.broadcast_to(np.float32(1), (1,))},
         "argument 8 (p: .u64): the array is read-only, so the result cannot be copied back\n"
         "  write:  pl.const(p)    # if the kernel only reads it; else:\n"
         "          c = np.array(p)    # and give c to the kernel, which gets the results"),
    ],
)  # fmt: skip
def test_wrong_arguments(changed, message):
    assert refused(**changed) == f"first, {message}"


STRUCTS, DATES = np.zeros(2, "i4,f4"), np.zeros(2, "datetime64[s]")
FIELD = f"{W}p.view(np.uint8)    # its bytes; one field: p['f0'].copy()"


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (STRUCTS, f"got an array of [('f0', '<i4'), ('f1', '<f4')] [2]{FIELD}"),
        (np.array(["ab"]), "got an array of <U2 [1], which holds strings\n"
         "  write:  p.astype(np.float32)    # if each of them is a number"),
        (DATES, "got an array of datetime64[s] [2]\n  write:  p.view(np.int64)"),
        (np.zeros(2, ">f4"),
         "got an array of >f4 [2]\n  write:  c = np.asarray(p, np.float32)    # and give c to the kernel\n"
         "          p[...] = c    # after the launch, for results"),
        (pl.out(STRUCTS), f"got an array of [('f0', '<i4'), ('f1', '<f4')] [2]{FIELD}"),
    ],
)  # fmt: skip
def test_arrays_of_no_numbers(array, message):
    says = refused(p=array)
    order = " in native byte order" if ">f4" in message else ""
    assert says.startswith(f"first, argument 8 (p: .u64): expected numbers{order}, got ")
    assert says.endswith(message)


@pytest.mark.parametrize(
    "changed",
    [*({"p": np.zeros(2, dtype)} for dtype in (np.bool_, np.complex64, np.float16, np.int8, np.uint64)),
     {"p": pl.const(np.broadcast_to(np.float32(1), (1,)))}, {"checks": "racecheck"}],
)  # fmt: skip
def test_what_is_taken(changed):
    options = {"checks": changed.pop("checks")} if "checks" in changed else {}
    assert pl.launch(RAW, 1, 32, *(good() | changed).values(), device="step", **options).findings == []


def test_arrays_that_overlap_in_part():
    whole = np.zeros(8, np.float32)
    assert refused(x=whole[:5], p=whole[3:]) == (
        "first: the arrays for x and p overlap in part; pass whole arrays or copies"
    )
    assert refused(x=whole, p=pl.out(whole)) == "first: the same array is given for x and p, once as pl.out"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"grid": (1, 2, 3, 4)}, "grid: expected one to three whole numbers, got (1, 2, 3, 4)"),
        ({"grid": 0}, "grid x-dimension is 0; sm_80 allows 1 to 2147483647"),
        ({"grid": (1, 65536)}, "grid y-dimension is 65536; sm_80 allows 1 to 65535"),
        ({"block": 1.5}, "block: expected one to three whole numbers, got 1.5"),
        ({"block": 1025}, "block x-dimension is 1025; sm_80 allows 1 to 1024"),
        ({"block": (64, 32)}, "block: sm_80 has at most 1024 threads in a block, 64 x 32 x 1 are 2048"),
        ({"shared": -1}, "shared: expected a number of bytes, got -1"),
        ({"shared": 200000}, "shared memory: sm_80 has at most 166912 bytes for a block, 200000 are asked for "
         "(0 declared + 200000 dynamic)"),
        ({"device": "tpu"}, "device must be 'auto', 'gpu', 'cpu' or 'step', not 'tpu'"),
        ({"device": None}, "device must be 'auto', 'gpu', 'cpu' or 'step', not None"),
        ({"device": "cuda:0"}, "device must be 'auto', 'gpu', 'cpu' or 'step', not 'cuda:0'\n  write:  device='gpu'"),
        ({"block": b"1"}, "block: expected one to three whole numbers, got b'1'"),
        ({"block": 1 << 70}, f"block x-dimension is {1 << 70}; sm_80 allows 1 to 1024"),
        ({"shared": None}, "shared: expected a number of bytes, got None"),
        ({"budget": 0}, "budget: expected a whole number of at least 1, got 0"),
        ({"seed": 1.5}, "seed: expected a whole number, got 1.5"),
        ({"checks": "race"}, "unknown check 'race'; did you mean racecheck? choose from "
         "memcheck, initcheck, racecheck, synccheck"),
        ({"checks": 5}, "checks: expected names from memcheck, initcheck, racecheck, synccheck; got 5"),
        ({"checks": [5]}, "unknown check 5; choose from memcheck, initcheck, racecheck, synccheck"),
        ({"arch": 5}, "arch: expected a target such as 'sm_90', got 5"),
        ({"arch": "80"}, f"arch: expected a target such as 'sm_90', got '80'{W}arch='sm_80'"),
        ({"arch": "ampere"}, "arch: expected a target such as 'sm_90', got 'ampere'"),
        ({"entry": 5}, "entry: expected the name of a kernel, got 5"),
        ({"counters": "no"}, "counters: expected True or False, got 'no'"),
        ({"cooperative": None}, "cooperative: expected True or False, got None"),
        ({"budget": 1 << 70}, f"budget: expected a whole number up to {(1 << 63) - 1}, got {1 << 70}"),
        ({"workers": 10**9}, "workers: expected a whole number up to 4096, got 1000000000"),
        ({"tier": "fast"}, "tier is 'fast'; choose 'quick' or 'optimized'"),
        ({"tier": ["quick"]}, "tier is ['quick']; choose 'quick' or 'optimized'"),
        ({"tier": "quick"}, "tier: device='step' compiles nothing\n  write:  device='cpu'"),
        ({"trace": True}, "trace: expected a pl.Trace, got True\n  write:  trace=pl.Trace()"),
    ],
)  # fmt: skip
def test_sizes_and_options(changed, message):
    options = {"grid": 1, "block": 32, "device": "step", "entry": "second"} | changed
    grid, block = options.pop("grid"), options.pop("block")
    with pytest.raises((pl.LaunchError, pl.TargetError)) as caught:
        pl.launch(TWO, grid, block, **options)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("kernel", "says", "write"),
    [
        (5, "int", None),
        (b".version 8.0", "bytes", "kernel.decode()"),
        (Path("a/k.ptx"), "the name of a file, 'a/k.ptx'", "open('a/k.ptx').read()"),
        ("k.cu", "the name of a file, 'k.cu'", "pl.cuda(pathlib.Path('k.cu'))"),
        (b"\x7fELF\2\1", "a cubin, which is machine code", "nvcc -ptx kernel.cu, and its text"),
        (CUDA, "CUDA C++", "pl.cuda(source)  (in a notebook: %%cuda)"),
        ("@triton.jit\ndef k(x):\n    pass\n", "Python", "pl.builder.kernel(f), with the function f itself"),
        ("define void @k() {\n  ret void\n}\n", "LLVM IR", "llc -mcpu=sm_80 kernel.ll -o kernel.ptx"),
        (good, "the Python function good", "pl.builder.kernel(good)"),
    ],
)
@pytest.mark.parametrize("take", [pl.parse, pl.assemble, pl.inspect, lambda kernel: pl.launch(kernel, 1, 32)])
def test_what_is_no_kernel(take, kernel, says, write):
    with pytest.raises(pl.PtxlabError) as caught:
        take(kernel)
    message = str(caught.value)
    assert says in message.splitlines()[0]
    assert message.endswith(f"\n  write:  {write}") or write is None


def test_a_kernel_of_the_library_is_built_before_it_is_launched():
    with pytest.raises(pl.PtxSyntaxError, match=r"pl\.kernels\.get\('scalar'\)\.build\(\)$"):
        pl.launch("scalar", 1, 32)


def test_what_is_missing_is_named():
    q = np.zeros((2, 2), np.float32)
    with pytest.raises(pl.LaunchError, match=r"block is missing\n  write:  pl.launch\(kernel, grid, block, x, y, n\)"):
        pl.launch(RAW, 1)
    with pytest.raises(pl.LaunchError, match=r"k and v are missing\n  write:  pl.attention\(q, k, v\)"):
        pl.attention(q)
    for call, write in (
        (pl.decode, "q, k_cache, v_cache and lengths are missing\n  write:  pl.decode(q, k_cache, v_cache, lengths)"),
        (pl.compare, "q, k and v are missing\n  write:  pl.compare(q, k, v)"),
        (
            pl.compare_decode,
            "q, k_cache, v_cache and lengths are missing\n  write:  pl.compare_decode(q, k_cache, v_cache, lengths)",
        ),
    ):
        with pytest.raises(pl.LaunchError) as caught:
            call()
        assert str(caught.value) == write


@pytest.mark.parametrize("name", [
    name for name in pl.__all__ if name != "load_ipython_extension" and not hasattr(getattr(pl, name), "__cause__")
])  # fmt: skip
def test_a_call_without_arguments_says_what_to_give(name):
    call = getattr(pl, name)
    parameters = inspect.signature(call).parameters.values() if callable(call) else ()
    if any(p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters):
        with pytest.raises(pl.LaunchError, match=r"^[^\n]* missing\n  write:  pl\.[\w.]+\(.*\)$"):
            call()


def test_results_are_not_lost_without_a_word():
    ptx = RAW.replace(
        "    ret;",
        """    .reg .b64 %p;
    ld.param.u64 %p, [x];
    st.global.u32 [%p+4], 7;
    ret;""",
    )
    x, frozen = np.zeros((2, 2), np.uint32), np.zeros((2, 2), np.uint32)
    frozen.flags.writeable = False
    says = "first, argument 1 (x: .u64): the kernel changed 1 of 4 elements, the first at [0, 1];"
    for given, why in (
        (x, f"pl.const does not copy back, so the results are lost{W}x    # without pl.const"),
        (frozen, f"the array is read-only, so the results are lost{W}c = np.array(x)    # and give c to the kernel"),
    ):
        with pytest.warns(UserWarning, match="lost") as caught:
            pl.launch(ptx, 1, 32, *(good() | {"x": pl.const(given)}).values(), device="step")
        assert str(caught[0].message) == f"{says} {why}"
    x[0, 1] = 7
    pl.launch(ptx, 1, 32, *(good() | {"x": pl.const(x)}).values(), device="step")  # nothing is lost


@pytest.mark.parametrize("device", ["step", "cpu"])
def test_a_texture_is_no_array(device):
    image = np.arange(32, dtype=np.float32)
    ptx = RAW.replace(
        "    ret;",
        """    .reg .b64 %p;
    .reg .f32 %f;
    ld.param.u64 %p, [x];
    ld.global.f32 %f, [%p];
    ret;""",
    )
    given = pl.Texture(image)
    with pytest.raises(pl.LaunchError) as caught:
        pl.launch(ptx, 1, 32, given, *list(good().values())[1:], device=device)
    says = "line 12 loads .f32, but the argument is Texture(float32 [32], point)"
    assert str(caught.value) == f"first, argument 1 (x: .u64): {says}{W}x.array"

    @kernel
    def plain(k: Builder, x: Ptr[f32]) -> None:
        x[k.tid.x] = 1.0

    for given in (pl.Texture(image), pl.Surface(image), pl.TensorMap(image, box=(8,))):
        with pytest.raises(pl.LaunchError, match=r"argument 1 \(x: Ptr\[f32\]\): expected an array") as caught:
            pl.launch(plain, 1, 32, given, device=device)
        assert str(caught.value).endswith(f"{W}given.array")


@pytest.mark.parametrize(("target", "arch", "says"), [
    ("sm_80", "sm_75", "sm_75 is older; PTX runs on its target and on newer GPUs only"),
    ("sm_90a", "sm_100", "what that has beyond sm_90 exists on that GPU only"),
    ("sm_100f", "sm_120", "what that has beyond sm_100 exists in that family only"),
    ("sm_80", "sm_90", ""), ("sm_90", "sm_90a", ""), ("sm_100f", "sm_103a", ""), ("sm_100f", "sm_100", ""),
])  # fmt: skip
def test_a_text_runs_on_its_target_and_on_newer_ones(target, arch, says):
    ptx = f".version 8.8\n.target {target}\n.address_size 64\n.visible .entry k() {{ ret; }}\n"
    for call in (lambda: pl.launch(ptx, 1, 32, arch=arch, device="step"), lambda: pl.inspect(ptx, arch=arch)):
        if not says:
            call()
            continue
        with pytest.raises(pl.TargetError) as caught:
            call()
        assert str(caught.value) == f"arch: the text's .target is {target}, and {says}{W}arch='{target}'"


def test_cuda_takes_no_host_code_and_no_ptx():
    pytest.importorskip("cuda.bindings.nvrtc")
    program = f"{CUDA}\nint main() {{\n  int *p; cudaMalloc(&p, 4);\n  k<<<2, 32>>>(p);\n}}"
    with pytest.raises(pl.CompileError) as caught:
        pl.cuda(program)
    assert str(caught.value).startswith("kernel.cu(4): <<<...>>> is code of the host, which is Python here\n")
    hint = "leave the host's code out; then pl.launch(k, 2, 32, p), or %%cuda --grid 2 --block 32 --args p"
    assert str(caught.value).endswith(f"\n  hint:   {hint}")
    for source, says in (
        (RAW, "expected CUDA C++, got PTX text\n  hint:   pl.launch(ptx, "),
        ("k.cu", "expected CUDA C++, got the name of a file, 'k.cu'\n"),
        (Path("k.cu"), "k.cu: No such file"),
    ):
        with pytest.raises(pl.CompileError) as caught:
            pl.cuda(source)
        assert str(caught.value).startswith(says)


@pytest.mark.parametrize(
    ("directive", "block", "message"),
    [
        (".maxntid 64, 1, 1", 96, "block: k takes at most 64 threads per block (.maxntid), the launch has 96"),
        (".reqntid 64", 32, "block: k requires exactly (64, 1, 1) threads (.reqntid), not (32, 1, 1)"),
    ],
)
def test_a_kernel_says_how_many_threads_it_takes(directive: str, block: int, message: str) -> None:
    text = f".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{directive}\n{{ ret; }}\n"
    pl.launch(text, 1, 64, device="step")
    with pytest.raises(pl.LaunchError) as caught:
        pl.launch(text, 1, block, device="step")
    assert str(caught.value) == message


@pytest.mark.long
def test_values_of_parameters_and_of_a_build_are_no_options():
    @kernel
    def f(k: Builder, x: Ptr[f32], width: int = 4) -> None:
        x[k.tid.x] = float(width)

    q = np.zeros((1, 1, 4, 16), np.float32)
    for call, write in (
        (lambda: pl.launch(RAW, 1, 32, n=3), "pl.launch(kernel, grid, block, x, n, a, s, b, bits, blob, p)"),
        (lambda: pl.launch(RAW, 1, 32, check="all"), "checks='all'"),
        (lambda: pl.launch(f, 1, 32, q, width=8), "pl.launch(kernel(width=8), grid, block, ...)"),
        (lambda: pl.attention(q, q, q, casual=True), "causal=True"),
        (lambda: pl.launch(RAW, 1, 32, args=()), "pl.launch(kernel, grid, block, *args)"),
        (lambda: pl.launch(RAW, 1, 32, causal=True), "pl.attention(q, k, v, causal=True)"),
        (lambda: pl.attention(q, q, q, splits=2), "pl.decode(q, k_cache, v_cache, lengths, splits=2)"),
        (lambda: pl.cuda("", block=32), "pl.launch(pl.cuda(source), grid, block, ...)"),
        (lambda: pl.debug(RAW, 1, 32, warp=0), "warps=0"),
        (lambda: pl.attention(q, q, q, kernel="tiled2d", tile_kv=16), ATTENTION),
        (lambda: pl.compare(q, q, q, tile_kv=16), "pl.compare(q, k, v, kernels=[pl.kernels.get('tiled').build("),
        (lambda: pl.decode(q[:, :, 0], q, q, 4, warps=2), "pl.decode(q, k_cache, v_cache, lengths, kernel="),
    ):
        with pytest.raises(pl.LaunchError, match=r" has no option .*; its options are ") as caught:
            call()
        assert f"\n  write:  {write}" in str(caught.value)
    assert pl.attention(q, q, q, kernel=eval(ATTENTION.partition("kernel=")[2][:-1]), device="cpu").error


def test_a_parameter_for_a_texture():
    text = ".version 8.0\n.target sm_80\n.visible .entry k(\n.param .texref image) { ret; }\n"
    pl.launch(text, 1, 32, pl.Texture(np.zeros(4, np.float32)), device="step")
    with pytest.raises(pl.LaunchError) as caught:
        pl.launch(text, 1, 32, 0, device="step")
    assert str(caught.value) == "k, argument 1 (image: .texref): expected a pl.Texture, got int 0"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pl.empty(-5), "shape: expected whole numbers of at least 0, got -5"),
        (lambda: pl.empty(1.5), "shape: expected whole numbers of at least 0, got 1.5"),
        (lambda: pl.empty((2, None)), "shape: expected whole numbers of at least 0, got (2, None)"),
        (lambda: pl.empty(1 << 50),
         f"shape: [{1 << 50}] of float32 has {4 << 50:,} bytes; no device has that much memory"),
        (lambda: pl.empty(3, "words"), "dtype: expected a type of numbers such as np.float32, got 'words'"),
        (lambda: pl.empty(3, object), "dtype: expected a type of numbers such as np.float32, got <class 'object'>"),
        (lambda: pl.empty(3, device="tpu"), "device must be 'auto', 'gpu', 'cpu' or 'step', not 'tpu'"),
        (lambda: pl.to_device("abc"), "array: expected numbers, got an array of <U3 [], which holds strings"
         f"{W}array.astype(np.float32)    # if each of them is a number"),
        (lambda: pl.to_device(DATES), "array: expected numbers, got an array of datetime64[s] "
         "[2]\n  write:  array.view(np.int64)"),
        (lambda: pl.to_device([[1], [1, 2]]), "array: expected a numpy array, got list [[1], [1, 2]]"),
        (lambda: pl.empty(3, device="cpu").copy_from_host([1]), "array: expected a numpy array, got list"),
        (lambda: pl.Trace(blocks=1.5), "trace: blocks: expected a whole number, several, or None for all, got 1.5"),
        (lambda: pl.Trace(limit=None), "trace: limit: expected a number of bytes, got None"),
        (lambda: pl.inspect(RAW, "32"), "block: expected a whole number of at least 1, got '32'"),
        (lambda: pl.occupancy(32, 64, None, "sm_80"), "shared: expected a whole number of at least 0, got None"),
        (lambda: pl.launch(RAW, 1, 32, Q), "first takes 8 arguments (x: .u64, n: .u32, a: .f32, s: .s32, b: .f64, bits:"
         f" .b32, blob: .b8[16], p: .u64), got 1{W}pl.launch(RAW, 1, 32, x, n, a, s, b, bits, blob, p)"),
        (lambda: pl.launch(RAW, "4", 32, Q, seed=0), "grid: expected one to three whole numbers, got '4'"
         f"{W}pl.launch(RAW, grid, block, x, n, a, s, b, bits, blob, p, seed=0)"),
        (lambda: pl.launch(TWO, 1, 32), "entry: the module has 2 kernels (first, second); name one with entry="),
        (lambda: pl.launch(TWO, 1, 32, entry="third"), "entry: no kernel 'third' in the module; it has first, second"),
        (lambda: pl.attention(Q, Q, Q, kernel="scaler"), "there is no prefill kernel 'scaler'; did you mean scalar?; "
         "choose from " + NAMES),
        (lambda: pl.attention(Q, Q, Q, kernel="decode"), f"decode is not a prefill kernel{W}{DECODE}"),
        (lambda: pl.compare(Q, Q, Q, kernels=[]), f"kernels: expected at least one name, got none{W}"
         "kernels=['scalar', 'tiled']"),
        (lambda: pl.kernels.names("decod"), "phase must be 'prefill' or 'decode', not 'decod'; did you mean decode?"),
        (lambda: pl.kernels.get("decode")[1, 32](Q), f"decode is a kernel, not a function{W}{DECODE}"),
        (lambda: pl.kernels.get("scalar").build()(Q), f"scalar_f32_d64 is a kernel, not a function{W}"
         "pl.attention(q, k, v, kernel=kernel)"),
        (lambda: pl.cuda("", options="-G"), f"options: expected a list of strings, got '-G'{W}options=['-G']"),
        (lambda: pl.launch(kernel(name="k")(lambda k: k.syncthreads()), 1, 1), f"k has no `syncthreads`{W}k.barrier()"),
    ],
)  # fmt: skip
def test_other_calls(make, message):
    with pytest.raises(pl.PtxlabError) as caught:
        make()
    said = str(caught.value).splitlines()
    where = said[0].startswith(shown_file(__file__))  # of the builder, with the line and a caret
    assert "\n".join([said[0].partition(": ")[2], *said[3:]] if where else said) == message


def test_a_whole_number_of_128_bits():
    """A `.b128` parameter takes whole numbers beyond 64 bits."""
    text = """.version 8.3
.target sm_70
.address_size 64
.visible .entry k(.param .u64 out, .param .b128 wide)
{
    .reg .b64 %rd<4>;
    .reg .b128 %rq;
    ld.param.u64 %rd1, [out];
    ld.param.b128 %rq, [wide];
    mov.b128 {%rd2, %rd3}, %rq;
    st.global.v2.u64 [%rd1], {%rd2, %rd3};
    ret;
}
"""
    for device in ("step", "cpu"):
        for value in (5, 2**127 + 3, -(2**100)):
            out = np.zeros(2, np.uint64)
            pl.launch(text, 1, 1, out, value, device=device)
            assert int(out[0]) + (int(out[1]) << 64) == value % 2**128
        with pytest.raises(pl.LaunchError, match="expected an integer from"):
            pl.launch(text, 1, 1, np.zeros(2, np.uint64), 2**128, device=device)
