"""`PagedCache`: no page is lost or freed twice, whatever is appended, forked and freed; `pl.decode` reads it right."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import ptxlab as pl
from ptxlab.attention.paged import OutOfPages, PagedCache, UnknownSequence


class Model(RuleBasedStateMachine):
    """A cache beside a plain dict of lists: the same keys, and pages that add up, after every step."""

    def __init__(self) -> None:
        super().__init__()
        self.plain: dict[int, list[float]] = {}
        self.count = 0

    @initialize(
        pages=st.integers(1, 12), size=st.integers(1, 5), dtype=st.sampled_from(["float32", "float16", "bfloat16"])
    )
    def start(self, pages: int, size: int, dtype: str) -> None:
        self.pages, self.size = pages, size
        self.cache = PagedCache(pages, size, 1, 1, dtype)

    @rule()
    def new(self) -> None:
        sequence = self.cache.new()
        assert sequence not in self.plain
        self.plain[sequence] = []

    @precondition(lambda self: self.plain)
    @rule(data=st.data(), count=st.integers(0, 11))
    def append(self, data: st.DataObject, count: int) -> None:
        sequence = data.draw(st.sampled_from(sorted(self.plain)))
        keys = [float((self.count + n) % 251) for n in range(count)]  # bfloat16 has no larger odd numbers
        self.count += count
        rows = np.array(keys, np.float32).reshape(-1, 1, 1)
        before = self.cache.k.tobytes(), self.cache.block_table(), self.cache.free_pages
        length, pages = len(self.plain[sequence]), self.cache.pages(sequence)
        others = {page for s in self.plain if s != sequence for page in self.cache.pages(s)}
        needed = -(-(length + count) // self.size) - len(pages)
        needed += (
            count > 0 and length % self.size > 0 and pages[-1] in others
        )  # the copy of a page that another has too
        try:
            self.cache.append(sequence, rows, -rows)
        except OutOfPages:
            assert self.cache.k.tobytes() == before[0]  # nothing was changed
            np.testing.assert_array_equal(self.cache.block_table(), before[1])
            assert needed > before[2]
        else:
            assert self.cache.free_pages == before[2] - needed
            self.plain[sequence] += keys

    @precondition(lambda self: self.plain)
    @rule(data=st.data())
    def fork(self, data: st.DataObject) -> None:
        sequence = data.draw(st.sampled_from(sorted(self.plain)))
        self.plain[self.cache.fork(sequence)] = list(self.plain[sequence])

    @precondition(lambda self: self.plain)
    @rule(data=st.data())
    def free(self, data: st.DataObject) -> None:
        sequence = data.draw(st.sampled_from(sorted(self.plain)))
        self.cache.free(sequence)
        del self.plain[sequence]
        with pytest.raises(UnknownSequence):
            self.cache.free(sequence)

    @invariant()
    def holds_what_was_appended(self) -> None:
        assert self.cache.sequences == tuple(self.plain)
        for sequence, keys in self.plain.items():
            pages = self.cache.pages(sequence)
            assert len(pages) == -(-len(keys) // self.size)
            assert len(set(pages)) == len(pages)
            k, v = (pool[list(pages)].reshape(-1)[: len(keys)] for pool in (self.cache.k, self.cache.v))
            assert k.tolist() == keys
            assert (-v).tolist() == keys
        assert self.cache.lengths().tolist() == [len(keys) for keys in self.plain.values()]
        for row, sequence in zip(self.cache.block_table(), self.plain, strict=True):
            pages = self.cache.pages(sequence)
            assert row.tolist() == [*pages, *[-1] * (len(row) - len(pages))]

    @invariant()
    def every_page_is_used_or_free(self) -> None:
        used = {page for sequence in self.plain for page in self.cache.pages(sequence)}
        assert len(used) + self.cache.free_pages == self.pages

    def teardown(self) -> None:
        """When all sequences have ended, all pages are free, each once."""
        if self.plain:
            for sequence in self.plain:
                self.cache.free(sequence)
            assert sorted(self.cache._free) == list(range(self.pages))


Model.TestCase.settings = settings(max_examples=40, stateful_step_count=40)
test_any_sequence_of_steps = pytest.mark.rest(Model.TestCase)


@pytest.mark.slow
def test_thousands_of_sequences_of_steps():
    run_state_machine_as_test(Model, settings=settings(max_examples=3000, stateful_step_count=50))


def keys(count, start=0):
    return np.arange(start, start + count, dtype=np.float32).reshape(-1, 1, 1)


def test_a_fork_copies_a_page_only_when_it_writes_to_it():
    cache = PagedCache(6, 4, 1, 1)
    first = cache.new()
    cache.append(first, keys(6), keys(6))
    second = cache.fork(first)
    assert cache.pages(second) == cache.pages(first)
    assert cache.free_pages == 4
    cache.append(second, keys(1, 100), keys(1))  # into the half-full page that both have
    assert cache.pages(second)[0] == cache.pages(first)[0]
    assert cache.pages(second)[1] != cache.pages(first)[1]
    cache.append(first, keys(1, 200), keys(1))  # now its own
    assert cache.free_pages == 3
    cache.append(first, keys(1, 300), keys(1))
    third = cache.fork(first)
    cache.append(third, keys(1, 400), keys(1))  # the last page is full: nothing to copy
    assert cache.pages(third)[:2] == cache.pages(first)
    cache.free(first)
    cache.free(second)
    cache.free(third)
    assert cache.free_pages == 6
    assert repr(cache) == "<PagedCache of 6 pages of 4 keys, 6 free, 0 sequences>"


def test_what_is_refused():
    cache = PagedCache(2, 4, 1, 2)
    chat = cache.new()
    rows = np.zeros((9, 1, 2), np.float32)
    with pytest.raises(OutOfPages) as full:
        cache.append(chat, rows, rows)
    assert str(full.value) == "sequence 0 needs 3 more of the pool's 2 pages for 9 keys, 2 are free"
    assert cache.free_pages == 2
    with pytest.raises(UnknownSequence) as unknown:
        cache.append(7, rows, rows)
    assert str(unknown.value) == "there is no sequence 7; there are 0"
    with pytest.raises(ValueError, match=r"^k has shape \[9, 2, 1\]; it should be \[n, 1, 2\]$"):
        cache.append(chat, rows.reshape(9, 2, 1), rows)
    with pytest.raises(ValueError, match=r"^k has 2 keys and v 3 values; both should have the same number$"):
        cache.append(chat, rows[:2], rows[:3])
    for sizes, message in (
        ((2, 0, 1, 1), "page_size: expected a whole number of at least 1, got 0"),
        ((2.5, 4, 1, 1), "num_pages: expected a whole number of at least 1, got 2.5"),
        ((2, 4, -1, 1), "heads_kv: expected a whole number of at least 1, got -1"),
        ((2, 4, 1, True), "head_dim: expected a whole number of at least 1, got True"),
        ((2, 4, 1, 1, np.float64), "dtype must be one of float32, float16, bfloat16, not float64"),
        ((2, 4, 1, 1, "f16"), "dtype must be one of float32, float16, bfloat16, not f16"),
        ((2, 4, 1, 1, "bf16"), "dtype must be one of float32, float16, bfloat16, not bf16"),
        ((2, 4, 1, 1, 7), "dtype must be one of float32, float16, bfloat16, not 7"),
    ):
        with pytest.raises(ValueError) as caught:
            PagedCache(*sizes)
        assert str(caught.value) == message
    assert PagedCache(2, 4, 1, 1).block_table().shape == (0, 1)


def test_what_cannot_be_stored_takes_no_page():
    cache = PagedCache(4, 2, 1, 2)
    chat = cache.new()
    for rows in (np.full((3, 1, 2), "one"), np.ones((3, 1, 2), complex)):
        with pytest.raises(ValueError) as caught:
            cache.append(chat, rows, rows)
        assert str(caught.value) == f"k has type {rows.dtype}; it should be an array of numbers, such as float32"
        assert (cache.free_pages, cache.length(chat), cache.pages(chat)) == (4, 0, ())
    cache.append(chat, np.ones((3, 1, 2), int), np.ones((3, 1, 2), ml_dtypes.bfloat16))
    assert (cache.free_pages, cache.length(chat)) == (2, 3)


@pytest.mark.long
def test_a_growing_conversation():
    """Two answers to one prompt: shared pages, unused slots NaN, one key a step, each step right."""
    random = np.random.default_rng(0)
    cache = PagedCache(8, 4, 2, 32)
    assert cache.k.shape == (8, 4, 2, 32)
    chat = cache.new()
    prompt = random.standard_normal((2, 10, 2, 32)).astype(np.float32)
    cache.append(chat, *prompt)
    both = (chat, cache.fork(chat))
    dense = [prompt, prompt]
    for _ in range(4):
        for n, sequence in enumerate(both):
            token = random.standard_normal((2, 1, 2, 32)).astype(np.float32)
            cache.append(sequence, *token)
            dense[n] = np.concatenate([dense[n], token], axis=1)
        q = random.standard_normal((2, 4, 32)).astype(np.float32)
        out = pl.decode(q, cache.k, cache.v, cache.lengths(both), cache.block_table(both), device="cpu")
        assert out.error.ok
        k, v = (np.stack([d[n].swapaxes(0, 1) for d in dense]) for n in (0, 1))
        same = pl.decode(q, k, v, cache.lengths(both), device="cpu")
        np.testing.assert_allclose(out.o, same.o, atol=1e-6)
    assert cache.free_pages == 8 - 2 - 2 * 2


def test_a_result_outlives_its_pages():
    """The pages of a freed sequence are soon another's; the result is still held against the keys that it saw."""
    random = np.random.default_rng(0)
    cache = PagedCache(4, 4, 1, 32)
    first = cache.new()
    cache.append(first, *random.standard_normal((2, 13, 1, 32)))
    q = random.standard_normal((2, 2, 32)).astype(np.float32)
    out = pl.decode(q, cache.k, cache.v, [13, 5], cache.block_table([first, first]), device="cpu", state=[(1, 1)])
    cache.free(first)
    cache.append(cache.new(), *random.standard_normal((2, 16, 1, 32)))
    assert out.error.ok
    np.testing.assert_allclose(out.state[0], out.exact(0)[0], rtol=1e-5, atol=1e-5)
    assert out.inputs[1].shape == (4, 4, 1, 32)
    assert (out.inputs[3] >= 0).tolist() == [[True] * 4, [True] * 2 + [False] * 2]
