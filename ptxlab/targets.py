"""The limits of each GPU target: shared memory, registers, threads, blocks; and the occupancy that follows from them.

Sources, by number: [1] CUDA Programming Guide, "Compute Capabilities", tables of technical specifications; [2]
`cuda_occupancy.h` of CUDA 13.0, which computes what the occupancy API answers; [3] PTX ISA, release history, checked
against nvJitLink; [4] NVIDIA's white papers on the Volta, Turing, Ampere, GA102, Ada, Hopper and RTX Blackwell
architectures, the data sheets of A40, L40S and RTX PRO 6000 Blackwell, and "Inside NVIDIA Blackwell Ultra" and "Inside
the NVIDIA Rubin Platform" of its technical blog; [5] the code that nvJitLink 13.5 makes for `mov.b32 %r, tile`; [6] the
architecture traits of libcu++ (`cuda/__device/arch_traits.h`), for sm_103, sm_110, sm_121 and rare ones.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ptxlab.errors import TargetError

WARP = 32
STATIC_SHARED = 48 * 1024
"""Bytes of shared memory that a kernel may declare; more must be dynamic and asked for (opt-in) at the launch [1]."""
REGISTERS_PER_THREAD = 255
"""[1]"""
THREADS_PER_BLOCK = 1024
"""[1]"""
WARPS_PER_BLOCK = THREADS_PER_BLOCK // WARP
LOCAL_PER_THREAD = 512 * 1024
"""Bytes of local memory of a thread [1]. The assembler does not ask."""
RECURSION_STACK = 16 * 1024
"""Bytes of a thread's local memory for the frames of functions that call themselves: what the emulator gives, and
what a launch asks the driver for, whose default is 1024 [1]."""
BLOCK = (1024, 1024, 64)
"""The largest block in x, y and z [1]."""
GRID = (2**31 - 1, 65535, 65535)
"""The largest grid in x, y and z [1]."""
REGISTER_UNIT = 256
"""The unit in which registers are allocated to a warp [2]."""
PARTITIONS = 4
"""A multiprocessor has this many partitions with equal shares of the registers; a warp belongs to one of them [2]."""


class Target(NamedTuple):
    """The limits of one target; sizes in bytes, "per SM" means per streaming multiprocessor.

    `version` is the lowest PTX version that knows the target [3]. `static_shared` is what a kernel may declare,
    `optin_shared` the most that a block may have in all, `shared_per_sm` what all blocks of an SM share,
    `reserved_shared` what the system takes of it for each block, `shared_start` where the shared window's first
    variable lies, `shared_unit` the unit of allocation. `gpus` names some with their number of SMs [4], among them
    the largest that is sold: a grid that it holds is not refused.
    """

    name: str
    version: tuple[int, int]
    threads_per_sm: int
    blocks_per_sm: int
    shared_per_sm: int
    optin_shared: int
    reserved_shared: int
    shared_start: int
    shared_unit: int
    registers_per_sm: int = 65536
    static_shared: int = STATIC_SHARED
    registers_per_thread: int = REGISTERS_PER_THREAD
    threads_per_block: int = THREADS_PER_BLOCK
    partitions: int = PARTITIONS
    gpus: tuple[tuple[str, int], ...] = ()

    @property
    def number(self) -> int:
        """The architecture as a number: 90 for sm_90 and sm_90a."""
        return int(self.name[3:].rstrip("af"))

    @property
    def warps_per_sm(self) -> int:
        """Warps that an SM can hold."""
        return self.threads_per_sm // WARP

    def check_block(self, block: tuple[int, int, int]) -> None:
        """TargetError where a block of this size cannot be launched."""
        for axis, size, limit in zip("xyz", block, BLOCK, strict=True):
            if not 1 <= size <= limit:
                raise TargetError(f"block {axis}-dimension is {size}; {self.name} allows 1 to {limit}")
        threads = block[0] * block[1] * block[2]
        if threads > self.threads_per_block:
            shape = " x ".join(map(str, block))
            raise TargetError(
                f"block: {self.name} has at most {self.threads_per_block} threads in a block, {shape} are {threads}"
            )

    def check_grid(self, grid: tuple[int, int, int]) -> None:
        """TargetError where a grid of this size cannot be launched."""
        for axis, size, limit in zip("xyz", grid, GRID, strict=True):
            if not 1 <= size <= limit:
                raise TargetError(f"grid {axis}-dimension is {size}; {self.name} allows 1 to {limit}")

    def check_shared(self, static: int, dynamic: int = 0) -> None:
        """TargetError where a block cannot have `static` declared and `dynamic` bytes of shared memory asked for."""
        if static > self.static_shared:
            raise TargetError(
                f"shared memory: {self.name} allows {self.static_shared} bytes to be declared, found {static}; "
                "declare `.extern .shared` and give the size at the launch"
            )
        if static + dynamic > self.optin_shared:
            raise TargetError(
                f"shared memory: {self.name} has at most {self.optin_shared} bytes for a block, "
                f"{static + dynamic} are asked for ({static} declared + {dynamic} dynamic)"
            )

    def check_registers(self, threads: int, registers: int) -> None:
        """TargetError where a block of `threads` threads with `registers` each does not fit the register file."""
        if registers > self.registers_per_thread:
            raise TargetError(
                f"registers: {self.name} has at most {self.registers_per_thread} for a thread, got {registers}"
            )
        # The hardware checks a block as if it filled all partitions evenly [2].
        warps = _round_up(-(-threads // WARP), self.partitions)
        needed = warps * _round_up(registers * WARP, REGISTER_UNIT)
        if needed > self.registers_per_sm:
            raise TargetError(
                f"registers: {threads} threads with {registers} each need {needed}, "
                f"{self.name} has {self.registers_per_sm}"
            )


def _kb(n: int) -> int:
    return n * 1024


def _old(name: str, version: tuple[int, int], shared: int, partitions: int = 4) -> Target:
    """A target before opt-in shared memory: a block has 48 KB of it, whatever the multiprocessor has."""
    return Target(name, version, 2048, 32, _kb(shared), STATIC_SHARED, 0, 0, 256, partitions=partitions)


# Columns: name, PTX version [3], threads and blocks per SM [1, 6], shared per SM and for a block [1, 6], reserved for
# each block [1, 6] and where the window starts [5], shared memory's unit [2].
_TARGETS = (
    _old("sm_50", (4, 0), 64),
    _old("sm_52", (4, 1), 96),
    _old("sm_60", (5, 0), 64, partitions=2),
    _old("sm_61", (5, 0), 96),
    Target("sm_70", (6, 0), 2048, 32, _kb(96), _kb(96), 0, 0, 256, gpus=(("V100", 80),)),
    Target(
        "sm_75",
        (6, 3),
        1024,
        16,
        _kb(64),
        _kb(64),
        0,
        0,
        256,
        gpus=(("T4", 40), ("RTX 2080 Ti", 68), ("Quadro RTX 8000", 72)),
    ),
    Target("sm_80", (7, 0), 2048, 32, _kb(164), _kb(163), 1024, 0, 128, gpus=(("A100", 108),)),
    Target(
        "sm_86", (7, 1), 1536, 16, _kb(100), _kb(99), 1024, 0, 128, gpus=(("RTX 3090", 82), ("A10", 72), ("A40", 84))
    ),
    Target("sm_87", (7, 4), 1536, 16, _kb(164), _kb(163), 1024, 0, 128, gpus=(("Jetson AGX Orin", 16),)),
    Target(
        "sm_89", (7, 8), 1536, 24, _kb(100), _kb(99), 1024, 0, 128, gpus=(("RTX 4090", 128), ("L4", 58), ("L40S", 142))
    ),
    Target("sm_90", (7, 8), 2048, 32, _kb(228), _kb(227), 1024, 1024, 128, gpus=(("H100 SXM", 132), ("H200", 132))),
    Target("sm_90a", (8, 0), 2048, 32, _kb(228), _kb(227), 1024, 1024, 128, gpus=(("H100 SXM", 132), ("H200", 132))),
    Target("sm_100", (8, 6), 2048, 32, _kb(228), _kb(227), 1024, 1024, 128, gpus=(("B200", 148),)),
    Target("sm_100a", (8, 6), 2048, 32, _kb(228), _kb(227), 1024, 1024, 128, gpus=(("B200", 148),)),
    Target("sm_103", (8, 8), 2048, 32, _kb(228), _kb(227), 1024, 1024, 128, gpus=(("Blackwell Ultra", 160),)),
    Target("sm_110", (9, 0), 1536, 24, _kb(228), _kb(227), 1024, 1024, 128),
    Target(
        "sm_120", (8, 7), 1536, 24, _kb(100), _kb(99), 1024, 1024, 128, gpus=(("RTX 5090", 170), ("RTX PRO 6000", 188))
    ),
    Target("sm_121", (8, 8), 1536, 24, _kb(100), _kb(99), 1024, 1024, 128),
)
TARGETS: dict[str, Target] = {target.name: target for target in _TARGETS}
"""The targets to choose from, by name, in order."""
_RARE = {
    target.name: target
    for target in (
        _old("sm_53", (4, 2), 64),
        _old("sm_62", (5, 0), 64),
        TARGETS["sm_86"]._replace(name="sm_88", version=(9, 0), gpus=()),
        TARGETS["sm_110"]._replace(name="sm_101", version=(8, 6)),  # its name before CUDA 13
        TARGETS["sm_100"]._replace(
            name="sm_107", version=(9, 4), threads_per_sm=1024, blocks_per_sm=16, gpus=(("Rubin", 224),)
        ),
    )
}
"""Targets that lists leave out [6]."""


VERSIONS = {1: 5, 2: 3, 3: 2, 4: 3, 5: 1, 6: 5, 7: 8, 8: 8, 9: 5}
"""The last minor version of each major one. What came after them is not known here, and not judged."""
NEWEST = max(VERSIONS.items())
SINCE = {
    (1, 0): "10 11", (1, 2): "12 13", (2, 0): "20 21", (3, 0): "30", (3, 1): "35", (4, 0): "32 50", (4, 1): "37 52",
    (4, 2): "53", (5, 0): "60 61 62", (5, 1): "70", (6, 1): "72", (6, 3): "75", (7, 0): "80", (7, 1): "86",
    (7, 4): "87", (7, 8): "89 90", (8, 0): "90a", (8, 6): "100 100a 101 101a", (8, 7): "120 120a",
    (8, 8): "100f 101f 103 103a 103f 120f 121 121a 121f", (9, 0): "88 110 110a 110f", (9, 4): "107 107a 107f",
}  # fmt: skip
"""The targets by the first version that has them, as the assemblers of CUDA 13.0 and 13.5 answered."""
FIRST = {f"sm_{name}": version for version, names in SINCE.items() for name in names.split()}


def find(name: str) -> Target | None:
    """The target called `name`: "sm_80", or one with a letter, "sm_120a", which has the limits of that without it."""
    known = TARGETS | _RARE
    if name in known or name not in FIRST:
        return known.get(name)
    target = known.get(name.rstrip("af"))
    return target and target._replace(name=name, version=FIRST[name])


def check_arch(target: str, arch: str) -> None:
    """TargetError where a text's target does not run on a GPU: an older one, or one without what it has under its full
    name (sm_90a) or in its family (sm_100f)."""
    names = [re.fullmatch(r"sm_(\d+)([af]?)", name) for name in (target, arch)]
    if target == arch or names[0] is None or names[1] is None:
        return
    (own, kind), (number, _) = ((int(each[1]), each[2]) for each in names if each)
    if number < own:
        why = f"{arch} is older; PTX runs on its target and on newer GPUs only"
    elif kind == "a" or (kind == "f" and number // 10 != own // 10):
        why = f"what that has beyond sm_{own} exists {'on that GPU' if kind == 'a' else 'in that family'} only"
    else:
        return
    raise TargetError(f"arch: the text's .target is {target}, and {why}\n  write:  arch='{target}'")


def get(name: str) -> Target:
    """The target that `find` finds. TargetError, naming those there are, for any other name."""
    target = find(name)
    if target is None:
        raise TargetError(f"target: there is no {name!r} here; choose from {', '.join(TARGETS)}")
    return target


class Occupancy(NamedTuple):
    """How much of a multiprocessor a kernel fills.

    `blocks` and `warps` are resident at once on an SM; `share` is warps over the most the target can hold; `limiter` is
    what keeps another block out: "threads", "blocks", "registers" or "shared memory"; `limits` is how many blocks
    each of them alone would allow.
    """

    target: str
    blocks: int
    warps: int
    share: float
    limiter: str
    limits: dict[str, int]

    def __str__(self) -> str:
        plural = "" if self.blocks == 1 else "s"
        return (
            f"{self.blocks} block{plural} = {self.warps} warps per SM on {self.target} ({self.share:.0%}), "
            f"limited by {self.limiter}"
        )


def occupancy(target: str | Target, threads: int, registers: int, shared: int = 0) -> Occupancy:
    """What fits on an SM: blocks of `threads` threads with `registers` each and `shared` bytes, declared or not.

    The arithmetic of `cuda_occupancy.h`. TargetError names the limit where not even one block fits.
    """
    t = get(target) if isinstance(target, str) else target
    t.check_block((threads, 1, 1))
    t.check_registers(threads, registers)
    t.check_shared(0, shared)
    warps = -(-threads // WARP)
    per_warp = _round_up(registers * WARP, REGISTER_UNIT)
    per_block = _round_up(shared + t.reserved_shared, t.shared_unit)
    limits = {"threads": t.warps_per_sm // warps, "blocks": t.blocks_per_sm}
    if per_warp:
        limits["registers"] = t.registers_per_sm // t.partitions // per_warp * t.partitions // warps
    if per_block:
        limits["shared memory"] = t.shared_per_sm // per_block
    limiter = min(limits, key=lambda name: limits[name])
    blocks = limits[limiter]
    return Occupancy(t.name, blocks, blocks * warps, blocks * warps / t.warps_per_sm, limiter, limits)


MULTIPROCESSORS = 132
"""Those of a GPU where none of its target is named, as many as an H100 has."""


def resident_blocks(target: Target, threads: int, shared: int, registers: int = 0) -> int:
    """The blocks that the largest GPU of a target holds at once. registers: of a thread; 0: they are not known."""
    most = max((count for _, count in target.gpus), default=MULTIPROCESSORS)
    return occupancy(target, threads, registers, shared).blocks * most


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
