"""Loop versioning: a second loop over the warps of a CTA, which leaves out the tests that hold for all of them.

In an elementwise kernel a warp mostly tests: whether its addresses lie in an array, whether its lanes are inside of
`n`. Indices grow by the same number from warp to warp, so what holds for the first warp and for the last holds for
those between. This takes the text of a segment's loop, and makes of it a loop for CTAs in which all tests have been
found to hold:

    before the loop: what is the same in all warps; the tests, for the first warp and for the last
    in the loop: the rest, without these tests, and without the code for when they fail

Where a test fails, the CTA runs in the loop that tests. Each scalar is of one of these kinds:

- `SAME`: the same in all warps;
- `Induction`: grows by the same number from warp to warp, modulo its width, and from slice to slice where a CTA has
several
  along z. Whether it wraps around before it is extended or compared is tested for the first warp and the last: their
  difference, as numbers of 64 bits, must be that many steps, of which none goes the other way;
- `Truth`: a comparison of such numbers. Of numbers that do not wrap around its result changes once at most; `off <
limit`,
  as for allocations, holds for all warps if it does for the first and the last, since steps are small;
- `Other`.

It reads text because these tests come from all parts of the emitter, and each part would otherwise have to describe
every value that it emits. An instruction that is not known here gives an `Other` and stays in the loop: that costs
time, and is never wrong.

Registers that the blocks of a segment hand on in the warp's state are handed on as values.
"""

from __future__ import annotations

import re
from itertools import pairwise

from ptxlab.emulate.jit.control.induction import OTHER, SAME, Induction, Kind, Need, Other, Truth
from ptxlab.emulate.jit.llvm.instruction_text import (
    COMPARED,
    IF,
    INTRINSIC,
    LABEL,
    LET,
    LOAD,
    NAME,
    PLACE,
    PURE,
    ROTATED,
    STORE,
    TWO,
    WAY,
    WIDTH,
    folded,
    made_type,
    names_in,
    size,
    without_unused,
)
from ptxlab.emulate.jit.llvm.instructions import Instructions
from ptxlab.emulate.jit.llvm.ir_text import PROMOTED, USUAL
from ptxlab.emulate.runtime import state as S

_SIGNED, _UNSIGNED = ("slt", "sle", "sgt", "sge"), ("ult", "ule", "ugt", "uge")
FAR = 1 << 40
"""A step from which on nothing is known."""
_GRID = {S.Context.offset(f"{of}_{axis}") for of in ("grid", "block", "cluster") for axis in "xyz"}
_INDEX = {S.Cta.offset(f"ctaid_{axis}") for axis in "xyz"}
_GROWING = [S.Warp.offset(field) for field in ("tid_x", "tid_y", "tid_z", "warp_id")]
"""Fields of a warp's state that grow from warp to warp."""


