"""What an H100 takes and what it stops at, asked one by one, beside what the emulator says: rules of which the PTX
manual does not speak, or not clearly."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ptxlab as pl
from ptxlab.errors import DeviceFault

# -- from a block to the shared memory of its cluster ------------------------------------------------------------------

INTO_CLUSTER = """
.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out){directive}
{{
    .shared .align 128 .b8 tile[1024];
    .shared .align 8 .b64 bar;
    .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .pred %p<6>;
    mov.u32 %r0, %tid.x; mov.u32 %r1, tile; mov.u32 %r2, bar; mov.u32 %r3, %ctaid.x;
    setp.ne.u32 %p0, %r0, 0;
    setp.ne.u32 %p1, %r3, 0;
    setp.ne.u32 %p2, %r3, {sender};
    mad.lo.u32 %r5, %r0, 4, %r1;
    add.u32 %r6, %r0, 1000;
    st.shared.u32 [%r5], %r0; st.shared.u32 [%r5+512], %r6;
    @!%p0 mbarrier.init.shared.b64 [bar], 1;
    fence.proxy.async;
    fence.mbarrier_init.release.cluster;
    bar.sync 0;
    {sync}
    @%p1 bra SEND;
    @!%p0 mbarrier.arrive.expect_tx.shared.b64 %rd1, [bar], 128;
    bar.warp.sync -1;
SEND:
    {sync}
    @%p2 bra SENT;
    mov.u32 %r7, %r1;
    mov.u32 %r8, %r2;
    {mapa}
    mad.lo.u32 %r9, %r0, 4, %r7;
    add.u32 %r10, %r1, 512;
    cvt.u64.u32 %rd2, %r9;
    cvt.u64.u32 %rd3, %r8;
    cvta.shared.u64 %rd2, %rd2;
    cvta.shared.u64 %rd3, %rd3;
    {op}
SENT:
    @%p1 bra DONE;
WAIT:
    mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0;
    @!%p3 bra WAIT;
    ld.shared.u32 %r11, [%r5];
    ld.param.u64 %rd4, [out];
    mad.wide.u32 %rd4, %r0, 4, %rd4; st.global.u32 [%rd4], %r11;
DONE:
    {sync}
    ret;
}}
"""
COUNTED = "mbarrier::complete_tx::bytes"
OPERATIONS = {
    "st.async": f"st.async.shared::cluster.{COUNTED}.b32 [%r9], %r6, [%r8];",
    "st.async generic": f"st.async.{COUNTED}.b32 [%rd2], %r6, [%rd3];",
    "red.async": f"red.async.relaxed.cluster.shared::cluster.{COUNTED}.add.u32 [%r9], %r6, [%r8];",
    "bulk": f"@!%p0 cp.async.bulk.shared::cluster.shared::cta.{COUNTED} [%r7], [%r10], 128, [%r8];",
    "bulk reduce": f"@!%p0 cp.reduce.async.bulk.shared::cluster.shared::cta.{COUNTED}.add.u32 [%r7], [%r10], 128, "
    "[%r8];",
}
LAUNCHES: dict[str, tuple[str, dict[str, Any], int]] = {
    "no cluster": ("", {}, 1),
    "no cluster, 2 blocks": ("", {}, 2),
    ".reqnctapercluster 1": (" .reqnctapercluster 1, 1, 1", {}, 1),
    ".reqnctapercluster 2": (" .reqnctapercluster 2, 1, 1", {}, 2),
    ".maxclusterrank 2": (" .maxclusterrank 2", {}, 1),
    "attribute 1": ("", {"cluster": 1}, 1),
    "attribute 2": ("", {"cluster": 2}, 2),
}
CLUSTERS = {
    ("st.async", "stops"): "no cluster, plain; no cluster, mapa; no cluster, 2 blocks, plain; .maxclusterrank 2, plain",
    ("st.async", "runs"): "attribute 1, plain; attribute 2, plain; attribute 2, mapa; attribute 2, other block; "
    ".reqnctapercluster 1, plain; .reqnctapercluster 1, mapa; .reqnctapercluster 2, plain; attribute 1, mapa",
    ("st.async generic", "stops"): "no cluster, plain",
    ("st.async generic", "runs"): "attribute 1, plain; attribute 2, plain",
    ("red.async", "stops"): "no cluster, plain; no cluster, mapa",
    ("red.async", "runs"): "attribute 1, plain; attribute 2, plain; attribute 2, mapa; attribute 2, other block",
    ("bulk", "stops"): "no cluster, plain; no cluster, mapa",
    ("bulk", "runs"): "attribute 1, plain; attribute 2, plain; attribute 2, mapa; attribute 2, other block",
    ("bulk reduce", "stops"): "no cluster, plain; no cluster, mapa",
    ("bulk reduce", "runs"): "attribute 1, plain; attribute 2, plain; attribute 2, mapa; attribute 2, other block",
}
"""By operation and verdict: the launches and addresses of which it is the H100's."""
EACH = [(op, launch, verdict) for (op, verdict), launches in CLUSTERS.items() for launch in launches.split("; ")]


