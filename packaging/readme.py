"""The README as a package's page: there, a link or picture of the repository needs its whole address."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

ROOT = Path(__file__).resolve().parents[1]


def with_addresses(text: str, repository: str) -> str:
    """The text with `docs/page.md` as `repository/blob/main/docs/page.md`, and pictures as their files."""
    text = re.sub(r'(\]\(|src=")(?=[\w./-]+\.(?:png|svg)[)"])', rf"\g<1>{repository}/raw/main/", text)
    return re.sub(r"(\]\()(?=[\w./-]+\.md\))", rf"\g<1>{repository}/blob/main/", text)


def package_page(repository: str) -> dict[str, str]:
    """What the metadata call `readme`, with the links of `with_addresses`."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return {"content-type": "text/markdown", "text": with_addresses(text, repository)}


class Readme(MetadataHookInterface):
    """Fills in `readme`, which `pyproject.toml` calls dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Called by hatchling with the project's metadata, which it changes."""
        metadata["readme"] = package_page(metadata["urls"]["Homepage"])
