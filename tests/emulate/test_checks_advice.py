"""What findings tell the reader to write: the parser and the validator take it, and the finding is gone with it."""

from __future__ import annotations

import re

import pytest
from emulate_programs import ALL_CHECKS
from planted import BUGS
from planted_bug import Bug

from ptxlab.findings import Finding
from ptxlab.isa import TABLE
from ptxlab.text import parse
from ptxlab.text.validate import validate

WRITE = re.compile(r"write (?:a fence after it: |\.\w+: )?((@\S+ )?(\w+)[^;]*;(?: [a-z][\w.:]+;)?)")


def advice(finding: Finding) -> list[str]:
    """The instructions that a finding tells the reader to write."""
    return [found[1] for found in WRITE.finditer(finding.message) if found[3] in TABLE]


class Mended(Bug):
    """A planted bug whose reader has done what a finding advises."""

    def __init__(self, planted: Bug, finding: Finding, write: str) -> None:
        super().__init__(**vars(planted))
        self.lines_ = planted.text(False).splitlines()
        assert finding.first is not None
        named = re.search(r"line (\d+), ", finding.message)
        if "orders nothing between two blocks" in finding.message:
            assert named is not None
            self.lines_[int(named[1]) - 1] = write
        elif named is not None:
            self.lines_.insert(int(named[1]), write)
        elif "after the stores" in finding.message:
            assert finding.second is not None
            self.lines_.insert(finding.second.line, write)
        elif "after the access" in finding.message:
            here = finding.first.line  # half of a barrier that stands there already gives way to the whole
            behind = [line for line in self.lines_[here:] if "barrier.cluster" not in line]
            end = next(k for k, line in enumerate(behind) if line.strip().endswith(("exit;", "ret;")))
            self.lines_[here:] = [*behind[:end], write, *behind[end:]]
        else:  # between the two
            self.lines_.insert(finding.first.line - 1, write)

    def text(self, repaired: bool, name: str = "k") -> str:
        return "\n".join(self.lines_) + "\n"


@pytest.mark.sweep(12)
@pytest.mark.parametrize("name", BUGS)
def test_advice_is_an_instruction_that_repairs(name: str) -> None:
    planted = BUGS[name]
    run, _ = planted.run("cpu", False, ALL_CHECKS)
    for finding in run.findings:
        for write in advice(finding):
            mended = Mended(planted, finding, write)
            assert [str(error) for error in validate(parse(mended.text(False)))] == []
            again, _ = mended.run("cpu", False, ALL_CHECKS)
            assert (finding.kind, finding.message) not in [(f.kind, f.message) for f in again.findings], write
