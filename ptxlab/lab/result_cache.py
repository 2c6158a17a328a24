"""What the explorer's session made before and may be wanted again: the one cache between a control and the page."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

KEEP = 160
"""How many parts of answers are kept: some thirty settings have so many."""


class Kept(OrderedDict[tuple[str, Hashable], Any]):
    """The parts that were made or asked for last, by their name and what they were made of; the newest stand last."""

    def __call__(self, part: str, key: Hashable, make: Callable[[], Any]) -> Any:
        """What was made before for this key, or is made now; the oldest is let go where there are too many."""
        if (part, key) not in self:
            self[part, key] = make()
        self.move_to_end((part, key))
        while len(self) > KEEP:
            self.popitem(last=False)
        return self[part, key]
