"""The variables of a module, `.global` and `.const` or `__device__` and `__constant__`, by name, from launch to launch.

    k["coefficients"] = np.arange(16, dtype=np.float32)     # as cudaMemcpyToSymbol
    pl.launch(k, grid, block, x)
    k["counter"]                                            # as cudaMemcpyFromSymbol
    k.reset()                                               # all variables as the source has them

A scalar is read as a numpy number, an array as a read-only copy of its shape: `.f32 x[2][3]` as float32 (2, 3).
An array whose element type is not known, which is `.b8 x[n]` in PTX of a compiler, is bytes: `k["x"].view(np.float32)`.
What is set has the variable's type and number of elements; a single number sets all elements. Variables keep what
kernels leave in them, on whatever device these run; after a launch that a fault stops they are as before it.
"""

from __future__ import annotations

import contextlib
import difflib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ptxlab.errors import LaunchError
from ptxlab.forks import recursive_lock
from ptxlab.isa.types import OPAQUE, width
from ptxlab.names import find_symbol, source_name

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Type = tuple[str, tuple[int, ...]]
"""The numpy type of a variable's elements, and its shape."""


class Elsewhere(Protocol):
    """Memory of a GPU that holds a module's variables."""

    def read(self, name: str) -> NDArray[np.uint8]:
        """The bytes of a variable."""

    def write(self, name: str, data: NDArray[np.uint8]) -> None:
        """Sets all bytes of a variable."""

    def all(self) -> dict[str, NDArray[np.uint8]]:
        """The bytes of the variables that hold no addresses."""


class State:
    """What the variables of a module hold between launches.

    here: their bytes by their names in the PTX; those that are not in it hold what their declarations say. there: the
    memory that holds them instead, after a launch on a GPU. loaded: what `gpu.device` has loaded for this module.
    lock: held by a launch on the emulator, so that those of several threads come one after the other.
    """

    def __init__(self, here: Mapping[str, NDArray[np.uint8]] | None = None) -> None:
        self.lock = recursive_lock()
        self.here = dict(here or {})
        self.there: Elsewhere | None = None
        self.loaded: dict[Any, Any] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return State, (self.brought(),)

    def brought(self) -> dict[str, NDArray[np.uint8]]:
        """The variables here, for a launch on the emulator, which changes them."""
        if self.there is not None:
            self.here |= self.there.all()
            self.there = None
        return self.here

    def sent(self, there: Elsewhere, names: Sequence[str]) -> None:
        """Has the variables of these names elsewhere, for a launch there."""
        if self.there is not there:
            self.brought()
            for name in names:
                if name in self.here:
                    there.write(name, self.here[name])
            self.there = there


@contextlib.contextmanager
def unchanged(kernel: Any) -> Iterator[None]:
    """Launches inside leave the kernel's variables as they are now."""
    state = getattr(kernel, "state", None) or State()
    before = dict(state.brought())
    try:
        yield
    finally:
        state.here.clear()
        state.here.update(before)
        state.there = None


