"""Variables of a module: set and read by name, kept from launch to launch, on both engines and on a GPU."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from emulate_programs import kernel
from ml_dtypes import bfloat16

import ptxlab as pl
from ptxlab.frontends.cuda import available

SOURCE = r"""
#include <cuda_bf16.h>
using real = double;
struct Node { Node* next; int value; };
namespace shape { __constant__ float weights[2][3] = {{1}}; }
__device__ int launches = 7, *where = &launches;
__device__ real sums[2];
static __device__ ushort4 quads[2];
__device__ __nv_bfloat16 narrow[2];
__device__ Node nodes[2], *head;
__device__ int calls() { static int count; return atomicAdd(&count, 1); }
extern "C" __global__ void run(float* y, int i) {
  y[threadIdx.x] = shape::weights[1][2];
  if (threadIdx.x == 0) { *where += 1; sums[1] += quads[1].w; narrow[0] = 2; calls(); }
  __syncthreads();
  y[i] = nodes[1].value;
}
extern "C" __global__ void push(int value) { Node* n = (Node*)malloc(16); n->value = value; n->next = head; head = n; }
extern "C" __global__ void pop() { Node* n = head; head = n->next; free(n); }
extern "C" __global__ void sum(int* s) { *s = 0; for (Node* n = head; n; n = n->next) *s += n->value; }
"""


@pytest.mark.long
@pytest.mark.skipif(not available(), reason="needs NVRTC: pip install 'ptxlab[cuda]'")
@pytest.mark.parametrize("device", ["cpu", "step", pytest.param("gpu", marks=pytest.mark.gpu)])
def test_variables_of_cuda(device: str) -> None:
    """Types and names are those of the source; a launch that is stopped changes nothing; the heap stays as well."""
    k, y, s = pl.cuda(SOURCE), np.zeros(32, np.float32), np.zeros(1, np.int32)
    checked = {} if device == "gpu" else {"checks": "all"}
    weights = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert (k["weights"].tolist(), int(k["launches"])) == ([[1, 0, 0], [0, 0, 0]], 7)
    k["shape::weights"], k["quads"], k["nodes"] = weights, [[0] * 4, [1, 2, 3, 4]], np.array([0, 0, 0, 9], np.int64)
    for n in (8, 9):
        assert not pl.launch(k["run"], 1, 32, y, 3, device=device, **checked).findings
        assert (y[0], y[3], k["launches"], k["sums"].tolist()) == (5, 9, n, [0, 4 * (n - 7)])
    with pytest.raises(pl.DeviceFault):
        pl.launch(k, 1, 32, y, 1 << 20, entry="run", device="cpu")
    assert (k["narrow"][0], int(k["calls::count"]), int(k["launches"])) == (bfloat16(2), 2, 9)
    with pytest.raises(ValueError, match="read-only"):
        k["_ZN5shape7weightsE"][0] = 1
    assert pl.cuda(SOURCE)["launches"] == 7  # a module of its own
    for value in (1, 2, 4):
        pl.launch(k["push"], 1, 1, value, device=device)
    pl.launch(k["pop"], 1, 1, device=device)
    pl.launch(k["sum"], 1, 1, s, device=device, **checked)
    k["launches"] -= 20
    assert (s[0], k["sum"]["launches"]) == (3, -11)
    k.reset()
    assert (k["launches"], k["sums"].tolist(), k["weights"][0, 0]) == (7, [0, 0], 1)


PTX = kernel(
    ".shared .f32 tile[4];\n atom.global.add.u32 %r5, [word], 1;",
    """.const .f32 scale[2][2] = {{1.5, 2.0}, {3.0}}; .global .v2 .s16 pair; .global .b32 word = 3;
    .global .b8 bytes[6] = {104, 105}; .global .f16x2 halves[2]; .global .u64 at = scale; .global .b128 wide;""",
)


def test_variables_of_ptx() -> None:
    """Shapes and types are the declarations'; text begins anew with each launch, a module keeps its variables."""
    m, kept, x = pl.parse(PTX), pl.parse(PTX), np.zeros(4, np.float32)
    m["bytes"], m["halves"], m["word"] = b"hello\0", np.arange(4, dtype=np.float16), np.float32(1)
    m["pair"], m["scale"] = (-1, 2), np.full(4, 0.5, np.float32)
    for device in ("cpu", "step", "auto"):
        pl.launch(PTX, 1, 1, x, x, device=device)
    with ThreadPoolExecutor() as pool:  # one launch after the other
        list(pool.map(lambda device: pl.launch(kept, 1, 4, x, x, device=device), ("cpu", "step", "auto")))
    names = ("bytes", "halves", "word", "pair", "scale")
    assert [str(m[name].dtype) for name in names] == ["uint8", "float16", "uint32", "int16", "float32"]
    found = [[*b"hello\0"], [[0, 1], [2, 3]], 0x3F800000, [-1, 2], [[0.5, 0.5], [0.5, 0.5]]]
    assert [m[name].tolist() for name in names] == found
    assert (kept["word"], kept["scale"].tolist(), kept["wide"].nbytes) == (15, [[1.5, 2], [3, 0]], 16)


