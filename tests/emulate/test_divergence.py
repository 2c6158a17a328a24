"""Immediate post-dominators, where lanes that have diverged reconverge, against their definition."""

import random

import pytest

from ptxlab.emulate.jit.analysis.divergence import _immediate_post_dominators
from ptxlab.emulate.program.graphs import components, reachable


def ends(after: list[list[int]], start: int, without: int) -> bool:
    """Whether a way from a block to an end passes by another one."""
    ways = reachable([start], lambda at: [to for to in after[at] if to != without])
    return any(not after[at] for at in ways)


@pytest.mark.parametrize("seed", range(8))
def test_the_nearest_block_that_is_on_all_ways_to_an_end(seed: int) -> None:
    chosen = random.Random(seed)
    for _ in range(100):
        count = chosen.randint(1, 12)
        after = [[chosen.randrange(count) for _ in range(chosen.choice([0, 1, 1, 2, 2, 3]))] for _ in range(count)]
        nearest = _immediate_post_dominators(after)
        for at in range(count):
            others = [b for b in range(count) if b != at] if ends(after, at, -1) else []
            on_all_ways = {b for b in others if not ends(after, at, b)}
            assert (nearest[at] >= 0) == bool(on_all_ways)
            # the others are on all ways from the nearest one, too
            assert all(b == nearest[at] or not ends(after, nearest[at], b) for b in on_all_ways)
            assert nearest[at] in on_all_ways or not on_all_ways


def test_a_chain_of_many_branches() -> None:
    diamonds = [way for k in range(0, 15000, 3) for way in ([k + 1, k + 2], [k + 3], [k + 3])]
    nearest = _immediate_post_dominators([*diamonds, []])
    assert nearest == [3 * (at // 3) + 3 for at in range(15000)] + [-1]


def test_components_are_what_reaches_each_other() -> None:
    """Each block once, and a component before all that it leads to."""
    draw = random.Random(4)
    for _ in range(200):
        count = draw.randrange(1, 12)
        after = [draw.sample(range(count), draw.randrange(min(3, count + 1))) for _ in range(count)]
        reach = [{n} for n in range(count)]
        for _ in range(count):
            reach = [set().union(own, *(reach[to] for to in after[n])) for n, own in enumerate(reach)]
        found = components(range(count), after.__getitem__)
        assert sorted(n for each in found for n in each) == list(range(count))
        done = set[int]()
        for each in reversed(found):
            assert sorted(each) == [n for n in range(count) if n in reach[each[0]] and each[0] in reach[n]]
            done.update(each)
            assert all(reach[n] <= done for n in each)
