"""The campaign's bookkeeping: parts run one after the other, each in processes of its own, within a budget of seconds.

What a part measures is in its own `Record` (DIR/<part>.json). Here is kept how each part ended: DIR/campaign.json, and
for people DIR/table.md, both written anew after every part. Whoever starts the campaign again with the same DIR goes on
where it stopped.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.gpu.record import DONE, UNFINISHED, UNUSABLE, WRONG, kept, put_aside

WIDEST = 180
"""Characters of what a part says that the table shows; campaign.json has all."""
GRACE = 12.0
"""Seconds between the end of the time that a part is given and the moment at which it is stopped."""
LEAST = 20.0
"""A part is not started with less time than this, or than all the time that it wants."""

WAITING, PASSED, FAILED, DIED, HUNG, CUT, MORE = "waiting", "passed", "failed", "died", "hung", "cut", "unfinished"
GO_ON = {WAITING, DIED, HUNG, CUT, MORE}
"""Parts that a second start of the campaign runs (again); they go on behind the rows that they have."""
MARK = "PTXLAB_CAMPAIGN_PART"
"""The variable by which all processes of a part are found, also those that have a session of their own."""
LIMIT = 30
"""Seconds after which a kernel that does not end is given up, with its process; the slowest takes two."""


@dataclass(frozen=True)
class Part:
    """One part. `command` is run with `--json FILE --seconds N`; `seconds` is the time that it needs on a GPU."""

    name: str
    seconds: float
    command: tuple[str, ...]
    question: str


@dataclass
class End:
    """How a part ended, and the last line that it printed. `limit`: the seconds after which it would be stopped.
    `before`: how earlier runs ended that died or hung."""

    status: str = WAITING
    code: int | None = None
    seconds: float = 0.0
    limit: float = 0.0
    says: str = ""
    runs: int = 0
    before: str = ""


class Campaign:
    """The parts with how they ended, kept in `folder`."""

    def __init__(self, parts: Sequence[Part], folder: Path, facts: Mapping[str, Any]) -> None:
        self.parts, self.folder, self.facts = parts, folder, dict(facts)
        self.ends = {part.name: End() for part in parts}
        folder.mkdir(parents=True, exist_ok=True)
        earlier = folder / "campaign.json"
        if earlier.exists():
            try:
                found = json.loads(earlier.read_text(encoding="utf-8"))
                ends = {name: End(**end) for name, end in found["parts"].items() if name in self.ends}
                facts = {name: found[name] for name in self.facts}
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                put_aside(earlier, error)  # the rows of the parts are in files of their own
                return
            if facts["rehearsal"] != self.facts["rehearsal"]:
                what = "a rehearsal" if facts["rehearsal"] else "a campaign on a GPU"
                raise ValueError(f"{folder} holds {what}: give another folder with --out, or remove it")
            if self.facts["commit"] and self.facts["commit"] not in facts["commit"].split(", later "):
                facts["commit"] += f", later {self.facts['commit']}"
            self.ends |= ends
            self.facts = facts

    def run(
        self,
        budget: float,
        only: Sequence[str] = (),
        redo: bool = False,
        extra: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        say: Callable[[str], None] = print,
    ) -> None:
        """Runs what is still to be run, for at most `budget` seconds. only: just these parts. redo: those that have
        ended as well, from the start."""
        started = time.monotonic()
        todo = [part for part in self.parts if not only or part.name in only]
        for part in todo if redo else ():
            self.file(part.name).unlink(missing_ok=True)
            self.ends[part.name] = End()
        todo = [part for part in todo if self.ends[part.name].status in GO_ON]
        todo.sort(key=lambda part: self.ends[part.name].status in (HUNG, DIED))  # what hung or died, last
        while todo:
            again = []
            for part in todo:
                left = budget - (time.monotonic() - started)
                if left < min(part.seconds, LEAST):
                    say(f"{part.name}: no time is left ({left:.0f} s)")
                    continue
                say(f"{part.name}: {part.question}")
                before = self._rows(part.name)
                try:
                    end = self._run(part, left, extra, environment)
                finally:
                    self.write()
                say(f"{part.name}: {end.status} after {end.seconds:.0f} s: {end.says}\n")
                if end.code == UNUSABLE:
                    say(f"nothing can be measured here: see {self.folder / part.name}.log")
                    return
                if end.status == MORE and self._rows(part.name) > before:
                    again.append(part)  # after all others: it goes on, as behind a kernel that the GPU stopped
            todo = again

    def file(self, name: str) -> Path:
        """Where a part keeps its rows."""
        return self.folder / f"{name}.json"

    def found(self, name: str) -> dict[str, Any] | None:
        """What a part has recorded so far."""
        return kept(self.file(name))

    def _rows(self, name: str) -> int:
        found = self.found(name)
        return len(found["rows"]) if found else 0

    def _run(self, part: Part, left: float, extra: Sequence[str], environment: Mapping[str, str] | None) -> End:
        """Runs a part until it ends or its time is up; then it and all that it started are killed."""
        end = self.ends[part.name]
        limit = min(part.seconds + GRACE, left)
        given = max(limit - GRACE, limit / 2)
        command = [*part.command, "--json", str(self.file(part.name)), "--seconds", f"{given:.0f}", *extra]
        log, began = self.folder / f"{part.name}.log", time.monotonic()
        before = log.stat().st_size if log.exists() else 0
        if end.status in (DIED, HUNG):
            end.before = f"; run {end.runs} {end.status}: {end.says}{end.before}"
        mark = f"{os.getpid()}-{part.name}-{time.time_ns()}"
        end.runs, end.limit, end.status = end.runs + 1, round(limit, 1), CUT
        with log.open("ab") as out:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={
                    **os.environ,
                    "PYTHONUNBUFFERED": "1",
                    "PTXLAB_GPU_LIMIT": str(LIMIT),
                    **(environment or {}),
                    MARK: mark,
                },
            )
            try:
                end.code = child.wait(limit)
                end.status = {DONE: PASSED, WRONG: FAILED, UNUSABLE: FAILED, UNFINISHED: MORE}.get(end.code, DIED)
            except subprocess.TimeoutExpired:
                end.code = None
                end.status = HUNG if limit >= part.seconds else CUT
            finally:
                _kill(child, mark)
                end.seconds = round(time.monotonic() - began, 1)
                end.says = _last_line(log, before)
                if end.status == DIED and end.code is not None and end.code < 0:
                    end.says = f"{signal.Signals(-end.code).name}; {end.says}"
        return end

    def write(self) -> None:
        """campaign.json, with what all parts have recorded, and table.md."""
        found = {**self.facts, "parts": {name: asdict(end) for name, end in self.ends.items()}}
        found["records"] = {name: record for name in self.ends if (record := self.found(name)) is not None}
        for name, text in (("campaign.json", json.dumps(found, indent=1) + "\n"), ("table.md", self.table())):
            new = self.folder / f"{name}.new"
            new.write_text(text, encoding="utf-8")
            os.replace(new, self.folder / name)

    def table(self) -> str:
        """The whole campaign as Markdown: how each part ended, then each part's own table."""
        from benchmarks.gpu.parts import table_of

        head = [f"- {name}: {value}" for name, value in self.facts.items() if name != "rehearsal"]
        kind = "A rehearsal of the GPU campaign" if self.facts["rehearsal"] else "The GPU campaign"
        head += ["", "Small problems: times say nothing about a GPU."] if self.facts["rehearsal"] else []
        lines = [f"# {kind}", "", *head, "", "| part | ended | seconds | says |", "| --- | --- | ---: | --- |"]
        for part in self.parts:
            end = self.ends[part.name]
            says = shortened(f"{end.says}{end.before}".replace("|", "/"))
            lines.append(f"| {part.name} | {end.status} | {end.seconds:.0f} | {says} |")
        for part in self.parts:
            if (found := self.found(part.name)) is None:
                continue
            try:
                text = table_of(part.name, found).strip() if found["rows"] else "Nothing was measured."
            except Exception as error:  # rows of another version: said here, the tables of the other parts stand
                text = f"The rows in {part.name}.json cannot be shown ({type(error).__name__}: {error})."
            absent = [f"- not here: {one['what']}: {one['why']}" for one in found.get("missing", ())]
            absent = [line for line in absent if line not in text]
            lines += ["", f"## {part.name}: {part.question}", "", text, *([""] if absent else []), *absent]
        return "\n".join(lines) + "\n"

    @property
    def status(self) -> int:
        """0: every part passed; 1: one did not; 3: some are still to be run."""
        ended = {end.status for end in self.ends.values()}
        return 1 if ended & {FAILED, DIED, HUNG} else 3 if ended & GO_ON else 0


