"""What findings tell the reader to write: the parser and the validator take it, and the finding is gone with it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS
from planted import BUGS
from planted_bug import Bug

import ptxlab as pl
from ptxlab.builder import Builder, Ptr, f32, kernel
from ptxlab.findings import Finding
from ptxlab.isa import TABLE
from ptxlab.text import parse
from ptxlab.text.validate import validate

WRITE = re.compile(r"write (?:a fence (?:after|before) it: |\.\w+: )?((@\S+ )?(\w+)[^;]*;(?: [a-z][\w.:]+;)?)")


def advice(finding: Finding) -> list[str]:
    """The instructions that a finding tells the reader to write."""
    return [found[1] for found in WRITE.finditer(finding.message) if found[3] in TABLE]


class Mended(Bug):
    """A planted bug whose reader has done what a finding advises."""

    def __init__(self, planted: Bug, lines: list[str]) -> None:
        super().__init__(**vars(planted))
        self.lines_ = lines

    def text(self, repaired: bool, name: str = "k") -> str:
        return "\n".join(self.lines_) + "\n"


def followed(lines: list[str], finding: Finding, write: str) -> list[list[str]]:
    """The texts that a reader may make of one who follows an advice."""
    assert finding.first is not None
    said, first = finding.message, finding.first.line
    last = max(first, finding.second.line if finding.second is not None else 0)
    named = re.search(r"line (\d+), ", said)
    if "orders nothing between two blocks" in said:
        assert named is not None
        return [[*lines[: int(named[1]) - 1], write, *lines[int(named[1]) :]]]
    if "in place of the load and the store" in said:
        place = re.search(r"\[.*?\]", write)
        assert place is not None
        load = max(k for k, line in enumerate(lines[: last - 1]) if re.search(r"\bld\.", line) and place[0] in line)
        return [[*lines[:load], *lines[load + 1 : last - 1], write, *lines[last:]]]
    if "after the access" in said:  # half of a barrier that stands there already gives way to the whole
        behind = [line for line in lines[first:] if "barrier.cluster" not in line]
        end = next(k for k, line in enumerate(behind) if line.strip().endswith(("exit;", "ret;")))
        return [[*lines[:first], *behind[:end], write, *behind[end:]]]
    if named is not None or "after the stores" in said or "before they do" in said:
        assert finding.second is not None
        at = int(named[1]) - ("fence before it" in said) if named is not None else finding.second.line
        return [[*lines[:at], write, *lines[at:]]]
    between = [*lines[: last - 1], write, *lines[last - 1 :]]
    labels = {found[1] for line in lines[:last] if (found := re.match(r"\s*(\w+):", line))}
    back = (
        k for k, line in enumerate(lines) if k >= last and (to := re.search(r"bra (\w+);", line)) and to[1] in labels
    )
    if "rounds" not in said or (end := next(back, 0)) == 0:
        return [between]
    rounds = [[*text[:at], write, *text[at:]] for text, at in ((lines, end), (between, end + 1))]
    return rounds if "between the rounds" in said else [between, *rounds]


@pytest.mark.sweep(12)
@pytest.mark.parametrize("name", BUGS)
def test_advice_is_an_instruction_that_repairs(name: str) -> None:
    """In one of the ways to follow it; races that a wrong use of barriers has made are not asked."""
    planted = BUGS[name]
    run, _ = planted.run("cpu", False, ALL_CHECKS)
    for finding in [found for found in run.findings if found.check == run.findings[0].check]:
        for write in advice(finding):
            left = []
            for lines in followed(planted.text(False).splitlines(), finding, write):
                mended = Mended(planted, lines)
                assert [str(error) for error in validate(parse(mended.text(False)))] == []
                again, _ = mended.run("cpu", False, ALL_CHECKS)
                left.append([f for f in again.findings if (f.kind, f.message) == (finding.kind, finding.message)])
            assert [] in left, (write, left)


@pytest.mark.parametrize("name", [name for name in BUGS if re.search("(one lane|half of the lanes) .* for all", name)])
def test_lanes_that_release_for_their_warp_are_told_to_synchronize_it(name: str, device: str) -> None:
    run, _ = BUGS[name].run(device, False, ALL_CHECKS)
    assert advice(run.findings[0]) == ["bar.warp.sync 0xffffffff;"]


# -- in the language of the source -------------------------------------------------------------------------------------

TILE = "__shared__ int tile[128]; int t = threadIdx.x;\n"
FLAG = """if (threadIdx.x != 0) return;
if (blockIdx.x == 0) { x[1] = 5;
    __threadfence_block();
    atomicExch(&x[0], 1);
} else { while (atomicAdd(&x[0], 0) == 0);
    __threadfence();
    x[2] = x[1]; }"""
BULK = """alignas(16) __shared__ int tile[128]; int t = threadIdx.x; tile[t] = t;
{fence}
__syncthreads();
if (t == 0) {{
    cuda::ptx::cp_async_bulk(cuda::ptx::space_global, cuda::ptx::space_shared, x + 128 * blockIdx.x, tile, 512);
    cuda::ptx::cp_async_bulk_commit_group();
    {read}
}}
__syncthreads(); tile[t] = 7;
if (t == 0) cuda::ptx::cp_async_bulk_wait_group(cuda::ptx::n32_t<0>{{}});"""
PROXY, READ = "cuda::ptx::fence_proxy_async();", "cuda::ptx::cp_async_bulk_wait_group_read(cuda::ptx::n32_t<0>{});"
IN_CUDA = {
    "a bulk copy without a fence": (
        BULK.format(fence="", read=READ), f"write {PROXY} after the stores", BULK.format(fence=PROXY, read=READ),
    ),
    "the source of a bulk copy": (
        BULK.format(fence=PROXY, read=""), READ.removeprefix("cuda::ptx::").removesuffix(";"),
        BULK.format(fence=PROXY, read=READ),
    ),
    "a counter": ("x[0] += 1;", "write atomicAdd(address, value);", "atomicAdd(&x[0], 1);"),
    "a maximum": ("x[0] = max(x[0], (int)threadIdx.x);", "write atomicMax(", "atomicMax(&x[0], (int)threadIdx.x);"),
    "a minimum by if": (
        "int v = -threadIdx.x; if (v < x[0]) x[0] = v;", "write atomicMin(", "atomicMin(&x[0], -(int)threadIdx.x);",
    ),
    "another warp's element": (
        f"{TILE}tile[t] = t;\nx[blockIdx.x * 128 + t] = tile[127 - t];", "write __syncthreads(); between the two",
        f"{TILE}tile[t] = t;\n__syncthreads();\nx[blockIdx.x * 128 + t] = tile[127 - t];",
    ),
    "another lane's element": (
        f"{TILE}tile[t] = t;\nx[blockIdx.x * 128 + t] = tile[t ^ 1];", "write __syncwarp(); between the two",
        f"{TILE}tile[t] = t;\n__syncwarp();\nx[blockIdx.x * 128 + t] = tile[t ^ 1];",
    ),
    "rounds": (
        f"{TILE}int s = 0;\nfor (int r = 0; r < n; r++) {{\ntile[t] = r; __syncthreads();\ns += tile[127 - t];\n}}\n"
        "x[blockIdx.x * 128 + t] = s;", "write __syncthreads(); between the two, or in a loop between its rounds",
        f"{TILE}int s = 0;\nfor (int r = 0; r < n; r++) {{\ntile[t] = r; __syncthreads();\ns += tile[127 - t];\n"
        "__syncthreads(); }\nx[blockIdx.x * 128 + t] = s;",
    ),
    "a fence of the block": (
        FLAG, "write __threadfence(); in its place", FLAG.replace("__threadfence_block", "__threadfence"),
    ),
    "an atomic of the block": ("atomicAdd_block(&x[0], 1);", "without _block", "atomicAdd(&x[0], 1);"),
}  # fmt: skip
"""The body of a kernel of two blocks, what its finding says, and the body of a reader who has done so."""


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", IN_CUDA)
@pytest.mark.long
def test_advice_in_cuda(name: str, device: str) -> None:
    bug, says, repaired = IN_CUDA[name]

    def found(body: str) -> list[Finding]:
        head = "#include <cuda/ptx>\n" * ("cuda::" in body)
        kernel = pl.cuda(f"{head}__global__ void k(int *x, int n) {{\n{body}\n}}", "sm_90")
        return pl.launch(kernel, 2, 128, np.zeros(256, np.int32), 4, device=device, checks="all").findings

    cause, *_ = found(bug)
    assert says in cause.message
    assert found(repaired) == []


@pytest.mark.rest
def test_advice_about_registers_that_the_compiler_moves(device: str) -> None:
    """NVRTC computes the product of a sum and 0.5 behind the fence that it stands in front of."""
    source = (Path(__file__).parents[1] / "cuda" / "hopper" / "gemm.cu").read_text(encoding="utf-8")
    fence = 'asm volatile("wgmma.fence.sync.aligned;" ::: "memory");'
    scaled = f"for (int i = 0; i < 32; i++) d[i] *= 0.5f;\n{fence}"
    operands = ", ".join(f'"+f"(d[{k}])' for k in range(32))

    def found(text: str) -> list[Finding]:
        maps = (pl.TensorMap(np.ones((64, 128), np.float16), box=(64, 64), swizzle=128) for _ in range(2))
        given = *maps, np.zeros((64, 64), np.float32), 64, 64, 128
        kernel = pl.cuda(source.replace(fence, text), "sm_90a")
        return pl.launch(kernel, 1, 128, *given, shared=2**14, device=device, checks="all").findings

    (finding,) = found(scaled)
    assert f"write {fence} between the two, and name each register" in finding.message
    assert "'\"+f\"(d[0])'" in finding.message
    assert found(scaled.replace('" :::', f'" : {operands} ::')) == []


@pytest.mark.parametrize("repaired", [False, True])
def test_advice_in_the_builder(repaired: bool, device: str) -> None:
    @kernel
    def reverse(k: Builder, x: Ptr[f32]) -> None:
        tile = k.shared(f32, 64)
        t = k.tid.x
        tile[t] = x[t]
        if repaired:
            k.barrier()
        x[t] = tile[63 - t]

    found = pl.launch(reverse, 1, 64, np.zeros(64, np.float32), device=device, checks="racecheck").findings
    assert [f.message.partition("; ")[2][:37] for f in found] == ["write k.barrier() between the two, or"][repaired:]


@pytest.mark.parametrize("other", [1, 2])
def test_advice_in_the_builder_about_barriers_of_some_warps(other: int, device: str) -> None:
    @kernel
    def pairs(k: Builder) -> None:
        with k.if_(k.tid.x < 64):
            k.barrier(1, 64)
        with k.if_(k.tid.x >= 64):
            k.barrier(other, 64)

    found = pl.launch(pairs, 1, 128, device=device, checks="synccheck").findings
    assert all("a barrier of its own, as in k.barrier(2, 64), or" in f.message for f in found)
    assert (found == []) is (other == 2)


def test_a_pair_of_lines_is_one_finding_about_those_farthest_apart(device: str) -> None:
    """Lanes, warps and blocks race, in reads and writes."""
    kernel = pl.cuda("__global__ void k(int *x) {\nx[0] += 1;\n}")
    (found,) = pl.launch(kernel, 2, 64, np.zeros(1, np.int32), device=device, checks="racecheck").findings
    assert found.message.startswith(
        "RAW hazard in global memory (also WAR, WAW): several blocks load, change and store"
    )
    assert found.first is not None
    assert found.second is not None
    assert found.first.block != found.second.block


def test_causes_come_first(device: str) -> None:
    """A barrier that half of the lanes reach lets threads read what is not written yet."""
    body = f"{TILE}if (t < 16) __syncthreads();\ntile[t] = t;\nx[t] = tile[63 - t];"
    kernel = pl.cuda(f"__global__ void k(int *x) {{\n{body}\n}}")
    found = pl.launch(kernel, 1, 64, np.zeros(64, np.int32), device=device, checks="all").findings
    assert list(dict.fromkeys(f.check for f in found)) == ["synccheck", "racecheck", "initcheck"]


def test_a_wait_whose_scope_is_the_block_is_named_behind_another_blocks_arrival(device: str) -> None:
    bug = BUGS["mbarrier: a relaxed arrival at another block"]
    narrow = replace(bug, body=bug.body.replace("acquire.cluster", "acquire.cta"))
    run, _ = narrow.run(device, True, ("memcheck", "racecheck"))
    (of_data,) = [f for f in run.findings if "'tile'" in str(f)]
    assert "orders nothing between two blocks: its scope is the block (.cta); write .cluster" in of_data.message
