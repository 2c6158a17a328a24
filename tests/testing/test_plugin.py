"""The pytest plugin, as a project uses it: three tests, green and red, and what the terminal says."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from ptxlab.testing.mutants import deletions, without

pytest_plugins = ("pytester",)
ROOT = Path(__file__).parents[2]

KERNELS = """
import numpy as np
from ptxlab.builder import Ptr, f32, kernel, u32


@kernel
def reverse(k, x: Ptr[f32], out: Ptr[f32]):
    tile = k.shared(f32, 64)
    t = k.tid.x
    tile[t] = x[t]
    k.barrier()
    out[t] = tile[63 - t]


@kernel
def racy(k, x: Ptr[f32], out: Ptr[f32]):
    tile = k.shared(f32, 64)
    t = k.tid.x
    tile[t] = x[t]
    out[t] = tile[63 - t]


@kernel
def beyond(k, x: Ptr[f32], out: Ptr[f32]):
    t = k.tid.x
    out[t] = x[t + 1]
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with kernels of its own; the plugin as its entry point loads it."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # those of the test tools take half of the time
    pytester.makepyfile(kernels=KERNELS)
    return pytester


def run(project: pytest.Pytester, *options: str) -> pytest.RunResult:
    """pytest in a process of its own."""
    return project.runpytest_subprocess("-p", "ptxlab.testing.plugin", "-p", "no:cacheprovider", *options)


GREEN = """
import numpy as np
import pytest
from kernels import reverse


@pytest.mark.ptxlab(checks="all", seeds=3, counters=True)
def test_reverse(ptxlab):
    x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    ptxlab.launch(reverse, 1, 64, x, out)
    assert (out == x[::-1]).all()
    assert ptxlab.counters.shared_conflicts == 0
    ptxlab.check_counters()
"""


@pytest.mark.rest
def test_a_right_kernel_passes_and_its_counters_are_recorded(project: pytest.Pytester) -> None:
    project.makepyfile(test_green=GREEN)
    missing = run(project)
    missing.assert_outcomes(failed=1)
    missing.stdout.fnmatch_lines(
        ["*no counters are recorded in *test_green.test_reverse.json", "*pytest --ptxlab-update"]
    )
    run(project, "--ptxlab-update").assert_outcomes(passed=1)
    run(project).assert_outcomes(passed=1)
    recorded = project.path / "counters" / "test_green.test_reverse.json"
    before = json.loads(recorded.read_text())
    before[0]["warp_instructions"] += 1
    recorded.write_text(json.dumps(before))
    changed = run(project)
    changed.assert_outcomes(failed=1)
    changed.stdout.fnmatch_lines([f"*launch 1, warp_instructions: {before[0]['warp_instructions']} recorded, * now"])


RED = """
import numpy as np
import pytest
from kernels import beyond, racy


def test_values_alone(ptxlab):
    ptxlab.wishes.checks = ()
    x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    ptxlab.launch(racy, 1, 64, x, out, seed=None)


@pytest.mark.ptxlab(checks="racecheck", seeds=2)
def test_race(ptxlab):
    ptxlab.launch(racy, 1, 64, np.arange(64, dtype=np.float32), np.zeros(64, np.float32))


def test_beyond(ptxlab):
    ptxlab.launch(beyond, 1, 64, np.arange(64, dtype=np.float32), np.zeros(64, np.float32))
"""


