"""What is known of the scalars of a loop over warps, by the text that makes them (see `loop_versioning`).

Each is of a kind:

- `SAME`: the same in all warps;
- `Induction`: grows by the same number from warp to warp, modulo its width, and from slice to slice where a CTA has
  several along z. Whether it wraps around before it is extended or compared is tested for the first warp and the last:
  their difference, as numbers of 64 bits, must be that many steps, of which none goes the other way;
- `Truth`: a comparison of such numbers. Of numbers that do not wrap around its result changes once at most; `off <
  limit`, as for allocations, holds for all warps if it does for the first and the last, since steps are small;
- `Other`.
"""

from __future__ import annotations

from typing import NamedTuple

from ptxlab.emulate.jit.llvm.instruction_text import (
    COMPARED,
    INTRINSIC,
    LOAD,
    NAME,
    PURE,
    ROTATED,
    TWO,
    WIDTH,
    made_type,
)
from ptxlab.emulate.jit.llvm.instructions import Instructions
from ptxlab.emulate.runtime import state as S

_SIGNED, _UNSIGNED = ("slt", "sle", "sgt", "sge"), ("ult", "ule", "ugt", "uge")
FAR = 1 << 40
"""A step from which on nothing is known."""
_GRID = {S.Context.offset(f"{of}_{axis}") for of in ("grid", "block", "cluster") for axis in "xyz"}
_INDEX = {S.Cta.offset(f"ctaid_{axis}") for axis in "xyz"}
_ALONG_X = S.Cta.offset("ctaid_x")
_GROWING = [S.Warp.offset(field) for field in ("tid_x", "tid_y", "tid_z", "warp_id")]
"""Fields of a warp's state that grow from warp to warp."""


Need = tuple[str, ...]
"""What is to be asked: ("exact", name, "sext" or "zext"); ("alike", name of a comparison); ("inside", name of a
comparison, its limit, the two steps, bits that must be 0 in them)."""


class Induction(NamedTuple):
    """A number that grows by `step`, an i64. deep: in CTAs of several slices along z, what it grows by from a warp to
    the one in the next slice. needs: what makes it so. zeros: it is rotated by so many bits."""

    step: str
    deep: str = "0"
    needs: frozenset[Need] = frozenset()
    zeros: int = 0


class Truth(NamedTuple):
    """An i1, or an integer made of some, that is the same in all warps where its needs are met."""

    needs: frozenset[Need]


class Other(NamedTuple):
    """A value of which nothing is known."""


SAME, OTHER = Truth(frozenset()), Other()
Kind = Induction | Truth | Other


