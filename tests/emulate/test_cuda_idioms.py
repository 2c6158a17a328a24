"""Idioms of CUDA C++: what the checks find in wrong ones, and nothing in right ones.

Each file of `tests/corpus/idioms` is a kernel `k(int *out, int *x, int n)`. Its head says how it is launched and what
both engines find in it: kinds of findings, or `fault`. Where that is something, it is found with `BUG` defined, and
nothing without; where it says `missed`, the bug is one that no check reports today, and why.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS

import ptxlab as pl
from ptxlab.errors import DeviceFault
from ptxlab.frontends.cuda import include_folders

FOLDER = Path(__file__).parents[1] / "corpus" / "idioms"
HEAD = re.compile(
    r"// .*\.\n// launch: (?P<grid>\d+) x (?P<block>\d+)(?:, (?P<shared>\d+) bytes of dynamic shared memory)?"
    r"(?P<cooperative>, cooperative)?(?:, (?P<n>\d+) elements)?(?:, on (?P<arch>\w+))?\n"
    r"// (?:finds: (?P<finds>.*)|missed: .*)\n"
)
FIRST = {"wrong_one_of_two_locks", "decoupled_look_back_scan", "last_block_without_fence_at_all", "mcs_lock"}
"""Those that every run of the tests looks at."""
FILES = [
    pytest.param(path.stem, marks=() if path.stem in FIRST else pytest.mark.rest)
    for path in sorted(FOLDER.glob("*.cu"))
]


def found(source: str, head: re.Match[str], device: str, *, bug: bool) -> list[str]:
    """The kinds of what is found, in a kernel compiled anew: variables of a module keep what a launch left."""
    kernel = pl.cuda(source, head["arch"], options=["-DBUG"] if bug else [], entry="k")
    n = int(head["n"] or 4096)
    out, x = np.zeros(n, np.int32), np.random.default_rng(0).integers(0, 100, n).astype(np.int32)
    try:
        run = pl.launch(
            kernel,
            int(head["grid"]),
            int(head["block"]),
            out,
            x,
            n,
            device=device,
            checks=ALL_CHECKS,
            shared=int(head["shared"] or 0),
            cooperative=bool(head["cooperative"]),
        )
    except DeviceFault:
        return ["fault"]
    return sorted({finding.kind for finding in run.findings})


@pytest.mark.skipif(not include_folders(), reason="needs CUDA's headers: pip install 'ptxlab[cuda]'")
@pytest.mark.parametrize("name", FILES)
def test_an_idiom(name: str, device: str) -> None:
    source = (FOLDER / f"{name}.cu").read_text()
    head = HEAD.match(source)
    assert head, source
    finds = [] if head["finds"] in (None, "nothing") else head["finds"].split(", ")
    for kind, wanted in zip(found(source, head, device, bug=True), finds, strict=True):
        assert kind in wanted.split("|")  # of a pair of lines the schedule may show either at the widest scope
    if finds:
        assert found(source, head, device, bug=False) == []
