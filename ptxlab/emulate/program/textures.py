"""Textures and surfaces: what the instructions on them do, as ordinary instructions that lowering puts in their place.

The instruction itself stays, without an effect: it is the one that is counted. After it stand the loads of the
object's fields (`ptxlab.isa.texture_object`), the arithmetic of `sampling`, and the loads of the texels, whose bytes
count as the instruction's. So both engines, the checks and traces need not know of textures.
"""

from __future__ import annotations

from dataclasses import dataclass

from ptxlab.emulate.program import sampling
from ptxlab.emulate.program.flat_program import Group, Literal, Mem, Reg, Source, Special, Symbol
from ptxlab.emulate.program.lowering import Guard, Lowering, lower_text
from ptxlab.emulate.program.scopes import Scope
from ptxlab.isa import types
from ptxlab.isa.actions import Action
from ptxlab.isa.table import Form
from ptxlab.isa.texture_object import AT, CHANNEL_ORDERS, CHANNEL_TYPES, SAMPLER, SURFACE, TAGS, TEXTURE
from ptxlab.text import model

COORDINATES = {"1d": 1, "2d": 2, "3d": 3, "a1d": 1, "a2d": 2, "cube": 3, "acube": 3, "2dms": 2, "a2dms": 2}
"""Coordinates of each geometry, an array's index left out."""


@dataclass
class _Lowered:
    """One instruction on a texture or surface while it is lowered."""

    low: Lowering
    instruction: model.Instruction
    found: Form
    scope: Scope

    def operand(self, operand: model.Operand) -> Source | None:
        return self.low.operand(operand, self.scope, self.instruction.line)

    def elements(self, operand: model.Operand, count: int, what: str) -> list[Source | None]:
        """The elements of a vector in braces, or the one that stands without; those that only fill it are left out."""
        given = operand.elements if isinstance(operand, model.Vector) else (operand,)
        source = self.operand(operand)
        out: list[Source | None] = list(source.elements) if isinstance(source, Group) else [source]
        wanted = 4 if count == 3 else count
        if len(out) not in (count, wanted):
            raise self.low.error(
                f"{self.found.opcode} takes {wanted} {what}, found {len(given)}", self.instruction.line
            )
        return out

    def handle(self, operand: model.Operand) -> Source:
        """A handle as a value: a register, or the address of a `.texref`."""
        source = self.operand(operand)
        if not isinstance(source, Reg | Symbol | Literal):
            raise self.low.error(f"{operand} is not a handle of a texture or surface", self.instruction.line)
        if isinstance(source, Symbol) and source.space == "param":
            held = self.low.register("%handle", "b64")
            load = self.low.op("ld.param.b64", (held,), (Mem(source, 0),), self.instruction.line)
            load.space = source.space
            return held
        return source

    def lower_text(self, text: str, names: dict[str, Source], *reasons: str) -> None:
        lower_text(self.low, text, self.instruction, self.scope.routine, names, reasons)


def lower_texture(low: Lowering, instruction: model.Instruction, found: Form, guard: Guard, scope: Scope) -> None:
    """Emits an instruction on a texture or surface, and what it does."""
    low.emit(instruction.name, found, instruction.line, guard).instruction = instruction
    lower = {Action.QUERY: _query, Action.SAMPLE: _sample, Action.GATHER: _sample}.get(found.op.does, _surface)
    with low.guarded(guard, instruction.line):
        lower(_Lowered(low, instruction, found, scope))


def _checked(name: str, *tags: int) -> str:
    """Text that stops the kernel where the handle `name` is of no such object. Handles point to multiples of 128 bytes;
    what lies there is for memcheck to say."""
    compared = "".join(
        f"setp.ne.and.u32 %differs, %tag, {tag}, %differs;\n" if k else f"setp.ne.u32 %differs, %tag, {tag};\n"
        for k, tag in enumerate(tags)
    )
    return f"""{{ .reg .b32 %tag; .reg .pred %differs;
ld.global.b32 %tag, [{name}];
{compared}@!%differs bra known_{name[1:]};
trap;
known_{name[1:]}:
}}
"""


# -- queries -----------------------------------------------------------------------------------------------------------


