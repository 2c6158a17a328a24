"""Keys that are pressed in a widget stay there: while the focus is in a widget or in one of its controls, no letter of
JupyterLab's command mode cuts, deletes or changes a cell, and Ctrl+S saves."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import lab_server
import pytest
from explorer_page import EXPLORER, pane

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
pytestmark = [pytest.mark.browser]

WIDGETS = (
    'import ptxlab as pl\npl.explore("scalar", seq_len=4, head_dim=16)',
    'pl.debug("scalar", seq_len=4, head_dim=16)',
    "pl.editor()",
    'pl.explore("scalar", seq_len=4, head_dim=16).static_html() and pl.show(pl.editor().text, sass=True)',
    '"the cell of a student"',
)
EXPLORED = f"{EXPLORER}:not(.ptxlab-debugger)"
SHOWN = (EXPLORED, ".ptxlab-debugger", ".ptxlab-editor .cm-content", ".ptxlab-view summary")
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
SHIFTED = [f"Shift+{key.upper()}" for key in "abjklmrz"]
COMMANDS = [*"abcddhiijklmorsvxyz00123456", *SHIFTED]
"""The keys of command mode; of a command that takes two keys both come one after the other."""
WORST = ["x", "m", "d", "d", "Shift+M"]
MOVING = ["ArrowDown", "ArrowUp", "Shift+ArrowDown", "Shift+End", "Escape"]
CONTROLLED = ["Control+Backspace", "Control+Shift+M", "Control+Shift+ArrowUp", "Control+z", "Control+a", "Alt+Enter"]

FOCUSABLE = """() => {
    const kinds = "a[href], button, input, select, textarea, summary, [tabindex], [contenteditable=true]";
    return [...document.querySelectorAll(`[class*='ptxlab-'] :is(${kinds})`)].filter((e) =>
        e.checkVisibility({ visibilityProperty: true }) && !e.disabled) }"""
NEXT_KIND = f"""() => {{
    window.kinds ??= new Set();
    for (const e of ({FOCUSABLE})()) {{
        const kind = [e.closest("[class*='ptxlab-']").className, e.tagName, e.type, e.role, e.className].join();
        if (!kinds.has(kind) && kinds.add(kind) && (e.focus(), document.activeElement === e)) return e;
    }}
    window.kinds = undefined }}"""
"""Puts the focus on an element of a kind that did not have it yet; at the end there is none."""
NOTEBOOK = """() => {
    const { content, context } = jupyterapp.shell.currentWidget;
    const cells = content.widgets.map((w) => [w.model.type, w.model.sharedModel.source, w.outputHidden, w.prompt]);
    return [cells, document.querySelectorAll(".jp-Dialog").length, context.sessionContext.session.kernel.id,
        document.querySelectorAll(".jp-Cell .cm-lineNumbers").length] }"""
"""What commands change."""
CHOSEN = """() => {
    const { content } = jupyterapp.shell.currentWidget;
    return [content.activeCellIndex, content.widgets.filter((w) => content.isSelected(w)).length, content.mode] }"""
"""What commands choose; so does the focus."""
PRESS_ALL = f"""(keys) => {{
    const lost = [];
    for (const e of ({FOCUSABLE})()) {{
        e.focus();
        if (document.activeElement !== e) continue;
        const chosen = String(({CHOSEN})());
        for (const name of keys) {{
            const key = name.at(-1), keyCode = key.toUpperCase().charCodeAt(0);
            const code = /[0-9]/.test(key) ? `Digit${{key}}` : `Key${{key.toUpperCase()}}`;
            const how = {{ shiftKey: name.startsWith("Shift+"), bubbles: true, cancelable: true }};
            e.dispatchEvent(new KeyboardEvent("keydown", {{ key, code, keyCode, ...how }}));
        }}
        const left = (e.isConnected && document.activeElement !== e) || String(({CHOSEN})()) !== chosen;
        if (left) lost.push(e.outerHTML.slice(0, 200));
    }}
    return lost }}"""
"""Presses keys in every element that can have the focus; those from which it, or a cell, was lost."""


@pytest.fixture(scope="module", params=["JupyterLab", pytest.param("Notebook 7", marks=pytest.mark.rest)])
def lab(jupyter: lab_server.Jupyter, browser_path: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A page with one widget of each kind, and a cell without one."""
    with lab_server.lab_page(jupyter, browser_path, 1600, 1000) as (page, folder):
        notebook = lab_server.write_notebook(folder / "keys.ipynb", *WIDGETS)
        if request.param == "JupyterLab":
            lab_server.open_notebook(page, jupyter, notebook)
        else:
            lab_server.open_in_notebook(page, jupyter, notebook)
        lab_server.run_all(page)
        for shown in SHOWN:
            page.wait_for_selector(shown, state="attached")
        idle(page)
        lab_server.without_copies(page)
        yield page


