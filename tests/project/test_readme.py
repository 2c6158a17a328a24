"""The README keeps its word: its example runs, its commands work, its files exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ptxlab.cli import main as cli

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
SHELL = "".join(re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL))
EXAMPLES = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
COMMANDS = re.findall(r"^ptxlab (.+)$", SHELL, re.MULTILINE)


def test_the_example_has_five_lines_and_runs(capsys: pytest.CaptureFixture[str]) -> None:
    example = EXAMPLES[0]
    assert len([line for line in example.splitlines() if line]) == 5
    exec(compile(example, "README.md", "exec"), {})
    out = capsys.readouterr().out
    assert re.search(r"^kernel +scalar_f32_d64_causal$", out, re.MULTILINE)
    assert re.search(r"^result +pass$", out, re.MULTILINE)
    assert ".visible .entry scalar_f32_d64_causal(" in out


@pytest.mark.long
def test_the_other_examples_run(capsys: pytest.CaptureFixture[str]) -> None:
    for example in EXAMPLES[1:]:
        exec(compile(example, "README.md", "exec"), {})
    out = capsys.readouterr().out
    assert "decode_gqa_f16_d64_page16_partial + decode_reduce_f16_d64\n" in out
    assert "result      pass\n" in out


@pytest.mark.parametrize("command", COMMANDS)
def test_its_commands_work(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(command.split()) == 0
    assert capsys.readouterr().out


def test_what_it_names_is_there() -> None:
    named = re.findall(r"`([\w./-]+\.(?:py|ipynb|md))`", TEXT) + re.findall(r'(?:src|srcset)="([^"]+)"', TEXT)
    assert len(named) > 8
    assert [name for name in named if not (ROOT / name).is_file()] == []
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"`?make (\w+)", TEXT):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_it_names_the_cards_that_were_measured() -> None:
    (row,) = re.findall(r"^\| cards measured so far .*?\| ([^|]+) \|$", TEXT, re.MULTILINE)
    folder = ROOT / "benchmarks" / "results" / "gpu"
    published = sorted(path.parent.name for path in folder.glob("*/table.md"))
    assert sorted(re.findall(r"\]\(benchmarks/results/gpu/([\w-]+)/table\.md\)", row)) == published
    assert row.startswith("none: ") == (not published)
