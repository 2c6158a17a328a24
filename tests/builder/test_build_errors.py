"""Mistakes in kernels: each message is asserted whole, and what it tells the reader to write is Python."""

# ruff: noqa: F841

from __future__ import annotations

import ast
import itertools
import linecache
import math
import re
import textwrap
from typing import Any

import numpy as np
import pytest

import ptxlab.builder
from ptxlab.builder import Builder, bf16, f32, kernel, u32
from ptxlab.errors import BuildError
from ptxlab.isa import find_form
from ptxlab.isa.cuda_lines import LINES
from ptxlab.text import parse
from ptxlab.text.validate import validate

PARAMETERS = "n: u32, m: u32, i: s32, a: u64, x: f32, h: f16, l: f64, p: Ptr[f32], q: Ptr[f64]"
WORDS = {**vars(ptxlab.builder), "math": math, "np": np}
REGISTER = "is a register, which has a value only when the kernel runs"
DECIDES = "is evaluated when the kernel is built"
ONE_LOOP = "k.loop takes one argument without a name: where the loop stops"
KEYWORDS = ": modifiers and types are arguments"
PYTHON = "a register has a value only when the kernel runs; Python says: "
LD = "ld{.weak}{.space}{.cop}{.level1}{.L2::cache_hint}{.prefetch}.vec.type  d:vec, [a]{, policy:b64}"
MATHEMATICS = "Python's mathematics works when the kernel is built"
ATOM = "atom{.order}{.scope}{.space}.operation{.L2::cache_hint}.type  d, [a], b{, policy:b64}"


def refused(source: str, **options: Any) -> str:
    """The message of building the function `f` of a source."""
    linecache.cache["mistake.py"] = (len(source), None, source.splitlines(keepends=True), "mistake.py")
    names: dict[str, Any] = dict(WORDS)
    exec(compile(source, "mistake.py", "exec"), names)
    with pytest.raises(BuildError) as caught:
        kernel(**options)(names["f"])()
    with pytest.raises(BuildError, match=re.escape(str(caught.value))):
        ptxlab.launch(kernel(**options)(names["f"]), 1, 32)
    assert isinstance(caught.value, AttributeError) or " has no `" not in str(caught.value)
    assert isinstance(caught.value, TypeError) or REGISTER not in str(caught.value)
    return str(caught.value)


