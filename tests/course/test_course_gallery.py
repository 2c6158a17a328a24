"""The gallery: each buggy kernel fails for the guilty input only, its finder says what and where, the repair passes."""

from __future__ import annotations

import re
from typing import Any

import pytest

import ptxlab as pl
from ptxlab.course.gallery import Exhibit, UnknownExhibit
from ptxlab.course.gallery.cases import ptx_of
from ptxlab.course.gallery.hunt import NoGuess

SAYS: dict[int, tuple[str, str]] = {
    1: ("initcheck: a thread reads shared memory that has not been written, and ptxlab/course/gallery/tiles.py:",
        "ld.shared.f32 %f3, [%key_row];"),
    2: ("error by key: the weights of row 0 add up to 32, not to 1", ""),
    3: ("error by key: no row gives any weight to keys 16 to 19; float64 gives them up to 0.15 of a row's weight", ""),
    4: ("error by key: row 0 may not see key 1 and gives it the weight 0.0688; 240 weights should be 0 and are ", ""),
    5: ("state plot: thread 0, key 1: rescale is 1 instead of 0.5076 (m went from -2.137 to -1.458)\n"
        "ptxlab/course/gallery/rows.py:", "ex2.approx.f32 %rescale, %f5;"),
    6: ("state plot: m, l and rescale are right, but in thread 0, key 1, acc0 is -1.113 instead of -1.239 (m went "
        "from -2.137 to -1.458)\nptxlab/course/gallery/rows.py:", "fma.rn.f32 %acc0, %weight, %f7, %acc0;"),
    7: ("memcheck: store of 4 bytes at 0x0: the block's shared memory is 128 bytes at 0x400\n"
        "  at:     block (0, 0, 0), thread (0, 0, 0)\n", "st.shared.f32 [%r2], %own;"),
    8: ("error by column: columns 0 to 6 are wrong, 7 right; worst in row 23, column 3: 0.2816 instead of -0.5539", ""),
    9: ("error plot: rows 0 to 15 are wrong, worst in row 15, column 1: -3.244 instead of 1.431; all rows of the "
        "output are the same", ""),
    10: ("unwritten: o: 96 of 128 elements were not written, the first at [4, 0]", ""),
    11: ("racecheck: WAR hazard in shared memory (also RAW): a thread overwrites what another warp reads, and nothing "
         "makes the write come after the read; write k.barrier() between the rounds of the loop, at a place that all "
         "threads of the block reach\n"
         "  at:     block (0, 0, 0), thread (32, 0, 0) (warp 1, lane 0) stores", "st.shared.f32 [%r5], %f1;"),
    12: ("racecheck: WAR hazard in shared memory: a thread overwrites what another warp reads, and nothing makes the "
         "write come after the read; write k.barrier() between the two, at a place that all threads of the "
         "block reach\n"
         "  at:     block (0, 0, 0), thread (32, 0, 0) (warp 1, lane 0) stores", "st.shared.f32 [%word], %own;"),
    13: ("synccheck: only some lanes of a warp arrive at a barrier for all of them, while others are elsewhere; "
         "move it out of the branch, to a place that all threads reach\n"
         "  at:     block (1, 0, 0), thread (0, 0, 0) ", "bar.sync 0;"),
    14: ("memcheck: load of 4 bytes at 0x200: the block's shared memory is 512 bytes at 0x0; 0 bytes past the end of "
         "'partial' (512 bytes at 0x0); element 128 of 'partial', which has 128 (of 4 bytes)\n"
         "  at:     block (0, 0, 0), thread (32, 0, 0)\n",
         "ld.shared.f32 %f5, [%column+384];"),
    15: ("error plot: thread 0 computed a NaN from 0 and inf\nptxlab/course/gallery/rows.py:",
         "mul.rn.f32 %f11, %acc0, %share;"),
    16: ("synccheck: lane 0 asks for lane 5, but the clamp operand allows lanes up to 0 only, and it gets its own "
         "value (for a whole warp write 31)\n", "shfl.sync.idx.b32 %from_lane, %score, 5, 32, 0xFFFFFFFF;"),
    17: ("memcheck: load of 4 bytes at 0x20000000500: 0 bytes past the end of 'scores' (1280 bytes at 0x20000000000); "
         "element 320 of 'scores', which has 320\n"
         "  at:     block (1, 1, 0), thread (8, 0, 0)\n", "ld.global.f32 %values0, [%line];"),
    18: ("counter: PTX line 44: ld.shared.f32 %f3, [%row]; takes 32 wavefronts where 1 would do; 32 such lines, 992 "
         "bank conflicts", "ld.shared.f32 %f3, [%row];"),
    19: ("counter: PTX line 91: st.global.f32 [%o_row], %f10; runs 32 times per warp and moves 512 sectors, "
         "16 per key; 4 such lines", "st.global.f32 [%o_row], %f10;"),
    20: ("<attention>:5:17: Entry function 'attention' uses too much shared data (0x10000 bytes, 0xc000 max)",
         ".visible .entry attention("),
    21: ("<ptx>:10:5: Parsing error near '.maxntid': syntax error", ".maxntid 32, 1, 1"),
    22: ("ULP plot: row 23, column 3 is off by 111,606,", ""),
    23: ("unwritten: o: 128 of 128 elements were not written, the first at [0, 0]", ""),
    24: ("error by column: columns 128 to 255 are wrong, 0 to 127 right; worst in row 3, column 187: 0 instead of", ""),
    25: ("racecheck: RAW hazard in shared memory (also WAR): a thread reads what another warp writes, and nothing "
         "makes the read come after the write; write k.barrier() between the two, or in a loop between its rounds, "
         "at a place that all threads of the block reach\n"
         "  at:     block (0, 0, 0), thread (32, 0, 0) (warp 1, lane 0) loads", "ld.shared.f32 %f3, [%r4];"),
    26: ("racecheck: RAW hazard in global memory (also WAW): several blocks load, change and store one word, which "
         "only an atomic does at once; write red.global.add.f32 [%sum], %own; in place of the load and the store, or "
         "give each thread its own place; under a lock: fence.acq_rel.gpu; after it is taken and before it is "
         "released\n",
         "ld.global.f32 %so_far, [%sum];"),
    27: ("racecheck: a thread uses an mbarrier, and nothing makes this come after its mbarrier.init, so it may find "
         "none there yet; write k.barrier() between the two\n"
         "  at:     block (0, 0, 0), thread (32, 0, 0) (warp 1, lane 0) arrives at the mbarrier",
         "mbarrier.arrive.shared.b64 %state, [%arrived];"),
    28: ("synccheck: the warps of a block have arrived at two different barrier instructions: all threads of a block "
         "must execute the same ones, in a loop also as often", "bar.sync 0;"),
    29: ("racecheck: RAW hazard in shared memory: a thread reads what another lane of its warp writes, and nothing "
         "makes the read come after the write; write k.op(\"bar.warp.sync\", 0xffffffff) between the two\n",
         "ld.shared.f32 %f1, [%r1];"),
    30: ("memcheck: load of 4 bytes at 0x20000001b00: 0 bytes past the end of 'key' (1280 bytes at 0x20000001600); "
         "element 320 of 'key', which has 320\n"
         "  at:     block (1, 0, 0), thread (8, 0, 0)\n", "ld.global.f32 %f1, [%rd3];"),
    31: ("synccheck: the wait passes at once: it asks for phase 0, which this thread has waited for before, and so it "
         "does not wait for phase 1; the parity has to change after each wait\n"
         "  at:     block (0, 0, 0), thread (0, 0, 0) (warp 0, lane 0) waits for the mbarrier\n",
         "mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r9], 0;"),
    32: ("synccheck: a bulk copy reads what a thread has stored, and no fence makes it seen by the async proxy; write "
         "k.op(\"fence.proxy.async\") after the stores, before the barrier\n"
         "  at:     block (0, 0, 0), thread (0, 0, 0) (warp 0, lane 0) starts a bulk copy\n",
         "cp.async.bulk.global.shared::cta.bulk_group [%o], [%tile], 2048;"),
    33: ("deadlock: no thread of the block can go on\n    warp 0, lanes 0-31: waits for phase 1 (parity 1) of the "
         "mbarrier at 'full', which has not ended: 512 bytes missing, no thread can arrive; "
         "ptxlab/course/gallery/waits.py:52, PTX line 111 announced 1024 bytes; ptxlab/course/gallery/waits.py:53, "
         "PTX line 117 brought 512 bytes (",
         "mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r9], %r11;"),
    34: ("synccheck: a thread reads a register of a wgmma that is still in flight; write k.op("
         '"wgmma.wait_group.sync.aligned", 0) before it, and k.op("wgmma.commit_group.sync.aligned") after the '
         "product\n",
         "add.rn.f32 %total0, %total0, %scores0;"),
}  # fmt: skip
"""What the finder says for the first guilty input, from its beginning, and the PTX line that it names, if one."""

