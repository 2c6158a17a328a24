// @ts-check
// The shared memory of the blocks of a cluster, side by side, and the accesses from one block to another's. Other than in
// the card of one block, what is drawn as written is what had been stored when the step was made, in the order of this run.

import { card, h, hex, onceAFrame } from "./dom.js";
import { readWarp } from "./trace.js";
import { lanesOf } from "./access.js";
import { BANKS, MOST_READ, WORD, drawWords } from "./shared_memory.js";

const PEER = 0x80000; // bytes from one block's shared memory to the next one's, for addresses of the cluster
const REMOTES = 8,
  CLUSTER_ROWS = 64; // accesses that are listed; rows of 128 bytes that are drawn

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
  const out = [],
    base = BigInt(windows.shared),
    size = BigInt(windows.size);
  warp.steps.forEach((step, at) => {
    for (const access of step.accesses.filter((a) => a.mask && ["shared", "cluster", "generic"].includes(a.space))) {
      const lanes = [];
      for (const lane of lanesOf(access.mask)) {
        let place = access.addresses[lane];
        if (access.space === "generic") {
          if (place < base || place >= base + size) continue;
          place -= base;
        }
        const slot = Math.floor(Number(place) / PEER);
        lanes.push([lane, slot ? blocks[slot - 1] : own, Number(place) % PEER]);
      }
      if (lanes.length) out.push({ step: at, line: step.line, kind: access.kind, bytes: access.size, lanes });
    }
  });
  return out;
}

/** How many steps each warp ("block:warp") had made when `key` made its step number `step`, from the trace's turns. */
function stepsThen(turns, key, step) {
  const made = new Map();
  for (const [block, warp, count] of turns) {
    const one = `${block}:${warp}`,
      before = made.get(one) || 0;
    if (one === key && before + count > step) {
      made.set(one, step + 1);
      break;
    }
    made.set(one, before + count);
  }
  return made;
}

/** Gives each access of a warp its `place` among the steps of all warps. */
function inOrder(turns, key, accesses) {
  let place = 0,
    first = 0,
    next = 0; // steps of all warps, and of this one, before a turn
  for (const [block, warp, count] of turns) {
    if (`${block}:${warp}` === key) {
      for (; next < accesses.length && accesses[next].step < first + count; next++)
        accesses[next].place = place + accesses[next].step - first;
      first += count;
    }
    place += count;
  }
  return accesses;
}

