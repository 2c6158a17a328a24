// @ts-check
// Hover docs of the code panes: what a word of PTX or an opcode of machine code means.

import { h, prose } from "./dom.js";
import { explainDescriptor } from "./descriptors.js";

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
      h(
        "dl",
        null,
        doc.parts.map(([word, says]) => [
          h(word === part ? "dt.pl-here" : "dt", null, word),
          h(word === part ? "dd.pl-here" : "dd", null, prose(says)),
        ]),
      ),
      doc.operands.length
        ? h(
            "dl.pl-operands",
            null,
            doc.operands.map(([n, says]) => [h("dt", null, n), h("dd", null, prose(says))]),
          )
        : null,
      doc.terms.length
        ? h(
            "dl.pl-terms",
            null,
            doc.terms.map(([term, says]) => [h("dt", null, term), h("dd", null, prose(says))]),
          )
        : null,
    ].filter(Boolean);
  }
  const text = span.textContent,
    line = span.closest("[data-line]");
  if (code.words[text])
    return [h("div.pl-tip-title", null, h("code", null, text)), h("p", null, prose(code.words[text]))];
  if (!span.classList.contains("r") || !line) return null;
  const before = document.createRange();
  const code_ = line.querySelector("code"),
    op = code_.querySelector(".o");
  const type = code.registers[text] || code.registers[text.replace(/\d+$/, "")];
  const held = explainDescriptor(text, code);
  if (!type && !held) return null;
  const out = [
    h(
      "div.pl-tip-title",
      null,
      h("code", null, text),
      h("span.pl-note", null, type ? `register, ${type}` : "register"),
    ),
  ];
  const doc = op && code.docs[op.textContent];
  if (doc && op.compareDocumentPosition(span) & Node.DOCUMENT_POSITION_FOLLOWING) {
    before.setStartAfter(op);
    before.setEndBefore(span);
    const at = (before.toString().match(/,(?![^{]*\})/g) || []).length;
    const operand = doc.operands[Math.min(at, doc.operands.length - 1)];
    if (operand) out.push(h("p", null, `operand ${operand[0]} of ${op.textContent}, ${operand[1]}`));
  }
  return held ? [...out, ...held] : out;
}

/** Docs under the mouse in the PTX pane, and of the current line's opcode on Enter; a register's other uses are marked. */
export function hoverDocs(pane, tip, code) {
  pane.body.addEventListener("pointerover", (event) => {
    const span = event.target.closest?.("code span");
    const content = span && explainWord(span, code());
    for (const old of pane.body.querySelectorAll(".pl-twin")) old.classList.remove("pl-twin");
    const word = span?.classList.contains("r") && span.textContent;
    if (word)
      for (const twin of pane.body.querySelectorAll(".r")) twin.classList.toggle("pl-twin", twin.textContent === word);
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
export function hoverSass(pane, tip, docs) {
  pane.body.addEventListener("pointerover", (event) => {
    const op = event.target.closest?.(".o"),
      word = op?.firstChild?.textContent,
      says = word && docs()[word];
    if (says)
      tip.show(op, [
        h("div.pl-tip-title", null, h("code", null, op.textContent), h("span.pl-note", null, "machine code")),
        h("p", null, says),
      ]);
    else tip.hide();
  });
  hideWith(pane, tip);
}
