"""What all tests share: what this machine lacks is said once at the start, and what needs it is skipped."""

from __future__ import annotations

import base64
import collections
import contextlib
import functools
import gc
import os
import sys
import tempfile
import zlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from ptxlab.cli import doctor
from ptxlab.gpu import assembler, device

TESTS = Path(__file__).parent

# A run starts some hundred Pythons, each of which would compile the whole package where bytecode is not kept.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# Nor should explorers build what no test asks for.
os.environ.setdefault("PTXLAB_BUILD_AHEAD", "off")
# What somebody has tuned on this machine does not choose the kernels of tests.
os.environ["PTXLAB_TUNED"] = os.path.join(tempfile.gettempdir(), f"ptxlab-tests-{os.getpid()}", "tuned.json")

with contextlib.suppress(ModuleNotFoundError):  # a GPU machine may lack it, and the GPU tests do without
    from hypothesis import settings

    # Two cores shared with a browser or a compiler make wall-clock deadlines meaningless; CI repeats the same examples.
    settings.register_profile("ptxlab", deadline=None, derandomize=bool(os.environ.get("CI")), print_blob=True)
    settings.load_profile("ptxlab")


BROWSER = "lab/test_browser_"
TOGETHER = (
    (BROWSER,),  # a JupyterLab and a browser, which take ten seconds to start
    ("project/test_architecture.py", "project/test_opcodes.py", "project/test_lists.py"),  # the package's syntax trees
)
"""What the tests of some files share is made by one worker, for all of them."""
LONGEST = (
    "project/test_notebooks.py",
    "course/test_course_grade.py",
    "course/test_course_hostile.py",
    "course/test_course_release.py",
    BROWSER,
    "kernels/",
    "benchmarks/test_benchmarks_prefill.py",
    "gpu/test_stand_in.py",
    "course/",
)
"""The files that take longest, as their names begin. They run first: one that came last would keep a single worker busy
while the others have nothing left to do."""
SHORTEST = "emulate/"
"""Some two hundred files of a second or two: they run last, so that all workers end together."""


