"""The page's types are those of the protocol, and what is sent conforms to them."""

from __future__ import annotations

import runpy
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np
import pytest

import ptxlab as pl
from ptxlab.lab import protocol
from ptxlab.lab.controls import request
from ptxlab.lab.session import Session
from ptxlab.lab.subject import Request

ROOT = Path(__file__).parents[2]


def test_the_types_of_the_page_are_those_of_the_protocol() -> None:
    made = runpy.run_path(str(ROOT / "frontend/protocol.py"))
    assert made["PATH"].read_text(encoding="utf-8") == made["declarations"](), "write it again: frontend/protocol.py"


def misfits(value: Any, kind: Any, at: str) -> Iterator[str]:
    """Where a value is not what a type of the protocol says; a list will do for a tuple, as in JSON."""
    origin, given = get_origin(kind), get_args(kind)
    here = f"{at}: {value!r:.80}"
    if kind is Any:
        return
    if typing.is_typeddict(kind):
        fields = typing.get_type_hints(kind, vars(protocol))
        yield from (f"{at}.{k}" for k in (kind.__required_keys__ - value.keys()) | (value.keys() - fields.keys()))
        for k in value.keys() & fields.keys():
            yield from misfits(value[k], fields[k], f"{at}.{k}")
    elif origin in (Union, types.UnionType):
        if all(any(misfits(value, one, at)) for one in given if value is not None or one is type(None)):
            yield here
    elif origin is Literal:
        if value not in given:
            yield here
    elif origin is dict:
        for k, v in value.items():
            yield from misfits(k, given[0], at)
            yield from misfits(v, given[1], f"{at}[{k}]")
    elif origin in (list, tuple):
        if origin is tuple and len(value) != len(given):
            yield here
        for k, (v, t) in enumerate(zip(value, given if origin is tuple else given * len(value), strict=False)):
            yield from misfits(v, t, f"{at}[{k}]")
    elif not isinstance(value, {float: (int, float, np.number), int: (int, np.integer)}.get(kind, kind)):
        yield here


FAULTY = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry f(.param .u64 x)\n{\n.reg .u64 %a;\n"
FAULTY += "ld.param.u64 %a, [x];\nst.global.u64 [%a+4096], %a;\nret;\n}\n"


def requests() -> dict[str, Request]:
    small: dict[str, Any] = {"head_dim": 16, "device": "cpu"}
    return {
        "prefill": request("tiled", **small, seq_q=5, seq_k=70, sass=True),
        "no keys": request("scalar", **small, seq_q=5, seq_k=0),
        "split": request("decode_split", **small, seq_k=64, splits=2),
        "own": pl.explore(FAULTY, 1, 1, np.zeros(4096, np.uint64)).session.request,
        "fault": pl.explore(FAULTY, 1, 1, np.zeros(1, np.uint64)).session.request,
    }


@pytest.mark.rest
def test_all_parts_of_an_answer_conform_to_the_protocol() -> None:
    kinds = typing.get_type_hints(protocol.Parts, vars(protocol))
    for name, asked in requests().items():
        now: dict[str, Any] = {}
        session = Session(now.update)
        session.ask(asked)
        assert session.wait(60)
        assert now.keys() >= {"code", "base", "diff", "measures", "assembly", "status"}
        found = [misfit for part, value in now.items() if value for misfit in misfits(value, kinds[part], part)]
        assert found == [], name
