"""The debugger as a teacher uses it: a real JupyterLab in a real Chromium, every step made in the page alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import accessibility
import explorer_page
import lab_server
import numpy as np
import pytest

import ptxlab as pl
from ptxlab.emulate.rules.memory_model import sectors, wavefronts
from ptxlab.emulate.step.lanes import mask_bits
from ptxlab.lab.trace_events import events

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
pytestmark = [pytest.mark.browser]

DEBUGGER = ".ptxlab-debugger"
SETTINGS = {"seq_len": 40, "head_dim": 16}
SOURCE = 'import ptxlab as pl\n\npl.debug("tiled", seq_len=40, head_dim=16)'


@pytest.fixture(scope="module")
def recording() -> Any:
    """The trace that the page shows, read in Python."""
    return pl.debug("tiled", **SETTINGS).recording


@pytest.fixture(scope="module")
def lab(jupyter: lab_server.Jupyter, browser_path: str) -> Iterator[Any]:
    """A page with the debugger open; `page.frames_sent` is what it has sent to the server."""
    with lab_server.lab_page(jupyter, browser_path, 1600, 1150) as (page, folder):
        write_saved(folder / "saved.ipynb")
        page.sent = []
        page.on("websocket", lambda socket: socket.on("framesent", lambda data: page.sent.append(data)))
        page.saved = jupyter.address(folder / "saved.ipynb")
        lab_server.open_notebook(page, jupyter, lab_server.write_notebook(folder / "debug.ipynb", SOURCE))
        lab_server.run_all(page)
        ready(page, "0:0")
        lab_server.without_copies(page)
        yield page


def write_saved(path: Path) -> None:
    """The notebook as a reader gets it: the outputs of the cell, a model that no kernel has, and nothing run."""
    data, metadata = pl.debug("tiled", **SETTINGS)._repr_mimebundle_()
    copy = {"text/html": data.pop("text/html"), "text/plain": ""}
    lab_server.write_notebook(path, SOURCE)
    notebook = json.loads(path.read_text())
    notebook["cells"][0]["outputs"] = [
        {"output_type": "display_data", "data": data, "metadata": metadata},
        {"output_type": "display_data", "data": copy, "metadata": {}},
    ]
    path.write_text(json.dumps(notebook))


def ready(page: Any, key: str) -> None:
    """Waits until the steps of a warp have been read."""
    page.wait_for_selector(f'{DEBUGGER}[data-ready="{key}"]')


def step(page: Any) -> int:
    """The step that is shown, counted from 0."""
    return int(page.get_attribute(DEBUGGER, "data-step"))


def press(page: Any, label: str) -> None:
    """Clicks a button."""
    page.click(f"{DEBUGGER} button:has-text('{label}')")


def go(page: Any, target: int) -> None:
    """Moves the scrubber."""
    page.eval_on_selector(
        f"{DEBUGGER} .pl-slider",
        "(e, at) => { e.value = at; e.dispatchEvent(new Event('input', {bubbles: true})) }",
        target,
    )
    assert step(page) == target


def picture(page: Any) -> list[str]:
    """All that the debugger says about a step."""
    parts = (".pl-status", ".pl-registers", ".pl-access", "section[aria-label=PTX] [aria-selected=true]")
    return [page.text_content(f"{DEBUGGER} {part}") for part in parts]  # a line out of sight has no inner text


def comm_messages(sent: list[Any]) -> int:
    """How many of these messages are from a widget to Python."""
    return sum(b"comm_" in (data if isinstance(data, bytes) else data.encode()) for data in sent)


def column(page: Any, name: str) -> list[str]:
    """The 32 values of a register in the table."""
    heads = page.eval_on_selector_all(f"{DEBUGGER} .pl-registers thead th", "all => all.map(th => th.textContent)")
    at = heads.index(name)
    rows = f"{DEBUGGER} .pl-registers tbody tr"
    return list(page.eval_on_selector_all(rows, "(all, at) => all.map(tr => tr.children[at].textContent)", at))


@pytest.mark.rest
def test_the_static_copy_is_for_readers_without_a_kernel(lab: Any) -> None:
    assert lab.locator(".ptxlab-copy").count() == 1
    assert lab.is_hidden(".jp-OutputArea-child:has(.ptxlab-copy)")
    page = lab.context.browser.new_page(viewport={"width": 1200, "height": 1000})
    try:
        page.goto(lab.saved)
        page.wait_for_selector(".ptxlab-view summary", timeout=90_000)
        shown = page.inner_text(".ptxlab-view")
        assert "step 233 of 4059: the first new maximum" in shown
        assert "32 of 32 lanes executed mov.f32, from kernels/tiled.py:" in shown
        assert "%row_max before" in shown
        lab_server.ARTIFACTS.mkdir(exist_ok=True)
        page.screenshot(path=str(lab_server.ARTIFACTS / "debugger-saved.png"))
    finally:
        page.close()


@pytest.mark.parametrize("steps", [30, pytest.param(200, marks=pytest.mark.rest)])
def test_stepping_is_the_page_s_own_affair(lab: Any, steps: int) -> None:
    assert comm_messages(lab.sent) > 0  # loading the widget did talk: the count below counts something
    go(lab, 30)
    first = picture(lab)
    before = len(lab.sent)
    lab.focus(f"{DEBUGGER} .pl-slider")
    for _ in range(steps):
        lab.keyboard.press("ArrowRight")
    assert step(lab) == 30 + steps
    assert picture(lab) != first
    for _ in range(steps):
        lab.keyboard.press("ArrowLeft")
    assert picture(lab) == first
    lab.keyboard.press("End")
    lab.keyboard.press("Home")
    assert step(lab) == 0
    assert comm_messages(lab.sent[before:]) == 0


@pytest.mark.rest
def test_registers_are_those_of_the_trace(lab: Any, recording: Any) -> None:
    """Every register of the "All" table, in hexadecimal, at some steps of two warps; blank before its first write."""
    press(lab, "All")
    press(lab, "hex")
    for key in ((0, 0), (0, 1)):
        lab.select_option(f"{DEBUGGER} select[aria-label=warp]", str(key[1]))
        ready(lab, f"{key[0]}:{key[1]}")
        walker = recording.walk(*key)
        first: dict[str, int] = {}
        for at in range(len(walker)):
            for name in walker.moment(at).writes:
                first.setdefault(name, at)
        for at in (len(walker) - 1, 500, 77):
            go(lab, at)
            moment = walker.seek(at + 1)
            shown = lab.eval_on_selector_all(
                f"{DEBUGGER} .pl-registers tbody tr",
                "all => all.map(tr => [...tr.children].slice(1).map(td => td.textContent))",
            )
            for lane in range(32):
                for text, name in zip(shown[lane], recording.names, strict=True):
                    if at < first.get(name, len(walker)):
                        assert text == "", (key, at, lane, name)
                        continue
                    values = walker.registers[name]
                    bits = np.array(values).view(f"u{values.itemsize}")
                    assert int(text, 16) == int(bits[lane]), (key, at, lane, name)
            assert lab.locator(f"{DEBUGGER} .pl-registers tr.pl-off").count() == 32 - int(moment.mask.sum())
    lab.select_option(f"{DEBUGGER} select[aria-label=warp]", "0")
    ready(lab, "0:0")
    press(lab, "as declared")
    press(lab, "This line")


def test_breakpoints_hold_and_continue_stops_at_them(lab: Any, recording: Any) -> None:
    walker = recording.walk(0, 0)
    line = next(m.line for m in (walker.forward() for _ in range(len(walker))) if m.opcode.startswith("ex2"))
    hits = [k for k in range(len(walker)) if walker.moment(k).line == line]
    go(lab, 0)
    row = explorer_page.line(lab, line, within=DEBUGGER)
    row.click()
    assert row.get_attribute("title") == "breakpoint"
    for wanted in hits[:3]:
        press(lab, "▶▶")
        assert step(lab) == wanted
    press(lab, "◀◀")
    assert step(lab) == hits[1]
    row.click()
    press(lab, "▶▶")
    assert step(lab) == len(walker) - 1
    explorer_page.pane(lab, within=DEBUGGER).focus()
    for key in ("ArrowDown", "ArrowUp", "b", "Home", "c"):  # the same line, by keyboard
        lab.keyboard.press(key)
    assert step(lab) == hits[0]
    lab.keyboard.press("b")
    assert row.get_attribute("title") == ""


def test_barriers_writes_and_changes_of_a_register(lab: Any, recording: Any) -> None:
    walker = recording.walk(0, 0)
    opcodes = [walker.moment(k).opcode for k in range(len(walker))]
    barriers = [k for k, opcode in enumerate(opcodes) if opcode.startswith("bar")]
    kind = f"{DEBUGGER} select[aria-label='what to go to']"
    lab.select_option(kind, "barrier")
    go(lab, 0)
    press(lab, "▶▶")
    assert step(lab) == barriers[0]
    go(lab, barriers[-1])
    press(lab, "▶▶")
    assert lab.inner_text(f"{DEBUGGER} .pl-status").startswith("no barrier follows: step ")
    lab.select_option(kind, "write")
    lab.select_option(f"{DEBUGGER} select[aria-label=register]", label="%row_max")
    writes = [k for k in range(len(walker)) if "%row_max" in walker.moment(k).writes]
    go(lab, writes[3])
    press(lab, "▶▶")
    assert step(lab) == writes[4]
    assert lab.locator(f"{DEBUGGER} .pl-registers thead .pl-written").inner_text() == "%row_max"
    before, after = walker.moment(writes[4]).writes["%row_max"]
    assert [float(x) for x in column(lab, "%row_max")] == pytest.approx(after.tolist(), rel=1e-5)
    assert [float(x) for x in column(lab, "%row_max before")] == pytest.approx(before.tolist(), rel=1e-5)
    press(lab, "◀◀")
    assert step(lab) == writes[3]
    lab.select_option(kind, "breakpoint")


def test_the_access_of_a_step(lab: Any, recording: Any) -> None:
    walker = recording.walk(0, 0)
    seen = set()
    for k in range(len(walker)):
        moment = walker.moment(k)
        for access in moment.accesses:
            kind = (access.space, access.kind)
            if access.space not in ("global", "shared") or kind in seen:
                continue
            seen.add(kind)
            go(lab, k)
            says = lab.inner_text(f"{DEBUGGER} .pl-access")
            assert f"{access.kind}, {access.space} memory: {int(access.mask.sum())} lanes × {access.size} bytes" in says
            if access.space == "global":
                count, ideal = sectors(access.address, mask_bits(access.mask), access.size)
                assert f"in {count} sector{'s'[: count > 1]} of 32 bytes (at best {ideal})" in says
            else:
                pairs = moment.opcode.startswith("ld.")
                count, ideal = wavefronts(access.address.astype(np.uint32), mask_bits(access.mask), access.size, pairs)
                assert f"{count} wavefront{'s'[: count > 1]} (at best {ideal})" in says
            toggle = lab.locator(f'{DEBUGGER} section[aria-label="Memory access of this step"] button')
            toggle.click()
            rows = lab.locator(f'{DEBUGGER} section[aria-label="Memory access of this step"] tbody tr')
            assert rows.count() == int(access.mask.sum())
            toggle.click()
    assert seen == {("global", "load"), ("global", "store"), ("shared", "load"), ("shared", "store")}


def test_the_scrubber_has_ticks_and_a_table_that_jumps(lab: Any, recording: Any) -> None:
    maxima = events(recording, (0, 0))["maximum"]
    assert f"new maximum {len(maxima)}" in lab.inner_text(f"{DEBUGGER} .pl-ticks")
    card = f'{DEBUGGER} section[aria-label="Steps and events"]'
    lab.click(f"{card} header button")
    lab.locator(f"{card} tbody tr:has-text('new maximum') button").nth(1).click()
    assert step(lab) == maxima[1]
    lab.click(f"{card} header button")


@pytest.mark.rest
def test_light_dark_and_small(lab: Any, recording: Any) -> None:
    walker = recording.walk(0, 0)
    go(lab, next(k for k in range(len(walker)) if any(a.space == "global" for a in walker.moment(k).accesses)))
    lab_server.ARTIFACTS.mkdir(exist_ok=True)
    for theme, least, most in (("Dark", 0.0, 0.2), ("Light", 0.9, 1.0)):
        lab_server.use_theme(lab, f"JupyterLab {theme}")
        colour = lab.eval_on_selector(f"{DEBUGGER} .pl-registers", "e => getComputedStyle(e).backgroundColor")
        assert least <= sum(int(x) for x in colour.removeprefix("rgb(").rstrip(")").split(",")[:3]) / 765 <= most
        assert accessibility.violations(lab, DEBUGGER) == []
        lab.screenshot(path=str(lab_server.ARTIFACTS / f"debugger-{theme.lower()}.png"))
    lab.set_viewport_size({"width": 800, "height": 900})
    lab_server.painted(lab)
    wide = lab.eval_on_selector(DEBUGGER, "e => e.scrollWidth > e.clientWidth + 1")
    assert not wide, "the debugger should not need sideways scrolling"
