"""The computation of `tex` and `tld4`, as PTX: coordinates to texels, and the filter between them.

Coordinates in texels come from normalized ones by the size. Point sampling takes the texel that a coordinate lies in.
The linear filter interpolates between those whose centres surround it, with fractions of 8 bits: "stored in 9-bit fixed
point format with 8 bits of fractional value (so 1.0 is exactly represented)" (CUDA Programming Guide, "Linear
Filtering"). The guide does not say how a fraction is rounded; it goes to the nearest here, between mipmap levels, too.
PTX ISA says of depths: "each element fetched from texture is compared", 1 or 0 each, and "these per-element comparison
results are used for the filtering"; how they are compared is the texture's, with the depth on the left, as in graphics.
Faces of a cube, and their coordinates, follow the guide's table of cubemaps; near an edge texels of that face alone are
taken, or with `seamless` those of the faces beside it, by the direction of their centres.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product

from ptxlab.isa.texture_object import ADDRESSES, AT, TEXEL

SIZES = {"x": "width", "y": "height", "z": "depth"}
AXES = {"1d": "x", "2d": "xy", "3d": "xyz", "a1d": "x", "a2d": "xy"}
AXES |= dict.fromkeys(("cube", "acube", "2dms", "a2dms"), "xy")
MODES = {"x": "addr_mode_0", "y": "addr_mode_1", "z": "addr_mode_2"}


@dataclass(frozen=True)
class Sample:
    """One instruction: its geometry; whether coordinates are integers and have offsets; which results are wanted, and
    their type; the channel that `tld4` gathers; "level" or "grad"; whether depths are compared."""

    geometry: str
    integers: bool
    offsets: bool
    results: tuple[int, ...]
    type: str
    gathered: int | None = None
    mip: str = ""
    compared: bool = False

    @property
    def channels(self) -> tuple[int, ...]:
        """Which of the four channels are needed."""
        halves = self.type == "f16x2"
        return tuple(sorted({c for r in self.results for c in ((2 * r, 2 * r + 1) if halves else (r,))}))


@functools.lru_cache(maxsize=256)
def text(sample: Sample) -> str:
    """The statements of one instruction. Registers: %t texture, %s sampler, %x %y %z coordinates (integers, or .f32),
    %ox %oy %oz offsets, %index of an array, %depth, %lod or the derivatives %px %py %pz and %qx %qy %qz, %d0..
    results."""
    compares = _COMPARE if sample.compared else ""
    if not sample.mip:
        return compares + _lookup(sample, "%d{}")
    sizes = {a: SIZES[a] for a in AXES[sample.geometry]}
    level = "cvt.rn.f32.s32 %l, %lod;\n" if sample.integers else "mov.f32 %l, %lod;\n"
    if sample.mip != "level":
        level = _level_from_derivatives(sample.geometry, sizes)
    parts, channels = [compares, _LEVELS, level, _BETWEEN], sample.channels
    each = replace(sample, results=channels, type="b32", gathered=None)
    for k in "01":
        names = ", ".join(f"%t{k}_{c}" for c in channels)
        parts.append(f".reg .b32 {names};\n{{\n.reg .b32 %lev; mov.b32 %lev, %lev{k};\n")
        parts += [_lookup(each, f"%t{k}_{{}}", leveled=True), "}\n"]
    parts += [_BLENDED.format(c) for c in channels]
    parts.append(_results(sample, "%t0_{}", "%d{}"))
    return "".join(parts)


def _lookup(sample: Sample, given: str, leveled: bool = False) -> str:
    """One lookup in one mipmap level: %lev, or the finest. given: the names of the registers for what is read."""
    geometry, compared = sample.geometry, sample.compared
    axes = AXES[geometry]
    parts = [_FIELDS, *(_axis_fields(a, leveled) for a in axes), _LEVEL_DATA if leveled else ""]
    cube = geometry in ("cube", "acube")
    if cube:
        parts += [_FACE, _SEAMLESS]
    coordinates = dict(zip("xy", ("%ca", "%cb"), strict=True)) if geometry.endswith("cube") else {}
    if geometry[0] == "a" or geometry == "cube":
        parts.append(_layer(geometry))
    if sample.integers:
        parts += [
            f"mov.b32 %i0{a}, %{a};\n" + (f"add.s32 %i0{a}, %i0{a}, %o{a};\n" if sample.offsets else "") for a in axes
        ]
        parts += [_resolved(a, 0) for a in axes]
        parts += [_texel((0,) * len(axes), axes), _results(sample, "%c_" + "0" * len(axes) + "_{}", given)]
        return "".join(parts)
    parts += [_in_texels(a, coordinates.get(a, f"%{a}"), sample.offsets) for a in axes]
    if sample.gathered is not None:
        parts += [_neighbours(a) for a in axes]
        corners = ((0, 1), (1, 1), (1, 0), (0, 0))
        parts += [_texel(corner, axes, compared, cube) for corner in corners]
        parts.append(_corners() if cube else "")
        parts += [
            f"mov.b32 %d{k}, %c_{x}{y}_{sample.gathered};\n" for k, (x, y) in enumerate(corners) if k in sample.results
        ]
        return "".join(parts)
    nearest = [f"cvt.rmi.s32.f32 %i0{a}, %u{a};\n" + _resolved(a, 0) for a in axes]
    point = [*nearest, _texel((0,) * len(axes), axes, compared)]
    point.append(_results(sample, "%c_" + "0" * len(axes) + "_{}", given))
    linear = [_neighbours(a) for a in axes]
    linear += [_texel(corner, axes, compared, cube) for corner in product((0, 1), repeat=len(axes))]
    linear.append(_corners() if cube else "")
    linear += [_filtered(axes, channel) for channel in sample.channels]
    linear.append(_results(sample, "%v_{}", given))
    parts += ["@%linear bra between;\n{\n", *point, "}\nbra.uni done;\nbetween:\n{\n", *linear, "}\ndone:\n"]
    return "".join(parts)


_FIELDS = f"""
.reg .b32 %filter, %n, %q, %e, %w; .reg .b64 %data, %at; .reg .f32 %m, %g; .reg .pred %linear, %normalized, %p, %out;
.reg .b32 %layer, %b_0, %b_1, %b_2, %b_3;
ld.global.b32 %filter, [%s+{AT["filter_mode"]}];
setp.ne.u32 %linear, %filter, 0;
ld.global.b32 %n, [%s+{AT["normalized_coords"]}];
setp.ne.u32 %normalized, %n, 0;
ld.global.b64 %data, [%t+{AT["data"]}];
add.u64 %data, %data, %t;
ld.global.v4.b32 {{%b_0, %b_1, %b_2, %b_3}}, [%s+{AT["border"]}];
mov.b32 %layer, 0;
"""


# -- depths ------------------------------------------------------------------------------------------------------------

_COMPARE = f"""
.reg .b32 %rule, %how; .reg .f32 %held; .reg .pred %is, %plain;
ld.global.b32 %rule, [%s+{AT["compare"]}];
setp.ne.u32 %plain, %rule, 0;
@%plain bra depths;
trap;
depths:
"""
"""What a comparison with %depth needs; a texture without it stops the kernel."""
_COMPARED = """
mov.b32 %held, {0};
mov.b32 %how, 8;
setp.lt.f32 %is, %depth, %held; @%is mov.b32 %how, 1;
setp.eq.f32 %is, %depth, %held; @%is mov.b32 %how, 2;
setp.gt.f32 %is, %depth, %held; @%is mov.b32 %how, 4;
and.b32 %how, %how, %rule;
setp.ne.u32 %is, %how, 0;
selp.b32 {0}, 0x3F800000, 0, %is;
"""


# -- coordinates -------------------------------------------------------------------------------------------------------


def _axis_fields(a: str, leveled: bool) -> str:
    """The size, that of a mipmap level where there is one, and the address mode of a dimension."""
    halved = f"shr.u32 %n{a}, %n{a}, %lev;\nmax.u32 %n{a}, %n{a}, 1;" if leveled else ""
    return f"""