/** The card; `go(block, warp, step)` goes to a step of any warp. Hidden where a trace does not hold two blocks of a cluster. */
export function makeClusterCard(windows, head, turns, lineText, go) {
  const pictures = h("div.pl-cluster"),
    list = h("ul.pl-remotes"),
    picture = h("div.pl-picture", null, pictures, list),
    table = h("div.pl-table");
  const out = card("Shared memory of the cluster", picture, table);
  out.el.hidden = true;
  out.read.removeAttribute("aria-live");
  let warps = [],
    all = [],
    blocks = [],
    rows = 0,
    loading = 0,
    mine = null,
    now = 0;

  /** Block -> Map of word -> {block, warp, line}, and the accesses to other blocks, up to the step that is shown.
   * @returns {[Map<number, Map<number, any>>, any[]]} */
  function state() {
    const then = stepsThen(turns, mine.key, now),
      words = new Map(blocks.map((block) => [block, new Map()])),
      remote = [];
    for (const [one, access] of all) {
      if (access.step >= (then.get(one.key) || 0)) continue;
      const away = [...new Set(access.lanes.filter(([, block]) => block !== one.block).map(([, block]) => block))];
      if (away.length) remote.push({ ...access, one, away });
      if (access.kind === "load") continue;
      for (const [, block, first] of access.lanes)
        for (let word = Math.floor(first / WORD); word * WORD < first + access.bytes; word++)
          words.get(block)?.set(word, { block: one.block, warp: one.number, line: access.line });
    }
    return [words, remote];
  }

  function drawBlock(block, words, here) {
    const [wide, high] = [8, 8],
      canvas = h("canvas"),
      ink = getComputedStyle(out.el).color;
    drawWords(canvas, [wide, high], Math.min(rows, CLUSTER_ROWS), words, here, ink, (by) =>
      by.block === block ? 0.45 : 1,
    );
    canvas.addEventListener("pointermove", (e) => {
      const box = canvas.getBoundingClientRect(),
        word = Math.floor((e.clientX - box.left) / wide) + BANKS * Math.floor((e.clientY - box.top) / high),
        by = words.get(word);
      out.read.textContent = `Block ${block}, bytes ${hex(word * WORD)} to ${hex(word * WORD + WORD - 1)}: ${by ? `written by block ${by.block}, warp ${by.warp}, at line ${by.line}: ${lineText(by.line).trim()}` : "not written yet"}.`;
    });
    const from = [...words.values()].filter((by) => by.block !== block).length,
      says = `${words.size} words written${from ? `, ${from} of them by other blocks` : ""}`;
    const then = stepsThen(turns, mine.key, now),
      one = warps.find((other) => other.block === block),
      rank = blocks.indexOf(block);
    const title =
      block === mine.block
        ? h("b", null, `block ${block}, rank ${rank}: stepped here`)
        : h(
            "button.pl-quiet",
            {
              title: "go to the step that this block had made at this moment",
              onclick: () => go(block, one.number, Math.max(0, (then.get(one.key) || 1) - 1)),
            },
            `block ${block}, rank ${rank}: step this one`,
          );
    return h(
      "figure",
      { "aria-label": `shared memory of block ${block}: ${says}` },
      h("figcaption", null, title, " ", h("span.pl-note", null, says)),
      canvas,
    );
  }

  const later = onceAFrame(() => {
    if (!mine || !rows) return;
    const [words, remote] = state(),
      step = mine.accesses.filter((access) => access.step === now);
    const here = (block) =>
      new Set(
        step.flatMap(({ bytes, lanes }) =>
          lanes
            .filter(([, of]) => of === block)
            .flatMap(([, , first]) =>
              Array.from({ length: Math.ceil(bytes / WORD) }, (_, k) => Math.floor(first / WORD) + k),
            ),
        ),
      );
    pictures.replaceChildren(
      ...blocks
        .filter((block) => warps.some((one) => one.block === block))
        .map((block) => drawBlock(block, words.get(block), here(block))),
    );
    const says = ({ one, kind, bytes, lanes, away, line }) =>
      `block ${one.block}, warp ${one.number}, line ${line}: ${kind} of ${lanes.length} × ${bytes} bytes, shared memory of block ${away.join(", ")}, from ${hex(Math.min(...lanes.map(([, , first]) => first)))} on`;
    const button = (access) =>
      h("button.pl-quiet", { onclick: () => go(access.one.block, access.one.number, access.step) }, says(access));
    list.replaceChildren(...remote.slice(-REMOTES).map((access) => h("li", null, button(access))));
    out.note.textContent = `${remote.length} access${remote.length === 1 ? "" : "es"} to another block up to here`;
    out.read.textContent = "Full colours: written by another block; framed: this step. Point at a word: who wrote it.";
    out.later(() => [
      h(
        "ul.pl-remotes",
        null,
        remote.map((access) => h("li", null, button(access))),
      ),
    ]);
  });

  return {
    el: out.el,
    /** Reads the steps of all warps of a block's cluster that the trace holds. */
    async open(trace, key) {
      const run = ++loading,
        own = Number(key.split(":")[0]);
      blocks = clusterOf(own, head.grid, head.cluster || [1, 1, 1]);
      const keys = trace.keys.filter((other) => blocks.includes(Number(other.split(":")[0])));
      const several = new Set(keys.map((other) => other.split(":")[0])).size > 1 && turns.length;
      const bytes = keys.reduce(
        (n, other) => n + trace.pages.get(other).reduce((sum, page) => sum + page.body.length, 0),
        0,
      );
      out.el.hidden = !several || bytes > MOST_READ;
      if (out.el.hidden) {
        warps = [];
        mine = null;
        return;
      }
      const read = await Promise.all(keys.map((other) => readWarp(trace, other)));
      if (run !== loading) return;
      warps = read.map((warp) => {
        const [block, number] = warp.key.split(":").map(Number);
        return {
          key: warp.key,
          block,
          number,
          accesses: inOrder(turns, warp.key, sharedAccesses(warp, windows, blocks, block)),
        };
      });
      all = warps
        .flatMap((one) => one.accesses.map((access) => [one, access]))
        .sort(([, a], [, b]) => a.place - b.place);
      const ends = warps.flatMap((one) =>
        one.accesses.flatMap(({ bytes: size, lanes }) => lanes.map(([, , first]) => first + size)),
      );
      rows = Math.ceil(ends.reduce((most, end) => Math.max(most, end), 0) / WORD / BANKS);
      mine = warps.find((one) => one.key === key) || null;
      out.el.hidden = !rows;
      later();
    },
    show(warp, at) {
      now = at;
      mine = warps.find((one) => one.key === warp.key) || null;
      later();
    },
  };
}
