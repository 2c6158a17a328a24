"""What `%load_ext ptxlab` adds to a notebook: magics, completion, answers to JupyterLab, how objects look."""

from __future__ import annotations

from typing import Any

from ptxlab.lab import cell_questions, completion
from ptxlab.lab.display import register
from ptxlab.lab.magics import CudaMagics, PtxMagics


def load_ipython_extension(shell: Any) -> None:
    """Registers the magics and how ptxlab's objects look in a notebook: `%load_ext ptxlab`.

    Parameters
    ----------
    shell
        IPython's.
    """
    magics = PtxMagics(shell)
    shell.register_magics(magics, CudaMagics(shell, magics))
    register(shell)
    completion.install(shell, magics)
    cell_questions.install(magics.arch)
