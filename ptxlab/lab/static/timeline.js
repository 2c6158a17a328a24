// @ts-check
// The timeline: a row for each role (or each recorded warp) with the bulk copies and products in flight and what its warps
// wait for; and one for each mbarrier, with the copies that report to it and who waits.

import { card, choice, h, s, tableOf } from "./dom.js";

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
      found
        .get(mbarrier)
        .push([...span.slice(0, 4), kind === "wait" ? `warp ${warp} ${says}` : says, ...span.slice(5), block, warp]);
    }
  const place = (key) => key.split(":").map(Number),
    order = (a, b) => place(a)[0] - place(b)[0] || place(a)[1] - place(b)[1];
  return [...found.keys()].sort(order).map((key) => {
    const [block] = key.split(":");
    return {
      name: `${data.names[key]}${several ? ` of block ${block}` : ""}`,
      of: [],
      shared: SHARE,
      spans: found.get(key),
      phases: data.phases[key] || [],
    };
  });
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
  const spans = data.rows.flatMap((row) =>
    row.spans.filter(([, begin, end]) => begin <= now && now < end).map((span) => [...span, row.warp]),
  );
  const of = (wanted) => spans.filter(([kind]) => kind === wanted),
    copies = of("copy"),
    waits = of("wait");
  const bytes = copies.reduce((sum, span) => sum + span[7], 0),
    said = [];
  if (copies.length)
    said.push(
      `${copies.length} ${copies.length === 1 ? "copy" : "copies"} of ${bytes.toLocaleString("en")} bytes in flight`,
    );
  const groups = new Set(
    roles.flatMap(({ spans: all }, role) =>
      all.filter(([kind, begin, end]) => kind === "wgmma" && begin <= now && now < end).map((_, k) => `${role}:${k}`),
    ),
  );
  if (groups.size) said.push(`${groups.size} wgmma group${groups.size === 1 ? "" : "s"} in flight`);
  const waiting = new Map(waits.map((span) => [span[6], []]));
  for (const span of waits) waiting.get(span[6]).push(span.at(-1));
  const over = (key) => (data.phases[key] || []).filter(([time]) => time <= now).length;
  for (const [key, warps] of waiting)
    said.push(
      `warp${warps.length === 1 ? "" : "s"} ${warps.join(", ")} wait${warps.length === 1 ? "s" : ""} for ${data.names[key]}${over(key) ? `, of which ${over(key)} phase${over(key) === 1 ? " is" : "s are"} over` : ""}`,
    );
  return said.join("; ");
}

/** `data` is what `ptxlab.lab.timeline` makes; `onseek(block, warp, step)` goes to a step of a warp. */
export function makeTimeline(data, onseek) {
  const rows = h("div.pl-times"),
    table = h("div.pl-table"),
    wide = data.time,
    begins = {};
  const { el, read, note, later } = card("Timeline", h("div.pl-picture.pl-scrub", null, rows), table);
  read.removeAttribute("aria-live"); // the status line speaks for the step
  const fewer = data.roles.length < data.rows.length;
  const views = choice(
    "rows of the timeline",
    [
      ["roles", "Roles", "warps that do the same in one row"],
      ["warps", "Warps", "a row for each warp"],
    ],
    "roles",
    (key) => draw(key),
  );
  if (fewer) el.querySelector("header").insertBefore(views, el.querySelector("header").lastChild);
  note.textContent = data.cut ? "its beginning; there is more than a page holds" : "";
  const roles = roleRows(data);
  let at = 0,
    cursors = [],
    now = 0;
  for (const [block, warp, steps, time] of data.turns) {
    (begins[`${block}:${warp}`] ||= []).push([at, steps, time]);
    at += time;
  }

  /** The warp-instructions that warps [block, warp] have issued in the trace. */
  const slots = (of) =>
    of
      .flatMap(([block, warp]) => begins[`${block}:${warp}`] || [])
      .reduce((sum, [, steps]) => sum + steps, 0)
      .toLocaleString("en");

  function drawRow({ name, of, spans, shared, phases = [] }) {
    const [placed, lanes] = inLanes(spans, shared),
      tall = lanes * HIGH;
    const cursor = s("path", { class: "pl-now", "vector-effect": "non-scaling-stroke" });
    const made = of
      .flatMap(([block, warp]) => begins[`${block}:${warp}`] || [])
      .map(([from, , time]) => `M${from} ${tall}h${time}`)
      .join("");
    cursors.push([cursor, tall]);
    const marks = placed.map(([[kind, from, to, step, says, , , , block, warp], lane]) => {
      const mark = s(
        "rect",
        {
          class: `pl-span pl-span-${kind}`,
          x: from,
          width: Math.max(to - from, wide / 400),
          y: lane * HIGH + 1,
          height: HIGH - 2,
        },
        s("title", {}, says),
      );
      mark.addEventListener("click", () => onseek(block, warp, step));
      mark.addEventListener("mouseenter", () => {
        read.textContent = /^warp/.test(says) ? says : `warp ${warp}: ${says}`;
      });
      return mark;
    });
    const ends = phases.map(([time, , says]) =>
      s(
        "path",
        { class: "pl-phase", d: `M${time} 0V${tall + 2}`, "vector-effect": "non-scaling-stroke" },
        s("title", {}, says),
      ),
    );
    const title = of.length ? `${name}: ${slots(of)} issue slots (tries to wait included)` : name;
    return h(
      "div.pl-tickrow.pl-timerow",
      { style: `height: ${tall + 5}px` },
      h("span.pl-tick-name", { title }, name),
      s(
        "svg",
        {
          viewBox: `0 0 ${wide} ${tall + 2}`,
          preserveAspectRatio: "none",
          style: `height: ${tall + 2}px`,
          role: "img",
          "aria-label": `${name}: ${spans.length} spans${phases.length ? `, ${phases.length} phases over` : ""}`,
        },
        s("path", { class: "pl-turns", d: made, "vector-effect": "non-scaling-stroke" }),
        ...marks,
        ...ends,
        cursor,
      ),
    );
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
  later(() => [
    tableOf(
      ["role", "issue slots, tries to wait included"],
      roles.map(({ name, of }) => [name, slots(of)]),
    ),
    tableOf(
      ["warp", "step", "what"],
      data.rows.flatMap(({ block, warp, spans }) =>
        spans
          .slice(0, 200)
          .map(([, , , step, says]) => [
            `${block}:${warp}`,
            h("button.pl-quiet", { onclick: () => onseek(block, warp, step) }, String(step + 1)),
            says,
          ]),
      ),
    ),
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
