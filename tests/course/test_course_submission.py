"""What students hand in, and how it crosses to the process that grades: submissions and the wire."""

from __future__ import annotations

import json
import mmap
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ptxlab.course.class_grading import collect, grade
from ptxlab.course.sandbox import submission, wire
from ptxlab.errors import PtxlabError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="grading in processes with limits is tested on Linux")

# -- what is handed in -------------------------------------------------------------------------------------------------


def test_what_cannot_be_a_submission(tmp_path: Path) -> None:
    with pytest.raises(PtxlabError, match="no submission in it"):
        collect(tmp_path)
    (tmp_path / "ann.py").write_text("x = 1", encoding="utf-8")
    (tmp_path / "ann.ipynb").write_text("{}", encoding="utf-8")
    with pytest.raises(PtxlabError, match="two submissions of ann; put the files of a student into a folder"):
        collect(tmp_path)
    (tmp_path / "ann.ipynb").unlink()
    (tmp_path / "bob.py").symlink_to("/etc/passwd")
    (tmp_path / "cleo").mkdir()
    notes = {h.student: h.note for h in collect(tmp_path)}
    assert notes == {
        "ann": "",
        "bob": "bob.py is a link; links are not followed",
        "cleo": "there is no .ipynb or .py file in it",
    }
    with pytest.raises(PtxlabError, match="no submission has a cell for an exercise"):
        grade(tmp_path, progress=False)
    with pytest.raises(PtxlabError, match="there is no exercise '99'"):
        grade(tmp_path, exercises=["99"], progress=False)


def cells(*sources: str) -> submission.Submission:
    """A submission with these cells."""
    made = [{"cell_type": "code", "source": s, "metadata": {}} for s in sources]
    return submission.read("x.ipynb", json.dumps({"cells": made}).encode())


def test_the_cells_that_an_exercise_needs() -> None:
    found = cells(
        "import math",
        "import matplotlib.pyplot as plt",
        "plt.plot([1])",
        "D = 4",
        "table = []",
        "table.append(D)",
        "D = 8",
        "def f(x):\n    return math.pi * x + len(table)",
        "check('01-lse', f)",
        "check('02-x', table)",
    )
    assert found.cell_of("01-lse", "f") == 8
    assert found.needed(8) == [0, 3, 4, 5, 7, 8]
    assert found.cell_of("03-none", "f") == 7
    assert found.cell_of("03-none", "g") is None


def test_magics_do_not_count() -> None:
    found = cells("%load_ext ptxlab\nx = 1", "%%ptx --block 32\n.version 7.0", "!ls\ny = x")
    assert [cell.source for cell in found.cells] == ["\nx = 1", "", "\ny = x"]
    asked = cells("%%time\nx = 1\nx?", "?x\ny = x\nnp.abs??", "%%timeit\nx = 1", "%%capture out\nx = 2")
    assert [cell.source for cell in asked.cells] == ["\nx = 1\n", "\ny = x\n", "", "\nx = 2"]


@pytest.mark.rest
@pytest.mark.long
def test_a_cell_that_was_deleted_is_told_from_one_that_binds_nothing(tmp_path: Path) -> None:
    text = "# %% [exercise] 01-predict\nshrink = 1\n# %%\nscore('01-lse', with_lse)\n"
    (tmp_path / "dan.py").write_text(text, encoding="utf-8")
    (found,) = grade(tmp_path, exercises=["01-predict", "01-lse"], seed=3, jobs=1, progress=False)
    assert found.marks["01-predict"].says == ["No cell assigns `shrinks`: is the cell of 01-predict gone?"]
    assert found.marks["01-lse"].says == ["No cell assigns `with_lse`: is the cell of 01-lse gone?"]


@pytest.mark.rest
def test_a_large_process_can_grade(tmp_path: Path) -> None:
    """As a notebook that holds a lot may be: the limit on memory is on what an answer adds to it."""
    text = "# %% [exercise] 01-predict\nshrink = 1\n"
    (tmp_path / "eve.py").write_text(text, encoding="utf-8")
    with mmap.mmap(-1, 4 << 30):
        (found,) = grade(tmp_path, exercises=["01-predict"], seed=3, jobs=1, progress=False)
    assert found.marks["01-predict"].says == ["No cell assigns `shrinks`: is the cell of 01-predict gone?"]


@pytest.mark.parametrize("raw", [b"garbage", b"{}", b"[]", b'{"cells": 3}', b"\xff\xfe", b"[" * 100_000])
def test_a_damaged_notebook_says_so(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"x\.ipynb is not "):
        submission.read("x.ipynb", raw)


# -- the wire ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [None, True, 3, -(1 << 70), 2.5, float("inf"), "é\n", b"\x00\xff", [1, [2.0, "x"]], (1, (2,)), {1, 2},
     range(2, 9, 3),
     {1: "a", (2, 3): [None]}, {"<float>": 1}],
    ids=repr,
)  # fmt: skip
def test_plain_data_arrives_as_it_was(value: Any) -> None:
    found = wire.decode(json.loads(json.dumps(wire.encode(value))))
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "uint8", "bool", "bfloat16"])
def test_arrays_arrive_as_they_were(dtype: str) -> None:
    if dtype == "bfloat16":
        import ml_dtypes

        array = np.arange(6).astype(ml_dtypes.bfloat16).reshape(2, 3)
    else:
        array = np.arange(6).astype(dtype).reshape(2, 3)
    found = wire.decode(json.loads(json.dumps(wire.encode(array))))
    assert found.dtype == array.dtype
    assert np.array_equal(found, array)
    assert wire.decode(json.loads(json.dumps(wire.encode(array[0, 1])))) == array[0, 1]


@pytest.mark.parametrize("value", [object(), lambda: 1, np.array([object()]), 1 << 300, {1: {2: open}}])
def test_other_things_are_refused(value: Any) -> None:
    with pytest.raises(wire.WireError, match="cannot be sent"):
        wire.encode(value)


def test_a_value_that_is_nested_too_deep_is_refused() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(wire.WireError, match="nested more than 40 deep"):
        wire.encode(value)


@pytest.mark.parametrize("raw", [b"", b"xx", b"\xff\xff\xff\x7f{}", b"\x02\x00\x00\x00[]", b"\x04\x00\x00\x00\xff{}}"])
def test_what_is_no_message_is_an_error(raw: bytes) -> None:
    read, write = os.pipe()
    os.write(write, raw)
    os.close(write)
    with pytest.raises(wire.WireError):
        wire.Channel(read, -1).receive(1.0)
    os.close(read)
