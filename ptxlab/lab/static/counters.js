// @ts-check
// What a run counted: instruction mix, memory, work, and the lines that cost most. All of it is tables with bars in them.

import { button, contain, count, duration, grouped, h, short, tableOf } from "./dom.js";

const ORIGINS = {
  counted: "counted: what the emulator saw happen",
  modelled: "modelled: follows from a model of the hardware",
  measured: "measured on a GPU",
};

/** Where a number comes from, in a word that is never only a colour. */
export const origin = (word) => h(`span.pl-origin.pl-${word}`, { title: ORIGINS[word] }, word);

/** A card whose content is a table anyway. */
export function tableCard(title, badge) {
  const note = h("span.pl-note"),
    body = h("div.pl-table.pl-open", { tabIndex: 0, role: "group", "aria-label": `${title}, scrolls` }),
    head = h("header", null, h("h4", null, title), note, h("span.pl-spring"), badge || "");
  return { note, body, el: h("section.pl-card", { "aria-label": title }, head, body) };
}

/** A bar as long as `share` of the cell. */
export const bar = (share, css = "good") =>
  h("span.pl-bar", { "aria-hidden": "true" }, h(`span.pl-bar-${css}`, { style: `width:${(100 * share).toFixed(1)}%` }));

/** A cell with a bar for what is, and hatched below it one for what was. */
function barCell(now, was, most) {
  const bars = was === undefined ? bar(now / most) : [bar(now / most), bar(was / most, "was")];
  return h("td.pl-barcell", null, was === undefined ? bars : h("span.pl-pairbars", null, bars));
}

/** A number with what it was, where that differs: `168 → 167`. */
function changed(now, was, text) {
  if (was === undefined || text(was) === text(now)) return text(now);
  return [h("span.pl-was", null, `${text(was)} → `), text(now)];
}

const whole = (n) => (typeof n === "number" && Number.isInteger(n) ? grouped.format(n) : short(n, 4));

/** An amount for people: from `most` on rounded, so that the columns beside it stay in sight. */
function amount(n, unit, most) {
  if (unit === "s") return duration(n);
  const number = Number.isInteger(n) && n >= most ? count(n) : whole(n);
  if (unit === "B") return /[kMG]$/.test(number) ? `${number}B` : `${number} B`;
  return /^(FLOP|wavefronts|slots|extra wavefronts|sectors|warp accesses|)$/.test(unit) ? number : `${number} ${unit}`;
}

/** Rows [name, n, more] with what each was as a fourth element; names that are gone follow with 0. */
function beside(rows, was) {
  if (!was) return rows;
  const others = rows.filter(([name]) => / others$/.test(name)),
    named = rows.filter((r) => !others.includes(r));
  const gone = Object.entries(was)
    .filter(([name]) => !named.some((r) => r[0] === name))
    .sort((a, b) => b[1] - a[1]);
  const known = others.length ? [] : gone.slice(0, 6); // where the rest is summed up, a name may be in it
  return [
    ...named.map(([name, n, more]) => [name, n, more, was[name] ?? 0]),
    ...known.map(([name, n]) => [name, 0, 0, n]),
    ...others,
  ];
}

