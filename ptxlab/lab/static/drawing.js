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

/** A colour, [red, green, blue], as a canvas keeps it: red in the lowest byte, opaque. */
export const pixel = ([red, green, blue]) => (255 << 24) | (blue << 16) | (green << 8) | red;

/** Colours, as `pixel` takes them, of words such as "f7fbff c6dbef". */
export const colours = (words) =>
  words.split(" ").map((word) => [0, 2, 4].map((k) => parseInt(word.slice(k, k + 2), 16)));

/** 256 pixels from the first of some colours to the last. */
export function rampPixels(ramp) {
  return Int32Array.from({ length: 256 }, (_, n) => {
    const x = (n / 256) * (ramp.length - 1),
      k = Math.floor(x),
      f = x - k;
    return pixel(ramp[k].map((c, i) => Math.round(c + (ramp[k + 1][i] - c) * f)));
  });
}

/** A small canvas with the pixels of a table; `shade(row, column)` gives each. */
export function imageOf(rows, cols, shade) {
  const canvas = h("canvas", { width: cols, height: rows }),
    image = new ImageData(cols, rows),
    pixels = new Int32Array(image.data.buffer);
  for (let r = 0, at = 0; r < rows; r++) for (let c = 0; c < cols; c++, at++) pixels[at] = shade(r, c);
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

/** A card with a drawing, its legend and its table. `paint({width, height})` gives what stands in `holder`: a drawing, words
 * in its place, or nothing. */
export function plotCard(title, css, keys, paint) {
  const holder = h(`div.pl-plot${css}`, { tabIndex: 0, role: "img" }),
    legend = h("div.pl-legend", null, ...keys),
    out = card(title, h("div.pl-picture", null, holder, legend));
  const draw = onceAFrame(() => {
    if (!room.width) return; // not on the page now
    const found = paint(room);
    holder.replaceChildren(...(!found ? [] : [typeof found === "string" ? h("p.pl-blank", null, found) : found]));
  });
  const room = sizeOf(holder, draw);
  return { ...out, holder, legend, room, draw };
}