.reg .b32 %n{a}, %last{a}, %mode{a}, %twice{a}, %i0{a}, %i1{a}; .reg .f32 %u{a}, %f{a}, %size{a};
.reg .pred %wrap{a}, %mirror{a}, %border{a};
ld.global.b32 %n{a}, [%t+{AT[SIZES[a]]}];
{halved}
sub.s32 %last{a}, %n{a}, 1;
shl.b32 %twice{a}, %n{a}, 1;
cvt.rn.f32.u32 %size{a}, %n{a};
ld.global.b32 %mode{a}, [%s+{AT[MODES[a]]}];
setp.eq.u32 %wrap{a}, %mode{a}, {ADDRESSES.index("wrap")};
setp.eq.u32 %mirror{a}, %mode{a}, {ADDRESSES.index("mirror")};
setp.eq.u32 %border{a}, %mode{a}, {ADDRESSES.index("clamp_to_border")};
"""


def _layer(geometry: str) -> str:
    """The layer of an array, those of a cube's six faces each; an index beyond the last is that of the last."""
    steps = [f".reg .b32 %layers;\nld.global.b32 %layers, [%t+{AT['array_size']}];\n"]
    if geometry == "acube":
        steps.append("mad.lo.u32 %layer, %index, 6, %face;\n")
    else:
        steps.append(f"mov.b32 %layer, {'%face' if geometry == 'cube' else '%index'};\n")
    steps.append("sub.u32 %layers, %layers, 1;\nmin.u32 %layer, %layer, %layers;\n")
    return "".join(steps)


