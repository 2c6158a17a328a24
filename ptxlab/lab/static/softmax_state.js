// @ts-check
// The online softmax of one row as the kernel went through it: its scores, m over them, l, rescale, the output row. A
// point, once chosen, leads to the PTX lines that made it; "Play" walks through the tiles.

import { button, h, onKeys, tableOf, s, short } from "./dom.js";
import { colours, dot, drawing, imageOf, label, path, plotCard, rampPixels, rect } from "./drawing.js";
import { isDark } from "./errors.js";

const LOW = 170; // pixels of a plot below which it has no chart of the output
const SERIES = [
  ["m", "running maximum"],
  ["l", "running sum"],
  ["rescale", "exp(m before − m after), by which sums shrink"],
];
const OUTPUT = "o"; // the fourth chart: the output row, not yet divided by l
const STEPS = ["m", "rescale", "o", "l"]; // of a tile, in the order of the algorithm
const PACE = 900,
  SKIP = 120; // milliseconds of a step; of a tile that changes nothing, where there are many
const MANY = 16; // tiles from which on those with rescale = 1 are passed quickly

/** Colours below zero, at zero, and above it. */
const SIGNED = colours("0550ae f7f7f7 b22814");
const SIGNED_DARK = colours("6cb6ff 1c1c1e ff8f78");

/** A small image of the output row after each tile: a column a tile. */
function drawnOutput({ values }, dark) {
  const shades = rampPixels(dark ? SIGNED_DARK : SIGNED);
  return imageOf(values[0]?.length || 1, values.length, (c, t) => {
    const share = Math.sqrt(Math.abs(values[t][c]) / 127) * Math.sign(values[t][c]);
    return shades[Math.min(255, Math.round(128 * (1 + share)))];
  }).toDataURL();
}

/**
 * The online-softmax plot: charts over the KV tiles (or the parts that a decode kernel keeps apart); the kernel's probes
 * solid, numpy float64 as open rings, dots for scores. `onpick(series, tile)` hears of a point that is chosen.
 */
