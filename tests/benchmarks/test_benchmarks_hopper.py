"""The tables of kernels for Hopper: they have every option, nothing spills or is serialized, and they are fresh."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import hopper
from ptxlab.gpu import ptxas

TEXT = (Path(__file__).parents[2] / "benchmarks" / "results" / "hopper.md").read_text(encoding="utf-8")


def rows(heads: tuple[str, ...]) -> list[dict[str, str]]:
    """The rows of the table with these heads."""
    lines = [*TEXT.splitlines(), ""]
    first = lines.index("| " + " | ".join(heads) + " |") + 2
    cells = [line.strip("| ").split(" | ") for line in lines[first : lines.index("", first)]]
    return [dict(zip(heads, row, strict=True)) for row in cells]


@pytest.mark.rest
def test_the_table_has_every_option() -> None:
    found = rows(hopper.ROLES)
    builds = list(hopper.options())
    for row, built in zip(found, builds, strict=True):
        c = built.config
        assert (row["head_dim"], row["type"], row["causal"]) == (str(c.head_dim), c.dtype, "yes" if c.causal else "no")
        assert row["tile"] == f"{c.tile_q} x {c.tile_kv}"
        assert row["HGMMA"] == str(built.ptx.count("wgmma.mma_async"))
        assert row["waits"] == row["of them the kernel's"] == str(built.ptx.count("wgmma.wait_group"))
        assert row["spilled bytes"] == row["warnings"] == "0"
    assert {row["consumers"] for row in found} == {"1", "2", "3"}


def test_tensor_maps_save_instructions_everywhere() -> None:
    found = rows(hopper.COPIES)
    for plain, tma in zip(found[::2], found[1::2], strict=True):
        assert (plain["copy"], tma["copy"]) == ("cp.async", "tma")
        assert int(tma["warp-instructions"]) < int(plain["warp-instructions"])
        assert plain["spilled bytes"] == tma["spilled bytes"] == "0"


@pytest.mark.slow
@pytest.mark.assembler
def test_the_tables_are_fresh() -> None:
    """A row of each is what the assembler and the emulator say now."""
    if ptxas.path():
        now = hopper.roles(next(hopper.options()))
        old = rows(hopper.ROLES)[0]
        assert {name: str(now[name]) for name in hopper.ROLES[:-1]} == {name: old[name] for name in hopper.ROLES[:-1]}
    made = hopper.copies(64, "paged", "tma")
    assert {name: str(value) for name, value in made.items()} == rows(hopper.COPIES)[3]
