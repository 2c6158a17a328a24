// @ts-check
// Shared memory as a picture: a row for each 128 bytes, a column for each of the 32 banks, and in each word who wrote it.
// A trace orders the steps of one warp, not those of different warps: of another warp's stores it is certain that they
// have happened where a barrier that both have passed lies between, and those alone are drawn as written in the block that
// is stepped. Of a cluster, whose blocks lie side by side, it is what had been stored in the order of this run.

import { button, card, h, hex, plural, tableOf, onceAFrame } from "./dom.js";
import { readWarp } from "./trace.js";
import { lanesOf, reached } from "./access.js";

const WORD = 4,
  BANKS = 32; // bytes of a bank's word
const BLOCK = { wide: 16, high: 12, most: 256 },
  CLUSTER = { wide: 8, high: 8, most: 64 }; // pixels of a word, rows drawn at most
const REMOTES = 8; // accesses to other blocks that are listed
const PEER = 0x80000; // bytes from one block's shared memory to the next one's, for addresses of the cluster
const MOST_READ = 6 << 20; // bytes of trace that the pictures are made from: a page must not stop to read more
const WARP_COLOURS = ["#0b5cad", "#b04a00", "#0b6e63", "#7a35c9", "#b3254a", "#8a5a00", "#3f7d20", "#a0338a"];
const NEVER_WRITTEN = "#9aa4ae"; // the edge of a word that nothing has been stored to

const colour = (warp) => WARP_COLOURS[warp % WARP_COLOURS.length];
const striped = (fill, n) =>
  n ? `repeating-linear-gradient(90deg, ${fill} 0 ${12 / (n + 1) - 1}px, #fff 0 ${12 / (n + 1)}px)` : fill;
const blockOf = (key) => Number(key.split(":")[0]);

/** The words that so many bytes from `first` on lie in. */
function wordsAt(first, bytes) {
  const word = Math.floor(first / WORD);
  return Array.from({ length: Math.ceil((first + bytes) / WORD) - word }, (_, k) => word + k);
}

