"""Statements as C writes them and PTX does not: `if`, `for`, `int x;`, `x = y + z;`, `__syncthreads();`, `1.0f`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from ptxlab.isa import TABLE, types
from ptxlab.isa.cuda_lines import lines
from ptxlab.isa.meanings import meant
from ptxlab.isa.special_registers import SPECIAL_REGISTERS

TypeOf = Callable[[str], str]
"""Gives the type that a register is declared with, "" where it is not."""


class InC(NamedTuple):
    """What is wrong with a statement, and the line to write."""

    says: str
    write: str


_NAME = r"[%$A-Za-z_][\w$.]*"
_VALUE = r"[-~]?[%$\w][\w$.]*"
_NUMBER = re.compile(
    r"(?<![\w.%])(?:((?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)[fF]|(0[xX][0-9a-fA-F]+|\d+)(?:u|[uU]?[lL]{1,2}))\b"
)
_DECLARATION = re.compile(
    rf"((?:(?:const|static|volatile|register|__shared__)\s+)*)((?:unsigned\s+|long\s+)*[A-Za-z]\w*)\s*(\*\s*|\s)"
    rf"({_NAME}(?:\s*,\s*{_NAME})*)\s*((?:\[\s*\w*\s*\])*)\s*(?:=(?!=)\s*(.*))?"
)
_ASSIGNMENT = re.compile(rf"({_NAME}(?:\s*\[.*?\])?)\s*(?:(<<|>>|[-+*/%&|^]?)=(?!=)\s*(.+)|(\+\+|--))")
_OPERATION = re.compile(rf"({_VALUE})\s*(<<|>>|<=|>=|==|!=|[-+*/&|^<>]|%(?=\s))\s*({_VALUE})")
_ELEMENT = re.compile(rf"({_NAME})\s*\[\s*(.*?)\s*\]")
_TRUTH = {"true": "1", "false": "0"}
_OPCODES = {
    "+": "add", "-": "sub", "*": "mul.lo", "/": "div", "%": "rem", "&": "and", "|": "or", "^": "xor", "<<": "shl",
    ">>": "shr", "<": "setp.lt", "<=": "setp.le", ">": "setp.gt", ">=": "setp.ge", "==": "setp.eq", "!=": "setp.ne",
}  # fmt: skip
_FLOW = {
    "for": "mov.u32 %i, 0; loop: // at the end: add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %n; @%p bra loop;",
    "do": "loop: // at the end: @%p bra loop;",
    "else": "bra done; otherwise: // at the end: done:",
    "switch": "setp.eq.s32 %p, %x, 0; @%p bra case_0;",
    "case": "case_0:",
    "break": "bra done;",
    "continue": "bra next;",
    "goto": "bra next;",
    "return": "ret;",
}
_DIRECTIVES = ("reg", "shared", "local", "param", "global", "const", "version", "target", "entry", "visible")
_OPERANDS = (
    (r"(call\S*\s+[\w$]+)\s*\((.*)\)", r"\1, (\2);", "operands are separated by commas"),
    (r"(bar\S*)\s*\(\s*\)", r"\1 0;", "operands are written without parentheses"),
    (r"([\w.:]+)\s*\((.*)\)", r"\1 \2;", "operands are written without parentheses"),
    (rf"([\w.:]+\s+(?:{_NAME}|\[[^\]]*\]))\s*=\s*(.*)", r"\1, \2;", "commas separate operands, the result is first"),
)
"""Operands of an instruction as C writes them, as PTX does, and what is said."""


def number(text: str) -> str:
    """A number as PTX writes it: without C's `f`, `u` and `l` at its end."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        return ""
    plain: str = found[1] or found[2]
    return plain if found[2] or "." in plain or "e" in plain.lower() else f"{plain}.0"


