// @ts-check
// What there is to learn from a kernel: its question, the line that it is about, and the kernel that comes next.

import { button, h, prose } from "./dom.js";

/** `asks` makes a button that sends a message.
 * @param {Answers} answers */
export function makeLesson({ data, fresh, code }, { ptx, python }, links, results, asks) {
  const el = h("p.pl-lesson", { hidden: true, onclick: () => el.classList.toggle("pl-unfolded") });
  let kernel = "",
    asked = "",
    line = 0; // what it was painted for

  /** What to look at. Both panes of a kernel that is new here open there, and the results that it is about come first. */
  function paint({ of, lesson: told }) {
    const opens = kernel !== of;
    if (!opens && asked === told?.question && line === (told?.line || 0)) return;
    kernel = of;
    asked = told?.question;
    line = told?.line || 0;
    el.hidden = !told;
    if (told) tell(told);
    if (!opens) return;
    if (told?.row) python.start(told.row);
    ptx.start(line || code().links[0]?.[0] || 1);
    if (data("run")) results.showKind();
  }

  function tell({ question, look, next }) {
    const here = button(`line ${line}`, `select PTX line ${line}`, () => links.show([line], "plot"), "pl-quiet"),
      onward = next ? other(`Next: ${next.title} →`, "the next kernel beside this one", next.name) : "";
    here.hidden = !line;
    if (onward) onward.classList.add("pl-next", "pl-quiet");
    el.title = `${question} Look at ${look}`;
    el.replaceChildren(h("b", null, question), h("span.pl-look", null, "Look at: ", ...prose(look)), here, onward);
  }

  /** Opens what there is about a figure; of bank conflicts the line that has most of them, with the reason. */
  function explain(page, key) {
    results.tabs.pick(page);
    const lines = key === "conflicts" ? fresh("run")?.counters?.lines || [] : [];
    const worst = lines.reduce((most, row) => (row[4] - row[5] > (most ? most[4] - most[5] : 0) ? row : most), null);
    if (worst) links.link("ptx", worst[0], true);
    else if (key === "conflicts" && fresh("run")?.counters)
      links.tell("No access of this kernel has a bank conflict.", elsewhere());
  }

  /** A button that shows another kernel of the library. */
  const other = (text, title, kernel) => asks(text, title, () => ({ kind: "next", kernel }));

  /** One whose bank conflicts are worth a look. */
  function elsewhere() {
    const { name, title } = code().lesson?.conflicts || {};
    return name ? other(`Show ${name}, which has some`, `${title}: beside this kernel`, name) : "";
  }

  return { el, paint, explain };
}