_FACE = """
.reg .f32 %abs_x, %abs_y, %abs_z, %sc, %tc, %ma, %ca, %cb, %minus_x, %minus_y, %minus_z; .reg .b32 %face;
.reg .pred %first, %second, %minus;
abs.f32 %abs_x, %x; abs.f32 %abs_y, %y; abs.f32 %abs_z, %z;
neg.f32 %minus_x, %x; neg.f32 %minus_y, %y; neg.f32 %minus_z, %z;
setp.ge.f32 %first, %abs_x, %abs_y; setp.ge.and.f32 %first, %abs_x, %abs_z, %first;      // x is the major axis
setp.ge.f32 %second, %abs_y, %abs_z;                                               // else y, if this holds
setp.lt.f32 %minus, %z, 0f00000000;
mov.b32 %face, 4; selp.f32 %sc, %minus_x, %x, %minus; mov.f32 %tc, %minus_y; mov.f32 %ma, %abs_z;
@%minus mov.b32 %face, 5;
setp.lt.f32 %minus, %y, 0f00000000;
@%second mov.b32 %face, 2; @%second mov.f32 %sc, %x; @%second mov.f32 %tc, %z; @%second mov.f32 %ma, %abs_y;
and.pred %minus, %minus, %second;
@%minus mov.b32 %face, 3; @%minus mov.f32 %tc, %minus_z;
setp.lt.f32 %minus, %x, 0f00000000;
@%first mov.b32 %face, 0; @%first mov.f32 %sc, %minus_z; @%first mov.f32 %tc, %minus_y; @%first mov.f32 %ma, %abs_x;
and.pred %minus, %minus, %first;
@%minus mov.b32 %face, 1; @%minus mov.f32 %sc, %z;
div.rn.f32 %ca, %sc, %ma; div.rn.f32 %cb, %tc, %ma;
fma.rn.f32 %ca, %ca, 0f3F000000, 0f3F000000; fma.rn.f32 %cb, %cb, 0f3F000000, 0f3F000000;
"""


_SEAMLESS = f"""
.reg .b32 %seamless, %at_face; .reg .pred %across;
mov.b32 %at_face, %face;
ld.global.b32 %seamless, [%s+{AT["seamless"]}];
setp.ne.u32 %across, %seamless, 0;
"""


