// @ts-check
// The explorer itself: puts the panes together and follows the model. Python sends each result as one trait with the
// sequence number of the request it answers; what answers an older request than the last one shown is ignored.

import "./keys.js";
import { choice, contain, h, makeTooltip, markLive } from "./dom.js";
import { makeAnswers, received } from "./answers.js";
import { makeControls } from "./controls.js";
import { makePane } from "./pane.js";
import { hoverDocs, hoverSass } from "./code_hover.js";
import { makeStrip } from "./summary_strip.js";
import { makeStatus } from "./status.js";
import { carried } from "./scroll_anchor.js";
import { makeLinks } from "./links.js";
import { makeViews } from "./views.js";
import { makeResults } from "./results.js";
import { makeLesson } from "./lesson.js";
import { makeProblem } from "./problem.js";
import { paintTogether } from "./frames.js";
import { makeBelow } from "./lower_pane.js";
import { ACCESS, makeFindings, signsOf } from "./findings.js";

const DIMS = 250; // milliseconds until what does not say what the controls say is dimmed: most answers come sooner, and to dim takes a frame
/** @type {(keyof Parts)[]} */
const FOLLOWED = ["code", "run", "state"]; // what a request is answered with

/** @param {{ model: Model, el: HTMLElement }} view */
function render({ model, el }) {
  const root = h("div.ptxlab-explorer", { role: "region", "aria-label": "ptxlab explorer" });
  const answers = makeAnswers(model),
    { data, code, fresh } = answers;
  const asks = (text, title, message) =>
    h(
      "button.pl-button.pl-asks",
      {
        title,
        onclick: (e) => {
          model.send(message());
          below.reveal(e.currentTarget);
        },
      },
      text,
    );
  const panes = {
    python: makePane("Python", (line) => links.link("py", line)),
    ptx: makePane("PTX", (line) => links.link("ptx", line)),
    sass: makePane("SASS", (line) => links.link("sass", line)),
  };
  const { python, ptx, sass } = panes;
  const views = makeViews(model, answers, panes, (line) => links.link("ptx", line));
  const links = makeLinks(
    answers,
    panes,
    () => results,
    asks,
    () => views,
  );
  const rowsOf = (line) => (code()?.links || []).filter(([p]) => p === line).map(([, row]) => row);
  const findings = makeFindings(
    (party) => {
      views.showCode();
      links.link("ptx", party.line, true);
    },
    () => paintSigns(),
    (line) => rowsOf(line).map((row) => code().python.lines[row - 1].trim())[0] || "",
    (k, n) =>
      asks(`Debug at ${ACCESS[n] || "the first NaN"}`, "step through the kernel from there", () => ({
        kind: "debug",
        finding: k,
        party: n,
      })),
  );
  const problem = makeProblem(answers, panes, views.showCode, asks);
  const below = makeBelow(model, root, views.el);
  const controls = makeControls(
    model,
    () => status.update(),
    () => model.send({ kind: "undo" }),
  );
  const results = makeResults(
    answers,
    () => links,
    (row) => {
      if (row !== controls.value("row")) controls.send({ row });
    },
    findings,
    problem.el,
  );
  const tip = makeTooltip(root);
  let frames = null,
    opened = null, // the finding that the code was opened at
    dims = 0,
    since = 0; // what paints the parts; the timer that dims what they leave behind, and since when that is so

  const title = h("h3"),
    entry = h("code.pl-entry");
  const pin = asks("Pin", "compare later settings with this one", () => ({ kind: "pin" }));
  const edit = asks("Edit", "change its source or its PTX, and see it run", () => ({
    kind: "edit",
    line: ptx.place(() => true)?.[0],
  }));
  const share = asks("Share", "one file with all of this, which a browser opens without Python", () => ({
    kind: "share",
  }));
  const lesson = makeLesson(answers, panes, links, results, asks);
  const figures = makeStrip(lesson.explain);
  const strip = h("dl.pl-strip", { "aria-label": "assembler, run and error" });
  const changed = h("b"),
    undo = asks("↶ Undo", "back to what the controls said before", () => ({ kind: "undo" })),
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
    h(
      "header.pl-head",
      { role: "group" },
      title,
      entry,
      against,
      adjusted,
      baselines,
      pin,
      h("span.pl-spring"),
      found,
      status.el,
      edit,
      share,
    ),
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
    const parts = [controls.el, controls.own, strip, views.el, results.el, foot].filter(
        (part) => focusable(part).length,
      ),
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

  /** Dims all that does not say what the controls say, if that lasts. */
  function behind() {
    const old = root.dataset.state === "gone" || root.dataset.state === "changed";
    if (!old) since = 0;
    else since ||= performance.now();
    root.classList.toggle("pl-behind", old && performance.now() - since >= DIMS);
    if (old && !dims)
      dims = setTimeout(
        () => {
          dims = 0;
          behind();
        },
        DIMS - (performance.now() - since),
      );
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
    behind();
    root.dataset.seq = now.seq;
    root.dataset.busy = busy || frames?.waiting() ? "1" : ""; // parts that have come and are not painted yet count as work
    markStale();
  }

  // -- the model

  const hear = (message, buffers) => received(message, buffers); // of this view alone
  model.on("msg:custom", hear);
  hoverDocs(ptx, tip, code);
  hoverSass(sass, tip, () => data("sass")?.docs || {});
  const paintRun = () => {
    markStale();
    results.paintRun();
  };
  const some = (names, parts) => names.some((name) => parts.includes(name));
  const paintFirst = (names) => {
    if (some(names, ["measures", "run"])) paintStrip();
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
  const nothing = () => {}; // of its own
  root.addEventListener("keydown", keys);
  const paintState = () => {
    markStale();
    results.paintState();
  };
  frames = paintTogether(
    root,
    model,
    {
      code: () => {
        paintCode();
        markStale();
      },
      diff: views.paintDiff,
      base: views.paintDiff,
      assembly: nothing,
      run: paintRun,
      measures: nothing,
      state: paintState,
      sass: () => {
        markStale();
        views.paintSass();
      },
      sass_diff: views.paintDiff,
      problem: problem.paint,
    },
    paintFirst,
    paintLast,
  );
  paintStrip();
  const themes = new MutationObserver(results.recolour);
  themes.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "data-jp-theme-name"] });
  return () => {
    themes.disconnect();
    status.stop();
    below.stop();
    controls.stop();
    clearTimeout(dims);
    model.off("msg:custom", hear);
    model.off("change:against", compares);
    model.off("change:values", adjust);
    frames.stop();
  };
}

export default { render };
