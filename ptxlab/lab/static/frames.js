// @ts-check
// Parts of an answer that arrive together are painted together: at once, or with the next frame where this one has been
// painted in already.

import { drawNow } from "./dom.js";

const FRAME = 16; // milliseconds of a frame

/** `painters` paint a part, by the name of its trait; before those that are due comes `first(names)`, after them `last(names)`. */
export function paintTogether(root, model, painters, first, last) {
  const due = new Set(),
    heard = [];
  let frame = 0,
    ended = -FRAME; // the request of a frame, -1 for none but the end of this message; when painting has ended last
  function soon() {
    root.dataset.busy = "1"; // of one message, "status" may be heard of before the parts
    if (frame) return;
    const early = performance.now() - ended < FRAME;
    frame = early ? requestAnimationFrame(paint) : -1;
    if (!early) queueMicrotask(paint); // when all parts of the message have been heard of
  }
  function paint() {
    if (!frame) return;
    frame = 0;
    const now = [...due];
    due.clear();
    first(now);
    for (const name of now) painters[name]();
    drawNow();
    last(now);
    ended = performance.now();
    for (const name of now) {
      root.dispatchEvent(
        new CustomEvent("ptxlab:painted", {
          detail: { part: name, seq: model.get(name)?.seq ?? 0 },
        }),
      ); // for whoever measures
    }
  }
  for (const name of Object.keys(painters)) {
    const hear = () => {
      due.add(name);
      soon();
    };
    heard.push([`change:${name}`, hear]);
    model.on(`change:${name}`, hear);
    painters[name]();
  }
  last(Object.keys(painters));
  soon(); // the pictures
  return {
    waiting: () => frame !== 0,
    stop() {
      if (frame > 0) cancelAnimationFrame(frame);
      frame = 0;
      for (const [event, hear] of heard) model.off(event, hear);
    },
  };
}
