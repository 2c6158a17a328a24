"""What was given where a kernel is wanted: a file's name, another language, an object; and what to write instead."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from ptxlab.isa import TABLE

_FILE = re.compile(r"(?!\.[a-z])[^\n;{}()\"]{0,250}\.(\w{1,7})\s*")
_PTX = re.compile(r"^\s*(\.version|\.target|(\.visible\s+|\.weak\s+)?\.(entry|func))\b", re.MULTILINE)
_LANGUAGES = {
    "a cubin, which is machine code": r"\A\x7fELF",
    "LLVM IR": r"^target (triple|datalayout)|^define .*@|^; ModuleID",
    "a CUDA program": r"<<<|\bcuda(Malloc|Memcpy|DeviceSynchronize)|^\s*int\s+main\s*\(",
    "CUDA C++": r"\b__(global|device|shared)__\b|^\s*#\s*include|\b(thread|block)Idx\b",
    "Python": r"^\s*(@\w|import \w|from [\w.]+ import|def \w+\()",
    "SASS, which is machine code": r"/\*[0-9a-f]{4,}\*/|^\s*[A-Z][A-Z0-9]+(\.\w+)* U?R\d+, ",
    "C": r"^\s*(__kernel\s+)?(void|int|float|double)\s+\w+\s*\(",
}
_WRITE = {
    "a CUDA program": "pl.cuda(source), with the __global__ and __device__ functions only (in a notebook: %%cuda)",
    "CUDA C++": "pl.cuda(source)  (in a notebook: %%cuda)",
    "C": "pl.cuda(source), with __global__ before the function",
    "Python": "pl.builder.kernel(f), with the function f itself",
    "LLVM IR": "llc -mcpu=sm_80 kernel.ll -o kernel.ptx",
    "a cubin, which is machine code": "nvcc -ptx kernel.cu, and its text",
    "SASS, which is machine code": "nvcc -ptx kernel.cu, and its text",
}
CUDA = ("CUDA C++", "C", "a CUDA program", "a text that is not PTX")
"""What `given` says of texts that may be CUDA C++."""
_DRIVEN = {"numba": "with pl.numba(): kernel[blocks, threads](x, y)", "triton": "with pl.triton(): kernel[grid](x, y)"}
"""Libraries whose kernels run unchanged."""


class Given(NamedTuple):
    """What something is, in words, and what to write instead; "" where that is not known."""

    says: str
    write: str = ""

    def __str__(self) -> str:
        """Both, for the end of a message that says what is wanted."""
        return self.says + (f"\n  write:  {self.write}" if self.write else "")


def given(kernel: object) -> Given:
    """What an object is that is not a kernel."""
    if isinstance(kernel, str):
        if _PTX.search(kernel):
            return Given("PTX text", "pl.launch(ptx, grid, block, x, y, n)  (in a notebook: %%ptx)")
        return given_text(kernel) or Given("a text that is not PTX")
    if isinstance(kernel, os.PathLike):
        return _file(os.fspath(kernel))
    if isinstance(kernel, bytes | bytearray):
        cubin = next(iter(_LANGUAGES))
        return Given(cubin, _WRITE[cubin]) if kernel[:4] == b"\x7fELF" else Given("bytes", "kernel.decode()")
    library = type(kernel).__module__.partition(".")[0]
    if library in _DRIVEN:
        return Given(f"a kernel of {library}", _DRIVEN[library])
    if type(kernel).__name__ == "function":
        name = getattr(kernel, "__name__", "f")
        return Given(f"the Python function {name}", f"pl.builder.kernel({name})")
    return Given(type(kernel).__name__)


def given_text(text: str, *, pieces: bool = False) -> Given | None:
    """What a text is that is not PTX; None where it may be. pieces: statements without a kernel are fine."""
    if _PTX.search(text):
        return None
    if _FILE.fullmatch(text) and not text[:1].isspace():
        return _file(text.strip())
    for language, words in _LANGUAGES.items():
        if re.search(words, text, re.MULTILINE):
            return Given(language, _WRITE[language])
    if re.fullmatch(r"\s*[A-Za-z_]\w*\s*", text):
        name = text.strip()
        return Given(f"the name {name!r}", f"pl.kernels.get({name!r}).build()")
    first = re.match(r"\s*(?://[^\n]*\n\s*)*(?:@!?%?\w+\s+)?([a-z]\w*)[.\s;]", text)
    if first and first[1] in TABLE and not pieces:
        write = ".version 8.0 .target sm_80 .address_size 64 .visible .entry f(.param .u64 x) { ... }"
        return Given("statements without a kernel around them", write)
    return None


def _file(name: str | bytes) -> Given:
    """The name of a file, by its end."""
    name = os.fsdecode(name)
    end = name.rpartition(".")[2].lower()
    read = f"open({name!r}).read()"
    if end in ("cu", "cuh", "cpp", "cc", "c", "h", "hpp"):
        read = f"pl.cuda(pathlib.Path({name!r}))"
    elif end in ("cubin", "fatbin", "o", "so"):
        read = "nvcc -ptx kernel.cu, and its text"
    elif end == "py":
        read = f"from {os.path.basename(name)[:-3]} import f"
    return Given(f"the name of a file, {name!r}", read)
