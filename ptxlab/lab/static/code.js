// The code panes: source, PTX and machine code side by side with linked selection, execution heat and hover docs.

const CHUNK = 32; // lines that the browser lays out, or leaves out while they are out of sight, together

/** A scrolling list of source lines, which are HTML strings made (and escaped) by Python. */
function makePane(title, onselect) {
  const body = h("div.pl-lines", { tabIndex: 0, role: "listbox", "aria-label": title });
  const name = h("span.pl-pane-name");
  const note = h("span.pl-note");
  const el = h("section.pl-pane", { "aria-label": title }, h("header", null, h("h4", null, title), name, h("span.pl-spring"), note), body);
  let current = 0, rows = [], made = []; // the elements of all lines; the HTML of each chunk

  const row = (line) => rows[line - 1];
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
    const top = topOf(target), bottom = top + target.offsetHeight;
    if (top < body.scrollTop || bottom > body.scrollTop + body.clientHeight) body.scrollTop = top - body.clientHeight / 3;
  }
  const topOf = (target) => target.getBoundingClientRect().top - body.getBoundingClientRect().top + body.scrollTop;
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
      const now = [];
      lines.forEach((html, k) => {
        if (k % CHUNK === 0) now.push("");
        now[now.length - 1] +=
          `<div class="pl-line" role="option" aria-selected="false" data-line="${k + 1}"${html ? "" : ' data-blank="1" aria-label="blank"'}>` +
          `<span class="pl-no">${numbers ? numbers[k] || "" : k + 1}</span><span class="pl-heat"></span><code>${html || " "}</code></div>`;
      });
      if (!made.length) body.replaceChildren();
      const changed = now.findIndex((html, k) => html !== made[k]);
      if (changed < 0 && now.length === made.length) return;
      for (const old of body.querySelectorAll('[aria-selected="true"]')) old.setAttribute("aria-selected", "false");
      while (body.children.length > now.length) body.lastChild.remove();
      now.forEach((html, k) => {
        if (html === made[k]) return;
        const chunk = body.children[k] || body.appendChild(h("div.pl-chunk", { role: "presentation" }));
        chunk.innerHTML = html;
        chunk.style.containIntrinsicHeight = `${18 * chunk.children.length}px`;
        rows.splice(k * CHUNK, CHUNK, ...chunk.children);
      });
      rows.length = lines.length;
      made = now;
    },
    /** Paints execution counts: colour, bar length and number all say the same. */
    heat(counts) {
      body.classList.toggle("pl-hot", counts.size > 0);
      const top = Math.log1p(Math.max(1, ...counts.values()));
      for (const line of rows) {
        const n = counts.get(Number(line.dataset.line)), cell = line.children[1], shown = n ? `${n} ${top}` : n;
        if (cell.shown === shown) continue; // writing it again would cost a layout
        cell.shown = shown;
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
        body.scrollTop = topOf(target) - 2 * target.offsetHeight;
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
    /** Another heading. */
    rename(text) {
      el.querySelector("h4").textContent = text;
      el.setAttribute("aria-label", text);
      body.setAttribute("aria-label", text);
    },
    /** Words in place of lines. */
    say(text) { made = []; rows = []; body.replaceChildren(h("p.pl-blank", null, text)); },
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

/** Docs under the mouse in the PTX pane, and of the current line's opcode on Enter; `words` maps registers to spans. */
function hoverDocs(pane, tip, code, words) {
  pane.body.addEventListener("pointerover", (event) => {
    const span = event.target.closest?.("code span");
    const content = span && explainWord(span, code());
    for (const old of pane.body.querySelectorAll(".pl-twin")) old.classList.remove("pl-twin");
    if (span?.classList.contains("r")) for (const twin of words().get(span.textContent) || []) twin.classList.add("pl-twin");
    if (content) tip.show(span.closest(".o") || span, content);
    else tip.hide();
  });
  hideWith(pane, tip);
  pane.body.addEventListener("keydown", (e) => {
    if (e.key === "Escape") tip.hide();
    if (e.key !== "Enter") return;
    e.preventDefault();
    e.stopPropagation();
    const op = pane.body.querySelector(".pl-current .o");
    const content = op && explainWord(op.firstElementChild || op, code());
    if (content) tip.show(op, content);
  });
}

function hideWith(pane, tip) {
  pane.body.addEventListener("pointerleave", tip.hide);
  pane.body.addEventListener("scroll", tip.hide);
}

/** What a machine opcode does, under the mouse in the SASS pane. */
function hoverSass(pane, tip, docs) {
  pane.body.addEventListener("pointerover", (event) => {
    const op = event.target.closest?.(".o"), word = op?.firstChild?.textContent, says = word && docs()[word];
    if (says) tip.show(op, [h("div.pl-tip-title", null, h("code", null, op.textContent), h("span.pl-note", null, "machine code")), h("p", null, says)]);
    else tip.hide();
  });
  hideWith(pane, tip);
}
