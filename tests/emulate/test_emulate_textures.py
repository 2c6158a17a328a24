"""Textures and surfaces on both engines, against a lookup in float64 that is written here from the manual's words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS, DEVICES

import ptxlab as pl
from ptxlab.errors import DeviceFault, LaunchError, UnsupportedInstruction
from ptxlab.gpu import assembler
from ptxlab.text.validate import validate

HEAD = ".version 8.1\n.target sm_90{mode}\n.address_size 64\n{before}\n"
KERNEL = f"""{HEAD}
.visible .entry look(.param .u64 out, .param .u64 where, .param .u64 texture)
{{{{
    .reg .b64 %rd<9>; .reg .b32 %r<12>; .reg .f32 %x, %y, %z, %w, %f<9>; .reg .b16 %h<9>;
    .reg .pred %p<3>;
    ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [where]; ld.param.u64 %rd3, [texture];
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r1, %r1, %r2, %r3;
    mul.wide.u32 %rd4, %r1, 16; add.u64 %rd1, %rd1, %rd4;
    add.u64 %rd2, %rd2, %rd4;
    ld.global.v4.f32 {{{{%x, %y, %z, %w}}}}, [%rd2];
    mov.b32 %r9, %w;
    {{body}}
    st.global.v4.b32 [%rd1], {{{{%r4, %r5, %r6, %r7}}}};
    ret;
}}}}
"""
LOOK = {
    "1d": "tex.1d.v4.{}.f32 {{%r4, %r5, %r6, %r7}}, [%rd3, {{%x}}];",
    "2d": "tex.2d.v4.{}.f32 {{%r4, %r5, %r6, %r7}}, [%rd3, {{%x, %y}}];",
    "3d": "tex.3d.v4.{}.f32 {{%r4, %r5, %r6, %r7}}, [%rd3, {{%x, %y, %z, %z}}];",
    "a1d": "tex.a1d.v4.{}.f32 {{%r4, %r5, %r6, %r7}}, [%rd3, {{%r9, %x}}];",
    "a2d": "tex.a2d.v4.{}.f32 {{%r4, %r5, %r6, %r7}}, [%rd3, {{%r9, %x, %y, %y}}];",
    "cube": "tex.cube.v4.{}.f32 {{%r4, %r5, %r6, %r7}}, [%rd3, {{%x, %y, %z, %z}}];",
    "acube": "tex.acube.v4.{}.f32 {{%r4, %r5, %r6, %r7}}, [%rd3, {{%r9, %x, %y, %z}}];",
}


def run(device: str, body: str, where: Any, texture: Any, before: str = "", mode: str = "", **options: Any) -> Any:
    """What each thread has read: four words of 32 bits."""
    text = KERNEL.format(body=body, before=before, mode=mode)
    module = pl.parse(text)
    assert validate(module) == []
    count = len(where)
    out = np.zeros((count, 4), np.uint32)
    block = math.gcd(count, 32) if count > 32 else count
    pl.launch(module, count // block, block, out, pl.const(where), texture, device=device, **options)
    return out


def places(count: int, low: float, high: float, layers: int = 1, seed: int = 0) -> Any:
    """Coordinates between two numbers, with some that lie on texels and their borders; the last word is a layer."""
    rng = np.random.default_rng(seed)
    where = rng.uniform(low, high, (count, 4)).astype(np.float32)
    where[: count // 2] = np.round(where[: count // 2] * 8) / 8
    where[:, 3] = rng.integers(0, layers + 1, count).astype(np.uint32).view(np.float32)
    return where


# -- the oracle


def texel(image: Any, index: tuple[int, ...], address: str, border: Any) -> Any:
    """One texel, its index innermost last, by the address mode."""
    inside = []
    for i, n in zip(index, image.shape, strict=False):
        if address == "border" and not 0 <= i < n:
            return border
        wrapped = i % n if address == "wrap" else i % (2 * n)
        if address == "mirror":
            wrapped = min(wrapped, 2 * n - 1 - wrapped)
        inside.append(wrapped if address in ("wrap", "mirror") else min(max(i, 0), n - 1))
    return image[tuple(inside)]


def lookup(image: Any, place: Any, *, linear: bool, address: str, normalized: bool, border: Any = 0.0) -> Any:
    """The value at coordinates (x first) of an image with channels behind its dimensions."""
    sizes = image.shape[:-1][::-1]
    # A product that the machine rounds to .f32 decides which texel a coordinate on a border lies in.
    u = [np.float32(c) * np.float32(n) if normalized else np.float32(c) for c, n in zip(place, sizes, strict=False)]
    if not linear:
        return texel(image, tuple(math.floor(c) for c in u)[::-1], address, border)
    fixed = [math.floor(256 * float(c) - 127.5) for c in u]
    total = np.zeros(image.shape[-1])
    for corner in np.ndindex(*(2,) * len(u)):
        weight = math.prod((f % 256 / 256) if k else 1 - f % 256 / 256 for k, f in zip(corner, fixed, strict=True))
        index = tuple((f >> 8) + k for k, f in zip(corner, fixed, strict=True))
        total += weight * np.asarray(texel(image, index[::-1], address, border), np.float64)
    return total


MODES = [("clamp", False), ("border", False), ("clamp", True), ("wrap", True), ("mirror", True), ("border", True)]


@pytest.mark.sweep(13)
@pytest.mark.parametrize("filter", ["point", "linear"])
@pytest.mark.parametrize(("address", "normalized"), MODES)
@pytest.mark.parametrize("shape", [(7,), (5, 6), (3, 4, 5)])
def test_coordinates_and_filters(
    device: str, shape: tuple[int, ...], address: str, normalized: bool, filter: str
) -> None:
    image = np.random.default_rng(1).normal(size=(*shape, 4)).astype(np.float32)
    reach = 2.5 if normalized else 9
    where = places(96, -reach, reach)
    texture = pl.Texture(image, channels=4, filter=filter, address=address, normalized=normalized, border=(1, 2, 3, 4))
    got = run(device, LOOK[f"{len(shape)}d"].format("f32"), where, texture).view(np.float32)
    wanted = [
        lookup(image, place, linear=filter == "linear", address=address, normalized=normalized, border=(1, 2, 3, 4))
        for place in where[:, : len(shape)]
    ]
    if filter == "point":
        assert (got == np.array(wanted, np.float32)).all()
    else:
        np.testing.assert_allclose(got, wanted, atol=2e-6)


@pytest.mark.parametrize("geometry", ["a1d", "a2d"])
def test_layers(device: str, geometry: str) -> None:
    shape = (3, 5) if geometry == "a1d" else (3, 4, 5)
    image = np.arange(math.prod(shape), dtype=np.float32).reshape(shape)
    where = places(64, -1, 6, layers=3)
    got = run(device, LOOK[geometry].format("f32"), where, pl.Texture(image, layers=True)).view(np.float32)
    layers = np.minimum(where[:, 3].view(np.uint32), 2)  # beyond the last is the last
    for place, layer, value in zip(where, layers, got, strict=True):
        wanted = lookup(
            image[layer][..., None], place[: len(shape) - 1], linear=False, address="clamp", normalized=False
        )
        assert value.tolist() == [wanted[0], 0, 0, 1]


@pytest.mark.sweep(2)
@pytest.mark.parametrize("geometry", ["cube", "acube"])
def test_faces_of_cubes(device: str, geometry: str) -> None:
    faces = np.arange(12 * 16, dtype=np.float32).reshape(12, 4, 4)
    where = places(128, -1, 1, layers=1, seed=4)
    where[(where[:, :3] == 0).all(axis=1), 0] = 0.25
    got = run(device, LOOK[geometry].format("f32"), where, pl.Texture(faces, cube=True))[:, 0].view(np.float32)
    signs = {0: (1, "x", "-z-y"), 1: (-1, "x", "z-y"), 2: (1, "y", "xz"), 3: (-1, "y", "x-z"), 4: (1, "z", "x-y")}
    signs |= {5: (-1, "z", "-x-y")}
    for place, value in zip(where, got, strict=True):
        at = dict(zip("xyz", place[:3], strict=True))
        major = max("xyz", key=lambda a: (abs(at[a]), -ord(a)))
        face = next(k for k, (sign, a, _) in signs.items() if a == major and (at[a] >= 0) == (sign > 0))
        words = signs[face][2].replace("-", " -").replace("x", "x ").replace("y", "y ").replace("z", "z ").split()
        s, t = (-at[w[1]] if w[0] == "-" else at[w] for w in words)
        u, v = ((np.float32(c / abs(at[major])) * np.float32(0.5) + np.float32(0.5)) * 4 for c in (s, t))
        face += 6 * int(place[3:].view(np.uint32)[0]) if geometry == "acube" else 0
        assert value == faces[face, min(int(v), 3), min(int(u), 3)]


@pytest.mark.sweep(5)
@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16", "uint32", "int32", "float16", "float32"])
def test_formats(device: str, dtype: str) -> None:
    info: Any = np.finfo(dtype) if dtype[0] == "f" else np.iinfo(dtype)
    image = np.array([[info.min, info.max], [1, 2]], dtype)
    where = np.zeros((2, 4), np.float32)
    where[1, 0] = 1.5
    kind = "f32" if dtype[0] == "f" else dtype[0].replace("i", "s") + "32"
    got = run(device, LOOK["1d"].format(kind), where, pl.Texture(image, channels=2))
    word = np.float32 if dtype[0] == "f" else np.int32 if dtype[0] == "i" else np.uint32
    assert got.view(word).tolist() == [[*row.astype(word), 0, 1] for row in image]
    if dtype in ("uint8", "int8", "uint16", "int16"):
        fraction = run(device, LOOK["1d"].format("f32"), where, pl.Texture(image, channels=2, read="normalized"))
        wanted = np.maximum(image.astype(np.float32) / np.float32(info.max), -1)
        assert fraction.view(np.float32)[:, :2].tolist() == wanted.tolist()


IMAGE = np.arange(12, dtype=np.float32).reshape(3, 4)
OTHERS: dict[str, tuple[str, list[float]]] = {
    "integer coordinates": ("mov.b32 %r8, 2;\n tex.2d.v4.f32.s32 {%f1, _, _, _}, [%rd3, {%r8, 1}];", [6]),
    "one coordinate": ("mov.b32 %r8, 3;\n tex.1d.v4.f32.s32 {%f1, %f2, _, %f4}, [%rd3, %r8];", [3, 0]),
    "offsets": ("tex.2d.v4.f32.f32 {%f1, _, _, _}, [%rd3, {1.5, 0f00000000}], {2, 1};", [7]),
    "an offset": ("mov.b32 %r8, -1;\n tex.1d.v4.f32.f32 {%f1, _, _, _}, [%rd3, {%f1}], {%r8};", [0]),
    "levels": ("tex.level.2d.v4.f32.f32 {%f1, _, _, _}, [%rd3, {1.5, 2.5}], 0f00000000;\n"
               "tex.base.2d.v4.f32.f32 {%f2, _, _, _}, [%rd3, {1.5, 1.5}];\n"
               "tex.grad.2d.v4.f32.f32 {%f3, _, _, _}, [%rd3, {1.5, 0.5}], {%f7, %f7}, {%f7, %f7};", [9, 5, 1]),
    "a predicate": ("tex.2d.v4.f32.f32 {%f1, _, _, _}|%p1, [%rd3, {1.5, 1.5}];\n selp.f32 %f2, 1.0, 2.0, %p1;", [5, 1]),
    "halves": ("tex.2d.v2.f16x2.f32 {%r8, %r9}, [%rd3, {1.5, 1.5}];\n mov.b32 {%h1, %h2}, %r8;\n"
               "cvt.f32.f16 %f1, %h1;\n cvt.f32.f16 %f2, %h2;", [5, 0]),
    "gathered": ("tld4.r.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd3, {1.0, 1.0}];", [4, 5, 1, 0]),
    "sizes": ("txq.width.b32 %r4, [%rd3];\n txq.height.b32 %r5, [%rd3];\n txq.depth.b32 %r6, [%rd3];\n"
              "txq.channel_order.b32 %r8, [%rd3];\n"
              "cvt.rn.f32.u32 %f1, %r4;\n cvt.rn.f32.u32 %f2, %r5;\n cvt.rn.f32.u32 %f3, %r6;\n"
              "cvt.rn.f32.u32 %f4, %r8;", [4, 3, 1, 0x10B0]),
    "levels and modes": ("txq.level.width.b32 %r4, [%rd3], 0;\n txq.filter_mode.b32 %r5, [%rd3];\n"
                         "cvt.rn.f32.u32 %f1, %r4;\n cvt.rn.f32.u32 %f2, %r5;", [4, 0]),
    "kinds": ("istypep.texref %p1, %rd3;\n istypep.surfref %p2, %rd3;\n selp.f32 %f1, 1.0, 2.0, %p1;\n"
              "selp.f32 %f2, 1.0, 2.0, %p2;", [1, 2]),
    "some lanes": ("setp.eq.u32 %p1, %r3, 1;\n mov.f32 %f1, 0f00000000;\n"
                   "@%p1 tex.2d.v4.f32.f32 {%f1, _, _, _}, [%rd3, {1.5, 1.5}];", [0]),
}  # fmt: skip


@pytest.mark.sweep(4)
@pytest.mark.parametrize("name", OTHERS)
def test_other_forms(device: str, name: str) -> None:
    body, wanted = OTHERS[name]
    body = "mov.f32 %f7, 0f00000000;\n    mov.f32 %f1, %f7;\n    mov.f32 %f2, %f7;\n    mov.f32 %f3, %f7;\n    " + body
    body += "".join(f"\n    mov.b32 %r{4 + k}, %f{1 + k};" for k in range(len(wanted)))
    body = "".join(f"mov.b32 %r{k}, 0;\n    " for k in (4, 5, 6, 7)) + body
    image = IMAGE[0] if ".1d." in body else IMAGE
    where = np.zeros((2, 4), np.float32)
    got = run(device, body, where, pl.Texture(image), checks=ALL_CHECKS).view(np.float32)
    assert got[0, : len(wanted)].tolist() == wanted
    if name == "some lanes":
        assert got[1, 0] == 5
    if device == DEVICES[0] and assembler.available():
        pl.gpu.assemble(KERNEL.format(body=body, before="", mode=""))


def test_variables_and_samplers(device: str) -> None:
    before = ".global .texref t;\n.global .surfref s;"
    body = LOOK["2d"].format("f32").replace("%rd3", "t")
    body += "\n    mov.b32 %r8, 4;\n    suld.b.1d.b32.trap %r5, [s, {%r8}];"
    where = np.full((2, 4), 1.5, np.float32)
    given = {"t": pl.Texture(IMAGE), "s": pl.Surface(np.array([7, 8], np.uint32))}
    got = run(device, body, where, 0, before, textures=given)
    assert got.view(np.float32)[:, 0].tolist() == [5, 5]
    assert got[:, 1].tolist() == [8, 8]
    text = KERNEL.format(body=body.replace("[t,", "[texture,"), before=before, mode="")
    text = text.replace(".param .u64 texture", ".param .texref texture").replace("ld.param.u64 %rd3, [texture];", "")
    out = np.zeros((2, 4), np.uint32)
    pl.launch(text, 1, 2, out, pl.const(where), given["t"], device=device, textures={"s": given["s"]})
    assert out.tolist() == got.tolist()
    before = ".global .texref t;\n.global .samplerref s = { addr_mode_0 = wrap, filter_mode = linear };"
    body = LOOK["1d"].format("f32").replace("%rd3", "t, s")
    where[:, 0] = 1.125
    got = run(device, body, where, 0, before, ", texmode_independent", textures={"t": pl.Texture(IMAGE[0])})
    assert got.view(np.float32)[:, 0].tolist() == [0, 0]
    with pytest.raises(DeviceFault) as caught:
        run(device, body, where, 0, before, ", texmode_independent")
    assert caught.value.message == "tex.1d.v4.f32.f32: t is not a texture; write: pl.Texture(array)"


SURFACES = {
    "1d": ("{%r3}", (6,)),
    "2d": ("{%r3, 1}", (3, 6)),
    "3d": ("{%r3, 1, 2, 0}", (4, 3, 6)),
    "a1d": ("{2, %r3}", (3, 6)),
    "a2d": ("{2, %r3, 1, 0}", (3, 2, 6)),
}


@pytest.mark.sweep(2)
@pytest.mark.parametrize("geometry", SURFACES)
def test_surfaces(device: str, geometry: str) -> None:
    place, shape = SURFACES[geometry]
    words = np.arange(math.prod(shape), dtype=np.uint32).reshape(shape)
    row = words[(2, 1) if len(shape) == 3 else (2,) if geometry == "a1d" else (1,) if geometry == "2d" else ...]
    before, surface = row.copy(), pl.Surface(words, layers=geometry[0] == "a")
    body = f"""shl.b32 %r3, %r3, 2;
    suld.b.{geometry}.b32.trap %r4, [%rd3, {place}];
    add.u32 %r5, %r4, 100;
    sust.b.{geometry}.b32.trap [%rd3, {place}], %r5;
    sust.b.{geometry}.b8.trap [%rd3, {place.replace("%r3", "0")}], 9;
    sub.u32 %r8, %r3, 4;
    suld.b.{geometry}.b32.zero %r6, [%rd3, {place.replace("%r3", "%r8")}];
    suld.b.{geometry}.v2.b16.clamp {{%h1, %h2}}, [%rd3, {place.replace("%r3", "1000")}];
    cvt.u32.u16 %r7, %h1;"""
    got = run(device, body, np.zeros((6, 4), np.float32), surface)
    assert got[:, 0].tolist() == before.tolist()
    assert row[1:].tolist() == (before + 100)[1:].tolist()
    assert row[0] == (before[0] + 100) // 256 * 256 + 9
    assert got[0, 2] == 0


def test_one_surface_by_name_and_as_an_argument(device: str) -> None:
    words = np.array([5, 6], np.uint32)
    surface = pl.Surface(words)
    body = """sust.b.1d.b32.trap [%rd3, {4}], 9;
    suld.b.1d.b32.trap %r4, [s, {4}];"""
    before = ".global .surfref s;"
    got = run(device, body, np.zeros((1, 4), np.float32), surface, before, textures={"s": surface})
    assert (got[0, 0], words.tolist()) == (9, [5, 9])


def test_surfaces_with_atomics_and_outside(device: str) -> None:
    words = np.array([5, 6], np.uint32)
    body = """sured.b.add.1d.u32.trap [%rd3, {0}], %r3;
    sured.b.max.1d.s32.clamp [%rd3, {99}], %r3;
    sured.b.or.1d.b32.zero [%rd3, {-8}], %r3;
    sust.b.1d.v2.b32.zero [%rd3, {4}], {%r3, %r3};
    mov.b16 %h1, 3;
    suld.b.1d.b8.zero %h1, [%rd3, {8}];
    cvt.u32.u16 %r4, %h1;
    suld.b.1d.v4.b8.trap {%h2, %h3, %h4, %h5}, [%rd3, {0}];
    sust.b.1d.v4.b8.trap [%rd3, {4}], {%h1, %h1, %h1, %h1};
    sust.b.1d.v2.b32.zero [%rd3, {4}], {%r3, %r3};
    sust.b.1d.b32.zero [%rd3, {4}], %r3;
    suq.width.b32 %r5, [%rd3];"""
    got = run(device, body, np.zeros((8, 4), np.float32), pl.Surface(words))
    assert words.tolist() == [5 + 28, 7]
    assert got[0, :2].tolist() == [0, 2]
    with pytest.raises(DeviceFault) as caught:
        run(device, "sust.b.1d.b32.trap [%rd3, {8}], 1;", np.zeros((1, 4), np.float32), pl.Surface(words))
    assert caught.value.message == "sust.b.1d.b32.trap: the coordinates are outside of the surface"
    assert (caught.value.source or "").strip() == "sust.b.1d.b32.trap [%rd3, {8}], 1;"


RIGHT = {"never": np.less, "less": np.less, "equal": np.equal, "less_equal": np.less_equal, "greater": np.greater,
         "not_equal": np.not_equal, "greater_equal": np.greater_equal, "always": np.equal}  # fmt: skip


@pytest.mark.sweep(5)
@pytest.mark.parametrize("filter", ["point", "linear"])
@pytest.mark.parametrize("compare", RIGHT)
def test_depths(device: str, compare: str, filter: str) -> None:
    """A depth is compared with each texel first; then the results are filtered."""
    image = np.random.default_rng(2).integers(0, 3, (5, 6, 1)).astype(np.float32)
    where = places(64, -1, 7)
    where[:, 2] = np.random.default_rng(3).integers(0, 3, 64)
    body = LOOK["2d"].format("f32").replace("]", "], %z").replace("], %z, %z", "], %z")
    texture = pl.Texture(image[..., 0], filter=filter, compare=compare)
    got = run(device, body, where, texture).view(np.float32)
    for place, found in zip(where, got, strict=True):
        holds = RIGHT[compare](place[2], image) if compare not in ("never", "always") else compare == "always"
        against = np.broadcast_to(holds, image.shape).astype(np.float32)
        wanted = lookup(against, place[:2], linear=filter == "linear", address="clamp", normalized=False)
        np.testing.assert_allclose(found, [*wanted, 0, 0, 1], atol=2e-6)


def test_depths_gathered_and_textures_without(device: str) -> None:
    where = np.array([[1, 1, 4, 0]], np.float32)
    body = "tld4.r.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd3, {%x, %y}], %z;" + "".join(
        f"\n    mov.b32 %r{k + 3}, %f{k};" for k in (1, 2, 3, 4)
    )
    got = run(device, body, where, pl.Texture(IMAGE, compare="less"))
    assert got.view(np.float32).tolist() == [[0, 1, 0, 0]]  # 4 < 4, 5, 1, 0
    with pytest.raises(DeviceFault) as caught:
        run(device, body, where, pl.Texture(IMAGE))
    assert caught.value.message == (
        "tld4.r.2d.v4.f32.f32: %rd3 is not a depth texture; write: pl.Texture(..., compare='less_equal')"
    )
    deep = LOOK["3d"].format("f32").replace("]", "], %w")
    with pytest.raises(UnsupportedInstruction) as refused:
        run(device, deep, where, pl.Texture(IMAGE))
    assert refused.value.message.endswith(
        "depths are compared in textures of 1d, 2d, a1d, a2d, cube and acube: tex.3d.v4.f32.f32 has the operand %w"
    )


@pytest.mark.sweep(13)
@pytest.mark.parametrize("form", ["level", "grad"])
@pytest.mark.parametrize("mip_filter", ["point", "linear"])
@pytest.mark.parametrize("geometry", ["1d", "2d", "3d", "a2d", "cube"])
def test_mipmaps(device: str, geometry: str, mip_filter: str, form: str) -> None:
    """The level is given, or chosen by the longer one of two derivatives in texels."""
    rng, layers = np.random.default_rng(4), geometry[0] == "a"
    sizes = {"1d": (13,), "2d": (6, 9), "3d": (4, 5, 6), "a2d": (6, 9), "cube": (8, 8)}[geometry]
    first = {"a2d": (2,), "cube": (6,)}.get(geometry, ())
    levels = [rng.normal(size=(*first, *(max(n >> k, 1) for n in sizes))).astype(np.float32) for k in range(4)]
    texture = pl.Texture(
        levels[0],
        levels=levels[1:],
        mip_filter=mip_filter,
        filter="linear",
        normalized=True,
        layers=layers,
        cube=geometry == "cube",
    )
    where = places(24, 0.1, 0.9, seed=5)
    where[:, 3] = np.linspace(-1, 4, 24)  # the level
    if geometry == "cube":
        where[:, 0] = 1  # the face +x
    coordinates = {"1d": "{%x}", "2d": "{%x, %y}", "3d": "{%x, %y, %z, %z}", "a2d": "{1, %x, %y, %y}",
                   "cube": "{%x, %y, %z, %z}"}[geometry]  # fmt: skip
    widest = max(sizes)
    if form == "level":
        more = "%w"
    else:  # the second derivative is along the widest axis and the longer one: 2**level texels of it
        along = ["%f2" if n == widest else "%f3" for n in sizes[::-1]]
        along = along[: along.index("%f2") + 1] + ["%f3"] * (len(along) - along.index("%f2") - 1)
        slopes = [
            "{" + ", ".join((each * 4)[:4] if geometry in ("3d", "cube") else each) + "}"
            for each in (["%f3"] * len(sizes), along)
        ]
        more = ", ".join(slopes)
    body = f"""ex2.approx.f32 %f2, %w;
    div.rn.f32 %f2, %f2, {float(widest)};
    mov.f32 %f3, 0f00000000;
    tex.{form}.{geometry}.v4.f32.f32 {{%r4, %r5, %r6, %r7}}, [%rd3, {coordinates}], {more};"""
    if form == "grad" and geometry == "cube":
        with pytest.raises(DeviceFault, match=r"derivatives choose no mipmap level of a cube here; write: tex\.level"):
            run(device, body, where, texture)
        return
    got = run(device, body, where, texture).view(np.float32)

    def at(place: Any, level: int) -> Any:
        image = levels[min(level, 3)][..., None]
        if geometry == "cube":
            image, place = image[0], ((1 - place[2]) / 2, (1 - place[1]) / 2)
        elif layers:
            image = image[1]
        return lookup(image, place[: len(sizes)], linear=True, address="clamp", normalized=True)

    tolerance = 2e-6 if form == "level" else 2e-2  # `lg2.approx`: a fraction may be rounded the other way
    for place, found in zip(where, got, strict=True):
        level = min(max(float(place[3]), 0.0), 3.0)
        weight = np.round(256 * (level % 1)) / 256
        low, high = (
            (math.floor(level), math.floor(level) + 1) if mip_filter == "linear" else 2 * (math.floor(level + 0.5),)
        )
        np.testing.assert_allclose(found[0], (1 - weight) * at(place, low) + weight * at(place, high), atol=tolerance)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("geometry", ["cube", "acube"])
def test_seamless_cubes(device: str, geometry: str) -> None:
    """What is read on an edge or at a corner is the same from each face; away from edges nothing changes."""
    image = np.random.default_rng(6).normal(size=(12 if geometry == "acube" else 6, 5, 5)).astype(np.float32)
    layer = np.uint32(1).view(np.float32)
    near, sides = np.float32(1 - 2**-20), []
    for a, b in ((0, 1), (1, 2), (0, 2)):
        for s in (-1, 1):
            for t in (-1, 1):
                for along in (-0.9, -0.37, 0.2, 0.75, near):
                    place = [along, along, along, layer]
                    for big, small in ((a, b), (b, a)):
                        one = list(place)
                        one[big], one[small] = (s, t * near) if big == a else (t, s * near)
                        sides.append(one)
    where = np.array(sides, np.float32)
    where[:, 3] = layer
    texture = pl.Texture(image, cube=True, filter="linear", seamless=True)
    got = run(device, LOOK[geometry].format("f32"), where, texture).view(np.float32)[:, 0]
    np.testing.assert_allclose(got[0::2], got[1::2], atol=2e-2)  # a fraction of 1/256 may fall the other way
    plain = run(device, LOOK[geometry].format("f32"), where, pl.Texture(image, cube=True, filter="linear"))
    apart = np.abs(plain.view(np.float32)[0::2, 0] - plain.view(np.float32)[1::2, 0])
    assert (apart > 0.1).mean() > 0.7
    inside = np.array([[1, 0.3, -0.5, 0], [-0.2, 0.6, -1, 0], [0.1, 1, 0.55, 0]], np.float32)
    seen = [
        run(device, LOOK[geometry].format("f32"), inside, pl.Texture(image, cube=True, filter="linear", seamless=s))
        for s in (False, True)
    ]
    assert (seen[0] == seen[1]).all()


def test_no_texture(device: str) -> None:
    with pytest.raises(DeviceFault) as caught:
        run(device, LOOK["1d"].format("f32"), np.zeros((1, 4), np.float32), pl.Surface(np.zeros(4, np.uint8)))
    assert caught.value.message == "tex.1d.v4.f32.f32: %rd3 is not a texture; write: pl.Texture(array)"
    image = np.zeros(64, np.float32)
    with pytest.raises(DeviceFault) as caught:
        run(device, LOOK["1d"].format("f32"), np.zeros((1, 4), np.float32), image)
    assert caught.value.message == "tex.1d.v4.f32.f32: %rd3 is not a texture; write: pl.Texture(array)"


def test_what_textures_count() -> None:
    where = np.full((32, 4), 1.5, np.float32)
    module = pl.parse(KERNEL.format(body=LOOK["2d"].format("f32"), before="", mode=""))
    done = pl.launch(module, 1, 32, np.zeros((32, 4), np.uint32), where, pl.Texture(IMAGE), counters=True)
    assert done.counters.opcodes["tex.2d.v4.f32.f32"] == (1, 32)


F32 = np.zeros((4, 4), np.float32)


@pytest.mark.parametrize(("make", "message"), [
    (lambda: pl.Texture([1, 2]), "Texture: expected an array, got list"),
    (lambda: pl.Texture(F32.astype(float)), "Texture: texels cannot have type float64; choose from int8, "
     "int16, int32, uint8, uint16, uint32, float16, float32"),
    (lambda: pl.Texture(F32, channels=3), "Texture: a texel has 1, 2 or 4 channels, got channels=3"),
    (lambda: pl.Texture(F32, channels=2), "Texture: with channels=2 the last dimension of the array must be 2; "
     "the shape is (4, 4)"),
    (lambda: pl.Texture(F32[0], layers=True), "Texture: expected an array of 1 to 2 dimensions "
     "besides the layers, got 0"),
    (lambda: pl.Texture(F32, filter="cubic"), "Texture: filter must be one of 'point', 'linear', got 'cubic'"),
    (lambda: pl.Texture(F32, address="wrap"), "Texture: 'wrap' and 'mirror' need normalized coordinates\n"
     "  write:  normalized=True"),
    (lambda: pl.Texture(F32, read="normalized"), "Texture: read='normalized' is for int8, int16, uint8, uint16; the "
     "array holds float32"),
    (lambda: pl.Texture(F32.astype(np.uint8), filter="linear"), "Texture: a linear filter gives fractions, and uint8 "
     "is read as an integer\n  write:  read='normalized', or pass array.astype(np.float32)"),
    (lambda: pl.Texture(F32, cube=True), "Texture: a cube has six square faces; the array's shape is (4, 4)"),
    (lambda: pl.Texture(F32, compare="smaller"), "Texture: compare must be one of 'never', 'less', 'equal', "
     "'less_equal', "
     "'greater', 'not_equal', 'greater_equal', 'always', got 'smaller'"),
    (lambda: pl.Texture(F32, channels=4, compare="less"), "Texture: compare= needs depths, floats of one "
     "channel; the array holds float32 in 4 channels"),
    (lambda: pl.Texture(F32, levels=[F32]), "Texture: level 1 of float32 [4, 4] must have shape (2, 2), got "
     "float32 (4, 4)"),
    (lambda: pl.Texture(F32, seamless=True), "Texture: seamless is for cubes\n  write:  cube=True"),
    (lambda: pl.Texture(F32[:0]), "Texture: the array is empty, its shape is (0, 4)"),
    (lambda: pl.Surface(F32.T[1:]), "Surface: the array must be C-contiguous and writable"),
])  # fmt: skip
def test_what_is_no_texture(make: Any, message: str) -> None:
    with pytest.raises(LaunchError) as caught:
        make()
    assert str(caught.value) == message


def test_where_no_texture_goes() -> None:
    def refused(*args: Any, **options: Any) -> str:
        with pytest.raises(LaunchError) as caught:
            pl.launch(KERNEL.format(body="", before=".global .surfref s;", mode=""), 1, 1, *args, **options)
        return str(caught.value)

    surface = pl.Surface(F32)
    assert refused(surface, F32, 0) == (
        "look: out is a surface of the array given for where; pass the same pl.Surface to both, or a copy of the array"
    )
    assert refused(0, 0, 0, textures={"t": surface}) == ("textures: look has no .texref or .surfref 't'; it has s")
    assert refused(0, 0, 0, textures={"s": pl.Texture(F32)}) == (
        "textures: s is a .surfref and needs a pl.Surface, got Texture(float32 [4, 4], point)"
    )
    assert refused(0, 0, surface, device="gpu") == "textures belong to the emulator; write device='cpu'"


@pytest.mark.long
@pytest.mark.sweep(17)
@pytest.mark.parametrize("geometry", ["1d", "2d", "3d", "a1d", "a2d", "cube", "acube", "2dms", "a2dms"])
def test_every_form_of_a_lookup(device: str, geometry: str) -> None:
    """Levels and types give what the plain lookup gives: there is one level."""
    count = {"1d": 1, "2d": 2, "3d": 4, "a1d": 2, "a2d": 4}.get(geometry, 4)
    ctype = "s32" if geometry.endswith("ms") else "f32"
    shape = {"1d": (4,), "2d": (3, 4), "3d": (3, 3, 4), "a1d": (2, 4), "a2d": (2, 3, 4), "2dms": (3, 4)}.get(geometry)
    image = np.arange(math.prod(shape or (12, 3, 3)), dtype=np.float32).reshape(shape or (12, 3, 3))
    cube = geometry.endswith("cube")
    texture = pl.Texture(image if geometry != "a2dms" else image[:2], layers=geometry[0] == "a", cube=cube)
    place = {"a1d": "%r3, %x", "a2d": "%r3, %x, %y, %y", "acube": "%r3, %x, %y, %z", "2dms": "0, %r3, 1, 0"}
    place |= {"a2dms": "1, 0, %r3, 2", "3d": "%x, %y, %z, %z", "cube": "%x, %y, %z, %z"}
    at = f"[%rd3, {{{place.get(geometry, ', '.join('%x %y'.split()[:count]))}}}]"
    axes = {"1d": 1, "a1d": 1, "2d": 2, "a2d": 2}.get(geometry, 4)
    slope = "{" + ", ".join(["%x"] * axes) + "}"
    body = ["mov.b32 %r6, 0;", "mov.b32 %r7, 0;"]
    forms = (
        [("", "")]
        if ctype == "s32"
        else [("", ""), (".base", ""), (".level", ", %x"), (".grad", f", {slope}, {slope}")]
    )
    for mip, more in forms:
        body += [
            f"tex{mip}.{geometry}.v4.f32.{ctype} {{%f1, _, _, %f4}}, {at}{more};",
            f"tex{mip}.{geometry}.v4.f16.{ctype} {{%h1, %h2, %h3, %h4}}, {at}{more};",
            f"tex{mip}.{geometry}.v2.f16x2.{ctype} {{%r4, %r5}}, {at}{more};",
            "mov.b32 {%h5, %h6}, %r4;", "cvt.f32.f16 %f2, %h5;", "cvt.f32.f16 %f3, %h1;", "add.f32 %f5, %f2, %f3;",
            "sub.f32 %f5, %f5, %f1;", "setp.ne.f32 %p1, %f5, %f1;", "@%p1 add.u32 %r6, %r6, 1;", "mov.b32 %r4, %f1;",
            "mov.b32 %r5, %f4;",
        ]  # fmt: skip
    where = np.random.default_rng(3).uniform(0.25, 3, (8, 4)).astype(np.float32)
    got = run(device, "\n    ".join(body), where, texture)
    assert not got[:, 2].any()
    values = got[:, 0].view(np.float32)
    assert (got[:, 1].view(np.float32) == 1).all()
    assert len(set(values)) > 1
    if geometry == "2dms":
        assert values.tolist() == [4, 5, 6, 7, 7, 7, 7, 7]


@pytest.mark.sweep(5)
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float16", "float32", "int32"])
def test_formatted_stores(device: str, dtype: str) -> None:
    image = np.zeros((2, 4, 2), dtype)
    value = "0f3FC00000" if dtype[0] == "f" else "-5" if dtype[0] == "i" else "300"
    body = f"mov.b32 %r4, {value};\n    mov.b32 %r5, 7;\n"
    body += "    sust.p.2d.v2.b32.zero [%rd3, {%r3, 1}], {%r4, %r4};\n    sust.p.1d.b32.clamp [%rd3, {%r3}], %r4;"
    body += "\n    sust.p.2d.v4.b32.trap [%rd3, {0, 0}], {%r4, %r4, %r4, %r4};"
    run(device, body, np.zeros((6, 4), np.float32), pl.Surface(image, channels=2))
    wanted = {"uint8": 255, "int16": -5, "int32": -5}.get(dtype, 1.5)
    assert (image[1] == wanted).all()
    assert image[0, 0].tolist() == [wanted, wanted]
    assert (image[0, 1:, 0] == wanted).all()


@pytest.mark.parametrize("dtype", ["uint32", "int32"])
def test_reductions_of_texels(device: str, dtype: str) -> None:
    image = np.array([[1, 1], [1, 1]], dtype)
    body = """mov.b32 %r4, -3;
    sured.p.min.2d.b32.trap [%rd3, {1, 0}], %r4;
    sured.p.max.2d.b32.zero [%rd3, {0, 1}], %r4;
    sured.p.add.2d.b32.clamp [%rd3, {9, 9}], %r3;
    sured.p.or.1d.b32.trap [%rd3, {0}], 2;"""
    run(device, body, np.zeros((3, 4), np.float32), pl.Surface(image))
    large = -3 % (1 << 32)
    assert image.tolist() == ([[3, 1], [large, 4]] if dtype == "uint32" else [[3, -3], [1, 4]])


def test_wide_reductions_of_texels(device: str) -> None:
    """A texel of two words, signed, takes a minimum of 64 bits."""
    image = np.array([[1, 0], [1, 0]], np.int32)
    text = "mov.b64 %rd5, -3;\n    sured.p.min.1d.b64.trap [%rd3, {1}], %rd5;\n    "
    text += "sured.b.max.1d.s64.trap [%rd3, {0}], 9;\n    sured.b.min.1d.u64.trap [%rd3, {0}], 8;"
    run(device, text, np.zeros((1, 4), np.float32), pl.Surface(image, channels=2))
    assert image.view(np.int64).tolist() == [[8], [-3]]
