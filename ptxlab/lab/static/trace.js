// @ts-check
// A trace file (see ptxlab/emulate/trace/recorder.py) read in the page: every register of a warp at every step, both ways.

import { short } from "./dom.js";

const LANE_BYTES = { i1: 0, i8: 1, i16: 2, i32: 4, f32: 4, i64: 8, f64: 8 };
const CLASS_ORDER = ["i1", "i8", "i16", "i32", "i64", "f32", "f64"]; // the order in which a page holds its values
const ACCESS_KINDS = ["load", "store", "atomic"];
const ACCESS_SPACES = ["generic", "global", "shared", "local", "frame", "param", "const", "cluster"];

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** `count` values of 32 lanes each as one unsigned array: undoes the differences and the sorting by significance. */
function unpackLanes(data, count, size) {
  const total = count * 32;
  if (size === 0) return Uint8Array.from({ length: total }, (_, k) => (data[k >> 3] >> (k & 7)) & 1);
  if (size === 8) {
    const halves = new Uint32Array(2 * total);
    for (let row = 0; row < total; row += 32) {
      let low = 0,
        high = 0;
      for (let k = row; k < row + 32; k++) {
        let l = 0,
          u = 0;
        for (let b = 3; b >= 0; b--) {
          l = (l << 8) | data[b * total + k];
          u = (u << 8) | data[(b + 4) * total + k];
        }
        const sum = low + (l >>> 0);
        low = sum >>> 0;
        high = (high + u + (sum > 0xffffffff ? 1 : 0)) >>> 0;
        halves[2 * k] = low;
        halves[2 * k + 1] = high;
      }
    }
    return new BigUint64Array(halves.buffer);
  }
  const out = new { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array }[size](total);
  for (let row = 0; row < total; row += 32) {
    let value = 0;
    for (let k = row; k < row + 32; k++) {
      let step = 0;
      for (let b = size - 1; b >= 0; b--) step = (step << 8) | data[b * total + k];
      out[k] = value = (value + step) >>> 0;
    }
  }
  return out;
}

/** Values that were packed type by type, back in the order of `lanes`, their lane types. */
function valuesInOrder(data, lanes) {
  const out = new Array(lanes.length);
  let at = 0;
  for (const name of CLASS_ORDER) {
    const places = [];
    lanes.forEach((lane, k) => {
      if (lane === name) places.push(k);
    });
    const size = LANE_BYTES[name],
      bytes = places.length * (size ? 32 * size : 4);
    const all = unpackLanes(data.subarray(at, at + bytes), places.length, size);
    places.forEach((place, k) => {
      out[place] = all.subarray(32 * k, 32 * k + 32);
    });
    at += bytes;
  }
  return out;
}

/** Opens the bytes of a trace: its header, and where the pages of each warp ("block:warp") lie. `actions`: what each of its
 * opcodes does, as the table of instructions has it. */
export function openTrace(bytes, actions = {}) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = view.getUint32(12, true),
    words = new TextDecoder();
  const head = JSON.parse(words.decode(bytes.subarray(16, 16 + length)));
  const pages = new Map();
  let at = 16 + length;
  while (words.decode(bytes.subarray(at, at + 4)) === "PAGE") {
    const key = `${view.getUint32(at + 4, true)}:${view.getUint32(at + 8, true)}`;
    const first = Number(view.getBigUint64(at + 12, true)),
      size = view.getUint32(at + 24, true);
    if (!pages.has(key)) pages.set(key, []);
    pages.get(key).push({ first, count: view.getUint32(at + 20, true), body: bytes.subarray(at + 32, at + 32 + size) });
    at += 32 + size;
  }
  const size = words.decode(bytes.subarray(at, at + 4)) === "END." ? view.getUint32(at + 4, true) : 0;
  const tail = size ? JSON.parse(words.decode(bytes.subarray(at + 8, at + 8 + size))) : {};
  return {
    head,
    actions,
    pages,
    turns: tail.turns || [],
    keys: [...pages.keys()].sort((a, b) => warpOrder(a) - warpOrder(b)),
  };
}

const warpOrder = (key) => Number(key.split(":")[0]) * 64 + Number(key.split(":")[1]);

async function readPage(body, lanes) {
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength),
    packed = [];
  for (let at = 0; at < body.length;) {
    const size = view.getUint32(at, true);
    packed.push(inflate(body.subarray(at + 8, at + 8 + size)));
    at += 8 + size;
  }
  const [codes, masks, counts, registers, keyframe, values, touched, heads, touchMasks, addresses] =
    await Promise.all(packed);
  const written = new Uint16Array(registers.buffer),
    reached = new Uint32Array(touchMasks.buffer);
  return {
    codes: new Uint32Array(codes.buffer),
    masks: new Uint32Array(masks.buffer),
    counts: new Uint16Array(counts.buffer),
    registers: written,
    keyframe: valuesInOrder(keyframe, lanes),
    values: valuesInOrder(
      values,
      Array.from(written, (r) => lanes[r]),
    ),
    touched: new Uint16Array(touched.buffer),
    heads,
    reached,
    addresses: unpackLanes(addresses, reached.length, 8),
  };
}

