"""Struct parameters that begin with a pointer: it becomes a parameter of its own, which takes an array."""

from __future__ import annotations

import re

from ptxlab.errors import CompileError


def split(ptx: str, kernel: str, *, first: int = 0) -> str:
    """PTX in which each parameter `.b8 x[n]` that begins with a pointer is `.u64 x` and `.b8 x_rest[n - 8]`.

    first: how many parameters stay as they are. So does one of fewer than 8 bytes, and one that is read at its start
    as anything but 64 bits; one whose address is taken is refused.
    """
    entry = re.search(rf"\.entry\s+{re.escape(kernel)}\s*\((.*?)\)", ptx, re.S)
    if entry is None:
        raise CompileError(f"the compiler wrote no kernel {kernel}")
    for align, name, size in re.findall(
        r"\.param\s+\.align\s+(\d+)\s+\.b8\s+([\w$]+)\[(\d+)\]", ",".join(entry[1].split(",")[first:])
    ):
        uses = re.findall(rf"^\s*(\S+)[ \t]+[^;\n]*\[{re.escape(name)}(?:\+(\d+))?\]", ptx, re.M)
        at_start = {opcode for opcode, at in uses if int(at or 0) < 8}
        if len(re.findall(rf"\b{re.escape(name)}\b", ptx)) > len(uses) + 1:
            raise CompileError(f"{kernel}: the address of the struct {name} is taken; such a parameter takes bytes")
        if int(size) < 8 or not at_start <= {"ld.param.u64", "ld.param.b64", "ld.param.s64"}:
            continue
        rest = f",\n\t.param .align {align} .b8 {name}_rest[{int(size) - 8}]" if int(size) > 8 else ""
        declared = rf"\.param\s+\.align\s+{align}\s+\.b8\s+{re.escape(name)}\[{size}\]"
        ptx = re.sub(declared, f".param .u64 {name}{rest}", ptx, count=1)
        for at in range(8, int(size)):
            ptx = ptx.replace(f"[{name}+{at}]", f"[{name}_rest+{at - 8}]")
    return ptx
