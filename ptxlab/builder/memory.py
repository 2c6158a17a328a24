"""Loads, stores, pointer arithmetic and shared memory: what `p[i]`, `k.load`, `k.store` and `k.shared` emit."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, overload

from ptxlab.builder import mistakes
from ptxlab.builder.arithmetic import Arithmetic
from ptxlab.builder.immediates import half_bits, immediate
from ptxlab.builder.pointer import Index, Ptr, Shared, VarPtr
from ptxlab.builder.registers import IN_REGISTER, Register, u32, u64
from ptxlab.builder.suggestions import address_of
from ptxlab.errors import BuildError

T = TypeVar("T", bound=Register[Any])


@dataclass(frozen=True, slots=True)
class Array:
    """A shared array: its symbol, element type, number of elements (0: dynamic) and alignment in bytes."""

    name: str
    type: str
    count: int
    align: int


class Memory(Arithmetic):
    """The memory half of the builder."""

    def __init__(self, arch: str) -> None:
        super().__init__(arch)
        self.arrays: list[Array] = []

    # -- loads and stores
    @overload
    def load(self, pointer: Ptr[T], *, vector: int = 1, **modifiers: Any) -> T: ...
    @overload
    def load(self, pointer: Ptr[T], count: int, *, vector: int = 1, **modifiers: Any) -> list[T]: ...
    def load(self, pointer: Ptr[T], count: int | None = None, *, vector: int = 1, **modifiers: Any) -> T | list[T]:
        """Loads one element, or several with immediate offsets: one instruction per element (or per vector).

        `query = k.load(q + row * D, D)` gives `%query0, %query1, ...`.

        Parameters
        ----------
        pointer
            Where they begin; a vector's address must be aligned to its size.
        count
            How many, in a list; by default one element.
        vector
            1, 2 or 4 at a time.
        **modifiers
            Of `ld`.
        """
        self._vector(pointer, count, vector)
        cls = self._loaded(pointer)
        opcode = self._opcode("ld", pointer, vector, modifiers)
        if count is None:
            item: T = self._emit(opcode, pointer, result=cls)
            return item
        site = self._here
        names, _, frame = self.source.names(self._frame, site)
        if names is not None:
            self._not_rebinding(names, frame, site)
        out: list[T] = self._family(cls, count, names, site)
        for n in range(0, count, vector):
            at = pointer.moved(n * pointer.size)
            self._emit(opcode, at, into=out[n] if vector == 1 else out[n : n + vector])
            self.scope.nodes[-1].named = names is not None
        return out

    def store(
        self,
        pointer: Ptr[T],
        values: Register[T] | float | Sequence[Register[T] | float],
        *,
        vector: int = 1,
        **modifiers: Any,
    ) -> None:
        """Stores one value, or a list of them to consecutive elements.

        Parameters
        ----------
        pointer
            Where they begin.
        values
            A register or a number, or a list.
        vector
            1, 2 or 4 at a time.
        **modifiers
            Of `st`.
        """
        many = values if isinstance(values, Sequence) else [values]
        self._vector(pointer, len(many), vector)
        opcode = self._opcode("st", pointer, vector, modifiers)
        for n in range(0, len(many), vector):
            at = pointer.moved(n * pointer.size)
            group = [self._stored(pointer, v) for v in many[n : n + vector]]
            self._emit(opcode, at, group[0] if vector == 1 else group)

    def _element(self, pointer: Ptr[Any], index: Index | tuple[Index, ...]) -> Any:
        cls = self._loaded(pointer)
        at = self._at(pointer, index)
        return self._emit(self._opcode("ld", pointer, 1, {}), at, result=cls)

    def _set_element(self, pointer: Ptr[Any], index: Index | tuple[Index, ...], value: Any) -> None:
        stored = self._stored(pointer, value)
        at = self._at(pointer, index)
        self._emit(self._opcode("st", pointer, 1, {}), at, stored)

    def _vector(self, pointer: Ptr[Any], count: int | None, vector: int) -> None:
        if not isinstance(pointer, Ptr):
            raise self._error(f"expected a pointer, found {self._what(pointer)}", address_of(pointer))
        if isinstance(count, Register):
            raise self._error(f"expected a number of elements, found {self._what(count)}", "k.load(p + i)")
        if vector not in (1, 2, 4) or vector * pointer.element.bits > 128:
            raise self._error(
                f"a vector of {vector} {pointer.element.ptx} does not fit one access: at most 4 elements and 16 bytes",
                f"vector={min(4, 128 // pointer.element.bits)}",
            )
        if count is not None and count % vector:
            raise self._error(f"{count} elements are not whole vectors of {vector}", "vector=1")
        if pointer.offset % (vector * pointer.size):
            raise self._error(
                f"the constant offset {pointer.offset} is not a multiple of the vector's "
                f"{vector * pointer.size} bytes; the access would be misaligned",
                "vector=1",
            )

    def _opcode(self, name: str, pointer: Ptr[Any], vector: int, modifiers: dict[str, Any]) -> str:
        cls = pointer.element
        own = cls.kind in ("signed", "unsigned", "bits") or (cls.bits >= 32 and cls.kind == "float")
        memory = cls.ptx if own else f"b{cls.bits}"
        parts = [name, pointer.space, *([f"v{vector}"] if vector > 1 else []), memory]
        if modifiers:
            from ptxlab.builder.plan import resolve

            given = {"space": pointer.space, "type": memory, **({"vec": f"v{vector}"} if vector > 1 else {})}
            shape: Any = ("ptr", pointer.space, cls.ptx)
            kinds = (shape,) if name == "ld" else (shape, ("vec", vector, memory) if vector > 1 else "int")
            try:
                return resolve(name, kinds, tuple((given | modifiers).items())).opcode
            except LookupError as why:
                raise mistakes.error(self._here, str(why), syntax=getattr(why, "syntax", "")) from None
        return ".".join(p for p in parts if p)

    def _loaded(self, pointer: Ptr[Any]) -> type[Any]:
        cls: type[Any] = pointer.element
        if cls.kind == "pred":
            raise self._error("predicates do not live in memory; store a u8 of k.select(p, 1, 0, type=u32)")
        held: type[Any] = IN_REGISTER.get(cls.ptx, cls)
        return held

    def _stored(self, pointer: Ptr[Any], value: Any) -> Any:
        cls = pointer.element
        if isinstance(value, Register):
            if value.type is not cls and value.type is not IN_REGISTER.get(cls.ptx):
                raise self._error(
                    f"the pointer is Ptr[{cls.ptx}], {self._shown(value)} is {value.type.ptx}",
                    self._converted(cls, value),
                )
            return value
        if isinstance(value, str | bytes) or not (isinstance(value, int | float) or hasattr(value, "__float__")):
            raise self._error(f"expected a register or a number to store, found {self._what(value)}")
        if cls.ptx in ("f16", "bf16"):
            return half_bits(float(value), cls.ptx, self._here)
        return immediate(value, cls.ptx, self._here)

    # -- addresses
    def _step(
        self,
        pointer: Ptr[Any],
        index: Any,
        stride: int,
        shape: tuple[int, ...] | None = None,
        into: Any = None,
        temporary: bool = False,
    ) -> Any:
        """The pointer `index` steps of `stride` bytes on: free for a number, one `mad` for a register."""
        if not isinstance(index, Register):
            if hasattr(index, "__index__") and not isinstance(index, Ptr):
                return pointer.moved(index.__index__() * stride, shape)
            raise self._error(f"a pointer moves by a number of elements, found {self._what(index)}")
        if index.type.kind not in ("signed", "unsigned") or index.type.bits < 32:
            raise self._error(
                f"a pointer moves by an integer of 32 or 64 bits, {self._shown(index)} is {index.type.ptx}",
                self._converted(u32, index),
            )
        wide = pointer.base.type.bits == 64
        if not wide and index.type.bits == 64:
            raise self._error(
                f"{pointer.space} addresses have 32 bits, {self._shown(index)} is {index.type.ptx}",
                self._converted(u32, index),
            )
        mad = f"mad.{'wide' if wide and index.type.bits == 32 else 'lo'}.{index.type.ptx}"
        base = self._emit(mad, index, stride, pointer.base, result=u64 if wide else u32, into=into, temporary=temporary)
        return pointer.like(base, pointer.element, pointer.offset, shape, "")

    def _at(self, pointer: Ptr[Any], index: Index | tuple[Index, ...]) -> Ptr[Any]:
        """The address of `p[i]` or `p[i, j]`: what is constant goes into the offset, each register is one `mad`."""
        many = index if isinstance(index, tuple) else (index,)
        dimensions = max(1, len(pointer.shape))
        if len(many) != dimensions:
            plural = "s" if dimensions > 1 else ""
            wanted = ", ".join("ijkl"[:dimensions])
            raise self._error(
                f"this pointer has {dimensions} dimension{plural}, the index has {len(many)}", f"p[{wanted}]"
            )
        stride = pointer.size * math.prod(pointer.shape[1:])
        at = pointer
        for d, one in enumerate(many):
            if isinstance(one, slice):
                raise self._error("a pointer has no slices; load consecutive elements", "k.load(p + start, count)")
            at = self._step(at, one, stride, temporary=True)
            if d + 1 < len(many):
                stride //= pointer.shape[d + 1]
        return at

    def address(self, pointer: Ptr[Any]) -> Any:
        """The address as a number: u64, or u32 in shared memory. One `add` if the pointer has a constant offset."""
        self._usable(pointer.base)
        if not pointer.offset:
            return pointer.base
        cls = pointer.base.type
        return self._emit(f"add.{cls.ptx}", pointer.base, pointer.offset, result=cls)

    def pointer(self, element: type[T], address: Register[Any], space: str = "global") -> Ptr[T]:
        """A pointer made of an address in a register. No instruction.

        Parameters
        ----------
        element
            The type that it points to.
        address
            u64, or u32 for shared memory.
        space
            "global", "shared", ...
        """
        kind = Shared if space == "shared" else Ptr
        return kind(self, address, element, 0, space)

    def var_ptr(self, pointer: Ptr[T]) -> VarPtr[T]:
        """A pointer variable that starts where `pointer` points: `p += stride` moves it."""
        base = pointer.base
        opcode, *more = ("add", pointer.offset) if pointer.offset else ("mov",)
        made = self._emit(f"{opcode}.{base.type.ptx}", base, *more, result=base.type)
        return VarPtr(self, made, pointer.element, 0, pointer.space, pointer.shape)

    def _advance(self, pointer: VarPtr[Any], index: Index) -> None:
        base = pointer.base
        if isinstance(index, Register):
            self._step(pointer, index, pointer.size, into=base)
        else:
            self._emit(f"add.{'s64' if base.type.bits == 64 else 's32'}", base, index * pointer.size, into=base)

    def _set_pointer(self, pointer: VarPtr[Any], other: Ptr[Any]) -> None:
        if not isinstance(other, Ptr) or other.element is not pointer.element or other.space != pointer.space:
            raise self._error(
                f"expected Ptr[{pointer.element.ptx}] in {pointer.space} memory, found {self._what(other)}"
            )
        base = pointer.base
        if other.offset:
            self._emit(f"add.{base.type.ptx}", other.base, other.offset, into=base)
        elif not self._retarget(other.base, base):
            self._emit(f"mov.{base.type.ptx}", other.base, into=base)

    def _pointer_error(self, pointer: Ptr[Any], what: str, write: str) -> BuildError:
        return self._error(what, re.sub(r"\bp\b", pointer.base.hint or "p", write))

    # -- shared memory
    def shared(self, element: type[T], count: int | tuple[int, ...], align: int = 16) -> Shared[T]:
        """A static shared array: `tile[i]`, of two dimensions `tile[i, j]` and `tile.row(i)`.

        Its address is taken from its symbol, once, here: `mov.u32 %tile, tile;`.

        Parameters
        ----------
        element
            The type.
        count
            How many elements, or the shape.
        align
            In bytes.
        """
        if isinstance(element, int | tuple):
            raise self._error("k.shared takes the type first, then the count", f"k.shared(f32, {element})")
        shape = count if isinstance(count, tuple) else (count,)
        if any(isinstance(n, Register) for n in shape):
            what = "a shared array needs its size when the kernel is built; k.dynamic_shared gets it at the launch"
            raise self._error(what, f"k.dynamic_shared({element.ptx})    # and pl.launch(..., shared=bytes)")
        cls = self._type(element)
        total = math.prod(shape)
        if total < 1:
            raise self._error(
                f"a shared array has at least one element, found {count}; k.dynamic_shared gets its size at the launch",
                "k.dynamic_shared(f32)",
            )
        declared = cls.declared if cls.bits >= 16 else f"b{cls.bits}"
        return self._array(cls, declared, total, align, shape if len(shape) > 1 else ())

    def dynamic_shared(self, element: type[T], align: int = 16) -> Shared[T]:
        """The shared memory whose size the launch gives (`shared=`); every call is the same memory.

        Parameters
        ----------
        element
            The type.
        align
            In bytes.
        """
        return self._array(element, "b8", 0, align, ())

    def _array(
        self,
        element: type[T],
        declared: str,
        count: int,
        align: int,
        shape: tuple[int, ...],
        name: str = "",
    ) -> Shared[T]:
        """A shared array (of no elements: the dynamic one), called `name` or as what it is assigned to."""
        names = name or self._names[0]
        known = next((a for a in self.arrays if not a.count), None) if not count else None
        stem = names if isinstance(names, str) and names.isidentifier() and names.isascii() else "shared_1"
        symbol, n = stem, 1
        used = {a.name for a in self.arrays} | self._symbols()
        while symbol in used and known is None:
            n += 1
            symbol = f"{stem.removesuffix('_1')}_{n}"
        if known is None:
            self.arrays.append(Array(symbol, declared, count, align))
        else:
            symbol = known.name
            self.arrays[self.arrays.index(known)] = Array(symbol, declared, 0, max(known.align, align))
        base = self._emit("mov.u32", symbol, result=u32, hint=symbol)
        return Shared(self, base, element, 0, "shared", shape, symbol)

    def _symbols(self) -> set[str]:
        """Names of the module that an array may not take."""
        return set()

    def _what(self, value: object) -> str:
        """A wrong operand, for a message."""
        if isinstance(value, Register):
            return f"{self._shown(value)} ({value.type.ptx})"
        return repr(value)
