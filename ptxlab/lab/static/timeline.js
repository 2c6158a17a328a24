// The timeline: a row for each recorded warp, with the bulk copies and products in flight and what the warp waits for.

const SPANS = { copy: "bulk copies", wgmma: "wgmma groups in flight", wait: "waits for an mbarrier", blocked: "waits at a barrier" };
const HIGH = 11;

/** The lanes of a row in which spans that overlap lie beside each other: [[span, lane]], and how many lanes there are. */
function inLanes(spans) {
  const ends = [], kinds = Object.keys(SPANS), placed = [];
  for (const kind of kinds) {
    const base = ends.length;
    for (const span of spans.filter(([k]) => k === kind).sort((a, b) => a[1] - b[1])) {
      let lane = base;
      while (lane < ends.length && ends[lane] > span[1]) lane += 1;
      ends[lane] = span[2];
      placed.push([span, lane]);
    }
  }
  return [placed, Math.max(1, ends.length)];
}

/** `data` is what `ptxlab.lab.timeline` makes; `onseek(block, warp, step)` goes to a step of a warp. */
function makeTimeline(data, onseek) {
  const rows = h("div.pl-times"), table = h("div.pl-table"), cursors = [];
  const { el, read, note, later } = card("Timeline of all warps", h("div.pl-picture.pl-scrub", null, rows), table);
  note.textContent = data.cut ? "its beginning; there is more than a page holds" : "";
  const wide = data.time, begins = {};
  let at = 0;
  for (const [block, warp, steps, time] of data.turns) {
    (begins[`${block}:${warp}`] ||= []).push([at, steps, time]);
    at += time;
  }
  for (const { block, warp, spans } of data.rows) {
    const [placed, lanes] = inLanes(spans), tall = lanes * HIGH;
    const cursor = s("path", { class: "pl-now", "vector-effect": "non-scaling-stroke" });
    const turns = s("path", { class: "pl-turns", d: begins[`${block}:${warp}`].map(([from, , time]) => `M${from} ${tall}h${time}`).join(""), "vector-effect": "non-scaling-stroke" });
    cursors.push([cursor, tall]);
    const marks = placed.map(([[kind, from, to, step, says], lane]) => {
      const mark = s("rect", { class: `pl-span pl-span-${kind}`, x: from, width: Math.max(to - from, wide / 400), y: lane * HIGH + 1, height: HIGH - 2 }, s("title", {}, says));
      mark.addEventListener("click", () => onseek(block, warp, step));
      mark.addEventListener("mouseenter", () => { read.textContent = `warp ${warp}: ${says}`; });
      return mark;
    });
    rows.append(h("div.pl-tickrow.pl-timerow", { style: `height: ${tall + 5}px` }, h("span.pl-tick-name", null, `block ${block}, warp ${warp}`),
      s("svg", { viewBox: `0 0 ${wide} ${tall + 2}`, preserveAspectRatio: "none", style: `height: ${tall + 2}px`, role: "img", "aria-label": `block ${block}, warp ${warp}: ${spans.length} spans` }, turns, ...marks, cursor)));
  }
  rows.append(h("div.pl-key", null, Object.entries(SPANS).map(([kind, says]) => h(`span.pl-key-${kind}`, null, says))));
  later(() => [h("table", null,
    h("thead", null, h("tr", null, ["warp", "step", "what"].map((t) => h("th", { scope: "col" }, t)))),
    h("tbody", null, data.rows.flatMap(({ block, warp, spans }) => spans.slice(0, 200).map(([, , , step, says]) => h("tr", null,
      h("td", null, `${block}:${warp}`), h("td", null, h("button.pl-quiet", { type: "button", onclick: () => onseek(block, warp, step) }, String(step + 1))), h("td", null, says))))))]);
  return {
    el,
    /** Marks the step of a warp in all rows. */
    at(key, step) {
      let place = 0, left = step;
      for (const [from, steps, time] of begins[key] || []) {
        place = from + Math.min(left, time);
        if (left < steps) break;
        left -= steps;
      }
      for (const [cursor, tall] of cursors) cursor.setAttribute("d", `M${place} 0V${tall + 2}`);
    },
  };
}
