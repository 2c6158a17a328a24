// @ts-check
// Roofline and occupancy: what the counted work allows on a GPU, and what keeps blocks out of a multiprocessor.

import { card, h, tableOf, onceAFrame, s, short, sizeOf } from "./dom.js";
import { bar, origin, tableCard } from "./counters.js";

/** Puts labels beside their points: of the places around each, the first where nothing stands yet. The places are tried
 * from right below, `wide` is the picture's width. Labels are [x, y, text, css], of points [x, y].
 * @param {[number, number, string, string][]} labels @param {number[][]} points @param {number[][]} taken @param {number[]} frame
 * @returns {[number, number, string, string][]} */
function placeLabels(labels, points, taken, frame) {
  const HIGH = 11,
    boxes = [...taken, ...points.map(([x, y]) => [x - 7, y - 7, x + 7, y + 7])];
  return labels.map(([x, y, words, css]) => {
    const wide = 6.3 * words.length; // of bold letters
    const tries = [
      [9, 14],
      [9, -7],
      [-9 - wide, 14],
      [-9 - wide, -7],
      [9, 27],
      [9, -20],
      [-9 - wide, 27],
      [-9 - wide, -20],
      [-wide / 2, 27],
      [-wide / 2, -20],
    ];
    const box = (/** @type {number[]} */ [dx, dy]) => [x + dx, y + dy - HIGH, x + dx + wide, y + dy + 2];
    const inside = (/** @type {number[]} */ [a, b, c, d]) =>
      a >= frame[0] && b >= frame[1] && c <= frame[2] && d <= frame[3];
    const free = (b) => boxes.every((o) => b[2] <= o[0] || b[0] >= o[2] || b[3] <= o[1] || b[1] >= o[3]);
    const at = tries.find((t) => inside(box(t)) && free(box(t))) || tries.find((t) => inside(box(t))) || tries[0];
    boxes.push(box(at));
    return [x + at[0], y + at[1], words, css];
  });
}

