"""What `validate` says of mutated texts beside what NVIDIA's assembler says, run by hand.

    PYTHONPATH=tests/support python tests/support/validator_differential.py 2000 0

for 2000 texts of seed 0. Each text is a small kernel of examples from the instruction table with one to three
mutations: types, modifiers, operand kinds, counts, versions, targets, spaces, declarations. It prints the texts on
which the two do not agree, but for what `KNOWN` says only ptxlab refuses; `benchmarks/results/validator.md` has a run's
differences by their causes. More than one seed may be given. The assembler runs in a process of its own, for there are
texts that end it.
"""

from __future__ import annotations

import functools
import json
import random
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ptxlab.errors import PtxError
from ptxlab.gpu import assembler
from ptxlab.isa import TABLE, all_ops, examples
from ptxlab.text import parse
from ptxlab.text.validate import validate

VERSIONS = ("6.4", "7.0", "7.8", "8.0", "8.3", "8.6", "8.8")
TARGETS = ("sm_75", "sm_80", "sm_90", "sm_90a", "sm_100", "sm_120")
TYPES = (
    "b8", "b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f16", "f32", "f64", "bf16", "pred", "b128",
)  # fmt: skip
SPACES = ("global", "shared", "local", "const", "param")
OPERANDS = (
    "%r1", "%rd1", "%f1", "%fd1", "%h1", "%p1", "%q1", "%tid.x", "%clock64", "7", "-1", "0x1F", "1.5", "0f3F800000",
    "0d3FF0000000000000", "[%rd1]", "[%r1]", "[%rd1+3]", "[tile]", "tile", "input", "{%r1, %r2}", "{%f1, %f2}", "{%r1}",
    "!%p1", "-%r1", "%r1+4", "_", "WARP_SZ", "%nothing", "done", "(%r1)", "%r1|%p1",
)  # fmt: skip
NO_EXAMPLES = ("call", "brx")
"""Instructions whose operands need more than one line."""
LIKELY = 0.75
"""How many of the texts keep a version and a target that have all that the examples need."""


def text(rng: random.Random) -> str:
    """A small kernel with some mutations."""
    entries = [rng.choice(_entries()) for _ in range(rng.randint(1, 3))]
    lines = [examples.line(rng.choice(_opcodes(entry))) for entry in entries]
    at = rng.randrange(len(lines))
    for _ in range(rng.choice((0, 1, 1, 1, 2))):
        lines[at] = mutated(rng, lines[at])
    declarations = examples.DECLARATIONS.splitlines()
    if rng.random() < 0.08:
        declarations.pop(rng.randrange(len(declarations)))
    if rng.random() < 0.08:
        declarations.append(declared(rng))
    version, target = ("8.8", "sm_90a") if rng.random() < LIKELY else (rng.choice(VERSIONS), rng.choice(TARGETS))
    if tuple(map(int, version.split("."))) < (8, 3):
        declarations = [line for line in declarations if ".b128" not in line]
    body = "\n".join([*declarations, *lines])
    return (
        f".version {version}\n.target {target}\n.address_size 64\n.const .align 16 .b8 table[64];\n"
        f".visible .entry example(.param .u64 input)\n{{\n{body}\ndone:\nret;\n}}\n"
    )


@functools.cache
def _entries() -> list[object]:
    return [entry for entry in all_ops() if entry.name not in NO_EXAMPLES]


@functools.cache
def _opcodes(entry: object) -> list[str]:
    return list(examples.opcodes(entry))  # type: ignore[arg-type]