class VersionedLoop:
    """The second loop. lines: the first one's, behind its own questions; `%ws` is the warp. Before the loop `%fw.0` is
    the first warp and `%last` the last one, `%beyond` how many more these are, an i64. registers: where they begin in
    a warp's state. steps: what `%tid.x` and `%tid.y` grow by. slices: whether CTAs have several slices along z. Then
    `%beyond` is how many more warps a slice has, `%deeper` how many more slices there are, and `%turns` in the loop
    whether the next warp is the first of a slice."""

    def __init__(self, lines: list[str], registers: int, steps: tuple[int, int], *, slices: bool) -> None:
        self.registers, self.slices = registers, slices
        grown = [Induction(str(steps[0])), Induction(str(steps[1])), Induction("0", "1" if slices else "0")]
        self.fields = dict(zip(_GROWING, grown if slices else [*grown, Induction("1")], strict=False))
        self.before = Instructions("sure")
        """What is computed before the loop."""
        self.asked: list[str] = []
        """What must hold, i1s before the loop."""
        self.body: list[str] = []
        starts = [k for k, line in enumerate(lines) if line.endswith(":")]
        blocks = {lines[a][:-1]: lines[a + 1 : b] for a, b in pairwise([*starts, len(lines)])}
        own = {m[1] for line in lines if (m := LET.match(line.strip()))}
        self._own = own | {f"%{label}" for label in (*blocks, "warp.done")}
        self._text: dict[str, str] = {}
        self._kinds: dict[str, Kind] = {}
        self._alias: dict[str, str] = {}
        self._places: dict[str, tuple[str, int]] = {}
        self._held: dict[int, tuple[str, str]] = {}
        """What registers hold, by their places: type and value."""
        self._of_cta: set[str] = set()
        """Names of what depends on which CTA it is."""
        self._ends: dict[tuple[str, str], str] = {}
        self._met: set[Need | str] = set()
        self._walk(blocks)
        self.sure = "true"
        """An i1 before the loop: whether all that must hold does."""
        for each in self.asked:
            self.sure = each if self.sure == "true" else self.before.and_("i1", self.sure, each)
        if not any(f"ptr %{PROMOTED}.result" in line for line in self.body):  # nobody goes on from the warp's state
            self._drop_stores()
        self.counted, self.onward = list[str](), list[str]()
        """Of what grows from warp to warp: the values at the beginning of the loop, and what is added at its end."""
        self._count_up()

    # -- blocks --------------------------------------------------------------------------------------------------------

    def _walk(self, blocks: dict[str, list[str]]) -> None:
        labels = list(blocks)
        behind = {label: set(labels[: k + 1]) for k, label in enumerate(labels)}
        looping = {to for label in labels for to in LABEL.findall(blocks[label][-1]) if to in behind[label]}
        self._edges = {("", labels[0])}
        open_ = {labels[0]}
        for label in labels:
            if label not in open_:
                continue
            self._all = open_ == {label}  # whether each warp that goes on comes here
            self._known = self._all and label not in looping
            self._here = label
            self.body.append(f"{label}.f:")
            for line in blocks[label][:-1]:
                self._line(line.strip())
            targets = self._last(self._resolved(blocks[label][-1].strip()))
            self._edges |= {(label, to) for to in targets}
            open_ = (open_ | {to for to in targets if to in blocks}) - behind[label]

    def _last(self, text: str) -> list[str]:
        """The end of a block; where it may lead."""
        found = IF.match(text)
        if found:
            condition, hot, cold, marks = found.groups()
            if condition in ("true", "false") or (marks.strip() and self._assumed(condition, marks)):
                text = f"br label %{cold if condition == 'false' else hot}"
        if text.startswith("switch i32 ") and text.split()[2].rstrip(",").isdigit():
            number = text.split()[2].rstrip(",")
            chosen = re.search(rf"\[?i32 {number}, label %([\w.$-]+)", text.partition("[")[2])
            text = f"br label %{chosen[1] if chosen else LABEL.findall(text)[0]}"
        self._put(text)
        return LABEL.findall(text)

    def _assumed(self, condition: str, marks: str) -> bool:
        """Whether a condition holds in all warps if what is asked before the loop does."""
        kind = self._kind_of(condition)
        if not self._known or not isinstance(kind, Truth) or (USUAL in marks and condition not in self._of_cta):
            return False
        for need in sorted(kind.needs - self._met):
            self._met.add(need)
            self._ask(need)
        self._must(self._at(condition, "a"))
        return True

    # -- lines ---------------------------------------------------------------------------------------------------------

    def _put(self, text: str) -> None:
        self.body.append("  " + self._final(text))

    def _resolved(self, text: str) -> str:
        return NAME.sub(lambda m: self._alias.get(m[0], m[0]), text)

    def _final(self, text: str) -> str:
        return NAME.sub(lambda m: m[0] + ".f" if m[0] in self._own else "%fw" if m[0] == "%ws" else m[0], text)

    def _line(self, line: str) -> None:
        if line.startswith(";"):
            return
        found = LET.match(line)
        if not found:
            text = self._resolved(line)
            self._put(text)
            if stored := STORE.match(text):
                self._stored(*stored.groups())
            return
        name, text = found.groups()
        if text.startswith("phi "):
            text = self._joined(text)
        else:
            text = self._resolved(text)
        same = folded(text) or self._loaded(text)
        if same is not None:
            self._alias[name] = same
            return
        if place := PLACE.match(text):
            root, off = self._places.get(place[1], (place[1], 0))
            self._places[name] = root, off + int(place[2])
        self._text[name] = text
        kind = self._kind(name, text) if self._known else OTHER
        self._kinds[name] = kind
        if any(other in self._of_cta for other in NAME.findall(text)):
            self._of_cta.add(name)
        if kind == SAME:
            self.before.do(self._final(f"{name} = {text}"))
        else:
            self._put(f"{name} = {text}")

    def _joined(self, text: str) -> str:
        """A phi with the ways that are left; what comes by the only one."""
        ways = [(self._resolved(value), way) for value, way in WAY.findall(text)]
        ways = [(value, way) for value, way in ways if (way, self._here) in self._edges]
        if len({value for value, _ in ways}) == 1:
            return f"= {ways[0][0]}"
        kind = text.removeprefix("phi ").partition(" [")[0]
        return f"phi {kind} " + ", ".join(f"[{value}, %{way}]" for value, way in ways)

    def _register(self, pointer: str) -> int:
        """The place of the register at a pointer; 0 where that is none."""
        root, off = self._places.get(pointer, ("", 0))
        return off if root == "%ws" and off >= self.registers else 0

    def _stored(self, type_: str, value: str, pointer: str) -> None:
        at = self._register(pointer)
        if not at:
            return
        for other in [k for k, (kind, _) in self._held.items() if at - size(kind) < k < at + size(type_)]:
            del self._held[other]
        if self._all:
            self._held[at] = type_, value

    def _loaded(self, text: str) -> str | None:
        """What a register holds."""
        found = LOAD.match(text)
        kind, value = self._held.get(self._register(found[2]), ("", "")) if found else ("", "")
        return value if found and kind == found[1] else None

    def _drop_stores(self) -> None:
        """Nobody reads registers out of the warp's state, unless a load is left."""
        pointers = {f"{name}.f" for name in self._places if self._register(name)}
        rest = [x for x in self.body if not ((m := STORE.match(x.strip())) and m[3] in pointers)]
        used = {name for line in rest for name in NAME.findall(line.partition(" = ")[2] or line)}
        if not used & pointers:
            self.body = rest

    def _count_up(self) -> None:
        """What grows is not made anew in each warp of the number of its threads: it goes on from the warp before, or
        from what does."""
        growing = {f"{name}.f": name for name, kind in self._kinds.items() if self._goes_on(name, kind)}
        used = names_in(without_unused(self.body, growing))
        beside = {name for name in used & set(growing) if f"{self._beside(self._text[growing[name]])}.f" in used}
        self.body = without_unused(self.body, set(growing) - beside)
        for name in sorted(names_in(self.body) & set(growing) - beside):
            kind, type_ = self._kinds[growing[name]], made_type(self._text[growing[name]])
            assert isinstance(kind, Induction)
            step, first = self._narrow(type_, kind.step), self._at(growing[name], "a")
            if kind.deep != "0" or (self.slices and kind.step != "0"):
                back = self.before.mul("i64", kind.step, "%beyond")
                turn = self._narrow(type_, self.before.sub("i64", kind.deep, back))
                self.onward.append(f"  {name}.by = select i1 %turns, {type_} {turn}, {type_} {step}")
                step = f"{name}.by"
            self.counted.append(f"  {name} = phi {type_} [{first}, %ask], [{name}.next, %swift.next]")
            self.onward.append(f"  {name}.next = add {type_} {name}, {step}")

    def _narrow(self, type_: str, step: str) -> str:
        """A step, an i64, as a number of this type."""
        return self.before.trunc("i64", step, "i32") if type_ == "i32" else step

    def _beside(self, text: str) -> str:
        """Of what is a number that grows and one that does not, the first; "" of anything else."""
        found = TWO.match(text)
        a, b = found.groups()[2:] if found and found[1] in ("add", "sub") else ("", "")
        return a if self._kind_of(b) == SAME and isinstance(self._kind_of(a), Induction) else ""

    def _goes_on(self, name: str, kind: Kind) -> bool:
        """Whether a value grows by a known step if what is asked before the loop holds."""
        if not isinstance(kind, Induction) or kind.zeros or not kind.needs <= self._met:
            return False
        far = any(step.lstrip("-").isdigit() and abs(int(step)) >= FAR for step in (kind.step, kind.deep))
        return made_type(self._text[name]) in ("i32", "i64") and not far

    # -- kinds ---------------------------------------------------------------------------------------------------------

    def _kind_of(self, text: str) -> Kind:
        """Of an operand. What is no name of the loop is a constant, or known before it."""
        return self._kinds.get(text, OTHER) if text in self._own else OTHER if text == "%ws" else SAME

    def _kind(self, name: str, text: str) -> Kind:
        if "<" in text or text.startswith("phi "):
            return OTHER  # vectors that are the same in all warps are LLVM's affair
        if found := LOAD.match(text):
            return self._field(name, *self._places.get(found[2], (found[2], 0)))
        kinds = [self._kind_of(each) for each in NAME.findall(text)]
        if all(kind == SAME for kind in kinds):
            return SAME if text.startswith((*PURE, "getelementptr")) or INTRINSIC.match(text) else OTHER
        if any(kind == OTHER for kind in kinds):
            return OTHER
        if all(isinstance(kind, Truth) for kind in kinds):
            return Truth(_needs(kinds)) if text.startswith(PURE) else OTHER
        if found := TWO.match(text):
            return self._sum(*found.groups())
        if found := WIDTH.match(text):
            kind = self._kind_of(found[3])
            if not isinstance(kind, Induction) or kind.zeros or found[2] == "i1":
                return OTHER
            exact = set() if found[1] == "trunc" else {("exact", found[3], found[1])}
            return Induction(kind.step, kind.deep, kind.needs | exact)
        if found := ROTATED.match(text):
            kind = self._kind_of(found[1])
            return kind._replace(zeros=int(found[2])) if isinstance(kind, Induction) else OTHER
        if found := COMPARED.match(text):
            return self._comparison(name, *found.groups())
        return OTHER

    def _field(self, name: str, root: str, off: int) -> Kind:
        """What is loaded from memory that no kernel writes."""
        if root in ("%params", "%sites") or (root == "%ctx" and off in _GRID):
            return SAME
        if root == "%cta" and off in _INDEX:
            self._of_cta.add(name)
            return SAME
        return self.fields.get(off, OTHER) if root == "%ws" else OTHER

    def _sum(self, word: str, type_: str, a: str, b: str) -> Kind:
        x, y = self._kind_of(a), self._kind_of(b)
        if isinstance(x, Other) or isinstance(y, Other) or any(k.zeros for k in (x, y) if isinstance(k, Induction)):
            return OTHER
        needs = _needs([x, y])
        if not all(kind == SAME or isinstance(kind, Induction) for kind in (x, y)):
            return OTHER
        one, other = (kind if isinstance(kind, Induction) else Induction("0") for kind in (x, y))
        if word in ("add", "sub"):
            return Induction(self._made(word, one.step, other.step), self._made(word, one.deep, other.deep), needs)
        if (y == SAME) == (x == SAME) or (word == "shl" and (x == SAME or not b.isdigit())):
            return OTHER
        factor = str(1 << int(b)) if word == "shl" else self._final(a if x == SAME else b)
        if type_ == "i32" and factor.startswith("%"):
            factor = self.before.sext("i32", factor, "i64")
        grown = other if x == SAME else one
        return Induction(self._made("mul", grown.step, factor), self._made("mul", grown.deep, factor), needs)

    def _comparison(self, name: str, order: str, type_: str, a: str, b: str) -> Kind:
        x, y = self._kind_of(a), self._kind_of(b)
        if type_ == "i32" and order in _SIGNED + _UNSIGNED:
            if any(isinstance(kind, Induction) and kind.zeros for kind in (x, y)):
                return OTHER
            if not all(kind == SAME or isinstance(kind, Induction) for kind in (x, y)):
                return OTHER
            steps = [(kind.step, kind.deep) for kind in (x, y) if isinstance(kind, Induction)]
            if self.slices and len(set(steps)) > 1:  # their difference might grow along y and shrink along z
                return OTHER
            word = "sext" if order in _SIGNED else "zext"
            exact = {("exact", v, word) for v, kind in ((a, x), (b, y)) if isinstance(kind, Induction)}
            return Truth(_needs([x, y]) | exact | {("alike", name)})
        if type_ == "i64" and order in ("ult", "ule") and isinstance(x, Induction) and y == SAME:
            if any(step.lstrip("-").isdigit() and int(step) % (1 << x.zeros) for step in (x.step, x.deep)):
                return OTHER
            return Truth(x.needs | {("inside", name, b, x.step, x.deep, str(x.zeros))})
        return OTHER

    # -- before the loop -----------------------------------------------------------------------------------------------

    def _must(self, condition: str) -> None:
        if condition not in self.asked and condition != "true":
            self.asked.append(condition)

    def _made(self, word: str, a: str, b: str) -> str:
        """A step, a number where both are."""
        if a.lstrip("-").isdigit() and b.lstrip("-").isdigit():
            x, y = int(a), int(b)
            made = {"add": x + y, "sub": x - y, "mul": x * y}[word]
            return str(max(-FAR, min(made, FAR)))
        if word == "mul" and "0" in (a, b):
            return "0"
        neutral = "1" if word == "mul" else "0"
        return a if b == neutral else b if a == neutral and word != "sub" else self.before.binary(word, "i64", a, b)

    def _at(self, text: str, end: str) -> str:
        """A value in the first warp ("a"), or in the last ("z")."""
        kind = self._kind_of(text)
        if kind == SAME:
            return self._final(text)
        if (text, end) not in self._ends:
            definition = self._text[text]
            if found := LOAD.match(definition):
                place = self.before.offset("%fw.0" if end == "a" else "%last", self._places[found[2]][1])
                self._ends[text, end] = self.before.load(found[1], place)
            else:
                self._ends[text, end] = self.before.let(NAME.sub(lambda m: self._at(m[0], end), definition))
        return self._ends[text, end]

    def _near(self, step: str) -> None:
        """A step is not so large that the difference of the first warp and the last might wrap around."""
        if step.lstrip("-").isdigit():
            if abs(int(step)) == FAR:
                self._must("false")
        elif step not in self._met:
            self._met.add(step)
            self._must(self.before.ult("i64", self.before.add("i64", step, FAR), 2 * FAR))

    def _forth(self, step: str, deep: str) -> None:
        """Steps are near, and none goes the other way: all values lie between those of the first warp and the last."""
        self._near(step)
        self._near(deep)
        if "0" in (step, deep) or f"{step} {deep}" in self._met:
            return
        self._met.add(f"{step} {deep}")
        self._must(self.before.sge("i64", self.before.xor("i64", step, deep), 0))

    def _ask(self, need: Need) -> None:
        what, name, *others = need
        first, last = self._at(name, "a"), self._at(name, "z")
        if what == "alike":
            self._must(self.before.eq("i1", first, last))
        elif what == "exact":
            kind = self._kinds[name]
            assert isinstance(kind, Induction)
            self._forth(kind.step, kind.deep)
            wide = [self.before.convert(others[0], "i32", each, "i64") for each in (last, first)]
            grown = self.before.mul("i64", kind.step, "%beyond")
            if kind.deep != "0":
                grown = self.before.add("i64", grown, self.before.mul("i64", kind.deep, "%deeper"))
            self._must(self.before.eq("i64", self.before.sub("i64", *wide), grown))
        else:
            limit, step, deep, zeros = others
            self._forth(step, deep)
            self._must(first)
            self._must(last)
            self._must(self.before.ult("i64", self._final(limit), FAR << 8))
            for each in (step, deep):
                if zeros != "0" and not each.lstrip("-").isdigit():
                    low = self.before.and_("i64", each, (1 << int(zeros)) - 1)
                    self._must(self.before.eq("i64", low, 0))


def _needs(kinds: list[Kind]) -> frozenset[Need]:
    return frozenset().union(*(kind.needs for kind in kinds if not isinstance(kind, Other)))
