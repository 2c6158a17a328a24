"""Textures and surfaces: `tex`, `tld4`, `txq`, `suld`, `sust`, `sured`, `suq`, `istypep`.

On the emulator each of them is a row of ordinary instructions that lowering puts in its place, as `st.bulk` is a
loop of stores (see `ptxlab.emulate.program.textures`).
"""

from __future__ import annotations

from typing import Any

from ptxlab.isa.actions import Action
from ptxlab.isa.table import op
from ptxlab.isa.texture_object import TAGS

GEOMETRIES = ("1d", "2d", "3d", "a1d", "a2d")
CUBES = ("cube", "acube")

_TEX = """Reads a texture at coordinates: `[handle, {x, y}]`. Floating-point coordinates are filtered and addressed as
   the texture says; integer ones are those of a texel. d gets four channels."""
_RESULTS: tuple[tuple[str, tuple[str, ...]], ...] = (("v4", ("u32", "s32", "f32", "f16")), ("v2", ("f16x2",)))
_AT: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = ((GEOMETRIES, ("s32", "f32")), (CUBES, ("f32",)))
_LEVELS: tuple[tuple[str, str, str], ...] = (
    ("", "", ""),
    (".base", "", " With mipmaps it reads the finest level."),
    (".level", ", lod:ctype", " The mipmap level is given."),
    (".grad", ", dPdx:any, dPdy:any", " Derivatives of the coordinates choose the mipmap level."),
)
for _vec, _types in _RESULTS:
    for _mip, _given, _more in _LEVELS:
        for _geometries, _ctypes in _AT:
            op(f"tex{_mip}.geom.vec.type.ctype  d:vec|p:pred, [a]{_given}{{, e:any}}{{, f:any}}", _TEX + _more,
               does=Action.SAMPLE, geom=_geometries, vec=(_vec,), type=_types, ctype=_ctypes,
               version=(4, 2) if "f16" in _types[0] else (3, 1) if _mip else (1, 0),
               needs={"f16": ((4, 2), 53), "acube": ((3, 0), 20)}, sm=20 if _mip else 0)  # fmt: skip
    op("tex.geom.vec.type.ctype  d:vec|p:pred, [a]{, e:any}", """Reads one sample of a texture that has several for each
       texel: `{sample, x, y, y}`, of an array `{index, sample, x, y}`.""", does=Action.SAMPLE,
       ctype=("s32",), geom=("2dms", "a2dms"), vec=(_vec,), type=_types, version=(3, 2), sm=30)  # fmt: skip
op("tld4.comp.geom.vec.type.f32  d:vec|p:pred, [a]{, e:any}{, f:any}", """Reads one channel of the four texels between
   which a linear filter would interpolate, counter-clockwise from the lower left.""", does=Action.GATHER,
   comp=("r", "g", "b", "a"), notes={"r": "The first channel.", "b": "The third channel.", "a": "The fourth channel."},
   geom=("2d", "a2d", *CUBES), vec=("v4",), type=("u32", "s32", "f32"), version=(2, 2),
   sm=20)  # fmt: skip
op("txq.query.b32  d, [a]", "Gives a property of a texture or sampler.", does=Action.QUERY,
   query=("width", "height", "depth", "channel_data_type", "channel_order", "normalized_coords", "array_size",
          "num_mipmap_levels", "num_samples", "force_unnormalized_coords", "filter_mode", "addr_mode_0", "addr_mode_1",
          "addr_mode_2"), version=(1, 5))  # fmt: skip
op("txq.level.query.b32  d, [a], lod:u32", "Gives the size of a mipmap level.", does=Action.QUERY,
   query=("width", "height", "depth"), version=(3, 1), sm=30)  # fmt: skip
op("suq.query.b32  d, [a]", "Gives a property of a surface.", does=Action.QUERY, fixed={"surface": True},
   query=("width", "height", "depth", "channel_data_type", "channel_order", "array_size", "memory_layout"),
   version=(1, 5))  # fmt: skip
op("istypep.type  p:pred, a:b64", "Tests whether the handle a is of that kind.", does=Action.QUERY, type=tuple(TAGS),
   version=(4, 0), sm=30)  # fmt: skip

_OUTSIDE = """ For coordinates outside the surface, `.trap` stops the kernel, `.clamp` takes the nearest inside, `.zero`
   gives zeros and stores nothing."""
_CLAMP: dict[str, Any] = {
    "clamp": ("trap", "clamp", "zero"),
    "version": (2, 0),
    "sm": 20,
    "notes": {"b": "Bytes as they are.", "clamp": "Outside of the surface: the nearest inside."},
}
_LOADED = "Loads from a surface. The first coordinate counts bytes." + _OUTSIDE
_STORED = "Stores to a surface. The first coordinate counts bytes." + _OUTSIDE
_WIDTHS = ("b8", "b16", "b32", "b64")
_VECTORS: tuple[tuple[str, str, dict[str, Any], tuple[str, ...]], ...] = (
    ("", "", {}, _WIDTHS),
    (".vec", ":vec", {"vec": ("v2",)}, _WIDTHS),
    (".vec", ":vec", {"vec": ("v4",)}, _WIDTHS[:3]),
)
for _slot, _registers, _count, _types in _VECTORS:
    op(f"suld.b.geom{{.cop}}{_slot}.type.clamp  d{_registers}, [a]", _LOADED, does=Action.LOAD_SURFACE, **_count,
       type=_types, geom=GEOMETRIES, cop=("ca", "cg", "cs", "cv"), **_CLAMP)  # fmt: skip
    op(f"sust.b.geom{{.cop}}{_slot}.type.clamp  [a], c{_registers}", _STORED, does=Action.STORE_SURFACE, **_count,
       type=_types, geom=GEOMETRIES, cop=("wb", "cg", "cs", "wt"), **_CLAMP)  # fmt: skip
    op(f"sust.p.geom{_slot}.type.clamp  [a], c{_registers}", """Stores channels to a texel of a surface, converted to
       its format.""" + _OUTSIDE, does=Action.STORE_SURFACE, fixed={"texels": True}, **_count, type=("b32",),
       geom=GEOMETRIES[:3], **_CLAMP)  # fmt: skip
_REDUCED: tuple[tuple[tuple[str, ...], tuple[str, ...], dict[str, Any]], ...] = (
    (("add",), ("u32", "s32", "u64"), {}),
    (("min", "max"), ("u32", "s32"), {}),
    (("and", "or"), ("b32",), {}),
    (("min", "max"), ("u64", "s64"), {"version": (8, 1), "sm": 50}),
)
for _operations, _types, _since in _REDUCED:
    op("sured.b.operation.geom.type.clamp  [a], c", "Combines a number in a surface with b, atomically." + _OUTSIDE,
       does=Action.REDUCE_SURFACE, operation=_operations, geom=GEOMETRIES[:3], type=_types,
       **_CLAMP | _since)  # fmt: skip
op("sured.p.operation.geom.type.clamp  [a], c", "Combines a texel of a surface with b, atomically." + _OUTSIDE,
   does=Action.REDUCE_SURFACE, operation=("add", "min", "max", "and", "or"), geom=GEOMETRIES[:3], type=("b32",),
   fixed={"texels": True}, **_CLAMP)  # fmt: skip
op("sured.p.operation.geom.type.clamp  [a], c", "Combines a texel of a surface with b, atomically." + _OUTSIDE,
   does=Action.REDUCE_SURFACE, operation=("min", "max"), geom=GEOMETRIES[:3], type=("b64",), fixed={"texels": True},
   **_CLAMP | {"version": (8, 1), "sm": 50})  # fmt: skip
