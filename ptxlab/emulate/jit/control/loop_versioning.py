"""Loop versioning: a second loop over the warps of a CTA, which leaves out the tests that hold for all of them.

In an elementwise kernel a warp mostly tests: whether its addresses lie in an array, whether its lanes are inside of
`n`. Indices grow by the same number from warp to warp, so what holds for the first warp and for the last holds for
those between. This takes the text of a segment's loop, and makes of it a loop for CTAs in which all tests have been
found to hold:

    before the loop: what is the same in all warps; the tests, for the first warp and for the last
    in the loop: the rest, without these tests, and without the code for when they fail

Where a test fails, the CTA runs in the loop that tests. `loop_scalars` says what is known of each scalar.

It reads text because these tests come from all parts of the emitter, and each part would otherwise have to describe
every value that it emits. An instruction that is not known here gives an `Other` and stays in the loop: that costs
time, and is never wrong.

Registers that the blocks of a segment hand on in the warp's state are handed on as values.
"""

from __future__ import annotations

import re
from itertools import pairwise

from ptxlab.emulate.jit.control.loop_scalars import SAME, Induction, LoopScalars, Truth
from ptxlab.emulate.jit.control.warp_loop import ENDED
from ptxlab.emulate.jit.llvm.instruction_text import (
    BITS_OF_TWO,
    COMPARED,
    IF,
    LABEL,
    LET,
    LIVE,
    LOAD,
    NAME,
    PLACE,
    STORE,
    WAY,
    WIDTH,
    folded,
    made_type,
    names_in,
    size,
    without_unused,
)
from ptxlab.emulate.jit.llvm.ir_text import PROMOTED, USUAL


