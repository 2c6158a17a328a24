// @ts-check
// Drawings: shapes of SVG, and a card whose drawing is made anew when its size changes.

import { card, h, onceAFrame, s, sizeOf } from "./dom.js";

// Shapes, of a class each.
export const rect = (x, y, width, height, css, more = {}) => s("rect", { x, y, width, height, class: css, ...more });
export const stroke = (x1, y1, x2, y2, css) => s("line", { x1, y1, x2, y2, class: css });
export const path = (d, css, ...children) => s("path", { d, class: css }, ...children);
export const dot = (cx, cy, r, css) => s("circle", { cx, cy, r, class: css });
export const label = (x, y, words, css = "pl-tick", anchor = "start") =>
  s("text", { x, y, class: css, "text-anchor": anchor }, String(words));
export const drawing = (width, height, more = {}, ...shapes) =>
  s("svg", { width, height, "aria-hidden": "true", ...more }, ...shapes);

/** A card with a drawing, its legend and its table. `paint({width, height})` gives what stands in `holder`: a drawing, words
 * in its place, or nothing. */
export function plotCard(title, css, keys, paint) {
  const holder = h(`div.pl-plot${css}`, { tabIndex: 0, role: "img" }),
    legend = h("div.pl-legend", null, ...keys),
    out = card(title, h("div.pl-picture", null, holder, legend), h("div.pl-table"));
  const draw = onceAFrame(() => {
    if (!room.width) return; // not on the page now
    const found = paint(room);
    holder.replaceChildren(...(!found ? [] : [typeof found === "string" ? h("p.pl-blank", null, found) : found]));
  });
  const room = sizeOf(holder, draw);
  return { ...out, holder, legend, room, draw };
}
