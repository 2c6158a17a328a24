"""What tests of the notebook share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture
def shell() -> Iterator[Any]:
    """A fresh IPython with ptxlab's extension."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    from ptxlab.lab.named_kernels import KEPT

    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(config=Config(HistoryManager={"enabled": False}))
    shell.run_line_magic("load_ext", "ptxlab")
    KEPT.clear()
    yield shell
    InteractiveShell.clear_instance()


@pytest.fixture(scope="module")
def lab(request: pytest.FixtureRequest, jupyter: Any, browser_path: str) -> Iterator[Any]:
    """A page of the size WINDOW with a notebook of the module's CELLS, all run, and the first result shown."""
    import lab_server
    from explorer_page import settle

    with lab_server.shown(jupyter, browser_path, request.module.WINDOW, *request.module.CELLS) as page:
        settle(page)
        yield page
