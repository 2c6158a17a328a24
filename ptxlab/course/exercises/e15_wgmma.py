"""Exercises of notebook 15: swizzled tiles, descriptors, accumulators and fences of `wgmma`."""

from __future__ import annotations

import functools
import re
from typing import Any

import numpy as np

from ptxlab.builder import Builder, Ptr, TensorMap, b32, f16, f32, kernel, u32
from ptxlab.course.exercise import Exercise
from ptxlab.course.exercise_checks import Grading
from ptxlab.kernels.warpgroup import Panels, finish, product
from ptxlab.launch.run import launch

SETUP = "from ptxlab.builder import TensorMap, b32, f16, f32, u32, u64\n"
"""What the notebook has imported beside the usual."""


COLUMNS = 32
"""Columns of the product, so that a lane has 16 accumulators."""


@kernel(arch="sm_90a")
def numbered(k: Builder, q: Ptr[f16], key: Ptr[f16], s: Ptr[f32]) -> None:
    """One wgmma, m64n32k16; s[thread, register] = the accumulators as they lie in registers."""
    query = Panels(k.shared(b32, 64 * 32, align=1024), 64, 64)
    keys = Panels(k.shared(b32, COLUMNS * 32, align=1024), COLUMNS, 64)
    thread = k.tid.x
    query.load(k, q.cast(b32), thread, k.mov(64, u32))
    keys.load(k, key.cast(b32), thread, k.mov(COLUMNS, u32))
    k.op("fence.proxy.async.shared::cta")
    k.barrier()
    d = [k.vars(f32, 4, 0.0) for _ in range(COLUMNS // 8)]
    k.op("wgmma.fence.sync.aligned")
    product(k, d, query.descriptor(k), keys.descriptor(k), "f16", adds=thread < 128)
    finish(k)
    for n, value in enumerate(value for four in d for value in four):
        s[thread * (COLUMNS // 2) + n] = value


def _elements() -> Any:
    """[thread, register] -> the row and the column of the element that it holds, as the machine says."""
    q, key = np.zeros((64, 64), np.float16), np.zeros((COLUMNS, 64), np.float16)
    q[:, 0], q[:, 1] = np.arange(64), 1
    key[:, 0], key[:, 1] = 64, np.arange(COLUMNS)  # the product is 64 * row + column
    s = np.zeros((128, COLUMNS // 2), np.float32)
    launch(numbered, 1, 128, q, key, s, device="step", checks=())
    return np.stack([s // 64, s % 64], axis=-1).astype(int)


def _holds(g: Grading, answer: Any) -> None:
    truth = _elements()

    def hidden(r: np.random.Generator) -> tuple[int, int]:
        return int(r.integers(128)), int(r.integers(COLUMNS // 2))

    cases = ((0, 0), (0, 1), (0, 2), (0, 4), (5, 3), (40, 0), (127, 7))
    for thread, register in g.vary(cases, hidden, 8, edges=((32, 6), (64, 9), (96, 15))):
        row, column = (int(n) for n in truth[thread, register])
        says = f"Thread {thread} is lane {thread % 32} of warp {thread // 32}."
        known = (
            (
                (row, column % 8),
                "Registers 4 to 7 hold the next eight columns.",
            ),
            (
                (row - 8 * (register % 4 // 2) + 8 * (register % 2), column - register % 2 + register % 4 // 2),
                "Registers 0 and 1 of four are neighbours in a row: which one lies eight rows below?",
            ),
            (
                (row, column - 2 * (thread % 4) + thread % 4 + 3 * (register % 2)),
                "Which columns lie side by side in a lane: c and c + 1, or c and c + 4?",
            ),
            ((row % 16, column), "Each warp has rows of its own."),
        )
        g.predict(answer, (thread, register), (row, column), says, known=known)
    g.note("Each warp has 16 rows. Within them and within eight columns it is the accumulator of mma.m16n8k16.")


HOLDS = Exercise(
    name="15-holds",
    title="Which element does a register hold?",
    kind="predict",
    level=1,
    prompt="""
A `wgmma` of shape m64n32k16 leaves 64 × 32 sums in the registers of 128 threads, 16 in each. Say for a thread (0 to
127) and a register (0 to 15) which `(row, column)` it holds.

Warp $w$ of the warpgroup has rows $16 w$ to $16 w + 15$. Within them, each eight columns are an accumulator as you
know it from `mma.m16n8k16` (notebook 05): four registers per lane.

Shown cases: `(thread, register)` = (0, 0), (0, 1), (0, 2), (0, 4), (5, 3), (40, 0), (127, 7).
""",
    starter='''
def element(thread, register):
    """(row, column) of an accumulator."""
    return thread % 64, register
''',
    solution='''
def element(thread, register):
    """(row, column) of an accumulator."""
    warp, lane = thread // 32, thread % 32
    eight, inside = register // 4, register % 4  # which eight columns, and which of their four registers
    row = 16 * warp + lane // 4 + 8 * (inside // 2)
    column = 8 * eight + 2 * (lane % 4) + inside % 2
    return row, column
''',
    answer="element",
    hints=(
        "Divide: thread into warp and lane, register into eight columns (register // 4) and one of four.",
        "Of eight columns: lane // 4 counts rows, lane % 4 pairs of columns. In what do registers 0 to 3 differ?",
    ),
    graded=(
        "the row and the column that the machine has put there, for seven cases that you see and eight that you do not",
    ),
    grade=_holds,
)


ROWS = 16


@kernel(arch="sm_90a")
def brought(k: Builder, x: TensorMap, out: Ptr[b32], *, swizzle: int = 128) -> None:
    """A tensor copy brings 16 rows of `swizzle` bytes to shared memory; out = its bytes in the order of addresses."""
    x.box(ROWS, swizzle // 2, swizzle=swizzle)
    tile = k.shared(b32, ROWS * swizzle // 4, align=1024)
    arrived = k.pipeline(stages=1)
    k.barrier()
    turn = arrived.producer()
    with k.if_(k.tid.x == 0):
        turn.expect(ROWS * swizzle)
        x.load(tile, turn.full, 0, 0)
    arrived.consumer().wait()
    for first in range(0, ROWS * swizzle // 4, 32):
        out[first + k.tid.x] = tile[first + k.tid.x]


def _places(swizzle: int) -> Any:
    """[row, column] -> the byte of the tile at which the copy has put a 16-bit element."""
    x = np.arange(ROWS * swizzle // 2).astype(np.uint16)
    out = np.zeros(x.size, np.uint16)
    launch(
        brought(swizzle=swizzle),
        1,
        32,
        x.view(np.float16).reshape(ROWS, -1),
        out.view(np.uint32),
        device="step",
        checks=(),
    )
    return 2 * np.argsort(out).reshape(ROWS, -1)


def _byte(g: Grading, answer: Any) -> None:
    truth = {swizzle: _places(swizzle) for swizzle in (32, 64, 128)}

    def hidden(r: np.random.Generator) -> tuple[int, int, int]:
        swizzle = int(r.choice((32, 64, 128)))
        return int(r.integers(ROWS)), int(r.integers(swizzle // 2)), swizzle

    cases = ((0, 9, 128), (1, 0, 128), (9, 0, 128), (3, 21, 128), (2, 0, 64), (1, 8, 64), (8, 0, 32), (5, 9, 32))
    for row, column, swizzle in g.vary(cases, hidden, 8):
        plain = row * swizzle + 2 * column
        says = f"Without a swizzle it would be byte {plain}: line {plain // 128} of 128 bytes, chunk {plain // 16 % 8}."
        known = (
            (
                (half := row * swizzle + column) ^ (half >> 7 & swizzle // 16 - 1) << 4,
                "You count elements along a row. How many bytes has one?",
            ),
            (plain ^ (plain >> 7) << 4, "You take all bits of the line. How many chunks has a row?"),
            (plain, "You leave the chunks where they are."),
            (
                plain ^ (row & swizzle // 16 - 1) << 4,
                "You take the bits of the row. Which lines of 128 bytes are those?",
            ),
            (plain ^ (row & 7) << 4, "You take the bits of the row. The hardware takes those of the address."),
            (plain ^ (plain >> 7 & 7) << 4, f"You change three bits. How many chunks has a row of {swizzle}?"),
        )
        g.predict(answer, (row, column, swizzle), int(truth[swizzle][row, column]), says, known=known)
    g.note("The low bits of the line (address bits 7 to 9) are combined with those of the chunk by xor.")


BYTE = Exercise(
    name="15-byte",
    title="Where does an element lie?",
    kind="predict",
    level=2,
    prompt="""
The hardware has three swizzles, for rows of 32, 64 or 128 bytes. All three look at the *address*: a line is 128 bytes,
and chunks of 16 bytes change places within it.

| swizzle | which chunk bits change (address bits) | by xor with (address bits) |
|---|---|---|
| 128 bytes | all three: 4 to 6 | 7 to 9 |
| 64 bytes | the lower two: 4 and 5 | 7 and 8 |
| 32 bytes | the lowest: 4 | 7 |

Rows of `swizzle` bytes follow each other from address 0 of the tile. At which byte does the 16-bit element `(row,
column)` lie? Shown cases: `(row, column, swizzle)` = (0, 9, 128), (1, 0, 128), (9, 0, 128), (3, 21, 128), (2, 0, 64),
(1, 8, 64), (8, 0, 32), (5, 9, 32).
""",
    starter='''
def byte_of(row, column, swizzle):
    """The byte of a tile at which a 16-bit element lies; swizzle: 32, 64 or 128, also the bytes of a row."""
    return row * swizzle + 2 * column
''',
    solution='''
def byte_of(row, column, swizzle):
    """The byte of a tile at which a 16-bit element lies; swizzle: 32, 64 or 128, also the bytes of a row."""
    plain = row * swizzle + 2 * column
    line = plain >> 7  # of 128 bytes
    changed = line & (swizzle // 16 - 1)  # as many bits as it takes to count the chunks of a row
    return plain ^ changed << 4
''',
    answer="byte_of",
    hints=(
        "Begin with the byte without a swizzle. Which of its bits say the chunk, and which the line of 128 bytes?",
        "plain >> 7 is the line. Keep one, two or three bits of it, and put them where the chunk's bits are: << 4.",
    ),
    graded=(
        "the byte at which a tensor copy has put the element, for eight cases that you see and eight that you do not",
    ),
    grade=_byte,
)


def _fields(ptx: str, swizzle: int, found: Any) -> str:
    """What a finding is the sign of, if the fields that the PTX writes into a descriptor are wrong."""
    strides = {int(n, 0) >> 32 & 0x3FFF for n in re.findall(r"or\.b64 .*, (\w+);", ptx) if n[0].isdigit()}
    if strides == {swizzle // 16}:
        return "The stride is that of one row there. From which row to which does the field go?"
    field = "stride" if strides == {8 * swizzle} else "" if re.search(r"(shr|div)\.\w+ ", ptx) else "start"
    return field and f"The {field} is in bytes there. In which unit does it count?"


def _descriptor(g: Grading, answer: Any) -> None:
    def hidden(r: np.random.Generator) -> tuple[int, int]:
        return int(r.choice((32, 64, 128))), 8 * int(r.integers(1, 17))

    for swizzle, keys in g.vary(((128, 16), (64, 16), (32, 24)), hidden, 3):
        depth = swizzle // 2
        q, key = (g.rng.integers(-3, 4, (rows, depth)).astype(np.float16) for rows in (64, keys))
        s = np.full((128, keys // 2), np.nan, np.float32)
        kernel = g.build(answer, swizzle=swizzle, keys=keys)
        signs = functools.partial(_fields, str(getattr(kernel, "ptx", "")), swizzle)
        if kernel is None or g.launch(kernel, 1, 128, q, key, s, device="step", signs=signs) is None:
            continue
        found = s.reshape(4, 8, 4, keys // 8, 2, 2).transpose(0, 4, 1, 3, 2, 5).reshape(64, keys)
        right = q.astype(np.float32) @ key.astype(np.float32).T
        wrong = int((found != right).sum())
        first = np.argwhere(found != right)[0] if wrong else (0, 0)
        g.part(
            f"right with a swizzle of {swizzle} bytes and {keys} keys",
            not wrong,
            f"{wrong} of {right.size} scores are wrong, first in row {first[0]}, column {first[1]}: the tensor core "
            "has multiplied bytes that lie elsewhere in shared memory than the row it wants.",
        )
    g.note("Start, stride and swizzle: the rest of a K-major tile follows from them.")


_DESCRIBE = '''
def describe(k, tile, swizzle):
    """The matrix descriptor of rows of `swizzle` bytes, 32, 64 or 128, that lie swizzled at `tile`."""
    start = k.cvt(u64, k.address(tile))  # a byte in shared memory
{body}


@kernel(arch="sm_90a")
def described(k: Builder, q: TensorMap, key: TensorMap, s: Ptr[f32], *, swizzle: int = 128, keys: int = 16):
    """s = q times key', 64 rows and `keys` columns; a tensor copy brings the tiles, as notebook 16 explains."""
    q.box(64, swizzle // 2, swizzle=swizzle)
    key.box(keys, swizzle // 2, swizzle=swizzle)
    query_tile = k.shared(b32, 64 * swizzle // 4, align=1024)
    key_tile = k.shared(b32, keys * swizzle // 4, align=1024)
    thread = k.tid.x
    arrived = k.pipeline(stages=1)
    k.barrier()
    turn = arrived.producer()
    with k.if_(thread == 0):
        turn.expect((64 + keys) * swizzle)
        q.load(query_tile, turn.full, 0, 0)
        key.load(key_tile, turn.full, 0, 0)
    arrived.consumer().wait()
    d = k.vars(f32, keys // 2, 0.0)
    a, b = describe(k, query_tile, swizzle), describe(k, key_tile, swizzle)
    k.op("wgmma.fence.sync.aligned")
    for step in range(swizzle // 32):  # 16 elements along k are 32 bytes, two units
        k.op(f"wgmma.mma_async.sync.aligned.m64n{{keys}}k16.f32.f16.f16", a + 2 * step, b + 2 * step, thread < 128,
             1, 1, 0, 0, into=d)
    k.op("wgmma.commit_group.sync.aligned")
    k.op("wgmma.wait_group.sync.aligned", 0)
    for n in range(keys // 2):
        s[thread * (keys // 2) + n] = d[n]
'''
DESCRIPTOR = Exercise(
    name="15-descriptor",
    title="Describe a tile",
    kind="fill",
    level=2,
    prompt="""
Write `describe`: the 64 bits that say where a K-major tile lies. It must work for all three swizzles.

| bits | what | unit |
|---|---|---|
| 0 to 13 | start address | 16 bytes |
| 16 to 29 | leading byte offset; ignored here, because there is a swizzle | 16 bytes |
| 32 to 45 | stride byte offset: from one group of eight rows to the next | 16 bytes |
| 62 and 63 | the swizzle: 1 for 128 bytes, 2 for 64 bytes, 3 for 32 bytes | |

`start` is a register, and `start >> 4` shifts it. Everything else is a number that Python knows:
`k.op("or.b64", register, number)` combines both.
""",
    starter=_DESCRIBE.format(body="    return start >> 4"),
    solution=_DESCRIBE.format(
        body="""    mode = {128: 1, 64: 2, 32: 3}[swizzle]
    stride = 8 * swizzle // 16  # eight rows, in units of 16 bytes
    return k.op("or.b64", start >> 4, mode << 62 | stride << 32 | 1 << 16)"""
    ),
    answer="described",
    hints=(
        "Three fields are needed: where it begins, how far it is to the next eight rows, and which swizzle.",
        "A row has `swizzle` bytes, eight rows have 8 * swizzle; the field counts units of 16 bytes.",
    ),
    graded=(
        "the scores, for all three swizzles and other numbers of keys",
        "no finding: the descriptor names the layout in which the copy has written the tile",
    ),
    grade=_descriptor,
)


def _fence(g: Grading, answer: Any) -> None:
    def signs(found: Any) -> str:
        if "by the async proxy" not in str(found) or "fence.proxy.async" not in str(getattr(answer, "ptx", answer)):
            return ""
        return "No fence is on the way from this store, over the barrier, to the wgmma. Who has stored, and when?"

    for tiles in g.vary((1, 3), hidden=lambda r: int(r.integers(2, 12))):
        q = g.rng.integers(-3, 4, (64, 64)).astype(np.float16)
        key = g.rng.integers(-3, 4, (tiles, 16, 64)).astype(np.float16)
        s = np.full((tiles, 128, 8), np.nan, np.float32)
        run = g.launch(answer, 1, 128, q, key, s, tiles, counters=True, orders=True, signs=signs)
        if run is None:
            continue
        found = s.reshape(tiles, 4, 8, 4, 2, 2, 2).transpose(0, 1, 5, 2, 4, 3, 6).reshape(tiles, 64, 16)
        right = q.astype(np.float32) @ key.astype(np.float32).transpose(0, 2, 1)
        wrong = int((found != right).sum())
        if g.part(f"right for {tiles} tiles", not wrong, f"{wrong} of {right.size} scores are wrong."):
            g.at_most(f"two barriers a tile, {tiles} tiles", run, "barriers", 8 * tiles + 4)
    g.note("A proxy fence and the barrier are between each store and the wgmma that reads it.")


_TILES = '''
def store_rows(k, tile, source, rows):
    """Stores rows of 128 bytes, swizzled as wgmma reads them: 16 bytes per thread at a time."""
    thread = k.tid.x
    for first in range(0, rows, 16):
        row, chunk = (thread >> 3) + first, thread & 7
        four = k.load(source + row * 32 + chunk * 4, 4, vector=4)
        k.store(tile + row * 32 + (chunk ^ (row & 7)) * 4, four, vector=4)


@kernel(arch="sm_90a")
def scored(k: Builder, q: Ptr[f16], key: Ptr[f16], s: Ptr[f32], tiles: u32):
    """S = Q K' for 64 queries, 16 keys at a time; s[tile, thread, register]."""
    query_tile = k.shared(b32, 64 * 32, align=1024)
    key_tile = k.shared(b32, 16 * 32, align=1024)
    thread = k.tid.x
    a, b = (k.op("or.b64", k.cvt(u64, k.address(tile)) >> 4, 1 << 62 | 64 << 32) for tile in (query_tile, key_tile))
    d = k.vars(f32, 8, 0.0)
    store_rows(k, query_tile, q.cast(b32), 64)
    with k.loop(tiles) as tile:
        store_rows(k, key_tile, key.cast(b32) + tile * 512, 16)
{before}        k.barrier()  # the tile is complete
{behind}        k.op("wgmma.fence.sync.aligned")
        for step in range(4):
            adds = thread < (128 if step else 0)  # the first of a tile begins with 0
            k.op("wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16", a + 2 * step, b + 2 * step, adds,
                 1, 1, 0, 0, into=d)
        k.op("wgmma.commit_group.sync.aligned")
        k.op("wgmma.wait_group.sync.aligned", 0)
        for n in range(8):
            s[tile * 1024 + thread * 8 + n] = d[n]
        k.barrier()  # everyone has finished with the tile
'''
_PROXY = '        k.op("fence.proxy.async.shared::cta")\n'
FENCE = Exercise(
    name="15-fence",
    title="Stored, but not visible",
    kind="fix",
    level=2,
    prompt="""
This kernel stores its tiles, waits at a barrier, and multiplies. Every number is right on the emulator, but
`synccheck` reports a mistake. What is missing, where, and which threads must execute it? Add one line.
""",
    starter=_TILES.format(before="", behind=""),
    solution=_TILES.format(before=_PROXY, behind=""),
    answer="scored",
    hints=(
        "Who reads shared memory here: a thread, or the tensor core through the async proxy?",
        "All threads have stored, so all of them execute fence.proxy.async, which orders both ways to shared memory.",
    ),
    graded=(
        "no wgmma reads what the async proxy may not see yet",
        "the scores, for other numbers of tiles",
        "no more barriers",
    ),
    grade=_fence,
)

EXERCISES = (HOLDS, BYTE, DESCRIPTOR, FENCE)
