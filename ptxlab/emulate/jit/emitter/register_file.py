"""Where registers lie after a warp's state."""

from __future__ import annotations

from ptxlab.emulate.jit.affine.forms import Form
from ptxlab.emulate.jit.llvm.values import BITS
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.rules.warpgroup_products import Products
from ptxlab.emulate.rules.warpgroup_tiles import REGISTER
from ptxlab.emulate.runtime.state import Warp
from ptxlab.isa.actions import Action

FRAGMENTS = (4 + 4 * 256 // 8) * REGISTER
"""Room for the fragments of one product: A, and B with up to 64 bytes along k and 256 columns."""


class RegisterFile:
    """The offsets of each register in a warp's state: `vector[r]`, `scalar[r]` (0 where neither uniform nor affine),
    `inner[r]` and `stride[r]` (of affine values that have them), and its size. Where the program has `wgmma`: those of
    the products in flight, and of the fragments of the one that is computed."""

    def __init__(self, program: Program, uniform: list[bool], affine: dict[int, Form]) -> None:
        at = Warp.size
        self.vector, self.scalar = [], []
        for register in program.registers:
            self.vector.append(at)
            size = 4 if register.lane == "i1" else 4 * BITS[register.lane]
            at += -(-size // 64) * 64
        for register in program.registers:
            scalar = uniform[register.index] or register.index in affine
            self.scalar.append(at if scalar else 0)
            at += 8 if scalar else 0
        self.inner, self.stride = dict[int, int](), dict[int, int]()
        for r, form in affine.items():
            for needed, places in ((form.extension, self.inner), (form.times, self.stride)):
                if needed:
                    places[r] = at
                    at += 8
        self.products = self.fragments = 0
        if any(code.action is Action.WARPGROUP_PRODUCT for code in program.codes):
            self.products = -(-at // 64) * 64
            self.fragments = self.products + -(-Products.size // 128) * 128
            at = self.fragments + FRAGMENTS
        self.size = -(-at // 128) * 128
