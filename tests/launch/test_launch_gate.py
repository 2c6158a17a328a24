"""PTX is judged before it runs: what NVIDIA's assembler refuses is refused on every way to a launch, with the line to
write, and what it takes runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from emulate_programs import DEVICES

import ptxlab as pl
from ptxlab.cli import main as cli
from ptxlab.course import score
from ptxlab.emulate import lower
from ptxlab.gpu import assembler
from ptxlab.text import parse

SQUARE = """.version 7.0
.target sm_80
.address_size 64
.visible .entry square(.param .u64 x)
{
    .reg .u32 %i, %n, %narrow;
    .reg .u64 %x, %at;
    .reg .f32 %v;
    .reg .pred %p;
    .reg .b16 %h<2>;
    mov.u32 %i, %tid.x;
    mov.u32 %n, 32;
    ld.param.u64 %x, [x];
    mad.wide.u32 %at, %i, 4, %x;
    cvt.u32.u64 %narrow, %at;
    ld.global.f32 %v, [%at];
    mul.f32 %v, %v, %v;
    LINE
    add.f32 %v, %v, 1.0;
    st.global.f32 [%at], %v;
    ret;
}
"""


def square(line: str = "", version: str = "7.0", target: str = "sm_80") -> str:
    return SQUARE.replace("LINE", line).replace("7.0", version).replace("sm_80", target)


RIGHT = {
    "as it stands": square(),
    "half as .5": square("add.f32 %v, %v, .5; sub.f32 %v, %v, 5e-1;"),
    "bits as a float": square("mov.b32 %i, %v; mov.b32 %v, %i;"),
    "a wider register": square("st.global.u8 [%at], %i; ld.global.u8 %i, [%at];"),
    "a special register in cvt": square("cvt.u32.u16 %i, %h0; cvt.u64.u32 %x, %tid.x;"),
    "a negative offset": square("ld.global.f32 %v, [%at+-0];"),
    "packed": square("mov.b32 %i, {%h0, %h1}; mov.b32 {%h0, %h1}, %i;"),
    "a 32-bit address before sm_90": square("setp.ne.u32 %p, %n, %n; @%p st.global.f32 [%narrow], %v;"),
    "an older target": square(version="6.0", target="sm_50"),
    "a virtual target": square(target="compute_80"),
    "the last version": square(version="9.5", target="sm_121a"),
    "more words behind the target": square(target="sm_80, texmode_independent"),
    "no .address_size": square().replace(".address_size 64\n", ""),
}  # fmt: skip
WRONG = {
    "an integer for a float": (square("add.f32 %v, %v, 1;"), ":18:21: add.f32 takes a floating-point number here, "
                               "found the integer 1"),
    "setp.ge.f32 of u32": (square("setp.ge.f32 %p, %i, %n;"), ":18:21: setp.ge.f32 takes .f32 or .b32 here; %i is "
                            ".u32"),
    "mov of another width": (square("mov.u64 %at, %i;"), ":18:18: mov.u64 takes .u64, .s64 or .b64 here; %i is .u32"),
    "a vector of special registers": (square("mov.u32 %i, %tid;"), ":18:17: mov.u32 takes one register here; %tid is "
                                      "a vector of three"),
    "packed wrongly": (square("mov.b32 %i, {%h0, %n};"), ":18:17: mov.b32 takes elements that have 32 bits together, "
                       "all of the same width; found {%h0, %n}"),
    "a minus in an address": (square("ld.global.f32 %v, [%at-4];"), ":18:27: an offset is added to a name; found '-'"),
    "a register as an offset": (square("ld.global.f32 %v, [%x+%i];"), ":18:23: ld.global.f32 takes an address with a "
                                "constant offset, found [%x+%i]"),
    "no .version": (SQUARE.replace(".version 7.0\n", "").replace("LINE", ""), ":1:1: the text does not begin with the "
                    ".version of PTX that it is written in"),
    "no .target": (SQUARE.replace(".target sm_80\n", "").replace("LINE", ""), ":2:1: after .version the text does not "
                   "say which .target it is for"),
    "an instruction of a later target": (square("griddepcontrol.wait;", "7.8"), ":18:5: griddepcontrol.wait needs "
                                         "sm_90 or later; this text is for sm_80"),
    "a special register that came later": (square("mov.u32 %i, %cluster_ctarank;", "7.8"), ":18:17: %cluster_ctarank "
                                           "needs sm_90 or later; this text is for sm_80"),
    "a directive that came later": (square().replace("u64 x)", "u64 x) .reqnctapercluster 2"), ":4:39: "
                                    ".reqnctapercluster needs PTX 7.8 or later; this text is .version 7.0"),
    "directives that exclude each other": (square().replace("u64 x)", "u64 x) .maxntid 32 .reqntid 32"), ":4:51: "
                                           "square has .maxntid as well as .reqntid: write one of them"),
    "a 32-bit global address": (square("st.global.f32 [%narrow], %v;", "7.8", "sm_90"), ":18:19: sm_90 has 64-bit "
                                "addresses; %narrow is .u32"),
    "a 32-bit module": (square(version="7.8", target="sm_90").replace("size 64", "size 32"), ":3:15: sm_90 has 64-bit "
                        "addresses only"),
}  # fmt: skip


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", RIGHT)
def test_what_the_assembler_takes_runs(name: str, device: str) -> None:
    x = np.arange(32, dtype="f4")
    assert not pl.launch(RIGHT[name], 1, 32, x, device=device).findings


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", WRONG)
def test_what_it_refuses_is_refused_before_anything_runs(name: str, device: str) -> None:
    text, message = WRONG[name]
    x = np.arange(32, dtype="f4")
    for _ in range(2):
        with pytest.raises(pl.PtxError) as refused:
            pl.launch(text, 1, 32, x, device=device)
        assert str(refused.value).splitlines()[0] == f"<ptx>{message}"
    assert (x == np.arange(32)).all()


@pytest.mark.long
@pytest.mark.assembler
def test_the_assembler_says_the_same() -> None:
    for name, text in RIGHT.items():
        if name != "an older target":  # which this assembler does not make code for
            assembler.assemble(text)
    for name, (text, _) in WRONG.items():
        with pytest.raises(pl.PtxlabError):
            assembler.assemble(text)
            pytest.fail(f"{name} is taken")


def test_whatever_runs_ptx_asks(tmp_path: Path) -> None:
    """The command and the marks of the course; and what looks at a program without a launch."""
    file = tmp_path / "square.ptx"
    for text, right in ((square(), True), (square("add.f32 %v, %v, 1;"), False)):
        file.write_text(text)
        assert (cli.main(["check", str(file), "f32[32]=1"]) == 0) == right
        assert (float(score("00-square", text, points=1, seed=1, quiet=True)) > 0.99) == right
    with pytest.raises(pl.PtxError, match="found the integer 1"):
        lower(parse(square("add.f32 %v, %v, 1;")))
    with pytest.raises(pl.PtxError, match="found the integer 1"):
        pl.inspect(square("add.f32 %v, %v, 1;"))


LATER = """import sys, warnings, numpy as np, ptxlab as pl
warnings.simplefilter("always")
with warnings.catch_warnings(record=True) as noted:
    for _ in range(2):
        pl.launch(sys.argv[1], 1, 32, np.ones(32, "f4"), device="cpu")
