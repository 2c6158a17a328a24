// @ts-check
// The diff against another version as a table: side by side or unified, long unchanged runs folded.

import { button, h, onKeys } from "./dom.js";
import { laid, rulerMark } from "./pane.js";

/** Wraps character ranges of an element's text in <mark>. */
function markRanges(el, ranges) {
  for (const [from, to] of [...ranges].reverse()) {
    const walker = document.createTreeWalker(el, NodeFilter.SHOW_TEXT);
    const parts = [];
    for (let at = 0, node; (node = walker.nextNode()); at += node.length)
      if (at < to && at + node.length > from)
        parts.push([node, Math.max(0, from - at), Math.min(node.length, to - at)]);
    for (const [node, a, b] of parts.reverse()) {
      const range = document.createRange();
      range.setStart(node, a);
      range.setEnd(node, b);
      range.surroundContents(h("mark"));
    }
  }
}

const SIGNS = { s: " ", r: " ", n: " ", c: "~", "+": "+", "-": "−" };
const FOLD = 3; // unchanged lines kept around a change

/** Whether a row shows a changed instruction (of PTX), or a changed line. Declarations, whose kind begins with a dot, and
 * further copies of a change, with a star, fold. */
const isChange = ([kind]) => kind === "c" || kind === "+" || kind === "-";

/** How many rows of a comparison show a change. */
export const changesIn = (rows) => (rows || []).filter((r) => isChange([r[0].at(-1)])).length;

/**
 * The diff as a table; `sides` is 2 for side by side, 1 for unified. Long unchanged runs and declarations fold behind a
 * button. `runs` of changes are [its first element, its rows from, to]. `wrote(a, b)` is the line of source that wrote a changed line
 * of the old or the new text, {place, html}: it stands before what it wrote. `numbers` are the lines' own numbers, of both.
 */
function diffTable(rows, old, now, sides, wrote, numbers) {
  const near = rows.map(() => false);
  rows.forEach((r, k) => {
    if (isChange(r))
      for (let n = Math.max(0, k - FOLD); n <= Math.min(rows.length - 1, k + FOLD); n++)
        near[n] = !".*".includes(rows[n][0][0]) || n === k;
  });
  const cell = (sign, text, no, ranges, own) => {
    const source = h("td.pl-src", { innerHTML: text ?? "" });
    if (ranges && ranges.length) markRanges(source, ranges);
    source.innerHTML = laid(source.innerHTML);
    return [
      h("td.pl-no", null, no === null ? "" : String(own ? own[no] || "" : no + 1)),
      h("td.pl-sign", null, sign),
      source,
    ];
  };
  const line = (css, at, ...cells) => h(`tr.${css}`, { "data-line": at === null ? null : at + 1 }, ...cells);
  const build = ([given, a, b, left, right]) => {
    const k = given.at(-1);
    const css = { c: "pl-chg", "+": "pl-add", "-": "pl-del" }[k] || "pl-same";
    const l = () => cell(a === null ? "" : k === "c" ? "−" : SIGNS[k], a === null ? "" : old[a], a, left, numbers[0]);
    const r = () => cell(b === null ? "" : k === "c" ? "+" : SIGNS[k], b === null ? "" : now[b], b, right, numbers[1]);
    if (sides === 2) {
      const tr = line(css, null, ...l(), ...r());
      if (a === null) tr.classList.add("pl-right");
      if (b === null) tr.classList.add("pl-left");
      return [tr];
    }
    if (k === "c") return [line("pl-del", null, ...l()), line("pl-add", b, ...r())];
    return [line(css, b, ...(b === null ? l() : r()))];
  };
  const body = h("tbody"),
    runs = [];
  let writer = ""; // whose lines come
  for (let k = 0; k < rows.length; k++) {
    let end = k;
    while (end < rows.length && !near[end]) end++;
    const hidden = rows.slice(k, end),
      begins = (sign) => hidden.filter((r) => r[0].startsWith(sign)).length,
      [declared, repeated, copies] = [".", "*", "**"].map(begins);
    if (hidden.length > 2 || declared) {
      const same = hidden.length - declared - repeated,
        says = [
          copies ? `${copies} more like this` : "",
          same ? `${same} lines the same` : "",
          declared ? `${declared} declaration${declared > 1 ? "s" : ""} changed` : "",
        ];
      const opens = button(
          `⋯ ${says.filter(Boolean).join(", ")}`,
          null,
          () => fold.replaceWith(...fold.folded()),
          "pl-quiet",
        ),
        fold = h("tr.pl-fold", null, h("td", { colSpan: 3 * sides }, opens));
      let made = null;
      fold.folded = () => (made ??= hidden.flatMap(build));
      body.append(fold);
      k = end - 1;
      continue;
    }
    const made = build(rows[k]),
      from = isChange(rows[k]) ? wrote(rows[k][1], rows[k][2]) : null;
    if (from && from.place !== writer) {
      const source = h("code", { innerHTML: from.html });
      body.append(h("tr.pl-wrote", null, h("td", { colSpan: 3 * sides }, h("span", null, from.place), source)));
    }
    writer = from?.place;
    if (isChange(rows[k])) {
      if (!(k && isChange(rows[k - 1]))) runs.push([made[0], k]);
      runs.at(-1)[2] = k + 1;
    }
    body.append(...made);
  }
  const side = () => [h("col.pl-no"), h("col.pl-sign"), h("col")],
    columns = h("colgroup", null, Array.from({ length: sides }, side));
  return { el: h(`table.pl-diff.pl-sides-${sides}`, null, columns, body), runs };
}