def _across(x: int, y: int) -> str:
    """The number %q of the texel of a cube at %i: beyond the edge of its face the one there that the same direction
    goes through, or without `seamless` the nearest of the face."""
    return f"""
{{
.reg .f32 %x, %y, %z, %sc_, %tc_, %one, %minus_s, %minus_t; .reg .b32 %px, %py; .reg .pred %on, %flat;
selp.b32 %px, %i{x}x, %r{x}x, %across;
selp.b32 %py, %i{y}y, %r{y}y, %across;
cvt.rn.f32.s32 %sc_, %px; fma.rn.f32 %sc_, %sc_, 2.0, 1.0; div.rn.f32 %sc_, %sc_, %sizex; sub.f32 %sc_, %sc_, 1.0;
cvt.rn.f32.s32 %tc_, %py; fma.rn.f32 %tc_, %tc_, 2.0, 1.0; div.rn.f32 %tc_, %tc_, %sizey; sub.f32 %tc_, %tc_, 1.0;
neg.f32 %minus_s, %sc_; neg.f32 %minus_t, %tc_;
and.b32 %q, %at_face, 1; setp.eq.u32 %on, %q, 0; selp.f32 %one, 1.0, -1.0, %on;      // +1 or -1 along the major axis
selp.f32 %x, %sc_, %minus_s, %on; mov.f32 %y, %minus_t; mov.f32 %z, %one;            // z
shr.u32 %q, %at_face, 1;
setp.eq.u32 %flat, %q, 0;
@%flat mov.f32 %x, %one; @%flat selp.f32 %z, %minus_s, %sc_, %on;                    // x
setp.eq.u32 %flat, %q, 1;
@%flat mov.f32 %x, %sc_; @%flat mov.f32 %y, %one; @%flat selp.f32 %z, %tc_, %minus_t, %on;      // y
{_FACE}
mul.f32 %ca, %ca, %sizex; cvt.rmi.s32.f32 %px, %ca; max.s32 %px, %px, 0; min.s32 %px, %px, %lastx;
mul.f32 %cb, %cb, %sizey; cvt.rmi.s32.f32 %py, %cb; max.s32 %py, %py, 0; min.s32 %py, %py, %lasty;
sub.u32 %q, %layer, %at_face; add.u32 %q, %q, %face;
mad.lo.u32 %q, %q, %ny, %py;
mad.lo.u32 %q, %q, %nx, %px;
}}
"""


def _corners() -> str:
    """At a corner of a cube three texels meet: the fourth one is their mean."""
    steps = [".reg .pred %meet; .reg .b32 %odd; .reg .f32 %mean, %part;\n"]
    for x, y in product((0, 1), repeat=2):
        others = [(a, b) for a, b in product((0, 1), repeat=2) if (a, b) != (x, y)]
        steps.append(
            f"setp.ne.and.s32 %meet, %i{x}x, %r{x}x, %across;\nsetp.ne.and.s32 %meet, %i{y}y, %r{y}y, %meet;\n"
        )
        for channel in range(4):
            steps.append("mov.f32 %mean, 0f00000000;\n")
            steps += [f"mov.b32 %part, %c_{a}{b}_{channel};\nadd.f32 %mean, %mean, %part;\n" for a, b in others]
            steps.append(f"div.rn.f32 %mean, %mean, 3.0;\n@%meet mov.b32 %c_{x}{y}_{channel}, %mean;\n")
    return "".join(steps)


def _in_texels(a: str, coordinate: str, offsets: bool) -> str:
    """The coordinate %u, in texels."""
    scaled = f"mul.f32 %m, {coordinate}, %size{a};\nselp.f32 %u{a}, %m, {coordinate}, %normalized;\n"
    moved = f"cvt.rn.f32.s32 %m, %o{a};\nadd.f32 %u{a}, %u{a}, %m;\n" if offsets else ""
    return scaled + moved


def _neighbours(a: str) -> str:
    """The two texels whose centres surround a coordinate, %i0 and %i1, and the weight %f of the second one."""
    return f"""
fma.rn.f32 %m, %u{a}, 256.0, -127.5;      // 256 * (u - 1/2), rounded below
cvt.rmi.s32.f32 %q, %m;
shr.s32 %i0{a}, %q, 8;
and.b32 %q, %q, 255;
cvt.rn.f32.u32 %f{a}, %q;
mul.f32 %f{a}, %f{a}, 0f3B800000;         // 1/256
add.s32 %i1{a}, %i0{a}, 1;
{_resolved(a, 0)}{_resolved(a, 1)}"""


