"""The notebook's magics: `%%ptx` runs the PTX of a cell, `%%cuda` CUDA C++ through NVRTC, with the options of `%%ptx`;
`%ptx_explore` and `%ptx_debug` open explorer and debugger.

They are loaded with `%load_ext ptxlab`. Their defaults are traitlets: `c.PtxMagics.arch = "sm_90"` in a configuration
file, or `%config PtxMagics.arch = "sm_90"` in a notebook. Everything they do is also one call of `pl.show`,
`pl.explore` or `pl.debug`.
"""

from __future__ import annotations

import re
import shlex
from typing import Any

import numpy as np
from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class
from IPython.core.magic_arguments import MagicArgumentParser, argument, magic_arguments, parse_argstring
from IPython.display import display
from traitlets import Unicode

from ptxlab.emulate.trace.recorder import Trace
from ptxlab.errors import PtxlabError
from ptxlab.frontends import cuda
from ptxlab.lab.cell import STUB, Cell, show
from ptxlab.lab.named_kernels import KEPT, Kept
from ptxlab.options import meant

CUDA_OPTIONS = MagicArgumentParser("%%cuda", add_help=False)
"""The options that `%%cuda` has beside those of `%%ptx`."""
CUDA_OPTIONS.add_argument("--option", metavar="FLAG", action="append", default=[])
STUBS = re.compile(r"^\s*(#+ *YOUR CODE HERE|raise NotImplementedError)", re.MULTILINE)
_DEBUGGED = """a kernel of the library, a kept name, a trace file, or a variable with a run, a result, a fault or a
    trace; by default what the last %%ptx --trace recorded"""


class Mistake(PtxlabError):
    """An option that does not make sense; shown like any other error, without a traceback."""


