"""Which mipmap levels `tex.level` and `tex.grad` read, as PTX: one, or two that are interpolated."""

from __future__ import annotations

from collections.abc import Mapping

from ptxlab.isa.texture_object import AT

LEVELS = f"""
.reg .b32 %count, %lev0, %lev1, %mips; .reg .f32 %l, %weight, %most, %m, %g; .reg .pred %blend;
ld.global.b32 %count, [%t+{AT["num_mipmap_levels"]}];
sub.u32 %count, %count, 1;
cvt.rn.f32.u32 %most, %count;
ld.global.b32 %mips, [%s+{AT["mip_filter"]}];
setp.ne.u32 %blend, %mips, 0;
"""
"""Registers of an instruction with a level, and the fields of the texture object that it reads."""
LEVEL_DATA = f"""
ld.global.b64 %at, [%t+{AT["levels"]}];
add.u64 %at, %at, %t;
mad.wide.u32 %data, %lev, 8, %at;
ld.global.b64 %data, [%data];
add.u64 %data, %data, %at;
"""
"""Where the texels of the level %lev lie."""
BETWEEN = """
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
BLENDED = """
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


def given(integers: bool) -> str:
    """The level %l from an operand, which is an integer where coordinates are integers."""
    return "cvt.rn.f32.s32 %l, %lod;\n" if integers else "mov.f32 %l, %lod;\n"


def by_slopes(geometry: str, sizes: Mapping[str, str]) -> str:
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