ALWAYS_SEEN = (5, 6)
"""The state of these is wrong for innocent inputs too; what the bug does to the output is too small to fail."""

NUMBERS = [pytest.param(n, marks=pytest.mark.assembler if n in (20, 21) else ()) for n in SAYS]


def line_of(kernel: Any, line: int) -> str:
    """The text of a PTX line, without comment and extra spaces."""
    return " ".join(ptx_of(kernel).splitlines()[line - 1].split("//")[0].split())


@pytest.mark.long
@pytest.mark.sweep(8)
@pytest.mark.parametrize("number", NUMBERS)
def test_exhibit(number: int) -> None:
    exhibit = pl.gallery(number)
    assert {case for _, case, _ in exhibit.trials} == {*exhibit.innocent, *exhibit.guilty}
    for name, case, trial in exhibit.trials:
        if name == "repaired":
            assert trial.ok, (case.says, trial)
            assert trial.found == ""
        elif case in exhibit.innocent:
            assert trial.ok, (case.says, trial)
            assert trial.found == "" or number in ALWAYS_SEEN
        else:
            assert not trial.ok, case.says
            assert trial.found

    first = next(trial for name, case, trial in exhibit.trials if name == "buggy" and case is exhibit.guilty[0])
    says, source = SAYS[number]
    assert first.found[: len(says)] == says
    assert bool(first.line) == bool(source)
    if source:
        assert line_of(exhibit.buggy(), first.line) == source


