"""Everything that wants a GPU, in one command: `python -m benchmarks.gpu [--out DIR] [--budget S] [--only PART ...]`.

Parts run in order of value, each in processes of its own with a limit; rows are written as they come. Start it again
with the same folder to go on where it stopped: what has passed or failed is not repeated, what was cut, hung or died
goes on. At the end stands a table (DIR/table.md), and DIR/campaign.json holds everything; docs/gpu.md says more.

    python -m benchmarks.gpu --budget 540              # about 15 minutes on an H100: two calls of nine will do
    python -m benchmarks.gpu --only prefill decode --redo
    python -m benchmarks.gpu --publish                 # the table, to benchmarks/results/gpu/<card>/
    python -m benchmarks.gpu --rehearse                # without a GPU: small problems on a stand-in for the driver

The exit status is 0 when every part passed, 1 when one did not, 3 when some are still to be run.
"""

from __future__ import annotations

import argparse
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from benchmarks.gpu.campaign import Campaign, now
from benchmarks.gpu.parts import PARTS

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "gpu"
NONE = "none: "
"""How the README's row of measured cards begins before there is one."""


def main() -> int:
    """Runs the campaign, or publishes one that has been run."""
    names = [part.name for part in PARTS]
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "gpu", help="the folder, build/gpu by default")
    parser.add_argument(
        "--budget", type=float, default=3600, metavar="SECONDS", help="end after so many, an hour by default"
    )
    parser.add_argument("--only", nargs="+", default=[], choices=names, metavar="PART", help=f"of {', '.join(names)}")
    parser.add_argument("--redo", action="store_true", help="run parts again that have ended, from the start")
    parser.add_argument("--rehearse", action="store_true", help="small problems, on a stand-in where there is no GPU")
    parser.add_argument("--publish", action="store_true", help="copy the table to benchmarks/results/gpu/<card>/")
    options = parser.parse_args()
    command = " ".join(["python -m benchmarks.gpu", *sys.argv[1:]])
    measured = "" if options.publish else commit()  # whoever publishes measures nothing
    facts = {"rehearsal": options.rehearse, "started": now(), "command": command, "commit": measured}
    try:
        campaign = Campaign(PARTS, options.out, facts)
        campaign.write()  # a folder that cannot be written is found before anything is measured
    except ValueError as error:
        parser.error(str(error))
    except OSError as error:
        parser.error(f"nothing can be written to {options.out} ({error.strerror}): give another folder with --out")
    if options.publish:
        return publish(campaign)
    environment: dict[str, str] = {"PYTHONPATH": str(ROOT)}
    extra: list[str] = []
    if options.rehearse:
        extra.append("--rehearse")
        environment |= rehearsal_environment()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: no part is left running
    try:
        campaign.run(options.budget, options.only, options.redo, extra, environment)
    except KeyboardInterrupt:
        print(f"stopped; the same command goes on where it was: {campaign.folder}")
        return 130
    except OSError as error:  # a full disk: what is written stays
        print(f"nothing more can be written to {campaign.folder} ({error.strerror}); make room, and start it again")
        return 1
    campaign.write()
    print(campaign.table())
    return campaign.status


def rehearsal_environment() -> dict[str, str]:
    """What makes the stand-in the GPU of every part, where this machine has none."""
    from ptxlab.gpu import device

    if device.available():
        return {}
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/support")]
    import stand_in

    if why := stand_in.unavailable():
        raise SystemExit(f"there is neither a GPU ({device.unavailable()}) nor a stand-in for one ({why})")
    found = stand_in.environment()
    found["PYTHONPATH"] = ":".join([str(ROOT), *filter(None, [found.get("PYTHONPATH", "")])])
    return found


def publish(campaign: Campaign) -> int:
    """Copies table.md to the folder of the card that was measured, and names the card in the README."""
    facts = campaign.found("facts")
    card = next((row["value"] for row in (facts or {"rows": []})["rows"] if row.get("what") == "card"), "")
    if not card or campaign.facts["rehearsal"]:
        print("there is nothing to publish: run the campaign on a GPU first, without --rehearse")
        return 2
    to = RESULTS / re.sub(r"[^a-z0-9]+", "-", card.lower()).strip("-")
    to.mkdir(parents=True, exist_ok=True)
    campaign.write()
    shutil.copyfile(campaign.folder / "table.md", to / "table.md")
    new = name_in(ROOT / "README.md", card, to.relative_to(ROOT).as_posix())
    print(f"published: {to.relative_to(ROOT)}{', and named in README.md' if new else ''}")
    return 0


def name_in(readme: Path, card: str, folder: str) -> bool:
    """Names a card in the README's row of measured cards, with its table; False where it is named already."""
    text = readme.read_text(encoding="utf-8")
    link = f"[{card}]({folder}/table.md)"
    row = re.search(r"^\| cards measured so far .*?\| (?P<cell>[^|\n]+) \|$", text, re.MULTILINE)
    if row is None:
        raise ValueError(f"{readme.name} has no row of cards measured so far: name {link} in it")
    cell = row["cell"]
    if link in cell:
        return False
    named = f"{link}; {cell.removeprefix(NONE)}" if cell.startswith(NONE) else f"{link}, {cell}"
    at = row.span("cell")
    readme.write_text(text[: at[0]] + named + text[at[1] :], encoding="utf-8")
    return True


def commit() -> str:
    """The commit that is measured, with a + where files differ from it; "not known" without git or a clone."""
    if shutil.which("git") is None:
        return "not known"
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty=+"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "not known"


if __name__ == "__main__":
    sys.exit(main())
