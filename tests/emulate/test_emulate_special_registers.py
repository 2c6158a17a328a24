"""Special registers that have one value on the emulator, on both engines."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import kernel, run

from ptxlab.isa import SPECIAL
from ptxlab.isa import types as isa_types

ONE = {"%nsmid", "%cluster_nctarank", "%cluster_nctaid.x", "%cluster_nctaid.y", "%cluster_nctaid.z", "%nwarpid"}
ONE |= {f"%{name}.{axis}" for name in ("nctaid", "nclusterid") for axis in "xyz"} | {"%ntid.y", "%ntid.z"}
OTHERS = ("%clock", "%globaltimer", "%lanemask", "%laneid", "%tid.x", "%ntid.x", "smem_size")
WORKSPACE = ("%envreg1", "%envreg2")
"""The address of what a cooperative grid synchronises by."""


def test_every_register_is_read(engine: str) -> None:
    names = [
        n for n, r in SPECIAL.items() if r.type != "pred" and n not in WORKSPACE and not any(m in n for m in OTHERS)
    ]
    lines = []
    for k, name in enumerate(names):
        if isa_types.width(SPECIAL[name].type) == 64:
            lines.append(f"mov.b64 %rd5, {name}; st.global.u64 [%rd1+{8 * k}], %rd5;")
        else:
            lines.append(f"mov.b32 %r2, {name}; cvt.u64.u32 %rd5, %r2; st.global.u64 [%rd1+{8 * k}], %rd5;")
    text = kernel("    " + "\n    ".join(lines)).replace("sm_80", "sm_90")
    out, *_ = run(engine, text, x=np.zeros(1, np.uint64), out=np.full(len(names), 99, np.uint64))
    assert dict(zip(names, out, strict=True)) == {name: 1 if name in ONE else 0 for name in names}


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_what_the_system_has_of_shared_memory(arch: str, engine: str) -> None:
    """A kernel that asks for its place may use it, as cooperative groups do; no array lies there."""
    body = """
    .shared .align 4 .b8 own[2048];
    mov.b32 %r2, %reserved_smem_offset_1; st.shared.u32 [%r2], 7;
    mov.u32 %r3, own; st.shared.u32 [%r3], 1;
    st.shared.u32 [own+2044], 2;
    ld.shared.u32 %r4, [%r2];
    mov.b32 %r5, %reserved_smem_offset_end; sub.u32 %r6, %r3, %r5;
    st.global.v4.u32 [%rd1], {%r2, %r3, %r4, %r6};
    """
    text = kernel(body).replace("sm_80", arch)
    assert f".target {arch}" in text
    out, *_ = run(engine, text, x=np.zeros(1, np.uint32), out=np.zeros(4, np.uint32))
    assert out.tolist() == [512, 1024, 7, 0]
