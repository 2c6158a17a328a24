"""Changes of attention in the explorer: `variants.py` by name, each with its parameters, and one's own function."""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Mapping
from types import FunctionType
from typing import Any

import numpy as np

from ptxlab.builder import mistakes
from ptxlab.builder.source import Site
from ptxlab.errors import LaunchError, Span
from ptxlab.kernels import Parameter, variants
from ptxlab.kernels.mods import Applied, Mods, applied
from ptxlab.lab.python_text import executed

FAR = 16384
"""The largest problem's keys."""
NUMBERS = {
    "window": (
        Parameter("left", "keys before a row's own that it sees", 16, maximum=FAR),
        Parameter("right", "keys after a row's own that it sees", 0, maximum=FAR),
    ),
    "prefix": (Parameter("prefix", "first keys, which all rows see", 16, maximum=FAR),),
    "document": (Parameter("documents", "documents in a sequence, of one length", 4, minimum=1, maximum=1024),),
    "alibi": (),
    "softcap": (Parameter("cap", "scores stay between -cap and cap", 2, minimum=1, maximum=100),),
    "sinks": (Parameter("sink", "the score of each head that has no value", 0, minimum=-20, maximum=20),),
    "bias": (Parameter("reach", "distances on each side with a random bias of their own", 8, minimum=1, maximum=FAR),),
}
"""The parameters of each variant. They are arguments of the kernel, and change none of its PTX."""
VARIANT = Parameter("variant", "a change of the scores, or of which keys a row sees", "none", ("none", *NUMBERS, "own"))
OWN = Parameter(
    "own",
    "one function of Python: a score_mod(score, b, h, q_idx, kv_idx) or a mask_mod(b, h, q_idx, kv_idx); np is numpy, "
    "and an array is a parameter with a default: slopes=np.float32([0.5, 0.25])",
    "def near(score, b, h, q_idx, kv_idx):\n    return score - 0.1 * np.abs(q_idx - kv_idx)\n",
)
BUILDING = VARIANT, OWN
PROBLEM = tuple(p for some in NUMBERS.values() for p in some)


def unused(values: Mapping[str, Any]) -> set[str]:
    """The parameters of the other variants."""
    others = {p.name for name, some in NUMBERS.items() if name != values.get("variant") for p in some}
    return others | ({OWN.name} if values.get("variant") != "own" else set())


def mods(values: Mapping[str, Any]) -> dict[str, Any]:
    """What `pl.attention` and a build take for the variant: score_mod, mask_mod or sinks; nothing for "none"."""
    heads, keys = values["heads"], values["seq_k"]
    match values.get("variant"):
        case "window":
            return {"mask_mod": variants.sliding_window(values["left"], values["right"])}
        case "prefix":
            return {"mask_mod": variants.prefix_lm(values["prefix"])}
        case "document":
            some = max(1, keys)
            return {"mask_mod": variants.document(np.arange(some) * values["documents"] // some)}
        case "alibi":
            return {"score_mod": variants.alibi(2.0 ** (-8 * np.arange(1, heads + 1) / heads))}
        case "softcap":
            return {"score_mod": variants.softcap(values["cap"])}
        case "sinks":
            return {"sinks": np.full(heads, float(values["sink"]))}
        case "bias":
            random = np.random.default_rng([values["seed"], 2])
            return {"score_mod": variants.relative_bias(random.standard_normal((heads, 2 * values["reach"] + 1)))}
        case "own":
            mod = own(values["own"])
            return {"mask_mod" if mod.masks else "score_mod": mod}
    return {}


TURNS = 1000
"""Turns that all loops of a text may make together in one call."""


class _Counted(ast.NodeTransformer):
    """Each turn of a loop or of a comprehension begins with a call of `_turn`, which is true."""

    def visit(self, node: ast.AST) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node, ast.For | ast.While | ast.comprehension):
            place = node.target if isinstance(node, ast.comprehension) else node
            turn = ast.fix_missing_locations(ast.copy_location(ast.Call(ast.Name("_turn", ast.Load()), [], []), place))
            if isinstance(node, ast.comprehension):
                node.ifs.insert(0, turn)
            else:
                node.body.insert(0, ast.copy_location(ast.Expr(turn), place))
        return node


class _Turns:
    """Counts the turns of a text's loops: nobody can interrupt the thread that runs it."""

    made = 0

    def __call__(self) -> bool:
        self.made += 1
        if self.made > TURNS:
            frame = sys._getframe(1)
            site = Site(Span(frame.f_code.co_filename, frame.f_lineno, 0, frame.f_lineno, 0))
            what = f"the loops of a function make {TURNS} turns at most; each would be written out in the PTX"
            raise mistakes.error(site, what, "for n in range(4):")
        return True


class _Own(variants.Variant):
    """One's own function; each call of it may make as many turns."""

    def __init__(self, found: variants.Variant, turns: _Turns) -> None:
        super().__init__(found.function, found.arrays, found.name, found.masks)
        self.turns = turns

    def __call__(self, /, *places: Any, **given: Any) -> Any:
        self.turns.made = 0
        return super().__call__(*places, **given)


@functools.lru_cache(maxsize=64)
def own(text: str) -> variants.Variant:
    """The mod that a text defines. `BuildError` or `LaunchError` says where the text is wrong, and what to write."""
    turns = _Turns()
    names: dict[str, Any] = {"np": np, "_turn": turns}
    file = executed(text, "your own", names, OWN.default.strip(), _Counted().visit)
    functions = [f for f in names.values() if isinstance(f, FunctionType) and f.__code__.co_filename == file]
    if not functions:
        raise mistakes.error(None, "the text of your own defines no function", OWN.default.strip())
    try:
        return _Own(variants.variant(functions[-1]), turns)
    except LaunchError as wrong:
        raise LaunchError(f"{file}:{functions[-1].__code__.co_firstlineno}: {wrong}") from wrong


def said(values: Mapping[str, Any], name: str) -> Any:
    """What a parameter says, in one line: of a function of one's own its name, and what it computes."""
    value = values[name]
    if name == OWN.name and isinstance(value, str):
        return " ".join(value.partition("\n")[2].split())
    if name == VARIANT.name and value == "own":
        return (re.findall(r"^def (\w+)", values["own"], re.MULTILINE) or [value])[-1]
    return value


def named(wanted: Mods) -> dict[str, Any]:
    """The variant, and where a mask has it in it `causal`, that a kernel was built with, which knows no numbers.
    `LaunchError` for one's own function."""
    start = {p.name: p.default for p in PROBLEM} | {"heads": 1, "seq_k": 1, "seed": 0}
    for name in NUMBERS:
        for within in (False, True):
            made = applied(**mods({**start, "variant": name}), causal=within)
            if made is not None and made.mods == wanted:
                return {"variant": name, **({"causal": True} if within and wanted.masks else {})}
    line = 'pl.explore("mma", variant="window")'
    raise LaunchError(
        f"explore: {wanted.name} is not one of {', '.join(NUMBERS)}, which have controls\n  write:  {line}"
    )


def masked(values: Mapping[str, Any]) -> Applied | None:
    """The variant with its mask, the causal one included; None where it hides no key."""
    made = applied(**mods(values), causal=bool(values.get("causal")))
    return made if made is not None and made.mods.masks else None
