"""Arrays of other libraries, slices of device buffers, and arrays of another type than the kernel loads."""

from __future__ import annotations

import array

import ml_dtypes
import numpy as np
import pytest

import ptxlab as pl

F4, F8, I8 = np.arange(1, 33, dtype="f4"), np.arange(1.0, 33), np.arange(1, 33)
H = np.arange(1, 65, dtype="f2")


class Foreign:
    """An array of another library: DLPack and nothing else."""

    def __init__(self, held, device=1):
        self.held, self.kind = held, device

    def __dlpack__(self, **options):
        return self.held.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.kind, 0


def kernel(body, x=4, y=4):
    """A kernel whose threads move x and y on by so many bytes each."""
    return f""".version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y)
{{
    .reg .b32 %t, %w<3>; .reg .u32 %r<3>; .reg .b64 %x, %y; .reg .f32 %f<3>; .reg .b16 %h<3>;
    ld.param.u64 %x, [x]; ld.param.u64 %y, [y]; mov.u32 %t, %tid.x;
    mad.wide.u32 %x, %t, {x}, %x; mad.wide.u32 %y, %t, {y}, %y;
    {body}
    ret;
}}
"""


ADD = kernel("ld.global.f32 %f1, [%x]; ld.global.f32 %f2, [%y]; add.f32 %f1, %f1, %f2; st.global.f32 [%y], %f1;")


def refused(x, text=ADD):
    with pytest.raises(pl.LaunchError) as caught:
        pl.launch(text, 1, 32, x, F4.copy(), device="cpu")
    return str(caught.value).removeprefix("k, argument 1 (x: .u64)")


@pytest.mark.parametrize("of", ["dlpack", "array", "memoryview", "masked", "torch", "jax", "pyarrow"])
@pytest.mark.parametrize("device", ["cpu", "step"])
def test_arrays_of_other_libraries(of, device):
    own = {"array": array.array("f", F4), "memoryview": memoryview(+F4), "masked": np.ma.array(+F4, mask=F4 > 1)}
    given, result, before = Foreign(F4), own.get(of, Foreign(F4.copy())), F4
    if of in ("torch", "jax", "pyarrow"):
        module = pytest.importorskip({"jax": "jax.numpy"}.get(of, of))
        given = (module.array if of == "pyarrow" else module.asarray)(F4)
    if of == "torch":
        result, before = module.ones(32), 1
    pl.launch(ADD, 1, 32, pl.const(given), result, device=device)
    assert np.array_equal(getattr(result, "held", result), F4 + before)
    if of in ("jax", "pyarrow"):
        assert refused(given).startswith(": the array is read-only")
    says = ": Foreign is on a GPU; a launch takes arrays in the CPU's memory\n  write:  c = np.array(x)    "
    assert refused(Foreign(F4, device=2)) == says + "# and give c to the kernel"


def test_bfloat16_and_what_has_no_memory_of_torch():
    torch = pytest.importorskip("torch")
    x = torch.arange(64).to(torch.bfloat16)
    twice = kernel("ld.global.b32 %w1, [%x]; add.bf16x2 %w1, %w1, %w1; st.global.b32 [%x], %w1;")
    pl.launch(twice, 1, 32, x, None, device="cpu")
    assert torch.equal(x, (2 * torch.arange(64)).to(torch.bfloat16))
    assert "x.contiguous()    # and give c to the kernel\n          x.copy_(c)" in refused(torch.ones(8, 4).T)
    assert refused(torch.ones(32, requires_grad=True)).endswith("\n  write:  x.detach()")
    assert "is on meta" in refused(torch.ones(32, device="meta"))


def test_slices_of_device_buffers():
    buffer = pl.to_device(np.zeros((4, 32), "f4"), device="cpu")
    buffer[1:3] = 1
    for device in ("cpu", "step"):
        pl.launch(ADD, 1, 32, buffer[1], buffer[-1], device=device)
    assert buffer.copy_to_host().sum(axis=1).tolist() == [0, 32, 32, 64]
    assert buffer[2, 5:].shape == (27,)
    assert len(list(buffer)) == len(buffer) == 4
    with pytest.raises(pl.LaunchError, match=r"must be contiguous, .*\n  write: .*copy_to_host\(\)\[:, 1\]\)"):
        buffer[:, 1]
    unwritten = pl.empty((2, 32), device="cpu")
    unwritten[0] = F4
    run = pl.launch(ADD, 1, 32, unwritten[1], unwritten[0], device="cpu", checks="initcheck")
    assert run.findings == []
    with pytest.warns(UserWarning, match="32 of 64 elements of .* have no value"):
        unwritten.copy_to_host()
    part = buffer[1]
    buffer.free()
    assert "the buffer was freed at" in refused(part)