@pytest.mark.sweep(4)
@pytest.mark.parametrize(("op", "launch", "verdict"), EACH)
def test_what_goes_into_the_cluster(device: str, op: str, launch: str, verdict: str) -> None:
    launch, _, address = launch.rpartition(", ")
    directive, options, blocks = LAUNCHES[launch]
    several = launch in ("attribute 2", ".reqnctapercluster 2")
    text = INTO_CLUSTER.format(
        directive=directive,
        op=OPERATIONS[op],
        sender=int(address == "other block"),
        mapa="" if address == "plain" else "".join(f"mapa.shared::cluster.u32 %r{k}, %r{k}, 0;" for k in (7, 8)),
        sync="barrier.cluster.arrive; barrier.cluster.wait;" if several else "",
    )
    out = np.zeros(32, np.uint32)
    if verdict == "runs":
        pl.launch(text, blocks, 32, out, device=device, **options)
        assert out.tolist() == (np.arange(32) * ("red" in op) + np.arange(1000, 1032)).tolist()
        return
    with pytest.raises(DeviceFault) as stopped:
        pl.launch(text, blocks, 32, out, device=device, **options)
    opcode = re.sub("^@!%p0 ", "", OPERATIONS[op]).split()[0]
    line_number = 1 + next(k for k, x in enumerate(text.splitlines()) if opcode in x)
    assert str(stopped.value).splitlines() == [
        f"trap: {opcode}: this launch has no clusters; a GPU stops there with an illegal instruction, even where the "
        "block itself is meant",
        "  at:     block (0, 0, 0), thread (0, 0, 0)",
        f"  ptx:    k, line {line_number}: {OPERATIONS[op]}",
        "  hint:   a block may be a cluster of its own; write:  pl.launch(..., cluster=(1, 1, 1)), or "
        ".reqnctapercluster 1",
    ]


# -- tiles -------------------------------------------------------------------------------------------------------------

TILE = """
.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128])
{{
    .shared .align 1024 .b8 tile[4096];
    .shared .align 8 .b64 bar;
    .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .pred %p<6>; .reg .b16 %h<4>;
    mov.u32 %r1, tile; mov.u32 %r2, bar; mov.b64 %rd1, map;
    cvta.param.u64 %rd1, %rd1;
    mov.u16 %h0, 0; mov.u32 %r6, 0x01010101;
    {fill}
    mbarrier.init.shared.b64 [bar], 1;
    fence.proxy.async;
    {op}
    ret;
}}
"""
WAIT = "WAIT: mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0; @!%p3 bra WAIT;"
GROUP = "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
TILES = {
    "2d load float32": ("0; 4; -4; 200; 4, swizzle 64; -4 -1; 0 -1, fill nan", "1; 2; 3; -1; 63; 201; 1, swizzle 64"),
    "2d load float16": ("8", "1; 2; 4"),
    "2d load uint8": ("16", "4; 8"),
    "2d load float64": ("2", "1"),
    "2d store float32": ("4; 200; 0 9; 0, fill nan", "1; -4; -16; 0 -1; 0 -4; 0 -1, swizzle 64"),
    "2d add float32": ("4; 200; 0 9; 60 7, fill nan", "1; -4; 0 -1; 0 -4"),
    "2d prefetch float32": ("4", "1"),
    "1d load float32": ("4", "1"),
    "1d prefetch float32": ("4", "1"),
    "3d load float32": ("4, steps 2", "1, steps 2"),
    "3d im2col float32": ("4", "1"),
    "2d xor int64": ("", "0"),
    "2d xor uint64": ("0", ""),
    "2d xor int32": ("0", ""),
    "2d and int64": ("", "0"),
    "2d and uint64": ("0", ""),
    "2d and int32": ("0", ""),
    "2d or int64": ("", "0"),
    "2d or uint64": ("0", ""),
    "2d min int64": ("0", ""),
    "2d min uint64": ("0", ""),
    "2d min int32": ("0", ""),
    "2d min float32": ("", "0"),
    "2d max int64": ("0", ""),
    "2d max uint64": ("0", ""),
    "2d add int64": ("", "0"),
    "2d add uint64": ("0", ""),
    "2d add int32": ("0", ""),
    "2d add float64": ("0", ""),
    "2d min float64": ("", "0"),
    "2d add uint8": ("", "0"),
    "2d add uint16": ("", "0"),
    "2d add float16": ("0", ""),
    "2d inc int32": ("", "0"),
    "2d inc uint32": ("0", ""),
    "2d dec int32": ("", "0"),
    "2d load bfloat16": ("0 -1, fill nan", ""),
    "1d store float32": ("64", "-4"),
    "1d add float32": ("", "-4"),
    "3d store float32": ("0 0 4; 0, steps 2", "0 -1; 0 0 -1"),
    "3d add float32": ("0, steps 2", ""),
    "3d im2col-store float32": ("0", "0 -1; 0 0 -1; -4; 0 -1, corner -1"),
    "3d im2col-add float32": ("", "0 -1"),
}
"""By what is done: the places where it runs, and those where the H100 stops."""
PLACES = [
    (what, place, verdict)
    for what, verdicts in TILES.items()
    for verdict, places in zip(("runs", "stops"), verdicts, strict=True)
    for place in places.split("; ")
    if place
]


