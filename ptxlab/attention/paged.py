"""`PagedCache`: a pool of pages for the keys and values of many sequences, kept by the host.

    cache = PagedCache(num_pages=64, page_size=16, heads_kv=8, head_dim=128)
    chat = cache.new()
    cache.append(chat, k, v)                      # k and v [n, Hkv, D]: n more keys
    other = cache.fork(chat)                      # shares all pages; a page is copied when one of the two writes to it
    out = pl.decode(q, cache.k, cache.v, cache.lengths([chat, other]), cache.block_table([chat, other]))
    cache.free(chat)

Nothing here runs on a device. It is what a server does between two launches, small enough to be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ptxlab.errors import PtxlabError
from ptxlab.foreign_arrays import as_numpy
from ptxlab.options import complete

Array = NDArray[Any]


DTYPES = ("float32", "float16", "bfloat16")
"""The types of a cache: those that there are decode kernels for."""


class OutOfPages(PtxlabError, MemoryError):
    """The pool has no page left for what should be appended; nothing was changed."""


class UnknownSequence(PtxlabError, LookupError):
    """There is no sequence of that number, or it was freed."""


@complete()
class PagedCache:
    """`k` and `v`, pools `[num_pages, page_size, Hkv, D]`, and who owns which page.

    A page belongs to every sequence that lists it, and is free when none does. Slots that hold no key are NaN at first
    and whatever was there before later: no kernel may look at them.

    Parameters
    ----------
    num_pages, page_size, heads_kv, head_dim
        The sizes of the pools.
    dtype
        float32, float16 or bfloat16, of numpy or by name. What is appended is converted to it.
    """

    def __init__(
        self, num_pages: int, page_size: int, heads_kv: int, head_dim: int, dtype: DTypeLike = np.float32
    ) -> None:
        sizes = {"num_pages": num_pages, "page_size": page_size, "heads_kv": heads_kv, "head_dim": head_dim}
        for name, size in sizes.items():
            if not isinstance(size, int | np.integer) or isinstance(size, bool) or size < 1:
                raise ValueError(f"{name}: expected a whole number of at least 1, got {size!r}")
        if isinstance(dtype, str) and dtype == "bfloat16":  # numpy learns of that from ml_dtypes
            from ml_dtypes import bfloat16

            dtype = bfloat16
        try:
            name = np.dtype(dtype).name
        except TypeError:
            name = ""
        if name not in DTYPES:
            given = dtype if isinstance(dtype, str) else name or repr(dtype)  # "f16" is a float128 to numpy
            raise ValueError(f"dtype must be one of {', '.join(DTYPES)}, not {given}")
        shape = (num_pages, page_size, heads_kv, head_dim)
        self.k: Array = np.full(shape, np.nan, dtype)
        self.v: Array = np.full(shape, np.nan, dtype)
        self._owners = [0] * num_pages  # how many sequences list a page
        self._free = list(range(num_pages))  # the next page is taken from the end
        self._pages: dict[int, list[int]] = {}
        self._lengths: dict[int, int] = {}
        self._next = 0

    @property
    def num_pages(self) -> int:
        """Pages in the pool."""
        return len(self._owners)

    @property
    def page_size(self) -> int:
        """Keys a page."""
        return int(self.k.shape[1])

    @property
    def free_pages(self) -> int:
        """Pages that no sequence has."""
        return len(self._free)

    @property
    def sequences(self) -> tuple[int, ...]:
        """The sequences there are, oldest first."""
        return tuple(self._pages)

    def __repr__(self) -> str:
        return (
            f"<PagedCache of {self.num_pages} pages of {self.page_size} keys, {self.free_pages} free, "
            f"{len(self._pages)} sequences>"
        )

    # -- sequences
    def new(self) -> int:
        """A sequence without keys; returns its number."""
        sequence, self._next = self._next, self._next + 1
        self._pages[sequence], self._lengths[sequence] = [], 0
        return sequence

    def append(self, sequence: int, k: Array, v: Array) -> None:
        """Adds keys and values `[n, Hkv, D]` (or one, `[Hkv, D]`) at a sequence's end.

        Takes new pages where the last one is full, and first copies the last one where another sequence has it too.
        `OutOfPages` when there are not enough; then nothing was changed.
        """
        pages = self._of(sequence)
        k, v = (self._rows(name, x) for name, x in (("k", k), ("v", v)))
        if len(k) != len(v):
            raise ValueError(f"k has {len(k)} keys and v {len(v)} values; both should have the same number")
        length, size = self._lengths[sequence], self.page_size
        shared = len(k) > 0 and length % size > 0 and self._owners[pages[-1]] > 1
        more = -(-(length + len(k)) // size) - len(pages)
        if more + shared > len(self._free):
            raise OutOfPages(
                f"sequence {sequence} needs {more + shared} more of the pool's {self.num_pages} pages for {len(k)} "
                f"keys, {len(self._free)} are free"
            )
        if shared:  # copy on write: the others keep the page as it is
            old, pages[-1] = pages[-1], self._take()
            self._owners[old] -= 1
            used = length % size
            self.k[pages[-1], :used], self.v[pages[-1], :used] = self.k[old, :used], self.v[old, :used]
        pages += [self._take() for _ in range(more)]
        for n in range(len(k)):
            page, slot = pages[(length + n) // size], (length + n) % size
            self.k[page, slot], self.v[page, slot] = k[n], v[n]
        self._lengths[sequence] = length + len(k)

    def fork(self, sequence: int) -> int:
        """Another sequence that begins with all keys of this one, and shares its pages; returns its number."""
        pages, length = list(self._of(sequence)), self._lengths[sequence]
        for page in pages:
            self._owners[page] += 1
        other = self.new()
        self._pages[other], self._lengths[other] = pages, length
        return other

    def free(self, sequence: int) -> None:
        """Ends a sequence: pages that no other sequence has are free again."""
        for page in self._of(sequence):
            self._owners[page] -= 1
            if self._owners[page] == 0:
                self._free.append(page)
        del self._pages[sequence], self._lengths[sequence]

    # -- what a kernel wants
    def length(self, sequence: int) -> int:
        """How many keys a sequence has."""
        self._of(sequence)
        return self._lengths[sequence]

    def pages(self, sequence: int) -> tuple[int, ...]:
        """The pages of a sequence, in the order of its keys."""
        return tuple(self._of(sequence))

    def lengths(self, sequences: Sequence[int] | None = None) -> NDArray[np.int32]:
        """How many keys each sequence has, i32 `[B]`; of all sequences by default."""
        chosen = self.sequences if sequences is None else sequences
        return np.array([self.length(s) for s in chosen], np.int32)

    def block_table(self, sequences: Sequence[int] | None = None) -> NDArray[np.int32]:
        """The pages of each sequence, i32 `[B, max_pages]`, filled up with -1; of all sequences by default."""
        rows = [self._of(s) for s in (self.sequences if sequences is None else sequences)]
        table = np.full((len(rows), max([1, *map(len, rows)])), -1, np.int32)
        for row, pages in zip(table, rows, strict=True):
            row[: len(pages)] = pages
        return table

    # -- inside
    def _of(self, sequence: int) -> list[int]:
        if sequence not in self._pages:
            listed = ", ".join(map(str, self._pages)) or "none"
            raise UnknownSequence(f"there is no sequence {sequence!r}; there are {listed}")
        return self._pages[sequence]

    def _take(self) -> int:
        page = self._free.pop()
        self._owners[page] = 1
        return page

    def _rows(self, name: str, x: Array) -> Array:
        x = np.asarray(as_numpy(x, name, name))
        x = x[None] if x.ndim == 2 else x
        if x.ndim != 3 or x.shape[1:] != self.k.shape[2:]:
            raise ValueError(
                f"{name} has shape {list(x.shape)}; it should be [n, {self.k.shape[2]}, {self.k.shape[3]}]"
            )
        if x.dtype.kind not in "fiu" and x.dtype.name not in DTYPES:
            raise ValueError(f"{name} has type {x.dtype}; it should be an array of numbers, such as {self.k.dtype}")
        return x
