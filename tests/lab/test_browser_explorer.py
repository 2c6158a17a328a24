"""The explorer as a student meets it: a real JupyterLab in a real Chromium, driven by mouse and keyboard."""

from __future__ import annotations

import math
from typing import Any

import lab_server
import pytest
from accessibility import violations
from explorer_page import (
    EXPLORER,
    chooser,
    code_of,
    colours,
    figures,
    line,
    lines,
    number,
    pane,
    parameter,
    settle,
    shot,
    text,
    tick,
    told,
    type_number,
    whole,
)

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
pytestmark = [pytest.mark.browser]

WINDOW = (1600, 1000)
CELLS = ('import ptxlab as pl\n\npl.explore("scalar", seq_len=100, head_dim=32, sigma=2)',)


def test_everything_is_shown(lab: Any) -> None:
    whole(lab)
    assert "scalar_f32_d32" in text(lab, ".pl-entry")
    assert lines(lab).count() > 100
    assert lab.locator(f"{EXPLORER} section[aria-label=PTX] .o").count() > 80
    assert "k.loop(" in lab.text_content(f"{EXPLORER} section[aria-label=Python] .pl-now")
    shown = figures(lab)
    assert "✓ pass" in shown["error ÷ tol."], shown
    assert "time" not in shown, "how long the emulator took says nothing about a GPU"
    assert shown["sectors"].endswith("of ideal"), shown
    assert colours(lab, "canvas") > 20
    assert lab.locator(f"{EXPLORER} .pl-plot path.pl-series").count() == 3
    assert lab.locator(f"{EXPLORER} .pl-plot .pl-ring").count() > 60
    heat = lab.eval_on_selector_all(
        f"{EXPLORER} section[aria-label=PTX] .pl-heat", "all => all.filter(e => e.textContent).length"
    )
    assert heat > 80
    shot(lab, "explorer-first")


def test_a_parameter_changes_code_diff_plot_and_error(lab: Any) -> None:
    before = figures(lab)
    plot = lab.inner_html(f"{EXPLORER} .pl-plot")
    tick(lab, "causal")
    assert text(lab, ".pl-entry") == "scalar_f32_d32_causal"
    assert text(lab, ".pl-diff-note").startswith("causal off → on · +")
    assert text(lab, ".pl-diff-note").endswith(" · against scalar_f32_d32 · sm_80")
    after = figures(lab)
    assert after["error ÷ tol."] != before["error ÷ tol."]
    assert f" was {before['executed'].split(' thread')[0]} ▼" in after["executed"]
    assert after["executed"].endswith(" better")
    assert text(lab, ".pl-against b") == "causal off → on"
    type_number(lab, "seed", 1)
    assert lab.inner_html(f"{EXPLORER} .pl-plot") != plot
    assert text(lab, ".pl-against b") == "seed 0 → 1"
    assert text(lab, ".pl-diff-note").startswith("no instruction changed")
    before_pinned = number(lab)
    lab.click(f"{EXPLORER} button:text-is('pinned')")
    settle(lab, before_pinned)
    assert text(lab, ".pl-against b") == "causal off → on, seed 0 → 1"
    lab.click(f"{EXPLORER} button:has-text('Diff')")
    lab.click(f"{EXPLORER} button[aria-label='side by side']")
    assert lab.locator(f"{EXPLORER} .pl-sides-2 tr.pl-add").count() > 0
    halves = lab.eval_on_selector_all(
        f"{EXPLORER} .pl-sides-2 tr.pl-same:not(.pl-left):not(.pl-right) .pl-src",
        "all => all.slice(0, 2).map(e => e.getBoundingClientRect().width)",
    )
    assert abs(halves[0] - halves[1]) < 2
    both = lab.locator(f"{EXPLORER} .pl-sides-2").bounding_box()["width"]
    assert halves[0] > 0.4 * both, "a fold in the first row must not make the columns of numbers wide"
    assert not lab.is_visible(f"{EXPLORER} button:has-text('heat')")
    shot(lab, "explorer-split")
    lab.click(f"{EXPLORER} button[aria-label='side by side']")
    assert "scalar.py:" in lab.locator(f"{EXPLORER} .pl-wrote").first.inner_text()  # the line that wrote the change
    assert lab.locator(f"{EXPLORER} .pl-sides-1 tr.pl-add").count() > 0
    lab.click(f"{EXPLORER} button:has-text('Code')")


