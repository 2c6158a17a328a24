"""How the basic blocks of a function are ordered, so that running the smallest program counter first makes lanes
reconverge.

Lanes that diverge at a branch reconverge at its immediate post-dominator: the first block that all paths from it share.
In a loop the back edges hide that block, since the next round leads everywhere again. So each loop is cut to one round:
its back edges go to the *end of the loop*, where the next round begins. The graph then has no cycle, every block has
its immediate post-dominator in it, and any topological order puts that block after all that may run before it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def reachable(starts: Iterable[Node], onward: Callable[[Node], Iterable[Node]]) -> set[Node]:
    """The nodes of a graph that can be reached from some, those included; `onward`: where the edges of one lead."""
    found: set[Node] = set()
    todo = list(starts)
    while todo:
        at = todo.pop()
        if at not in found:
            found.add(at)
            todo += onward(at)
    return found


def components(after: list[list[int]]) -> list[list[int]]:
    """The strongly connected components of a graph (Tarjan's algorithm, without recursion)."""
    number, low = [-1] * len(after), [0] * len(after)
    found, path, on_path = list[list[int]](), list[int](), [False] * len(after)
    count = 0
    for start in range(len(after)):
        if number[start] >= 0:
            continue
        work = [(start, 0)]
        while work:
            at, step = work.pop()
            if step == 0:
                number[at] = low[at] = count
                count += 1
                path.append(at)
                on_path[at] = True
            else:
                low[at] = min(low[at], low[after[at][step - 1]])
            for k in range(step, len(after[at])):
                to = after[at][k]
                if number[to] < 0:
                    work += [(at, k + 1), (to, 0)]
                    break
                if on_path[to]:
                    low[at] = min(low[at], number[to])
            else:
                if low[at] == number[at]:
                    cut = len(path) - 1
                    while path[cut] != at:  # from the end: most components are a single block
                        cut -= 1
                    found.append(sorted(path[cut:]))
                    for each in path[cut:]:
                        on_path[each] = False
                    del path[cut:]
    return found


def running_order(
    successors: Sequence[Sequence[int]], entry: int, jumps: Callable[[int, int], bool] = lambda source, head: True
) -> list[int]:
    """Blocks reachable from `entry`: every block before its successors, loop bodies whole before what follows them.

    The graph is cut into strongly connected components, in topological order. A component of several blocks is a loop:
    its first block, the head, comes first and the rest is ordered in the same way, without the edges back to it.
    `~head` stands for the end of the loop, after its last block. It is left out where the last block is this already:
    all edges back come from there, by a branch that `jumps(last, head)` says may go back.
    """
    out: list[int] = []

    whole = set(range(len(successors)))
    work = [(component, False) for component in reversed(_components(successors, whole, [entry]))]
    while work:
        component, arranged = work.pop()
        head, rest = component[0], set(component[1:])
        if arranged:
            back = [block for block in component if head in successors[block]]
            if back and not (back == [out[-1]] and jumps(out[-1], head)):
                out.append(~head)
            continue
        out.append(head)
        work.append((component, True))
        if rest:
            inner = _components(successors, rest, [s for s in successors[head] if s in rest])
            work += [(component, False) for component in reversed(inner)]
    return out


def _components(successors: Sequence[Sequence[int]], nodes: set[int], starts: Iterable[int]) -> list[list[int]]:
    """Strongly connected components of the subgraph reachable from `starts`, in topological order (Tarjan, iterative);
    each begins with the block through which the search entered it."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    on_stack: set[int] = set()
    stack: list[int] = []
    found: list[list[int]] = []
    work: list[tuple[int, list[int]]] = []

    def enter(node: int) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        on_stack.add(node)
        work.append((node, [s for s in reversed(successors[node]) if s in nodes]))

    for start in starts:
        if start not in index:
            enter(start)
        while work:
            node, edges = work[-1]
            if edges:
                following = edges.pop()
                if following not in index:
                    enter(following)
                elif following in on_stack:
                    low[node] = min(low[node], index[following])
                continue
            work.pop()
            if work:
                low[work[-1][0]] = min(low[work[-1][0]], low[node])
            if low[node] == index[node]:
                at = len(stack) - 1
                while stack[at] != node:  # from the end, as above
                    at -= 1
                found.append(stack[at:])
                on_stack.difference_update(stack[at:])
                del stack[at:]
    return found[::-1]
