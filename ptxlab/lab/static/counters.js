// @ts-check
// What a run counted: instruction mix, memory, work, and the lines that cost most. All of it is tables with bars in them.

import { contain, count, duration, grouped, h, short, tableOf } from "./dom.js";

/** Where a number comes from, in a word that is never only a colour. */
export function origin(word) {
  return h(
    `span.pl-origin.pl-${word}`,
    {
      title: {
        counted: "counted: what the emulator saw happen",
        modelled: "modelled: follows from a model of the hardware",
        measured: "measured on a GPU",
      }[word],
    },
    word,
  );
}

/** A card whose content is a table anyway. */
export function tableCard(title, badge) {
  const note = h("span.pl-note"),
    body = h("div.pl-table.pl-open", { tabIndex: 0, role: "group", "aria-label": `${title}, scrolls` });
  return {
    note,
    body,
    el: h(
      "section.pl-card",
      { "aria-label": title },
      h("header", null, h("h4", null, title), note, h("span.pl-spring"), badge || ""),
      body,
    ),
  };
}

/** A bar as long as `share` of the cell, hatched beyond `good`. */
export function bar(share, good) {
  const el = h(
    "span.pl-bar",
    { "aria-hidden": "true" },
    h("span.pl-bar-good"),
    good < share ? h("span.pl-bar-extra") : null,
  );
  el.firstChild.style.width = `${(100 * Math.min(share, good)).toFixed(1)}%`;
  if (good < share) el.lastChild.style.width = `${(100 * (share - good)).toFixed(1)}%`;
  return el;
}

/** A pair of bars: what is, and hatched below it what was. */
function pairBar(now, was, most) {
  if (was === undefined) return bar(now / most, 1);
  const below = h("span.pl-bar", null, h("span.pl-bar-was"));
  below.firstChild.style.width = `${((100 * was) / most).toFixed(1)}%`;
  return h("span.pl-pairbars", { "aria-hidden": "true" }, bar(now / most, 1), below);
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
    const legend =
      before &&
      h(
        "p.pl-legend",
        null,
        h("span.pl-key-was.pl-bar-good"),
        "now",
        h("span.pl-key-was.pl-bar-was"),
        h("span.pl-wraps", null, `before: ${was.title}${was.work === 1 ? "" : `, ${short(was.work)} times the work`}`),
      );
    contain(
      mix.body,
      [
        legend,
        tableOf(
          ["opcode", "share", "warps", "threads"],
          opcodes.map(([name, warps, threads, w]) => [
            h("td.pl-opcode", null, h("code", { title: name }, name)),
            h("td.pl-barcell", null, pairBar(warps, w, most)),
            changed(warps, w, count),
            count(threads),
          ]),
        ),
        tableOf(
          [h("span", null, "pipe ", origin("modelled")), "share", "warps"],
          pipes.map(([name, warps, does, w]) => [
            h("td.pl-left", { title: does || "" }, name),
            h("td.pl-barcell", null, pairBar(warps, w, busiest)),
            changed(warps, w, count),
          ]),
        ),
      ].filter(Boolean),
    );
    const room = before ? 1e4 : 1e6;
    contain(memory.body, [
      tableOf(
        ["what", "count", "ideal", "origin"],
        [...data.memory, ...data.work].map((r) => [
          h("td.pl-left", { title: r.says }, r.name.trim() === r.name ? r.name : h("span.pl-sub", null, r.name.trim())),
          h(
            "td",
            { title: `${whole(r.value)}. ${r.says}` },
            changed(r.value, before && (before.rows[r.name] ?? 0), (n) => amount(n, r.unit, room)),
          ),
          r.ideal === null
            ? ""
            : h(
                "td",
                { title: whole(r.ideal) },
                amount(r.ideal, "", room),
                r.value > r.ideal
                  ? h("b.pl-worse", null, ` ×${short(r.value / Math.max(1, r.ideal), 3)}`)
                  : h("b.pl-fine", null, " ✓"),
              ),
          origin(r.origin),
        ]),
      ),
    ]);
    lines.note.textContent = data.lines.length ? "actual / ideal" : "";
    if (!data.lines.length)
      return contain(lines.body, [
        h("p.pl-blank", null, "No line touches more sectors than it must, and none has a bank conflict."),
      ]);
    const [sectored, turned] = [2, 4].map((k) => data.lines.some((r) => r[k])); // columns without a number are left out
    contain(lines.body, [
      tableOf(
        ["line", sectored && "sectors", turned && "wavefronts", "opcode"].filter(Boolean),
        data.lines.map(([line, opcode, sectors, ideal, waves, least, source]) =>
          [
            h(
              "button.pl-quiet",
              { title: `select PTX line ${line}${source && `, from ${source}`}`, onclick: () => online(line) },
              String(line),
            ),
            sectored ? h("td", null, sectors ? `${count(sectors)} / ${count(ideal)}` : "") : null,
            turned ? h("td", null, waves ? `${count(waves)} / ${count(least)}` : "") : null,
            h("td.pl-last", null, h("code", { title: opcode }, opcode)),
          ].filter(Boolean),
        ),
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
      out.body.replaceChildren();
      if (run.note) out.body.append(h("p.pl-blank", null, run.note));
      out.el.querySelector("h4").textContent = run.ways.length
        ? "Three ways to the result"
        : run.note
          ? "Not run"
          : "What the run changed";
      out.note.textContent = run.ways.length
        ? "largest and mean error, and the largest in units of the last place"
        : "";
      const left = (text) => h("td.pl-left", null, text),
        heads = (...texts) => texts.map((text) => h("th.pl-left", { scope: "col" }, text));
      if (run.ways.length)
        out.body.append(
          tableOf(
            [...heads("way", "against"), "max", "mean", "ULP"],
            run.ways.map((w) => [
              left(w.label),
              left(w.against),
              ...(w.max === null
                ? [h("td.pl-left", { colSpan: 3 }, w.note)]
                : [short(w.max), short(w.mean), w.ulp === null ? "–" : short(w.ulp)]),
            ]),
          ),
        );
      if (run.arrays?.length)
        out.body.append(
          tableOf(
            heads("array", "after the run"),
            run.arrays.map((row) => row.map((text) => left(h("code", null, text)))),
          ),
        );
    },
  };
}
