# %% [markdown]
# # 00 · Start here
#
# What does a GPU program look like when nobody has prettied it up for you?
#
# CUDA, Triton, PyTorch: on their way to an NVIDIA GPU they all pass through a text in one language, **PTX**. An
# assembler translates it to the GPU's own machine code, SASS, which differs from one generation to the next; PTX does
# not. You can learn to read it in an hour. In this notebook you read a PTX program, run it, break it three times on purpose, change it, and then write
# the same program in Python.
#
# You need no GPU. Where there is none, ptxlab runs PTX on its own *CPU machine*, which notices mistakes that a GPU would
# let pass.

# %%
import numpy as np

import ptxlab as pl

# %load_ext ptxlab

# %% [markdown]
# ## What does a kernel look like?
#
# A *kernel* is a program that very many threads run at once, each on its own piece of the data. Ours computes
# $y_i \leftarrow a\,x_i + y_i$, and every thread takes one $i$. The operation is called *saxpy*: "single-precision a times
# x plus y".
#
# `%%ptx` reads the PTX in its cell and runs it with arrays from the notebook: here as 4 *blocks* of 128 threads.

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
# Under the text stands what NVIDIA's assembler makes of it (registers a thread needs), where it ran, and the array it
# changed. Is it right?

# %%
np.array_equal(y, 2.0 * x + before)

# %% [markdown]
# ## What does each line say?
#
# | lines | what they say |
# |---|---|
# | `.version`, `.target`, `.address_size` | the language version, the oldest GPU this may run on (`sm_80` is an A100), 64-bit addresses |
# | `.visible .entry saxpy(...)` | a kernel and its parameters. Arrays arrive as addresses, `.u64` |
# | `.reg` | variables. Every thread has its own copy of each *register*; a type says how its bits are read |
# | `mov`, `mad` | special registers such as `%ctaid.x` and `%tid.x` are all that tells one thread from another. `mad` multiplies and adds: $i = \mathrm{block} \cdot \mathrm{size} + \mathrm{thread}$ |
# | `setp`, `@%outside bra` | compare, and jump if it is so. The `@` in front is a *guard*: only threads whose predicate is true do it |
# | `mul.wide`, `add` | there are no arrays, only addresses: element $i$ is $4i$ bytes on |
# | `ld.global`, `st.global` | read from and write to the memory that all threads share |
# | `fma.rn.f32` | the one line that computes: fused multiply-add, *r*ounded to *n*earest, 32-bit floats |
#
# Nearly every instruction reads `opcode.modifiers destination, sources`, and the last modifier is the type.
#
# Now look at the counts in front of the lines. 512 threads started, and 512 asked whether they have something to do.
# Behind the branch there are 500. The 12 threads that were too many have gone home.

# %% [markdown]
# ## What happens when the text is wrong?
#
# Three mistakes on purpose. First, forget to say how `fma` shall round.

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
# The message has the line, a caret, the syntax as the manual writes it, and the line to write instead. Do what it says and
# run the cell again.
#
# Why must `fma` say how it rounds? It rounds once, at the end, and there is no default: `.rn` is to the nearest. For `mul`
# and `add` the rounding may be left out, and then PTX allows more than a default. The assembler may *contract* the two to
# one `fma`, which rounds once instead of twice (PTX ISA, `mul` and `add`: without a rounding modifier they "default to
# round-to-nearest-even and may be optimized aggressively"). The CPU machine never contracts. Here are both, with and
# without `.rn`:

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

# %% [markdown]
# ## What happens when a thread writes where it must not?
#
# This kernel stores its thread number, and does not ask whether there is room for it. The array has 50 elements; the
# launch has 64 threads.

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
# Which thread did it? Block 1, thread 18: that is $1 \cdot 32 + 18 = 50$, the first that has no element. On a real GPU
# this store often hits somebody else's array and nobody hears of it. The CPU machine checks every access, stops the
# kernel, and leaves your array as it was:

# %%
z[:8]

# %% [markdown]
# ## What happens when a kernel never ends?
#
# `again` jumps to itself. `--budget` is the number of instructions after which the machine gives up (without it, interrupt
# the notebook's kernel: ■ in the toolbar).

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
# Three mistakes, three messages, and the notebook is still alive. That is the idea of this place: try things.
#
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
# The diff compares instructions, not characters: it does not mind other register names, blank lines or comments. Rename
# a register everywhere and see.
#
# ## Must I write all this by hand?
#
# No. In ptxlab, Python writes PTX. Each operation on a register below emits one instruction, and names and comments travel
# along.

# %%
from ptxlab.builder import Builder, Ptr, f32, kernel, u32


@kernel
def saxpy(k: Builder, x: Ptr[f32], y: Ptr[f32], a: f32, n: u32):
    """y = a*x + y, one thread an element."""
    i = k.thread_index()
    k.return_if(i >= n)  # the last block may reach past the end
    y[i] = k.fma(a, x[i], y[i])


y = before.copy()
pl.show(saxpy, 4, 128, x, y, 2.0, n, counters=True)

# %% [markdown]
# Compare it with what you read above: `k.thread_index()` is the three `mov` and the `mad`, `k.return_if` the `setp` and a
# guarded `ret`, `x[i]` one `mad.wide` and one `ld.global`. There is nothing between the lines.
#
# `pl.show` is what `%%ptx` calls. For programs there is `pl.launch`, which raises its errors and shows nothing:

# %%
y = before.copy()
run = pl.launch(saxpy, 4, 128, x, y, 2.0, n)
print(run.device, run.kernel, y[:5])


# %% [markdown]
# One thing trips everybody once. Python's `if` decides while the kernel is being *written*; the threads decide much
# later. So this cannot work, and the builder says what to write instead:

# %%
@kernel
def wrong(k: Builder, x: Ptr[f32], n: u32):
    i = k.thread_index()
    if i < n:
        x[i] = 0.0


pl.show(wrong)

# %% [markdown]
# ## Where next?
#
# The course goes through attention on a GPU, one idea at a time. Each notebook asks one question, takes 30 to 60 minutes,
# and ends with exercises that run your answer and say what happened in the machine.
#
# | notebook | question |
# |---|---|
# | [01 · Online softmax](01-scalar.ipynb) | Why is one pass over the keys enough, and what must be rescaled? |
# | [02 · Tiles, barriers, tails](02-tiles.ipynb) | What does a barrier promise, and who loads the row of an idle thread? |
# | [03 · A 2-D tile](03-rows.ipynb) | Why is softmax per row, and how do 16 threads agree on it? |
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
#
# Three more doors:
#
# - `pl.explore()` opens the explorer: change a parameter of an attention kernel, see its PTX, its cost and its error.
# - `%%ptx?` lists all options; `!ptxlab list` the kernels; `!ptxlab isa fma` explains an instruction;
#   `!ptxlab doctor` says what this machine has.
