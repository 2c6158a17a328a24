// @ts-check
// Roofline and occupancy: what the counted work allows on a GPU, and what keeps blocks out of a multiprocessor.

import { h, tableOf, short } from "./dom.js";
import { dot, drawing, label, path, plotCard, rect, stroke } from "./drawing.js";
import { bar, origin, tableCard } from "./counters.js";

/** The first of some places, [x, base line], where words that are so wide cover nothing of what is `taken`, [left, top, right,
 * bottom] each; else `otherwise`. From then on it is taken. */
function freePlace(places, wide, taken, otherwise = places[0]) {
  const box = ([x, y]) => [x, y - 10, x + wide, y + 3],
    apart = (a, b) => a[2] <= b[0] || a[0] >= b[2] || a[3] <= b[1] || a[1] >= b[3];
  const found = places.find((place) => taken.every((other) => apart(box(place), other))) ?? otherwise;
  taken.push(box(found));
  return found;
}

const BOLD = 6.3,
  PLAIN = 5.4; // pixels of a letter
const BESIDE = [14, -7, 27, -20]; // base lines of a point's words, below and above it

/** data: {gpu, source, bandwidth, roofs: [[name, FLOP/s]], own: [name, FLOP/s] | null, points: [{origin, what, x, y, bound}]}, or {note}. */
export function makeRoofline() {
  const keys = [
    h("span.pl-key-ring"),
    h("span", null, "modelled: the most that the roof allows"),
    h("span.pl-key-dot"),
    h("span", null, "measured"),
  ];
  const out = plotCard("Roofline", "", keys, paint),
    { holder, legend, draw } = out;
  let data = null;

  const flops = (y) => (y >= 1e12 ? `${short(y / 1e12)} TFLOP/s` : `${short(y / 1e9)} GFLOP/s`);
  function paint({ width, height }) {
    if (!data || data.note)
      return data?.note || "Needs counted floating-point operations: run the kernel on the emulator.";
    const left = 52,
      right = 8,
      top = 10,
      bottom = 26;
    const xs = [...data.points.map((p) => p.x), ...data.roofs.map(([, r]) => r / data.bandwidth)],
      ys = [...data.points.map((p) => p.y), ...data.roofs.map(([, r]) => r)];
    const [x0, x1, y1] = [Math.min(...xs) / 5, Math.max(...xs) * 5, Math.max(...ys) * 4],
      y0 = Math.min(...ys, x0 * data.bandwidth) / 2;
    const at = (v, a, b) => (Math.log(v) - Math.log(a)) / (Math.log(b) - Math.log(a));
    const x = (v) => left + at(v, x0, x1) * (width - left - right),
      y = (v) => height - bottom - at(v, y0, y1) * (height - bottom - top);
    const root = drawing(width, height);
    root.append(rect(left, top, width - left - right, height - bottom - top, "pl-frame"));
    const powers = (a, b) => {
      const first = Math.ceil(Math.log10(a));
      return Array.from({ length: Math.floor(Math.log10(b)) - first + 1 }, (_, k) => 10 ** (first + k));
    };
    for (const v of powers(x0, x1)) {
      root.append(stroke(x(v), top, x(v), height - bottom, "pl-cut"));
      root.append(label(x(v), height - bottom + 11, short(v), "pl-tick", "middle"));
    }
    for (const v of powers(y0, y1)) {
      const words = v >= 1e12 ? `${short(v / 1e12)} T` : `${short(v / 1e9)} G`;
      root.append(
        stroke(left, y(v), width - right, y(v), "pl-cut"),
        label(left - 4, y(v) + 3, words, "pl-tick", "end"),
      );
    }
    const peak = Math.max(...data.roofs.map(([, r]) => r)),
      begins = y(Math.max(y0, x0 * data.bandwidth));
    root.append(
      stroke(x(x0), begins, x(peak / data.bandwidth), y(peak), "pl-roof"),
      label(x(x0) + 8, y(x0 * 4 * data.bandwidth) - 10, `${short(data.bandwidth / 1e9, 4)} GB/s`),
    );
    const taken = data.points.map((p) => [x(p.x) - 7, y(p.y) - 7, x(p.x) + 7, y(p.y) + 7]);
    for (const [name, level, own] of [...data.roofs, ...(data.own ? [[...data.own, true]] : [])]) {
      const start = x(Math.max(x0, level / data.bandwidth));
      root.append(stroke(start, y(level), x(x1), y(level), own ? "pl-roof pl-own" : "pl-roof"));
      const words = `${name} ${flops(level)}`,
        wide = PLAIN * words.length,
        atRight = width - right - 3 - wide,
        begin = [start + 6, y(level) - 4];
      const [from, base] = freePlace([[atRight, y(level) - 4], begin, [atRight, y(level) + 12]], wide, taken, begin);
      root.append(label(from, base, words));
    }
    const modelled = data.points.filter((p) => p.origin === "modelled");
    if (modelled.length === 2) {
      const level = Math.max(modelled[0].y, modelled[1].y),
        ridge = level / data.bandwidth; // along the roof, not across
      const bend = modelled[0].x < ridge && ridge < modelled[1].x ? `L${x(ridge)} ${y(level)}` : "";
      const [from, to] = modelled.map((p) => `${x(p.x)} ${y(p.y)}`);
      root.append(path(`M${from}${bend}L${to}`, "pl-between"));
    }
    for (const p of data.points)
      root.append(dot(x(p.x), y(p.y), 5.5, p.origin === "measured" ? "pl-point pl-solid" : "pl-point"));
    for (const p of data.points) {
      const wide = BOLD * p.what.length,
        [px, py] = [x(p.x), y(p.y)],
        sides = BESIDE.flatMap((down) => [
          [px + 9, py + down],
          [px - 9 - wide, py + down],
        ]),
        places = [...sides, [px - wide / 2, py + 27], [px - wide / 2, py - 20]],
        inside = places.filter(
          ([a, b]) => a >= left && b - 11 >= top && a + wide <= width - right && b + 2 <= height - bottom,
        );
      const [tx, ty] = freePlace([...inside, places[0]], wide, taken);
      root.append(label(tx, ty, p.what, "pl-tick pl-strong"));
    }
    root.append(label((left + width - right) / 2, height - 3, "FLOP per byte of memory", "pl-tick", "middle"));
    return root;
  }
  return {
    el: out.el,
    draw,
    show(next) {
      data = next;
      const real = data && !data.note;
      legend.hidden = !real;
      out.note.textContent = real ? `${data.gpu}, peaks from: ${data.source}` : "";
      out.note.title = out.note.textContent;
      const points = real ? data.points : [];
      const said = points.map(
        (p) => `${p.origin}, ${p.what}: ${short(p.x)} FLOP/B, ${flops(p.y)}${p.bound ? `, limited by ${p.bound}` : ""}`,
      );
      const own = real && data.own && `The grid has blocks for ${data.own[0]}: the dashed roof is what those can do`;
      out.read.textContent = [said[0], own].filter(Boolean).join(". ");
      holder.setAttribute("aria-label", real ? `Roofline of ${data.gpu}. ${said.join(". ")}` : "no roofline");
      out.later(() => {
        if (!real) return [];
        const roofs = data.roofs.map(([name, level]) => [name, flops(level)]),
          memory = ["memory", `${short(data.bandwidth / 1e9, 4)} GB/s`],
          cells = (p) => [p.what, p.origin, short(p.x), flops(p.y), p.bound || "–"];
        return [
          tableOf(["point", "origin", "FLOP/B", "FLOP/s", "limited by"], points.map(cells)),
          tableOf(["roof", "value"], [...roofs, memory]),
        ];
      });
      draw();
    },
  };
}

