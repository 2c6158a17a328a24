"""Where the fields of a tensor map lie: what `tensormap.replace` becomes in machine code; maps made by a driver."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import stand_in

from ptxlab.gpu import disassembler, sass
from ptxlab.isa.tensor_map import FIELDS, pieces

KERNEL = """
.visible .entry {name}(.param .u64 map, .param .u64 value)
{{
    .reg .b64 %m, %b64; .reg .b32 %b32;
    ld.param.u64 %m, [map];
    ld.param.u64 %b64, [value];
    cvt.u32.u64 %b32, %b64;
    tensormap.replace.tile.{field}.global.b1024.{type} [%m]{ordinal}, {value};
    ret;
}}
"""
NUMBERED = ("elemtype", "interleave_layout", "swizzle_mode", "fill_mode")


@pytest.mark.rest
@pytest.mark.skipif(disassembler.find_nvdisasm() is None, reason="needs nvdisasm: pip install 'ptxlab[sass]'")
@pytest.mark.assembler
def test_the_place_of_each_field() -> None:
    cases = [(field, k) for field, ordinals in FIELDS.items() for k in range(len(ordinals))]
    text = ".version 8.6\n.target sm_90a\n.address_size 64\n"
    for field, k in cases:
        type_ = "b64" if field in ("global_address", "global_stride") else "b32"
        text += KERNEL.format(
            name=f"{field}_{k}",
            field=field,
            type=type_,
            ordinal=f", {k}" if len(FIELDS[field]) > 1 else "",
            value="0" if field in NUMBERED else f"%{type_}",
        )
    functions = {function.name: function for function in sass(text, "sm_90a").functions}
    for field, k in cases:
        codes = [code.text for code in functions[f"{field}_{k}"].instructions]
        places = [at for line in codes for at in re.findall(r"STG\S* desc.*?\[R\d+\.64\+?(\w*)\]", line)]
        masks = {int(m, 16) for line in codes for m in re.findall(r"LOP3\.LUT R\d+, R\d+, (0x\w+), \S+, 0xb8", line)}
        found = [bits for bits, _ in pieces(field, k, 0)]
        assert {int(at or "0", 16) for at in places} == {bits.at // 32 * 4 for bits in found}, (field, k)
        assert masks == {bits.mask >> bits.at // 32 * 32 for bits in found if bits.width < 32}, (field, k)


DRIVER = """
import numpy as np
import ptxlab as pl
from ptxlab.errors import PtxlabError

WORDS = '''
.version 8.0
.target sm_90
.address_size 64
.visible .entry words(.param .align 64 .b8 map[128], .param .u64 out)
{
    .reg .b64 %rd<6>; .reg .b32 %r;
    mov.b64 %rd1, map; cvta.param.u64 %rd1, %rd1;
    ld.param.u64 %rd2, [out];
    mov.u32 %r, %tid.x; mul.wide.u32 %rd3, %r, 8; add.u64 %rd1, %rd1, %rd3;
    add.u64 %rd2, %rd2, %rd3;
    ld.u64 %rd4, [%rd1];
    st.global.u64 [%rd2], %rd4;
    ret;
}
'''
for dtype in (np.float16, np.float32, np.float64, np.int32, np.uint8):
    flat = np.zeros((20, 64), dtype)
    deep = np.zeros((2, 5, 6, 7, 32), dtype)
    for map in (
        pl.TensorMap(flat, (8, 16), fill="nan"),
        pl.TensorMap(flat, (8, 128 // flat.itemsize), swizzle=128, promotion=256),
        pl.TensorMap(deep, (1, 2, 3, 4, 16), steps=(1, 1, 2, 1, 1)),
        pl.TensorMap(deep, (16, 16), lower=(-1, 0, -2), upper=(1, 2, -3)),
        pl.TensorMap(flat.ravel(), (16,)),
    ):
        out = np.zeros(16, np.uint64)
        pl.launch(WORDS, 1, 16, map, out, device="gpu")
        assert out.tobytes() == map.encoded(int(out[0])), (dtype, map)
        graph_out, on_gpu = pl.to_device(np.zeros(16, np.uint64)), pl.to_device(map.array)
        other = pl.TensorMap(on_gpu, map.box, map.swizzle, map.fill, map.steps, map.lower, map.upper)
        pl.launch(WORDS, 1, 16, other, graph_out, device="gpu")
        assert graph_out.copy_to_host().tobytes() == other.encoded(on_gpu.address)
try:
    pl.launch(WORDS, 1, 16, pl.TensorMap(flat, (8, 16)), out, device="gpu")
    pl.launch(WORDS, 1, 16, pl.TensorMap(flat, (8, 16)), out, device="gpu")
except PtxlabError as error:
    print(error)
"""


@pytest.mark.rest
@pytest.mark.skipif(bool(stand_in.unavailable()), reason=stand_in.unavailable())
def test_a_driver_makes_the_maps(tmp_path: Path) -> None:
    """The driver's functions get what the array and the box say; those of the stand-in write the bits down anew."""
    tests = Path(__file__).parents[1]
    environment = stand_in.environment(
        log=tmp_path / "calls", refuse="cuTensorMapEncodeTiled=CUDA_ERROR_INVALID_VALUE@42"
    )
    environment["PYTHONPATH"] = os.pathsep.join([str(tests), str(tests.parent)])
    done = subprocess.run([sys.executable, "-c", DRIVER], capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "TensorMap: the driver refuses it (CUDA_ERROR_INVALID_VALUE): Described(type='u8', dims=(64, 20), "
        "strides=[64], box=(16, 8), steps=[1, 1], swizzle=0, promotion=0, nan=False, lower=None, upper=None)\n"
    )
    calls = (tmp_path / "calls").read_text()
    assert "cuTensorMapEncodeIm2col" in calls
    assert "promotion 3" in calls
