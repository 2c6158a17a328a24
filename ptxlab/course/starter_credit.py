"""What each exercise's starter has right already, so that a mark counts from there.

`python -m ptxlab.course.starter_credit_measured` measures the numbers: it grades the starter and the solution, and
counts their right parts. A test compares.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ptxlab.course.verdict import Part


class Start(NamedTuple):
    """Points of the starter, and of the solution."""

    starter: int
    solution: int


def points(parts: Iterable[Part]) -> tuple[int, int]:
    """(right parts in cases that do not depend on the seed, 1 if there were hidden cases and all were right else 0)."""
    parts = list(parts)
    hidden = [part.ok for part in parts if part.hidden]
    return sum(part.ok for part in parts if not part.hidden), int(bool(hidden) and all(hidden))


STARTS: dict[str, Start] = {
    "00-square": Start(0, 4), "00-guard": Start(1, 5), "00-relu": Start(0, 5),
    "01-predict": Start(0, 7), "01-lse": Start(3, 7), "01-rescale": Start(2, 9),
    "01-thrift": Start(2, 7), "01-window": Start(4, 11), "02-sectors": Start(0, 4),
    "02-smooth": Start(0, 7), "02-one-barrier": Start(2, 7), "02-copy": Start(0, 7),
    "02-blocksum": Start(0, 10), "03-loads": Start(0, 7), "03-hears": Start(0, 6),
    "03-share": Start(0, 17), "03-logsumexp": Start(0, 16), "03-piece": Start(4, 7),
    "04-deep": Start(0, 9), "04-keys": Start(0, 7), "04-reuse": Start(2, 5),
    "04-products": Start(0, 5), "04-rows": Start(0, 9), "05-holder": Start(0, 22),
    "05-address": Start(0, 5), "05-trans": Start(0, 5), "05-rowmax": Start(2, 5),
    "05-chain": Start(0, 9), "06-wavefronts": Start(1, 13), "06-pad": Start(2, 6),
    "06-xor": Start(2, 6), "06-walk": Start(2, 5), "06-half": Start(2, 7),
    "07-arrived": Start(2, 9), "07-wait": Start(0, 3), "07-free": Start(0, 3),
    "07-tail": Start(1, 6), "07-pipeline": Start(1, 4), "08-reach": Start(0, 4),
    "08-maximum": Start(0, 7), "08-empty": Start(10, 14), "08-coalesce": Start(1, 3),
    "08-sinks": Start(6, 10), "09-share": Start(3, 7), "09-empty": Start(3, 6),
    "09-lanes": Start(0, 7), "09-meeting": Start(2, 5), "09-many": Start(2, 10),
    "10-offset": Start(0, 5), "10-append": Start(0, 5), "10-last": Start(1, 4),
    "10-lookup": Start(2, 5), "11-part": Start(5, 13), "11-tail": Start(7, 14),
    "11-merge": Start(2, 7), "11-factors": Start(6, 10), "12-head": Start(2, 4),
    "12-modulo": Start(2, 5), "12-useful": Start(1, 5), "12-once": Start(2, 5),
    "13-dropped": Start(0, 4), "13-leave": Start(1, 3), "13-turns": Start(1, 4),
    "13-digits": Start(0, 4), "13-convict": Start(12, 31), "14-clamp": Start(0, 3),
    "14-down": Start(1, 3), "14-once": Start(2, 5), "14-rope": Start(0, 3),
    "15-holds": Start(8, 21), "15-byte": Start(3, 9), "15-descriptor": Start(0, 4),
    "15-fence": Start(0, 5), "16-phase": Start(7, 22), "16-bytes": Start(1, 4),
    "16-release": Start(0, 3), "16-ring": Start(2, 5), "17-points": Start(2, 6),
    "17-traffic": Start(2, 6), "17-best": Start(1, 8), "17-shortest": Start(5, 10),
    "18-sectors": Start(0, 6), "18-loads": Start(1, 6), "18-fused": Start(6, 11),
    "19-window": Start(6, 10), "19-alibi": Start(0, 7), "19-softcap": Start(4, 9),
    "19-sinks": Start(7, 13), "19-documents": Start(0, 7),
}  # fmt: skip
"""Exercise -> its points before anything is done, and those when all is right."""
