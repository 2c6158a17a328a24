"""The checks of the exercises: what they say of answers that are wrong in ways that students are wrong."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import ptxlab as pl
from ptxlab.build import Ptr, f32, kernel, u32
from ptxlab.course import check, exercises
from ptxlab.course.check import UnknownExercise

LOG2E, LN2 = math.log2(math.e), math.log(2)


def online(mistake: str) -> Any:
    """The kernel of 01-rescale with a mistake."""

    @kernel
    def mended(k, q: Ptr[f32], key: Ptr[f32], value: Ptr[f32], o: Ptr[f32], n: u32, scale: f32, *, D: int = 8):
        row = k.thread_index()
        k.return_if(row >= n)
        scale_log2e = scale * LOG2E
        query = k.load(q + row * D, D)
        acc = k.vars(f32, D, 0.0)
        row_max = k.var(f32, -math.inf)
        row_sum = k.var(f32, 0.0)
        with k.loop(n) as j:
            offset = j * D
            key_row, value_row = key + offset, value + offset
            score = k.var(f32, 0.0)
            for d in range(D):
                score.set(k.fma(query[d], key_row[d], score))
            score *= scale_log2e
            new_max = k.max(row_max, score)
            if mistake == "too early":
                row_max.set(new_max)
            rescale = k.exp2(row_max - new_max)
            weight = k.exp2(score - new_max)
            row_sum.set(row_sum + weight if mistake == "sum" else k.fma(row_sum, rescale, weight))
            for d in range(D):
                if mistake != "row":
                    acc[d] *= rescale
                acc[d].set(k.fma(weight, value_row[d], acc[d]))
            if mistake != "too early":
                row_max.set(new_max)
            if mistake == "no probe for odd rows":
                with k.if_((row & 1) == 0):
                    k.probe(row, j, n, row_max, row_sum, rescale)
            elif mistake != "no probe":
                k.probe(row, j, n, row_max, row_sum, rescale)
        o_row = o + row * D
        for d in range(D):
            o_row[d] = acc[d] / row_sum

    return mended


def window(mistake: str) -> Any:
    """The kernel of 01-window with a mistake."""

    @kernel
    def window(
        k, q: Ptr[f32], key: Ptr[f32], value: Ptr[f32], o: Ptr[f32], lse: Ptr[f32], n: u32, scale: f32, *,
        D: int = 8, W: int = 4,
    ):  # fmt: skip
        row = k.thread_index()
        if mistake != "no guard":
            k.return_if(row >= n)
        scale_log2e = scale * LOG2E
        query = k.load(q + row * D, D)
        acc = k.vars(f32, D, 0.0)
        row_max = k.var(f32, -math.inf)
        row_sum = k.var(f32, 0.0)
        stop = row + 1
        if mistake == "wraps":
            first = k.max(row - (W - 1), 0)
        elif mistake in ("causal", "hidden"):
            first = k.mov(0, u32)
        else:
            first = k.max(stop, W) - W
        with k.loop(stop, start=first) as j:
            offset = j * D
            key_row, value_row = key + offset, value + offset
            score = k.var(f32, 0.0)
            for d in range(D):
                score.set(k.fma(query[d], key_row[d], score))
            score *= scale_log2e
            if mistake == "hidden":
                score.set(k.select(j + W <= row, -math.inf, score))
            new_max = k.max(row_max, score)
            rescale = k.exp2(row_max - new_max)
            weight = k.exp2(score - new_max)
            row_sum.set(k.fma(row_sum, rescale, weight))
            for d in range(D):
                acc[d] *= rescale
                acc[d].set(k.fma(weight, value_row[d], acc[d]))
            row_max.set(new_max)
        o_row = o + row * D
        for d in range(D):
            o_row[d] = acc[d] / row_sum
        lse[row] = (row_max + k.log2(row_sum)) * (1.0 if mistake == "log2" else LN2)

    return window


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (None, "There is no prediction yet."),
        (3, "A list of key numbers is wanted, found 3."),
        ([0, 9], "There is no key 9; the keys are 0 to 7."),
        (
            [3, 5],
            "Key 0: thread 0 held m = -inf and met the score 0.5, a new maximum, so it computed rescale = 0. "
            "You did not name this key.",
        ),
        (
            [0, 3, 5, 6],
            "Key 6: thread 0 held m = 2.5 and met the score 2.5, which is no larger, so rescale was exactly 1. "
            "You named this key.",
        ),
    ],
)
def test_predict(answer: Any, says: str) -> None:
    found = check("01-predict", answer)
    assert not found
    assert found.says[0] == says


def test_predict_names_the_line_of_the_library() -> None:
    says = check("01-predict", [0]).says
    assert says[1].startswith("ptxlab/kernels/scalar.py:")
    assert says[1].partition(", ")[2].endswith("ex2.approx.f32 %rescale, %f2;")
    assert says[2] == "1 of the kernel's 3 rescales are in your list."


@pytest.mark.parametrize(
    ("mistake", "says"),
    [
        (
            "too early",
            "Thread 0, key 4: the maximum went from -1.865 to 0.5597, so what was summed before must be multiplied by "
            "exp(-1.865 - 0.5597) = 0.08849. Your kernel's rescale was 1.",
        ),
        ("sum", "Thread 0, key 4: the running sum l should be 1.138, it was 2.562."),
        ("row", "m, l and rescale are right at every key, yet the output is off by up to 5.9 (worst in thread 1)."),
        ("no probe for odd rows", "Thread 1, key 0: m, l and rescale were (nan, nan, nan); a NaN, or never stored."),
    ],
)
def test_rescale(mistake: str, says: str) -> None:
    found = check("01-rescale", online(mistake))
    assert not found
    assert found.says[0] == says
    assert found.hint


def test_the_line_that_is_to_blame() -> None:
    says = check("01-rescale", online("too early")).says
    assert "test_course_check.py:" in says[1]
    assert "ex2.approx.f32 %rescale" in says[1]
    assert says[2] == "In all 32 threads the maximum grew 138 times; rescale was 1 in 138 of them."


def test_errors_of_the_answer_are_feedback() -> None:
    found = check("01-rescale", online("no probe"))
    assert not found
    assert "never calls k.probe" in found.says[0]
    assert check("01-rescale", "kernel").says == ("A function with @kernel is wanted, found str.",)
    fault = check("01-window", window("no guard"))
    assert fault.says[0].startswith("memcheck: load of 4 bytes at ")
    assert "block (1, 0, 0), thread (8, 0, 0)" in fault.says[0]


@pytest.mark.parametrize(
    ("mistake", "says", "where"),
    [
        ("causal", "Thread 6 may see keys 1 to 6; it also read key 0:", "ld.global.f32 %f1, [%key_row];"),
        ("wraps", "Thread 0 must see key 0; it read no key.", "sub.u32 %r2, %row, 5;"),
        ("hidden", "Thread 6 computed a NaN from -inf and -inf:", "sub.rn.f32"),
        ("log2", "The output is right, but the LSE of row ", ""),
    ],
)
def test_window(mistake: str, says: str, where: str) -> None:
    found = check("01-window", window(mistake))
    assert not found
    assert found.says[0].startswith(says)
    assert where in "\n".join(found.says)


def test_right_answers() -> None:
    assert check("01-predict", (0, 3, 5))
    assert check("01-rescale", online(""))
    found = check("01-window", window(""))
    assert found
    assert found.says[0] == "40 threads read 225 keys, not one more than needed; full attention reads 1600."
    assert repr(found).startswith("01-window: solved\n")
    assert "✓ solved" in found._repr_mimebundle_()["text/html"]


def test_the_mended_kernel_is_a_kernel_like_any_other() -> None:
    """What the exercise is about: with small logits nobody notices."""
    errors = []
    for sigma in (0.1, 8.0):
        q, k, v = pl.reference.random_inputs(1, 1, 1, 32, 32, 8, sigma=sigma)
        o = np.empty_like(q)
        pl.launch(online("too early"), 1, 32, q, k, v, o, 32, 1 / math.sqrt(8), device="step")
        errors.append(float(np.max(np.abs(o - pl.reference.attention(q, k, v).o))))
    assert errors[0] < 0.05
    assert errors[1] > 1


def test_unknown_exercise() -> None:
    with pytest.raises(UnknownExercise) as caught:
        check("99-dance", None)
    assert str(caught.value) == f"there is no exercise '99-dance'; there are {', '.join(exercises())}"