@pytest.mark.sweep(5)
@pytest.mark.parametrize(("what", "at", "verdict"), PLACES)
def test_tiles(device: str, what: str, at: str, verdict: str) -> None:
    numbers, _, more = at.partition(", ")
    (dim, does, dtype), place = what.split(" "), numbers.split(" ")
    rank, type_ = int(dim[0]), np.dtype(getattr(ml_dtypes, dtype, dtype))
    im2col, does = does.startswith("im2col"), does.removeprefix("im2col-")
    row, options = 64 // type_.itemsize, dict[str, Any]()
    name, _, value = more.partition(" ")
    if name in ("steps", "fill", "swizzle"):
        options[name] = (1, int(value), 1) if name == "steps" else value if name == "fill" else int(value)
    if im2col:
        options["lower"] = options["upper"] = (int(value or 0),)
    array = np.zeros((*{1: (), 2: (9,), 3: (4, 7)}[rank], 4 * row), type_)
    box = (8, row) if im2col else (*{1: (), 2: (4,), 3: (2, 4)}[rank], row)
    where = f"[%rd1, {{{', '.join([*place, '0', '0'][:rank])}}}]"
    if does in ("load", "im2col"):
        bytes_ = int(np.prod(box)) * type_.itemsize // (2 if "steps" in options else 1)
        opcode = f"cp.async.bulk.tensor.{dim}.shared::cluster.global.{'im2col' if im2col else 'tile'}.{COUNTED}"
        op = f"mbarrier.arrive.expect_tx.shared.b64 %rd2, [bar], {bytes_}; {opcode} [%r1], {where}, [%r2]"
        op += f"{', {%h0}' if im2col else ''}; {WAIT}"
    elif does == "prefetch":
        op = f"cp.async.bulk.prefetch.tensor.{dim}.L2.global.tile {where};"
    else:
        operation, mode = "" if does == "store" else f".{does}", "im2col_no_offs" if im2col else "tile"
        opcode = f"cp.{'reduce.' if operation else ''}async.bulk.tensor.{dim}.global.shared::cta{operation}.{mode}"
        op = f"{opcode}.bulk_group {where}, [%r1]; {GROUP}"
    text = TILE.format(op=op, fill=" ".join(f"st.shared.u32 [tile+{4 * k}], %r6;" for k in range(64)))
    given = pl.TensorMap(array, box, **options)
    if verdict == "runs":
        pl.launch(text, 1, 1, given, device=device)
        return
    assert verdict == "stops"
    with pytest.raises(
        DeviceFault, match=r"multiple of 16 bytes in|no such reduction|must not begin at a negative coordinate"
    ):
        pl.launch(text, 1, 1, given, device=device)
