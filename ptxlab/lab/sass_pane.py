"""The SASS pane: machine code with highlighting, linked line by line to the PTX that it came from, with hover docs.

The link is line information: each PTX line gets a `.loc` of its own before NVIDIA's assembler sees it, and the
disassembler says for every machine instruction which `.loc` was in force. One PTX instruction may become none, one or
many machine instructions, and the assembler moves them about, so lines of both sides interleave.
"""

from __future__ import annotations

import html
import re
from typing import Any

from ptxlab.names import source_name

_WORD = re.compile(
    r"""(?P<g>@!?U?P\w+)|(?P<l>`\([^)]*\))|(?P<r>\b(?:UR|R|UP|P|B)\d+(?:\.\w+)*|\bU?RZ\b|!?\bU?PT\b)"""
    r"""|(?P<x>\bSR_[\w.]+|\bc\[[^\]]*\]\[[^\]]*\]|\bdesc\b)|(?P<n>-?\b(?:0x[0-9a-f]+|\d[\d.e+-]*)\b|[+-]INF)""",
    re.VERBOSE,
)

OPCODES = {
    "FFMA": "f32 fused multiply-add: a*b + c, rounded once.",
    "FADD": "f32 addition.",
    "FMUL": "f32 multiplication.",
    "FMNMX": "f32 minimum or maximum: the predicate says which.",
    "FSETP": "Compares f32 numbers and writes a predicate.",
    "FSEL": "f32 selection by a predicate.",
    "FCHK": "Checks whether an f32 division needs the slow path.",
    "FSET": "Compares f32 numbers and writes a number.",
    "FSWZADD": "f32 addition across the lanes of a quad.",
    "MUFU": "Special functions: EX2, LG2, RCP, RSQ, SQRT, SIN, COS, TANH; a quarter of the FMA rate.",
    "DFMA": "f64 fused multiply-add.",
    "DADD": "f64 addition.",
    "DMUL": "f64 multiplication.",
    "DSETP": "Compares f64 numbers and writes a predicate.",
    "HFMA2": "f16 fused multiply-add, two at once; also used to make constants.",
    "HADD2": "f16 addition, two at once; .F32 converts.",
    "HMUL2": "f16 multiplication, two at once.",
    "HMMA": "Tensor-core matrix product of f16, bf16 or tf32.",
    "IMMA": "Tensor-core matrix product of integers.",
    "DMMA": "Tensor-core matrix product of f64.",
    "QGMMA": "Tensor-core matrix product of a warp group, fp8.",
    "HGMMA": "Tensor-core matrix product of a warp group.",
    "IADD3": "Adds three integers.",
    "IADD": "Adds integers.",
    "VIADD": "Adds an integer.",
    "IMAD": "Integer multiply-add; .MOV is a move and .SHL a shift by the FMA pipe, .WIDE gives 64 bits.",
    "IABS": "Absolute value of an integer.",
    "ISETP": "Compares integers and writes a predicate.",
    "IMNMX": "Minimum or maximum of integers.",
    "VIMNMX": "Minimum or maximum of integers.",
    "LEA": "Shifts and adds: the address of an element of an array.",
    "LOP3": "Any logic function of three words; the number is its truth table.",
    "PLOP3": "Any logic function of three predicates.",
    "SHF": "Shifts a pair of words.",
    "SEL": "Selects by a predicate.",
    "PRMT": "Picks bytes of two words.",
    "POPC": "Counts bits.",
    "FLO": "Finds the leading one.",
    "BREV": "Reverses bits.",
    "MOV": "Moves a word.",
    "UMOV": "Moves a word into a uniform register, one for the whole warp.",
    "CS2R": "Reads a special register, or makes a zero.",
    "S2R": "Reads a special register such as the thread's number.",
    "S2UR": "Reads a special register into a uniform register.",
    "R2UR": "Moves a register to a uniform one.",
    "R2P": "Unpacks bits into predicates.",
    "P2R": "Packs predicates into bits.",
    "I2F": "Integer to float.",
    "I2FP": "Integer to f32.",
    "F2I": "Float to integer.",
    "F2F": "Float to float of another size.",
    "F2FP": "Packs two floats into 16-bit ones.",
    "F2F32": "Float to f32.",
    "FRND": "Rounds a float to a whole number.",
    "LDG": "Loads from global memory; .64 and .128 are bits per lane, .E a 64-bit address.",
    "STG": "Stores to global memory.",
    "LDS": "Loads from shared memory.",
    "STS": "Stores to shared memory.",
    "LDL": "Loads from local memory: often a spilled register.",
    "STL": "Stores to local memory: often a spilled register.",
    "LDC": "Loads from constant memory: the kernel's parameters lie there.",
    "ULDC": "Loads from constant memory into a uniform register.",
    "LDCU": "Loads from constant memory into a uniform register.",
    "LD": "Loads from a generic address.",
    "ST": "Stores to a generic address.",
    "LDSM": "ldmatrix: loads 8x8 matrices from shared memory, spread over the warp.",
    "STSM": "stmatrix: stores 8x8 matrices to shared memory.",
    "LDGSTS": "cp.async: copies from global to shared memory, past the registers.",
    "LDGDEPBAR": "cp.async.commit_group: closes a group of copies.",
    "DEPBAR": "Waits until at most so many groups of copies are in flight.",
    "UBLKCP": "A bulk copy between global and shared memory.",
    "SYNCS": "An mbarrier operation.",
    "ATOM": "Atomic operation at a generic address.",
    "ATOMG": "Atomic operation on global memory.",
    "ATOMS": "Atomic operation on shared memory.",
    "RED": "Reduction in memory: an atomic without a result.",
    "REDUX": "Reduction over the lanes of a warp.",
    "SHFL": "Exchanges registers between lanes.",
    "VOTE": "A vote of the warp.",
    "VOTEU": "A vote of the warp into a uniform register.",
    "MATCH": "Finds lanes with the same value.",
    "BAR": "Barrier of the block.",
    "WARPSYNC": "Waits for the other lanes of the warp.",
    "BSSY": "Marks where lanes that diverge now shall reconverge.",
    "BSYNC": "Waits there until the diverged lanes have reconverged.",
    "BREAK": "Takes lanes out of a reconvergence point.",
    "BRA": "Branch.",
    "BRX": "Branch through a table.",
    "CALL": "Calls a function.",
    "RET": "Returns from a function.",
    "EXIT": "Ends the thread.",
    "MEMBAR": "Memory fence.",
    "FENCE": "Memory fence.",
    "ERRBAR": "Waits for errors of earlier accesses.",
    "CCTL": "Cache control.",
    "NANOSLEEP": "Waits for a while.",
    "NOP": "Nothing.",
    "BMOV": "Moves a reconvergence point's mask.",
    "ACQBULK": "Waits for bulk copies.",
    "UIADD3": "Adds three integers, once for the whole warp.",
    "UIMAD": "Integer multiply-add, once for the whole warp.",
    "ULEA": "Shifts and adds, once for the whole warp.",
    "ULOP3": "Logic, once for the whole warp.",
    "USHF": "Shift, once for the whole warp.",
    "USEL": "Selection, once for the whole warp.",
    "UISETP": "Compares integers, once for the whole warp.",
    "UFLO": "Finds the leading one, once for the whole warp.",
    "UPRMT": "Picks bytes, once for the whole warp.",
}
"""What machine opcodes do, in our words; U in front is the uniform datapath: one result for the whole warp."""