@pytest.mark.assembler
def test_every_mistake_of_the_text_is_at_its_line() -> None:
    exhibit = pl.gallery(21)
    found = [trial.found.splitlines()[0] for name, _, trial in exhibit.trials if name == "buggy"]
    assert found == [
        "<ptx>:10:5: Parsing error near '.maxntid': syntax error",
        "<ptx>:21:5: Rounding modifier required for instruction 'fma'",
        "<ptx>:23:5: Unexpected instruction types specified for 'ex2'",
        "<ptx>:24:5: '.ftz' modifier required for instruction 'rcp.approx.f64'",
    ]


def test_the_gallery_lists_all_exhibits() -> None:
    gallery = pl.gallery()
    assert [exhibit.number for exhibit in gallery] == list(range(1, 35))
    lines = repr(gallery).splitlines()
    assert len(lines) == 34
    assert lines[6].startswith(" 7  Shared memory from absolute 0 ")
    assert lines[6].endswith("  memcheck")
    page = gallery._repr_mimebundle_()["text/html"]
    assert page.count("<tr>") == 35
    assert '<tr><td>7</td><td style="text-align:left">Shared memory from absolute 0</td>' in page


def test_an_exhibit_shows_itself() -> None:
    shown = repr(pl.gallery(16)).splitlines()
    assert shown[0] == "16. shfl.sync with clamp 32"
    assert "found by: synccheck" in shown
    assert "buggy, from lane 0: passes: the largest error is 0 (up to 1e-05 passes)" in shown
    assert "buggy, from lane 5: fails: the largest error is 26 (up to 1e-05 passes)" in shown
    assert "repaired, from lane 5: passes: the largest error is 0 (up to 1e-05 passes)" in shown
    assert "-     shfl.sync.idx.b32 %from_lane, %score, 5, 32, 0xFFFFFFFF;" in shown
    assert "+     shfl.sync.idx.b32 %from_lane, %score, 5, 31, 0xFFFFFFFF;" in shown
    page = pl.gallery(16)._repr_mimebundle_()["text/html"]
    assert "<h4>16. shfl.sync with clamp 32</h4>" in page
    assert page.count("✓ passes") == 3
    assert page.count("✗ fails") == 1
    assert "lane 0 asks for lane 5" in page


