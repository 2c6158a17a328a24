"""Mistakes in kernels: each message is asserted whole, and what it tells the reader to write is Python."""

# ruff: noqa: F841

from __future__ import annotations

import ast
import linecache
import math
import re
import textwrap
from typing import Any

import pytest

import ptxlab.builder
from ptxlab.builder import Builder, bf16, f32, kernel, u32
from ptxlab.errors import BuildError
from ptxlab.isa import find_form

PARAMETERS = "n: u32, m: u32, i: s32, a: u64, x: f32, h: f16, l: f64, p: Ptr[f32], q: Ptr[f64]"
WORDS = {**vars(ptxlab.builder), "math": math}
REGISTER = "is a register, which has a value only when the kernel runs"
DECIDES = "decides when the kernel is built"


def refused(source: str, **options: Any) -> str:
    """The message of building the function `f` of a source."""
    linecache.cache["mistake.py"] = (len(source), None, source.splitlines(keepends=True), "mistake.py")
    names: dict[str, Any] = dict(WORDS)
    exec(compile(source, "mistake.py", "exec"), names)
    with pytest.raises(BuildError) as caught:
        kernel(**options)(names["f"])()
    return str(caught.value)


def message(marked: str, says: str, write: str) -> tuple[str, str]:
    """A source without its marks, and the message about what they mark."""
    before, piece, after = re.split("[«»]", marked)
    source = before + piece + after
    number, column = before.count("\n"), len(before.rpartition("\n")[2].lstrip())
    text = f"mistake.py:{number + 1}: {says}\n    {source.splitlines()[number].strip()}\n"
    text += "    " + " " * column + "^" + "~" * (len(piece) - 1)
    if write:
        text += "\n  " + ("" if write.startswith("syntax: ") else "write:  ") + write.replace("\n", "\n" + " " * 10)
    return source, text


def is_python(text: str) -> bool:
    """Whether lines are Python, with a body where they begin a block or decorate a function."""
    for tail in ("", "\n    pass", "\ndef k(): pass"):
        try:
            ast.parse(textwrap.dedent(text) + tail)
        except SyntaxError:
            continue
        return True
    return False