@pytest.mark.long
def test_a_finding_fails_the_test_at_the_line_of_the_kernel(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run as the ready GitHub Action runs it: in the terminal, beside the pull request's diff, and as SARIF."""
    project.makepyfile(test_red=RED)
    action = yaml.safe_load((ROOT / ".github/actions/kernels/action.yml").read_text())
    [step] = [step for step in action["runs"]["steps"] if step.get("name") == "test"]
    monkeypatch.setenv("OPTIONS", "-v -p ptxlab.testing.plugin -p no:cacheprovider")
    monkeypatch.setenv("RUNNER_TEMP", str(project.path))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    found = project.run("bash", "-c", step["run"])
    found.assert_outcomes(passed=1, failed=2)
    lines = KERNELS.strip().split("\n")
    write, read = 1 + lines.index("    tile[t] = x[t]", 12), 1 + lines.index("    out[t] = tile[63 - t]", 12)
    beyond = 1 + lines.index("    out[t] = x[t + 1]")
    found.stdout.fnmatch_lines(
        [
            f"kernels.py:{read}: out[[]t] = tile[[]63 - t]",
            "racecheck: RAW hazard in shared memory*",
            "  launched at test_red.py:14",
        ]
    )
    found.stdout.fnmatch_lines(
        [f"kernels.py:{beyond}: out[[]t] = x[[]t + 1]", "memcheck: load of 4 bytes*", "  launched at test_red.py:18"]
    )
    found.stdout.fnmatch_lines([f"::error file=kernels.py,line={read},title=racecheck/RAW::racecheck: RAW hazard in *"])
    found.stdout.fnmatch_lines(["*ptxlab: launches with memcheck only*", "1 in test_red.py::test_values_alone"])
    [run] = json.loads((project.path / "ptxlab.sarif").read_text())["runs"]

    def place(location: dict[str, Any]) -> tuple[str, int]:
        where = location["physicalLocation"]
        return where["artifactLocation"]["uri"], where["region"]["startLine"]

    assert [
        (result["ruleId"], *(place(each) for each in (*result["locations"], *result["relatedLocations"])))
        for result in run["results"]
    ] == [
        ("racecheck/RAW", ("kernels.py", read), ("kernels.py", write)),
        ("memcheck/invalid-access", ("kernels.py", beyond)),
    ]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == sorted(r["ruleId"] for r in run["results"])


@pytest.mark.rest
def test_deletions_that_nobody_misses(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_mutate="""
import numpy as np
import pytest
from kernels import reverse


@pytest.mark.ptxlab(checks="racecheck")
def test_with_checks(ptxlab):
    ptxlab.launch(reverse, 1, 64, np.arange(64, dtype=np.float32), np.zeros(64, np.float32))


@pytest.mark.ptxlab(checks="memcheck")
def test_nothing_is_asked(ptxlab):
    ptxlab.launch(reverse, 1, 64, np.arange(64, dtype=np.float32), np.zeros(64, np.float32))
"""
    )
    found = run(project, "--ptxlab-mutate")
    found.assert_outcomes(passed=2)
    line = 1 + KERNELS.strip().split("\n").index("    k.barrier()")
    found.stdout.fnmatch_lines(
        [f"test_mutate.py::test_nothing_is_asked: bar.sync (PTX line *, *kernels.py:{line})", "1 survived"]
    )
    found.stdout.no_fnmatch_line("test_mutate.py::test_with_checks: *")


HANGS = """
import os, signal, threading
import pytest, ptxlab as pl
HANG = ".version 8.0\\n.target sm_80\\n.address_size 64\\n.visible .entry hang()\\n{\\nagain:\\n    bra again;\\n}\\n"
def test_option():
    pl.launch(HANG, 1, 32, device="cpu")
@pytest.mark.ptxlab(budget=30_000)
def test_marker(ptxlab):
    ptxlab.launch(HANG, 1, 32)
def test_interrupted():
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    pl.launch(HANG, 1, 32, device="cpu", budget=10**15)
def test_next():
    print("is run")
"""


@pytest.mark.rest
def test_a_launch_without_end_ends_and_control_c_ends_the_session(project: pytest.Pytester) -> None:
    project.makepyfile(test_hangs=HANGS)
    shown = run(project, "-s", "--ptxlab-budget", "20000")
    for line, budget in ((5, "20,000"), (8, "30,000")):
        shown.stdout.fnmatch_lines([
            f"budget: the launch has run its {budget} warp-instructions and has not ended",
            "    in the loop of line 7; no branch leads out of it; *",
            f"  launched at test_hangs.py:{line}", "  more:   a launch that gives no budget= has that of @pytest.mark*",
        ])  # fmt: skip
    shown.stdout.fnmatch_lines(["*LaunchKeyboardInterrupt: kernel hang was stopped after *", "*test_interrupted*"])
    shown.stdout.no_fnmatch_line("*is run*")


@pytest.mark.rest
def test_wrong_words_of_the_marker(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
import pytest

@pytest.mark.ptxlab(check="all")
def test_typo(ptxlab):
    pass

@pytest.mark.ptxlab(checks="racechek")
def test_no_such_check(ptxlab):
    pass

@pytest.mark.ptxlab(checks="all")
def test_no_fixture():
    import ptxlab
    ptxlab.launch(".version 8.0\\n.target sm_80\\n.entry k() { ret; }", 1, 32)
"""
    )
    run(project).stdout.fnmatch_lines(
        [
            "*@pytest.mark.ptxlab takes checks=, seeds=, counters= and budget=, not [[]'check']*",
            "@pytest.mark.ptxlab: unknown check 'racechek'; did you mean racecheck?*choose from memcheck, initcheck, *",
            "@pytest.mark.ptxlab is for the fixture ptxlab",
            "  write:  def test_no_fixture(ptxlab), and in it ptxlab.launch(kernel, grid, block, ...)",
        ]
    )


@pytest.mark.long
def test_a_module_that_cannot_be_imported_says_so_itself(project: pytest.Pytester) -> None:
    project.makepyfile(test_gone="import not_there\n")
    result = run(project)
    assert result.ret == 2
    result.stdout.fnmatch_lines(["E   ModuleNotFoundError: No module named 'not_there'"])
    result.stdout.no_fnmatch_line("*AttributeError*")


@pytest.mark.rest
def test_numba_kernels_are_launches_of_the_test(project: pytest.Pytester) -> None:
    pytest.importorskip("numba_cuda", reason="needs numba-cuda: pip install 'ptxlab[numba]'")
    project.makepyfile(
        """
import numpy as np
import pytest
from numba import cuda, float32


@cuda.jit
def racy(x):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    x[t] = tile[63 - t]


@pytest.mark.ptxlab(checks="racecheck")
def test_race(ptxlab):
    with ptxlab.numba():
        racy[1, 64](np.ones(64, np.float32))
"""
    )
    found = run(project)
    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines(["*.py:11: x[[]t] = tile[[]63 - t]", "racecheck: *"])


PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry wait() {
    .reg .pred %p<2>;
    setp.eq.u32 %p1, 0, 0;
    membar.gl; bar.sync 0;
    @%p1 bar.sync
        1;
    ret;
}
"""


@pytest.mark.parametrize("given", ["text", "module"])
def test_one_instruction_goes_and_lines_stay(given: str) -> None:
    from ptxlab.text import parse

    kernel: Any = PTX if given == "text" else parse(PTX)
    found = list(deletions(kernel))
    assert [(each.opcode, each.line) for each in found] == [("membar.gl", 7), ("bar.sync", 7), ("bar.sync", 8)]
    for each in found:
        left = str(without(kernel, each)).split("\n")
        assert len(left) == len(PTX.split("\n"))
        assert len(list(deletions(without(kernel, each)))) == 2
    assert without(".version 8.0", found[0]) == ".version 8.0"
