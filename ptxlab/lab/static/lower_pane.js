// @ts-check
// What opens over the explorer, the debugger or over its code an editor: the bar above it, and the keyboard's focus in it.

import { button, contain, h } from "./dom.js";

const OPENED = '.ptxlab-editor .cm-content, .ptxlab-debugger[data-ready]:not([data-ready=""]) button:not(:disabled)';

/** `reveal(opener)` waits for what the press of a button opens; when that is closed, the focus goes back to the button.
 * @param {Model} model */
export function makeBelow(model, root, code) {
  const el = h("div.pl-bar-below", { hidden: true });
  let watch = null,
    opener = null; // what was pressed to open it, to which the focus goes back
  const sizes = new ResizeObserver(() => {
    const frame = root.closest(".ptxlab-frame"),
      from = frame?.getBoundingClientRect(),
      at = code.getBoundingClientRect();
    if (!frame || !at.width) return;
    const places = { left: at.left - from.left, top: at.top - from.top, width: at.width, height: at.height };
    for (const [name, pixels] of Object.entries(places)) frame.style.setProperty(`--pl-code-${name}`, `${pixels}px`);
  });
  sizes.observe(code);
  sizes.observe(root);

  const opened = () => root.closest(".ptxlab-app")?.querySelector(".ptxlab-below");
  let folded = false; // so that the code can be seen behind what stands over it
  const fold = button("", null, () => look(!folded));
  function look(on) {
    folded = on;
    for (const part of [el, opened()]) part?.classList.toggle("pl-folded", on);
    fold.textContent = on ? "Back to the text" : "Show the code";
  }
  const asks = (kind, words) => button(words, null, () => model.send({ kind }));
  function paint() {
    const bar = model.get("below");
    el.hidden = !bar;
    look(false);
    if (!bar) return opener?.focus({ preventScroll: true });
    el.classList.toggle("pl-whole", bar.whole);
    const warns = h("b", { role: "alert" }, "The text has changed and is lost."),
      leaves = [warns, asks("discard", "Discard the text"), asks("keep", "Keep editing")],
      says = [h("b", null, bar.heading), h("span.pl-spring"), bar.whole ? "" : fold, asks("close", bar.close)],
      tools = h("div.pl-tools", null, bar.asks ? leaves : says);
    contain(el, bar.note ? [tools, h("pre", null, bar.note)] : [tools]);
  }
  model.on("change:below", paint);
  paint();

  /** Closes what is open; whether there is anything. */
  function close() {
    if (model.get("below")) model.send({ kind: "close" });
    return !!model.get("below");
  }

  /** Waits until what is open can take the focus, and gives it that; what is there already keeps it elsewhere. */
  function reveal(by) {
    const below = opened(),
      before = below?.querySelector(OPENED);
    opener = by;
    watch?.disconnect();
    if (!below) return;
    below.onkeydown = (/** @type {KeyboardEvent} */ e) => e.key === "Escape" && !e.defaultPrevented && close();
    watch = new MutationObserver(() => {
      const now = below.querySelector(OPENED);
      if (!now || now === before) return;
      watch.disconnect();
      if ([opener, document.body].includes(document.activeElement)) now.focus({ preventScroll: true });
    });
    watch.observe(below, { childList: true, subtree: true, attributes: true, attributeFilter: ["data-ready"] });
  }

  return {
    el,
    reveal,
    close,
    stop() {
      watch?.disconnect();
      sizes.disconnect();
      model.off("change:below", paint);
    },
  };
}