class HasVariables:
    """What modules and kernels have in common: their variables by name."""

    __slots__ = ()
    __iter__ = None

    if TYPE_CHECKING:

        @property
        def state(self) -> State:
            """What the variables hold."""

    def __getitem__(self, name: str) -> Any:
        """What a variable holds: a numpy number, or a read-only copy of an array. LaunchError for an unknown name."""
        import numpy as np

        v, (dtype, shape) = self._variable(name)
        state = self.state
        if state.there is not None:
            raw = state.there.read(v.name)
        elif v.name in state.here:
            raw = state.here[v.name].copy()
        else:
            size = math.prod(shape) * np.dtype(dtype).itemsize
            packed = b"" if v.initial is None else v.packed(lambda symbol: _unknown_address(name, symbol.base))
            raw = np.frombuffer(packed.ljust(size, b"\0"), np.uint8)
        found = raw.view(dtype).reshape(shape)
        found.flags.writeable = False
        return found[()]

    def __setitem__(self, name: str, value: Any) -> None:
        """Sets a variable. LaunchError for an unknown name, and for a value that does not fit."""
        import numpy as np

        v, (dtype, shape) = self._variable(name)
        loose = v.type[0] == "b" and self._type(v) == declared_type(v)
        raw = np.ascontiguousarray(_fitting(name, np.dtype(dtype), shape, value, loose)).reshape(-1).view(np.uint8)
        if self.state.there is not None:
            self.state.there.write(v.name, raw)
        else:
            self.state.here[v.name] = raw.copy()

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets an attribute; LaunchError for a text that is built already, and where a variable is meant."""
        own = getattr(self, "__dict__", None)  # a parsed module has none
        known = hasattr(type(self), name) or (own is not None and name in own)
        if own is not None and known and name in ("module", "ptx", "source", "spans"):
            write = "pl.cuda(source)" if name == "source" else "pl.launch(kernel.ptx.replace(...), grid, block, ...)"
            raise LaunchError(f"{name} does not change: the kernel is made\n  write:  {write}")
        if not known and (own is None or not own.keys().isdisjoint(("state", "built"))):
            names = [source_name(v.name) for v in variables_of(getattr(self, "module", self))]
            for meant in difflib.get_close_matches(name, names, 1, 0.75):
                write = f'kernel["{meant}"] = {value!r:.60}'
                raise LaunchError(f"{meant} is a variable of the module, no attribute\n  write:  {write}")
        super().__setattr__(name, value)

    def reset(self) -> None:
        """Gives all variables the values that the source gives them; on a GPU the module is loaded anew."""
        self.state.here.clear()
        self.state.loaded.clear()
        self.state.there = None

    def _ipython_key_completions_(self) -> list[str]:
        """What a notebook offers between the brackets."""
        return [source_name(v.name) for v in variables_of(getattr(self, "module", self))]

    def _type(self, variable: Any) -> Type:
        """The type and shape of a variable; a compiler knows more than its PTX says."""
        return declared_type(variable)

    def _variable(self, name: Any) -> tuple[Any, Type]:
        """The declaration that a name means, and its type: its name in the PTX, or in the source that this is of."""
        module = getattr(self, "module", self)
        if not isinstance(name, str):
            raise LaunchError(
                f"variables have names, got {name!r}; a launch is a call\n  write:  pl.launch(kernel, grid, block, ...)"
            )
        variables = variables_of(module)
        symbol = find_symbol([v.name for v in variables], name.removeprefix("::"))
        found = next((v for v in variables if v.name == symbol and v.linkage != "extern"), None)
        if found is None:
            raise LaunchError(_no_such(self, module, name))
        return found, self._type(found)


def declared_type(v: Any) -> Type:
    """The type and shape that a declaration says."""
    if v.type == "f16x2":
        return "f2", (*v.shape, *((v.vector,) if v.vector > 1 else ()), 2)
    kind = re.fullmatch("([busf])(8|16|32|64)", v.type)
    numbers = (*v.shape, *((v.vector,) if v.vector > 1 else ()))
    if kind is None:  # 128 bits, or pairs of narrow numbers
        return "u1", (*numbers, width(v.type) // 8)
    return {"s": "i", "f": "f"}.get(kind[1], "u") + str(int(kind[2]) // 8), numbers


def variables_of(module: Any) -> list[Any]:
    """The variables of a module that the host sets and reads."""
    return [v for v in module.variables if v.space in ("global", "const") and v.type not in OPAQUE]


def holds_addresses(v: Any) -> bool:
    """Whether there are addresses in a variable's first contents."""
    named = list[Any]()

    def address(symbol: Any) -> int:
        named.append(symbol)
        return 0

    if v.initial is not None:
        v.packed(address)
    return bool(named)


def _unknown_address(name: str, symbol: Any) -> int:
    raise LaunchError(f"{name} holds the address of {symbol}, which is known when a launch has placed it")


def _shown(dtype: Any, shape: tuple[int, ...]) -> str:
    return f"{dtype}{list(shape)}" if shape else str(dtype)


