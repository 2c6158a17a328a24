"""`ptxlab check FILE`: runs a kernel from a file of PTX or CUDA C++ with all checks, its arguments written on the
command line. `ptxlab run` and `ptxlab bench` take the same files and arguments.

    ptxlab check sum.ptx --grid 2 --block 128 f32[256] out:f32[2] 256

An argument is a number (`256`, `0.5`, or `f64:0.5` where the width matters), or an array: `f32[256]` holds random
numbers (whole ones from 0 to 99 for integers), `f32[8,8]=0` zeros, `out:f32[2]` is written only, `x.npy` is a file.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxlab.errors import DeviceFault, LaunchError
from ptxlab.launch.argument_hints import COMMAND
from ptxlab.launch.buffers import Out
from ptxlab.launch.run import ALL_CHECKS, Run, launch
from ptxlab.names import source_name

if TYPE_CHECKING:
    from ptxlab.findings import Finding

DTYPES: dict[str, Any] = {
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    **{f"u{n}": np.dtype(f"uint{n}") for n in (8, 16, 32, 64)},
    **{f"s{n}": np.dtype(f"int{n}") for n in (8, 16, 32, 64)},
    **{f"i{n}": np.dtype(f"int{n}") for n in (8, 16, 32, 64)},
    **{f"b{n}": np.dtype(f"uint{n}") for n in (8, 16, 32, 64)},
}
"""The element types of an argument, by their PTX names; `i32` is `s32`, as numpy and Triton write it."""

_ARRAY = re.compile(r"(out:)?([a-z]+\d+)\[(\d+(?:,\d+)*)\](?:=(.+))?")
_TYPED = re.compile(r"([a-z]+\d+):(.+)")


def argument(text: str, seed: int = 0) -> Any:
    """What a word of the command line stands for: a number, an array, or `pl.out` of one. Raises `LaunchError`."""
    if text.endswith(".npy"):
        return _loaded(text)
    if found := _ARRAY.fullmatch(text):
        out, dtype, shape = found[1], _dtype(found[2], text), tuple(int(n) for n in found[3].split(","))
        if found[4] is not None:
            return np.full(shape, _number(found[4], text), dtype)
        if out:
            return Out(np.zeros(shape, dtype))
        rng = np.random.default_rng(seed)
        floats = np.dtype(dtype).kind not in "iu"
        return (rng.standard_normal(shape) if floats else rng.integers(0, 100, shape)).astype(dtype)
    if found := _TYPED.fullmatch(text):
        return np.dtype(_dtype(found[1], text)).type(_number(found[2], text))
    return _number(text, text)


def _loaded(path: str) -> Any:
    try:
        return np.ascontiguousarray(np.load(path))
    except OSError as error:
        raise LaunchError(f"{path}: {error.strerror or 'no array'}") from None
    except (ValueError, EOFError):
        raise LaunchError(f"{path} does not hold an array of numbers; write one with numpy.save") from None


def _dtype(name: str, text: str) -> Any:
    if name == "bf16":
        from ml_dtypes import bfloat16

        return bfloat16
    if name not in DTYPES:
        raise LaunchError(f"{text}: there is no type {name!r}; choose from {', '.join(DTYPES)}, bf16{_meant(text)}")
    return DTYPES[name]


def _number(word: str, text: str) -> int | float:
    for read in (lambda w: int(w, 0), float):
        try:
            return read(word)
        except ValueError:
            continue
    what = "expected a number, an array such as f32[256] or out:f32[256], or a .npy file"
    raise LaunchError(f"{text}: {what}{_meant(text)}")


def _meant(text: str) -> str:
    """The line to write for an array in another spelling: `float32[4][8]`, `f32(4x8)`, `in:f32[4]`, `f32[4]=ones`."""
    from ptxlab.isa.meanings import meant  # here, as only mistakes need it

    found = re.match(r"(?:in|(out))?\W?([a-z]\w*)[\[(](\d+(?:\s*(?:,|x|\]\[)\s*\d+)*)", text)
    types = [name for name in (found[2], *meant(found[2])) if name in (*DTYPES, "bf16")] if found else []
    if found is None or not types:
        return ""
    return f"\n  write:  {'out:' if found[1] else ''}{types[0]}[{','.join(re.findall(r'[0-9]+', found[3]))}]"


# -- files -------------------------------------------------------------------------------------------------------------

MACHINE_CODE = (b"\x7fELF", b"\x50\xed\x55\xba", b"MZ", b"!<arch>")
"""How cubins and programs begin, a fatbin, programs for Windows, and libraries."""


def kernel_of(path: Path, arch: str | None = None, entry: str | None = None) -> Any:
    """The kernel of a file: a module of PTX, or CUDA C++ compiled. `LaunchError` for what is neither."""
    try:
        data = path.read_bytes()
    except OSError as error:
        from ptxlab import kernels

        library = f"\n  write:  ptxlab run {path}" if str(path) in kernels.names() else ""
        raise LaunchError(f"{path}: {error.strerror}{library}") from None
    if data.startswith(MACHINE_CODE):
        what = f"{path} is machine code (a cubin, fatbin, library or program); ptxlab runs PTX and CUDA C++"
        raise LaunchError(f"{what}\n  write:  nvcc -ptx -lineinfo kernel.cu -o kernel.ptx")
    wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))  # as `>` writes in PowerShell
    if (b"\0" in data and not wide) or path.suffix == ".py":
        what = "Python" if path.suffix == ".py" else "no text"
        raise LaunchError(f"{path} is {what}; expected a file of PTX or CUDA C++")
    source = data.decode("utf-16" if wide else "utf-8", errors="replace").removeprefix("\ufeff")
    written = re.search(r"^\s*\.version\b", source, re.MULTILINE) is not None  # PTX may quote CUDA in its comments
    if path.suffix in (".cu", ".cuh") or ("__global__" in source and not written):
        from ptxlab.frontends.cuda import cuda

        kernel: Any = cuda(source, arch, entry, (f"-I{path.parent}",), file=str(path))
    else:
        from ptxlab.text import parse

        kernel = parse(source, str(path))
    names = [source_name(function.name) for function in getattr(kernel, "module", kernel).kernels]
    if not names:
        raise LaunchError(f"{path} has no kernel (.entry in PTX, __global__ in CUDA C++)")
    if len(names) > 1 and entry is None:
        name = f"'{names[0]}'" if re.search(r"\W", names[0]) else names[0]
        raise LaunchError(f"{path} has {len(names)} kernels: {', '.join(names)}\n  write:  --entry {name}")
    return kernel


def launched(options: argparse.Namespace, kernel: Any, *, inputs: int = 0, **more: Any) -> tuple[Run, list[Any]]:
    """The launch of a file's kernel that a command line asks for, and its arguments. inputs: the seed of random arrays.
    more: further options of `pl.launch`."""
    values = [argument(word, k + 1000 * inputs) for k, word in enumerate(options.arguments)]
    more |= {name: getattr(options, name) for name in ("shared", "device", "cluster", "cooperative")}
    from ptxlab.launch.plan import planned

    plan = planned(kernel, options.entry)
    if len(values) < len(plan.parameters) and plan.arguments and not getattr(kernel, "adapt", None):
        kinds = [p.element if p.element in DTYPES else "f32" for p in plan.parameters]
        words = [
            f"{kind}[256]" if p.pointer is not False else "0.5" if p.type[0] == "f" else "256"
            for p, kind in zip(plan.parameters, kinds, strict=True)
        ]
        words[: len(values)] = options.arguments
        said = f"{plan.title} takes {len(words)} arguments ({', '.join(map(str, plan.parameters))}), got {len(values)}"
        raise LaunchError(f"{said}\n  write:  {options.parser.prog} {options.file} {' '.join(words)}")
    if not hasattr(kernel, "source"):  # CUDA C++ has been compiled for them
        more |= {"entry": options.entry, "arch": options.arch}
    before = COMMAND.set(options.arguments)
    try:
        return launch(kernel, options.grid, options.block, *values, **more), values
    finally:
        COMMAND.reset(before)


# -- what is printed ---------------------------------------------------------------------------------------------------


def check_file(options: argparse.Namespace) -> int:
    """Runs the kernel of a file with the checks; 0 when nothing was found and the results are those expected."""
    from ptxlab.testing.reports import findings_of, notes, sarif, workflow_command
    from ptxlab.text.lint import lint
    from ptxlab.text.validate import check

    kernel = kernel_of(options.file, options.arch, options.entry)
    if not hasattr(kernel, "source"):
        check(kernel)  # only of what is right the linter can tell
    warnings = lint(getattr(kernel, "module", kernel))
    if not options.json:
        print("".join(f"{warning}\n" for warning in warnings), end="")
    checks = options.checks.split(",") if options.checks else ALL_CHECKS
    wanted = [_expected(word, options.arguments) for word in options.expect]
    found: dict[Any, Finding] = {}
    wrong: dict[str, str] = {}
    counters: Any = None
    first: list[Any] = []
    noted: Sequence[Finding] = ()
    for seed in (options.seed,) if options.seeds is None else range(options.seeds):
        more: dict[str, Any] = {"checks": checks, "counters": options.counters, "budget": options.budget, "seed": seed}
        under = "" if options.seeds is None else f"with --seed {seed}: "
        try:
            run, values = launched(options, kernel, **more)
        except DeviceFault as stopped:
            noted = findings_of(stopped)
        else:
            noted, counters = run.findings, run.counters
            results = [array_of(value) for value in values]
            told = [(number, array, f"is not {path}") for number, path, array in wanted]
            told += [(number, array, "depends on the order of warps and blocks") for number, array in enumerate(first)]
            for number, array, what in told:
                if array is not None and (unlike := difference(results[number], array, options.tolerance)):
                    wrong.setdefault(f"argument {number + 1} {what}: {unlike}", under)
            first = first or results
        for finding in noted:
            key = finding.check, finding.kind, *(p and p.line for p in (finding.first, finding.second))
            if key not in found and under and not options.json:
                print(f"{under}{finding.headed()}")
            found.setdefault(key, finding)
    findings = list(found.values())
    beside = notes([*warnings, *findings], (options.file, 1), options.file)
    if options.sarif is not None:
        options.sarif.write_text(sarif(beside), encoding="utf-8")
    if options.json:
        listed = [*(each.to_dict() for each in warnings), *(each.to_dict() for each in findings)]
        extra: dict[str, Any] = {"counters": counters and dict(counters.metrics)} if options.counters else {}
        extra |= {"differences": list(wrong)} if wanted or options.seeds is not None else {}
        print(json.dumps({"findings": listed} | extra if extra else listed, indent=2))
        return 1 if findings or wrong else 0
    if os.environ.get("GITHUB_ACTIONS") == "true":
        print("".join(workflow_command(note) + "\n" for note in beside), end="")
    if options.seeds is None:
        print("\n".join(finding.headed() for finding in findings) or "nothing found")
    elif not findings:
        print(f"nothing found in {options.seeds} orders of warps and blocks")
    parties = [party for finding in findings for party in (finding.first, finding.second) if party is not None]
    if parties and not any(party.span for party in parties) and "NVVM Compiler" in str(kernel):
        print("lines of the source are in PTX of nvcc -ptx -lineinfo")
    if counters is not None:
        print(counters)
    print("".join(f"{under}{what}\n" for what, under in wrong.items()), end="")
    return 1 if findings or wrong else 0


def array_of(value: Any) -> Any:
    """The array that an argument is; None where it is none."""
    value = value.array if isinstance(value, Out) else value
    return value if isinstance(value, np.ndarray) else None


def _expected(word: str, arguments: Sequence[str]) -> tuple[int, str, Any]:
    """Which argument, counted from 0, is to hold what: of `out.npy`, or of `2=out.npy` for the second argument."""
    number, _, path = word.rpartition("=")
    arrays = [k for k, each in enumerate(arguments) if array_of(argument(each)) is not None]
    likely = [k for k in arrays if arguments[k].startswith("out:")] or arrays
    if number:
        likely = [int(number) - 1] if number.isdigit() else []
        if not set(likely) & set(arrays):
            raise LaunchError(
                f"--expect {word}: argument {number} is not an array; there are {len(arguments)} arguments"
            )
    elif len(likely) != 1:
        many = f"{len(likely)} arguments could hold the result; say which"
        more = f"{many}\n  write:  --expect {likely[0] + 1}={word}" if likely else "no argument is an array"
        raise LaunchError(f"--expect {word}: {more}")
    return likely[0], path, _loaded(path)


def difference(found: Any, expected: Any, tolerance: float | None = None) -> str:
    """How an array differs from the one expected; "" where it does not. tolerance: of floats, relative and absolute;
    by default 1e-5, of 16-bit floats 1e-2."""
    if found.size != expected.size:
        return f"it has the shape {found.shape}, the file {expected.shape}"
    expected = expected.reshape(found.shape)
    if tolerance is None:
        tolerance = 1e-2 if found.itemsize == 2 else 1e-5
    floats = found.dtype.kind not in "iu"
    a, b = (each.astype(np.float64) if floats else each for each in (found, expected))
    same = np.isclose(a, b, tolerance, tolerance, equal_nan=True) if floats else a == b
    if same.all():
        return ""
    at = tuple(int(n) for n in np.argwhere(~same)[0])
    count = int((~same).sum())
    many = (
        f"{count} of {found.size} elements differ, the first" if count > 1 else f"1 of {found.size} elements differs,"
    )
    return f"{many} [{', '.join(map(str, at))}]: {found[at]} instead of {expected[at]}"
