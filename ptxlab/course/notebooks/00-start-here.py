# %% [markdown]
# # 00 · Start here
#
# CUDA C++ and Triton become **PTX**, NVIDIA's assembly language, on their way to the GPU. (Libraries often come as
# machine code.) You need no GPU: where there is none, ptxlab runs PTX on its own *emulator*, which also notices
# mistakes that a GPU would let pass. Begin at once. Run the next two cells (Shift + Enter), then change the second.

# %%
import numpy as np

import ptxlab as pl
from ptxlab.builder import Builder, Ptr, f32, kernel, u32
from ptxlab.course import check, pictures, scoreboard

# %load_ext ptxlab

# %% [exercise] 00-square

# %% [markdown]
# `check` ran your program, compared the results, and said what happened. Call it as often as you like. Its hints belong
# to your mistake: where to look, then, if it is still there in a changed answer, what to ask. It also tries inputs that are
# not shown. `ptxlab.course.solution("00-square")` prints one answer.
#
# ## What does a kernel look like?
#
# A *kernel* is a program that very many threads run at once, each on its own piece of the data. The next one computes
# $y_i \leftarrow a\,x_i + y_i$, and every thread takes one $i$. The operation is called *saxpy*: "single-precision a times
# x plus y".
#
# The threads of a launch form a *grid* of *blocks*. The GPU executes the threads of a block in *warps* of 32; a thread's
# place in its warp is its *lane*. Here are the 4 blocks of 128 threads that the next cell launches, for 500 elements:

# %% jupyter={"source_hidden": true}
pictures.grid(blocks=4, block=128, elements=500)

# %% [markdown]
# `%%ptx` reads the PTX in its cell and runs it with arrays from the notebook.

# %%
n = 500
x = np.arange(n, dtype=np.float32)
y = np.ones(n, dtype=np.float32)
before = y.copy()

# %%
# %%ptx -k saxpy --grid 4 --block 128 --args x,y,2.0,n --counters
.version 7.0
.target sm_80
.address_size 64

.visible .entry saxpy(
    .param .u64 x,
    .param .u64 y,
    .param .f32 a,
    .param .u32 n
)
{
    .reg .pred     %outside;
    .reg .u32      %block, %size, %thread, %i, %n;
    .reg .u64      %x, %y, %offset;
    .reg .f32      %a, %xi, %yi;

    mov.u32        %block, %ctaid.x;          // which block am I in?
    mov.u32        %size, %ntid.x;            // how many threads has a block?
    mov.u32        %thread, %tid.x;           // which of them am I?
    mad.lo.u32     %i, %block, %size, %thread;

    ld.param.u32   %n, [n];
    setp.ge.u32    %outside, %i, %n;          // nothing to do for me?
    @%outside bra  done;

    ld.param.u64   %x, [x];
    ld.param.u64   %y, [y];
    mul.wide.u32   %offset, %i, 4;            // a float has 4 bytes
    add.u64        %x, %x, %offset;
    add.u64        %y, %y, %offset;

    ld.param.f32   %a, [a];
    ld.global.f32  %xi, [%x];
    ld.global.f32  %yi, [%y];
    fma.rn.f32     %yi, %a, %xi, %yi;         // a * x + y, rounded once
    st.global.f32  [%y], %yi;
done:
    ret;
}

# %% [markdown]
# Below the text you see what NVIDIA's assembler says of it (registers per thread), where it ran, and the array that it
# changed. Is the result right?

# %%
np.array_equal(y, 2.0 * x + before)

# %% [markdown]
# ## What does each line say?
#
# | lines | what they say |
# |---|---|
# | `.version`, `.target`, `.address_size` | the language version, the oldest GPU this may run on (`sm_80` is an A100), 64-bit addresses |
# | `.visible .entry saxpy(...)` | a kernel and its parameters. Arrays arrive as addresses, `.u64` |
# | `.reg` | *registers*, a thread's variables. Every thread has its own; the type says how the bits are read |
# | `mov`, `mad` | special registers such as `%ctaid.x` and `%tid.x` are all that tells one thread from another. `mad` multiplies and adds: $i = \mathrm{block} \cdot \mathrm{size} + \mathrm{thread}$ |
# | `setp`, `@%outside bra` | compare, and jump where the comparison is true. `%outside` is a *predicate*, a register of one bit. `@%outside` in front of an instruction is a *guard*: only threads whose predicate is true execute it |
# | `mul.wide`, `add` | what arrives is the address of element 0: element $i$ is $4i$ bytes behind it |
# | `ld.global`, `st.global` | load from and store to *global memory*, which all threads can reach |
# | `fma.rn.f32` | the one line that computes: fused multiply-add, *r*ounded to *n*earest, 32-bit floats |
#
# Nearly every instruction reads `opcode.modifiers destination, sources`, and the last modifier is the type.
#
# The numbers in front of the lines count threads. 512 threads started, and 512 compared their number with `n`. Behind
# the branch there are 500; at `ret` all 512 are together again.
#
# ## What happens when the text is wrong?
#
# Make three mistakes on purpose. The first: do not say how `fma` rounds.

