# %% [markdown]
# # 13 · The bug gallery
#
# Every kernel here is wrong, and most of them passed the test that their author had written. **How do you find a bug that
# the test lets pass?** By guesses that are checked: three for each kernel.

# %%
from collections import Counter

import matplotlib.pyplot as plt
import numpy as np

import ptxlab as pl
from ptxlab.builder import Builder, Ptr, f32, kernel, u32
from ptxlab.course import check, scoreboard

# %load_ext ptxlab
scoreboard.show()

# %%
bug = pl.gallery(28)
bug.hunt()

# %% [markdown]
# Twenty lines, two warps, 64 numbers. All results are right, and still it is wrong; it was found in a kernel that many
# people use. Write down what each warp executes. Which line should they have in common, and do not?
#
# **Your turn:** guess another line. The answer comes from the runs of this kernel and its repaired twin: *found*,
# *victim* (the line is right, but what it is given is wrong already: look before it) or *innocent*.

# %%
bug.guess(line=31)

# %% [markdown]
# ## Round 1: it works every time
#
# After your guesses, or without them, `explain` tells the story.

# %%
bug.explain()

# %% [markdown]
# Each warp arrives at a barrier, but not at the same `bar.sync`. CUDA defines `__syncthreads()` in conditional code only
# if all threads of the block take the same way. Today's hardware counts arrivals and does not compare the instructions,
# but no manual promises that. The mistake stood in a FlashAttention kernel that many people use. Its tests passed;
# NVIDIA's synccheck reported thousands of errors.
#
# In the debugger, set a breakpoint at each `bar.sync`. Which warp stops at which?

# %%
x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
pl.debug(pl.gallery(28).buggy(), 1, 64, x, y)

# %% [markdown]
# ## Which tools do you have?
#
# | tool | what it can find |
# |---|---|
# | another input | whether the error depends on the length, the number of heads, the size of the logits, the GPU |
# | the error by key, by column, by row | *which part* of the work is missing |
# | the state plot | the first key at which $m$, $l$ or rescale is wrong |
# | the error in ULP | how many bits of a result are wrong |
# | `memcheck` | accesses outside of any array |
# | `initcheck` | uses of values that were never written |
# | `racecheck` | accesses of two threads to one place that nothing orders |
# | `synccheck` | barriers and shuffles that not all threads reach |
# | `pl.out` | outputs that have not been written |
# | counters | kernels that are right and slow |
# | the assembler | text that is not PTX |
#
# Three rules help. **Change one thing at a time** until the kernel passes: then you know what the error depends on.
# **Choose the tool** that can find such an error. **Trust the line that it names**, and look at the lines before it.
#
# ## Round 2: it works on my logits
#
# An online softmax with one thread per row. In its author's test the logits have a standard deviation of 0.1.

# %%
pl.gallery(6).hunt()

# %% [markdown]
# The error depends on the size of the logits and on nothing else: the lengths are the same. What in a softmax depends
# on the size of the logits? In notebook 01 the rescale itself was wrong. Here it is right. Follow `%rescale` through the
# loop: which values are multiplied by it, and which should be?
#
# When you know, run this:

# %%
pl.gallery(6)

# %% [markdown]
# The state plot was the right tool, because it compares values *inside* the kernel: the maximum, the sum and the rescale
# are right at every key, and the accumulator is not. The output is also wrong with small logits, but the error is
# smaller than the tolerance of the test. **A test with small logits does not test the rescale.**
#
# ## Round 3: it works on my length

# %%
pl.gallery(3).hunt()

# %% [markdown]
# Multiples of 16 pass, others fail. Which tool can find that? The error *by key*: make the values unit vectors. Then the
# output of a row is the list of the weights that it gives to the keys. Which weights are missing?

# %%
pl.gallery(3)

# %% [exercise] 13-dropped

# %% [exercise] 13-leave

# %% [markdown]
# ## Round 4: it works most of the time
#
# On a GPU, this kernel is right in most runs and wrong in some. It has a lock, from a well-known book: a block takes
# the lock, adds its number to a sum, and releases the lock.

# %%
pl.gallery(26).hunt()

# %% [markdown]
# The emulator runs the blocks in a fixed order, so the result is right here. But `racecheck` does not look at results:
# it looks for two accesses that *nothing orders*. Two blocks never have the lock at the same time. Does that also mean
# that the second block *sees* what the first has stored?

# %%
pl.gallery(26)

# %% [markdown]
# No. The atomics order the blocks that take the lock. The sum is ordinary memory, and on a GPU other threads may see
# ordinary accesses in another order than the program has them. A **fence** orders them: what its thread did before the
# fence is seen before what it does after it. Two fences are needed: one after the lock is taken (**acquire**), one
# before it is released (**release**).

