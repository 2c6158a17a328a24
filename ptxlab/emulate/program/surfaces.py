"""`suld`, `sust` and `sured` as PTX: coordinates become an address, those outside are clamped, give zeros, or trap."""

from __future__ import annotations

from ptxlab.isa import types
from ptxlab.isa.actions import Action
from ptxlab.isa.table import Form
from ptxlab.isa.texture_object import AT, CHANNEL_ORDERS, CHANNEL_TYPES

NL = "\n"
NARROW = (("int8", 1), ("uint8", 1), ("int16", 2), ("uint16", 2), ("float16", 2))

SIZES = {"x": "pitch", "y": "height", "z": "depth"}
AXES = {"1d": "x", "2d": "xy", "3d": "xyz", "a1d": "x", "a2d": "xy"}


def text(geometry: str, found: Form, count: int) -> str:
    """The statements of one access. Registers: %t surface, %x (in bytes) %y %z coordinates, %index of an array, %d0..
    the data."""
    axes, width = AXES[geometry], types.width(str(found.type))
    size = count * width // 8
    scaled = _TEXEL if found.texels else ""
    parts = [_FIELDS, scaled, *(_axis(a, ("%size" if scaled else str(size)) if a == "x" else "1") for a in axes)]
    if geometry[0] == "a":
        parts.append(f".reg .b32 %layers;\nld.global.b32 %layers, [%t+{AT['array_size']}];\n" + _INDEX)
    names = [f"%d{k}" for k in range(count)]
    if found.texels:
        whole = found.op.does is Action.STORE_SURFACE
        access = _converted(names) if whole else _signed(str(found.operation), width)
        return "".join([*parts, *_outside(str(found.clamp), axes, access, "")])
    data = names[0] if count == 1 else "{" + ", ".join(names) + "}"
    vector = f".v{count}" if count > 1 else ""
    if found.op.does is Action.LOAD_SURFACE:
        zeros = "".join(f"mov.b{max(width, 16)} {name}, 0;\n" for name in names) if width > 8 else _narrow_zeros(names)
        access, otherwise = f"ld.global{vector}.b{width} {data}, [%at];\n", zeros
    elif found.op.does is Action.STORE_SURFACE:
        access, otherwise = f"st.global{vector}.b{width} [%at], {data};\n", ""
    else:
        access, otherwise = f"red.global.{found.operation}.{found.type} [%at], {data};\n", ""
    return "".join([*parts, *_outside(str(found.clamp), axes, access, otherwise)])


def _outside(clamp: str, axes: str, access: str, otherwise: str) -> list[str]:
    """The access, with coordinates outside treated as `clamp` says."""
    if clamp == "clamp":
        return [_address(axes), access]
    if clamp == "zero":
        return [otherwise, "@%out bra done;\n", _address(axes), access, "done:\n"]
    return ["@!%out bra inside;\ntrap;\ninside:\n", _address(axes), access]


_TEXEL = f"""
.reg .b32 %kind, %channels, %each, %texel, %from; .reg .b64 %size; .reg .pred %is;
ld.global.b32 %kind, [%t+{AT["channel_data_type"]}];
ld.global.b32 %channels, [%t+{AT["channel_order"]}];
sub.u32 %channels, %channels, {CHANNEL_ORDERS[1]};      // 0, 2 or 5 of one, two or four channels
setp.ne.u32 %is, %channels, 5; selp.b32 %channels, %channels, 4, %is;
max.u32 %channels, %channels, 1;
mov.b32 %each, 4;
{"".join(f"setp.eq.u32 %is, %kind, {CHANNEL_TYPES[name]};{NL}@%is mov.b32 %each, {size};{NL}" for name, size in NARROW)}
mul.lo.u32 %texel, %each, %channels;
cvt.u64.u32 %size, %texel;
mul.lo.s32 %from, %x, %texel;
"""
"""The size of a texel in bytes, and its byte offset in the row: here x counts texels."""


