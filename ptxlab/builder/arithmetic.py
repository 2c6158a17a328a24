"""The operators and methods of registers: variables, arithmetic, and the errors for what a register cannot do."""

from __future__ import annotations

from typing import Any, TypeVar

from ptxlab.builder import mistakes, operators
from ptxlab.builder.emit import Emitter, Instr, Vec
from ptxlab.builder.registers import Register, Var, pred
from ptxlab.builder.suggestions import Call, call_at, instead
from ptxlab.errors import BuildError

T = TypeVar("T")


class Arithmetic(Emitter):
    """The half of the builder that registers call."""

    # -- variables
    def _assign(self, var: Var[T], value: Any) -> None:
        """`var.set(value)`: the last instruction writes `var` itself if its result has no name, else a `mov`."""
        self._usable(var)
        self._not_aliased(var, ".set")
        if isinstance(value, Register):
            self._usable(value)
            if value.type is not var.type:
                write = self._converted(var.type, value)
                raise self._error(
                    f"{self._shown(var)} is {var.type.ptx}, {self._shown(value)} is {value.type.ptx}",
                    f"{self._python(var)}.set({write})" if write else "",
                )
            if self._retarget(value, var):
                return
        self._emit(self._mov(var.type), value, into=var)

    def _retarget(self, value: Register[Any], var: Register[Any]) -> bool:
        """Lets the last instruction write `var` itself where `value` is its unnamed result; returns whether it did."""
        last = self.scope.nodes[-1] if self.scope.nodes else None
        if not isinstance(last, Instr) or value.hint is not None or isinstance(value, Var):
            return False
        if last.guard is not self.guarded or not any(r is value for r in last.results):
            return False

        def swap(operands: list[Any]) -> list[Any]:
            for n, operand in enumerate(operands):
                if operand is value:
                    operands[n] = var
                elif isinstance(operand, Vec):
                    swap(operand.elements)
            return operands

        head = last.operands[0]
        if isinstance(head, Vec):
            swap(head.elements)
        else:
            last.operands[0] = var
        last.results = [var if r is value else r for r in last.results]
        last.named = True
        value.dead = var
        return True

    def _mov(self, cls: type[Any]) -> str:
        if cls.ptx in ("pred", "f32", "f64") or cls.kind in ("signed", "unsigned"):
            return f"mov.{cls.ptx}"
        return f"mov.b{cls.bits}"

    # -- operators
    def _binary(self, op: str, r: Register[Any], other: object, reflected: bool = False) -> Any:
        """`r op other` (or `other op r`): one instruction."""
        return self._combined(op, r, other, reflected, None)

    def _update(self, op: str, var: Var[T], other: object) -> Var[T]:
        """`var op= other`: one instruction that writes the variable."""
        self._usable(var)
        self._not_aliased(var, op + "=")
        self._combined(op, var, other, False, var)
        return var

    def _combined(self, op: str, r: Register[Any], other: object, reflected: bool, into: Any) -> Any:
        opcode = operators.OPCODES.get((op, r.type.ptx))
        if opcode is None:
            raise operators.impossible(self, op, r, other)
        if isinstance(other, Register):
            self._usable(r)
            counts = other.type.bits == 32 and other.type.kind in ("signed", "unsigned", "bits")
            if not counts if op in ("<<", ">>") else other.type is not r.type:
                raise operators.mixed(self, op, r, other, fixed=into is not None)
        elif not isinstance(other, int | float) and not hasattr(other, "__float__"):
            raise operators.mixed(self, op, r, other)
        elif op in ("&", "|", "^") and isinstance(other, int):
            other = operators.mask(other, r.type)
        cls = None if into is not None else pred if op in operators.COMPARISONS else r.type
        pair = (other, r) if reflected else (r, other)
        return self._emit(opcode, *pair, into=into, result=cls)

    def _unary(self, op: str, r: Register[T], sign: str = "") -> T:
        opcode = operators.OPCODES.get((op, r.type.ptx))
        if opcode is None:
            raise operators.impossible(self, sign or op, r, None)
        answer: T = self._emit(opcode, r, result=r.type)
        return answer

    # -- traps
    def _not_aliased(self, var: Register[Any], how: str) -> None:
        site = self._here
        frame = self._frame
        bound = [name for name, value in frame.f_locals.items() if value is var]
        if not bound or (len(bound) < 2 and site.owner in ("", *bound)):
            return
        facts = self.source.facts(frame.f_code.co_filename)
        bindings = [name for name in bound if facts.is_alias(name, frame.f_code)]
        aliases = [name for name in bindings if name != site.owner]
        others = [name for name in bound if name != site.owner]
        if not others or not bindings:
            return
        other = (aliases or others)[0]
        write = f"{other} = k.copy({site.owner or var.hint or 'variable'})"
        raise self._error(
            f"`{other}` is bound to the same variable {self._shown(var)}, so it would read the new value "
            f"after this {how}; keep the old value in a register of its own",
            write,
        )

    def _no_truth(self, r: Register[Any]) -> BuildError:
        has = f"{self._shown(r)} is a register, which has a value only when the kernel runs"
        return mistakes.truth(self._here, has)

    def _no_number(self, r: Register[Any], what: str) -> BuildError:
        site, name, write = self._here, self._python(r), ""
        if what == "float":
            call = call_at(site)
            function = call.function.rpartition(".")[2]
            write = instead(Call(f"k.{function}", call.arguments)) or f"k.cvt(f32, {name})    # and instructions"
        return mistakes.number(site, self._shown(r), name, write)

    def _no_element(self, r: Register[Any]) -> BuildError:
        what = f"{self._shown(r)} is one value, a {r.ptx} register; only a pointer has elements"
        return mistakes.type_error(
            self._here, what, f"{self._python(r)}: Ptr[{r.ptx}]    # a parameter that is an array"
        )

    def _no_power(self, r: Register[Any]) -> BuildError:
        return self._error("`**` has no instruction; multiply", f"{self._python(r)} * {self._python(r)}")

    def _no_attribute(self, r: Register[Any], name: str) -> BuildError:
        site = self._here
        if name == "set":
            what = f"{self._shown(r)} is a value, not a variable; it has no .set()"
            return mistakes.attribute_error(site, what, f"{r.hint or 'x'} = k.var({r.type.ptx}, ...)")
        words = [n for n in dir(r) if not n.startswith("_")]
        call = call_at(site)
        value = call.function.rpartition(".")[0]
        write = instead(Call(f"k.{name}", [value, *call.arguments], call.keywords))
        if name == "to" and call.arguments:
            write = f"k.cvt({call.arguments[0]}, {value})"
        return mistakes.attribute_error(site, f"{self._shown(r)} has no `{name}`{mistakes.close(name, words)}", write)

    def _no_iteration(self, r: Register[Any]) -> BuildError:
        return mistakes.type_error(
            self._here,
            f"{self._shown(r)} is one register; there is nothing to iterate over when the kernel is built",
            f"with k.loop({self._python(r)}) as i:",
        )

    def _not_a_variable(self, r: Register[Any], op: str) -> BuildError:
        site = self._here
        name = site.owner or r.hint or "x"
        write = f"{name} = k.var({r.type.ptx}, ...)"
        if name.endswith("]"):  # an element of memory
            write = f"{name} = {name} {op[:-1]} {site.text.partition(op)[2].strip() or '...'}"
        return self._error(
            f"{self._shown(r)} is a value, not a variable; `{op}` would only rebind the Python name", write
        )
