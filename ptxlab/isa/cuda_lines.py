"""Names of CUDA C++ and of Python for CUDA: the line of PTX and the line of the builder that do the same."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple


class Lines(NamedTuple):
    """What a name takes, and what to write instead in PTX and with the builder; "" where there is no line."""

    takes: tuple[str, ...]
    ptx: str
    python: str

    def ptx_for(self, given: Sequence[str]) -> str:
        """The line of PTX with these arguments."""
        return self._filled(self.ptx, given)

    def python_for(self, given: Sequence[str]) -> str:
        """The line of the builder with these arguments."""
        return self._filled(self.python, given)

    def _filled(self, line: str, given: Sequence[str]) -> str:
        if self.takes[:1] == ("m",) and len(given) == len(self.takes) - 1:  # without the mask
            given = ["0xffffffff", *given]
        values = dict(zip(self.takes, given, strict=False))
        return re.sub(r"(?<![%.\w])[a-z]+\b(?![.=(])", lambda word: values.get(word[0], word[0]), line)


# The name, what it takes, PTX, the builder. `old` and `y` are results.
_TABLE = """\
threadIdx thread | | %tid | k.tid
blockIdx block | | %ctaid | k.ctaid
blockDim | | %ntid | k.ntid
gridDim | | %nctaid | k.nctaid
program_id | axis | %ctaid.x | k.ctaid.x
warpSize | | WARP_SZ | 32
laneIdx lane lane_id | | %laneid | k.laneid
warp_id | | %warpid | k.tid.x >> 5
global_id thread_id grid | | | k.thread_index()
__syncthreads barrier_sync sync | | bar.sync 0; | k.barrier()
__syncwarp | m | bar.warp.sync m; | k.op("bar.warp.sync", m)
__threadfence | | fence.acq_rel.gpu; | k.fence(order="acq_rel", scope="gpu")
__threadfence_block | | fence.acq_rel.cta; | k.fence(order="acq_rel", scope="cta")
__threadfence_system | | fence.acq_rel.sys; | k.fence(order="acq_rel", scope="sys")
atomicAdd | p x | atom.global.add.u32 old, [p], x; | k.atom(p, x, operation="add")
atomicSub | p x | neg.s32 t, x; atom.global.add.s32 old, [p], t; | k.atom(p, -x, operation="add")
atomicMin | p x | atom.global.min.s32 old, [p], x; | k.atom(p, x, operation="min")
atomicMax | p x | atom.global.max.s32 old, [p], x; | k.atom(p, x, operation="max")
atomicInc | p x | atom.global.inc.u32 old, [p], x; | k.atom(p, x, operation="inc")
atomicDec | p x | atom.global.dec.u32 old, [p], x; | k.atom(p, x, operation="dec")
atomicAnd | p x | atom.global.and.b32 old, [p], x; | k.atom(p, x, operation="and")
atomicOr | p x | atom.global.or.b32 old, [p], x; | k.atom(p, x, operation="or")
atomicXor | p x | atom.global.xor.b32 old, [p], x; | k.atom(p, x, operation="xor")
atomicExch | p x | atom.global.exch.b32 old, [p], x; | k.atom(p, x, operation="exch")
atomicCAS | p a x | atom.global.cas.b32 old, [p], a, x; | k.atom(p, a, x, operation="cas")
__shfl_sync shfl_idx | m x lane | shfl.sync.idx.b32 y, x, lane, 31, m; | k.shfl(x, lane, 31, m, mode="idx")
__shfl_up_sync shfl_up | m x by | shfl.sync.up.b32 y, x, by, 0, m; | k.shfl(x, by, 0, m, mode="up")
__shfl_down_sync shfl_down | m x by | shfl.sync.down.b32 y, x, by, 31, m; | k.shfl(x, by, 31, m, mode="down")
__shfl_xor_sync shfl_xor | m x by | shfl.sync.bfly.b32 y, x, by, 31, m; | k.shfl(x, by, 31, m, mode="bfly")
__all_sync | m c | vote.sync.all.pred y, c, m; | k.vote(c, m, mode="all")
__any_sync | m c | vote.sync.any.pred y, c, m; | k.vote(c, m, mode="any")
__ballot_sync ballot | m c | vote.sync.ballot.b32 y, c, m; | k.vote(c, m, ballot=True)
__activemask | | activemask.b32 y; | k.activemask()
__popc | x | popc.b32 y, x; | k.popc(x)
__clz | x | clz.b32 y, x; | k.clz(x)
__brev | x | brev.b32 y, x; | k.brev(x)
__ldg | p | ld.global.nc.f32 y, [p]; | k.load(p, nc=True)
fmaf __fmaf_rn | a b x | fma.rn.f32 y, a, b, x; | k.fma(a, b, x)
fmaxf maximum | a b | max.f32 y, a, b; | k.max(a, b)
fminf minimum | a b | min.f32 y, a, b; | k.min(a, b)
fabsf fabs absolute | x | abs.f32 y, x; | k.abs(x)
sqrtf | x | sqrt.rn.f32 y, x; | k.sqrt(x)
rsqrtf | x | rsqrt.approx.f32 y, x; | k.rsqrt(x)
__fdividef | a b | div.approx.f32 y, a, b; | k.div(a, b, approx=True)
exp2f | x | ex2.approx.f32 y, x; | k.exp2(x)
expf __expf exp | x | mul.f32 t, x, 1.4426950408889634; ex2.approx.f32 y, t; | k.exp2(x * 1.4426950408889634)
log2f | x | lg2.approx.f32 y, x; | k.log2(x)
logf __logf log | x | lg2.approx.f32 t, x; mul.f32 y, t, 0.6931471805599453; | k.log2(x) * 0.6931471805599453
sinf __sinf | x | sin.approx.f32 y, x; | k.sin(x)
cosf __cosf | x | cos.approx.f32 y, x; | k.cos(x)
powf pow | a x | lg2.approx.f32 t, a; mul.f32 t, t, x; ex2.approx.f32 y, t; | k.exp2(k.log2(a) * x)
floorf floor | x | cvt.rmi.f32.f32 y, x; | k.cvt(f32, x, rnd="rmi")
ceilf ceil | x | cvt.rpi.f32.f32 y, x; | k.cvt(f32, x, rnd="rpi")
rintf rint round | x | cvt.rni.f32.f32 y, x; | k.cvt(f32, x, rnd="rni")
truncf trunc | x | cvt.rzi.f32.f32 y, x; | k.cvt(f32, x, rnd="rzi")
tanhf | x | tanh.approx.f32 y, x; | k.tanh(x)
clock | | mov.u32 y, %clock; | k.clock
clock64 | | mov.u64 y, %clock64; | k.clock64
__trap | | trap; | k.trap()
assert | c | @!c trap; | with k.if_(~c): k.trap()
for range | n | | with k.loop(n) as i:
elif else_if if_else endif end_if | | | with k.else_():
const constant literal | x | mov.f32 y, x; | k.mov(x, f32)
zeros empty fill | count | | k.vars(f32, count, 0.0)
return | | ret; | k.ret()
cast convert astype | x type | | k.cvt(type, x)
where | c a b | | k.select(c, a, b)
reg register declare let | type | | k.var(type, 0)
__shared__ shared_array shared_memory alloc_shared | type count | | k.shared(type, count)
goto label | name | | with k.if_(c):
print printf | | | pl.debug(f, grid, block, ...)
"""
LINES: dict[str, Lines] = {}
for _line in _TABLE.splitlines():
    _names, _takes, _ptx, _python = (part.strip() for part in _line.split("|"))
    for _name in _names.split():
        LINES[_name.strip("_").replace("_", "").lower()] = Lines(tuple(_takes.split()), _ptx, _python)


def lines(name: str) -> Lines | None:
    """What to write for a name, in CUDA's spelling or another one (`__syncthreads`, `syncthreads`, `atomic_add`)."""
    return LINES.get(name.strip("_").replace("_", "").lower())
