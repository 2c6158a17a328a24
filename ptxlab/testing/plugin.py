"""The pytest plugin: the fixture `ptxlab`, its marker, options, and what the summary says.

Every pytest run of an environment loads this module, so numpy, the engines and the rest of ptxlab are imported by the
functions that need them: when a test asks for the fixture, or has launched a kernel and fails.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.runner import runtestprotocol

from ptxlab.errors import DeviceFault, LaunchError, LaunchKeyboardInterrupt
from ptxlab.launch import budgets
from ptxlab.launch.budgets import BUDGETS

if TYPE_CHECKING:
    from ptxlab.testing.launches import Launches
    from ptxlab.testing.mutants import Deletion

DELETION = pytest.StashKey["Deletion | None"]()
"""What is left out of a test's kernels while it runs again."""
LAUNCHED = pytest.StashKey[list[Any]]()
"""The kernels that a test has launched."""
BUDGETS_BEFORE = pytest.StashKey[Mapping[str, int]]()
"""`default_budgets` outside of this session."""
MORE = (
    "  more:   a launch that gives no budget= has that of @pytest.mark.ptxlab(budget=N), else of --ptxlab-budget N; "
    "0 means no limit"
)
SURVIVED, UNCHECKED, FOUND = "ptxlab survived", "ptxlab unchecked", "ptxlab found"
"""Names of a report's properties: they travel from a worker of pytest-xdist to the terminal."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options."""
    group = parser.getgroup("ptxlab")
    group.addoption(
        "--ptxlab-device",
        choices=("cpu", "step", "gpu"),
        default="cpu",
        help="where the fixture launches kernels; a GPU has no checks",
    )
    group.addoption(
        "--ptxlab-mutate",
        action="store_true",
        help="run each test again without one barrier, wait or fence of its kernels at a time",
    )
    group.addoption(
        "--ptxlab-budget",
        type=int,
        metavar="N",
        help="warp-instructions after which a launch is stopped that is given no budget; 0: never "
        f"(default: {BUDGETS['cpu']:,}, with checks {BUDGETS['checked']:,}, in the interpreter {BUDGETS['step']:,})",
    )
    group.addoption("--ptxlab-update", action="store_true", help="record the counters that tests compare")
    group.addoption(
        "--ptxlab-sarif", type=Path, metavar="FILE", help="write what the checks find as SARIF, for code scanning"
    )


def pytest_configure(config: pytest.Config) -> None:
    """The marker, and the budget of launches."""
    config.stash[BUDGETS_BEFORE] = budgets.default_budgets
    budgets.default_budgets = _budgets(config.getoption("--ptxlab-budget"))
    config.addinivalue_line(
        "markers",
        "ptxlab(checks='all', seeds=1, counters=False, budget=N): what the fixture `ptxlab` asks of each launch: names "
        "of checks, how many shuffled schedules, whether to count; budget: warp-instructions after which any launch of "
        "the test is stopped that is given no budget, 0: never",
    )


def pytest_unconfigure(config: pytest.Config) -> None:
    """Launches have the budget again that they had before."""
    budgets.default_budgets = config.stash[BUDGETS_BEFORE]


def _budgets(wanted: int | None) -> Mapping[str, int]:
    """The default budgets by device: that which is wanted, 0 for no limit, None for those of `BUDGETS`."""
    return BUDGETS if wanted is None else dict.fromkeys(BUDGETS, wanted) if wanted else {}