print(*{str(warning.message) for warning in noted}, sep="|")
print("ptxlab.text.validate" in sys.modules)
"""


@pytest.mark.rest
def test_a_later_version_is_a_warning_in_every_process(tmp_path: Path) -> None:
    """And a text that has run is not judged again, nor is the validator loaded for it."""
    said = "<ptx>:1: .version 99.9 is newer than 9.5, the newest that ptxlab knows"
    for text, warns in ((square(version="99.9"), True), (square(), False)):
        for again in (False, True):
            environment = {**os.environ, "PTXLAB_CACHE": str(tmp_path)}
            command = [sys.executable, "-c", LATER, text]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
            noted, judged = done.stdout.splitlines()
            assert noted.startswith(said) if warns else noted == ""
            assert judged == str(not again)


BLACKWELL = """.version 8.8
.target sm_120a
.address_size 64
.visible .entry plain() { ret; }
.visible .entry later() { .reg .b8 %z; .reg .f32 %d<2>; cvt.rn.satfinite.e2m1x2.f32 %z, %d0, %d1; ret; }
"""


def test_what_the_table_may_lack_stops_only_the_kernel_that_has_it() -> None:
    assert pl.launch(BLACKWELL, 1, 1, entry="plain", device=DEVICES[0]).kernel == "plain"
    with pytest.raises(pl.PtxError, match="e2m1x2"):
        pl.launch(BLACKWELL, 1, 1, entry="later", device=DEVICES[0])
