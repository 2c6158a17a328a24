# %% [markdown]
# # 13 · The bug gallery
#
# Every kernel in this notebook is wrong, and every one of these mistakes has been made in a real attention kernel
# that somebody used. Most of them pass a test: the one that their author had written. They wait for a length that
# is no multiple of 64, for logits that are a little larger, for a card with another layout of shared memory.
#
# **How do you find a bug that the test lets pass?** By hunting, not by reading an explanation. So in each round you
# see the suspect first: where it passes, where it fails, and its text. Write down what you think before you run the
# cell that tells.

# %%
from collections import Counter

import matplotlib.pyplot as plt
import numpy as np

import ptxlab as pl
from ptxlab.builder import Builder, Ptr, f32, kernel, u32
from ptxlab.course import check

# %load_ext ptxlab

# %% [markdown]
# ## What have you got?
#
# | instrument | what it can see |
# |---|---|
# | another input | whether it depends on the length, the number of heads, the size of the logits, the card |
# | the error, laid out by key, by column, by row | *which part* of the work is missing |
# | the state plot | the first step at which $m$, $l$ or rescale is off |
# | `memcheck` | accesses outside of memory |
# | `initcheck` | reading memory that has not been written |
# | `racecheck` | two threads at one place, with nothing to order them |
# | `synccheck` | barriers and shuffles in which somebody is missing |
# | `pl.out` | outputs that have not been written |
# | counters | what is right, and too slow |
# | the assembler | what is no PTX at all |
#
# Three habits make a hunt short. **Vary one thing** until it passes, so that you know what it depends on. **Choose
# the instrument** that can see that sort of thing. **Believe the line it names**, and look one step before it.
#
# ## Round 1: it works on my logits
#
# An online softmax with one thread for each row. Its author's test has logits with a standard deviation of 0.1.

# %%
pl.gallery(6).hunt()

# %% [markdown]
# It depends on the size of the logits, and on nothing else: lengths are all the same. What in a softmax depends on
# the size of logits? In notebook 01 the rescale itself was wrong. Here it is right: follow `%rescale` through the
# loop, and count what is multiplied by it.
#
# When you have a suspicion, run this:

# %%
pl.gallery(6)

# %% [markdown]
# The state plot was the right instrument, because it compares *inside*: the maximum, the sum and the rescale are right
# at every key, and the accumulator is not. With small logits the output is wrong as well. The test passed because its
# tolerance was wider than the error. **A test with small logits tests nothing.**
#
# ## Round 2: it works on my length

# %%
pl.gallery(3).hunt()

# %% [markdown]
# Multiples of 16 pass, others fail. Which instrument? The error *by key*: give the values unit vectors, and the
# output of a row is the list of the weights that it gave to each key. Which weights do you expect to be missing?
# Then:

# %%
pl.gallery(3)

# %% [exercise] 13-dropped

# %% [markdown]
# ## Round 3: it works every time
#
# The first of two that stood in public code. Two warps; the first adds the second one's numbers to its own. On every
# GPU on which its authors tried it, the result was right.

# %%
pl.gallery(28).hunt()

# %% [markdown]
# The numbers are right, and still it fails. Which check could mind? Follow each warp through the branch, and write
# down which instructions it executes that the other one does not.

# %%
pl.gallery(28)

# %% [markdown]
# Each warp arrives at a barrier, but not at the same one. CUDA promises something of `__syncthreads()` only if all
# threads of the block execute the same one. That the hardware counts arrivals, and does not ask where they come from,
# is no promise. The kernel is a FlashAttention that many people use; its tests passed, and NVIDIA's synccheck reported
# thousands of errors.
#
# Watch it: set a breakpoint at each `bar.sync`. Which warp stops where?

# %%
x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
pl.debug(pl.gallery(28).buggy(), 1, 64, x, y)

# %% [exercise] 13-leave

# %% [markdown]
# ## Round 4: it works most of the time
#
# The worst kind. On a GPU this one gives the right answer on Monday. It is a lock from a well-known book: a block
# takes it, adds its number to a sum, and gives it back.

# %%
pl.gallery(26).hunt()

# %% [markdown]
# The machine runs blocks in a definite order, and the result is right all the same. That is why `racecheck` does not
# look at results: it looks for two accesses that *nothing orders*. Two blocks never have the lock at the same time.
# Does that say when the second one *sees* what the first one has stored?

