// @ts-check
// What comes from the kernel, as the page uses it: parts of an answer, and a page that Python has made.

import { h } from "./dom.js";

const texts = new TextDecoder();
const KEPT = 80; // parts that are kept: some more than Python takes for granted (`KNOWN` in lab/view.py)

/** What reads the parts of an answer. The large ones come as the bytes of their JSON, which is read once, when it is
 * wanted, or whole; they are kept under their numbers: of one that has come before, Python sends the number alone. null
 * where that is not known, as on a page that was opened later: then `missing()` asks for the whole. */
function makeUnpacked(missing) {
  const read = new WeakMap(),
    kept = new Map(); // by the value of the trait; by number
  function keep(ref, found) {
    kept.delete(ref); // the newest stand last
    kept.set(ref, found);
    for (const old of [...kept.keys()].slice(0, -KEPT)) kept.delete(old);
  }
  function content(value) {
    const found = value.json ? parsed(value.json) : value.whole || kept.get(value.ref);
    if (comes(value) && value.ref !== undefined) keep(value.ref, found);
    return found;
  }
  const unpacked = (value) => {
    if (!comes(value) && value?.ref === undefined) return value;
    if (!read.has(value)) {
      const found = content(value);
      value.lost = !found;
      if (!found) missing();
      read.set(value, found ? { ...found, seq: value.seq } : null);
    }
    return read.get(value);
  };
  return unpacked;
}

const parsed = (bytes) => JSON.parse(texts.decode(bytes));

/** Whether a part has come with what is in it. */
export const comes = (value) => Boolean(value?.json || value?.whole);

const numbersOf = new WeakMap(); // by a part's bytes

/** The numbers of a part's bytes. */
export function floats(view) {
  if (!numbersOf.has(view))
    numbersOf.set(view, new Float32Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength)));
  return numbersOf.get(view);
}

/** The parts of the answers that have come, as the page asks for them.
 * @param {Model} model */
export function makeAnswers(model) {
  const unpacked = makeUnpacked(() => model.send({ kind: "whole" }));
  /** @type {<K extends keyof Parts>(part: K) => Parts[K] | null} */
  const data = (part) => {
    if (part === "base") unpacked(model.get("code")); // which it may refer to
    return unpacked(model.get(part));
  };
  const code = () => data("code");
  /** A part, if it answers the request whose code is shown.
   * @type {<K extends keyof Parts>(part: K) => Parts[K] | null} */
  const fresh = (part) => {
    const value = data(part);
    return value && value.seq === code()?.seq ? value : null;
  };
  return { data, code, fresh };
}

/** A message beside the answers: a page that Python has made, which is given to the browser as a file. */
export function received(message, buffers) {
  if (message.kind !== "share") return;
  const file = URL.createObjectURL(new Blob([buffers[0]], { type: "text/html" }));
  h("a", { href: file, download: message.name }).click();
  setTimeout(() => URL.revokeObjectURL(file), 10000);
}