def now() -> str:
    """The date and the minute, UTC."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def _kill(child: subprocess.Popen[bytes], mark: str) -> None:
    """Ends a process, its process group, and all that carry the part's `mark`: an ncu has a group of its own."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # the group has ended already
    child.wait()
    for _ in range(100):  # until they are gone: what still runs would disturb the next part
        left = marked(mark)
        for process in left:
            with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
                os.kill(process, signal.SIGKILL)
        if not left:
            break
        time.sleep(0.05)


def marked(mark: str) -> list[int]:
    """The processes that carry the `mark` of a part in their environment."""
    wanted, found = f"{MARK}={mark}".encode(), []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # it has ended meanwhile, or is another user's
            if wanted in environ.read_bytes().split(b"\0"):
                found.append(int(environ.parent.name))
    return found


def _last_line(log: Path, start: int) -> str:
    """The last line that is not empty of what was written to a log from byte `start` on."""
    with log.open("rb") as file:
        file.seek(start)
        lines = [line for line in file.read().decode(errors="replace").splitlines() if line.strip()]
    return lines[-1].strip()[:1000] if lines else "nothing was printed"


def shortened(text: str) -> str:
    """A text of at most WIDEST characters, cut behind a word."""
    if len(text) <= WIDEST:
        return text
    cut = text[: WIDEST - 2]
    whole = cut if text[len(cut)] == " " else cut.rpartition(" ")[0]  # the last word may be half of one
    return f"{(whole or cut).rstrip(' ,;:')} …"