/** The pane of a diff with its buttons: from change to change, also by the keys n and p. `onselect(line)`
 * hears of a line of the new text that is pressed. */
export function makeDiffPane(onselect) {
  const region = { tabIndex: 0, role: "region", "aria-label": "difference from the other version" },
    body = h("div.pl-lines.pl-diff-holder", region),
    ruler = h("div.pl-ruler", { "aria-hidden": "true" });
  const el = h("section.pl-pane.pl-difference", { hidden: true }, body, ruler);
  const place = h("span.pl-note.pl-diff-place", { "aria-live": "polite" });
  const back = button("↑", "the change before (p)", () => go(at - 1), "pl-button", "previous change"),
    on = button("↓", "the next change (n)", () => go(at + 1), "pl-button", "next change");
  const tools = h("span.pl-pair.pl-diff-tools", null, back, on, place);
  let runs = [],
    marks = [], // of the runs, in the ruler
    at = 0,
    current = 0, // among the lines that are shown
    drawn = [];

  /** All lines, those that are folded too. */
  const lines = () => [...body.querySelectorAll("tr")].flatMap((tr) => tr.folded?.() || [tr]);
  const seek = (target) => target && (body.scrollTop = target.offsetTop - body.clientHeight / 4);

  function go(to) {
    for (const el of [runs[at]?.[0], marks[at]]) el?.classList.remove("pl-here");
    at = Math.max(0, Math.min(to, runs.length - 1));
    const target = runs[at]?.[0];
    place.textContent = runs.length ? `${at + 1} of ${runs.length}` : "";
    back.disabled = at <= 0;
    on.disabled = at >= runs.length - 1;
    for (const el of [target, marks[at]]) el?.classList.add("pl-here");
    seek(target);
  }
  onKeys(body, (e) => {
    const step = { n: 1, p: -1 }[e.key];
    if (e.key === "Escape") onselect(null);
    return step && !e.ctrlKey && !e.metaKey && !e.altKey && (() => go(at + step));
  });
  body.addEventListener("click", (e) => {
    const line = e.target.closest("[data-line]")?.dataset.line;
    if (line && !String(getSelection())) onselect(Number(line));
  });
  return {
    el,
    body,
    tools,
    texts: () => lines().map((tr) => tr.textContent),
    current: () => current,
    /** Goes to the next change, or to the one before (-1). */
    step: (by) => go(at + by),
    /** Goes to a line, and opens the fold that it is in. */
    go(line) {
      current = line;
      for (const old of body.querySelectorAll(".pl-current")) old.classList.remove("pl-current");
      const found = lines()[line - 1],
        fold = [...body.querySelectorAll(".pl-fold")].find((one) => one.folded().includes(found));
      fold?.querySelector("button").click();
      found.classList.add("pl-current");
      seek(found);
    },
    /** Selects lines of the new text; whether the first can be seen. */
    select(chosen, scroll) {
      for (const tr of body.querySelectorAll("[data-line]"))
        tr.classList.toggle("pl-chosen-line", chosen.includes(Number(tr.dataset.line)));
      const first = body.querySelector(".pl-chosen-line");
      if (first && scroll) seek(first);
      return !!first;
    },
    /** Marks in the ruler where in the whole text, what is folded included, changes are, and these lines of the new one:
     * [line, sign, what a press on the sign does]. */
    sign(signs) {
      const rows = drawn[0] || [],
        far = (row) => `${(100 * row) / rows.length}%`,
        rowOf = (line) => rows.findIndex((row) => row[2] === line - 1);
      marks = runs.map(([, from, to], k) => {
        const mark = rulerMark(far(from), "pl-run-mark", () => go(k));
        mark.style.height = far(to - from);
        mark.dataset.kind = rows[from][0];
        mark.classList.toggle("pl-here", k === at);
        return mark;
      });
      const found = signs.map(([line, text, act]) => rulerMark(far(rowOf(line)), "pl-at", act, text));
      ruler.replaceChildren(...marks, ...(runs.length ? found : []));
    },
    /** Shows a comparison, opened at its first change; `otherwise` are the words where nothing changed.
     * @param {(a: any, b: any) => any} [wrote] */
    show(rows, old, now, sides, otherwise, wrote = () => null, numbers = []) {
      tools.hidden = !runs.length;
      if (drawn[0] === rows && drawn[1] === sides && drawn[2] === now && rows) return;
      drawn = [rows, sides, now];
      current = 0;
      if (!changesIn(rows)) {
        runs = [];
        body.replaceChildren(h("p.pl-blank", null, otherwise));
      } else {
        const table = diffTable(rows, old, now, sides, wrote, numbers);
        runs = table.runs;
        body.replaceChildren(table.el);
      }
      tools.hidden = !runs.length;
      go(0);
    },
  };
}
