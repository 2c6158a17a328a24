"""A parameter that makes another wrong: the other goes to the nearest value that fits, and the page says why."""

from __future__ import annotations

from typing import Any

import pytest

import ptxlab as pl
from ptxlab import kernels
from ptxlab.kernels import Parameter
from ptxlab.lab import controls
from ptxlab.lab.library_subjects import named
from ptxlab.lab.subject import Subject


def fits(subject: Subject, values: dict[str, Any]) -> bool:
    """Whether values fit together."""
    return controls.misfit(subject, values) is None


SHARED = "tile_kv=64 with head_dim=256 and f32 needs 131072 bytes of static shared memory; sm_80 has 49152"


@pytest.fixture(scope="module")
def explorer() -> Any:
    """Tiles of shared memory, a small problem."""
    made = pl.explore("tiled", tile_kv=64, seq_len=40, heads=4, kv_heads=2, device="cpu")
    assert made.wait()
    return made


@pytest.mark.long
def test_another_parameter_follows_and_its_control_says_why(explorer: Any) -> None:
    explorer.set(head_dim=256)
    assert explorer.parameters["tile_kv"] == 16
    assert explorer.notes == {"KV tile": f"KV tile 64 → 16: {SHARED}"}
    explorer.heads = 5
    assert explorer.notes == {"KV heads": "KV heads 2 → 1: heads = 5 should be a multiple of kv_heads = 2"}
    explorer.row = 30
    assert explorer.notes, "to look at another row does not take the note away"
    explorer.seq_q = 20
    assert explorer.row == -1, "row 30 is no more"
    assert explorer.notes == {"Sq": "row 30 → 19: the query rows end at 19"}
    explorer.head = 0, 4
    explorer.heads = 2
    assert explorer.notes == {"head": "head 4 → 0: it is not among those that are run"}


@pytest.mark.long
def test_another_kernel_takes_the_nearest_that_it_has(explorer: Any) -> None:
    explorer.set(heads=2, head_dim=40, dtype="f64", row=3)
    explorer.kernel = "mma"
    assert explorer.notes == {
        "head dim": "head dim 40 → 32: head_dim must be a whole number from 16 to 256 in steps of 16, not 40",
        "dtype": "dtype f64 → f16: dtype must be one of f16, bf16, not 'f64'",
    }
    assert explorer.row == 3
    explorer._message(explorer.view, {"kind": "set", "seq": 0, "values": {"head_dim": 33}}, [])  # typed
    assert explorer.notes == {
        "head dim": "head dim 33 → 32: head_dim must be a whole number from 16 to 256 in steps of 16, not 33"
    }
    explorer.kernel = "decode_split"
    assert explorer.row == -1, "its rows are heads"
    assert explorer.notes == {"heads": "row 3 → 1: a row is a query head here"}


@pytest.mark.long
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"seq_k": 7, "head_dim": 33}, "head_dim must be a whole number from 8 to 256 in steps of 8, not 33\n"
                                       "  write:  head_dim=32"),
        ({"seq_k": 9, "row": 1000}, "row must be the number of a query head, from 0 to 1, or -1 for the last, not "
                                    "1000\n"
                                    "  write:  row=1"),
        ({"kernel": "tiled", "head_dim": 300}, "head_dim must be a whole number from 1 to 256, not 300\n"
                                               "  write:  head_dim=256"),
    ],
)  # fmt: skip
def test_what_python_asks_for_wrongly_changes_nothing(explorer: Any, wrong: dict[str, Any], message: str) -> None:
    explorer.set(kernel="decode_split", heads=2)
    before = explorer.parameters
    with pytest.raises(pl.TargetError) as caught:
        explorer.set(**wrong)
    assert str(caught.value) == message
    assert explorer.parameters == before


@pytest.mark.sweep(14)
@pytest.mark.parametrize("name", kernels.names())
def test_moves_make_any_two_values_fit(name: str) -> None:
    """Where each fits by itself. One that does not is tried beside defaults only: elsewhere it may take two moves."""
    subject = named(name)
    offered = {p.name: controls.offered(controls.control(p)) for p in subject.building}
    base = {p.name: p.default for p in subject.parameters}

    def some(p: Parameter) -> list[Any]:
        values = offered[p.name]
        return [*values[:: max(1, len(values) // 2)], *values[-1:], p.default]

    for first in subject.building:
        for held in some(first):
            for second in subject.building:
                for value in some(second) if second is not first else ():
                    values = {**base, first.name: held, second.name: value}
                    if held != first.default and controls.misfit(subject, {**base, second.name: value}) is not None:
                        continue
                    moves = controls.moved(subject, values, {second.name}, {**offered, "heads": (), "kv_heads": ()})
                    if (
                        controls.misfit(subject, values) is not None
                        and controls.misfit(subject, {**base, first.name: held}) is None
                    ):
                        assert moves, (values, controls.misfit(subject, values))
                        assert fits(subject, {**values, **{move.name: move.after for move in moves}})


@pytest.mark.rest
def test_two_parameters_move_where_one_is_not_enough() -> None:
    """Each with the limit that its own move mends."""
    subject = named("decode_gqa")
    offered = {p.name: controls.offered(controls.control(p)) for p in subject.parameters}
    values = {p.name: p.default for p in subject.parameters} | {"head_dim": 144, "copy": "tma"}
    moves = controls.moved(subject, values, {"copy"}, offered)
    assert [str(move) for move in moves] == [
        "arch sm_80 → sm_90: copy='tma' needs sm_90 or later; sm_80 has no tensor maps; write copy='cp.async'",
        "head dim 144 → 128: copy='tma' copies 64 elements of a row at a time; head_dim=144 is not a multiple of that; "
        "write copy='cp.async'",
    ]
    assert fits(subject, values | {move.name: move.after for move in moves})
    assert controls.moved(subject, values, {"copy", "arch"}, offered) == [], "sm_80 was chosen: the build says why"