# %%
# %%ptx
.version 7.0
.target sm_80
.address_size 64
.visible .entry triple(.param .u64 z)
{
    .reg .u64     %z;
    .reg .f32     %v;
    ld.param.u64  %z, [z];
    ld.global.f32 %v, [%z];
    fma.f32       %v, %v, 2.0, %v;
    st.global.f32 [%z], %v;
    ret;
}

# %% [markdown]
# The message names the line, points at the place, shows the syntax as the manual writes it, and gives the line to write
# instead. Write that line and run the cell again.
#
# ## What happens when a thread stores outside of its array?
#
# This kernel stores the number of each thread. It does not ask whether the array is long enough: 50 elements, 64 threads.

# %%
z = np.zeros(50, dtype=np.uint32)

# %%
# %%ptx --grid 2 --block 32 --args z
.version 7.0
.target sm_80
.address_size 64
.visible .entry number(.param .u64 z)
{
    .reg .u32     %block, %size, %thread, %i;
    .reg .u64     %z, %at;
    mov.u32       %block, %ctaid.x;
    mov.u32       %size, %ntid.x;
    mov.u32       %thread, %tid.x;
    mad.lo.u32    %i, %block, %size, %thread;
    ld.param.u64  %z, [z];
    mad.wide.u32  %at, %i, 4, %z;
    st.global.u32 [%at], %i;
    ret;
}

# %% [markdown]
# Which thread did it? Block 1, thread 18: that is $1 \cdot 32 + 18 = 50$, the first without an element. On a real GPU this
# store often changes somebody else's array, and no error is reported. The emulator checks every access, stops the
# kernel, and leaves your array as it was:

# %%
z[:8]

# %% [exercise] 00-guard

# %% [markdown]
# ## What happens when a kernel never ends?
#
# The branch to `again` is always taken. `--budget` is the number of instructions after which the machine gives up.
# (Without it, interrupt the notebook's kernel: ■ in the toolbar.)

# %%
# %%ptx --block 32 --budget 100000
.version 7.0
.target sm_80
.address_size 64
.visible .entry forever()
{
    .reg .u32  %count;
    mov.u32    %count, 0;
again:
    add.u32    %count, %count, 1;
    bra        again;
}

# %% [markdown]
# Three mistakes, three messages, and the notebook still works. So try things.
#
# ## Must I write all this by hand?
#
# No. In ptxlab, Python writes PTX. Each operation on a register emits one instruction, and the names and comments of your
# Python appear in the PTX.


# %%
@kernel
def saxpy(k: Builder, x: Ptr[f32], y: Ptr[f32], a: f32, n: u32):
    """y = a*x + y, one thread per element."""
    i = k.thread_index()
    k.return_if(i >= n)  # the last block may reach past the end
    y[i] = k.fma(a, x[i], y[i])


y = before.copy()
pl.show(saxpy, 4, 128, x, y, 2.0, n, counters=True)

# %% [markdown]
# Compare it with the PTX above: `k.thread_index()` is the three `mov` and the `mad`, `k.return_if` the `setp` and a guarded
# `ret`, `x[i]` and `y[i]` one `mad.wide` and one `ld.global` each, `k.fma` the `fma`, and `y[i] = ...` one `mad.wide` and
# one `st.global`. Beside that there are only the `ld.param` of the parameters and the last `ret`.

# %% [exercise] 00-relu

