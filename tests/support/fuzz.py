"""Damaged PTX must end in an error or in a correct run: never a crash, a hang or an error that nobody meant.

    python tests/support/fuzz.py COUNT [FIRST SEED] [ENGINE] [LARGEST] [--record]

damages sources of at most LARGEST characters (30,000 unless told), runs so many of them in this process and prints a
tally. ENGINE is `step`, `jit` or `both` (each seed on one of the two, by turns). What is damaged are instructions,
numbers (special addresses among them), declarations, and the launch: its sizes, shared memory, target, and the number
and kinds of its arguments. A crash shows as the death of the process, after the seed that caused it was printed.
`tests/emulate/test_fuzz.py` runs batches in processes of their own, and so does `--record`, which writes their tally to
benchmarks/results/fuzz.md.
"""

from __future__ import annotations

import argparse
import collections
import datetime
import json
import os
import platform
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from random_programs import program

import ptxlab as pl
from ptxlab.emulate import lower
from ptxlab.emulate.program.addresses import (
    GLOBALS_BASE,
    HEAP_BASE,
    LOCAL_WINDOW,
    PARAM_WINDOW,
    SHARED_WINDOW,
    WINDOW_SIZE,
)
from ptxlab.emulate.program.layout import size_of
from ptxlab.errors import PtxlabError
from ptxlab.launch.run import ALL_CHECKS
from ptxlab.text import parse
from ptxlab.text.lexer import Source, lex

ROOT = Path(__file__).resolve().parents[2]
CORPUS, RECORD = ROOT / "tests" / "corpus", ROOT / "benchmarks" / "results" / "fuzz.md"
BUDGET, BATCH = 20_000, 250
Tally = collections.Counter[str]
LARGE = 1 << 20
"""Bytes of memory that a program may declare: more is not run here, only because a machine has several of these."""
SPARE = [
    "%r1", "%rd1", "%f1", "%p1", "0", "1", "-1", "4", "0x7FFFFFFF", "0xFFFFFFFFFFFFFFFF", "140737488355328",
    "0f7FC00000", "%tid.x", "%laneid", "%clock64", "%warpid", "{", "}", "[", "]", "+", ",", ";", "@%p1", "bra", "ret;",
    "exit;", "bar.sync 0;", "bar.sync 1, 64;", "trap;", "_", "|", "!",
]  # fmt: skip
ADDRESSES = [
    n + by
    for n in (
        0,
        1 << 31,
        1 << 32,
        1 << 47,
        1 << 63,
        1 << 64,
        GLOBALS_BASE,
        HEAP_BASE,
        HEAP_BASE + 4096,
        *(w + s for w in (PARAM_WINDOW, LOCAL_WINDOW, SHARED_WINDOW) for s in (0, 1024, WINDOW_SIZE)),
    )
    for by in (-16, -4, -1, 0, 1, 4)
    if 0 <= n + by < 1 << 64
]
"""Where nothing lies, or the last byte of something."""
TYPES = ("b8", "b16", "b32", "b64", "u8", "u16", "u32", "u64", "s32", "s64", "f16", "f32", "f64", "pred", "b128", "q9")
SPACES = ("global", "shared", "local", "const", "param", "reg", "tex", "shared::cta")
SIZES = ("0", "1", "3", "31", "32", "33", "64", "96", "256", "1024", "1025", "65536", "-1", "4294967295", "4294967296",
         "1099511627776", "18446744073709551616")  # fmt: skip
ALIGNMENTS = ("0", "1", "2", "3", "4", "8", "16", "128", "1024", "-4", "4294967296")
SECTIONS = (0, 1, 2, 3, 31, 32, 33, 63, 64, 96, 256, 1024, 1025, 65536, -1, 1 << 31, 1 << 32, 1 << 70)