def in_c(line: str, type_of: TypeOf) -> InC | None:
    """What a statement of C is in PTX; None for one that is not C. line: its text from its first word on."""
    found = _in_c(line, type_of)
    return found and found._replace(write=_with_specials(found.write))


def _in_c(line: str, type_of: TypeOf) -> InC | None:
    text = re.sub(r"^\*\s*(\w+)", r"\1[0]", re.split(r"//|/\*|[;{]", line)[0].strip())
    word = re.split(r"\W", text, maxsplit=1)[0]
    rest = text[len(word) :].strip()
    if word in _DIRECTIVES and rest.startswith("."):
        return InC("directives begin with a dot", f".{text};")
    if word not in TABLE and word.lower() in TABLE:
        opcode = re.split(r"\s", text, maxsplit=1)[0]
        return InC("opcodes are written in small letters", f"{opcode.lower()}{text[len(opcode) :]};")
    if word in TABLE:
        return _instruction(text, type_of)
    if word in ("if", "elif", "while"):
        says = f"PTX has no {word!r}: setp compares, and a branch is taken where its predicate holds"
        return InC(says, _branch(word, rest, type_of))
    if word in _FLOW and not rest.startswith(("=", "[")):
        what = {"return": "it is called ret", "goto": "it is called bra"}
        write = f"bra {rest};" if word == "goto" and rest else _FLOW[word]
        return InC(f"PTX has no {word!r}; {what.get(word, 'labels and branches are its control flow')}", write)
    if (found := _DECLARATION.fullmatch(text)) and (type_ := "u64" if "*" in found[3] else ptx_type(found[2])):
        return _declared(found, type_, type_of)
    if found := re.fullmatch(r"([A-Za-z_]\w*)\s*\((.*)\)", text):
        return _called(found[1], found[2])
    if found := _ASSIGNMENT.fullmatch(text):
        target, operator, value = found[1], found[2] or (found[4] or "")[:1], found[3] or "1"
        write = assigned(target, f"{target} {operator} {value}" if operator else value, type_of)
        sign = found[4] or f"{operator}="
        return InC(f"PTX has no {sign!r}: an instruction computes one thing, its result comes first", write)
    return None


def _instruction(text: str, type_of: TypeOf) -> InC | None:
    """An instruction with an operand as in C."""
    plain = _NUMBER.sub(lambda n: number(n[0]), text)
    if plain != text:
        return InC("a number of PTX has no f, u or l at its end", f"{plain};")
    for pattern, write, says in _OPERANDS:
        if found := re.fullmatch(pattern, text):
            return InC(says, found.expand(write))
    found = re.fullmatch(rf"([\w.:]+)\s+({_NAME})\s*,\s*(.*)", text)
    if found and (both := _OPERATION.fullmatch(found[3])):
        write = f"{found[1]} {found[2]}, {both[1]}, {both[3]};"
        if found[1].startswith("mov"):
            write = assigned(found[2], found[3], type_of)
        return InC("an operand is a register or a constant; each operation is an instruction", write)
    return None


