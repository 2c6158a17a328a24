// @ts-check
// The timeline: a row for each role (or each recorded warp) with the bulk copies and products in flight and what its warps
// wait for; and one for each mbarrier, with the copies that report to it and who waits.

import { button, card, choice, grouped, h, plural, s, tableOf } from "./dom.js";
import { rect } from "./drawing.js";

const SPANS = {
  copy: "bulk copies",
  wgmma: "wgmma groups in flight",
  wait: "waits for an mbarrier",
  blocked: "waits at a barrier",
};
const HIGH = 11;
const SHARE = ["wait", "blocked"]; // of a role, these lie over each other in one lane: some warp waits

/** The lanes of a row in which spans that overlap lie beside each other: [[span, lane]], and how many lanes there are.
 * @returns {[[any[], number][], number]} */
function inLanes(spans, shared = []) {
  const ends = [],
    kinds = Object.keys(SPANS),
    placed = [];
  for (const kind of kinds) {
    const base = ends.length;
    for (const span of spans.filter(([k]) => k === kind).sort((a, b) => a[1] - b[1])) {
      let lane = base;
      while (!shared.includes(kind) && lane < ends.length && ends[lane] > span[1]) lane += 1;
      ends[lane] = Math.max(ends[lane] || 0, span[2]);
      placed.push([span, lane]);
    }
  }
  return [placed, Math.max(1, ends.length)];
}

const warpsOf = (first, last) => (first === last ? `warp ${first}` : `warps ${first}–${last}`);

/** The rows of the timeline: {name, spans, turns, shared}. A span is [kind, begin, end, step, says, line, mbarrier,
 * bytes], and here also the block and the warp that its step is of. */
function warpRows(data) {
  return data.rows.map(({ block, warp, spans }) => ({
    name: `block ${block}, warp ${warp}`,
    of: [[block, warp]],
    shared: [],
    spans: spans.map((span) => [...span, block, warp]),
  }));
}

/** The same by roles: a group of products is in flight from its first warp's first product to its last warp's wait. */
function roleRows(data) {
  return data.roles.map(([block, first, last]) => {
    const spans = [],
      groups = new Map(),
      of = [];
    for (const row of data.rows.filter((one) => one.block === block && one.warp >= first && one.warp <= last)) {
      const times = new Map();
      of.push([block, row.warp]);
      for (const span of row.spans.map((one) => [...one, block, row.warp])) {
        const [kind, begin, end, , says, line] = span,
          nth = (times.get(line) || 0) + 1,
          group = groups.get(`${line}:${nth}`);
        if (first !== last && SHARE.includes(kind)) span[4] = `warp ${row.warp} ${says}`;
        if (kind !== "wgmma") {
          spans.push(span);
          continue;
        }
        times.set(line, nth);
        if (group) [group[1], group[2]] = [Math.min(group[1], begin), Math.max(group[2], end)];
        else {
          groups.set(`${line}:${nth}`, span);
          spans.push(span);
        }
      }
    }
    return { name: `block ${block}, ${warpsOf(first, last)}`, of, shared: first === last ? [] : SHARE, spans };
  });
}

/** A row for each mbarrier that a copy reports to or a warp waits for. */
function mbarrierRows(data) {
  const found = new Map(),
    several = new Set(data.rows.map((row) => row.block)).size > 1;
  for (const { block, warp, spans } of data.rows)
    for (const span of spans.filter((one) => one[6])) {
      const [kind, , , , says, , mbarrier] = span;
      if (!found.has(mbarrier)) found.set(mbarrier, []);
      found.get(mbarrier).push([...span.with(4, kind === "wait" ? `warp ${warp} ${says}` : says), block, warp]);
    }
  const place = (key) => key.split(":").map(Number),
    order = (a, b) => place(a)[0] - place(b)[0] || place(a)[1] - place(b)[1];
  return [...found.keys()].sort(order).map((key) => ({
    name: `${data.names[key]}${several ? ` of block ${place(key)[0]}` : ""}`,
    of: [],
    shared: SHARE,
    spans: found.get(key),
    phases: data.phases[key] || [],
  }));
}

/** The copies that a step of a warp starts, in sentences. */
function startedIn(data, key, step) {
  const row = data.rows.find(({ block, warp }) => `${block}:${warp}` === key);
  return (row ? row.spans : [])
    .filter(([kind, , , at]) => kind === "copy" && at === step)
    .map(([, , , , says]) => `Starts: ${says}.`);
}

/** What is under way at a time, in words; `roles`: of `roleRows`. */
function underWay(data, roles, now) {
  const at = ({ spans, warp }, wanted) =>
    spans
      .filter(([kind, begin, end]) => kind === wanted && begin <= now && now < end)
      .map((span) => ({ place: span[6], bytes: span[7], warp }));
  const copies = data.rows.flatMap((row) => at(row, "copy")),
    waits = data.rows.flatMap((row) => at(row, "wait")),
    groups = roles.flatMap((role) => at(role, "wgmma")).length;
  const bytes = copies.reduce((sum, copy) => sum + copy.bytes, 0),
    said = [];
  if (copies.length)
    said.push(`${plural(copies.length, "copy", "copies")} of ${grouped.format(bytes)} bytes in flight`);
  if (groups) said.push(`${plural(groups, "wgmma group")} in flight`);
  for (const key of new Set(waits.map(({ place }) => place))) {
    const warps = waits.filter(({ place }) => place === key).map(({ warp }) => warp),
      over = (data.phases[key] || []).filter(([time]) => time <= now).length,
      phases = over ? `, of which ${plural(over, "phase is", "phases are")} over` : "";
    said.push(
      `${warps.length === 1 ? "warp" : "warps"} ${warps.join(", ")} ${warps.length === 1 ? "waits" : "wait"} for ${data.names[key]}${phases}`,
    );
  }
  return said.join("; ");
}