def test_what_was_found_in_the_wild_says_where() -> None:
    wild = pl.gallery()[24:30]
    assert all(exhibit.place for exhibit in wild)
    assert not any(exhibit.place for exhibit in pl.gallery()[:24])
    shown = repr(wild[3])
    assert (
        "found in: ggml-org/llama.cpp, ggml/src/ggml-cuda/fattn-mma-f16.cuh, flash_attn_ext_f16_process_tile:" in shown
    )
    page = wild[3]._repr_mimebundle_()["text/html"]
    address = "https://github.com/ggml-org/llama.cpp/issues/27678"
    assert f'<a href="{address}">{address}</a>. The backend&#x27;s tests passed.' in page


def test_a_hunt_does_not_tell() -> None:
    hunt = pl.gallery(16).hunt()
    lines = repr(hunt).splitlines()
    assert lines[:5] == [
        "exhibit 16: one thing is wrong in this kernel",
        "from lane 0: passes: the largest error is 0 (up to 1e-05 passes)",
        "from lane 5: fails: the largest error is 26 (up to 1e-05 passes)",
        "3 guesses left: .guess(line=...), or .explain()",
        "",
    ]
    assert [line[15:] for line in lines[6:]] == pl.gallery(16).buggy().ptx.splitlines()
    page = hunt._repr_mimebundle_()["text/html"]
    assert "<li>from lane 5: fails: the largest error is 26 (up to 1e-05 passes)</li>" in page
    assert '<span class="o">shfl' in page
    assert "clamp" not in repr(hunt) + page.split("</style>")[-1]


def test_a_guess_is_answered_from_both_runs() -> None:
    bug = pl.gallery(16)
    bug.hunt()
    assert bug.guess(line=18).guessed[18][0] == "innocent"
    assert bug.guess(line=21).guessed[21][0] == "victim"
    with pytest.raises(NoGuess, match="line 3 has no instruction"):
        bug.guess(line=3)
    game = bug.guess(line=20)
    assert game.guessed[20] == ("found", SAYS[16][0].strip())
    assert repr(game).startswith("exhibit 16: shfl.sync with clamp 32  ★☆☆\n")
    with pytest.raises(NoGuess, match="no guess is left"):
        bug.guess(line=19)
    bug.hunt()
    assert bug.guess(line=20).stars == 3
    bug.hunt()
    assert bug.explain() is bug
    assert bug.guess(line=20).stars == 0
    with pytest.raises(NoGuess, match="too many places"):
        pl.gallery(25).guess(line=30)


@pytest.mark.sweep(6)
@pytest.mark.parametrize("number", [e.number for e in pl.gallery() if e.number not in (8, 9, 19, 20, 23, 25)])
def test_each_bug_can_be_found_by_its_line(number: int) -> None:
    game = pl.gallery(number).hunt()
    for line in game.answer[0]:
        game.guessed.clear()
        game.guess(line)
        assert game.won


@pytest.mark.sweep(3)
@pytest.mark.assembler
@pytest.mark.parametrize("number", [n for n in SAYS if n not in (20, 21)])
def test_the_assembler_takes_both_kernels(number: int) -> None:
    exhibit = pl.gallery(number)
    case = exhibit.guilty[0]
    for built in (exhibit.buggy(), exhibit.repaired()):
        assert pl.assemble(built, case.arch).registers > 0


@pytest.mark.parametrize("exhibit", [pytest.param(e, id=str(e.number)) for e in pl.gallery()])
def test_the_repair_is_a_diff(exhibit: Exhibit) -> None:
    """And the story is short: two to four sentences."""
    assert 2 <= len(re.findall(r"[.?](?= [A-Z0-9]|$)", exhibit.story)) <= 4
    lines = exhibit.diff().unified().splitlines()
    assert lines[:2] == ["--- buggy", "+++ repaired"]
    assert {line[0] for line in lines[2:]} & {"+", "-"}


def test_unknown_exhibit() -> None:
    with pytest.raises(UnknownExhibit) as caught:
        pl.gallery(35)
    assert str(caught.value) == f"there is no exhibit 35; choose from {', '.join(map(str, range(1, 35)))}"
