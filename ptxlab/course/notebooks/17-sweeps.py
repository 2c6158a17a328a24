# %% [markdown]
# # 17 · Sweeps
#
# Every notebook so far has changed one thing and looked at the counters. A sweep changes several things, measures all
# legal combinations, and keeps a table.
#
# **Which tile, how many parts, from which length on?**
#
# The numbers here are counted by the emulator. They say how much work there is, not how long a GPU takes.

# %%
import ptxlab as pl
from ptxlab.course import check, scoreboard

scoreboard.show()


def order(row):
    """Numbers as numbers; what is not there comes last."""
    return [(value is None, value) for value in row]


def show(sweep, *columns):
    """Some columns of all rows, in the order of their values."""
    print("  ".join(f"{name:>17}" for name in columns))
    for row in sorted(([row[name] for name in columns] for row in sweep.rows()), key=order):
        print("  ".join(f"{value!s:>17}" for value in row))


# %% [markdown]
# ## All combinations
#
# A grid has values for build parameters. Some combinations are not legal; they are counted, with the reason of the
# first. A kernel without a parameter of the grid takes part once.

# %%
for name, parameter in pl.kernels.get("tiled2d").parameters.items():
    print(f"{name:>9}: {parameter.says}")

# %%
tiles = pl.sweep(
    "tiled2d", {"tile_q": [16, 32, 64], "tile_kv": [32, 64, 300]}, shapes=[{"seq": 128, "head_dim": 32}], progress=False
)
print(tiles)
print(tiles.refused)

# %% [exercise] 17-points

# %% [markdown]
# ## What the ladder taught, in one table
#
# Notebooks 02 and 03 said: a block reads all of K and V, so a taller query tile reads them less often. The table says
# the same. The column `sectors` falls with `tile_q`. It does not change with `tile_kv`, which saves instructions:
# fewer steps of the online softmax, fewer barriers.

# %%
show(tiles, "tile_q", "tile_kv", "sectors", "warp_instructions", "blocks", "shared", "occupancy")

# %% [markdown]
# The price is in the other columns: fewer blocks to fill the GPU, and more shared memory for each of them.

# %%
counted = {(row["tile_q"], row["tile_kv"]): row for row in tiles.rows()}
assert counted[64, 32]["sectors"] < counted[32, 32]["sectors"] < counted[16, 32]["sectors"]
assert all(counted[q, 32]["sectors"] == counted[q, 64]["sectors"] for q in (16, 32, 64))
assert all(counted[q, 32]["warp_instructions"] > counted[q, 64]["warp_instructions"] for q in (16, 32, 64))

# %%
for tile_q in (16, 32, 64):
    ratio = counted[tile_q, 32]["sectors"] / counted[64, 32]["sectors"]
    print(f"{tile_q} rows per block: {ratio:.1f} times the sectors of 64")

# %% [exercise] 17-traffic

# %% [markdown]
# ## Reading a table
#
# Every row has a status. A point that is wrong, that a check has stopped or that was refused is a row too, with its
# reason. It must not win.

# %%
show(tiles, "tile_q", "tile_kv", "status", "error", "tolerance")

# %% [exercise] 17-best

# %% [markdown]
# ## Splitting costs work
#
# Decode has one query. `decode_split` cuts the keys into parts, a block each, and merges the results in a second
# launch. The table shows what that costs: instructions and sectors grow with the parts. What it buys, more blocks that
# run at the same time, is worth nothing on a GPU that is full already.

# %%
splits = pl.sweep("decode_split", {"splits": [1, 2, 4]}, shapes=[256], progress=False)
show(splits, "splits", "blocks", "warp_instructions", "sectors")

# %% [exercise] 17-shortest

# %% [markdown]
# # What have you seen?
#
# - A sweep is a table: each row a legal combination, with its status, its error and its counters.
# - A taller query tile reads K and V less often. A wider key tile saves instructions and reads the same.
# - Splitting adds work. It pays where blocks are few and the cache is long.
#
# `docs/sweeps.md` has more: a folder that a sweep resumes from, figures, a cluster of workers.
#
# ## Further reading
#
# - T. Dao, D. Haziza, F. Massa, G. Sizov: *Flash-Decoding for long-context inference*. 2023.
# - S. Williams, A. Waterman, D. Patterson: *Roofline: An Insightful Visual Performance Model for Multicore
#   Architectures*. Communications of the ACM, 2009.
