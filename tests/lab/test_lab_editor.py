"""`pl.editor()`: what words mean, what may follow, what is wrong; and that its bundle is what its sources make."""

from __future__ import annotations

import hashlib
import runpy
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import ptxlab as pl
from ptxlab.frontends.cuda import available
from ptxlab.lab import assets, cell_questions, language

pytest.importorskip("anywidget", reason="needs anywidget: pip install anywidget")

from ptxlab.lab.editing import START

FRONTEND = Path(__file__).parents[2] / "frontend"


def words(before: str, text: str = START) -> list[str]:
    return [option.word for option in language.complete(before, text)[1]]


# -- meanings and completions ------------------------------------------------------------------------------------------


def test_what_words_mean() -> None:
    found = language.explain("fma.rn.f32")
    assert found is not None
    assert found["word"] == "fma.rn.f32"
    assert [part for part, _ in found["parts"]] == [".rn", ".f32"]
    assert language.explain("%lane", START) == {"word": "%lane", "says": "A register of type .u32."}
    assert language.explain("%lane", "") is None
    assert language.explain(".target")["says"] == "The oldest GPU architecture that this text is written for."
    assert language.explain("%tid.x")["says"].startswith("The thread's place in its block")
    unfinished = language.explain("ld.global")
    assert unfinished["word"] == "ld"
    assert unfinished["syntax"].endswith("...")
    assert language.explain("kernel", START) is None


def test_opcodes_and_their_modifiers_in_order() -> None:
    assert words("    fm") == ["fma"]
    assert words("    fma.") == ["fma.rn", "fma.rz", "fma.rm", "fma.rp"]
    assert "fma.rn.f32" in words("    fma.rn.")
    assert "fma.rn.rz" not in words("    fma.rn.")
    assert words("    mma.sync.") == ["mma.sync.aligned"]
    assert words("@!%p shfl.sync.b") == ["shfl.sync.bfly"]
    assert set(words("DONE: ex")) == {"exit", "ex2"}
    assert words("    nonsense.") == []


def test_registers_labels_and_variables() -> None:
    assert words("    add.u64 %a")[0] == "%at"
    assert "%tid.x" in words("    mov.u32 %lane, %ti")
    assert "x" in words("    ld.param.u64 %x, [")
    text = START.replace("    ret;", "DONE:\n    ret;").replace("%lane;", "%lane, %r<3>;", 1)
    assert words("    bra D", text) == ["DONE"]
    assert words("    add.u32 %r", text) == ["%r0", "%r1", "%r2"]
    assert words(".vis") == [".visible"]


# -- the widget --------------------------------------------------------------------------------------------------------


def checked(text: str) -> dict:
    editor = pl.editor(text)
    assert editor.wait()
    return editor.problems


@pytest.mark.assembler
def test_a_text_without_mistakes() -> None:
    found = checked(START)
    assert found == {
        "seq": 0,
        "stage": "assembled",
        "items": [],
        "count": 0,
        "note": "assembled: 8 registers, no spills",
    }


def test_mistakes_of_the_parser_and_of_the_table() -> None:
    (item,) = checked(START.replace("%lane, 4;", "%lane 4;"))["items"]
    assert (item["line"], item["column"], item["length"]) == (12, 30, 1)
    assert item["message"] == "expected ',' or ';' after '%lane'; found '4'"
    assert item["more"] == ["write:  mul.wide.u32  %at, %lane, 4;"]
    first, second = checked(START.replace("mov.u32 ", "mov.rn.u32 ").replace("[%at]", "[%there]"))["items"]
    assert [first["line"], second["line"]] == [11, 14]
    assert "%there" in second["message"]


@pytest.mark.assembler
def test_mistakes_that_only_the_assembler_finds() -> None:
    text = START.replace(".reg .u32 %lane;", ".reg .u32 %lane;\n    .shared .b8 tile[300000];")
    found = checked(text)
    assert found["stage"] == "assembled"
    assert len(found["items"]) == 1
    assert "shared" in found["items"][0]["message"]


def test_only_the_newest_text_is_answered() -> None:
    editor = pl.editor(START)
    seen: list[int] = []
    editor.observe(lambda change: seen.append(change["new"]["seq"]), "problems")
    for k in range(1, 30):
        editor.text = START + f"// {k}\n"
    assert editor.wait()
    assert editor.problems["seq"] == 29
    assert seen == sorted(seen)
    assert editor.text.endswith("// 29\n")


def test_an_editor_is_a_kernel() -> None:
    x = np.zeros(32, np.uint32)
    editor = pl.editor(START, 1, 32, x)
    pl.launch(editor, 1, 32, x)
    assert x.tolist() == list(range(32))
    x[:] = 0
    assert editor.run().ok
    assert x.tolist() == list(range(32))
    editor.text = START.replace("%lane, 4;", "%lane 4;")
    assert "found '4'" in str(editor.run().error)
    applied: list[str] = []
    editor.on_apply(applied.append)
    editor._answer(editor, {"kind": "apply", "text": START, "seq": 5}, None)
    assert applied == [START]
    assert editor.result["seq"] == 5
    assert "uint32 [32]: 0 1 2 3" in editor.result["html"]