MISTAKES = [
    # -- flow: a register has no value while Python runs; bodies, guards and loops
    ("if «n > 3»: pass", f"`n > 3` {REGISTER}; `if` {DECIDES}", "with k.if_(n > 3):"),
    ("«if n: pass»", f"%n {REGISTER}; `if` {DECIDES}", "with k.if_(n):"),
    ("while «n > 3»: pass", f"`n > 3` {REGISTER}; `while` {DECIDES}", "with k.while_(lambda: n > 3):"),
    ("t = «n > 3 and n < 5»", f"`n > 3` {REGISTER}; `and` {DECIDES}", "(n > 3) & (n < 5)"),
    ("t = «n > 3 or m»", f"`n > 3` {REGISTER}; `or` {DECIDES}", "(n > 3) | (m)"),
    ("t = n > 3; s = «not t»", f"%t {REGISTER}; `not` {DECIDES}", "~t"),
    ("t = 1 if «n > 3» else m", f"`n > 3` {REGISTER}; `a if p else b` {DECIDES}", "k.select(n > 3, 1, m)"),
    (
        "«1 < n < m»",
        f"`1 < n < m` {REGISTER}; a chain of comparisons means `and`, which {DECIDES}",
        "(1 < n) & (n < m)",
    ),
    ("«max(n, m)»", f"`max(n, m)` {REGISTER}; Python's `max` {DECIDES}", "k.max(n, m)"),
    (
        "«n in (1, 2)»",
        f"`n in (1, 2)` {REGISTER}; `in` compares when the kernel is built",
        "(x == a) | (x == b)",
    ),
    (
        "«bool(n)»",
        f"%n {REGISTER}; its truth value is asked for when the kernel is built",
        "with k.if_(p):",
    ),
    (
        "for _ in «range(2, n)»:\n    pass",
        f"%n {REGISTER}; `range` needs a number when the kernel is built",
        "with k.loop(n, 2) as i:",
    ),
    (
        "«list(n)»",
        "%n is one register; there is nothing to iterate over when the kernel is built",
        "with k.loop(n) as i:",
    ),
    (
        "acc = k.vars(f32, 4, 0.0)\n«acc[n]»",
        f"%n {REGISTER}; a Python list is indexed when the kernel is built",
        "tile = k.shared(f32, n)",
    ),
    (
        "«math.exp(x)»",
        f"%x {REGISTER}; Python's mathematics works when the kernel is built",
        "k.sqrt(x), k.exp2(x), ...",
    ),
    (
        "with k.if_(n > 3):\n    p[0] = 1.0\np[1] = 2.0\nwith «k.else_()»:\n    p[0] = 2.0",
        "k.else_() must follow its `with k.if_(...)` directly; something was emitted between it and its `if_`",
        "with k.if_(p):\n    ...\nwith k.else_():\n    ...",
    ),
    (
        "with k.if_(n > 3):\n    p[0] = 1.0\nwith k.else_():\n    p[0] = 2.0\nwith «k.else_()»:\n    p[0] = 3.0",
        "k.else_() must follow its `with k.if_(...)` directly; this `if_` has its `else_` already",
        "with k.if_(p):\n    ...\nwith k.else_():\n    ...",
    ),
    (
        "with k.if_(n > 3):\n    with «k.else_()»:\n        p[0] = 3.0",
        "k.else_() must follow its `with k.if_(...)` directly; there is no `if_` in this body",
        "with k.if_(p):\n    ...\nwith k.else_():\n    ...",
    ),
    ("«k.if_(n > 3)»\np[0] = 1.0", "k.if_(...) does nothing without `with`", "with k.if_(n > 3):"),
    (
        "if «k.if_(n > 3)»:\n    p[0] = 1.0",
        "`if k.if_(...):` would decide when the kernel is built",
        "with k.if_(n > 3):",
    ),
    (
        "with «k.if_(1 < 2)»:\n    pass",
        "k.if_ got True, which Python knows when the kernel is built; a plain `if` chooses what is emitted",
        "if ...:",
    ),
    ("«k.return_if(n)»", "k.return_if wants a predicate, %n is u32", "k.return_if(n != 0)"),
    (
        "with «k.while_(n < 3)»:\n    pass",
        "a while loop computes its condition before every round, so it takes a function",
        "with k.while_(lambda: n < 3):",
    ),
    (
        "with k.guard(n > 2):\n    with «k.guard(m > 2)»:\n        pass",
        "an instruction has one guard; combine the two",
        "with k.guard(a & b):",
    ),
    (
        "with k.guard(n > 2):\n    with «k.if_(n > 3)»:\n        pass",
        "k.if_ inside `with k.guard(...)`: a guard stands before single instructions",
        "with k.if_(p):",
    ),
    (
        "with «k.loop(0, n, -1)»:\n    pass",
        "counting down needs a signed type, this loop counts in u32: below 0 it would wrap around",
        "k.loop(k.cvt(s32, stop), start, -1)",
    ),
    ("with «k.loop(x)»:\n    pass", "a loop counts integers, stop %x is f32", "k.cvt(u32, x)"),
    ("with «k.loop(n, i)»:\n    pass", "a loop counts in one type, found u32 and s32", "k.cvt(u32, i)"),
    ("«k.break_if(n > 3)»", "k.break_if stands in no loop", "with k.loop(n) as j:"),
    # -- types: operands, immediates, pointers and vectors
    ("«n * x»", "%n is u32, %x is f32: an instruction works on one type", "k.cvt(f32, n) * x"),
    ("«a + n»", "%a is u64, %n is u32: an instruction works on one type", "a + k.cvt(u64, n)"),
    ("«a << a»", "a shift is by a 32-bit number, %a is u64", "a << k.cvt(u32, a)"),
    ("«n + (n > 3)»", "%n is u32, `n > 3` is pred: a predicate is not a number", "k.select(n > 3, 1, 0, type=u32)"),
    ("«n / 2»", "`/` divides floats, %n is u32; integer division is `//`", "n // 2"),
    ("«x**2»", "`**` has no instruction; multiply", "x * x"),
    ("«x & 1»", "`&` works on bits, %x is f32", "k.bitcast(u32, x)"),
    ("«n * 2.5»", "2.5 is not a whole number, and the instruction works on u32", ""),
    ("«n + 2**32»", "4294967296 does not fit u32 (0 to 4294967295)", ""),
    ("«h * 2.0»", "f16 instructions take no immediates; put 2.0 into a register first", "number = k.var(f16, 2.0)"),
    ("total = «k.var(f32, n)»", "the variable is f32, %n is u32", "k.var(f32, k.cvt(f32, n))"),
    ("total = k.var(f32, 0.0)\n«total.set(n)»", "%total is f32, %n is u32", "total.set(k.cvt(f32, n))"),
    ("«p[0]» = n", "the pointer is Ptr[f32], %n is u32", "k.cvt(f32, n)"),
    ("«p + x»", "a pointer moves by an integer of 32 or 64 bits, %x is f32", "k.cvt(u32, x)"),
    ("«p += 4»", "this pointer is a value, not a variable; `+=` would only rebind the Python name", "p = k.var_ptr(p)"),
    ("tile = k.shared(f32, 64)\n«tile[a]»", "shared addresses have 32 bits, %a is u64", "k.cvt(u32, a)"),
    (
        "«k.load(q, 4, vector=4)»",
        "a vector of 4 f64 is not one access; at most 4 elements and 16 bytes are",
        "vector=2",
    ),
    ("«k.load(p, 6, vector=4)»", "6 elements are not whole vectors of 4", "vector=1"),
    (
        "«k.load(p + 1, 4, vector=4)»",
        "the constant offset 4 is not a multiple of the vector's 16 bytes; the access would be misaligned",
        "vector=1",
    ),
    ("tile = k.shared(f32, (4, 4))\n«tile[1]»", "this pointer has 2 dimensions, the index has 1", "p[i, j]"),
    # -- variables: rebinding, aliases, values that are gone
    (
        "score = k.var(f32, 0.0)\nscore = «score * x»",
        "`score = score * x` would rebind the Python name `score`; the variable %score would keep its old value",
        "score.set(score * x)",
    ),
    (
        "row_max = k.var(f32, 0.0)\nwith k.loop(n) as j:\n    new_max = k.max(row_max, p[j])\n    «row_max = new_max»",
        "inside `with k.loop(...)` the Python name `row_max` was bound to something else; the variable %row_max "
        "keeps its old value",
        "row_max.set(new_max)",
    ),
    (
        "acc = k.vars(f32, 4, 0.0)\nwith k.loop(n):\n    for d in range(4):\n        «acc[d] = acc[d] * 2.0»",
        "inside `with k.loop(...)` the Python name `acc[0]` was bound to something else; the variable %acc0 keeps "
        "its old value",
        "acc[d].set(acc[d] * 2.0)",
    ),
    (
        "row_max = k.var(f32, 0.0)\nold = row_max\n«row_max.set(k.max(row_max, x))»\nk.exp2(old - row_max)",
        "`old` is bound to the same variable %row_max, so it would read the new value after this .set; keep the "
        "old value in a register of its own",
        "old = k.copy(row_max)",
    ),
    (
        "acc = k.vars(f32, 4, 0.0)\nfirst = acc[0]\n«acc[0] += 1.0»",
        "`first` is bound to the same variable %acc0, so it would read the new value after this +=; keep the old "
        "value in a register of its own",
        "first = k.copy(acc[0])",
    ),
    (
        "total = n + 1\n«total += n»",
        "%total is a value, not a variable; `+=` would only rebind the Python name",
        "total = k.var(u32, ...)",
    ),
    ("total = n + 1\n«total.set»(n)", "%total is a value, not a variable; it has no .set()", "total = k.var(u32, ...)"),
    (
        "acc = k.var(f32, 0.0)\nparts = [acc * 2.0]\nacc.set(parts[0])\n«p[0]» = parts[0]",
        "the value of `acc * 2.0` was written straight into %acc by .set() and has no register of its own; give it "
        "a name first",
        "value = acc * 2.0\nacc.set(value)",
    ),
    (
        "with k.if_(n > 3):\n    first = p[0] + 1.0\n«p[1]» = first",
        "%first was computed inside `with k.if_(...)`, which may not have run; declare a variable before it and "
        "set that inside",
        "first = k.var(f32, 0)\nwith k.if_(...):\n    first.set(...)",
    ),
    # -- instructions and probes
    ("«k.fma(x, x)»", "fma takes 3 operands (a, b, c), found 2", "syntax: fma.rnd{.ftz}{.sat}.f32  d, a, b, c"),
    (
        '«k.op("fma.rn.f32", x, x)»',
        "fma.rn.f32 takes 3 operands (a, b, c), found 2",
        "syntax: fma.rnd{.ftz}{.sat}.f32  d, a, b, c",
    ),
    ("«k.fma(x, x, n)»", "fma.rn.f32 wants f32, %n is u32", "k.cvt(f32, n)"),
    (
        "«k.shfl(x, 1, 31, 0xFFFFFFFF)»",
        "shfl needs .mode here, one of .up .down .bfly .idx; found .b32",
        "syntax: shfl.sync.mode.b32  d|p:pred, a, b:b32, c:b32, membermask:b32",
    ),
    (
        '«k.fma(x, x, x, rnd="up")»',
        "fma: rnd is one of rn rz rm rp; found 'up'",
        "syntax: fma.rnd{.ftz}{.sat}.f32  d, a, b, c",
    ),
    (
        '«k.op("fma.f32", x, x, x)»',
        "fma needs .rnd here, one of .rn .rz .rm .rp; found .f32",
        "syntax: fma.rnd{.ftz}{.sat}.f32  d, a, b, c",
    ),
    ("«k.barier»()", "k has no `barier`; did you mean barrier or mbarrier?", 'k.op("opcode.with.modifiers", ...)'),
    (
        "«k.probe(n, 0, 1, x, l, 1.0)»",
        "k.probe stores m, l and rescale in one float type, f32 or f64; l is f64",
        "k.cvt(f32, l)",
    ),
    ("«k.probe(a, 0, 1, x, x, 1.0)»", "k.probe counts rows and tiles in u32, row is u64", "k.cvt(u32, a)"),
]


