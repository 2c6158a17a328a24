"""What the instruction table tells people: how exact results are, which tests show an entry, what words mean."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from accuracy_cases import CASES, Case, measure

from ptxlab.isa import glossary
from ptxlab.isa.accuracy import accuracy
from ptxlab.isa.coverage import PATH, coverage, key, report, shown_by
from ptxlab.isa.docs import explain
from ptxlab.isa.table import all_ops
from ptxlab.lab import hover

# -- the accuracy of approximations ------------------------------------------------------------------------------------


@pytest.mark.sweep(3)
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.opcode} {c.where}")
def test_measured_again(case: Case) -> None:
    (noted,) = [r for r in accuracy(case.opcode) if r.where == case.where]
    error, ulp = measure(case)
    assert error <= case.bound == noted.bound
    assert (noted.measured, noted.ulp) == pytest.approx((error, ulp), rel=1e-3), (
        "PYTHONPATH=tests python tests/support/accuracy_cases.py"
    )


def test_every_opcode_is_there() -> None:
    assert {r.opcode for r in accuracy()} == {c.opcode for c in CASES}
    assert len(accuracy("ex2")) == 3
    assert not accuracy("fma")


def test_the_table_says_it() -> None:
    assert "ex2.approx.f32: error at most 0.933 ulp; the manual allows 2 ulp (all inputs)" in report()
    assert "error at most 0.5 ulp; the manual allows 1 ulp (all inputs)" in explain("rcp.approx.ftz.f32").accuracy


# -- the tests that `ptxlab isa` names ---------------------------------------------------------------------------------

AGAIN = (
    "note them anew: PYTHONPATH=tests/support python -m pytest -p form_recorder "
    '-m "not slow or rest" tests/isa tests/emulate'
)


def test_every_entry_has_a_name_of_its_own() -> None:
    assert len({key(entry) for entry in all_ops()}) == len(all_ops())


def test_every_executed_entry_is_shown_by_a_test() -> None:
    missing = [key(entry) for entry in all_ops() if entry.executed and not shown_by(entry)]
    assert not missing, AGAIN


def test_the_tests_exist() -> None:
    noted = {test for tests in json.loads(PATH.read_text(encoding="utf-8")).values() for test in tests.values()}
    files = {path.name: path for path in Path(__file__).parents[1].rglob("test_*.py")}
    known = set()
    for name in {test.partition("::")[0] for test in noted}:
        tree = ast.parse(files[name].read_text(encoding="utf-8"))
        known |= {f"{name}::{node.name}" for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert noted <= known, AGAIN


def test_nothing_is_only_assembled() -> None:
    assert [row.opcode for row in coverage() if row.executed < row.forms] == []


def test_the_report_names_the_tests() -> None:
    lines = report().splitlines()
    at = next(k for k, line in enumerate(lines) if line.startswith("popc "))
    assert lines[at].split() == ["popc", "1", "of", "1", "executed"]
    assert " 1 in test_isa_integer.py::test_counting_bits" in lines[at + 1] + lines[at + 2]


# -- the glossary ------------------------------------------------------------------------------------------------------

PAGE = Path(__file__).parents[2] / "docs" / "glossary.md"


def test_the_page_is_made_from_it() -> None:
    assert PAGE.read_text(encoding="utf-8") == glossary.page(), "python -m ptxlab.isa.glossary docs/glossary.md"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("Lanes of diverged warps reconverge.", ["diverged", "warp", "reconverge"]),
        ("bank conflicts cost wavefronts, a bank conflict more", ["bank conflict", "wavefront"]),
        ("`fence` and %warp are code, .global memory is not", []),
        ("a fence.proxy.async is an opcode; the async proxy is none", ["async proxy"]),
        ("mbarriers are no barriers", ["mbarrier", "barrier"]),
        ("registers, Register", ["register"]),
    ],
)
def test_terms_are_found_in_prose(text: str, found: list[str]) -> None:
    assert glossary.terms(text) == found


def test_every_term_means_something() -> None:
    for term, says in glossary.GLOSSARY.items():
        assert says.endswith((".", "...")), term
        assert term in glossary.terms(term), term


def test_hover_texts_explain_their_terms() -> None:
    assert dict(hover.opcode("shfl.sync.bfly.b32")["terms"]).keys() <= glossary.GLOSSARY.keys()
    explained = dict(hover.opcode("bar.warp.sync")["terms"])
    assert not explained.keys() & hover.BASIC
    assert all(glossary.GLOSSARY[term] == says for term, says in explained.items())
    assert [term for term, _ in hover.opcode("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")["terms"]]
