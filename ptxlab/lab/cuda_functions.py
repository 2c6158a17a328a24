"""What functions of CUDA C++ mean, and which PTX they become."""

from __future__ import annotations

from ptxlab.lab.cuda_names import Word

_MASK = "mask: the lanes that take part, each of which must execute it; 0xffffffff for all."

SYNCHRONIZATION = {
    "__syncthreads": Word(
        "A barrier: every thread of the block waits here for all others, and then sees what they wrote to shared and "
        "global memory before it. All threads that have not exited must come to the same one.",
        "void __syncthreads()",
        "bar.sync",
    ),
    "__syncthreads_count": Word(
        "A barrier that also counts the threads whose condition holds.",
        "int __syncthreads_count(int condition)",
        "bar.red.popc",
    ),
    "__syncthreads_and": Word(
        "A barrier that also says whether the condition holds in all threads.",
        "int __syncthreads_and(int condition)",
        "bar.red.and",
    ),
    "__syncthreads_or": Word(
        "A barrier that also says whether the condition holds in any thread.",
        "int __syncthreads_or(int condition)",
        "bar.red.or",
    ),
    "__syncwarp": Word(
        f"The lanes of a mask wait for each other, and see what the others wrote before. {_MASK}",
        "void __syncwarp(unsigned mask = 0xffffffff)",
        "bar.warp.sync",
    ),
    "__threadfence": Word(
        "Orders this thread's accesses for all threads of the GPU: whoever sees a later write sees the earlier ones. "
        "It "
        "waits for nobody.",
        "void __threadfence()",
        "membar.gl",
    ),
    "__threadfence_block": Word(
        "Orders this thread's accesses for the threads of its block. It waits for nobody.",
        "void __threadfence_block()",
        "membar.cta",
    ),
    "__threadfence_system": Word(
        "Orders this thread's accesses for the GPU, other GPUs and the host. It waits for nobody.",
        "void __threadfence_system()",
        "membar.sys",
    ),
    "__activemask": Word(
        "The lanes that execute this at the same time. Which ones these are is not promised: it is not a way to find "
        "the lanes of a branch.",
        "unsigned __activemask()",
        "activemask.b32",
    ),
    "__nanosleep": Word(
        "Suspends the thread for about so many nanoseconds.", "void __nanosleep(unsigned ns)", "nanosleep.u32"
    ),
}
"""Barriers and fences."""

_SHUFFLES = {
    "__shfl_sync": ("from the lane `source`", "int source", "shfl.sync.idx.b32"),
    "__shfl_up_sync": ("from the lane `delta` below", "unsigned delta", "shfl.sync.up.b32"),
    "__shfl_down_sync": ("from the lane `delta` above", "unsigned delta", "shfl.sync.down.b32"),
    "__shfl_xor_sync": ("from the lane whose number is this one's xor `lanes`", "int lanes", "shfl.sync.bfly.b32"),
}
WARP = (
    {
        name: Word(
            f"Each lane receives `x` {where}; where there is no such lane, its own. `width` cuts the warp into "
            f"segments. {_MASK}",
            f"T {name}(unsigned mask, T x, {what}, int width = 32)",
            ptx,
        )
        for name, (where, what, ptx) in _SHUFFLES.items()
    }
    | {
        "__all_sync": Word(
            f"Whether the condition holds in all lanes. {_MASK}",
            "int __all_sync(unsigned mask, int condition)",
            "vote.sync.all.pred",
        ),
        "__any_sync": Word(
            f"Whether the condition holds in any lane. {_MASK}",
            "int __any_sync(unsigned mask, int condition)",
            "vote.sync.any.pred",
        ),
        "__ballot_sync": Word(
            f"The lanes in which the condition holds, a bit for each. {_MASK}",
            "unsigned __ballot_sync(unsigned mask, int condition)",
            "vote.sync.ballot.b32",
        ),
        "__match_any_sync": Word(
            f"The lanes that have the same value as this one, a bit for each. {_MASK}",
            "unsigned __match_any_sync(unsigned mask, T x)",
            "match.any.sync.b32",
        ),
        "__match_all_sync": Word(
            f"The mask where all its lanes have the same value, else 0; `same` says which. {_MASK}",
            "unsigned __match_all_sync(unsigned mask, T x, int *same)",
            "match.all.sync.b32",
        ),
    }
    | {
        f"__reduce_{name}_sync": Word(
            f"{what} of all lanes, in each of them; from sm_80 on. {_MASK}",
            f"unsigned __reduce_{name}_sync(unsigned mask, unsigned x)",
            f"redux.sync.{name}",
        )
        for name, what in (
            ("add", "The sum"),
            ("min", "The least"),
            ("max", "The largest"),
            ("and", "The bits' and"),
            ("or", "The bits' or"),
            ("xor", "The bits' exclusive or"),
        )
    }
)
"""What lanes of a warp tell each other."""

