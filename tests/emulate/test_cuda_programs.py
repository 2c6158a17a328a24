"""CUDA C++ programs against numpy on both engines, from nvcc's PTX in the corpus and from NVRTC."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from cuda_programs import ARCHS, MODES, PROGRAMS, SOURCES, archive, exists, ptx_of, run
from emulate_programs import ENGINES

from ptxlab.frontends.cuda import available, include_folders

DEVICES = {"step": "step", "jit": "cpu"}
WITH_DEBUGGER = (
    "reductions", "scan_shuffle", "softmax_online", "virtual_functions", "function_pointers", "printing", "asserting",
    "structures", "matmul_mma", "warp_votes", "int128", "cas_loops", "stack_array",
)  # fmt: skip
"""Of the programs at -G, which keep everything in memory and call functions, those for every save."""


def check(name: str, text: str, engine: str) -> None:
    assert str(run(name, text, DEVICES[engine], workers=1)) == "ok"


def test_every_program_has_a_source_and_its_ptx() -> None:
    assert {path.stem for path in SOURCES.glob("*.cu")} == set(PROGRAMS)
    wanted = {f"{n}.{m}.{a}" for n in PROGRAMS for m in MODES for a in ARCHS if exists(n, a)}
    assert wanted <= set(archive())


def builds() -> Iterator[Any]:
    """Every program for every target, optimised or for the debugger, on every engine; most of them are slow."""
    for name, arch, mode, engine in itertools.product(PROGRAMS, ARCHS, MODES, ENGINES):
        debugged = (arch, mode, engine) == ("sm_80", "G", "step") and name in WITH_DEBUGGER
        marks = () if (arch, mode) == ("sm_80", "O3") or debugged else pytest.mark.slow
        if exists(name, arch):
            yield pytest.param(name, arch, mode, engine, marks=marks)


@pytest.mark.sweep(24)
@pytest.mark.parametrize(("name", "arch", "mode", "engine"), list(builds()))
def test_program(name: str, arch: str, mode: str, engine: str) -> None:
    check(name, ptx_of(name, mode, arch), engine)


@pytest.mark.slow
@pytest.mark.skipif(not available() or not include_folders(), reason="needs NVRTC and CUDA's headers: ptxlab[cuda]")
@pytest.mark.parametrize("name", [n for n in PROGRAMS if n != "stack_array"])  # NVRTC has no alloca
def test_compiled_now(name: str) -> None:
    check(name, ptx_of(name, "O3", "sm_80", "nvrtc"), ENGINES[-1])