export function makeStatePlot(onpick) {
  const keys = [
    h("span.pl-keyed.pl-scored", null, h("span.pl-key-score"), "score"),
    h("span.pl-keyed.pl-unseen", null, h("span.pl-key-hatch"), "masked key"),
    h("span.pl-keyed", null, h("span.pl-key-line"), "kernel"),
    h("span.pl-keyed.pl-earlier", null, h("span.pl-key-line"), "before"),
    h("span.pl-keyed", null, h("span.pl-key-ring"), "numpy float64"),
  ];
  const out = plotCard("Online softmax", "", keys, paint),
    { holder, legend, room, draw } = out;
  const hint = "walk through the tiles; PTX, Python and the tile map follow",
    play = button("▶ Play", hint, playOrStop, "pl-quiet.pl-play");
  out.el.querySelector("header").insertBefore(play, out.el.querySelector("header").lastChild);
  let data = null,
    at = -1,
    series = 0,
    chosen = null, // chosen: [series, tile] that is linked to PTX lines
    image = null; // of the output row
  let timer = 0;

  const output = () => (room.height < LOW ? null : data?.output); // the charts need the room
  /** What chart titles say of the tile in hand: m and l before it and after it, the factor between them. */
  function valueIn(key, k) {
    const of = (tile) => short(data.kernel[key][tile]);
    if (k < 0) return "";
    if (key === "rescale") return ` × ${of(k)}`;
    return k && !data.parts ? ` ${of(k - 1)} → ${of(k)}` : ` ${of(k)}`;
  }
  const names = () => (output() ? [...SERIES.map(([key]) => key), OUTPUT] : SERIES.map(([key]) => key));
  /** Top and height of each chart: the scores need the most room. */
  function charts(height) {
    const gap = 19,
      bottom = 16,
      weights = output() ? [2.2, 1, 1, 1.3] : [1, 1, 1];
    const unit = (height - bottom - gap * weights.length) / weights.reduce((a, b) => a + b);
    let top = gap;
    return weights.map((w) => {
      const box = [top, w * unit];
      top += w * unit + gap;
      return box;
    });
  }

  function paint({ width, height }) {
    if (!data || data.note) return data?.note;
    const left = 50,
      right = 6,
      n = data.tiles,
      wide = width - left - right,
      each = wide / n;
    const edge = (k) => left + k * each,
      x = (k) => edge(k + 0.5); // a tile is as wide as its keys
    const boxes = charts(height),
      root = drawing(width, height);
    const stop = timer ? at : n; // while it plays, what is to come is not there yet
    const inHand = at >= 0 ? at : (chosen?.[1] ?? -1),
      finite = (of) => [...(of?.entries() || [])].filter(([k, v]) => k < n && Number.isFinite(v));
    SERIES.forEach(([key, title], row) => {
      const [top, high] = boxes[row],
        scores = key === "m" && data.scores ? data.scores : [],
        [mine, exact, was] = [data.kernel, data.numpy, data.before].map((of) => finite(of?.[key]));
      const all = [...mine, ...exact, ...was, ...scores].map(([, v]) => v).filter(Number.isFinite);
      let lo = Math.min(...all),
        hi = Math.max(...all);
      if (key === "rescale") [lo, hi] = [0, 1];
      if (!(hi - lo > 1e-5 * Math.abs(hi))) [lo, hi] = all.length ? [lo - 0.5, hi + 0.5] : [0, 1];
      const y = (v) => top + high - ((v - lo) / (hi - lo)) * high;
      const picked = chosen && chosen[0] === key;
      root.append(rect(left, top - 2, wide, high + 4, picked ? "pl-frame pl-picked" : "pl-frame"));
      if (at >= 0) root.append(rect(edge(at), top - 2, Math.max(1, each), high + 4, "pl-now"));
      for (const v of high < 16 ? [hi] : [lo, hi])
        root.append(label(left - 5, y(v) + (v === lo ? 2 : 7), short(v), "pl-tick", "end"));
      const name = label(left, top - 6, key + valueIn(key, inHand), `pl-name pl-${key}`);
      name.append(s("tspan", { dx: 6 }, title + (scores.length ? ", over the scores" : "")));
      root.append(name);
      if (scores.length) {
        const of = (j) => (left + Math.min(n, (j + 0.5) / data.tile_kv) * each).toFixed(1),
          there = scores.filter(([j, v]) => v !== null && j < (stop + 1) * data.tile_kv),
          unseen = scores.filter(([, v]) => v === null);
        root.append(path(there.map(([j, v]) => `M${of(j)} ${y(v).toFixed(1)}h0`).join(""), "pl-score"));
        root.append(path(unseen.map(([j]) => `M${of(j)} ${top + high}v-6`).join(""), "pl-hatch pl-unseen-key"));
      }
      const shown = mine.filter(([k]) => data.parts || k <= stop);
      // Stairs: what holds until the next tile. Parts do not follow one another: stems instead.
      const stairs = (line, css) => {
        const steps = line.map(([k, v], i) => {
          if (data.parts) return `M${x(k)} ${y(lo)}V${y(v)}`;
          const follows = i && line[i - 1][0] === k - 1;
          return `${follows ? "L" : "M"}${edge(k).toFixed(1)},${y(v).toFixed(1)}H${edge(k + 1).toFixed(1)}`;
        });
        root.append(path(steps.join(""), `pl-series pl-${css}`));
      };
      if (was.length) stairs(was, "earlier");
      stairs(shown, key);
      const every = Math.max(1, Math.ceil(n / 60));
      for (const [k, v] of n <= 80 ? shown : []) root.append(dot(x(k), y(v), 2.2, `pl-dot pl-${key}`));
      for (const [k, v] of exact) if (k % every === 0 && k <= stop) root.append(dot(x(k), y(v), 4, "pl-ring"));
      if (picked && Number.isFinite(data.kernel[key][chosen[1]])) {
        const [cx, cy] = [x(chosen[1]), y(data.kernel[key][chosen[1]])];
        root.append(path(`M${cx} ${cy - 7}l7 7l-7 7l-7 -7Z`, "pl-chosen"));
      }
    });
    if (output()) {
      const [top, high] = boxes[3],
        picked = chosen && chosen[0] === OUTPUT,
        place = { x: left, y: top, width: wide, height: high, preserveAspectRatio: "none" };
      root.append(
        s("image", {
          href: (image ??= drawnOutput(data.output, isDark())),
          ...place,
          style: "image-rendering: pixelated",
        }),
      );
      if (stop < n) root.append(rect(edge(stop + 1), top, Math.max(0, wide - (stop + 1) * each), high, "pl-cover"));
      root.append(
        rect(left, top, wide, high, picked ? "pl-frame pl-picked pl-hollow" : "pl-frame pl-hollow"),
        label(left, top - 6, "output row o, not yet divided by l (numpy)", "pl-name"),
        label(left - 5, top + 9, 0, "pl-tick", "end"),
        label(left - 5, top + high, data.output.columns.at(-1), "pl-tick", "end"),
      );
      if (at >= 0) root.append(rect(edge(at), top, Math.max(1, each), high, "pl-column"));
    }
    for (const k of n > 1 ? [0, n - 1] : [0]) root.append(label(x(k), height - 3, k, "pl-tick", "middle"));
    root.append(label(left + wide / 2, height - 3, data.unit, "pl-tick", "middle"));
    holder.at = (clientX) =>
      Math.max(0, Math.min(n - 1, Math.floor((clientX - holder.getBoundingClientRect().left - left) / each)));
    holder.which = (clientY) => {
      const y = clientY - holder.getBoundingClientRect().top,
        k = boxes.findIndex(([top, high]) => y < top + high + 2);
      return k < 0 ? boxes.length - 1 : k;
    };
    return root;
  }
  const unit = () => (data.tile_kv > 1 ? "tile" : data.unit);
  function move(k) {
    at = k;
    out.read.textContent =
      `${unit()} ${k}: ` +
      SERIES.map(([key]) => {
        const [mine, exact, was] = [data.kernel, data.numpy, data.before].map((of) => of?.[key][k]);
        const more = (name, v) => (Number.isFinite(v) ? ` (${name} ${short(v, 6)})` : "");
        return `${key} ${short(mine, 6)}` + more("numpy", exact) + (was === mine ? "" : more("before", was));
      }).join(", ");
    draw();
  }
  function choose(row, k) {
    series = row;
    chosen = [names()[row], k];
    move(k);
    onpick(...chosen);
  }

  // -- playing ------------------------------------------------------------------------------------------------------

  /** What a step of the walk does, in words. */
  function says(step, k) {
    const value = (key) => short(data.kernel[key][k], 4),
      before = k ? data.kernel.m[k - 1] : null,
      grew = !(Number.isFinite(before) && data.kernel.m[k] <= before);
    if (step === "m") return grew ? `a larger score: m becomes ${value("m")}` : `no score above m = ${value("m")}`;
    if (step === "o") return "the output row is scaled, and takes in weight × value of each key";
    if (step === "l") return `l = l × rescale + the weights = ${value("l")}`;
    if (before === null) return "there is nothing to rescale yet";
    const shrinks = `what was summed under the old m shrinks by ${value("rescale")}`;
    return data.kernel.rescale[k] < 1 ? shrinks : "rescale 1: nothing changes";
  }
  function halt() {
    if (!timer) return;
    clearTimeout(timer);
    timer = 0;
    play.textContent = "▶ Play";
  }
  function walk(k, step) {
    if (!data || data.note || k >= data.tiles || !Number.isFinite(data.kernel.m[k])) {
      halt();
      return draw();
    }
    const still = k > 0 && data.kernel.rescale[k] >= 1 && data.tiles > MANY,
      steps = STEPS.filter((key) => key !== OUTPUT || data.output);
    const key = still ? "m" : steps[step];
    timer = 1; // draw() hides what is to come
    choose(names().indexOf(key), k);
    out.read.textContent = `${unit()} ${k}: ${says(key, k)}`;
    const last = still || step === steps.length - 1;
    timer = setTimeout(() => walk(last ? k + 1 : k, last ? 0 : step + 1), still ? SKIP : PACE);
  }
  function playOrStop() {
    if (timer) {
      halt();
      return draw();
    }
    if (!data || data.note) return;
    play.textContent = "■ Stop";
    walk(at >= 0 && at < data.tiles - 1 ? at : 0, 0);
  }

  holder.addEventListener("pointermove", (e) => {
    if (data && !data.note && holder.at && !timer) move(holder.at(e.clientX));
  });
  holder.addEventListener("pointerleave", () => {
    if (!timer) {
      at = -1;
      draw();
    }
  });
  holder.addEventListener("click", (e) => {
    halt();
    if (data && !data.note && holder.at) choose(holder.which(e.clientY), holder.at(e.clientX));
  });
  onKeys(holder, ({ key }) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9 }[key],
      row = { ArrowUp: -1, ArrowDown: 1, Enter: 0 }[key],
      count = names().length;
    if ((step ?? row) === undefined || !data || data.note) return null;
    return () => {
      halt();
      if (step) move(Math.max(0, Math.min(data.tiles - 1, at + step)));
      else choose((series + count + row) % count, Math.max(0, at));
    };
  });

  return {
    el: out.el,
    /** Draws it in the colours of another theme. */
    recolour() {
      image = null;
      draw();
    },
    /** Chooses a tile, in the chart that was chosen last. */
    point(k) {
      if (data && !data.note) choose(Math.min(series, names().length - 1), k);
    },
    /** Marks the chart of a series, or none. */
    mark(key) {
      chosen = key ? [key, chosen ? chosen[1] : -1] : null;
      draw();
    },
    /** The tile that is chosen; null where none is. */
    tile() {
      return chosen && chosen[1] >= 0 ? chosen[1] : null;
    },
    show(next) {
      halt();
      // The chosen tile is the one with its first key, where tiles are of another size now; parts have no such order.
      if (chosen && data && next) {
        const key = Math.max(0, chosen[1]) * data.tile_kv,
          parts = !!data.parts !== !!next.parts || (next.parts && next.tiles !== data.tiles);
        if (parts || key >= next.tiles * next.tile_kv) chosen = null;
        else if (chosen[1] >= 0) chosen = [chosen[0], Math.floor(key / next.tile_kv)];
      }
      data = next;
      at = -1;
      image = null;
      out.el.hidden = !data;
      play.hidden = !data || !!data.note || !!data.parts;
      out.note.textContent = data ? data.label : "";
      const real = data && !data.note,
        both = (key) => `${key} ${short(data.merged[key], 6)} (numpy ${short(data.merged[`numpy_${key}`], 6)})`;
      out.read.textContent = !real
        ? ""
        : data.merged
          ? `Merged: ${both("m")}, ${both("l")}.`
          : "Hover or arrow keys: values. Click or Enter: the PTX that made the point.";
      legend.hidden = !real;
      legend.querySelector(".pl-scored").hidden = !data?.scores;
      legend.querySelector(".pl-earlier").hidden = !data?.before;
      legend.querySelector(".pl-unseen").hidden = !data?.scores?.some(([, v]) => v === null);
      const what = real && `running maximum, running sum, rescale and output row of ${data.label}`,
        keys = "arrow keys move, Enter selects the PTX lines that made the point; the table has the numbers.",
        says = real && `Scores, ${what} over ${data.tiles} ${unit()}s; ${keys}`;
      holder.setAttribute("aria-label", says || data?.note || "no result yet");
      out.later(() => {
        if (!real) return [];
        const cells = (k) =>
            SERIES.flatMap(([key]) => [data.kernel[key][k], data.numpy[key][k]].map((x) => short(x, 7))),
          heads = SERIES.flatMap(([key]) => [key, `${key} (numpy)`]);
        return [
          tableOf(
            [unit(), ...heads],
            [...Array(data.tiles).keys()].map((k) => [k, ...cells(k)]),
          ),
        ];
      });
      draw();
    },
  };
}
