"""The explorer without a browser: what each stage computes, stale requests dropped, errors shown and recovered from."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import traitlets

import ptxlab as pl
from ptxlab.lab import explorer_views, run_pane
from ptxlab.lab.controls import request
from ptxlab.lab.session import Session
from ptxlab.lab.softmax_steps import steps
from ptxlab.lab.subject import Judgement, Ran, Request

SMALL = {"subject": "scalar", "head_dim": 16}
CAUSAL = {"subject": "scalar", "head_dim": 16, "causal": True}


class Page:
    """Stands where the browser stands: keeps what is published."""

    def __init__(self) -> None:
        self.log: list[tuple[str, Any]] = []
        self.now: dict[str, Any] = {}
        self.messages: list[list[str]] = []

    def __call__(self, parts: dict[str, Any]) -> None:
        self.messages.append(list(parts))
        self.log.extend(parts.items())
        self.now.update(parts)

    def parts(self, seq: int) -> list[str]:
        """The parts published for one request, in order, without the status lines."""
        return [part for part, value in self.log if value is not None and value["seq"] == seq and part != "status"]


def answered(session: Session, *subject: Any, **given: Any) -> int:
    """Asks, and waits for the whole answer; the number of the request."""
    seq = session.ask(request(*subject, **given))
    assert session.wait()
    return seq


@pytest.fixture
def page() -> Page:
    return Page()


@pytest.fixture
def session(page: Page) -> Iterator[Session]:
    session = Session(page)
    yield session
    assert session.wait(60)


def test_an_answer_comes_in_the_order_in_which_it_is_read(session: Session, page: Page) -> None:
    seq = answered(session, **SMALL, seq_q=20, seq_k=33, device="step")
    order = page.parts(seq)
    assert list(dict.fromkeys(order)) == ["code", "base", "diff", "measures", "assembly", "run", "state"]
    code, run, state = page.now["code"], page.now["run"], page.now["state"]
    assert code["name"] == "scalar_f32_d16"
    assert len(code["ptx"]) == len(pl.kernels.get("scalar").build(head_dim=16).ptx.splitlines())
    assert code["python"]["files"] == [(1, "kernels/scalar.py")]
    assert len(code["links"]) > 0.8 * code["instructions"]
    assert run["error"]["ok"]
    assert run["thread_instructions"] == sum(n for _, n in run["heat"])
    assert (run["map"]["rows"], run["map"]["cols"], run["map"]["row"]) == (20, 16, 19)
    assert len(run["map"]["values"]) == 20 * 16 * 4
    assert state["tiles"] == 33
    for name in ("m", "l", "rescale"):
        np.testing.assert_allclose(state["kernel"][name], state["numpy"][name], rtol=1e-5, atol=1e-6)
    scores = [score for _, score in state["scores"]]
    np.testing.assert_allclose(np.maximum.accumulate(scores), state["numpy"]["m"], rtol=1e-12)
    ptx = pl.kernels.get("scalar").build(head_dim=16).ptx.splitlines()
    assert [ptx[line - 1].split(".")[0].strip() for line in state["makers"]["o"]] == ["mul"] * 16
    assert page.now["status"]["busy"] is False


def test_the_output_row_of_a_walk_ends_at_the_result_and_pales_when_the_maximum_grows() -> None:
    rng = np.random.default_rng(5)
    q, k, v = rng.standard_normal(8), rng.standard_normal((50, 8)), rng.standard_normal((50, 8))
    k[40] = 5 * q  # a score far above all before it
    walk = steps(0.5 * (k @ q), v, 16)
    rows = np.array(walk["output"]["values"]) * walk["output"]["scale"] / 127
    weights = np.exp(0.5 * (k @ q) - 0.5 * (k @ q).max())
    np.testing.assert_allclose(rows[-1], weights @ v, atol=walk["output"]["scale"] / 127)
    assert walk["output"]["tiles"] == [0, 1, 2, 3]
    assert np.abs(rows[1] - rows[0]).max() > 0.1
    long = steps(np.tile(0.5 * (k @ q), 400), np.tile(v, (400, 1)), 1)
    assert len(long["scores"]) <= 4096
    assert len(long["output"]["values"]) == 128
    assert long["output"]["tiles"][-1] == 20_000 - 1
    nothing = steps(q[:0], v[:0], 16)
    assert (nothing["scores"], nothing["output"]["values"]) == ([], [])


def test_all_that_is_sent_is_json_but_for_the_bytes(session: Session, page: Page) -> None:
    answered(session, **SMALL, seq_q=4, seq_k=4, device="step")
    for part, value in page.now.items():
        if part == "run":
            value = {**value, "map": {**value["map"], "values": "", "absolute": ""}}
        json.dumps(value, allow_nan=False)


def test_stale_requests_are_dropped(monkeypatch: pytest.MonkeyPatch, session: Session, page: Page) -> None:
    """While the first request is held up in its run, three more arrive: only the last is answered, the first stops."""
    running, go_on = threading.Event(), threading.Event()
    run = explorer_views.run

    def slow_run(version: Any, asked: Request) -> Any:
        running.set()
        assert go_on.wait(30)
        return run(version, asked)

    monkeypatch.setattr(explorer_views, "run", slow_run)
    first = session.ask(request(**SMALL, seq_q=3, seq_k=3, device="step"))
    assert running.wait(30)
    deadline = time.monotonic() + 30
    while "assembly" not in page.parts(first) and time.monotonic() < deadline:
        time.sleep(0.01)
    skipped = [session.ask(request(**SMALL, seq_q=n, seq_k=3, device="step")) for n in (4, 5)]
    last = session.ask(request(**CAUSAL, seq_q=6, seq_k=3, device="step"))
    go_on.set()
    assert session.wait()
    assert "run" not in page.parts(first)
    assert [page.parts(seq) for seq in skipped] == [[], []]
    assert list(dict.fromkeys(page.parts(last))) == ["code", "base", "diff", "measures", "assembly", "run", "state"]
    assert page.now["status"]["seq"] == last


def test_errors_are_shown_and_the_next_request_recovers(session: Session, page: Page) -> None:
    answered(session, **SMALL, heads=3, kv_heads=2)
    assert page.now["problem"] == {
        "title": "These parameters do not fit together",
        "message": "heads = 3 should be a multiple of kv_heads = 2",
        "line": 0,
        "python_line": None,
        "block": None,
        "thread": None,
        "seq": 1,
    }
    assert page.now["status"]["failed"] is True
    answered(session, "tiled", head_dim=128, dtype="f64", tile_kv=128)
    assert page.now["problem"]["title"] == "This does not fit"
    assert "bytes of static shared memory" in page.now["problem"]["message"]
    answered(session, **SMALL, seq_q=2, seq_k=2, device="step")
    assert page.now["problem"] is None
    assert page.now["run"]["error"]["ok"]


def test_a_fault_is_shown_at_its_ptx_and_python_line(
    monkeypatch: pytest.MonkeyPatch, session: Session, page: Page
) -> None:
    def faulty(version: Any, asked: Request) -> Any:
        line = sorted(version.built.module.spans)[5]
        raise pl.DeviceFault("memcheck", "a load outside every allocation", kernel="k", line=line, source="ld ...")

    monkeypatch.setattr(explorer_views, "run", faulty)
    answered(session, **SMALL, seq_q=2, seq_k=2)
    line, python_line = page.now["code"]["links"][5]
    assert page.now["problem"]["title"] == "The kernel was stopped"
    assert (page.now["problem"]["line"], page.now["problem"]["python_line"]) == (line, python_line)


def test_an_assembler_error_stops_before_the_run(monkeypatch: pytest.MonkeyPatch, session: Session, page: Page) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise pl.AssemblyError("Rounding modifier required", line=12, source="fma.f32")

    monkeypatch.setattr("ptxlab.gpu.assemble", refuse)
    answered(session, **SMALL, seq_q=2, seq_k=2)
    assert page.now["assembly"] == {"state": "error", "note": "Rounding modifier required", "seq": 1}
    assert page.now["problem"]["title"] == "NVIDIA's assembler refused the PTX"
    assert "run" not in page.now


def test_without_the_wheels_one_line_says_so_and_the_kernel_runs(
    monkeypatch: pytest.MonkeyPatch, session: Session, page: Page
) -> None:
    def missing(*_: Any, **__: Any) -> Any:
        raise pl.UnavailableError("NVIDIA's assembler is not installed: pip install ...")

    monkeypatch.setattr("ptxlab.gpu.assemble", missing)
    answered(session, **SMALL, seq_q=2, seq_k=2, device="step")
    assert page.now["assembly"]["note"] == "NVIDIA's assembler is not installed: pip install ..."
    assert page.now["run"]["error"]["ok"]


def test_pin_changes_what_is_compared(session: Session, page: Page) -> None:
    answered(session, **SMALL, seq_q=2, seq_k=2, device="step")
    answered(session, **CAUSAL, seq_q=2, seq_k=2, device="step")
    assert page.now["diff"]["against"] == "scalar_f32_d16 · sm_80"
    assert page.now["diff"]["title"] == "causal off → on"
    assert any(row[0] == "+" for row in page.now["diff"]["rows"])
    session.pin()
    assert session.wait()
    assert page.now["diff"]["summary"] == "no instruction changed"
    answered(session, **CAUSAL, seq_q=3, seq_k=2, device="step")
    answered(session, **SMALL, seq_q=3, seq_k=2, device="step")
    assert page.now["diff"]["against"] == "scalar_f32_d16_causal · sm_80"
    assert page.now["measures"]["title"] == "causal on → off, Sq 2 → 3"


@pytest.mark.parametrize(
    ("seq_k", "causal", "row", "why"), [(0, False, 0, "there are no keys"), (2, True, 1, "row 1 sees no key")]
)
def test_rows_that_see_no_key_say_so(
    session: Session, page: Page, seq_k: int, causal: bool, row: int, why: str
) -> None:
    answered(session, **(CAUSAL if causal else SMALL), seq_q=5, seq_k=seq_k, row=row, device="step")
    assert page.now["state"]["note"] == f"Nothing to sum: {why}, so O = 0 and LSE = −∞."
    assert page.now["run"]["error"]["ok"]


def test_the_error_map_keeps_the_worst_of_each_cell_and_nan() -> None:
    error = np.zeros((1, 2, 1100, 4))
    error[0, 1, 1000, 2] = np.nan
    error[0, 1, 5, 1] = 0.25
    ran = Ran(None, judged=Judgement(None, error, 4 * error), kept=(error,))
    shown = run_pane.error_map(ran, request("scalar", head=(0, 1)))
    assert shown is not None
    assert (shown["rows"], shown["cols"], shown["step"], shown["label"]) == (220, 4, (5, 1), "head 1")
    values = np.frombuffer(shown["values"], np.float32).reshape(220, 4)
    assert values[1, 1] == 1.0
    assert np.isnan(values[200, 2])
    assert shown["worst"][0] == (1000, 2, "NaN", "NaN")
    assert shown["worst"][1] == (5, 1, 0.25, 1.0)


@pytest.mark.long
def test_the_widget_follows_its_controls() -> None:
    explorer = pl.explore("scalar", seq_len=5, head_dim=16, device="step", causal=True)
    assert explorer.wait()
    assert explorer.view.code["name"] == "scalar_f32_d16_causal"
    assert repr(explorer) == "explorer of scalar_f32_d16_causal"
    explorer.causal = False
    assert explorer.wait()
    assert explorer.view.code["name"] == "scalar_f32_d16"
    explorer.set(kernel="tiled", tile_kv=8, seq_k=20, heads=2)
    assert explorer.wait()
    assert explorer.view.code["name"].startswith("tiled_f32_d16")
    assert explorer.view.state["tiles"] == 3
    assert explorer.view.state["label"] == "head 0, row 4"
    assert "tile_kv" in explorer.controls
    explorer.set(kernel="mma", dtype="bf16")
    assert explorer.wait()
    assert explorer.view.code["name"] == "mma_bf16_d16"
    assert explorer.view.problem is None
    run = explorer.view.run
    assert run["seq"] == explorer.view.code["seq"]
    assert run["error"]["ok"]
    assert [way["label"] for way in run["ways"]] == ["emulator", "GPU", "numpy bfloat16"]
    assert 0 < run["ways"][0]["ulp"] < 2
    explorer.set(kernel="scalar")
    assert explorer.wait()
    assert "tile_kv" not in explorer.controls
    assert explorer.parameters["head_dim"] == 16


def test_a_number_out_of_its_range_is_two_lines_in_a_notebook() -> None:
    with pytest.raises(pl.TargetError) as caught:
        pl.explore("scalar", seq_len=-3)
    limit = pl.explore("scalar").controls["seq_q"]["max"]
    message = f"seq_len must be a whole number from 1 to {limit}, not -3\n  write:  seq_len=1"
    assert str(caught.value) == message
    assert caught.value._render_traceback_() == [f"TargetError: {message}"]


def test_each_control_is_a_trait_that_python_sets_and_follows() -> None:
    explorer, heard = pl.explore("scalar", seq_len=4, head_dim=16, device="step"), []
    explorer.observe(lambda change: heard.append((change["name"], change["old"], change["new"])), ["causal", "batch"])
    explorer.causal = True
    explorer._message(explorer.view, {"kind": "set", "seq": 9, "values": {"batch": 99}}, [])  # of somebody at the page
    assert heard == [("causal", False, True), ("batch", 1, 8)]
    assert explorer.notes == {"batch": "batch 99 → 8: batch must be a whole number from 1 to 8, not 99"}
    assert explorer.view.values["seq"] == explorer.session.seq == 9
    assert explorer.view.values["given"]["batch"] == explorer.batch == 8
    before = explorer.parameters
    for name, value, says in (
        ("causal", 1, "causal must be True or False, not 1\n  write:  causal=True"),
        ("dtype", "f8", "dtype must be one of f32, f64, not 'f8'\n  write:  dtype='f32'"),
        ("tile_kv", 8, "the explorer has no parameter 'tile_kv'; it has kernel, head_dim,"),
    ):
        with pytest.raises(traitlets.TraitError) as caught:
            setattr(explorer, name, value)
        assert str(caught.value).startswith(says)
    assert explorer.parameters == before
    assert len(heard) == 2
    assert explorer.wait()
    assert explorer.view.code["name"] == "scalar_f32_d16_causal"


@pytest.mark.parametrize("arguments", [("scaler",), ("scalar", 4, 128), (3,)])
def test_wrong_arguments_are_said_in_a_notebook_in_words_alone(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(pl.PtxlabError) as caught:
        pl.explore(*arguments)
    assert caught.value._render_traceback_() == [f"{type(caught.value).__name__}: {caught.value}"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"head_dim": 0}, "head_dim must be a whole number from 1 to 256, not 0"),
        ({"sigma": 50}, "sigma must be a number from 0.1 to 10, not 50"),
        ({"causal": "yes"}, "causal must be True or False, not 'yes'"),
        ({"batch": True}, "batch must be a whole number from 1 to 8, not True"),
        ({"row": "last"}, "row must be a whole number of at least 0, or -1 for the last, not 'last'"),
        ({"speed": 1}, "the explorer has no parameter 'speed'; it has "),
    ],
)
def test_wrong_parameters_name_their_limits(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(pl.TargetError) as caught:
        pl.explore("scalar", **parameters)
    assert str(caught.value).startswith(message)


@pytest.mark.long
def test_the_next_rung_stands_beside_the_one_before() -> None:
    explorer = pl.explore("mma", seq_len=64, head_dim=16, device="step")
    assert explorer.wait()
    told = explorer.view.code["lesson"]["next"]
    assert told == {"name": "swizzle", "title": "No bank conflicts"}
    explorer._message(explorer.view, {"kind": "next", "kernel": "nothing"}, [])
    explorer._message(explorer.view, {"kind": "next", "kernel": told["name"]}, [])
    assert explorer.wait()
    assert explorer.parameters["kernel"] == "swizzle"
    explorer._message(explorer.view, {"kind": "next", "kernel": told["name"]}, [])  # a double click
    assert explorer.wait()
    assert explorer.parameters["seq_k"] == 64, "a value that somebody chose is kept"
    beside = explorer.view.measures
    assert (beside["title"], beside["work"]) == ("mma → swizzle", 1.0)
    conflicts = next(m for m in beside["list"] if m["key"] == "conflicts")
    assert (conflicts["now"], conflicts["verdict"]) == ("0", "better")
    assert explorer.view.diff["title"] == "mma → swizzle"


def test_a_saved_notebook_keeps_the_numbers_and_pictures() -> None:
    explorer = pl.explore("scalar", seq_len=6, head_dim=16, device="step")
    data, _ = explorer._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    html = data["text/html"]
    assert "scalar_f32_d16 for sm_80" in html
    assert "✓ pass" in html
    assert html.count("<img ") == 2
    assert '<span class="o">fma<span class="m">.rn</span><span class="m">.f32</span></span>' in html
    assert "<script" not in html
    assert len(html) < 150_000
    shown = " ".join(re.sub("<[^>]*>", " ", html).split())
    assert "head_dim 16, causal off" in shown, "what the controls said"
    assert "run interpreter PTX" in shown, "the CPU's time says nothing of a GPU"


def test_the_widget_is_displayed_first_and_a_late_result_goes_into_the_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page sets the widget up while the first numbers are computed; a notebook that is saved early says that there
    are none yet, and has them later."""
    monkeypatch.setattr("ptxlab.lab.explorer.FIRST_RESULT", 0.0)
    shown: list[dict[str, str]] = []
    told = threading.Event()

    class Handle:
        def update(self, data: dict[str, str], raw: bool) -> None:
            shown.append(data)
            told.set()

    def display(data: dict[str, str], **options: Any) -> Handle | None:
        shown.append(data)
        return Handle() if "display_id" in options else None

    monkeypatch.setattr("IPython.display.display", display)
    gate = threading.Event()
    run = explorer_views.run
    monkeypatch.setattr(explorer_views, "run", lambda version, one: (gate.wait(60), run(version, one))[1])
    explorer = pl.explore("scalar", seq_len=6, head_dim=16, device="step")
    explorer._ipython_display_()
    assert "application/vnd.jupyter.widget-view+json" in shown[0]
    assert "✓ pass" not in shown[1]["text/html"]
    gate.set()
    assert told.wait(60)
    assert "✓ pass" in shown[2]["text/html"]


