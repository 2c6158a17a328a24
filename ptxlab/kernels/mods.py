"""A score_mod and a mask_mod in a kernel: the parameters that they add, and what is emitted where.

`applied(...)` takes what a call was given and makes `Mods`, which is part of a build's configuration: two functions of
the same structure share one kernel. In a kernel `Here` changes scores where they are complete and hides keys where they
are masked; `Tiles` is the list of the tiles of keys that any row of the block sees:

    tile_starts     list n is from tile_starts[n] to below tile_starts[n + 1]; n counts the tiles of rows, then the
                    heads if the mask depends on h, and then the sequences if it depends on b
    tile_entries    2 * tile + 1 where some row does not see all of its keys, else 2 * tile
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ptxlab.builder import Builder, PointerType, Ptr, f32, f64, s32, u32
from ptxlab.builder.lowered import Lowering, bounds, evaluate
from ptxlab.builder.traced import Graph, Keyed, Node, Parameter, rebinding, trace
from ptxlab.errors import LaunchError
from ptxlab.foreign_arrays import as_numpy
from ptxlab.kernels.softmax import LOG2E, factor_of
from ptxlab.kernels.variants import OPTIONS, Variant, variant
from ptxlab.kernels.variants import causal as causal_mask
from ptxlab.options import meant, shown

LIST_TILE = 64
"""Keys of a tile in the lists of kernels that take keys one by one."""
TILE_LISTS, KEY_RANGES = ("tile_starts", "tile_entries"), ("key_ranges",)
"""The parameters that tell a kernel for prefill, and one for decode, which keys are seen."""
PAST_THE_END = 8
"""Entries after the last one, which may be read ahead."""
Cell = tuple[Any, int, int]
"""A score: its variable, which of the thread's rows it is of, and how many keys after the thread's first."""


@dataclass(frozen=True)
class Mods:
    """What a build knows of its mods: the graph, and whether there are sinks."""

    graph: Graph
    sinks: bool = False
    name: str = ""

    @property
    def scores(self) -> bool:
        """Whether there is a score_mod."""
        return self.graph.score is not None

    @property
    def masks(self) -> bool:
        """Whether there is a mask_mod, and with it lists of tiles, or of each sequence the keys that it sees."""
        return self.graph.mask is not None

    def extra(self, real: type[Any], listed: Sequence[str]) -> dict[str, Any]:
        """The parameters that the kernel has more, with their types; `listed`: those that a mask adds."""
        types: dict[str, Any] = {}
        for p in self.graph.parameters:
            element: Any = real if p.kind == "real" else s32
            types[p.name] = PointerType(element) if p.ndim else element
            types |= {f"{p.name}_{n}": u32 for n in range(1, p.ndim)}
        types |= {"sinks": PointerType(real)} if self.sinks else {}
        return types | ({name: PointerType(u32) for name in listed} if self.masks else {})


PLAIN = Mods(Graph(None, None, (), (), ()))
"""Those of a build without any."""


@dataclass(frozen=True, eq=False)
class Applied(Keyed):
    """The mods of a call with their values."""

    mods: Mods
    score_mod: Variant | None
    mask_mod: Variant | None
    sinks: Any
    values: Mapping[str, Any]

    def arguments(self, dtype: str, listed: Sequence[Any] = ()) -> dict[str, Any]:
        """The arguments for `Mods.extra` by name, in its order, for a kernel of a type. `listed`: the starts and the
        entries of the tiles, or for decode the ranges alone, u32 `[B, 2]`: the first key that any head of a sequence
        sees, and the one after the last."""
        if self.mods.masks and not listed:
            raise LaunchError(f"a kernel with mask_mod={self.mods.name} needs the ranges of keys that can be seen")
        names = TILE_LISTS if len(listed) > 1 else KEY_RANGES
        values = {**self.numbers, "sinks": self.sinks, **dict(zip(names, listed, strict=False))}
        types = self.mods.extra(f64 if dtype == "f64" else f32, names)
        return {name: _argument(name, values[name], kind) for name, kind in types.items()}

    @functools.cached_property
    def numbers(self) -> dict[str, Any]:
        """The values by name, with the sizes of arrays' dimensions as the graph knows them."""
        sizes = {f"{name}_{n}": size for name, x in self.values.items() for n, size in enumerate(np.shape(x))}
        return {**self.values, **sizes}

    @functools.cached_property
    def key(self) -> tuple[Any, ...]:
        """Two are equal where they have equal graphs of equal arrays: the same tiles are seen."""
        arrays = ((name, np.asarray(x)) for name, x in self.numbers.items())
        return self.mods.graph, *((name, x.dtype, x.shape, x.tobytes()) for name, x in arrays)

    @property
    def functions(self) -> tuple[Any, Any]:
        """The score_mod and the mask_mod (or None) as functions of arrays of their places, for a reference."""
        return _on_arrays(self.score_mod), _on_arrays(self.mask_mod)

    def check(self, batch: int, heads: int, positions: tuple[int, int], keys: int) -> None:
        """`LaunchError` for an index that is outside of its array, for rows at positions from the first to the second
        (an index is 0 where a negative one makes it negative) and for `keys` keys; for a division by a number that is
        0; and for sinks that are not one for each head."""
        if self.sinks is not None and np.shape(self.sinks) != (heads,):
            raise LaunchError(f"sinks should have shape {[heads]}, one per head, not {list(np.shape(self.sinks))}"
                              f"\n  write:  sinks=np.zeros({heads})")  # fmt: skip
        if keys < 1 or positions[1] < 0:
            return
        leaves = {"b": (0, batch - 1), "h": (0, heads - 1), "q_idx": positions, "kv_idx": (0, keys - 1)}
        usual = leaves | {"q_idx": (max(0, positions[0]), positions[1])}
        narrow, wide = (bounds(self.mods.graph, x, self.numbers) for x in (usual, leaves))
        for node, (least, most) in wide.items():
            if node.op in ("//", "%", "rcp"):
                low, high = wide[by := node.args[-1]]
                if low <= 0 <= high and (node.op != "rcp" or low == high):
                    goes = "is 0" if low == high else f"goes from {low:.0f} to {high:.0f}"
                    raise _wrong(node, f"this divides by {by.text}, which {goes}", f"np.maximum({by.text}, 1)")
            if node.kind == "whole" and node.site and np.isfinite(most - least):
                if least < -(2**31) or most >= 2**31:
                    what = f"`{node.text}` goes from {least:.0f} to {most:.0f}; whole numbers are s32 in a kernel"
                    raise _wrong(node, what, "1.0 * x    # a real number")
        for load, n, index in self.mods.graph.indices:
            size = np.shape(self.values[load.value])[n]
            least, most = float(narrow[index][0]), float(wide[index][1])
            if least < 0 or most >= size:
                least, most = self._exactly(index, usual)[0], self._exactly(index, leaves)[1]
            if least < 0 or most >= size:
                what = f"`{load.text}`: index {n} goes from {least:.0f} to {most:.0f}"
                write = f"np.clip(index, 0, {size - 1})" if index.args else f"{load.value} of {most + 1:.0f} elements"
                if most < 0 and not index.args:
                    write = f"{size + most:.0f}    # a kernel counts from the start"
                raise _wrong(load, f"{what}, and `{load.value}` has {size} elements there", write)

    def _exactly(self, index: Node, leaves: Mapping[str, tuple[int, int]]) -> tuple[float, float]:
        """The least and the greatest that an index is, computed at all places."""
        asked = [name for name in leaves if name in index.depends] or ["b"]
        first, *others = (np.arange(leaves[name][0], leaves[name][1] + 1) for name in asked)
        ends = []
        for part in np.array_split(first, max(1, len(first) // 64)):
            places = dict(zip(asked, np.ix_(part, *others), strict=True))
            found = evaluate(self.mods.graph, index, places, self.numbers, np.float64)
            ends += [float(np.min(found)), float(np.max(found))]
        return min(ends), max(ends)


def _wrong(node: Node, what: str, write: str) -> LaunchError:
    """The error of numbers that do not fit what a line of a function does with them."""
    assert node.site is not None
    return LaunchError(f"{node.site.span}: {what}\n  write:  {write}")


def applied(
    score_mod: Any = None, mask_mod: Any = None, *, sinks: Any = None, causal: bool = False, **arrays: Any
) -> Applied | None:
    """The mods of a call, traced; None where it has none. arrays: further parameters of the functions, by name. causal
    is joined with a mask; alone or with a score_mod it stays the kernel's own."""
    if score_mod is None and mask_mod is None and sinks is None:
        return None
    made, bound_here = [], set[str]()
    for word, function in (("score_mod", score_mod), ("mask_mod", mask_mod)):
        own = {}
        if callable(function) and not isinstance(function, Variant):
            own = {name: arrays[name] for name in arrays if name in inspect.signature(function).parameters}
        each = None if function is None else variant(function, **own)
        if each is not None and each.masks != (word == "mask_mod"):
            other, takes = ("score_mod", "") if word == "mask_mod" else ("mask_mod", "score, ")
            what = f"{word} takes {takes}b, h, q_idx, kv_idx; {each.name} is a {other}"
            raise LaunchError(f"{what}\n  write:  {other}={each.name}")
        made.append(each)
        bound_here |= own.keys()
    if sinks is not None and not (np.asarray(sinks).dtype.kind in "fiu" and np.all(np.asarray(sinks) < np.inf)):
        raise LaunchError(f"sinks should be real numbers below infinity, not {shown(sinks)}"
                          "\n  write:  sinks=np.zeros(Hq)    # -np.inf for a head without one")  # fmt: skip
    if left := [name for name in arrays if name not in bound_here]:
        names = " and ".join(each.name for each in made if each is not None) or "the call"
        has = [*(name for each in made if each is not None for name in each.arrays), *sorted(OPTIONS)]
        write = f"\n  write:  def f(..., kv_idx, {left[0]}): ..."
        raise LaunchError(f"{names} takes no {left[0]}= here{meant(left[0], has) or write}")
    score, mask = made
    if causal and mask is not None:
        mask = causal_mask() & mask
    if score is not None and mask is not None:
        mask = mask.beside(score.arrays)
    values = {name: _value(name, x) for each in (score, mask) if each is not None for name, x in each.arrays.items()}
    for taken in {f"{name}_{n}" for name, x in values.items() for n in range(np.ndim(x))} & values.keys():
        raise LaunchError(f"{taken} is the kernel's name for the size of a dimension of {taken.rpartition('_')[0]}"
                          f"\n  write:  {taken}_values    # another name")  # fmt: skip
    kinds = tuple(Parameter(name, _KINDS[np.asarray(x).dtype.kind], np.ndim(x)) for name, x in values.items())
    graph = trace(score, mask, kinds)
    named = [each.name for each in (score, mask) if each is not None] + ["sinks"] * (sinks is not None)
    mods = Mods(graph, sinks is not None, "_".join(named))
    return Applied(mods, score, mask, None if sinks is None else np.asarray(sinks), values)


class _Values(np.ndarray[Any, Any]):
    """An array as it is to a function in a kernel: `x += y` leaves it as it is, and its element 0 stands for negative
    indices, with which numpy would count from the end."""

    def __getitem__(self, index: Any) -> Any:
        return super().__getitem__(tuple(np.maximum(i, 0) for i in (index if isinstance(index, tuple) else (index,))))


rebinding(_Values)


def _on_arrays(bound: Variant | None) -> Any:
    if bound is None:
        return None
    arrays = {name: np.asarray(x).view(_Values) if np.ndim(x) else x for name, x in bound.arrays.items()}
    seen = np.errstate(all="ignore")(bound)
    return lambda *places: np.asarray(seen(*(np.asarray(x).view(_Values) for x in places), **arrays))


_KINDS = {"f": "real", "i": "whole", "u": "whole", "b": "truth"}


def _value(name: str, x: Any) -> Any:
    """An array or a number for a kernel; `LaunchError` for what is neither, or does not fit 32 bits."""
    found: Any = None
    with contextlib.suppress(ValueError):  # of lists of several lengths
        found = np.asarray(as_numpy(x, name, name))
        found = found.astype(np.float32) if found.dtype.name == "bfloat16" else found
    if found is None or found.dtype.kind not in _KINDS:
        raise LaunchError(f"{name} should be an array or a number, real or whole, not {shown(x)}"
                          f"\n  write:  {name}=np.zeros(n)    # or a function for each choice")  # fmt: skip
    if found.dtype.kind in "iu" and found.size and (found.min() < -(2**31) or found.max() >= 2**31):
        raise LaunchError(f"{name} has values from {found.min()} to {found.max()}; whole numbers are s32 in a kernel"
                          f"\n  write:  {name}={name}.astype(np.float64)    # real numbers")  # fmt: skip
    if not found.ndim:
        return {"f": float, "b": bool}.get(found.dtype.kind, int)(found)
    return np.ascontiguousarray(found)


def _argument(name: str, value: Any, kind: Any) -> Any:
    """A value for a parameter of a type; an array in one dimension, with an element at least."""
    element = kind.element if isinstance(kind, PointerType) else kind
    if element in (f32, f64):
        most = np.max(np.abs(value), initial=0, where=np.isfinite(value))
        if most > np.finfo(f"float{element.bits}").max:
            what = f"{name} holds {most:.3g}, too large for {element.ptx}, in which kernels compute scores"
            raise LaunchError(f"{what}\n  write:  -np.inf    # for what is not seen")
    if element is kind:
        return int(value) if isinstance(value, bool) else value
    array = np.asarray(value, {f32: np.float32, f64: np.float64, s32: np.int32, u32: np.uint32}[element]).reshape(-1)
    return np.pad(array, (0, PAST_THE_END if element is u32 else int(array.size == 0)))


class Tiles:
    """The list of the tiles of keys for a block's tile of rows: `start` to below `stop` of the entries. `at` is the
    entry that the loop is at, `part` whether some row does not see all keys of its tile."""

    def __init__(self, k: Builder, config: Any, head: Any, batch: Any, Hq: Any) -> None:
        self.k, self.keys = k, config.listed[1]
        self.at: Any = None
        self.part: Any = None
        depends = config.mods.graph.mask.depends
        tiles, number = k.nctaid.x, k.ctaid.x
        if "h" in depends:
            number = head * tiles + number
        if "b" in depends:
            number = number + batch * (tiles * Hq if "h" in depends else tiles)
        self.entries: Ptr[Any] = k.extra["tile_entries"]
        starts: Ptr[Any] = k.extra["tile_starts"] + number
        self.start, self.stop = starts[0], starts[1]

    @classmethod
    def of(cls, k: Builder, config: Any, head: Any, batch: Any, Hq: Any) -> Tiles | None:
        """The list of a build with a mask_mod; None in others. Blocks are tiles of rows in x."""
        return cls(k, config, head, batch, Hq) if config.mods and config.mods.masks else None

    @property
    def any(self) -> Any:
        """Whether the list has an entry."""
        return self.start < self.stop

    def first(self, n: Any) -> Any:
        """The first key of the n-th entry's tile."""
        entry = self.entries[n]
        self.part = (entry & 1) != 0
        return (entry >> 1) * self.keys

    @contextlib.contextmanager
    def loop(self, start: Any = None) -> Iterator[Any]:
        """Goes through the entries; gives the first key of each tile."""
        with self.k.loop(self.stop, start=self.start if start is None else start) as n:
            self.at = n
            yield self.first(n)

    def ahead(self, n: Any, Sk: Any) -> tuple[Any, Any]:
        """The first key of a tile further on, and how many keys there are from there; none past the end of the list."""
        first = (self.entries[n] >> 1) * self.keys
        return first, self.k.select(n < self.stop, Sk - first, 0)

    @contextlib.contextmanager
    def keys_in(self, Sk: Any) -> Iterator[Any]:
        """Goes through the keys of these tiles one by one."""
        with self.loop() as first, self.k.loop(self.k.min(first + self.keys, Sk), start=first) as j:
            yield j


class Here:
    """The mods where a thread is: sequence `b`, and for each of its rows a head and a position. `Sk` keys there are.
    Without mods it emits nothing."""

    def __init__(self, k: Builder, config: Any, b: Any, heads: Any, positions: Any, Sk: Any) -> None:
        mods, real = config.mods or PLAIN, config.real
        self.k, self.mods, self.real, self.Sk, self.b = k, mods, real, Sk, b
        self.heads, self.positions = heads, positions
        self.base: Any = None
        self.score: Any = None
        self.scale: Any = None
        self.span: Any = None
        self.split: Any = None
        self.columns: dict[Any, Any] = {}
        self.newest: Any = Sk - 1 if "kv_idx" in mods.graph.loads else None
        inside = (k.min(p, k.bitcast(s32, k.max(Sk, 1) - 1)) for p in positions)
        self.inside = list(inside) if "q_idx" in mods.graph.loads else positions
        per_row = [name for name, each in (("h", heads), ("q_idx", positions)) if len(each) > 1]
        self.lowering = Lowering(k, mods.graph, real, self._leaf, per_row)
        self.lowering.hoist(range(max(len(heads), len(positions))))

    @classmethod
    def of(
        cls, k: Builder, config: Any, batch: Any, head: Any, row: Any, Sq: Any, Sk: Any, down: Sequence[int] = (0,)
    ) -> Here:
        """The mods of a build for prefill, for rows so far below `row`."""
        positions = []
        if config.mods:
            first = row + Sk - Sq  # the last row is where the last key is
            positions = [k.bitcast(s32, first + below if below else first) for below in down]
        return cls(k, config, batch, [head], positions, Sk)

    @classmethod
    def decoding(
        cls, k: Builder, config: Any, batch: Any, heads: Any, keys: Any, scale: Any, split: Any = None, step: int = 1
    ) -> Here:
        """The mods of a build for decode, for the last of `keys` positions. `span`: from which key (a multiple of
        `step`) to below which any head of the sequence sees keys, if there is a mask_mod."""
        here = cls(k, config, batch, heads, [k.bitcast(s32, keys - 1)] if config.mods else [], keys)
        here.scale, here.split = scale, split
        if here.mods.masks:
            ranges: Ptr[Any] = k.extra["key_ranges"] + batch * 2
            first, last = k.min(ranges[0], keys), k.min(ranges[1], keys)
            here.span = first & -step if step > 1 else first, last
        return here

    def _leaf(self, name: str, place: Any, clamped: bool) -> Any:
        row = place[0] or 0
        if name == "b":
            return self.b
        if name == "h":
            return self.heads[row if len(self.heads) > 1 else 0]
        if name == "q_idx":
            return (self.inside if clamped else self.positions)[row if len(self.positions) > 1 else 0]
        return self.score if name == "score" else self._key(place[1], clamped)

    def _key(self, offset: int, clamped: bool) -> Any:
        """The key so many after the thread's first, and clamped: one that exists."""
        if clamped:
            return self._once((offset, "clamped"), lambda: self.k.min(self._key(offset, False), self.newest))
        return self._once(offset, lambda: self.base + offset) if offset else self.base

    def _once(self, key: Any, make: Callable[[], Any]) -> Any:
        """What is made once for a key, or again where the body that it was made in has ended."""
        if key not in self.columns or not self.columns[key].scope.open:
            self.columns[key] = make()
        return self.columns[key]

    def at(self, base: Any) -> Here:
        """The same for the keys from `base` on, the first of this thread's."""
        self.base = base
        self.columns.clear()
        self.lowering.known = {key: v for key, v in self.lowering.known.items() if key[1][1:] == (None, None)}
        return self

    def factor(self, scale: Any) -> Any:
        """What the kernel multiplies its scores with in exponents: 1 where a score_mod leaves them in units of log2."""
        self.scale = abs(scale) if self.mods.scores else scale  # q's sign has that of the scale
        factor = self.k.mov(1.0, self.real) if self.mods.scores else factor_of(self.k, scale)
        return factor

    def change(self, cells: Sequence[Cell], scale: Any = None) -> bool:
        """Products of queries and keys become scores as the score_mod wants them, in units of log2; whether there is
        one. They are scaled before it: rounding both products of an exponent alike keeps -1e30 from becoming NaN."""
        root = self.mods.graph.score
        if root is None:
            return False
        for product, row, offset in cells:
            self.score = product * (self.scale if scale is None else scale)
            changed = self.lowering.value(root, (row, offset, (row, offset)))
            if isinstance(changed, float):
                changed = self.k.mov(changed, self.real)
            product.set(changed * LOG2E)
        return True

    def seen(self, row: int, offset: int) -> Any:
        """Whether a row sees a key, which may be past the end."""
        root = self.mods.graph.mask
        assert root is not None
        left = self._once("left", lambda: self.k.bitcast(s32, self.Sk - self.base))
        exists = self._once(("left", offset), lambda: left > offset)
        seen = self.lowering.value(root, (row, offset, None))
        if isinstance(seen, bool):
            return exists if seen else exists & ~exists
        return seen & exists

    def hide(self, cells: Sequence[Cell]) -> bool:
        """-inf for the keys that the mask_mod hides, and for those past the end; whether there is a mask_mod."""
        for score, row, offset in cells if self.mods.masks else ():
            score.set(self.k.select(self.seen(row, offset), score, -math.inf))
        return self.mods.masks

    def begin(self, row_max: Any, row_sum: Any, factor: Any = None, lane: Any = None) -> None:
        """Maxima and sums of the rows begin with their head's sink, if there are sinks; the sums in the lane that is
        number 0. Maxima are in units of log2, divided by `factor`."""
        if not self.mods.sinks:
            return
        if self.split is not None:  # of several parts of the keys, the first alone has the sink
            lane = self.split if lane is None else lane | self.split
        for row, (most, total) in enumerate(zip(row_max, row_sum, strict=True)):
            sink = self.k.extra["sinks"][self.heads[row if len(self.heads) > 1 else 0]] * LOG2E
            most.set(sink if factor is None else sink * self.k.rcp(factor, approx=True))
            total.set(1.0 if lane is None else self.k.select(lane == 0, 1.0, 0.0, type=self.real))


def fragments(scores: Sequence[Any], row: int = 0) -> list[Cell]:
    """The scores of C fragments side by side, of two rows; the first key is that of the lane's first column."""
    return [(c[n], row + n // 2, 8 * column + n % 2) for column, c in enumerate(scores) for n in range(4)]
