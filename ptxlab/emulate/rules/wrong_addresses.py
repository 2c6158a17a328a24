"""Why an invalid access has the address that it has: an address of another state space, the address of a parameter in
place of its value, a 32-bit number that wrapped. What is said is either read off the number itself (the windows of
generic addresses, arrays), or computed again from the kernel's arguments with the same result."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ptxlab.emulate.program.addresses import LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, WINDOW_SIZE
from ptxlab.emulate.program.flat_program import Mem, Param, Reg, Source
from ptxlab.emulate.program.pointers import DEPOT
from ptxlab.emulate.rules.address_arithmetic import Origin, origins, wrapped
from ptxlab.isa import types
from ptxlab.isa.actions import Action
from ptxlab.isa.convert import PEER
from ptxlab.names import source_name

if TYPE_CHECKING:
    from ptxlab.emulate.rules.warp_positions import StoppedThread
    from ptxlab.emulate.runtime.memory import Allocation

WINDOWS = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW, "param": PARAM_WINDOW}
MEMORY = {space: space for space in ("global", "shared", "local", "param")} | {"cluster": "shared", "const": "constant"}
"""What the memory of a space is called."""
LARGEST = 1 << 32
"""Addresses in shared, local and parameter memory are smaller."""


class Explanation(NamedTuple):
    """text: what the address is; hint: what to write. adds: it is said after where the address lies, not instead."""

    text: str = ""
    hint: str = ""
    adds: bool = False


class WrongAddress:
    """An access at an address that does not lie in the memory that it is meant for. space: as in `Code.space`; operand:
    the address, None where it is not known which."""

    def __init__(self, at: StoppedThread, space: str, address: int, operand: Source | None) -> None:
        self.at, self.space, self.address = at, space, address
        self.register = operand.base if isinstance(operand, Mem) else operand
        self.offset = operand.offset if isinstance(operand, Mem) else 0
        self.ways = origins(at.program, operand, at.code.index)

    def explained(self) -> Explanation:
        """What it is, if that is certain."""
        number = self._of_ldg() or self._of_a_window() or self._of_an_array() or self._of_a_block()
        return number or self._of_a_symbol() or self._wrapped() or Explanation()

    def array(self) -> Allocation | None:
        """The array that the address is computed from, if it is one only."""
        found = {
            tuple(a.address for a in self.at.memory.live() if any(a.address <= self._held(o) < a.end for o in way))
            for way in self.ways
        }
        (only,) = found if len(found) == 1 else [()]
        return self.at.memory.find(only[0]) if len(only) == 1 else None

    def _held(self, origin: Origin) -> int:
        """The address in global memory that an argument, or a variable's address, is; 0 where it is none."""
        if origin.space == "argument":
            return int.from_bytes(self.at.launch.params[origin.value : origin.value + 8], "little")
        return origin.value if origin.space in ("global", "const") else 0

    def argument(self) -> str:
        """`; computed from the argument 'x', which is 0x10`, if it is from that alone, and that lies in no array."""
        wide = [p for p in self.at.program.params if p.size == 8 and not p.array]
        ways = {frozenset(p for p in wide if Origin("argument", p.offset) in way) for way in self.ways}
        (found,) = ways if len(ways) == 1 else [()]
        (p,) = found if len(found) == 1 else [None]
        held = self._held(Origin("argument", p.offset)) if p is not None else 0
        if p is None or any(a.address <= held <= a.end for a in self.at.memory.live(freed=True)):
            return ""
        return f"; computed from the argument {self._named(p)!r}, which is {f'{held:#x}' if held else '0 (None)'}"

    def _named(self, p: Param) -> str:
        """What the caller or the source calls a parameter."""
        return self.at.memory.arguments.get(p.offset) or source_name(p.name, self.at.program.name)

    def _variable(self) -> Origin | None:
        """The variable from whose address it is computed, whichever way, if that is certain."""
        variables = {
            frozenset(o for o in way if o.space != "argument" or self.at.memory.find(self._held(o)))
            for way in self.ways
        }
        (only,) = variables if len(variables) == 1 else [()]
        (found,) = only if len(only) == 1 else [None]
        return found

    def array_in(self, space: str, address: int) -> tuple[str, int, int] | None:
        """The array of shared or local memory that an address outside of it is meant for: name, start and bytes. That
        from whose address it is computed, else the last one before it."""
        variable = self._variable()
        named = self._names(space)
        meant = [v for v in named if variable == Origin(space, v[1])]
        before = [v for v in named if v[1] <= address]
        return meant[0] if len(meant) == 1 else max(before, key=lambda v: v[1]) if before else None

    def _names(self, space: str) -> list[tuple[str, int, int]]:
        """The arrays of shared or local memory: name, start and bytes."""
        program = self.at.program
        named = program.shared_names if space == "shared" else program.local_names
        return [v for v in named if not v[0].startswith(DEPOT)]

    @property
    def element(self) -> int:
        """The bytes of an element that the instruction accesses, 0 where it has no type."""
        type_ = str(self.at.code.form.type)
        return max(types.width(type_) // 8, 1) if type_ in types.WIDTH and self.at.code.accesses else 0

    # -- what the number says

    def _of_a_window(self) -> Explanation | None:
        """A generic address, where one of a space is wanted."""
        if self.space == "generic":
            return None
        for space, start in WINDOWS.items():
            offset = self.address - start
            inside = offset < PEER or self.space not in ("shared", "cluster")
            if 0 <= offset < WINDOW_SIZE and (space != "shared" or inside):
                if space == "param":
                    return self._parameter(offset)
                said = f"a generic address of {self._place(space, offset)}"
                if space == self.space or (space, self.space) == ("shared", "cluster"):
                    other = f"; {self._in_space('')} takes the generic one" if self._takes_any() else ""
                    return Explanation(said, f"cvta.to.{space}.u64 gives the address for .{space}{other}")
                return Explanation(said, self._meant(space, generic=True))
        return None

    def _of_an_array(self) -> Explanation | None:
        """An address of global or constant memory, where one of another space is wanted."""
        if self.address < LARGEST:
            return None
        found = self.at.memory.find(self.address)
        if self.space not in ("global", "const", "generic"):
            found = found or self.array()
        if (
            found is None
            or found.space in (self.space, "generic")
            or (self.space, found.space) == ("generic", "global")
        ):
            return None
        where = f"{found.name!r}" if found.name else "an array"
        if found.space == "const window":
            hint = self._meant("const", generic=True)
            if self.space == "const":
                hint = f"cvta.to.const.u64 gives the address for .const; {self._in_space('')} takes the generic one"
            return Explanation(f"a generic address of {where}, which lies in constant memory", hint)
        text = f"an address of {where}, which lies in {MEMORY[found.space]} memory"
        return Explanation(text, self._meant(found.space))

    def _of_ldg(self) -> Explanation | None:
        """`__ldg` of a `__constant__` variable: compilers take the variable's address as it is, or 0 for it."""
        span = self.at.program.spans.get(self.at.code.line)
        line = span.source if span is not None else ""
        named = {source_name(v.name) for v in self.at.program.globals if v.space == "const"}
        if (load := re.search(r"__ld(?:g|c[agsv]|lu)\b", line)) and (found := named & set(re.findall(r"\w+", line))):
            text = f"{load[0]} reads global memory, and {min(found)!r} lies in constant memory"
            return Explanation(text, f"read {min(found)!r} without {load[0]}, as {min(found)}[i]")
        return None

    def _of_a_block(self) -> Explanation | None:
        """An address of another block's shared memory, where one of the own is wanted."""
        rank = self.address // PEER - 1
        if self.space != "shared" or not 0 <= rank < self.at.launch.cluster_blocks:
            return None
        place = self._place("shared", self.address)
        if "'" not in place:
            return None
        text = f"for .shared::cluster this is {place}"
        return Explanation(text, self._meant("shared::cluster"), adds=True)

    def _of_a_symbol(self) -> Explanation | None:
        """A small number, computed from the address of a variable in a space, or of a parameter."""
        variable = self._variable()
        if variable is None or not 0 <= self.address < LARGEST:
            return None
        if variable.space == "param":
            return self._parameter(variable.value)
        if variable.space not in ("shared", "local") or variable.space == MEMORY.get(self.space):
            return None
        said = f"{self._place(variable.space, self.address)}; its address is taken for {self._wanted()}"
        return Explanation(said, self._meant("shared::cluster" if self.address >= PEER else variable.space))

    def _parameter(self, offset: int) -> Explanation | None:
        named = [p for p in self.at.program.params if p.offset <= offset < p.offset + p.size]
        if not named or self.space == "param":
            return None
        text = f"the address of the parameter {self._named(named[0])!r}, not its value"
        return Explanation(text, f"write ld.param.{named[0].type}, which loads its value")

    def _place(self, space: str, offset: int) -> str:
        """`shared memory, byte 4 of 'tile'`."""
        rank, offset = divmod(offset, PEER) if space == "shared" else (0, offset)
        named = [(name, start) for name, start, size in self._names(space) if start <= offset < start + size]
        byte = f", byte {offset - named[0][1]} of {named[0][0]!r}" if named else ""
        return f"{space} memory{byte}" + (f", in the block of rank {rank - 1}" if rank else "")

    # -- what its computation says

    def _wrapped(self) -> Explanation | None:
        """A number that does not fit where the kernel keeps it, on the way to the address."""
        if not isinstance(self.register, Reg):
            return None
        found = wrapped(self.at, self.register, self.address - self.offset)
        if found is None:
            return None
        code, exact, kept, reads = found
        name, place = code.form.opcode, f"({self.at.program.place(code.line)})"
        if reads:
            meant = re.sub(r"[su](?=[0-9]+$)", "s" if exact < 0 else "u", name)
            text = f"{name} {place} takes {exact:,} for {kept:,}"
            kind = "a signed" if exact < 0 else "an unsigned"
            return Explanation(text, f"{meant} in PTX reads the number as it is meant; in C, {kind} type", adds=True)
        width = types.width(code.dest_types[0])
        if code.action in (Action.LOAD, Action.CONVERT):
            array = self.at.memory.find(exact)
            whose = f"the address of {array.name!r}" if array is not None and array.name else f"{exact:,}"
            text = f"{name} {place} keeps the low {width} bits of {whose}"
            return Explanation(text, "keep addresses of global memory in registers of 64 bits", adds=True)
        text = f"a number that wrapped: {name} {place} gives {kept:,} instead of {exact:,}"
        wide = name.replace(".lo.", ".wide.") if ".lo." in name else "after cvt.s64.s32"
        return Explanation(
            text, f"compute it with 64 bits: {wide} in PTX, long long in C" if width < 64 else "", adds=True
        )

    # -- what to write

    def _wanted(self) -> str:
        """The address that the instruction takes."""
        return "a generic one" if self.space == "generic" else f"one in {MEMORY[self.space]} memory"

    def _takes_any(self) -> bool:
        """Whether the instruction has forms for all spaces."""
        code = self.at.code
        reduces = "ld_reduce" in code.form.opcode  # `multimem`, of global memory only
        return (code.properties.plain or code.properties.atomic) and not reduces

    def _meant(self, space: str, *, generic: bool = False) -> str:
        """How to access memory of a space. generic: the address is generic."""
        if not self._takes_any():
            return f"this operand of {self.at.code.form.opcode} takes {self._wanted().replace('one', 'an address')}"
        if generic:
            return f"write {self._in_space('')}, which takes a generic address"
        if space == "global" or self.space != "generic":
            return f"write {self._in_space(space)}"
        return f"write {self._in_space(space)}, or make the address generic: cvta.{space}.u64"

    def _in_space(self, space: str) -> str:
        """The opcode for another space, "" for generic addresses."""
        words = self.at.code.form.opcode.split(".")
        kept = [
            w
            for w in words
            if w.partition("::")[0] not in ("global", "shared", "local", "const", "param") and w != "nc"
        ]
        at = next(k for k, word in enumerate(kept) if k and word not in ORDERS)
        return ".".join([*kept[:at], *([space] if space else []), *kept[at:]])


ORDERS = ("weak", "volatile", "relaxed", "acquire", "release", "acq_rel", "mmio", "cta", "cluster", "gpu", "sys")
"""What stands before the state space in an opcode."""