def mutated(rng: random.Random, line: str) -> str:
    """A line with one thing changed."""
    opcode, _, rest = line.rstrip(";").partition(" ")
    words, operands = opcode.split("."), split(rest)
    known = sorted({word for entry in TABLE.get(words[0], ()) for word in entry.words})
    kind = rng.choice(("type", "modifier", "modifier", "operand", "operand", "count", "space", "guard"))
    if kind == "type":
        typed = [k for k, word in enumerate(words) if word in TYPES]
        if typed:
            words[rng.choice(typed)] = rng.choice(TYPES)
    elif kind == "modifier" and known:
        at, way = rng.randint(1, len(words)), rng.random()
        if way < 0.4:
            words.insert(at, rng.choice(known))
        elif at < len(words):
            words[at : at + 1] = [rng.choice(known)] if way < 0.7 else []
    elif kind == "operand" and operands:
        operands[rng.randrange(len(operands))] = rng.choice(OPERANDS)
    elif kind == "count":
        if operands and rng.random() < 0.5:
            operands.pop(rng.randrange(len(operands)))
        else:
            operands.insert(rng.randint(0, len(operands)), rng.choice(OPERANDS))
    elif kind == "space":
        spaces = [k for k, word in enumerate(words) if word in SPACES]
        if spaces:
            words[rng.choice(spaces)] = rng.choice(SPACES)
    guard = rng.choice(("@%p1 ", "@!%p1 ", "@%r1 ", "@!%q1 ")) if kind == "guard" else ""
    return f"{guard}{'.'.join(words)} {', '.join(operands)};".replace(" ;", ";")


def split(operands: str) -> list[str]:
    """Operands at their commas, those in brackets kept together."""
    out: list[str] = []
    depth = 0
    for piece in operands.split(","):
        if depth:
            out[-1] += f",{piece}"
        else:
            out.append(piece.strip())
        depth += sum(piece.count(c) for c in "[{(") - sum(piece.count(c) for c in "]})")
    return [piece for piece in out if piece]


def declared(rng: random.Random) -> str:
    """A declaration, right or wrong."""
    type_, name = rng.choice(TYPES), rng.choice(("extra", "%r", "%r3", "tile", "%x"))
    shape = rng.choice(("", "[4]", "[]", "<4>", "[0]"))
    align = rng.choice(("", ".align 4 ", ".align 3 ", ".align 128 "))
    vector = rng.choice(("", "", ".v2 ", ".v4 "))
    value = rng.choice(("", "", " = 1", " = {1, 2}"))
    space = rng.choice(("reg", "shared", "local", "global", "const", "param"))
    return f".{space} {align}{vector}.{type_} {name}{shape}{value};"


# -- why they differ ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Difference:
    """A text that one of the two refuses. who: "ptxlab" or "assembler"; message: what it says."""

    who: str
    message: str
    ptx: str


def changed(ptx: str) -> str:
    """The lines of a text that are not in every one, in one line."""
    common = set(examples.DECLARATIONS.splitlines()) | {"{", "}", "done:", "ret;", ".address_size 64"}
    lines = [
        line for line in ptx.splitlines() if line not in common and ".entry" not in line and "table[64]" not in line
    ]
    return " | ".join(lines)


KNOWN = (
    ("wgmma without .aligned", r"^wgmma needs \.aligned here", r"\bwgmma\."),
    ("red.async and st.async without the mbarrier",
     "takes 3 operands .*; found 2$", r"\b(red|st)\.async\S* [^,]+, [^\[]+(;|$)"),
    ("prefetch with an eviction priority but without .global",
     r"^prefetch needs \.global here; found \.L2::evict", r"\bprefetch\.L2::evict"),
    ("eight elements of 8 or 16 bits",
     r"^(ld|st) does not take \.v8 here|needs \.type here", r"\b(ld|st)\.\S*v8\.[bus](8|16)\b"),
    ("set.bf16 of another type", r"^set needs \.bf16 here; found \.[usf]16", r"\bset\.\S*bf16\.[usf]16"),
    ("testp without what it tests", r"^testp needs \.test here", r"\btestp\.f(32|64) "),
    ("a type too many in mma and wmma", r"^w?mma does not take \.\w+ here", r"\bw?mma\."),
    ("multimem.st and multimem.red with .acc::f32",
     r"^multimem does not take \.acc::f32 here", r"\bmultimem\.(st|red)\S*\.acc::f32"),
    ("fence with a space after it",
     r"^fence does not take \.(shared::c|sync_restrict)", r"\bfence\.proxy\.(async|tensormap)::generic\."),
    ("movmatrix of a predicate", r"^movmatrix\S* takes 32 bits here; \S+ is \.pred", r"\bmovmatrix\.\S* .*%p"),
    ("an address of a bulk copy without brackets",
     r"^cp\.(reduce\.)?async\.bulk\S* takes an address in brackets here", r"\bcp\.(reduce\.)?async\.bulk\."),
    ("a field of a tensor map in tensormap.cp_fenceproxy",
     r"^tensormap does not take \.\w+ here", r"\btensormap\.cp_fenceproxy\."),
    ("rcp.ftz.f64", r"^rcp does not take \.ftz here", r"\brcp\.r[nzmp]\.ftz\.f64"),
    ("a cache operator behind sust's clamp", r"^sust does not take \.w[bt] here", r"\bsust\.\S*\.w[bt] "),
    ("a fourth operand of atom", r"^atom\S* takes a cache policy only with", r"\batom\."),
    ("signed types of setmaxnreg and getctarank",
     r"^(setmaxnreg|getctarank) needs .*; found \.s32", r"\b(setmaxnreg|getctarank)\.\S*s32 "),
    ("st.async of two registers", r"^st\.async\S* takes no braces here", r"\bst\.async\."),
    ("braces around the level of tex.level", r"^tex\.level\S* takes no braces here", r"\btex\.level\."),
    ("st.async with .shared alone", r"^st does not take \.shared here", r"\bst\.async\.shared\."),
    ("fence.async", r"^fence does not take \.async here", r"\bfence\.(\w+\.)?async\."),
)  # fmt: skip
"""What only ptxlab refuses, and no form of the manual has: a name, what its message holds, what the text holds."""


