// @ts-check
// Which code is shown: what changed in it, or the whole with its heat; PTX, machine code or its source, one or two side by side.

import { button, choice, h } from "./dom.js";
import { fileOf } from "./pane.js";
import { changesIn, makeDiffPane } from "./diff.js";
import { addFinder } from "./find.js";

/** `panes` are {ptx, python, sass}; `onselect(line)` hears of a PTX line that is pressed in the diff.
 * @param {Model} model @param {Answers} answers */
export function makeViews(model, { data, code, fresh }, { ptx, python, sass }, onselect) {
  const diff = makeDiffPane(onselect),
    note = h("p.pl-note.pl-diff-note", { "aria-live": "polite" });
  let view = "auto", // "diff" and "code" where somebody has chosen; else the diff, where there is one
    wholeOf = -1, // the answer of which the whole code must be in sight
    signs = [], // of findings
    language = model.get("wants_sass") ? "sass" : "ptx";
  const views = choice(
    "view",
    [
      ["diff", "Diff", "what changed"],
      ["code", "Code"],
    ],
    "code",
    (key) => {
      [view, wholeOf] = [key, -1];
      show();
    },
  );
  const pressed = (one) => one.getAttribute("aria-pressed") === "true";
  /** A button that stays pressed; `title` begins with what it is called. */
  const toggle = (text, title, onclick) => {
    const one = button(text, title, act, "pl-button.pl-toggle", title.split(":")[0]);
    one.setAttribute("aria-pressed", "false");
    function act() {
      one.setAttribute("aria-pressed", String(!pressed(one)));
      onclick(pressed(one));
    }
    return one;
  };
  const beside = toggle("⇄", "side by side: the two versions, or PTX and its source", () => show()),
    bare = toggle("Bare", "hide .loc, comments and declarations", (on) => panes.classList.toggle("pl-bare", on)),
    often = "the line that runs most often, then the next",
    hottest = button("Hot ↓", often, () => ptx.hottest(), "pl-button", "next hot line");
  const languages = choice(
    "language",
    [
      ["ptx", "PTX"],
      ["sass", "SASS", "the machine code that the assembler made of the PTX"],
      ["python", "Python", "the source that wrote the PTX"],
    ],
    language,
    (key) => {
      language = key;
      if (model.get("wants_sass") !== (key === "sass")) {
        model.set("wants_sass", key === "sass");
        model.save_changes();
      }
      show();
    },
  );
  const tab = (key) => languages.querySelector(`[data-key=${key}]`);
  const hot = h("input", { type: "checkbox", checked: true, onchange: () => paintHeat() }),
    heat = h("label.pl-check", { title: "how often each line was executed, beside it" }, hot, "heat");
  const panes = h("div.pl-panes", null, python.el, ptx.el, sass.el);
  const hidden = "more: Find, Copy, side by side, Hot, Bare and heat",
    more = toggle("⋯", hidden, (on) => bar.classList.toggle("pl-more-tools", on));
  more.classList.add("pl-more"); // where the bar is narrow
  const left = [views, languages, beside, diff.tools],
    right = [more, hottest, bare, heat],
    bar = h("div.pl-tools", { role: "group", "aria-label": "code" }, left, h("span.pl-spring"), right);
  const el = h("section.pl-code", { "aria-label": "code" }, bar, note, panes, diff.el);
  const main = () => ({ ptx, sass, python })[language];
  addFinder(bar, el, () => (diffs() ? diff : main()));

  const saved = () => model.get("status").state === "saved"; // nobody can be asked for anything

  const diffs = () =>
    view === "diff" ||
    (view === "auto" &&
      wholeOf !== code()?.seq &&
      !!data("diff")?.title &&
      changesIn([...data("diff").rows, ...((language === "sass" && fresh("sass_diff")?.rows) || [])]) > 0);

  function show() {
    if (language === "python" && !code()?.python) return languages.pick("ptx");
    const compares = diffs(),
      two = pressed(beside),
      seen = [main(), two && (language === "sass" || !code()?.python ? ptx : python), two && ptx];
    for (const b of views.children) b.setAttribute("aria-pressed", String((b.dataset.key === "diff") === compares));
    panes.hidden = heat.hidden = bare.hidden = hottest.hidden = compares;
    diff.el.hidden = !compares;
    diff.tools.hidden = true;
    tab("python").hidden = !code()?.python;
    tab("sass").hidden = saved() && !data("sass");
    for (const pane of [ptx, python, sass]) pane.el.hidden = !seen.includes(pane);
    panes.dataset.count = two && code()?.python ? "2" : "1";
    if (compares) showDiff(two ? 2 : 1);
  }

  /** The line of source that wrote a changed line of the old (`a`) or the new PTX (`b`). */
  function writers(base, now) {
    const known = [base, now].map((of) => new Map(of.links || []));
    return (a, b) => {
      const [of, at] = b === null ? [base, known[0].get(a + 1)] : [now, known[1].get(b + 1)],
        source = of.python;
      if (!at || !source) return null;
      const file = fileOf(source.files, at);
      return { place: `${file}:${source.numbers?.[at - 1] || at}`, html: source.lines[at - 1].trim() };
    };
  }

  /** The comparison with the other version in the language that is chosen. */
  function showDiff(sides) {
    const d = data("diff"),
      base = data("base"),
      c = code();
    if (!d || !base || !c) return;
    const same = d.title ? ` Only the parameters differ: ${d.title}.` : saved() ? "" : " Change a parameter.";
    if (language === "ptx") {
      const says = `Both versions are the same, instruction by instruction.${same}`;
      diff.show(d.rows, base.ptx, c.ptx, sides, says, writers(base, c));
    } else if (language === "python") {
      const says = d.python ? `The same Python wrote both.${same}` : "There is no Python to compare.",
        [old, now] = [base.python, c.python];
      diff.show(d.python?.rows, old?.lines, now?.lines, sides, says, undefined, [old?.numbers, now?.numbers]);
    } else {
      const value = fresh("sass_diff"),
        now = fresh("sass"),
        lines = new Map((now?.links || []).map(([line, row]) => [row, line])), // of PTX
        wrote = (_, b) => (b === null || !lines.has(b + 1) ? null : writers(base, c)(null, lines.get(b + 1) - 1));
      let says = "Being disassembled …";
      if (value) says = `The assembler made the same machine code of both.${same}`;
      else if (now) says = now.note || "There is no machine code to compare.";
      diff.show(value?.rows, value?.old, now?.lines, sides, says, wrote);
    }
    diff.sign(language === "ptx" ? signs : []);
    paintNote();
  }

  function paintDiff() {
    paintNote();
    show();
  }

  /** What became of the other version, in figures. */
  function paintNote() {
    const d = data("diff");
    if (!d) return note.replaceChildren();
    const machine = fresh("sass_diff"),
      of = { ptx: d, python: d.python, sass: machine };
    for (const key of ["ptx", "python", "sass"])
      tab(key).dataset.changes = String((d.title && changesIn(of[key]?.rows)) || "");
    const part = !diffs() || language === "ptx" ? d : language === "python" ? d.python : machine;
    const says = [
      part?.summary,
      part?.renamed && `${part.renamed} only renumbered`,
      part === d && d.declarations && `${d.declarations} declaration${d.declarations > 1 ? "s" : ""}`,
    ].filter(Boolean);
    note.replaceChildren(
      h("b", null, d.title),
      `${d.title && part ? " · " : ""}${says.join(", ")} · against ${d.against}`,
    );
    note.title = note.textContent;
  }

  /** How often each line of PTX and of Python was executed, beside it. */
  function paintHeat() {
    const room = hot.checked && !data("run")?.note,
      counts = new Map(hot.checked ? fresh("run")?.heat : []),
      lines = new Map();
    for (const [p, y] of code()?.links || []) if (counts.has(p)) lines.set(y, (lines.get(y) || 0) + counts.get(p));
    ptx.heat(counts, room);
    python.heat(lines, room);
  }

  /** The pane holds lines of several files: its head names the one whose lines are at the top. */
  let files = [];
  const nameFile = () => {
    const shown = fileOf(files, python.top());
    if (python.name.textContent !== shown) python.name.textContent = shown;
  };
  python.body.addEventListener("scroll", nameFile, { passive: true });

  function paintPython(source) {
    python.rename(source.language);
    tab("python").textContent = source.language;
    python.fill(source.lines, source.numbers);
    files = source.files;
    nameFile();
  }

  function paintSass() {
    const value = data("sass");
    sass.note.textContent = value?.state === "ok" ? `${value.instructions} instructions` : "";
    sass.name.textContent = value?.arch || "";
    if (!value) sass.say("Being assembled …");
    else if (value.state === "missing") sass.say(value.note);
    else
      sass.fill(
        value.lines,
        value.lines.map(() => 0),
      );
  }

  /** The whole code of this answer, where it is not shown: something in it is to be seen. */
  function showCode() {
    if (!diffs()) return;
    if (view === "diff") view = "auto";
    wholeOf = code()?.seq ?? -1;
    show();
  }

  /** Marks PTX lines in the comparison: see `diff.sign`. */
  function sign(next) {
    signs = next;
    show();
  }

  return { el, diff, sign, panes, show, showCode, paintDiff, paintHeat, paintPython, paintSass, compares: diffs };
}