@pytest.mark.parametrize(("body", "says", "write"), MISTAKES)
def test_mistakes(body: str, says: str, write: str) -> None:
    """The place, what was found, the line with the piece that is meant, and the line to write."""
    source, whole = message(f"def f(k, {PARAMETERS}):\n{textwrap.indent(body, '    ')}", says, write)
    assert refused(source) == whole
    if not write.startswith("syntax: "):
        assert is_python(write)
        opcodes = set(re.findall(r'k\.op\("([^"]+)"', write)) - {"opcode.with.modifiers"}  # a form to fill in
        assert all(find_form(opcode) is not None for opcode in opcodes)


def test_what_is_no_mistake() -> None:
    @kernel
    def f(k: Builder, n: u32, x: f32) -> None:
        for _ in range(2):
            score = k.var(f32, 0.0)
        with k.loop(n):
            score = k.var(f32, 1.0)  # declaring again is no rebinding
        row_max = k.var(f32, 0.0)
        old = k.copy(row_max)  # keeps the old value
        row_max.set(k.max(row_max, x))
        difference = old - row_max
        for v in (row_max,):  # a loop variable is no alias
            v.set(difference)

    assert "%score_3, 0f3F800000;" in f.ptx
    assert "%difference, %old, %row_max;" in f.ptx


