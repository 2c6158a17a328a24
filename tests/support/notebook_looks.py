"""What the course tells its readers to look at in the debugger, and code that finds out whether it is there.

In a notebook under test, a cell that opens a debugger keeps it as `opened`, and one more cell behind it looks at that.
"""

from __future__ import annotations

from typing import Any

HELPERS = '''
def executed(debugger, block, warp):
    """The text of each PTX line that a warp executed, with the lanes that took part."""
    recording = debugger.recording
    text, walk = recording.text.splitlines(), recording.walk(block, warp)
    moments = [walk.moment(step) for step in range(len(walk))]
    return [(text[moment.line - 1].partition("//")[0], moment) for moment in moments]


def has(debugger, words, warp=0, block=0):
    return any(words in line for line, _ in executed(debugger, block, warp))

'''
LOOKS: dict[str, tuple[tuple[str, str], ...]] = {
    "02b-tiles": (
        (
            'pl.debug("tiled"',
            """
assert opened.recording.warps == [(0, 0), (0, 1), (0, 2), (0, 3)]
assert has(opened, "st.shared") and has(opened, "bar.sync") and has(opened, "ld.shared")
first = next(moment for line, moment in executed(opened, 0, 0) if "st.shared" in line)
assert first.accesses[0].mask.all(), "all lanes of warp 0 copy the 32 numbers of a tile"
assert not has(opened, "st.", warp=3), "warp 3 copies nothing and stores nothing"
assert has(opened, "ld.shared", warp=3) and has(opened, "bar.sync", warp=3), "and arrives all the same"
""",
        ),
    ),
    "03-rows": (("pl.debug(agree", 'assert has(opened, "shfl")'),),
    "04-wmma": (("pl.debug(scores", 'assert has(opened, "wmma.mma")'),),
    "05-mma": (("pl.debug(chain", 'assert has(opened, "mma.sync")'),),
    "06-swizzle": (("pl.debug(matrix", 'assert has(opened, "ldmatrix")'),),
    "09-merging": (("pl.debug(meeting", 'assert has(opened, "bar.sync", warp=1)'),),
    "12-gqa": (
        (
            'pl.debug("decode_gqa"',
            """
assert opened.recording.warps == [(0, 0)] and has(opened, "mma.sync")
import re
line, at = next((line, step) for step, (line, _) in enumerate(executed(opened, 0, 0)) if "mma.sync" in line)
names = re.search(r"\\}, *\\{([^}]*)\\}", line)[1].split(", ")
walk = opened.recording.walk(0, 0)
walk.seek(at)
held = np.stack([walk.registers[name.strip()] for name in names])
assert held[:, :16].any() and not held[:, 16:].any(), "four heads: lanes 16 to 31 hold zeros"
""",
        ),
    ),
    "15-wgmma": (
        (
            "pl.debug(scores",
            """
from ptxlab.lab.timeline import timeline
rows = timeline(opened.recording)["rows"]
assert [row["warp"] for row in rows] == [0, 1, 2, 3]
assert all(any(span[0] == "wgmma" for span in row["spans"]) for row in rows), "products in flight"
""",
        ),
    ),
    "16-hopper": (
        (
            "pl.debug(columns",
            """
from ptxlab.lab.timeline import timeline
rows = {row["warp"]: [span[0] for span in row["spans"]] for row in timeline(opened.recording)["rows"]}
assert rows[0].count("copy") == 6 and "wait" in rows[0], "the producer starts six copies, and waits for releases"
assert "wait" in rows[1] and "wait" in rows[2] and "copy" not in rows[1] + rows[2]
""",
        ),
    ),
}


def added(stem: str, notebook: Any) -> Any:
    """A notebook with a cell that looks behind each cell of `LOOKS`; each of them must be there."""
    from nbformat.v4 import new_code_cell

    missing = dict(LOOKS.get(stem, ()))
    cells = []
    for cell in notebook.cells:
        cells.append(cell)
        for begin in [begin for begin in missing if cell.cell_type == "code" and begin in cell.source]:
            cell.source = cell.source.replace(begin, f"opened = {begin}")
            cells.append(new_code_cell(HELPERS + missing.pop(begin), metadata={"tags": ["looks"]}))
    assert not missing, f"{stem}: no cell has {', '.join(missing)}"
    notebook.cells = cells
    return notebook
