// @ts-check
// The error of the output as a heat map: one cell an element, the row that is chosen framed.

import { ARROWS, card, h, tableOf, onceAFrame, onKeys, short, sizeOf } from "./dom.js";
import { colours, imageOf, pixel, rampPixels } from "./drawing.js";

const RAMP = colours("f7fbff c6dbef 6baed6 2171b5 08306b"); // light: small is pale
const RAMP_DARK = colours("121826 163e70 2676b2 70b4dc def0fc"); // dark: small is dark
const DECADES = 4; // the ramp covers 1e-4 of the tolerance to the tolerance

/** Whether the page is dark. */
export function isDark() {
  const light = document.body.dataset.jpThemeLight;
  if (light !== undefined) return light === "false";
  if (document.body.dataset.vscodeThemeKind) return document.body.dataset.vscodeThemeKind.includes("dark");
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

/** A canvas with a pixel a cell, and the [row, column] of each cell over the tolerance. */
function errorImage({ values, rows, cols }, ramp) {
  const shades = rampPixels(ramp),
    none = pixel(ramp[0]),
    over = pixel([200, 30, 45]),
    bad = [];
  const small = imageOf(rows, cols, (r, c) => {
    const v = values[r * cols + c],
      t = v > 0 ? 1 + Math.log10(v) / DECADES : 0;
    if (v <= 1) return t > 0 ? shades[Math.min(255, Math.floor(256 * t))] : none;
    bad.push([r, c]);
    return over;
  }); // rows run down, as in the tile map
  return { ramp, small, bad };
}

/**
 * The error heat map of one head. data: {rows, cols, values: Float32Array (|error| / tolerance), absolute: Float32Array,
 * step: [query rows, columns] per cell}. Over the tolerance a cell is red with a white cross: never by colour alone.
 */
export function makeErrorMap(onpick) {
  const canvas = h("canvas", { tabIndex: 0, role: "img" });
  const frame = h("div.pl-canvas", null, canvas);
  const legend = h("div.pl-legend");
  const picture = h("div.pl-picture", null, frame, legend);
  const out = card("Error", picture);
  let data = null,
    image = null,
    cursor = null;

  const draw = onceAFrame(() => {
    if (!data || !room.width) return;
    const ratio = devicePixelRatio || 1,
      w = room.width * ratio,
      hgt = room.height * ratio;
    canvas.width = w;
    canvas.height = hgt;
    const ctx = canvas.getContext("2d"),
      ramp = isDark() ? RAMP_DARK : RAMP;
    if (image?.ramp !== ramp) image = errorImage(data, ramp);
    const { small, bad } = image;
    legend.querySelector(".pl-ramp").style.background = `linear-gradient(to right,${ramp.map((c) => `rgb(${c})`)})`;
    ctx.imageSmoothingEnabled = false;
    ctx.drawImage(small, 0, 0, w, hgt);
    const dx = w / data.cols,
      dy = hgt / data.rows;
    ctx.strokeStyle = "rgba(255,255,255,.8)";
    ctx.lineWidth = ratio;
    ctx.beginPath();
    const every = Math.ceil(bad.length / 4000);
    bad.forEach(([r, c], k) => {
      if (k % every) return;
      const size = Math.max(3 * ratio, Math.min(dx, dy) * 0.6),
        x = (c + 0.5) * dx,
        y = (r + 0.5) * dy;
      ctx.moveTo(x - size / 2, y - size / 2);
      ctx.lineTo(x + size / 2, y + size / 2);
      ctx.moveTo(x + size / 2, y - size / 2);
      ctx.lineTo(x - size / 2, y + size / 2);
    });
    ctx.stroke();
    if (data.row !== null && data.row !== undefined) {
      const y = Math.floor(data.row / data.step[0]) * dy;
      ctx.strokeStyle = isDark() ? "#ffb454" : "#b04a00";
      ctx.lineWidth = 2 * ratio;
      ctx.strokeRect(ratio, y - ratio, w - 2 * ratio, Math.max(dy, 2 * ratio) + 2 * ratio);
    }
    if (cursor) {
      ctx.strokeStyle = isDark() ? "#fff" : "#000";
      ctx.lineWidth = ratio;
      ctx.strokeRect(cursor[1] * dx - 1, cursor[0] * dy - 1, dx + 2, dy + 2);
    }
  });

  function say() {
    if (!cursor || !data) return;
    const [r, c] = cursor,
      at = r * data.cols + c;
    const last = Math.min(data.seq, (r + 1) * data.step[0]) - 1;
    const from = (k, step, n) => (step === 1 ? k : `${k * step}–${Math.min(n, (k + 1) * step) - 1}`);
    out.read.textContent =
      `${data.row_name} ${r * data.step[0]}${last > r * data.step[0] ? `–${last}` : ""}, column ${from(c, data.step[1], data.dim)}: |error| ` +
      `${short(data.absolute[at])}, ${short(100 * data.values[at])} % of the tolerance`;
  }
  const pick = ([r, c]) => onpick(r * data.step[0], c * data.step[1]);
  /** @returns {[number, number]} */
  function at(event) {
    const box = canvas.getBoundingClientRect();
    const down = (event.clientY - box.top) / box.height,
      across = (event.clientX - box.left) / box.width;
    return [Math.floor(down * data.rows), Math.floor(across * data.cols)];
  }
  function point(r, c) {
    cursor = [Math.max(0, Math.min(data.rows - 1, r)), Math.max(0, Math.min(data.cols - 1, c))];
    say();
    draw();
  }
  canvas.addEventListener("pointermove", (e) => data && point(...at(e)));
  canvas.addEventListener("pointerleave", () => {
    cursor = null;
    draw();
  });
  canvas.addEventListener("click", (e) => {
    if (!data) return;
    point(...at(e));
    pick(cursor);
  });
  onKeys(canvas, ({ key }) => {
    const by = key === "Enter" ? [0, 0] : ARROWS[key];
    if (!data || !by) return null;
    return () => {
      const [r, c] = cursor || [0, 0];
      point(r + by[0], c + by[1]);
      if (key === "Enter") pick(cursor);
    };
  });
  const room = sizeOf(canvas, draw);

  return {
    el: out.el,
    draw,
    show(next) {
      data = next;
      image = cursor = null;
      frame.classList.toggle("pl-empty", !data);
      const whose = data?.label ? ` of ${data.label}` : "",
        what = data && `${data.seq} ${data.row_name}s by ${data.dim} columns`,
        keys = "Arrow keys move, Enter chooses the row for the softmax plot.";
      canvas.setAttribute(
        "aria-label",
        data ? `Heat map of the output error${whose}: ${what}. ${keys}` : "no result yet",
      );
      out.note.textContent = data ? data.label : "";
      legend.replaceChildren(
        h("span.pl-keyed", { title: "error as a share of the tolerance" }, `1e-${DECADES}`, h("span.pl-ramp"), "1"),
        h("span.pl-keyed", null, h("span.pl-over", null, "×"), "over"),
        h("span", null, `${data?.row_name} ↓`),
      );
      legend.hidden = !data;
      const cells = ([r, c, e, q]) => [r, c, short(e), typeof q === "string" ? q : short(100 * q) + " %"],
        heads = ["column", "|error|", "of tolerance"];
      out.later(() => (data ? [tableOf([data.row_name, ...heads], data.worst.map(cells))] : []));
      out.read.textContent = data ? "Click: the row's softmax, and the PTX that stored it." : "";
      draw();
    },
  };
}
