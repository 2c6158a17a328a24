// @ts-check
// The diff against another version as a table: side by side or unified, long unchanged runs folded.

import { h } from "./dom.js";

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

/**
 * The diff as a table; `sides` is 2 for side by side, 1 for unified. Long unchanged runs and declarations fold behind a
 * button. `starts` are the first rows of each run of changes.
 */
function diffTable(rows, old, now, sides) {
  const near = rows.map(() => false);
  rows.forEach((r, k) => {
    if (isChange(r))
      for (let n = Math.max(0, k - FOLD); n <= Math.min(rows.length - 1, k + FOLD); n++)
        near[n] = !".*".includes(rows[n][0][0]) || n === k;
  });
  const cell = (sign, text, no, ranges) => {
    const code = h("code");
    code.innerHTML = text ?? "";
    if (ranges && ranges.length) markRanges(code, ranges);
    return [
      h("td.pl-no", null, no === null ? "" : String(no + 1)),
      h("td.pl-sign", null, sign),
      h("td.pl-src", null, code),
    ];
  };
  const line = (css, ...cells) => h(`tr.${css}`, null, ...cells);
  const build = ([given, a, b, left, right]) => {
    const k = given.at(-1);
    const css = { c: "pl-chg", "+": "pl-add", "-": "pl-del" }[k] || "pl-same";
    const l = () => cell(a === null ? "" : k === "c" ? "−" : SIGNS[k], a === null ? "" : old[a], a, left);
    const r = () => cell(b === null ? "" : k === "c" ? "+" : SIGNS[k], b === null ? "" : now[b], b, right);
    if (sides === 2) {
      const tr = line(css, ...l(), ...r());
      if (a === null) tr.classList.add("pl-right");
      if (b === null) tr.classList.add("pl-left");
      return [tr];
    }
    if (k === "c") return [line("pl-del", ...l()), line("pl-add", ...r())];
    return [line(css, ...(b === null ? l() : r()))];
  };
  const body = h("tbody"),
    starts = [];
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
      const fold = h(
        "tr.pl-fold",
        null,
        h(
          "td",
          { colSpan: 3 * sides },
          h(
            "button.pl-quiet",
            { onclick: () => fold.replaceWith(...hidden.flatMap(build)) },
            `⋯ ${says.filter(Boolean).join(", ")}`,
          ),
        ),
      );
      body.append(fold);
      k = end - 1;
      continue;
    }
    const made = build(rows[k]);
    if (isChange(rows[k]) && !(k && isChange(rows[k - 1]))) starts.push(made[0]);
    body.append(...made);
  }
  const columns = h(
    "colgroup",
    null,
    Array.from({ length: sides }, () => [h("col.pl-no"), h("col.pl-sign"), h("col")]),
  );
  return { el: h(`table.pl-diff.pl-sides-${sides}`, null, columns, body), starts };
}

/** The pane of a diff with its buttons: from change to change, also by the keys n and p (or F7 and Shift+F7). */
export function makeDiffPane() {
  const el = h("div.pl-lines.pl-diff-holder", {
    hidden: true,
    tabIndex: 0,
    role: "region",
    "aria-label": "difference from the other version",
  });
  const place = h("span.pl-note.pl-diff-place", { "aria-live": "polite" });
  const back = h(
    "button.pl-button",
    { title: "the change before (p)", "aria-label": "previous change", onclick: () => go(at - 1) },
    "↑",
  );
  const on = h(
    "button.pl-button",
    { title: "the next change (n)", "aria-label": "next change", onclick: () => go(at + 1) },
    "↓",
  );
  const tools = h("span.pl-pair.pl-diff-tools", null, back, on, place);
  let starts = [],
    at = 0,
    drawn = [];

  function go(to) {
    starts[at]?.classList.remove("pl-here");
    at = Math.max(0, Math.min(to, starts.length - 1));
    const target = starts[at];
    place.textContent = starts.length ? `change ${at + 1} of ${starts.length}` : "";
    back.disabled = at <= 0;
    on.disabled = at >= starts.length - 1;
    if (!target) return;
    target.classList.add("pl-here");
    el.scrollTop = target.offsetTop - el.clientHeight / 4;
  }
  el.addEventListener("keydown", (e) => {
    const step = e.key === "n" || (e.key === "F7" && !e.shiftKey) ? 1 : e.key === "p" || e.key === "F7" ? -1 : 0;
    if (!step || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    e.stopPropagation();
    go(at + step);
  });
  return {
    el,
    tools,
    /** Shows a comparison, opened at its first change; `otherwise` are the words where nothing changed. */
    show(rows, old, now, sides, otherwise) {
      tools.hidden = !starts.length;
      if (drawn[0] === rows && drawn[1] === sides && drawn[2] === now && rows) return;
      drawn = [rows, sides, now];
      if (!rows || !rows.some((r) => isChange([r[0].at(-1)]))) {
        starts = [];
        el.replaceChildren(h("p.pl-blank", null, otherwise));
      } else {
        const table = diffTable(rows, old, now, sides);
        starts = table.starts;
        el.replaceChildren(table.el);
      }
      tools.hidden = !starts.length;
      go(0);
    },
  };
}
