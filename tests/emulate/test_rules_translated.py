"""The rules that are committed as LLVM text: they are those of the sources, and run as these do."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import ptxlab as pl
from ptxlab.emulate.jit.building import build, rule_objects, translated_rules
from ptxlab.emulate.jit.building.linked_rules import scheduler, translated_ahead
from ptxlab.emulate.jit.native.code import host
from ptxlab.emulate.program.digests import digest_of
from ptxlab.emulate.rules.instructions import scheduled

SUMS = """.version 8.0
.target sm_80
.address_size 64
.visible .entry sums(.param .u64 out, .param .u64 x, .param .u32 count)
{
    .reg .b32 %r<8>; .reg .b64 %a<8>; .reg .pred %p<3>; .shared .b32 total[1];
    ld.param.u64 %a0, [out]; ld.param.u64 %a1, [x]; ld.param.u32 %r0, [count];
    mov.u32 %r1, %tid.x; mov.u32 %r2, 0; mov.u32 %r3, 0;
    st.shared.u32 [total], 0;
    bar.sync 0;
again:                                              // thread t adds up every number from x[t] on, as many as its own
    setp.ge.u32 %p0, %r3, %r1;
    @%p0 bra done;
    mad.lo.u32 %r4, %r3, 7, %r1;
    mul.wide.u32 %a2, %r4, 4;
    add.u64 %a3, %a1, %a2;
    ld.global.u32 %r5, [%a3];
    add.u32 %r2, %r2, %r5;
    add.u32 %r3, %r3, 1;
    bra again;
done:
    atom.shared.add.u32 %r6, [total], %r2;
    bar.sync 0;
    ld.shared.u32 %r6, [total];
    mul.wide.u32 %a4, %r1, 4;
    add.u64 %a5, %a0, %a4;
    st.global.u32 [%a5], %r6;
    ret;
}
"""


def test_the_committed_text_is_that_of_the_rules() -> None:
    """`python -m ptxlab.emulate.jit.building.ahead_of_time` writes it anew."""
    for part in translated_ahead(host()):
        assert translated_rules.text_of(part) is not None, part.symbols
        stated = translated_rules._path(part).read_text(encoding="utf-8").split("\n")[2]
        assert stated.split()[-1] == digest_of(rule_objects.translated(part).encode()).hexdigest(), part.symbols
    assert len(list(translated_rules.FOLDER.iterdir())) == len(translated_ahead(host()))


def test_a_changed_rule_is_translated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    part = translated_ahead(host())[0]
    monkeypatch.setattr(translated_rules, "EMULATE", shutil.copytree(translated_rules.EMULATE, tmp_path / "emulate"))
    assert translated_rules.text_of(part) is not None
    changed = tmp_path / "emulate" / "rules" / "memcheck.py"
    text = changed.read_text(encoding="utf-8")
    for new in (text.replace("known", "known_"), None):
        translated_rules._digest_of.cache_clear()
        changed.unlink() if new is None else changed.write_text(new, encoding="utf-8")
        assert translated_rules.text_of(part) is None


def test_rules_of_which_other_things_are_known_are_translated() -> None:
    assert translated_rules.text_of(scheduler(scheduled(()), True, False, host())) is None
    assert translated_rules.text_of(scheduler(scheduled(()), False, False, host())) is not None


def test_text_of_another_llvm_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llvmlite.__version__", "0.99.0")
    assert [translated_rules.text_of(part) for part in translated_ahead(host())] == [None] * len(
        translated_ahead(host())
    )


@pytest.mark.parametrize("count", [4000, 300])  # with 300 numbers some threads read behind them
def test_committed_and_translated_rules_do_the_same(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def found() -> tuple[list[int], str]:
        build._recent.clear()
        rule_objects._built.clear()
        out, x = np.zeros(256, np.uint32), np.arange(count, dtype=np.uint32)
        try:
            pl.launch(SUMS, 1, 256, out, x, count, device="cpu")
        except pl.PtxlabError as fault:
            return out.tolist(), str(fault)
        return out.tolist(), ""

    monkeypatch.setattr("ptxlab.emulate.runtime.disk_cache.recall", lambda entry: None)
    used: list[bool] = []
    text_of = translated_rules.text_of
    monkeypatch.setattr(translated_rules, "text_of", lambda part: used.append(True) or text_of(part))
    committed = found()
    assert len(used) >= 3
    monkeypatch.setattr(translated_rules, "text_of", lambda part: None)
    assert found() == committed
    assert bool(committed[1]) == (count == 300)


def test_the_first_result_of_hopper_translates_no_rules_of_its_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    translated: list[str] = []
    translate, begin = rule_objects.translated, rule_objects.begin_committed
    begun: list[int] = []
    monkeypatch.setattr(rule_objects, "translated", lambda part: translated.append(part.symbols[0]) or translate(part))
    monkeypatch.setattr(build, "begin_committed", lambda parts: begun.append(len(found := begin(parts))) or found)
    monkeypatch.setattr("ptxlab.emulate.runtime.disk_cache.recall", lambda entry: None)
    build._recent.clear()
    rule_objects._built.clear()
    q, k, v = np.random.default_rng(1).standard_normal((3, 1, 1, 64, 64)).astype(np.float16)
    pl.attention(q, k, v, kernel="hopper", device="cpu")
    assert begun == [5]  # the scheduler; bulk copies, mbarriers, products and their tiles
    assert set(translated) <= {"lane_scheduling.go_on"}