def _query(now: _Lowered) -> None:
    found, operands = now.found, now.instruction.operands
    names: dict[str, Source] = {}
    result = now.operand(operands[0])
    if result is None:
        return
    names["%d"] = result
    if found.type in TAGS:
        names["%t"] = now.handle(operands[1])
        tag = TAGS[str(found.type)]
        now.lower_text(f".reg .b32 %tag;\nld.global.b32 %tag, [%t];\nsetp.eq.u32 %d, %tag, {tag};", names)
        return
    address = operands[1]
    if not isinstance(address, model.Address):
        raise now.low.error(f"{found.opcode} takes an address in brackets, found {address}", now.instruction.line)
    names["%t"] = now.handle(address.base)
    surface = bool(found.op.fixed.get("surface"))
    tags = (SURFACE,) if surface else (TEXTURE, SAMPLER)
    kind = "surface" if surface else "texture"
    what = f"{found.opcode}: {address.base} is not a {kind}; write: pl.{kind.title()}(array)"
    load = f"ld.global.b32 %d, [%t+{AT[str(found.query)]}];"
    if len(operands) > 2:
        names["%level"] = now.operand(operands[2]) or Literal(0)
        load += "\n{ .reg .b32 %n, %k; .reg .pred %there;\nmov.b32 %k, %level;\n"
        load += f"ld.global.b32 %n, [%t+{AT['num_mipmap_levels']}]; setp.lt.u32 %there, %k, %n;\n"
        load += "shr.u32 %d, %d, %k; max.u32 %d, %d, 1; selp.b32 %d, %d, 0, %there; }"
    now.lower_text(_checked("%t", *tags) + load, names, what)


# -- textures ----------------------------------------------------------------------------------------------------------


def _sample(now: _Lowered) -> None:
    found, given = now.found, list(now.instruction.operands)
    dest, address, *rest = given
    line, geometry = now.instruction.line, str(found.geom)
    resident = None
    if isinstance(dest, model.Pair):
        resident = now.operand(dest.second)
        dest = dest.first
    if not isinstance(address, model.Address) or not address.extra:
        raise now.low.error(f"{found.opcode} takes a texture and coordinates, found {address}", line)
    *samplers, place = address.extra
    names: dict[str, Source] = {"%t": now.handle(address.base)}
    names["%s"] = now.handle(samplers[0]) if samplers else names["%t"]
    coordinates = COORDINATES[geometry]
    array, samples = geometry[0] == "a", geometry.endswith("ms")
    wanted = coordinates + array + samples
    values = now.elements(place, wanted, "coordinates")
    if array:
        names["%index"] = _given(now, values.pop(0), "b32")
    if samples:
        values.pop(0)  # a texture of an array has one sample
    kind = "f32" if now.found.ctype != "s32" else "b32"
    for letter, value in zip("xyz", values[:coordinates], strict=False):
        names[f"%{letter}"] = _given(now, value, kind)
    mip = found.opcode.split(".")[1]
    mip = mip if mip in ("level", "grad") else ""
    if mip == "level":
        level = rest.pop(0)
        names["%lod"] = _given(now, now.operand(level), kind)
    elif mip == "grad":
        for letter in "pq":
            slopes = now.elements(rest.pop(0), coordinates, "derivatives")
            for k, slope in enumerate(slopes[:coordinates]):
                names[f"%{letter}{'xyz'[k]}"] = _given(now, slope, "f32")
    offsets = None
    if rest and isinstance(rest[0], model.Vector):
        offsets = now.elements(rest.pop(0), coordinates, "offsets")
    elif rest and coordinates == 1 and (source := now.operand(rest[0])) is not None and _integer(now, source):
        offsets = [source]
        rest.pop(0)
    compared = bool(rest)
    if compared and geometry in ("3d", "2dms", "a2dms"):
        what = f"depths are compared in textures of 1d, 2d, a1d, a2d, cube and acube: {found.opcode} has the operand "
        raise now.low.unsupported(now.instruction, f"{what}{rest[0]}")
    if compared:
        names["%depth"] = _given(now, now.operand(rest[0]), "f32")
    for letter, value in zip("xyz"[:coordinates], offsets or (), strict=False):
        names[f"%o{letter}"] = _given(now, value, "b32")
    group = now.operand(dest)
    elements = group.elements if isinstance(group, Group) else (group,)
    wanted = 2 if found.vec == "v2" else 4
    if len(elements) != wanted:
        raise now.low.error(f"{found.opcode} gives {wanted} results, found {len(elements)}", line)
    names |= {f"%d{k}": e for k, e in enumerate(elements) if e is not None}
    results = tuple(k for k, e in enumerate(elements) if e is not None)
    gathered = None if found.comp is None else "rgba".index(str(found.comp))
    exact, moved = kind == "b32", offsets is not None
    text = sampling.text(sampling.Sample(geometry, exact, moved, results, str(found.type), gathered, mip, compared))
    reasons = [f"{found.opcode}: {address.base} is not a texture; write: pl.Texture(array)"]
    checked = _checked("%t", TEXTURE)
    if samplers:
        reasons.append(f"{found.opcode}: {samplers[0]} is not a sampler")
        checked += _checked("%s", SAMPLER, TEXTURE)
    if compared:
        reasons.append(
            f"{found.opcode}: {address.base} is not a depth texture; write: pl.Texture(..., compare='less_equal')"
        )
    if mip == "grad" and geometry.endswith("cube"):
        reasons.append(f"{found.opcode}: derivatives choose no mipmap level of a cube here; write: tex.level")
    now.lower_text(checked + text, names, *reasons)
    if isinstance(resident, Reg):
        now.lower_text("setp.eq.u32 %p, 0, 0;", {"%p": resident})