@magics_class
class PtxMagics(Magics):
    """`%%ptx`, `%ptx_explore` and `%ptx_debug`."""

    arch = Unicode("", help="target such as sm_90 to assemble for and run as; by default the PTX's own").tag(
        config=True
    )
    device = Unicode("auto", help="where to run: auto, gpu, cpu or step").tag(config=True)

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self.names: dict[str, Any] = shell.user_ns
        self.traced: Any = None

    @magic_arguments()
    @argument("-k", "--keep", metavar="NAME", help="keep text and launch under a name: for --diff and the other magics")
    @argument("--arch", help="target to assemble for and run as, such as sm_90; by default the PTX's own")
    @argument("--grid", metavar="X[,Y,Z]", help="blocks to launch; 1 if only --block or --args is given")
    @argument("--block", metavar="X[,Y,Z]", help="threads in a block; 32 if only --grid or --args is given")
    @argument("--args", metavar="a,b,n", help="arguments: names of notebook variables and number literals")
    @argument("--device", choices=("auto", "gpu", "cpu", "step"), help="where to run")
    @argument("--shared", metavar="BYTES", type=int, default=0, help="bytes of dynamic shared memory")
    @argument("--entry", metavar="KERNEL", help="which kernel, when the text has several")
    @argument("--seed", metavar="N", type=int, help="shuffle the warp schedule with this seed")
    @argument("--budget", metavar="N", type=int, help="stop after this many warp-instructions")
    @argument("--checks", metavar="NAMES", help="checks to run with, such as memcheck,racecheck; or all")
    @argument("--counters", action="store_true", help="count instructions and show the heat of each line")
    @argument("--trace", action="store_true", help="record the steps of block 0; %%ptx_debug opens them")
    @argument("--diff", metavar="NAME", help="show what changed from the text kept under NAME, or from a variable")
    @argument("--sass", action="store_true", help="show the machine code that the assembler made")
    @argument("-o", "--out", metavar="VAR", help="put the Run (or, without a launch, the Module) into this variable")
    @cell_magic
    def ptx(self, line: str, cell: str = "") -> None:
        """Highlights the PTX of this cell, assembles it, and runs it with arrays from the notebook.

        Example: %%ptx --grid 4 --block 128 --args x,y,2.0,512
        """
        result = self.show(options := self.options("%%ptx", line), cell)
        result.listing = options.counters  # the text stands in the cell; with counts there is something to add to it
        self.give(options, result)

    def options(self, magic: str, line: str, more: Any = None) -> Any:
        """The options of a magic that takes those of %%ptx; `UsageError` lists them for one that it has not. more: a
        parser of other options, whose namespace is filled as well."""
        words = shlex.split(re.sub(r",\s+", ",", line))
        parsed, rest = more.parse_known_args(words) if more is not None else (None, words)
        parsed, rest = self.ptx.parser.parse_known_args(rest, parsed)
        if rest and rest[0][0] != "-":
            raise UsageError(
                f"{magic}: {rest[0]!r} has no option before it; write {magic} --grid 4 --block 32 --args x,y,100"
            )
        if rest:
            has = [o for each in (self.ptx.parser, more) if each for a in each._actions for o in a.option_strings[-1:]]
            close = meant(rest[0].partition("=")[0], has)
            raise UsageError(f"{magic} has no option {rest[0]}{close}; its options are {' '.join(has)}")
        return parsed

    def give(self, options: Any, result: Cell) -> None:
        """Shows a cell, and puts what it made into the variable that was asked for."""
        if options.out:
            value = result.run if result.run is not None else result.kernel or result.module
            self.names[options.out] = value if result.ok else None
        display(result)

    def show(self, options: Any, text: str, kernel: Any = None) -> Cell:
        """The cell of a text under the options of `%%ptx`; `kernel` is what to launch if that is more than the text."""
        if STUBS.search(text):
            return Cell(text, error=Mistake(STUB))
        try:
            against = self._against(options.diff) if options.diff else None
            arguments = self._arguments(options.args) if options.args else []
            launch = {name: getattr(options, name) for name in ("shared", "entry", "seed", "counters", "budget")}
            launch["device"] = options.device or self.device
            if options.trace:
                launch["trace"] = Trace()
            if options.checks:
                launch["checks"] = tuple(filter(None, re.split(r"[,\s]+", options.checks)))
            sizes: list[Any] = [_size("--grid", options.grid), _size("--block", options.block)]
        except Mistake as mistake:
            return Cell(text, error=mistake)
        if options.args is not None and sizes == [None, None]:
            sizes = [1, 32]
        arch = options.arch or self.arch or None
        launch |= {"arch": arch, "against": against, "sass": options.sass, "keep": options.keep}
        cell = show(kernel or text, *sizes, *arguments, **launch)
        cell.kernel = kernel
        traced = cell.run if cell.run is not None else cell.error
        if getattr(traced, "trace", None) is not None:
            self.traced = traced
        return cell

    def _arguments(self, words: str) -> list[Any]:
        out: list[Any] = []
        for word in filter(None, (w.strip() for w in words.split(","))):
            number = _number(word)
            if number is not None:
                out.append(number)
            elif word in self.names:
                out.append(self.names[word])
            else:
                arrays = [k for k, v in self.names.items() if isinstance(v, np.ndarray) and k[0] != "_"]
                there = f"; its arrays are {', '.join(arrays)}" if arrays else ""
                raise Mistake(f"--args: there is no variable {word!r} in the notebook{there}")
        return out

    def _against(self, name: str) -> Any:
        if name in KEPT:
            return name
        if name in self.names:
            return self.names[name]
        kept = f"; kept are {', '.join(KEPT)}" if KEPT else "; keep one with %%ptx -k NAME"
        raise Mistake(f"--diff: no text {name!r} was kept and there is no such variable{kept}")

    @magic_arguments()
    @argument("kernel", nargs="?", default="scalar", help="a kernel of the library, a variable or a kept name")
    @argument("parameters", nargs="*", help="parameters to start with, such as head_dim=32 causal=True seq_q=100")
    @line_magic
    def ptx_explore(self, line: str) -> Any:
        """Opens the explorer: %ptx_explore scalar head_dim=32 causal=True"""
        from ptxlab.lab.explorer import explore

        options = parse_argstring(self.ptx_explore, line)
        kernel, words = options.kernel, list(options.parameters)
        if "=" in kernel:
            kernel, words = "scalar", [kernel, *words]
        return self._open(explore, self._meant(kernel), _named(words))

    @magic_arguments()
    @argument("kernel", nargs="?", help=_DEBUGGED)
    @argument("parameters", nargs="*", help="of a kernel of the library, such as head_dim=16 seq_len=32 warps=0")
    @line_magic
    def ptx_debug(self, line: str) -> Any:
        """Opens the debugger: %ptx_debug, %ptx_debug run, %ptx_debug scalar head_dim=16 seq_len=32"""
        from ptxlab.lab.debugger import debug

        options = parse_argstring(self.ptx_debug, line)
        if options.kernel is None and self.traced is None:
            raise UsageError("no cell has recorded steps; write %%ptx --trace, or name what to open: %ptx_debug scalar")
        what = self.traced if options.kernel is None else self._meant(options.kernel)
        return self._open(debug, what, _named(options.parameters))

    def _meant(self, word: str) -> Any:
        """What a word of a magic's line stands for: something kept, a variable, or a name that ptxlab knows."""
        return KEPT.get(word, self.names.get(word, word))

    def _open(self, view: Any, what: Any, parameters: dict[str, Any]) -> Any:
        """Opens the explorer or the debugger; a mistake is one line, without a traceback."""
        try:
            if isinstance(what, Kept):
                return view(what.kernel, *what.call, **what.options, **parameters)
            return view(what, **parameters)
        except PtxlabError as error:
            raise UsageError(str(error)) from None


