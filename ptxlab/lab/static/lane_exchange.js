// @ts-check
// How the lanes of a warp exchange data in one step: fragments of matrices, shuffles as arrows, and the card for these and
// for what collectives.js draws.

import { card, choice, h, hex, plural, select, tableOf, s, short } from "./dom.js";
import { drawing, label, path, rect } from "./drawing.js";
import { halfFloat, laneText } from "./trace.js";
import { lanesOf } from "./access.js";
import { boxLines, collective, drawCollective, laneBox, tableCollective, tellCollective } from "./collectives.js";

const CELL = { w: 25, h: 15 };
const WIDE = 1000; // pixels from which on a matrix is scrolled instead of being made to fit: its numbers stay readable
const PREVIEW = 6; // significant digits of a value in a sentence

/** Bits of element `place` (register * packed + position) of one lane; null where there is no register. */
function elementBits(layout, values, place, lane) {
  const register = Math.floor(place / layout.packed),
    position = place % layout.packed,
    lanes = values[register];
  if (!lanes) return null;
  const bits = layout.width / layout.packed,
    raw = lanes[lane];
  if (bits === 64) return raw;
  return Number((BigInt(raw) >> BigInt(position * bits)) & ((1n << BigInt(bits)) - 1n));
}

/** An element's bits as the number that its type makes of them.
 * @param {any} bits @param {string} type @param {number} [digits] */
function elementText(bits, type, digits = 3) {
  if (bits === null) return "";
  const real = (array, view) => short(new view(new array([bits]).buffer)[0], digits);
  if (type === "f64") return real(BigUint64Array, Float64Array);
  if (type === "f32" || type === "tf32") return real(Uint32Array, Float32Array);
  if (type === "bf16") return short(new Float32Array(new Uint32Array([bits << 16]).buffer)[0], digits);
  if (type === "f16") return short(halfFloat(bits), digits);
  if (type[0] === "s") return String(BigInt.asIntN(Number(type.slice(1)), BigInt(bits)));
  return type[0] === "e" || type === "b32" ? hex(bits) : String(bits);
}

/** For each element of a matrix the first place that holds it: [place, lane]. */
function placesOf(layout) {
  const out = new Map(),
    count = layout.row.length / 32;
  for (let place = 0; place < count; place++)
    for (let lane = 0; lane < 32; lane++) {
      const at = layout.row[place * 32 + lane] * layout.columns + layout.column[place * 32 + lane];
      if (!out.has(at)) out.set(at, [place, lane]);
    }
  return out;
}

/** One matrix as a grid of cells, made once. `onlane` is called with the lane of a cell that is clicked. */
function makeMatrix(layout, onlane) {
  const rows = layout.rows / layout.blocks,
    gap = 12,
    left = 20,
    top = 13;
  const width = left + layout.blocks * (layout.columns * CELL.w + gap),
    height = top + rows * CELL.h + 1;
  const svg = drawing(width, height, {
    viewBox: `0 0 ${width} ${height}`,
    class: `pl-matrix${width > WIDE ? " pl-wide" : ""}`,
  });
  const x = (block, column) => left + block * (layout.columns * CELL.w + gap) + column * CELL.w;
  for (let block = 0; block < layout.blocks; block++)
    for (let column = 0; column < layout.columns; column += layout.columns > 8 ? 4 : 2)
      svg.append(label(x(block, column) + CELL.w / 2, 9, column, "pl-tick", "middle"));
  for (let row = 0; row < rows; row += 2) svg.append(label(left - 4, top + row * CELL.h + 11, row, "pl-tick", "end"));
  const cells = [];
  for (const [at, [place, lane]] of placesOf(layout)) {
    const row = Math.floor(at / layout.columns),
      block = Math.floor(row / rows);
    const [cx, cy] = [x(block, at % layout.columns), top + (row % rows) * CELL.h];
    const text = label(cx + CELL.w / 2, cy + 11, "", "", "middle");
    const cell = s("g", { class: `pl-cell pl-in${lane & 3}` }, rect(cx, cy, CELL.w - 1, CELL.h - 1, ""), text);
    cell.addEventListener("click", () => onlane(lane));
    svg.append(cell);
    cells.push({ cell, text, place, lane, row, column: at % layout.columns });
  }
  let chosen = -1;
  return {
    svg,
    layout,
    cells,
    pick(lane) {
      if (lane === chosen) return;
      chosen = lane;
      for (const c of cells) c.cell.classList.toggle("pl-mine", c.lane === lane);
    },
    /** Writes the lane, the register, or the value into every cell. */
    fill(view, values) {
      for (const c of cells) {
        const now =
          view === "lane"
            ? String(c.lane)
            : view === "register"
              ? `r${Math.floor(c.place / layout.packed)}`
              : elementText(elementBits(layout, values, c.place, c.lane), layout.type, 2);
        if (c.text.textContent !== now) c.text.textContent = now;
      }
    },
  };
}

