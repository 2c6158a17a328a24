// The explorer itself: puts the panes together and follows the model. Python sends each result as one trait with the
// sequence number of the request it answers; what answers an older request than the last one shown is ignored.

const DIMS = 250; // milliseconds until what does not say what the controls say is dimmed: most answers come sooner, and to dim takes a frame
const FOLLOWED = ["code", "run", "state"]; // what a request is answered with

function render({ model, el }) {
  const root = h("div.ptxlab-explorer", { role: "region", "aria-label": "ptxlab explorer" });
  const answers = makeAnswers(model, () => status.answered()), { data, code, fresh, memory } = answers;
  const below = makeBelow(root);
  const asks = (text, title, message) => h("button.pl-button.pl-asks", { type: "button", title, onclick: (e) => { model.send(message()); below.reveal(e.currentTarget); } }, text);
  const panes = { python: makePane("Python", (line) => links.link("py", line)), ptx: makePane("PTX", (line) => links.link("ptx", line)), sass: makePane("SASS", (line) => links.link("sass", line)) };
  const { python, ptx, sass } = panes;
  const views = makeViews(model, answers, panes);
  const links = makeLinks(answers, panes, () => results, asks);
  let baseline = "pinned";
  const was = () => fresh("deltas")?.[baseline] || null;
  const results = makeResults(answers, was, () => links, (row) => {
    if (row === model.get("row")) return;
    model.set("row", row);
    model.save_changes();
  });
  const tip = makeTooltip(root);
  let frames = null, dims = 0, since = 0; // what paints the parts; the timer that dims what they leave behind, and since when that is so

  const title = h("h3"), entry = h("code.pl-entry");
  const pin = h("button.pl-button.pl-asks", { type: "button", title: "compare later versions with this one", onclick: () => model.send({ do: "pin" }) }, "Pin");
  const edit = asks("Edit", "change this PTX in an editor, and see it run", () => ({ do: "edit", line: ptx.place(() => true)?.[0] }));
  const share = asks("Share", "one file with all of this, which a browser opens without Python", () => ({ do: "share" }));
  const lesson = makeLesson(answers, panes, links, results, asks), problem = makeProblem(answers, panes, views.showCode, asks);
  const strip = h("dl.pl-strip", { "aria-label": "assembler, run and error" });
  const changed = h("b"), against = h("span.pl-against", { hidden: true }, changed);
  const sample = h("p.pl-sample", { hidden: true, role: "note" });
  const baselines = choice("figures compared with", [["pinned", "Δ pinned", "figures beside those of the pinned setting"], ["previous", "Δ previous", "figures beside those of the setting before"]],
    baseline, (key) => { baseline = key; paintStrip(); results.paint(); });
  const status = makeStatus(model, recollect, paintStatus, () => FOLLOWED.every((part) => !data(part) || data(part).seq === memory.seq()));
  root.append(
    h("header.pl-head", { role: "group" }, title, entry, h("span.pl-spring"), against, status.el, share),
    problem.el, lesson.el, strip, sample,
    h("div.pl-tools", null, views.views, views.languages, views.pair, pin, edit, baselines, views.diff.tools, views.note, h("span.pl-spring"), views.heat),
    views.panes, views.diff.el,
    h("div.pl-tools.pl-results", null, results.tabs, links.picked, links.debug),
    ...results.els);
  el.append(root);
  markLive(el);
  const helpers = [nameSliders(el), sayClamped(el), sayFollowed(el, model), foldParameters(el, root, model)];

  // -- code

  let painted = null; // the code that is shown

  function paintCode() {
    const c = code();
    if (!c) return;
    const before = painted?.seq === c.seq ? null : painted, same = before?.title === c.title, kept = same && ptx.place((line) => carried(before, c, line) !== null);
    const goes = kept ? [carried(before, c, kept[0]), kept[1]] : null;
    painted = c;
    title.textContent = c.title;
    entry.textContent = c.name;
    ptx.name.textContent = c.arch;
    ptx.note.textContent = `${c.ptx.length} lines`;
    ptx.fill(c.ptx, null, goes);
    if (c.python) views.paintPython(c.python);
    lesson.paint(c);
    if (same) links.carry(before, c);
    else if (before) links.link("ptx", null); // another kernel opens at what it is about
    tip.hide();
    views.show();
  }

  // -- figures

  function paintStrip() {
    const both = fresh("deltas"), before = was();
    against.hidden = baselines.hidden = !both?.pinned && !both?.previous;
    changed.textContent = changed.title = before?.title || `as the ${baseline} setting`;
    sample.hidden = !data("run")?.sample;
    sample.textContent = `≈ ${data("run")?.sample}`;
    contain(strip, stripFigures(code(), data("assembly"), data("run"), before, lesson.explain));
  }

  // -- what is out of date

  /** What answers an older request stands there dimmed until its successor comes. */
  function markStale() {
    const old = (part) => !!data(part) && data(part).seq !== memory.seq();
    for (const pane of [ptx.el, python.el, views.diff.el]) pane.classList.toggle("pl-stale", old("code"));
    for (const page of results.els) page.classList.toggle("pl-stale", old("run"));
    strip.classList.toggle("pl-stale", old("run") || old("code"));
    results.state.el.classList.toggle("pl-stale", old("state"));
    sass.el.classList.toggle("pl-stale", old("sass"));
  }

  /** Dims all that does not say what the controls say, if that lasts. */
  function behind() {
    const old = root.dataset.state === "gone" || (root.dataset.state === "changed" && !memory.part("code"));
    if (!old) since = 0;
    else since ||= performance.now();
    root.classList.toggle("pl-behind", old && performance.now() - since >= DIMS);
    if (old && !dims) dims = setTimeout(() => { dims = 0; behind(); }, DIMS - (performance.now() - since));
  }

  /** A setting that was seen before is shown as it was answered then, until the kernel has answered once more; of one that
   * was foretold, code and diff. */
  function recollect(setting, answered, heard) {
    const names = answered ? memory.forget() : memory.recall(setting, heard);
    if (names.length) frames?.paint(names);
    if (answered && setting !== null && model.get("status").state === "done") memory.remember(setting);
  }

  function paintStatus(state, now) {
    const busy = state === "changed" || state === "building" || state === "running";
    root.classList.toggle("pl-busy", busy);
    if (root.dataset.state !== state) results.tell(state);
    root.dataset.state = state;
    behind();
    root.dataset.seq = now.seq;
    root.dataset.busy = busy || frames?.waiting() ? "1" : ""; // parts that have come and are not painted yet count as work
    markStale();
  }

  // -- the model

  const hear = (message, buffers) => received(message, buffers, answers, status.settingOf);
  model.on("msg:custom", hear);
  hoverDocs(ptx, tip, code);
  hoverSass(sass, tip, () => data("sass")?.docs || {});
  const paintRun = () => { markStale(); results.paintRun(); };
  const some = (names, parts) => names.some((name) => parts.includes(name));
  const paintFirst = (names) => { if (some(names, ["code", "assembly", "run", "deltas"])) paintStrip(); };
  const paintLast = (names) => {
    if (some(names, ["assembly", "run", "deltas", "problem"])) results.paint(); // once for all of them
    if (some(names, ["code", "run"])) views.paintHeat();
    status.update();
    for (const pane of Object.values(panes)) pane.settle();
  };
  const nothing = () => {}; // of its own
  const paintState = () => { markStale(); results.paintState(); };
  frames = paintTogether(root, model, memory, {
    code: () => { paintCode(); markStale(); }, diff: views.paintDiff, pinned: views.paintDiff, assembly: nothing, run: paintRun, deltas: nothing,
    state: paintState, sass: () => { markStale(); views.paintSass(); }, sass_diff: views.paintDiff, problem: problem.paint,
  }, paintFirst, paintLast);
  paintStrip();
  const themes = new MutationObserver(results.recolour);
  themes.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "data-jp-theme-name"] });
  return () => {
    themes.disconnect();
    status.stop();
    below.stop();
    clearTimeout(dims);
    model.off("msg:custom", hear);
    for (const stop of [...helpers, frames.stop]) stop();
  };
}

export default { render };