def idle(page: Any) -> None:
    """Waits until the kernel has answered everything, so that nothing but keys changes the page."""
    page.wait_for_function(
        "selector => document.querySelector(selector).dataset.busy === ''"
        " && jupyterapp.shell.currentWidget.context.sessionContext.session.kernel.status === 'idle'"
        " && jupyterapp.shell.currentWidget.content.widgets.every(w => w.prompt !== '*')",
        arg=EXPLORED,
    )


EACH = pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.rest), 4])


def each_kind(page: Any, every: int) -> Iterator[Any]:
    """One element of each kind, or of every so many, that can have the focus, which it has."""
    for number in itertools.count():
        kind = page.evaluate_handle(NEXT_KIND).as_element()
        if kind is None:
            return
        if number % every == 0:
            yield kind


@pytest.mark.rest
def test_every_letter_stays_in_every_element(lab: Any) -> None:
    before = lab.evaluate(NOTEBOOK)
    assert lab.evaluate(PRESS_ALL, [*LETTERS, *COMMANDS]) == []
    assert lab.evaluate(NOTEBOOK) == before


@EACH
def test_keys_of_a_keyboard_stay_in_every_kind_of_element(lab: Any, every: int) -> None:
    before, count = lab.evaluate(NOTEBOOK), 0
    for kind in each_kind(lab, every):
        label = kind.evaluate("e => e.outerHTML.slice(0, 200)")
        scrolls = kind.evaluate("e => e.matches('select, [role=listbox], [role=region]')")
        chosen = lab.evaluate(CHOSEN)
        for key in [*WORST, *MOVING, *CONTROLLED] if scrolls else WORST:
            lab.keyboard.press(key)
        assert [lab.evaluate(NOTEBOOK), lab.evaluate(CHOSEN)] == [before, chosen], label
        count += 1
    assert count > 25 // every


def test_a_click_anywhere_in_a_widget_puts_the_focus_into_it(lab: Any) -> None:
    before = lab.evaluate(NOTEBOOK)
    for place in (
        f"{EXPLORED} h3",
        f"{EXPLORED} section[aria-label=PTX] .pl-now .pl-line >> nth=5",
        f"{EXPLORED} .pl-controls h4 >> nth=0",
        ".ptxlab-debugger .pl-status",
    ):
        lab.click(place)
        assert lab.evaluate("document.activeElement.closest(\"[class*='ptxlab-']\") !== null"), place
        for key in ("x", "m", "d", "d", "Shift+M"):
            lab.keyboard.press(key)
        assert lab.evaluate(NOTEBOOK) == before, place


@EACH
def test_control_s_saves_wherever_the_focus_is(lab: Any, every: int) -> None:
    lab.evaluate(
        "() => { if (!('saved' in window)) jupyterapp.commands.commandExecuted.connect((_, { id, result }) =>"
        " id === 'docmanager:save' && result.then(() => window.saved++)); window.saved = 0 }"
    )
    for number, kind in enumerate(each_kind(lab, every), 1):
        label = kind.evaluate("e => e.outerHTML.slice(0, 200)")
        lab.keyboard.press("Control+s")
        try:
            lab.wait_for_function("number => window.saved === number", arg=number, timeout=10_000)
        except Exception as error:
            raise AssertionError(label) from error
    assert not lab.evaluate("jupyterapp.shell.currentWidget.context.model.dirty")


