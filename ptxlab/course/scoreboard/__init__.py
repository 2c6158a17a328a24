"""A student's own attention kernel, from notebook 01 to 14: what it costs, beside ours and its earlier self.

scoreboard.show()                            # where it stands, and what is next
scoreboard.enter("rows", mine, block=64)   # runs it with all checks, measures, remembers, gives stars
scoreboard.latest("tiles")                   # the kernel to go on from; source("tiles"): its text
scoreboard.borrow("pieces")                  # goes on from our kernel, without stars
scoreboard.card()                            # a picture to share

Entries are kept in `my-attention.json` in the folder of the notebook.
"""

from __future__ import annotations

from ptxlab.course.scoreboard.board import Board, borrow, card, enter, latest, show, source
from ptxlab.course.scoreboard.rungs import RUNGS, Rung

__all__ = ["RUNGS", "Board", "Rung", "borrow", "card", "enter", "latest", "show", "source"]
