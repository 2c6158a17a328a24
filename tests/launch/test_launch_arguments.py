"""What may be given for which parameter: every message of a `LaunchError`, whole."""

from __future__ import annotations

import numpy as np
import pytest

import ptxlab as pl

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
    assert (run.kernel, run.device, run.grid, run.block) == ("first", "step", (1, 1, 1), (32, 1, 1))
    assert run.findings == []


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


def test_count():
    with pytest.raises(pl.LaunchError) as caught:
        pl.launch(RAW, 1, 32, np.zeros(4))
    assert str(caught.value) == (
        "first takes 8 arguments (x: .u64, n: .u32, a: .f32, s: .s32, b: .f64, bits: .b32, blob: .b8[16], p: .u64), "
        "got 1"
    )


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"x": 1.5}, "argument 1 (x: .u64) wants an array, a device buffer or a 64-bit integer, got float 1.5"),
        (
            {"x": [1, 2]},
            "argument 1 (x: .u64) wants an array, a device buffer or a 64-bit integer, got list [1, 2]",
        ),
        (
            {"n": np.zeros(3, np.float32)},
            "argument 2 (n: .u32) wants an integer, or np.uint32, got an array of float32 [3]",
        ),
        ({"n": -1}, "argument 2 (n: .u32) wants an integer from 0 to 4294967295, got -1"),
        ({"n": np.int64(4)}, "argument 2 (n: .u32) wants an integer, or np.uint32, got np.int64 4"),
        ({"n": 4.0}, "argument 2 (n: .u32) wants an integer, or np.uint32, got float 4.0"),
        ({"n": b"1234"}, "argument 2 (n: .u32) wants an integer, or np.uint32, got 4 bytes"),
        ({"a": np.float64(1)}, "argument 3 (a: .f32) wants a float, or np.float32, got np.float64 1.0"),
        ({"s": 1 << 31}, "argument 4 (s: .s32) wants an integer from -2147483648 to 2147483647, got 2147483648"),
        ({"b": "2"}, "argument 5 (b: .f64) wants a float, or np.float64, got str '2'"),
        (
            {"bits": 1.0},
            "argument 6 (bits: .b32) wants an integer, or a numpy scalar of 4 bytes, got float 1.0",
        ),
        ({"blob": bytes(15)}, "argument 7 (blob: .b8[16]) wants 16 bytes, got 15"),
        ({"blob": 7}, "argument 7 (blob: .b8[16]) wants 16 bytes, got int 7"),
        ({"p": 7}, "argument 8 (p: .u64) wants an array or a device buffer, got int 7"),
        (
            {"p": np.zeros(3, object)},
            "argument 8 (p: .u64) wants numbers in native byte order, got an array of object [3]",
        ),
        (
            {"p": np.zeros((4, 4), np.float32).T},
            "argument 8 (p: .u64) wants a C-contiguous array, got strides (4, 16) for shape (4, 4)\n"
            "  write:  np.ascontiguousarray(p)",
        ),
        (
            {"p": np.broadcast_to(np.float32(1), (1,))},
            "argument 8 (p: .u64): the array is read-only, so the result cannot be copied back\n  write:  pl.const(p)",
        ),
        ({"p": pl.const([1])}, "argument 8 (p: .u64) wants an array or a device buffer, got list [1]"),
    ],
)
def test_wrong_arguments(changed, message):
    assert refused(**changed) == f"first, {message}"


STRUCTS, DATES = np.zeros(2, "i4,f4"), np.zeros(2, "datetime64[s]")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (STRUCTS, "got an array of [('f0', '<i4'), ('f1', '<f4')] [2]\n  write:  p.view(np.uint8)"),
        (np.array(["ab"]), "got an array of <U2 [1]\n  write:  p.view(np.uint8)"),
        (np.array([b"ab"]), "got an array of |S2 [1]\n  write:  p.view(np.uint8)"),
        (DATES, "got an array of datetime64[s] [2]\n  write:  p.view(np.int64)"),
        (np.zeros(2, ">f4"), "got an array of >f4 [2]"),
        (pl.out(STRUCTS), "got an array of [('f0', '<i4'), ('f1', '<f4')] [2]\n  write:  p.view(np.uint8)"),
    ],
)
def test_arrays_of_no_numbers(array, message):
    says = refused(p=array)
    assert says.startswith("first, argument 8 (p: .u64) wants numbers in native byte order, got ")
    assert says.endswith(message)


def test_raw_numbers_of_every_kind_are_taken():
    for dtype in (np.bool_, np.complex64, np.float16, np.int8, np.uint64):
        assert pl.launch(RAW, 1, 32, *(good() | {"p": np.zeros(2, dtype)}).values(), device="step").findings == []


def test_read_only_arrays_are_fine_as_constants():
    args = good() | {"p": pl.const(np.broadcast_to(np.float32(1), (1,)))}
    assert pl.launch(RAW, 1, 32, *args.values(), device="step").findings == []