# %% [exercise] 13-turns

# %% [markdown]
# ## Round 5: it works to seven digits
#
# The same attention in f32 and in f64. Both pass its author's test with its tolerance of $10^{-5}$. For f64 we ask for
# $10^{-12}$.

# %%
pl.gallery(22).hunt()

# %% [markdown]
# An f64 has 53 bits, about 16 decimal digits; this kernel is right to seven. That is not an accident: an f32 has 24 bits.
# So something in the f64 kernel has the precision of an f32. It has no register of type `.f32`. What else has a type?

# %%
pl.gallery(22)

# %% [markdown]
# The tool was the error in **ULP**, *units in the last place*: one ULP is the distance to the next number that an f64
# can hold. A right f64 kernel is off by a few ULP, a kernel with a hidden f32 by some hundred million. An absolute
# tolerance cannot tell the two apart, because it does not know how many bits a result should have.

# %% [exercise] 13-digits

# %% [markdown]
# ## Round 6: the test never ran it
#
# A test that only searches the *text* for the right opcodes accepts both of these.

# %%
pl.gallery(23)

# %%
pl.gallery(21)

# %% [markdown]
# ## The whole collection
#
# There are 34 exhibits. `pl.gallery(n).hunt()` shows a wrong kernel; `pl.gallery(n)` also names its mistake.
# Exhibits 25 to 30 were found in public code: each names the project, the file and the kernel where the mistake is or
# was. The code here is our own, and it contains only the mistake. The last four are about Hopper: which thread waits for
# which, and for how many bytes (notebooks 15 and 16).

# %%
pl.gallery()

# %% [markdown]
# How many does each tool find?

# %% jupyter={"source_hidden": true}
finders = Counter(e.finder for e in pl.gallery()).most_common()
figure, axis = plt.subplots(figsize=(7, 3.4), layout="constrained")
axis.barh([name for name, _ in finders][::-1], [count for _, count in finders][::-1], color="C0")
axis.set_xlabel("exhibits")
hidden = [e for e in pl.gallery() if e.innocent]
print(f"{len(hidden)} of {len(pl.gallery())} pass with some input.")

# %% [markdown]
# No tool finds half of them. Mistakes that depend on numbers (logits, tails, columns) show in the error, if the input is
# well chosen. Mistakes that depend on *other threads* are found only by checks that watch the threads, whatever the
# numbers are. You need both.
#
# A GPU shows little of this. ptxlab's tests have 233 small kernels, each with a mistake for one of the four checks. On an H100
# 202 of them ended without an error; NVIDIA's compute-sanitizer reported 64.

# %% [exercise] 13-convict

# %% [markdown]
# In the explorer the error map and the state plot are side by side. Look at a kernel that is right: how large is its error
# at `sigma` = 8?

# %%
pl.explore("tiled", seq_q=40, seq_k=40, head_dim=32)

# %% [markdown]
# Stuck in an exercise? `ptxlab.course.solution("13-convict")` prints one answer. Read the feedback twice before you
# ask for it.
#
# # What have you seen?
#
# - A bug that a test lets pass depends on something that the test never changes. **Change it**: odd lengths, large
#   logits, several heads, empty sequences.
# - Each kind of mistake has its tool. Error plots show missing work, the state plot shows the first wrong step, ULP show
#   lost bits, checks show what threads do to each other.
# - `racecheck` finds a race by looking for accesses that *nothing orders*. Running the kernel a thousand times may not.
# - A kernel is tested only when it has been assembled, run, and compared.
#
# Next, you write a kernel: [14 · Your own kernel](14-your-own.ipynb)
#
# ## Further reading
#
# - NVIDIA: [*Compute Sanitizer*](https://docs.nvidia.com/compute-sanitizer/). The tools after which the checks here
#   are named.
# - A. Betts, N. Chong, A. Donaldson, S. Qadeer, P. Thomson: *GPUVerify: a Verifier for GPU Kernels*. OOPSLA 2012.
#   Races found by proof.
# - M. Zheng, V. T. Ravi, F. Qin, G. Agrawal: *GRace: A Low-Overhead Mechanism for Detecting Data Races in GPU
#   Programs*. PPoPP 2011.
# - T. Sorensen, A. F. Donaldson: *Exposing Errors Related to Weak Memory in GPU Applications*. PLDI 2016. Why a
#   thousand runs without an error prove little.
# - R. A. DeMillo, R. J. Lipton, F. G. Sayward: *Hints on Test Data Selection: Help for the Practicing Programmer*.
#   Computer 11(4), 1978. The idea of the last exercise: a test is as good as the number of wrong programs that it finds.
