"""Right kernels damaged a line at a time, in five languages: what the checks say of each, and at which line.

`damages(language)` yields one change of one line each: a barrier or fence left out, a guard widened or left out, an
index moved by one, an atomic operation made ordinary, a loop one round longer. `judged(damage)` compiles the text and
runs the kernel under all checks. The right texts lie in tests/corpus/damaged.
"""

from __future__ import annotations

import functools
import importlib.util
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import ptxlab as pl
from ptxlab.errors import CompileError, DeviceFault
from ptxlab.findings import Finding
from ptxlab.testing.reports import findings_of
from ptxlab.text import parse

CORPUS = Path(__file__).resolve().parents[1] / "corpus" / "damaged"
BUDGET = 2_000_000
"""Warp-instructions after which a launch counts as one that does not end."""


@dataclass(frozen=True)
class Launch:
    """How a kernel is launched. `args` makes its arguments; `wanted` says what the last arrays of them hold then."""

    grid: Any
    block: Any
    args: Callable[[], list[Any]]
    wanted: Callable[..., np.ndarray]
    out: int
    """Which argument is compared."""
    constants: tuple[tuple[str, int], ...] = ()


def _floats(seed: int, *shape: int) -> np.ndarray:
    """Small whole numbers: their sums are exact in any order."""
    return np.random.default_rng(seed).integers(-8, 9, shape).astype(np.float32)


def _bins(n: int) -> np.ndarray:
    return np.random.default_rng(n).integers(0, 32, n).astype(np.int32)


def _zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def _padded(x: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], x, [0]]).astype(np.float32)


def _softmax(x: np.ndarray, *_: Any) -> np.ndarray:
    e = np.exp(x - x.max(1, keepdims=True))
    return np.asarray(e / e.sum(1, keepdims=True))


