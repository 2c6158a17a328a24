"""The decode kernels on problems that hypothesis draws; in a file of its own, as a GPU machine may lack hypothesis."""

from __future__ import annotations

import pytest
from decode_cases import check
from hypothesis import given, settings
from hypothesis import strategies as st
from test_kernels_decode import PAGED, SPLITTING, types

from ptxlab import kernels


@st.composite
def problems(draw):
    """Any kernel with any of its types, head_dims, pages and splits, on any short batch."""
    name = draw(st.sampled_from(["decode", "decode_multiwarp", "decode_paged", "decode_split", "decode_gqa"]))
    step = kernels.get(name, "decode").parameters["head_dim"].step
    heads_kv, ratio = draw(st.integers(1, 3)), draw(st.integers(1, 18))
    paging = name == "decode_paged" or (name in PAGED and draw(st.booleans()))
    return {
        "name": name,
        "dtype": draw(st.sampled_from(types(name))),
        "heads": (heads_kv * ratio, heads_kv),
        "dim": step * draw(st.integers(1, 256 // step)),
        "lengths": tuple(draw(st.lists(st.integers(0, 150), min_size=1, max_size=3))),
        "page": draw(st.integers(1, 256)) if paging else None,
        "splits": draw(st.integers(1, 170)) if name in SPLITTING else None,
        "sigma": draw(st.sampled_from([0.1, 1.0, 3.0, 8.0])),
        "state": draw(st.booleans()),
    }


@pytest.mark.slow
@given(problem=problems())
@settings(max_examples=60)
def test_any_problem(problem):
    check(**problem)