/** `data` is what `ptxlab.lab.timeline` makes; `onseek(block, warp, step)` goes to a step of a warp. */
export function makeTimeline(data, onseek) {
  const rows = h("div.pl-times"),
    wide = data.time,
    begins = {};
  const { el, read, note, later } = card("Timeline", h("div.pl-picture.pl-scrub", null, rows));
  read.removeAttribute("aria-live"); // the status line speaks for the step
  const kinds = [
    ["roles", "Roles", "warps that do the same in one row"],
    ["warps", "Warps", "a row for each warp"],
  ];
  if (data.roles.length < data.rows.length)
    el.querySelector("header").lastChild.before(choice("rows of the timeline", kinds, "roles", draw));
  note.textContent = data.cut ? "its beginning; there is more than a page holds" : "";
  const roles = roleRows(data);
  let at = 0,
    cursors = [],
    now = 0;
  for (const [block, warp, steps, time] of data.turns) {
    (begins[`${block}:${warp}`] ||= []).push([at, steps, time]);
    at += time;
  }

  /** The turns of warps [block, warp]: [time, steps, how long]. */
  const turnsOf = (of) => of.flatMap(([block, warp]) => begins[`${block}:${warp}`] || []);
  /** The warp-instructions that they have issued in the trace. */
  const slots = (of) => grouped.format(turnsOf(of).reduce((sum, [, steps]) => sum + steps, 0));
  const stiff = (css, d, ...more) => s("path", { class: css, d, "vector-effect": "non-scaling-stroke" }, ...more);

  function drawRow({ name, of, spans, shared, phases = [] }) {
    const [placed, lanes] = inLanes(spans, shared),
      tall = lanes * HIGH;
    const cursor = stiff("pl-now", ""),
      made = turnsOf(of).map(([from, , time]) => `M${from} ${tall}h${time}`);
    cursors.push([cursor, tall]);
    const marks = placed.map(([[kind, from, to, step, says, , , , block, warp], lane]) => {
      const long = Math.max(to - from, wide / 400),
        mark = rect(from, lane * HIGH + 1, long, HIGH - 2, `pl-span pl-span-${kind}`);
      mark.append(s("title", {}, says));
      mark.addEventListener("click", () => onseek(block, warp, step));
      mark.addEventListener("mouseenter", () => {
        read.textContent = /^warp/.test(says) ? says : `warp ${warp}: ${says}`;
      });
      return mark;
    });
    const ends = phases.map(([time, , says]) => stiff("pl-phase", `M${time} 0V${tall + 2}`, s("title", {}, says)));
    const title = of.length ? `${name}: ${slots(of)} issue slots (tries to wait included)` : name;
    const says = `${name}: ${spans.length} spans${phases.length ? `, ${phases.length} phases over` : ""}`,
      frame = { viewBox: `0 0 ${wide} ${tall + 2}`, preserveAspectRatio: "none", style: `height: ${tall + 2}px` },
      picture = s("svg", { ...frame, role: "img", "aria-label": says });
    picture.append(stiff("pl-turns", made.join("")), ...marks, ...ends, cursor);
    const named = h("span.pl-tick-name", { title }, name);
    return h("div.pl-tickrow.pl-timerow", { style: `height: ${tall + 5}px` }, named, picture);
  }
  function drawCursors() {
    for (const [cursor, tall] of cursors) cursor.setAttribute("d", `M${now} 0V${tall + 2}`);
  }
  function draw(view) {
    cursors = [];
    rows.replaceChildren(
      ...(view === "roles" ? roles : warpRows(data)).map(drawRow),
      ...mbarrierRows(data).map(drawRow),
      h(
        "div.pl-key",
        null,
        Object.entries(SPANS).map(([kind, says]) => h(`span.pl-key-${kind}`, null, says)),
        Object.keys(data.phases).length ? h("span.pl-key-phase", null, "a phase ends") : "",
      ),
    );
    drawCursors();
  }
  draw("roles");
  const cells = ({ block, warp, spans }) =>
    spans.slice(0, 200).map(([, , , step, says]) => {
      const go = button(String(step + 1), null, () => onseek(block, warp, step), "pl-quiet");
      return [`${block}:${warp}`, go, says];
    });
  const issued = roles.map(({ name, of }) => [name, slots(of)]);
  later(() => [
    tableOf(["role", "issue slots, tries to wait included"], issued),
    tableOf(["warp", "step", "what"], data.rows.flatMap(cells)),
  ]);
  return {
    el,
    started: (key, step) => startedIn(data, key, step),
    /** Marks the step of a warp in all rows. */
    at(key, step) {
      let left = step;
      now = 0;
      for (const [from, steps, time] of begins[key] || []) {
        now = from + Math.min(left, time);
        if (left < steps) break;
        left -= steps;
      }
      drawCursors();
      read.textContent = `Here: ${underWay(data, roles, now) || "nothing is under way"}.`;
    },
  };
}
