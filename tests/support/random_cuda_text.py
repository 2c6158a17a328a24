"""The texts of random kernels in CUDA C++ (see `random_cuda`), which a C++ compiler takes too."""

from __future__ import annotations

import random
from dataclasses import dataclass

BOTH = """
typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16; typedef int i32;
typedef unsigned u32; typedef long long i64; typedef unsigned long long u64; typedef float f32; typedef double f64;
struct S { u8 b[3]; i16 h; u32 w; f32 f; u64 q; };
struct Pair { u8 b[2]; i16 h; };
"""
"""What both compilers are given."""

LINK = """extern "C" void run_{name}(void **p, const unsigned *sizes, int n, int m) {{
    run_grid(sizes, [&]() {{ {name}({given}, n, m); }});
}}
"""

BITS = {"i8": 8, "u8": 8, "i16": 16, "u16": 16, "i32": 32, "u32": 32, "i64": 64, "u64": 64, "f32": 32, "f64": 64}
INTS = ("i8", "u8", "i16", "u16", "i32", "u32", "u32", "i32", "i64", "u64")
TYPES = (*INTS, "f32", "f32", "f64")
BLOCKS = ((32,), (64,), (96,), (128,), (100,), (33,), (7,), (1,), (256,), (32, 4), (16, 16), (8, 8), (16, 5), (32, 3),
    (20, 3), (64, 2), (5, 7), (8, 8, 2), (8, 4, 4), (4, 4, 4), (16, 4, 3), (3, 5, 7), (32, 2, 2))  # fmt: skip
GRIDS = ((1,), (2,), (3,), (5,), (9,), (2, 2), (3, 2), (1, 4), (2, 2, 2), (1, 1, 3))
LARGEST = 1024
"""Threads of a grid, at most."""


@dataclass
class Array:
    """An array that a kernel is given. count: its elements; small: how many of its bytes are zero."""

    name: str
    type: str
    count: int
    size: int
    small: float = 0.0
    unwritten: bool = False


def three(sizes: tuple[int, ...]) -> tuple[int, int, int]:
    """With ones in the place of dimensions that are missing."""
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


