"""`multimem`: one address that stands for the same place in the memory of several GPUs.

The emulator is one device, and a multicast object of one device is its memory: an ordinary global address. There a
reduction over all devices loads one value, and a store is a store (`one_device`).
"""

from __future__ import annotations

from typing import Any

from ptxlab.isa.actions import Action
from ptxlab.isa.matching import form
from ptxlab.isa.memory import SCOPES
from ptxlab.isa.table import Form, op

_LOAD = "Loads from all devices that a multicast address stands for, and combines the values."
_STORE = "Stores to all devices that a multicast address stands for."
_RED = "Combines b with the memory of all devices that a multicast address stands for."
_SINCE: dict[str, Any] = {"version": (8, 1), "sm": 90, "fixed": {"multimem": True}, "needs": {"acc::f32": ((8, 2), 90)}}
_INTEGERS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("min", "max"), ("u32", "s32", "u64", "s64")),
    (("add",), ("u32", "s32", "u64")),
    (("and", "or", "xor"), ("b32", "b64")),
)
_MODES: tuple[tuple[str, dict[str, Any]], ...] = (("{.weak}", {}), (".order.scope", {"scope": SCOPES}))


def _loaded(m: Any, i: Form, a: Any) -> Any:
    return m.load(i, a)


def _stored(m: Any, i: Form, a: Any, b: Any) -> None:
    m.store(i, a, b)


def _reduced(m: Any, i: Form, a: Any, b: Any) -> None:
    m.atom(i, a, b)


_REAL: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("", ("f32", "f64", "f16x2", "bf16x2"), ()),
    (".vec", ("f32", "f16x2", "bf16x2"), ("v2", "v4")),
    (".vec", ("f16", "bf16"), ("v2", "v4")),
)
for _words, _more in _MODES:
    _read: dict[str, Any] = _more | ({"order": ("relaxed", "acquire")} if _more else {})
    _write: dict[str, Any] = _more | ({"order": ("relaxed", "release")} if _more else {})
    for _operations, _types in _INTEGERS:
        op(f"multimem.ld_reduce{_words}{{.space}}.operation.type  d, [a]", _LOAD, _loaded, does=Action.LOAD,
           space=("global",), operation=_operations, type=_types, **_read, **_SINCE)  # fmt: skip
    op(f"multimem.st{_words}{{.space}}.type  [a], b", _STORE, _stored, does=Action.STORE, space=("global",),
       type=("b32", "b64", "u32", "s32", "u64", "s64", "f32", "f64", "f16x2", "bf16x2"), **_write,
       **_SINCE)  # fmt: skip
    for _vec, _types, _counts in _REAL:
        _slot: dict[str, Any] = {"vec": _counts} if _counts else {}
        _held = ":vec" if _counts else ""
        _smaller = tuple(t for t in _types if t not in ("f32", "f64"))
        op(f"multimem.ld_reduce{_words}{{.space}}.operation{_vec}.type  d{_held}, [a]", _LOAD, _loaded,
           does=Action.LOAD, space=("global",), operation=("add",), type=_types, **_slot, **_read,
           **_SINCE)  # fmt: skip
        op(f"multimem.ld_reduce{_words}{{.space}}.operation.acc::f32{_vec}.type  d{_held}, [a]", _LOAD, _loaded,
           does=Action.LOAD, space=("global",), operation=("add",), type=_smaller, **_slot, **_read,
           **_SINCE)  # fmt: skip
        op(f"multimem.ld_reduce{_words}{{.space}}.operation{_vec}.type  d{_held}, [a]", _LOAD, _loaded,
           does=Action.LOAD, space=("global",), operation=("min", "max"), type=_smaller, **_slot, **_read,
           **_SINCE)  # fmt: skip
        if _counts:
            op(f"multimem.st{_words}{{.space}}{_vec}.type  [a], b{_held}", _STORE, _stored, does=Action.STORE,
               space=("global",), type=_types, **_slot, **_write, **_SINCE)  # fmt: skip
_ORDERED: dict[str, Any] = {"order": ("relaxed", "release"), "scope": SCOPES}
for _words, _more in (("", {}), (".order.scope", _ORDERED)):
    for _operations, _types in _INTEGERS:
        op(f"multimem.red{_words}{{.space}}.operation.type  [a], b", _RED, _reduced, does=Action.REDUCTION,
           space=("global",), operation=_operations, type=_types, **_more, **_SINCE)  # fmt: skip
    for _vec, _types, _counts in _REAL:
        _slot = {"vec": _counts} if _counts else {}
        _held = ":vec" if _counts else ""
        op(f"multimem.red{_words}{{.space}}.operation{_vec}.type  [a], b{_held}", _RED, _reduced,
           does=Action.REDUCTION, space=("global",), operation=("add",), type=_types, **_slot, **_more,
           **_SINCE)  # fmt: skip


def one_device(found: Form) -> Form:
    """The ordinary load, store or reduction that a form is where there is one device."""
    order = f".{found.order}" if found.order else ""
    scope = f".{found.scope}" if found.scope else ""
    type_ = str(found.type)
    vector = f".{found.vec}" if found.vec else ""
    if found.op.does is Action.REDUCTION:
        half = ".noftz" if "f16" in type_ else ""
        order, scope = order or ".relaxed", scope or ".sys"
        return form(f"red{order}{scope}.global.{found.operation}{half}{vector}.{type_}")
    bits = {"f16": "b16", "bf16": "b16", "f16x2": "b32", "bf16x2": "b32"}.get(type_, type_)
    name = "ld" if found.op.does is Action.LOAD else "st"
    return form(f"{name}{order}{scope}.global{vector}.{bits}")
