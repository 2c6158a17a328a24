"""Gives the distribution `ptxlab` the description and version of ptxlab-core, and the dependency on that version."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

ROOT = Path(__file__).resolve().parents[1]
SAME = ("authors", "classifiers", "description", "keywords", "license", "requires-python", "urls")
WHOLE = "lab,nvidia"
"""What a student's installation has besides the core."""
OF_CONTRIBUTORS = {"lab", "nvidia", "docs", "test"}
"""Extras of the core that this distribution has not: it has the first two always."""


class SameAsCore(MetadataHookInterface):
    """Fills in what `pyproject.toml` calls dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Called by hatchling with the project's metadata, which it changes."""
        core = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        (version,) = re.findall(r'^__version__ = "(.+)"$', (ROOT / "ptxlab/version.py").read_text("utf-8"), re.M)
        metadata |= {name: core[name] for name in SAME}
        metadata["version"] = version
        package_page = runpy.run_path(str(ROOT / "packaging/readme.py"))["package_page"]
        metadata["readme"] = package_page(metadata["urls"]["Homepage"])
        metadata["dependencies"] = [f"ptxlab-core[{WHOLE}]=={version}"]
        metadata["optional-dependencies"] = {
            extra: [f"ptxlab-core[{extra}]=={version}"]
            for extra in core["optional-dependencies"]
            if extra not in OF_CONTRIBUTORS
        }
