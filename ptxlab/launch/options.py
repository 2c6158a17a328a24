"""The options and sizes of a launch: which values they take, and what a target holds."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ptxlab import options, targets
from ptxlab.errors import LaunchError
from ptxlab.launch.buffers import DEVICES, check_device

if TYPE_CHECKING:
    from ptxlab.launch.plan import Plan

FIRST_WITH_CLUSTERS = 90
"""The number of the first target that has clusters: sm_90."""
MEMCHECK = ("memcheck",)
"""The checks of a launch by default."""
TIERS = ("quick", "optimized")
"""The code that a launch may ask for."""


def check_options(
    checks: Any,
    known: Sequence[str],
    trace: Any,
    *,
    entry: Any,
    shared: Any,
    device: Any,
    arch: Any,
    counters: Any,
    cooperative: Any,
    budget: Any,
    workers: Any,
    seed: Any,
    tier: Any,
) -> tuple[str, ...]:
    """`LaunchError` for an invalid option of a launch; returns the checks."""
    nothing_rare = trace is entry is arch is budget is workers is seed is tier is None and checks is MEMCHECK
    if nothing_rare and type(shared) is int and shared >= 0 and type(device) is str and device in DEVICES:
        if counters is False and cooperative is False:
            return MEMCHECK  # most launches: no option is given
    if entry is not None and not isinstance(entry, str):
        raise LaunchError(f"entry: the name of a kernel is wanted, got {entry!r}")
    if not options.is_whole(shared) or shared < 0:
        raise LaunchError(f"shared: a number of bytes is wanted, got {shared!r}")
    check_device(device)
    options.target("arch", arch)
    options.switch("counters", counters)
    options.switch("cooperative", cooperative)
    if seed is not None and not options.is_whole(seed):
        raise LaunchError(f"seed: a whole number is wanted, got {seed!r}")
    for what, value, most in (("budget", budget, (1 << 63) - 1), ("workers", workers, 4096)):
        if value is not None:
            options.whole(what, value, 1, most)
    if tier is not None and not (isinstance(tier, str) and tier in TIERS):
        raise LaunchError(f"tier is {tier!r}; choose 'quick' or 'optimized'")
    if trace is not None and not hasattr(trace, "recorder") and not hasattr(trace, "record"):
        raise LaunchError(f"trace: a pl.Trace is wanted, got {trace!r}\n  write:  trace=pl.Trace()")
    return check_names(checks, known)


def check_names(checks: Any, known: Sequence[str]) -> tuple[str, ...]:
    """The names of checks, given one or several; "all" for all."""
    if isinstance(checks, str) and checks == "all":
        return tuple(known)
    names = [checks] if isinstance(checks, str) else options.several(checks)
    if names is None:
        raise LaunchError(f"checks: names of checks are wanted, of {', '.join(known)}; got {checks!r}")
    for name in names:
        if not isinstance(name, str) or name not in known:
            raise LaunchError(f"checks: there is no {name!r}; there is {', '.join(known)}")
    return tuple(names)


def three(what: str, size: Any) -> tuple[int, int, int]:
    """A number or up to three, as x, y and z."""
    if type(size) is tuple and len(size) == 3 and type(size[0]) is type(size[1]) is type(size[2]) is int:
        return size
    given = tuple(size) if isinstance(size, Sequence) and not isinstance(size, str | bytes) else (size,)
    if not 1 <= len(given) <= 3 or not all(map(options.is_whole, given)):
        raise LaunchError(f"{what}: one to three whole numbers are wanted, got {size!r}")
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
    target = targets.TARGETS.get(name) or targets.get("sm_80")  # text may name a target that is not in the table
    target.check_grid(grid)
    target.check_block(block)
    static = plan.static_shared
    if device == "gpu" or not target.static_shared < static <= target.optin_shared:
        target.check_shared(static, shared)
    else:
        target.check_shared(0, static + shared)
        warnings.warn(
            f"shared memory: {plan.name} declares {static} bytes, which the CPU machine allows; NVIDIA's "
            f"assembler takes {target.static_shared} for {target.name}: declare `.extern .shared` and ask for the "
            "bytes at the launch",
            stacklevel=3,
        )
    if plan.declared.unknown and device != "gpu":
        warnings.warn(plan.declared.unknown, stacklevel=3)
    if cluster is not None and device != "gpu" and target.number < FIRST_WITH_CLUSTERS:
        raise LaunchError(
            f"cluster: {target.name} has no clusters, sm_{FIRST_WITH_CLUSTERS} is the first that has them"
        )