def test_the_diff_opens_at_the_first_instruction_and_keys_go_on_from_there(lab: Any) -> None:
    lab.click(f"{EXPLORER} button:has-text('Diff')")
    assert text(lab, ".pl-diff-place").startswith("1 of ")
    shown = lab.evaluate(
        "() => { const b = document.querySelector('.pl-diff-holder'), t = b.querySelector('tr.pl-here');"
        " const at = t.getBoundingClientRect(), frame = b.getBoundingClientRect();"
        " return [at.top >= frame.top && at.bottom <= frame.bottom, t.innerText] }"
    )
    assert shown[0]
    assert ".reg" not in shown[1]
    assert ".entry" not in shown[1]
    lab.focus(f"{EXPLORER} .pl-diff-holder")
    lab.keyboard.press("n")
    assert text(lab, ".pl-diff-place").startswith("2 of ")
    lab.keyboard.press("Shift+F7")
    assert text(lab, ".pl-diff-place").startswith("1 of ")
    lab.focus(f"{EXPLORER} .pl-diff-holder")
    lab.keyboard.press("Control+f")
    lab.keyboard.type(".version")  # which is folded
    assert ".version" in text(lab, ".pl-diff tr.pl-current")
    lab.keyboard.press("Escape")
    lab.click(f"{EXPLORER} [aria-label=language] button:has-text('Python')")
    assert (
        text(lab, ".pl-diff-holder .pl-blank")
        == "The same Python wrote both. Only the parameters differ: causal off → on."
    )
    lab.click(f"{EXPLORER} [aria-label=language] button:has-text('PTX')")
    assert text(lab, ".pl-diff-place").startswith("1 of ")
    lab.click(f"{EXPLORER} button:has-text('Code')")
    assert not lab.is_visible(f"{EXPLORER} .pl-diff-holder")


def test_pin_compares_with_this_version_from_now_on(lab: Any) -> None:
    before = number(lab)
    lab.click(f"{EXPLORER} button:text-is('Pin')")
    settle(lab, before)
    assert text(lab, ".pl-diff-note").startswith("no instruction changed · against scalar_f32_d32_causal")


def test_heads_follow_the_heads_that_they_share(lab: Any) -> None:
    type_number(lab, "heads", 3)
    type_number(lab, "KV heads", 2)
    assert told(lab) == ["heads 3 → 2: heads = 3 should be a multiple of kv_heads = 2"]
    assert "✓ pass" in figures(lab)["error ÷ tol."]
    shot(lab, "explorer-followed")
    type_number(lab, "KV heads", 1)
    type_number(lab, "heads", 1)
    assert told(lab) == []


def test_hovering_explains_opcode_modifier_and_operand(lab: Any) -> None:
    fma = lab.locator(f"{EXPLORER} section[aria-label=PTX] .o:has-text('fma.rn.f32')").first
    fma.scroll_into_view_if_needed()
    fma.locator(".m").first.hover()
    tip = text(lab, ".pl-tip")
    assert "Fused multiply-add" in tip
    assert "d, a, b, c" in tip
    assert lab.inner_text(f"{EXPLORER} .pl-tip dt.pl-here") == ".rn"
    shot(lab, "explorer-away")
    assert lab.is_hidden(f"{EXPLORER} .pl-tip")
    lines(lab, "fma.rn.f32").first.locator(".r").nth(1).hover()
    assert "operand a of fma.rn.f32, read: .f32." in text(lab, ".pl-tip")
    lab.mouse.move(2, 2)


def test_clicking_a_line_links_python_and_ptx(lab: Any) -> None:
    lines(lab, "ex2").first.click()
    assert lab.locator(f"{EXPLORER} section[aria-label=Python] [aria-selected=true]").count() == 1
    assert "exp2" in lab.text_content(f"{EXPLORER} section[aria-label=Python] [aria-selected=true]")
    pane(lab).press("ArrowDown")
    assert pane(lab).get_attribute("aria-activedescendant")
    pane(lab).press("Escape")
    assert lab.locator(f"{EXPLORER} [aria-selected=true]").count() == 0


