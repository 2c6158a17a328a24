// The diff against the pinned version as a table: side by side or unified, long unchanged runs folded.

/** Wraps character ranges of an element's text in <mark>. */
function markRanges(el, ranges) {
  for (const [from, to] of [...ranges].reverse()) {
    const walker = document.createTreeWalker(el, NodeFilter.SHOW_TEXT);
    const parts = [];
    for (let at = 0, node; (node = walker.nextNode()); at += node.length)
      if (at < to && at + node.length > from) parts.push([node, Math.max(0, from - at), Math.min(node.length, to - at)]);
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

/** The diff as a table; `sides` is 2 for side by side, 1 for unified. Long unchanged runs fold behind a button. */
function diffTable(rows, old, now, sides) {
  const changed = (r) => r[0] === "c" || r[0] === "+" || r[0] === "-";
  const near = rows.map(() => false);
  rows.forEach((r, k) => {
    if (changed(r)) for (let n = Math.max(0, k - FOLD); n <= Math.min(rows.length - 1, k + FOLD); n++) near[n] = true;
  });
  const cell = (kind, text, no, ranges) => {
    const code = h("code");
    code.innerHTML = text ?? "";
    if (ranges && ranges.length) markRanges(code, ranges);
    return [h("td.pl-no", null, no === null ? "" : String(no + 1)), h("td.pl-sign", null, kind), h("td.pl-src", null, code)];
  };
  const line = (css, ...cells) => h(`tr.${css}`, null, ...cells);
  const build = ([k, a, b, left, right]) => {
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
  const body = h("tbody");
  for (let k = 0; k < rows.length; k++) {
    let end = k;
    while (end < rows.length && !near[end]) end++;
    if (end - k > 2) {
      const hidden = rows.slice(k, end);
      const fold = h("tr.pl-fold", null, h("td", { colSpan: 3 * sides },
        h("button.pl-quiet", { type: "button", onclick: () => fold.replaceWith(...hidden.flatMap(build)) }, `⋯ ${hidden.length} lines the same`)));
      body.append(fold);
      k = end - 1;
    } else body.append(...build(rows[k]));
  }
  return h(`table.pl-diff.pl-sides-${sides}`, null, body);
}