def known(difference: Difference) -> str:
    """The name of the known cause of a difference, or ""."""
    text = changed(difference.ptx) if difference.who == "ptxlab" else ""
    return next(
        (name for name, said, line in KNOWN if re.search(said, difference.message) and re.search(line, text)), ""
    )


# -- the two -----------------------------------------------------------------------------------------------------------


def ours(ptx: str) -> str:
    """What ptxlab says of a text; "" if it takes it."""
    try:
        found = validate(parse(ptx))
    except PtxError as error:
        return error.message
    return found[0].message if found else ""


ASSEMBLE = """
import json, sys
from ptxlab.errors import AssemblyError, PtxlabError
from ptxlab.gpu import assembler
for line in sys.stdin:
    try:
        assembler.assemble(json.loads(line))
        print(json.dumps(""), flush=True)
    except PtxlabError as error:
        print(json.dumps(getattr(error, "message", "") or str(error)), flush=True)
"""


def theirs(texts: Sequence[str]) -> Iterator[str]:
    """What the assembler says of each text; "" if it takes it, "ended" where it ended its process."""
    left = list(texts)
    while left:
        with subprocess.Popen(
            [sys.executable, "-c", ASSEMBLE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as child:
            assert child.stdin is not None
            assert child.stdout is not None
            while left:
                try:
                    child.stdin.write(json.dumps(left[0]) + "\n")
                    child.stdin.flush()
                    answer = child.stdout.readline()
                except BrokenPipeError:
                    answer = ""
                yield json.loads(answer) if answer else "ended"
                left.pop(0)
                if not answer:
                    break
            else:
                child.stdin.close()


def differences(texts: Iterable[str]) -> list[Difference]:
    """The texts on which the two differ; not those that end the assembler's process."""
    given, found = list(texts), []
    for ptx, says in zip(given, theirs(given), strict=True):
        mine = ours(ptx)
        if bool(mine) != bool(says) and says != "ended":
            found.append(Difference("assembler" if says else "ptxlab", (says or mine).splitlines()[0], ptx))
    return found


def main(count: int, seeds: Sequence[int]) -> None:
    """Prints the differences that are not known, and how many there are."""
    found: list[Difference] = []
    for seed in seeds:
        rng = random.Random(seed)
        found += differences(text(rng) for _ in range(count))
    for difference in found:
        if not known(difference):
            print(f"{difference.who} refuses ({difference.message}): {changed(difference.ptx)}")
    print(f"{len(found)} of {count * len(seeds)} texts, nvJitLink {'.'.join(map(str, assembler.version()))}")


if __name__ == "__main__":
    main(int(sys.argv[1]), [int(seed) for seed in sys.argv[2:]])
