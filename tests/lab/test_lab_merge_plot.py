"""`pl.plot_state` and `pl.plot_error` of decode results: what the figures show is what the kernels stored."""

from __future__ import annotations

import numpy as np
import pytest
from decode_cases import inputs

import ptxlab as pl


def decoded(name, lengths=(40, 300, 0), **options):
    dtype = "f16" if name == "decode_gqa" else "f32"
    q, k, v = inputs((4, 2), 32, dtype, lengths, sigma=2)
    return pl.decode(q, k, v, lengths, kernel=name, device="cpu", **options)


@pytest.mark.rest
@pytest.mark.parametrize(
    ("name", "splits", "parts"), [("decode_multiwarp", None, 8), ("decode_split", 5, 5), ("decode_gqa", 1, 4)]
)
def test_the_merge_as_a_figure(name, splits, parts):
    out = decoded(name, splits=splits, state=True)
    figure = pl.plot_state(out, row=5)
    m, l, factor, kernel, exact = figure.axes[:5]
    dots, rings = (line.get_ydata() for line in m.get_lines()[:2])
    assert len(rings) == parts
    np.testing.assert_allclose(dots, out.state[5, :, 0], rtol=1e-6)
    np.testing.assert_allclose(dots, rings, rtol=1e-3)
    for axis, column in ((l, 1), (factor, 2)):
        np.testing.assert_allclose([bar.get_height() for bar in axis.patches], out.state[5, :, column], rtol=1e-6)
    merged = out.state[5, :, 0].max(), (out.state[5, :, 1] * out.state[5, :, 2]).sum()
    assert [a.get_title(loc="right") for a in (m, l)] == [f"merged (dashed): {x:.5g}" for x in merged]
    shown, same = (axis.get_images()[0].get_array() for axis in (kernel, exact))
    np.testing.assert_allclose(shown[:parts].sum(axis=0), out.o[1, 1].astype(float), atol=2e-3)
    np.testing.assert_allclose(shown[-1], out.o[1, 1].astype(float), atol=2e-3)
    np.testing.assert_allclose(shown, same, atol=4e-3)
    assert "sequence 1, head 1: 300 keys" in figure.get_suptitle()
    assert figure._repr_png_().startswith(b"\x89PNG")


@pytest.mark.sweep(2)
@pytest.mark.long
@pytest.mark.parametrize("name", ["decode_multiwarp", "decode_split"])
def test_a_row_without_keys_is_drawn_too(name):
    out = decoded(name, splits=3 if name == "decode_split" else None, state=[(2, 0)])
    figure = pl.plot_state(out)
    assert figure.axes[0].get_title(loc="right") == "merged (dashed): -inf"
    assert figure._repr_png_()


@pytest.mark.long
def test_the_state_of_one_warp_key_by_key():
    out = decoded("decode", state=[(0, 3), (2, 0)])
    figure = pl.plot_state(out)
    assert len(figure.axes) == 3
    for i, axis in enumerate(figure.axes):
        stored, exact = (line.get_ydata() for line in axis.get_lines())
        assert len(stored) == 40
        np.testing.assert_allclose(stored, exact, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(stored, out.state[0, :40, i])
    assert pl.plot_state(out, row=1)._repr_png_()


def test_errors_of_all_rows():
    out = decoded("decode_split", splits=2)
    image = pl.plot_error(out).axes[0].get_images()[0].get_array()
    assert image.shape == (12, 32)
    assert (image <= 1).all()
    error = np.abs(out.o.astype(np.float64) - out.expected()).reshape(12, 32)
    row, column = np.unravel_index(np.argmax(image), image.shape)
    assert image[row, column] == pytest.approx(error[row, column] / 1e-5, rel=0.5)  # the tolerance grows with |o|


def test_what_cannot_be_drawn():
    with pytest.raises(pl.LaunchError) as caught:
        pl.plot_state(decoded("decode_multiwarp"))
    assert str(caught.value) == "this result has no state; write pl.decode(..., state=True)"
    with pytest.raises(pl.LaunchError) as caught:
        pl.plot_state(3)
    assert str(caught.value) == "result: expected a result of pl.attention or pl.decode, got int"
    with pytest.raises(pl.LaunchError) as caught:
        pl.plot_state(decoded("decode_multiwarp", state=[(0, 0)]), row=1)
    assert str(caught.value) == "row: there are 1 recorded rows, 1 is not one of them"
