"""Hover docs: every form that the emulator runs says what it does, word by word, and its operands by role."""

from __future__ import annotations

import html
import re

import pytest

import ptxlab as pl
from ptxlab.isa import examples
from ptxlab.isa.coverage import key
from ptxlab.isa.table import TABLE
from ptxlab.lab import highlight, hover

EXECUTED = [entry for entries in TABLE.values() for entry in entries if entry.executed]
VAGUE = {"", ".", "read", "written"}


def sentence(text: str) -> bool:
    """Whether a text says something: a capital or a sign first, a full stop last, some words between."""
    return len(text) > 12 and text.rstrip().endswith((".", ")", "`")) and text not in VAGUE


@pytest.mark.sweep(4)
@pytest.mark.parametrize("name", TABLE)
def test_every_executed_form_is_explained(name: str) -> None:
    """Each entry with each word that a modifier can be: the form, every modifier, every operand."""
    executed = [(entry, opcode) for entry in TABLE[name] if entry.executed for opcode in examples.opcodes(entry)]
    for entry, opcode in executed:
        doc = hover.opcode(opcode)
        assert sentence(doc["says"]), (opcode, doc["says"])
        assert doc["syntax"].startswith(entry.name)
        assert doc["since"].startswith("PTX ")
        words = opcode.split(".")[1:]
        assert [part for part, _ in doc["parts"]] == [f".{w}" for w in words], opcode
        for part, says in doc["parts"]:
            assert sentence(says), (opcode, part, says)
        assert len(doc["operands"]) == len(entry.operands), opcode
        for name, says in doc["operands"]:
            assert name.strip("[]{!}"), opcode
            assert re.match(r"(written|read|accessed): .+\.", says), (opcode, name, says)


def test_the_page_finds_the_doc_of_every_executed_form_by_its_text() -> None:
    """The pane looks a doc up by the text of the highlighted opcode, and a modifier by the text inside it."""
    for entry in EXECUTED:
        opcode = key(entry)
        (line,) = highlight.ptx_lines(f"    @%p1 {opcode} %r1, %r2;")
        found = re.search(r'<span class="o">([^<]*(?:<span class="m">[^<]*</span>)*)</span>', line)
        assert found is not None, line
        assert html.unescape(re.sub(r"<[^>]*>", "", found[1])) == opcode, line
        modifiers = re.findall(r'<span class="m">(\.[^<]*)</span>', found[1])
        assert modifiers == [part for part, _ in hover.opcode(opcode)["parts"]], line


def test_registers_special_registers_and_directives_of_a_kernel_are_explained() -> None:
    module = pl.kernels.get("tiled").build(head_dim=16).module
    words, registers = hover.words(module), hover.registers(module)
    assert "%tid.x" in words
    assert words[".entry"] == "A kernel: a function that the host can launch."
    assert registers["%row_max"] == ".f32"
    assert set(hover.opcodes(module)) == {i.opcode for f in module.functions for i in f.instructions()}


@pytest.mark.parametrize(
    ("opcode", "terms"),
    [
        ("ld.shared.f32", ["bank", "bank conflict"]),
        ("st.shared.v4.f32", ["bank", "bank conflict"]),
        ("ldmatrix.sync.aligned.m8n8.x4.shared.b16", ["bank", "bank conflict", "shared memory"]),
        ("ld.global.f32", ["sector", "coalesced"]),
    ],
)
def test_an_access_explains_what_decides_its_time(opcode: str, terms: list[str]) -> None:
    assert [term for term, _ in hover.opcode(opcode)["terms"]] == terms


@pytest.mark.parametrize("opcode", ["ld.shared.f32", "ld.volatile.shared.u32", "ld.shared::cluster.v2.u32"])
def test_a_load_from_shared_memory_speaks_of_no_sectors(opcode: str) -> None:
    assert "sector" not in hover.opcode(opcode)["says"]
    assert "bank" in hover.opcode("ld.shared.f32")["says"]
    assert "sector" in hover.opcode("ld.global.f32")["says"]
