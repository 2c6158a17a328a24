"""How lanes of a warp exchange data: the matrix fragments, shuffles and votes of a trace, for the debugger.

A trace names instructions by line and opcode only. Here its text is read again, so that the registers after each
operand are known, and each matrix operand gets its layout from `isa.fragments`.
"""

from __future__ import annotations

import functools
from typing import Any

from ptxlab.emulate.program.flat_program import Code, Group, Inverted, Literal, Reg, Source, Special
from ptxlab.emulate.program.lowering_cache import lower
from ptxlab.emulate.program.matrix_operands import elements
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.trace.recording import Recording
from ptxlab.errors import PtxlabError
from ptxlab.isa import Action, action_of, fragments
from ptxlab.isa.fragments import Fragment
from ptxlab.text import parse

WMMA = "wmma fragments have a different layout on each GPU; here they have that of mma.sync"
COLLECTIVES = (Action.VOTE, Action.ACTIVE_MASK, Action.MATCH, Action.REDUCE_LANES, Action.ELECT)
EXACT = 1 << 53
"""Integers below this are the same in JavaScript; larger ones go to the page as text."""


def exchanges(recording: Recording) -> dict[str, Any]:
    """{fragments, codes, guards} of a trace.

    codes: "line:opcode" -> {kind: "matrix", operands: [[name, place in fragments, operands]], note}, {kind: "shuffle",
    mode, a, d, p, by, clamp, mask} or {kind: "collective", action, mode, operation, type, abs, a, not, d, p, mask},
    where `action` is one of `COLLECTIVES`, by its name. guards: "line:opcode" -> [register, inverted, whether the
    instruction writes it]. An operand is a register by its number in the trace, {"value": bits}, {"special": name} or
    None. fragments: [{rows, columns, type, packed, width, blocks, row, column}], the last two a
    list of registers * packed * 32 places, the lane last; blocks counts the matrices that lie below each other (of
    `ldmatrix`).

    All three are empty where the trace was recorded by a ptxlab that numbers registers in another way.
    """
    out: dict[str, Any] = {"fragments": [], "codes": {}, "guards": {}}
    places: dict[int, int] = {}
    half = "bf16" if any(_on_matrices(opcode) and ".bf16" in opcode for _, opcode, _ in recording.codes) else "f16"
    for key, code in _codes(recording).items():
        if code.guard is not None:
            written = [d for d in code.dests if isinstance(d, Reg)]
            out["guards"][key] = [code.guard[0], bool(code.guard[1]), any(d.index == code.guard[0] for d in written)]
        if code.action is Action.SHUFFLE:
            out["codes"][key] = _shuffle(code)
        elif code.action in COLLECTIVES:
            out["codes"][key] = _collective(code)
        elif code.action.kind == "warp":
            operands = []
            for name, (f, registers) in _matrix(_program(recording), code).items():
                if id(f) not in places:
                    places[id(f)] = len(out["fragments"])
                    out["fragments"].append(_layout(f, half))
                operands.append([name, places[id(f)], [_operand(r) for r in registers]])
            note = WMMA if code.properties.fragment else ""
            out["codes"][key] = {"kind": "matrix", "operands": operands, "note": note}
    return out


def _on_matrices(opcode: str) -> bool:
    does = action_of(opcode)
    return does is not None and does.kind == "warp"


def maxima(recording: Recording) -> set[int]:
    """The registers, by number, that an instruction gives the larger of two floats."""
    found = set()
    for code in _codes(recording).values():
        floats = code.form is not None and code.form.type in ("f32", "f64")
        if code.action is Action.MAXIMUM and floats and isinstance(first := (*code.dests, None)[0], Reg):
            found.add(first.index)
    return found


def _program(recording: Recording) -> Program:
    return _lowered(recording.text, recording.kernel, recording.arch)


@functools.lru_cache(maxsize=8)
def _lowered(text: str, kernel: str, arch: str) -> Program:
    return lower(parse(text), kernel, arch)


def _codes(recording: Recording) -> dict[str, Code]:
    """The instructions of the trace's text, if they and the registers are numbered as in the trace."""
    try:
        program = _program(recording)
    except PtxlabError:
        return {}  # what an older ptxlab ran may be refused by this one; the trace is shown without exchanges
    if [r.name for r in program.registers] != [r[0] for r in recording.registers]:
        return {}
    named = {f"{c.line}:{c.form.opcode if c.form is not None else c.name}": c for c in program.codes}
    return {key: named[key] for key in (f"{line}:{opcode}" for line, opcode, _ in recording.codes) if key in named}


def _operand(source: Source | None) -> Any:
    if isinstance(source, Reg):
        return source.index
    if isinstance(source, Inverted):
        return source.operand.index
    if isinstance(source, Literal):
        bits = int(source.value) if source.kind == "int" else source.bits
        return {"value": bits if abs(bits) < EXACT else str(bits)}
    return {"special": source.name} if isinstance(source, Special) else None


def _shown(**operands: Any) -> dict[str, Any]:
    return {name: _operand(source) for name, source in operands.items()}


def _destinations(code: Code) -> tuple[Any, Any]:
    """d and p of `d|p`; None for one that is not there or thrown away."""
    first = code.dests[0]
    d, p = (*first.elements, None)[:2] if isinstance(first, Group) else (first, (*code.dests, None)[1])
    return d, p


def _collective(code: Code) -> dict[str, Any]:
    form, sources = code.form, list(code.sources)
    assert form is not None
    mask = sources.pop() if ".sync" in form.opcode else None
    a = sources.pop() if sources else None
    d, p = _destinations(code)
    mode = ("any" if ".any" in form.opcode else "all") if code.action is Action.MATCH else form.mode
    how = {"mode": mode, "operation": form.operation, "type": form.type or "", "abs": bool(form.abs)}
    return {
        "kind": "collective",
        "action": code.action.name,
        **how,
        "not": isinstance(a, Inverted),
        **_shown(a=a, d=d, p=p, mask=mask),
    }


def _shuffle(code: Code) -> dict[str, Any]:
    assert code.form is not None
    d, p = _destinations(code)
    a, by, clamp, mask = (*code.sources, None)[:4]
    return {"kind": "shuffle", "mode": code.form.mode, **_shown(a=a, d=d, p=p, by=by, clamp=clamp, mask=mask)}


def _matrix(program: Program, code: Code) -> dict[str, tuple[Fragment, tuple[Source | None, ...]]]:
    """The layout and the registers of each matrix, by the name that the manual gives it."""
    assert code.form is not None
    layouts = fragments.operands(code.form)
    own = str(code.form.matrix or "") if code.properties.fragment else ""
    return {own or name: (layouts[name], found) for name, found in elements(program, code).items()}


def _layout(f: Fragment, half: str) -> dict[str, Any]:
    return {
        "rows": f.rows,
        "columns": f.columns,
        "type": half if f.type == "b16" else f.type,
        "packed": f.packed,
        "width": f.width,
        "blocks": f.rows // 8 if f.type == "b16" else 1,
        "row": f.row.ravel().tolist(),
        "column": f.column.ravel().tolist(),
    }