def _layer_norm(x: np.ndarray, w: np.ndarray, *_: Any) -> np.ndarray:
    return np.asarray((x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * w)


REVERSE = Launch(2, 64, lambda: [_floats(1, 128), _zeros(128)], lambda x, _: x.reshape(2, 64)[:, ::-1].ravel(), 1)
STENCIL = Launch(
    4,
    64,
    lambda: [_floats(2, 200), _zeros(200), 200],
    lambda x, *_: _padded(x)[:-2] + _padded(x)[1:-1] + _padded(x)[2:],
    1,
)
BLOCK_SUM = Launch(
    4, 64, lambda: [_floats(3, 200), _zeros(4), 200], lambda x, *_: np.pad(x, (0, 56)).reshape(4, 64).sum(1), 1
)
TRANSPOSE = Launch((2, 2), (16, 16), lambda: [_floats(4, 20, 24), _zeros(24, 20), 20, 24], lambda x, *_: x.T, 1)
HISTOGRAM = Launch(
    4, 64, lambda: [_bins(200), np.zeros(32, np.int32), 200], lambda x, *_: np.bincount(x, minlength=32), 1
)
MATMUL = Launch(
    (2, 2), (16, 16), lambda: [_floats(5, 20, 20), _floats(6, 20, 20), _zeros(20, 20), 20], lambda a, b, *_: a @ b, 2
)
SCAN = Launch(2, 64, lambda: [_floats(7, 128), _zeros(128)], lambda x, _: x.reshape(2, 64).cumsum(1).ravel(), 1)
LAST_BLOCK = Launch(
    4, 64, lambda: [_floats(8, 256), _zeros(4), np.zeros(1, np.int32), _zeros(1)], lambda x, *_: x.sum(keepdims=True), 3
)
EXCHANGE = Launch(2, 32, lambda: [_floats(9, 64), _zeros(64)], lambda x, _: x.reshape(-1, 2)[:, ::-1].ravel(), 1)
STAGED = Launch(1, 64, lambda: [_floats(10, 256), _zeros(64)], lambda x, _: x[::-1][:64], 1)

THREADS = {
    "reverse": REVERSE, "stencil": STENCIL, "block_sum": BLOCK_SUM, "transpose": TRANSPOSE, "histogram": HISTOGRAM,
    "matmul": MATMUL, "scan": SCAN, "last_block": LAST_BLOCK, "exchange": EXCHANGE,
}  # fmt: skip
PTX = {name: THREADS[name] for name in ("reverse", "stencil", "block_sum", "histogram", "last_block", "exchange")}
PTX["staged"] = STAGED
TRITON = {
    "add": Launch(
        4, None, lambda: [_floats(1, 200), _floats(2, 200), _zeros(200), 200], lambda x, y, *_: x + y, 2,
        (("BLOCK", 64),),
    ),
    "softmax": Launch(5, None, lambda: [_floats(3, 5, 100), _zeros(5, 100), 5, 100], _softmax, 1, (("BLOCK", 128),)),
    "matmul": replace(MATMUL, block=None, constants=(("BLOCK", 16),)),
    "layer_norm": Launch(
        5, None, lambda: [_floats(4, 5, 100), _floats(5, 100), _zeros(5, 100), 100], _layer_norm, 2,
        (("BLOCK", 128), ("enable_fp_fusion", False)),  # fused, the sum differs by lane: docs/triton.md
    ),
    "histogram": replace(HISTOGRAM, block=None, constants=(("BLOCK", 64),)),
    "total": Launch(
        4, None, lambda: [_floats(6, 256), _zeros(64), np.zeros(1, np.int32)],
        lambda x, *_: x.reshape(4, 64).sum(0), 1, (("BLOCK", 64),),
    ),
    "rotate": Launch(
        2, None, lambda: [_floats(7, 512), _zeros(512), _zeros(512)],
        lambda x, *_: np.roll(x.reshape(2, 256), -1, 1).ravel(), 2, (("BLOCK", 256),),
    ),
    "transpose": replace(TRANSPOSE, block=None, constants=(("BLOCK", 16),)),
    "gather": Launch(
        4, None, lambda: [_floats(8, 100), np.random.default_rng(9).permutation(200).astype(np.int32) // 2,
                          _zeros(200), 200],
        lambda x, index, *_: x[index], 2, (("BLOCK", 64),),
    ),
}  # fmt: skip

# -- damages -----------------------------------------------------------------------------------------------------------

Rule = tuple[str, str, str]
"""A kind, a pattern, and what is written in its place; one damage for each place where the pattern is found."""
C_LIKE: list[Rule] = [
    ("barrier", r"__sync(?:threads|warp)\(\)", ""),
    ("fence", r"__threadfence\(\)", ""),
    ("guard widened", r"(?<=if \()(.*?)\b(t|i|row) < (n|rows|cols|step|32)\b", r"\1\2 <= \3"),
    ("guard left out", r"(?<=if \()(?:i < n|t == 0|t < 32|row < \w+ && col < \w+)(?=\))", "true"),
    ("index", r"\b(x|out|tile|counts|partial|left|right)((?:\[[^][]+\])*)\[([^][]+)\]", r"\1\2[\3 + 1]"),
    ("atomic", r"atomicAdd\(&(bins)\[t\], (.*)\);", r"\1[t] += \2;"),
    ("atomic", r"atomicAdd\(&counts\[x\[i\]\], 1\);", r"counts[x[i]] += 1;"),
    ("atomic", r"atomicAdd\(&count\[0\], 1\)", "count[0]++"),
    ("loop", r"j < (64|16|gridDim.x)", r"j <= \1"),
]
NUMBA: list[Rule] = [
    ("barrier", r"cuda\.sync(?:threads|warp)\(\)", "pass"),
    ("fence", r"cuda\.threadfence\(\)", "pass"),
    ("guard widened", r"(?<=if )(.*?)\b(t|i|row) < (n|rows|cols|step|32)\b(?=.*:)", r"\1\2 <= \3"),
    ("guard left out", r"(?<=if )(?:i < n|t == 0|t < 32|row < \w+ and col < \w+)(?=:)", "True"),
    ("index", r"\b(x|out|tile|partial|left|right)\[([^][]+)\]", r"\1[\2 + 1]"),
    ("index", r"\bcounts\[t\]", "counts[t + 1]"),
    ("atomic", r"cuda\.atomic\.add\((counts|bins), (x\[i\]|t), (.*)\)", r"\1[\2] += \3"),
    ("loop", r"range\((64|16|cuda\.gridDim\.x)\)", r"range(\1 + 1)"),
]
BUILDER: list[Rule] = [
    ("barrier", r"k\.barrier\(\)|k\.op\(\"bar\.warp\.sync\".*\)", "pass"),
    ("fence", r"k\.fence\(.*\)", "pass"),
    ("guard widened", r"(?<=if_\()(.*?)\b(t|i|row) < (n|rows|cols|step|32)\b", r"\1\2 <= \3"),
    ("guard left out", r"(?<=if_\()(?:i < n|t == 0|t < 32|\(row < \w+\) & \(col < \w+\))(?=\):)", "k.tid.x <= 1024"),
    ("index", r"\b(x|out|tile|counts|partial|left|right)\[([^][]+)\]", r"\1[\2 + 1]"),
    ("atomic", r"k\.red\(counts \+ x\[i\], 1, .*\)", "counts[x[i]] = counts[x[i]] + 1"),
    ("atomic", r"k\.red\(bins \+ t, counts\[t\], .*\)", "bins[t] = bins[t] + counts[t]"),
    ("loop", r"k\.loop\((64|k\.nctaid\.x)\)", r"k.loop(\1 + 1)"),
]
PTX_RULES: list[Rule] = [
    ("barrier", r"bar\.(?:sync 0|warp\.sync 0xffffffff);", ""),
    ("fence", r"fence\.acq_rel\.gpu;|cp\.async\.(?:commit_group|wait_group 0);", ""),
    ("guard widened", r"setp\.lt\.u32 (%[pq], %[it], (?:%n|%step|32|64);)", r"setp.le.u32 \1"),
    ("guard left out", r"@!%[pq] bra \w+;", ""),
    ("guard left out", r"@%[pq] (?=(?:ld|st)\.)", ""),
    ("index", r"((?:ld|st|red)\.(?:global|shared).*\[%\w+)\]", r"\1 + 4]"),
    ("index", r"(\[%[ms])(\], \[%px\], 16)", r"\1 + 16\2"),
    ("index", r"(\[%m\], \[%px)(\], 16)", r"\1 + 16\2"),
    ("atomic", r"red\.(shared|global)\.add\.u32 (\[%\w+\]), (%c|1);",
     r"ld.\1.u32 %i, \2; add.u32 %i, %i, \3; st.\1.u32 \2, %i;"),
    ("atomic", r"atom\.global\.add\.u32 %last, \[%pc\], 1;",
     "ld.global.u32 %last, [%pc]; add.u32 %i, %last, 1; st.global.u32 [%pc], %i;"),
    ("loop", r"setp\.lt\.u32 (%p, %j, 64;)", r"setp.le.u32 \1"),
]  # fmt: skip
TRITON_RULES: list[Rule] = [
    ("barrier", r"tl\.debug_barrier\(\)", "pass"),
    ("guard widened", r"(?<=mask = at) < (n|cols)", r" <= \1"),
    ("guard widened", r"(?<=\]) < (n|rows|cols)\b", r" <= \1"),
    ("guard left out", r", mask=(?:mask|left|right|at < n)(?:, other=[^)]+\)?(?=\)))?(?=\))", ""),
    ("guard left out", r", mask=\(.*\) & \([^)]*\)(?=\))", ""),
    ("index", r"(?<=_ptr)( \+ (?:mine \+ )?(?:at|row \* cols \+ at|bins|index))(?=[,)])", r"\1 + 1"),
    ("atomic", r"tl\.atomic_add\(bins_ptr \+ bins, 1, mask=mask\)",
     "tl.store(bins_ptr + bins, tl.load(bins_ptr + bins, mask=mask) + 1, mask=mask)"),
    ("atomic", r"while tl\.atomic_cas\(lock_ptr, 0, 1\) == 1:", "while tl.load(lock_ptr) == 1:"),
    ("atomic", r"tl\.atomic_cas\(lock_ptr, 0, 1\)", 'tl.atomic_cas(lock_ptr, 0, 1, sem="relaxed")'),
    ("atomic", r"tl\.atomic_xchg\(lock_ptr, 0\)", 'tl.atomic_xchg(lock_ptr, 0, sem="relaxed")'),
]  # fmt: skip


@dataclass(frozen=True)
class Language:
    """A language: its file of right kernels, how they are launched, and what may go wrong in a line of it."""

    name: str
    file: Path
    launches: dict[str, Launch]
    rules: list[Rule]
    heads: str
    """The pattern of the line that a kernel begins with; its group is the name."""
    access: str
    """The pattern of a line that may touch memory or wait."""


LANGUAGES = {
    each.name: each
    for each in (
        Language("numba", CORPUS / "numba_right.py", THREADS, NUMBA, r"def (\w+)", r"\[|atomic|sync"),
        Language("CUDA C++", CORPUS / "right.cu", THREADS, C_LIKE, r'extern "C" .* (\w+)\(', r"\[|atomic|__sync"),
        Language("builder", CORPUS / "builder_right.py", THREADS, BUILDER, r"def (\w+)", r"\[|k\.(?:red|atom|barrier)"),
        Language("PTX", CORPUS / "right.ptx", PTX, PTX_RULES, r"\.visible \.entry (\w+)",
                 r"ld\.|st\.|red\.|atom\.|bar\.|cp\."),
        Language("Triton", CORPUS / "triton_right.py", TRITON, TRITON_RULES, r"def (\w+)",
                 r"tl\.(?:load|store|atomic)"),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Damage:
    """One line of a right text changed. Lines count from 1; `first` and `last` are those of the kernel."""

    language: str
    kernel: str
    kind: str
    line: int
    before: str
    after: str
    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.language}, {self.kernel}: {self.kind}: `{self.before.strip()}` -> `{self.after.strip()}`"

    @property
    def text(self) -> str:
        """The whole damaged file."""
        lines = LANGUAGES[self.language].file.read_text(encoding="utf-8").split("\n")
        lines[self.line - 1] = self.after
        return "\n".join(lines)


EXPLAINED = {
    ("block_sum", "if t == 0:"): "all threads store the same value to one place",
    ("block_sum", "if (t == 0)"): "all threads store the same value to one place",
    ("block_sum", "with k.if_(t == 0):"): "all threads store the same value to one place",
    ("block_sum", "@%p ld.shared.f32 %v, [%s];"): "each thread loads its own element; one uses it",
    ("gather", "tl.store(out_ptr + at, tl.load(x_ptr + index, mask=mask), mask=mask)"):
        "an index that was masked is 0, and the first element may be read",
    **{("last_block", fence): "the fence behind the ticket: the memory model wants one behind every relaxed atomic, "
                              "racecheck asks for it behind `cas` and `exch` only (docs/machine.md)"
       for fence in ("cuda.threadfence()", "__threadfence();", 'k.fence(order="acq_rel", scope="gpu")',
                     "fence.acq_rel.gpu;")},
}  # fmt: skip
"""Why nothing is said of a damage that leaves the result as it was: kernel and line -> the reason."""


def damages(language: str) -> Iterator[Damage]:
    """Every change that the language's rules make of its right kernels, each once."""
    spoken = LANGUAGES[language]
    lines = spoken.file.read_text(encoding="utf-8").split("\n")
    heads = [(m[1], n) for n, line in enumerate(lines, 1) if (m := re.match(spoken.heads, line))]
    ends = [n - 1 for _, n in heads[1:]] + [len(lines)]
    for (kernel, first), last in zip(heads, ends, strict=True):
        for number in range(first + 1, last + 1):
            line, seen = lines[number - 1], set()
            if re.search(r"shared\.array|__shared__|k\.shared|\.shared \.align", line):
                continue
            for kind, pattern, new in spoken.rules:
                for match in re.finditer(pattern, line):
                    after = line[: match.start()] + match.expand(new) + line[match.end() :]
                    if after not in seen:
                        seen.add(after)
                        yield Damage(language, kernel, kind, number, line, after, first, last)


# -- what becomes of them ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """What became of a damaged kernel.

    outcome: "reported", "values only" (no rule of memory or order is broken, but the result is wrong), "same code" (the
    compiler makes the same PTX), "refused" by the compiler, or "silent". lines: those of the user's text that were
    named, 0 for a place that is not in it. named: whether each is a line of the kernel that touches memory or waits.
    at: whether the damaged line is among them. wrong: whether the result differs; None where the kernel was stopped.
    """

    damage: Damage
    outcome: str
    checks: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()
    named: bool = False
    at: bool = False
    wrong: bool | None = None
    says: str = ""


def compiled(language: str, kernel: str, text: str) -> Any:
    """A kernel of a text as `pl.launch` takes it."""
    launch = LANGUAGES[language].launches[kernel]
    if language == "PTX":
        lines, found = text.split("\n"), parse(text)
        keep = next(f for f in found.kernels if f.name == kernel)
        return parse("\n".join(_alone(lines, keep.name)), file="right.ptx")
    if language == "CUDA C++":
        return pl.cuda(text, entry=kernel, file="right.cu")
    function = getattr(_module(text), kernel)
    if language == "builder":
        function.ptx  # noqa: B018  building raises what is wrong
        return function
    if language == "numba":
        return pl.numba(function, *launch.args())
    return pl.triton(function, *launch.args(), **dict(launch.constants))


def _alone(lines: list[str], kernel: str) -> list[str]:
    """PTX in which the other kernels are empty lines."""
    kept, inside = [], True
    for line in lines:
        if match := re.match(r"\.visible \.entry (\w+)", line):
            inside = match[1] == kernel
        kept.append(line if inside else "")
    return kept


_KEPT: list[tempfile.TemporaryDirectory[str]] = []
"""Folders of the modules made: a compiler may read a kernel's source as long as its function lives."""


def _module(text: str) -> Any:
    """A Python module of a text: compilers read the source of a kernel from its file."""
    _KEPT.append(tempfile.TemporaryDirectory())
    path = Path(_KEPT[-1].name) / f"damaged_{len(_KEPT)}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _code(kernel: Any) -> str:
    """The instructions of a kernel, without what says from which line they come."""
    text = kernel.ptx if hasattr(kernel, "ptx") else str(kernel)
    text = re.sub(r"//.*|^\s*\.(?:loc|file)\b.*$|\$L__tmp\d+:", "", text.partition(".section")[0], flags=re.MULTILINE)
    return re.sub(r"\s+", " ", text)


def ran(language: str, name: str, kernel: Any) -> tuple[list[Finding], bool | None]:
    """What all checks say of a launch, and whether its result is wrong; None where it was stopped."""
    launch = LANGUAGES[language].launches[name]
    args = launch.args()
    wanted = launch.wanted(*launch.args())
    try:
        found = pl.launch(kernel, launch.grid, launch.block, *args, checks="all", device="cpu", budget=BUDGET)
    except DeviceFault as fault:
        return list(findings_of(fault)), None
    return list(found.findings), not np.allclose(args[launch.out], wanted, rtol=1e-4, atol=1e-4)


@functools.cache
def right_code(language: str, kernel: str) -> str:
    """The PTX of a right kernel."""
    return _code(compiled(language, kernel, LANGUAGES[language].file.read_text(encoding="utf-8")))


def judged(damage: Damage) -> Verdict:
    """What becomes of a damaged kernel."""
    try:
        kernel = compiled(damage.language, damage.kernel, damage.text)
    except (CompileError, pl.PtxError) as error:
        return Verdict(damage, "refused", says=str(error))
    findings, wrong = ran(damage.language, damage.kernel, kernel)
    if findings:
        lines = tuple(sorted(set(_lines(damage, findings))))
        text, pattern = damage.text.split("\n"), LANGUAGES[damage.language].access
        named = all(damage.first < n <= damage.last and re.search(pattern, text[n - 1]) for n in lines)
        checks = tuple(sorted({finding.check for finding in findings}))
        says = "\n".join(map(str, findings))
        return Verdict(damage, "reported", checks, lines, bool(lines) and named, damage.line in lines, wrong, says)
    if wrong:
        return Verdict(damage, "values only", wrong=True)
    same = _code(kernel) == right_code(damage.language, damage.kernel)
    return Verdict(damage, "same code" if same else "silent", wrong=False)


def _lines(damage: Damage, findings: list[Finding]) -> Iterator[int]:
    """The lines of the user's text that findings name; 0 for a place that is not in it."""
    own = "right.cu" if damage.language == "CUDA C++" else "damaged_"
    for finding in findings:
        for party in (finding.first, finding.second):
            if party is None:
                continue
            if damage.language == "PTX":
                yield party.line
            else:
                yield party.span.line if party.span is not None and own in party.span.file else 0