def test_what_no_attribute_sets():
    """A variable, also one that is misspelt; the text of a kernel; a part of a parsed module."""
    module = pl.parse(PTX)
    with pytest.raises(pl.LaunchError, match=r'scale is a variable .*\n  write:  kernel\["scale"\] = 3'):
        module.scael = 3
    with pytest.raises(AttributeError, match=r"Module.target: parsed PTX does not change\n  write:  pl.parse"):
        module.target = "sm_90"
    with pytest.raises(AttributeError, match=r"Function.title: parsed PTX does not change"):
        module.kernels[0].title = "k"
    with pytest.raises(pl.LaunchError, match=r"a module is not called\n  write:  pl.launch\(module, "):
        module(1, 32)
    pytest.importorskip("cuda.bindings.nvrtc")
    k = pl.cuda("__device__ int count; __global__ void f(int *x) { *x = count; }")
    with pytest.raises(pl.LaunchError, match=r'count is a variable .*\n  write:  kernel\["count"\] = 3'):
        k.count = 3
    with pytest.raises(pl.LaunchError, match=r"ptx does not change: .*\n  write:  pl.launch\(kernel.ptx.replace"):
        k.ptx = k.ptx.replace("st", "ld")
    k.note = 3


@pytest.mark.parametrize("device", ["cpu", "step"])
@pytest.mark.parametrize("load", ["__ldg", "__ldcg"])
def test_a_load_of_global_memory_from_a_constant(load, device):
    pytest.importorskip("cuda.bindings.nvrtc")
    k = pl.cuda(f"__constant__ float c[32]; __global__ void f(float *x) {{ *x = {load}(&c[threadIdx.x]); }}")
    with pytest.raises(pl.DeviceFault, match=f"{load} reads global memory, and 'c' lies in constant memory") as fault:
        pl.launch(k, 1, 32, np.zeros(1, np.float32), device=device)
    assert fault.value.hint == f"read 'c' without {load}, as c[i]"


W = "\n  write:  "


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("scael", 1, "there is no variable 'scael'; the module has scale, pair, word, bytes, halves, at, wide"
         + W + 'kernel["scale"]'),
        ("k", 1, f"'k' is a kernel{W}pl.launch(kernel, grid, block, ..., entry='k')"),
        ("tile", 1, "'tile' is in shared memory, which a block has while it runs; .global and .const variables stay"),
        ((1, 32), 1, f"variables have names, got (1, 32); a launch is a call{W}pl.launch(kernel, grid, block, ...)"),
        ("scale", np.zeros(4), f'scale is float32[2, 2], got float64[4]{W}kernel["scale"] = array.astype(np.float32)'),
        ("scale", np.zeros(3, "f4"), 'scale is float32[2, 2], got float32[3]: 3 elements for 4'
         + W + 'new = kernel["scale"].copy(); new.flat[:3] = array; kernel["scale"] = new'),
        ("bytes", bytes(8), f'bytes is uint8[6], got uint8[8]: 8 elements for 6{W}kernel["bytes"] = array.flat[:6]'),
        ("scale", None, f'scale is float32[2, 2], got None{W}kernel["scale"] = np.zeros([2, 2], np.float32)'),
        ("scale", 1e39, "scale is float32[2, 2], got 1e+39, which is too large for it"),
        ("pair", (1, 40000), "pair is int16[2], got int64[2]; it takes -32768 to 32767"),
        ("word", 1.5, f'word is uint32, got 1.5{W}kernel["word"] = int(...)'),
    ],
)  # fmt: skip
def test_what_does_not_fit(name: str, value: object, message: str) -> None:
    with pytest.raises(pl.LaunchError) as refused:
        pl.parse(PTX)[name] = value
    assert str(refused.value) == message