ATOMICS = {
    f"atomic{name}": Word(
        f"{says}, as one step that no other thread comes between. Gives the old value.",
        f"T atomic{name}(T *at, {more})",
        ptx,
    )
    for name, says, more, ptx in (
        ("Add", "Adds to memory", "T x", "atom.global.add"),
        ("Sub", "Subtracts from memory", "T x", ""),
        ("Exch", "Puts another value into memory", "T x", "atom.global.exch"),
        ("Min", "Keeps the lesser value in memory", "T x", "atom.global.min"),
        ("Max", "Keeps the larger value in memory", "T x", "atom.global.max"),
        ("Inc", "Counts up in memory, and after `last` from 0 again", "unsigned last", "atom.global.inc"),
        ("Dec", "Counts down in memory, and after 0 from `first` again", "unsigned first", "atom.global.dec"),
        ("And", "Clears bits in memory", "T x", "atom.global.and"),
        ("Or", "Sets bits in memory", "T x", "atom.global.or"),
        ("Xor", "Flips bits in memory", "T x", "atom.global.xor"),
        (
            "CAS",
            "Compare and swap: puts `x` into memory if the value there is `expected`",
            "T expected, T x",
            "atom.global.cas",
        ),
    )
}
"""Updates of memory."""

MEMORY = {
    "__ldg": Word(
        "Loads through the read-only path; nobody may write this memory while the kernel runs.",
        "T __ldg(const T *at)",
        "ld.global.nc",
    ),
    "__ldcg": Word("Loads past the L1 cache.", "T __ldcg(const T *at)", "ld.global.cg"),
    "__ldcs": Word("Loads what is read once: first to leave the caches.", "T __ldcs(const T *at)", "ld.global.cs"),
    "__stcg": Word("Stores past the L1 cache.", "void __stcg(T *at, T x)", "st.global.cg"),
    "__stcs": Word(
        "Stores what is not soon read again: first to leave the caches.", "void __stcs(T *at, T x)", "st.global.cs"
    ),
    "__cvta_generic_to_shared": Word(
        "The address in shared memory that a pointer holds, as `ld.shared` in `asm` takes it.",
        "size_t __cvta_generic_to_shared(const void *at)",
        "cvta.to.shared",
    ),
    "__pipeline_memcpy_async": Word(
        "Copies 4, 8 or 16 bytes from global to shared memory without a register, while the thread goes on; from "
        "sm_80 on. Needs `#include <cuda_pipeline.h>`.",
        "void __pipeline_memcpy_async(void *shared, const void *global, size_t bytes)",
        "cp.async",
    ),
    "__pipeline_commit": Word(
        "Makes one group of this thread's copies since the last one.",
        "void __pipeline_commit()",
        "cp.async.commit_group",
    ),
    "__pipeline_wait_prior": Word(
        "Waits until at most so many of this thread's groups of copies are unfinished. Other threads see the data "
        "after a barrier.",
        "void __pipeline_wait_prior(unsigned groups)",
        "cp.async.wait_group",
    ),
    "memcpy_async": Word(
        "`cuda::memcpy_async` or that of cooperative groups: copies to shared memory while the threads go on; a "
        "barrier, pipeline or `wait` says when it is there."
    ),
    "barrier": Word(
        "`cuda::barrier`: an mbarrier in shared memory. Threads arrive, and wait for all arrivals of a phase; "
        "asynchronous copies arrive as well.",
        "cuda::barrier<cuda::thread_scope_block>",
        "mbarrier",
    ),
    "pipeline": Word("`cuda::pipeline`: stages of asynchronous copies, filled and freed in turn."),
}
"""Loads, stores and copies."""

GROUPS = {
    "cooperative_groups": Word(
        "Groups of threads as objects, which synchronize and shuffle. Needs `#include <cooperative_groups.h>`."
    ),
    "this_thread_block": Word(
        "The threads of this block as a group: `.sync()` is `__syncthreads()`.",
        "auto block = cooperative_groups::this_thread_block();",
    ),
    "this_grid": Word(
        "All threads of a cooperative launch as a group: `.sync()` is a barrier of the whole grid.",
        "auto grid = cooperative_groups::this_grid();",
    ),
    "this_cluster": Word(
        "The threads of this cluster as a group; from sm_90 on.", "auto cluster = cooperative_groups::this_cluster();"
    ),
    "tiled_partition": Word(
        "Parts of a group with 1, 2, 4 ... 32 threads each.",
        "auto warp = cooperative_groups::tiled_partition<32>(block);",
    ),
    "coalesced_threads": Word(
        "The lanes that are active here as a group.", "auto active = cooperative_groups::coalesced_threads();"
    ),
}
"""Cooperative groups."""

