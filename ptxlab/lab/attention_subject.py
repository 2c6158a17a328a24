"""The kernels of the library in the explorer: what prefill and decode rungs share as subjects."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from ptxlab import kernels, reference
from ptxlab.errors import LaunchError
from ptxlab.kernels import Parameter
from ptxlab.lab import dataflow, variant_controls
from ptxlab.lab.subject import CHECKS, Judgement, Subject, Values, ways

PROBLEM = (
    Parameter("batch", "sequences (B)", 1, minimum=1, maximum=8),
    Parameter("heads", "query heads (Hq)", 1, minimum=1, maximum=128),
    Parameter("kv_heads", "key and value heads (Hkv); heads must be a multiple of it", 1, minimum=1, maximum=128),
    Parameter("seed", "seed of the random q, k and v", 0, minimum=0, maximum=2**31 - 1),
    Parameter("sigma", "standard deviation of the logits: small ones hide rescaling bugs", 1.0),
    *variant_controls.PROBLEM,
    CHECKS,
)
"""Parameters that every problem has; they do not change the PTX."""
MOST = 1 << 24
"""Elements of q, and of k, in the largest problem."""
CONFLICTED = "mma"
"""The kernel whose bank conflicts are worth a look: its rows of 128 bytes begin in the same bank."""


class Attention(Subject):
    """What both phases share: the spec, its parameters, the family of all rungs."""

    family = kernels.names()

    def __init__(self, spec: Any) -> None:
        self.spec, self.title, self.name = spec, spec.title, spec.name

    def check(self, values: Values) -> None:
        """Also that heads are a multiple of kv_heads."""
        super().check(values)
        variant_controls.VARIANT.check(self.name, values.get("variant", "none"))
        if values["heads"] % values["kv_heads"]:
            raise LaunchError(f"heads = {values['heads']} should be a multiple of kv_heads = {values['kv_heads']}")
        for length, heads in (("seq_q", "heads"), ("seq_k", "kv_heads")):
            elements = values["batch"] * values[heads] * values.get(length, 1) * values["head_dim"]
            if elements > MOST:
                raise LaunchError(
                    f"{length} = {values[length]} for {values[heads]} heads of {values['batch']} sequences are "
                    f"{elements:,} elements; the explorer runs up to {MOST:,}: choose a smaller {length} or {heads}"
                )

    def fits(self, values: Values) -> None:
        """Also that the kernel can be configured so."""
        super().fits(values)
        self.configured(values)

    def configured(self, values: Values) -> Any:
        """The configuration of the kernel with these parameters; `TargetError` names a limit that is broken."""
        return self.spec.configure(**self._sizes(values))

    def _sizes(self, values: Values) -> dict[str, Any]:
        """The parameters of a build, without the variant."""
        return {p.name: values[p.name] for p in self.building if p not in variant_controls.BUILDING}

    def unused(self, values: Values) -> set[str]:
        """Those of variants that are not chosen."""
        return variant_controls.unused(values)

    def size(self, values: Values) -> float:
        """The multiplications of all scores: one for each dimension of each pair of row and key that the causal mask
        lets through. A variant solves the same problem: what it skips shows as saved, and float64 skips none."""
        pairs = reference.visible_pairs(values.get("seq_q", 1), values["seq_k"], bool(values.get("causal")))
        return float(values["batch"] * values["heads"] * pairs * values["head_dim"])

    def build(self, values: Values) -> Any:
        """The kernel of the library with these parameters."""
        return self.spec.build(**self._sizes(values), **variant_controls.mods(values))

    def lesson(self, built: Any) -> dict[str, Any]:
        """The rung's own, which one comes next, and which one to look at for bank conflicts."""
        spec, lines = self.spec, built.ptx.splitlines()
        names = kernels.names()
        after = names[names.index(self.name) + 1 :] if self.name in names else ()
        opcode = re.compile(rf"\s*(@!?%\w+\s+)?{re.escape(spec.opens)}[.\s]")
        line = next((n for n, text in enumerate(lines, 1) if spec.opens and opcode.match(text)), 0)
        return {"question": spec.question, "look": spec.look, "line": line,
                "next": _told(after[0]) if after else None,
                "conflicts": None if self.name == CONFLICTED else _told(CONFLICTED)}  # fmt: skip


def _told(name: str) -> dict[str, str]:
    """A kernel that the page offers."""
    return {"name": name, "title": kernels.get(name).title}


def judged(results: Mapping[str, Any], plain: Any) -> Judgement:
    """The results of one or more devices held against float64, the first of them element by element; plain: numpy's
    own o."""
    first = next(iter(results.values()))
    exact, ratio = first.judged.exact, first.judged.ratio
    compared = ways({where: result.o for where, result in results.items()}, exact, plain, f"numpy {plain.dtype}")
    return Judgement(first.error, np.abs(first.o.astype(np.float64) - exact), ratio, ways=compared)


def makers(probed: Any, plain: Any) -> dict[str, list[int]]:
    """The lines that compute m, l and rescale, and o: those that scale the output row, where they are to be found."""
    found = dataflow.makers(probed, plain)
    scaling = dataflow.scaled_by(plain, found["rescale"])
    known = {line for lines in found.values() for line in lines}
    return {**found, "o": [line for line in scaling if line not in known]} if scaling else found


def tile_kinds(kinds: Any, tile: tuple[int, int]) -> dict[str, Any]:
    """{rows, keys, lines}: tiles of so many rows and keys, for each tile of rows a digit for every tile of keys: 0 it
    is skipped, 1 seen in part, 2 seen by all of its rows."""
    lines = ["".join(map(str, line)) for line in np.atleast_2d(kinds).tolist()]
    return {"rows": tile[0], "keys": tile[1], "lines": lines}


def nothing(why: str, mods: Mapping[str, Any], head: int) -> str:
    """What the state of a row without keys says."""
    sinks = mods.get("sinks")
    return f"Nothing to sum: {why}, so O = 0 and LSE = {'−∞' if sinks is None else f'the sink, {sinks[head]:g}'}."


def series(state: Any) -> dict[str, list[float | None]]:
    """m, l and rescale of a state `[tiles, 3]` as lists."""
    return {name: [finite(x) for x in state[:, i]] for i, name in enumerate(("m", "l", "rescale"))}


def finite(x: Any) -> float | None:
    """A number for the plots: None where it is not finite."""
    value = float(x)
    return value if np.isfinite(value) else None
