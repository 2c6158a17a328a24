"""The options and sizes of a launch: which values they take, and what a target holds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ptxlab import options, targets
from ptxlab.errors import LaunchError, warn
from ptxlab.launch.argument_hints import in_order
from ptxlab.launch.buffers import check_device

if TYPE_CHECKING:
    from ptxlab.launch.plan import Plan

FIRST_WITH_CLUSTERS = 90
"""The number of the first target that has clusters: sm_90."""
MEMCHECK = ("memcheck",)
"""The checks of a launch by default."""
TIERS = ("quick", "optimized")
"""The code that a launch may ask for."""


def check_options(
    checks: Any, known: Sequence[str], trace: Any, entry: Any, shared: Any, device: Any, asked: Mapping[str, Any]
) -> tuple[str, ...]:
    """`LaunchError` for an invalid option of a launch; returns the checks. asked: the other options."""
    if entry is not None and not isinstance(entry, str):
        raise LaunchError(f"entry: expected the name of a kernel, got {options.shown(entry)}")
    if not options.is_whole(shared) or shared < 0:
        raise LaunchError(f"shared: expected a number of bytes, got {options.shown(shared)}")
    check_device(device)
    options.target("arch", asked["arch"])
    for what in ("counters", "cooperative"):
        options.switch(what, asked[what])
    if asked["seed"] is not None and not options.is_whole(asked["seed"]):
        raise LaunchError(f"seed: expected a whole number, got {options.shown(asked['seed'])}")
    for what, most in (("budget", (1 << 63) - 1), ("workers", 4096)):
        if asked[what] is not None:
            options.whole(what, asked[what], 1, most)
    if (tier := asked["tier"]) is not None and not (isinstance(tier, str) and tier in TIERS):
        raise LaunchError(f"tier is {options.shown(tier)}; choose 'quick' or 'optimized'")
    if trace is not None and not hasattr(trace, "recorder") and not hasattr(trace, "record"):
        raise LaunchError(f"trace: expected a pl.Trace, got {options.shown(trace)}\n  write:  trace=pl.Trace()")
    return check_names(checks, known)


def check_names(checks: Any, known: Sequence[str]) -> tuple[str, ...]:
    """The names of checks, given one or several; "all" for all."""
    names = re.split(r"[,\s]+", checks.strip()) if isinstance(checks, str) else options.several(checks)
    if names == ["all"]:
        return tuple(known)
    if names is None:
        raise LaunchError(f"checks: expected names from {', '.join(known)}; got {options.shown(checks)}")
    for name in names:
        if not isinstance(name, str) or name not in known:
            close = options.meant(name, known) or ";"
            raise LaunchError(f"unknown check {options.shown(name)}{close} choose from {', '.join(known)}")
    return tuple(names)


def three(what: str, size: Any, names: Sequence[str] = ()) -> tuple[int, int, int]:
    """A number or up to three, as x, y and z. names: of the kernel's arguments, for the line to write."""
    if type(size) is tuple and len(size) == 3 and type(size[0]) is type(size[1]) is type(size[2]) is int:
        return size
    given = tuple(size) if isinstance(size, Sequence) and not isinstance(size, str | bytes) else (size,)
    if not 1 <= len(given) <= 3 or not all(map(options.is_whole, given)):
        line = in_order(names, sizes=False) if names else ""
        raise LaunchError(f"{what}: expected one to three whole numbers, got {options.shown(size)}{line}")
    x, y, z = (*(int(n) for n in given), 1, 1)[:3]
    return x, y, z


def check_limits(
    plan: Plan,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    shared: int,
    arch: str | None,
    device: str,
    cluster: tuple[int, int, int] | None,
) -> None:
    """`TargetError` where the target cannot hold such a launch."""
    name = arch or plan.target
    target = targets.find(name) or targets.get("sm_80")  # text may name a target that is not in the table
    target.check_grid(grid)
    target.check_block(block)
    static = plan.static_shared
    if device == "gpu" or not target.static_shared < static <= target.optin_shared:
        target.check_shared(static, shared)
    else:
        target.check_shared(0, static + shared)
        warn(
            f"shared memory: {plan.title} declares {static} bytes. The emulator allows that; NVIDIA's assembler takes "
            f"at most {target.static_shared} for {target.name}: declare `.extern .shared` and give the size at the "
            "launch"
        )
    if plan.declared.unknown and device != "gpu":
        warn(plan.declared.unknown)
    if cluster is not None and device != "gpu" and target.number < FIRST_WITH_CLUSTERS:
        first = f"they need sm_{FIRST_WITH_CLUSTERS} or later"
        raise LaunchError(f"cluster: {target.name} has no clusters; {first}")