/** The 32 values of an operand before (or after) a step; null where the trace does not hold them. `width`: bits of a constant. */
function operandValues(warp, operand, at, width = 32) {
  if (operand === null || operand === undefined) return null;
  if (typeof operand === "number") return warp.value(operand, at);
  if (operand.special === "%laneid") return Uint32Array.from({ length: 32 }, (_, lane) => lane);
  if (operand.value === undefined) return null;
  return width === 64
    ? new BigUint64Array(32).fill(BigInt(operand.value))
    : new Uint32Array(32).fill(Number(operand.value));
}

/** The same as an instruction with the destinations `written` finds it. What it does not write is read after the step: in
 * a trace of some lines only, "before" may be long before. */
export const valuesFound = (warp, operand, at, written, width) =>
  operandValues(warp, operand, written.includes(operand) ? at - 1 : at, width);

/** For each lane the lane that `shfl` reads, and whether that one is in range; as the PTX manual has it. */
function shuffleSources(mode, by, clamp) {
  return Array.from({ length: 32 }, (_, lane) => {
    const delta = Number(by[lane]) & 31,
      segment = (Number(clamp[lane]) >> 8) & 31,
      last = Number(clamp[lane]) & 31;
    const lowest = lane & segment,
      most = lowest | (last & ~segment & 31);
    const source = { up: lane - delta, down: lane + delta, bfly: lane ^ delta, idx: lowest | (delta & ~segment & 31) }[
      mode
    ];
    const legal = mode === "up" ? source >= most : source <= most;
    return { source: legal ? source & 31 : lane, legal };
  });
}

/** Two rows of lanes with an arrow from where each value comes to where it goes. */
function drawShuffle(sources, active, before, after, type) {
  const w = 38,
    top = 14,
    bottom = 92,
    box = 30,
    value = (values, lane) => (values ? laneText(values, lane, "typed", type[1], type[2]) : "");
  const svg = drawing(
    32 * w + 2,
    136,
    { viewBox: `0 0 ${32 * w + 2} 136`, class: "pl-shuffle" },
    label(1, 9, "before: what each lane gives"),
    label(1, 134, "after: what each lane has got"),
  );
  for (let lane = 0; lane < 32; lane++) {
    const off = (active >>> lane) & 1 ? "" : " pl-inactive",
      at = (y, text) => laneBox(lane, lane * w + 1, y, w - 3, box, [boxLines(text)[0]], off, 13);
    svg.append(at(top, value(before, lane)), at(bottom, off ? "" : value(after, lane)));
  }
  for (const lane of lanesOf(active)) {
    const { source, legal } = sources[lane],
      from = source * w + w / 2,
      to = lane * w + w / 2,
      y1 = top + box,
      y2 = bottom - 1;
    const css = legal ? (source === lane ? "pl-arrow pl-own" : "pl-arrow") : "pl-arrow pl-outside",
      says = `lane ${lane} gets lane ${source}'s${legal ? "" : ", its own: the source is out of range"}`,
      line = `M${from} ${y1}C${from} ${y1 + 24} ${to} ${y2 - 26} ${to} ${y2}M${to - 3} ${y2 - 5}L${to} ${y2}L${to + 3} ${y2 - 5}`;
    svg.append(path(line, css, s("title", {}, says)));
  }
  return svg;
}