WMMA = {
    "wmma": Word("`nvcuda::wmma`: matrix products of a whole warp. Needs `#include <mma.h>`."),
    "fragment": Word(
        "A matrix whose elements lie in the registers of a warp's lanes; which lane holds which is not specified. The "
        "sizes M, N, K are those of the product.",
        "wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;",
    ),
    "matrix_a": Word("The fragment's use: the left factor, M x K."),
    "matrix_b": Word("The fragment's use: the right factor, K x N."),
    "accumulator": Word("The fragment's use: sum and result, M x N."),
    "row_major": Word("Elements of a row lie side by side in memory."),
    "col_major": Word("Elements of a column lie side by side in memory."),
    "fill_fragment": Word("Sets all elements of a fragment.", "wmma::fill_fragment(fragment, value)"),
    "load_matrix_sync": Word(
        "All lanes of the warp load a matrix. `stride`: elements between two rows, or columns.",
        "wmma::load_matrix_sync(fragment, pointer, stride)",
        "wmma.load",
    ),
    "store_matrix_sync": Word(
        "All lanes of the warp store a matrix. `stride`: elements between two rows, or columns.",
        "wmma::store_matrix_sync(pointer, fragment, stride, wmma::mem_row_major)",
        "wmma.store",
    ),
    "mma_sync": Word(
        "d = a b + c on tensor cores, by all lanes of the warp.", "wmma::mma_sync(d, a, b, c)", "wmma.mma"
    ),
}
"""Matrix products of a warp."""

ARITHMETIC = {
    "fmaf": Word("a b + c, rounded once.", "float fmaf(float a, float b, float c)", "fma.rn.f32"),
    "__fmaf_rn": Word(
        "a b + c, rounded once, to the nearest.", "float __fmaf_rn(float a, float b, float c)", "fma.rn.f32"
    ),
    "__fadd_rn": Word("a + b; never fused with a product.", "float __fadd_rn(float a, float b)", "add.rn.f32"),
    "__fmul_rn": Word("a b; never fused with a sum.", "float __fmul_rn(float a, float b)", "mul.rn.f32"),
    "__fdividef": Word(
        "a / b, fast: within 2 ULP, for b below 2^126.", "float __fdividef(float a, float b)", "div.approx.f32"
    ),
    "__expf": Word(
        "e^x, fast: `ex2.approx` of x / ln 2. Its error grows with |x|.", "float __expf(float x)", "ex2.approx"
    ),
    "exp2f": Word("2^x, within 2 ULP.", "float exp2f(float x)", "ex2.approx"),
    "__logf": Word("The natural logarithm, fast.", "float __logf(float x)", "lg2.approx"),
    "__sinf": Word("The sine, fast: good for small |x| alone.", "float __sinf(float x)", "sin.approx"),
    "__cosf": Word("The cosine, fast: good for small |x| alone.", "float __cosf(float x)", "cos.approx"),
    "rsqrtf": Word("1 / sqrt(x), within 2 ULP.", "float rsqrtf(float x)", "rsqrt.approx"),
    "fmaxf": Word(
        "The larger of two floats; of a NaN and a number the number.", "float fmaxf(float a, float b)", "max.f32"
    ),
    "__saturatef": Word("x between 0 and 1.", "float __saturatef(float x)", "cvt.sat.f32.f32"),
    "__popc": Word("How many bits are set.", "int __popc(unsigned x)", "popc.b32"),
    "__clz": Word("How many bits above the highest that is set.", "int __clz(int x)", "clz.b32"),
    "__ffs": Word("The place of the lowest bit that is set, from 1; 0 where none is.", "int __ffs(int x)"),
    "__brev": Word("The bits in reverse order.", "unsigned __brev(unsigned x)", "brev.b32"),
    "__byte_perm": Word(
        "Four of the eight bytes of two words; each digit of `which` says one.",
        "unsigned __byte_perm(unsigned a, unsigned b, unsigned which)",
        "prmt.b32",
    ),
    "__umulhi": Word("The upper 32 bits of a product.", "unsigned __umulhi(unsigned a, unsigned b)", "mul.hi.u32"),
    "__float_as_int": Word("The bits of a float as an int: nothing is converted.", "int __float_as_int(float x)"),
    "__int_as_float": Word("The bits of an int as a float: nothing is converted.", "float __int_as_float(int x)"),
    "__float2half": Word("A float as a half, rounded to the nearest.", "half __float2half(float x)", "cvt.rn.f16.f32"),
    "__half2float": Word("A half as a float, exactly.", "float __half2float(half x)", "cvt.f32.f16"),
    "__hadd": Word("a + b of halves.", "half __hadd(half a, half b)", "add.f16"),
    "__hfma2": Word(
        "a b + c of two pairs of halves, each rounded once.", "half2 __hfma2(half2 a, half2 b, half2 c)", "fma.rn.f16x2"
    ),
}
"""Arithmetic and conversions."""

OTHERS = {
    "clock64": Word("A counter of the multiprocessor's cycles.", "long long clock64()", "%clock64"),
    "printf": Word("Prints from a thread; the text appears when the host next waits for the GPU."),
    "assert": Word("Stops the kernel where the condition does not hold."),
    "__trap": Word("Stops the kernel with an error.", "void __trap()", "trap"),
}
"""What is left."""

FUNCTIONS = SYNCHRONIZATION | WARP | ATOMICS | MEMORY | GROUPS | WMMA | ARITHMETIC | OTHERS
"""All of them, by name, without the namespace that they are in."""
