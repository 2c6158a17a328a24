"""Damaged PTX must end in an error or in a correct run: never a crash, a hang or an error that nobody meant.

    python tests/fuzz.py COUNT [FIRST SEED] [ENGINE] [LARGEST]

damages sources of at most LARGEST characters (30,000 unless told), runs so many of them in this process and prints a
tally. A crash shows as the death of the process, after the seed that caused it was printed; `tests/test_fuzz.py` runs
batches in processes of their own.
"""

from __future__ import annotations

import collections
import random
import sys
import time
from pathlib import Path

import numpy as np
from random_programs import program

from ptxlab.emulate import Memory, execute, lower
from ptxlab.errors import PtxlabError
from ptxlab.text import parse
from ptxlab.text.lexer import Source, lex

CORPUS = Path(__file__).parent / "corpus"
BUDGET = 20_000
SPARE = [
    "%r1", "%rd1", "%f1", "%p1", "0", "1", "-1", "4", "0x7FFFFFFF", "0xFFFFFFFFFFFFFFFF", "140737488355328",
    "0f7FC00000", "%tid.x", "%laneid", "%clock64", "%warpid", "{", "}", "[", "]", "+", ",", ";", "@%p1", "bra", "ret;",
    "exit;", "bar.sync 0;", "bar.sync 1, 64;", "trap;", "_", "|", "!",
]  # fmt: skip


def sources(largest: int = 30_000) -> list[str]:
    """Undamaged programs of moderate size: nvcc's, Triton's, hand-written and random ones."""
    folders = ("cuda/*.O3.ptx", "grammar/*.ptx", "triton/*.ptx")
    files = [path for folder in folders for path in sorted(CORPUS.glob(folder))]
    texts = [*(path.read_text() for path in files), *(program(seed) for seed in range(20))]
    return [text for text in texts if len(text) <= largest and ".entry" in text]


def damage(text: str, rng: random.Random) -> str:
    """The text with a few things wrong: registers and numbers exchanged for others (most of these still parse), whole
    instructions dropped, doubled or moved, and now and then a token that makes no sense at all."""
    tokens = [t for t in lex(Source(text)) if t.kind != "end"]
    words = [str(t) for t in tokens]
    body = next((k for k, t in enumerate(tokens) if t.text == "{"), 0)
    registers = [k for k, t in enumerate(tokens) if k > body and t.text.startswith("%")]
    numbers = [k for k, t in enumerate(tokens) if k > body and t.kind == "number"]
    ends = [k for k, t in enumerate(tokens) if k > body and t.text == ";"]
    for _ in range(rng.choice([1, 1, 2, 3, 6])):
        kind = rng.random()
        if kind < 0.3 and registers:
            prefix = tokens[at := rng.choice(registers)].text.rstrip("0123456789")
            same = [k for k in registers if tokens[k].text.startswith(prefix)] if rng.random() < 0.8 else registers
            words[at] = tokens[at].before + tokens[rng.choice(same)].text
        elif kind < 0.5 and numbers:
            new = rng.choice([str(rng.randrange(-8, 300)), "0", "-1", "65537", "0x80000000", "4294967295", "1 << 40"])
            words[rng.choice(numbers)] = " " + new
        elif kind < 0.75 and len(ends) > 2:
            k = rng.randrange(len(ends) - 1)
            first, last = ends[k] + 1, ends[k + 1] + 1
            whole = words[first:last]
            if kind < 0.6:
                words[first:last] = [""] * len(whole)
            else:
                words[ends[rng.randrange(len(ends))]] += "".join(whole)
        elif kind < 0.9:
            at = rng.randrange(body, len(words))
            words[at] = words[rng.randrange(body, len(words))]
        else:
            words[rng.randrange(body if rng.random() < 0.9 else 0, len(words))] = " " + rng.choice(SPARE)
    return "".join(words)


def run(text: str, engine: str) -> str:
    """What became of a program: "ran", or the name of the error that ptxlab gave. Anything else is raised."""
    try:
        module = parse(text)
        kernels = [k.name for k in module.kernels if k.body is not None]
        if not kernels:
            return "no kernel"
        lowered = lower(module, kernels[0])
    except PtxlabError as error:
        return type(error).__name__
    memory = Memory()
    packed = bytearray(lowered.param_size)
    buffers = []
    for param in lowered.params:
        if param.size == 8:
            buffers.append(memory.allocate(4096, param.name, np.arange(1024, dtype=np.uint32)))
            packed[param.offset : param.offset + 8] = buffers[-1].address.to_bytes(8, "little")
        elif param.size == 4:
            packed[param.offset : param.offset + 4] = (16).to_bytes(4, "little")
    if len(packed) > 1 << 16 or lowered.local_size > 1 << 20 or lowered.shared_static > 1 << 20:
        return "too large"
    try:
        execute(
            module, kernels[0], engine=engine, grid=(2,), block=lowered.exact_threads or (64,), params=bytes(packed),
            memory=memory, shared=256, budget=BUDGET,
        )  # fmt: skip
    except PtxlabError as error:
        return type(error).__name__
    return "ran"


def main() -> None:
    """Runs a batch."""
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    engine = sys.argv[3] if len(sys.argv) > 3 else "jit"
    texts = sources(int(sys.argv[4])) if len(sys.argv) > 4 else sources()
    tally, slowest = collections.Counter(), (0.0, -1)
    start = time.perf_counter()
    for seed in range(first, first + count):
        rng = random.Random(seed)
        text = damage(rng.choice(texts), rng)
        print(f"\rseed {seed}", end="", file=sys.stderr, flush=True)
        begun = time.perf_counter()
        try:
            tally[run(text, engine)] += 1
        except Exception as error:
            Path(f"fuzz-{seed}.ptx").write_text(text)
            print(f"\nseed {seed}: {type(error).__name__}: {error}"[:600], flush=True)
            tally["WRONG " + type(error).__name__] += 1
        slowest = max(slowest, (time.perf_counter() - begun, seed))
    seconds = time.perf_counter() - start
    print(f"\n{count} programs, {seconds:.1f} s, slowest {slowest[0]:.2f} s (seed {slowest[1]}): {dict(tally)}")


if __name__ == "__main__":
    main()