/** data: {gpu, source, bandwidth, roofs: [[name, FLOP/s]], own: [name, FLOP/s] | null, points: [{origin, what, x, y, bound}]}, or {note}. */
export function makeRoofline() {
  const holder = h("div.pl-plot", { role: "img", tabIndex: 0 });
  const legend = h(
    "div.pl-legend",
    null,
    h("span.pl-key-ring"),
    h("span", null, "modelled: the most that the roof allows"),
    h("span.pl-key-dot"),
    h("span", null, "measured"),
  );
  const table = h("div.pl-table");
  const out = card("Roofline", h("div.pl-picture", null, holder, legend), table);
  let data = null;

  const flops = (y) => (y >= 1e12 ? `${short(y / 1e12)} TFLOP/s` : `${short(y / 1e9)} GFLOP/s`);
  const draw = onceAFrame(() => {
    const { width, height } = room;
    if (!width) return;
    holder.replaceChildren();
    if (!data || data.note)
      return holder.append(
        h("p.pl-blank", null, data?.note || "Needs counted floating-point operations: run the kernel on the emulator."),
      );
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
    const root = s("svg", { width, height, "aria-hidden": "true" });
    const text = (tx, ty, words, anchor, css = "pl-tick") =>
      root.append(s("text", { x: tx, y: ty, class: css, "text-anchor": anchor }, String(words)));
    root.append(
      s("rect", { x: left, y: top, width: width - left - right, height: height - bottom - top, class: "pl-frame" }),
    );
    for (let d = Math.ceil(Math.log10(x0)); d <= Math.log10(x1); d++) {
      root.append(s("line", { x1: x(10 ** d), x2: x(10 ** d), y1: top, y2: height - bottom, class: "pl-cut" }));
      text(x(10 ** d), height - bottom + 11, short(10 ** d), "middle");
    }
    for (let d = Math.ceil(Math.log10(y0)); d <= Math.log10(y1); d++) {
      root.append(s("line", { x1: left, x2: width - right, y1: y(10 ** d), y2: y(10 ** d), class: "pl-cut" }));
      text(left - 4, y(10 ** d) + 3, d >= 12 ? `${short(10 ** (d - 12))} T` : `${short(10 ** (d - 9))} G`, "end");
    }
    const peak = Math.max(...data.roofs.map(([, r]) => r));
    root.append(
      s("line", {
        x1: x(x0),
        y1: y(Math.max(y0, x0 * data.bandwidth)),
        x2: x(peak / data.bandwidth),
        y2: y(peak),
        class: "pl-roof",
      }),
    );
    text(x(x0) + 8, y(x0 * 4 * data.bandwidth) - 10, `${short(data.bandwidth / 1e9, 4)} GB/s`, "start");
    const taken = [];
    for (const [name, level, own] of [...data.roofs, ...(data.own ? [[...data.own, true]] : [])]) {
      root.append(
        s("line", {
          x1: x(Math.max(x0, level / data.bandwidth)),
          x2: x(x1),
          y1: y(level),
          y2: y(level),
          class: own ? "pl-roof pl-own" : "pl-roof",
        }),
      );
      const words = `${name} ${flops(level)}`,
        wide = 5.4 * words.length,
        begin = x(Math.max(x0, level / data.bandwidth)) + 6;
      const atRight = width - right - 3 - wide,
        free = ([from, base]) =>
          // no point of its own lies there, and no words of another roof
          !data.points.some(
            (p) => x(p.x) > from - 7 && x(p.x) < from + wide + 7 && y(p.y) > base - 17 && y(p.y) < base + 11,
          ) && !taken.some(([a, up, b, down]) => a < from + wide && from < b && up < base + 2 && base - 10 < down);
      const [from, base] = [
        [atRight, y(level) - 4],
        [begin, y(level) - 4],
        [atRight, y(level) + 12],
      ].find(free) ?? [begin, y(level) - 4];
      text(from, base, words, "start");
      taken.push([from, base - 10, from + wide, base + 4]);
    }
    const modelled = data.points.filter((p) => p.origin === "modelled");
    if (modelled.length === 2) {
      const level = Math.max(modelled[0].y, modelled[1].y),
        ridge = level / data.bandwidth; // along the roof, not across
      const bend = modelled[0].x < ridge && ridge < modelled[1].x ? `L${x(ridge)} ${y(level)}` : "";
      root.append(
        s("path", {
          d: `M${x(modelled[0].x)} ${y(modelled[0].y)}${bend}L${x(modelled[1].x)} ${y(modelled[1].y)}`,
          class: "pl-between",
        }),
      );
    }
    for (const p of data.points)
      root.append(
        s("circle", {
          cx: x(p.x),
          cy: y(p.y),
          r: 5.5,
          class: p.origin === "measured" ? "pl-point pl-solid" : "pl-point",
        }),
      );
    const labels = placeLabels(
      data.points.map((p) => [x(p.x), y(p.y), p.what, "pl-tick pl-strong"]),
      data.points.map((p) => [x(p.x), y(p.y)]),
      taken,
      [left, top, width - right, height - bottom],
    );
    for (const [tx, ty, words, css] of labels) text(tx, ty, words, "start", css);
    text((left + width - right) / 2, height - 3, "FLOP per byte of memory", "middle");
    holder.append(root);
  });
  const room = sizeOf(holder, draw);
  return {
    el: out.el,
    draw,
    show(next) {
      data = next;
      const real = data && !data.note;
      legend.hidden = !real;
      out.note.textContent = real ? `${data.gpu}, peaks from: ${data.source}` : "";
      out.note.title = out.note.textContent;
      const said = real
        ? data.points.map(
            (p) =>
              `${p.origin}, ${p.what}: ${short(p.x)} FLOP/B, ${flops(p.y)}${p.bound ? `, limited by ${p.bound}` : ""}`,
          )
        : [];
      out.read.textContent = [
        said[0],
        real && data.own ? `The grid has blocks for ${data.own[0]}: the dashed roof is what those can do` : "",
      ]
        .filter(Boolean)
        .join(". ");
      holder.setAttribute("aria-label", real ? `Roofline of ${data.gpu}. ${said.join(". ")}` : "no roofline");
      out.later(() =>
        real
          ? [
              tableOf(
                ["point", "origin", "FLOP/B", "FLOP/s", "limited by"],
                data.points.map((p) => [p.what, p.origin, short(p.x), flops(p.y), p.bound || "–"]),
              ),
              tableOf(
                ["roof", "value"],
                [...data.roofs.map(([n, v]) => [n, flops(v)]), ["memory", `${short(data.bandwidth / 1e9, 4)} GB/s`]],
              ),
            ]
          : [],
      );
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
      out.body.append(
        h(
          "p.pl-lead",
          null,
          h("b", null, `${o.warps} of ${o.most} warps`),
          ` per SM: ${o.blocks} block${o.blocks === 1 ? "" : "s"} of ${o.threads} threads, ${assembly.registers} registers per thread, ${assembly.shared_bytes} B shared`,
        ),
        boxes,
        tableOf(
          ["limit", "share", "blocks per SM"],
          o.limits.map(([what, n]) => {
            const limits = what === o.limiter;
            return h(
              limits ? "tr.pl-limiter" : "tr",
              null,
              h("td.pl-left", null, what, limits ? h("b", null, " ◀ limits") : ""),
              h("td.pl-barcell", null, bar(Math.min(1, n / most), 1)),
              h("td", null, String(n)),
            );
          }),
        ),
      );
    },
  };
}
