"""What the explorer's page says while nothing, something, or too much is going on: its states, Cancel, selections."""

from __future__ import annotations

import re
from typing import Any

import lab_server
import pytest
from accessibility import violations
from explorer_page import (
    EXPLORER,
    choose,
    control,
    figures,
    lines,
    number,
    parameter,
    settle,
    shot,
    text,
    told,
    type_on_slider,
    until,
)

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
pytestmark = [pytest.mark.browser]

FAULTY = """
import numpy as np
head = ".version 8.0\\n.target sm_80\\n.address_size 64\\n.visible .entry f(.param .u64 x)\\n{\\n"
head += ".reg .u64 %a;\\n.reg .u32 %t<90>;\\nld.param.u64 %a, [x];\\nmov.u32 %t0, %tid.x;\\n"
adds = "".join(f"add.u32 %t{k + 1}, %t{k}, 1;\\n" for k in range(70))
pl.explore(head + adds + "st.global.u32 [%a + 4096], %t70;\\n" + adds + "ret;\\n}\\n", 1, 32, np.zeros(32, np.uint32))
"""
WINDOW = (1440, 900)
CELLS = ('import ptxlab as pl\n\npl.explore("scalar", seq_len=40, head_dim=32)', "import time\ntime.sleep(0.1)")
PTX = f"{EXPLORER} section[aria-label=PTX]"
LINES = f"{PTX} .pl-now .pl-line"


def dimmed(page: Any, selector: str) -> bool:
    """Whether a part of the explorer is shown as not being of the controls' setting."""
    return (
        float(
            page.eval_on_selector(
                f"{EXPLORER} {selector}",
                "e => { let o = 1; for (; e; e = e.parentElement) o *= getComputedStyle(e).opacity; return o }",
            )
        )
        <= 0.5
    )


def on_screen(page: Any) -> tuple[str, float]:
    """The text of the PTX line that is selected, and its pixels below the top of its pane."""
    return tuple(
        page.eval_on_selector(
            f"{PTX} .pl-current",
            "e => [e.querySelector('code').textContent.trim().split(/\\s+/)[0],"
            " e.getBoundingClientRect().top - e.closest('.pl-lines').getBoundingClientRect().top]",
        )
    )


def test_lines_stay_where_they_are_when_a_result_arrives(lab: Any) -> None:
    """The column of the execution counts keeps its room while they are not known."""
    lab.click(f"{EXPLORER} [aria-label=view] button:has-text('Code')")
    lab.evaluate(
        "shown => { window.lefts = new Set();"
        " const look = () => { const c = document.querySelector(shown);"
        "  if (c) window.lefts.add(Math.round(c.getBoundingClientRect().left));"
        "  window.looking = requestAnimationFrame(look) };"
        " look() }",
        f"{LINES} code",
    )
    before = number(lab)
    type_on_slider(lab, "head dim", 24)
    settle(lab, before)
    lab.evaluate("cancelAnimationFrame(window.looking)")
    assert lab.evaluate("window.lefts.size") == 1


def test_another_head_dim_keeps_the_instruction_in_its_place(lab: Any) -> None:
    line = lines(lab, "ex2").first
    line.scroll_into_view_if_needed()
    line.click()
    was, old = on_screen(lab), lab.get_attribute(f"{PTX} .pl-current", "data-line")
    before = number(lab)
    type_on_slider(lab, "head dim", 48)
    settle(lab, before)
    assert lab.get_attribute(f"{PTX} .pl-current", "data-line") != old, "it is on another line now"
    now = on_screen(lab)
    assert now[0] == was[0] == "ex2.approx.f32"
    assert abs(now[1] - was[1]) < 2
    assert text(lab, ".pl-picked-line").startswith("PTX line ")
    lab.keyboard.press("Escape")


def test_a_run_is_cancelled_and_asked_for_again(lab: Any) -> None:
    choose(lab, "device", "step")
    type_on_slider(lab, "Sk", 512)
    until(lab, "asking")
    asked = r"a run of about \d+ (s|min); what is dimmed is of an earlier setting RunCancel"
    assert re.fullmatch(asked, text(lab, ".pl-status"))  # by how long a run took on this machine
    lab_server.painted(lab)  # it dims a moment later
    assert dimmed(lab, ".pl-strip")
    shot(lab, "state-asking")
    lab.click(f"{EXPLORER} .pl-act")
    until(lab, "cancelled")
    lab.click(f"{EXPLORER} .pl-act:has-text('Run again')")
    until(lab, "asking")
    lab.click(f"{EXPLORER} .pl-go")
    until(lab, "running")
    lab.wait_for_selector(f"{EXPLORER} .pl-act:not(.pl-hidden)")
    assert text(lab, ".pl-act") == "Cancel"
    lab.wait_for_function(f"document.querySelector('{EXPLORER} .pl-status').innerText.includes('of 1 blocks done')")
    assert dimmed(lab, ".pl-strip")
    assert not dimmed(lab, "section[aria-label=PTX]")
    shot(lab, "state-running")
    lab.click(f"{EXPLORER} .pl-act")
    until(lab, "cancelled")
    assert text(lab, ".pl-status [role=status]") == "cancelled; what is dimmed is of an earlier setting"
    assert dimmed(lab, ".pl-strip")
    assert violations(lab, f"{EXPLORER} .pl-head") == []
    shot(lab, "state-cancelled")
    lab.click(f"{EXPLORER} .pl-act:has-text('Run again')")
    until(lab, "running")


