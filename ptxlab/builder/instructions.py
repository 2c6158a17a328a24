"""Every instruction of the table as a method: `k.fma(a, b, c)`, `k.shfl(...)`, and `k.op("fma.rn.f32", a, b, c)`.

Modifiers are keyword arguments (`ftz=True`, `rnd="rz"`, `type=u32`); what a call leaves open comes from its operands.
Opcodes that are Python words end in an underscore (`k.and_`). The stub beside this file is generated from the table.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable
from typing import Any

from ptxlab.builder import mistakes
from ptxlab.builder.flow import Flow
from ptxlab.builder.plan import Kind, Plan, resolve
from ptxlab.builder.pointer import Ptr
from ptxlab.builder.registers import Register
from ptxlab.builder.suggestions import call_at, completed
from ptxlab.isa import TABLE, FormError, Op


class Instructions(Flow):
    """The builder's instruction methods; one call is one PTX instruction."""

    def op(self, opcode: str, *operands: Any, into: Any = None, both: bool = False) -> Any:
        """One instruction by its whole opcode: `k.op("fma.rn.f32", a, b, c)`.

        Parameters
        ----------
        opcode
            With all modifiers.
        *operands
            Registers, numbers, pointers, lists for vectors.
        into
            The variable (or the list of them) to write instead of a new register.
        both
            Whether an optional second destination (`d|p`) is also given.

        Returns
        -------
        Register
            A list for a vector, None where there is no result.
        """
        if len(opcode.split()) > 1:
            word, rest = opcode.rstrip("; ").split(None, 1)
            raise self._error("k.op takes the opcode and its operands as separate arguments", f'k.op("{word}", {rest})')
        return self._emit(opcode, *operands, into=into, both=both)

    def _invoke(self, name: str, operands: tuple[Any, ...], modifiers: dict[str, Any]) -> Any:
        """What every generated method does: finds the form that the operands and modifiers mean, and emits it."""
        into, both = modifiers.pop("into", None), modifiers.pop("both", False)
        result = modifiers.pop("result", None)
        word = next((o for o in operands if isinstance(o, str) and any(o in e.words for e in TABLE[name])), None)
        if word is not None:
            what = f"{word!r} is a modifier of {name}; modifiers are keyword arguments"
            raise self._error(what, completed(name, call_at(self._here)))
        p = self._resolved(name, operands, modifiers)
        return self._emit(p, *operands, into=into, both=both, result=result)

    def _resolved(self, name: str, operands: tuple[Any, ...], modifiers: dict[str, Any]) -> Plan:
        """The plan of a call, or a `BuildError` with the table's words."""
        try:
            return resolve(name, tuple(map(_kind, operands)), tuple(modifiers.items()))
        except FormError as why:
            raise mistakes.error(self._here, why.what, completed(name, call_at(self._here)), why.syntax) from None
        except TypeError:  # a modifier that cannot be hashed
            wrong = next((f"{n}={v!r}" for n, v in modifiers.items() if not isinstance(v, str | int | type)), "")
            if not wrong:
                raise
            raise self._error(f"{name}: a modifier is a word, found {wrong}") from None


def method_name(opcode: str) -> str:
    """The method of an opcode: `and` -> `and_`."""
    return opcode + "_" if keyword.iskeyword(opcode) else opcode


def _kind(operand: Any) -> Kind:
    if isinstance(operand, Register):
        name: str = operand.type.ptx
        return name
    if isinstance(operand, Ptr):
        return "ptr", operand.space, operand.element.ptx
    if isinstance(operand, list | tuple):
        kinds = [_kind(o) for o in operand]
        first = next((k for k in kinds if isinstance(k, str)), "int")
        return "vec", str(len(operand)), first
    return "float" if isinstance(operand, float) else "int"


def documented(entries: Iterable[Op]) -> list[tuple[list[str], str]]:
    """What there is to say of the entries of an opcode, each sentence once: syntaxes and text."""
    groups: list[tuple[list[str], str]] = []
    where: dict[str, int] = {}  # the group that has a sentence
    written: set[str] = set()
    for entry in entries:
        sentences = re.split(r"(?<=\.) ", entry.says)
        new = [sentence for sentence in sentences if sentence not in where]
        if new:
            groups.append(([], " ".join(new)))
        where.update(dict.fromkeys(new, len(groups) - 1))
        if new or entry.syntax not in written:
            groups[where[new[0] if new else sentences[0]]][0].append(entry.syntax)
            written.add(entry.syntax)
    return groups


def _method(opcode: str) -> Any:
    says = "\n\n".join("\n".join([*syntaxes, f"    {says}"]) for syntaxes, says in documented(TABLE[opcode]))

    def method(self: Instructions, *operands: Any, **modifiers: Any) -> Any:
        return self._invoke(opcode, operands, modifiers)

    method.__name__ = method_name(opcode)
    method.__qualname__ = f"Instructions.{method.__name__}"
    method.__doc__ = says
    return method


for _opcode in TABLE:
    if not hasattr(Instructions, method_name(_opcode)):
        setattr(Instructions, method_name(_opcode), _method(_opcode))
