"""What the browser tests of the debugger do with the page that the fixture `viewer` opens."""

from __future__ import annotations

from typing import Any

from explorer_page import line, lines

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
REVERSE = """.version 8.0
.target sm_80
.address_size 64
.visible .entry reverse(.param .u64 x)
{
    .reg .pred %p;
    .reg .u32 %t, %block, %at, %from, %round;
    .reg .f32 %v;
    .reg .u64 %x, %place;
    .shared .align 4 .b8 tile[256];
    ld.param.u64 %x, [x];
    mov.u32 %t, %tid.x;
    mov.u32 %block, %ctaid.x;
    shl.b32 %at, %t, 2;
    mad.lo.u32 %t, %block, 64, %t;
    mad.wide.u32 %place, %t, 4, %x;
    ld.global.f32 %v, [%place];
    mov.u32 %round, 0;
NEXT:
    st.shared.f32 [%at], %v;
    // bar.sync 0;
    sub.u32 %from, 252, %at;
    ld.shared.f32 %v, [%from];
    add.u32 %round, %round, 1;
    setp.lt.u32 %p, %round, 2;
    @%p bra NEXT;
    st.global.f32 [%place], %v;
    ret;
}
"""
"""A block reverses 64 values, twice, without a barrier before it reads those of the other warp."""
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
    texts = lines(page, within="").locator("code").all_text_contents()
    row = line(page, 1 + next(k for k, text in enumerate(texts) if opcode in text), within="")
    row.click()
    page.click("button:has-text('▶▶')")
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