def message(marked: str, says: str, write: str) -> tuple[str, str]:
    """A source without its marks, and the message about what they mark."""
    before, piece, after = re.split("[«»]", marked)
    source = before + piece + after
    number, column = before.count("\n"), len(before.rpartition("\n")[2].lstrip())
    text = f"mistake.py:{number + 1}: {says}\n    {source.splitlines()[number].strip()}\n"
    text += "    " + " " * column + "^" + "~" * (len(piece) - 1)
    if write:
        text += "\n  " + (write if write.startswith("syntax: ") else "write:  " + write.replace("\n", "\n" + " " * 10))
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
    ("«1 < n < m»", f"`1 < n < m` {REGISTER}; a chain of comparisons means `and`, which {DECIDES}",
     "(1 < n) & (n < m)"),
    ("«max(n, m)»", f"`max(n, m)` {REGISTER}; Python's `max` {DECIDES}", "k.max(n, m)"),
    ("«n in (1, 2)»", f"`n in (1, 2)` {REGISTER}; `in` is evaluated when the kernel is built", "(x == a) | (x == b)"),
    ("«bool(n)»", f"%n {REGISTER}; Python asks for its truth value when the kernel is built", "with k.if_(p):"),
    ("for _ in «range(2, n)»:\n    pass", f"%n {REGISTER}; `range` needs a number when the kernel is built",
     "with k.loop(n, start=2) as i:"),
    ("«list(n)»", "%n is one register; there is nothing to iterate over when the kernel is built",
     "with k.loop(n) as i:"),
    ("acc = k.vars(f32, 4, 0.0)\n«acc[n]»", f"%n {REGISTER}; a Python list is indexed when the kernel is built",
     "tile = k.shared(f32, n)"),
    ("«math.exp(x)»", f"%x {REGISTER}; {MATHEMATICS}", "k.exp2(x * 1.4426950408889634)"),
    ("«float(k.tid.x)»", f"%tid_x {REGISTER}; {MATHEMATICS}", "k.cvt(f32, k.tid.x)"),
    ("«k.tid.x()»", "`k.tid.x` is a register, not a function", "k.tid.x"),
    ("«p(n + 1)»", "`p` is a pointer, not a function", "p[n + 1]"),
    ("«round(x)»", f"{PYTHON}type f32 doesn't define __round__ method", 'k.cvt(f32, x, rnd="rni")'),
    ("«f32(n)»", "`f32` is a type, not a function", "k.cvt(f32, n)"),
    ("«k.exit»", "a method that is not called writes nothing", "k.exit()"),
    ("«k.shared(float, 4)»", "expected a type (f32, u32, ...), found <class 'float'>", "f32"),
    ("«k.__shared__»(f32, 4)", "k has no `__shared__`", "k.shared(f32, 4)"),
    ("«k.ld(p, 4)»", "ld needs .vec here, one of .v2 .v4", f"syntax: {LD}\n  write:  k.load(p, 4)"),
    ("«p - n»", "no instruction subtracts from a pointer", "p + (0 - k.cvt(s32, n))"),
    ('«k.op("addd.f32", x, x)»', "unknown instruction 'addd'; did you mean add?", ""),
    ("k.op(«add».f32, x, x)", "`add` is not a Python name here; use the builder's own", 'k.op("add.f32")'),
    ("with k.if_(n > 3):\n    p[0] = 1.0\np[1] = 2.0\nwith «k.else_()»:\n    p[0] = 2.0",
     "k.else_() must follow its `with k.if_(...)` directly; an instruction was emitted between this `else_` "
     "and its `if_`",
     "with k.if_(p):\n    ...\nwith k.else_():\n    ..."),
    ("with k.if_(n > 3):\n    p[0] = 1.0\nwith k.else_():\n    p[0] = 2.0\nwith «k.else_()»:\n    p[0] = 3.0",
     "k.else_() must follow its `with k.if_(...)` directly; this `if_` has its `else_` already",
     "with k.if_(p):\n    ...\nwith k.else_():\n    ..."),
    ("with k.if_(n > 3):\n    with «k.else_()»:\n        p[0] = 3.0",
     "k.else_() must follow its `with k.if_(...)` directly; there is no `if_` in this body",
     "with k.if_(p):\n    ...\nwith k.else_():\n    ..."),
    ("«k.if_(n > 3)»\np[0] = 1.0", "k.if_(...) does nothing without `with`", "with k.if_(n > 3):"),
    ("if «k.if_(n > 3)»:\n    p[0] = 1.0", "`if k.if_(...):` would be evaluated when the kernel is built",
     "with k.if_(n > 3):"),
    ("with «k.if_(1 < 2)»:\n    pass",
     "k.if_ got True, which Python knows when the kernel is built; a plain `if` chooses what is emitted", "if ...:"),
    ("«k.return_if(n)»", "k.return_if needs a predicate, %n is u32", "k.return_if(n != 0)"),
    ("with «k.while_(n < 3)»:\n    pass",
     "a while loop computes its condition before every round, so it takes a function", "with k.while_(lambda: n < 3):"),
    ("with k.guard(n > 2):\n    with «k.guard(m > 2)»:\n        pass", "an instruction has one guard; combine the two",
     "with k.guard(a & b):"),
    ("with k.guard(n > 2):\n    with «k.if_(n > 3)»:\n        pass",
     "k.if_ inside `with k.guard(...)`: a guard applies to single instructions", "with k.if_(p):"),
    ("with «k.loop(0, start=n, step=-1)»:\n    pass",
     "counting down needs a signed type, this loop counts in u32: below 0 it would wrap around",
     "k.loop(k.cvt(s32, stop), start=..., step=-1)"),
    ("with «k.loop(x)»:\n    pass", "a loop counts integers, stop %x is f32", "k.cvt(u32, x)"),
    ("with «k.loop(n, start=i)»:\n    pass", "a loop counts in one type, found u32 and s32", "k.cvt(u32, i)"),
    ("«k.break_if(n > 3)»", "k.break_if is not inside a loop", "with k.loop(n) as j:"),
    # -- types: operands, immediates, pointers and vectors
    ("«n * x»", "%n is u32, %x is f32: an instruction works on one type", "k.cvt(f32, n) * x"),
    ("«a + n»", "%a is u64, %n is u32: an instruction works on one type", "a + k.cvt(u64, n)"),
    ("«a << a»", "the shift amount must have 32 bits; %a is u64", "a << k.cvt(u32, a)"),
    ("«n + (n > 3)»", "%n is u32, `n > 3` is pred: a predicate is not a number", "n + k.select(n > 3, 1, 0, type=u32)"),
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
    ("«p += 4»", "this pointer is a value, not a variable; `+=` would only rebind the Python name",
     "p = k.var_ptr(p)"),
    ("tile = k.shared(f32, 64)\n«tile[a]»", "shared addresses have 32 bits, %a is u64", "k.cvt(u32, a)"),
    ("«k.load(q, 4, vector=4)»", "a vector of 4 f64 does not fit one access: at most 4 elements and 16 bytes",
     "vector=2"),
    ("«k.load(p, 6, vector=4)»", "6 elements are not whole vectors of 4", "vector=1"),
    ("«k.load(p + 1, 4, vector=4)»",
     "the constant offset 4 is not a multiple of the vector's 16 bytes; the access would be misaligned", "vector=1"),
    ("tile = k.shared(f32, (4, 4))\n«tile[1]»", "this pointer has 2 dimensions, the index has 1", "p[i, j]"),
    # -- variables: rebinding, aliases, values that are gone
    ("score = k.var(f32, 0.0)\nscore = «score * x»",
     "`score = score * x` would rebind the Python name `score`; the variable %score would keep its old value",
     "score.set(score * x)"),
    ("row_max = k.var(f32, 0.0)\nwith k.loop(n) as j:\n    new_max = k.max(row_max, p[j])\n    «row_max = new_max»",
     "inside `with k.loop(...)` the Python name `row_max` was bound to something else; the variable %row_max "
     "keeps its old value", "row_max.set(new_max)"),
    ("acc = k.vars(f32, 4, 0.0)\nwith k.loop(n):\n    for d in range(4):\n        «acc[d] = acc[d] * 2.0»",
     "inside `with k.loop(...)` the Python name `acc[0]` was bound to something else; the variable %acc0 keeps "
     "its old value", "acc[d].set(acc[d] * 2.0)"),
    ("row_max = k.var(f32, 0.0)\nold = row_max\n«row_max.set(k.max(row_max, x))»\nk.exp2(old - row_max)",
     "`old` is bound to the same variable %row_max, so it would read the new value after this .set; keep the "
     "old value in a register of its own", "old = k.copy(row_max)"),
    ("acc = k.vars(f32, 4, 0.0)\nfirst = acc[0]\n«acc[0] += 1.0»",
     "`first` is bound to the same variable %acc0, so it would read the new value after this +=; keep the old "
     "value in a register of its own", "first = k.copy(acc[0])"),
    ("total = n + 1\n«total += n»", "%total is a value, not a variable; `+=` would only rebind the Python name",
     "total = k.var(u32, ...)"),
    ("total = n + 1\n«total.set»(n)", "%total is a value, not a variable; it has no .set()", "total = k.var(u32, ...)"),
    ("acc = k.var(f32, 0.0)\nparts = [acc * 2.0]\nacc.set(parts[0])\n«p[0]» = parts[0]",
     "the value of `acc * 2.0` was written straight into %acc by .set() and has no register of its own; give it "
     "a name first", "value = acc * 2.0\nacc.set(value)"),
    ("with k.if_(n > 3):\n    first = p[0] + 1.0\n«p[1]» = first",
     "%first was computed inside `with k.if_(...)`, which may not have run; declare a variable before it and "
     "set that inside", "first = k.var(f32, 0)\nwith k.if_(...):\n    first.set(...)"),
    # -- instructions and probes
    ("«k.fma(x, x)»", "fma takes 3 operands (a, b, c), found 2",
     "syntax: fma.rnd{.ftz}{.sat}.f32  d, a, b, c\n  write:  k.fma(x, x, c)"),
    ('«k.op("fma.rn.f32", x, x)»', "fma.rn.f32 takes 3 operands (a, b, c), found 2",
     "syntax: fma.rnd{.ftz}{.sat}.f32  d, a, b, c"),
    ("«k.fma(x, x, n)»", "fma.rn.f32 needs f32, %n is u32", "k.cvt(f32, n)"),
    ("«k.shfl(x, 1, 31, 0xFFFFFFFF)»", "shfl needs .mode here, one of .up .down .bfly .idx; found .b32",
     "syntax: shfl.sync.mode.b32  d|p:pred, a, b:b32, c:b32, membermask:b32\n"
     '  write:  k.shfl(x, 1, 31, 0xFFFFFFFF, mode="bfly")'),
    ('«k.fma(x, x, x, rnd="up")»', "fma: rnd must be one of rn rz rm rp; found 'up'",
     'syntax: fma.rnd{.ftz}{.sat}.f32  d, a, b, c\n  write:  k.fma(x, x, x, rnd="rn")'),
    ('«k.op("fma.f32", x, x, x)»', "fma needs .rnd here, one of .rn .rz .rm .rp; found .f32",
     "syntax: fma.rnd{.ftz}{.sat}.f32  d, a, b, c"),
    ("«k.barier»()", "k has no `barier`; did you mean barrier or mbarrier?", "k.barrier()"),
    ("with «k.loop(2, n)»:\n    pass", ONE_LOOP, "with k.loop(n, start=2) as i:"),
    ("for j in «k.loop(n)»:\n    pass", "k.loop is not a Python loop: the threads execute its body",
     "with k.loop(n) as i:"),
    ("with «k.loop(range(0, 8, 2))»:\n    pass", "a loop counts integers, stop is range(0, 8, 2)",
     "with k.loop(8, step=2) as i:"),
    ("«k.var(0.0)»", "k.var missing 1 required positional argument: 'value'", "k.var(type, value)"),
    ("«k.store(p, n, x)»", "k.store takes 2 positional arguments but 3 were given",
     "k.store(pointer, values, vector=1)"),
    ("«k.bar.sync»(0)", f"k.bar has no `sync`{KEYWORDS}", "k.barrier()"),
    ("«k.fma.rn».f32(x, x, x)", f"k.fma has no `rn`{KEYWORDS}", 'k.op("fma.rn.f32", x, x, x)'),
    ("«k.vote.any»(n > 3)", f"k.vote has no `any`{KEYWORDS}", 'k.vote(n > 3, 0xffffffff, mode="any")'),
    ("«k.atom(p, x)»",
     "atom needs a word that says what it does, one of .add .min .max .inc .dec .and .or .xor .exch .cas",
     f'syntax: {ATOM}\n  write:  k.atom(p, x, operation="add")'),
    ('«k.atom(p, x, op="max")»', "atom does not take op= here",
     f'syntax: {ATOM}\n  write:  k.atom(p, x, operation="max")'),
    ('«k.atom(p, x, "add")»', "'add' is a modifier of atom; modifiers are keyword arguments",
     'k.atom(p, x, operation="add")'),
    ("«k.range»(0, n)", "k has no `range`", "with k.loop(n) as i:"),
    ("«k.__syncthreads»()", "k has no `__syncthreads`", "k.barrier()"),
    ("«k.threadIdx».x", "k has no `threadIdx`", "k.tid.x"),
    ("«threadIdx».x", "`threadIdx` is not a Python name here; use the builder's own", "k.tid.x"),
    ("«__syncthreads»()", "`__syncthreads` is not a Python name here; use the builder's own", "k.barrier()"),
    ("«np.exp(x)»", "`np.exp` computes when the kernel is built; a register has a value only when the kernel runs",
     "k.exp2(x * 1.4426950408889634)"),
    ("«k.atomicAdd»(p + n, x)", "k has no `atomicAdd`", 'k.atom(p + n, x, operation="add")'),
    ("«k.shfl_xor»(x, 1)", "k has no `shfl_xor`", 'k.shfl(x, 1, 31, 0xffffffff, mode="bfly")'),
    ("«k.expf»(x)", "k has no `expf`", "k.exp2(x * 1.4426950408889634)"),
    ("«k.for_»(n)", "k has no `for_`", "with k.loop(n) as i:"),
    ("«k.float32»(n)", "k has no `float32`", "k.cvt(f32, n)"),
    ("«k.tid + 1»", "k.tid has the components x, y and z", "k.tid.x"),
    ("«p.load»()", "a pointer has no `load`", "x = p[i]"),
    ("«x.to»(u32)", "%x has no `to`", "k.cvt(u32, x)"),
    ("«n[0]» = 1", "%n is one value, a u32 register; only a pointer has elements",
     "n: Ptr[u32]    # a parameter that is an array"),
    ('«k.op("bar.sync 0")»', "k.op takes the opcode and its operands as separate arguments", 'k.op("bar.sync", 0)'),
    ("«p[0] += x»", "`p[0]` is a value, not a variable; `+=` would only rebind the Python name", "p[0] = p[0] + x"),
    ("«k.probe(n, 0, 1, x, l, 1.0)»", "k.probe stores m, l and rescale in one float type, f32 or f64; l is f64",
     "k.cvt(f32, l)"),
    ("«k.probe(a, 0, 1, x, x, 1.0)»", "k.probe counts rows and tiles in u32, row is u64", "k.cvt(u32, a)"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "says", "write"), MISTAKES)
