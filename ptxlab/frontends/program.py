"""CUDA C++ as programs of `cuda.core` compile it: `Program`, then `ObjectCode`, then kernels; here they are ptxlab's.

program = Program(source, "c++", ProgramOptions(std="c++17", arch="sm_80"))
kernel = program.compile("ptx", name_expressions=("scale<float>",)).get_kernel("scale<float>")
pl.launch(kernel, blocks, threads, x, 2.0, n)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ptxlab.errors import CompileError
from ptxlab.frontends.cuda import cuda
from ptxlab.frontends.kernel import CompiledKernel


@dataclass(frozen=True)
class ProgramOptions:
    """Options of the compiler, by the names that `cuda.core` gives them."""

    arch: str | None = None
    std: str = "c++17"
    name: str = "kernel.cu"
    use_fast_math: bool = False
    define_macro: Sequence[str | tuple[str, str]] | str = ()
    include_path: Sequence[str] | str = ()

    def words(self) -> list[str]:
        """As NVRTC takes them."""
        macros = [self.define_macro] if isinstance(self.define_macro, str) else self.define_macro
        folders = [self.include_path] if isinstance(self.include_path, str) else self.include_path
        return [
            *(["--use_fast_math"] if self.use_fast_math else []),
            *(f"-D{each}" if isinstance(each, str) else f"-D{each[0]}={each[1]}" for each in macros),
            *(f"-I{each}" for each in folders),
        ]


class Program:
    """Source that can be compiled. code_type: "c++" or "ptx"."""

    def __init__(self, code: str, code_type: str, options: ProgramOptions | None = None) -> None:
        if code_type.lower() not in ("c++", "ptx"):
            raise CompileError(f"code_type is 'c++' or 'ptx', not {code_type!r}")
        self.code, self.code_type, self.options = code, code_type.lower(), options or ProgramOptions()

    def compile(self, target_type: str = "ptx", name_expressions: Sequence[str] = ()) -> ObjectCode:
        """The compiled kernels. target_type: "ptx"; a cubin has none that the emulator could run."""
        if target_type != "ptx":
            raise CompileError(f"target_type is 'ptx', not {target_type!r}: the emulator runs PTX")
        options = self.options
        if self.code_type == "ptx":
            arch = options.arch or "sm_80"
            return ObjectCode(CompiledKernel("", arch, self.code, self.code, options.name), {})
        named = {
            name: cuda(self.code, options.arch, name, options.words(), file=options.name) for name in name_expressions
        }
        plain = cuda(self.code, options.arch, None, options.words(), file=options.name)
        for kernel in named.values():  # one program, one set of variables
            kernel.state = plain.state
        return ObjectCode(plain, named)

    def close(self) -> None:
        """Nothing is kept that would be freed."""


class ObjectCode:
    """Compiled kernels, by name."""

    def __init__(self, compiled: CompiledKernel, named: Mapping[str, CompiledKernel]) -> None:
        self._compiled, self._named = compiled, dict(named)

    @property
    def code(self) -> str:
        """The PTX."""
        return self._compiled.ptx

    def get_kernel(self, name: str) -> CompiledKernel:
        """A kernel by its name in the source, or by one of the expressions that the program was compiled with."""
        return self._named[name] if name in self._named else self._compiled[name]