def pytest_configure(config: pytest.Config) -> None:
    """Files start in the order of `LONGEST`, not by their number of tests."""
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Files that begin like one of `TOGETHER` go to one worker."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class ByFiles(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file: str = super()._split_scope(nodeid)
            return next((names[0] for names in TOGETHER if any(name in file for name in names)), file)

    return ByFiles(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Every second worker collects from the last file to the first: in a fresh clone a worker finds half of the files
    compiled, instead of doing the same at the same time as the others."""
    report = yield
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0")
    if isinstance(collector, pytest.Directory) and int(worker.removeprefix("gw")) % 2:
        report.result.reverse()
    return report


@functools.cache
def turn(path: Path) -> int:
    """When a file of tests has its turn: those of `LONGEST`, the others, those of `SHORTEST`."""
    file = path.as_posix().removeprefix(f"{TESTS.as_posix()}/")
    others = len(LONGEST) + file.startswith(SHORTEST)
    return next((at for at, name in enumerate(LONGEST) if file.startswith(name)), others)


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


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--quick`: for every save of a file. `--share`: for `.ci/run`, which takes a fixed part of the slow tests."""
    parser.addoption("--quick", action="store_true", help="one case of each test, and none that is marked long")
    parser.addoption(
        "--share", type=int, default=1, metavar="N", help="one in N cases, always the same; all other tests"
    )


@pytest.hookimpl(wrapper=True, tryfirst=True)  # before pytest looks at `-m`
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None, None, None]:
    """Leaves most cases of a sweep to the slow run, and most of all to a longer one than the quick; skips what needs a
    GPU, NVIDIA's assembler or a browser where there is none."""
    cases: collections.Counter[str] = collections.Counter()
    for item in items:
        if item.get_closest_marker("rest") is not None:  # a whole test that is left to the long run
            item.add_marker(pytest.mark.slow)
        sweep = item.get_closest_marker("sweep")
        if sweep is not None and item.get_closest_marker("slow") is None:  # what is slow by itself is not counted
            test = item.nodeid.partition("[")[0]
            group, at = divmod(cases[test], sweep.args[0])
            if at != group % sweep.args[0]:  # the first of the first n, the second of the next: all engines have a turn
                item.add_marker(pytest.mark.slow)
                item.add_marker(pytest.mark.rest)
            cases[test] += 1
    if config.getoption("--quick"):
        left_out = ("slow", "long")
        short = [item for item in items if not any(item.get_closest_marker(mark) for mark in left_out)]
        one = {item.nodeid.partition("[")[0]: item for item in reversed(short)}
        config.hook.pytest_deselected(items=[item for item in items if item not in set(one.values())])
        items[:] = reversed(one.values())
    items.sort(key=lambda item: (turn(item.path), item.path))
    needs = {
        "gpu": (device.available, f"needs an NVIDIA GPU: {device.unavailable()}"),
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
    yield
    share = config.getoption("--share")
    others = {item for item in items if "[" in item.nodeid and zlib.crc32(item.nodeid.encode()) % share}
    config.hook.pytest_deselected(items=list(others))
    items[:] = [item for item in items if item not in others]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Nothing of what is collected is garbage: to look for some takes a quarter of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Spares the cycle collector the thousands of collected tests: it would look at all of them again and again, a
    tenth of the time that the suite takes."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.hookimpl(trylast=True)  # when the fixtures are gone that nobody needs any more
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Closes the browser before a file that begins without one: Playwright keeps an event loop running."""
    support = sys.modules.get("lab_server")
    if support is None or (nextitem is not None and nextitem.path == item.path):
        return
    if nextitem is None or not {"browser_path", "chromium"} & set(fixturenames(nextitem)):
        support.WINDOW.close()


def fixturenames(item: pytest.Item) -> list[str]:
    """The fixtures of a test."""
    return item.fixturenames if isinstance(item, pytest.Function) else []


@pytest.fixture(scope="session")
def browser_path() -> str:
    """The Chromium or Chrome that browser tests drive."""
    path = doctor.browser()
    if path is None:
        pytest.skip("needs Chromium or Chrome")
    return path


@pytest.fixture(scope="session")
def jupyter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A JupyterLab for all browser tests of this process: it takes seconds to start."""
    import lab_server

    with lab_server.server(tmp_path_factory.mktemp("jupyter")) as running:
        yield running


# -- the debugger on a page of its own ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def chromium(browser_path: str) -> Iterator[Any]:
    """A browser without JupyterLab."""
    import lab_server

    with lab_server.chromium(browser_path) as browser:
        yield browser


@pytest.fixture
def parts(chromium: Any) -> Iterator[Any]:
    """`parts(expression, value)`: the value of JavaScript among the functions of the module, on an empty page."""
    from ptxlab.lab import assets

    page = chromium.new_page()
    code = assets.script("debugger").replace("export default", "const widget =")

    def evaluate(expression: str, value: Any) -> Any:
        call = "([code, source, value]) => new Function('value', `${code}; return (${source})(value)`)(value)"
        return page.evaluate(call, [code, expression, value])

    yield evaluate
    page.close()


@pytest.fixture
def viewer(chromium: Any) -> Iterator[Any]:
    """`viewer(debugger, key)`: a page that shows the widget with a model that holds its traits."""
    from ptxlab.lab import assets

    page = chromium.new_page(viewport={"width": 1300, "height": 1000})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))

    def show(debugger: Any, key: str = "0:0") -> Any:
        page.set_content(f'<!doctype html><body><style>{assets.style("debugger")}</style><div id="place"></div></body>')
        code = assets.script("debugger").replace("export default", "const widget =")
        page.evaluate(
            """([code, info, trace]) => {
                const bytes = Uint8Array.from(atob(trace), (c) => c.charCodeAt(0));
                const values = { info, trace: new DataView(bytes.buffer) };
                const el = document.getElementById("place");
                new Function("model", "el", `${code}; widget.render({ model, el })`)({ get: (k) => values[k] }, el);
            }""",
            [code, debugger.info, base64.b64encode(debugger.trace).decode()],
        )
        page.wait_for_selector(f'.ptxlab-debugger[data-ready="{key}"]')
        return page

    yield show
    page.close()
    assert not errors, errors
