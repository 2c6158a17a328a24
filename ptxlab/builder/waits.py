"""The waits of a role for the stages of a pipeline, and the loop that forgets to go on to the next stage."""

from __future__ import annotations

from ptxlab.builder import mistakes
from ptxlab.builder.source import Site


class Waits:
    """How often a role has waited, and how often it went on to the next stage."""

    def __init__(self) -> None:
        self.waited: Site | None = None  # where, if the stage was not left since
        self.waits = self.steps = 0


def check_loop(turns: list[tuple[Waits, int, int]]) -> None:
    """An error if a round of a loop waits but does not call `next`. turns: with their waits and steps when it began."""
    for turn, waits, steps in turns:
        if turn.waits > waits and turn.steps == steps and turn.waited is not None:
            raise mistakes.error(
                turn.waited,
                "this wait is in a loop that does not go on to the next stage: from the second round on "
                "it names a phase that is over, and passes at once",
                "turn.next()",
            )