def test_the_error_map_chooses_the_row_and_every_picture_has_its_table(lab: Any) -> None:
    before = number(lab)
    lab.locator(f"{EXPLORER} canvas").click(position={"x": 40, "y": 40})
    settle(lab, before)
    note = f"{EXPLORER} section[aria-label='Online softmax'] .pl-note"
    lab.wait_for_function("note => !document.querySelector(note).textContent.includes('row 99')", arg=note)
    for title in ("Error", "Online softmax"):
        toggle = lab.locator(f'{EXPLORER} section[aria-label="{title}"] button:text-is("Table")')
        toggle.click()
        assert lab.locator(f'{EXPLORER} section[aria-label="{title}"] tbody tr').count() >= 20
        toggle.click()


def selected(page: Any, pane: str) -> list[int]:
    """The selected lines of a pane."""
    return list(
        page.eval_on_selector_all(
            f"{EXPLORER} section[aria-label={pane}] [aria-selected=true]", "all => all.map(e => Number(e.dataset.line))"
        )
    )


def test_a_point_of_the_softmax_plot_leads_to_the_ptx_that_made_it(lab: Any) -> None:
    plot = lab.locator(f"{EXPLORER} section[aria-label='Online softmax'] .pl-plot")
    for height, opcode, name in ((0.2, "max.f32", "m"), (0.5, "fma.rn.f32", "l"), (0.7, "ex2.approx.f32", "rescale")):
        box = plot.bounding_box()
        plot.click(position={"x": 150, "y": height * box["height"]})
        (chosen,) = selected(lab, "PTX")
        assert opcode in code_of(lab, chosen)
        assert f"makes {name}" in text(lab, ".pl-picked-line")
        assert len(selected(lab, "Python")) == 1
    lab.wait_for_selector(f"{EXPLORER} .pl-plot .pl-chosen", state="attached")
    assert lab.locator(f"{EXPLORER} .pl-tilemap .pl-tile").count() == 1
    plot.press("ArrowUp")  # the same by keyboard: the chart above
    assert "makes l" in text(lab, ".pl-picked-line")


def test_play_walks_the_tiles_and_the_code_follows(lab: Any) -> None:
    card = lab.locator(f"{EXPLORER} section[aria-label='Online softmax']")
    card.locator(".pl-plot").hover(position={"x": 56, "y": 40})
    card.locator(".pl-readout").evaluate(
        """readout => { const root = document.querySelector('.ptxlab-explorer');
        const one = (pane) => root.querySelectorAll(`section[aria-label=${pane}] [aria-selected=true]`);
        window.walked = [];
        window.walking = new MutationObserver(() => window.walked.push(
            [one('PTX')[0]?.querySelector('.o').textContent, readout.textContent, one('Python').length]));
        window.walking.observe(readout, { childList: true }) }"""
    )
    card.locator(".pl-play").click()
    lab.wait_for_function("window.walked.length >= 4 && document.querySelectorAll('.pl-tilemap .pl-tile').length === 1")
    walked = lab.evaluate("window.walking.disconnect(), window.walked")[:4]
    assert [opcode.split(".")[0] for opcode, _, _ in walked] == ["max", "ex2", "mul", "fma"]
    assert "there is nothing to rescale yet" in walked[1][1], walked
    assert [count for _, _, count in walked] == [1, 1, 1, 1]
    shot(lab, "explorer-play")
    card.locator(".pl-play").click()
    assert card.locator(".pl-play").inner_text() == "▶ Play"
    assert card.locator(".pl-score").count() == 1
    assert card.locator("svg image").count() == 1


