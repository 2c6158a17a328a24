"""What the reader of a finding is to write, in the language of the kernel's source."""

from __future__ import annotations

import keyword
import re

from ptxlab.emulate.program.flat_program import Code, Mem
from ptxlab.emulate.program.liveness import reads, registers_of, writes
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.rules.notes import Note
from ptxlab.isa import find_form
from ptxlab.isa.actions import Action
from ptxlab.text import SourceLines

LANGUAGES = PTX, BUILDER, CUDA, NUMBA, TRITON = "PTX", "builder", "CUDA C++", "numba", "Triton"
_WRITE: dict[str, tuple[str, ...]] = {
    "lanes": ("bar.warp.sync 0xffffffff;", "", "__syncwarp();", "cuda.syncwarp()", "tl.debug_barrier()"),
    "warps": ("bar.sync 0;", "k.barrier()", "__syncthreads();", "cuda.syncthreads()", "tl.debug_barrier()"),
    "cluster": ("barrier.cluster.arrive; barrier.cluster.wait;", "", "cooperative_groups::this_cluster().sync();"),
    "grid": ("", "", ", use cooperative_groups::this_grid().sync()", ", use cuda.cg.this_grid().sync()"),
    "gpu_fence": ("fence.acq_rel.gpu;", "", "__threadfence();", "cuda.threadfence()", 'an atomic with sem="acq_rel"'),
    "block_fence": ("fence.acq_rel.cta;", "", "__threadfence_block();", "cuda.threadfence_block()"),
    "device_atomic": ("", 'scope="gpu"', "the atomic without _block, or thread_scope_device", "", 'scope="gpu"'),
    "some_warps": ("bar.sync 1, 64;", "k.barrier(1, 64)"),
    "other_warps": ("bar.sync 2, 64;", "k.barrier(2, 64)"),
    "proxy_fence": ("fence.proxy.async;", "", "cuda::ptx::fence_proxy_async();"),
    "bulk_commit": ("cp.async.bulk.commit_group", 'k.op("cp.async.bulk.commit_group")',
                    "cuda::ptx::cp_async_bulk_commit_group()"),
    "bulk_read": ("wait_group.read", 'k.op("cp.async.bulk.wait_group.read", 0)',
                  "cp_async_bulk_wait_group_read(cuda::ptx::n32_t<0>{})"),
    "bulk_wait": ("wait_group (without .read)", 'k.op("cp.async.bulk.wait_group", 0)',
                  "cp_async_bulk_wait_group(cuda::ptx::n32_t<0>{}), not _read"),
    "bulk_arrival": ("a wait for the mbarrier", "", "a wait for the mbarrier (the cuda::barrier)"),
    "copy_wait": ("cp.async.wait_group or wait_all", 'k.op("cp.async.wait_all")',
                  "__pipeline_wait_prior(0) or pipe.consumer_wait()"),
    "product_fence": ("wgmma.fence.sync.aligned;",),
    "product_wait": ("wgmma.wait_group.sync.aligned 0;",),
    "commit": ("wgmma.commit_group.sync.aligned;",),
    "whole_warp": ("31", "31", "the width 32 (warpSize)", "the width 32"),
}  # fmt: skip
"""What to write, by language. One without a word of its own writes PTX: CUDA C++ as `asm`, the builder as `k.op`."""
_ATOMICS = {
    Action.ADD: "add", Action.SUBTRACT: "add", Action.MULTIPLY_ADD: "add", Action.MINIMUM: "min",
    Action.MAXIMUM: "max", Action.AND: "and", Action.OR: "or", Action.EXCLUSIVE_OR: "xor",
}  # fmt: skip


def language(program: Program, code: Code) -> str:
    span, spans = program.spans.get(code.line), program.spans
    if span is None:
        return PTX
    if not isinstance(spans, SourceLines):
        return BUILDER
    return spans.language or (CUDA if span.file.endswith((".cu", ".cuh")) else PTX)


def write(program: Program, code: Code) -> dict[str, str]:
    """What there is to write, in the language of an instruction's source."""
    at = LANGUAGES.index(language(program, code))
    return {name: "".join(each[at : at + 1]) or _in_language(at, each[0]) for name, each in _WRITE.items()}


def _in_language(at: int, ptx: str) -> str:
    """PTX in a language that has no word for it."""
    if LANGUAGES[at] == BUILDER:
        return re.sub(r"([a-z][\w.:]+) ?([^;]*);", _called, ptx)
    return f'asm volatile("{ptx}" ::: "memory");' if ptx and LANGUAGES[at] == CUDA else ptx


def _called(instruction: re.Match[str]) -> str:
    return f'k.op("{instruction[1]}"{instruction[2] and ", "}{instruction[2]})'


