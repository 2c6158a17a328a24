// @ts-check
// Matrix descriptors of wgmma and addresses of tensor maps in words: fields as the PTX ISA names them.

import { h, hex } from "./dom.js";

const SWIZZLE = ["no swizzle", "128-byte swizzle", "64-byte swizzle", "32-byte swizzle"];
const MATRIX = "matrix descriptor"; // what Python says that a register holds; it has the names of the fields, too

/** The fields of a descriptor (BigInt): start address, leading and stride byte offsets, base offset, swizzle. */
function descriptorFields(bits) {
  const field = (at, width) => Number((bits >> BigInt(at)) & ((1n << BigInt(width)) - 1n));
  return [field(0, 14) << 4, field(16, 14) << 4, field(32, 14) << 4, field(49, 3), field(62, 2)];
}

/** A descriptor (BigInt) in words. */
function descriptorSays(bits) {
  const [start, leading, stride, base, swizzle] = descriptorFields(bits);
  return `tile at ${hex(start)}, ${SWIZZLE[swizzle]}, leading byte offset ${leading}, stride byte offset ${stride}${base ? `, base offset ${base}` : ""}`;
}

/** What the descriptors of a wgmma say: `text` its line, `value(name)` the bits that a 64-bit register holds, or null. */
export function descriptorsOf(text, value) {
  const operands =
    text
      .split("//")[0]
      .replace(/\{[^}]*\}/g, "")
      .match(/%[\w$]+/g) || [];
  return operands.filter((name) => value(name) !== null).map((name) => `${name}: ${descriptorSays(value(name))}`);
}

/** What a register that holds a descriptor says under the mouse; null for any other. `code` has `roles` (register ->
 * what it holds), `fields` (of each role: [name, what it says]) and, with a trace, `maps` (address -> the fields of the
 * tensor map) and `value(name)`: {bits, when}, null where it is not known. */
export function explainDescriptor(name, code) {
  const role = code.roles?.[name];
  if (!role) return null;
  const known = code.value?.(name),
    address = known && hex(known.bits);
  const values = !known
    ? null
    : role === MATRIX
      ? descriptorFields(known.bits).map((n, k) => (k === 4 ? SWIZZLE[n] : k === 0 ? hex(n) : n))
      : code.maps?.[address];
  const says = values
    ? `${role}: ${address}, ${known.when}`
    : known
      ? `${role}: ${address}, ${known.when}; no copy of this trace has used a map there`
      : `${role}; what it holds, a run in the debugger tells`;
  return [
    h("p", null, says),
    h(
      "dl.pl-terms.pl-fields",
      null,
      code.fields[role].flatMap(([field, means], k) => [
        h("dt", null, field),
        h("dd", null, ...(values ? [h("b", null, String(values[k])), " ", h("span.pl-note", null, means)] : [means])),
      ]),
    ),
  ];
}
