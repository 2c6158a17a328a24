"""Programs made from the instruction table for a GPU and the emulator: many forms in one kernel of one warp.

Each form loads its sources, executes, and stores what it wrote, in rows of 32 words of 8 bytes, one per lane. What
computes in registers comes from tests/support/conformance.py; memory, atomics, matrices and what synchronises are added
here.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.gpu import corpus
from benchmarks.gpu.form_rules import EXACT, Array, Rule, rule_for
from ptxlab.isa import examples, form, types
from ptxlab.isa.coverage import key
from ptxlab.isa.entries import Op
from ptxlab.isa.table import Form, all_ops

conformance = corpus.module("conformance")
SETS = 4
"""Sets of 32 inputs for what computes in registers."""
MIXED = {"registers": 40, "warpgroups": 12}
"""Mixtures of modifiers an entry, beside each word once."""
TABLE = bytes(range(7, 39))
"""What the constant table holds."""
DECLARATIONS = examples.DECLARATIONS.replace("tile[1024]", "tile[8192]").replace(".reg .b128 %q<9>;\n", "")
"""Of the examples of the table, which want a small tile, and 128-bit registers: not every PTX version has them."""


@dataclass
class Item:
    """One form in a program: its results as (row, PTX type, rule, inputs), and the other forms that it executes."""

    opcode: str
    results: list[tuple[int, str, Rule, list[Array]]] = field(default_factory=list)
    also: list[str] = field(default_factory=list)


@dataclass
class Program:
    """PTX of a kernel `conformance(in, out)`, its input, what `out` holds before, and what is in it. shared: its
    dynamic shared memory. specific: it is for one GPU alone, `.target sm_90a`. maps: tensors, and what a `pl.TensorMap`
    wants besides; each is two more arguments, the map and the tensor. blocks: if several, a cluster."""

    text: str
    data: Array
    out: Array
    items: list[Item]
    threads: int = 32
    shared: int = 0
    specific: bool = False
    maps: list[tuple[Array, dict[str, Any]]] = field(default_factory=list)
    blocks: int = 1


class Writer:
    """Collects forms; registers of the frame: %in and %out (8 bytes per lane), %in32 and %out32 (32 bytes per lane),
    %inall and %outall (the same for all), %tile (32 bytes per lane of shared memory), %t, %lane."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.ends: list[str] = []
        self.rows: list[Array] = []
        self.outs: list[Array] = []
        self.items: list[Item] = []
        self.forms: list[Form] = []
        self.gates = 0
        self.threads, self.shared, self.blocks = 32, 0, 1
        self.maps: list[tuple[Array, dict[str, Any]]] = []
        rng = np.random.default_rng(5)
        self.given(rng.integers(0, 1 << 64, (8, 32), np.uint64, endpoint=False))  # 32 bytes per lane, and 32 others

    def given(self, rows: Array) -> int:
        """More rows of input; the offset of the first in bytes."""
        at = 256 * len(self.rows)
        self.rows += list(rows)
        return at

    def room(self, rows: int, start: Array | None = None) -> int:
        """More rows of results, zeros or `start`; the number of the first."""
        at = len(self.outs)
        self.outs += list(np.zeros((rows, 32), np.uint64) if start is None else start)
        return at

    def add(self, *lines: str) -> None:
        """Lines of PTX."""
        self.lines += lines

    def item(self, found: Form, **options: Any) -> Item:
        """A new form in the program."""
        self.items.append(Item(found.opcode, **options))
        self.forms.append(found)
        return self.items[-1]

    def store(self, item: Item, register: str, type_: str, rule: Rule = EXACT, inputs: Sequence[Array] = ()) -> None:
        """Stores a register as a result; predicates as 0 or 1."""
        row = self.room(1)
        if type_ == "pred":
            self.add(f"selp.b64 %t, 1, 0, {register};", f"st.global.b64 [%out+{256 * row}], %t;")
        else:
            self.add(f"st.global.{conformance.register_type(type_)} [%out+{256 * row}], {register};")
        item.results.append((row, type_, rule, list(inputs)))

    def program(self) -> Program:
        """All of it."""
        used = [*self.forms, *(form(o) for i in self.items for o in i.also)]
        sm, version = max([80, *(f.sm for f in used)]), max([(8, 0), *(f.version for f in used)])
        specific = any(f.op.specific for f in used)
        body = "\n    ".join([*self.lines, *self.ends])
        more = "".join(f", .param .align 64 .b8 map{k}[128], .param .u64 tensor{k}" for k in range(len(self.maps)))
        text = f""".version {version[0]}.{version[1]}
.target sm_{sm}{"a" if specific else ""}
.address_size 64
.const .align 32 .b8 table[64] = {{{", ".join(map(str, TABLE * 2))}}};
.extern .shared .align 1024 .b8 dynamic[];
.visible .entry conformance(.param .u64 input, .param .u64 out{more})
{{
    {DECLARATIONS}
    .shared .align 8 .b64 gate[64];
    .local .align 32 .b8 own[32];
    .reg .b64 %in, %out, %in32, %out32, %inall, %outall, %t, %policy, %gate;
    .reg .b32 %lane, %tile, %w, %image;
    .reg .pred %first, %done;
    ld.param.u64 %inall, [input];
    ld.param.u64 %outall, [out];
    mov.u32 %lane, %tid.x;
    setp.eq.u32 %first, %lane, 0;
    mad.wide.u32 %in, %lane, 8, %inall;
    mad.wide.u32 %out, %lane, 8, %outall;
    mad.wide.u32 %in32, %lane, 32, %inall;
    mad.wide.u32 %out32, %lane, 32, %outall;
    mov.u32 %tile, tile;
    mad.lo.u32 %tile, %lane, 32, %tile;
    mov.u32 %image, dynamic;
    add.u32 %image, %image, 1023;
    and.b32 %image, %image, -1024;
    createpolicy.fractional.L2::evict_last.b64 %policy, 1.0;
    {body}
    ret;
}}
"""
        data = np.stack(self.rows)
        out = np.stack(self.outs) if self.outs else np.zeros((1, 32), np.uint64)
        return Program(text, data, out, self.items, self.threads, self.shared, specific, self.maps, self.blocks)


