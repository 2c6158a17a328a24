"""A sample of the damaged kernels of `benchmarks/damaged_kernels.py`: each finding names the user's own lines."""

from __future__ import annotations

import pytest
from damaged import LANGUAGES, damages, judged

STAGED = {"numba": "tile[t] = x[i]", "CUDA C++": "tile[t] = x[i];", "builder": "tile[t] = x[i]"}
SWAPPED = {"numba": "out[i] = tile[t ^ 1]", "CUDA C++": "out[i] = tile[t ^ 1];", "builder": "out[i] = tile[t ^ 1]"}
COUNTED = {
    "numba": "counts[x[i]] += 1", "CUDA C++": "counts[x[i]] += 1;", "builder": "counts[x[i]] = counts[x[i]] + 1",
    "PTX": "ld.shared.u32 %i, [%bin]; add.u32 %i, %i, 1; st.shared.u32 [%bin], %i;",
}  # fmt: skip
CASES = [
    ("PTX", "exchange", "barrier", {"st.shared.f32 [%s], %v;", "ld.shared.f32 %v, [%s];"}),
    *((language, "exchange", "barrier", {STAGED[language], SWAPPED[language]}) for language in STAGED),
    ("Triton", "rotate", "barrier", {
        "tl.store(scratch_ptr + mine + at, tl.load(x_ptr + mine + at))",
        "tl.store(out_ptr + mine + at, tl.load(scratch_ptr + mine + (at + 1) % BLOCK))",
    }),
    *((language, "histogram", "atomic", {text}) for language, text in COUNTED.items()),
    ("Triton", "histogram", "atomic",
     {"tl.store(bins_ptr + bins, tl.load(bins_ptr + bins, mask=mask) + 1, mask=mask)"}),
]  # fmt: skip


@pytest.mark.sweep(9)
@pytest.mark.parametrize(
    ("language", "kernel", "kind", "named"), [pytest.param(*case, id="-".join(case[:3])) for case in CASES]
)
def test_a_finding_names_the_lines_of_the_language(language: str, kernel: str, kind: str, named: set[str]) -> None:
    if language in ("numba", "Triton"):
        pytest.importorskip({"numba": "numba_cuda", "Triton": "triton"}[language])
    damage = next(each for each in damages(language) if (each.kernel, each.kind) == (kernel, kind))
    verdict = judged(damage)
    text = damage.text.split("\n")
    assert (verdict.outcome, verdict.checks) == ("reported", ("racecheck",))
    assert {text[line - 1].strip() for line in verdict.lines} == named


@pytest.mark.long
def test_the_damages_are_those_of_the_table() -> None:
    counted = {"numba": 92, "CUDA C++": 93, "builder": 98, "PTX": 73, "Triton": 57}
    assert {name: len([*damages(name)]) for name in LANGUAGES} == counted
