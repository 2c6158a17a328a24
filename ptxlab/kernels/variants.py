"""The usual changes of attention by name, as masks and scores that `pl.attention(score_mod=..., mask_mod=...)` takes.

A mask tells which keys a row sees, a score changes the scaled score before the softmax. Masks are joined by `& | ~`;
`a.then(b)` gives b the scores that a has made. `q_idx` and `kv_idx` are positions: the last row is at the last key.
"""

from __future__ import annotations

import functools
import inspect
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ptxlab.builder.traced import Number
from ptxlab.errors import LaunchError
from ptxlab.options import complete, finite, meant, shown

OPTIONS = frozenset(
    "scale splits sinks causal kernel device checks counters state trace seed budget workers score_mod mask_mod "
    "head_dim dtype arch probes tile_q tile_kv warps stages cache page_size copy tolerance".split()
)
"""Names of options, which a parameter of a mod must not have, as little as those of kernel parameters."""
RESERVED = OPTIONS | frozenset(
    "q k v o key value lse B Hq Hkv Sq Sk D slots probe sums table length lengths partial width max_seq "
    "tile_starts tile_entries key_ranges _ WARP_SZ".split()
)
LABELS = ("loop_", "end_", "next_", "endif_", "else_")
"""How the labels of a kernel begin."""


class Variant:
    """A score_mod or a mask_mod with its arrays and numbers bound: `pl.variant(f, slopes=slopes)`.

    `function` takes the places first, five for a score and four for a mask, then `arrays` by keyword: arrays and
    numbers, real or whole. They become parameters of the kernel.
    """

    def __init__(self, function: Callable[..., Any], arrays: Mapping[str, Any], name: str, masks: bool) -> None:
        self.function, self.arrays, self.name, self.masks = function, dict(arrays), name, masks
        self.__wrapped__ = function

    def __call__(self, /, *places: Any, **given: Any) -> Any:
        """What it is for some places; where `given` has something else under the name of an array, for that."""
        return self.function(*places, **{name: given.get(name, x) for name, x in self.arrays.items()})

    def __repr__(self) -> str:
        arrays = ", ".join(f"{name}{list(np.shape(x)) or f'={x}'}" for name, x in self.arrays.items())
        return f"<{'mask' if self.masks else 'score'} {self.name}({arrays})>"

    def beside(self, taken: Mapping[str, Any]) -> Variant:
        """The same, whose arrays have other names where `taken` has other arrays under theirs."""
        arrays, names = dict(taken), {}
        for name, array in self.arrays.items():
            other, n = name, 2
            while other in arrays and arrays[other] is not array:
                other, n = f"{name}{n}", n + 1
            arrays[other], names[name] = array, other

        @functools.wraps(self.function)
        def renamed(*places: Any, **given: Any) -> Any:
            return self(*places, **{name: given[other] for name, other in names.items()})

        return Variant(renamed, {other: self.arrays[name] for name, other in names.items()}, self.name, self.masks)

    def _joined(self, other: Any, word: str, join: Callable[[Any, Any], Any]) -> Variant:
        right = variant(other) if callable(other) else other
        if not isinstance(right, Variant) or not (self.masks and right.masks):
            line = "a & b    # of masks; scores: a.then(b)"
            raise LaunchError(f"only masks are joined by `& | ~`, got {self!r} and {shown(other)}\n  write:  {line}")
        right = right.beside(self.arrays)

        def both(*places: Any, **given: Any) -> Any:
            return join(self(*places, **given), right(*places, **given))

        return Variant(both, self.arrays | right.arrays, f"{self.name}_{word}_{right.name}", True)

    def __bool__(self) -> bool:
        raise LaunchError("`and`, `or` and `not` would drop one of the masks\n  write:  a & b, a | b, ~a")

    def __and__(self, other: Any) -> Variant:
        return self._joined(other, "and", operator.and_)

    def __rand__(self, other: Any) -> Variant:
        return variant(other) & self

    def __ror__(self, other: Any) -> Variant:
        return variant(other) | self

    def __or__(self, other: Any) -> Variant:
        return self._joined(other, "or", operator.or_)

    def __invert__(self) -> Variant:
        if not self.masks:
            raise LaunchError(f"only a mask is inverted by `~`, got {self!r}")
        return Variant(lambda *places, **given: ~self(*places, **given), self.arrays, f"not_{self.name}", True)

    def then(self, other: Any) -> Variant:
        """The score that `other` makes of what this one makes."""
        right = variant(other)
        if self.masks or right.masks:
            raise LaunchError(f"only score mods are chained with .then(), got {self!r} and {right!r}\n  write:  a & b")
        right = right.beside(self.arrays)

        def both(score: Any, *places: Any, **given: Any) -> Any:
            return right(self(score, *places, **given), *places, **given)

        return Variant(both, self.arrays | right.arrays, f"{self.name}_{right.name}", False)


