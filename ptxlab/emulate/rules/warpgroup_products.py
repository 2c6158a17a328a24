"""Products of `wgmma` that are in flight: what each warp has begun, in order, and what a wait for a group completes.

A product is computed when its warp waits for the group that it belongs to: until then d, a in registers and the tiles
in shared memory are as the program leaves them, and a read that comes too early sees the old contents. A GPU may
compute it at any time up to then. A warp keeps 64 products; to begin one more it completes all of them first.

A product is one of four warps: the wait of a warp for it ends when all four have begun it, and computes it for all
four: behind the wait the tiles may be overwritten. A warp that begins it while another one waits computes it at once.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.runtime.state import Context, Cta, Executed, Warp

IN_FLIGHT = 64
"""Products that a warp can have in flight."""
NOTHING_DUE = 0xFFFFFFFF


class Begun(Record):
    a: u64  # the descriptor, if a is in shared memory
    b: u64
    code: u32
    group: u32  # how many groups the warp had closed before
    adds: u32  # scale-d


class Products(Record, align=64):
    """The products that a warp has begun: how many, how many of them are done, and how many groups it has closed."""

    begun: u32
    done: u32
    groups: u32
    unfenced: Array[u64] = array(16)  # of synccheck: instructions that it has executed since its last fence
    entries: Array[Begun] = array(IN_FLIGHT)


@rule
def is_full(products: Products) -> boolean:
    return u32(products.begun - products.done) == IN_FLIGHT


@rule
def begin(products: Products, executed: Executed, code: u32, a: u64, b: u64, adds: boolean) -> None:
    entry = products.entries[products.begun % IN_FLIGHT]
    entry.code = code
    entry.a = a
    entry.b = b
    entry.adds = u32(adds)
    entry.group = products.groups
    products.begun = u32(products.begun + 1)
    executed.count += 1
    executed.last = code
    executed.all = u32((executed.all ^ (code + 1)) * 0x01000193)


@rule
def commit(products: Products) -> None:
    """Closes a group: the products begun so far."""
    products.groups = u32(products.groups + 1)


@rule
def waited_for(products: Products, left: u32) -> u32:
    """How many of a warp's products are done after a wait for all but `left` groups."""
    count = products.done
    while count != products.begun and u64(products.entries[count % IN_FLIGHT].group) + left < products.groups:
        count = u32(count + 1)
    return count


@rule
def covered(products: Products, left: u32) -> u32:
    """How many of a warp's products are done by a wait for all but `left` groups: others may be done early here."""
    count = products.begun
    while count != 0 and count + IN_FLIGHT > products.begun:
        if u64(products.entries[(count - 1) % IN_FLIGHT].group) + left < products.groups:
            break
        count = u32(count - 1)
    return count


@rule
def completing_product(products: Products, count: u32) -> u32:
    """The code index of the oldest product in flight if it is one of the first `count`."""
    if products.done == products.begun or products.done >= count:
        return NOTHING_DUE
    return products.entries[products.done % IN_FLIGHT].code


@rule
def complete(products: Products) -> None:
    """The oldest product is done."""
    products.done = u32(products.done + 1)


@rule(inline=True)
def same_products(one: Executed, other: Executed) -> boolean:
    return one.count == other.count and one.all == other.all


@rule(inline=True)
def has_begun(executed: Executed, live: u32, count: u32) -> boolean:
    """Whether nobody needs to wait until a warp has begun so many products: it has, or it has exited and never will."""
    return executed.count >= count or live == 0


@rule
def asked_for(context: Context, cta: Cta, warp: Warp) -> u32:
    """How many products warps of the warpgroup of this one wait for it to begin: 0 if none waits."""
    count: u32 = 0
    first = u64(warp.warp_id & ~3)
    for number in range(first, min(first + 4, context.warps)):
        count = max(count, (cta.states + number * context.state_size).cast(Warp)[0].awaited)
    return count


@rule
def wait_for_warpgroup(context: Context, cta: Cta, warp: Warp, count: u32) -> None:
    """A warp waits until the four warps of its warpgroup have begun so many products."""
    if lacks(context, cta, warp, count):
        warp.awaited = count
        warp.wait = warp.live


@rule
def lacks(context: Context, cta: Cta, warp: Warp, count: u32) -> boolean:
    """Whether a warp of the warpgroup of this one has not begun so many products."""
    first = u64(warp.warp_id & ~3)
    for number in range(first, min(first + 4, context.warps)):
        mate = (cta.states + number * context.state_size).cast(Warp)[0]
        if not has_begun(mate.products, mate.live, count):
            return True
    return False


@rule
def go_on(context: Context, cta: Cta) -> boolean:
    """Lets warps of a block go on if their warpgroups have begun what they wait for. Whether there are any."""
    some = False
    for number in range(context.warps):
        warp = (cta.states + number * context.state_size).cast(Warp)[0]
        if warp.awaited != 0 and not lacks(context, cta, warp, warp.awaited):
            warp.awaited = 0
            warp.wait = 0
            some = True
    return some


@rule
def incomplete_warpgroup(context: Context, cta: Cta) -> u32:
    """In an ended block, 1 + the first warp of a warpgroup with products begun unevenly; 0: there is none."""
    for number in range(context.warps):
        first = (cta.states + (number & ~3) * context.state_size).cast(Warp)[0]
        if not same_products((cta.states + number * context.state_size).cast(Warp)[0].products, first.products):
            return u32(number & ~3) + 1
    return 0
