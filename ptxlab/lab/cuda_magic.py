"""`%%cuda`: compiles the CUDA C++ of a cell through NVRTC and shows and runs its PTX, with the options of `%%ptx`."""

from __future__ import annotations

from typing import Any

from IPython.core.magic import Magics, cell_magic, magics_class
from IPython.core.magic_arguments import MagicArgumentParser

from ptxlab.errors import PtxlabError
from ptxlab.lab.cell import STUB, Cell
from ptxlab.lab.magics import STUBS, Mistake, PtxMagics

OPTIONS = MagicArgumentParser("%%cuda", add_help=False)
"""The options that `%%cuda` has beside those of `%%ptx`."""
OPTIONS.add_argument("--option", metavar="FLAG", action="append", default=[])


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
        options = self.ptx.options("%%cuda", line, OPTIONS)
        result = self._compile(cell, options, options.option)
        self.ptx.give(options, result)

    def _compile(self, source: str, options: Any, flags: list[str]) -> Cell:
        from ptxlab.frontends import cuda

        if STUBS.search(source):
            return Cell(source, error=Mistake(STUB.replace("PTX", "CUDA C++")))
        try:
            kernel = cuda(source, options.arch or self.ptx.arch or None, options.entry, flags, file="cell.cu")
        except PtxlabError as error:
            return Cell(source, error=error)
        options.entry = None
        return self.ptx.show(options, kernel.ptx, kernel)
