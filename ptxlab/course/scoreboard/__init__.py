"""A student's own attention kernel, from notebook 01 to 14: what it costs, beside ours and its earlier self.

scoreboard.enter("rows", mine, threads=64)   # runs it with all checks, measures, remembers, shows the board
scoreboard.source("rows")                    # the text of the kernel that was entered last
scoreboard.latest("rows")                    # that kernel, to be launched again
scoreboard.enter("final", mine, threads=64)  # notebook 14: the same, larger, beside every kernel of the library

Entries are kept in `my-attention.json` in the folder of the notebook.
"""

from __future__ import annotations

from ptxlab.course.scoreboard.board import Board, enter, latest, source
from ptxlab.course.scoreboard.kernel_stages import STAGES, Stage

__all__ = ["STAGES", "Board", "Stage", "enter", "latest", "source"]