def test_mistakes(body: str, says: str, write: str) -> None:
    """The place, what was found, the line with the piece that is meant, and the line to write."""
    source, whole = message(f"def f(k, {PARAMETERS}):\n{textwrap.indent(body, '    ')}", says, write)
    assert refused(source) == whole
    if not write.startswith("syntax: "):
        assert is_python(write)
        opcodes = set(re.findall(r'k\.op\("([^"]+)"', write)) - {"opcode.with.modifiers"}  # a form to fill in
        assert all(find_form(opcode) is not None for opcode in opcodes)


def test_the_lines_for_names_of_cuda_are_right() -> None:
    for line in LINES.values():
        x, p = ("x", "p") if ".f32" in line.ptx else ("n", "r")
        given = {"m": "0xffffffff", "p": p, "c": "n > 3", "lane": "3", "by": "1", "type": "f32", "count": "4"}
        python = line.python_for([given.get(name, x) for name in line.takes])
        if not python.endswith(":") and not python.startswith("pl."):
            source = f"def f(k, {PARAMETERS}):\n    r = k.pointer(u32, a)\n    {python}"
            exec(compile(source, "line.py", "exec"), names := dict(WORDS))
            assert kernel(names["f"])().ptx
        registers = {"m": "0xffffffff", "p": "%p", "c": "%c"}
        ptx = line.ptx_for([registers.get(name, "%x") for name in line.takes])
        y = "pred" if ".pred" in ptx else "b64" if "64 y" in ptx else "b32"
        declared = f".reg .b32 %x, t, i, old; .reg .{y} y; .reg .b64 %p; .reg .pred %c;"
        if ptx.endswith(";"):
            text = f".version 8.0\n.target sm_80\n.address_size 64\n.entry k() {{ {declared}\n{ptx}\nret; }}"
            assert not list(map(str, validate(parse(text))))


