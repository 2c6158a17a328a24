"""A cluster in the debugger's page: the shared memory of its blocks side by side, what passes between them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cluster_pair import PAIR, opened

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
pytestmark = [pytest.mark.browser]


def test_side_by_side(chromium: Any, tmp_path: Path) -> None:
    opened("step").save(tmp_path / "pair.html")
    page = chromium.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((tmp_path / "pair.html").as_uri())
    page.wait_for_selector('.ptxlab-debugger[data-ready="0:0"]')
    card = 'section[aria-label="Shared memory of the cluster"]'
    page.wait_for_selector(f"{card} figure >> nth=1")
    figures = f"{card} figure"
    said = "all => all.map((e) => e.getAttribute('aria-label'))"
    assert page.eval_on_selector_all(figures, said) == [  # block 1 came to the barrier last and has gone on first
        f"shared memory of block {block}: 64 words written, 32 of them by other blocks" for block in (0, 1)
    ]
    lines = PAIR.splitlines()
    load, store = (
        1 + next(k for k, line in enumerate(lines) if f"{op}.shared::cluster" in line) for op in ("ld", "st")
    )
    assert page.eval_on_selector_all(f"{card} .pl-remotes >> nth=0 >> li", "all => all.map((e) => e.textContent)") == [
        f"block {block}, warp 0, line {line}: {what} of 32 × 4 bytes, shared memory of block {1 - block}, from {at} on"
        for block in (1, 0)
        for line, what, at in ((load, "load", "0x400"), (store, "store", "0x480"))
    ]
    page.click(f"{card} button:has-text('step this one')")
    page.wait_for_selector('.ptxlab-debugger[data-ready="1:0"]')
    page.wait_for_selector(f"{card} b:has-text('block 1, rank 1')")
    page.click("button:has-text('▶|')")  # at the end of block 1 both have stored
    page.wait_for_function(
        "([figures]) => [...document.querySelectorAll(figures)].every((e) => /32 of them/.test(e.ariaLabel))",
        arg=[figures],
    )
    assert not errors
    page.close()