/** All steps of one warp. Steps count from 0; a register "at" a step is as that step has left it. */
export async function readWarp(trace, key) {
  const lanes = trace.head.registers.map((r) => r[2]);
  const warp = {
    key,
    steps: [],
    values: [],
    registers: [],
    firstWrite: [0],
    accesses: [],
    keyframe: null,
    places: lanes.map(() => []),
  };
  const stepOf = []; // of each write
  for (const { first, body } of trace.pages.get(key)) {
    const page = await readPage(body, lanes);
    warp.keyframe ||= page.keyframe;
    let write = 0,
      touch = 0;
    page.codes.forEach((code, k) => {
      const [line, opcode] = trace.head.codes[code],
        step = warp.steps.length;
      for (const end = write + page.counts[k]; write < end; write++) {
        warp.places[page.registers[write]].push(warp.values.length);
        warp.registers.push(page.registers[write]);
        warp.values.push(page.values[write]);
        stepOf.push(step);
      }
      const accesses = [];
      for (const end = touch + page.touched[k]; touch < end; touch++)
        accesses.push({
          kind: ACCESS_KINDS[page.heads[3 * touch]],
          space: ACCESS_SPACES[page.heads[3 * touch + 1]],
          size: page.heads[3 * touch + 2],
          mask: page.reached[touch],
          addresses: page.addresses.subarray(32 * touch, 32 * touch + 32),
        });
      warp.steps.push({
        number: first + k,
        line,
        opcode,
        action: trace.actions[opcode],
        mask: page.masks[k],
        accesses,
      });
      warp.firstWrite.push(warp.values.length);
    });
  }
  /** How many writes of a register happen at steps up to `step`. */
  const until = (register, step) => {
    const places = warp.places[register];
    let low = 0,
      high = places.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (stepOf[places[middle]] <= step) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const nth = (register, n) => (n ? warp.values[warp.places[register][n - 1]] : warp.keyframe[register]);
  return {
    ...warp,
    value: (register, step) => nth(register, until(register, step)),
    /** Whether a register has been written up to a step; of steps before a trace's first one nothing is known. */
    isWritten: (register, step) => until(register, step) > 0 || warp.steps[0]?.number > 0,
    written: (step) => warp.registers.slice(warp.firstWrite[step], warp.firstWrite[step + 1]),
    /** The steps that write a register. */
    writesOf: (register) => warp.places[register].map((place) => stepOf[place]),
  };
}

/** The number that 16 bits are as an f16. */
export function halfFloat(bits) {
  const exponent = (bits >> 10) & 31,
    fraction = bits & 1023,
    sign = bits & 0x8000 ? -1 : 1;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return exponent ? sign * 2 ** (exponent - 15) * (1 + fraction / 1024) : sign * 2 ** -24 * fraction;
}

/** One lane of a register as a number, as its type says. */
export function laneNumber(values, k, type, lane) {
  const bytes = values.BYTES_PER_ELEMENT;
  if (lane === "i1" || type === "bf16") return Number(values[k]);
  if (type[0] === "f" || lane[0] === "f") {
    if (bytes === 2) return halfFloat(values[k]);
    if (bytes > 2) return new (bytes === 4 ? Float32Array : Float64Array)(values.buffer, values.byteOffset, 32)[k];
  }
  return Number(type[0] === "s" ? BigInt.asIntN(8 * bytes, BigInt(values[k])) : values[k]);
}

/** One lane of a register as text. `view` is typed, float, int or hex; `type` the PTX type, `lane` how it is held. */
export function laneText(values, k, view, type, lane) {
  const raw = values[k];
  if (lane === "i1") return view === "hex" ? `0x${raw}` : raw ? "true" : "false";
  const bytes = values.BYTES_PER_ELEMENT;
  if (view === "hex") return "0x" + raw.toString(16).padStart(2 * bytes, "0");
  const real = view === "float" || (view === "typed" && (type[0] === "f" || lane[0] === "f"));
  if (real && type !== "bf16" && bytes > 1) {
    const x = laneNumber(values, k, "f", lane);
    return Number.isNaN(x) ? "NaN" : short(x, 6);
  }
  const signed = view === "int" || type[0] === "s";
  return String(signed ? BigInt.asIntN(8 * bytes, BigInt(raw)) : raw);
}