class Text:
    """A kernel's text, made from random numbers."""

    FAULTY = 0.12
    """How many may leave an array."""

    def __init__(self, draw: random.Random, name: str) -> None:
        self.draw, self.name = draw, name
        while True:
            block, grid = draw.choice(BLOCKS), draw.choice(GRIDS)
            self.block, self.grid = three(block), three(grid)
            bx, by, bz = self.block
            gx, gy, gz = self.grid
            self.threads, self.of_block = bx * by * bz * gx * gy * gz, bx * by * bz
            if self.threads <= LARGEST:
                break
        self.wide, self.high, self.deep = bx * gx, by * gy, bz * gz
        self.faulty, self.approximate = draw.random() < self.FAULTY, draw.random() < 0.08
        self.together = self.of_block % 32 == 0
        self.arrays, self.variables, self.loops, self.functions = list[Array](), dict[str, str](), 0, list[str]()
        self.inputs, self.outputs = list[str](), dict[str, tuple[str, int, str]]()
        self.left, self.depth, self.names, self.shared = draw.choice((6, 10, 16, 24)), 0, 0, list[str]()
        self.returned = False
        self._write()

    # -- small things ----------------------------------------------------------------------------------------------

    def new(self, prefix: str = "v") -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def chance(self, p: float) -> bool:
        return self.draw.random() < p

    def cast(self, text: str, old: str, new: str) -> str:
        if old == new:
            return text
        if old in ("f32", "f64") and new not in ("f32", "f64"):
            f = "__float2int_rz" if old == "f32" else "__double2int_rz"
            return f"({new}){f}({text})"
        return f"({new})({text})"

    def number(self, kind: str) -> str:
        if kind in ("f32", "f64"):
            n = self.draw.choice(("0.0", "1.0", "-1.5", "0.25", "3.0e10", "1e-39", "-7.0", "100.5"))
            return n + "f" if kind == "f32" else n
        if kind in ("i64", "u64"):
            return f"({kind}){self.draw.choice((0, 1, 3, 77, 255, 65536, 123456789012))}ll"
        return f"({kind}){self.draw.choice((0, 1, 2, 3, 7, 8, 31, 100, 127, 128, 255, 256, 1000, 65535, 0x12345678))}"

    # -- expressions -----------------------------------------------------------------------------------------------

    def expression(self, kind: str, depth: int = 0) -> str:
        draw = self.draw
        if depth >= 3 or self.chance(0.25 + 0.15 * depth):
            return self.leaf(kind)
        if self.chance(0.15):
            other = draw.choice(TYPES)
            return self.cast(self.expression(other, depth + 1), other, kind)
        if self.chance(0.12):
            yes, no = self.expression(kind, depth + 1), self.expression(kind, depth + 1)
            return f"({self.condition(depth + 1)} ? {yes} : {no})"
        a, b = self.expression(kind, depth + 1), self.expression(kind, depth + 1)
        if kind in ("f32", "f64"):
            f = "f" if kind == "f32" else ""
            if self.approximate and kind == "f32" and self.chance(0.3):
                return draw.choice(("__expf({})", "exp2f({})", "__logf({})", "__sinf({})", "rsqrtf({})")).format(a)
            form = draw.choice(
                (
                    "({a} + {b})", "({a} - {b})", "({a} * {b})", "fmin{f}({a}, {b})", "fmax{f}({a}, {b})",
                    "fabs{f}({a})", "({a} / {b})", "sqrt{f}({a})", "fma{f}({a}, {b}, {a})", "floor{f}({a})",
                )
            )  # fmt: skip
            return form.format(a=a, b=b, f=f)
        u = "u64" if BITS[kind] == 64 else "u32"
        wide = kind if BITS[kind] >= 32 else "i32"
        mask = 63 if BITS[kind] == 64 else 31
        if u == "u32" and self.chance(0.15):
            form = draw.choice(
                (
                    "__popc((u32)({a}))",
                    "__clz((i32)({a}))",
                    "__ffs((i32)({a}))",
                    "__brev((u32)({a}))",
                    "__umulhi((u32)({a}), (u32)({b}))",
                    "__byte_perm((u32)({a}), (u32)({b}), (u32)({b}) & 0x7777)",
                    "__funnelshift_l((u32)({a}), (u32)({b}), (u32)({b}))",
                    "__vadd4((u32)({a}), (u32)({b}))",
                )
            )
        else:
            form = draw.choice(
                (
                    "({u})({a}) + ({u})({b})", "({u})({a}) + ({u})({b})", "({u})({a}) - ({u})({b})",
                    "({u})({a}) * ({u})({b})", "({u})({a}) & ({u})({b})", "({u})({a}) | ({u})({b})",
                    "({u})({a}) ^ ({u})({b})", "({u})({a}) << (({a}) & {mask})",
                    "({wide})({a}) >> (({b}) & {mask})", "({u})({a}) / (({u})({b}) | 1)",
                    "({u})({a}) % (({u})({b}) | 1)", "({wide})({a}) / ({wide})((({b}) & 63) | 1)",
                    "({wide})({a}) % ({wide})((({b}) & 63) | 1)", "({a}) < ({b}) ? ({a}) : ({b})",
                    "({a}) > ({b}) ? ({a}) : ({b})",
                )
            )  # fmt: skip
        return f"({kind})({form.format(a=a, b=b, u=u, wide=wide, mask=mask)})"

    def condition(self, depth: int = 0) -> str:
        kind = self.draw.choice(TYPES)
        sign = self.draw.choice(("<", "<=", ">", ">=", "==", "!="))
        if self.chance(0.2):
            return (
                f"({self.condition(depth + 1)} {self.draw.choice(('&&', '||'))} {self.condition(depth + 1)})"
                if depth < 2
                else "(i & 1)"
            )
        if self.chance(0.25):
            return self.draw.choice(
                ("(i & 1)", "(i % 3 == 0)", "(x < 5)", "(i < n)", "(lane < 16)", "(x == 0)", "(y & 1)", "(i > m)")
            )
        return f"({self.expression(kind, depth + 1)} {sign} {self.expression(kind, depth + 1)})"

    def leaf(self, kind: str) -> str:
        draw = self.draw
        if self.chance(0.3) and self.inputs:
            name = draw.choice(self.inputs)
            given = next(a for a in self.arrays if a.name == name)
            return self.cast(f"{name}[{self.index(given.count)}]", given.type, kind)
        if self.chance(0.75) and self.variables:
            name = draw.choice(list(self.variables))
            return self.cast(name, self.variables[name], kind)
        if self.chance(0.4):
            return self.cast(draw.choice(("i", "i", "x", "y", "n", "m", "lane")), "i32", kind)
        return self.number(kind)

    def index(self, count: int) -> str:
        """An index below a number of elements, which is more than four times that of the threads and 64."""
        draw, few = self.draw, self.draw.randrange(1, 33)
        if self.faulty and self.chance(0.05):
            return draw.choice(
                (f"i * {few}", f"i - {few}", f"{count} - 16 + lane", "(i32)in0[i]", "i + 100000 * (i == 77)")
            )
        if self.chance(0.25):
            return f"({self.expression('u32', 2)}) % {count}u"
        row, slice_ = f"y * {self.wide} + x", f"z * {self.wide * self.high}"
        forms = ["i", "i", "i", "i * 2", "i * 2 + 1", "i * 3 + 2", "i ^ 1", "i >> 1", "x", "y", "z", "n", "m", "lane",
            "blockIdx.x", "threadIdx.x", "threadIdx.x * 3 + 1", f"i + {few}", f"i * 4 + {few % 4}", f"{count - 1} - i",
            row, f"{row} + {few}", f"x * {self.high} + y", f"({row}) * 4 + {few % 4}", f"{slice_} + {row}",
            f"i / {few}", f"i % {few}", f"(i + {few}) & 31", f"larger_int(i - {few}, 0)"]  # fmt: skip
        forms += [f"i * 4 + (j{k} & 3)" for k in range(self.loops)] * 2
        forms += [f"i + j{k}" for k in range(self.loops)] * 2
        return draw.choice(forms)

    # -- statements ------------------------------------------------------------------------------------------------

    def body(self, indent: str) -> list[str]:
        """Some statements of a block. What it declares ends with it."""
        kept, lines = dict(self.variables), list[str]()
        for _ in range(self.draw.randrange(1, 4)):
            if self.left <= 0:
                break
            lines += [indent + line for line in self.statement()]
        self.variables = kept
        return lines or [indent + ";"]

    def statement(self) -> list[str]:
        self.left -= 1
        draw = self.draw
        ways = [self.declares] * 3 + [self.assigns] * 5 + [self.stores] * 6 + [self.adds_to_all] * 1
        if self.depth < 3:
            ways += [self.branches] * 4 + [self.counted] * 3 + [self.switches, self.loops_by_data, self.loops_by_data]
        ways += [
            self.leaves, self.keeps_local, self.swaps, self.run_of_elements, self.run_of_elements, self.vectors,
            self.calls, self.structure, self.structure,
        ]  # fmt: skip
        if self.depth == 0 and not self.returned:
            ways += [self.shares] * 2
            if self.together:
                ways += [self.shuffles] * 3
        return draw.choice(ways)()

    def declares(self) -> list[str]:
        kind, value = self.draw.choice(TYPES), ""
        value = self.expression(kind)
        name = self.new()
        self.variables[name] = kind
        return [f"{kind} {name} = {value};"]

    def assigns(self) -> list[str]:
        own = [v for v in self.variables if not v.startswith("j")]
        if not own:
            return self.declares()
        name = self.draw.choice(own)
        return [f"{name} = {self.expression(self.variables[name])};"]

    def place(self, name: str, k: str) -> str:
        """Element k of those that are a thread's own in an output."""
        _, count, layout = self.outputs[name]
        return {
            "rows": f"{name}[i * {count} + {k}]",
            "columns": f"{name}[({k}) * {self.threads} + i]",
            "pixels": f"{name}[(y * {self.wide} + x) * {count} + {k} + z * {self.wide * self.high * count}]",
            "back": f"{name}[({self.threads} - 1 - i) * {count} + {k}]",
            "turned": f"{name}[((x * {self.high} + y) * {self.deep} + z) * {count} + {k}]",
        }[layout]

    def some_element(self, count: int) -> str:
        if self.faulty and self.chance(0.03):
            return f"(i == {self.draw.randrange(self.threads)} ? 100000 : 0)"
        if self.loops and self.chance(0.5):
            return f"(j{self.draw.randrange(self.loops)} % {count})"
        if self.chance(0.2):
            return f"(({self.expression('u32', 2)}) % {count}u)"
        return str(self.draw.randrange(count))

    def stores(self) -> list[str]:
        name = self.draw.choice(list(self.outputs))
        kind, count, _ = self.outputs[name]
        place = self.place(name, self.some_element(count))
        if self.chance(0.3) and kind not in ("f32", "f64"):
            u = "u64" if BITS[kind] == 64 else "u32"
            return [f"{place} = ({kind})(({u}){place} {self.draw.choice('+^-*|')} ({u})({self.expression(kind, 1)}));"]
        return [f"{place} = {self.expression(kind)};"]

    def run_of_elements(self) -> list[str]:
        """All elements of a thread, one after the other."""
        name = self.draw.choice(list(self.outputs))
        kind, count, _ = self.outputs[name]
        if self.chance(0.5):
            return [f"{self.place(name, str(k))} = {self.expression(kind, 2)};" for k in range(count)]
        j = f"j{self.loops}"
        self.loops += 1
        self.variables[j] = "i32"
        inner = self.expression(kind, 1)
        del self.variables[j]
        self.loops -= 1
        back = self.chance(0.2)
        head = f"for (int {j} = {count - 1}; {j} >= 0; {j}--)" if back else f"for (int {j} = 0; {j} < {count}; {j}++)"
        return [f"{head} {self.place(name, j)} = {inner};"]

    def adds_to_all(self) -> list[str]:
        call = self.draw.choice(("atomicAdd", "atomicMax", "atomicMin", "atomicXor", "atomicOr"))
        return [f"{call}(&all_{call[6:].lower()}[({self.expression('u32', 2)}) % 40u], {self.expression('u32', 1)});"]

    def branches(self) -> list[str]:
        self.depth += 1
        condition = self.condition()
        lines = [f"if ({condition}) {{", *self.body("    "), "}"]
        if self.chance(0.5):
            lines[-1:] = ["} else {", *self.body("    "), "}"]
        self.depth -= 1
        return lines

    def counted(self) -> list[str]:
        self.depth += 1
        j, rounds = f"j{self.loops}", self.draw.randrange(1, 7)
        until = self.draw.choice((str(rounds), str(rounds), f"(i & {rounds})", f"n % {rounds + 1}"))
        self.loops += 1
        self.variables[j] = "i32"
        lines = [f"for (int {j} = 0; {j} < {until}; {j}++) {{"]
        if self.chance(0.3):
            lines.append(f"    if ({self.condition(1)}) {self.draw.choice(('break', 'continue'))};")
        lines += [*self.body("    "), "}"]
        self.variables.pop(j)
        self.loops -= 1
        self.depth -= 1
        if self.chance(0.2):
            lines.insert(0, "#pragma unroll 1")
        return lines

    def loops_by_data(self) -> list[str]:
        self.depth += 1
        t = self.new("t")
        lines = [f"u32 {t} = {self.expression('u32', 1)} & {self.draw.choice((7, 15, 3))};", f"while ({t} != 0) {{"]
        self.variables[t] = "u32"
        lines += [line for line in self.body("    ") if not line.strip().startswith(f"{t} =")]
        if self.chance(0.2):
            lines.append(f"    if ({self.condition(1)}) break;")
        lines += [f"    {t} = {self.draw.choice((f'{t} - 1', f'{t} >> 1', f'{t} & ({t} - 1)'))};", "}"]
        self.depth -= 1
        text = "\n".join(lines)
        self.variables.pop(t)
        if text.count(f" {t} = ") > 2 or f"    {t} = " in "\n".join(lines[2:-2]):  # it would not end
            return [";"]
        return lines

    def switches(self) -> list[str]:
        self.depth += 1
        many = self.draw.choice((2, 3, 4, 5, 8))
        lines = [f"switch (({self.expression('u32', 1)}) % {many + 1}u) {{"]
        for k in range(many):
            lines += [f"case {k}: {{", *self.body("    "), "    }", *(["    break;"] if self.chance(0.7) else [])]
        lines += ["default: ;", "}"]
        self.depth -= 1
        return lines

    def leaves(self) -> list[str]:
        self.returned = True
        return [f"if ({self.condition()}) return;"]

    def keeps_local(self) -> list[str]:
        kind, name, size = self.draw.choice(TYPES), self.new("a"), self.draw.choice((2, 4, 8))
        lines = [f"{kind} {name}[{size}] = {{}};"]
        for _ in range(self.draw.randrange(1, 4)):
            lines.append(f"{name}[({self.expression('u32', 2)}) % {size}u] = {self.expression(kind, 2)};")
        v = self.new()
        lines.append(f"{kind} {v} = {name}[({self.expression('u32', 2)}) % {size}u];")
        self.variables[v] = kind
        return lines

    def swaps(self) -> list[str]:
        """Two pointers that take turns."""
        rows = [n for n, (_, count, layout) in self.outputs.items() if layout == "rows" and count >= 4]
        if not rows:
            return self.stores()
        name = self.draw.choice(rows)
        kind, count, _ = self.outputs[name]
        p, q, s = self.new("p"), self.new("p"), self.new("p")
        j = f"j{self.loops}"
        half = count // 2
        self.loops += 1
        self.variables[j] = "i32"
        value = self.expression(kind, 2)
        self.variables.pop(j)
        self.loops -= 1
        return [
            f"{kind} *{p} = {name} + i * {count}, *{q} = {p} + {half};",
            f"for (int {j} = 0; {j} < {self.draw.randrange(2, 5)}; {j}++) {{",
            f"    {p}[{j} % {half}] = {value};",
            f"    {p}[({j} + 1) % {half}] = {q}[{j} % {half}];",
            f"    {kind} *{s} = {p}; {p} = {q}; {q} = {s};",
            "}",
        ]

    def vectors(self) -> list[str]:
        """A vector loaded, and one stored."""
        kinds = {"u8": ("uchar4", 4), "u32": ("uint4", 4), "u16": ("ushort4", 4), "f32": ("float4", 4)}
        known = {a.name: a for a in self.arrays}
        loads = [n for n in self.inputs if known[n].type in kinds]
        lines = []
        if loads:
            name, v = self.draw.choice(loads), self.new("w")
            vector, _ = kinds[known[name].type]
            k = self.draw.choice(("i", "i / 2", "i ^ 1", "y", f"(({self.expression('u32', 2)}) % {self.threads}u)"))
            lines.append(f"{vector} {v} = (({self.draw.choice(('const ', ''))}{vector} *){name})[{k}];")
            for part in "xyzw"[: self.draw.randrange(1, 5)]:
                self.variables[f"{v}.{part}"] = known[name].type
        stores = [
            n
            for n, (kind, count, layout) in self.outputs.items()
            if kind in kinds and count % 4 == 0 and layout == "rows"
        ]
        if stores:
            name = self.draw.choice(stores)
            kind, count, _ = self.outputs[name]
            vector, v = kinds[kind][0], self.new("w")
            lines.append(f"{vector} {v}; " + " ".join(f"{v}.{part} = {self.expression(kind, 2)};" for part in "xyzw"))
            lines.append(f"(({vector} *)({name} + i * {count}))[{self.draw.randrange(count // 4)}] = {v};")
        return lines or self.declares()

    def structure(self) -> list[str]:
        """Something in a structure of a thread's own."""
        field, kind = self.draw.choice(
            (("b[{k}]", "u8"), ("h", "i16"), ("w", "u32"), ("f", "f32"), ("q", "u64"), ("b[{k}]", "u8"))
        )
        place = f"records[i].{field.format(k=self.draw.randrange(3))}"
        lines = [f"{place} = {self.expression(kind)};"]
        if self.chance(0.5):
            v = self.new()
            other, kind = self.draw.choice((("w", "u32"), ("h", "i16"), ("b[1]", "u8"), ("q", "u64")))
            lines.append(f"{kind} {v} = records[i].{other};")
            self.variables[v] = kind
        if self.chance(0.3):
            t = self.new("s")
            lines += [f"S {t} = records[i];", f"{t}.w = {self.expression('u32', 1)};", f"records[i] = {t};"]
        if self.chance(0.3):
            lines += [
                f"pairs[i].b[0] = {self.expression('u8', 2)};",
                f"pairs[i].b[1] = {self.expression('u8', 2)};",
                f"pairs[i].h = {self.expression('i16', 2)};",
            ]
        return lines

    def calls(self) -> list[str]:
        kind = self.draw.choice(TYPES)
        f, v = self.new("f"), self.new()
        name = self.draw.choice(list(self.outputs))
        out, count, _ = self.outputs[name]
        kept = self.variables, self.inputs, self.loops
        self.variables, self.inputs, self.loops = {"a": kind, "b": "u32"}, [], 0
        store = f"if ({self.condition(1)}) *p = {self.expression(out, 1)};"
        inner = (
            f"{store} if ({self.condition(1)}) return {self.expression(kind, 1)}; return {self.expression(kind, 1)};"
        )
        self.variables, self.inputs, self.loops = kept
        word = self.draw.choice(("__noinline__", "__noinline__", "__forceinline__"))
        self.functions.append(
            f"__device__ {word} {kind} {f}({out} *p, {kind} a, u32 b, int i, int x, int y, int z, int lane, int n, "
            f"int m) {{ {inner} }}"
        )
        place = self.place(name, self.some_element(count))
        call = f"{f}(&{place}, {self.expression(kind, 1)}, {self.expression('u32', 1)}, i, x, y, z, lane, n, m)"
        self.variables[v] = kind
        return [f"{kind} {v} = {call};"]

    def shares(self) -> list[str]:
        """Values that threads of a block pass on in shared memory."""
        kind, name, v = self.draw.choice(TYPES), self.new("tile"), self.new()
        first = self.expression(kind)
        self.variables[v] = kind
        self.shared.append(name)
        size = self.of_block
        other = self.draw.choice(
            (
                f"({size} - 1 - t)",
                f"(t + 1) % {size}",
                f"((u32)({self.expression('u32', 2).replace(v, '3')})) % {size}u",
                "t / 2",
                f"(t * 5) % {size}",
            )
        )
        return [
            f"__shared__ {kind} {name}[{size}];", f"{name}[t] = {first};", "__syncthreads();",
            f"{kind} {v} = {name}[{other}];", "__syncthreads();",
        ]  # fmt: skip

    def shuffles(self) -> list[str]:
        kind, v = self.draw.choice(("i32", "u32", "u64", "f32", "f64")), self.new()
        way = self.draw.choice(
            (
                "__shfl_xor_sync(~0u, {a}, {d})", "__shfl_up_sync(~0u, {a}, {d})",
                "__shfl_down_sync(~0u, {a}, {d})", "__shfl_sync(~0u, {a}, {d})",
                "__shfl_sync(~0u, {a}, {e} & 31)", "({kind})__ballot_sync(~0u, {c})",
                "({kind})__any_sync(~0u, {c})",
            )
        )  # fmt: skip
        d = self.draw.choice((1, 2, 4, 8, 16, 3, 5))
        text = (
            f"{kind} {v} = "
            + way.format(kind=kind, a=self.expression(kind, 1), d=d, c=self.condition(1), e=self.expression("u32", 1))
            + ";"
        )
        self.variables[v] = kind
        return [text]

    # -- the whole -------------------------------------------------------------------------------------------------

    def _write(self) -> None:
        draw, small = self.draw, self.draw.choice((0.0, 0.0, 0.5, 0.9))
        for k in range(draw.randrange(1, 5)):
            kind = draw.choice(TYPES)
            self.inputs.append(f"in{k}")
            self.arrays.append(
                Array(f"in{k}", kind, 4 * self.threads + draw.choice((64, 100, 128, 77)), BITS[kind] // 8, small)
            )
        for k in range(draw.randrange(1, 4)):
            kind, count = draw.choice(TYPES), draw.choice((1, 1, 2, 3, 4, 4, 5, 8, 16))
            layout = draw.choice(("rows", "rows", "rows", "columns", "pixels", "back", "turned"))
            self.outputs[f"out{k}"] = (kind, count, layout)
            self.arrays.append(Array(f"out{k}", kind, count * self.threads, BITS[kind] // 8, small))
        self.arrays.append(Array("records", "S", self.threads, 24, small))
        self.arrays.append(Array("pairs", "Pair", self.threads, 4, small))
        for call in ("add", "max", "min", "xor", "or"):
            self.arrays.append(Array(f"all_{call}", "u32", 40, 4))
        self.scalars = (
            draw.choice((0, 1, self.threads // 2, self.threads, 7)),
            draw.choice((0, 3, 32, self.threads - 1)),
        )
        self.pointers = [(k, 0) for k in range(len(self.arrays))]
        if self.chance(0.1):  # one array for two inputs
            same = [
                (a, b)
                for a in range(len(self.inputs))
                for b in range(a)
                if self.arrays[a].type == self.arrays[b].type and self.arrays[a].count <= self.arrays[b].count
            ]
            for a, b in same[:1]:
                self.pointers[a] = (b, 0)
        if self.faulty and self.chance(0.3):
            self.pointers[draw.randrange(len(self.arrays))] = (
                draw.randrange(len(self.arrays)),
                draw.choice((1, 2, 4, 3)),
            )
        lines = list[str]()
        guard = draw.choice(("", "", "if (i >= n) return;", "if (x >= 20) return;", "if (i > m && x != 3) return;"))
        if guard:
            self.returned = True
            lines.append(guard)
        for _ in range(3):
            lines += self.declares()
        if draw.random() < 0.3 and not guard:  # what needs all threads comes first
            for _ in range(2):
                lines += draw.choice((self.shuffles if self.together else self.shares, self.shares))()
        while self.left > 0:
            lines += self.statement()
        lines += self.stores()
        restrict = self.chance(0.2)
        listed = []
        for array in self.arrays:
            const = "const " if array.name in self.inputs else ""
            listed.append(f"{const}{array.type} *{'__restrict__ ' if restrict else ''}{array.name}")
        head = f"__global__ void {self.name}({', '.join(listed)}, int n, int m) {{"
        places = [f"{a} = blockIdx.{a} * blockDim.{a} + threadIdx.{a}" for a in "xyz"]
        several = 3 if self.deep > 1 else 2 if self.high > 1 else 1
        places[several:] = [f"{a} = 0" for a in "xyz"[several:]]
        index = f"int {', '.join(places)}, i = (z * {self.high} + y) * {self.wide} + x;"
        t = "int t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x, lane = t & 31;"
        helper = "__device__ __forceinline__ int larger_int(int a, int b) { return a > b ? a : b; }"
        self.text = "\n".join(
            [helper, *self.functions, head, "    " + index, "    " + t, *("    " + line for line in lines), "}"]
        )
        self.link = {
            "given": ", ".join(f"({a.type} *)p[{at}]" for a, (at, _) in zip(self.arrays, self.pointers, strict=True))
        }