def test_what_can_be_opened() -> None:
    scalar = pl.editor("scalar", head_dim=16)
    assert scalar.text == pl.kernels.get("scalar").build(head_dim=16).ptx
    assert repr(scalar).startswith("editor of scalar_f32_d16, ")
    assert pl.editor(scalar).text == scalar.text
    assert pl.editor().text == START
    with pytest.raises(pl.kernels.UnknownKernel) as caught:
        pl.editor("scaler")
    assert str(caught.value).startswith("there is no kernel 'scaler'; did you mean scalar?; choose from scalar, ")
    for wrong, says in ((3, "kernel: expected PTX text or a kernel, found int"), (None, "... found NoneType")):
        with pytest.raises(pl.LaunchError) as refused:
            pl.editor(wrong)
        assert str(refused.value).endswith(says.removeprefix("..."))
    with pytest.raises(pl.TargetError) as misspelt:
        pl.editor("scalar", head_dm=16)
    assert str(misspelt.value).startswith("scalar has no head_dm; did you mean head_dim?; its parameters are ")
    assert pl.editor("").text == ""
    data = pl.editor()._repr_mimebundle_()[0]
    assert "mul.wide.u32" not in data["text/plain"]
    assert "ptxlab-copy" in data["text/html"]


# -- the same for a cell of a notebook ---------------------------------------------------------------------------------


def test_a_cell_is_explained_and_checked_below_its_magic() -> None:
    wrong = "%%ptx --grid 1\n.version 8.0\n.target sm_80\n.address_size 64\n.visible .entry f()\n{\n    ret\n}\n"
    found = cell_questions.answer({"kind": "check", "text": wrong})
    assert [(mark["line"], mark["message"]) for mark in found] == [(7, "expected operands or ';' after ret; found '}'")]
    assert cell_questions.answer({"kind": "check", "text": "%%ptx\n# YOUR CODE HERE\n"}) == []
    told = cell_questions.answer({"kind": "explain", "text": "%%ptx\n.reg .u32 %t;", "word": "%t"})
    assert told == {"word": "%t", "says": "A register of type .u32."}


@pytest.mark.skipif(not available(), reason="needs NVRTC: pip install cuda-bindings nvidia-cuda-nvrtc")
def test_each_mistake_of_a_cuda_cell_is_marked_at_its_place() -> None:
    wrong = '%%cuda --grid 1\nextern "C" __global__ void f(int *x) {\n  yes = 3;\n\tif (x) { *x = some(1); }\n}\n'
    found = cell_questions.answer({"kind": "check", "text": wrong})
    assert [(mark["line"], mark["column"], mark["length"], mark["message"]) for mark in found] == [
        (3, 3, 3, 'identifier "yes" is undefined'),
        (4, 16, 4, 'identifier "some" is undefined'),
    ]


WARNED = START.replace("mul.wide.u32", "max.u32 %lane, %lane, %lane;\n    mul.wide.u32")


@pytest.mark.assembler
def test_warnings_are_marked_and_the_text_is_assembled_all_the_same() -> None:
    found = checked(WARNED)
    assert (found["count"], found["note"]) == (0, "1 warning; assembled: 8 registers, no spills")
    assert [(mark["line"], mark["severity"], mark["more"][-1]) for mark in found["items"]] == [
        (12, "warning", "off:  // ptxlab: ignore[same-operands]")
    ]


@pytest.mark.skipif(not available(), reason="needs NVRTC: pip install cuda-bindings nvidia-cuda-nvrtc")
def test_a_warning_about_a_cuda_cell_is_marked_at_its_line() -> None:
    cell = '%%cuda --grid 1\nextern "C" __global__ void f(float *x) {\n  float m = x[1];\n  x[0] = m - m;\n}\n'
    found = cell_questions.answer({"kind": "check", "text": cell})
    assert [(mark["line"], mark["severity"]) for mark in found] == [(4, "warning")]


# -- the bundle --------------------------------------------------------------------------------------------------------


def test_the_bundle_is_made_from_the_sources_here() -> None:
    names = "build.mjs cells-entry.js cells.js editor.js package-lock.json package.json ptx.js questions.js shared.js"
    names += " shown.js sources.js words.js ../ptxlab/lab/static/keys.js"
    digest = hashlib.sha256()
    for name in names.split():
        digest.update(f"{name}\0{(FRONTEND / name).read_text(encoding='utf-8')}\0".encode())
    plugin = assets.STATIC.parent / "labextension/static/remoteEntry.js"
    for bundle in (assets.script("editor"), plugin.read_text(encoding="utf-8")):
        assert digest.hexdigest() in bundle.partition("\n")[0], "build it again: make bundle"


def test_the_editor_takes_its_words_from_the_lists_of_the_lexer() -> None:
    made = runpy.run_path(str(FRONTEND / "words.py"))["words"]()
    assert (FRONTEND / "words.js").read_text(encoding="utf-8") == made, "write it again: python frontend/words.py"


def test_nothing_in_the_bundle_is_fetched() -> None:
    bundle = assets.script("editor")
    assert "http" not in bundle.replace("http://www.w3.org/2000/svg", "")
    assert "import(" not in bundle
    notices = (assets.STATIC / "NOTICES.txt").read_text()
    assert notices.count("(MIT)") >= 10


@pytest.mark.skipif(shutil.which("node") is None or not (FRONTEND / "node_modules").is_dir(), reason="needs npm ci")
def test_the_sources_make_the_bundle_to_the_byte(tmp_path: Path) -> None:
    subprocess.run(["node", "build.mjs", str(tmp_path)], cwd=FRONTEND, check=True)
    for name in ("editor.js", "NOTICES.txt"):
        assert (tmp_path / name).read_text(encoding="utf-8") == (assets.STATIC / name).read_text(encoding="utf-8")
    plugin = "labextension/static/remoteEntry.js"
    made, kept = tmp_path / plugin, assets.STATIC.parent / plugin
    assert made.read_text(encoding="utf-8") == kept.read_text(encoding="utf-8")
