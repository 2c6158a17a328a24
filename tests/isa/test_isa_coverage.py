"""The table that `ptxlab isa` prints: every executed entry has a test, and the tests that it names exist."""

from __future__ import annotations

import ast
import json
from pathlib import Path

from ptxlab.isa.coverage import PATH, coverage, key, report, shown_by
from ptxlab.isa.table import all_ops

AGAIN = (
    'note them anew: PYTHONPATH=tests/support python -m pytest -p form_recorder -m "not slow" tests/isa tests/emulate'
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