# %% [markdown]
# ## The builder in one screen
#
# | Python | what it is in the kernel |
# |---|---|
# | `a = x[i]` | a **register**: loaded once, then fixed. `x[i] = a` stores |
# | `x + 8`, `x.cast(u32)` | a **pointer** to the element 8 places on; the same address with another element type |
# | `a * b + 1.0`, `k.fma(a, b, c)`, `k.max(a, b)` | a new register per operation |
# | `total = k.var(f32, 0.0)` | a **variable**: a register that may change. `k.vars(f32, 4, 0.0)` is a list of four |
# | `total.set(v)`, `total += v` | give it a new value. `total = v` would only bind the Python name to something else |
# | `with k.loop(n) as j:` | a loop that the **threads** execute; `k.loop(n, start=a, step=4)` goes from `a` to below `n`, numbers or registers. Python's `for j in range(4)` repeats the **text** 4 times |
# | `with k.if_(a > 0.0):` | a branch: only lanes for which it is true execute the body |
# | `k.select(a > 0.0, a, 0.0)` | one of two values, without a branch: `selp` |
# | `with k.guard(a > 0.0):` | the same as `if_` with `@%p` in front of each instruction, for short bodies |
# | `k.return_if(i >= n)` | the thread exits |
# | `k.shared(f32, 128)`, `k.barrier()` | an array that the block shares, and the place where its threads wait (notebook 02) |
# | `k.op("any.opcode", a, b)` | any PTX instruction, as the manual writes it |
#
# All of it in one kernel. Run the cell, and find each line of Python in the PTX:


# %%
@kernel
def tour(k: Builder, x: Ptr[f32], y: Ptr[f32], n: u32):
    """What the builder has, in one kernel that computes nothing useful."""
    i = k.thread_index()
    k.return_if(i >= n)
    a = x[i]
    total = k.var(f32, 0.0)
    with k.loop(8):  # eight rounds, one text
        total += a
    for factor in (2.0, 3.0):  # two lines of text, no loop
        total.set(k.fma(a, factor, total))
    above = k.select(a > 1.0, a, 1.0)
    with k.if_(total > 100.0):
        total.set(above)
    y[i] = total


tour

# %% [markdown]
# `0f00000000` is how PTX writes a float exactly: `0f` and the 32 bits in hexadecimal. `0f3F800000` is 1, `0f40000000` is 2.
# (`0d` and 16 digits for 64 bits.)
#
# There is one mistake that everybody makes once. Python's `if` decides while the kernel is being *written*. The threads
# compare much later, when it runs. So this cannot work, and the builder says what to write instead:


# %%
@kernel
def wrong(k: Builder, x: Ptr[f32], n: u32):
    i = k.thread_index()
    if i < n:
        x[i] = 0.0


pl.show(wrong)

# %% [markdown]
# `pl.show` is what `%%ptx` calls. In programs, use `pl.launch`: it raises its errors and shows nothing.

# %%
y = before.copy()
run = pl.launch(saxpy, 4, 128, x, y, 2.0, n)
print(run.device, run.kernel, y[:5])


# %% [markdown]
# ## What did my change change?
#
# `-k saxpy` above kept the text under a name. `pl.editor` opens it, marks mistakes while you type, and has a button that
# runs it. Here one more line comes before the store, so that the result is clipped at zero (a *ReLU*), and `a` is
# negative. Change it as you like.

# %%
y = before.copy()
changed = pl.editor("saxpy", 4, 128, x, y, -0.5, n)
changed.text = changed.text.replace("st.global.f32", "max.f32        %yi, %yi, 0f00000000;\n    st.global.f32")
changed

# %% [markdown]
# The same in the notebook, with the difference from what was kept (in a cell of PTX: `%%ptx --diff saxpy`):

# %%
y = before.copy()
pl.show(changed, 4, 128, x, y, -0.5, n, against="saxpy")

# %% [markdown]
# The diff compares instructions, not characters: other register names, blank lines and comments make no difference. Rename
# a register everywhere and see.
#
# ## Who rounds, and how often?
#
# Why did `fma` have to say how it rounds? It rounds once, at the end, and it has no default: `.rn` is to the nearest. For
# `mul` and `add` the rounding may be left out, and then the assembler may *contract* the two to one `fma`, which rounds
# once instead of twice (PTX ISA, `mul` and `add`: one without a rounding modifier "defaults to
# round-to-nearest-even and may be optimized aggressively by the code optimizer"). The emulator never contracts. Here are both, with and without `.rn`:

