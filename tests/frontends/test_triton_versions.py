"""Which versions of Triton are taken; it need not be installed for that."""

from __future__ import annotations

import sys
import tomllib
import types
from pathlib import Path

import pytest

import ptxlab as pl
from ptxlab.drivers.triton_session import DESCRIPTORS
from ptxlab.errors import UnavailableError
from ptxlab.frontends.triton import INSTALL, check_installed


def kernel(x: object) -> None:
    """Is not compiled."""


@pytest.mark.parametrize("version", ["3.9.0", "3.10.0", "4.0", "3.2.0", "3.8.1+git12", "2.9.0"])
def test_an_old_version_is_refused_by_its_number(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = types.ModuleType("triton")
    found.__dict__["__version__"] = version
    monkeypatch.setitem(sys.modules, "triton", found)
    says = f"Triton {version} is installed, and {{}} or later is needed: {INSTALL}"
    if version in ("3.2.0", "3.8.1+git12", "2.9.0"):
        with pytest.raises(UnavailableError) as launching, pl.triton():
            pass
        assert str(launching.value) == says.format("3.9")
    if version not in ("3.2.0", "2.9.0"):
        check_installed()
        return
    with pytest.raises(UnavailableError) as compiling:
        pl.triton(kernel, {"x": "*fp32"})
    assert str(compiling.value) == says.format("3.6")


def test_the_package_asks_for_the_version_that_it_needs() -> None:
    project = Path(pl.__file__).parents[1] / "pyproject.toml"
    if not project.exists():
        pytest.skip("installed without its sources")
    asked = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["optional-dependencies"]["triton"]
    assert [each.partition(";")[0] for each in asked] == [f"triton>={'.'.join(map(str, DESCRIPTORS))}"]
