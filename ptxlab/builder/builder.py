"""The object that kernels are written with: `k`. Everything it does is one PTX instruction or a documented few."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar, cast, overload

from ptxlab.builder import math64, mistakes
from ptxlab.builder.blocks import Block
from ptxlab.builder.immediates import half_bits
from ptxlab.builder.pipeline import Pipeline
from ptxlab.builder.pointer import Ptr
from ptxlab.builder.probes import Probes
from ptxlab.builder.registers import TYPES, Register, Var, bf16x2, f16x2, f64, pred, u32, u64
from ptxlab.builder.roles import Roles
from ptxlab.builder.source import Site
from ptxlab.builder.suggestions import call_at, instead
from ptxlab.isa.cuda_lines import lines

T = TypeVar("T", bound=Register[Any])
U = TypeVar("U", bound=Register[Any])
S = TypeVar("S")
Number = int | float
AXES = ("tid", "ntid", "ctaid", "nctaid")
"""Special registers of three components."""


class Special(Generic[S]):
    """A special register as an attribute, `k.laneid` or `k.tid`; one `mov` wherever it, or a component, is read."""

    def __init__(self, says: str) -> None:
        self.__doc__ = says

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self.name = name

    def __get__(self, k: Any, owner: type[Any]) -> S:
        return cast(S, self if k is None else k.special(self.name))


class Axes:
    """`.x`, `.y`, `.z` of a special register: one `mov` each."""

    def __init__(self, k: Builder, name: str) -> None:
        self._k, self._name = k, name

    def _whole(self, *others: Any) -> NoReturn:
        k = self._k
        raise mistakes.type_error(k._here, f"k.{self._name} has the components x, y and z", f"k.{self._name}.x")

    def __repr__(self) -> str:
        return f"k.{self._name}"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_"):
                raise AttributeError(name)
            self._whole()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __floordiv__ = __mod__ = __lshift__ = _whole
    __rshift__ = __lt__ = __le__ = __gt__ = __ge__ = __and__ = __or__ = __index__ = __bool__ = __call__ = _whole

    x = Special[u32]("The x component.")
    y = Special[u32]("The y component.")
    z = Special[u32]("The z component.")

    def special(self, axis: str) -> Any:
        """A component by its name."""
        return self._k.special(f"{self._name}.{axis}")


class Builder(Probes):
    """Writes one kernel. `name` is the entry's name, `arch` the target, `probes` whether `k.probe` stores."""

    def __init__(self, name: str, arch: str, *, probes: bool = False) -> None:
        super().__init__(arch)
        self.name, self.arch, self.probes = name, arch, probes
        self.parameters: list[Any] = []
        self.extra: dict[str, Any] = {}  # registers and pointers of the parameters that the function does not declare
        self.directives: dict[str, str] = {}
        self.doc: list[str] = []
        self.roles = Roles(self)

    # -- variables and values
    def var(self, type: type[T], value: Register[T] | Number) -> Var[T]:
        """A variable of a type with its initial value: one `mov`, or none when `value` is a result without a name."""
        site = self._here
        if not (isinstance(type, type_) and issubclass(type, Register) and type.bits):
            raise self._error(f"k.var needs a type and a value, found {type!r}", "k.var(f32, 0.0)")
        if type.bits == 8:
            what = f"a register has at least 16 bits; {type.ptx} lives in memory only"
            raise self._error(what, "k.var(u32, ...)")
        names, numbered, _ = self._names
        var: Var[T] = self._register(type, names if isinstance(names, str) else None, site, Var, numbered)
        self._first(type, var, value, site)
        self.scope.nodes[-1].named = names is not None
        return var

    def vars(
        self, type: type[T], count: int, value: Register[T] | Number | Sequence[Register[T] | Number]
    ) -> list[Var[T]]:
        """Variables `%acc0, %acc1, ...` in a list.

        Parameters
        ----------
        type
            `f32`, `u32` ...
        count
            How many.
        value
            The initial value of all, or a list with one for each.
        """
        site = self._here
        values = value if isinstance(value, Sequence) else [value] * count
        if len(values) != count:
            raise self._error(f"{count} variables take {count} initial values, found {len(values)}")
        names, _, _ = self._names
        out: list[Var[T]] = self._family(type, count, names, site, Var)
        for var, first in zip(out, values, strict=True):
            self._first(type, var, first, site)
            self.scope.nodes[-1].named = names is not None
        return out

    def _first(self, type: type[Any], var: Var[Any], value: Any, site: Site) -> None:
        if isinstance(value, Register):
            self._usable(value)
            if value.type is not type:
                write = self._converted(type, value)
                raise self._error(
                    f"the variable is {type.ptx}, {self._shown(value)} is {value.type.ptx}",
                    f"k.var({type.ptx}, {write})" if write else "",
                )
            if self._retarget(value, var):
                return
        elif isinstance(value, Ptr):
            raise self._error("this value is a pointer; k.var_ptr makes a variable of it", "k.var_ptr(p)")
        elif not hasattr(value, "__float__"):
            raise self._error(f"a variable begins with a register or a number, found {value!r}")
        elif type.ptx in ("f16", "bf16"):
            value = half_bits(float(value), type.ptx, site)
        self._emit(self._mov(type), value, into=var, site=site)

    def copy(self, value: Register[T]) -> T:
        """Copies the value to a new register: one `mov`. `old = row_max` copies nothing: both are the variable."""
        if not isinstance(value, Register):
            raise self._error(f"k.copy needs a register, found {value!r}")
        copied: T = self._emit(self._mov(value.type), value, result=value.type)
        return copied

    @overload
    def mov(self, value: Register[U], type: type[U] | None = None) -> U: ...
    @overload
    def mov(self, value: Number, type: type[U]) -> U: ...
    def mov(self, value: Any, type: type[Any] | None = None) -> Any:
        """One `mov`: of a register, or of a number with `type=`."""
        cls = self._type(type) if type is not None else getattr(value, "type", None)
        if cls is None:
            raise self._error("k.mov of a number needs its type", f"k.mov({value!r}, f32)")
        if not isinstance(value, Register) and cls.ptx in ("f16", "bf16"):
            value = half_bits(float(value), cls.ptx, self._here)
        return self._emit(self._mov(cls), value, result=cls)

    def cvt(
        self,
        type: type[U],
        value: Register[Any],
        *,
        rnd: str | None = None,
        ftz: bool = False,
        sat: bool = False,
        relu: bool = False,
    ) -> U:
        """Converts to another type, with the rounding that C has: to nearest even, toward zero from float to integer.

        Parameters
        ----------
        type
            The new type.
        value
            A register.
        rnd
            Another rounding: "rn rz rm rp", to integers "rni rzi rmi rpi".
        ftz
            Whether denormals become zero.
        sat
            Whether the result is clamped.
        relu
            Whether negative results become zero.
        """
        if isinstance(type, Register):
            given = ", ".join(reversed(call_at(self._here).arguments))
            raise self._error("k.cvt takes the type first, then the value", f"k.cvt({given})")
        cls = self._type(type)
        if not isinstance(value, Register):
            raise self._error(
                f"k.cvt converts registers, found {value!r}; a number can be written in the type",
                f"k.mov({value!r}, {cls.ptx})",
            )
        source = value.type
        if "pred" in (cls.ptx, source.ptx):
            raise self._error(
                "a predicate is not a number",
                f"k.select({self._python(value)}, 1, 0, type=u32)"
                if source.ptx == "pred"
                else f"{self._python(value)} != 0",
            )
        if rnd is None and cls.kind == "float" and source.kind in ("signed", "unsigned"):
            rnd = "rn"
        elif rnd is None and source.kind == "float" and cls.kind in ("signed", "unsigned"):
            rnd = "rzi"
        elif rnd is None and cls.kind == source.kind == "float" and (cls.bits < source.bits or cls.ptx == "bf16"):
            rnd = "rn"
        elif rnd is None and cls.ptx == "tf32":
            rnd = "rna"
        words = ["cvt", rnd, "ftz" if ftz else "", "relu" if relu else "", "sat" if sat else "", cls.ptx, source.ptx]
        converted: U = self._emit(".".join(w for w in words if w), value, result=cls if cls.bits > 8 else None)
        return converted

    def bitcast(self, type: type[U], value: Register[Any]) -> U:
        """The same bits read as another type of the same width: one `mov.b32` (or b16, b64)."""
        cls = self._type(type)
        if not isinstance(value, Register) or value.type.bits != cls.bits or cls.ptx == "pred":
            found = f"{self._shown(value)} is {value.type.ptx}" if isinstance(value, Register) else f"found {value!r}"
            raise self._error(f"k.bitcast to {cls.ptx} needs a register of {cls.bits} bits, {found}")
        cast: U = self._emit(f"mov.b{cls.bits}", value, result=cls)
        return cast

    def pack(self, *parts: Register[Any], type: type[Any] | None = None) -> Any:
        """Registers side by side in a wider one, the first lowest: one `mov`. Two f16 give an f16x2."""
        bits = sum(p.type.bits for p in parts)
        first = parts[0].type.ptx if parts else ""
        pairs = {"f16": f16x2, "bf16": bf16x2}
        default = pairs[first] if first in pairs and len(parts) == 2 else TYPES.get(f"b{bits}")
        if default is None or bits not in (32, 64) or len(parts) not in (2, 4):
            raise self._error(f"k.pack needs 2 or 4 registers that fill 32 or 64 bits, found {len(parts)} with {bits}")
        return self._emit(f"mov.b{bits}", parts, result=type or default)

    def unpack(self, value: Register[Any], type: type[U]) -> list[U]:
        """The pieces of a wider register, the lowest first: one `mov`."""
        site = self._here
        cls = self._type(type)
        count = value.type.bits // max(cls.bits, 1)
        if count not in (2, 4) or cls.bits < 16:
            raise self._error(f"{self._shown(value)} is {value.type.ptx}; it has no pieces of type {cls.ptx}")
        names, _, _ = self._names
        out: list[U] = self._family(cls, count, names, site)
        self._emit(f"mov.b{value.type.bits}", value, into=out, site=site)
        return out

    @overload
    def select(self, condition: Register[pred], a: Register[U], b: Register[U] | Number) -> U: ...
    @overload
    def select(self, condition: Register[pred], a: Number, b: Register[U]) -> U: ...
    @overload
    def select(self, condition: Register[pred], a: Number, b: Number, *, type: type[U]) -> U: ...
    def select(self, condition: Register[pred], a: Any, b: Any, *, type: type[Any] | None = None) -> Any:
        """`a` where `condition` holds, else `b`: one `selp`. `type=` when both are numbers."""
        cls = type or next((v.type for v in (a, b) if isinstance(v, Register)), None)
        if cls is None:
            raise self._error("k.select of two numbers needs their type", "k.select(p, 1, 0, type=u32)")
        for v in (a, b):
            if isinstance(v, Register) and v.type is not cls:
                raise self._error(f"k.select gives one type, found {cls.ptx} and {v.type.ptx}", self._converted(cls, v))
        word = f"b{cls.bits}" if cls.bits == 16 or cls.kind == "packed" else cls.ptx
        return self._emit(f"selp.{word}", a, b, condition, result=cls)

    # -- a few names that are not opcodes
    def exp2(self, x: Register[T], *, ftz: bool = False) -> T:
        """2 to the power x. f32: one `ex2.approx`. PTX has no instruction for f64: see `math64.exp2`."""
        return self._approximate("ex2", math64.exp2, x, ftz)

    def log2(self, x: Register[T], *, ftz: bool = False) -> T:
        """The logarithm to base 2. f32: one `lg2.approx`. f64: see `math64.log2`."""
        return self._approximate("lg2", math64.log2, x, ftz)

    def _approximate(self, name: str, of_f64: Callable[..., Any], x: Register[T], ftz: bool) -> T:
        exact = isinstance(x, Register) and x.type is f64
        made: T = of_f64(self, x, self._here) if exact else self._invoke(name, (x,), {"ftz": True} if ftz else {})
        return made

    # -- where am I
    def special(self, name: str) -> Any:
        """A special register by its PTX name without the `%` (`"tid.x"`, `"clock64"`): one `mov`, of each component."""
        if name in AXES:
            return Axes(self, name)
        cls = u64 if name in ("clock64", "globaltimer", "gridid") else u32
        names, _, _ = self._names
        own = names if isinstance(names, str) and names not in AXES else None
        hint = None if own or isinstance(names, tuple) else name.replace(".", "_")
        return self._emit(f"mov.{cls.ptx}", f"%{name}", result=cls, hint=hint)

    tid = Special[Axes]("The thread's place in its block.")
    ntid = Special[Axes]("The block's size in threads.")
    ctaid = Special[Axes]("The block's place in the grid.")
    nctaid = Special[Axes]("The grid's size in blocks.")
    laneid = Special[u32]("The thread's lane in its warp, 0 to 31.")
    warpid = Special[u32]("The warp's number in its block, as the hardware has it; compute with `k.tid.x >> 5`.")
    clock = Special[u32]("A cycle counter that wraps around.")
    clock64 = Special[u64]("A cycle counter.")

    def thread_index(self) -> u32:
        """The thread's number in the grid along x, `ctaid.x * ntid.x + tid.x`: three `mov` and a `mad`."""
        parts = [self._emit("mov.u32", f"%{name}.x", result=u32, hint=f"{name}_x") for name in ("ctaid", "ntid", "tid")]
        index: u32 = self._emit("mad.lo.u32", *parts, result=u32)
        return index

    def barrier(self, number: int = 0, threads: int | None = None) -> None:
        """`bar.sync`: waits until all threads have arrived; their shared-memory writes are visible after it.

        Parameters
        ----------
        number
            Which of 16 barriers.
        threads
            How many threads arrive, by default all of the block.
        """
        if threads is None and self.roles.inside:
            raise self._error(
                "this barrier waits for all threads of the block, and only some of its warpgroups reach it",
                "k.barrier(1, 128)",
            )
        self._emit("bar.sync", number, *([threads] if threads is not None else []))

    def warpgroup(self, *numbers: int, registers: int | None = None) -> Block[u32]:
        """`with k.warpgroup(1, 2) as group:` the body is for these warpgroups of 128 threads, one role of the block.

        Parameters
        ----------
        *numbers
            The warpgroups.
        registers
            How many each of their threads gets (`setmaxnreg`); the block starts with an equal share for all.
        """
        return self.roles.role(numbers, registers)

    def pipeline(self, stages: int, arrivals: int = 0) -> Pipeline:
        """A ring of mbarriers through which one role hands tiles to others and gets them back.

        One thread initialises them: a barrier comes before their first use.

        Parameters
        ----------
        stages
            How many tiles are in the ring.
        arrivals
            How many releases give a tile back.
        """
        names, _, _ = self._names
        return Pipeline(self, stages, arrivals, f"{names}_" if isinstance(names, str) else "")

    def launch_bounds(self, threads: int, blocks: int | None = None) -> None:
        """Promises how the kernel is launched: the assembler then knows how many registers a thread may have.

        Parameters
        ----------
        threads
            The most threads of a block (`.maxntid`).
        blocks
            How many blocks a multiprocessor should hold (`.minnctapersm`).
        """
        self.roles.threads = threads
        self.directives["maxntid"] = f"{threads}, 1, 1"
        if blocks is not None:
            self.directives["minnctapersm"] = str(blocks)

    # -- the rest
    @property
    def _version(self) -> tuple[int, int]:
        """The lowest PTX version that has the target and every form used."""
        return max([self.target.version, *(p.form.op.version for p in self.plans)])

    def _owns(self, label: str) -> bool:
        return label in self._taken

    def _symbols(self) -> set[str]:
        return {self.name, *(p.name for p in self.parameters)}

    if not TYPE_CHECKING:  # mypy would believe in every attribute

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_") and lines(name) is None:
                raise AttributeError(name)
            call = call_at(self._here)
            what = f"k has no `{name}`"
            write = mistakes.as_loop(list(call.arguments)) if name == "range" else instead(call)
            if not write:
                words = [n for n in dir(type_(self)) if not n.startswith("_")]
                close = [*mistakes.closest(name, words), ""][0]
                what += mistakes.close(name, words)
                write = str(replace(call, function=f"k.{close}")) if close else 'k.op("opcode.with.modifiers", ...)'
            raise mistakes.attribute_error(self._here, what, write)


type_ = type
