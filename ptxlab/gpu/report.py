"""What an assembler printed, read: registers, spills and memory of every function, and each error at its PTX line."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass

from ptxlab.names import in_source_names

RESERVED_SHARED = 1024
"""Bytes that the linker counts for the system on sm_90 (on no other), beside the shared memory that is declared."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What the assembler made of one function. Sizes in bytes; `registers` per thread (0 for what is not a kernel).

    `shared_bytes` is the static shared memory that the kernel and what it calls declare, `barriers` the named barriers
    in use, `parameter_bytes` constant bank 0 (the parameters, and 352 or 528 bytes of the driver's before them).
    """

    name: str
    kernel: bool
    registers: int = 0
    stack_bytes: int = 0
    spill_store_bytes: int = 0
    spill_load_bytes: int = 0
    shared_bytes: int = 0
    barriers: int = 0
    parameter_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Complaint:
    """One error in the assembler's own words. `line` is the 1-based PTX line, 0 where it names none."""

    line: int
    words: str


_ENTRY = re.compile(r"Compiling entry function '([^']+)'")
_PROPERTIES = re.compile(r"Function properties for (?P<quote>'?)(?P<name>[^'\s]+)(?P=quote)\s*:?$")
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_COMPILED = re.compile(r"Used (\d+) registers(?:, used (\d+) barriers)?(?:.*?, (\d+) bytes smem)?")
_LINKED = re.compile(r"used (\d+) registers, .*?(\d+) stack, (\d+) bytes smem(?:, (\d+) bytes cmem\[0\])?")


def read_usage(log: str, sm: int, sections: Mapping[str, int]) -> tuple[Usage, ...]:
    """The functions of the log, kernels first, each in the order of the log; `sm` is the architecture's number (90),
    `sections` the sizes of the cubin's, for what only the linker says."""
    found: dict[str, dict[str, int]] = {}
    entries: list[str] = []
    name = ""
    for line in log.splitlines():
        if match := _ENTRY.search(line):
            entries.append(match[1])
        elif match := _PROPERTIES.search(line):
            name = match["name"]
            found.setdefault(name, {})
        elif match := _FRAME.search(line):
            stack, stores, loads = map(int, match.groups())
            found[name] |= {"stack_bytes": stack, "spill_store_bytes": stores, "spill_load_bytes": loads}
        elif match := _LINKED.search(line):
            shared = int(match[3])
            shared -= RESERVED_SHARED if sm == 90 and shared >= RESERVED_SHARED else 0
            found[name] |= {"registers": int(match[1]), "shared_bytes": shared, "parameter_bytes": int(match[4] or 0)}
            found[name]["stack_bytes"] = max(int(match[2]), found[name].get("stack_bytes", 0))
        elif match := _COMPILED.search(line):  # what the linker says of it afterwards, if there is one, takes its place
            registers, barriers, shared = (int(number or 0) for number in match.groups())
            found[name] |= {"registers": registers, "barriers": barriers, "shared_bytes": shared}
            found[name]["parameter_bytes"] = sections.get(f".nv.constant0.{name}", 0)
    kernels = [Usage(name, True, **found[name]) for name in reversed(entries)]  # ptxas compiles them last to first
    return (*kernels, *(Usage(name, False, **sizes) for name, sizes in found.items() if name not in entries))


_MEMORY = re.compile(r"^(?:ptxas )?info\s*: (\d+) bytes gmem", re.M)


def read_memory(log: str) -> int:
    """Bytes of `.global` variables that the module declares."""
    found = _MEMORY.findall(log)  # of nvJitLink, the linker's comes last
    return int(found[-1]) if found else 0


def section_sizes(cubin: bytes | bytearray) -> dict[str, int]:
    """The sections of a cubin (an ELF file) with sizes in bytes: `.text.k`, `.nv.constant3` (the `.const` data)."""
    (start,) = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names_at = struct.unpack_from("<HHH", cubin, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", cubin, start + size * n) for n in range(count)]
    names = headers[names_at][4]
    return {cubin[names + at : cubin.index(0, names + at)].decode(): length for at, _, _, _, _, length in headers}


_WARNING = re.compile(
    r"^(?:ptxas )?(?:application ptx input, (line \d+); )?"
    r"(?:warning\s*: +|info\s*: +\(C\d+\) (?=Potential Performance Loss))(.+)$",
    re.MULTILINE,
)


def read_warnings(log: str) -> tuple[str, ...]:
    """The warnings of the log, in the assembler's words, with the PTX line where it names one; and where it says that
    it has made code slow, such as products of `wgmma` that it serialized, though it calls that information."""
    out = []
    for match in _WARNING.finditer(log):
        out.append(in_source_names(f"{match[1]}: {match[2]}" if match[1] else match[2]))
    return tuple(out)


_AT_LINE = re.compile(r"^ptxas application ptx input, line (\d+); (?:error|fatal)\s*: (.*)$")
_WITHOUT = re.compile(r"^(?:ptxas )?(?:error|fatal)\s*: (.*?)(?: on line (\d+))?$")
_ECHO = ("Ptx assembly aborted due to errors",)


def read_complaints(log: str) -> tuple[Complaint, ...]:
    """Every error of an error log, in order and once, without the closing lines that only say that there were some."""
    out: list[Complaint] = []
    for line in log.splitlines():
        if match := _AT_LINE.match(line):
            complaint = Complaint(int(match[1]), match[2].strip())
        elif match := _WITHOUT.match(line):
            complaint = Complaint(int(match[2] or 0), match[1].strip())
        else:
            continue
        if complaint.words not in _ECHO and complaint not in out:
            out.append(complaint)
    return tuple(out)
