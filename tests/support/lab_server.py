"""A real JupyterLab, one for all browser tests of a process, and Chromium pages of it, driven by Playwright."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from ptxlab.lab import assets

FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SETTINGS = [
    "--no-browser",
    "--allow-root",
    "--ip=127.0.0.1",
    "--LabApp.expose_app_in_browser=True",
    "--JupyterNotebookApp.expose_app_in_browser=True",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
]
GRADERS = ("formgrader", "validate_assignment", "assignment_list", "course_list")
OTHERS = {f"nbgrader.server_extensions.{name}": False for name in GRADERS}
"""What the test tools bring into JupyterLab, and a user of ptxlab does not have: a third of the server's start."""
OTHER_PAGES = ("@jupyter/nbgrader", "@jupyter-notebook/lab-extension")
ARTIFACTS = Path(os.environ.get("PTXLAB_ARTIFACTS", Path(__file__).parents[2] / "test-results"))
"""Where the tests leave their screenshots."""


ENDING: list[Future[bytes]] = []
"""Kernels that are being ended."""


class Jupyter(NamedTuple):
    """A running JupyterLab: its address, its token and the folder that it serves."""

    url: str
    token: str
    folder: Path

    def address(self, notebook: Path) -> str:
        """Where a notebook of the folder is opened, with an empty workspace."""
        return f"{self.url}/lab/tree/{notebook.relative_to(self.folder).as_posix()}?reset&token={self.token}"

    def clean(self) -> None:
        """Ends all kernels and forgets what was set by hand, such as the theme."""
        self.ended()
        kernels = [kernel["id"] for kernel in json.loads(self._ask("GET", "/api/kernels"))]
        ending = ThreadPoolExecutor()  # the server waits a second for each, and the next test need not
        ENDING.extend(ending.submit(self._ask, "DELETE", f"/api/kernels/{kernel}") for kernel in kernels)
        ending.shutdown(wait=False)
        shutil.rmtree(self.folder / ".home" / "config" / "lab", ignore_errors=True)

    def ended(self) -> None:
        """Waits until the kernels that `clean` has ended are gone."""
        while ENDING:
            ENDING.pop().result()

    def _ask(self, method: str, path: str) -> bytes:
        request = urllib.request.Request(
            self.url + path, method=method, headers={"Authorization": f"token {self.token}"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            found: bytes = answer.read()
        return found


@contextlib.contextmanager
def server(folder: Path) -> Iterator[Jupyter]:
    """JupyterLab serving `folder`, with the plugin of ptxlab as an installed package brings it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    token = secrets.token_hex(16)
    home = folder / ".home"
    places = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "run",
        "IPYTHONDIR": "ipython",
        "JUPYTER_PATH": "share",
    }
    shutil.copytree(assets.STATIC.parent / "labextension", home / "share" / "labextensions" / "ptxlab")
    environment = {**os.environ, **{name: str(home / place) for name, place in places.items()}}
    page_config = home / "config" / "labconfig" / "page_config.json"
    page_config.parent.mkdir(parents=True)
    unwanted = ("@jupyterlab/apputils-extension:announcements", *OTHER_PAGES)
    page_config.write_text(json.dumps({"disabledExtensions": dict.fromkeys(unwanted, True)}))
    config = home / "config" / "jupyter_server_config.json"
    config.write_text(json.dumps({"ServerApp": {"jpserver_extensions": OTHERS}}))
    root = str(Path(__file__).parents[2])
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))
    with (folder / "server.log").open("w+") as log:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "jupyterlab",
                *SETTINGS,
                f"--port={port}",
                f"--ServerApp.root_dir={folder}",
                f"--IdentityProvider.token={token}",
            ],
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
        )
        try:
            _wait_for(process, folder / "server.log", f":{port}/lab")
            running = Jupyter(f"http://127.0.0.1:{port}", token, folder)
            yield running
            running.ended()
        finally:
            WINDOW.close()
            process.terminate()
            process.wait(60)


def _wait_for(process: subprocess.Popen[bytes], log: Path, word: str) -> None:
    import time

    deadline = time.monotonic() + 180
    while word not in log.read_text():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()}")
        time.sleep(0.1)


def write_notebook(path: Path, *sources: str) -> Path:
    """A notebook with these code cells; its path."""
    cells = [
        {"cell_type": "code", "id": f"c{k}", "metadata": {}, "execution_count": None, "outputs": [], "source": source}
        for k, source in enumerate(sources)
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    path.write_text(
        json.dumps({"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5})
    )
    return path


CLOSE_ALL = """() => {
    for (const widget of [...jupyterapp.shell.widgets("main")]) {
        if (widget.context) widget.context.model.dirty = false; // nobody is asked whether to save
        widget.close();
    }
}"""


IDLE = "jupyterapp.shell.currentWidget?.context?.sessionContext?.session?.kernel?.status === 'idle'"


class Window:
    """The one Chromium of this process, begun when a test needs it, and its page of JupyterLab: to begin another and to
    load JupyterLab anew takes longer than most tests. `close` before anything that needs an event loop of its own."""

    def __init__(self) -> None:
        self._playwright: Any = None
        self._browser: Any = None
        self._page: Any = None

    def browser(self, path: str) -> Any:
        if self._browser is None:
            from playwright.sync_api import sync_playwright

            self._playwright = sync_playwright().start()
            self._browser = self._playwright.chromium.launch(executable_path=path, args=FLAGS)
        return self._browser

    def page(self, path: str) -> Any:
        if self._page is None or self._page.is_closed():
            self._page = self.browser(path).new_page()
            self._page.set_default_timeout(60_000)
        return self._page

    def leave(self) -> None:
        """Makes the page that of somebody who has just come: nothing open, nothing set by hand."""
        page = self._page
        try:
            page.keyboard.press("Escape")
            page.evaluate(CLOSE_ALL)
            page.evaluate("jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Light'})")
            page.wait_for_function("[...jupyterapp.shell.widgets('main')].every(w => !w.context)", timeout=5000)
        except Exception:  # whatever it shows: the next test gets another page
            page.context.close()
            self._page = None

    def close(self) -> None:
        if self._browser is not None:
            self._browser.close()
            self._playwright.stop()
        self._browser = self._playwright = self._page = None


WINDOW = Window()


@contextlib.contextmanager
def chromium(path: str) -> Iterator[Any]:
    """The browser of this process; pages that are opened in it are closed at the end."""
    browser = WINDOW.browser(path)
    before = browser.contexts
    try:
        yield browser
    finally:
        for context in browser.contexts:
            if context not in before:
                context.close()


@contextlib.contextmanager
def lab_page(jupyter: Jupyter, browser_path: str, width: int, height: int) -> Iterator[tuple[Any, Path]]:
    """A page without a notebook, and an empty folder for its notebooks; errors on the page are failures."""
    folder = Path(tempfile.mkdtemp(dir=jupyter.folder))
    errors: list[str] = []

    def hear(error: Any) -> None:
        stack = error.stack or str(error)
        places = [line for line in stack.splitlines() if "://" in line]
        if not places or any("/static/notebook/" not in place for place in places):  # others are Notebook 7's own
            errors.append(stack)

    page = WINDOW.page(browser_path)
    page.set_viewport_size({"width": width, "height": height})
    page.on("pageerror", hear)
    try:
        yield page, folder
        assert not errors, errors
    finally:
        page.remove_listener("pageerror", hear)
        WINDOW.leave()
        jupyter.clean()


def open_notebook(page: Any, jupyter: Jupyter, notebook: Path) -> None:
    """Opens a notebook with the side bar folded away, all others closed, and waits for its kernel."""
    if page.url.startswith(f"{jupyter.url}/lab") and page.evaluate("'jupyterapp' in window"):
        page.evaluate(CLOSE_ALL)
        path = notebook.relative_to(jupyter.folder).as_posix()
        page.evaluate("path => void jupyterapp.commands.execute('docmanager:open', { path })", path)
    else:
        page.goto(jupyter.address(notebook))
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=90_000)
    page.wait_for_function(IDLE, timeout=90_000)
    if page.locator("#jp-left-stack").is_visible():
        page.evaluate("jupyterapp.commands.execute('application:toggle-left-area')")


def open_in_notebook(page: Any, jupyter: Jupyter, notebook: Path) -> None:
    """Opens a notebook in Jupyter Notebook 7, and waits for its kernel."""
    page.goto(f"{jupyter.url}/notebooks/{notebook.relative_to(jupyter.folder).as_posix()}?token={jupyter.token}")
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=90_000)
    page.wait_for_function(IDLE, timeout=90_000)


def run_all(page: Any) -> None:
    """Runs all cells of the open notebook."""
    page.evaluate("void jupyterapp.commands.execute('notebook:run-all-cells')")


@contextlib.contextmanager
def shown(jupyter: Jupyter, browser_path: str, size: tuple[int, int], *cells: str) -> Iterator[Any]:
    """A page of this size with a notebook of these cells, all of which are being run."""
    with lab_page(jupyter, browser_path, *size) as (page, folder):
        open_notebook(page, jupyter, write_notebook(folder / "notebook.ipynb", *cells))
        run_all(page)
        yield page


def use_theme(page: Any, theme: str) -> None:
    """Switches JupyterLab to "JupyterLab Light" or "JupyterLab Dark"."""
    page.evaluate("theme => jupyterapp.commands.execute('apputils:change-theme', {theme})", theme)
    page.wait_for_selector(f'body[data-jp-theme-name="{theme}"]', state="attached", timeout=30_000)
    painted(page)


def painted(page: Any) -> None:
    """Waits until what has been done is painted: two frames, and the transitions that end."""
    page.evaluate(
        "async () => { for (let k = 0; k < 2; k++) await new Promise(requestAnimationFrame);"
        " const ending = document.getAnimations().filter(a => a.effect.getComputedTiming().endTime < Infinity);"
        " await Promise.allSettled(ending.map(a => a.finished)) }"
    )


def act_until(page: Any, act: Callable[[], Any], shown: Callable[[], bool]) -> None:
    """Acts, again every five seconds, until something is shown: the page drops what the kernel answers too late, and
    asks anew only when it is used anew."""
    for _ in range(10):
        act()
        for _ in range(50):
            if shown():
                return
            page.wait_for_timeout(100)
    raise AssertionError("ten times nothing was shown")


def rest_on(page: Any, target: Any, shown: str) -> None:
    """Rests the mouse on a word until its tooltip is there."""

    def rest() -> None:
        page.mouse.move(2, 2)
        target.hover()

    act_until(page, rest, lambda: page.locator(shown).count() > 0)


def without_copies(page: Any) -> None:
    """Empties the saved copies beside live widgets: on a busy machine one is in sight until its widget has loaded."""
    live = "document.querySelectorAll('.ptxlab-live ~ .jp-OutputArea-child .ptxlab-copy')"
    page.evaluate(f"() => {{ for (const copy of {live}) copy.replaceChildren(); }}")