# -- registers ---------------------------------------------------------------------------------------------------------


def registers(w: Writer, found: Form, n: int) -> None:
    """What computes in registers; the carry that `.cc` leaves is a result too, and one comes before what takes it."""
    item, rule = w.item(found), rule_for(found)
    for number in range(SETS):
        case = conformance.case(found, n * SETS + number, len(w.rows), len(w.outs), seed=number)
        text, at = list(case.text), next(k for k, x in enumerate(case.text) if x.startswith(f"{found.opcode} "))
        if found.op.name in ("min", "max") and found.op.operands[-1].optional and found.sm < 100:
            text[at] = text[at].rpartition(",")[0] + ";"  # a third number needs sm_100
        if found.op.name in ("addc", "subc", "madc"):
            text.insert(at, "add.cc.u32 %w, %lane, 0xfffffff0;")
            at += 1
        w.given(np.array(case.inputs).reshape(-1, 32))
        w.room(len(case.results))
        item.results += [(row, type_, rule, case.inputs) for row, type_ in case.results]
        w.add(*text[: at + 1])
        if ".cc" in found.opcode:
            w.add("addc.u32 %w, 0, 0;")
        w.add(*text[at + 1 :])
        if ".cc" in found.opcode:
            w.store(item, "%w", "b32", inputs=case.inputs)


# -- memory ------------------------------------------------------------------------------------------------------------

ADDRESSES = {"": "%in32", "global": "%in32", "shared": "%tile", "local": "own", "const": "table"}


def wide(found: Form) -> bool:
    """Whether an access has 128 bits in one register; the table counts them as two of 64."""
    return any(spec.type == "b128" for spec in found.op.operands)


def elements(found: Form) -> int:
    """How many registers an access has."""
    return int(found.vec[1:]) if found.vec and not wide(found) else 1


def parts(found: Form, n: int, letter: str = "e") -> tuple[str, list[str], list[str]]:
    """The data operand of an access, its registers of at most 64 bits, and their declarations."""
    count = elements(found)
    names = [f"%{letter}{n}_{k}" for k in range(count)]
    operand = f"{{{', '.join(names)}}}" if count > 1 else names[0]
    if wide(found):
        halves = [f"{name}{half}" for name in names for half in "lh"]
        return operand, halves, [f".reg .b128 {', '.join(names)};", f".reg .b64 {', '.join(halves)};"]
    return operand, names, [f".reg .{conformance.register_type(found.type)} {', '.join(names)};"]


def joined(found: Form, n: int, letter: str = "e") -> list[str]:
    """Lines that make a 128-bit register of its halves."""
    return [f"mov.b128 %{letter}{n}_0, {{%{letter}{n}_0l, %{letter}{n}_0h}};"] if wide(found) else []


def split(found: Form, n: int, letter: str = "e") -> list[str]:
    """Lines that take a 128-bit register apart."""
    return [f"mov.b128 {{%{letter}{n}_0l, %{letter}{n}_0h}}, %{letter}{n}_0;"] if wide(found) else []


