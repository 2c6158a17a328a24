// @ts-check
// The pages of results beside the code: pictures, counters, roofline and occupancy, findings; what went wrong in place of
// them; and the strip of figures at the top: what assembler, run and comparison said, each beside what it was before.

import { choice, h } from "./dom.js";
import { floats } from "./answers.js";
import { makeErrorMap } from "./errors.js";
import { makeStatePlot } from "./softmax_state.js";
import { makeTileMap } from "./tile_map.js";
import { makeCounters, makeWays } from "./counters.js";
import { makeOccupancy, makeRoofline } from "./roofline.js";

const RESULTS = [
  ["error", "Pictures"],
  ["counters", "Counters"],
  ["roofline", "Roofline"],
  ["findings", "Findings"],
];
const WAITS = {
  asking: "No results yet: the run waits until you press Run, at the top.",
  cancelled: "No results: the run was cancelled. Run again, at the top, begins it anew.",
};

/** `links` is what belongs together; `chooseRow` asks for the softmax of a row; `findings` is the box with what the checks
 * have found, `problem` what to say in place of results.
 * @param {Answers} answers */
export function makeResults({ data, fresh }, links, chooseRow, findings, problem) {
  let open = "error",
    found = 0;
  const errors = makeErrorMap((row, column) => {
    chooseRow(row);
    links.linkStores(row, column);
  });
  const state = makeStatePlot((key, tile) => {
    markTile(tile);
    links.link(key, tile);
  });
  const tiles = makeTileMap((row, tile) => {
    chooseRow(row);
    if (tile >= 0 && data("state")?.tiles > tile) state.point(tile);
  });
  const ways = makeWays(),
    counters = makeCounters((line) => links.link("ptx", line, true)),
    roofline = makeRoofline(),
    occupancy = makeOccupancy();
  const cards = [state.el, errors.el, tiles.el],
    named = ["Softmax", "Error", "Tiles"].map((name, k) => [String(k), name]);
  const alone = choice("picture", named, "0", (key) => {
    cards.forEach((card, k) => card.classList.toggle("pl-away", String(k) !== key)); // where there is room for one
  });
  alone.pick("0");
  const empty = h("p.pl-blank");
  let waits = "";
  const pages = {
    error: [empty, h("div.pl-pictures", null, cards, alone), ways.el],
    counters: [counters.el],
    roofline: [h("div.pl-cards", null, roofline.el, occupancy.el)],
    findings: [findings.el],
  };
  const tabs = choice("results", RESULTS, open, show);
  show(open);

  function show(key) {
    open = key;
    for (const [name, els] of Object.entries(pages)) for (const e of els) e.classList.toggle("pl-off", name !== key);
    paint();
  }

  /** What is on the page that is open; the others are painted when they are opened. */
  function paint() {
    const run = data("run");
    empty.hidden = !!run;
    empty.textContent = data("problem")
      ? "There are no results: the message above says why. A change of the parameters, or of the PTX by Edit, runs the kernel again."
      : WAITS[waits] || "No results yet.";
    const why = run && (run.note || "A GPU counts nothing here: choose the device cpu.");
    if (open === "counters") counters.show(run?.counters, why, fresh("measures"));
    if (open === "roofline") {
      roofline.show(run?.roofline);
      occupancy.show(data("assembly"));
    }
  }

  /** Hears of the page's state: what an empty page says follows from it. */
  function tell(state) {
    waits = state;
    if (!empty.hidden) paint();
  }

  /** Opens the page that a kernel of this kind has something on. */
  function showKind() {
    const run = data("run");
    if (run && !run.map && open === "error" && run.counters) tabs.pick("counters");
  }

  function paintRun() {
    const run = data("run");
    ways.show(run);
    tiles.show(run?.tiles);
    errors.el.hidden = !run?.map;
    if (run) showKind();
    const before = found,
      tab = tabs.querySelector("[data-key=findings]");
    found = run?.findings?.length || 0;
    findings.show(run?.findings || [], run?.checks || []);
    tab.textContent = run?.findings ? `Findings ${found || "✓"}` : "Findings";
    tab.classList.toggle("pl-warns", found > 0);
    if (found && !before) tabs.pick("findings");
    if (!run || !run.map) return errors.show(null);
    errors.show({ ...run.map, values: floats(run.map.values), absolute: floats(run.map.absolute) });
    tiles.mark(run.map.row, null);
  }

  /** Marks, in the map of tiles, the one of a point of the plot, where points are tiles. */
  function markTile(tile) {
    tiles.mark(data("state")?.row, data("run")?.tiles?.tile_kv > 1 || !data("state")?.parts ? tile : null);
  }

  function paintState() {
    state.show(data("state"));
    const curve = links.curve();
    if (!curve) return;
    const tile = state.tile(); // the one that has the keys which were chosen; its lines are others now
    if (tile === null) return links.link("ptx", null);
    links.link(curve, tile);
    markTile(tile);
  }

  /** The pictures in the colours of another theme: what is looked at stays so. */
  function recolour() {
    errors.draw();
    state.recolour();
  }

  const els = Object.values(pages).flat(),
    bar = h("div.pl-tools.pl-results", null, tabs),
    el = h("section.pl-seen", { "aria-label": "results" }, bar, problem, h("div.pl-pages", null, els));
  return { el, tabs, els, state, tiles, paint, paintRun, paintState, recolour, showKind, tell };
}