const MODES = {
  up: (n) => `the lane ${n} below its own`,
  down: (n) => `the lane ${n} above its own`,
  bfly: (n) => `the lane whose number is its own xor ${n}`,
  idx: (n) => `lane ${n}`,
};

/** The card with fragments, arrows or bars. `info` is what lab/lane_exchange.py made. */
export function makeExchangeCard(info, registers, names) {
  const seen = { tabIndex: 0, role: "region", "aria-label": "between lanes, drawn" },
    picture = h("div.pl-picture.pl-exchange", seen),
    { el, read, table } = card("Between lanes", picture);
  let lane = 0,
    view = "lane",
    shown = "",
    again = () => {},
    matrices = [];
  const every = Array.from({ length: 32 }, (_, k) => [k, `lane ${k}`]),
    choose = select("lane", every, () => {
      onlane(Number(choose.value));
      bringIntoSight();
    });
  const contents = [
    ["lane", "lane", "which lane holds the element"],
    ["register", "register", "in which of its registers"],
    ["value", "value", "the element itself"],
  ];
  const views = choice("cells show", contents, view, (key) => {
    view = key;
    again();
  });
  el.querySelector("header .pl-quiet").before(h("span.pl-pickers", null, choose, views));
  const made = new Map();
  /** Scrolls the chosen lane into the middle where the lanes are wider than the page: arrow keys make steps. */
  const bringIntoSight = () => {
    const drawn = picture.querySelector(".pl-shuffle");
    if (drawn) picture.scrollLeft = ((lane + 0.5) / 32) * drawn.getBoundingClientRect().width - picture.clientWidth / 2;
  };
  const onlane = (k) => {
    lane = k;
    choose.value = k;
    again();
  };
  const letter = (name) => name.toUpperCase();

  /** A matrix under its name and size. */
  function figure(name, { layout, svg }) {
    const size = layout.blocks > 1 ? `${layout.blocks} matrices of 8×8` : `${layout.rows}×${layout.columns}`,
      many = plural(layout.row.length / 32 / layout.packed, "register");
    const says = ` ${size} of ${layout.type}, ${many} per lane`;
    return h("figure", null, h("figcaption", null, h("b", null, letter(name)), says), svg);
  }

  function showMatrix(code, warp, at) {
    const key = "matrix " + code.operands.map(([name, f]) => `${name}${f}`).join(" ");
    if (shown !== key) {
      shown = key;
      matrices = code.operands.map(([name, f]) => {
        if (!made.has(name + f)) made.set(name + f, makeMatrix(info.fragments[f], onlane));
        return made.get(name + f);
      });
      const figures = code.operands.map(([name], k) => figure(name, matrices[k]));
      picture.replaceChildren(h("div.pl-matrices", null, figures), code.note ? h("p.pl-note", null, code.note) : "");
    }
    const isResult = ([name]) =>
      name === "d" || (code.operands.length === 1 && !["STORE_ROWS", "STORE_FRAGMENT"].includes(warp.steps[at].action));
    const results = code.operands.filter(isResult).flatMap(([, , operands]) => operands);
    const says = [],
      rows = Array.from({ length: 32 }, (_, k) => [String(k)]),
      heads = ["lane"];
    code.operands.forEach(([name, , operands], k) => {
      const { layout } = matrices[k],
        written = isResult([name]);
      const values = operands.map((o) =>
        written ? operandValues(warp, o, at, layout.width) : valuesFound(warp, o, at, results, layout.width),
      );
      matrices[k].fill(view, values);
      matrices[k].pick(lane);
      operands.forEach((operand, r) => {
        const title = typeof operand === "number" ? names[operand] : "constant";
        heads.push(`${letter(name)}: ${title}`);
        const held = (who) =>
          Array.from({ length: layout.packed }, (_, p) => {
            const place = r * layout.packed + p,
              text = elementText(elementBits(layout, values, place, who), layout.type, PREVIEW);
            return `[${layout.row[place * 32 + who]}][${layout.column[place * 32 + who]}] = ${text}`;
          });
        const first = held(lane)
          .slice(0, 2)
          .map((element) => letter(name) + element);
        says.push(`${first.join(", ")}${layout.packed > 2 ? " …" : ""} in ${title}`);
        if (!table.hidden) rows.forEach((row, who) => row.push(held(who).join(", ")));
      });
    });
    read.textContent = `Lane ${lane} holds ${says.slice(0, 8).join("; ")}${says.length > 8 ? "; …" : ""}.`;
    if (!table.hidden) table.replaceChildren(tableOf(heads, rows));
  }

  function showShuffle(code, warp, at, mask) {
    shown = "shuffle";
    const found = (operand) => valuesFound(warp, operand, at, [code.d, code.p]),
      [by, clamp, before] = [code.by, code.clamp, code.a].map(found);
    const d = typeof code.d === "number" ? code.d : null,
      type = registers[d ?? (typeof code.a === "number" ? code.a : 0)];
    const after = d === null ? null : warp.value(d, at);
    if (!by || !clamp)
      return showNothing("This step moves values between lanes by an amount that the trace does not hold.");
    const sources = shuffleSources(code.mode, by, clamp),
      same = by.every((x) => x === by[0]),
      active = lanesOf(mask);
    const outside = active.filter((k) => !sources[k].legal);
    picture.replaceChildren(drawShuffle(sources, mask, before, after, type));
    const what = typeof code.a === "number" ? names[code.a] : "a constant";
    read.textContent =
      `Each lane gets ${what} of ${same ? MODES[code.mode](Number(by[0])) : "a lane of its own choice"}. Lane ${lane} gets lane ${sources[lane].source}'s.` +
      (outside.length ? ` ${outside.length} lanes reach beyond the last legal lane and keep their own (dashed).` : "");
    const text = (values, k) => (values ? laneText(values, k, "typed", type[1], type[2]) : ""),
      cells = (k) => [k, sources[k].source, sources[k].legal ? "yes" : "no", text(before, k), text(after, k)],
      heads = ["lane", "gets from lane", "in range", "gave", "has got"];
    if (!table.hidden) table.replaceChildren(tableOf(heads, active.map(cells)));
  }

  function showCollective(code, warp, at, mask) {
    shown = "collective";
    const found = collective(code, warp, at, mask, registers);
    if (!found) return showNothing("The lanes that take part are named by a mask that the trace does not hold.");
    const label = {
      ACTIVE_MASK: "here",
      ELECT: "one",
      MATCH: "same",
      REDUCE_LANES: code.operation,
      VOTE: code.mode === "ballot" ? "bits" : code.mode,
    }[code.action];
    picture.replaceChildren(drawCollective(found, label, lane, code.action === "VOTE", onlane, names[code.d]));
    read.textContent = tellCollective(code, found, names, lane);
    if (!table.hidden) table.replaceChildren(tableCollective(code, found, names));
  }

  function showNothing(says) {
    if (shown === says) return;
    shown = says;
    picture.replaceChildren(h("p.pl-says", null, says));
    table.replaceChildren(h("p.pl-says", null, says));
    read.textContent = "";
  }

  el.querySelector("header > .pl-quiet").addEventListener("click", () => again());
  return {
    el,
    show(warp, at, mask) {
      const step = warp.steps[at],
        code = info.codes[`${step.line}:${step.opcode}`];
      again = () => this.show(warp, at, mask);
      el.dataset.kind = code ? code.kind : "";
      views.hidden = code?.kind !== "matrix";
      choose.hidden = !code;
      if (!code) showNothing("This step keeps to each lane's own registers.");
      else if (code.kind === "matrix") showMatrix(code, warp, at);
      else (code.kind === "shuffle" ? showShuffle : showCollective)(code, warp, at, mask);
    },
  };
}
