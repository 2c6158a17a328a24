// @ts-check
// Parts of an answer that arrive together are painted together: at once, or with the next frame where this one has been
// painted in already.

import { drawNow, onceAFrame } from "./dom.js";

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