def _converted(names: list[str]) -> str:
    """Stores the channels in the format of the surface; integers saturate."""
    steps = [
        ".reg .b32 %v; .reg .f32 %g; .reg .b16 %half; .reg .b64 %place; .reg .pred %there;\ncvt.u64.u32 %n, %each;\n"
    ]
    for k, name in enumerate(names):
        steps.append(f"mov.b32 %v, {name};\n")
        for kind in ("int8", "int16", "uint8", "uint16"):
            bits, signed = int(kind.lstrip("uint")), kind[0] == "i"
            low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
            type_ = "s32" if signed else "u32"
            steps.append(f"setp.eq.u32 %is, %kind, {CHANNEL_TYPES[kind]};\n")
            steps.append(f"@%is max.{type_} %v, %v, {low};\n@%is min.{type_} %v, %v, {high};\n")
        steps.append(f"""setp.eq.u32 %is, %kind, {CHANNEL_TYPES["float16"]};
mov.b32 %g, %v;
cvt.rn.f16.f32 %half, %g;
@%is cvt.u32.u16 %v, %half;
mad.lo.u64 %place, %n, {k}, %at;
setp.lt.u32 %there, {k}, %channels;
setp.eq.and.u32 %is, %each, 1, %there;
@%is st.global.b8 [%place], %v;
setp.eq.and.u32 %is, %each, 2, %there;
@%is st.global.b16 [%place], %v;
setp.eq.and.u32 %is, %each, 4, %there;
@%is st.global.b32 [%place], %v;
""")
    return "".join(steps)


def _signed(operation: str, width: int) -> str:
    """The reduction of a texel; min and max ask whether the surface holds signed numbers."""
    if operation in ("and", "or"):
        return f"red.global.{operation}.b{width} [%at], %d0;\n"
    if operation == "add":
        return f"red.global.add.u{width} [%at], %d0;\n"
    return f"""setp.le.u32 %is, %kind, {CHANNEL_TYPES["int32"]};
@%is red.global.{operation}.s{width} [%at], %d0;
@!%is red.global.{operation}.u{width} [%at], %d0;
"""


_FIELDS = f"""
.reg .b64 %at, %step, %n; .reg .pred %out, %p; .reg .b32 %layer;
setp.ne.u32 %out, 0, 0;
mov.b32 %layer, 0;
ld.global.b64 %at, [%t+{AT["data"]}];
add.u64 %at, %at, %t;
"""

_INDEX = """
setp.ge.u32 %p, %index, %layers;
or.pred %out, %out, %p;
sub.u32 %layers, %layers, 1;
min.u32 %layer, %index, %layers;
"""


def _axis(a: str, size: str) -> str:
    """The coordinate %k, clamped, and whether it was outside."""
    coordinate = "from" if size == "%size" else a
    load = f"ld.global.b{64 if a == 'x' else 32}"
    wide = f"ld.global.b64 %n, [%t+{AT['pitch']}];\n" if a == "x" else f"{load} %c{a}, [%t+{AT[SIZES[a]]}];\n"
    wide += "" if a == "x" else f"cvt.u64.u32 %n, %c{a};\n"
    return f"""
.reg .b32 %c{a}; .reg .b64 %k{a};
{wide}cvt.s64.s32 %k{a}, %{coordinate};
sub.s64 %n, %n, {size};
setp.lt.s64 %p, %k{a}, 0;
or.pred %out, %out, %p;
setp.gt.s64 %p, %k{a}, %n;
or.pred %out, %out, %p;
min.s64 %k{a}, %k{a}, %n;
max.s64 %k{a}, %k{a}, 0;
"""


def _address(axes: str) -> str:
    """The address %at."""
    steps = ["add.s64 %at, %at, %kx;\n"]
    if "y" in axes:
        steps.append(f"ld.global.b64 %step, [%t+{AT['pitch']}];\nmad.lo.u64 %at, %ky, %step, %at;\n")
    steps.append(f"ld.global.b64 %step, [%t+{AT['slice']}];\ncvt.u64.u32 %n, %layer;\n")
    if "z" in axes:
        steps.append("add.u64 %n, %n, %kz;\n")
    steps.append("mad.lo.u64 %at, %n, %step, %at;\n")
    return "".join(steps)


def _narrow_zeros(names: list[str]) -> str:
    """Zeros in registers of any width: a conversion may write wider registers than its type."""
    return "".join(f"cvt.u8.u32 {name}, 0;\n" for name in names)
