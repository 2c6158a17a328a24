"""The device code of a PyTorch extension's source, as `torch.utils.cpp_extension.load_inline` takes it, without torch.

Such a source holds kernels and, for the host, functions of `torch::Tensor` that launch them. The kernels are kept, with
all that they may need; what names torch, or launches, is left out. Line numbers stay.
"""

from __future__ import annotations

import re

from ptxlab.errors import CompileError
from ptxlab.frontends.cuda import cuda
from ptxlab.frontends.kernel import CompiledKernel

HOST = re.compile(r"\b(?:torch|at|c10|pybind11|py)::|<<<|\bPYBIND11_MODULE\b|\bTORCH_LIBRARY\w*\b|\bTORCH_CHECK\b")
"""What only code of the host has."""
HEADERS = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"](?:torch|ATen|c10|pybind11|THC)[/\"][^\n]*", re.M)
_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'  # comments, strings
    |^[ \t]*\#(?:[^\n\\]|\\.)*|[{};]|[^{};/"'#\s]+|\s+?|.  # directives, brackets, words""",
    re.S | re.M | re.X,
)


def torch_extension(source: str, arch: str | None = None, entry: str | None = None, **options: str) -> CompiledKernel:
    """A kernel of an extension's CUDA source, compiled by `ptxlab.frontends.cuda`: `pl.launch(torch_extension(source),
    grid, block, x, out, n)`. `CompileError` where there is no kernel in it."""
    device = device_code(source)
    if "__global__" not in device:
        raise CompileError("the source has no __global__ function")
    return cuda(device, arch, entry, file=options.get("file", "extension.cu"))


def device_code(source: str) -> str:
    """The source without its parts for the host, each replaced by as many empty lines."""
    kept = []
    for part in _parts(HEADERS.sub("", source)):
        kept.append("\n" * part.count("\n") if HOST.search(_bare(part)) and "__global__" not in _bare(part) else part)
    return "".join(kept)


def _bare(part: str) -> str:
    """A part without its comments."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", part, flags=re.S)


def _parts(source: str) -> list[str]:
    """The declarations and functions of a source, one after the other; a directive is a part of its own."""
    parts, now, depth = [], "", 0
    for token in _TOKEN.findall(source):
        if depth == 0 and token.lstrip().startswith("#"):
            parts += [now, token]
            now = ""
            continue
        now += token
        depth += (token == "{") - (token == "}")
        if depth == 0 and token in ("}", ";"):
            parts.append(now)
            now = ""
    return [*parts, now]
