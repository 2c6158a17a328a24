// @ts-check
// Which code is shown: Python, PTX and machine code side by side with their heat, or what became of the other version.

import { choice, h } from "./dom.js";
import { fileOf } from "./pane.js";
import { makeDiffPane } from "./diff.js";

/** `panes` are {ptx, python, sass}.
 * @param {Model} model @param {Answers} answers */
export function makeViews(model, { data, code, fresh }, { ptx, python, sass }) {
  const diff = makeDiffPane(),
    note = h("span.pl-note.pl-diff-note", { "aria-live": "polite" });
  let view = "code",
    compared = "ptx";
  const views = choice(
    "view",
    [
      ["code", "Code"],
      ["split", "Diff ⇄", "side by side with what is compared"],
      ["unified", "Diff ↕", "unified with what is compared"],
    ],
    view,
    (key) => {
      view = key;
      show();
    },
  );
  const pressed = (button) => button.getAttribute("aria-pressed") === "true";
  const toggle = (text, title, on, onclick) => {
    const button = h("button.pl-button.pl-toggle", { title, "aria-pressed": String(on) }, text);
    button.onclick = () => {
      button.setAttribute("aria-pressed", String(!pressed(button)));
      onclick(pressed(button));
    };
    return button;
  };
  const showPython = toggle("Python", "the source that wrote the PTX", true, () => show());
  const showSass = toggle(
    "SASS",
    "the machine code that the assembler made of the PTX",
    model.get("wants_sass"),
    (on) => {
      model.set("wants_sass", on);
      model.save_changes();
      show();
    },
  );
  const languages = choice(
    "compare",
    [
      ["ptx", "PTX"],
      ["python", "Python", "the source that wrote the PTX"],
      ["sass", "SASS", "the machine code"],
    ],
    compared,
    (key) => {
      compared = key;
      if (key === "sass" && !pressed(showSass)) showSass.click();
      else show();
    },
  );
  const hot = h("input", { type: "checkbox", checked: true, onchange: () => paintHeat() }),
    heat = h("label.pl-check", null, hot, "heat");
  const pair = h("span.pl-pair", null, showPython, showSass);
  const panes = h("div.pl-panes", null, python.el, ptx.el, sass.el);

  /** Whether this is a saved page without machine code: nobody can be asked for it. */
  const without = () => model.get("status").state === "saved" && !data("sass");

  function show() {
    const wide = view === "code",
      source = !!code()?.python && pressed(showPython),
      machine = pressed(showSass);
    panes.hidden = pair.hidden = heat.hidden = !wide;
    diff.el.hidden = languages.hidden = wide;
    diff.tools.hidden = true;
    python.el.hidden = !source;
    showPython.hidden = !code()?.python;
    sass.el.hidden = !machine;
    showSass.hidden = languages.querySelector("[data-key=sass]").hidden = without();
    panes.dataset.count = String(1 + Number(source) + Number(machine));
    if (!wide) showDiff(view === "split" ? 2 : 1);
  }

  /** The comparison with the other version in the language that is chosen. */
  function showDiff(sides) {
    const d = data("diff"),
      base = data("base"),
      c = code();
    if (!d || !base || !c) return;
    const same = d.title ? ` Only the parameters differ: ${d.title}.` : " Change a parameter.";
    if (compared === "ptx")
      diff.show(d.rows, base.ptx, c.ptx, sides, `Both versions are the same, instruction by instruction.${same}`);
    else if (compared === "python")
      diff.show(
        d.python?.rows,
        base.python?.lines,
        c.python?.lines,
        sides,
        d.python ? `The same Python wrote both.${same}` : "There is no Python to compare.",
      );
    else {
      const value = fresh("sass_diff"),
        now = fresh("sass");
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
      part = view === "code" || compared === "ptx" ? d : compared === "python" ? d.python : machine;
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
    showPython.textContent = source.language;
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

  /** The panes, where the diff was shown. */
  const showCode = () => {
    if (view !== "code") views.pick("code");
  };

  return {
    views,
    languages,
    pair,
    heat,
    panes,
    diff,
    note,
    show,
    showCode,
    paintDiff,
    paintHeat,
    paintPython,
    paintSass,
  };
}
