"""The field's words: what each term of CUDA, PTX, Nsight Compute and FlashAttention means, in a sentence or two.

`docs/glossary.md` is made from this (`python -m ptxlab.isa.glossary docs/glossary.md`), and hover texts in the explorer
and the editor explain the terms that they use with it.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Iterator
from pathlib import Path

SECTIONS: dict[str, dict[str, str]] = {
    "Threads": {
        "grid": "All blocks of one launch.",
        "cluster": "Blocks that run on neighbouring SMs at the same time and reach each other's shared memory (sm_90).",
        "block": "Threads that share an SM, its shared memory and barriers; up to 1,024. PTX calls it a CTA.",
        "CTA": "Cooperative thread array: PTX's name for a block.",
        "warp": "32 threads of a block that execute one instruction at a time.",
        "lane": "A thread's place in its warp, 0 to 31.",
        "warpgroup": "Four warps in a row that execute a `wgmma` together (sm_90).",
        "SM": "Streaming multiprocessor: the part of a GPU that runs blocks. It has warp schedulers, registers, "
        "shared memory and tensor cores.",
        "resident": "Of a block: it has been given its place on an SM and keeps it until all its threads have exited.",
        "wave": "As many blocks as the whole GPU holds at once. A last wave that is nearly empty wastes the GPU: wave "
        "quantisation.",
        "occupancy": "Resident warps per SM, as a share of the most that it can hold. Registers, shared memory and the "
        "size of a block limit it.",
        "latency hiding": "While one warp waits for memory, the scheduler issues instructions of another.",
    },
    "Control flow": {
        "active mask": "The lanes of a warp that execute the current instruction, one bit for each.",
        "converged": "Of a warp: all its live lanes execute the same instruction at the same time.",
        "diverged": "Of a warp: a branch has sent its lanes different ways, and the groups take turns.",
        "divergence": "Lanes of a warp that go different ways at a branch. The warp then executes each way by itself.",
        "reconverge": "Diverged lanes come to the same instruction again and go on in step.",
        "exited": "Of a thread: it has executed `exit`, or `ret` in a kernel. Barriers no longer wait for it.",
        "basic block": "Instructions that are always executed one after the other: branches lead "
        "into it only at its start and out of it only at its end.",
        "immediate post-dominator": "Of a branch: the first basic block that all ways from it lead through. Diverged "
        "lanes reconverge there.",
        "grid-stride loop": "A loop in which each thread goes on by the number of threads of the whole grid, so that a "
        "grid of any size covers all elements.",
        "predicate": "A register of one bit, written by `setp`. `@%p` in front of an instruction makes it a guard.",
        "guard": "`@%p` or `@!%p` in front of an instruction: only lanes whose predicate holds execute it.",
        "barrier": "A place where threads wait until all that take part have arrived. `bar.sync` waits for a block.",
        "mbarrier": "A barrier that lives in shared memory: it counts arrivals and bytes, and its phase flips when "
        "all are there.",
        "phase": "One round of an mbarrier: it ends when the expected arrivals and bytes have come.",
        "member mask": "The operand of a `.sync` instruction that names the lanes which take part, one bit for each.",
        "shuffle": "Lanes of a warp read registers of each other: `shfl.sync`.",
        "vote": "All lanes of a warp learn whether a predicate holds for all of them, for any, or for which: "
        "`vote.sync`.",
        "deadlock": "Threads wait for each other, or for something that never happens. The emulator ends the launch "
        "and says who waits where.",
    },
    "Memory": {
        "global memory": "The GPU's large memory, which all threads and the host can reach; hundreds of cycles away.",
        "shared memory": "Memory of a block on its SM: 32 banks, tens of cycles away.",
        "local memory": "Memory of one thread. It is in global memory, cached; registers are spilled to it.",
        "register": "A thread's own storage for one value of 32 bits; 64-bit values take two.",
        "spill": "A register that the assembler had no room for: its value is stored to local memory and loaded back.",
        "L1": "The cache of an SM. It shares its memory with shared memory.",
        "L2": "The cache that all SMs of a GPU share.",
        "sector": "32 bytes, the unit in which global memory is moved. A warp's access takes as many as it touches.",
        "cached": "Of data: a copy of it is in a cache (L1 or L2), so that the next access need not go to memory.",
        "coalesced": "Of a warp's access to global memory: its lanes touch neighbouring addresses, few sectors in all.",
        "bank": "One of 32 columns of shared memory, 4 bytes wide, each of which serves one word at a time.",
        "bank conflict": "Lanes of one access want different words of the same bank, which serves them one after "
        "the other.",
        "wavefront": "One pass of an access through shared memory. Without bank conflicts, 4 bytes per lane take one.",
        "swizzle": "An arrangement of a tile in which rows and columns are both read without bank conflicts: parts of "
        "the address are combined with exclusive or.",
        "generic address": "An address that may be in global, shared, local or parameter memory; its value "
        "tells the hardware which.",
        "fence": "An instruction that orders memory: what its thread did before is seen before what it does after.",
        "release": "A write that makes all that its thread did before visible to a thread that acquires it.",
        "acquire": "A read that makes all that the releasing thread did before its release visible.",
        "scope": "The threads among which an access or fence orders memory: block (`.cta`), cluster, GPU or system.",
        "race": "Two accesses to one place, one of them a write, that nothing orders. The result is then undefined.",
        "atomic operation": "A read and a write of one place with nothing between them: `atom`, or `red`, which gives "
        "no old value back.",
        "gather": "A load by lanes whose addresses have no pattern. A scatter is such a store.",
        "deferred": "Of an access or a product: it is noted when it is issued, and performed, or recorded by a check, "
        "when somebody needs it.",
        "async proxy": "The way by which TMA and `wgmma` reach memory. Ordinary writes need `fence.proxy.async` before "
        "they are seen there.",
        "TMA": "Tensor memory accelerator: the unit that copies tiles between global and shared memory (sm_90).",
        "bulk copy": "A copy of many bytes or of a tile that one thread issues and TMA performs: `cp.async.bulk`.",
        "tensor map": "128 bytes that describe an array to TMA: its sizes, strides, swizzle, and the size of a tile.",
        "in flight": "Of a copy or product: it was issued, and no thread has waited for its completion yet.",
        "checked": "Of an access or a launch: memcheck examines it, and so do initcheck, racecheck and "
        "synccheck where they were asked for.",
    },
    "Instructions": {
        "PTX": "NVIDIA's assembly language for a virtual GPU. The assembler turns it into SASS.",
        "SASS": "The machine code that a GPU executes.",
        "cubin": "A file with SASS for one architecture.",
        "warp-instruction": "One instruction executed by one warp, whatever its active mask.",
        "thread-instruction": "One instruction executed by one thread: a converged warp-instruction counts as 32.",
        "issue slot": "A cycle in which a scheduler can issue one warp-instruction.",
        "pipe": "A unit of an SM that executes a kind of instruction: FMA, ALU, LSU, tensor ...",
        "tensor core": "The unit that multiplies small matrices: `mma`, `wmma`, `wgmma`.",
        "fragment": "The part of a matrix that one lane holds in its registers.",
        "matrix descriptor": "64 bits that tell `wgmma` where a tile is in shared memory, and in which layout.",
        "accumulator": "The registers that a product is added to.",
        "register tiling": "Each thread computes a small tile of results, so that every value it loads is used often.",
        "reduction": "Many values become one: a sum or a maximum, over lanes, warps or blocks.",
        "double buffering": "While one buffer is computed on, the next one is filled.",
        "ULP": "Unit in the last place: the distance between two neighbouring floating-point numbers.",
    },
    "Attention": {
        "online softmax": "Softmax in one pass: a running maximum m and sum l, rescaled when the maximum grows.",
        "rescale": "The factor exp(old m - new m) by which l and the output shrink when the maximum grows.",
        "LSE": "log-sum-exp of a row's scores: m + log(l). Partial results are merged with it.",
        "FlashAttention": "Attention computed tile by tile with online softmax; the matrix of scores is never stored.",
        "Flash-Decoding": "Decode with the keys split over several blocks, whose partial results are merged.",
        "prefill": "Attention of many queries at once, as when a prompt is read.",
        "decode": "Attention of one new query per sequence against a cache of keys and values.",
        "GQA": "Grouped-query attention: several query heads share one head of keys and values.",
        "causal": "A query sees no key after its own position.",
        "KV cache": "The keys and values of the tokens so far, kept for the next one.",
        "page": "A fixed number of tokens of a KV cache, stored together. A block table says where each page is.",
        "block table": "For each sequence the numbers of its pages, in order.",
    },
}
"""Section -> term -> what it means. Lower case except for names."""

GLOSSARY: dict[str, str] = {term: says for section in SECTIONS.values() for term, says in section.items()}
"""Term -> what it means."""

_FORMS = {"diverged": "diverge[ds]?", "reconverge": "reconverge[ds]?", "LSE": "LSE", "bulk copy": "bulk cop(?:y|ies)"}


@functools.cache
def _pattern() -> re.Pattern[str]:
    def words(term: str) -> str:
        return f"(?P<_{index[term]}>{_FORMS.get(term, re.escape(term) + '(?:e?s)?')})"

    index = {term: k for k, term in enumerate(GLOSSARY)}
    longest_first = sorted(GLOSSARY, key=len, reverse=True)
    return re.compile(r"(?<![\w.%`-])(?:" + "|".join(map(words, longest_first)) + r")(?![\w`]|\.\w)")


def uses(text: str) -> Iterator[tuple[str, int, int]]:
    """Each use of a term of the glossary in a text: the term, where it begins and ends."""
    names = list(GLOSSARY)
    for match in _pattern().finditer(text):
        yield names[int((match.lastgroup or "_0")[1:])], match.start(), match.end()


def terms(text: str) -> list[str]:
    """The terms of the glossary that a text uses, in its order, each once. Words between backticks are code."""
    return list(dict.fromkeys(term for term, _, _ in uses(re.sub(r"`[^`]*`", "``", text))))


def page() -> str:
    """`docs/glossary.md`."""
    parts = [
        "# Glossary\n\nThe field's words as this project uses them. Hover texts in the explorer and the editor "
        "show them too.\n"
    ]
    for section, words in SECTIONS.items():
        parts.append(f"\n## {section}\n\n```{{glossary}}\n")
        parts.append("\n".join(f"{term}\n  {says}\n" for term, says in words.items()))
        parts.append("```\n")
    return "".join(parts)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
