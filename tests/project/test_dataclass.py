"""Our `dataclass` makes classes that behave as those of the standard one."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import itertools
import pickle
from collections.abc import Callable
from dataclasses import field
from typing import Any

import pytest

from ptxlab.dataclass import dataclass

NAMES = ("frozen", "slots", "eq")
OPTIONS = [dict(zip(NAMES, given, strict=True)) for given in itertools.product((False, True), repeat=3)]
NAN = float("nan")


def several(make: Callable[..., Any], **options: bool) -> dict[str, Any]:
    """Classes of all kinds."""

    @make(**options)
    class Point:
        """A point."""

        x: int
        y: float = 1.5
        names: list[str] = field(default_factory=list)
        hidden: int = field(default=3, repr=False, compare=False)
        later: int = field(default=7, init=False)
        squared: int = field(init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "squared", self.x**2)

    @make(**options)
    class One:
        """One field."""

        it: Any

    @make(**options)
    class Nothing:
        """No field."""

    @make(**options)
    class Own:
        """Its own methods."""

        x: int

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

    @make(**options)
    class OwnHash:
        """Its own hash."""

        x: int

        def __hash__(self) -> int:
            return 5

    @make(**options)
    class Under(One):
        """A class under another."""

        more: int = 2

    return {each.__name__: each for each in (Point, One, Nothing, Own, OwnHash, Under)}


def told(work: Callable[[], Any]) -> Any:
    """What something gives, or the error that it raises."""
    try:
        return work()
    except Exception as error:
        return type(error), str(error).replace("ptxlab.dataclass", "dataclasses")


def seen(make: Callable[..., Any], **options: bool) -> list[Any]:
    """All that can be told of such classes."""
    classes = several(make, **options)
    point, one, nothing, own, own_hash, under = classes.values()
    made = [point(2), point(2, 3.0, ["a"]), point(x=2, hidden=9), one(NAN), one([]), nothing(), nothing()]
    made += [own(1), own(2), own_hash(1), own_hash(1), under(1), under(1, 3), one(1)]
    out: list[Any] = [repr(each) for each in made]
    out += [told(lambda a=a, b=b: a == b) for a, b in itertools.product(made, repeat=2)]
    by_identity = [type(each).__hash__ is object.__hash__ for each in made]
    out += by_identity
    out += [told(lambda each=each: hash(each)) for each, plain in zip(made, by_identity, strict=True) if not plain]
    for each in made:
        out += [repr(copy.copy(each)), told(lambda each=each: repr(dataclasses.replace(each, x=8)))]
        out += [told(lambda each=each: dataclasses.asdict(each)), [f.name for f in dataclasses.fields(each)]]
        out.append(hasattr(each, "__dict__"))
        names = {f.name for f in dataclasses.fields(each)}
        for name in ("x", "it", "more"):
            if name not in names and options["frozen"] and options["slots"]:
                continue  # the standard class trips over its own `super()`
            out.append(told(lambda each=each, name=name: setattr(each, name, 5)))
            out.append(told(lambda each=each, name=name: delattr(each, name)))
    for each in classes.values():
        init: Any = each.__init__
        out += [str(inspect.signature(each)), init.__annotations__, init.__qualname__, each.__match_args__]
        out += [str(each.__dataclass_params__), hasattr(each, "__slots__"), each.__doc__]
    out += [told(lambda: point()), told(lambda: point(1, 2, 3, 4, 5))]
    return out


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "+".join(k for k, v in o.items() if v) or "plain")
def test_it_does_what_the_standard_one_does(options: dict[str, bool]) -> None:
    assert seen(dataclass, **options) == seen(dataclasses.dataclass, **options)


@dataclass(frozen=True, slots=True)
class Kept:
    """What is pickled."""

    x: int
    y: tuple[int, ...] = ()


@dataclass
class Loop:
    """What may refer to itself."""

    me: Any = None


def test_frozen_ones_are_pickled() -> None:
    assert pickle.loads(pickle.dumps(Kept(1, (2, 3)))) == Kept(1, (2, 3))


def test_one_in_itself_is_shown() -> None:
    loop = Loop()
    loop.me = loop
    assert repr(loop) == "Loop(me=...)"


def test_fields_by_keyword_only_are_refused() -> None:
    with pytest.raises(TypeError, match=r"^A\.x: a field by keyword only; use the standard dataclass$"):

        @dataclass
        class A:
            """Not possible."""

            x: int = field(kw_only=True)
