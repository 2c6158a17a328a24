// The two pictures: the error of the output as a heat map, and the online-softmax state as the kernel went through it.

const RAMP = [[247, 251, 255], [198, 219, 239], [107, 174, 214], [33, 113, 181], [8, 48, 107]]; // light: small is pale
const RAMP_DARK = [[18, 24, 38], [22, 62, 112], [38, 118, 178], [112, 180, 220], [222, 240, 252]]; // dark: small is dark
const DECADES = 4; // the ramp covers 1e-4 of the tolerance to the tolerance

function isDark(el) {
  const light = document.body.dataset.jpThemeLight;
  if (light !== undefined) return light === "false";
  if (document.body.dataset.vscodeThemeKind) return document.body.dataset.vscodeThemeKind.includes("dark");
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

function rampColour(ramp, t) {
  const x = Math.max(0, Math.min(0.9999, t)) * (ramp.length - 1), k = Math.floor(x), f = x - k;
  return ramp[k].map((c, i) => Math.round(c + (ramp[k + 1][i] - c) * f));
}

/**
 * The error heat map of one head. data: {rows, cols, values: Float32Array (|error| / tolerance), absolute: Float32Array,
 * step: [query rows, columns] per cell}. Over the tolerance a cell is red with a white cross: never by colour alone.
 */
function makeErrorMap(onrow) {
  const canvas = h("canvas", { tabIndex: 0, role: "img" });
  const frame = h("div.pl-canvas", null, canvas);
  const legend = h("div.pl-legend");
  const picture = h("div.pl-picture", null, frame, legend);
  const table = h("div.pl-table");
  const out = card("Output error, per element", picture, table);
  let data = null, cursor = null;

  function draw() {
    if (!data || !canvas.clientWidth) return;
    const ratio = devicePixelRatio || 1, w = canvas.clientWidth * ratio, hgt = canvas.clientHeight * ratio;
    canvas.width = w;
    canvas.height = hgt;
    const ctx = canvas.getContext("2d"), ramp = isDark(canvas) ? RAMP_DARK : RAMP;
    const image = new ImageData(data.rows, data.cols); // query rows run to the right, columns downwards
    const bad = [];
    for (let r = 0; r < data.rows; r++) for (let c = 0; c < data.cols; c++) {
      const v = data.values[r * data.cols + c], at = 4 * (c * data.rows + r);
      const over = !(v <= 1);
      const [red, green, blue] = over ? [200, 30, 45] : v > 0 ? rampColour(ramp, 1 + Math.log10(v) / DECADES) : ramp[0];
      image.data.set([red, green, blue, 255], at);
      if (over) bad.push([r, c]);
    }
    const small = new OffscreenCanvas(data.rows, data.cols);
    small.getContext("2d").putImageData(image, 0, 0);
    ctx.imageSmoothingEnabled = false;
    ctx.drawImage(small, 0, 0, w, hgt);
    const dx = w / data.rows, dy = hgt / data.cols;
    ctx.strokeStyle = "rgba(255,255,255,.8)";
    ctx.lineWidth = ratio;
    ctx.beginPath();
    const every = Math.ceil(bad.length / 4000);
    bad.forEach(([r, c], k) => {
      if (k % every) return;
      const size = Math.max(3 * ratio, Math.min(dx, dy) * 0.6), x = (r + 0.5) * dx, y = (c + 0.5) * dy;
      ctx.moveTo(x - size / 2, y - size / 2); ctx.lineTo(x + size / 2, y + size / 2);
      ctx.moveTo(x + size / 2, y - size / 2); ctx.lineTo(x - size / 2, y + size / 2);
    });
    ctx.stroke();
    if (data.row !== null && data.row !== undefined) {
      const x = Math.floor(data.row / data.step[0]) * dx;
      ctx.strokeStyle = isDark(canvas) ? "#ffb454" : "#b04a00";
      ctx.lineWidth = 2 * ratio;
      ctx.strokeRect(x - ratio, ratio, Math.max(dx, 2 * ratio) + 2 * ratio, hgt - 2 * ratio);
    }
    if (cursor) {
      ctx.strokeStyle = isDark(canvas) ? "#fff" : "#000";
      ctx.lineWidth = ratio;
      ctx.strokeRect(cursor[0] * dx - 1, cursor[1] * dy - 1, dx + 2, dy + 2);
    }
  }

  function say() {
    if (!cursor || !data) return;
    const [r, c] = cursor, at = r * data.cols + c;
    const from = (k, step, n) => step === 1 ? k : `${k * step}–${Math.min(n, (k + 1) * step) - 1}`;
    out.read.textContent = `row ${from(r, data.step[0], data.seq)}, column ${from(c, data.step[1], data.dim)}: |error| ` +
      `${short(data.absolute[at])}, ${short(100 * data.values[at])} % of the tolerance`;
  }
  function at(event) {
    const box = canvas.getBoundingClientRect();
    const r = Math.floor((event.clientX - box.left) / box.width * data.rows), c = Math.floor((event.clientY - box.top) / box.height * data.cols);
    return [Math.max(0, Math.min(data.rows - 1, r)), Math.max(0, Math.min(data.cols - 1, c))];
  }
  canvas.addEventListener("pointermove", (e) => { if (data) { cursor = at(e); say(); draw(); } });
  canvas.addEventListener("pointerleave", () => { cursor = null; draw(); });
  canvas.addEventListener("click", (e) => { if (data) onrow(at(e)[0] * data.step[0]); });
  canvas.addEventListener("keydown", (e) => {
    const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[e.key];
    if (!data || !(move || e.key === "Enter")) return;
    e.preventDefault();
    e.stopPropagation();
    cursor ||= [0, 0];
    if (!move) return onrow(cursor[0] * data.step[0]);
    cursor = [Math.max(0, Math.min(data.rows - 1, cursor[0] + move[0])), Math.max(0, Math.min(data.cols - 1, cursor[1] + move[1]))];
    say();
    draw();
  });
  new ResizeObserver(draw).observe(canvas);

  return {
    el: out.el, draw,
    show(next) {
      data = next;
      cursor = null;
      frame.classList.toggle("pl-empty", !data);
      canvas.setAttribute("aria-label", data ? `Heat map of the output error of ${data.label}: ${data.seq} query rows by ${data.dim} columns. Arrow keys move, Enter chooses the row for the softmax plot.` : "no result yet");
      out.note.textContent = data ? data.label : "";
      const ramp = isDark(canvas) ? RAMP_DARK : RAMP;
      legend.replaceChildren(...(data ? [h("span", null, "query row →, column ↓"), h("span.pl-spring"), h("span", null, `≤ 1e-${DECADES}`),
        Object.assign(h("span.pl-ramp"), { style: `background:linear-gradient(to right,${ramp.map((c) => `rgb(${c})`)})` }),
        h("span", null, "1 × tolerance"), h("span.pl-over", null, "×"), h("span", null, "over")] : []));
      table.replaceChildren(...(data ? [numberTable(["query row", "column", "|error|", "of tolerance"],
        data.worst.map(([r, c, e, q]) => [r, c, short(e), typeof q === "string" ? q : short(100 * q) + " %"]))] : []));
      out.read.textContent = data ? "Hover or arrow keys: values. Click a row: its softmax." : "";
      draw();
    },
  };
}

const SERIES = [
  ["m", "running maximum m", "the largest logit seen so far"],
  ["l", "running sum l", "the sum of exp(logit − m) so far"],
  ["rescale", "rescale", "exp(m before − m after): what was summed so far is multiplied by it"],
];

/** The online-softmax plot: three small charts over the KV tiles; the kernel's probes solid, numpy float64 as open rings. */
function makeStatePlot() {
  const holder = h("div.pl-plot", { tabIndex: 0, role: "img" });
  const legend = h("div.pl-legend", null,
    h("span.pl-key-line"), h("span", null, "the kernel's probes"), h("span.pl-key-ring"), h("span", null, "numpy float64"));
  const picture = h("div.pl-picture", null, holder, legend);
  const table = h("div.pl-table");
  const out = card("Online softmax, tile by tile", picture, table);
  let data = null, at = -1;

  function draw() {
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
      root.append(s("rect", { x: left, y: top - 2, width: width - left - right, height: each + 4, class: "pl-frame" }));
      for (const v of [lo, hi]) {
        const label = s("text", { x: left - 5, y: y(v) + (v === lo ? 2 : 7), class: "pl-tick", "text-anchor": "end" });
        label.textContent = short(v);
        root.append(label);
      }
      const name = s("text", { x: left, y: top - 6, class: `pl-name pl-${key}` });
      name.textContent = title;
      const points = data.kernel[key].map((v, k) => Number.isFinite(v) ? `${x(k).toFixed(1)},${y(v).toFixed(1)}` : null);
      let run = [];
      for (const p of [...points, null]) {
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
      root.append(name);
    });
    for (const k of n > 1 ? [0, n - 1] : [0]) {
      const t = s("text", { x: x(k), y: height - 3, class: "pl-tick", "text-anchor": k || n === 1 ? "end" : "start" });
      t.textContent = k;
      root.append(t);
    }
    const axis = s("text", { x: (left + width - right) / 2, y: height - 3, class: "pl-tick", "text-anchor": "middle" });
    axis.textContent = data.tile_kv === 1 ? "key" : `KV tile of ${data.tile_kv} keys`;
    root.append(axis);
    const cursor = s("line", { y1: 6, y2: height - bottom, class: "pl-cursor" });
    if (at >= 0) { cursor.setAttribute("x1", x(at)); cursor.setAttribute("x2", x(at)); root.append(cursor); }
    holder.append(root);
    holder.at = (clientX) => {
      const u = (clientX - holder.getBoundingClientRect().left - left - 6) / (width - left - right - 12);
      return Math.max(0, Math.min(n - 1, Math.round(u * (n - 1))));
    };
  }
  function move(k) {
    at = k;
    out.read.textContent = `${data.tile_kv === 1 ? "key" : "tile"} ${k}: ` + SERIES.map(([key]) => {
      const [mine, exact] = [data.kernel[key][k], data.numpy[key][k]];
      return `${key} ${short(mine, 6)} (numpy ${short(exact, 6)})`;
    }).join(", ");
    draw();
  }
  holder.addEventListener("pointermove", (e) => { if (data && !data.note && holder.at) move(holder.at(e.clientX)); });
  holder.addEventListener("pointerleave", () => { at = -1; draw(); });
  holder.addEventListener("keydown", (e) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9 }[e.key];
    if (!step || !data || data.note) return;
    e.preventDefault();
    e.stopPropagation();
    move(Math.max(0, Math.min(data.tiles - 1, at + step)));
  });
  new ResizeObserver(draw).observe(holder);

  return {
    el: out.el, draw,
    show(next) {
      data = next;
      at = -1;
      out.note.textContent = data ? data.label : "";
      out.read.textContent = data && !data.note ? "Hover or arrow keys: values." : "";
      legend.hidden = !data || !!data.note;
      holder.setAttribute("aria-label", data ? data.note || `Running maximum, running sum and rescale of ${data.label} over ${data.tiles} tiles; the table has the numbers.` : "no result yet");
      table.replaceChildren(...(data && !data.note ? [numberTable(
        [data.tile_kv === 1 ? "key" : "tile", ...SERIES.flatMap(([key]) => [key, `${key} (numpy)`])],
        Array.from({ length: data.tiles }, (_, k) => [k, ...SERIES.flatMap(([key]) => [short(data.kernel[key][k], 7), short(data.numpy[key][k], 7)])]))] : []));
      draw();
    },
  };
}
