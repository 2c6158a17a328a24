"""`k.probe`: the online-softmax state that a kernel went through, stored by the kernel itself.

Built with `probes=True`, a kernel has one more parameter, `probe`, the last: a buffer `[rows, tiles, 3]` of the state's
own type (f32 or f64) that holds m, l and rescale after each tile, in natural-log units. Built without, `k.probe` checks
its arguments and emits nothing.
"""

from __future__ import annotations

from typing import Any

from ptxlab.builder.instructions import Instructions
from ptxlab.builder.pointer import Ptr
from ptxlab.builder.registers import Register, f32, f64, u32, u64

LN2 = 0.6931471805599453
PARAMETER = "probe"


class Probes(Instructions):
    """The probe half of the builder."""

    probes: bool
    _probe_type: type[Any] | None = None  # of the state, known from the first `k.probe`
    _probe_base: Register[Any] | None = None

    def probe(
        self,
        row: Register[Any],
        tile: Register[Any] | int,
        tiles: Register[Any] | int,
        m: Register[Any],
        l: Register[Any],
        rescale: Register[Any] | float,
        *,
        base: float | int | None = 2,
    ) -> None:
        """Stores the state of a row after a tile. Emits nothing unless the kernel is built with `probes=True`.

        Parameters
        ----------
        row, tile, tiles
            Which row, after which of how many tiles.
        m, l
            The running maximum and sum.
        rescale
            The factor that shrank what was summed before this tile.
        base
            2 when m is in units of log2, as kernels that use `exp2` have it: m is then multiplied by ln 2 here. None
            when it is in natural units already.
        """
        cls = getattr(m, "type", None)
        for what, value in (("m", m), ("l", l), ("rescale", rescale)):
            if isinstance(value, Register):
                self._usable(value)
                if value.type is not cls or cls not in (f32, f64):
                    raise self._error(
                        f"k.probe stores m, l and rescale in one float type, f32 or f64; {what} is {value.type.ptx}",
                        self._converted(cls if cls in (f32, f64) else f32, value),
                    )
            elif what == "m" or not isinstance(value, int | float):
                raise self._error(f"k.probe needs a register for {what}, found {value!r}")
        for what, value in (("row", row), ("tile", tile), ("tiles", tiles)):
            if isinstance(value, int):
                continue
            if isinstance(value, Register):
                self._usable(value)
            if getattr(value, "type", None) is not u32:
                found = value.type.ptx if isinstance(value, Register) else repr(value)
                write = self._converted(u32, value) if isinstance(value, Register) else ""
                raise self._error(f"k.probe counts rows and tiles in u32, {what} is {found}", write)
        if base not in (2, None):
            raise self._error(f"k.probe: base is 2 or None (natural units), found {base!r}")
        if self._probe_type not in (None, cls):
            raise self._error(
                f"every k.probe of a kernel stores one type; an earlier one stored "
                f"{getattr(self._probe_type, 'ptx', '')}, this one {getattr(cls, 'ptx', '')}"
            )
        self._probe_type = cls
        if not self.probes:
            return
        assert cls is not None
        assert self._probe_base is not None
        if any(isinstance(v, Register) for v in (row, tile, tiles)):
            slot = self._emit("mad.lo.u32", row, tiles, tile, result=u32, hint="probe_slot")
        else:
            slot = self._emit("mov.u32", row * tiles + tile, result=u32, hint="probe_slot")
        size = cls.bits // 8
        address = self._emit("mad.wide.u32", slot, 3 * size, self._probe_base, result=u64, hint="probe_at")
        at: Ptr[Any] = Ptr(self, address, cls)
        natural = m if base is None else self._emit(f"mul.rn.{cls.ptx}", m, LN2, result=cls, hint="probe_m")
        for n, value in enumerate((natural, l, rescale)):
            self._emit(f"st.global.{cls.ptx}", at.moved(n * size), value)
