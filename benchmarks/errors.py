"""How long a damaged PTX file takes to be explained, beside how long the whole one takes to be parsed.

    python benchmarks/errors.py                 # `--quick`: the best of one run instead of three

Files of nvcc, of Triton and of the library's kernels, 1 to 100 kB; each is damaged in the ways of `DAMAGES`. For each
damage it prints the time to the explained error of `pl.parse` and `validate`, of `pl.launch`, and of the editor's
check, in milliseconds and as multiples of the parse. Every answer that is kept between calls is forgotten before each
measurement, as in a process that has just started.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable
from pathlib import Path

import ptxlab as pl
from ptxlab.garbage_collection import resting
from ptxlab.isa import matching
from ptxlab.lab import language
from ptxlab.launch.plan import _parsed
from ptxlab.text import spelling
from ptxlab.text.validate import validate

CORPUS = Path(__file__).parent.parent / "tests/corpus"
INSTRUCTION = re.compile(r"^(\s*(?:@!?%\w+ +)?)([a-z]\w*)((?:\.[\w:]+)+)(\s+[^;]*)?;", re.MULTILINE)
ASKED = 50.0
"""Milliseconds that no file below 100 kB should need."""


# -- files -------------------------------------------------------------------------------------------------------------


def files() -> dict[str, str]:
    """Name -> text, from small to large; the largest are kernels of several entries in one file."""
    names = (
        "cuda/saxpy.O3",
        "cuda/reduce.O3",
        "triton/add.sm_80",
        "cuda/reduce.G",
        "triton/matmul.sm_90",
        "cuda/softmax.G",
        "triton/attention.sm_80",
    )
    found = {name: (CORPUS / f"{name}.ptx").read_text() for name in names}
    found["triton/attention x 2"] = _several(found["triton/attention.sm_80"], 2)
    found["cuda/softmax.G x 3"] = _several(found["cuda/softmax.G"], 3)
    found["triton/attention x 3"] = _several(found["triton/attention.sm_80"], 3)
    found["cuda/softmax.G x 5"] = _several(found["cuda/softmax.G"], 5)
    return found


def _several(text: str, copies: int) -> str:
    """The module with all its functions and variables several times, under other names."""
    start = re.search(r"^\.address_size.*\n", text, re.MULTILINE)
    assert start is not None
    head, body = text[: start.end()], text[start.end() :]
    body = re.sub(r"^\s*\.section[^{]*\{[^}]*\}|^\s*\.file.*", "", body, flags=re.MULTILINE)
    names = set(re.findall(r"\.(?:entry|func)\s+(?:\([^)]*\)\s*)?([\w$]+)", body))
    names |= set(
        re.findall(r"^\s*(?:\.\w+ )*\.(?:global|const|shared) [^;]*?([\w$]+)(?:\[[^;]*)?;", body, re.MULTILINE)
    )
    word = re.compile(r"(?<![\w$.%])(" + "|".join(map(re.escape, sorted(names, key=len, reverse=True))) + r")(?![\w$])")
    return head + "".join(word.sub(rf"\1_{n}", body) for n in range(copies))


# -- damage ------------------------------------------------------------------------------------------------------------


def _last(text: str, change: Callable[[re.Match[str]], str]) -> str:
    """The text with its last instruction of two operands or more changed."""
    found = [m for m in INSTRUCTION.finditer(text) if "," in (m[4] or "")][-1]
    return text[: found.start()] + change(found) + text[found.end() :]


def _all(text: str, change: Callable[[re.Match[str]], str]) -> str:
    return INSTRUCTION.sub(change, text)


def _joined(m: re.Match[str], name: str = "", modifiers: str = "", operands: str = "") -> str:
    return f"{m[1]}{name or m[2]}{modifiers or m[3]}{operands or m[4] or ''};"


DAMAGES: dict[str, Callable[[str], str]] = {
    "wrong opcode": lambda t: _last(t, lambda m: _joined(m, name=m[2] + "q")),
    "wrong modifier": lambda t: _last(t, lambda m: _joined(m, modifiers=".zz" + m[3])),
    "wrong type": lambda t: _last(t, lambda m: _joined(m, modifiers=m[3].rpartition(".")[0] + ".q32")),
    "missing type": lambda t: _last(t, lambda m: _joined(m, modifiers=m[3].rpartition(".")[0] or " ")),
    "missing operand": lambda t: _last(t, lambda m: _joined(m, operands=(m[4] or "").rpartition(",")[0])),
    "misspelt register": lambda t: _last(t, lambda m: _joined(m, operands=re.sub(r"%(\w+)", r"%x\1", m[4], count=1))),
    "missing semicolon": lambda t: _last(t, lambda m: _joined(m)[:-1]),
    "a name twice": lambda t: re.sub(r"(\.reg \.\w+\s+%\w+<\d+>;)", r"\1 \1", t, count=1),
    "20 wrong modifiers": lambda t: _several_of(t, lambda m, n: _joined(m, modifiers=f".z{n}" + m[3])),
    "20 unknown opcodes": lambda t: _several_of(t, lambda m, n: _joined(m, name=f"{m[2]}z{n}")),
    "all modifiers differ": lambda t: _several_of(t, lambda m, n: _joined(m, modifiers=f".z{n}" + m[3]), len(t)),
    "all opcodes differ": lambda t: _several_of(t, lambda m, n: _joined(m, name=f"{m[2]}z{n}"), len(t)),
    "every modifier": lambda t: _all(t, lambda m: _joined(m, modifiers=".zz" + m[3])),
    "every opcode": lambda t: _all(t, lambda m: _joined(m, name=m[2] + "q")),
    "one kind of register": lambda t: re.sub(r"\.reg \.b32\s+%r<.*", "", t),
    "another kind of register": lambda t: re.sub(r"(\.reg) \.b32(\s+%r<)", r"\1 .f64\2", t),
    "all commas missing": lambda t: _all(t, lambda m: _joined(m, operands=(m[4] or "").replace(",", " "))),
}
"""What is done to a text -> how."""


def _several_of(text: str, change: Callable[[re.Match[str], int], str], most: int = 20) -> str:
    """The text with up to `most` instructions changed, spread over all of it, each in a way of its own."""
    places = [m for m in INSTRUCTION.finditer(text) if m[4]]
    chosen = places[:: max(1, len(places) // most)][:most]
    for number, m in reversed(list(enumerate(chosen))):
        text = text[: m.start()] + change(m, number) + text[m.end() :]
    return text


# -- times -------------------------------------------------------------------------------------------------------------


def forget() -> None:
    """Drops the answers that are kept."""
    for kept in (
        matching.form,
        matching.find_form,
        matching._refusal,
        matching._vocabulary,
        spelling.nearest,
        spelling.corrected,
        spelling.counts,
        spelling._choices,
        _parsed,
    ):
        kept.cache_clear()


def checked(text: str) -> int:
    """`pl.parse` and `validate`; the number of errors."""
    try:
        return len(validate(pl.parse(text)))
    except pl.PtxSyntaxError:
        return 1


def launches(text: str) -> Callable[[str], int]:
    """`pl.launch` on the CPU machine, as far as the error; text: the whole one, which says what arguments it takes."""
    kernel = [f for f in pl.parse(text).kernels if f.body is not None][-1]
    one = {"f": 0.0, "u64": None, "b64": None}  # None is a null pointer, and nothing gets as far as to follow it
    values = [bytes(v.shape[0]) if v.shape else one.get(v.type, one.get(v.type[0], 0)) for v in kernel.params]

    def launched(damaged: str) -> int:
        try:
            pl.launch(damaged, 1, 32, *values, device="cpu", entry=kernel.name)
        except pl.PtxError:
            return 1
        except pl.LaunchError:  # the damage is in a function that this kernel does not call
            return 0
        return 0

    return launched


def edited(text: str) -> int:
    """What the editor does after a key, until its marks are sent."""
    with resting():
        errors = language.read(text)[0]
        language.marks(errors)
        return len(errors)


def milliseconds(task: Callable[[str], int], text: str, runs: int) -> float:
    """The best of a few runs, in the time of this thread: what else the machine does is not counted."""
    best = float("inf")
    for _ in range(runs):
        forget()
        start = time.thread_time()
        task(text)
        best = min(best, time.thread_time() - start)
    return best * 1e3


def main() -> None:
    """Prints the table and the worst."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one run of each instead of three")
    runs = 1 if parser.parse_args().quick else 3
    worst = (0.0, "")
    for name, text in files().items():
        whole = milliseconds(lambda t: len(pl.parse(t).items), text, runs)
        sound = milliseconds(checked, text, runs)
        print(
            f"\n{name}: {len(text) / 1e3:.1f} kB; parse {whole:.1f} ms, with validate {sound:.1f} ms, "
            f"{checked(text)} errors"
        )
        print(f"  {'':22}{'errors':>7}  {'parse + validate':>18}  {'pl.launch':>18}  {'editor':>18}")
        launched = launches(text)
        for damage, damaged in DAMAGES.items():
            broken = damaged(text)
            if broken == text:
                continue
            times = [milliseconds(task, broken, runs) for task in (checked, launched, edited) if task(broken)]
            worst = max(worst, (max(times), f"{damage}, {name}"))
            cells = [f"{t:8.1f} ms {t / whole:5.1f} x" for t in times]
            if len(cells) < 3:  # the kernel that is launched does not call the damaged function
                cells.insert(1, f"{'-':>18}")
            print(f"  {damage:22}{checked(broken):7}  {'  '.join(cells)}")
    print(f"\nworst: {worst[0]:.1f} ms ({worst[1]}); {ASKED:.0f} ms asked")


if __name__ == "__main__":
    main()
