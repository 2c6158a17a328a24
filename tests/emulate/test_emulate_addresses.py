"""Every form that touches memory, at special addresses: both engines give the same fault, or the same values.

What is run at each change is one form of every instruction; `-m slow` runs all forms in every way an address may come.
"""

from __future__ import annotations

import numpy as np
import pytest
import special_addresses as special
from emulate_programs import ENGINES, kernel, run
from slow_cases import slow

from ptxlab.isa.convert import CONST_SIZE, CONST_WINDOW, PEER

pytestmark = pytest.mark.skipif("jit" not in ENGINES, reason="compares the two engines")

FORMS = special.forms()
QUICK = ("one address", "one lane of 32, an offset", "a row of 32 bits", "in a branch", "not executed")


def check(opcodes: list[str], addresses: list[int], shapes: tuple[str, ...]) -> None:
    """Both engines agree on everything."""
    for opcode in opcodes:
        for name, text in special.programs(opcode):
            if not name.endswith(shapes):
                continue
            for address in addresses:
                step, jit = (special.outcome(engine, text, address, special.good(opcode)) for engine in ENGINES)
                assert step == jit, f"{name}: {address:#x}"


@pytest.mark.long
@pytest.mark.sweep(13)
@pytest.mark.parametrize("every", ["some", *slow(["every"])])
@pytest.mark.parametrize("name", FORMS)
def test_special_addresses(name: str, every: str) -> None:
    if every == "some":
        check(FORMS[name][:1], special.FEW, QUICK)
    else:
        check(FORMS[name][:1], special.ADDRESSES, (*special.SHAPES, "in a branch"))
        check(FORMS[name][1:], special.FEW, (*special.SHAPES, "in a branch", "not executed"))


@pytest.mark.parametrize("opcode", ["ld.u32", "ld.global.u64", "ld.const.u32", "st.global.u32", "atom.global.add.u32"])
def test_an_address_that_no_allocation_holds_is_a_fault(opcode: str, engine: str) -> None:
    for address in (1 << 63, (1 << 64) - 8, 1 << 47):
        name, kernel = next(special.programs(opcode))
        kind, _, where, *_ = special.outcome(engine, kernel, address, special.good(opcode))
        assert (kind, where) == ("memcheck", address), name


def test_a_matrix_is_not_in_local_memory(engine: str) -> None:
    address = special.LOCAL_WINDOW
    _, kernel = next(special.programs("wmma.load.a.sync.aligned.row.m16n16k16.f16"))
    assert special.outcome(engine, kernel, address, address)[-1] == (
        f"load of 16 bytes at {address:#x}: each thread has local memory of its own, "
        "a matrix must be where all lanes see it"
    )


WINDOWS = {"shared": special.SHARED_WINDOW, "local": special.LOCAL_WINDOW, "param": special.PARAM_WINDOW,
           "const": CONST_WINDOW}  # fmt: skip


@pytest.mark.parametrize("space", ["shared", "local", "param", "global", "const"])
def test_which_space_an_address_is_in(space: str, engine: str) -> None:
    """`isspacep` and `cvta` at the same addresses, against the map of memory."""
    into = "" if space == "param" else f"cvta.to.{space}.u64 %rd6, %rd5;"
    body = f"""
    mul.wide.u32 %rd7, %r4, 8; add.u64 %rd8, %rd2, %rd7; ld.global.u64 %rd5, [%rd8];
    mov.u64 %rd6, %rd5;
    {into}
    cvta.{space}.u64 %rd9, %rd6;
    isspacep.{space} %p1, %rd5;
    selp.u64 %rd10, 1, 0, %p1;
    mad.wide.u32 %rd8, %r4, 24, %rd1; st.global.u64 [%rd8], %rd6;
    st.global.u64 [%rd8+8], %rd9;
    st.global.u64 [%rd8+16], %rd10;"""
    count = -(-len(special.ADDRESSES) // 32) * 32
    given = np.resize(np.array(special.ADDRESSES, np.uint64), count)
    out, _ = run(
        engine, kernel(body).replace("8.0", "8.8"), blocks=count // 32, x=given, out=np.zeros((count, 3), np.uint64)
    )
    window = np.uint64(WINDOWS.get(space, 0))
    offset = given if space == "param" else given - window
    assert (out[:, 0] == offset).all()
    assert (out[:, 1] == offset + window).all()
    sizes = dict.fromkeys(WINDOWS, special.WINDOW_SIZE) | {"shared": PEER, "const": CONST_SIZE}  # the block's own
    inside = {name: (given >= base) & (given - np.uint64(base) < sizes[name]) for name, base in WINDOWS.items()}
    if space in WINDOWS:
        assert (out[:, 2] == inside[space]).all()
    else:
        assert not (out[:, 2].astype(bool) & np.any(list(inside.values()), axis=0)).any()
