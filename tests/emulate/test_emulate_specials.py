"""Special registers that have one value on the CPU machine, on both engines."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import ENGINES, kernel, run

from ptxlab.isa import SPECIAL
from ptxlab.isa import types as isa_types

ONE = {"%nsmid", "%cluster_nctarank", "%cluster_nctaid.x", "%cluster_nctaid.y", "%cluster_nctaid.z", "%nwarpid"}
ONE |= {f"%{name}.{axis}" for name in ("nctaid", "nclusterid") for axis in "xyz"} | {"%ntid.y", "%ntid.z"}
OTHERS = ("%clock", "%globaltimer", "%lanemask", "%laneid", "%tid.x", "%ntid.x", "smem_size")
WORKSPACE = ("%envreg1", "%envreg2")
"""The address of what a cooperative grid synchronises by."""


@pytest.mark.parametrize("engine", ENGINES)
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
    text = kernel("    " + "\n    ".join(lines))
    out, *_ = run(engine, text, x=np.zeros(1, np.uint64), out=np.full(len(names), 99, np.uint64))
    assert dict(zip(names, out, strict=True)) == {name: 1 if name in ONE else 0 for name in names}