def test_the_stop_button_of_the_notebook_ends_the_run(lab: Any) -> None:
    """No cell runs: the interrupt is the run's."""
    assert lab.get_attribute(EXPLORER, "data-state") == "running"
    lab.evaluate("void jupyterapp.commands.execute('notebook:interrupt-kernel')")
    until(lab, "cancelled")
    lab.click(f"{EXPLORER} .pl-act:has-text('Run again')")
    until(lab, "running")


def test_a_newer_request_ends_the_run(lab: Any) -> None:
    assert lab.get_attribute(EXPLORER, "data-state") == "running"
    before = number(lab)
    type_on_slider(lab, "Sk", 3)
    settle(lab, before)
    assert lab.get_attribute(EXPLORER, "data-state") == "done"
    assert "per work" in figures(lab)["executed"]
    assert not dimmed(lab, ".pl-strip")
    choose(lab, "device", "auto")


def test_while_another_cell_runs_the_page_says_what_it_waits_for(lab: Any) -> None:
    """Its kernel hears of a change at once where it has a thread for messages, else when the cell has ended."""
    lab.evaluate(
        "() => { const notebook = jupyterapp.shell.currentWidget.content; notebook.activeCellIndex = 1;"
        " notebook.activeCell.model.sharedModel.setSource('import time\\ntime.sleep(3)');"
        " void jupyterapp.commands.execute('notebook:run-cell') }"
    )
    lab.wait_for_function("jupyterapp.shell.currentWidget.context.sessionContext.session.kernel.status === 'busy'")
    before = number(lab)
    type_on_slider(lab, "Sk", 7)
    lab.wait_for_function(
        f"() => {{ const r = document.querySelector('{EXPLORER}'), s = r.querySelector('.pl-status').innerText;"
        " return r.dataset.state === 'done' ? Number(r.dataset.seq) > " + str(before) + " :"
        " s.startsWith('waiting for the kernel: another cell is running') }"
    )
    settle(lab, before)


@pytest.mark.parametrize(
    ("label", "typed", "stands", "says"),
    [
        ("sigma σ", "2.125", "2.13", ""),
        ("sigma σ", "0.05", "0.10", "sigma σ 0.05 → 0.1: sigma must be a number from 0.1 to 10, not 0.05"),
        ("sigma σ", "2,5", "0.10", "sigma σ 2,5 → 0.1: sigma must be a number from 0.1 to 10, not '2,5'"),
        ("Sq", "99999999", "4096", "Sq 99999999 → 4096: seq_q must be a whole number from 1 to 4096, not 99999999"),
        ("Sq", "40", "40", ""),
        ("Sk", "2.5", "2", "Sk 2.5 → 2: seq_k must be a whole number from 0 to 4096, not 2.5"),
        ("batch", "9", "8", "batch 9 → 8: batch must be a whole number from 1 to 8, not 9"),
        ("batch", "2", "2", ""),
        ("batch", "", "2", ""),
    ],
)
def test_what_a_control_takes_is_said_as_it_is(lab: Any, label: str, typed: str, stands: str, says: str) -> None:
    before, field = number(lab), control(lab, label)
    field.click()
    lab.keyboard.press("Control+A")
    lab.keyboard.press("Delete")
    lab.keyboard.type(typed)
    lab.keyboard.press("Enter")
    settle(lab, before if typed else before - 1)
    assert field.input_value() == stands
    assert told(lab) == ([says] if says else [])


def test_half_double_and_undo(lab: Any) -> None:
    first = int(control(lab, "Sq").input_value())
    for press, now in (("double Sq", 2 * first), ("half Sq", first), ("↶ Undo", 2 * first), ("half Sq", first)):
        before = number(lab)
        lab.locator(EXPLORER).get_by_role("button", name=press).click()
        settle(lab, before)
        assert control(lab, "Sq").input_value() == str(now)
    lines(lab).first.click()
    lab.keyboard.press("Escape")  # back to what was changed last
    assert control(lab, "Sq").evaluate("e => e === document.activeElement")