/** data: the assembler's answer, whose occupancy is {blocks, warps, most, limiter, limits: [[what, blocks]], threads, text}. */
export function makeOccupancy() {
  const out = tableCard("Occupancy", origin("modelled"));
  return {
    el: out.el,
    show(assembly) {
      const o = assembly?.state === "ok" ? assembly.occupancy : null;
      out.body.replaceChildren();
      out.note.textContent = o ? o.text : "";
      out.note.title = out.note.textContent;
      if (!o)
        return out.body.append(
          h("p.pl-blank", null, assembly?.note || "Needs the assembler's registers and a launch."),
        );
      const most = Math.max(1, o.limits.find(([what]) => what === "blocks")?.[1] || 1); // no SM holds more blocks
      const boxes = h("div.pl-warps", { role: "img", "aria-label": `${o.warps} of ${o.most} warps are resident` });
      for (let k = 0; k < o.most; k++) boxes.append(h(k < o.warps ? "span.pl-full" : "span"));
      const says = ` per SM: ${o.blocks} block${o.blocks === 1 ? "" : "s"} of ${o.threads} threads, ${assembly.registers} registers per thread, ${assembly.shared_bytes} B shared`;
      const limit = ([what, n]) => {
        const limits = what === o.limiter;
        return h(
          limits ? "tr.pl-limiter" : "tr",
          null,
          h("td.pl-left", null, what, limits ? h("b", null, " ◀ limits") : ""),
          h("td.pl-barcell", null, bar(Math.min(1, n / most))),
          h("td", null, String(n)),
        );
      };
      out.body.append(
        h("p.pl-lead", null, h("b", null, `${o.warps} of ${o.most} warps`), says),
        boxes,
        tableOf(["limit", "share", "blocks per SM"], o.limits.map(limit)),
      );
    },
  };
}
