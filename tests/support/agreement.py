"""Tables of kernels that end alike in all ways to run them, in the frame of `emulate_programs.kernel`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS, Ended, agreed, ended, kernel

OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {}, "counters": {"counters": True}, "checks": {"checks": ALL_CHECKS}, "short time slices": {"seed": 7},
}  # fmt: skip
"""Of a launch. A seed makes time slices short: warps are suspended anywhere."""


@dataclass
class Program:
    """A kernel and how it is launched. fault: what it is stopped by."""

    body: str
    threads: int | tuple[int, ...] = 75
    blocks: int | tuple[int, ...] = 2
    before: str = ".shared .align 16 .b8 tile[4096];"
    x: np.ndarray | None = None
    out: np.ndarray | None = None
    fault: str = ""

    @property
    def launch(self) -> dict[str, Any]:
        """What `agreed` and `ended` take."""
        return {
            "text": kernel(self.body, self.before),
            "threads": self.threads, "blocks": self.blocks, "x": self.x, "out": self.out,
        }  # fmt: skip


class Programs(dict[str, Program]):
    """The programs of one topic, by name."""

    def add(self, name: str, body: str, result: str = "", **given: Any) -> None:
        """One more; result: the register that each thread stores at the end, if any; `given`: fields of `Program`."""
        assert name not in self, name
        self[name] = Program(f"{body}\nst.global.u32 [%rd3], {result};" if result else body, **given)

    def check(self, name: str, options: str) -> Ended:
        """How a program ends: with its fault, or with something that it has stored; in all ways alike."""
        this = self[name]
        if this.fault and options == "short time slices":
            pytest.skip("which of several threads is stopped first depends on the order")
        found = agreed(**this.launch, **OPTIONS[options])
        assert this.fault in found.fault
        assert bool(found.fault) == bool(this.fault)
        assert any(found.out) or any(found.x) or this.fault
        return found

    def check_workers(self, name: str) -> None:
        """Two workers leave what one does."""
        if not self[name].fault:
            assert ended("optimized", **self[name].launch, workers=2) == ended("optimized", **self[name].launch)