@pytest.mark.rest
def test_a_control_that_had_to_follow_says_why_and_the_chosen_tile_keeps_its_keys(lab: Any) -> None:
    choose(lab, "kernel", "tiled")
    choose(lab, "KV tile", "32")
    before = number(lab)
    type_on_slider(lab, "Sk", 128)
    settle(lab, before)
    lab.click(f"{EXPLORER} button:has-text('Pictures')")
    plot = lab.locator(f"{EXPLORER} section[aria-label='Online softmax'] .pl-plot")
    plot.focus()
    plot.press("End")
    plot.press("ArrowLeft")
    plot.press("Enter")
    assert text(lab, "section[aria-label=Tiles] .pl-readout").endswith("tile 2: keys 64–95")
    choose(lab, "KV tile", "64")
    assert text(lab, "section[aria-label=Tiles] .pl-readout").endswith("tile 1: keys 64–127")
    assert lab.locator(f"{EXPLORER} .pl-tilemap .pl-tile").count() == 1
    before = number(lab)
    type_on_slider(lab, "head dim", 128)
    settle(lab, before)
    assert told(lab) == [
        "KV tile 64 → 32: tile_kv=64 with head_dim=128 and f32 needs 65536 bytes of static shared memory; "
        "sm_80 has 49152"
    ]
    assert parameter(lab, "KV tile").locator(".pl-told").inner_text() == told(lab)[0]
    note = lab.locator(f"{EXPLORER} .pl-fold-note")
    assert not note.is_visible()
    lab.set_viewport_size({"width": 600, "height": 900})
    note.wait_for(state="visible")  # where the controls are folded away, it is said without them
    assert note.inner_text().startswith("KV tile 64 → 32: tile_kv=64 with head_dim=128")
    lab.set_viewport_size({"width": 1440, "height": 900})
    note.wait_for(state="hidden")
    choose(lab, "KV tile", "16")
    assert told(lab) == []


@pytest.mark.rest
@pytest.mark.parametrize(("width", "height"), [(1024, 768), (600, 900)])
def test_small_windows_show_the_page_and_not_the_controls_alone(lab: Any, width: int, height: int) -> None:
    lab.set_viewport_size({"width": width, "height": height})
    try:
        lab_server.painted(lab)
        app, panel, view = (
            lab.eval_on_selector(s, "e => { const b = e.getBoundingClientRect(); return [b.width, b.height] }")
            for s in (".ptxlab-app", ".pl-controls", EXPLORER)
        )
        assert view[0] > 0.95 * app[0], "the page has the whole width"
        assert panel[1] < 0.35 * height
        shot(lab, f"state-{width}")
        if width == 600:
            assert panel[1] < 40, "the dock"
            assert not parameter(lab, "seed").is_visible()
            lab.click(".pl-fold-button")
            assert parameter(lab, "seed").is_visible()
            assert violations(lab, ".ptxlab-app") == []
            lab.click(".pl-fold-button")
    finally:
        lab.set_viewport_size({"width": 1440, "height": 900})


def test_a_fault_is_in_sight(lab: Any) -> None:
    """The cell below opens an explorer on a kernel that faults: its pane opens at that line, not at the first."""
    lab.evaluate(
        "source => { const notebook = jupyterapp.shell.currentWidget.content; notebook.activeCellIndex = 1;"
        " notebook.activeCell.model.sharedModel.setSource(source);"
        " void jupyterapp.commands.execute('notebook:run-cell') }",
        FAULTY,
    )
    complaint = lab.locator(f"{PTX} .pl-complaint")
    complaint.wait_for()
    complaint.scroll_into_view_if_needed()
    top, bottom, height = complaint.evaluate(
        "e => { const b = e.closest('.pl-lines').getBoundingClientRect(), at = e.getBoundingClientRect();"
        " return [at.top - b.top, at.bottom - b.top, b.height] }"
    )
    assert 0 < top < bottom < height


@pytest.mark.rest
def test_a_kernel_that_is_gone_is_said(lab: Any) -> None:
    lab.evaluate("jupyterapp.shell.currentWidget.context.sessionContext.restartKernel()")
    until(lab, "gone")
    assert text(lab, ".pl-status [role=status]") == "the kernel is gone: run the cell again"
    assert dimmed(lab, ".pl-strip")
    assert dimmed(lab, "section[aria-label=PTX]")
    assert control(lab, "Sq").is_disabled()
    assert violations(lab, f"{EXPLORER} .pl-head") == []
    shot(lab, "state-gone")