@pytest.mark.sweep(2)
@pytest.mark.long
@pytest.mark.parametrize("used", ["a & b", "a + b", "v.set(b)", "k.select(n > 3, v, b)"])
def test_the_conversion_to_write_builds(used: str) -> None:
    """What a message tells to write, in the place of what it marks, builds; perhaps after another message's."""
    types = [ptxlab.builder.registers.TYPES[name] for name in "u32 s32 b32 f32 f16x2 b16 f16 u64 b64 f64".split()]
    for a, b in itertools.permutations(types, 2):
        made = [f"{x} = k.bitcast({t.ptx}, k.var(u{t.bits}, 1))" for x, t in (("a", a), ("b", b))]
        lines, said = [*made, f"v = k.var({a.ptx}, a)", used], ""
        for _ in range(3):
            source = f"def f(k, {PARAMETERS}):\n{textwrap.indent(chr(10).join(lines), '    ')}"
            names: dict[str, Any] = dict(WORDS)
            linecache.cache["mistake.py"] = (len(source), None, source.splitlines(keepends=True), "mistake.py")
            exec(compile(source, "mistake.py", "exec"), names)
            try:
                kernel(arch="sm_90")(names["f"])()
            except BuildError as error:
                said = str(error)
                found = re.search("  write:  (.*)", said)
                if found is None:
                    break  # no instruction says what is meant
                lines[-1] = used.replace("b)", f"{found[1]})") if used.startswith("k.") else found[1]
                continue
            said = ""
            break
        assert not said or "  write:" not in said, said


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


