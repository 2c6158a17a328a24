"""Enters a kernel of the student into the scoreboard, remembers it, and shows it beside ours and its earlier self."""

from __future__ import annotations

import inspect as python_inspect
import json
from collections import Counter
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ptxlab.course import causes
from ptxlab.course.scoreboard import drawn, roles
from ptxlab.course.scoreboard.rungs import METRICS, RUNGS, START, Costs, Rung, text
from ptxlab.course.scoreboard.wrong import refusal
from ptxlab.errors import PtxlabError
from ptxlab.kernels import Built, DecodeBuilt
from ptxlab.kernels.rung import FORMATTER
from ptxlab.launch.run import Run
from ptxlab.static import inspect

FILE = "my-attention.json"
SEVEN = tuple(RUNGS)[:7]


class ScoreboardError(PtxlabError):
    """There is no such rung, or what was entered cannot be kept."""


@dataclass(frozen=True)
class Board:
    """What a call has to show: lines of text, and HTML. stars: of each metric, or of each thing that `roles` asks for;
    None where no kernel was entered."""

    lines: tuple[str, ...]
    body: str
    stars: tuple[int, ...] | None = None

    def __repr__(self) -> str:
        return "\n".join(self.lines)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        from ptxlab.lab import display

        return {"text/plain": repr(self), "text/html": display.page(self.body)}


