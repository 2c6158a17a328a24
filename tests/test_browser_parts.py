"""The parts of the debugger's module on an empty page: what it reads from a trace is what Python reads."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import accessibility
import lab_server
import numpy as np
import pytest

import ptxlab as pl
from ptxlab.emulate.counting import sectors, wavefronts
from ptxlab.emulate.recording import lanes_of
from ptxlab.emulate.rules import shuffle_source
from ptxlab.isa import fragments
from ptxlab.lab import assets

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
pytestmark = [pytest.mark.browser]

TYPES = """.version 8.0
.target sm_80
.address_size 64
.visible .entry types(.param .u64 out)
{
    .reg .pred %p, %q;
    .reg .b16 %h;
    .reg .s16 %s;
    .reg .u32 %t, %n;
    .reg .s32 %i;
    .reg .f32 %f;
    .reg .b64 %w;
    .reg .s64 %l;
    .reg .f64 %d;
    mov.u32 %t, %tid.x;
    mov.u32 %n, 0;
    mov.b64 %w, 0x123456789ABCDEF;
    mov.f64 %d, 0d3FF8000000000000;
LOOP:
    mad.lo.s32 %i, %t, -77, %n;
    cvt.u16.u32 %h, %i;
    cvt.s16.s32 %s, %i;
    cvt.s64.s32 %l, %i;
    mad.lo.u64 %w, %w, 6364136223846793005, %l;
    cvt.rn.f32.s32 %f, %i;
    fma.rn.f64 %d, %d, 0dBFE0000000000000, %d;
    and.b32 %i, %i, 3;
    setp.eq.u32 %q, %i, 1;
    @%q bra SKIP;
    sub.s64 %l, 0, %l;
SKIP:
    add.u32 %n, %n, 1;
    setp.lt.u32 %p, %n, 450;
    @%p bra LOOP;
    ret;
}
"""
"""More than a page of steps with registers of every kind."""
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


@pytest.fixture(scope="module")
def chromium(browser_path: str) -> Iterator[Any]:
    """A browser without JupyterLab."""
    with lab_server.chromium(browser_path) as browser:
        yield browser


@pytest.fixture
def parts(chromium: Any) -> Iterator[Any]:
    """`parts(expression, value)`: the value of JavaScript among the functions of the module, on an empty page."""
    page = chromium.new_page()
    code = assets.script("debugger").replace("export default", "const widget =")

    def evaluate(expression: str, value: Any) -> Any:
        call = "([code, source, value]) => new Function('value', `${code}; return (${source})(value)`)(value)"
        return page.evaluate(call, [code, expression, value])

    yield evaluate
    page.close()


@pytest.fixture
def viewer(chromium: Any) -> Iterator[Any]:
    """`viewer(debugger)`: a page that shows the widget with a model that holds its traits."""
    page = chromium.new_page(viewport={"width": 1300, "height": 1000})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))

    def show(debugger: Any) -> Any:
        page.set_content(f'<body><style>{assets.style("debugger")}</style><div id="place"></div></body>')
        code = assets.script("debugger").replace("export default", "const widget =")
        page.evaluate(
            """([code, info, trace]) => {
                const bytes = Uint8Array.from(atob(trace), (c) => c.charCodeAt(0));
                const values = { info, trace: new DataView(bytes.buffer) };
                const el = document.getElementById("place");
                new Function("model", "el", `${code}; widget.render({ model, el })`)({ get: (k) => values[k] }, el);
            }""",
            [code, debugger.info, base64.b64encode(debugger.trace).decode()],
        )
        page.wait_for_selector('.ptxlab-debugger[data-ready="0:0"]')
        return page

    yield show
    page.close()
    assert not errors, errors


def test_the_page_reads_every_type_as_python_does(parts: Any) -> None:
    recording = pl.debug(TYPES, 1, 40, np.zeros(4)).recording
    for key in recording.warps:
        walker = recording.walk(*key)
        assert len(recording.pages[key]) > 1
        stops = np.random.default_rng(5).integers(0, len(walker), 40).tolist()
        read = parts(
            """async ([data, key, stops]) => {
                const trace = openTrace(Uint8Array.from(atob(data), (c) => c.charCodeAt(0)));
                const warp = await readWarp(trace, key);
                return stops.map((at) => [
                    warp.steps[at].line, warp.steps[at].mask, warp.written(at),
                    trace.head.registers.map((r, k) => Array.from(warp.value(k, at), (_, lane) =>
                        laneText(warp.value(k, at), lane, "hex", r[1], r[2])))]) }""",
            [base64.b64encode(recording.data).decode(), f"{key[0]}:{key[1]}", stops],
        )
        for at, (line, mask, written, values) in zip(stops, read, strict=True):
            moment = walker.seek(at + 1)
            assert moment is not None
            assert line == moment.line
            assert (lanes_of(mask) == moment.mask).all()
            assert {recording.names[r] for r in written} == set(moment.writes)
            for name, shown in zip(recording.names, values, strict=True):
                wanted = walker.registers[name]
                bits = wanted.view(f"u{wanted.itemsize}").tolist()
                assert [int(text, 16) for text in shown] == bits, (key, at, name)


def test_numbers_as_declared_and_otherwise(parts: Any) -> None:
    cases = [
        (0xFFFFFFFF, "Uint32Array", "typed", "s32", "i32", "-1"),
        (0xFFFFFFFF, "Uint32Array", "typed", "u32", "i32", "4294967295"),
        (0x3FC00000, "Uint32Array", "typed", "f32", "f32", "1.5"),
        (0x3FC00000, "Uint32Array", "float", "b32", "i32", "1.5"),
        (0xFF800000, "Uint32Array", "typed", "f32", "f32", "−∞"),
        (0x7FC00000, "Uint32Array", "typed", "f32", "f32", "NaN"),
        (0x3FC00000, "Uint32Array", "hex", "f32", "f32", "0x3fc00000"),
        (0x8000, "Uint16Array", "int", "b16", "i16", "-32768"),
        (0x3E00, "Uint16Array", "float", "b16", "i16", "1.5"),
        (0x3E00, "Uint16Array", "typed", "f16", "i16", "1.5"),
        (0x0001, "Uint16Array", "typed", "f16", "i16", "5.9605e-8"),
        (1, "Uint8Array", "typed", "pred", "i1", "true"),
        (0, "Uint8Array", "int", "pred", "i1", "false"),
    ]
    shown = parts(
        "(cases) => cases.map(([bits, array, view, type, lane]) => laneText("
        "new {Uint8Array, Uint16Array, Uint32Array}[array](32).fill(bits), 3, view, type, lane))",
        [case[:5] for case in cases],
    )
    assert shown == [case[5] for case in cases]


def test_bank_conflicts_and_sectors_are_counted_as_the_counters_do(parts: Any) -> None:
    rng = np.random.default_rng(6)
    cases = []
    for _ in range(300):
        size = int(rng.choice([1, 2, 4, 8, 16]))
        spread = int(rng.choice([4, 40, 400]))
        mask = int(rng.choice([0xFFFFFFFF, rng.integers(1, 2**32)]))
        cases.append((size, bool(rng.integers(2)), mask, (rng.integers(0, spread, 32) * size).tolist()))
    shown = parts(
        """(cases) => cases.map(([size, loads, mask, places]) => {
            const access = {size, mask, addresses: BigUint64Array.from(places, BigInt)};
            const {wavefronts, ideal} = banksOf(access, loads), global = sectorsOf(access);
            return [wavefronts, ideal, global.sectors.size, global.ideal] })""",
        cases,
    )
    for (size, loads, mask, places), found in zip(cases, shown, strict=True):
        address, lanes = np.array(places, np.uint64), lanes_of(mask)
        wanted = [*wavefronts(address, lanes, size, pairs=loads), *sectors(address, lanes, size)]
        assert found == wanted, (size, loads, hex(mask), places)


# -- between lanes -----------------------------------------------------------------------------------------------------

EXCHANGE = 'section[aria-label="Between lanes"]'


def run_to(page: Any, opcode: str) -> str:
    """Goes to the next step of an opcode; gives the status line."""
    page.wait_for_selector("section[aria-label=PTX] .pl-lines[aria-busy=false]")  # until then only those in sight
    lines = page.eval_on_selector_all("section[aria-label=PTX] .pl-line code", "all => all.map(e => e.textContent)")
    line = 1 + next(k for k, text in enumerate(lines) if opcode in text)
    row = page.locator(f'section[aria-label=PTX] [data-line="{line}"]')
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


def test_shuffles_come_from_the_lanes_that_the_machine_reads(parts: Any) -> None:
    rng = np.random.default_rng(8)
    cases = [
        (str(rng.choice(["up", "down", "bfly", "idx"])), rng.integers(0, 64, 32).tolist(),
         int(rng.choice([31, 0, 15, 0x181F, 0x1C1F, 0x1800, 0x1003])))
        for _ in range(200)
    ]  # fmt: skip
    shown = parts(
        "(cases) => cases.map(([mode, by, clamp]) => shuffleSources(mode, by, new Array(32).fill(clamp)))", cases
    )
    for (mode, by, clamp), found in zip(cases, shown, strict=True):
        for lane in range(32):
            source, legal, _ = shuffle_source(mode, lane, by[lane], clamp)
            assert found[lane] == {"source": source & 31 if legal else lane, "legal": legal}, (mode, lane, clamp)


def test_a_shuffle_is_drawn_as_arrows(viewer: Any) -> None:
    page = viewer(pl.debug(SHUFFLES, 1, 32, np.zeros(1)))
    run_to(page, "shfl.sync.down")
    assert page.locator(f"{EXCHANGE} .pl-arrow").count() == 32
    assert page.locator(f"{EXCHANGE} .pl-outside").count() == 4
    assert page.inner_text(f"{EXCHANGE} .pl-readout") == (
        "Each lane gets %t of the lane 4 above its own. Lane 0 gets lane 4's. "
        "4 lanes reach beyond the last legal lane and keep their own (dashed)."
    )
    heads, rows = rows_of(page, EXCHANGE)
    assert heads == ["lane", "gets from lane", "in range", "gave", "has got"]
    assert rows[27] == ["27", "31", "yes", "27", "31"]
    assert rows[28] == ["28", "28", "no", "28", "28"]
    assert accessibility.violations(page, ".ptxlab-debugger") == []
    run_to(page, "shfl.sync.idx")
    assert page.inner_text(f"{EXCHANGE} .pl-readout").startswith("Each lane gets %t of a lane of its own choice.")
    assert [row[1] for row in rows_of(page, EXCHANGE)[1]] == [str((lane & 24) + lane % 2) for lane in range(32)]


def test_a_guard_shows_who_takes_part(viewer: Any) -> None:
    page = viewer(pl.debug(SHUFFLES, 1, 32, np.zeros(1)))
    run_to(page, "mul.lo")
    assert page.inner_text("section[aria-label=Registers] .pl-note") == (
        "32 of 32 lanes active, 0xffffffff; the guard holds in 16"
    )
    lanes = page.eval_on_selector_all(".pl-registers tbody th", "all => all.map(e => e.ariaLabel)")
    assert lanes[:2] == ["lane 0, here, but its guard is false", "lane 1, active"]


def test_fragments_hold_the_product(viewer: Any) -> None:
    """What the page says that lanes hold of A, B, C and D is a matrix product."""
    page = viewer(pl.debug("mma", seq_len=32, head_dim=16))
    assert ": mma.sync.aligned.m16n8k16" in run_to(page, "mma.sync")
    heads, rows = rows_of(page, EXCHANGE)
    matrices: dict[str, dict[tuple[int, int], float]] = {name: {} for name in "DABC"}
    for row in rows:
        for head, cell in zip(heads[1:], row[1:], strict=True):
            for item in cell.split(", "):
                place, value = item.split(" = ")
                i, j = place[1:-1].split("][")
                matrices[head[0]][int(i), int(j)] = float(value)
    d, a, b, c = (np.array([[m[i, j] for j in range(n)] for i in range(16)]) for m, n in
                  zip((matrices[x] for x in "DABC"), (8, 16, 8, 8), strict=True))  # fmt: skip
    np.testing.assert_allclose(d, a @ b + c, rtol=1e-3, atol=2e-4)
    layout = fragments.operand_a(16, 16, "f16")
    cells = page.eval_on_selector_all(
        f"{EXCHANGE} figure:nth-of-type(2) .pl-cell text", "all => all.map(e => Number(e.textContent))"
    )
    assert sorted(cells) == sorted(int(layout.first[i, j]) % 32 for i in range(16) for j in range(16))
    assert accessibility.violations(page, ".ptxlab-debugger") == []
    page.select_option(f"{EXCHANGE} select", "5")
    assert page.locator(f"{EXCHANGE} figure:nth-of-type(2) .pl-mine").count() == 8
    assert page.inner_text(f"{EXCHANGE} .pl-readout").startswith("Lane 5 holds D[1][2] = ")


def test_the_matrices_of_a_load(viewer: Any) -> None:
    page = viewer(pl.debug("mma", seq_len=32, head_dim=16))
    assert ": ldmatrix" in run_to(page, "ldmatrix.")
    assert page.inner_text(f"{EXCHANGE} figcaption") == "D 4 matrices of 8×8 of f16, 4 registers a lane"
    assert page.locator(f"{EXCHANGE} .pl-cell").count() == 256
    page.click(f"{EXCHANGE} button:has-text('register')")
    texts = page.eval_on_selector_all(f"{EXCHANGE} .pl-cell text", "all => all.map(e => e.textContent)")
    assert {name: texts.count(name) for name in set(texts)} == {f"r{k}": 64 for k in range(4)}
    page = viewer(pl.debug("wmma", seq_len=16, head_dim=16))
    run_to(page, "wmma.mma")
    assert "as those of mma.sync do" in page.inner_text(f"{EXCHANGE} .pl-picture")


# -- blocks, and memory behind generic addresses -----------------------------------------------------------------------

GENERIC = """extern "C" __global__ void twice(float *x, int which) {
    __shared__ float tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    float *p = (threadIdx.x < 8) == which ? tile : x;
    x[threadIdx.x] = p[threadIdx.x * 2];
}"""


def test_generic_addresses_are_shown_by_the_memory_that_they_reach(viewer: Any) -> None:
    page = viewer(pl.debug(pl.cuda(GENERIC), 1, 32, np.zeros(64, np.float32), 1))
    assert ": ld.f32" in run_to(page, "ld.f32")
    says = page.inner_text(".pl-access")
    assert "load, shared memory: 8 lanes × 4 bytes, no bank conflict, 1 wavefront (at best 1)" in says
    assert "load, global memory: 24 lanes × 4 bytes in 6 sectors of 32 bytes (at best 3)" in says


def test_any_block_and_warp(viewer: Any) -> None:
    text = SHUFFLES.replace("%tid.x", "%ctaid.y")
    page = viewer(pl.debug(text, (2, 3), 96, np.zeros(1), blocks=None))
    options = "all => all.map(e => e.textContent)"
    assert page.eval_on_selector_all("select[aria-label=block] option", options)[4:] == [
        "block 4 (0, 2, 0)", "block 5 (1, 2, 0)"
    ]  # fmt: skip
    page.select_option("select[aria-label=warp]", "2")
    page.wait_for_selector('.ptxlab-debugger[data-ready="0:2"]')
    page.select_option("select[aria-label=block]", "4")
    page.wait_for_selector('.ptxlab-debugger[data-ready="4:2"]')
    assert page.eval_on_selector_all(".pl-registers tbody tr:first-child td", options)[-1] == "2"
    assert page.input_value("select[aria-label=warp]") == "2"


# -- without a kernel --------------------------------------------------------------------------------------------------


def exported(widget: Any) -> str:
    """A notebook with the outputs of a widget as nbconvert makes a page of it."""
    nbformat = pytest.importorskip("nbformat", reason="needs nbformat: pip install nbformat")
    exporters = pytest.importorskip("nbconvert", reason="needs nbconvert: pip install nbconvert")
    data = dict(widget._repr_mimebundle_()[0])
    copy = {"text/html": data.pop("text/html"), "text/plain": ""}
    v4 = nbformat.v4
    outputs = [v4.new_output("display_data", data=d) for d in (data, copy)]
    notebook = v4.new_notebook(cells=[v4.new_code_cell("pl.debug(run)", outputs=outputs)])
    return str(exporters.HTMLExporter().from_notebook_node(notebook)[0])


def test_an_export_and_a_saved_page_hold_the_viewer(chromium: Any, tmp_path: Any) -> None:
    debugger = pl.debug("tiled", seq_len=40, head_dim=16)
    (tmp_path / "export.html").write_text(exported(debugger))
    debugger.save(tmp_path / "page.html")
    walker = debugger.recording.walk(0, 0)
    for name, steps in (("page", 4059), ("export", 0)):
        page = chromium.new_page(viewport={"width": 1200, "height": 1000}, offline=True)
        errors: list[str] = []
        page.on("pageerror", lambda error, errors=errors: errors.append(str(error)))
        page.goto((tmp_path / f"{name}.html").as_uri(), wait_until="domcontentloaded")
        page.wait_for_selector('.ptxlab-debugger[data-ready="0:0"]')
        page.focus(".pl-slider")
        for _ in range(30):
            page.keyboard.press("ArrowRight")
        shown = page.inner_text(".pl-status")
        assert shown.startswith("step 31 of ")
        assert shown.endswith(walker.moment(30).opcode)
        note = page.inner_text(".pl-entry")
        assert ("a saved copy with " in note) == (name == "export")
        assert not steps or f"of {steps}," in shown
        assert not [error for error in errors if "ptxlab" in error]
        page.close()
