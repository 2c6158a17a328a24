// The online-softmax state as the kernel went through it. A point, once chosen, leads to the PTX lines that made it.

const SERIES = [
  ["m", "running maximum m", "the largest logit seen so far"],
  ["l", "running sum l", "the sum of exp(logit − m) so far"],
  ["rescale", "rescale", "exp(m before − m after): what was summed so far is multiplied by it"],
];

/**
 * The online-softmax plot: three small charts over the KV tiles (or the parts that a decode kernel keeps apart); the
 * kernel's probes solid, numpy float64 as open rings. `onpick(series, tile)` hears of a point that is chosen.
 */
function makeStatePlot(onpick) {
  const holder = h("div.pl-plot", { tabIndex: 0, role: "img" });
  const legend = h("div.pl-legend", null,
    h("span.pl-key-line"), h("span", null, "the kernel's probes"), h("span.pl-key-ring"), h("span", null, "numpy float64"));
  const picture = h("div.pl-picture", null, holder, legend);
  const table = h("div.pl-table");
  const out = card("Online softmax, tile by tile", picture, table);
  let data = null, at = -1, series = 0, chosen = null; // chosen: [series, tile] that is linked to PTX lines

  const draw = onceAFrame(() => {
    const width = holder.clientWidth, height = holder.clientHeight;
    if (!width) return; // not on the page now
    holder.replaceChildren();
    if (!data) return;
    if (data.note) return holder.append(h("p.pl-blank", null, data.note));
    const left = 50, right = 4, gap = 19, bottom = 16, n = data.tiles; // gap: above each chart, for its name
    const each = (height - bottom - 3 * gap) / 3;
    const x = (k) => left + 6 + (n > 1 ? k / (n - 1) : 0.5) * (width - left - right - 12);
    const root = s("svg", { width, height, "aria-hidden": "true" });
    SERIES.forEach(([key, title], row) => {
      const top = gap + row * (each + gap);
      const all = [...data.kernel[key], ...data.numpy[key]].filter(Number.isFinite);
      let lo = Math.min(...all), hi = Math.max(...all);
      if (key === "rescale") [lo, hi] = [0, 1];
      if (!(hi - lo > 1e-5 * Math.abs(hi))) [lo, hi] = all.length ? [lo - 0.5, hi + 0.5] : [0, 1];
      const y = (v) => top + each - (v - lo) / (hi - lo) * each;
      const picked = chosen && chosen[0] === key;
      root.append(s("rect", { x: left, y: top - 2, width: width - left - right, height: each + 4, class: picked ? "pl-frame pl-picked" : "pl-frame" }));
      for (const v of [lo, hi]) {
        const label = s("text", { x: left - 5, y: y(v) + (v === lo ? 2 : 7), class: "pl-tick", "text-anchor": "end" });
        label.textContent = short(v);
        root.append(label);
      }
      const name = s("text", { x: left, y: top - 6, class: `pl-name pl-${key}` });
      name.textContent = title;
      if (data.parts) { // parts do not follow one another: stems instead of a line
        data.kernel[key].forEach((v, k) => {
          if (Number.isFinite(v)) root.append(s("line", { x1: x(k), x2: x(k), y1: y(lo), y2: y(v), class: `pl-series pl-${key}` }));
        });
      }
      const points = data.kernel[key].map((v, k) => Number.isFinite(v) ? `${x(k).toFixed(1)},${y(v).toFixed(1)}` : null);
      let run = [];
      for (const p of data.parts ? [] : [...points, null]) {
        if (p) run.push(p);
        else if (run.length) {
          root.append(s("polyline", { points: run.join(" "), class: `pl-series pl-${key}` }));
          run = [];
        }
      }
      if (n <= 80) points.forEach((p) => {
        if (p) root.append(s("circle", { cx: p.split(",")[0], cy: p.split(",")[1], r: 2.2, class: `pl-dot pl-${key}` }));
      });
      const every = Math.max(1, Math.ceil(n / 60));
      data.numpy[key].forEach((v, k) => {
        if (k % every === 0 && Number.isFinite(v)) root.append(s("circle", { cx: x(k), cy: y(v), r: 4, class: "pl-ring" }));
      });
      if (picked && Number.isFinite(data.kernel[key][chosen[1]])) {
        const [cx, cy] = [x(chosen[1]), y(data.kernel[key][chosen[1]])];
        root.append(s("path", { d: `M${cx} ${cy - 7}L${cx + 7} ${cy}L${cx} ${cy + 7}L${cx - 7} ${cy}Z`, class: "pl-chosen" }));
      }
      root.append(name);
    });
    for (const k of n > 1 ? [0, n - 1] : [0]) {
      const t = s("text", { x: x(k), y: height - 3, class: "pl-tick", "text-anchor": k || n === 1 ? "end" : "start" });
      t.textContent = k;
      root.append(t);
    }
    const axis = s("text", { x: (left + width - right) / 2, y: height - 3, class: "pl-tick", "text-anchor": "middle" });
    axis.textContent = data.unit;
    root.append(axis);
    const cursor = s("line", { y1: 6, y2: height - bottom, class: "pl-cursor" });
    if (at >= 0) { cursor.setAttribute("x1", x(at)); cursor.setAttribute("x2", x(at)); root.append(cursor); }
    holder.append(root);
    holder.at = (clientX) => {
      const u = (clientX - holder.getBoundingClientRect().left - left - 6) / (width - left - right - 12);
      return Math.max(0, Math.min(n - 1, Math.round(u * (n - 1))));
    };
    holder.which = (clientY) => Math.max(0, Math.min(2, Math.floor((clientY - holder.getBoundingClientRect().top) / (gap + each))));
  });
  const unit = () => (data.tile_kv > 1 ? "tile" : data.unit);
  function move(k) {
    at = k;
    out.read.textContent = `${unit()} ${k}: ` + SERIES.map(([key]) => {
      const [mine, exact] = [data.kernel[key][k], data.numpy[key][k]];
      return `${key} ${short(mine, 6)}` + (Number.isFinite(exact) ? ` (numpy ${short(exact, 6)})` : "");
    }).join(", ");
    draw();
  }
  function choose(row, k) {
    series = row;
    chosen = [SERIES[row][0], k];
    move(k);
    onpick(...chosen);
  }
  holder.addEventListener("pointermove", (e) => { if (data && !data.note && holder.at) move(holder.at(e.clientX)); });
  holder.addEventListener("pointerleave", () => { at = -1; draw(); });
  holder.addEventListener("click", (e) => { if (data && !data.note && holder.at) choose(holder.which(e.clientY), holder.at(e.clientX)); });
  holder.addEventListener("keydown", (e) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9, ArrowUp: 0, ArrowDown: 0, Enter: 0 }[e.key];
    if (step === undefined || !data || data.note) return;
    e.preventDefault();
    e.stopPropagation();
    if (e.key === "ArrowUp" || e.key === "ArrowDown") return choose((series + (e.key === "ArrowUp" ? 2 : 1)) % 3, Math.max(0, at));
    if (e.key === "Enter") return choose(series, Math.max(0, at));
    move(Math.max(0, Math.min(data.tiles - 1, at + step)));
  });
  new ResizeObserver(draw).observe(holder);

  return {
    el: out.el, draw,
    /** Chooses a tile, in the chart that was chosen last. */
    point(k) { if (data && !data.note) choose(series, k); },
    /** Marks the chart of a series, or none. */
    mark(key) { chosen = key ? [key, chosen ? chosen[1] : -1] : null; draw(); },
    show(next) {
      data = next;
      at = -1;
      if (chosen && data && chosen[1] >= data.tiles) chosen = null;
      out.el.hidden = !data;
      out.note.textContent = data ? data.label : "";
      out.read.textContent = !data || data.note ? "" : data.merged
        ? `Merged: m ${short(data.merged.m, 6)} (numpy ${short(data.merged.numpy_m, 6)}), l ${short(data.merged.l, 6)} (numpy ${short(data.merged.numpy_l, 6)}).`
        : "Hover or arrow keys: values. Click or Enter: the PTX that made the point.";
      legend.hidden = !data || !!data.note;
      holder.setAttribute("aria-label", data ? data.note || `Running maximum, running sum and rescale of ${data.label} over ${data.tiles} ${unit()}s; arrow keys move, Enter selects the PTX lines that made the point; the table has the numbers.` : "no result yet");
      out.later(() => (data && !data.note ? [numberTable(
        [unit(), ...SERIES.flatMap(([key]) => [key, `${key} (numpy)`])],
        Array.from({ length: data.tiles }, (_, k) => [k, ...SERIES.flatMap(([key]) => [short(data.kernel[key][k], 7), short(data.numpy[key][k], 7)])]))] : []));
      draw();
    },
  };
}