class LoopScalars:
    """The scalars of the loop. own: the names that the loop defines; others: see `VersionedLoop`."""

    def __init__(self, own: set[str], steps: tuple[int, int], *, slices: bool, tag: str, runs: bool) -> None:
        self._own, self._slices, self._tag, self._runs = own, slices or runs, tag, runs
        grown = [Induction(str(steps[0])), Induction(str(steps[1])), Induction("0", "1" if slices else "0")]
        self._fields = dict(zip(_GROWING, grown if slices else [*grown, Induction("1")], strict=False))
        self.before = Instructions(f"sure.{tag}")
        """What is computed before the loop."""
        self.asked: list[str] = []
        """What must hold, i1s before the loop."""
        self.text: dict[str, str] = {}
        self.kinds: dict[str, Kind] = {}
        self.places: dict[str, tuple[str, int]] = {}
        """Of pointers what they are made of, and how far they are behind it."""
        self.of_cta: set[str] = set()
        """Names of what depends on which CTA it is."""
        self.met: set[Need | str] = set()
        """What is asked before the loop."""
        self._ends: dict[tuple[str, str], str] = {}

    def add(self, name: str, text: str, *, known: bool) -> Kind:
        """A scalar that this text makes. known: whether each warp comes there once."""
        self.text[name] = text
        kind = self.kinds[name] = self._kind(name, text) if known else OTHER
        if any(other in self.of_cta for other in NAME.findall(text)):
            self.of_cta.add(name)
        return kind

    def final(self, text: str) -> str:
        """A text with the names that it has in the second loop, or before it."""
        return NAME.sub(lambda m: f"{m[0]}.{self._tag}" if m[0] in self._own or m[0] == "%ws" else m[0], text)

    def assume(self, condition: str, kind: Truth) -> None:
        """Asks before the loop for what makes a condition hold in all warps."""
        for need in sorted(kind.needs - self.met):
            self.met.add(need)
            self._ask(need)
        self._must(self.at(condition, "a"))

    @property
    def sure(self) -> str:
        """An i1 before the loop: whether all that must hold does."""
        sure = "true"
        for each in self.asked:
            sure = each if sure == "true" else self.before.and_("i1", sure, each)
        return sure

    def kind_of(self, text: str) -> Kind:
        """Of an operand. What is no name of the loop is a constant, or known before it."""
        return self.kinds.get(text, OTHER) if text in self._own else OTHER if text == "%ws" else SAME

    def _kind(self, name: str, text: str) -> Kind:
        if "<" in text or text.startswith("phi "):
            return OTHER  # vectors that are the same in all warps are LLVM's affair
        if found := LOAD.match(text):
            return self._field(name, *self.places.get(found[2], (found[2], 0)))
        kinds = [self.kind_of(each) for each in NAME.findall(text)]
        if all(kind == SAME for kind in kinds):
            return SAME if text.startswith((*PURE, "getelementptr")) or INTRINSIC.match(text) else OTHER
        if any(kind == OTHER for kind in kinds):
            return OTHER
        if all(isinstance(kind, Truth) for kind in kinds):
            return Truth(_needs(kinds)) if text.startswith(PURE) else OTHER
        if found := TWO.match(text):
            return self._sum(*found.groups())
        if found := WIDTH.match(text):
            kind = self.kind_of(found[3])
            if not isinstance(kind, Induction) or kind.zeros or found[2] == "i1":
                return OTHER
            exact = set() if found[1] == "trunc" else {("exact", found[3], found[1])}
            return Induction(kind.step, kind.deep, kind.needs | exact)
        if found := ROTATED.match(text):
            kind = self.kind_of(found[1])
            return kind._replace(zeros=int(found[2])) if isinstance(kind, Induction) else OTHER
        if found := COMPARED.match(text):
            return self._comparison(name, *found.groups())
        return OTHER

    def _field(self, name: str, root: str, off: int) -> Kind:
        """What is loaded from memory that no kernel writes."""
        if root in ("%params", "%sites") or (root == "%ctx" and off in _GRID):
            return SAME
        if root == "%cta" and off in _INDEX:
            self.of_cta.add(name)
            return Induction("0", "1") if self._runs and off == _ALONG_X else SAME
        return self._fields.get(off, OTHER) if root == "%ws" else OTHER

    def _sum(self, word: str, type_: str, a: str, b: str) -> Kind:
        x, y = self.kind_of(a), self.kind_of(b)
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
        factor = str(1 << int(b)) if word == "shl" else self.final(a if x == SAME else b)
        if type_ == "i32" and factor.startswith("%"):
            factor = self.before.sext("i32", factor, "i64")
        grown = other if x == SAME else one
        return Induction(self._made("mul", grown.step, factor), self._made("mul", grown.deep, factor), needs)

    def _comparison(self, name: str, order: str, type_: str, a: str, b: str) -> Kind:
        x, y = self.kind_of(a), self.kind_of(b)
        if type_ == "i32" and order in _SIGNED + _UNSIGNED:
            if any(isinstance(kind, Induction) and kind.zeros for kind in (x, y)):
                return OTHER
            if not all(kind == SAME or isinstance(kind, Induction) for kind in (x, y)):
                return OTHER
            steps = [(kind.step, kind.deep) for kind in (x, y) if isinstance(kind, Induction)]
            if self._slices and len(set(steps)) > 1:  # their difference might grow along y and shrink along z
                return OTHER
            word = "sext" if order in _SIGNED else "zext"
            exact = {("exact", v, word) for v, kind in ((a, x), (b, y)) if isinstance(kind, Induction)}
            return Truth(_needs([x, y]) | exact | {("alike", name)})
        if type_ == "i64" and order in ("ult", "ule") and isinstance(x, Induction) and y == SAME:
            if any(step.lstrip("-").isdigit() and int(step) % (1 << x.zeros) for step in (x.step, x.deep)):
                return OTHER
            return Truth(x.needs | {("inside", name, b, x.step, x.deep, str(x.zeros))})
        return OTHER

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

    def at(self, text: str, end: str) -> str:
        """A value in the first warp ("a"), or in the last ("z")."""
        kind = self.kind_of(text)
        if kind == SAME:
            return self.final(text)
        if (text, end) not in self._ends:
            definition = self.text[text]
            if found := LOAD.match(definition):
                root, off = self.places[found[2]]
                of_warp = "%fw.0" if end == "a" else "%last"
                loaded = self.before.load(found[1], self.before.offset(of_warp if root == "%ws" else root, off))
                if root == "%cta" and end == "z":  # that of the last CTA in a run
                    loaded = self.before.add("i32", loaded, self.before.trunc("i64", "%deeper", "i32"))
                self._ends[text, end] = loaded
            else:
                self._ends[text, end] = self.before.let(NAME.sub(lambda m: self.at(m[0], end), definition))
        return self._ends[text, end]

    def _near(self, step: str) -> None:
        """A step is not so large that the difference of the first warp and the last might wrap around."""
        if step.lstrip("-").isdigit():
            if abs(int(step)) == FAR:
                self._must("false")
        elif step not in self.met:
            self.met.add(step)
            self._must(self.before.ult("i64", self.before.add("i64", step, FAR), 2 * FAR))

    def _forth(self, step: str, deep: str) -> None:
        """Steps are near, and none goes the other way: all values lie between those of the first warp and the last."""
        self._near(step)
        self._near(deep)
        if "0" in (step, deep) or f"{step} {deep}" in self.met:
            return
        self.met.add(f"{step} {deep}")
        self._must(self.before.sge("i64", self.before.xor("i64", step, deep), 0))

    def _ask(self, need: Need) -> None:
        what, name, *others = need
        first, last = self.at(name, "a"), self.at(name, "z")
        if what == "alike":
            self._must(self.before.eq("i1", first, last))
        elif what == "exact":
            kind = self.kinds[name]
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
            self._must(self.before.ult("i64", self.final(limit), FAR << 8))
            for each in (step, deep):
                if zeros != "0" and not each.lstrip("-").isdigit():
                    low = self.before.and_("i64", each, (1 << int(zeros)) - 1)
                    self._must(self.before.eq("i64", low, 0))

    # -- how they go on from warp to warp ------------------------------------------------------------------------------

    def beside(self, name: str) -> str:
        """Of what is a number that grows and one that does not, the first; "" of anything else."""
        found = TWO.match(self.text[name])
        a, b = found.groups()[2:] if found and found[1] in ("add", "sub") else ("", "")
        return a if self.kind_of(b) == SAME and isinstance(self.kind_of(a), Induction) else ""

    def grows(self, name: str, kind: Kind) -> bool:
        """Whether a value grows by a known step if what is asked before the loop holds."""
        if not isinstance(kind, Induction) or kind.zeros or not kind.needs <= self.met:
            return False
        far = any(step.lstrip("-").isdigit() and abs(int(step)) >= FAR for step in (kind.step, kind.deep))
        return made_type(self.text[name]) in ("i32", "i64") and not far


def _needs(kinds: list[Kind]) -> frozenset[Need]:
    return frozenset().union(*(kind.needs for kind in kinds if not isinstance(kind, Other)))