def _resolved(a: str, k: int) -> str:
    """The texel %r that index %i stands for by the address mode, and %out: it is the border."""
    i, r, out = f"%i{k}{a}", f"%r{k}{a}", f"%out{k}{a}"
    return f"""
.reg .b32 {r}; .reg .pred {out};
max.s32 {r}, {i}, 0;
min.s32 {r}, {r}, %last{a};
setp.ne.and.s32 {out}, {r}, {i}, %border{a};
rem.s32 %e, {i}, %n{a};
add.s32 %w, %e, %n{a};
setp.lt.s32 %p, %e, 0;
selp.b32 %e, %w, %e, %p;
selp.b32 {r}, %e, {r}, %wrap{a};
rem.s32 %e, {i}, %twice{a};
add.s32 %w, %e, %twice{a};
setp.lt.s32 %p, %e, 0;
selp.b32 %e, %w, %e, %p;
sub.s32 %w, %twice{a}, %e;
sub.s32 %w, %w, 1;
min.s32 %e, %e, %w;
selp.b32 {r}, %e, {r}, %mirror{a};
"""


def _texel(corner: tuple[int, ...], axes: str, compared: bool = False, cube: bool = False) -> str:
    """Loads the texel at a corner into %c_<corner>_0 to 3; outside it is the border, or the neighbouring face of a
    cube. compared: its first channel then says what the comparison with the depth gives."""
    name = "".join(map(str, corner))
    position = dict(zip(axes, corner, strict=True))
    steps = ["mov.b32 %q, %layer;\n"]
    outside = "".join(f"or.pred %out, %out, %out{k}{a};\n" for a, k in position.items())
    for a in "zyx":
        if a in position:
            steps.append(f"mad.lo.u32 %q, %q, %n{a}, %r{position[a]}{a};\n")
    if cube:
        steps = [_across(position["x"], position["y"])]
    channels = [f"%c_{name}_{k}" for k in range(4)]
    chosen = "".join(f"selp.b32 {c}, %b_{k}, {c}, %out;\n" for k, c in enumerate(channels))
    return f"""
.reg .b32 {", ".join(channels)};
{"".join(steps)}mad.wide.u32 %at, %q, {TEXEL}, %data;
ld.global.v4.b32 {{{", ".join(channels)}}}, [%at];
setp.ne.u32 %out, 0, 0;
{outside}{chosen}{_COMPARED.format(channels[0]) if compared else ""}"""


def _filtered(axes: str, channel: int) -> str:
    """A channel between the corners: along x, then y, then z."""
    names = [f"%c_{''.join(map(str, corner))}_{channel}" for corner in product((0, 1), repeat=len(axes))]
    steps = [f".reg .b32 %v_{channel};\n{{ .reg .f32 {', '.join(f'%l{k}' for k in range(len(names)))};\n"]
    steps += [f"mov.b32 %l{k}, {name};\n" for k, name in enumerate(names)]
    live = list(range(len(names)))
    for a in axes:
        half = len(live) // 2
        steps.append(f"sub.f32 %g, 1.0, %f{a};\n")
        for low, high in zip(live[:half], live[half:], strict=True):
            steps.append(f"mul.f32 %l{low}, %l{low}, %g;\nfma.rn.f32 %l{low}, %l{high}, %f{a}, %l{low};\n")
        live = live[:half]
    steps.append(f"mov.b32 %v_{channel}, %l0;\n}}\n")
    return "".join(steps)


def _results(sample: Sample, name: str, given: str) -> str:
    """What is read, in the form that is asked for. name, given: registers of channels and of results."""
    steps = []
    for k in sample.results:
        if sample.type == "f16x2":
            low, high = name.format(2 * k), name.format(2 * k + 1)
            steps.append(f"mov.b32 %m, {low};\nmov.b32 %g, {high};\ncvt.rn.f16x2.f32 {given.format(k)}, %g, %m;\n")
        elif sample.type == "f16":
            steps.append(f"mov.b32 %m, {name.format(k)};\ncvt.rn.f16.f32 {given.format(k)}, %m;\n")
        else:
            steps.append(f"mov.b32 {given.format(k)}, {name.format(k)};\n")
    return "".join(steps)


