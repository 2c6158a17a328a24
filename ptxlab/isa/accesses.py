"""Which bytes an instruction accesses: at which of its addresses, what it does there, and how many for each lane.

    form("cp.async.ca.shared.global").properties.accesses   # a load at [b] and a store at [a], of `size` bytes

Faults, traces, counters and checks of both engines take it from here, or with the numbers that an instruction of a
program gives from `ptxlab.emulate.rules.records`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ptxlab.isa import types
from ptxlab.isa.actions import MBARRIER, Action, AsyncGroup
from ptxlab.isa.entries import Opcode

ALL_LANES = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Access:
    """What lanes do at one address of an instruction.

    what: "load", "store" or "atomic". operand: the address, by its name in the table. size: the bytes of one lane; 0
    if the operand `size` says it. space: the state space, "" if it is that which the opcode names. count: the operand
    that says how many of the bytes per lane accesses, or, a predicate, that it accesses none; "" where that is all.
    lanes: those that give an address. traffic: whether counters take its bytes for such as are moved: not those of an
    mbarrier, nor of what is said about memory.
    """

    what: str
    size: int = 0
    operand: str = "a"
    space: str = ""
    count: str = ""
    lanes: int = ALL_LANES
    traffic: bool = True


MBARRIER_BYTES, ROW_BYTES = 8, 16
_LANE_COPY = Access("load", 0, "b", "global", "src_size"), Access("store", 0, "a", "shared")


def accesses_of(form: Opcode) -> tuple[Access, ...]:
    """The accesses of a form; read them as `form.properties.accesses`. None of bulk copies and of `wgmma`, which go
    through descriptors and tensor maps, nor of what lowering puts other loads and stores in place of."""
    action, what = form.op.does, form.op.does.touches
    if what == "copy":
        return _LANE_COPY if form.op.group is AsyncGroup.CP_ASYNC else ()
    if not what or action.kind == "none":
        return ()
    if action in MBARRIER:
        return (Access(what, MBARRIER_BYTES, traffic=False),)
    if action in (Action.LOAD_ROWS, Action.STORE_ROWS):
        return (Access(what, ROW_BYTES, lanes=(1 << 8 * int(str(form.num)[1:])) - 1),)
    if action in (Action.LOAD_FRAGMENT, Action.STORE_FRAGMENT):
        return (Access(what, _piece(form)),)
    if action.kind == "effect":
        return (Access(what, space=_named_space(form), traffic=False),)
    return (Access(what, types.width(str(form.type)) // 8 * int(str(form.vec or "v1")[1:])),)


def _named_space(form: Opcode) -> str:
    """The space of the address of an opcode that may have `.global`: it may be generic but leads there."""
    return "global" if "global" in form.__dict__ else ""


def _piece(form: Opcode) -> int:
    """The bytes of a matrix that are checked together."""
    from ptxlab.isa import fragments

    ((_, f),) = fragments.operands(form).items()
    return fragments.pieces(f, str(form.layout))[0].size