/** `showCode` opens the view in which lines are marked, `asks` makes a button that sends a message.
 * @param {Answers} answers */
export function makeProblem({ data }, { ptx, python }, showCode, asks) {
  const el = h("div.pl-problem", { role: "alert", hidden: true });
  const steps = "step through the kernel up to the instruction that stopped it",
    debug = asks("Debug here", steps, () => ({ kind: "debug" }));

  function paint() {
    const p = data("problem");
    ptx.clearComplaint();
    python.clearComplaint();
    el.hidden = !p;
    if (!p) return;
    el.replaceChildren(h("b", null, p.title), h("pre", null, p.message), p.block ? debug : "");
    if (p.line) showCode();
    if (p.line) ptx.complain(p.line, p.message);
    if (p.python_line) python.complain(p.python_line, p.message);
  }

  return { el, paint };
}

/**
 * The strip; `list` is that of `measures.part`, always the same figures. One that is not known yet is a dash, or while the
 * kernel is at work what it was last, dimmed. `onopen(page, key)` hears of a figure that is pressed: of the page of results
 * that has more about it.
 */
export function makeStrip(onopen) {
  const last = new Map(); // by key: the figure that was known last
  const figure = ({ key, label, now, before, verdict, note, says, mood, page }, dim, work) => {
    const scaled = before && work !== 1 && page === "counters", // a count of another problem: what it was says little
      judged = verdict && h(`span.pl-verdict.pl-${verdict}`, null, ` ${verdict}`);
    const css = [mood && `pl-${mood}`, before && "pl-moved", page && "pl-leads", dim && "pl-stale"].filter(Boolean),
      beside = scaled ? judged : before && h("span.pl-was", null, ` was ${before}`),
      word = scaled ? "" : verdict,
      below = h(word ? `small.pl-${word}` : "small", null, note || " ", word && ` ${word}`);
    return h(
      ["div.pl-figure", ...css].join("."),
      { title: says, onclick: page ? () => onopen(page, key) : null },
      h("dt", null, page ? h("button.pl-quiet.pl-why", null, label) : label),
      h("dd", null, now ?? "–", beside, below),
    );
  };
  return (list, working, work) =>
    list.map((one) => {
      if (one.now === null && working && last.has(one.key)) return figure(last.get(one.key), true, work);
      if (one.now !== null) last.set(one.key, one);
      return figure(one, false, work);
    });
}
