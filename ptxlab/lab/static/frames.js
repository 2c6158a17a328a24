// Parts of an answer that arrive together are painted together, once a frame.

/** `painters` paint a part, by the name of its trait; before those that are due comes `first(names)`, after them `last()`. */
function paintTogether(root, model, painters, first, last) {
  const due = new Set(), heard = [];
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
    const hear = () => { due.add(name); soon(); };
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