def test_arrays_that_overlap_in_part():
    whole = np.zeros(8, np.float32)
    assert refused(x=whole[:5], p=whole[3:]) == (
        "first: the arrays for x and p overlap in part; pass whole arrays or copies"
    )
    assert refused(x=whole, p=pl.out(whole)) == "first: the same array is given for x and p, once as pl.out"


def test_entry():
    with pytest.raises(pl.LaunchError) as caught:
        pl.launch(TWO, 1, 32)
    assert str(caught.value) == "entry: the module has 2 kernels (first, second); name one with entry="
    with pytest.raises(pl.LaunchError) as caught:
        pl.launch(TWO, 1, 32, entry="third")
    assert str(caught.value) == "entry: no kernel 'third' in the module; it has first, second"
    assert pl.launch(TWO, 1, 32, entry="second", device="step").kernel == "second"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"grid": (1, 2, 3, 4)}, "grid: one to three whole numbers are wanted, got (1, 2, 3, 4)"),
        ({"grid": 0}, "grid: x goes from 1 to 2147483647 on sm_80, got 0"),
        ({"grid": (1, 65536)}, "grid: y goes from 1 to 65535 on sm_80, got 65536"),
        ({"block": 1.5}, "block: one to three whole numbers are wanted, got 1.5"),
        ({"block": 1025}, "block: x goes from 1 to 1024 on sm_80, got 1025"),
        ({"block": (64, 32)}, "block: sm_80 has at most 1024 threads in a block, 64 x 32 x 1 are 2048"),
        ({"shared": -1}, "shared: a number of bytes is wanted, got -1"),
        (
            {"shared": 200000},
            "shared memory: sm_80 has at most 166912 bytes for a block, 200000 are asked for "
            "(0 declared + 200000 dynamic)",
        ),
        ({"device": "tpu"}, "device is 'auto', 'gpu', 'cpu' or 'step', not 'tpu'"),
        ({"device": None}, "device is 'auto', 'gpu', 'cpu' or 'step', not None"),
        ({"grid": True}, "grid: one to three whole numbers are wanted, got True"),
        ({"block": b"1"}, "block: one to three whole numbers are wanted, got b'1'"),
        ({"block": 1 << 70}, f"block: x goes from 1 to 1024 on sm_80, got {1 << 70}"),
        ({"shared": 1.5}, "shared: a number of bytes is wanted, got 1.5"),
        ({"shared": "a"}, "shared: a number of bytes is wanted, got 'a'"),
        ({"shared": None}, "shared: a number of bytes is wanted, got None"),
        (
            {"checks": ("spellcheck",)},
            "checks: there is no 'spellcheck'; there is memcheck, initcheck, racecheck, synccheck",
        ),
    ],
)
def test_sizes_and_options(changed, message):
    options = {"grid": 1, "block": 32, "device": "step"} | changed
    grid, block = options.pop("grid"), options.pop("block")
    with pytest.raises((pl.LaunchError, pl.TargetError)) as caught:
        pl.launch(TWO, grid, block, entry="second", **options)
    assert str(caught.value) == message


def test_what_is_no_kernel():
    with pytest.raises(pl.LaunchError) as caught:
        pl.launch(5, 1, 1)
    assert str(caught.value) == "kernel: PTX text, a parsed module or a builder's kernel is wanted, got int"


@pytest.mark.parametrize(
    ("directive", "block", "message"),
    [
        (".maxntid 64, 1, 1", 96, "block: k takes at most 64 threads a block (.maxntid), the launch has 96"),
        (".reqntid 64", 32, "block: k wants exactly (64, 1, 1) threads (.reqntid), not (32, 1, 1)"),
    ],
)
def test_a_kernel_says_how_many_threads_it_takes(directive: str, block: int, message: str) -> None:
    text = f".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{directive}\n{{ ret; }}\n"
    pl.launch(text, 1, 64, device="step")
    with pytest.raises(pl.LaunchError) as caught:
        pl.launch(text, 1, block, device="step")
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("budget", 0, "budget: a whole number from 1 on is wanted, got 0"),
        ("budget", "many", "budget: a whole number from 1 on is wanted, got 'many'"),
        ("workers", -1, "workers: a whole number from 1 on is wanted, got -1"),
        ("seed", 1.5, "seed: a whole number is wanted, got 1.5"),
        ("checks", "race", "checks: there is no 'race'; there is memcheck, initcheck, racecheck, synccheck"),
        ("checks", 5, "checks: names of checks are wanted, of memcheck, initcheck, racecheck, synccheck; got 5"),
        ("checks", [5], "checks: there is no 5; there is memcheck, initcheck, racecheck, synccheck"),
        ("arch", 5, "arch: a target such as 'sm_90' is wanted, got 5"),
        ("arch", "ampere", "arch: a target such as 'sm_90' is wanted, got 'ampere'"),
        ("entry", 5, "entry: the name of a kernel is wanted, got 5"),
        ("counters", "no", "counters: True or False is wanted, got 'no'"),
        ("cooperative", None, "cooperative: True or False is wanted, got None"),
        ("budget", 1 << 70, f"budget: a whole number up to {(1 << 63) - 1} is wanted, got {1 << 70}"),
        ("budget", True, "budget: a whole number from 1 on is wanted, got True"),
        ("workers", 10**9, "workers: a whole number up to 4096 is wanted, got 1000000000"),
        ("tier", "fast", "tier is 'fast'; choose 'quick' or 'optimized'"),
        ("tier", ["quick"], "tier is ['quick']; choose 'quick' or 'optimized'"),
        ("tier", "quick", "tier: device='step' compiles nothing\n  write:  device='cpu'"),
        ("trace", True, "trace: a pl.Trace is wanted, got True\n  write:  trace=pl.Trace()"),
    ],
)
def test_options(option, value, says):
    with pytest.raises(pl.LaunchError) as caught:
        pl.launch(RAW, 1, 32, *good().values(), device="step", **{option: value})
    assert str(caught.value) == says