def plain(found: Form, names: list[str], address: str, offset: int, load: bool, space: str = "global") -> list[str]:
    """Each register loaded or stored by itself."""
    width = types.width(found.type)
    lines = []
    for k, name in enumerate(names):
        place = f"[{address}+{offset + width // 8 * k}]"
        lines.append(f"ld.{space}.b{width} {name}, {place};" if load else f"st.{space}.b{width} {place}, {name};")
    return lines


def space_of(found: Form) -> str:
    """The state space of an access, "" for a generic address."""
    return (found.space or "").partition("::")[0]


def fill(space: str, value: str = "0") -> list[str]:
    """Lines that overwrite the lane's 32 bytes of shared or local memory."""
    address = {"shared": "%tile", "local": "own"}[space]
    source = [f"ld.global.b64 %t, [%in32+{8 * k}];" for k in range(4)] if value == "data" else ["mov.b64 %t, 0;"] * 4
    return [x for k in range(4) for x in (source[k], f"st.{space}.b64 [{address}+{8 * k}], %t;")]


def load(w: Writer, found: Form, n: int) -> None:
    """ld and ldu: every element of what is loaded, as the register holds it."""
    operand, names, declared = parts(found, n)
    space, policy = space_of(found), ", %policy" if "cache_hint" in found.opcode else ""
    w.add(*declared, *(fill(space, "data") if space in ("shared", "local") else []))
    item = w.item(found, also=["mov.b128"] if wide(found) else [])
    w.add(f"{found.opcode} {operand}, [{ADDRESSES[space]}]{policy};", *split(found, n))
    for name in names:
        w.store(item, name, found.type)


def store(w: Writer, found: Form, n: int) -> None:
    """st: the 32 bytes around it afterwards."""
    operand, names, declared = parts(found, n)
    space, policy = space_of(found), ", %policy" if "cache_hint" in found.opcode else ""
    row = w.room(4)
    w.add(*declared, *plain(found, names, "%in32", 1024, load=True), *joined(found, n))
    w.item(found, results=[(row + k, "b64", EXACT, []) for k in range(4)])
    if space in ("shared", "local"):
        address = ADDRESSES[space]
        w.add(*fill(space), f"{found.opcode} [{address}], {operand}{policy};")
        for k in range(4):
            w.add(f"ld.{space}.b64 %t, [{address}+{8 * k}];", f"st.global.b64 [%out32+{256 * row + 8 * k}], %t;")
    else:
        w.add(f"{found.opcode} [%out32+{256 * row}], {operand}{policy};")


