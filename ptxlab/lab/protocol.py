"""What travels between the explorer and its page. `frontend/protocol.py` writes `static/protocol.d.ts` from it.

`Parts` are the traits of the view that answers come in; `Message` is what a page sends, told apart by `kind`. `seq` is
the number of the request that a part answers, which the session adds.
Annotations are not strings here: `NotRequired` would not be seen in them.
"""

from typing import Any, Literal, NotRequired, TypedDict

Lines = list[str]
Number = float | str
"""A number; "NaN" and "∞" are words, since JSON has neither."""


class Part(TypedDict, total=False):
    """What all parts have."""

    seq: int


class Explained(TypedDict):
    says: str
    syntax: str
    parts: list[tuple[str, str]]
    operands: list[tuple[str, str]]
    terms: list[tuple[str, str]]
    since: str


class Source(TypedDict):
    """The source pane: rows without a number name the file or stand for what is left out; `files` [first row, file]."""

    files: list[tuple[int, str]]
    language: str
    lines: Lines
    numbers: list[int]


class Rung(TypedDict):
    name: str
    title: str


class Lesson(TypedDict):
    question: str
    look: str
    line: int
    next: Rung | None
    conflicts: Rung | None
    row: int


class Code(Part):
    """A kernel and its panes; `of` is its title without edits. `links` are [PTX line, row of the source], `touched`
    [PTX line, array], `stores` those of the output."""

    title: str
    of: str
    name: str
    arch: str
    seconds: float
    instructions: int
    ptx: Lines
    python: Source | None
    links: list[tuple[int, int]]
    docs: dict[str, Explained]
    words: dict[str, str]
    registers: dict[str, str]
    roles: dict[str, str]
    fields: dict[str, Any]
    touched: list[tuple[int, str]]
    stores: list[tuple[int, int, int]]
    lesson: Lesson | None


class Base(Part):
    ptx: Lines
    python: dict[Literal["lines", "numbers", "files"], Any] | None
    links: list[tuple[int, int]]


class Compared(TypedDict):
    """A comparison: `rows` [kind, old line, new line, old ranges, new ranges], lines from 0; of "s"ame, "r"enamed,
    "c"hanged, "+", "-" and "n"ote; of one that changed without an instruction the kind begins with a dot, of one that
    repeats a change with "*", and at the end of a copy with "**"."""

    summary: str
    rows: list[list[Any]]
    renamed: NotRequired[int]


class Diff(Part, Compared):
    """What became of the PTX of another version, `against`; `title` names the parameters that differ."""

    title: str
    against: str
    declarations: int
    python: Compared | None


class SassDiff(Part, Compared):
    """The machine code of both; `old` are the lines of the other one."""

    old: Lines


class Sass(Part):
    """Machine code: state "ok" with the rest, or "missing" with a note; `links` [PTX line, row]."""

    state: Literal["ok", "missing"]
    note: NotRequired[str]
    arch: NotRequired[str]
    lines: NotRequired[Lines]
    links: NotRequired[list[tuple[int, int]]]
    docs: NotRequired[dict[str, str]]
    instructions: NotRequired[int]


class Occupancy(TypedDict):
    percent: float
    limiter: str
    text: str
    blocks: int
    warps: int
    most: int
    threads: int
    limits: list[tuple[str, int]]


class Assembly(Part):
    """The assembler's figures: state "ok" with them, "missing" or "error" with a note."""

    state: Literal["ok", "missing", "error"]
    note: NotRequired[str]
    arch: NotRequired[str]
    registers: NotRequired[int]
    spill_bytes: NotRequired[int]
    shared_bytes: NotRequired[int]
    seconds: NotRequired[float]
    occupancy: NotRequired[Occupancy | None]


class Counted(TypedDict):
    opcodes: dict[str, int]
    pipes: dict[str, int]
    rows: dict[str, float]


class Measure(TypedDict):
    key: str
    label: str
    now: str | None
    before: str | None
    verdict: Literal["better", "worse", ""]
    note: str
    says: str
    mood: str
    page: str


class Measures(Part):
    title: str
    moved: list[tuple[str, str, str]]
    work: float
    list: list[Measure]
    counted: Counted | None


class Judged(TypedDict):
    ok: bool
    max: Number
    mean: Number
    ulp: Number
    tolerance: Number
    lse: Number


class Way(TypedDict):
    """One way to the result and how far it is off; numbers are None with a note instead."""

    label: str
    against: str
    note: str
    max: Number | None
    mean: Number | None
    ulp: Number | None


class ErrorMap(TypedDict):
    """One head's errors: see `run_pane.error_map`."""

    rows: int
    cols: int
    step: tuple[int, int]
    seq: int
    dim: int
    row: int
    label: str
    row_name: str
    size: int
    worst: list[tuple[int, int, Number, Number]]
    values: bytes
    absolute: bytes


class CounterRow(TypedDict):
    name: str
    value: float
    unit: str
    origin: Literal["counted", "modelled", "measured"]
    says: str
    ideal: float | None


class Counters(TypedDict):
    """The counters pane: see `run_pane.counters`."""

    instructions: dict[Literal["warps", "threads"], int]
    opcodes: list[tuple[str, int, int]]
    pipes: list[tuple[str, int, str]]
    memory: list[CounterRow]
    work: list[CounterRow]
    lines: list[tuple[int, str, int, int, int, int, str]]


class Point(TypedDict):
    origin: str
    what: str
    x: float
    y: float
    bound: str