def sources(largest: int = 30_000) -> list[str]:
    """Undamaged programs of moderate size: nvcc's, Triton's, hand-written and random ones."""
    folders = ("cuda/*.O3.ptx", "grammar/*.ptx", "triton/*.ptx")
    files = [path for folder in folders for path in sorted(CORPUS.glob(folder))]
    texts = [*(path.read_text() for path in files), *(program(seed) for seed in range(20))]
    return [text for text in texts if len(text) <= largest and ".entry" in text]


def damage(text: str, rng: random.Random) -> str:
    """The text with a few things wrong: registers and numbers exchanged for others (most of these still parse), whole
    instructions dropped, doubled or moved, declarations changed, addresses that nobody may have, and now and then a
    token that makes no sense at all."""
    tokens = [t for t in lex(Source(text)) if t.kind != "end"]
    words = [str(t) for t in tokens]
    body = next((k for k, t in enumerate(tokens) if t.text == "{"), 0)
    registers = [k for k, t in enumerate(tokens) if k > body and t.text.startswith("%")]
    numbers = [k for k, t in enumerate(tokens) if k > body and t.kind == "number"]
    ends = [k for k, t in enumerate(tokens) if k > body and t.text == ";"]
    for _ in range(rng.choice([1, 1, 2, 3, 6])):
        kind = rng.random()
        if kind < 0.25 and registers:
            prefix = tokens[at := rng.choice(registers)].text.rstrip("0123456789")
            same = [k for k in registers if tokens[k].text.startswith(prefix)] if rng.random() < 0.8 else registers
            words[at] = tokens[at].before + tokens[rng.choice(same)].text
        elif kind < 0.4 and numbers:
            new = rng.choice([str(rng.randrange(-8, 300)), "0", "-1", "65537", "0x80000000", "4294967295", "1 << 40"])
            words[rng.choice(numbers)] = " " + new
        elif kind < 0.5:
            address(words, tokens, rng)
        elif kind < 0.65:
            declaration(words, tokens, rng)
        elif kind < 0.82 and len(ends) > 2:
            k = rng.randrange(len(ends) - 1)
            first, last = ends[k] + 1, ends[k + 1] + 1
            whole = words[first:last]
            if kind < 0.73:
                words[first:last] = [""] * len(whole)
            else:
                words[ends[rng.randrange(len(ends))]] += "".join(whole)
        elif kind < 0.92:
            at = rng.randrange(body, len(words))
            words[at] = words[rng.randrange(body, len(words))]
        else:
            words[rng.randrange(body if rng.random() < 0.9 else 0, len(words))] = " " + rng.choice(SPARE)
    return "".join(words)


def address(words: list[str], tokens: list[Any], rng: random.Random) -> None:
    """Puts a special address into brackets: in the place of the register, or behind it."""
    places = [k for k, t in enumerate(tokens[:-2]) if t.text == "[" and tokens[k + 1].text.startswith("%")]
    if not places:
        return
    at, number = rng.choice(places) + 1, rng.choice(ADDRESSES)
    if rng.random() < 0.5:
        words[at] = str(number)
    elif tokens[at + 1].text == "]":
        words[at] += f"+{number if rng.random() < 0.5 else number - (1 << 64)}"
    else:
        words[at] = f"{tokens[at].text}+{number}];\n mov.u64 %rd1, {number};\n ld.u32 %r1, [%rd1"


def declaration(words: list[str], tokens: list[Any], rng: random.Random) -> None:
    """Changes a declaration: a type, size, alignment, space or name in one of its lines."""
    starts = [k for k, t in enumerate(tokens) if t.text.startswith(".") and t.text[1:].partition("::")[0] in SPACES]
    if not starts:
        return
    first = rng.choice(starts)
    last = next((k for k in range(first, len(tokens)) if tokens[k].text in (";", ")", "{")), first)
    inside = range(first, last)
    kind = rng.choice(("type", "size", "align", "space", "name"))
    if kind == "type":
        found = [k for k in inside if tokens[k].text[1:] in TYPES]
        new = "." + rng.choice(TYPES)
    elif kind == "size":
        found = [k for k in inside if tokens[k].kind == "number"]
        new = rng.choice(SIZES)
    elif kind == "align":
        found, new = [first], f"{tokens[first].text} .align {rng.choice(ALIGNMENTS)}"
    elif kind == "space":
        found, new = [first], "." + rng.choice(SPACES)
    else:
        found = [k for k in inside if not tokens[k].text.startswith(".") and tokens[k].text[:1].isidentifier()]
        others = [t.text for t in tokens if t.text[:1].isidentifier()]
        new = rng.choice([*others[:200], "k", "%tid", "add", "_", "$L", "9x"])
    if found:
        at = rng.choice(found)
        words[at] = tokens[at].before + new


