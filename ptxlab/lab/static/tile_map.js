// @ts-check
// The tile map: query rows against keys, cut as the kernel cuts them, with the row and the KV tile that are selected.

import { ARROWS, h, onKeys, tableOf, s } from "./dom.js";
import { drawing, label, plotCard, rect, stroke } from "./drawing.js";

const KINDS = ["skipped", "seen in part", "whole"];

/** data: {rows, keys, tile_q, tile_kv, causal, kinds, row_name}. `onpick(row, tile)` hears of a place that is chosen. */
export function makeTileMap(onpick) {
  const keys = [
    h("span.pl-keyed.pl-not", null, h("span.pl-key-hatch"), "skipped"),
    h("span.pl-keyed.pl-partly", null, h("span.pl-key-part"), "in part"),
    h("span.pl-keyed", null, h("span.pl-key-row"), "row"),
    h("span.pl-keyed", null, h("span.pl-key-tile"), "tile"),
  ];
  const out = plotCard("Tiles", ".pl-tilemap", keys, paint),
    { holder, legend, draw } = out;
  let data = null,
    row = 0,
    tile = -1,
    masked = false, // by a variant, whose tiles Python gives
    frame = null;

  const seen = (r) => (data.causal ? Math.max(0, Math.min(data.keys, r + data.keys - data.rows + 1)) : data.keys);
  const count = () => Math.ceil(data.keys / data.tile_kv);

  const keysOf = (k, size) => `${k * size}–${Math.min(data.keys, (k + 1) * size) - 1}`;

  /** The tiles without a mask, or under a causal one, as Python gives those under any other. */
  function tiles() {
    const many = data.causal ? Math.ceil(data.rows / data.tile_q) : 1;
    const lines = Array.from({ length: many }, (_, q) => {
      const [fewest, most] = [q * data.tile_q, Math.min(data.rows, (q + 1) * data.tile_q) - 1].map(seen);
      const kind = (_, k) =>
        k * data.tile_kv >= most ? 0 : Math.min(data.keys, (k + 1) * data.tile_kv) > fewest ? 1 : 2;
      return Array.from({ length: count() }, kind).join("");
    });
    return { rows: data.causal ? data.tile_q : data.rows, keys: data.tile_kv, lines };
  }

  function paint({ width, height }) {
    if (!data || !data.keys) return data && "There are no keys.";
    const left = 30,
      top = 16,
      wide = width - left - 6,
      high = height - top - 6;
    const x = (key) => left + (key / data.keys) * wide,
      y = (r) => top + (r / data.rows) * high;
    const id = `pl-hatch-${Math.random().toString(36).slice(2)}`,
      hatched = { fill: `url(#${id})` },
      turned = { id, width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" };
    const root = drawing(width, height, {}, s("defs", {}, s("pattern", turned, stroke(0, 0, 0, 5, "pl-hatch"))));
    /** An area of keys `a` to `b` and rows `from` to `to`. */
    const area = (a, b, from, to, css, more = {}) =>
      root.append(rect(x(a), y(from), x(b) - x(a), y(to) - y(from), css, more));
    const { keys, rows, kinds, tile_q: tall, tile_kv: broad } = data,
      end = (n, size, all) => Math.min(all, (n + 1) * size);
    area(0, keys, 0, rows, "pl-frame");
    kinds.lines.forEach((line, r) => {
      for (const { 0: run, index } of line.matchAll(/0+|1+/g))
        area(
          index * kinds.keys,
          end(index + run.length - 1, kinds.keys, keys),
          r * kinds.rows,
          end(r, kinds.rows, rows),
          ...(run[0] === "0" ? ["pl-masked", hatched] : ["pl-part"]),
        );
    });
    if (data.causal) {
      const first = Math.max(0, rows - keys); // the first row that sees a key
      root.append(stroke(x(seen(first)), y(first), x(keys), y(rows), "pl-hatch"));
    }
    if (tile >= 0 && tile < count()) {
      const from = x(tile * broad);
      root.append(rect(from, top, Math.max(2, x(end(tile, broad, keys)) - from), high, "pl-tile"));
    }
    const block = Math.floor(row / tall);
    area(0, keys, block * tall, end(block, tall, rows), "pl-block");
    const one = high / rows;
    root.append(rect(left, y(row), wide, Math.max(2, one), one > 14 ? "pl-row pl-tall" : "pl-row"));
    if (wide / count() >= 4)
      for (let k = broad; k < count() * broad; k += broad) root.append(stroke(x(k), top, x(k), top + high, "pl-cut"));
    if (high / (rows / tall) >= 4)
      for (let k = tall; k < rows; k += tall) root.append(stroke(left, y(k), left + wide, y(k), "pl-cut"));
    root.append(
      label(left, 11, "key →"),
      label(left + wide, 11, keys - 1, "pl-tick", "end"),
      label(left - 4, top + 8, 0, "pl-tick", "end"),
      label(left - 4, top + high, rows - 1, "pl-tick", "end"),
    );
    frame = { left, top, wide, high };
    return root;
  }

  function say() {
    if (!data) return;
    const block = Math.floor(row / data.tile_q),
      last = Math.min(data.rows, (block + 1) * data.tile_q) - 1;
    const sees = seen(row),
      words = [`${data.row_name} ${row}`];
    if (data.tile_q > 1) words.push(`block ${block} (rows ${block * data.tile_q}–${last})`);
    const { kinds } = data,
      at = tile >= 0 ? Math.floor((tile * data.tile_kv) / kinds.keys) : -1;
    const kind = at >= 0 ? KINDS[kinds.lines[Math.floor(row / kinds.rows)][at]] : "";
    if (!masked) words.push(sees ? `sees keys 0–${sees - 1}` : "sees no key");
    else if (kind) words.push(`keys ${keysOf(at, kinds.keys)} ${kind}`);
    if (tile >= 0) words.push(data.tile_kv > 1 ? `tile ${tile}: keys ${keysOf(tile, data.tile_kv)}` : `key ${tile}`);
    if (kind && data.causal && !masked) words.push(kind);
    out.read.textContent = words.join(", ");
  }
  function choose(r, k, tell) {
    row = Math.max(0, Math.min(data.rows - 1, r));
    tile = Math.max(-1, Math.min(count() - 1, k));
    say();
    draw();
    if (tell) onpick(row, tile);
  }
  holder.addEventListener("click", (e) => {
    if (!data || !frame || !data.keys) return;
    const box = holder.getBoundingClientRect();
    choose(
      Math.floor(((e.clientY - box.top - frame.top) / frame.high) * data.rows),
      Math.floor((((e.clientX - box.left - frame.left) / frame.wide) * data.keys) / data.tile_kv),
      true,
    );
  });
  onKeys(holder, ({ key }) => {
    const by = key === "Enter" ? [0, 0] : ARROWS[key];
    return data && by && (() => choose(row + by[0], tile + by[1], key === "Enter"));
  });

  return {
    el: out.el,
    draw,
    /** Shows which row and KV tile are selected. */
    mark(r, k) {
      if (data) choose(r ?? row, k ?? tile, false);
    },
    show(next) {
      const key = data && tile >= 0 ? tile * data.tile_kv : -1; // the tile that is marked is the one with this key
      data = next;
      out.el.hidden = !data;
      if (!data) return;
      tile = key < data.keys ? Math.floor(key / data.tile_kv) : -1;
      row = Math.min(row, data.rows - 1);
      masked = !!data.kinds;
      data = { ...data, kinds: data.kinds || tiles() };
      const { kinds } = data;
      for (const name of ["not", "partly"]) legend.querySelector(`.pl-${name}`).hidden = !masked && !data.causal;
      const all = kinds.lines.join(""),
        visited = all.replaceAll("0", "").length;
      const size = data.tile_kv > 1 ? `${data.tile_q} × ${data.tile_kv}` : `${data.tile_q} × 1 key`;
      out.note.textContent = masked || data.causal ? `${visited}/${all.length} run` : size;
      out.note.title = `${visited} of ${all.length} tiles of ${kinds.rows} × ${kinds.keys} are visited`;
      const what = `${data.rows} ${data.row_name}s by ${data.keys} keys in tiles of ${size}`;
      holder.setAttribute("aria-label", `Map of ${what}. Arrow keys move, Enter chooses.`);
      const counted = (k, kind) => kinds.lines.filter((line) => line[k] === kind).length,
        cells = (_, k) => [keysOf(k, kinds.keys), ...["0", "1", "2"].map((kind) => counted(k, kind))];
      out.later(() => [
        tableOf(["keys", ...KINDS], Array.from({ length: Math.min(256, kinds.lines[0].length) }, cells)),
      ]);
      say();
      draw();
    },
  };
}