def test_what_widgets_do_with_keys_they_do_still(lab: Any) -> None:
    code = pane(lab, within=EXPLORED)
    code.focus()
    lab.keyboard.press("ArrowDown")
    here = code.get_attribute("aria-activedescendant")
    lab.keyboard.press("ArrowDown")
    assert code.get_attribute("aria-activedescendant") not in (None, here)
    debugger = lab.locator(".ptxlab-debugger")
    debugger.locator(".pl-lines").first.focus()
    lab.keyboard.press("Home")
    first = debugger.locator(".pl-status").inner_text()
    lab.keyboard.press("ArrowRight")
    assert debugger.locator(".pl-status").inner_text() != first
    text = lab.locator(".ptxlab-editor .cm-content")
    text.focus()
    lab.keyboard.press("Control+Home")
    lab.keyboard.type("// xmd\n")
    assert text.locator(".cm-line").first.inner_text() == "// xmd"
    lab.keyboard.press("Control+z")
    assert text.locator(".cm-line").first.inner_text() != "// xmd"


def test_in_the_cell_the_letters_are_commands_as_ever(lab: Any) -> None:
    cells = "jupyterapp.shell.currentWidget.content.widgets.map((w) => w.model.type)"
    last = lab.locator(".jp-Notebook .jp-Cell").last
    last.locator(".cm-content").click()
    lab.keyboard.press("Escape")
    lab.keyboard.press("m")
    assert lab.evaluate(cells)[-1] == "markdown"
    lab.keyboard.press("y")
    assert lab.evaluate(cells) == ["code"] * len(WIDGETS)
    lab.keyboard.press("d")
    lab.keyboard.press("d")
    lab.wait_for_function(f"{cells}.length === {len(WIDGETS) - 1}")


def test_ctrl_f_finds_in_the_lines_of_a_pane_and_not_in_the_notebook(lab: Any) -> None:
    lines = pane(lab, within=EXPLORED)
    section = lab.locator(f"{EXPLORED} .pl-code")
    lines.focus()
    lab.keyboard.press("Control+f")
    assert lab.locator(".jp-DocumentSearch-overlay").count() == 0
    lab.keyboard.type("EX2.")
    found = section.locator(".pl-find ~ .pl-note")
    assert found.inner_text().startswith("1 of ")
    first = lines.locator(".pl-now .pl-current").text_content()
    assert "ex2." in first
    lab.keyboard.press("Enter")
    assert found.inner_text().startswith("2 of ")
    assert lines.locator(".pl-now .pl-current").text_content() != first
    lab.keyboard.press("Shift+Enter")
    assert lines.locator(".pl-now .pl-current").text_content() == first
    lab.keyboard.type("nothing")
    assert found.inner_text() == "not found"
    lab.keyboard.press("Escape")
    assert not section.locator(".pl-find").is_visible()
    assert lines.evaluate("e => e === document.activeElement")


def test_f6_goes_through_the_parts_of_the_page(lab: Any) -> None:
    part = "document.activeElement.closest('.pl-controls, .pl-strip, .pl-code, .pl-seen, .pl-foot').classList[0]"
    pane(lab, within=EXPLORED).focus()
    lab.keyboard.press("ArrowDown")  # of a line that is chosen, the foot has something to press
    parts = ["pl-seen", "pl-foot", "pl-controls", "pl-strip", "pl-code"]
    passed = [(lab.keyboard.press("F6"), lab.evaluate(part))[1] for _ in parts]
    assert passed == parts
    assert [(lab.keyboard.press("Shift+F6"), lab.evaluate(part))[1] for _ in parts] == [*parts[-2::-1], parts[-1]]


def test_all_lines_are_copied_also_those_out_of_sight(lab: Any) -> None:
    lab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    section = lab.locator(f"{EXPLORED} .pl-code")
    if section.locator(".pl-more").is_visible():  # a narrow bar keeps its tools there
        section.locator(".pl-more").click()
    section.get_by_role("button", name="Copy").click()
    section.get_by_role("button", name="Copied").wait_for()
    copied = lab.evaluate("navigator.clipboard.readText()")
    assert copied.startswith(("//", ".version"))
    assert copied.rstrip().endswith("}")
    assert "&" not in copied.replace("&&", "")
