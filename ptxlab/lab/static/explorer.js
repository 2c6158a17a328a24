// @ts-check
// The explorer itself: puts the panes together and follows the model. Python sends each result as one trait with the
// sequence number of the request it answers; what answers an older request than the last one shown is ignored.

import "./keys.js";
import { button, choice, contain, h, makeTooltip, markLive } from "./dom.js";
import { makeAnswers, paintTogether, received } from "./answers.js";
import { makeControls } from "./controls.js";
import { makePane } from "./pane.js";
import { hoverDocs, hoverSass } from "./code_hover.js";
import { makeStatus } from "./status.js";
import { carried, makeLinks } from "./links.js";
import { makeViews } from "./views.js";
import { makeProblem, makeResults, makeStrip } from "./results.js";
import { makeLesson } from "./lesson.js";
import { makeBelow } from "./lower_pane.js";
import { ACCESS, makeFindings, signsOf } from "./findings.js";

/** @type {(keyof Parts)[]} */
const FOLLOWED = ["code", "run", "state"]; // what a request is answered with

/** @param {{ model: Model, el: HTMLElement }} view */
function render({ model, el }) {
  const root = h("div.ptxlab-explorer", { role: "region", "aria-label": "ptxlab explorer" });
  const answers = makeAnswers(model),
    { data, code, fresh } = answers;
  const asks = (text, title, message) => {
    const act = ({ currentTarget }) => {
      model.send(message());
      below.reveal(currentTarget);
    };
    return button(text, title, act, "pl-button.pl-asks");
  };
  const panes = {
    python: makePane("Python", (line) => links.link("py", line)),
    ptx: makePane("PTX", (line) => links.link("ptx", line)),
    sass: makePane("SASS", (line) => links.link("sass", line)),
  };
  const { python, ptx, sass } = panes;
  const views = makeViews(model, answers, panes, (line) => links.link("ptx", line));
  const plots = () => results,
    links = makeLinks(answers, panes, plots, asks, views);
  const rowsOf = (line) => (code()?.links || []).filter(([p]) => p === line).map(([, row]) => row);
  const sourceOf = (line) => rowsOf(line).map((row) => code().python.lines[row - 1].trim())[0] || "";
  const findings = makeFindings(
    goTo,
    () => paintSigns(),
    sourceOf,
    (finding, party) => {
      const message = () => ({ kind: "debug", finding, party });
      return asks(`Debug at ${ACCESS[party] || "the first NaN"}`, "step through the kernel from there", message);
    },
  );
  function goTo(party) {
    views.showCode();
    links.link("ptx", party.line, true);
  }
  const problem = makeProblem(answers, panes, views.showCode, asks);
  const below = makeBelow(model, root, views.el);
  const back = () => model.send({ kind: "undo" }),
    controls = makeControls(model, () => status.update(), back);
  const chooseRow = (row) => row !== controls.value("row") && controls.send({ row }),
    results = makeResults(answers, links, chooseRow, findings, problem.el);
  const tip = makeTooltip(root);
  let frames = null, // what paints the parts
    opened = null; // the finding that the code was opened at

  const title = h("h3"),
    entry = h("code.pl-entry");
  const pin = asks("Pin", "compare later settings with this one", () => ({ kind: "pin" }));
  const inSight = () => ptx.place(() => true)?.[0],
    edit = asks("Edit", "change its source or its PTX, and see it run", () => ({ kind: "edit", line: inSight() }));
  const file = "one file with all of this, which a browser opens without Python",
    share = asks("Share", file, () => ({ kind: "share" }));
  const lesson = makeLesson(answers, panes, links, results, asks);
  const figures = makeStrip(lesson.explain);
  const strip = h("dl.pl-strip", { "aria-label": "assembler, run and error" });
  const changed = h("b"),
    undo = button("↶ Undo", "back to what the controls said before", back, "pl-button.pl-asks"),
    against = h("span.pl-against", { hidden: true }, changed, undo);
  const found = h("b.pl-found");
  const foot = h("footer.pl-foot", null, h("b", null, "Selected"), links.picked, links.debug);
  const baselines = choice(
    "compared with",
    [
      ["previous", "previous", "code and figures beside those of the setting before"],
      ["pinned", "pinned", "code and figures beside those of the pinned setting"],
    ],
    model.get("against"),
    (key) => {
      if (key === model.get("against")) return;
      model.set("against", key);
      model.save_changes();
    },
  );
  const compares = () => baselines.pick(model.get("against"));
  model.on("change:against", compares);
  baselines.hidden = model.get("status").state === "saved";
  const seq = () => model.get("status").seq;
  const status = makeStatus(model, controls.heard, paintStatus, () =>
    FOLLOWED.every((part) => !data(part) || data(part).seq === seq()),
  );
  const adjusted = h("span.pl-fold-note");
  const adjust = () => {
    adjusted.textContent = adjusted.title = Object.values(model.get("values").notes).join("; ");
  };
  model.on("change:values", adjust);
  adjust();
  root.append(
    h("header.pl-head", { role: "group" }, [title, entry, against, adjusted, baselines, pin], h("span.pl-spring"), [
      found,
      status.el,
      edit,
      share,
    ]),
    lesson.el,
    controls.el,
    controls.button,
    controls.own,
    strip,
    views.el,
    results.el,
    foot,
    below.el,
  );
  el.append(root);
  markLive(el);

  // -- code

  let painted = null; // the code that is shown

  function paintCode() {
    const c = code();
    if (!c) return;
    const before = painted?.seq === c.seq ? null : painted,
      same = before?.of === c.of,
      kept = same && ptx.place((line) => carried(before, c, line) !== null);
    const goes = kept ? [carried(before, c, kept[0]), kept[1]] : null;
    painted = c;
    const names = [c.title, c.name]; // one's own kernel is called by its name first
    [title.textContent, entry.textContent] = controls.value("kernel") ? names : names.reverse();
    ptx.name.textContent = c.arch;
    ptx.note.textContent = `${c.ptx.length} lines`;
    ptx.fill(c.ptx, null, goes);
    if (c.python) views.paintPython(c.python);
    lesson.paint(c);
    if (same) links.carry(before, c);
    else if (before) {
      links.link("ptx", null); // another kernel opens at what it is about
      views.showCode();
    }
    tip.hide();
    views.show();
  }

  // -- figures

  function paintStrip() {
    const measures = data("measures");
    if (!measures) return;
    if (measures.seq === seq() && controls.heard()) paintChange(measures.moved);
    const working = ["changed", "building", "running"].includes(root.dataset.state);
    contain(strip, figures(measures.list, working, measures.work));
  }

  /** What was changed, [label, before, now], at once and at its controls as well. */
  function paintChange(moved) {
    against.hidden = !moved.length;
    changed.textContent = changed.title = moved
      .map(([label, was, now]) => `${label === "kernel" ? "" : `${label} `}${was} → ${now}`)
      .join(", ");
    controls.mark(moved);
  }

  /** The accesses of the finding that is open, numbered at their lines. */
  function paintSigns() {
    const finding = fresh("run") ? findings.now() : null,
      n = fresh("run")?.findings?.length;
    if (finding?.parties.length && finding !== opened) ptx.start(Math.min(...finding.parties.map(({ line }) => line)));
    opened = finding;
    ptx.sign(signsOf(finding));
    python.sign(signsOf(finding, rowsOf));
    views.sign([...signsOf(finding)].map(([line, sign]) => [line, sign, () => goTo({ line })]));
    found.textContent = n ? `✗ ${n} finding${n > 1 ? "s" : ""}` : "";
  }

  // -- keys

  const stops = "button, input, select, textarea, [tabindex='0']";
  /** Where the keyboard can go in a part. */
  const focusable = (part) =>
    [...part.querySelectorAll(stops)].filter(
      (e) => e.checkVisibility({ visibilityProperty: true }) && !e.matches(":disabled"),
    );

  /** F6 goes to the next part of the page, F7 to the next change of the code, F8 to the next finding; with Shift back.
   * Escape closes what is open, else it goes to what was changed last. */
  function keys(e) {
    const by = e.shiftKey ? -1 : 1;
    if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || !["F6", "F7", "F8", "Escape"].includes(e.key))
      return;
    e.preventDefault();
    if (e.key === "Escape") return below.close() || controls.back();
    if (e.key === "F7") return views.compares() && views.diff.step(by);
    if (e.key === "F8") {
      results.tabs.pick("findings");
      return findings.step(by);
    }
    const all = [controls.el, controls.own, strip, views.el, results.el, foot],
      parts = all.filter((part) => focusable(part).length),
      at = parts.findIndex((part) => part.contains(document.activeElement));
    focusable(parts.at((Math.max(at, by < 0 ? 0 : -1) + by) % parts.length))[0].focus();
  }

  // -- what is out of date

  /** What answers an older request stands there dimmed until its successor comes. */
  function markStale() {
    const old = (part) => !!data(part) && data(part).seq !== seq();
    for (const pane of [ptx.el, python.el, views.diff.el]) pane.classList.toggle("pl-stale", old("code"));
    for (const page of results.els) page.classList.toggle("pl-stale", old("run"));
    strip.classList.toggle("pl-stale", old("run") || old("code"));
    results.state.el.classList.toggle("pl-stale", old("state"));
    sass.el.classList.toggle("pl-stale", old("sass"));
  }

  function paintStatus(state, now) {
    const busy = state === "changed" || state === "building" || state === "running";
    root.classList.toggle("pl-busy", busy);
    const other = root.dataset.state !== state;
    const changes = state === "changed" ? controls.changes() : [];
    if (changes.length) paintChange(changes);
    controls.enable(state !== "saved" && state !== "gone");
    if (other) results.tell(state);
    root.dataset.state = state;
    if (other) paintStrip();
    root.classList.toggle("pl-behind", state === "gone" || state === "changed"); // dims all, if that lasts
    root.dataset.seq = now.seq;
    root.dataset.busy = busy || frames?.waiting() ? "1" : ""; // parts that have come and are not painted yet count as work
    markStale();
  }

  // -- the model

  const hear = (message, buffers) => received(message, buffers); // of this view alone
  model.on("msg:custom", hear);
  hoverDocs(ptx, tip, code);
  hoverSass(sass, tip, () => data("sass")?.docs || {});
  root.addEventListener("keydown", keys);
  const some = (names, parts) => names.some((name) => parts.includes(name));
  const paintFirst = (names) => {
    if (some(names, ["measures", "run"])) paintStrip();
    markStale();
  };
  const paintLast = (names) => {
    if (some(names, ["assembly", "run", "measures", "problem"])) results.paint(); // once for all of them
    if (some(names, ["code", "run"])) {
      views.paintHeat();
      paintSigns();
    }
    status.update();
    for (const pane of Object.values(panes)) pane.settle();
  };
  const painters = {
    code: paintCode,
    diff: views.paintDiff,
    base: views.paintDiff,
    assembly: () => {}, // none of its own
    run: results.paintRun,
    measures: () => {},
    state: results.paintState,
    sass: views.paintSass,
    sass_diff: views.paintDiff,
    problem: problem.paint,
  };
  frames = paintTogether(root, model, painters, paintFirst, paintLast);
  paintStrip();
  const themes = new MutationObserver(results.recolour);
  themes.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "data-jp-theme-name"] });
  return () => {
    themes.disconnect();
    status.stop();
    below.stop();
    controls.stop();
    model.off("msg:custom", hear);
    model.off("change:against", compares);
    model.off("change:values", adjust);
    frames.stop();
  };
}

export default { render };
