"""One answer to each exercise of 01-scalar.ipynb. A cell `# %% name` takes the place of the exercise's cell."""

# ruff: noqa: F821

# %% 01-predict
# A new maximum is a score that is *larger* than all before it: equal scores (keys 2 and 6) leave m alone. At key 0 the
# old maximum is -inf, so rescale is exp(-inf) = 0; it shrinks sums that are still empty.
answer = [0, 3, 5]

check("01-predict", answer)


# %% 01-rescale
# row_max was overwritten before rescale was computed, so row_max - new_max was 0 and rescale always 1. The old maximum
# is needed once more after the new one is known: row_max.set comes last.
@kernel
def mended(k: Builder, q: Ptr[f32], key: Ptr[f32], value: Ptr[f32], o: Ptr[f32], n: u32, scale: f32, *, D: int = 8):
    """One thread = one query row."""
    row = k.thread_index()
    k.return_if(row >= n)
    scale_log2e = scale * LOG2E
    query = k.load(q + row * D, D)
    acc = k.vars(f32, D, 0.0)
    row_max = k.var(f32, -math.inf)
    row_sum = k.var(f32, 0.0)

    with k.loop(n) as j:
        offset = j * D
        key_row, value_row = key + offset, value + offset
        score = k.var(f32, 0.0)
        for d in range(D):
            score.set(k.fma(query[d], key_row[d], score))
        score *= scale_log2e

        new_max = k.max(row_max, score)
        rescale = k.exp2(row_max - new_max)
        weight = k.exp2(score - new_max)
        row_sum.set(k.fma(row_sum, rescale, weight))
        for d in range(D):
            acc[d] *= rescale
            acc[d].set(k.fma(weight, value_row[d], acc[d]))
        row_max.set(new_max)
        k.probe(row, j, n, row_max, row_sum, rescale)

    o_row = o + row * D
    for d in range(D):
        o_row[d] = acc[d] / row_sum


check("01-rescale", mended)


# %% 01-window
# row - (W - 1) would wrap around below zero, where a u32 becomes about 4 billion and the loop never starts. Taking the
# maximum first keeps the difference at 0 or above. Only the loop's two ends change.
@kernel
def window(
    k: Builder, q: Ptr[f32], key: Ptr[f32], value: Ptr[f32], o: Ptr[f32], lse: Ptr[f32], n: u32, scale: f32,
    *, D: int = 8, W: int = 4,
):  # fmt: skip
    """One thread = one query row, which sees the W keys that end at its own."""
    row = k.thread_index()
    k.return_if(row >= n)
    scale_log2e = scale * LOG2E
    query = k.load(q + row * D, D)
    acc = k.vars(f32, D, 0.0)
    row_max = k.var(f32, -math.inf)
    row_sum = k.var(f32, 0.0)
    stop = row + 1
    first = k.max(stop, W) - W

    with k.loop(stop, start=first) as j:
        offset = j * D
        key_row, value_row = key + offset, value + offset
        score = k.var(f32, 0.0)
        for d in range(D):
            score.set(k.fma(query[d], key_row[d], score))
        score *= scale_log2e

        new_max = k.max(row_max, score)
        rescale = k.exp2(row_max - new_max)
        weight = k.exp2(score - new_max)
        row_sum.set(k.fma(row_sum, rescale, weight))
        for d in range(D):
            acc[d] *= rescale
            acc[d].set(k.fma(weight, value_row[d], acc[d]))
        row_max.set(new_max)

    o_row = o + row * D
    for d in range(D):
        o_row[d] = acc[d] / row_sum
    lse[row] = (row_max + k.log2(row_sum)) * LN2


check("01-window", window)