export function makeCounters(online) {
  const mix = tableCard("Instruction mix", origin("counted"));
  const memory = tableCard("Memory and work");
  memory.body.classList.add("pl-memory");
  const lines = tableCard("Lines that cost most", origin("modelled"));
  const el = h("div.pl-cards.pl-three", null, mix.el, memory.el, lines.el);
  let sorted = null; // the column by which the lines are sorted; else as they come, the worst first
  /** `was`: of the setting that is compared with {title, work, counted}, `counted` null where there is none. */
  function show(data, why, was) {
    if (!data) {
      contain(mix.body, [h("p.pl-blank", null, why || "Nothing was counted yet.")]);
      memory.el.hidden = lines.el.hidden = true;
      return;
    }
    memory.el.hidden = lines.el.hidden = false;
    const before = was?.counted ?? undefined,
      opcodes = beside(data.opcodes, before?.opcodes),
      pipes = beside(data.pipes, before?.pipes);
    const most = Math.max(1, ...opcodes.flatMap(([, n, , w]) => [n, w || 0])),
      busiest = Math.max(1, ...pipes.flatMap(([, n, , w]) => [n, w || 0]));
    mix.note.textContent = `${count(data.instructions.warps)} warp-, ${count(data.instructions.threads)} thread-instructions`;
    const says = before && `before: ${was.title}${was.work === 1 ? "" : `, ${short(was.work)} times the work`}`,
      keys = [h("span.pl-key-was.pl-bar-good"), "now", h("span.pl-key-was.pl-bar-was"), h("span.pl-wraps", null, says)];
    const mixed = ([name, warps, threads, w]) => [
      h("td.pl-opcode", null, h("code", { title: name }, name)),
      barCell(warps, w, most),
      changed(warps, w, count),
      count(threads),
    ];
    const piped = ([name, warps, does, w]) => [
      h("td.pl-left", { title: does || "" }, name),
      barCell(warps, w, busiest),
      changed(warps, w, count),
    ];
    contain(mix.body, [
      ...(before ? [h("p.pl-legend", null, keys)] : []),
      tableOf(["opcode", "share", "warps", "threads"], opcodes.map(mixed)),
      tableOf([h("span", null, "pipe ", origin("modelled")), "share", "warps"], pipes.map(piped)),
    ]);
    const room = before ? 1e4 : 1e6;
    const ideal = (r) => {
      const times = r.value > r.ideal && ` ×${short(r.value / Math.max(1, r.ideal), 3)}`,
        verdict = times ? h("b.pl-worse", null, times) : h("b.pl-fine", null, " ✓");
      return h("td", { title: whole(r.ideal) }, amount(r.ideal, "", room), verdict);
    };
    const told = (r) => {
      const values = changed(r.value, before && (before.rows[r.name] ?? 0), (n) => amount(n, r.unit, room));
      return [
        h("td.pl-left", { title: r.says }, r.name.trim() === r.name ? r.name : h("span.pl-sub", null, r.name.trim())),
        h("td", { title: `${whole(r.value)}. ${r.says}` }, values),
        r.ideal === null ? "" : ideal(r),
        origin(r.origin),
      ];
    };
    contain(memory.body, [tableOf(["what", "count", "ideal", "origin"], [...data.memory, ...data.work].map(told))]);
    lines.note.textContent = data.lines.length ? "actual / ideal" : "";
    const none = "No line touches more sectors than it must, and none has a bank conflict.";
    if (!data.lines.length) return contain(lines.body, [h("p.pl-blank", null, none)]);
    const by = (column, name) => {
      const again = () => {
        sorted = column;
        show(data, why, was);
      };
      return button(name, `sort by ${name}`, again, "pl-quiet");
    };
    const listed = [...data.lines];
    if (sorted !== null) listed.sort((a, b) => (sorted ? b[sorted] - a[sorted] : a[0] - b[0]));
    const [sectored, turned] = [2, 4].map((k) => data.lines.some((r) => r[k])); // columns without a number are left out
    const pair = (n, ideal) => h("td", null, n ? `${count(n)} / ${count(ideal)}` : "");
    const heads = [by(0, "line"), sectored && by(2, "sectors"), turned && by(4, "wavefronts"), "opcode"];
    const cells = ([line, opcode, sectors, ideal, waves, least, source]) => [
      button(String(line), `select PTX line ${line}${source && `, from ${source}`}`, () => online(line), "pl-quiet"),
      sectored && pair(sectors, ideal),
      turned && pair(waves, least),
      h("td.pl-last", null, h("code", { title: opcode }, opcode)),
    ];
    const shown = (row) => row.filter((cell) => cell !== false);
    contain(lines.body, [
      tableOf(
        shown(heads),
        listed.map((row) => shown(cells(row))),
      ),
    ]);
  }
  return { el, show };
}

/** The ways to the result: emulator, GPU, numpy; and the arrays that a kernel without a right answer changed. */
export function makeWays() {
  const out = tableCard("Three ways");
  return {
    el: out.el,
    show(run) {
      out.el.hidden = !run || (!run.ways?.length && !run.arrays?.length && !run.note && !run.findings?.length);
      if (out.el.hidden) return;
      const many = run.ways.length;
      out.el.querySelector("h4").textContent = many
        ? "Three ways to the result"
        : run.note
          ? "Not run"
          : "What the run changed";
      out.note.textContent = many ? "largest and mean error, and the largest in units of the last place" : "";
      const left = (text) => h("td.pl-left", null, text),
        heads = (...texts) => texts.map((text) => h("th.pl-left", { scope: "col" }, text));
      const way = ({ label, against, note, max, mean, ulp }) => [
        left(label),
        left(against),
        ...(max === null ? [h("td.pl-left", { colSpan: 3 }, note)] : [max, mean, ulp].map((x) => short(x))),
      ];
      const array = (row) => row.map((text) => left(h("code", null, text)));
      out.body.replaceChildren(
        run.note ? h("p.pl-blank", null, run.note) : "",
        many ? tableOf([...heads("way", "against"), "max", "mean", "ULP"], run.ways.map(way)) : "",
        run.arrays?.length ? tableOf(heads("array", "after the run"), run.arrays.map(array)) : "",
      );
    },
  };
}