def assigned(target: str, value: str, type_of: TypeOf) -> str:
    """The instructions for `target = value;`; "" where the value is more than one operation, a call or an element."""
    value = _NUMBER.sub(lambda n: number(n[0]), value)
    if element := _ELEMENT.fullmatch(target):
        data = _register(value, type_of) if re.fullmatch(_VALUE, value) else "%value"
        return f"{_address(element, type_of)} st.global.{_type(value, type_of)} [%address], {data};"
    target, type_ = _register(target, type_of), _type(f"{target} {value}", type_of)
    if element := _ELEMENT.fullmatch(value):
        return f"{_address(element, type_of)} ld.global.{type_} {target}, [%address];"
    if both := _OPERATION.fullmatch(value):
        return _operation(target, type_, both, type_of)
    if product := re.fullmatch(rf"({_VALUE}\s*[*/]\s*{_VALUE})\s*([-+]\s*{_VALUE})", value):
        first, second = _OPERATION.fullmatch(product[1]), _OPERATION.fullmatch(f"%v1 {product[2]}")
        return " ".join(_operation(x, type_, y, type_of) for x, y in (("%v1", first), (target, second)) if y)
    if (cast := re.fullmatch(rf"\(([\w ]+)\)\s*({_VALUE})", value)) and (to := ptx_type(cast[1])):
        source = _type(cast[2], type_of)
        rounding = "rn." if to[0] == "f" != source[0] else "rzi." if source[0] == "f" != to[0] else ""
        return f"cvt.{rounding}{to}.{source} {target}, {_register(cast[2], type_of)};"
    if (call := re.fullmatch(rf"({_NAME})\s*\((.*)\)", value)) and (known := lines(call[1])) and known.ptx:
        given = [_register(each.strip(), type_of) for each in call[2].split(",") if each.strip()]
        return re.sub(r"\b(y|old)\b", lambda _: target, known.ptx_for(given))
    if type_of(target) == "pred":
        return f"setp.ne.s32 {target}, {_TRUTH.get(value, value)}, 0;"
    return f"mov.{type_} {target}, {_register(value, type_of)};" if re.fullmatch(_VALUE, value) else ""


def _operation(target: str, type_: str, both: re.Match[str], type_of: TypeOf) -> str:
    opcode = _OPCODES[both[2]]
    suffix = f"b{type_[1:]}" if opcode in ("and", "or", "xor", "shl") else type_
    if type_[0] == "f":
        opcode = {"mul.lo": "mul", "div": "div.rn"}.get(opcode, opcode)
    return f"{opcode}.{suffix} {target}, {_register(both[1], type_of)}, {_register(both[3], type_of)};"


def _address(element: re.Match[str], type_of: TypeOf) -> str:
    index = _register(element[2], type_of) if re.fullmatch(_VALUE, element[2]) else "%index"
    return f"mad.wide.u32 %address, {index}, 4, {_register(element[1], type_of)};"


def _type(text: str, type_of: TypeOf) -> str:
    """The type to compute with: that of the first register that is declared; bits are signed integers, as in C."""
    types_ = (type_of(name) or type_of(f"%{name}") for name in re.findall(_NAME, text))
    declared = next((type_ for type_ in types_ if type_ not in ("", "pred")), "")
    if declared:
        return re.sub(r"^b", "s", declared)
    return "f32" if re.search(r"(?<![\w%])\d*\.\d", text) else "u32" if "Idx" in text else "s32"


def _with_specials(write: str) -> str:
    """The line with special registers read by mov, as only mov and cvt do."""
    computing = " ".join(part for part in write.split("; ") if not part.startswith(("mov", "cvt")))
    read = dict.fromkeys(re.findall(r"%(?:n?tid|n?ctaid|laneid|warpid|clock)\b(?:\.[xyz])?", computing))
    for n, special in enumerate(read, 1):
        write = re.sub(rf"(?<!mov\.u32 ){re.escape(special)}(?![\w.])", f"%t{n}", write)
    return "".join(f"mov.u32 %t{n}, {special}; " for n, special in enumerate(read, 1)) + write


def _branch(word: str, rest: str, type_of: TypeOf) -> str:
    """`if (a < b) ...` and `while (a < b) ...`."""
    found = re.match(rf"\(?\s*(?:{_OPERATION.pattern}|(!?)(1|{_NAME}))", rest)
    a, sign, b, negated, plain = found.groups() if found else (None, None, None, None, "x")
    p, test = "%p", f"setp.ne.s32 %p, {_register(plain or '', type_of)}, 0; "
    if a:
        test = f"{assigned('%p', f'{a} {sign} {b}', type_of)} "
    elif type_of(plain) == "pred":
        p, test = plain, ""
    if word == "while" and plain in ("1", "true"):
        return "loop: // at the end: bra loop;"
    if re.search(r"\b(?:return|ret)$", rest):
        return f"{test}@{negated or ''}{p} ret;"
    if jump := re.search(r"\b(?:bra|goto)\s+([\w$]+)$", rest):
        return f"{test}@{negated or ''}{p} bra {jump[1]};"
    p = p if negated else f"!{p}"
    loop, again = ("loop: ", "bra loop; ") if word == "while" else ("", "")
    return f"{loop}{test}@{p} bra done; // at the end: {again}done:"


