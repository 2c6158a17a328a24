// A trace file of one warp and one register, written here as ptxlab/emulate/trace/recorder.py does.

import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateSync } from "node:zlib";
import { openTrace, readWarp } from "../../ptxlab/lab/static/trace.js";

const bytesOf = (array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength);
const words = (...numbers) => bytesOf(Uint32Array.from(numbers));
const halves = (...numbers) => bytesOf(Uint16Array.from(numbers));

/** Rows of 32 numbers, lane by lane the difference to the lane before, sorted by significance. */
function lanes(rows) {
  const steps = rows.flatMap((row) => row.map((value, k) => (k ? value - row[k - 1] : value) >>> 0));
  return Buffer.concat([0, 8, 16, 24].map((shift) => Buffer.from(steps.map((step) => (step >>> shift) & 255))));
}

/** The trace of three steps: the second and the third write the register. */
function file(before, second, third) {
  const head = Buffer.from(
    JSON.stringify({
      registers: [["%r", "u32", "i32"]],
      codes: [
        [7, "bra"],
        [8, "add"],
      ],
    }),
  );
  const streams = [
    words(0, 1, 1), // codes
    words(0xffffffff, 0xffffffff, 1), // masks
    halves(0, 1, 1), // registers written at each step
    halves(0, 0), // which ones
    lanes([before]),
    lanes([second, third]),
    halves(0, 0, 0), // accesses
    ...[Buffer.alloc(0), Buffer.alloc(0), Buffer.alloc(0)],
  ];
  const body = Buffer.concat(
    streams.flatMap((stream) => {
      const packed = deflateSync(stream);
      return [words(packed.length, stream.length), packed];
    }),
  );
  const tag = Buffer.from("PAGE");
  const page = [tag, words(0, 2), words(10, 0), words(3, body.length, 0), body]; // block, warp; first step, 64 bits; steps
  return new Uint8Array(
    Buffer.concat([Buffer.alloc(12), words(head.length), head, ...page, Buffer.from("END."), words(0)]),
  );
}

const row = (make) => Array.from({ length: 32 }, (_, lane) => make(lane));

test("registers are as each step has left them", async () => {
  const rows = [row(() => 5), row((lane) => 1000 - lane), row((lane) => (lane ? 1000 - lane : 0xffffffff))];
  const trace = openTrace(file(...rows), { add: "ADD" });
  assert.deepEqual(trace.keys, ["0:2"]);
  const warp = await readWarp(trace, "0:2");
  assert.deepEqual(
    warp.steps.map(({ number, line, action }) => [number, line, action]),
    [
      [10, 7, undefined],
      [11, 8, "ADD"],
      [12, 8, "ADD"],
    ],
  );
  rows.forEach((wanted, step) => assert.deepEqual([...warp.value(0, step)], wanted));
  assert.deepEqual(warp.writesOf(0).slice(0, 1), [1]);
});
