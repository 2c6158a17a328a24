"""Every form that touches memory, at special addresses: both engines give the same fault, or the same values.

What is run at each change is one form of every instruction; `-m slow` runs all forms in every way an address may come.
"""

from __future__ import annotations

import pytest
import special_addresses as special
from emulate_programs import ENGINES

pytestmark = pytest.mark.skipif("jit" not in ENGINES, reason="compares the two engines")

FORMS = special.forms()
QUICK = ("one address", "one lane of 32, an offset", "a row of 32 bits", "not executed")


def check(opcodes: list[str], addresses: list[int], shapes: tuple[str, ...]) -> None:
    """Both engines agree on everything."""
    for opcode in opcodes:
        for name, kernel in special.programs(opcode):
            if not name.endswith(shapes):
                continue
            for address in addresses:
                step, jit = (special.outcome(engine, kernel, address, special.good(opcode)) for engine in ENGINES)
                assert step == jit, f"{name}: {address:#x}"


@pytest.mark.parametrize("name", FORMS)
def test_special_addresses(name: str) -> None:
    check(FORMS[name][:1], special.FEW, QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMS)
def test_all_special_addresses(name: str) -> None:
    check(FORMS[name][:1], special.ADDRESSES, tuple(special.SHAPES))
    check(FORMS[name][1:], special.FEW, (*special.SHAPES, "not executed"))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("opcode", ["ld.u32", "ld.global.u64", "ld.const.u32", "st.global.u32", "atom.global.add.u32"])
def test_an_address_that_no_allocation_holds_is_a_fault(opcode: str, engine: str) -> None:
    for address in (1 << 63, (1 << 64) - 8, 1 << 47):
        name, kernel = next(special.programs(opcode))
        kind, _, where, *_ = special.outcome(engine, kernel, address, special.good(opcode))
        assert (kind, where) == ("memcheck", address), name


@pytest.mark.parametrize("engine", ENGINES)
def test_a_matrix_is_not_in_local_memory(engine: str) -> None:
    address = special.LOCAL_WINDOW
    _, kernel = next(special.programs("wmma.load.a.sync.aligned.row.m16n16k16.f16"))
    assert special.outcome(engine, kernel, address, address)[-1] == (
        f"load of 16 bytes at {address:#x}: each thread has local memory of its own, "
        "a matrix must be where all lanes see it"
    )
