// @ts-check
// Shared memory as a picture: a row for each 128 bytes, a column for each of the 32 banks, and in each word who wrote it.
// A trace orders the steps of one warp, not those of different warps: of another warp's stores it is certain that they
// have happened where a barrier that both have passed lies between, and those alone are drawn as written.

import { card, h, hex, tableOf, onceAFrame } from "./dom.js";
import { readWarp } from "./trace.js";
import { lanesOf, resolved } from "./access.js";

export const WORD = 4,
  BANKS = 32,
  BANK_CELL = /** @type {[number, number]} */ ([16, 12]),
  BANK_ROWS = 256; // bytes of a bank's word, banks, pixels of a word, rows drawn at most
const WARP_COLOURS = ["#0b5cad", "#b04a00", "#0b6e63", "#7a35c9", "#b3254a", "#8a5a00", "#3f7d20", "#a0338a"];
const NEVER_WRITTEN = "#9aa4ae"; // the edge of a word that nothing has been stored to

const colour = (warp) => WARP_COLOURS[warp % WARP_COLOURS.length];
const striped = (fill, n) =>
  n ? `repeating-linear-gradient(90deg, ${fill} 0 ${12 / (n + 1) - 1}px, #fff 0 ${12 / (n + 1)}px)` : fill;

/** Draws `rows` rows of words on a canvas: who wrote each, as strongly as `strength` says; those of `here` in a frame. */
export function drawWords(canvas, [wide, high], rows, words, here, ink, strength) {
  canvas.width = wide * BANKS;
  canvas.height = high * rows;
  const pen = canvas.getContext("2d");
  for (let word = 0; word < rows * BANKS; word++) {
    const x = (word % BANKS) * wide,
      y = Math.floor(word / BANKS) * high,
      by = words.get(word);
    if (by) {
      pen.fillStyle = colour(by.warp);
      pen.globalAlpha = strength(by);
      pen.fillRect(x + 1, y + 1, wide - 2, high - 2);
      for (let n = by.warp % 4; n; n--) pen.clearRect(x + (n * wide) / 4 - 1, y + 1, 1, high - 2); // not by colour alone
      pen.globalAlpha = 1;
    } else {
      pen.strokeStyle = NEVER_WRITTEN;
      pen.setLineDash([2, 2]);
      pen.strokeRect(x + 2.5, y + 2.5, wide - 5, high - 5);
      pen.setLineDash([]);
    }
    if (here.has(word)) {
      pen.strokeStyle = ink;
      pen.lineWidth = 2;
      pen.strokeRect(x + 1, y + 1, wide - 2, high - 2);
      pen.lineWidth = 1;
    }
  }
}

/** Of each step of a warp: how many barriers of the block it has passed. */
function barriersPassed(warp) {
  let passed = 0;
  return warp.steps.map((step) => (step.action === "BARRIER" ? passed++ : passed));
}

/** The stores of a warp to shared memory: [step, lane, first byte, bytes], in the order of its steps. */
function sharedStores(warp, windows) {
  const out = [];
  warp.steps.forEach((step, at) => {
    for (const access of step.accesses.filter((a) => a.kind !== "load" && a.mask).flatMap((a) => resolved(a, windows)))
      if (access.space === "shared")
        for (const lane of lanesOf(access.mask)) out.push([at, lane, Number(access.addresses[lane]), access.size]);
  });
  return out;
}

/** Map of word -> {warp, lane, step, line, passed} from some stores of a warp: who stored to it last. */
function putStores(words, one, stores) {
  for (const [step, lane, first, bytes] of stores)
    for (let word = Math.floor(first / WORD); word * WORD < first + bytes; word++) {
      const before = words.get(word),
        passed = one.passed[step];
      if (!before || before.passed <= passed)
        words.set(word, { warp: one.number, lane, step, line: one.steps[step].line, passed });
    }
  return words;
}

/** Who has stored to each word last, as warp `mine` can know it at a step: its own stores up to there, and those that
 * other warps made before the last barrier that it has passed. */
function writtenWords(warps, mine, at) {
  const now = mine.passed[at];
  if (mine.others?.[0] !== now) {
    // they change at barriers only
    mine.others = [now, new Map()];
    for (const one of warps)
      if (one !== mine)
        putStores(
          mine.others[1],
          one,
          one.stores.filter(([step]) => one.passed[step] < now),
        );
  }
  return putStores(
    new Map(mine.others[1]),
    mine,
    mine.stores.filter(([step]) => step <= at),
  );
}

export const MOST_READ = 6 << 20; // bytes of a block's trace that the picture is made from: a page must not stop to read more

