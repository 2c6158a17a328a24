// @ts-check
// Hover docs of the code panes: what a word of PTX or an opcode of machine code means.

import { h, onKeys, prose } from "./dom.js";
import { explainDescriptor } from "./descriptors.js";

/** The head of an explanation: a word, and a few words about it. */
const titled = (word, note = "") => h("div.pl-tip-title", null, h("code", null, word), h("span.pl-note", null, note));

/** Words and what they mean, with the one that is pointed at marked; null where there are none. */
function meanings(css, rows, here = "") {
  const mark = (word) => (word === here ? ".pl-here" : "");
  const row = ([word, says]) => [h(`dt${mark(word)}`, null, word), h(`dd${mark(word)}`, null, prose(says))];
  return rows.length ? h(`dl${css}`, null, rows.map(row)) : null;
}

/** What hovering a word of the PTX pane explains; null where there is nothing to say. */
function explainWord(span, code) {
  const opcode = span.closest(".o");
  if (opcode) {
    const doc = code.docs[opcode.textContent];
    if (!doc) return null;
    return [
      titled(opcode.textContent, doc.since || ""),
      h("p", null, prose(doc.says)),
      h("pre", null, doc.syntax),
      meanings("", doc.parts, span.classList.contains("m") ? span.textContent : ""),
      meanings(".pl-operands", doc.operands),
      meanings(".pl-terms", doc.terms),
    ].filter(Boolean);
  }
  const text = span.textContent,
    line = span.closest("[data-line]");
  if (code.words[text]) return [titled(text), h("p", null, prose(code.words[text]))];
  if (!span.classList.contains("r") || !line) return null;
  const op = line.querySelector("code .o"),
    type = code.registers[text] || code.registers[text.replace(/\d+$/, "")],
    held = explainDescriptor(text, code),
    doc = op && code.docs[op.textContent];
  if (!type && !held) return null;
  const out = [titled(text, type ? `register, ${type}` : "register")];
  if (doc && op.compareDocumentPosition(span) & Node.DOCUMENT_POSITION_FOLLOWING) {
    const before = document.createRange();
    before.setStartAfter(op);
    before.setEndBefore(span);
    const at = (before.toString().match(/,(?![^{]*\})/g) || []).length,
      operand = doc.operands[Math.min(at, doc.operands.length - 1)];
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
  onKeys(pane.body, (e) => {
    if (e.key === "Escape") tip.hide();
    const op = pane.body.querySelector(".pl-current .o"),
      content = op && explainWord(op.firstElementChild || op, code());
    return e.key === "Enter" && (() => content && tip.show(op, content));
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
    if (says) tip.show(op, [titled(op.textContent, "machine code"), h("p", null, says)]);
    else tip.hide();
  });
  hideWith(pane, tip);
}