def test_a_click_counts_though_the_plot_is_drawn_anew_before_the_release(lab: Any) -> None:
    pane(lab).press("Escape")
    assert selected(lab, "PTX") == []
    plot = lab.locator(f"{EXPLORER} section[aria-label='Online softmax'] .pl-plot")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    x, y = box["x"] + 150, box["y"] + 0.2 * box["height"]
    lab.mouse.move(x, y)
    lab.mouse.down()
    lab.mouse.move(x + 3, y)  # the value under the mouse is drawn
    lab_server.painted(lab)
    lab.mouse.up()
    (chosen,) = selected(lab, "PTX")
    assert "max.f32" in code_of(lab, chosen)


def test_an_element_of_the_error_map_leads_to_its_store_and_its_row(lab: Any) -> None:
    before = number(lab)
    canvas = lab.locator(f"{EXPLORER} canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    # Row 30 of 100, column 3 of 32; a click has whole pixels, of which a row has one or two.
    lab.mouse.click(box["x"] + 0.11 * box["width"], math.ceil(box["y"] + 0.3 * box["height"]))
    settle(lab, before)
    (chosen,) = selected(lab, "PTX")
    assert "st.global.f32" in code_of(lab, chosen)
    assert "[%o_row+12]" in code_of(lab, chosen)
    assert "accesses o" in text(lab, ".pl-picked-line")
    assert "query row 30, block 0" in text(lab, "section[aria-label=Tiles] .pl-readout")


def test_the_tile_map_chooses_row_and_key(lab: Any) -> None:
    before = number(lab)
    tiles = lab.locator(f"{EXPLORER} .pl-tilemap")
    box = tiles.bounding_box()
    tiles.click(position={"x": 40 + 0.1 * box["width"], "y": 0.9 * box["height"]})
    settle(lab, before)
    row = int(text(lab, "section[aria-label='Online softmax'] .pl-note").removeprefix("row "))
    assert row > 60
    assert f"query row {row}" in text(lab, "section[aria-label=Tiles] .pl-readout")


@pytest.mark.rest
def test_machine_code_is_linked_line_by_line(lab: Any) -> None:
    before = number(lab)
    lab.click(f"{EXPLORER} [aria-label=language] button:has-text('SASS')")
    lab.click(f"{EXPLORER} button[aria-label='side by side']")
    settle(lab, before)
    machine = lab.locator(f"{EXPLORER} section[aria-label=SASS]")
    if "needs ptxlab[sass]" in machine.inner_text():
        pytest.skip("needs NVIDIA's disassembler")
    assert "instructions" in machine.locator(".pl-note").first.inner_text()
    special = lines(lab, "MUFU.EX2", "SASS").first
    special.click()
    (chosen,) = selected(lab, "PTX")
    assert "ex2.approx.f32" in code_of(lab, chosen)
    assert len(selected(lab, "Python")) == 1
    line(lab, chosen).click()
    assert len(selected(lab, "SASS")) >= 1
    assert "machine instruction" in text(lab, ".pl-picked-line")
    special.locator(".o").hover()
    assert "Special functions" in text(lab, ".pl-tip")
    shot(lab, "explorer-sass")
    lab.click(f"{EXPLORER} button[aria-label='side by side']")
    lab.click(f"{EXPLORER} [aria-label=language] button:has-text('PTX')")
    assert machine.is_hidden()


def test_counters_roofline_and_occupancy_say_where_their_numbers_come_from(lab: Any) -> None:
    lab.click(f"{EXPLORER} button:has-text('Counters')")
    for name in ("Instruction mix", "Memory and work", "Lines that cost most"):
        table = lab.locator(f"{EXPLORER} section[aria-label='{name}'] .pl-open")
        assert table.evaluate("e => [e.clientWidth > 0, e.scrollWidth <= e.clientWidth]") == [True, True], name
    mix = text(lab, "section[aria-label='Instruction mix']")
    assert "fma.rn.f32" in mix
    assert "counted" in mix
    assert "modelled" in mix
    memory = text(lab, "section[aria-label='Memory and work']")
    assert "global sectors" in memory
    assert "FLOP, f32" in memory
    lab.locator(f"{EXPLORER} section[aria-label='Lines that cost most'] td button").first.click()
    (chosen,) = selected(lab, "PTX")
    assert "global.f32" in code_of(lab, chosen)
    assert lab.locator(f"{EXPLORER} section[aria-label='Memory and work'] .pl-was").count() == 0  # it is pinned itself
    shot(lab, "explorer-counters")
    lab.click(f"{EXPLORER} button:has-text('Roofline')")
    lab_server.painted(lab)
    roofline = text(lab, "section[aria-label=Roofline]")
    assert "NVIDIA A100 data sheet" in roofline
    assert "modelled, every sector from memory" in roofline
    assert lab.locator(f"{EXPLORER} section[aria-label=Roofline] .pl-point").count() == 2
    assert "registers ◀ limits" in text(lab, "section[aria-label=Occupancy]")
    assert lab.locator(f"{EXPLORER} .pl-warps .pl-full").count() == 20
    shot(lab, "explorer-roofline")
    lab.click(f"{EXPLORER} button:has-text('Pictures')")
    ways = text(lab, "section[aria-label='Three ways']")
    assert "numpy float32" in ways
    assert "emulator" in ways
    assert "GPU" in ways


@pytest.mark.rest
@pytest.mark.sweep(2)
@pytest.mark.parametrize("theme", ["JupyterLab Dark", "JupyterLab Light"])
def test_axe_finds_no_serious_violation(lab: Any, theme: str) -> None:
    lab_server.use_theme(lab, theme)
    try:
        for view in ("Diff", "Code"):
            lab.click(f"{EXPLORER} button:has-text('{view}')")
            assert violations(lab, EXPLORER) == []
        for results in ("Counters", "Roofline", "Pictures"):
            lab.click(f"{EXPLORER} button:has-text('{results}')")
            assert violations(lab, EXPLORER, but=".pl-panes") == []
    finally:
        lab_server.use_theme(lab, "JupyterLab Light")


def test_another_kernel_brings_its_own_parameters(lab: Any) -> None:
    before = number(lab)
    chooser(lab, "kernel").select_option("tiled")
    settle(lab, before)
    assert text(lab, ".pl-entry") == "tiled_f32_d32_causal"
    assert figures(lab)["shared"].startswith("8 KiB was 0 B ▲ 8 KiB")
    before = number(lab)
    chooser(lab, "KV tile").select_option("16")
    settle(lab, before)
    pressed = f"{EXPLORER} [aria-label=results] [aria-pressed=true]"
    assert lab.inner_text(pressed) == "Pictures"
    lab.click(f"{EXPLORER} .pl-lesson button")
    assert [code_of(lab, line).split()[0] for line in selected(lab, "PTX")] == ["bar.sync"]
    lab.click(f"{EXPLORER} button:text-is('Pictures')")
    lab.wait_for_selector(f"{EXPLORER} .pl-plot .pl-dot.pl-m", state="attached")
    assert lab.locator(f"{EXPLORER} .pl-plot .pl-dot.pl-m").count() >= 2
    assert "KV tile of 16 keys" in lab.inner_text(f"{EXPLORER} .pl-plot")


@pytest.mark.rest
def test_a_decode_kernel_shows_its_parts_and_its_error(lab: Any) -> None:
    before = number(lab)
    chooser(lab, "kernel").select_option("decode_split")
    settle(lab, before)
    assert text(lab, ".pl-entry").startswith("decode_split_f32")
    assert "✓ pass" in figures(lab)["error ÷ tol."]
    assert parameter(lab, "splits").count() == 1
    assert "split" in lab.inner_text(f"{EXPLORER} section[aria-label='Online softmax'] .pl-plot")
    assert "Merged: m" in text(lab, "section[aria-label='Online softmax'] .pl-readout")
    assert "query head ↓" in text(lab, "section[aria-label='Error']")
    shot(lab, "explorer-decode")


@pytest.mark.rest
def test_small_windows(lab: Any) -> None:
    for width in (1280, 800, 400):
        lab.set_viewport_size({"width": width, "height": 900})
        lab_server.painted(lab)
        wide = lab.eval_on_selector(EXPLORER, "e => e.scrollWidth > e.clientWidth + 1")
        assert not wide, f"the explorer should not need sideways scrolling at {width} pixels"
        shot(lab, f"explorer-{width}")