@magics_class
class CudaMagics(Magics):
    """`%%cuda`."""

    def __init__(self, shell: Any, ptx: PtxMagics) -> None:
        super().__init__(shell)
        self.ptx = ptx

    @cell_magic
    def cuda(self, line: str, cell: str = "") -> None:
        """Compiles the CUDA C++ of this cell, shows its PTX and runs it with arrays from the notebook.

        Takes the options of %%ptx, and --option=FLAG for NVRTC, as often as wanted: --option=--use_fast_math.
        -o k puts the Run into k or, without a launch, the kernel, whose variables are set by k["weights"] = array.
        A kernel that is not `extern "C"` can be named with --entry as it is written: --entry "fill<float, 4>".

        Example: %%cuda --grid 4 --block 128 --args 512,2.0,x,y
        """
        options = self.ptx.options("%%cuda", line, CUDA_OPTIONS)
        result = self._compile(cell, options, options.option)
        self.ptx.give(options, result)

    def _compile(self, source: str, options: Any, flags: list[str]) -> Cell:
        if STUBS.search(source):
            return Cell(source, error=Mistake(STUB.replace("PTX", "CUDA C++")))
        try:
            kernel = cuda(source, options.arch or self.ptx.arch or None, options.entry, flags, file="cell.cu")
        except PtxlabError as error:
            return Cell(source, error=error)
        options.entry = None
        return self.ptx.show(options, kernel.ptx, kernel)


def _named(words: list[str]) -> dict[str, Any]:
    """The parameters that words such as head_dim=32 or causal=True give."""
    parameters: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise UsageError(f"{word!r} is not a parameter; write name=value, such as head_dim=32")
        number = _number(value)
        parameters[name] = {"True": True, "False": False}.get(value, value if number is None else number)
    return parameters


def _number(word: str) -> int | float | None:
    """The number that a word is, or None: 12, -3, 0x40, 1.5, 1e-3, inf."""
    if not re.fullmatch(r"[-+]?(\d[\w.+-]*|\.\d[\w+-]*|inf|nan)", word):
        return None
    try:
        return int(word, 0)
    except ValueError:
        pass
    try:
        return float(word)
    except ValueError:
        raise Mistake(f"--args: {word!r} is neither a number nor a variable") from None


def _size(option: str, words: str | None) -> tuple[int, ...] | None:
    if words is None:
        return None
    parts = words.replace("x", ",").split(",")
    if not 1 <= len(parts) <= 3 or not all(p.strip().isdigit() and int(p) > 0 for p in parts):
        raise Mistake(f"{option}: expected one to three positive whole numbers, as in {option} 4,2; found {words!r}")
    return tuple(int(p) for p in parts)
