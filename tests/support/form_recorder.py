"""Notes which test executes which form, for the table of `ptxlab isa`: a plugin for pytest, run by hand.

    PYTHONPATH=tests/support python -m pytest -p form_recorder -m "not slow or rest" tests/isa tests/emulate

Of the tests that pass it writes two for each entry of the instruction table into ptxlab/isa/shown.json: one that
compares its numbers with what an oracle gives, and one that executes it on both engines. Where there are several it is
the one that is about the fewest entries, tests of results first. What the file has from tests that were not run now
stays.
"""

from __future__ import annotations

import functools
import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import isa_oracle
import pytest

from ptxlab.emulate.step import interpreter as step
from ptxlab.errors import DeviceFault
from ptxlab.isa import form
from ptxlab.isa.coverage import PATH, key

ABOUT_RESULTS = tuple(
    f"test_{name}.py"
    for name in ("isa_integer", "isa_half", "isa_convert", "isa_lanes", "isa_approx", "isa_rounding", "isa_fp8",
                 "emulate_conformance", "emulate_forms", "emulate_products", "emulate_sparse", "emulate_tiles",
                 "emulate_atomics", "emulate_wide", "emulate_stack", "emulate_mbarriers", "emulate_functions",
                 "emulate_engines")
)  # fmt: skip
"""Files of tests that look at what instructions compute; those of faults, counts and traces come after them."""

_seen: dict[str, set[tuple[str, str]]] = defaultdict(set)
"""Test -> (entry, "oracle", "step" or "jit")."""
_now: set[tuple[str, str]] = set()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Collects what one test executes, and keeps it if the test passes."""
    _now.clear()
    outcome = yield
    if outcome.excinfo is None:  # type: ignore[attr-defined]
        _seen[f"{item.path.name}::{item.originalname}"] |= _now  # type: ignore[attr-defined]


def _engine(run: Callable[..., Any], engine: str) -> Callable[..., Any]:
    @functools.wraps(run)
    def noted(program: Any, launch: Any, memory: Any) -> Any:
        lines: set[int] = set()
        try:
            report = run(program, launch, memory)
            lines = {line for line, (warps, _) in report.lines.items() if warps}
            return report
        except DeviceFault as fault:
            lines = {fault.line}
            raise
        finally:
            for code in program.codes:
                if code.instruction is not None and code.line in lines:
                    _now.add((key(form(code.instruction.opcode).op), engine))

    return noted


def _oracle(run: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(run)
    def noted(opcode: str, *operands: Any, **options: Any) -> Any:
        _now.add((key(form(opcode).op), "oracle"))
        return run(opcode, *operands, **options)

    return noted


step.run = _engine(step.run, "step")
isa_oracle.run = _oracle(isa_oracle.run)
try:
    from ptxlab.emulate import jit
except ImportError:
    pass
else:
    jit.run = _engine(jit.run, "jit")


def pytest_sessionfinish() -> None:
    """Writes the file."""
    about = {test: len({entry for entry, _ in seen}) for test, seen in _seen.items()}
    tests = sorted(_seen, key=lambda test: (not test.startswith(ABOUT_RESULTS), about[test], test))
    shown: dict[str, dict[str, str]] = {}
    for test in reversed(tests):
        for entry, how in _seen[test]:
            if how == "oracle":
                shown.setdefault(entry, {})["oracle"] = test
            elif {(entry, "step"), (entry, "jit")} <= _seen[test]:
                shown.setdefault(entry, {})["engines"] = test
    kept: dict[str, dict[str, str]] = json.loads(PATH.read_text(encoding="utf-8"))
    for entry, how_and_test in kept.items():
        others = {how: test for how, test in how_and_test.items() if test not in _seen}
        shown[entry] = shown.get(entry, {}) | others
    ordered = {entry: dict(sorted(shown[entry].items())) for entry in sorted(shown) if shown[entry]}
    PATH.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")
