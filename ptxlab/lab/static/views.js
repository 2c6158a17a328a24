// @ts-check
// Which code is shown: what changed in it, or the whole with its heat; PTX, machine code or its source, one or two side by side.

import { choice, h } from "./dom.js";
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
  const toggle = (text, label, title, on, onclick) => {
    const button = h("button.pl-button.pl-toggle", { title, "aria-label": label, "aria-pressed": String(on) }, text);
    button.onclick = () => {
      button.setAttribute("aria-pressed", String(!pressed(button)));
      onclick(pressed(button));
    };
    return button;
  };
  const pressed = (button) => button.getAttribute("aria-pressed") === "true";
  const beside = toggle("⇄", "side by side", "side by side: the two versions, or PTX and its source", false, () =>
    show(),
  );
  const bare = toggle(
    "Bare",
    "hide .loc, comments and declarations",
    "hide .loc, comments and declarations",
    false,
    (on) => panes.classList.toggle("pl-bare", on),
  );
  const hottest = h(
    "button.pl-button",
    {
      title: "the line that runs most often, then the next",
      "aria-label": "next hot line",
      onclick: () => ptx.hottest(),
    },
    "Hot ↓",
  );
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
  const button = (key) => languages.querySelector(`[data-key=${key}]`);
  const hot = h("input", { type: "checkbox", checked: true, onchange: () => paintHeat() }),
    heat = h("label.pl-check", { title: "how often each line was executed, beside it" }, hot, "heat");
  const panes = h("div.pl-panes", null, python.el, ptx.el, sass.el);
  const more = toggle("⋯", "more", "Find, Copy, side by side, Hot, Bare and heat", false, (on) =>
    bar.classList.toggle("pl-more-tools", on),
  );
  more.classList.add("pl-more"); // where the bar is narrow
  const bar = h(
    "div.pl-tools",
    { role: "group", "aria-label": "code" },
    views,
    languages,
    beside,
    diff.tools,
    h("span.pl-spring"),
    more,
    hottest,
    bare,
    heat,
  );
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
    button("python").hidden = !code()?.python;
    button("sass").hidden = saved() && !data("sass");
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
    if (language === "ptx")
      diff.show(
        d.rows,
        base.ptx,
        c.ptx,
        sides,
        `Both versions are the same, instruction by instruction.${same}`,
        writers(base, c),
      );
    else if (language === "python")
      diff.show(
        d.python?.rows,
        base.python?.lines,
        c.python?.lines,
        sides,
        d.python ? `The same Python wrote both.${same}` : "There is no Python to compare.",
        undefined,
        [base.python?.numbers, c.python?.numbers],
      );
    else {
      const value = fresh("sass_diff"),
        now = fresh("sass"),
        lines = new Map((now?.links || []).map(([line, row]) => [row, line])); // of PTX
      const why =
        now && now.state !== "ok"
          ? now.note
          : fresh("sass_diff") === null && now
            ? "There is no machine code to compare."
            : "Being disassembled …";
      diff.show(
        value?.rows,
        value?.old,
        now?.lines,
        sides,
        value ? `The assembler made the same machine code of both.${same}` : why,
        (_, b) => (b === null || !lines.has(b + 1) ? null : writers(base, c)(null, lines.get(b + 1) - 1)),
      );
    }
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
      button(key).dataset.changes = String((d.title && changesIn(of[key]?.rows)) || "");
    const part = !diffs() || language === "ptx" ? d : language === "python" ? d.python : machine;
    const says = [
      part?.renamed ? `${part.renamed} only renumbered` : "",
      part === d && d.declarations ? `${d.declarations} declaration${d.declarations > 1 ? "s" : ""}` : "",
    ];
    note.replaceChildren(
      ...[
        d.title ? h("b", null, d.title) : "",
        d.title && part ? " · " : "",
        part ? part.summary : "",
        ...says.filter(Boolean).map((t) => `, ${t}`),
        ` · against ${d.against}`,
      ].filter(Boolean),
    );
    note.title = note.textContent;
  }

  /** How often each line of PTX and of Python was executed; a run that was shown before has the same maps. */
  const none = { ptx: new Map(), python: new Map() },
    heats = new WeakMap();
  function heatOf({ heat }, links) {
    if (!heats.has(heat)) {
      const counts = new Map(heat),
        lines = new Map();
      for (const [p, y] of links) if (counts.has(p)) lines.set(y, (lines.get(y) || 0) + counts.get(p));
      heats.set(heat, { ptx: counts, python: lines });
    }
    return heats.get(heat);
  }
  /** How often each line was executed, beside it. */
  function paintHeat() {
    const run = fresh("run"),
      counts = run && hot.checked ? heatOf(run, code().links) : none;
    const room = hot.checked && !data("run")?.note;
    ptx.heat(counts.ptx, room);
    python.heat(counts.python, room);
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
    button("python").textContent = source.language;
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

  return { el, diff, panes, show, showCode, paintDiff, paintHeat, paintPython, paintSass, compares: diffs };
}
