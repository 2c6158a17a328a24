// Matrix descriptors of wgmma in words: the fields of the 64 bits, as the PTX ISA names them.

const SWIZZLE = ["no swizzle", "128-byte swizzle", "64-byte swizzle", "32-byte swizzle"];

/** A descriptor (BigInt) in words. */
function descriptorSays(bits) {
  const field = (at, width) => Number((bits >> BigInt(at)) & ((1n << BigInt(width)) - 1n));
  const base = field(49, 3);
  return `tile at ${hex(field(0, 14) << 4)}, ${SWIZZLE[field(62, 2)]}, leading byte offset ${field(16, 14) << 4}, stride byte offset ${field(32, 14) << 4}${base ? `, base offset ${base}` : ""}`;
}

/** What the descriptors of a wgmma say: `text` its line, `value(name)` the bits that a 64-bit register holds, or null. */
function descriptorsOf(text, value) {
  const operands = text.split("//")[0].replace(/\{[^}]*\}/g, "").match(/%[\w$]+/g) || [];
  return operands.filter((name) => value(name) !== null).map((name) => `${name}: ${descriptorSays(value(name))}`);
}
