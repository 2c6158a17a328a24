// The code panes: Python beside PTX with linked selection, execution heat, hover docs, and the diff in two layouts.

/** A scrolling list of source lines, which are HTML strings made (and escaped) by Python. */
function makePane(title, onselect) {
  const body = h("div.pl-lines", { tabIndex: 0, role: "listbox", "aria-label": title });
  const name = h("span.pl-pane-name");
  const note = h("span.pl-note");
  const el = h("section.pl-pane", { "aria-label": title }, h("header", null, h("h4", null, title), name, h("span.pl-spring"), note), body);
  let current = 0;

  const row = (line) => body.querySelector(`[data-line="${line}"]`);
  function setCurrent(line, tell) {
    const next = row(line);
    if (!next) return;
    row(current)?.classList.remove("pl-current");
    current = line;
    next.classList.add("pl-current");
    next.id ||= `pl-${Math.random().toString(36).slice(2)}`;
    body.setAttribute("aria-activedescendant", next.id);
    scrollTo(next);
    if (tell) onselect(line);
  }
  function scrollTo(target) {
    const top = target.offsetTop, bottom = top + target.offsetHeight;
    if (top < body.scrollTop || bottom > body.scrollTop + body.clientHeight) body.scrollTop = top - body.clientHeight / 3;
  }
  body.addEventListener("click", (e) => {
    const hit = e.target.closest("[data-line]");
    if (hit && !String(getSelection())) setCurrent(Number(hit.dataset.line), true);
  });
  body.addEventListener("keydown", (e) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15 }[e.key];
    if (e.key === "Escape") return onselect(null);
    if (!step) return;
    e.preventDefault();
    e.stopPropagation();
    let line = current + step;
    while (row(line)?.dataset.blank && row(line + Math.sign(step))) line += Math.sign(step);
    setCurrent(row(line) ? line : current, true);
  });

  return {
    el, body, name, note, row,
    /** Rows count from 1; `numbers`, where given, are what to print in front of them (0: nothing). */
    fill(lines, numbers) {
      const scroll = body.scrollTop;
      body.innerHTML = lines.map((html, k) =>
        `<div class="pl-line" role="option" aria-selected="false" data-line="${k + 1}"${html ? "" : ' data-blank="1"'}>` +
        `<span class="pl-no">${numbers ? numbers[k] || "" : k + 1}</span><span class="pl-heat"></span><code>${html || " "}</code></div>`).join("");
      body.scrollTop = scroll;
    },
    /** Paints execution counts: colour, bar length and number all say the same. */
    heat(counts) {
      body.classList.toggle("pl-hot", counts.size > 0);
      const top = Math.log1p(Math.max(1, ...counts.values()));
      for (const line of body.children) {
        const n = counts.get(Number(line.dataset.line));
        const cell = line.children[1];
        cell.textContent = n === undefined ? "" : count(n).replace(" ", "");
        cell.style.setProperty("--heat", n ? (Math.log1p(n) / top).toFixed(3) : 0);
        cell.title = n === undefined ? "" : `${n.toLocaleString("en")} thread-instructions`;
      }
    },
    /** Brings a line to the top, with a little room above it. */
    start(line) {
      const watch = new ResizeObserver(() => {
        const target = row(line);
        if (!body.clientHeight || !target) return; // not on the page yet
        body.scrollTop = target.offsetTop - 2 * target.offsetHeight;
        watch.disconnect();
      });
      watch.observe(body);
    },
    select(lines, scroll) {
      for (const old of body.querySelectorAll('[aria-selected="true"]')) old.setAttribute("aria-selected", "false");
      lines.forEach((line) => row(line)?.setAttribute("aria-selected", "true"));
      const target = lines.length && row(lines[0]);
      if (target && scroll) scrollTo(target);
    },
    /** Shows a message under a line, as a compiler would. */
    complain(line, text) {
      body.querySelector(".pl-complaint")?.remove();
      const target = line && row(line);
      if (!target) return;
      target.after(h("pre.pl-complaint", null, text));
      scrollTo(target.nextSibling);
    },
    clearComplaint() { body.querySelector(".pl-complaint")?.remove(); },
  };
}

/** What hovering a word of the PTX pane explains; null where there is nothing to say. */
function explainWord(span, code) {
  const opcode = span.closest(".o");
  if (opcode) {
    const doc = code.docs[opcode.textContent];
    if (!doc) return null;
    const part = span.classList.contains("m") ? span.textContent : "";
    return [
      h("div.pl-tip-title", null, h("code", null, opcode.textContent), h("span.pl-note", null, doc.since || "")),
      h("p", null, prose(doc.says)),
      h("pre", null, doc.syntax),
      h("dl", null, doc.parts.map(([word, says]) =>
        [h(word === part ? "dt.pl-here" : "dt", null, word), h(word === part ? "dd.pl-here" : "dd", null, prose(says))])),
      doc.operands.length ? h("dl.pl-operands", null, doc.operands.map(([n, says]) => [h("dt", null, n), h("dd", null, prose(says))])) : null,
    ].filter(Boolean);
  }
  const text = span.textContent, line = span.closest("[data-line]");
  if (code.words[text]) return [h("div.pl-tip-title", null, h("code", null, text)), h("p", null, prose(code.words[text]))];
  if (!span.classList.contains("r") || !line) return null;
  const before = document.createRange();
  const code_ = line.querySelector("code"), op = code_.querySelector(".o");
  const type = code.registers[text] || code.registers[text.replace(/\d+$/, "")];
  const out = [h("div.pl-tip-title", null, h("code", null, text), h("span.pl-note", null, type ? `register, ${type}` : ""))];
  const doc = op && code.docs[op.textContent];
  if (doc && op.compareDocumentPosition(span) & Node.DOCUMENT_POSITION_FOLLOWING) {
    before.setStartAfter(op);
    before.setEndBefore(span);
    const at = (before.toString().match(/,(?![^{]*\})/g) || []).length;
    const operand = doc.operands[Math.min(at, doc.operands.length - 1)];
    if (operand) out.push(h("p", null, `operand ${operand[0]} of ${op.textContent}, ${operand[1]}`));
  }
  return out;
}

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