class VersionedLoop:
    """The second loop. lines: the first one's, behind its own questions; `%ws` is the warp. Before the loop `%fw.0` is
    the first warp and `%last` the last one, `%beyond` how many more these are, an i64. registers: where they begin in
    a warp's state. steps: what `%tid.x` and `%tid.y` grow by. slices: whether CTAs have several slices along z. Then
    `%beyond` is how many more warps a slice has, `%deeper` how many more slices there are, and `%turns.TAG` in the loop
    whether the next warp is the first of a slice. runs: whether the loop is for several CTAs along x, which are its
    slices. parted: lanes of warps may disagree at branches out of the kernel, which is not asked. tag: what names of
    this loop end with; its warp is `%ws.TAG`, the label of its questions `ask.TAG`, and that of what is done for the
    next warp `next.TAG`, to which a run comes from `warp.over.TAG` or, with the next CTA, from `turn.TAG`."""

    def __init__(
        self, lines: list[str], registers: int, steps: tuple[int, int], *, slices: bool, tag: str = "f",
        parted: bool = False, runs: bool = False,
    ) -> None:  # fmt: skip
        self.registers, self.slices, self.runs, self.tag, self.parted = registers, slices or runs, runs, tag, parted
        self.body: list[str] = []
        starts = [k for k, line in enumerate(lines) if line.endswith(":")]
        blocks = {lines[a][:-1]: lines[a + 1 : b] for a, b in pairwise([*starts, len(lines)])}
        own = {m[1] for line in lines if (m := LET.match(line.strip()))}
        own |= {f"%{label}" for label in (*blocks, "warp.done")}
        self.scalars = LoopScalars(own, steps, slices=slices, tag=tag, runs=runs)
        self._alias: dict[str, str] = {}
        self._under: dict[str, str] = {}
        """Of lanes that are some of `LIVE` bits of all lanes whose value is 0 or -1, so that these tell as much."""
        self._held: dict[int, tuple[str, str]] = {}
        """What registers hold, by their places: type and value."""
        self._walk(blocks)
        self.before, self.sure = self.scalars.before, self.scalars.sure
        """What is computed before the loop; there, an i1: whether all that must hold does."""
        if not any(f"ptr %{PROMOTED}.result" in line for line in self.body):  # nobody goes on from the warp's state
            self._drop_stores()
        self.counted, self.chosen, self.onward = list[str](), list[str](), list[str]()
        """Of what grows from warp to warp: the values at the beginning of the loop, by how much they grow in a run, and
        what is added at its end."""
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
            self._all = open_ - {ENDED} == {label} - {ENDED}  # whether each warp that goes on comes here
            self._known = self._all and label not in looping
            self._here = label
            self.body.append(f"{label}.{self.tag}:")
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
        kind, of_cta = self.scalars.kind_of(condition), condition in self.scalars.of_cta
        if not self._known or not isinstance(kind, Truth) or (USUAL in marks and (self.parted or not of_cta)):
            return False
        self.scalars.assume(condition, kind)
        return True

    # -- lines ---------------------------------------------------------------------------------------------------------

    def _put(self, text: str) -> None:
        self.body.append("  " + self.scalars.final(text))

    def _resolved(self, text: str) -> str:
        return NAME.sub(lambda m: self._alias.get(m[0], m[0]), text)

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
            text = self._for_all(name, self._resolved(text))
        same = folded(text) or self._loaded(text)
        if same is not None:
            self._alias[name] = same
            return
        if place := PLACE.match(text):
            root, off = self.scalars.places.get(place[1], (place[1], 0))
            self.scalars.places[name] = root, off + int(place[2])
        kind = self.scalars.add(name, text, known=self._known)
        if kind == SAME:
            self.scalars.before.do(self.scalars.final(f"{name} = {text}"))
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

    def _for_all(self, name: str, text: str) -> str:
        """A comparison of bits under the mask of a warp's lanes as one of the bits of all lanes, where these agree."""
        if (found := BITS_OF_TWO.match(text)) and found[3] == LIVE and self._agree(found[2]):
            self._under[name] = found[2]
        elif (found := COMPARED.match(text)) and found[1] == "eq" and found[3] in self._under:
            of_all = {"0": "0", LIVE: "-1"}.get(found[4])
            return text if of_all is None else f"{text[: found.start(3)]}{self._under[found[3]]}, {of_all}"
        return text

    def _agree(self, bits: str) -> bool:
        """Whether bits are 0 or -1."""
        if bits in ("0", "-1"):
            return True
        text = self.scalars.text.get(bits, "")
        if found := WIDTH.match(text):
            return found[1] == "sext" and found[2] == "i1"
        found = BITS_OF_TWO.match(text)
        return bool(found and self._agree(found[2]) and self._agree(found[3]))

    def _register(self, pointer: str) -> int:
        """The place of the register at a pointer; 0 where that is none."""
        root, off = self.scalars.places.get(pointer, ("", 0))
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
        pointers = {f"{name}.{self.tag}" for name in self.scalars.places if self._register(name)}
        rest = [x for x in self.body if not ((m := STORE.match(x.strip())) and m[3] in pointers)]
        used = {name for line in rest for name in NAME.findall(line.partition(" = ")[2] or line)}
        if not used & pointers:
            self.body = rest

    def _count_up(self) -> None:
        """What grows is not made anew in each warp of the number of its threads: it goes on from the warp before, or
        from what does."""
        kinds, tag = self.scalars.kinds, self.tag
        growing = {f"{name}.{tag}": name for name, kind in kinds.items() if self.scalars.grows(name, kind)}
        used = names_in(without_unused(self.body, growing))
        beside = {name for name in used & set(growing) if f"{self.scalars.beside(growing[name])}.{tag}" in used}
        self.body = without_unused(self.body, set(growing) - beside)
        for name in sorted(names_in(self.body) & set(growing) - beside):
            kind, type_ = self.scalars.kinds[growing[name]], made_type(self.scalars.text[growing[name]])
            assert isinstance(kind, Induction)
            step, first = self._narrow(type_, kind.step), self.scalars.at(growing[name], "a")
            if kind.deep != "0" or (self.slices and kind.step != "0"):
                back = self.before.mul("i64", kind.step, "%beyond")
                turn = self._narrow(type_, self.before.sub("i64", kind.deep, back))
                if self.runs:
                    self.chosen.append(f"  {name}.by = phi {type_} [{step}, %warp.over.{tag}], [{turn}, %turn.{tag}]")
                else:
                    self.onward.append(f"  {name}.by = select i1 %turns.{tag}, {type_} {turn}, {type_} {step}")
                step = f"{name}.by"
            self.counted.append(f"  {name} = phi {type_} [{first}, %ask.{tag}], [{name}.next, %next.{tag}]")
            self.onward.append(f"  {name}.next = add {type_} {name}, {step}")

    def _narrow(self, type_: str, step: str) -> str:
        """A step, an i64, as a number of this type."""
        return self.before.trunc("i64", step, "i32") if type_ == "i32" else step
