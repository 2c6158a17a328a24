// @ts-check
// The table of 32 lanes and the registers of a step: who takes part, what was written, what stood there before.

import { choice, h, hex } from "./dom.js";
import { laneText } from "./trace.js";
import { lanesOf } from "./access.js";

/** `onpick(register)` is called when a register's head is clicked. */
export function makeRegisterTable(registers, names, onpick) {
  const body = h("div.pl-lines.pl-registers", { tabIndex: 0, role: "region", "aria-label": "registers of 32 lanes" });
  const note = h("span.pl-note");
  let mode = "line",
    view = "typed",
    columns = [],
    drawn = [],
    picked = -1,
    mask = -1,
    doing = -1,
    signs = new Map(),
    again = () => {};
  const cells = [],
    heads = [];
  const modes = choice(
    "registers shown",
    [
      ["line", "This line", "what the instruction reads and writes"],
      ["all", "All"],
    ],
    mode,
    (key) => {
      mode = key;
      again();
    },
  );
  const kinds = [["typed", "as declared"], ...["float", "int", "hex"].map((key) => [key, key])];
  const views = choice("numbers shown as", kinds, view, (key) => {
    view = key;
    drawn = [];
    again();
  });
  const head = h("header", null, h("h4", null, "Registers"), note, h("span.pl-spring"), modes, views),
    el = h("section.pl-pane", { "aria-label": "Registers" }, head, body);
  const lanes = Array.from({ length: 32 }, (_, lane) => h("th", { scope: "row" }, String(lane)));
  const number = new Map(names.map((name, k) => [name, k]));

  const headRow = h("tr", null, h("th", { scope: "col" }, "lane")),
    rows = lanes.map((th) => h("tr", null, th));
  body.append(h("table", null, h("thead", null, headRow), h("tbody", null, rows)));

  /** Names the columns anew. Cells are kept and used again: a step should not make elements. */
  function build() {
    while (heads.length < columns.length) {
      const k = heads.length;
      heads.push(h("th", { scope: "col" }, h("button.pl-quiet", { onclick: () => onpick(columns[k][0]) })));
      cells.push(lanes.map(() => h("td")));
    }
    const shown = headRow.children.length - 1;
    for (let k = shown; k < columns.length; k++) {
      headRow.append(heads[k]);
      rows.forEach((tr, lane) => tr.append(cells[k][lane]));
    }
    for (let k = columns.length; k < shown; k++) for (const el of [heads[k], ...cells[k]]) el.remove();
    columns.forEach(([r, before], k) => {
      const button = heads[k].firstChild;
      button.textContent = before ? `${names[r]} before` : names[r];
      button.title = `.${registers[r][1]}; choose for “next write” and “previous change”`;
    });
    drawn = [];
  }

  function markLanes(now, active) {
    mask = now;
    doing = active;
    lanes.forEach((th, lane) => {
      const on = (mask >>> lane) & 1,
        [sign, says] =
          (doing >>> lane) & 1 ? ["●", "active"] : on ? ["◐", "here, but its guard is false"] : ["○", "not active"];
      th.textContent = `${signs.get(lane) || ""}${sign} ${lane}`;
      th.setAttribute("aria-label", `lane ${lane}, ${says}`);
      rows[lane].classList.toggle("pl-off", !on);
      rows[lane].classList.toggle("pl-accused", signs.has(lane));
    });
  }

  function chosen(warp, at, text) {
    const written = warp.written(at),
      out = [];
    if (mode === "all") return names.map((_, r) => [r, false]);
    for (const r of written) out.push([r, true], [r, false]);
    const used = new Set((text.match(/%[\w$.]+/g) || []).map((word) => number.get(word)));
    if (picked >= 0) used.add(picked);
    for (const r of used) if (r !== undefined && !written.includes(r)) out.push([r, false]);
    return out;
  }

  return {
    el,
    pick(register) {
      picked = register;
    },
    /** `active`: the lanes that execute the step, those of its mask whose guard holds; `accused`: the signs of lanes that a
     * finding is about. */
    show(warp, at, text, active, accused) {
      again = () => this.show(warp, at, text, active, accused);
      const wanted = chosen(warp, at, text),
        step = warp.steps[at],
        written = new Set(warp.written(at));
      if (wanted.length !== columns.length || wanted.some(([r, b], k) => r !== columns[k][0] || b !== columns[k][1])) {
        columns = wanted;
        build();
      }
      columns.forEach(([r, before], k) => {
        const values = warp.value(r, before ? at - 1 : at),
          fresh = written.has(r) && !before;
        const css = [fresh ? "pl-written" : "", r === picked ? "pl-picked" : "", before ? "pl-before" : ""]
          .join(" ")
          .trim();
        if (heads[k].className !== css) heads[k].className = css;
        const was = fresh ? warp.value(r, at - 1) : null,
          blank = !warp.isWritten(r, before ? at - 1 : at);
        const key = was || drawn[k]?.was ? {} : values; // what was or is marked is drawn anew
        if (drawn[k]?.key === key && drawn[k].blank === blank) return;
        cells[k].forEach((cell, lane) => {
          const now = blank ? "" : laneText(values, lane, view, registers[r][1], registers[r][2]);
          if (cell.textContent !== now) cell.textContent = now;
          const title = blank ? "not written yet" : "";
          if (cell.title !== title) cell.title = title;
          const css = was && was[lane] !== values[lane] ? "pl-changed" : before ? "pl-before" : "";
          if (cell.className !== css) cell.className = css;
        });
        drawn[k] = { key, was, blank };
      });
      const told = accused.size || signs.size;
      signs = accused;
      if (told || step.mask !== mask || active !== doing) markLanes(step.mask, active);
      for (const lane of signs.keys()) body.scrollTop = rows[lane].offsetTop - body.clientHeight / 2; // it is in sight
      const here = lanesOf(step.mask).length,
        held = lanesOf(active).length;
      note.textContent = `${here} of 32 lanes active, ${hex(step.mask >>> 0)}${held < here ? `; the guard holds in ${held}` : ""}`;
      body.scrollLeft =
        mode === "all" && written.size ? Math.max(0, heads[[...written][0]].offsetLeft - 120) : body.scrollLeft;
    },
  };
}