UNPACK = "ld.global.b32 %w1, [%x]; mov.b32 {%h1, %h2}, %w1; cvt.f32.TYPE %f1, %h1; st.global.f32 [%y], %f1;"
F16, BF16 = (kernel(UNPACK.replace("TYPE", kind)) for kind in ("f16", "bf16"))
COPY = "ld.global.{0} %{1}1, [%x]; st.global.{0} [%y], %{1}1;"
COUNT = kernel("red.global.add.u32 [%y], 1;", y=0)
HALF = kernel("ld.global.u32 %r1, [%x]; add.s32 %r1, %r1, 1; st.global.u32 [%y], %r1;", x=8)
PAIR = kernel("ld.global.v2.f32 {%f1, %f2}, [%x]; add.f32 %f1, %f1, %f2; st.global.f32 [%y], %f1;", x=8)
CARRY = kernel("ld.global.u32 %r1, [%x]; add.cc.u32 %r1, %r1, %r1; st.global.u32 [%y], %r1;")
BITS = kernel("ld.global.u32 %r1, [%x]; mul.lo.u32 %r1, %r1, 31; xor.b32 %w1, %r1, 5; st.global.b32 [%y], %w1;")
AGAIN = kernel("ld.global.u32 %r1, [%x]; st.global.u32 [%y], %r1; mov.u32 %r1, %t; add.u32 %r1, %r1, 1;")
WORDS = kernel("ld.global.u32 %r1, [%x]; add.s32 %r1, %r1, 1; st.global.u32 [%x], %r1;")
MIXED = kernel("ld.global.u32 %r1, [%x]; ld.global.f32 %f1, [%x+4]; neg.f32 %f1, %f1; st.global.f32 [%y], %f1;", x=8)


@pytest.mark.parametrize(
    ("text", "x", "y"),
    [
        (ADD, F4, F4), (ADD, F4.view("u1"), F4.view("u1")), (ADD, F4.view("i4"), np.zeros(32, "u4")),
        (ADD, pl.const(F4), pl.out(F4.copy())), (ADD, F4.view("f8"), F4),
        (kernel(COPY.format("b32", "w")), np.arange(16.0), np.zeros(16)),
        (kernel(COPY.format("f32", "f")), np.arange(16), np.zeros(16, int)),
        (F16, H, F4), (F16, H.view("u4"), F4), (BF16, H.astype(ml_dtypes.bfloat16).view("u2"), F4),
        (COUNT, F4, np.zeros(1, int)), (HALF, I8, F4.view("u4")), (PAIR, F4.astype("c8"), F4),
        (CARRY, I8, F4.view("u4")), (BITS, F8, F4.view("u4")), (AGAIN, F8, F4.view("u4")), (WORDS, F8, 64),
        (MIXED, np.arange(64, dtype="i4"), F4),
    ],
)  # fmt: skip
def test_no_warning_of_a_right_program(text, x, y):
    for device in ("cpu", "step"):
        args = [a.copy() if isinstance(a, np.ndarray) else a for a in (x, y)]
        pl.launch(text, 1, 32, *args, device=device)


@pytest.mark.parametrize(
    ("text", "x", "y", "says"),
    [
        (ADD, F8, F4, "1 (x: .u64): line 9 loads .f32, but the array is float64\n  write:  x = x.astype(np.float32)"),
        (ADD, I8, F4, "1 (x: .u64): line 9 loads .f32, but the array is int64\n  write:  x = x.astype(np.float32)"),
        (ADD, np.arange(32, dtype="i4"), F4, "1 (x: .u64): line 9 loads .f32, but the array is int32\n"),
        (ADD, F4, np.zeros(32), "2 (y: .u64): line 9 loads .f32, but the array is float64\n"),
        (kernel("cvt.rn.f32.u32 %f1, %t; st.global.f32 [%y], %f1;"), F4, np.zeros(32), "line 9 stores .f32, but"),
        (kernel("add.u32 %r1, %t, 1; st.global.u32 [%y], %r1;"), F4, np.zeros(32, int), "line 9 stores .u32, but"),
        (kernel("ld.global.b32 %w1, [%x];\nadd.s32 %w1, %w1, 1; st.global.b32 [%y], %w1;"), I8, F4.view("u4"),
         "line 9 loads .b32 (line 10 uses it as .s32), but the array is int64\n  write:  x = x.astype(np.int32)"),
        (F16, F4, F4, "loads .b32 (line 9 uses it as .f16), but the array is"),
        (BF16, H, F4, "write:  x = x.astype(ml_dtypes.bfloat16)"),
        (PAIR, F4.astype("c16"), F4, "complex128\n  write:  x = x.astype(np.complex64).view(np.float32)    #"),
        (kernel(COPY.format("f32", "f")), F8, F4, "line 9 loads .f32, but the array is float64"),
    ],
)  # fmt: skip
def test_a_warning_names_the_line_both_types_and_the_cast(text, x, y, says):
    x, y = x.copy(), y.copy()
    with pytest.warns(UserWarning, match="but the array is") as caught:
        pl.launch(text, 1, 32, x, y, device="cpu")
    assert len(caught) == 1
    assert says in str(caught[0].message)
    assert caught[0].filename == __file__
