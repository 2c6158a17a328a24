"""Video instructions: arithmetic on bytes, half-words and words, chosen by selectors on the operands (`%r1.b2`).

The scalar ones take one part of each operand, those that end in 2 or 4 two half-words or four bytes side by side. On
the emulator each is a row of ordinary instructions (see `ptxlab.emulate.program.video`); so it is on GPUs since
sm_50, but for a few.
"""

from __future__ import annotations

from typing import Any

from ptxlab.isa.actions import Action
from ptxlab.isa.compare import ORDERED
from ptxlab.isa.table import op

BOTH = ("u32", "s32")
_SAYS = {
    "vadd": "Adds", "vsub": "Subtracts", "vabsdiff": "Gives the distance between", "vmin": "Gives the smaller of",
    "vmax": "Gives the larger of", "vavrg": "Averages, rounded away from zero,",
}  # fmt: skip
_PARTS = " parts of a and b: bytes, half-words or words, as selectors say (`%r1.b0`). "
_MERGED = "With a selector on d the result goes to that part of c."
_COMBINED = "The result is then combined with c."
_SINCE: dict[str, Any] = {"does": Action.VIDEO, "version": (2, 0), "sm": 20}
_SIDE: dict[str, Any] = {"does": Action.VIDEO, "version": (3, 0), "sm": 30}
_OP2 = ("add", "min", "max")
_TYPES: dict[str, Any] = {"dtype": BOTH, "atype": BOTH, "btype": BOTH}

for _name in ("vadd", "vsub", "vabsdiff", "vmin", "vmax"):
    op(f"{_name}.dtype.atype.btype{{.sat}}  d:b32, a:b32, b:b32{{, c:b32}}", _SAYS[_name] + _PARTS + _MERGED, **_TYPES,
       **_SINCE)  # fmt: skip
    op(f"{_name}.dtype.atype.btype{{.sat}}.op2  d:b32, a:b32, b:b32, c:b32", _SAYS[_name] + _PARTS + _COMBINED,
       op2=_OP2, **_TYPES, **_SINCE)  # fmt: skip
for _name, _way in (("vshl", "left"), ("vshr", "right")):
    op(f"{_name}.dtype.atype.u32{{.sat}}.mode  d:b32, a:b32, b:b32{{, c:b32}}", f"Shifts a part of a {_way}. "
       + _MERGED, dtype=BOTH, atype=BOTH, mode=("clamp", "wrap"), fixed={"btype": "u32"}, **_SINCE)  # fmt: skip
    op(f"{_name}.dtype.atype.u32{{.sat}}.mode.op2  d:b32, a:b32, b:b32, c:b32", f"Shifts a part of a {_way}. "
       + _COMBINED, dtype=BOTH, atype=BOTH, mode=("clamp", "wrap"), op2=_OP2, fixed={"btype": "u32"},
       **_SINCE)  # fmt: skip
op("vset.atype.btype.cmp  d:b32, a:b32, b:b32{, c:b32}", "Compares" + _PARTS + "1 where it holds. " + _MERGED,
   atype=BOTH, btype=BOTH, cmp=ORDERED, fixed={"dtype": "u32"}, **_SINCE)  # fmt: skip
op("vset.atype.btype.cmp.op2  d:b32, a:b32, b:b32, c:b32", "Compares" + _PARTS + "1 where it holds. " + _COMBINED,
   atype=BOTH, btype=BOTH, cmp=ORDERED, op2=_OP2, fixed={"dtype": "u32"}, **_SINCE)  # fmt: skip
_PRODUCT = """Multiplies parts of a and b and adds c; a minus before an operand negates the product or c. `.shr7` and
   `.shr15` scale the result."""
op("vmad.dtype.atype.btype{.sat}{.scale}  d:b32, a:b32, b:b32, c:b32", _PRODUCT, scale=("shr7", "shr15"),
   fixed={"product": True}, **_TYPES, **_SINCE)  # fmt: skip
op("vmad.dtype.atype.btype.po{.sat}{.scale}  d:b32, a:b32, b:b32, c:b32", _PRODUCT + " `.po` adds one more.",
   scale=("shr7", "shr15"), fixed={"product": True}, **_TYPES, **_SINCE)  # fmt: skip

for _count, _what in ((2, "half-words"), (4, "bytes")):
    _of = f" {_what} of a and b, {_count} side by side. "
    for _name in ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"):
        op(f"{_name}{_count}.dtype.atype.btype{{.sat}}  d:b32, a:b32, b:b32, c:b32", _SAYS[_name] + _of
           + "The others are those of c.", fixed={"count": _count}, **_TYPES, **_SIDE)  # fmt: skip
        op(f"{_name}{_count}.dtype.atype.btype.add  d:b32, a:b32, b:b32, c:b32", _SAYS[_name] + _of
           + "The results are added to c.", fixed={"count": _count}, **_TYPES, **_SIDE)  # fmt: skip
    op(f"vset{_count}.atype.btype.cmp  d:b32, a:b32, b:b32, c:b32", "Compares" + _of + "1 where it holds.",
       atype=BOTH, btype=BOTH, cmp=ORDERED, fixed={"count": _count, "dtype": "u32"}, **_SIDE)  # fmt: skip
    op(f"vset{_count}.atype.btype.cmp.add  d:b32, a:b32, b:b32, c:b32", "Compares" + _of + "Counts where it holds.",
       atype=BOTH, btype=BOTH, cmp=ORDERED, fixed={"count": _count, "dtype": "u32"}, **_SIDE)  # fmt: skip