/** The card. `lineText(line)` is the PTX of a line. */
export function makeSharedCard(windows, head, lineText) {
  const canvas = h("canvas"),
    offsets = h("div.pl-offsets");
  const banks = h(
    "div.pl-banks",
    { "aria-hidden": "true" },
    [0, 8, 16, 24, 31].map((bank) => h("span", null, `bank ${bank}`)),
  );
  const legend = h("div.pl-legend");
  const picture = h(
    "div.pl-picture.pl-shared",
    { tabIndex: 0, role: "img" },
    banks,
    h("div.pl-shared-row", null, offsets, canvas),
    legend,
  );
  const table = h("div.pl-table");
  const out = card("Shared memory of the block", picture, table);
  out.read.removeAttribute("aria-live");
  let warps = [],
    mine = null,
    now = 0,
    words = new Map(),
    rows = 0,
    loading = 0,
    left = 0,
    drawn = "";
  out.el.hidden = true;

  const later = onceAFrame(draw);
  const touched = (step) =>
    new Set(
      step.accesses
        .filter((a) => a.mask)
        .flatMap((a) => resolved(a, windows))
        .filter((a) => a.space === "shared")
        .flatMap((a) =>
          lanesOf(a.mask).flatMap((lane) =>
            Array.from(
              { length: Math.max(1, Math.ceil(a.size / WORD)) },
              (_, k) => Math.floor(Number(a.addresses[lane]) / WORD) + k,
            ),
          ),
        ),
    );
  function draw() {
    if (!mine || !rows) return;
    const here = touched(mine.steps[now]),
      state = [mine.key, mine.passed[now], mine.stores.filter(([step]) => step <= now).length, ...here].join();
    if (state === drawn) return;
    drawn = state;
    words = writtenWords(warps, mine, now);
    const shown = Math.min(rows, BANK_ROWS);
    drawWords(canvas, BANK_CELL, shown, words, here, getComputedStyle(canvas).color, (by) =>
      by.warp === mine.number ? 0.85 : 0.45,
    );
    canvas.style.height = `${canvas.height}px`; // it gives way in its width alone
    offsets.replaceChildren(
      ...Array.from({ length: shown }, (_, row) => h("div", null, row % 4 ? "\u00a0" : hex(row * BANKS * WORD))),
    );
    const by = [...new Set([...words.values()].map((one) => one.warp))].sort((a, b) => a - b);
    legend.replaceChildren(
      ...by
        .slice(0, 8)
        .flatMap((warp) => [
          h("span", { style: `width:12px;height:11px;background:${striped(colour(warp), warp % 4)}` }),
          h("span", null, `warp ${warp}`),
        ]),
      h("span", { style: `width:9px;height:9px;border:1px dashed ${NEVER_WRITTEN}` }),
      h("span", null, "not written yet"),
      h("span", null, "· framed: this step"),
      rows > shown ? h("span", null, `· the first ${shown * BANKS * WORD} bytes`) : "",
      left ? h("span", null, `· ${left} warps are left out: the trace is long`) : "",
    );
    out.note.textContent = `${words.size} of ${rows * BANKS} words written, as far as warp ${mine.number} can know`;
    picture.setAttribute(
      "aria-label",
      `Shared memory, 32 banks by ${rows} rows: ${out.note.textContent}. The table names the writers.`,
    );
    out.read.textContent = "A row is 128 bytes, a column one of 32 banks. Point at a word: who wrote it.";
    out.later(() => [
      tableOf(
        ["bytes", "bank", "written by", "at"],
        [...words]
          .sort((a, b) => a[0] - b[0])
          .slice(0, 512)
          .map(([word, one]) => [
            hex(word * WORD),
            word % BANKS,
            `warp ${one.warp}, lane ${one.lane}`,
            `line ${one.line}`,
          ]),
      ),
    ]);
  }

  canvas.addEventListener("pointermove", (e) => {
    const box = canvas.getBoundingClientRect();
    const word =
        Math.floor(((e.clientX - box.left) / box.width) * BANKS) +
        BANKS * Math.floor((e.clientY - box.top) / BANK_CELL[1]),
      by = words.get(word);
    const place = `Bytes ${hex(word * WORD)} to ${hex(word * WORD + WORD - 1)}, bank ${word % BANKS}`;
    out.read.textContent = by
      ? `${place}: written by warp ${by.warp}, lane ${by.lane}, at line ${by.line}: ${lineText(by.line).trim()}`
      : `${place}: not written yet.`;
  });

  return {
    el: out.el,
    /** Reads the steps of all warps of a block that the trace holds. */
    async open(trace, key) {
      const run = ++loading,
        block = key.split(":")[0],
        size = (other) => trace.pages.get(other).reduce((n, page) => n + page.body.length, 0);
      const all = [key, ...trace.keys.filter((other) => other !== key && other.split(":")[0] === block)];
      let room = MOST_READ;
      const chosen = all.filter((other) => other === key || (room -= size(other)) >= 0);
      left = all.length - chosen.length;
      const read = await Promise.all(chosen.map((other) => readWarp(trace, other)));
      if (run !== loading) return;
      warps = read.map((warp) => ({
        key: warp.key,
        number: Number(warp.key.split(":")[1]),
        steps: warp.steps,
        passed: barriersPassed(warp),
        stores: sharedStores(warp, windows),
      }));
      const ends = warps.flatMap((one) =>
        one.steps.flatMap((step) =>
          step.accesses
            .flatMap((a) => resolved(a, windows))
            .filter((a) => a.space === "shared" && a.mask)
            .map((a) => Math.max(...lanesOf(a.mask).map((lane) => Number(a.addresses[lane]))) + a.size),
        ),
      );
      rows = Math.ceil(ends.reduce((most, end) => Math.max(most, end), 0) / WORD / BANKS);
      mine = warps.find((one) => one.key === key);
      out.el.hidden = !rows;
      drawn = "";
      draw();
    },
    show(warp, at) {
      now = at;
      mine = warps.find((one) => one.key === warp.key) || null;
      later();
    },
  };
}
