"""Copies and products in time, for different numbers of buffers; a cursor shows which of them happen at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ptxlab.course.pictures.drawing import HUES, Drawing, Picture

Spans = Sequence[tuple[float, float]]


def pipeline(schedules: Mapping[int, tuple[Spans, Spans]]) -> Picture:
    """`schedules` says for each number of buffers when each copy and each product begins and ends, [(begin, end)] each.

    The tile's number and colour are the same in both rows. The picture plays once in eight seconds, again and again.
    """
    end = max(products[-1][1] for _, products in schedules.values())
    left, wide, row = 84, 650, 24
    scale = wide / end
    css = (
        f"@keyframes sweep {{ from {{ transform: translateX(0); }} to {{ transform: translateX({wide}px); }} }}\n"
        ".cursor { animation: sweep 8s linear infinite; }\n"
    )
    drawing = Drawing(left + wide + 20, 18 + len(schedules) * (2 * row + 34), css)
    said = []
    y = 14
    for buffers, (copies, products) in schedules.items():
        name = f"{buffers} buffer{'s' if buffers > 1 else ''}"
        total = products[-1][1]
        idle = total - sum(b - a for a, b in products)
        drawing.text(14, y + 10, f"{name}: {total:g} units of time; in {idle:g} of them nothing is multiplied", "bold")
        for line, (what, spans) in enumerate((("copies", copies), ("products", products))):
            top = y + 18 + line * row
            drawing.text(left - 8, top + 14, what, "small end")
            drawing.rect(left, top, total * scale, row - 4, "empty")
            for tile, (begin, stop) in enumerate(spans):
                drawing.rect(left + begin * scale + 0.5, top, (stop - begin) * scale - 1, row - 4, f"h{tile % HUES}")
                drawing.text(left + (begin + stop) / 2 * scale, top + 14, tile, "small mid on")
        said.append(f"with {name} {total:g} units")
        y += 2 * row + 34
    drawing.path(f"M{left} 10 V{drawing.height - 8}", "mark cursor")
    tiles = len(next(iter(schedules.values()))[0])
    return drawing.picture(
        f"The copies and products of {tiles} tiles in time: {', '.join(said)}. With one buffer a copy waits for the "
        "product before it; with more, the next copy is under way while a tile is used."
    )