# -- mipmap levels -----------------------------------------------------------------------------------------------------


_LEVELS = f"""
.reg .b32 %count, %lev0, %lev1, %mips; .reg .f32 %l, %weight, %most, %m, %g; .reg .pred %blend;
ld.global.b32 %count, [%t+{AT["num_mipmap_levels"]}];
sub.u32 %count, %count, 1;
cvt.rn.f32.u32 %most, %count;
ld.global.b32 %mips, [%s+{AT["mip_filter"]}];
setp.ne.u32 %blend, %mips, 0;
"""
"""Registers of an instruction with a level, and the fields of the texture object that it reads."""
_LEVEL_DATA = f"""
ld.global.b64 %at, [%t+{AT["levels"]}];
add.u64 %at, %at, %t;
mad.wide.u32 %data, %lev, 8, %at;
ld.global.b64 %data, [%data];
add.u64 %data, %data, %at;
"""
"""Where the texels of the level %lev lie."""
_BETWEEN = """
max.f32 %l, %l, 0f00000000;
min.f32 %l, %l, %most;
@!%blend add.f32 %l, %l, 0f3F000000;      // the nearest level
cvt.rmi.u32.f32 %lev0, %l;
min.u32 %lev0, %lev0, %count;
add.u32 %lev1, %lev0, 1;
min.u32 %lev1, %lev1, %count;
@!%blend mov.b32 %lev1, %lev0;
cvt.rmi.f32.f32 %weight, %l;
sub.f32 %weight, %l, %weight;
mul.f32 %weight, %weight, 256.0;          // 8 bits of fraction, as between texels
cvt.rni.f32.f32 %weight, %weight;
mul.f32 %weight, %weight, 0f3B800000;
"""
"""The two levels around %l, and the weight of the second one."""
_BLENDED = """
{{ .reg .f32 %g, %a, %b;
sub.f32 %g, 1.0, %weight;
mov.b32 %a, %t0_{0};
mov.b32 %b, %t1_{0};
mul.f32 %a, %a, %g;
fma.rn.f32 %a, %b, %weight, %a;
@%blend mov.b32 %t0_{0}, %a;
}}
"""
"""A channel between two levels."""


def _level_from_derivatives(geometry: str, sizes: Mapping[str, str]) -> str:
    """The level %l from derivatives: log2 of the longer of the two, in texels. A cube with several levels stops the
    kernel. sizes: for each coordinate the field of its size."""
    if geometry.endswith("cube"):
        return """
.reg .pred %many;
setp.ne.u32 %many, %count, 0;
@!%many bra finest;
trap;
finest:
mov.f32 %l, 0f00000000;
"""
    steps = [".reg .f32 %long_p, %long_q, %step, %scale; .reg .b32 %sized; .reg .pred %texels;\n"]
    steps.append(f"ld.global.b32 %sized, [%s+{AT['normalized_coords']}];\nsetp.eq.u32 %texels, %sized, 0;\n")
    steps.append("mov.f32 %long_p, 0f00000000;\nmov.f32 %long_q, 0f00000000;\n")
    for a, size in sizes.items():
        steps.append(f"ld.global.b32 %sized, [%t+{AT[size]}];\ncvt.rn.f32.u32 %scale, %sized;\n")
        steps.append("@%texels mov.f32 %scale, 1.0;\n")
        for which in "pq":
            steps.append(f"mul.f32 %step, %{which}{a}, %scale;\n")
            steps.append(f"fma.rn.f32 %long_{which}, %step, %step, %long_{which};\n")
    steps.append("max.f32 %l, %long_p, %long_q;\nlg2.approx.f32 %l, %l;\nmul.f32 %l, %l, 0f3F000000;\n")
    return "".join(steps)
