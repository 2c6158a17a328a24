"""The course's pictures: what they show comes from runs, and each says in words what it shows."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from ptxlab.attention.paged import PagedCache
from ptxlab.course import pictures
from ptxlab.course.pictures.tile_way import way
from ptxlab.isa import fragments

SVG = "{http://www.w3.org/2000/svg}"


def cache() -> PagedCache:
    made = PagedCache(8, 4, 1, 2)
    first = made.new()
    made.append(first, np.zeros((6, 1, 2)), np.zeros((6, 1, 2)))
    made.fork(first)
    return made


PICTURES = {
    "grid": lambda: pictures.grid(2, 64, 100),
    "memory": pictures.memory,
    "way": pictures.way_of_a_tile,
    "pipeline": lambda: pictures.pipeline({1: ([(0, 3), (5, 8)], [(3, 5), (8, 10)])}),
    "pages": lambda: pictures.pages(cache()),
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_svg_for_light_and_dark_with_its_words(name: str) -> None:
    picture = PICTURES[name]()
    root = ET.fromstring(picture.svg)
    assert root.tag == f"{SVG}svg"
    assert root.find(f"{SVG}title").text == picture.alt  # type: ignore[union-attr]
    style = root.find(f"{SVG}style").text or ""  # type: ignore[union-attr]
    assert "prefers-color-scheme: dark" in style
    assert "prefers-reduced-motion" in style
    assert len(picture.alt.split()) > 15
    shown = picture._repr_html_()
    assert shown.startswith('<img alt="')
    assert "data:image/svg+xml;base64," in shown


def test_the_grid_shows_who_stored() -> None:
    root = ET.fromstring(pictures.grid(2, 64, 100).svg)
    idle = [r.find(f"{SVG}title") for r in root.iter(f"{SVG}rect") if r.get("class") == "empty"]
    assert [t.text.split(":")[0] for t in idle if t is not None and t.text] == [f"thread {n}" for n in range(100, 128)]


def test_the_way_of_a_tile_ends_in_the_fragment() -> None:
    copier, word, place = way()
    assert sorted(word) == list(range(128))
    assert (copier == np.arange(128) // 4).all()
    layout = fragments.operand_a(16, 16, "f16")
    for pair, (lane, register) in enumerate(place):
        assert layout.element(int(lane), int(register), 0) == (pair // 8, pair % 8 * 2)


def test_pages_frame_what_is_shared() -> None:
    picture = pictures.pages(cache())
    assert picture.alt.endswith("Pages 7, 6 belong to several sequences.")
    root = ET.fromstring(picture.svg)
    assert len([r for r in root.iter(f"{SVG}rect") if r.get("class") == "mark"]) == 2
