"""The usual changes of attention in the explorer: `variants.py` by name, each with the parameters that it has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ptxlab.errors import LaunchError
from ptxlab.kernels import Parameter, variants
from ptxlab.kernels.mods import Applied, Mods, applied

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
VARIANT = Parameter("variant", "a change of the scores, or of which keys a row sees", "none", ("none", *NUMBERS))
PROBLEM = tuple(p for some in NUMBERS.values() for p in some)


def unused(values: Mapping[str, Any]) -> set[str]:
    """The parameters of the other variants."""
    return {p.name for name, some in NUMBERS.items() if name != values.get("variant") for p in some}


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
    return {}


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
    raise LaunchError(f"explore: {wanted.name} is none of {', '.join(NUMBERS)}, which are shown\n  write:  {line}")


def masked(values: Mapping[str, Any]) -> Applied | None:
    """The variant with its mask, the causal one included; None where it hides no key."""
    made = applied(**mods(values), causal=bool(values.get("causal")))
    return made if made is not None and made.mods.masks else None
