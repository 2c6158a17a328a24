"""What the browser tests of the debugger do with the page that the fixture `viewer` opens."""

from __future__ import annotations

from typing import Any

SHUFFLES = """.version 8.0
.target sm_80
.address_size 64
.visible .entry shuffles(.param .u64 out)
{
    .reg .pred %p, %odd;
    .reg .u32 %t, %d, %by;
    .reg .u64 %out, %at;
    mov.u32 %t, %tid.x;
    and.b32 %by, %t, 1;
    setp.eq.u32 %odd, %by, 1;
    shfl.sync.down.b32 %d|%p, %t, 4, 0x1f, 0xFFFFFFFF;
    shfl.sync.idx.b32 %d, %t, %by, 0x181f, 0xFFFFFFFF;
    @%odd mul.lo.u32 %d, %d, 10;
    ret;
}
"""
"""A shift that runs over the end, one with a lane of its own for each lane, and a guard that holds in half of them."""
THROUGH = """async () => {
    const body = document.querySelector("section[aria-label=PTX] .pl-lines");
    for (let top = 0; body.ariaBusy === "true" && top < body.scrollHeight; top += body.clientHeight) {
        body.scrollTop = top;
        for (let k = 0; k < 2; k++) await new Promise(requestAnimationFrame);
    }
}"""
"""Scrolls through the PTX."""
EXCHANGE = 'section[aria-label="Between lanes"]'


def run_to(page: Any, opcode: str) -> str:
    """Goes to the next step of an opcode; gives the status line."""
    page.evaluate(THROUGH)  # lines become elements where they are seen
    lines = page.eval_on_selector_all(
        "section[aria-label=PTX] .pl-now .pl-line code", "all => all.map(e => e.textContent)"
    )
    line = 1 + next(k for k, text in enumerate(lines) if opcode in text)
    row = page.locator(f'section[aria-label=PTX] .pl-now [data-line="{line}"]')
    row.click()
    page.click("button:has-text('Continue ▶▶')")
    row.click()
    return str(page.inner_text(".pl-status"))


def rows_of(page: Any, card: str) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the table behind a card."""
    page.click(f"{card} header > .pl-quiet")
    heads = page.eval_on_selector_all(f"{card} thead th", "all => all.map(e => e.textContent)")
    rows = page.eval_on_selector_all(
        f"{card} tbody tr", "all => all.map(tr => [...tr.children].map(td => td.textContent))"
    )
    page.click(f"{card} header > .pl-quiet")
    return heads, rows
