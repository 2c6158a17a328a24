// @ts-check
// What comes from the kernel, as the page uses it: parts of an answer, and a page that Python has made.

import { drawNow, h, onceAFrame } from "./dom.js";

const texts = new TextDecoder();
const read = new WeakMap(); // by the value of a trait

/** A part of an answer; a large one comes as the bytes of its JSON, which is read once, when it is wanted. */
function unpacked(value) {
  if (!value?.json) return value;
  if (!read.has(value)) read.set(value, JSON.parse(texts.decode(value.json)));
  return read.get(value);
}

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
  /** @type {<K extends keyof Parts>(part: K) => Parts[K] | null} */
  const data = (part) => unpacked(model.get(part));
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

// -- parts that arrive together are painted together: at once, or with the next frame where this one has been painted in

const FRAME = 16; // milliseconds of a frame

/** `painters` paint a part, by the name of its trait; before those that are due comes `first(names)`, after them `last(names)`. */
export function paintTogether(root, model, painters, first, last) {
  const due = new Set(),
    late = onceAFrame(paint);
  let ended = -FRAME; // when painting has ended last
  function soon() {
    root.dataset.busy = "1"; // of one message, "status" may be heard of before the parts
    if (performance.now() - ended < FRAME) late();
    else queueMicrotask(paint); // when all parts of the message have been heard of
  }
  function paint() {
    if (!due.size) return;
    const now = [...due];
    due.clear();
    first(now);
    for (const name of now) painters[name]();
    drawNow();
    last(now);
    ended = performance.now();
    for (const part of now) {
      const detail = { part, seq: model.get(part)?.seq ?? 0 };
      root.dispatchEvent(new CustomEvent("ptxlab:painted", { detail })); // for whoever measures
    }
  }
  const heard = Object.keys(painters).map((name) => {
    const hear = () => {
      due.add(name);
      soon();
    };
    model.on(`change:${name}`, hear);
    painters[name]();
    return [`change:${name}`, hear];
  });
  last(Object.keys(painters));
  return {
    waiting: () => due.size > 0,
    stop() {
      due.clear();
      for (const [event, hear] of heard) model.off(event, hear);
    },
  };
}
