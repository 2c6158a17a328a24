"""What the browser tests of the explorer do with the page that the fixture `lab` opens."""

from __future__ import annotations

from typing import Any

import lab_server

EXPLORER = ".ptxlab-explorer"


def settle(page: Any, after: int = 0) -> int:
    """Waits until the explorer has drawn its answer to a request later than `after`; returns that request's number."""
    page.wait_for_function(
        "after => { const r = document.querySelector('.ptxlab-explorer');"
        " return r && r.dataset.busy === '' && Number(r.dataset.seq) > after }",
        arg=after,
    )
    lab_server.painted(page)
    return int(page.get_attribute(EXPLORER, "data-seq"))


def whole(page: Any) -> None:
    """Waits until all lines of all panes are elements, those out of sight too."""
    page.wait_for_function("() => !document.querySelector('.ptxlab-explorer .pl-lines[aria-busy=true]')")


def number(page: Any) -> int:
    """The number of the request that is shown."""
    return int(page.get_attribute(EXPLORER, "data-seq"))


def text(page: Any, selector: str) -> str:
    """The text of an element of the explorer."""
    return str(page.inner_text(f"{EXPLORER} {selector}"))


def figures(page: Any) -> dict[str, str]:
    """The strip: label -> value and detail."""
    pairs = page.evaluate(  # found and read in one step: an element that is replaced in between has no layout
        "found => [...document.querySelectorAll(found)].map(f => [f.children[0].textContent, f.children[1].innerText])",
        f"{EXPLORER} .pl-figure",
    )
    return {label: " ".join(value.split()) for label, value in pairs}


def pane(page: Any, title: str = "PTX", within: str = EXPLORER) -> Any:
    """The list of a pane's lines, which scrolls and takes keys. within: the widget."""
    return page.locator(f'{within} section[aria-label="{title}"] .pl-lines')


def lines(page: Any, opcode: str = "", title: str = "PTX", within: str = EXPLORER) -> Any:
    """The lines of the text that a pane shows; of an opcode, those that have it."""
    rows = pane(page, title, within).locator(".pl-now .pl-line")
    return rows.filter(has=page.locator(".o", has_text=opcode)) if opcode else rows


def line(page: Any, number: int | str, title: str = "PTX", within: str = EXPLORER) -> Any:
    """A line by its number, from 1."""
    return pane(page, title, within).locator(f".pl-now [data-line='{number}']")


def code_of(page: Any, number: int | str, title: str = "PTX", within: str = EXPLORER) -> str:
    """What stands in a line."""
    return str(line(page, number, title, within).locator("code").text_content())


def parameter(page: Any, label: str) -> Any:
    """What stands beside a label among the parameters, the label included."""
    return page.locator(f"{EXPLORER} .pl-control:has(> label:text-is('{label}'))")


def control(page: Any, label: str) -> Any:
    """The field of the parameter with this label, into which a number is typed."""
    return parameter(page, label).locator("input[type=text]")


def chooser(page: Any, label: str) -> Any:
    """The list of choices of the parameter with this label."""
    return parameter(page, label).locator("select")


def box(page: Any, label: str) -> Any:
    """The check box of the parameter with this label."""
    return parameter(page, label).locator("input[type=checkbox]")


def told(page: Any) -> list[str]:
    """What is said below controls that have followed, or did not take what was typed."""
    return [words for words in page.locator(f"{EXPLORER} .pl-told").all_text_contents() if words]


def type_number(page: Any, label: str, value: int) -> None:
    """Types a number into a control and leaves it."""
    before = number(page)
    control(page, label).fill(str(value))
    control(page, label).press("Enter")
    settle(page, before)


def tick(page: Any, label: str) -> None:
    """Clicks a check box."""
    before = number(page)
    box(page, label).click()
    settle(page, before)


def colours(page: Any, selector: str) -> int:
    """How many different colours a canvas shows."""
    return int(
        page.eval_on_selector(
            f"{EXPLORER} {selector}",
            "c => new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size",
        )
    )


def shot(page: Any, name: str) -> None:
    """Leaves a screenshot with the explorer at the top of the window."""
    lab_server.ARTIFACTS.mkdir(exist_ok=True)
    page.mouse.move(2, 2)
    page.eval_on_selector(".ptxlab-app", "e => e.scrollIntoView({block: 'start'})")
    lab_server.painted(page)
    page.screenshot(path=str(lab_server.ARTIFACTS / f"{name}.png"))


def choose(page: Any, label: str, option: str) -> None:
    """Picks a choice of a list, where it is not the one that stands there."""
    before = number(page)
    standing = chooser(page, label).evaluate("e => [e.value, e.selectedOptions[0]?.textContent]")
    if option not in standing:
        chooser(page, label).select_option(option)
        settle(page, before)


def type_on_slider(page: Any, label: str, value: int) -> None:
    """Types a number into the field of a slider; nobody waits for the answer."""
    control(page, label).fill(str(value))
    control(page, label).press("Enter")


def until(page: Any, state: str) -> None:
    """Waits until the explorer's page is in a state."""
    page.wait_for_function(f"document.querySelector('{EXPLORER}')?.dataset.state === '{state}'")
