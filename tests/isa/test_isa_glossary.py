"""The glossary: its page is made from it, its terms are found in prose, and nobody explains a word by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptxlab.isa import glossary
from ptxlab.lab import hover

PAGE = Path(__file__).parents[2] / "docs" / "glossary.md"


def test_the_page_is_made_from_it() -> None:
    assert PAGE.read_text(encoding="utf-8") == glossary.page(), "python -m ptxlab.isa.glossary docs/glossary.md"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("Lanes of diverged warps reconverge.", ["diverged", "warp", "reconverge"]),
        ("bank conflicts cost wavefronts, a bank conflict more", ["bank conflict", "wavefront"]),
        ("`fence` and %warp are code, .global memory is not", []),
        ("a fence.proxy.async is an opcode; the async proxy is none", ["async proxy"]),
        ("mbarriers are no barriers", ["mbarrier", "barrier"]),
        ("registers, Register", ["register"]),
    ],
)
def test_terms_are_found_in_prose(text: str, found: list[str]) -> None:
    assert glossary.terms(text) == found


def test_every_term_means_something() -> None:
    for term, says in glossary.GLOSSARY.items():
        assert says.endswith((".", "...")), term
        assert term in glossary.terms(term), term


def test_hover_texts_explain_their_terms() -> None:
    assert dict(hover.opcode("shfl.sync.bfly.b32")["terms"]).keys() <= glossary.GLOSSARY.keys()
    explained = dict(hover.opcode("bar.warp.sync")["terms"])
    assert not explained.keys() & hover.BASIC
    assert all(glossary.GLOSSARY[term] == says for term, says in explained.items())
    assert [term for term, _ in hover.opcode("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")["terms"]]