def _given(now: _Lowered, value: Source | None, type_: str) -> Source:
    """A coordinate in a register."""
    if isinstance(value, Reg):
        return value
    held = now.low.register("%given", type_)
    if not isinstance(value, Literal | Special):
        raise now.low.error(f"{now.found.opcode}: a coordinate is missing", now.instruction.line)
    now.low.op(f"mov.{type_}", (held,), (value,), now.instruction.line)
    return held


def _integer(now: _Lowered, source: Source) -> bool:
    return isinstance(source, Reg) and not types.is_float(now.low.registers[source.index].type)


# -- surfaces ----------------------------------------------------------------------------------------------------------


def _surface(now: _Lowered) -> None:
    found, given = now.found, list(now.instruction.operands)
    loads = found.op.does is Action.LOAD_SURFACE
    address, data = (given[1], given[0]) if loads else (given[0], given[1])
    line, geometry = now.instruction.line, str(found.geom)
    if not isinstance(address, model.Address) or len(address.extra) != 1:
        raise now.low.error(f"{found.opcode} takes a surface and coordinates, found {address}", line)
    names: dict[str, Source] = {"%t": now.handle(address.base)}
    coordinates, array = COORDINATES[geometry], geometry[0] == "a"
    values = now.elements(address.extra[0], coordinates + array, "coordinates")
    if array:
        names["%index"] = _given(now, values.pop(0), "b32")
    for letter, value in zip("xyz", values[:coordinates], strict=False):
        names[f"%{letter}"] = _given(now, value, "b32")
    group = now.operand(data)
    elements = group.elements if isinstance(group, Group) else (group,)
    count = int(found.vec[1:]) if found.vec else 1
    if len(elements) != count:
        raise now.low.error(f"{found.opcode} takes {count} registers, found {len(elements)}", line)
    for k, element in enumerate(elements):
        if element is None:
            element = now.low.register("%unused", f"b{max(types.width(str(found.type)), 16)}")
        names[f"%d{k}"] = element
    reasons = [f"{found.opcode}: {address.base} is not a surface; write: pl.Surface(array)"]
    if found.clamp == "trap":
        reasons.append(f"{found.opcode}: the coordinates are outside of the surface")
    now.lower_text(_checked("%t", SURFACE) + _surface_text(geometry, found, count), names, *reasons)


# -- surfaces as text --------------------------------------------------------------------------------------------------


NL = "\n"
NARROW = (("int8", 1), ("uint8", 1), ("int16", 2), ("uint16", 2), ("float16", 2))

SIZES = {"x": "pitch", "y": "height", "z": "depth"}
AXES = {"1d": "x", "2d": "xy", "3d": "xyz", "a1d": "x", "a2d": "xy"}


def _surface_text(geometry: str, found: Form, count: int) -> str:
    """The statements of an access to a surface: coordinates become an address; those outside are clamped, give zeros,
    or trap. Registers: %t surface, %x (in bytes) %y %z coordinates, %index of an array, %d0.. data."""
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
        # Registers may be wider than eight bits; a conversion writes them, too.
        zero = f"mov.b{max(width, 16)} {{}}, 0;\n" if width > 8 else "cvt.u8.u32 {}, 0;\n"
        access, otherwise = f"ld.global{vector}.b{width} {data}, [%at];\n", "".join(map(zero.format, names))
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
    steps = ["add.s64 %at, %at, %kx;\n"]
    if "y" in axes:
        steps.append(f"ld.global.b64 %step, [%t+{AT['pitch']}];\nmad.lo.u64 %at, %ky, %step, %at;\n")
    steps.append(f"ld.global.b64 %step, [%t+{AT['slice']}];\ncvt.u64.u32 %n, %layer;\n")
    if "z" in axes:
        steps.append("add.u64 %n, %n, %kz;\n")
    steps.append("mad.lo.u64 %at, %n, %step, %at;\n")
    return "".join(steps)