@pytest.fixture
def ptxlab(request: pytest.FixtureRequest) -> Launches:
    """Launches kernels on the emulator with the checks of the marker `ptxlab`; a finding fails the test."""
    from ptxlab.launch.options import check_names
    from ptxlab.launch.run import ALL_CHECKS
    from ptxlab.testing.launches import Launches, Wishes

    marker = request.node.get_closest_marker("ptxlab")
    words = dict(marker.kwargs) if marker is not None else {}
    wrong = ""
    words.pop("budget", None)  # for all launches of the test
    unknown = sorted(set(words) - {"checks", "seeds", "counters"}) or (marker is not None and marker.args)
    if unknown:
        wrong = f" takes checks=, seeds=, counters= and budget=, not {unknown}"
    try:
        check_names(words.get("checks", "all"), ALL_CHECKS)
    except LaunchError as refused:
        wrong = f": {refused}"
    if wrong:
        pytest.fail(f"@pytest.mark.ptxlab{wrong}", pytrace=False)
    path = Path(request.node.path)
    name = re.sub(r"[^\w.-]+", "_", request.node.name)
    found = Launches(
        Wishes(
            **words,
            device=request.config.getoption("--ptxlab-device"),
            update=request.config.getoption("--ptxlab-update"),
            deletion=request.node.stash.get(DELETION, None),
            record=path.parent / "counters" / f"{path.stem}.{name}.json",
        )
    )
    request.node.stash[LAUNCHED] = found.kernels
    return found


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Gives the launches of a test their budget, and notes those that no check but memcheck has seen."""
    unchecked, launches = 0, 0
    marker = item.get_closest_marker("ptxlab")
    unused = marker is not None and bool(marker.kwargs.keys() - {"budget"})
    unused = unused and "ptxlab" not in getattr(item, "fixturenames", ())
    limits = budgets.default_budgets
    if marker is not None and "budget" in marker.kwargs:
        limits = _budgets(marker.kwargs["budget"])

    def notice(run: Any, checks: tuple[str, ...]) -> None:
        nonlocal unchecked, launches
        launches += 1
        unchecked += run.device != "gpu" and set(checks) <= {"memcheck"}

    budgets.observers.append(notice)
    try:
        with budgets.limited(limits):
            result = yield
        if unused and launches:
            write = f"def {item.name}(ptxlab), and in it ptxlab.launch(kernel, grid, block, ...)"
            pytest.fail(f"@pytest.mark.ptxlab is for the fixture ptxlab\n  write:  {write}", pytrace=False)
        return result
    except LaunchKeyboardInterrupt as stopped:
        stopped.add_note(f"    in {item.nodeid}")
        raise
    finally:
        budgets.observers.remove(notice)
        if unchecked:
            item.user_properties.append((UNCHECKED, unchecked))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """A finding is shown at the line of the kernel's source and of the test, without the lines of ptxlab between."""
    report = yield
    if call.excinfo is None or "ptxlab.launch.run" not in sys.modules:  # no kernel was launched
        return report
    from ptxlab.testing.launches import FindingError
    from ptxlab.testing.reports import findings_of, notes
    from ptxlab.text import Module

    if not isinstance(call.excinfo.value, FindingError | DeviceFault):
        return report
    error = call.excinfo.value
    findings = error.findings if isinstance(error, FindingError) else findings_of(error)
    lines = [step.lineno + 1 for step in call.excinfo.traceback if Path(str(step.path)) == item.path]
    line = lines[-1] if lines else (item.location[1] or 0) + 1
    file = os.path.relpath(item.path, item.config.invocation_params.dir)
    kernels = item.stash.get(LAUNCHED, [])
    said = [*(finding.headed() for finding in findings), f"  launched at {file}:{line}"]
    if isinstance(error, DeviceFault) and error.kind == "budget":
        said.append(MORE)
    report.longrepr = "\n".join(said)
    texts = {kernel.file if isinstance(kernel, Module) else "" for kernel in kernels}
    ptx = Path(texts.pop()) if len(texts) == 1 and Path(max(texts)).is_file() else None
    report.user_properties.append((FOUND, [note.to_dict() for note in notes(findings, (item.path, line), ptx)]))
    return report


# -- mutation ----------------------------------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """With `--ptxlab-mutate`: runs a test, and again for each deletion; it is reported once, as it stands."""
    if not item.config.getoption("--ptxlab-mutate") or "ptxlab" not in getattr(item, "fixturenames", ()):
        return None
    hook = item.ihook
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = _run(item)
    if all(report.passed for report in reports):
        from ptxlab.testing.mutants import deletions

        kernels = item.stash.get(LAUNCHED, [])
        for deletion in [each for kernel in kernels for each in deletions(kernel)]:
            if _passes(item, deletion):
                reports[1].user_properties.append((SURVIVED, str(deletion)))  # of the call, after the setup
    item.session._setupstate.teardown_exact(nextitem)
    for report in reports:
        hook.pytest_runtest_logreport(report=report)
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _passes(item: pytest.Item, deletion: Deletion) -> bool:
    """Whether a test and its checks miss a deletion."""
    item.stash[DELETION] = deletion
    try:
        _again(item)
        return all(report.passed for report in _run(item))
    finally:
        item.stash[DELETION] = None


def _run(item: pytest.Item) -> list[pytest.TestReport]:
    """The reports of one run, after which what the test shares with others is still there."""
    return runtestprotocol(item, log=False, nextitem=item.parent)  # type: ignore[arg-type]


def _again(item: pytest.Item) -> None:
    """Fresh fixtures for the next run of a test."""
    if hasattr(item, "_initrequest"):
        item._initrequest()


# -- the summary -------------------------------------------------------------------------------------------------------


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Launches without checks, and deletions that nobody missed; findings go where a CI service looks for them."""
    stats = terminalreporter.stats
    reports = [
        r for name in ("passed", "failed", "error") for r in stats.get(name, ()) if isinstance(r, pytest.TestReport)
    ]
    properties: list[tuple[str, str, Any]] = [
        (report.nodeid, name, value) for report in reports for name, value in report.user_properties
    ]
    unchecked = {nodeid: value for nodeid, name, value in properties if name == UNCHECKED}
    survived = [(nodeid, value) for nodeid, name, value in properties if name == SURVIVED]
    found = [saved for _, name, value in properties if name == FOUND for saved in value]
    path = terminalreporter.config.getoption("--ptxlab-sarif")
    if found or path is not None:
        _show_elsewhere(terminalreporter, found, path)
    if terminalreporter.config.getoption("--ptxlab-mutate"):
        terminalreporter.section("ptxlab: deletions that no test and no check has missed")
        for nodeid, what in survived:
            terminalreporter.write_line(f"{nodeid}: {what}")
        terminalreporter.write_line(f"{len(survived)} survived")
    if unchecked and terminalreporter.config.getoption("verbose") > 0:
        terminalreporter.section("ptxlab: launches with memcheck only")
        for nodeid, count in unchecked.items():
            terminalreporter.write_line(f"{count} in {nodeid}")


def _show_elsewhere(terminalreporter: pytest.TerminalReporter, found: list[Any], path: Path | None) -> None:
    """Findings as SARIF in a file, and as annotations of a pull request on GitHub."""
    from ptxlab.testing.reports import Note, sarif, workflow_command

    notes = [Note.from_dict(saved) for saved in found]
    if path is not None:
        path.write_text(sarif(notes), encoding="utf-8")
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for note in notes:
            terminalreporter.write_line(workflow_command(note))
