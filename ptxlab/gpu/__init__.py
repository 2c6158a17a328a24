"""NVIDIA's assembler and disassembler, which need no GPU, and the GPU itself where there is one."""

from __future__ import annotations

from ptxlab.gpu.assembler import Assembly, assemble
from ptxlab.gpu.device import available, describe
from ptxlab.gpu.disassembler import Sass, SassFunction, SassInstruction, sass
from ptxlab.gpu.report import Usage

__all__ = ["Assembly", "Sass", "SassFunction", "SassInstruction", "Usage", "assemble", "available", "describe", "sass"]
