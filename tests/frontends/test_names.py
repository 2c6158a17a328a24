"""Names of the source: symbols of C++, and what launches, faults and findings show of a kernel."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxlab as pl
from ptxlab.frontends.cuda import available
from ptxlab.names import find_symbol, source_name

NAMES = {
    "_ZZ5scaleILi64EEvPKfPfiE4tile": "tile", "_ZZ5scaleILi64EEvPKfPfiE4tile_0": "tile (2)",  # of another block
    "_Z5scaleILi64EEvPKfPfi": "scale<64>", "_Z5scaleILi64EEvPKfPfi_param_2": "param_2",
    "_ZZN3geo4loadIfEET_PKS1_E3buf": "geo::load<float>::buf", "_ZN3geo5tableE": "geo::table", "_ZL4hits": "hits",
    "_ZN39_INTERNAL_00000000_9_kernel_cu_226a170241_GLOBAL__N__00000000_9_kernel_cu_226a17026hiddenE": "hidden",
    "_ZZN1VlsIfEERS_T_E3buf": "V::operator<<<float>::buf", "_ZZN1VcvfEvE2cv": "V::operator float::cv",
    "_ZZNK1VclEiE1c": "V::operator()::c", "_ZZ3appIZ1kEUliE_EfT_E2ap": "app<k::'lambda'(int)>::ap",
    "_Z1kIN4cute5tupleIJNS0_IJiiiiiiiiEEENS0_IJiiiiiiEEEEEEEvT_": "k<...>", "__local_depot0": "local variables",
    "_Zno_symbol": "_Zno_symbol", "saxpy_param_1": "saxpy_param_1",
}  # fmt: skip


def test_names_of_symbols() -> None:
    assert {symbol: source_name(symbol, "_Z5scaleILi64EEvPKfPfi") for symbol in NAMES} == NAMES
    symbols = ("_Z5firstPi", "second", "_Z6secondPf", "_Z3addIfEvPT_", "_Z3addIiEvPT_", "_ZN2ns4gemmIfLi3EEEvv")
    found = ("first", "second", "add<int>", "gemm", "ns::gemm<float,3>", "ns::gemm")
    assert [find_symbol(symbols, name) for name in found] == [*symbols[:2], symbols[4], *symbols[5:] * 3]
    assert [find_symbol(symbols, name) for name in ("add", "fir", "seco")] == ["", "", ""]


SOURCE = """
namespace geo {
__device__ float table[2];
template <class T> __device__ T load(const T* x) {
  __shared__ T buf[64]; buf[threadIdx.x] = x[threadIdx.x];
  return buf[threadIdx.x ^ 32];
}
}
// __global__ void scale(int zero, int one, int two, int three, int four, int five);
struct Pair { int a, b; };
template <int N> __global__ void __launch_bounds__(256, 2)
scale(const float *__restrict__ x /* in */, float out[], const int &, Pair p, int (*f)(int, int), int n = max(1, 2)) {
  __shared__ float tile[N]; extern __shared__ float rows[];
  rows[threadIdx.x & 31] = tile[threadIdx.x] = geo::load(x);
  geo::table[threadIdx.x & 1] += 1;
  out[threadIdx.x + n] = tile[threadIdx.x ^ 32];
}
template __global__ void scale<64>(const float *, float *, const int &, Pair, int (*)(int, int), int);
"""


def said(kernel: Any, *last: Any, **options: Any) -> str:
    """What a launch says, without the lines of PTX, which are shown as they are. last: the last arguments."""
    args = [np.zeros(64, np.float32), np.zeros(64, np.float32), None, bytes(8), None, 0]
    try:
        text = str(pl.launch(kernel, 1, 64, *args[: max(0, 6 - len(last))], *last, checks="all", shared=128, **options))
    except (pl.DeviceFault, pl.LaunchError) as error:
        text = str(error)
    return re.sub(r"(?m)^ +line .*\n|: (?:ld|st|atom)[. ].*", "", text)


@pytest.mark.skipif(not available(), reason="needs NVRTC: pip install cuda-bindings nvidia-cuda-nvrtc")
@pytest.mark.parametrize(("given", "device"), [("pl.cuda", "cpu"), ("PTX beside its source", "step"), ("PTX", "cpu")])
def test_a_kernel_of_cuda_is_told_in_the_names_of_its_source(given: str, device: str, tmp_path: Path) -> None:
    (tmp_path / "scale.cu").write_text(SOURCE)
    folder = tmp_path if given == "PTX beside its source" else Path()
    made = pl.cuda(SOURCE, entry="scale<64>", file=str(folder / "scale.cu"))
    kernel: Any = made if given == "pl.cuda" else made.ptx
    x, out, n = ("param_0", "param_1", "param_5") if given == "PTX" else ("x", "out", "n")
    told = said(kernel, device=device)
    for place in ("of 'tile' (256 ", "of 'geo::load<float>::buf' (256 ", "of 'geo::table' (8 ", "of 'rows' (dynamic)"):
        assert place in told
    assert told.startswith(f"scale<64> on {device}: ")
    assert "_Z" not in told
    fault = rf"past the end of '{out}' \(256 (?s:.*)  ptx:    scale<64>, line "
    assert re.search(fault, said(kernel, 5000, device=device, entry="scale"))
    assert said(kernel, 2.5, entry="scale<64>").startswith(f"scale<64>, argument 6 ({n}: .u32): expected an integer, ")
    few = rf"scale<64> takes 6 arguments \({x}: .*{out}: .*param_2: .*{n}: \.u32\), got 7\n  write:  .*"
    assert re.fullmatch(few, said(kernel, *range(7)))
    assert said(kernel, entry="scal").startswith("entry: no kernel 'scal' in the module; it has scale<64>")