def test_a_kernel_returns_nothing() -> None:
    said = refused("def f(k, x: f32):\n    return x * 2.0")
    assert "a kernel returns nothing, f returns <f32 `x * 2.0`>; a result is stored\n" in said


def test_a_register_of_another_kernel() -> None:
    kept: list[Any] = []

    @kernel
    def first(k: Builder, n: u32) -> None:
        kept.append(n)

    @kernel
    def second(k: Builder, m: u32) -> None:
        m + kept[0]

    first()
    with pytest.raises(BuildError, match="%n belongs to another kernel; a register is used only in its own"):
        second()


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
        ("f(k, x: Ptr[f32], «dim: int»)", {}, "f needs its Python parameter `dim`; a kernel parameter has a PTX type",
         "dim: u32    # a parameter of the kernel; or, a value of Python:\nf(dim=...)"),
        ("f(k, «größe: u32»)", {}, "'größe' is not a PTX name; use letters, digits, _ and $", "gr__e"),
        ("f(«k»)", {"name": "a-b"}, "'a-b' is not a PTX name; use letters, digits, _ and $", 'name="a_b"'),
        ("f(«k», n: u32)", {"probes": True}, "f is built with probes=True and never calls k.probe", PROBE),
        ("f(k, «probe: Ptr[f32]»)", {}, "`probe` is the name of the parameter that a probes=True build adds", "probed"),
    ],
)  # fmt: skip
def test_heads(head: str, options: dict[str, Any], says: str, write: str) -> None:
    source, whole = message(f"def {head}: ...", says, write)
    assert refused(source, **options) == whole


def test_an_annotation_that_cannot_be_resolved() -> None:
    said = refused("from __future__ import annotations\ndef f(k, x: nothing): ...")
    assert said.startswith("mistake.py:2: the annotation of `x` cannot be resolved: name 'nothing' is not defined\n")