_CALLS = {
    CUDA: ("atomic{Name}(address, value);", "atomicCAS in a loop"),
    NUMBA: ("cuda.atomic.{name}(array, index, value)", "cuda.atomic.cas in a loop"),
    TRITON: ("tl.atomic_{name}(pointer, value)", "tl.atomic_cas in a loop"),
    BUILDER: ('k.red(pointer, value, operation="{name}")', 'k.atom(..., operation="cas") in a loop'),
    PTX: ("{red}", "atom.cas in a loop"),
}
"""An atomic operation, and what to write where none does the same."""


def source_line(program: Program, code: Code) -> tuple[object, ...]:
    """The line of the source that an instruction comes from, after those of the calls that have been inlined there."""
    span = program.spans.get(code.line)
    return ("", code.line) if span is None else tuple(x for each in (*span.callers[::-1], span) for x in each[:2])


def next_round(program: Program, note: Note) -> bool:
    """Whether the later access of a race is one of the next round of a loop: it stands first, and a barrier between."""
    first, last = sorted((note.code, note.other))
    between = (code.properties for code in program.codes[first:last])
    back = any(c.action is Action.BRANCH and program.blocks[c.target].first <= first for c in program.codes[last:])
    return back and note.other > note.code and any(p.barrier or (note.scope == 0 and p.converges) for p in between)


def update(program: Program, note: Note) -> list[Code]:
    """From the load to the store what changes a word (`x[0] += 1`), or decides whether (`if (v > x[0]) x[0] = v`), if
    two threads race in it; else nothing. What other lanes bring by a shuffle is not such a change."""
    pair = {note.code, note.other}
    store = program.codes[max(pair)]
    if store.action is not Action.STORE:
        return []
    place, base = _place(store)
    wanted, slice_ = set(reads(store)) - base, [store]
    for code in reversed(program.codes[: store.index]):
        written = set(writes(code))
        if written & base or code.properties.barrier:
            break
        if code.action is Action.BRANCH and code.guard and program.blocks[code.target].first > store.index:
            wanted.add(code.guard[0])
            slice_.insert(0, code)
        if written & wanted:
            slice_.insert(0, code)
            if code.action is Action.LOAD and _place(code)[0] == place:
                path = [code]
                for each in slice_[1:]:
                    if written & set(reads(each)) or each is store:
                        written |= set(writes(each))
                        path.append(each)
                direct = pair <= {code.index, store.index} and not any(each.properties.converges for each in path)
                return path if direct and len(path) > 2 else []
            wanted = wanted - written | (set() if code.properties.loads else set(reads(code)))
    return []


def _place(code: Code) -> tuple[Mem, set[int]]:
    """The address operand of a load or store, and its registers."""
    at = next(source for source in code.sources if isinstance(source, Mem))
    return at, set(registers_of(at))


def one_atomic(program: Program, path: list[Code]) -> str:
    """What to write in place of an `update`: an atomic operation."""
    store = path[-1]
    steps = [code for code in path[1:-1] if code.action not in (Action.MOVE, Action.CONVERT, Action.BRANCH)]
    spoken, name, red = language(program, store), "", ""
    call, loop = _CALLS[spoken]
    if len(steps) == 1 and (step := steps[0]).instruction is not None:
        carried = {register for code in path[: path.index(step)] for register in writes(code)}
        fresh = [k for k, source in enumerate(step.sources) if not carried & set(registers_of(source))]
        if fresh and fresh == {Action.SUBTRACT: [1], Action.MULTIPLY_ADD: [0, 1]}.get(step.action, fresh[:1]):
            name = _ATOMICS.get(step.action) or _kept(path, step, fresh)
        space, type_ = "" if store.space == "generic" else f".{store.space}", str(step.form.type)
        opcodes = (f"red{space}.{name}.{each}" for each in (type_, type_.replace("s", "u")))
        opcode = next((each for each in opcodes if find_form(each)), "")
        value = str(step.instruction.operands[1 + fresh[0]]).strip() if name and len(step.sources) == 2 else "value"
        red = (
            opcode and f"{opcode} {program.source(store.line).partition('[')[2].partition(']')[0].join('[]')}, {value};"
        )
    if not (red if spoken == PTX or (spoken == CUDA and name in ("min", "max")) else name):
        return loop
    python = name + "_" * (spoken == NUMBA and keyword.iskeyword(name))
    return call.format(name=python, Name=name.title(), red=red)


def _kept(path: list[Code], step: Code, fresh: list[int]) -> str:
    """`max` or `min`, where a comparison decides whether a word keeps its value or takes the other."""
    decides, stored = next(code for code in path if code.guard), path[-1].sources[1]
    if step.action is not Action.COMPARE or registers_of(step.sources[fresh[0]]) != registers_of(stored):
        return ""
    if decides.guard is None or step.form.cmp[0] not in "lgh":
        return ""
    less = [step.form.cmp[0] == "l", fresh == [1], not decides.guard[1], decides is path[-1]]
    return "min" if sum(less) % 2 else "max"
