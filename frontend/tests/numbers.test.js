// Numbers as the page writes them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { count, duration, short } from "../../ptxlab/lab/static/dom.js";
import { laneText } from "../../ptxlab/lab/static/trace.js";

test("numbers have few digits", () => {
  assert.deepEqual(
    [0, 0.125, 3.14159, 123456, 0.0000314, -Infinity, NaN, null, "NaN"].map((x) => short(x)),
    ["0", "0.125", "3.14", "1.2e5", "3.1e-5", "−∞", "–", "–", "NaN"],
  );
  assert.deepEqual(
    [999, 1234567, 2e9, 0.6, undefined].map((n) => count(n)),
    ["999", "1.23 M", "2 G", "1", "–"],
  );
  assert.deepEqual(
    [2, 0.0123, 0.45, 0.000002, null].map((seconds) => duration(seconds)),
    ["2.00 s", "12.3 ms", "450 ms", "2 µs", "–"],
  );
});

const LANES = [
  [Uint32Array, 0xffffffff, "typed", "s32", "i32", "-1"],
  [Uint32Array, 0xffffffff, "typed", "u32", "i32", "4294967295"],
  [Uint32Array, 0x3fc00000, "typed", "f32", "f32", "1.5"],
  [Uint32Array, 0x3fc00000, "float", "b32", "i32", "1.5"],
  [Uint32Array, 0xff800000, "typed", "f32", "f32", "−∞"],
  [Uint32Array, 0x7fc00000, "typed", "f32", "f32", "NaN"],
  [Uint32Array, 0x3fc00000, "hex", "f32", "f32", "0x3fc00000"],
  [Uint16Array, 0x8000, "int", "b16", "i16", "-32768"],
  [Uint16Array, 0x3e00, "float", "b16", "i16", "1.5"],
  [Uint16Array, 0x3e00, "typed", "f16", "i16", "1.5"],
  [Uint16Array, 0x0001, "typed", "f16", "i16", "5.9605e-8"],
  [Uint8Array, 1, "typed", "pred", "i1", "true"],
  [Uint8Array, 0, "int", "pred", "i1", "false"],
];

test("registers read as declared and otherwise", () => {
  for (const [array, bits, view, type, lane, text] of LANES)
    assert.equal(laneText(new array(32).fill(bits), 3, view, type, lane), text);
});
