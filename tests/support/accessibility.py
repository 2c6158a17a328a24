"""axe-core in the page of a browser test: what it finds wrong in a part of the page."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

SERIOUS = ("serious", "critical")


@cache
def script() -> str:
    """The source of axe-core, as the package axe-playwright-python brings it."""
    package = pytest.importorskip("axe_playwright_python", reason="needs axe-core: pip install axe-playwright-python")
    return (Path(package.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


def violations(page: Any, selector: str, but: str = "") -> list[str]:
    """One line for each serious or critical violation inside the elements of a selector, `but` for those inside other
    elements, with the place it is at."""
    if not page.evaluate("typeof window.axe === 'object'"):
        page.evaluate(script())
    found = page.evaluate(
        """([selector, but]) => axe.run({ include: [[selector]], exclude: but ? [[but]] : [] },
        { resultTypes: ["violations"], elementRef: false })""",
        [selector, but],
    )
    return [
        f"{v['impact']}: {v['id']}: {v['help']}: {node['target'][-1]}: {node['html'][:120]}"
        for v in found["violations"]
        if v["impact"] in SERIOUS
        for node in v["nodes"]
    ]