@complete()
def variant(function: Any, **arrays: Any) -> Variant:
    """A change of attention with its arrays, for `score_mod` and `mask_mod`.

    Parameters
    ----------
    function
        `f(score, b, h, q_idx, kv_idx, ...)` or `f(b, h, q_idx, kv_idx, ...)`.
    **arrays
        Its further parameters, by name.

    Raises
    ------
    LaunchError
        Where one is missing, is not there, or has a name that is taken.
    """
    if isinstance(function, Variant) and not arrays:
        return function
    name = getattr(function, "__name__", type(function).__name__).replace("<lambda>", "mod")
    if not callable(function) or isinstance(function, Variant):
        line = "lambda b, h, q_idx, kv_idx, seen: seen[q_idx, kv_idx]    # and in the call: seen=array"
        if isinstance(function, str) and callable(known := globals().get(function)):
            line = _call_of(known)
        raise LaunchError(f"a mod is a function, got {shown(function)}\n  write:  {line}")
    named = inspect.signature(function).parameters
    keywords = {each: p.default for each, p in named.items() if each in arrays or p.default is not p.empty}
    masks, places = next(iter(named), "") in ("b", "batch"), len(named) - len(keywords)
    first = "b, h, q_idx, kv_idx" if masks else "score, b, h, q_idx, kv_idx"

    def wrong(what: str, further: str = "", write: str = "") -> LaunchError:
        return LaunchError(f"{name}{what}\n  write:  {write or f'def {name}({first}{further}): ...'}")

    for each in arrays:
        if each not in keywords:
            raise wrong(f" has no parameter {each}{meant(each, list(named))}", f", {each}")
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in named.values()):
        raise wrong(" takes *args or **kwargs; each parameter needs a name")
    for each in list(named)[4:]:
        if each in RESERVED or each.startswith(LABELS) or not each.isascii():
            why = "is the name of a kernel parameter or an option" if each.isascii() else "is not a PTX name"
            raise wrong(f": `{each}` {why}", f", {each if each.isascii() else 'x'}_values")
    extra = [each for each in list(named)[4 if masks else 5 :] if each not in keywords]
    if getattr(function, "__module__", "") == __name__ and places < 4:
        raise wrong(" makes a variant; it is not one", write=_call_of(function))
    if extra:
        raise wrong(f" also takes {', '.join(extra)}", write=", ".join(f"{x}=array" for x in extra))
    if places == 4 and next(iter(named)) == "score":
        raise wrong(" takes the score and 3 places; a score_mod takes 4 places after it")
    if places not in (4, 5):
        raise wrong(f" takes {places} places; a mask_mod takes 4, a score_mod 5")
    entry = re.sub(r"\W", "_", name, flags=re.ASCII)
    return Variant(function, keywords | arrays, entry, places == 4)


def _call_of(function: Callable[..., Any]) -> str:
    return f"variants.{function.__name__}({', '.join(inspect.signature(function).parameters)})"


def causal() -> Variant:
    """A key is seen by the rows that do not come before it: GPT, and all that generate text."""

    def causal(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return kv_idx <= q_idx

    return variant(causal)


def sliding_window(left: int, right: int = 0) -> Variant:
    """`left` keys before a row's own and `right` after it: Longformer, arXiv:2004.05150; Mistral, arXiv:2310.06825."""

    def window(b: Any, h: Any, q_idx: Any, kv_idx: Any, left: Any, right: Any) -> Any:
        distance = kv_idx - q_idx
        return (distance >= -left) & (distance <= right)

    return variant(window, left=left, right=right)


def prefix_lm(n: int) -> Variant:
    """All see the first n keys, and each the keys up to its own: T5, arXiv:1910.10683; PaliGemma, arXiv:2407.07726."""

    def prefix(b: Any, h: Any, q_idx: Any, kv_idx: Any, prefix: Any) -> Any:
        return (kv_idx < prefix) | (kv_idx <= q_idx)

    return variant(prefix, prefix=n)


def document(ids: Any) -> Variant:
    """Rows see the keys of their own document; ids `[Sk]` whole: how Llama 3 was trained, arXiv:2407.21783."""

    def document(b: Any, h: Any, q_idx: Any, kv_idx: Any, ids: Any) -> Any:
        return ids[q_idx] == ids[kv_idx]

    return variant(document, ids=ids)


def alibi(slopes: Any) -> Variant:
    """A penalty that grows with the distance; slopes `[Hq]` real: Press et al., arXiv:2108.12409; BLOOM, MPT."""

    def alibi(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any, slopes: Any) -> Any:
        return score + slopes[h] * (kv_idx - q_idx)

    return variant(alibi, slopes=slopes)


def tanh_approx(x: Any) -> Any:
    """np.tanh by one instruction, `tanh.approx.f32`, whose relative error is up to 2^-11; kernels of f64 have none."""
    return x.tracer.unary("tanh~", x) if isinstance(x, Number) else np.tanh(x)


def softcap(c: float, tanh: Callable[[Any], Any] = np.tanh) -> Variant:
    """Scores stay between -c and c: Gemma 2, arXiv:2408.00118 (c = 50). tanh: `tanh_approx` is shorter, and coarse."""
    if finite("c", c) <= 0:
        raise LaunchError(f"softcap: c is a positive number, got {c}\n  write:  softcap(50.0)")

    def softcap(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any, cap: Any) -> Any:
        return cap * tanh(score / cap)

    return variant(softcap, cap=float(c))


def relative_bias(table: Any) -> Variant:
    """A learned bias for each distance, the same beyond the last; table `[Hq, 2 n + 1]` real, the middle is distance 0:
    T5, arXiv:1910.10683, without its logarithmic buckets."""

    def bias(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any, biases: Any, far: Any) -> Any:
        return score + biases[h, np.clip(kv_idx - q_idx + far, 0, 2 * far)]

    return variant(bias, biases=table, far=np.shape(table)[-1] // 2)
