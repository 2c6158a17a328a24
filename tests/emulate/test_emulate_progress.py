"""The line under a launch that takes long: in a notebook, from the engine's own counts, and gone at the end."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from emulate_programs import ENGINES, kernel, run

from ptxlab.emulate.jit.running import run as jit
from ptxlab.emulate.runtime import progress
from ptxlab.errors import DeviceFault, LaunchKeyboardInterrupt

LOOP = "mov.u32 %r20, 30000;\nAGAIN:\n    sub.u32 %r20, %r20, 1;\n    setp.ne.u32 %p4, %r20, 0;\n    @%p4 bra AGAIN;"


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a notebook's cell shows, state after state."""
    display = pytest.importorskip("IPython.display")
    states: list[str] = []

    def show(self: Any, data: dict[str, str], raw: bool = False) -> None:
        assert raw
        states.append(data["text/plain"])

    monkeypatch.setattr(display.DisplayHandle, "display", show)
    monkeypatch.setattr(display.DisplayHandle, "update", show)
    monkeypatch.setattr(progress, "in_notebook", lambda: True)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "PERIOD", 0.0)
    return states


def test_a_long_launch_shows_how_far_it_is(engine: str, shown: list[str]) -> None:
    way = "quick" if engine == "jit" else engine  # optimized code of this loop is over before the first look at it
    while len(shown) < 3:
        shown.clear()
        run(way, kernel(LOOP.replace("30000", "3000000" if engine == "jit" else "300")), blocks=40, budget=None)
    assert shown[-1] == ""
    for line in shown[:-1]:
        start, _, rest = line.partition(" s, ")
        assert start.startswith("kernel k: running for ")
        blocks, instructions = rest.split(", ", 1)
        assert 0 <= int(blocks.split()[0]) <= 40
        assert blocks.endswith(" of 40 blocks done")
        assert instructions.endswith(" warp-instructions; stop it with the notebook's ■ (Kernel > Interrupt)")
    counts = [int(line.partition(" s, ")[2].split()[0]) for line in shown[:-1]]
    assert counts == sorted(counts)


def test_the_line_goes_when_the_launch_is_stopped(engine: str, shown: list[str]) -> None:
    body = LOOP.replace("30000", "9000000" if engine == "jit" else "3000") + "\n    trap;"
    with pytest.raises(DeviceFault):
        run(engine, kernel(body), budget=None)
    assert shown == [] or shown[-1] == ""


def test_there_is_none_outside_of_a_notebook(monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    assert not progress.in_notebook()
    run(ENGINES[-1], kernel(LOOP), blocks=4, budget=None)
    assert capfd.readouterr() == ("", "")


@pytest.mark.rest
def test_in_a_real_notebook(tmp_path: Any) -> None:
    pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    from nbclient import NotebookClient

    long = kernel(LOOP.replace("30000", "0"))
    source = (
        "import numpy as np, ptxlab as pl\n"
        "from ptxlab.emulate.runtime import progress\n"
        "progress.PATIENCE, progress.PERIOD = 0.3, 0.1\n"
        f"text = '''{long}'''\n"
        "out = np.zeros(32, np.uint32)\n"
        "try:\n"
        "    pl.launch(text, 4, 32, out, out, device='step', budget=1_000_000)\n"
        "except pl.DeviceFault as fault:\n"
        "    print(fault.kind)"
    )
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    seen: list[str] = []

    class Client(NotebookClient):  # type: ignore[misc]
        def process_message(self, message: Any, *rest: Any) -> Any:
            data = message["content"].get("data", {})
            if message["msg_type"] in ("display_data", "update_display_data"):
                seen.append(data["text/plain"])
            return super().process_message(message, *rest)

    Client(book, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert any(line.startswith("kernel k: running for ") for line in seen)
    assert seen[-1] == ""
    outputs = [o for o in book.cells[0].outputs if o.get("name") == "stdout"]
    assert [o["text"] for o in outputs] == ["budget\n"]


def test_who_watches_hears_how_far_a_launch_is_and_can_stop_it(engine: str) -> None:
    heard: list[tuple[int, int, int]] = []

    def watch(done: int, blocks: int, instructions: int) -> None:
        heard.append((done, blocks, instructions))
        if len(heard) == 2:
            raise KeyboardInterrupt

    endless = kernel(LOOP.replace("@%p4 bra", "bra"))
    with pytest.raises(LaunchKeyboardInterrupt), progress.watched(watch):
        run(engine, endless, blocks=3, budget=None)
    assert len(heard) == 2
    assert {blocks for _, blocks, _ in heard} == {3}
    assert heard[1][2] >= heard[0][2]
    run(engine, kernel(""), blocks=3, budget=None)  # nobody watches any more
    assert len(heard) == 2


def test_who_watches_can_be_asked_at_once(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither engine looks at its watch by itself here: only `hurry` has it asked."""
    monkeypatch.setattr(progress, "LOOK", 1e9)
    monkeypatch.setattr(jit, "TICK", 1e6)
    ends = threading.Event()

    def watch(_done: int, _blocks: int, _instructions: int) -> None:
        if ends.is_set():
            raise KeyboardInterrupt

    def end() -> None:
        ends.set()
        watching.hurry()

    with pytest.raises(LaunchKeyboardInterrupt), progress.watched(watch) as watching:
        threading.Timer(0.3, end).start()
        run(engine, kernel(LOOP.replace("@%p4 bra", "bra")), blocks=3, budget=None)
    assert watching.sleeping == []


@pytest.mark.long
def test_who_stops_a_launch_need_not_wait_for_all_of_its_blocks() -> None:
    blocks, heard = (1 << 31) - 1, []

    def watch(done: int, total: int, instructions: int) -> None:
        heard.append(done)
        if len(heard) == 2:
            raise KeyboardInterrupt

    with pytest.raises(LaunchKeyboardInterrupt), progress.watched(watch):
        run("jit", kernel(""), blocks=blocks, out=np.zeros(32, np.uint32), budget=None)
    assert heard[0] <= heard[1] < blocks
