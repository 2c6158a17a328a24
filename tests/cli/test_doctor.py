"""What the doctor finds, and the single lines that `make lab` and a test run begin with."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ptxlab.cli import doctor


def test_examines_everything_once() -> None:
    found = {finding.name: finding for finding in doctor.examine()}
    names = "python platform numpy llvmlite assembler nvrtc nvdisasm gpu jupyterlab browser"
    assert list(found) == names.split()
    assert found["python"].ok
    assert found["python"].value == sys.version.split()[0]
    assert str(doctor.Finding("gpu", False, "", "none")) == "--  gpu          not found  (none)"
    assert str(doctor.Finding("numpy", True, "2.1", "unused")) == "ok  numpy        2.1"


def test_each_missing_thing_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_assembler", "_gpu", "_browser", "_compiler"):
        monkeypatch.setattr(doctor, name, lambda: doctor.Finding("x", False, "", "how to get it"))
    assert doctor.missing("test") == [
        "ptxlab: no NVIDIA assembler: its tests are skipped (how to get it)",
        "ptxlab: no NVIDIA GPU: its tests are skipped (how to get it)",
        "ptxlab: no browser: its tests are skipped (how to get it)",
    ]
    assert doctor.missing("lab") == [
        "ptxlab: no NVIDIA assembler: kernels run, registers and spills are not shown (how to get it)",
        "ptxlab: no NVIDIA GPU: kernels run on the emulator (how to get it)",
        "ptxlab: no llvmlite: kernels run in the interpreter (how to get it)",
    ]
    for name in ("_assembler", "_gpu", "_browser", "_compiler"):
        monkeypatch.setattr(doctor, name, lambda: doctor.Finding("x", True, "here"))
    assert doctor.missing("test") == doctor.missing("lab") == []


def test_the_browser_may_be_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    chrome = tmp_path / "chrome"
    chrome.touch(mode=0o755)
    monkeypatch.setenv("PTXLAB_BROWSER", str(chrome))
    assert doctor.browser() == str(chrome)
    monkeypatch.setenv("PTXLAB_BROWSER", str(tmp_path / "nothing"))
    assert doctor.browser() is None


def test_without_nvidias_wheels_the_doctor_still_answers() -> None:
    code = "import sys; sys.modules['cuda'] = None\nfrom ptxlab import doctor\nprint(*doctor.missing('lab'), sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    lines = done.stdout.splitlines()
    assert lines[0].startswith("ptxlab: no NVIDIA assembler: kernels run, registers and spills are not shown (NVIDIA's")
    assert lines[0].endswith("pip install cuda-bindings nvidia-nvjitlink)")
    assert lines[1].startswith("ptxlab: no NVIDIA GPU: kernels run on the emulator (cuda-")