# %%
SQUARE = """
.version 7.0
.target sm_80
.address_size 64
.visible .entry square(.param .u64 x)
{
    .reg .u64  %x;
    .reg .f32  %a, %b;
    ld.param.u64   %x, [x];
    ld.global.f32  %a, [%x];
    ld.global.f32  %b, [%x + 4];
    mulROUND.f32   %a, %a, %a;
    addROUND.f32   %a, %a, %b;
    st.global.f32  [%x + 8], %a;
    ret;
}
"""
for rounding in ("", ".rn"):
    text = SQUARE.replace("ROUND", rounding)
    a = np.array([1 + 2**-12, -1 - 2**-11, 0], np.float32)  # exactly, a[0] * a[0] + a[1] is 2^-24
    pl.launch(text, 1, 1, a, device="cpu")
    try:
        sass = [line.split() for line in str(pl.sass(text)).splitlines()]
        code = " ".join(word for line in sass for word in line if word in ("FMUL", "FADD", "FFMA"))
    except pl.UnavailableError as missing:
        code = f"(no assembler: {missing})"
    print(f"mul{rounding} and add{rounding}: two roundings give {a[2]}, one gives {2.0**-24}; the assembler makes {code}")

# %% [markdown]
# Where that matters, write what you mean: `fma.rn` for one rounding, `mul.rn` and `add.rn` for two.
#
# ## Your own kernel
#
# From the next notebook on you have an attention kernel of your own, which gets one idea in each.

# %%
scoreboard.show()

# %% [markdown]
# ## Where next?
#
# The course goes through attention on a GPU, one idea at a time. Each notebook asks one question. Its exercises are
# where their idea is met; `check` runs your answer and says what happened in the machine.
#
# | notebook | question |
# |---|---|
# | [01 · Online softmax](01-scalar.ipynb) | Why is one pass over the keys enough, and what must be rescaled? |
# | [02 · Barriers](02-barriers.ipynb) | What does a barrier promise? |
# | [02b · Tiles and tails](02b-tiles.ipynb) | Who loads the row of an idle thread? |
# | [03 · A 2-D tile](03-rows.ipynb) | How many loads does a piece save, and how do 16 threads agree on a row? |
# | [04 · Tensor cores, by WMMA](04-wmma.ipynb) | What does an opaque fragment cost? |
# | [05 · P stays in registers](05-mma.ipynb) | Why is the C fragment of $Q K^T$ the A fragment of $P V$? |
# | [06 · Thirty-two banks](06-swizzle.ipynb) | Where do 8-way conflicts come from, and why does xor cure them? |
# | [07 · Pipelines](07-pipelines.ipynb) | What is in flight, and when is a buffer free again? |
# | [08 · Decode](08-decode.ipynb) | Why is decode a bandwidth problem? |
# | [09 · Merging softmaxes](09-merging.ipynb) | What is the algebra of merging two softmaxes? |
# | [10 · A paged cache](10-paged.ipynb) | What does a page cost, and who checks the last one? |
# | [11 · Split-KV](11-split.ipynb) | How many splits? |
# | [12 · GQA](12-gqa.ipynb) | Why is reading K and V once worth wasting most of a matrix product? |
# | [13 · The bug gallery](13-gallery.ipynb) | How do you find a bug that the test lets pass? |
# | [14 · Your own kernel](14-your-own.ipynb) | Who writes the better PTX, a compiler or you? |
# | [15 · wgmma](15-wgmma.ipynb) | Why does the instruction read shared memory itself? |
# | [16 · Hopper](16-hopper.ipynb) | How does one know that the other is ready? |
# | [16b · Roles](16b-roles.ipynb) | Who waits for whom, and with what? |
# | [17 · Sweeps](17-sweeps.ipynb) | Which tile, how many parts, from which length on? |
# | [18 · your language](18-your-language.ipynb) | What does a language decide for you, and what does that cost? |
# | [19 · Your own attention](19-variants.ipynb) | What does a change cost, and when is attention cheaper with it? |
#
# Two more doors:
#
# - `pl.explore()` opens the explorer: change a parameter of an attention kernel, see its PTX, its cost and its error.
# - `%%ptx?` lists all options; `!ptxlab list` the kernels; `!ptxlab isa fma` explains an instruction;
#   `!ptxlab doctor` says what this machine has.