# %%
pl.gallery(26)

# %% [markdown]
# A lock orders those who hold it. The data that it guards is ordinary memory, and on a GPU ordinary accesses may be
# seen in another order than that of the program. A `fence` says: what stands before me is seen before what comes after
# me. It takes two, one behind the taking and one before the giving back.

# %% [exercise] 13-turns

# %% [markdown]
# ## Round 5: it is right

# %%
pl.gallery(18).hunt()

# %% [markdown]
# Nothing is wrong with its numbers, on any input. It is merely slow, by a factor that the counters know. Look for
# the address of the `ld.shared` in the inner loop: what is the distance between neighbouring lanes, in words of 4
# bytes? Modulo 32?

# %%
pl.gallery(18)

# %% [markdown]
# ## Round 6: the test never ran it
#
# A test that searches the *text* for the right opcodes will pass both of these.

# %%
pl.gallery(23)

# %%
pl.gallery(21)

# %% [markdown]
# ## The whole collection
#
# Thirty-four exhibits. `pl.gallery(n).hunt()` shows a suspect and keeps silent; `pl.gallery(n)` tells. Take some home.
# Those from 25 to 30 were found in the wild: each says in which project, file and kernel the mistake stands or stood.
# The code is our own, cut down to the mistake. The last four are of Hopper: who waits for whom, and for how many bytes.

# %%
pl.gallery()

# %% [markdown]
# Which instrument finds how many?

# %% jupyter={"source_hidden": true}
finders = Counter(e.finder for e in pl.gallery()).most_common()
figure, axis = plt.subplots(figsize=(7, 3.4), layout="constrained")
axis.barh([name for name, _ in finders][::-1], [count for _, count in finders][::-1], color="C0")
axis.set_xlabel("exhibits")
hidden = [e for e in pl.gallery() if e.innocent]
print(f"{len(hidden)} of {len(pl.gallery())} have an innocent input on which they pass.")

# %% [markdown]
# No instrument finds half of them. Those that depend on numbers (logits, tails, columns) show in the error, if the
# input is right; those that depend on *other threads* show only to checks that watch the threads, whatever the
# numbers say. You need both, always.

# %% [exercise] 13-convict

# %% [markdown]
# In the explorer the error map and the state plot are side by side. Take a kernel that is right, and learn what
# *right* looks like: at `sigma=8`, how large is the error?

# %%
pl.explore("tiled", seq_q=40, seq_k=40, head_dim=32)

# %% [markdown]
# Stuck in an exercise? `ptxlab.course.solution("13-convict")` prints one answer. Read the feedback twice before you
# ask for it.
#
# # What have you seen?
#
# - A bug that a test lets pass depends on something that the test holds fixed. **Vary it**: odd lengths, large
#   logits, several heads, empty sequences.
# - Each sort of mistake has its instrument. Error plots see missing work, the state plot sees the first wrong step,
#   checks see what threads do to each other.
# - A race is found by looking for what *nothing orders*, not by running it a thousand times.
# - A kernel that has not been assembled, run and compared has not been tested.
#
# Now it is your turn to write one: [14 · Your own kernel](14-your-own.ipynb)
#
# ## Further reading
#
# - NVIDIA: [*Compute Sanitizer*](https://docs.nvidia.com/compute-sanitizer/). The tools after which the checks here
#   are named.
# - A. Betts, N. Chong, A. Donaldson, S. Qadeer, P. Thomson: *GPUVerify: a Verifier for GPU Kernels*. OOPSLA 2012.
#   Races found by proof.
# - M. Zheng, V. T. Ravi, F. Qin, G. Agrawal: *GRace: A Low-Overhead Mechanism for Detecting Data Races in GPU
#   Programs*. PPoPP 2011.
# - T. Sorensen, A. F. Donaldson: *Exposing Errors Related to Weak Memory in GPU Applications*. PLDI 2016. Why "it
#   ran a thousand times" says little.
# - R. A. DeMillo, R. J. Lipton, F. G. Sayward: *Hints on Test Data Selection: Help for the Practicing Programmer*.
#   Computer 11(4), 1978. The idea of the last exercise: a test is judged by the wrong programs that it convicts.
