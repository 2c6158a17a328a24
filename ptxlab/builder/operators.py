"""Which instruction each Python operator is, for every type, and what to say where there is none."""

from __future__ import annotations

from typing import Any

from ptxlab.builder import mistakes
from ptxlab.builder.emit import Emitter
from ptxlab.builder.registers import TYPES, Register
from ptxlab.errors import BuildError

OPCODES: dict[tuple[str, str], str] = {}
"""(operator, PTX type) -> opcode; "neg" is the sign."""
COMPARISONS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}


def _fill() -> None:
    for ptx, cls in TYPES.items():
        bits = f"b{cls.bits}"
        if cls.kind == "pred":
            bits = "pred"
        if cls.bits == 8 or ptx == "tf32":
            continue
        if cls.kind in ("float", "packed"):
            for op, word in (("+", "add"), ("-", "sub"), ("*", "mul")):
                OPCODES[op, ptx] = f"{word}.rn.{ptx}"
            OPCODES["neg", ptx], OPCODES["abs", ptx] = f"neg.{ptx}", f"abs.{ptx}"
        if ptx in ("f32", "f64"):
            OPCODES["/", ptx] = f"div.rn.{ptx}"
        if cls.kind in ("signed", "unsigned"):
            OPCODES["+", ptx], OPCODES["-", ptx], OPCODES["*", ptx] = f"add.{ptx}", f"sub.{ptx}", f"mul.lo.{ptx}"
            OPCODES["//", ptx], OPCODES["%", ptx] = f"div.{ptx}", f"rem.{ptx}"
            OPCODES["neg", ptx] = f"neg.s{cls.bits}"
        if cls.kind == "signed":
            OPCODES["abs", ptx] = f"abs.{ptx}"
        if cls.kind in ("signed", "unsigned", "bits", "pred"):
            OPCODES["&", ptx], OPCODES["|", ptx], OPCODES["^", ptx] = f"and.{bits}", f"or.{bits}", f"xor.{bits}"
            OPCODES["~", ptx] = f"not.{bits}"
        if cls.kind in ("signed", "unsigned", "bits"):
            OPCODES["<<", ptx], OPCODES[">>", ptx] = f"shl.{bits}", f"shr.{ptx}"
        if cls.kind in ("signed", "unsigned", "float"):
            for op, word in COMPARISONS.items():
                OPCODES[op, ptx] = f"setp.{'neu' if op == '!=' and cls.kind == 'float' else word}.{ptx}"
        if cls.kind == "bits":
            OPCODES["==", ptx], OPCODES["!=", ptx] = f"setp.eq.{ptx}", f"setp.ne.{ptx}"


_fill()


def mask(value: int, cls: type[Any]) -> int:
    """A negative bit mask (`x & ~7`) as the unsigned number of the type's width."""
    return value & ((1 << cls.bits) - 1) if -(1 << (cls.bits - 1)) <= value < 0 and cls.kind != "signed" else value


def impossible(k: Emitter, op: str, r: Register[Any], other: object) -> BuildError:
    """The error of an operator that its type has no instruction for."""
    ptx, kind, text, shown = r.type.ptx, r.type.kind, k._python(r), k._shown(r)
    written = k._here.text
    says, fix = f"`{op}` has no instruction for {ptx}", ""
    second = mistakes.grouped(k._python(other)) if isinstance(other, Register) else repr(other)
    if op == "/" and kind in ("signed", "unsigned"):
        says = f"`/` divides floats, {shown} is {ptx}; integer division is `//`"
        fix = written.replace(" / ", " // ") if " / " in written else f"{mistakes.grouped(text)} // {second}"
    elif op in ("//", "%") and kind == "float":
        says = f"`{op}` is for integers, {shown} is {ptx}; float division is `/`"
        fix = written.replace(" // ", " / ") if " // " in written else f"{mistakes.grouped(text)} / {second}"
    elif ptx == "pred" and op in ("+", "-", "*"):
        says, fix = f"`{op}` needs numbers, {shown} is a predicate", f"k.select({text}, 1, 0, type=u32)"
    elif ptx == "pred" and op in ("==", "!="):
        says = f"`{op}` has no instruction for predicates; `^` is true where they differ"
        if not isinstance(other, Register):
            fix = f"~{mistakes.grouped(text)}" if bool(other) == (op == "!=") else text
        elif made := k._converted(r.type, other):
            differ = f"{mistakes.grouped(text)} ^ {mistakes.grouped(made)}"
            fix = f"~({differ})" if op == "==" else differ
    elif kind == "bits":
        says = f"`{op}` needs a number, {shown} is {ptx}: bits without a meaning"
        fix = f"k.bitcast(u{r.type.bits}, {text})"
    elif kind == "float" and op in ("&", "|", "^", "<<", ">>", "~"):
        says, fix = f"`{op}` works on bits, {shown} is {ptx}", f"k.bitcast(u{r.type.bits}, {text})"
    elif ptx in ("f16", "bf16"):
        fix = f"k.cvt(f32, {text})"
    elif ptx in ("f16x2", "bf16x2"):
        says, fix = f"{says}; it has two numbers", f"low, high = k.unpack({text}, {ptx[:-2]})"
    elif op == "abs" and kind == "unsigned":
        says, fix = f"abs() changes no unsigned number; {shown} is {ptx}", text
    return k._error(says, fix)


def mixed(k: Emitter, op: str, r: Register[Any], other: object, *, fixed: bool = False) -> BuildError:
    """The error of an operator on two types: names both, and the conversion to write. fixed: `r` is a variable that
    gets the result."""
    if not isinstance(other, Register):
        given = f"{other!r} ({type(other).__name__})"
        return k._error(f"`{op}` of {k._shown(r)} ({r.type.ptx}) and {given}: expected a register or a number")
    a, b = mistakes.grouped(k._python(r)), mistakes.grouped(k._python(other))
    if op in ("<<", ">>"):
        says, made = (
            f"the shift amount must have 32 bits; {k._shown(other)} is {other.type.ptx}",
            k._converted(TYPES["u32"], other),
        )
    else:
        both = f"{k._shown(r)} is {r.type.ptx}, {k._shown(other)} is {other.type.ptx}"
        one = (
            "a predicate is not a number"
            if "pred" in (r.type.ptx, other.type.ptx)
            else "an instruction works on one type"
        )
        says = f"{both}: {one}"
        made = k._converted(r.type, other)
        if not fixed and (not made or (_rank(r.type) < _rank(other.type) and _has(op, other.type))):
            widened = k._converted(other.type, r)
            a, made = (widened, b) if widened and _has(op, other.type) else (a, made)
    write = f"{a} {op}{'=' if fixed else ''} {mistakes.grouped(made)}" if made else ""
    return k._error(says, write)


def _has(op: str, cls: type[Any]) -> bool:
    return (op, cls.ptx) in OPCODES


def _rank(cls: type[Any]) -> tuple[bool, int, bool, bool]:
    return cls.kind == "float", cls.bits, cls.kind != "bits", cls.kind == "signed"
