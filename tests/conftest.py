"""What all tests share: what this machine lacks is said once at the start, and what needs it is skipped."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

from ptxlab import doctor
from ptxlab.gpu import assembler, device

# Two cores shared with a browser or a compiler make wall-clock deadlines meaningless; CI repeats the same examples.
settings.register_profile("ptxlab", deadline=None, derandomize=bool(os.environ.get("CI")), print_blob=True)
settings.load_profile("ptxlab")


def pytest_report_header() -> list[str]:
    """One line for each optional thing that this machine lacks."""
    return doctor.missing("test")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line with the files that outgrow the 400 lines which a newcomer reads in one sitting."""
    package = Path(doctor.__file__).parent
    lengths = {path: path.read_text(encoding="utf-8").count("\n") for path in sorted(package.rglob("*.py"))}
    longer = [f"{path.relative_to(package.parent)} {lines}" for path, lines in lengths.items() if lines > 400]
    if longer:
        terminalreporter.write_line(f"longer than 400 lines: {', '.join(longer)}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips what needs a GPU, NVIDIA's assembler or a browser where there is none."""
    needs = {
        "gpu": (device.available, "needs an NVIDIA GPU"),
        "assembler": (
            assembler.available,
            f"needs NVIDIA's assembler: {assembler.INSTALL}",
        ),
        "browser": (lambda: doctor.browser() is not None, "needs Chromium or Chrome"),
    }
    for name, (present, reason) in needs.items():
        marked = [item for item in items if item.get_closest_marker(name)]
        if marked and not present():
            for item in marked:
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def browser_path() -> str:
    """The Chromium or Chrome that browser tests drive."""
    path = doctor.browser()
    if path is None:
        pytest.skip("needs Chromium or Chrome")
    return path