def _declared(found: re.Match[str], type_: str, type_of: TypeOf) -> InC:
    qualifiers, kind, _, name, sizes, value = found.groups()
    if "__shared__" in qualifiers:
        size = max(1, types.width(type_) // 8)
        return InC("variables of PTX have a space and a type", f".shared .align {size} .{type_} {name}{sizes or ''};")
    register = ", ".join(n if n.startswith("%") else f"%{n}" for n in re.split(r"\s*,\s*", name))
    count = re.search(r"\w+", sizes or "") or re.search(r"(?<=[a-z])[234]$", kind)
    write = f".reg .{type_} {register}<{count[0]}>;" if count else f".reg .{type_} {register};"
    if value:
        write += " " + assigned(register, value, lambda name: type_ if name == register else type_of(name))
    return InC("registers of PTX are declared with .reg and a type", write)


def _called(name: str, given: str) -> InC:
    known, arguments = lines(name), [_special(each.strip().lstrip("&")) for each in given.split(",") if each.strip()]
    if name in ("asm", "__asm__"):
        inner = re.search(r'"(.*?)"', given)
        return InC("asm is C++ around PTX; here is PTX alone", inner[1] if inner else "")
    if name == "printf":
        return InC("printf is CUDA C++", "call (%r), vprintf, (format, arguments);")
    if known is None or not known.ptx:
        return InC("a function of PTX is called by call", f"call {name}, ({', '.join(arguments)});")
    return InC(f"{name} is CUDA C++", known.ptx_for(arguments))


def _register(name: str, type_of: TypeOf) -> str:
    """A value as PTX writes it; a name that is declared nowhere gets the % of registers."""
    if type_of(f"%{name}"):
        return f"%{name}"
    special = _special(name)
    plain = special != name or not re.match(r"[A-Za-z_]", name) or type_of(name)
    return special if plain else f"%{name}"


def value_in_ptx(name: str, opcode: str) -> str:
    """What PTX writes for a name of C's, `threadIdx.x`, `tid.x` and `INFINITY`; "" where that is none."""
    if (special := _special(name)) != name or f"%{name}" in SPECIAL_REGISTERS:
        return special if special != name else f"%{name}"
    bits = {"inf": ("0f7F800000", "0d7FF0000000000000"), "-inf": ("0fFF800000", "0dFFF0000000000000")}
    bits |= {"nan": ("0f7FFFFFFF", "0d7FFFFFFFFFFFFFFF")}
    found = bits.get(name.lower().replace("infinity", "inf"))
    return found[".f64" in opcode] if found else ""


def _special(name: str) -> str:
    """A value as PTX writes it: `threadIdx.x` is `%tid.x`, and `1.0f` is 1.0."""
    first, dot, element = name.partition(".")
    known = lines(first)
    return known.ptx + dot + element if known and known.ptx.startswith("%") else number(name) or name


def ptx_type(words: str) -> str:
    """The PTX type of one of C's, "" where that is none."""
    words = " ".join(words.split())
    if words in ("auto", "let", "var"):
        return "b32"
    word = re.sub(r"^unsigned (long )?long$", "ulong", re.sub(r"^long long$", "long", words))
    word = re.sub(r"^unsigned (int|char|short)$", r"u\1", re.sub(r"(?<=[a-z])[234]$", "", word))
    return next((type_ for type_ in meant(word) if type_ in types.WIDTH or type_ == "pred"), "")
