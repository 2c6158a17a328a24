"""The `ptxlab` command: list, print and run the kernels, examine this machine, open the notebooks."""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ptxlab.cli.run import bench_file, build, names_file, only_for_files, print_json, run_kernel
from ptxlab.cli.usage import Parser, plain_warnings
from ptxlab.errors import PtxlabError, optional
from ptxlab.version import __version__


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; the exit status is 0 when all went well, 1 when a result is out of tolerance, 2 for errors,
    130 after Ctrl-C."""
    parser = _parser()
    options, more = parser.parse_known_args(argv)
    words = getattr(options, "arguments", getattr(options, "kernels", None))
    if words is not None:  # some come after an option
        words += [word for word in more if not word.startswith("--")]
        more = [word for word in more if word.startswith("--")]
    if more and options.run not in (_lab, _course):
        from ptxlab.options import meant  # here, as only mistakes need it

        name = more[0].partition("=")[0]
        says = meant(name, [word for action in options.parser._actions for word in action.option_strings])
        if words is not None and name in ("--arg", "--args"):
            says = ": write the kernel's arguments after the file, as in 'ptxlab check k.ptx x.npy 4'"
        options.parser.error(
            f"there is no option {name}{says}" if name[0] == "-" else f"this command does not take {name!r}"
        )
    options.more = more
    try:
        with plain_warnings():
            status: int = options.run(options)
    except PtxlabError as error:
        print(f"ptxlab: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as stopped:  # of a launch with what each warp was doing
        print(f"ptxlab: {str(stopped) or 'interrupted'}", file=sys.stderr)
        return 130
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("ptxlab"):
            raise
        package = error.name.partition(".")[0]
        print(f"ptxlab: this needs {package}, which is not installed: pip install {package}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # `ptxlab ptx scalar | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # such as a file that cannot be written
        if error.filename is None:
            raise
        print(f"ptxlab: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    return status


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="ptxlab", description="Learn how attention runs on a GPU, one PTX instruction at a time.")
    parser.add_argument("--version", action="version", version=f"ptxlab {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def command(name: str, run: Any, says: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=says, description=says)
        made.set_defaults(run=run, parser=made)
        return made

    _json(command("list", _list, "the kernels of the attention library"))
    ptx = command("ptx", _ptx, "print the PTX of a kernel")
    _kernel_options(ptx)
    ptx.add_argument("--probes", action="store_true", help="with the stores of the online-softmax state")
    says = "run a kernel on random inputs and compare it with float64, or one of a file with arguments"
    run = command("run", run_kernel, says)
    _kernel_options(run)
    run.add_argument("arguments", nargs="*", metavar="ARG", help=f"of a file's kernel: {_ARGUMENTS}")
    _problem_options(run.add_argument_group("a kernel of the library"))
    _launch_options(run.add_argument_group("a kernel of a file"))
    run.add_argument("--device", default="auto", choices=("auto", "gpu", "cpu", "step"))
    _json(run)
    _json(command("doctor", _doctor, "what this machine has and lacks"))
    command("lab", _lab, "open the notebooks in JupyterLab; further options are passed on to it")
    command("warm", _warm, "build ahead what the notebooks run first, at the lowest priority")
    bench = command("bench", _bench, "time the kernels against numpy, or the kernel of a file")
    bench.add_argument("kernels", nargs="*", metavar="KERNEL", help="names, by default all; or a file and arguments")
    bench.add_argument("--seq-len", type=int, nargs="+", default=[256, 512, 1024], metavar="S")
    bench.add_argument("--head-dim", type=int, default=64, metavar="D")
    _launch_options(bench.add_argument_group("a kernel of a file"))
    bench.add_argument("--arch", metavar="ARCH", help="the target; by default the kernel's or file's own")
    bench.add_argument("--device", default="auto", choices=("auto", "gpu", "cpu", "step"))
    _json(bench)
    says = "run a kernel from a file of PTX or CUDA C++ and report races, unwritten reads, misused barriers"
    check = command("check", _check, says)
    check.add_argument("file", type=Path, metavar="FILE", help="PTX, or CUDA C++ (.cu), which is compiled first")
    check.add_argument("arguments", nargs="*", metavar="ARG", help=_ARGUMENTS)
    _launch_options(check)
    check.add_argument("--arch", metavar="ARCH", help="the target, such as sm_90; by default the file's own")
    check.add_argument("--device", default="cpu", choices=("cpu", "step"))
    check.add_argument("--checks", metavar="CHECK,...", help="by default all")
    orders = check.add_mutually_exclusive_group()
    orders.add_argument("--seed", type=int, metavar="N", help="another order of warps and blocks")
    orders.add_argument("--seeds", type=_positive, metavar="N", help="run in N orders, and compare the results")
    check.add_argument("--budget", type=int, metavar="N", help="stop after this many warp-instructions")
    check.add_argument("--counters", action="store_true", help="print instructions, sectors, bank conflicts ...")
    check.add_argument("--expect", action="append", default=[], metavar="[N=]X.npy",
                       help="what the out: array, or argument N, should hold; may be given several times")  # fmt: skip
    check.add_argument("--tolerance", type=float, metavar="X", help="of --expect; by default 1e-5, 1e-2 for f16")
    check.add_argument("--sarif", type=Path, metavar="FILE", help="write the findings as SARIF, for code scanning")
    _json(check)
    sweep = command("sweep", _sweep, "measure all combinations of kernels, parameters and problems that a file names")
    sweep.add_argument("file", type=Path, metavar="SWEEP.toml")
    sweep.add_argument("--out", type=Path, metavar="FOLDER", help="where rows go; what is there is not measured again")
    sweep.add_argument("--dask", metavar="ADDRESS", help="measure on a Dask cluster, such as tcp://10.0.0.1:8786")
    sweep.add_argument(
        "--workers", type=int, metavar="N", help="processes on this machine; by default one for each core"
    )
    _json(sweep)
    isa = command("isa", _isa, "the instructions that ptxlab knows, or what one of them does")
    isa.add_argument("name", nargs="?", metavar="INSTRUCTION", help="such as fma or ld.global.f32")
    _json(isa)
    static = command("static", _static, "what a kernel is without running it: instructions, registers, occupancy")
    static.add_argument("kernel", metavar="FILE|KERNEL", help="PTX or CUDA C++, or a name that `ptxlab list` shows")
    static.add_argument("--entry", metavar="NAME", help="which kernel of the file")
    static.add_argument("--arch", metavar="ARCH", help="by default the file's own")
    threads = "threads of a block, for the occupancy; --threads says the same"
    static.add_argument("--block", "--threads", type=_three, metavar="X,Y,Z", help=threads)
    static.add_argument("--shared", type=int, default=0, metavar="BYTES", help="dynamic shared memory of a block")
    static.add_argument("--lines", action="store_true", help="the text with the registers alive at each line")
    _json(static)
    course = "the course: its exercises, what a class is given, and its marks"
    commands.add_parser("course", help=course, add_help=False).set_defaults(run=_course)
    return parser


def _warm(options: argparse.Namespace) -> int:
    from ptxlab.cli.warm import warm

    warm(lambda what: print(f"building {what}", flush=True))
    return 0


def _course(options: argparse.Namespace) -> int:
    from ptxlab.course import command

    return command.main(options.more)


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs to read")


_ARGUMENTS = "256, 0.5, f32[256], f32[256]=0, out:f32[2], x.npy"


def _launch_options(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--grid", type=_three, default=(1,), metavar="X,Y,Z", help="blocks; by default one")
    parser.add_argument("--block", type=_three, default=(32,), metavar="X,Y,Z", help="threads; by default 32")
    parser.add_argument("--cluster", type=_three, metavar="X,Y,Z", help="blocks of a cluster")
    parser.add_argument("--cooperative", action="store_true", help="all blocks at once: the grid may have a barrier")
    parser.add_argument("--entry", metavar="NAME", help="which kernel, when the file has several")
    parser.add_argument("--shared", type=int, default=0, metavar="BYTES", help="dynamic shared memory")


def _kernel_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kernel", metavar="KERNEL", help="a name that `ptxlab list` shows, or a file")
    parser.add_argument("--head-dim", type=int, default=64, metavar="D")
    parser.add_argument("--causal", action="store_true", help="a row sees only the keys up to its own position")
    parser.add_argument("--dtype", choices=("f32", "f64", "f16", "bf16"), help="by default what the kernel takes")
    parser.add_argument("--arch", metavar="ARCH", help="the target; by default the one that the kernel is made for")
    parser.add_argument("--tile-kv", type=int, metavar="N", help="keys per tile, for kernels that have tiles")


def _problem_options(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--seq-len", type=int, default=128, metavar="S", help="query rows; of a decode kernel the keys")
    parser.add_argument("--kv-len", type=int, metavar="S", help="keys; by default as many as rows")
    parser.add_argument("--splits", type=int, metavar="N", help="parts of the keys, for decode kernels that split them")
    parser.add_argument("--page-size", type=int, metavar="N", help="a paged cache, for decode kernels that take one")
    parser.add_argument("--batch", type=int, default=1, metavar="B")
    parser.add_argument("--heads", type=int, default=1, metavar="H", help="query heads")
    parser.add_argument("--kv-heads", type=int, metavar="H", help="key/value heads; by default as many as query heads")
    parser.add_argument("--scale", type=float, metavar="X", help="1/sqrt(D) by default")
    parser.add_argument("--sigma", type=float, default=1.0, metavar="X", help="standard deviation of the logits")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the random inputs")


# -- commands ----------------------------------------------------------------------------------------------------------


def _list(options: argparse.Namespace) -> int:
    from ptxlab import kernels

    specs = [kernels.get(name) for name in kernels.names()]
    if options.json:
        print_json(
            [
                {name: getattr(s, name) for name in ("name", "rung", "title", "question", "idea", "teaches", "phase")}
                | {"parameters": {p.name: _limits(p) for p in s.parameters.values()}}
                for s in specs
            ]
        )
        return 0
    for s in specs:
        print(f"{s.rung:>2}  {s.name:<17} {s.title}\n{'':22}{s.question}")
    return 0


def _limits(parameter: Any) -> dict[str, Any]:
    limits: dict[str, Any] = {"default": parameter.default, "says": parameter.says}
    if parameter.choices:
        return limits | {"choices": parameter.choices}
    return limits | {"minimum": parameter.minimum, "maximum": parameter.maximum, "step": parameter.step}


def _ptx(options: argparse.Namespace) -> int:
    if names_file(options.kernel):
        from ptxlab.cli.check import kernel_of

        kernel = kernel_of(Path(options.kernel), options.arch, "")
        text = str(getattr(kernel, "ptx", kernel))
    else:
        text = build(options, probes=options.probes).ptx
    print(text.rstrip("\n"))
    return 0


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 1")
    return int(text)


def _three(text: str) -> tuple[int, ...]:
    """`8` or `8,4` as numbers."""
    try:
        return tuple(int(n) for n in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size: write 64, or 8,4 or 8,4,2") from None


def _check(options: argparse.Namespace) -> int:
    from ptxlab.cli.check import check_file

    return check_file(options)


def _sweep(options: argparse.Namespace) -> int:
    from ptxlab.cli.sweep import sweep

    found = sweep(options.file, options.out, options.dask, options.workers)
    if options.json:
        print_json(list(found.rows()))
    else:
        print(found)
        if found.refused.total:
            print(found.refused)
    return 130 if found.interrupted else int(any(row["status"] in ("wrong", "failed", "lost") for row in found.rows()))


def _doctor(options: argparse.Namespace) -> int:
    from ptxlab.cli import doctor

    found = doctor.examine()
    if options.json:
        print_json([{"name": f.name, "ok": f.ok, "value": f.value, "hint": f.hint} for f in found])
    else:
        print("\n".join(map(str, found)))
    return 0


def _lab(options: argparse.Namespace) -> int:
    optional("jupyterlab", "the notebooks open in JupyterLab")
    home = next((p for p in (Path("notebooks"), Path(__file__).parents[2] / "notebooks") if p.is_dir()), Path("."))
    if home == Path("."):
        print(
            "there is no folder notebooks here; `ptxlab course release notebooks` writes the course's", file=sys.stderr
        )
    os.execv(sys.executable, [sys.executable, "-m", "jupyterlab", str(home), *options.more])


def _bench(options: argparse.Namespace) -> int:
    from ptxlab import kernels

    if options.kernels and names_file(options.kernels[0]):
        return bench_file(options)
    only_for_files(options, "bench times kernels of the library here")
    rows = []
    for name in options.kernels:
        if kernels.get(name).phase == "decode":
            raise PtxlabError(
                f"{name}: bench times prefill kernels; `python -m benchmarks.gpu.decode` those for decode"
            )
    if not options.json:
        print(f"{'kernel':<20}{'S':>6}{'device':>8}{'time':>12}{'GFLOP/s':>10}{'numpy f32':>12}{'ratio':>8}")
    for name in options.kernels or kernels.names("prefill"):
        for length in options.seq_len:
            row = _measure(name, length, options.head_dim, options.device, options.arch)
            rows.append(row)
            if not options.json:
                ms, numpy_ms = row["seconds"] * 1e3, row["numpy_seconds"] * 1e3
                print(
                    f"{row['kernel']:<20}{length:>6}{row['device']:>8}{ms:>9.2f} ms{row['gflops']:>10.1f}"
                    f"{numpy_ms:>9.2f} ms{ms / numpy_ms:>8.1f}"
                )
    if options.json:
        print_json(rows)
    return 0


def _measure(name: str, length: int, head_dim: int, device: str, arch: str | None) -> dict[str, Any]:
    """The best of three runs of a kernel and of plain numpy in float32, one head of `length` rows and keys."""
    import numpy as np

    from ptxlab import attention, kernels, reference

    built = kernels.get(name).build(head_dim=head_dim, **{"arch": arch} if arch else {})
    q, k, v = reference.random_inputs(1, 1, 1, length, length, head_dim, dtype=kernels.DTYPES[built.config.dtype])
    runs = [attention(q, k, v, kernel=built, device=device) for _ in range(3)]
    q, k, v = (x.astype(np.float32) for x in (q, k, v))
    best = min(runs, key=lambda out: out.seconds)
    times = []
    for _ in range(3):
        started = time.perf_counter()
        scores = q[0, 0] @ k[0, 0].T * np.float32(reference.default_scale(head_dim))
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        _ = (weights @ v[0, 0]) / weights.sum(axis=1, keepdims=True)
        times.append(time.perf_counter() - started)
    flops = 4 * length * length * head_dim
    return {
        "kernel": built.name,
        "seq_len": length,
        "device": best.run.device,
        "seconds": best.seconds,
        "gflops": flops / best.seconds / 1e9,
        "numpy_seconds": min(times),
    }


def _isa(options: argparse.Namespace) -> int:
    from ptxlab.isa import TABLE
    from ptxlab.isa.coverage import report, shown_by
    from ptxlab.isa.docs import explain
    from ptxlab.isa.matching import form, known_form
    from ptxlab.isa.missing_instructions import NOT_EXECUTED
    from ptxlab.isa.table import FormError, all_ops

    name = options.name
    entries = all_ops() if name is None else [*TABLE.get(name, ()), *NOT_EXECUTED.get(name, ())]
    listed = bool(entries)
    if not entries:
        try:
            entries = [(known_form(name) or form(name)).op]
        except FormError as error:
            raise PtxlabError(error.what) from None
    if options.json:
        print_json(
            [
                {"syntax": e.syntax, "executed": e.executed, "says": e.says, "sm": e.sm, "tests": shown_by(e)}
                for e in entries
            ]
        )
    elif name is None:
        print(report())
    elif listed or not entries[0].executed:
        only = " Not executed yet: it can be assembled and run on a GPU only."
        print("\n\n".join(f"{e.syntax}\n    {e.says}{'' if e.executed else only}" for e in entries))
    else:
        print(explain(name))
    return 0


def _static(options: argparse.Namespace) -> int:
    from ptxlab import kernels
    from ptxlab.cli.check import kernel_of
    from ptxlab.static import inspect
    from ptxlab.targets import TARGETS

    if options.kernel in kernels.names():
        arch = options.arch if options.arch in (None, *TARGETS) else options.arch.rstrip("af")
        kernel: Any = kernels.get(options.kernel).build(**{"arch": arch} if arch else {})
    else:
        if not Path(options.kernel).exists():
            raise PtxlabError(f"{options.kernel}: No such file or directory, and no kernel of that name")
        kernel = kernel_of(Path(options.kernel), options.arch, options.entry)
    found = inspect(kernel, options.block, options.shared, options.arch, options.entry)
    if options.json:
        shown = dataclasses.asdict(found)
        del shown["source"]
        fills = None if found.occupancy is None else found.occupancy._asdict()
        print_json(shown | {"occupancy": fills, "instructions": found.instructions, "peak": found.peak})
    else:
        print(found.listing() if options.lines else found)
    return 0
