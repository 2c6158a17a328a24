"""What was made before and may be wanted again, by what it was made of."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

KEEP = 32
"""How many kernels, results and states are kept."""
Key = TypeVar("Key")
Made = TypeVar("Made")


class Shelf(OrderedDict[Key, Made]):
    """The last `KEEP` things that were made or asked for, by their keys; the newest stand last."""

    def kept(self, key: Key, make: Callable[[], Made]) -> Made:
        """What was made before for this key, or is made now; the oldest is let go where there are too many."""
        if key not in self:
            self[key] = make()
        self.move_to_end(key)
        while len(self) > KEEP:
            self.popitem(last=False)
        return self[key]
