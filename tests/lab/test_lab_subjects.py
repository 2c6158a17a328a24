"""What the explorer shows of each kind of kernel: decode, any PTX, CUDA C++; counters, rooflines, machine code."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

import ptxlab as pl
from ptxlab import kernels
from ptxlab.kernels import variants
from ptxlab.lab import dataflow, explorer_views, kernel_subject, run_pane, variant_controls
from ptxlab.lab.controls import request
from ptxlab.lab.kernel_subject import subject_of
from ptxlab.lab.library_subjects import named
from ptxlab.lab.subject import Request, Subject, machines, ways

PTX = """\
.version 7.0
.target sm_80
.address_size 64

.visible .entry scale(.param .u64 x, .param .f32 a, .param .u32 n)
{
    .reg .pred %p;
    .reg .b32 %i, %n, %t, %b;
    .reg .f32 %v, %a;
    .reg .b64 %x, %at;

    ld.param.u64 %x, [x];
    ld.param.f32 %a, [a];
    ld.param.u32 %n, [n];
    mov.u32 %i, %ctaid.x;
    mov.u32 %t, %ntid.x;
    mov.u32 %b, %tid.x;
    mad.lo.u32 %i, %i, %t, %b;
    setp.ge.u32 %p, %i, %n;
    @%p ret;
    mad.wide.u32 %at, %i, 4, %x;
    ld.global.f32 %v, [%at];
    mul.f32 %v, %v, %a;
    st.global.f32 [%at], %v;
    ret;
}
"""
CUDA = """
__global__ void half_of(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] / 3.0f;
}
"""


def answer(asked: Request) -> tuple[Any, Any, Any, Any]:
    """Version, assembly, what is shown of the run, and the state."""
    version = explorer_views.build(asked)
    ran = explorer_views.run(version, asked)
    shown = run_pane.show(ran, asked, version.built)
    return version, explorer_views.assemble(version, asked), shown, explorer_views.state(version, asked, ran)


# -- variants ----------------------------------------------------------------------------------------------------------


@pytest.mark.sweep(4)
@pytest.mark.parametrize("variant", variant_controls.NUMBERS)
@pytest.mark.parametrize("name", ["scalar", "decode"])
def test_a_variant_is_judged_and_its_row_is_float64s(name: str, variant: str) -> None:
    sizes = {"seq_q": 12} if name == "scalar" else {}
    given = {"head_dim": 16, "heads": 2, "seq_k": 30, "left": 5, "documents": 3, "cap": 1, "sink": 2, "row": 1}
    version, _, shown, state = answer(request(name, variant=variant, device="step", **given, **sizes))
    assert shown["error"]["ok"]
    assert shown["ways"][2]["max"] < 1e-5, "numpy's own way"
    for series in ("m", "l", "rescale"):
        mine, exact = (np.array(state[which][series], float) for which in ("kernel", "numpy"))
        np.testing.assert_allclose(mine, exact, rtol=1e-4, atol=1e-5)
    at = 19 if name == "scalar" else 29
    sees = {"window": range(at - 5, at + 1), "document": range(at // 10 * 10, at // 10 * 10 + 10)}
    sees["prefix"] = range(max(16, at + 1))
    assert [key for key, score in state["scores"] if score is not None] == list(sees.get(variant, range(30)))
    assert (shown["tiles"]["kinds"] is None) == (variant not in sees)
    plain = explorer_views.build(request(name, device="step", **given, **sizes))
    assert explorer_views.diff(plain, version)["title"] == f"variant none → {variant}"


FEW = "def few(b, h, q_idx, kv_idx):\n    return kv_idx < {}\n"
PENALTY = "def penalty(score, b, h, q_idx, kv_idx, slopes=np.float32([1, 2])):\n    return score - slopes[h]"


def test_ones_own_function_is_built_run_and_judged() -> None:
    sizes = {"seq_q": 12, "seq_k": 30, "head_dim": 16, "heads": 2, "device": "step", "variant": "own"}
    version, _, shown, state = answer(request("scalar", own=FEW.format(20), row=1, **sizes))
    assert shown["error"]["ok"]
    assert [key for key, score in state["scores"] if score is not None] == list(range(20))
    plain = explorer_views.build(request("scalar", own=FEW.format(20), **(sizes | {"variant": "none"})))
    assert explorer_views.diff(plain, version)["title"] == "variant none → few"
    fewer = explorer_views.build(request("scalar", own=FEW.format(10), **sizes))
    assert explorer_views.diff(version, fewer)["title"] == "own return kv_idx < 20 → return kv_idx < 10"
    assert any("10" in line for line in fewer.code["python"]["lines"]), "its own lines stand in the pane"
    *_, shown, _ = answer(request("scalar", own=PENALTY, **sizes))
    assert shown["error"]["ok"]


LOOP = "def f(score, b, h, q_idx, kv_idx):\n    for n in [n for n in range(9)]:\n        score += n\n    return score"


def test_each_call_of_ones_own_function_may_loop() -> None:
    mod = variant_controls.own(LOOP)
    for _ in range(200):
        assert mod(np.zeros(3), 0, 0, 0, 0).tolist() == [36] * 3


@pytest.mark.parametrize(("text", "line", "says", "write"), [
    ("def f(score, b, h, q_idx, kv_idx)\n    return score", 1, "expected ':'", "def near(score, b, h, q_idx, kv_idx):"),
    ("def f(b, h, q_idx, kv_idx):\n    return kv_id < 9", 2, "no `kv_id` here; did you mean kv_idx?", "kv_idx"),
    ("def f(b, h, q_idx, kv_idx):\n    if kv_idx < 9:\n        return True", 2, "`if` is evaluated when",
     "return np.where(kv_idx < 9, True, False)"),
    ("\ndef f(score, h, q_idx, kv_idx):\n    return score", 2, "takes the score and 3 places",
     "def f(score, b, h, q_idx, kv_idx): ..."),
    ("def f(score, b, h, q_idx, kv_idx, slopes): return slopes[h]", 1, "also takes slopes", "slopes=array"),
    ("def f(score, b, h, q_idx, kv_idx, n=far): return n", 1, "NameError: name 'far' is not defined",
     "def near(score, b, h, q_idx, kv_idx):"),
    ("def f(score, b, h, q_idx, kv_idx):\n    while True:\n        score += 1", 2, "1000 turns at most",
     "for n in range(4):"),
    ("n = 0\nwhile n < 2:\n    pass", 2, "1000 turns at most", "for n in range(4):"),
    ("def f(score, b, h, q_idx, kv_idx):\n    return sum([1 for n in range(10**12)])", 2, "1000 turns at most",
     "for n in range(4):"),
    ("near = 1", 0, "defines no function", "def near(score, b, h, q_idx, kv_idx):"),
])  # fmt: skip
def test_a_mistake_in_ones_own_function_is_told_with_the_line_to_write(
    text: str, line: int, says: str, write: str
) -> None:
    explorer = pl.explore("scalar", variant="own", own=text, seq_len=8, head_dim=16, device="step")
    assert explorer.wait()
    message = explorer.view.problem["message"]
    assert re.match(rf"your own \(\d+\):{line}: " if line else "the text of your own ", message)
    assert says in message
    assert f"  write:  {write}" in message.splitlines()
    assert explorer.parameters["own"] == text
    explorer.set(kernel="decode_reduce")
    explorer.set(kernel="tiled")
    assert explorer.own == text, "the text outlives a kernel that has no scores"
    with pytest.raises(pl.TargetError, match="own must be the text of a function, not 3"):
        explorer.set(own=3)
    explorer.cancel()


def test_of_a_change_that_is_made_for_each_score_one_is_shown() -> None:
    plain, changed = (explorer_views.build(request("mma", variant=variant)) for variant in ("none", "alibi"))
    for versions in ((plain, changed), (changed, plain)):
        kinds = [row[0] for row in explorer_views.diff(*versions)["rows"]]
        assert sum(kind.startswith("**") for kind in kinds) == 31
        assert sum(kind in ("c", "+", "-") for kind in kinds) < 30
    kinds = explorer_views.diff(plain, explorer_views.build(request("mma", causal=True)))["rows"]
    assert not any(kind.startswith("*") for kind, *_ in kinds), "nothing is made often there"


@pytest.mark.long
def test_tiles_are_skipped_seen_in_part_or_whole_and_only_a_skipped_one_has_no_state() -> None:
    asked = request("tiled", seq_q=256, seq_k=256, head_dim=16, tile_kv=32, variant="window", left=70, row=200)
    _, _, shown, state = answer(asked)
    assert shown["tiles"]["kinds"] == {"rows": 128, "keys": 32, "lines": ["11110000", "01111111"]}
    assert [m is None for m in state["numpy"]["m"]] == [m is None for m in state["kernel"]["m"]]
    explorer = pl.explore("tiled", variant="window", left=70, seq_len=16)
    assert explorer.parameters["left"] == 70
    assert "cap" not in explorer.parameters
    assert "cap" in explorer.view.values["unused"]
    again = pl.explore(kernels.get("tiled").build(mask_mod=variants.sliding_window(3)))
    assert again.parameters["variant"] == "window"
    with pytest.raises(pl.LaunchError, match="own is not one of window"):
        pl.explore(kernels.get("tiled").build(mask_mod=own))
    assert explorer.wait()
    assert again.wait()


def own(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return kv_idx % 2 == 0


# -- decode ------------------------------------------------------------------------------------------------------------


@pytest.mark.sweep(5)
@pytest.mark.parametrize("name", pl.kernels.names("decode"))
def test_decode_kernels_show_error_state_and_tiles(name: str) -> None:
    _, _, shown, state = answer(request(name, heads=4, kv_heads=2, seq_k=50, device="step", row=1))
    assert shown["error"]["ok"]
    assert (shown["map"]["rows"], shown["map"]["row_name"], shown["map"]["row"]) == (4, "query head", 1)
    assert shown["tiles"]["keys"] == 50
    assert [way["label"] for way in shown["ways"]][:2] == ["emulator", "GPU"]
    for series in ("m", "l", "rescale"):
        np.testing.assert_allclose(
            np.array(state["kernel"][series], float), np.array(state["numpy"][series], float), rtol=3e-3, atol=1e-3
        )
        assert state["makers"][series], (name, series)
    if name != "decode":
        assert abs(state["merged"]["m"] - state["merged"]["numpy_m"]) < 1e-3


def test_decode_without_keys_says_so() -> None:
    _, _, shown, state = answer(request("decode", seq_k=0, device="step"))
    assert shown["error"]["ok"]
    assert state["note"] == "Nothing to sum: there are no keys, so O = 0 and LSE = −∞."


@pytest.mark.long
def test_a_paged_cache_gives_what_a_dense_one_gives() -> None:
    maps = [
        answer(request("decode_split", cache=cache, page_size=8, seq_k=37, batch=2, device="cpu"))[2]["map"]["worst"][0]
        for cache in ("dense", "paged")
    ]
    assert maps[0] == maps[1]


# -- which lines make what ---------------------------------------------------------------------------------------------


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", pl.kernels.names("prefill"))
def test_every_number_of_the_softmax_leads_to_the_instruction_that_makes_it(name: str) -> None:
    built = named(name).spec.build()  # type: ignore[attr-defined]
    lines = built.ptx.splitlines()
    made = dataflow.makers(built.with_probes().module, built.module)
    for series, opcodes in (("m", ("max.",)), ("l", ("fma.", "add.")), ("rescale", ("ex2.",))):
        assert made[series], series
        for line in made[series]:
            assert lines[line - 1].split()[0].startswith(opcodes), lines[line - 1]


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", pl.kernels.names())
def test_a_rung_opens_at_what_it_is_about(name: str) -> None:
    subject = named(name)
    version = explorer_views.build(request(name))
    lesson = version.code["lesson"]
    assert lesson["look"]
    spec = subject.spec  # type: ignore[attr-defined]
    assert spec.opens in version.lines[lesson["line"] - 1]
    assert version.code["python"]["numbers"][lesson["row"] - 1] > 0
    keys = request(name).given["seq_k"]
    if spec.phase == "prefill" and spec.tile:
        assert 4 <= keys / version.built.tile_kv <= 8


# -- any PTX -----------------------------------------------------------------------------------------------------------


def test_ptx_text_is_shown_run_and_counted_on_copies() -> None:
    x = np.arange(10, dtype=np.float32)
    asked = request(subject_of(PTX, 1, 32, (x, np.float32(2), 10)), device="step")
    version, assembly, shown, state = answer(asked)
    assert version.code["title"] == "PTX text"
    assert version.code["python"] is None
    assert shown["arrays"] == [("x", "float32 [10]: 0 2 4 6 8 10 12 14 ...")]
    assert x[3] == 3  # the caller's array is as it was
    assert (shown["error"], shown["map"], state) == (None, None, None)
    assert dict(shown["heat"])[22] == 10
    assert dict(map(tuple, version.code["touched"]))[22] == "x"
    assert assembly["state"] in ("ok", "missing")
    json.dumps([version.code, shown], allow_nan=False)


def test_without_arguments_it_says_how_to_run_it() -> None:
    _, assembly, shown, _ = answer(request(subject_of(PTX, None, None, ()), block=256))
    assert (
        shown["note"]
        == "Not run: give it a grid, a block and arguments, as in pl.explore(kernel, grid, block, x, y, n)."
    )
    if assembly["state"] == "ok":
        assert assembly["occupancy"]["threads"] == 256


def test_of_several_kernels_one_is_chosen_and_the_block_is_what_the_text_says() -> None:
    two = PTX + PTX[PTX.index(".visible") :].replace("scale(", "again(").replace(")\n{", ")\n.maxntid 96, 1, 1\n{", 1)
    subject = subject_of(two, None, None, ())
    assert [p.name for p in subject.parameters] == ["arch", "entry", "block"]
    assert subject.problem[0].default == 96
    assert explorer_views.build(request(subject)).code["name"] == "scale"
    assert explorer_views.build(request(subject, entry="again")).code["name"] == "again"
    x = np.ones(4, np.float32)
    asked = request(subject_of(two, 1, 32, (x, np.float32(3), 4)), entry="again", device="step")
    assert answer(asked)[2]["arrays"] == [("x", "float32 [4]: 3 3 3 3")]


@pytest.mark.parametrize(
    ("ptx", "title", "line"),
    [
        (PTX.replace("mul.f32", "mul.f33"), "The PTX has a mistake", 23),
        (PTX.replace("ret;\n}", "ret\n}"), "The PTX has a mistake", 25),
    ],
)
def test_a_mistake_in_the_text_is_shown_at_its_line_and_the_explorer_lives_on(ptx: str, title: str, line: int) -> None:
    explorer = pl.explore(ptx)
    assert explorer.wait()
    assert explorer.view.code["ptx"]
    problem = explorer.view.problem
    assert (problem["title"], problem["line"]) == (title, line)
    assert "<script" not in explorer._repr_mimebundle_()[0]["text/html"]


def test_a_fault_is_shown_at_its_line_and_is_gone_with_another_argument() -> None:
    explorer = pl.explore(PTX, 1, 32, np.zeros(4, np.float32), np.float32(1), 32, device="step")
    assert explorer.wait()
    assert explorer.view.problem["title"] == "The kernel was stopped"
    assert explorer.view.problem["line"] == 22
    explorer.set(n=4, a=2.5, grid=2)
    assert explorer.wait()
    assert explorer.view.problem is None
    assert (explorer.grid, explorer.a, explorer.n) == (2, 2.5, 4)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: pl.explore(3), pl.LaunchError,
         "explore: expected the name of a kernel of the library, PTX text, or a kernel, got int"),
        (lambda: pl.explore(PTX, 1), pl.LaunchError,
         "explore: to run a kernel give both grid and block, as in pl.launch"),
        (lambda: pl.explore("scalar", 1, 32), pl.TargetError,
         "explore: grid, block and arguments go with PTX or a kernel; 'scalar' brings its own"),
        (lambda: request("scalar", speed=1), pl.TargetError,
         "scalar has no parameter 'speed'; it has head_dim, causal, dtype, arch, variant, own, seq_q, seq_k, batch, "
         "heads, kv_heads, seed, sigma, left, right, prefix, documents, cap, sink, reach, checks"),
        (lambda: request("scalar", sigma=0).check(), pl.TargetError,
         "scalar: sigma must be a number above 0 and at most 100, not 0"),
        (lambda: request("decode_split", splits=0).check(), pl.TargetError,
         "decode_split: splits must be a whole number from 1 to 64, not 0"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == message


@pytest.mark.long
def test_results_and_built_kernels_open_with_their_own_parameters() -> None:
    q, k, v = pl.reference.random_inputs(1, 1, 1, 8, 8, 16)
    result = pl.attention(q, k, v, kernel="tiled", causal=True, device="step")
    explorer = pl.explore(result, seq_len=8, device="step")
    assert explorer.wait()
    assert explorer.view.code["name"] == "tiled_f32_d16_causal"
    explorer = pl.explore(pl.kernels.get("decode").build(head_dim=32), seq_k=8, device="step")
    assert explorer.wait()
    assert explorer.view.code["name"].startswith("decode_f32_d32")


def test_a_subject_of_ones_own_needs_a_title_and_a_kernel() -> None:
    class Mine(Subject):
        title, name = "Twice as much", "scale"

        def build(self, values: Any) -> Any:
            return pl.parse(PTX).kernels and subject_of(PTX, None, None, ()).build({})

    explorer = pl.explore(Mine())
    assert explorer.wait()
    assert explorer.view.code["title"] == "Twice as much"
    assert explorer.view.problem is None


def test_cuda_is_compiled_again_for_another_target_and_with_other_options() -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    x, y = np.ones(40, np.float32), np.zeros(40, np.float32)
    subject = subject_of(pl.cuda(CUDA), 2, 32, (pl.const(x), pl.out(y), 40))
    version, _, shown, _ = answer(request(subject, device="step"))
    assert version.code["title"] == "CUDA kernel"
    assert version.code["python"]["language"] == "CUDA C++"
    assert any(row == 4 for _, row in [(p, version.code["python"]["numbers"][r - 1]) for p, r in version.code["links"]])
    assert shown["arrays"][0][1].startswith("float32 [40]: 0.333333")
    fast, _, again, _ = answer(request(subject, device="step", fast_math=True, arch="sm_90"))
    change = explorer_views.diff(version, fast)
    assert change["summary"] != "no instruction changed"
    assert again["arrays"][0][1].startswith("float32 [40]: 0.333333")
    assert not y.any()


# -- runs --------------------------------------------------------------------------------------------------------------


def test_a_problem_that_is_too_large_to_run_whole_says_so() -> None:
    with pytest.raises(pl.LaunchError) as caught:
        request("tiled", seq_q=4096, heads=128, batch=8).check()
    assert str(caught.value) == (
        "seq_q = 4096 for 128 heads of 8 sequences are 268,435,456 elements; the explorer runs up to 16,777,216: "
        "choose a smaller seq_q or heads"
    )


@pytest.mark.long
@pytest.mark.parametrize("most", [5_000_000, pytest.param(500_000_000, marks=pytest.mark.rest)])
def test_an_endless_kernel_is_stopped_and_the_explorer_lives_on(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kernel_subject.BUDGET["cpu"] == 500_000_000
    monkeypatch.setitem(kernel_subject.BUDGET, "cpu", most)
    endless = PTX.replace("    ret;\n}", "again:\n    bra again;\n}")
    explorer = pl.explore(endless, 1, 32, np.zeros(32, np.float32), 2.0, 32)
    assert explorer.wait()
    assert explorer.view.problem["title"] == "The kernel was stopped"
    assert explorer.view.problem["message"].startswith(f"budget: the launch has run its {most:,} warp-instructions")
    explorer.set(arch="sm_90")
    assert explorer.wait()
    assert explorer.view.code["arch"] == "sm_90"
    explorer = pl.explore(endless, 1, 32, np.zeros(32, np.float32), 2.0, 32, budget=700)
    assert explorer.wait()
    assert explorer.view.problem["message"].startswith("budget: the launch has run its 700 warp-instructions")
    cell = pl.editor(endless, 1, 32, np.zeros(32, np.float32), 2.0, 32, budget=1000).run()
    assert str(cell.error).startswith("budget: the launch has run its 1,000 warp-instructions and has not ended")
    cell = pl.editor(endless, 1, 32, np.zeros(32, np.float32), 2.0, 32).run()
    assert str(cell.error).startswith(f"budget: the launch has run its {most:,} warp-instructions")


@pytest.mark.long
@pytest.mark.sweep(14)
@pytest.mark.parametrize("name", [*kernels.names("prefill"), *kernels.names("decode")])
def test_every_element_type_is_shown_with_its_three_ways(name: str) -> None:
    subject = named(name)
    least = next(p.minimum for p in subject.parameters if p.name == "head_dim")
    for dtype in next(p.choices for p in subject.parameters if p.name == "dtype"):
        sizes = {p.name: 20 for p in subject.parameters if p.name in ("seq_q", "seq_k")}
        _, _, shown, _ = answer(request(subject, dtype=dtype, head_dim=max(16, least), **sizes))
        assert shown["error"]["ok"]
        assert [way["label"] for way in shown["ways"]][:2] == ["emulator", "GPU"]
        assert shown["ways"][0]["ulp"] == pytest.approx(shown["error"]["ulp"], rel=0.01)


def test_with_a_gpu_both_machines_run_and_are_held_against_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = np.array([[[[1.0, 2.0]]]])
    cpu, gpu = (exact + off for off in (1e-7, 3e-7))
    found = ways({"gpu": gpu.astype(np.float32), "cpu": cpu.astype(np.float32)}, exact, exact, "numpy float32")
    ends = [("emulator", "numpy float64"), ("GPU", "numpy float64"), ("numpy float32", "numpy float64")]
    assert [(w.label, w.against) for w in found] == [*ends, ("emulator", "GPU")]
    assert found[1].max == pytest.approx(3e-7, rel=0.3)
    assert found[3].max == pytest.approx(2e-7, rel=0.6)
    monkeypatch.setattr("ptxlab.gpu.available", lambda: True)
    assert machines("auto") == ("gpu", "cpu")
    assert machines("cpu") == ("cpu",)
    assert ways({"cpu": cpu}, exact, exact, "numpy")[1].note == "not asked: choose the device auto or gpu"
    monkeypatch.setattr("ptxlab.gpu.available", lambda: False)
    assert ways({"cpu": cpu}, exact, exact, "numpy")[1].note == "there is no NVIDIA GPU here"


# -- machine code ------------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.assembler
def test_machine_code_is_linked_to_ptx_lines() -> None:
    asked = request("scalar", head_dim=8, sass=True)
    version = explorer_views.build(asked)
    sass = explorer_views.sass(version, asked)
    if sass["state"] == "missing":
        assert sass["note"].startswith("needs ptxlab[sass]: ")
        pytest.skip(sass["note"])
    assert sass["arch"] == "sm_80"
    assert sass["lines"][0] == '<span class="d">scalar_f32_d8</span>'
    lines = version.built.ptx.splitlines()
    special = {
        p for p, row in sass["links"] if "MUFU<span" in sass["lines"][row - 1] and ".EX2" in sass["lines"][row - 1]
    }
    assert special
    assert all("ex2.approx" in lines[p - 1] for p in special)
    assert sass["docs"]["MUFU"].startswith("Special functions")
    linked = {row for _, row in sass["links"]}
    assert len(linked) > 0.5 * sass["instructions"]


def test_without_the_disassembler_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any, **__: Any) -> Any:
        raise pl.UnavailableError("NVIDIA's disassembler nvdisasm is not installed: pip install ...")

    monkeypatch.setattr("ptxlab.gpu.sass", missing)
    asked = request("scalar", head_dim=8, seq_q=2, seq_k=2, device="step", sass=True)
    assert explorer_views.sass(explorer_views.build(asked), asked) == {
        "state": "missing",
        "note": "needs ptxlab[sass]: NVIDIA's disassembler nvdisasm is not installed: pip install ...",
    }