def pane(built: Any, arch: str | None, entry: str) -> dict[str, Any]:
    """{state: "ok", arch, lines, links, docs, instructions}, {state: "missing", note} where the disassembler or the
    assembler is not installed. `lines` are HTML, `links` pairs [PTX line, row], both from 1. Raises `AssemblyError`."""
    from ptxlab import gpu
    from ptxlab.errors import UnavailableError

    try:
        code = gpu.sass(built, arch)
    except UnavailableError as missing:
        return {"state": "missing", "note": f"needs ptxlab[sass]: {str(missing).splitlines()[0]}"}
    lines: list[str] = []
    links: list[list[int]] = []
    docs: dict[str, str] = {}
    count = 0
    for function in sorted(code.functions, key=lambda f: f.name != entry):
        if lines:
            lines.append("")
        lines.append(f'<span class="d">{html.escape(source_name(function.name))}</span>')
        for instruction in function.instructions:
            lines.append(_html(instruction))
            count += 1
            word = instruction.opcode.partition(".")[0]
            if word in OPCODES:
                docs[word] = OPCODES[word]
            if instruction.line:
                links.append([instruction.line, len(lines)])
    return {"state": "ok", "arch": code.arch, "lines": lines, "links": links, "docs": docs, "instructions": count}


def _html(instruction: Any) -> str:
    """An instruction as HTML with the classes of `lab.highlight`, its address in front."""
    text = instruction.text
    opcode = instruction.opcode
    before, _, after = text.partition(opcode)
    first, *modifiers = opcode.split(".")
    word = f'<span class="o">{html.escape(first)}'
    word += "".join(f'<span class="m">.{html.escape(m)}</span>' for m in modifiers) + "</span>"
    address = f'<span class="c">{instruction.address:04x}</span>'
    return f"{address} {_words(before):<4}{word}{_words(after)}"


def _words(text: str) -> str:
    out, at = [], 0
    for found in _WORD.finditer(text):
        css = {"g": "x"}.get(str(found.lastgroup), str(found.lastgroup))
        out += [html.escape(text[at : found.start()]), f'<span class="{css}">{html.escape(found.group())}</span>']
        at = found.end()
    return "".join([*out, html.escape(text[at:])])