@pytest.mark.long
def test_figures_for_papers() -> None:
    q, k, v = pl.reference.random_inputs(1, 2, 1, 6, 9, 16)
    result = pl.attention(q, k, v, kernel="scalar", device="step", state=[(0, 1, 3)])
    figure = pl.plot_state(result)
    assert [axis.get_ylabel() for axis in figure.axes] == ["running\nmaximum m", "running\nsum l", "rescale"]
    lines = figure.axes[0].get_lines()
    assert [line.get_label() for line in lines] == ["the kernel's probes", "numpy float64"]
    np.testing.assert_allclose(lines[0].get_ydata(), lines[1].get_ydata(), rtol=1e-5, atol=1e-6)
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert "max " in pl.plot_error(result, head=(0, 1)).axes[0].get_title()
    plain = pl.attention(q, k, v, kernel="scalar", device="step")
    with pytest.raises(pl.LaunchError) as caught:
        pl.plot_state(plain)
    assert str(caught.value) == "this result has no state; write pl.attention(..., state=True)"


@pytest.mark.rest
def test_code_and_figures_stand_beside_the_same_setting(session: Session, page: Page) -> None:
    """The previous one, or the pinned one; another view of a result is no other setting."""
    small = {"head_dim": 16, "seq_q": 4, "device": "step"}

    def beside() -> list[Any]:
        measures = page.now["measures"]
        return [measures["title"], measures["work"], page.now["diff"]["title"]]

    def figure(key: str) -> dict[str, Any]:
        return next(m for m in page.now["measures"]["list"] if m["key"] == key)

    answered(session, "tiled", **small, seq_k=16)
    assert (beside(), page.now["measures"]["counted"], page.now["state"]["before"]) == (["", 1.0, ""], None, None)
    first, kernel = figure("executed")["now"], page.now["state"]["kernel"]
    answered(session, "tiled", **small, seq_k=32)
    shown = beside(), figure("executed")["before"], page.now["state"]["before"]
    assert shown == (["Sk 16 → 32", 2.0, ""], first, kernel)
    assert page.now["measures"]["counted"]["opcodes"]["fma.rn.f32"] > 0
    answered(session, "tiled", **small, seq_k=32, row=1)
    assert (beside(), page.now["state"]["before"]) == (["Sk 16 → 32", 2.0, ""], None)  # of the other setting's row 1
    session.pin()
    assert session.wait()
    shown = beside(), figure("executed")["before"], page.now["state"]["before"]
    assert shown == (["", 1.0, ""], None, None)  # it is the setting that is shown
    answered(session, "tiled", **small, seq_k=64)
    answered(session, "scalar", **small, seq_k=64)
    title, work, diff = beside()
    assert (title.startswith("tiled → scalar"), title.endswith("Sk 32 → 64"), work) == (True, True, 2.0)
    assert (diff, page.now["diff"]["against"]) == ("tiled → scalar", "tiled_f32_d16 · sm_80")
    session.compare("previous")
    assert session.wait()
    assert (beside()[0].startswith("tiled → scalar"), beside()[1]) == (True, 1.0)


def test_counts_are_judged_by_the_pairs_that_the_mask_lets_through(session: Session, page: Page) -> None:
    for keys in (64, 256):
        answered(session, "scalar", head_dim=16, causal=True, seq_q=256, seq_k=keys, device="cpu")
    executed = next(m for m in page.now["measures"]["list"] if m["key"] == "executed")
    assert round(page.now["measures"]["work"], 3) == 15.815
    assert (executed["verdict"], executed["note"]) == ("better", "×0.879 per work")


@pytest.mark.long
def test_the_diff_is_named_after_what_changed(session: Session, page: Page) -> None:
    small = {"head_dim": 16, "seq_q": 2, "seq_k": 2, "device": "step"}
    answered(session, "tiled", **small)
    answered(session, "tiled", **small, tile_kv=16)
    shown = page.now["diff"]
    assert shown["title"] == "KV tile auto (32) → 16"
    assert shown["declarations"] == sum(row[0][0] == "." for row in shown["rows"]) > 0
    assert shown["python"]["summary"] == "no line changed"
    answered(session, "scalar", **small)
    assert page.now["diff"]["title"] == "tiled → scalar"
    assert page.now["diff"]["python"]["summary"] != "no line changed"
