"""Clusters: which blocks form one, and the barrier of a cluster.

Each thread arrives at the barrier (`barrier.cluster.arrive`), does other work, and waits (`barrier.cluster.wait`) until
all threads of the cluster that have not exited have arrived. That completes the phase, and the next one begins. So a
lane is in one of three states: it has arrived in the current phase; its phase has completed and it has not waited yet;
or it has done neither.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.runtime.state import Cluster, Context, Cta, Warp

Index = tuple[int, int, int]


def blocks_of(grid: Index, cluster: Index, number: int) -> list[int]:
    """The linear indices of the blocks of a cluster, by rank."""
    across, down = grid[0] // cluster[0], grid[1] // cluster[1]
    x, y, z = number % across * cluster[0], number // across % down * cluster[1], number // (across * down) * cluster[2]
    return [
        x + i + grid[0] * (y + j + grid[1] * (z + k))
        for k in range(cluster[2])
        for j in range(cluster[1])
        for i in range(cluster[0])
    ]


def mates_of(grid: Index, cluster: Index, block: int) -> list[int]:
    """The linear indices of the blocks of the cluster that a block is in, by rank."""
    across, down = grid[0] // cluster[0], grid[1] // cluster[1]
    x, y, z = block % grid[0] // cluster[0], block // grid[0] % grid[1] // cluster[1], block // grid[0] // grid[1]
    return blocks_of(grid, cluster, x + across * (y + down * (z // cluster[2])))


@rule
def block_of(context: Context, number: u64, rank: u64) -> u64:
    """The linear index of the block of a rank in a cluster; `blocks_of` for the JIT."""
    across = u64(context.grid_x // context.cluster_x)
    down = u64(context.grid_y // context.cluster_y)
    x = number % across * context.cluster_x + rank % context.cluster_x
    y = number // across % down * context.cluster_y + rank // context.cluster_x % context.cluster_y
    z = number // across // down * context.cluster_z + rank // context.cluster_x // context.cluster_y
    return x + context.grid_x * (y + context.grid_y * z)


@rule
def arrive(warp: Warp, mask: u32) -> None:
    """Lanes of a mask arrive at the barrier of the cluster."""
    warp.cluster_arrived |= mask


@rule
def wait(warp: Warp, mask: u32) -> None:
    """Lanes of a mask wait at the barrier of the cluster; `open_for` resumes them."""
    warp.cluster_waits |= mask
    warp.wait |= mask


@rule
def arrived_all(warp: Warp) -> boolean:
    """Whether all lanes of a warp that have not exited have arrived in the current phase."""
    return warp.live & ~warp.cluster_arrived == 0


@rule
def phase_over(warp: Warp) -> None:
    """The phase in which the lanes of a warp arrived has completed."""
    warp.cluster_passed |= warp.cluster_arrived
    warp.cluster_arrived = 0


@rule
def open_for(warp: Warp) -> u32:
    """Resumes the lanes of a warp that wait for a completed phase, and returns their mask."""
    going = warp.cluster_waits & warp.cluster_passed
    warp.cluster_passed &= ~going
    warp.cluster_waits &= ~going
    warp.wait &= ~going
    return going


@rule(inline=True)
def warp_of(context: Context, cta: Cta, number: u64) -> Warp:
    return (cta.states + number * context.state_size).cast(Warp)[0]


@rule
def others_run(context: Context, cta: Cta, warp: Warp) -> boolean:
    """Whether a lane of another warp of the cluster neither waits nor spins."""
    cluster = cta.cluster
    for rank in range(cluster.count):
        mate = context.slots[cluster.first + rank].cta
        if mate.active != 0:
            for k in range(context.warps):
                other = warp_of(context, mate, k)
                if other.live & ~(other.wait | other.spins) != 0 and (rank != cta.rank or k != warp.warp_id):
                    return True
    return False


@rule
def try_to_open(context: Context, cluster: Cluster) -> boolean:
    """Completes the phase if all threads of the cluster that have not exited (at least one) arrived. Whether it did."""
    some = False
    for rank in range(cluster.count):
        cta = context.slots[cluster.first + rank].cta
        if cta.active != 0:
            for k in range(context.warps):
                warp = warp_of(context, cta, k)
                if not arrived_all(warp):
                    return False
                if warp.cluster_arrived != 0:
                    some = True
    if some:
        for rank in range(cluster.count):
            cta = context.slots[cluster.first + rank].cta
            if cta.active != 0:
                for k in range(context.warps):
                    phase_over(warp_of(context, cta, k))
    return some


@rule
def let_go(context: Context, cta: Cta) -> boolean:
    """Resumes the lanes of a block that wait for a completed phase of the cluster's barrier. Whether there are any."""
    some = False
    for k in range(context.warps):
        if open_for(warp_of(context, cta, k)) != 0:
            some = True
    return some
