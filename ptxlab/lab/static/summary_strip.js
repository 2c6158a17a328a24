// @ts-check
// The strip of figures at the top: what the assembler, the run and the comparison said, each beside what it was before.

import { h } from "./dom.js";

/**
 * The strip; `list` is that of `measures.part`, always the same figures. One that is not known yet is a dash, or while the
 * kernel is at work what it was last, dimmed. `onopen(page, key)` hears of a figure that is pressed: of the page of results
 * that has more about it.
 */
export function makeStrip(onopen) {
  const last = new Map(); // by key: the figure that was known last
  const figure = ({ key, label, now, before, verdict, note, says, mood, page }, dim, work) => {
    const scaled = before && work !== 1 && page === "counters", // a count of another problem: what it was says little
      judged = verdict && h(`span.pl-verdict.pl-${verdict}`, null, ` ${verdict}`);
    const css = [mood && `pl-${mood}`, before && "pl-moved", page && "pl-leads", dim && "pl-stale"].filter(Boolean),
      beside = scaled ? judged : before && h("span.pl-was", null, ` was ${before}`),
      word = scaled ? "" : verdict,
      below = h(word ? `small.pl-${word}` : "small", null, note || " ", word && ` ${word}`);
    return h(
      ["div.pl-figure", ...css].join("."),
      { title: says, onclick: page ? () => onopen(page, key) : null },
      h("dt", null, page ? h("button.pl-quiet.pl-why", null, label) : label),
      h("dd", null, now ?? "–", beside, below),
    );
  };
  return (list, working, work) =>
    list.map((one) => {
      if (one.now === null && working && last.has(one.key)) return figure(last.get(one.key), true, work);
      if (one.now !== null) last.set(one.key, one);
      return figure(one, false, work);
    });
}
