"""The levels of memory: how much there is, who shares it, how long an answer takes, and how much comes in a second.

Sizes per SM are those of `ptxlab.targets`. Cycles are the round numbers of Table 3 of
doi:10.1016/j.ultsonch.2023.106546 (PMC 10448217). Memory and its rate are from NVIDIA's data sheet of the A100 80GB
SXM; the other rates are bytes per clock cycle, times SMs, times the boost clock, all three from the A100 whitepaper.
"""

from __future__ import annotations

from math import log10

from ptxlab import targets
from ptxlab.course.pictures.drawing import Drawing, Picture

SOURCE = "A100 80GB SXM. Sizes, rates: NVIDIA data sheet and whitepaper; cycles: doi:10.1016/j.ultsonch.2023.106546"
GIGAHERTZ, SMS = 1.41, 108


def _bytes(size: int) -> str:
    for unit, power in (("GB", 30), ("MB", 20), ("KB", 10)):
        if size >= 1 << power:
            return f"{size >> power} {unit}"
    return f"{size} B"


def memory() -> Picture:
    """The levels of memory of an A100; the bars are on a scale of powers of ten."""
    sm = targets.get("sm_80")
    found: tuple[tuple[str, str, int, int, int], ...] = (
        # name; who has it; bytes of one SM or of the GPU; cycles until an answer; gigabytes per second of the GPU
        ("registers", "each thread's own; per SM", 4 * sm.registers_per_sm, 0, 0),
        ("shared memory", "of a block; per SM", sm.shared_per_sm, 20, round(SMS * 128 * GIGAHERTZ)),
        ("L2", "a cache of all SMs", 40 << 20, 200, round(5120 * GIGAHERTZ)),
        ("global memory", "of all threads, and the host", 80 << 30, 400, 2039),
    )
    drawing = Drawing(800, 60 + 62 * len(found))
    for at, words in (
        (190, "how much (power of ten)"),
        (470, "cycles until an answer"),
        (640, "GB per second, whole GPU"),
    ):
        drawing.text(at, 22, words, "small quiet")
    said = []
    for row, (name, whose, size, cycles, per_second) in enumerate(found):
        y = 34 + 62 * row
        drawing.text(14, y + 20, name, "bold")
        drawing.text(14, y + 36, whose, "small quiet")
        drawing.rect(190, y + 8, 24 * (log10(size) - 1), 30, f"h{row}")
        drawing.text(198, y + 28, _bytes(size), "on bold")
        wait = f"about {cycles}" if cycles else "0"
        drawing.rect(470, y + 8, max(2, cycles / 4.6), 30, f"h{row}")
        drawing.text(476 + cycles / 4.6, y + 28, wait)
        rate = f"{per_second:,}" if per_second else "no limit of their own"
        drawing.text(640, y + 28, rate, "" if per_second else "small")
        said.append(f"{name} ({whose}) {_bytes(size)}, {wait} cycles, {rate} GB per second")
    drawing.text(14, drawing.height - 10, SOURCE, "small quiet")
    return drawing.picture("Four levels of memory of an A100, from the nearest: " + "; ".join(said) + ".")