def plan(rng: random.Random) -> dict[str, Any]:
    """How a launch is to be damaged; most are not."""

    def size() -> Any:
        return (
            rng.choice(SECTIONS)
            if rng.random() < 0.7
            else tuple(rng.choice(SECTIONS) for _ in range(rng.randint(0, 4)))
        )

    wishes: dict[str, Any] = {}
    if rng.random() < 0.25:
        kind = rng.choice(("grid", "block", "shared", "arch", "fewer", "more", "kinds", "entry", "checks"))
        wishes[kind] = {
            "grid": size,
            "block": size,
            "shared": lambda: rng.choice((*SECTIONS, 2.5, None, "4")),
            "arch": lambda: rng.choice(("sm_50", "sm_90", "sm_100a", "sm_999", "", "x")),
            "fewer": lambda: True,
            "more": lambda: True,
            "kinds": lambda: rng.random(),
            "entry": lambda: rng.choice(("", "k", "%", "x" * 99)),
            "checks": lambda: rng.choice(("racecheck", ("initcheck", "synccheck"), ALL_CHECKS)),
        }[kind]()
    return wishes


def arguments(function: Any, wishes: dict[str, Any], rng: random.Random) -> list[Any]:
    """One for each parameter that fits it, but for what the plan wants otherwise."""
    given: list[Any] = []
    for v in function.params:
        size = size_of(v)
        if v.shape:
            given.append(bytes(size))
        elif v.type[:1] == "f":
            given.append(1.5)
        elif size == 8:
            given.append(np.arange(1024, dtype=np.uint32))
        else:
            given.append(16)
    if "fewer" in wishes and given:
        given.pop(rng.randrange(len(given)))
    if "more" in wishes:
        given.append(rng.choice((1, None, np.zeros(3), "x")))
    if "kinds" in wishes and given:
        odd = (None, "x", b"12", -1, 1 << 64, 1 << 63, 2.5, float("nan"), [1, 2], np.zeros(0), np.zeros((2, 2))[:, ::2],
               np.array("a"), np.zeros(2, object), np.float16(1), np.zeros(3, np.complex64), True)  # fmt: skip
        given[rng.randrange(len(given))] = rng.choice(odd)
    return given


def run(text: str, engine: str, rng: random.Random) -> str:
    """What became of a program: "ran", or the name of the error that ptxlab gave. Anything else is raised."""
    wishes = plan(rng)
    try:
        module = parse(text)
        kernels = [k for k in module.kernels if k.body is not None]
        if not kernels:
            return "no kernel"
        lowered = lower(module, kernels[0].name)
        declared = [lowered.param_size, lowered.local_size, lowered.shared_static]
        if max(*declared, *(g.initial.size for g in lowered.globals)) > LARGE:
            return "too large"
        given = arguments(kernels[0], wishes, rng)
        block = wishes.get("block", lowered.exact_threads or 64)
        grid = wishes.get("grid", 2)
        pl.launch(
            module,
            grid,
            block,
            *given,
            entry=wishes.get("entry", kernels[0].name),
            shared=wishes.get("shared", 256),
            arch=wishes.get("arch"),
            checks=wishes.get("checks", ("memcheck",)),
            budget=BUDGET,
            workers=1,
            device="step" if engine == "step" else "cpu",
        )
    except PtxlabError as error:
        return type(error).__name__ if not hasattr(error, "kind") else f"{type(error).__name__} {error.kind}"
    return "ran"


