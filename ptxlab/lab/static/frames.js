// Parts of an answer that arrive together are painted together, once a frame.

/** `painters` paint a part, by the name of its trait; before those that are due comes `first(names)`, after them `last()`. */
function paintTogether(root, model, painters, first, last) {
  const due = new Set(), heard = [], have = new Map();
  /** Whether a part has come once more, whole, of which the page was told that it has it. */
  const again = (now, before) => Boolean(now?.json) && now.ref !== undefined && now.ref === before?.ref && now.seq === before.seq && !before.lost;
  let frame = 0;
  function soon() {
    frame ||= requestAnimationFrame(paint);
    root.dataset.busy = "1"; // of one message, "status" may be heard of before the parts
  }
  function paint() {
    frame = 0;
    const now = [...due];
    due.clear();
    first(now);
    for (const name of now) painters[name]();
    drawNow();
    last();
    for (const name of now) {
      root.dispatchEvent(new CustomEvent("ptxlab:painted", { detail: { part: name, seq: model.get(name)?.seq ?? 0 } })); // for whoever measures
    }
  }
  for (const name of Object.keys(painters)) {
    const hear = () => {
      const before = have.get(name), now = model.get(name);
      have.set(name, now);
      if (again(now, before)) return;
      due.add(name);
      soon();
    };
    heard.push([`change:${name}`, hear]);
    model.on(`change:${name}`, hear);
    painters[name]();
  }
  soon(); // the pictures
  return {
    waiting: () => frame !== 0,
    stop() {
      cancelAnimationFrame(frame);
      for (const [event, hear] of heard) model.off(event, hear);
    },
  };
}