def enter(stage: str, kernel: Any, *, block: int = 64, rows_per_block: int | None = None, shared: int = 0) -> Board:
    """Runs a kernel with all checks on a rung's problem, remembers it, and shows what it costs and what is next.

    block: its threads. rows_per_block: query rows of a block, by default one per thread; in a decode step query heads,
    by default one. shared: bytes of dynamic shared memory. A kernel that is wrong, in which a check finds something, or
    that is the one to begin with, is refused with the reason. One with fewer stars than the one entered before is shown
    and not remembered.
    """
    rung, kept, ptx = _rung(stage), _kept(), text(kernel)
    per_block = rows_per_block or (1 if rung.given.heads else block)
    try:
        run, got = rung.run(kernel, block, per_block, shared)
    except PtxlabError as error:
        return _refused("it did not run.", str(error))
    if reasons := refusal(rung, run, got, per_block):
        return _refused(*reasons)
    assert run.counters is not None
    opcodes: Counter[str] = Counter({name: warps for name, (warps, _) in run.counters.opcodes.items()})
    if causes.plain(ptx) == causes.plain(rung.begin.ptx):
        often = " and ".join(f"{count:,} are `{name}`" for name, count in opcodes.most_common(2))
        executes = f"It executes {run.counters.warp_instructions:,} instructions: {often}."
        return _refused("this is the kernel that you began with.", f"{executes} Change it, then enter it again.")
    largest = float(np.abs(got.astype(np.float64) - rung.given.want).max())
    conflicts = sum(line.conflicts for line in run.counters.by_line.values())
    costs = Costs(run.counters.warp_instructions, run.counters.memory_sectors, conflicts, largest)
    theirs = {causes.plain(other["ptx"]) for other in kept.values() if other["borrowed"]}
    borrowed = isinstance(kernel, Built | DecodeBuilt) or causes.plain(ptx) in theirs
    look = roles.seen(rung, kernel, block, per_block, shared) if rung.name == roles.NAME and not borrowed else None
    stars: tuple[int, ...] = look.stars if look else (0, 0, 0, 0) if borrowed else rung.stars(costs)
    won = sum(stars) if look else min(stars)
    entry = {"costs": dict(zip(METRICS, costs, strict=True)), "stars": won, "borrowed": borrowed}
    entry |= {"opcodes": opcodes, "source": _source(kernel), "ptx": ptx}
    before = kept.get(rung.name)
    better = before is None or before["stars"] <= won
    if better:
        Path(FILE).write_text(json.dumps(kept | {rung.name: entry}, indent=1), encoding="utf-8")
    what = "Not kept: you had more stars" if not better else "Borrowed" if borrowed else "Entered"
    head = f"{what}: {_numbered(rung)}"
    registers = max(inspect(kernel, entry=run.kernel).pressure.values(), default=0)
    says = look.says if look else [] if borrowed else _weakest(rung, costs, stars, run)
    if rung.name in SEVEN and not borrowed:
        traffic, work = START.sectors / costs.sectors, START.instructions / costs.instructions
        since = f"{_ratio(traffic, 'less')} memory traffic, {_ratio(work, 'fewer')} instructions"
        says.append(f"Against the start: {since}.")
    says.append(f"It needs {registers} registers.")
    if rung.name in SEVEN:
        says.append("scoreboard.card() draws the picture to share.")
    if borrowed:
        rows = getattr(getattr(kernel, "config", None), "tile_q", 0) or -(-len(got) // run.grid[0])
        how = f"block={run.block[0]}, rows_per_block={rows}, shared={run.shared}"
        says = [f'scoreboard.source("{rung.name}") is its text. PTX that you make of it is entered with {how}.']
    if look:
        most, figures = 1, look.figures(_value("error", costs.error))
    else:
        was = _costs(before) or (_costs(_before(rung, kept)) if rung.name in SEVEN else None)
        most, figures = 3, _figures(rung, costs, was, stars)
    weak = None if borrowed or min(stars) == most else stars.index(min(stars))
    lines = [f"{head}  {drawn.stars(won)}"]
    for i, (name, now, then, got_stars, target) in enumerate(figures):
        mark = "  weakest" if i == weak else ""
        lines.append(f"  {name:<18} {now:>9}  {then:<14} {drawn.stars(got_stars, most)}  {target}{mark}")
    return Board((*lines, *says), drawn.entry(head, won, figures, weak, says, most), stars)


def _figures(rung: Rung, costs: Costs, was: Costs | None, stars: tuple[int, ...]) -> list[drawn.Figure]:
    """The four metrics of a kernel, beside what they were."""
    return [
        (name, _value(name, now), f"was {_value(name, was[i])}" if was else "", stars[i],
         f"★★★ at {_value(name, rung.costs[i])}")
        for i, (name, now) in enumerate(zip(METRICS, costs, strict=True))
    ]  # fmt: skip


def borrow(stage: str) -> Board:
    """Goes on from our kernel of a rung, without stars: `source` and `latest` then give that."""
    return enter(stage, _rung(stage).built())


def _weakest(rung: Rung, costs: Costs, stars: tuple[int, ...], run: Run) -> list[str]:
    """Which metric decides, what its next star needs, and the lines that spend most of it."""
    worst = stars.index(min(stars))
    if stars[worst] == 3:
        return ["Three stars: no metric is worse than ours."]
    name, names = METRICS[worst], ("one star", "two stars", "three stars")
    if worst == 3:
        return ["The error decides this rung."]
    need = int(rung.steps(worst, costs.instructions)[stars[worst]])
    assert run.counters is not None
    spent: Counter[str] = Counter()
    lines: dict[str, list[int]] = {}
    for number, line in run.counters.by_line.items():
        much = (line.warps, line.sectors - (-line.bulk // 32), line.conflicts)[worst]
        if worst == 1 and ".shared" in line.opcode and not line.bulk and "cp.async" not in line.opcode:
            continue
        spent[line.opcode] += much
        lines.setdefault(line.opcode, []).append(number)
    where = ", ".join(
        f"{much:,} in `{opcode}` (PTX lines {min(lines[opcode])} to {max(lines[opcode])})"
        for opcode, much in spent.most_common(3) if much
    )  # fmt: skip
    wanted = f"For {names[stars[worst]]} {need:,} or fewer are needed"
    return [f"{name.capitalize()} decide this rung. {wanted}. Yours are here: {where}."]


def show() -> Board:
    """Where one's own kernel stands: two charts, the seven rungs with their stars, and what is next."""
    kept = _kept()
    won = {name: kept[name]["stars"] for name in RUNGS if name in kept}
    nearest = next((rung for rung in RUNGS.values() if not won.get(rung.name) and not _borrowed(kept, rung.name)), None)
    done = max((i + 1 for i, name in enumerate(SEVEN) if won.get(name)), default=0)
    head = f"rung {done} of 7 · {sum(won.get(name, 0) for name in SEVEN)} of 21 stars"
    rail, says = [], list[str]()
    for rung in RUNGS.values():
        costs = _costs(kept.get(rung.name))
        state = "borrowed" if _borrowed(kept, rung.name) else "next" if rung is nearest else f"notebook {rung.notebook}"
        what = state if costs is None or state == "borrowed" else f"{costs[0]:,} instr., {costs[1]:,} sectors"
        rail.append((_numbered(rung), won.get(rung.name), what, rung is nearest))
    if nearest is not None:
        says.append(f"Next, {_numbered(nearest)}: {nearest.idea}")
        opcodes = (_before(nearest, kept) or {}).get("opcodes", {})
        about = {name: count for name, count in opcodes.items() if name.startswith(nearest.about)}
        if about:
            most = max(about, key=lambda name: about[name])
            says[0] += f" In your kernel `{most}` is {about[most]:,} of {sum(opcodes.values()):,} instructions."
        library = f"Library: {nearest.costs[0]:,} instructions, {nearest.costs[1]:,} sectors."
        says.append(
            f"{roles.ASKED if nearest.name == roles.NAME else library} The parts are your answers to "
            f'{nearest.parts}. Prefer to read on? scoreboard.borrow("{nearest.name}") goes on from our kernel, '
            "without stars."
        )
    lines = [f"Your attention kernel: {head}"]
    lines += [f"{'▸' if now else ' '} {name:<24} {drawn.stars(n or 0)}  {what}" for name, n, what, now in rail]
    at = SEVEN.index(nearest.name) + 1 if nearest is not None and nearest.name in SEVEN else None
    return Board((*lines, *says), drawn.board(head, _series(kept), at, rail, says))


def rungs_won() -> dict[str, str]:
    """Notebook -> its rung and the stars of it, in a line."""
    kept = _kept()
    return {rung.notebook[:2]: f"{_numbered(rung)} {drawn.stars(kept.get(name, {}).get('stars', 0))}"
            for name, rung in RUNGS.items()}  # fmt: skip


def card(path: str | Path = "my-attention.svg") -> Board:
    """Writes a picture of the best rung, an SVG of 1200 by 630 without scripts and outside fonts, and shows it."""
    kept = _kept()
    done = [name for name in SEVEN if kept.get(name, {}).get("stars")]
    if not done:
        raise ScoreboardError('no rung has a star yet; scoreboard.enter("rows", YOUR_KERNEL) enters the first')
    at, last = SEVEN.index(done[-1]) + 1, kept[done[-1]]
    found = drawn.card(_series({name: kept[name] for name in done}), at, last["stars"], last["ptx"])
    Path(path).write_text(found, encoding="utf-8")
    return Board((f"The card is in {path}: a browser shows it.",), found)


def _series(kept: dict[str, Any]) -> drawn.Series:
    """The student's costs from the start on, and ours."""
    own = [None if _borrowed(kept, name) else _costs(kept.get(name)) for name in SEVEN]
    return drawn.Series((START, *own), (START, *(RUNGS[name].costs for name in SEVEN)), ("start", *SEVEN))


def _numbered(rung: Rung) -> str:
    return f"rung {SEVEN.index(rung.name) + 1}, {rung.name}" if rung.name in SEVEN else rung.name


def _value(name: str, value: float) -> str:
    return f"{value:.1e}" if name == "error" else f"{value:,.0f}"


def _ratio(ratio: float, less: str) -> str:
    return f"{ratio:.1f} times {less}" if ratio >= 1 else f"{1 / ratio:.1f} times more"


def _costs(entry: Any) -> Costs | None:
    return entry and Costs(*(entry["costs"][name] for name in METRICS))


def _borrowed(kept: dict[str, Any], name: str) -> bool:
    return bool(kept.get(name, {}).get("borrowed"))


def _refused(what: str, *why: str) -> Board:
    head = f"Not entered: {what}"
    return Board((head, *why), drawn.box(f"⚠ {escape(head)}", says=why, look="pl-no"))


def _rung(name: str) -> Rung:
    if name not in RUNGS:
        raise ScoreboardError(f"there is no rung {name!r}; choose from {', '.join(map(repr, RUNGS))}")
    return RUNGS[name]


def _before(rung: Rung, kept: dict[str, Any]) -> Any:
    """The entry to go on from: the rung's, or the last one before it with inputs of the same kind; None if none is."""
    names = list(RUNGS)[: list(RUNGS).index(rung.name) + 1]
    return next((kept[name] for name in reversed(names) if name in kept and RUNGS[name].begin is rung.begin), None)


def source(stage: str) -> str:
    """The text of the kernel to go on from: entered last on this rung or one before it; else the one to begin with."""
    rung = _rung(stage)
    return str((_before(rung, _kept()) or {}).get("source") or _source(rung.begin))


def latest(stage: str) -> Any:
    """The kernel to go on from, as PTX; else the one to begin with."""
    rung = _rung(stage)
    return (_before(rung, _kept()) or {}).get("ptx") or rung.begin


def _kept() -> dict[str, Any]:
    path = Path(FILE)
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return {name: entry for name, entry in found.items() if name in RUNGS and "stars" in entry}
    except (ValueError, AttributeError) as error:
        raise ScoreboardError(f"{path.resolve()} is damaged ({error}); remove it to begin anew") from None


def _source(kernel: Any) -> str:
    """Python where it can be found, else PTX."""
    try:
        return FORMATTER.sub("", python_inspect.getsource(kernel.function))
    except (AttributeError, OSError, TypeError):  # PTX, ours, or a function without a file
        return text(kernel)
