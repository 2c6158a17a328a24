"""Pages and block tables: which page of the pool each entry names, and what lies in each slot."""

from __future__ import annotations

from ptxlab.attention.paged import PagedCache
from ptxlab.course.pictures.drawing import HUES, Drawing, Picture


def pages(cache: PagedCache) -> Picture:
    """The block table of each sequence on the left, the pool on the right.

    A slot shows its key's place in its sequence; a page of several sequences has a frame; grey slots hold no key."""
    owners: dict[int, list[tuple[int, int]]] = {}
    for row, sequence in enumerate(cache.sequences):
        for entry, page in enumerate(cache.pages(sequence)):
            owners.setdefault(page, []).append((row, entry))
    box, slot = 26, 22
    longest = max((len(cache.pages(s)) for s in cache.sequences), default=1)
    left = 110
    pool = left + max(longest, 3) * box + 110
    width = pool + max(cache.page_size * slot + 70, 200)
    drawing = Drawing(width, max(40 + cache.num_pages * 21 + 12, 60 + 64 * len(cache.sequences)))
    drawing.text(14, 22, "block tables", "bold")
    drawing.text(pool, 22, f"pool: {cache.num_pages} pages of {cache.page_size} keys", "bold")
    middle = {page: 34 + page * 21 + 8 for page in range(cache.num_pages)}
    said = []
    for row, sequence in enumerate(cache.sequences):
        y = 44 + row * 64
        listed = cache.pages(sequence)
        drawing.text(14, y + 17, f"sequence {row}", "small bold")
        drawing.text(14, y + 31, f"{cache.length(sequence)} keys", "small quiet")
        for entry, page in enumerate(listed):
            x = left + entry * box
            drawing.rect(x, y, box - 2, 26, f"h{row % (HUES - 1)}")
            drawing.text(x + box / 2 - 1, y + 17, page, "mid on")
            bend = left + longest * box + 14 + 8 * entry
            start = x + box / 2 - 1
            drop = y + 30 + 5 * entry
            drawing.path(f"M{start:.1f} {y + 26} V{drop} H{bend} L{pool - 30} {middle[page]} H{pool - 4}", "frame")
        said.append(
            f"sequence {row} has {cache.length(sequence)} keys in pages {', '.join(map(str, listed)) or 'none'}"
        )
    for page in range(cache.num_pages):
        y = 34 + page * 21
        mine = owners.get(page, [])
        drawing.text(pool + 14, y + 13, page, "small end")
        for place in range(cache.page_size):
            row, entry = mine[0] if mine else (-1, 0)
            number = entry * cache.page_size + place
            used = bool(mine) and any(e * cache.page_size + place < cache.length(cache.sequences[r]) for r, e in mine)
            x = pool + 20 + place * slot
            drawing.rect(x, y, slot - 2, 17, f"h{row % (HUES - 1)}" if used else "empty")
            if used:
                drawing.text(x + slot / 2 - 1, y + 12, number, "small mid on")
        if len(mine) > 1:
            drawing.rect(pool + 17, y - 2, cache.page_size * slot + 4, 21, "mark")
            drawing.text(pool + 26 + cache.page_size * slot, y + 12, "shared", "small")
    shared = [page for page, mine in owners.items() if len(mine) > 1]
    more = f" Pages {', '.join(map(str, shared))} belong to several sequences." if shared else ""
    return drawing.picture(f"Block tables and a pool of {cache.num_pages} pages: {'; '.join(said)}.{more}")