def test_one_check_by_its_name():
    assert pl.launch(RAW, 1, 32, *good().values(), device="step", checks="racecheck").findings == []


def test_a_parameter_for_a_texture():
    text = ".version 8.0\n.target sm_80\n.visible .entry k(\n.param .texref image) { ret; }\n"
    pl.launch(text, 1, 32, pl.Texture(np.zeros(4, np.float32)), device="step")
    with pytest.raises(pl.LaunchError) as caught:
        pl.launch(text, 1, 32, 0, device="step")
    assert str(caught.value) == "k, argument 1 (image: .texref) wants a pl.Texture, got int 0"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pl.empty(-5), "shape: whole numbers from 0 on are wanted, got -5"),
        (lambda: pl.empty(1.5), "shape: whole numbers from 0 on are wanted, got 1.5"),
        (lambda: pl.empty("3"), "shape: whole numbers from 0 on are wanted, got '3'"),
        (lambda: pl.empty((2, None)), "shape: whole numbers from 0 on are wanted, got (2, None)"),
        (
            lambda: pl.empty(1 << 50),
            f"shape: [{1 << 50}] of float32 has {4 << 50:,} bytes; no device has as much memory",
        ),
        (lambda: pl.empty(3, "words"), "dtype: a type of numbers such as np.float32 is wanted, got 'words'"),
        (lambda: pl.empty(3, object), "dtype: a type of numbers such as np.float32 is wanted, got <class 'object'>"),
        (lambda: pl.empty(3, device="tpu"), "device is 'auto', 'gpu', 'cpu' or 'step', not 'tpu'"),
        (lambda: pl.to_device("abc"), "array: numbers in native byte order are wanted, got an array of <U3 []\n"
         "  write:  array.view(np.uint8)"),
        (lambda: pl.to_device(None), "array: numbers in native byte order are wanted, got an array of object []"),
        (lambda: pl.to_device(DATES), "array: numbers in native byte order are wanted, got an array of datetime64[s] "
         "[2]\n  write:  array.view(np.int64)"),
        (lambda: pl.to_device([[1], [1, 2]]), "array: a numpy array is wanted, got list [[1], [1, 2]]"),
        (lambda: pl.empty(3, device="cpu").copy_from_host([1]), "array: a numpy array is wanted, got list"),
        (lambda: pl.Trace(blocks=1.5), "trace: blocks: a whole number, several, or None for all is wanted, got 1.5"),
        (lambda: pl.Trace(limit=None), "trace: limit: a number of bytes is wanted, got None"),
        (lambda: pl.inspect(RAW, "32"), "threads: a whole number from 1 on is wanted, got '32'"),
        (lambda: pl.occupancy(32, 64, None, "sm_80"), "shared: a whole number from 0 on is wanted, got None"),
    ],
)  # fmt: skip
def test_buffers_and_traces(make, message):
    with pytest.raises(pl.LaunchError) as caught:
        make()
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("scale", "0.5", "scale: a finite number is wanted, got '0.5'"),
        ("scale", True, "scale: a finite number is wanted, got True"),
        ("scale", 10**400, f"scale: a finite number is wanted, got {10**400}"),
        ("causal", "no", "causal: True or False is wanted, got 'no'"),
        ("kernel", np.zeros(2), "kernel: a name or a built prefill kernel is wanted, got ndarray"),
        ("state", np.array(3), "state: True or triples (batch, head, row) are wanted, got array(3)"),
    ],
)
def test_attention(option, value, message):
    q = np.zeros((1, 1, 4, 16), np.float32)
    with pytest.raises(pl.LaunchError) as caught:
        pl.attention(q, q, q, **{"kernel": "scalar", "device": "cpu"} | {option: value})
    assert str(caught.value) == message


def test_what_is_no_text():
    with pytest.raises(pl.PtxSyntaxError) as caught:
        pl.parse(b".version 8.0")
    assert str(caught.value) == "PTX is text; found bytes"


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
        with pytest.raises(pl.LaunchError, match="wants an integer from"):
            pl.launch(text, 1, 1, np.zeros(2, np.uint64), 2**128, device=device)
