"""Recursion, pointers to functions, printf, structures and interpreters, as CUDA C++ programs."""

from __future__ import annotations

import numpy as np

from cuda_cases.table import Launch, close, f32, numbers, program


@program
def recursion(launch: Launch) -> None:
    a, h, parity = np.zeros(40, np.uint32), np.zeros(40, np.int32), np.zeros(40, np.uint32)
    launch("recursion", 1, 40, a, h, parity)
    t = np.arange(40)
    m, n = t % 3, t % 5
    close(a, np.select([m == 0, m == 1], [n + 1, n + 2], 2 * n + 3))
    close(h, 2 ** (t % 6) - 1 + 1000 * (t % 6))
    close(parity, (t % 2 == 0) * 2 + (t * 3 % 2 == 1))


@program
def function_pointers(launch: Launch) -> None:
    rng = numbers(42)
    x, y, which = f32(rng.integers(-9, 9, 90)), f32(rng.integers(-9, 9, 90)), rng.integers(0, 4, 90).astype(np.int32)
    out = np.zeros_like(x)
    launch("function_pointers", 2, 48, x, y, out, which, 90)
    f = (np.add, np.subtract, np.multiply, np.maximum)
    close(out, [f[w](f[w](a, b), 2) for a, b, w in zip(x, y, which, strict=True)])


@program
def virtual_functions(launch: Launch) -> None:
    x = f32(numbers(43).integers(1, 9, 70))
    out = np.zeros_like(x)
    launch("virtual_functions", 1, 96, x, out, 70)
    circle = np.float32(3.14159265) * x * x
    close(out, np.where(np.arange(70) % 3, 5 * x * x, -3 * circle), 1e-6)


@program
def printing(launch: Launch) -> None:
    x, done = f32(np.arange(40) / 3), np.zeros(40, np.int32)
    run = launch("printing", 2, 32, x, done, 40)
    lines = sorted(run.printed.splitlines(), key=lambda line: int(line.split(":")[0]) if ":" in line else -1)
    assert lines[0] == "no arguments"
    for line, i in zip(lines[1:], (3, 19, 35), strict=True):
        word, letter = "late" if i > 20 else "early", chr(ord("a") + i % 26)
        value = float(np.float32(x[i]))
        start = f"{i}: x = {value:f}, {word} {letter} {float(np.float64(x[i]) * 1000.0):5.2e}|{i * 7:<6d}|"
        assert line == f"{start}{i * 4097:06x}|{-5000000000 * i} %", line
    close(done, np.where(np.isin(np.arange(40), (3, 19, 35)), 8, 0))


@program
def asserting(launch: Launch) -> None:
    x, out = np.arange(50, dtype=np.int32), np.zeros(50, np.int32)
    launch("asserting", 2, 32, x, out, 50)
    close(out, 2 * x)


@program
def structures(launch: Launch) -> None:
    rng = numbers(44)
    layout = np.zeros(
        1,
        np.dtype(
            [("rows", "i4"), ("columns", "i4"), ("bias", "i2"), ("shift", "i1"), ("flags", "u1", 5), ("scale", "f8")]
        ),
    )
    flags = np.array([1, 2, 3, 4, 250], np.uint8)
    layout[0] = (5, 7, -300, 3, flags, 0.75)
    v = rng.integers(-3000, 3000, (35, 4)).astype(np.int16)
    out, small = np.zeros((35, 2)), np.zeros((35, 2), np.int8)
    launch("structures", 2, 32, layout.tobytes().ljust(32, b"\0"), v, out, small)
    i = np.arange(35)
    changed = np.tile(flags, (35, 1))
    changed[i, i % 4] ^= 255
    w = v.astype(np.int64)
    close(out, np.stack([(w[:, 0] - 300 + i % 4) * 1.5, (w[:, 1] << 3) - w[:, 2]], 1).astype(np.float64))
    first = (w[:, 3] + changed[i, i % 5]).astype(np.int8)
    close(small, np.stack([first, (-changed[i, i & 3].astype(np.int64)).astype(np.int8)], 1))


@program
def state_machine(launch: Launch) -> None:
    codes = np.full((4, 16), 255, np.uint8)
    #                 dup  dup mul  push 7 add  loop: push 1 sub dup ifpos
    codes[0, :5] = [0, 0, 2, 1, 255]
    codes[1, :9] = [4, 1, 6, 0, 5, 0, 3, 9, 255]
    codes[2, :8] = [0, 9, 2, 4, 100, 6, 3, 255]
    codes[3, :9] = [0, 4, 21, 7, 8, 2, 0, 1, 255]
    value = (np.arange(40) * 5 - 60).astype(np.int32)
    out = np.zeros((40, 2), np.int32)
    launch("state_machine", 2, 20, codes, 16, value, out)

    def interpret(code: np.ndarray, value: int) -> tuple[int, int]:
        stack, pc, steps = [value], 0, 0
        while steps < 200 and (op := int(code[pc])) < 10:
            pc += 1
            if op == 0:
                stack.append(stack[-1])
            elif op == 3:
                stack[-1] = -stack[-1]
            elif op == 4:
                stack.append(int(code[pc]))
                pc += 1
            elif op == 5:
                pc = int(code[pc]) if stack.pop() > 0 else pc + 1
            elif op == 7:
                stack[-1], stack[-2] = stack[-2], stack[-1]
            elif op == 9:
                stack[-1] = (stack[-1] & 0xFFFFFFFF).bit_count()
            else:
                b, a = stack.pop(), stack.pop()
                stack.append({1: a + b, 2: a * b, 6: a - b, 8: a ^ (b >> 1)}[op])
            steps += 1
        return stack[-1], steps

    with np.errstate(over="ignore"):
        close(out, np.array([interpret(codes[t % 4], int(v)) for t, v in enumerate(value)], np.int64).astype(np.int32))