class Roofline(TypedDict, total=False):
    """A roof, or the note why there is none; `own` is that of a grid that leaves multiprocessors without a block."""

    note: str
    gpu: str
    source: str
    bandwidth: float
    roofs: list[tuple[str, float]]
    own: tuple[str, float] | None
    points: list[Point]


class TileKinds(TypedDict):
    """Tiles under a mask: see `library_subjects.tile_kinds`."""

    rows: int
    keys: int
    lines: Lines


class Tiles(TypedDict):
    """How rows and keys are cut."""

    rows: int
    keys: int
    tile_q: int
    tile_kv: int
    causal: bool
    kinds: TileKinds | None
    row_name: str


Party = TypedDict(
    "Party",
    {"line": int, "source": str, "from": str, "block": int, "warp": int, "lane": int, "did": str,
     "step": NotRequired[int | None]},
)  # fmt: skip
"""An access that a finding is about; `from` is its place in the source, `step` that of the trace."""


class Finding(TypedDict):
    check: str
    message: str
    more: str
    parties: list[Party]


class Run(Part):
    """A run; only `note`, `heat`, `error`, `map`, `ways` and `tiles` where nothing ran. `heat` is [line, threads]."""

    note: NotRequired[str]
    heat: list[tuple[int, int]]
    error: Judged | None
    map: ErrorMap | None
    ways: list[Way]
    tiles: Tiles | None
    device: NotRequired[str]
    seconds: NotRequired[float]
    thread_instructions: NotRequired[int | None]
    findings: NotRequired[list[Finding]]
    checks: NotRequired[Any]
    counters: NotRequired[Counters | None]
    roofline: NotRequired[Roofline | None]
    arrays: NotRequired[list[tuple[str, str]]]
    cached: NotRequired[bool]


Series = dict[Literal["m", "l", "rescale"], list[float | None]]


class Output(TypedDict):
    tiles: list[int]
    columns: list[int]
    scale: float
    values: list[list[int]]


class State(Part):
    """The online softmax of a row; `note` says why there is nothing to plot, `merged` what parts come to, `before` are
    the kernel's in the setting that this one is compared with, where its tiles have as many keys."""

    label: str
    tiles: int
    tile_kv: int
    unit: str
    row: int
    note: NotRequired[str]
    kernel: NotRequired[Series]
    before: NotRequired[Series | None]
    numpy: NotRequired[Series]
    makers: NotRequired[dict[str, list[int]]]
    scores: NotRequired[list[tuple[int, float | None]]]
    output: NotRequired[Output]
    parts: NotRequired[bool]
    merged: NotRequired[dict[Literal["m", "l", "numpy_m", "numpy_l"], float | None]]


class Problem(Part):
    """An error at the PTX and source line where it has one, and for a fault (x, y, z) of the block and the thread."""

    title: str
    message: str
    line: int
    python_line: int | None
    block: tuple[int, int, int] | None
    thread: tuple[int, int, int] | None


class Status(Part):
    """What the session is at; of a run that is long enough also how far it is, and the seconds that it takes in all."""

    state: Literal["building", "running", "done", "failed", "cancelled", "asking", "saved"]
    text: str
    busy: bool
    failed: NotRequired[bool]
    times: NotRequired[dict[str, float]]
    done: NotRequired[int]
    blocks: NotRequired[int]
    seconds: NotRequired[float]
    estimate: NotRequired[float | None]


class Control(TypedDict):
    """An input of the page for one parameter. `powers` is a slider of powers of ten; `options` [label, value]."""

    name: str
    label: str
    kind: Literal["check", "choice", "number", "powers", "size", "slider", "text"]
    says: str
    group: str
    options: NotRequired[list[tuple[str, Any]]]
    min: NotRequired[float]
    max: NotRequired[float]
    step: NotRequired[int]


class Values(Part):
    """What the controls say, by name, the row that is plotted among them; by label what followed the last change, and
    why; the names of those that count for nothing now."""

    given: dict[str, Any]
    notes: dict[str, str]
    unused: list[str]


class Below(TypedDict):
    """The bar above what is open over the code, or over the `whole` page, with the words of the button that closes it;
    `note` stands in place of a widget; `asks`: whether the text that it has changed may go."""

    heading: str
    close: str
    note: str
    whole: bool
    asks: bool


class Parts(TypedDict):
    """The parts of an answer, by trait."""

    code: Code
    base: Base
    diff: Diff
    assembly: Assembly
    measures: Measures
    run: Run
    state: State
    sass: Sass
    sass_diff: SassDiff
    problem: Problem
    status: Status


class Act(TypedDict):
    """A button without more to say."""

    kind: Literal["pin", "confirm", "cancel", "again", "undo", "share", "close", "discard", "keep"]


class Edit(TypedDict):
    kind: Literal["edit"]
    line: int | None


class Next(TypedDict):
    kind: Literal["next"]
    kernel: str


class Debug(TypedDict):
    """Opens the debugger: see `Explorer.debug`."""

    kind: Literal["debug"]
    line: NotRequired[int]
    nth: NotRequired[int]
    of: NotRequired[int]
    finding: NotRequired[int]
    party: NotRequired[int]


class Given(TypedDict):
    """Controls that somebody has set: the answers to this have the number `seq` or a greater one."""

    kind: Literal["set"]
    seq: int
    values: dict[str, Any]


Message = Act | Edit | Next | Debug | Given