def _fitting(name: str, dtype: Any, shape: tuple[int, ...], value: Any, loose: bool) -> NDArray[Any]:
    """The elements that a value sets. loose: their type is not known, so that the number of bytes counts."""
    import numpy as np

    from ptxlab.foreign_arrays import as_numpy

    count, write = math.prod(shape), f'\n  write:  kernel["{name}"] = '
    value = as_numpy(value, name, "array")
    try:
        array = np.frombuffer(value, np.uint8) if isinstance(value, bytes | bytearray) else np.asarray(value)
    except (TypeError, ValueError):  # nothing with a shape
        array = np.array(None)
    number, typed = array.ndim == 0, hasattr(value, "dtype") or isinstance(value, bytes | bytearray)
    if loose and typed and array.nbytes == count * dtype.itemsize and not (number and shape):
        return array
    told = f"{name} is {_shown(dtype, shape)}, got "
    told += f"{value!r:.60}" if number else _shown(array.dtype, array.shape)
    least, most = (np.iinfo(dtype).min, np.iinfo(dtype).max) if dtype.kind in "iu" else (0, 1)
    if isinstance(value, int) and dtype.kind in "iu" and not least <= value <= most:
        raise LaunchError(f"{told}; it takes {least} to {most}")
    if array.dtype.kind not in "biufV" or array.dtype.type is np.void:
        raise LaunchError(f"{told}{write}{f'np.zeros({list(shape)}, np.{dtype})' if shape else '0'}")
    if not number and array.size != count:
        part = f'kernel["{name}"].copy(); new.flat[:{array.size}] = array; kernel["{name}"] = new'
        hint = f"{write}array.flat[:{count}]" if array.size > count else f"\n  write:  new = {part}"
        hint = f"{write}np.array(..., np.float32)" if loose and not typed else hint  # whose type only the user knows
        raise LaunchError(f"{told}: {array.size} elements for {count}{hint}")
    if typed and not number and array.dtype != dtype:
        raise LaunchError(f"{told}{write}array.astype(np.{dtype})")
    if array.dtype.kind == "f" and dtype.kind in "iu":
        raise LaunchError(f"{told}{write}{'int(...)' if number else f'np.array(..., np.{dtype})'}")
    with np.errstate(all="ignore"):
        made = array.astype(dtype)
    if array.dtype.kind in "iu" and dtype.kind in "iu" and (made != array).any():
        raise LaunchError(f"{told}; it takes {least} to {most}")
    if np.isinf(made.astype(np.float64)).any() and not np.isinf(array).any():
        raise LaunchError(f"{told}, which is too large for it")
    return np.broadcast_to(made, shape) if number else made.reshape(shape)


def _no_such(kernel: Any, module: Any, name: str) -> str:
    """Why a name means no variable, and what to write."""
    kernels, known = [f.name for f in module.kernels], [source_name(v.name) for v in variables_of(module)]
    if found := find_symbol(kernels, name):
        return f"{name!r} is a kernel\n  write:  pl.launch(kernel, grid, block, ..., entry={source_name(found)!r})"
    given = [p for f in module.kernels for p in f.params]
    if name in (getattr(p, "title", "") or p.name for p in (*given, *getattr(kernel, "params", ()))):
        return f"{name!r} is a parameter: every launch is given one\n  write:  pl.launch(kernel, grid, block, ...)"
    bodies = (statement for f in module.functions if f.body for statement in f.body.walk())
    inside = (v for statement in bodies for v in getattr(statement, "variables", ()))
    for v in (*module.variables, *inside):
        if v.space == "shared" and find_symbol([v.name], name):
            return f"{name!r} is in shared memory, which a block has while it runs; .global and .const variables stay"
        if v.type in OPAQUE and v.name == name:
            return f"{name!r} is a .{v.type}\n  write:  pl.launch(..., textures={{{name!r}: pl.Texture(array)}})"
        if v.linkage == "extern" and v.name == name:
            return f"{name!r} is .extern: it is defined in a module that is not here"
    what = "kernel or variable" if len(kernels) > 1 else "variable"
    known = [*(map(source_name, kernels) if len(kernels) > 1 else ()), *known]
    short = {each.rpartition("::")[2].casefold(): each for each in known} | {each.casefold(): each for each in known}
    close = difflib.get_close_matches(name.casefold(), short, 1, 0.5)
    hint = f'\n  write:  kernel["{short[close[0]]}"]' if close else ""
    return f"there is no {what} {name!r}; the module has {', '.join(known) or 'none'}{hint}"