def test_a_register_of_another_kernel() -> None:
    kept: list[Any] = []

    @kernel
    def first(k: Builder, n: u32) -> None:
        kept.append(n)

    @kernel
    def second(k: Builder, m: u32) -> None:
        m + kept[0]

    first()
    with pytest.raises(BuildError, match="%n belongs to another kernel; registers do not outlive theirs"):
        second()


def test_errors_are_those_of_python_too() -> None:
    @kernel
    def unknown(k: Builder, x: f32) -> None:
        k.barier()

    @kernel
    def truth(k: Builder, n: u32) -> None:
        if n > 3:
            pass

    for function, kind in ((unknown, AttributeError), (truth, TypeError)):
        with pytest.raises(kind):
            function()


def test_an_instruction_that_the_target_lacks() -> None:
    @kernel(arch="sm_80")
    def f(k: Builder, a: bf16) -> None:
        a + a

    with pytest.raises(BuildError) as caught:
        f()
    assert "add.rn.bf16 needs sm_90 or later; this kernel is built for sm_80\n" in str(caught.value)
    assert str(caught.value).endswith('  write:  @kernel(arch="sm_90")')
    assert "add.rn.bf16" in f(arch="sm_90").ptx


PROBE = "k.probe(row, tile, tiles, row_max, row_sum, rescale)"


@pytest.mark.parametrize(
    ("head", "options", "says", "write"),
    [
        ("f(k, «x: Ptr[float]»)", {}, "`x`: a pointer points to a PTX type, found <class 'float'>", "x: Ptr[f32]"),
        (
            "f(k, x: Ptr[f32], «dim: int»)",
            {},
            "f needs its Python parameter `dim`; a kernel parameter has a PTX type",
            "f(dim=...)",
        ),
        ("f(k, «größe: u32»)", {}, "'größe' is no PTX name; letters, digits, _ and $ are", "gr__e"),
        ("f(«k»)", {"name": "a-b"}, "'a-b' is no PTX name; letters, digits, _ and $ are", 'name="a_b"'),
        ("f(«k», n: u32)", {"probes": True}, "f is built with probes=True and never calls k.probe", PROBE),
        (
            "f(k, «probe: Ptr[f32]»)",
            {},
            "`probe` is the name of the parameter that a probes=True build adds",
            "probed",
        ),
    ],
)
def test_heads(head: str, options: dict[str, Any], says: str, write: str) -> None:
    source, whole = message(f"def {head}: ...", says, write)
    assert refused(source, **options) == whole


def test_an_annotation_that_cannot_be_resolved() -> None:
    said = refused("from __future__ import annotations\ndef f(k, x: nothing): ...")
    assert said.startswith("mistake.py:2: the annotation of `x` cannot be resolved: name 'nothing' is not defined\n")
