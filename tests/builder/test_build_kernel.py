"""`@kernel`: parameters, options, probes, the `.version`, and that NVIDIA's assembler takes what is built."""

from __future__ import annotations

from typing import Any, TypeVar

import build_attention
import numpy as np
import pytest

import ptxlab as pl
from ptxlab.builder import Builder, Kernel, Ptr, f16, f32, f64, kernel, u32

Real = TypeVar("Real", f32, f64)


@kernel
def scale(k: Builder, x: Ptr[f32], n: u32, factor: float = 2.0, *, twice: bool = False) -> None:
    """Multiplies.

    And this is not printed.
    """
    i = k.thread_index()
    with k.if_(i < n):
        x[i] = x[i] * factor
        if twice:
            x[i] = x[i] * factor


def test_plain_python_parameters_are_given_at_the_call() -> None:
    assert "0f40000000" in scale.ptx
    assert scale.name == "scale"
    assert [(p.name, repr(p.type)) for p in scale.params] == [("x", "Ptr[f32]"), ("n", "u32")]
    other = scale(factor=3.0, twice=True, arch="sm_90", name="triple")
    assert isinstance(other, Kernel)
    assert (other.name, other.arch) == ("triple", "sm_90")
    assert other.ptx.count("0f40400000") == 2
    assert ".version 7.8\n.target sm_90\n" in other.ptx
    assert "// Multiplies.\n.visible .entry triple(" in other.ptx


def test_kernels_run() -> None:
    x = np.arange(10, dtype=np.float32)
    pl.launch(scale, 1, 32, x, 10, device="step")
    pl.launch(scale(factor=0.5), 1, 32, x, 9, device="step")
    assert x.tolist() == [*range(9), 18]


def test_options_of_the_decorator() -> None:
    @kernel(arch="sm_75", name="other", loc=True)
    def f(k: Builder, x: Ptr[f32]) -> None:
        k.launch_bounds(128, 4)
        x[0] = 1.0

    assert ".version 6.3\n.target sm_75\n" in f.ptx
    assert ")\n.maxntid 128, 1, 1\n.minnctapersm 4\n{" in f.ptx
    assert ".loc 1 " in f.ptx
    assert f.name == "other"
    assert set(f.module.kernels[0].directives) == {"maxntid", "minnctapersm"}


def test_the_lowest_version_that_has_the_target_and_the_forms() -> None:
    def f(k: Builder, x: Ptr[f16], form: str) -> None:
        value = k.load(x)
        if form:
            k.op(form, value, value)

    assert ".version 6.3" in kernel(arch="sm_75")(f)(form="").ptx
    assert ".version 7.0" in kernel(arch="sm_80")(f)(form="max.f16").ptx
    assert ".version 7.8" in kernel(arch="sm_89")(f)(form="max.f16").ptx


def test_one_function_for_two_types() -> None:
    def build(real: type[Any]) -> Kernel:
        @kernel(types={"Real": real}, name=f"sum_{real.ptx}")
        def f(k: Builder, x: Ptr[Real], a: Real) -> None:
            x[0] = x[0] + a * 0.1

        return f()

    assert [(p.name, repr(p.type)) for p in build(f64).params] == [("x", "Ptr[f64]"), ("a", "f64")]
    assert "add.rn.f32" in build(f32).ptx
    assert "0d3FB999999999999A" in build(f64).ptx


def test_annotations_resolve_without_the_future_import() -> None:
    T = f64

    def f(k, x, n, y: Ptr[T]):  # type: ignore[no-untyped-def, valid-type]
        y[0] = 1.0

    f.__annotations__ = {"x": Ptr[f32], "n": u32, "y": "Ptr[T]"}
    assert [repr(p.type) for p in kernel(f).params] == ["Ptr[f32]", "u32", "Ptr[f64]"]


@kernel
def softmax(k: Builder, x: Ptr[f32], out: Ptr[f32], n: u32) -> None:
    row = k.thread_index()
    m, l = k.var(f32, float("-inf")), k.var(f32, 0.0)
    with k.loop(n) as j:
        score = x[row * n + j]
        largest = k.max(m, score)
        rescale = k.exp2(m - largest)
        l.set(k.fma(l, rescale, k.exp2(score - largest)))
        m.set(largest)
        k.probe(row, j, n, m, l, rescale)
    out[row] = l


def test_probes_store_the_state_in_natural_units() -> None:
    rows, n = 8, 5
    x = np.random.default_rng(3).normal(size=(rows, n)).astype(np.float32)
    out, probe = np.zeros(rows, np.float32), np.full((rows, n, 3), np.nan, np.float32)
    probed = softmax(probes=True)
    assert [p.name for p in probed.params] == ["x", "out", "n", "probe"]
    pl.launch(probed, 1, rows, x, out, n, probe, device="step")

    m = np.maximum.accumulate(x.astype(np.float64), axis=1)
    l = np.array([[np.exp2(r[: j + 1] - r[: j + 1].max()).sum() for j in range(n)] for r in x.astype(np.float64)])
    before = np.concatenate([np.full((rows, 1), -np.inf), m[:, :-1]], axis=1)
    np.testing.assert_allclose(probe[..., 0], m * np.log(2), rtol=1e-6)
    np.testing.assert_allclose(probe[..., 1], l, rtol=1e-5)
    np.testing.assert_allclose(probe[..., 2], np.exp2(before - m), rtol=1e-6)


@pytest.mark.assembler
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90"])
def test_the_assembler_takes_what_is_built(arch: str) -> None:
    @kernel
    def everything(k: Builder, x: Ptr[f32], d: Ptr[f64], h: Ptr[f16], n: u32) -> None:
        tile, dynamic = k.shared(f32, (32, 33)), k.dynamic_shared(f16)
        i, lane = k.tid.x, k.laneid
        inside = i < n
        with k.if_(inside):
            tile[i, 3] = k.load(x, 4, vector=4)[0]
        with k.else_():
            tile.row(i)[1] = -1.0
        k.barrier()
        with k.guard(inside & (lane != 3)):
            dynamic[i] = h[i] + h[0]
            h[1] = dynamic[0]
            h[2] = 2.5
        total = k.var(f32, 0.0)
        with k.loop(k.cvt(u32, tile[0, 0]), step=2) as j:
            k.continue_if(j == 4)
            k.break_if(j > 7)
            total += k.shfl(tile[j, 1], 16, 31, -1, mode="bfly")
        with k.while_(lambda: total < 100.0):
            total.set(k.fma(total, total, 1.0))
        k.atom(x, total, operation="add")
        d[i] = k.log2(k.exp2(d[0]) + 1.0) / 3.0
        k.return_if(~inside)
        x[i] = k.select(total > 3.0, abs(-total), k.sqrt(total))

    for built in (everything(arch=arch), everything(arch=arch, loc=True), build_attention.attention(arch=arch)):
        assert pl.assemble(built.ptx, arch).registers > 0