def record(given: argparse.Namespace) -> Tally:
    """Runs the programs in processes of their own; one that dies or hangs is counted, and the rest goes on."""
    tally: Tally = collections.Counter()
    waiting = [(first, BATCH) for first in range(given.first, given.first + given.count, BATCH)]
    while waiting:
        first, count = waiting.pop(0)
        count = min(count, given.first + given.count - first)
        command = [sys.executable, __file__, str(count), str(first), given.engine, str(given.largest)]
        environment = {**os.environ, "PTXLAB_CACHE": "off", "PYTHONPATH": str(ROOT)}
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=60 + count, env=environment)
            said, ended = done.stderr, "CRASH"
        except subprocess.TimeoutExpired as late:
            done, said, ended = None, (late.stderr or b"").decode(), "HANG"
        if done is not None and not done.returncode:
            tally.update(json.loads(done.stdout.splitlines()[-1]))
        else:
            at = int(said.rpartition("\rseed ")[2].split()[0])
            print(f"seed {at}: {ended}", flush=True)
            tally[ended] += 1
            waiting[:0] = [(start, n) for start, n in ((first, at - first), (at + 1, first + count - at - 1)) if n]
    return tally


def page(tally: Tally, first: int) -> str:
    """The record in Markdown: what was run, on what, and what became of it."""
    wrong = {"crashes": "CRASH", "hangs": "HANG", "exceptions not ptxlab's own": "WRONG"}
    counts = [f"| {words} | {sum(n for became, n in tally.items() if became.startswith(kind)):,} |"
              for words, kind in wrong.items()]  # fmt: skip
    rows = [f"| {became} | {n:,} |" for became, n in tally.most_common()]
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    head = f"""# Damaged programs

{tally.total():,} programs, seeds {first} to {first + tally.total() - 1}, both engines by turns
(`python tests/support/fuzz.py {tally.total()} {first} both --record`): nvcc's, Triton's, hand-written and random
sources, with instructions, numbers, addresses, declarations or the launch's arguments damaged. Recorded
{datetime.date.today()} at commit {commit.stdout.strip()}, Python {platform.python_version()}, {platform.machine()}."""
    return "\n".join([head, "", "| | |", "|---|---:|", *counts, "", "| outcome | programs |", "|---|---:|", *rows, ""])


def main() -> None:
    """Runs a batch, or many."""
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int)
    parser.add_argument("first", type=int, nargs="?", default=0)
    parser.add_argument("engine", choices=("step", "jit", "both"), nargs="?", default="jit")
    parser.add_argument("largest", type=int, nargs="?", default=30_000)
    parser.add_argument("--record", action="store_true")
    given = parser.parse_args()
    if given.record:
        RECORD.write_text(page(record(given), given.first))
        return
    texts, slowest = sources(given.largest), (0.0, -1)
    tally: Tally = collections.Counter()
    weights = [1 / len(text) for text in texts]  # a short source is drawn more often: as much time goes into each
    start = time.perf_counter()
    for seed in range(given.first, given.first + given.count):
        rng = random.Random(seed)
        text = damage(*rng.choices(texts, weights), rng)
        engine = ("step", "jit")[seed % 2] if given.engine == "both" else given.engine
        print(f"\rseed {seed}", end="", file=sys.stderr, flush=True)
        begun = time.perf_counter()
        try:
            became = run(text, engine, rng)
        except Exception as error:
            Path(f"fuzz-{seed}.ptx").write_text(text)
            print(f"\nseed {seed} ({engine}): {type(error).__name__}: {error}"[:600], flush=True)
            became = "WRONG " + type(error).__name__
        tally[became] += 1
        slowest = max(slowest, (time.perf_counter() - begun, seed))
    seconds = time.perf_counter() - start
    print(f"\n{given.count} programs, {seconds:.1f} s, slowest {slowest[0]:.2f} s (seed {slowest[1]})")
    print(json.dumps(tally))


if __name__ == "__main__":
    main()