def atomic(w: Writer, found: Form, n: int) -> None:
    """atom and red, each lane on a place of its own: the old value, and what is there afterwards."""
    rng = np.random.default_rng(zlib.crc32(found.opcode.encode()))
    count = elements(found)
    element = found.type
    count *= 2 if wide(found) else 1
    width = types.width(element)
    start = np.stack([conformance.values(element, rng) for _ in range(count)])
    cells = np.zeros((32, 32), np.uint8)
    cells[:, : count * width // 8] = start.T.astype(f"u{width // 8}", order="C").view(np.uint8)
    row = w.room(4, cells.view(np.uint64).reshape(4, 32))
    space = space_of(found)
    place = "%tile" if space == "shared" else f"%out32+{256 * row}"
    item, inputs = w.item(found), list(start)
    operands = []
    for letter in "bc" if found.operation == "cas" else "b":
        given = np.stack([conformance.values(element, rng) for _ in range(count)])
        if letter == "b" and found.operation == "cas":
            given[:, ::3] = start[:, ::3]  # some of them succeed
        at = w.given(given)
        inputs += list(given)
        operand, names, declared = parts(found, n, letter)
        held = conformance.register_type(element)
        w.add(*declared, *(f"ld.global.{held} {x}, [%in+{at + 256 * k}];" for k, x in enumerate(names)))
        w.add(*joined(found, n, letter))
        operands.append(operand)
    old, names, declared = parts(found, n, "d")
    w.add(*declared)
    if space == "shared":
        for k in range(4):
            w.add(f"ld.global.b64 %t, [%out32+{256 * row + 8 * k}];", f"st.shared.b64 [%tile+{8 * k}], %t;")
    policy = ", %policy" if "cache_hint" in found.opcode else ""
    dest = f"{old}, " if found.op.name == "atom" else ""
    w.add(f"{found.opcode} {dest}[{place}], {', '.join(operands)}{policy};")
    if found.op.name == "atom":
        w.add(*split(found, n, "d"))
        for name in names:
            w.store(item, name, element, inputs=inputs)
    address, offset = ("%tile", 0) if space == "shared" else ("%out32", 256 * row)
    w.add(*plain(found, names, address, offset, load=True, space=space or "global"))
    for name in names:
        w.store(item, name, element, inputs=inputs)


# -- what changes nothing ----------------------------------------------------------------------------------------------


def quiet(w: Writer, found: Form, n: int) -> None:
    """Hints and fences: the program goes on behind them, and its memory is as it was."""
    item = w.item(found)
    row = w.room(4, w.rows[0][None].repeat(4, 0))
    w.add(f"add.u64 %rd1, %outall, {256 * row};", "mov.u32 %r1, 0;", "mov.u32 %r2, 0;")
    line = examples.line(found.opcode)
    w.add(line.replace("%rd1,", "%rd3,") if found.op.name == "createpolicy" else line)
    if found.op.name == "discard":  # what it leaves there is open
        item.results.append((row, "b64", Rule("open: discarded memory has no value", opened=True), []))
    else:
        item.results += [(row + k, "b64", EXACT, []) for k in range(4)]
    w.store(item, "%lane", "b32")


Add = Callable[[Writer, Form, int], None]


def families() -> dict[str, tuple[Add, Callable[[Op], bool]]]:
    """Name -> what adds a form to a program, and whether an entry of the table belongs to it. The first that does."""
    from benchmarks.gpu import form_clusters, form_copies, form_matrices, form_sync, form_tensors, form_warpgroups

    in_registers = {id(entry) for entry in conformance.computed()}
    return {
        "clusters": (form_clusters.add, form_clusters.takes),
        "registers": (registers, lambda e: id(e) in in_registers),
        "copies": (form_copies.add, form_copies.takes),
        "tensors": (form_tensors.add, form_tensors.takes),
        "loads": (load, lambda e: e.name in ("ld", "ldu")),
        "stores": (store, lambda e: e.name == "st" and e.executed),
        "atomics": (atomic, lambda e: e.name in ("atom", "red") and e.executed),
        "warpgroups": (form_warpgroups.add, form_warpgroups.takes),
        "matrices": (form_matrices.add, lambda e: e.kind == "warp"),
        "barriers": (form_sync.add, form_sync.takes),
        "hints": (quiet, lambda e: e.kind == "none" or e.name in ("createpolicy", "discard")),
    }


def family_of(entry: Op) -> str:
    """The family of an entry, "" if it is in none."""
    return next((name for name, (_, takes) in families().items() if takes(entry)), "")


def forms(sm: int, *, mixed: bool) -> Iterator[tuple[str, str]]:
    """(family, opcode) of all forms that such a GPU has: each word of each modifier, and so many further mixtures."""
    known = families()
    for entry in all_ops():
        for name, (_, takes) in known.items():
            if not takes(entry):
                continue
            for opcode in conformance.combinations(entry, MIXED.get(name, 0) if mixed else 0):
                if has(sm, form(opcode)) and not left_out(form(opcode)):
                    yield name, opcode
            break


def has(sm: int, found: Form) -> bool:
    """Whether such a GPU has a form: those of `sm_90a` no later one has."""
    return found.sm == sm if found.op.specific else found.sm <= sm


TEXTURES = ("tex", "tld4", "txq", "suld", "sust", "sured", "suq", "istypep")


def left_out(found: Form) -> str:
    """Why there is no program with a form, "" if there is."""
    name, generic = found.op.name, not (found.space or "").startswith("shared")
    if name in TEXTURES:
        return "a launch on a GPU takes no textures and surfaces"
    if name in ("shfl", "vote") and ".sync" not in found.opcode:
        return "no GPU from sm_70 on has it"
    if found.type == "u32" and (name == "cvta" or (name in ("mapa", "getctarank") and generic)):
        return "no kernel for sm_90 has addresses of 32 bits in place of generic ones"
    if found.opcode == "prefetch.const.tensormap":
        return "a launch makes no tensor maps in constant memory"
    if name in ("ld", "ldu", "st", "atom", "red") and space_of(found) not in ADDRESSES:
        return "the parameters of a kernel hold addresses, which differ"
    return ""


def build(opcodes: list[str]) -> Program:
    """A program of these forms."""
    w, known = Writer(), families()
    for n, opcode in enumerate(opcodes):
        found = form(opcode)
        add = next(add for add, takes in known.values() if takes(found.op))
        add(w, found, n)
    return w.program()


def executed(opcode: str, also: list[str]) -> set[str]:
    """The entries of the table that a form and what comes with it are about."""
    return {key(form(x).op) for x in (opcode, *also)}
