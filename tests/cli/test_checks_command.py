"""The command `ptxlab check`: its arguments, what it prints and its status."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS, DEVICES
from planted import BUGS

import ptxlab as pl
from ptxlab.cli import main as cli
from ptxlab.cli.check import argument


def test_the_command_reports_and_sets_its_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    planted = BUGS["shared: another warp's element before a barrier"]
    buggy, repaired = tmp_path / "buggy.ptx", tmp_path / "repaired.ptx"
    buggy.write_text(planted.text(False))
    repaired.write_text(planted.text(True))
    rest = ["out:u32[64]", "u32[64]=0", "--block", "64,1", "--device", DEVICES[-1]]
    assert cli.main(["check", str(repaired), *rest]) == 0
    assert capsys.readouterr().out == "nothing found\n"
    assert cli.main(["check", "--block", "64", str(repaired), "--device", DEVICES[-1], "out:u32[64]", "u32[64]=0"]) == 0
    assert capsys.readouterr().out == "nothing found\n"
    with pytest.raises(SystemExit):
        cli.main(["check", str(repaired), "--block", "x", "--grid", "2"])
    assert "argument --block: 'x' is not a size: write 64, or 8,4 or 8,4,2" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main(["check", str(repaired), "--blocks", "64"])
    sarif = tmp_path / "found.sarif"
    given = ["check", str(buggy), *rest, "--checks", "racecheck,memcheck", "--json", "--sarif", str(sarif)]
    assert cli.main(given) == 1
    found = json.loads(capsys.readouterr().out)
    assert {f["check"] for f in found} == {"racecheck"}
    assert [f["kind"] for f in found] == ["RAW"]
    places = [r["locations"][0]["physicalLocation"] for r in json.loads(sarif.read_text())["runs"][0]["results"]]
    assert [place["artifactLocation"] for place in places] == [{"uri": buggy.as_uri()}] * len(found)
    assert [place["region"]["startLine"] for place in places] == [f["first"]["line"] for f in found]
    (tmp_path / "sum.cu").write_text("\n" * 6 + "  total[0] += x[i];\n")
    buggy.write_text(planted.text(False).replace("{\n", "{\n.loc 1 7 1\n", 1) + '\n.file 1 "/made/on/sum.cu"\n')
    assert cli.main(given) == 1
    place = json.loads(sarif.read_text())["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == (tmp_path / "sum.cu").as_uri()
    assert place["region"] == {"startLine": 7, "snippet": {"text": "  total[0] += x[i];"}}
    capsys.readouterr()
    assert cli.main([each for each in given if each != "--json"]) == 1
    assert "sum.cu:7: total[0] += x[i];\nracecheck: RAW" in capsys.readouterr().out
    assert cli.main(["check", str(buggy), "u33[64]", "1"]) == 2
    assert capsys.readouterr().err.startswith("ptxlab: u33[64]: there is no type 'u33'; choose from f16, f32")
    assert cli.main(["check", str(buggy)]) == 2
    assert capsys.readouterr().err.endswith(f"\n  write:  ptxlab check {buggy} f32[256] f32[256]\n")


def test_the_command_warns_before_it_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, sarif = tmp_path / "warned.ptx", tmp_path / "found.sarif"
    planted = BUGS["shared: another warp's element before a barrier"]
    text = planted.text(True).replace("ret;", "max.u32 %r1, %r1, %r1;\nret;")
    path.write_text(text)
    given = ["check", str(path), "out:u32[64]", "u32[64]=0", "--block", "64", "--device", DEVICES[-1]]
    assert cli.main([*given, "--sarif", str(sarif)]) == 0
    said = capsys.readouterr().out
    line = text[: text.index("max.u32")].count("\n") + 1
    assert said.startswith(
        f"{path}:{line}:5: warning: the larger one of %r1 and itself is %r1\n        max.u32 %r1, %r1, %r1;\n"
    )
    assert said.endswith("  off:    // ptxlab: ignore[same-operands]\nnothing found\n")
    (result,) = json.loads(sarif.read_text())["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("lint/same-operands", "warning")
    assert cli.main([*given, "--json"]) == 0
    assert [(f["check"], f["first"]["line"]) for f in json.loads(capsys.readouterr().out)] == [("lint", line)]


@pytest.mark.parametrize("device", DEVICES)
def test_the_command_reports_what_stops_a_kernel(
    device: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    planted = BUGS["mbarrier: bytes that nobody reports"]
    path = tmp_path / "stops.ptx"
    path.write_text(planted.text(False))
    wait, arrive = planted.lines()
    given = ["check", str(path), "out:u32[128]", "u32[320]=0", "--block", "64", "--device", device]
    assert cli.main(given) == 1
    said = capsys.readouterr().out
    assert said.startswith("synccheck: no thread of the block can go on\n    warp 0, lanes 0-31: waits for phase 0")
    assert cli.main([*given, "--json"]) == 1
    stopped, noted = json.loads(capsys.readouterr().out)
    assert (stopped["check"], stopped["kind"], stopped["first"]["line"]) == ("synccheck", "deadlock", wait)
    assert (noted["kind"], noted["first"]["line"], noted["second"]["line"]) == ("mbarrier wait", wait, arrive)
    with pytest.raises(pl.DeviceFault) as fault:  # checks= gives the same
        planted.launch(device, False, ALL_CHECKS)
    assert json.loads(json.dumps([f.to_dict() for f in fault.value.findings])) == [stopped, noted]


def test_arguments_of_the_command(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(3, dtype=np.float32))
    assert argument(str(tmp_path / "x.npy")).tolist() == [0, 1, 2]
    assert (argument("0x10"), argument("0.5")) == (16, 0.5)
    assert argument("f64:0.5").dtype == np.float64
    assert argument("i16[2,3]=-7").tolist() == argument("s16[2,3]=-7").tolist() == [[-7, -7, -7], [-7, -7, -7]]
    assert argument("f32[4]", 1).dtype == np.float32
    assert argument("out:f32[4]").shape == (4,)
    for text, write in (("hello", ""), ("out=float[4][8]", "\n  write:  out:f32[4,8]")):
        with pytest.raises(pl.LaunchError) as error:
            argument(text)
        says = "expected a number, an array such as f32[256] or out:f32[256], or a .npy file"
        assert str(error.value) == f"{text}: {says}{write}"
