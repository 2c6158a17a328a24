"""The spine: a student's own kernel is measured, gets stars, is refused with the cause, and goes on from ours."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from ptxlab.builder import Builder, Ptr, TensorMap, f16, f32, kernel, u32
from ptxlab.course import progress, scoreboard
from ptxlab.course.feedback import find
from ptxlab.course.scoreboard import board, start
from ptxlab.course.scoreboard import roles as from_roles
from ptxlab.course.scoreboard.rungs import RUNGS, START, Costs

LOG2E = math.log2(math.e)


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def thrifty() -> str:
    """The answer to 01-thrift, with rows and keys of their own."""
    text = find("01-thrift").solution.replace("n: u32", "rows: u32, keys: u32").replace(">= n", ">= rows")
    names = {"LOG2E": LOG2E, "math": math, "kernel": kernel, "Builder": Builder, "Ptr": Ptr, "f32": f32, "u32": u32}
    exec(text.replace("k.loop(n)", "k.loop(keys)").replace("D: int = 8", "D: int = 32"), names)
    return str(names["thrifty"].ptx)  # type: ignore[attr-defined]


@kernel
def tiles(
    k: Builder, q: Ptr[f32], key: Ptr[f32], value: Ptr[f32], o: Ptr[f32], rows: u32, keys: u32, scale: f32, *,
    D: int = 32, T: int = 32, wrong: str = "",
) -> None:  # fmt: skip
    """02-copy and 01-rescale: a block of T * 2 threads shares tiles of T keys; wrong: a mistake of a student."""
    k_tile, v_tile = k.shared(f32, T * D), k.shared(f32, T * D)
    row = k.tid.x if wrong == "block" else k.thread_index()
    query = k.load(q + k.min(row, rows - 1) * D, D)
    acc, top, total = k.vars(f32, D, 0.0), k.var(f32, -math.inf), k.var(f32, 0.0)
    factor = LOG2E if wrong == "scale" else scale if wrong == "log2e" else scale * LOG2E
    with k.loop(keys, step=T) as first:
        count = k.min(keys - first, T)
        if wrong != "race":
            k.barrier()
        from_key, from_value = key + first * D, value + first * D
        with k.loop(count * D, start=k.tid.x, step=k.ntid.x) as e:
            k_tile[e], v_tile[e] = from_key[e], from_value[e]
        k.barrier()
        with k.loop(T if wrong == "twice" else count) as j:
            score, k_row, v_row = k.var(f32, 0.0), k_tile + j * D, v_tile + j * D
            for d in range(D):
                score.set(k.fma(query[d], k_row[d], score))
            score *= factor
            new = k.max(top, score)
            rescale, weight = k.exp2(top - new), k.exp2(score - new)
            total.set(total + weight if wrong == "sum" else k.fma(total, rescale, weight))
            for d in range(D):
                acc[d] *= 1.0 if wrong == "row" else rescale
                acc[d].set(k.fma(weight, v_row[d], acc[d]))
            top.set(new)
    with k.if_(row < rows):
        for d in range(D):
            (o + row * D)[d] = acc[d] if wrong == "divide" else acc[d] / total


@kernel(arch="sm_90a")
def roles(
    k: Builder, q: Ptr[f16], key: TensorMap, value: TensorMap, o: Ptr[f32], rows: u32, keys: u32, scale: f32, *,
    D: int = 64, T: int = 32, stages: int = 2,
) -> None:  # fmt: skip
    """16-ring's producer and 16-bytes' two boxes, and 01-rescale for each of 64 consumers."""
    key.box(1, 1, T, D)
    value.box(1, 1, T, D)
    tile = k.shared(f16, stages * 2 * T * D, align=128)
    ring = k.pipeline(stages, arrivals=64)
    k.barrier()
    with k.if_(k.tid.x == 0):
        turn = ring.producer()
        with k.loop(keys, step=T) as first:
            turn.wait()
            turn.expect(2 * 2 * T * D)
            key.load(tile + turn.stage * 2 * T * D, turn.full, 0, 0, first, 0)
            value.load(tile + turn.stage * 2 * T * D + T * D, turn.full, 0, 0, first, 0)
            turn.next()
    with k.if_(k.tid.x >= 32):
        row = k.ctaid.x * 64 + k.tid.x - 32
        query = [k.cvt(f32, x) for x in k.load(q + row * D, D)]
        acc, top, total = k.vars(f32, D, 0.0), k.var(f32, -math.inf), k.var(f32, 0.0)
        reads = ring.consumer()
        with k.loop(keys, step=T):
            reads.wait()
            here = tile + reads.stage * 2 * T * D
            with k.loop(T) as j:
                score, k_row, v_row = k.var(f32, 0.0), here + j * D, here + T * D + j * D
                for d in range(D):
                    score.set(k.fma(query[d], k.cvt(f32, k_row[d]), score))
                score *= scale * LOG2E
                new = k.max(top, score)
                rescale, weight = k.exp2(top - new), k.exp2(score - new)
                total.set(k.fma(total, rescale, weight))
                for d in range(D):
                    acc[d] *= rescale
                    acc[d].set(k.fma(weight, k.cvt(f32, v_row[d]), acc[d]))
                top.set(new)
            reads.release()
            reads.next()
        for d in range(D):
            (o + row * D)[d] = acc[d] / total


@pytest.mark.rest
def test_roles_has_a_star_for_bulk_copies_and_one_for_products_that_overlap_with_them() -> None:
    entered = scoreboard.enter("roles", roles, block=96, rows_per_block=64)
    assert entered.stars == (1, 1, 1)
    assert entered.lines[0] == "Entered: roles  ★★★"
    assert "Three stars: copies bring the tiles, and meanwhile the others multiply." in entered.lines
    single = scoreboard.enter("roles", roles(stages=1), block=96, rows_per_block=64)
    assert single.stars == (1, 1, 0)
    assert single.lines[0] == "Not kept: you had more stars: roles  ★★☆"
    assert "No product was issued while a bulk copy was in flight. What does the first product wait for?" in repr(
        single
    )
    Path(board.FILE).unlink()
    by_threads = scoreboard.enter("roles", start.by_rows_of_halves(D=64).ptx + "\n// mine", block=128)
    assert by_threads.lines[0] == "Not entered: this is the kernel that you began with."
    changed = "    bar.sync 0;\n    ret;".join(start.by_rows_of_halves(D=64).ptx.rsplit("    ret;", 1))
    assert scoreboard.enter("roles", changed, block=64).stars == (1, 0, 0)


def test_a_kernel_of_the_exercises_answers_enters_its_rung_and_the_board_and_the_card_show_it() -> None:
    first = scoreboard.enter("rows", thrifty(), block=64)
    assert first.stars == (3, 3, 3, 3)
    assert first.lines[0] == "Entered: rung 1, rows  ★★★"
    assert scoreboard.latest("tiles") == thrifty()
    kept = scoreboard.enter("tiles", thrifty(), block=64)
    assert kept.stars == (3, 0, 3, 3)
    assert kept.lines[5].startswith(
        "Sectors decide this rung. For one star 7,449 or fewer are needed. Yours are here: "
    )
    entered = scoreboard.enter("tiles", tiles, block=64)
    assert entered.stars is not None
    assert min(entered.stars) >= 1
    assert "Not kept: you had more stars" in scoreboard.enter("tiles", thrifty(), block=64).lines[0]
    shown = scoreboard.show()
    assert shown.lines[0].startswith("Your attention kernel: rung 2 of 7 · ")
    assert shown.lines[-2].startswith("Next, rung 3, pieces: A thread takes 4 rows by 4 keys")
    assert "<svg" in shown.body
    assert "rung 1, rows ★★★" in repr(progress())
    drawn = scoreboard.card().body
    assert Path("my-attention.svg").read_text(encoding="utf-8") == drawn
    assert drawn.startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    assert "<script" not in drawn
    assert "Rung 2 of 7" in drawn


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("scale", ("All 70 rows are wrong.", "What came out is attention with unscaled scores.")),
        ("log2e", ("What came out is attention with powers of 2 in place of e.",)),
        ("twice", ("keys 68 to 95 count twice. Keys 96 to 99 fill 4 of the 32 places of the last tile",)),
        ("sum", ("The sum l is not rescaled when the maximum of a row grows.",)),
        ("row", ("The row o is not rescaled when the maximum of a row grows.",)),
        ("divide", ("What came out is not divided by the sum of the weights.",)),
        ("block", ("192 of 2,240 elements have no value, the first is o[64, 0]. Rows 64 to 69 are wrong",)),
        ("race", ("a check found something.", "racecheck", "k_tile")),
    ],
)
def test_a_refusal_names_the_element_the_rows_and_the_cause(wrong: str, says: tuple[str, ...]) -> None:
    scoreboard.borrow("tiles")
    told = scoreboard.enter("tiles", tiles(wrong=wrong), block=64)
    assert told.stars is None
    assert told.lines[0].startswith("Not entered: ")
    for part in says:
        assert part in repr(told)
    ours = scoreboard.latest("pieces")
    assert ours == RUNGS["tiles"].built().ptx, "it replaced nothing"
    if wrong == "block":
        assert scoreboard.enter("tiles", ours, block=128).stars == (0, 0, 0, 0), "borrowed PTX has no stars"


def test_what_does_not_run_and_the_kernel_to_begin_with_are_not_entered() -> None:
    assert repr(scoreboard.enter("rows", start.by_pages)).startswith(
        "Not entered: it did not run.\nnothing is called 'table'"
    )
    untouched = scoreboard.enter("rows", scoreboard.latest("rows"))
    assert untouched.lines[0] == "Not entered: this is the kernel that you began with."
    assert untouched.lines[1].startswith(f"It executes {START.instructions:,} instructions: ")
    assert not Path(board.FILE).exists()


@pytest.mark.sweep(3)
@pytest.mark.long
@pytest.mark.parametrize("name", RUNGS)
def test_our_kernel_costs_what_the_table_says_and_has_no_star_on_the_next_rung(name: str) -> None:
    rung, names = RUNGS[name], list(RUNGS)
    assert scoreboard.borrow(name).stars == (0, 0, 0, 0)
    entry = board._kept()[name]
    costs = Costs(*entry["costs"].values())
    assert costs[:3] == rung.costs[:3]
    assert costs.error == pytest.approx(rung.costs.error, rel=0.05)
    assert rung.stars(costs) == (3, 3, 3, 3)
    if name == "roles":
        assert from_roles.seen(rung, rung.built(), None, 1, 0).stars == (1, 1, 1)
    if names.index(name) < 6:
        assert min(RUNGS[names[names.index(name) + 1]].stars(costs)) == 0
    threads = 32 if rung.given.heads else 64
    begun = scoreboard.enter(name, rung.begin, block=threads)
    assert begun.lines[0] == "Not entered: this is the kernel that you began with."
    assert scoreboard.source(name) != scoreboard.source("rows") or name == "rows"


def test_an_unknown_rung_and_a_damaged_file() -> None:
    with pytest.raises(board.ScoreboardError) as caught:
        scoreboard.enter("row", start.by_rows)
    assert str(caught.value).startswith("there is no rung 'row'; choose from 'rows', 'tiles', 'pieces', ")
    with pytest.raises(board.ScoreboardError, match="no rung has a star yet"):
        scoreboard.card()
    Path(board.FILE).write_text("{", encoding="utf-8")
    with pytest.raises(board.ScoreboardError) as caught:
        scoreboard.source("rows")
    assert str(caught.value).startswith(f"{Path(board.FILE).resolve()} is damaged (")
    assert str(caught.value).endswith("); remove it to begin anew")
