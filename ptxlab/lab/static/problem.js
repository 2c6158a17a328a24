// @ts-check
// What went wrong: the message above the code, and the lines that it is about.

import { h } from "./dom.js";

/** `showCode` opens the view in which lines are marked, `asks` makes a button that sends a message.
 * @param {Answers} answers */
export function makeProblem({ data }, { ptx, python }, showCode, asks) {
  const el = h("div.pl-problem", { role: "alert", hidden: true });
  const steps = "step through the kernel up to the instruction that stopped it",
    debug = asks("Debug here", steps, () => ({ kind: "debug" }));

  function paint() {
    const p = data("problem");
    ptx.clearComplaint();
    python.clearComplaint();
    el.hidden = !p;
    if (!p) return;
    el.replaceChildren(h("b", null, p.title), h("pre", null, p.message), p.block ? debug : "");
    if (p.line) showCode();
    if (p.line) ptx.complain(p.line, p.message);
    if (p.python_line) python.complain(p.python_line, p.message);
  }

  return { el, paint };
}