/** Draws rows of words on a canvas: who wrote each, as strongly as `strength` says; those of `here` in a frame. */
function drawWords(canvas, { wide, high, most }, rows, words, here, ink, strength) {
  const shown = Math.min(rows, most);
  canvas.width = wide * BANKS;
  canvas.height = high * shown;
  const pen = canvas.getContext("2d");
  for (let word = 0; word < shown * BANKS; word++) {
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

/** The blocks of the cluster of a block, by rank. */
function clusterOf(block, [gx, gy], [cx, cy, cz]) {
  const first = [block % gx, Math.floor(block / gx) % gy, Math.floor(block / gx / gy)].map(
      (at, k) => at - (at % [cx, cy, cz][k]),
    ),
    out = [];
  for (let z = 0; z < cz; z++)
    for (let y = 0; y < cy; y++)
      for (let x = 0; x < cx; x++) out.push(first[0] + x + gx * (first[1] + y + gy * (first[2] + z)));
  return out;
}

/** The accesses of a warp to shared memory: {step, line, kind, bytes, lanes: [[lane, block, first byte]]}; `blocks` is its
 * cluster. */
function sharedAccesses(warp, windows, blocks, own) {
  return warp.steps.flatMap((step, at) =>
    reached(step, windows)
      .filter(({ space }) => space === "shared" || space === "cluster")
      .map(({ kind, size, mask, addresses }) => {
        const places = lanesOf(mask).map((lane) => [lane, Number(addresses[lane])]),
          blockAt = (slot) => (slot ? blocks[slot - 1] : own),
          lanes = places.map(([lane, place]) => [lane, blockAt(Math.floor(place / PEER)), place % PEER]);
        return { step: at, line: step.line, kind, bytes: size, lanes };
      }),
  );
}

/** Of each step of a warp: how many barriers of the block it has passed. */
function barriersPassed(warp) {
  let passed = 0;
  return warp.steps.map((step) => (step.action === "BARRIER" ? passed++ : passed));
}

/** A warp for the pictures. */
function readShared(warp, windows, blocks) {
  const [block, number] = warp.key.split(":").map(Number),
    accesses = sharedAccesses(warp, windows, blocks, block);
  return { key: warp.key, block, number, passed: barriersPassed(warp), accesses };
}

/** Notes a store of a warp in `maps`: block -> Map of word -> {block, warp, lane, line, passed}, who stored to it last. One
 * that was made behind more barriers stays, unless stores come `inOrder`. */
function putStore(maps, one, access, inOrder = false) {
  if (access.kind === "load") return;
  const passed = one.passed[access.step];
  for (const [lane, block, first] of access.lanes) {
    const words = maps.get(block);
    for (const word of words ? wordsAt(first, access.bytes) : [])
      if (inOrder || !(words.get(word)?.passed > passed))
        words.set(word, { block: one.block, warp: one.number, lane, line: access.line, passed });
  }
}

/** Who has stored to each word of its block last, as warp `mine` can know it at a step: its own stores up to there, and those
 * that other warps made before the last barrier that it has passed, which change at barriers only. */
function knownWords(warps, mine, at) {
  const now = mine.passed[at];
  if (mine.others?.[0] !== now) {
    mine.others = [now, new Map()];
    for (const one of warps)
      for (const access of one === mine || one.block !== mine.block ? [] : one.accesses)
        if (one.passed[access.step] < now) putStore(new Map([[mine.block, mine.others[1]]]), one, access);
  }
  const words = new Map(mine.others[1]);
  for (const access of mine.accesses) if (access.step <= at) putStore(new Map([[mine.block, words]]), mine, access);
  return words;
}

/** The turns of a warp, from those of the trace: {first, place, count}, steps of its own and of all warps before it. */
function turnsOf(turns, key) {
  const own = [];
  let first = 0,
    place = 0;
  for (const [block, warp, count] of turns) {
    if (`${block}:${warp}` === key) {
      own.push({ first, place, count });
      first += count;
    }
    place += count;
  }
  return own;
}

/** The place of a warp's step among those of all warps, and how many steps it had made when that many were made. */
const placeOfStep = (own, step) => {
  const turn = own.findLast(({ first }) => first <= step);
  return turn ? turn.place + step - turn.first : 0;
};
const stepsBy = (own, made) =>
  own.reduce((sum, { place, count }) => sum + Math.max(0, Math.min(count, made - place)), 0);

/** The cards of the block that is stepped and of its cluster. `lineText(line)` is the PTX of a line; `go(block, warp, step)`
 * goes to a step of any warp. The one of the cluster is hidden where a trace does not hold two of its blocks. */
export function makeSharedCards(windows, head, turns, lineText, go) {
  const canvas = h("canvas"),
    offsets = h("div.pl-offsets"),
    legend = h("div.pl-legend");
  const named = [0, 8, 16, 24, 31].map((bank) => h("span", null, `bank ${bank}`)),
    banks = h("div.pl-banks", { "aria-hidden": "true" }, named),
    memory = h("div.pl-shared-row", null, offsets, canvas),
    picture = h("div.pl-picture.pl-shared", { tabIndex: 0, role: "img" }, banks, memory, legend);
  const figures = h("div.pl-cluster"),
    list = h("ul.pl-remotes");
  const own = card("Shared memory of the block", picture),
    cluster = card("Shared memory of the cluster", h("div.pl-picture", null, figures, list));
  let warps = [],
    mine = null,
    now = 0,
    words = new Map(), // of the block
    all = [], // [warp, access] of the cluster, in the order of the run
    blocks = [],
    rows = 0,
    clusterRows = 0,
    loading = 0,
    left = 0,
    drawn = "";
  for (const { el, read } of [own, cluster]) {
    el.hidden = true;
    read.removeAttribute("aria-live"); // the status line speaks for the step
  }

  /** The words of a block that this step accesses. */
  const touched = (block) =>
    new Set(
      mine.accesses
        .filter(({ step }) => step === now)
        .flatMap(({ bytes, lanes }) =>
          lanes.filter(([, of]) => of === block).flatMap(([, , first]) => wordsAt(first, bytes)),
        ),
    );
  /** Says who has written the word of a canvas that is pointed at; `block`: whose it is, of several. */
  const tells = (target, { high }, read, known, block = null) =>
    target.addEventListener("pointermove", (e) => {
      const box = target.getBoundingClientRect(),
        word =
          Math.floor(((e.clientX - box.left) / box.width) * BANKS) + BANKS * Math.floor((e.clientY - box.top) / high),
        by = known().get(word),
        place = `ytes ${hex(word * WORD)} to ${hex(word * WORD + WORD - 1)}, bank ${word % BANKS}`,
        who = by && `${block === null ? "" : `block ${by.block}, `}warp ${by.warp}, lane ${by.lane}`;
      read.textContent =
        (block === null ? `B${place}: ` : `Block ${block}, b${place}: `) +
        (by ? `written by ${who}, at line ${by.line}: ${lineText(by.line).trim()}` : "not written yet.");
    });
  tells(canvas, BLOCK, own.read, () => words);

  // -- the block

  function drawOwn() {
    const here = touched(mine.block),
      stored = mine.accesses.filter(({ step }) => step <= now).length,
      state = [mine.key, mine.passed[now], stored, ...here].join();
    if (state === drawn) return;
    drawn = state;
    words = knownWords(warps, mine, now);
    drawWords(canvas, BLOCK, rows, words, here, getComputedStyle(own.el).color, (by) =>
      by.warp === mine.number ? 0.85 : 0.45,
    );
    canvas.style.height = `${canvas.height}px`; // it gives way in its width alone
    const shown = Math.min(rows, BLOCK.most);
    offsets.replaceChildren(
      ...Array.from({ length: shown }, (_, row) => h("div", null, row % 4 ? "\u00a0" : hex(row * BANKS * WORD))),
    );
    const by = [...new Set([...words.values()].map((one) => one.warp))].sort((a, b) => a - b),
      says = (text) => h("span", null, text),
      key = (warp) => h("span", { style: `width:12px;height:11px;background:${striped(colour(warp), warp % 4)}` });
    legend.replaceChildren(
      ...by.slice(0, 8).flatMap((warp) => [key(warp), says(`warp ${warp}`)]),
      h("span", { style: `width:9px;height:9px;border:1px dashed ${NEVER_WRITTEN}` }),
      says("not written yet"),
      says("· framed: this step"),
      rows > shown ? says(`· the first ${shown * BANKS * WORD} bytes`) : "",
      left ? says(`· ${left} warps are left out: the trace is long`) : "",
    );
    own.note.textContent = `${words.size} of ${rows * BANKS} words written, as far as warp ${mine.number} can know`;
    const what = `Shared memory, 32 banks by ${rows} rows: ${own.note.textContent}`;
    picture.setAttribute("aria-label", `${what}. The table names the writers.`);
    own.read.textContent = "A row is 128 bytes, a column one of 32 banks. Point at a word: who wrote it.";
    own.later(() => {
      const written = [...words].sort((a, b) => a[0] - b[0]).slice(0, 512),
        cells = ([word, { warp, lane, line }]) => [
          hex(word * WORD),
          word % BANKS,
          `warp ${warp}, lane ${lane}`,
          `line ${line}`,
        ];
      return [tableOf(["bytes", "bank", "written by", "at"], written.map(cells))];
    });
  }

  // -- the cluster

  /** The picture of a block of the cluster; `made`: the steps that all warps had made. */
  function figure(block, known, made) {
    const target = h("canvas");
    drawWords(target, CLUSTER, clusterRows, known, touched(block), getComputedStyle(cluster.el).color, (by) =>
      by.block === block ? 0.45 : 1,
    );
    tells(target, CLUSTER, cluster.read, () => known, block);
    const from = [...known.values()].filter((by) => by.block !== block).length,
      says = `${known.size} words written${from ? `, ${from} of them by other blocks` : ""}`,
      one = warps.find((other) => other.block === block),
      name = `block ${block}, rank ${blocks.indexOf(block)}`,
      step = () => go(block, one.number, Math.max(0, stepsBy(one.turns, made) - 1));
    const goes = "go to the step that this block had made at this moment",
      here = block === mine.block,
      title = here ? h("b", null, `${name}: stepped here`) : button(`${name}: step this one`, goes, step, "pl-quiet"),
      caption = h("figcaption", null, title, " ", h("span.pl-note", null, says));
    return h("figure", { "aria-label": `shared memory of block ${block}: ${says}` }, caption, target);
  }

  function drawCluster() {
    const made = placeOfStep(mine.turns, now) + 1,
      maps = new Map(blocks.map((block) => [block, new Map()])),
      remote = [];
    for (const [one, access] of all) {
      if (access.place >= made) break;
      putStore(maps, one, access, true);
      const away = [...new Set(access.lanes.map(([, block]) => block).filter((block) => block !== one.block))];
      if (away.length) remote.push([one, access, away]);
    }
    const recorded = blocks.filter((block) => warps.some((one) => one.block === block));
    figures.replaceChildren(...recorded.map((block) => figure(block, maps.get(block), made)));
    const items = ([one, { kind, bytes, lanes, line, step }, away]) => {
      const from = hex(Math.min(...lanes.map(([, , first]) => first))),
        what = `${kind} of ${lanes.length} × ${bytes} bytes, shared memory of block ${away.join(", ")}, from ${from} on`,
        says = `block ${one.block}, warp ${one.number}, line ${line}: ${what}`;
      return h(
        "li",
        null,
        button(says, null, () => go(one.block, one.number, step), "pl-quiet"),
      );
    };
    list.replaceChildren(...remote.slice(-REMOTES).map(items));
    cluster.note.textContent = `${plural(remote.length, "access", "accesses")} to another block up to here`;
    cluster.read.textContent =
      "Full colours: written by another block; framed: this step. Point at a word: who wrote it.";
    cluster.later(() => [h("ul.pl-remotes", null, remote.map(items))]);
  }

  function draw() {
    if (mine && rows) drawOwn();
    if (mine && clusterRows) drawCluster();
  }
  const later = onceAFrame(draw);

  /** Rows of 128 bytes that some warps access in these blocks. */
  const rowsOf = (some, of) => {
    let most = 0;
    for (const { bytes, lanes } of some.flatMap((one) => one.accesses))
      for (const [, block, first] of lanes) if (of.includes(block)) most = Math.max(most, first + bytes);
    return Math.ceil(most / WORD / BANKS);
  };

  return {
    els: [cluster.el, own.el],
    /** Reads the steps of all warps that the trace holds of a block, and of the others of its cluster. */
    async open(trace, key) {
      const run = ++loading,
        block = blockOf(key);
      blocks = clusterOf(block, head.grid, head.cluster || [1, 1, 1]);
      const size = (other) => trace.pages.get(other).reduce((n, page) => n + page.body.length, 0),
        keys = trace.keys.filter((other) => blocks.includes(blockOf(other))),
        several = keys.some((other) => blockOf(other) !== block) && turns.length,
        whole = several && keys.reduce((n, other) => n + size(other), 0) <= MOST_READ;
      let room = MOST_READ;
      const local = [key, ...keys.filter((other) => other !== key && blockOf(other) === block)],
        chosen = local.filter((other) => other === key || (room -= size(other)) >= 0);
      left = local.length - chosen.length;
      const read = await Promise.all((whole ? keys : chosen).map((other) => readWarp(trace, other)));
      if (run !== loading) return;
      warps = read.map((warp) => readShared(warp, windows, blocks));
      mine = warps.find((one) => one.key === key);
      const mates = warps.filter((one) => one.block === block);
      rows = rowsOf(mates, [block]);
      clusterRows = whole ? rowsOf(warps, blocks) : 0;
      for (const one of warps) {
        one.turns = turnsOf(turns, one.key);
        for (const access of clusterRows ? one.accesses : []) access.place = placeOfStep(one.turns, access.step);
      }
      all = warps
        .flatMap((one) => one.accesses.map((access) => [one, access]))
        .sort(([, a], [, b]) => a.place - b.place);
      own.el.hidden = !rows;
      cluster.el.hidden = !clusterRows;
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
