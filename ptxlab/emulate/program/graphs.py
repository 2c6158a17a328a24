"""Algorithms on graphs: what can be reached, strongly connected components, dominators.

A graph is given by a function from a node to those that its edges lead to. Nothing here recurses: programs are long.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)
Edges = Callable[[Node], Iterable[Node]]


def reachable(starts: Iterable[Node], onward: Edges[Node]) -> set[Node]:
    """The nodes that can be reached from some, those included."""
    found: set[Node] = set()
    todo = list(starts)
    while todo:
        at = todo.pop()
        if at not in found:
            found.add(at)
            todo += onward(at)
    return found


def postorder(start: Node, onward: Edges[Node]) -> list[Node]:
    """The nodes that can be reached from one, each after those that a depth-first search reaches from it."""
    order, begun, path = list[Node](), {start}, [(start, iter(onward(start)))]
    while path:
        at, left = path[-1]
        following = next((node for node in left if node not in begun), None)
        if following is None:
            order.append(at)
            path.pop()
        else:
            begun.add(following)
            path.append((following, iter(onward(following))))
    return order


def dominators(start: Node, onward: Edges[Node]) -> dict[Node, Node]:
    """The immediate dominator of each node reachable from `start`, whose own is itself. A node comes after its
    dominator (Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm", 2001)."""
    order = postorder(start, onward)
    number = {node: k for k, node in enumerate(order)}
    over = {start: start}
    changed = True
    while changed:
        changed = False
        for at in reversed(order):
            for following in onward(at):
                one, other = over.get(following, at), at
                while one != other:
                    if number[one] < number[other]:
                        one = over[one]
                    else:
                        other = over[other]
                if over.get(following) != one and following != start:
                    over[following], changed = one, True
    return {node: over[node] for node in reversed(order)}


def components(starts: Iterable[Node], onward: Edges[Node]) -> list[list[Node]]:
    """The strongly connected components that can be reached, in topological order; each begins with the node through
    which the search entered it (Tarjan's algorithm)."""
    index: dict[Node, int] = {}
    low: dict[Node, int] = {}
    stack, on_stack, found = list[Node](), set[Node](), list[list[Node]]()
    path: list[tuple[Node, Iterator[Node]]] = []

    def enter(node: Node) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        on_stack.add(node)
        path.append((node, iter(onward(node))))

    for start in starts:
        if start not in index:
            enter(start)
        while path:
            node, left = path[-1]
            for following in left:
                if following not in index:
                    enter(following)
                    break
                if following in on_stack:
                    low[node] = min(low[node], index[following])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == index[node]:
                    at = len(stack) - 1
                    while stack[at] != node:  # from the end: most components are a single node
                        at -= 1
                    found.append(stack[at:])
                    on_stack.difference_update(stack[at:])
                    del stack[at:]
    return found[::-1]
