// The explorer itself: puts the panes together and follows the model. Python sends each result as one trait with the
// sequence number of the request it answers; what answers an older request than the last one shown is ignored.

const FOLLOWED = ["code", "run", "state"]; // what a request is answered with

const RESULTS = [["error", "Error and softmax"], ["counters", "Counters"], ["roofline", "Roofline and occupancy"]];

function render({ model, el }) {
  const root = h("div.ptxlab-explorer", { role: "region", "aria-label": "ptxlab explorer", "data-lm-suppress-shortcuts": "true" });
  const title = h("h3"), entry = h("code.pl-entry");
  const pin = h("button.pl-button", { type: "button", title: "compare later versions with this one", onclick: () => model.send({ do: "pin" }) }, "Pin");
  const asks = (text, title, message) => h("button.pl-button.pl-asks", { type: "button", title, onclick: () => { model.send(message()); reveal(); } }, text);
  const edit = asks("Edit", "change this PTX in an editor, and see it run", () => ({ do: "edit" }));
  const debug = asks("Debug here", "step through the kernel from here: registers, memory, 32 lanes", () => ({ do: "debug", ...here }));
  const debugFault = asks("Debug here", "step through the kernel up to the instruction that stopped it", () => ({ do: "debug" }));
  const share = asks("Share", "one file with all of this, which a browser opens without Python", () => ({ do: "share" }));
  const problem = h("div.pl-problem", { role: "alert", hidden: true });
  const strip = h("dl.pl-strip", { "aria-label": "assembler, run and error" });
  const changed = h("b"), against = h("span.pl-against", { hidden: true }, changed);
  const lesson = h("p.pl-lesson", { hidden: true });
  const sample = h("p.pl-sample", { hidden: true, role: "note" });
  const diffNote = h("span.pl-note.pl-diff-note", { "aria-live": "polite" });
  const diffPane = makeDiffPane();
  const picked = h("p.pl-picked-line", { "aria-live": "polite" });

  const python = makePane("Python", (line) => link("py", line));
  const ptx = makePane("PTX", (line) => link("ptx", line));
  const sass = makePane("SASS", (line) => link("sass", line));
  const tip = makeTooltip(root);
  const errors = makeErrorMap((row, column) => { chooseRow(rowNumber(row)); linkStores(row, column); });
  const state = makeStatePlot((key, tile) => { tiles.mark(data("state")?.row, data("run")?.tiles?.tile_kv > 1 || !data("state")?.parts ? tile : null); link(key, tile); });
  const tiles = makeTileMap((row, tile) => { chooseRow(rowNumber(rowIndex(row))); if (tile >= 0 && data("state")?.tiles > tile) state.point(tile); });
  const ways = makeWays(), counters = makeCounters((line) => link("ptx", line, true)), roofline = makeRoofline(), occupancy = makeOccupancy();
  const data = (part) => unpacked(model.get(part));
  const code = () => data("code");
  // Of a large problem only some rows were run: what row of the result a query row is, and the other way round.
  const numbers = () => data("run")?.map?.numbers;
  const rowNumber = (index) => numbers()?.[index] ?? index;
  const rowIndex = (row) => (numbers() ? numbers().reduce((best, number, k, all) => (Math.abs(number - row) < Math.abs(all[best] - row) ? k : best), 0) : row);
  let view = "code", compared = "ptx", kernel = "", results = "error", painted = null, selected = null, baseline = "pinned", here = null, frame = 0;
  const was = () => fresh("deltas")?.[baseline] || null;
  const baselines = choice("figures compared with", [["pinned", "Δ pinned", "figures beside those of the pinned setting"], ["previous", "Δ previous", "figures beside those of the setting before"]],
    baseline, (key) => { baseline = key; paintStrip(); paintResults(); });

  const views = choice("view", [["code", "Code"], ["split", "Diff ⇄", "side by side with the pinned version"], ["unified", "Diff ↕", "unified with the pinned version"]],
    view, (key) => { view = key; showView(); });
  const toggle = (text, title, pressed, onclick) => {
    const button = h("button.pl-button.pl-toggle", { type: "button", title, "aria-pressed": String(pressed) }, text);
    button.onclick = () => { button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true")); onclick(button.getAttribute("aria-pressed") === "true"); };
    return button;
  };
  const showPython = toggle("Python", "the source that wrote the PTX", true, () => showView());
  const wantSass = (on) => {
    model.set("wants_sass", on);
    model.save_changes();
    showView();
  };
  const showSass = toggle("SASS", "the machine code that the assembler made of the PTX", model.get("wants_sass"), wantSass);
  const languages = choice("compare", [["ptx", "PTX"], ["python", "Python", "the source that wrote the PTX"], ["sass", "SASS", "the machine code"]], compared, (key) => {
    compared = key;
    if (key === "sass" && showSass.getAttribute("aria-pressed") !== "true") showSass.click();
    else showView();
  });
  const heat = h("label.pl-check", null, h("input", { type: "checkbox", checked: true, onchange: paintHeat }), "heat");
  const pair = h("span.pl-pair", null, showPython, showSass);
  const panes = h("div.pl-panes", null, python.el, ptx.el, sass.el);
  const pages = { error: [h("div.pl-cards.pl-three.pl-tall", null, errors.el, state.el, tiles.el), ways.el], counters: [counters.el], roofline: [h("div.pl-cards", null, roofline.el, occupancy.el)] };
  const showResults = (key) => {
    results = key;
    for (const [name, els] of Object.entries(pages)) for (const e of els) e.classList.toggle("pl-off", name !== key);
    paintResults();
  };
  const tabs = choice("results", RESULTS, results, showResults);
  const status = makeStatus(model, paintStatus, () => FOLLOWED.every((part) => !data(part) || data(part).seq === model.get("status").seq));
  root.append(
    h("header.pl-head", null, title, entry, h("span.pl-spring"), against, status.el, share),
    problem, lesson, strip, sample,
    h("div.pl-tools", null, views, languages, pair, pin, edit, baselines, diffPane.tools, diffNote, h("span.pl-spring"), heat),
    panes, diffPane.el,
    h("div.pl-tools.pl-results", null, tabs, picked, debug),
    ...Object.values(pages).flat());
  pin.classList.add("pl-asks");
  debug.hidden = true;
  showResults(results);
  el.append(root);
  const helpers = [nameSliders(el), sayClamped(el), sayFollowed(el, model), foldParameters(el, root)];

  function chooseRow(row) {
    if (row === model.get("row")) return;
    model.set("row", row);
    model.save_changes();
  }

  /** Brings what opens below the explorer into sight, once it is there. */
  function reveal() {
    const below = root.closest(".ptxlab-app")?.querySelector(".ptxlab-below");
    if (!below) return;
    const watch = new MutationObserver(() => below.scrollIntoView({ block: "nearest" }));
    watch.observe(below, { childList: true, subtree: true });
    setTimeout(() => watch.disconnect(), 3000);
  }

  /** The PTX lines that stored an element of the output: by its offset where one thread has a whole row, else all. */
  function linkStores(row, column) {
    const stores = code()?.stores || [], map = data("run")?.map;
    if (!stores.length || !map) return;
    const at = column * map.size, covered = stores.reduce((n, [, , bytes]) => n + bytes, 0);
    const exact = covered === map.dim * map.size ? stores.filter(([, offset, bytes]) => offset <= at && at < offset + bytes) : [];
    selected = null;
    show((exact.length ? exact : stores).map(([line]) => line), "plot", `stores ${exact.length ? `column ${column}` : "the output"}`);
    tiles.mark(rowNumber(row), null);
  }

  /** Selects, in all panes, what belongs to a line of one of them, or to a point of the softmax plot. */
  function link(from, line, scroll) {
    selected = line === null ? null : [from, line];
    const links = code()?.links || [], machine = fresh("sass")?.links || [], makers = fresh("state")?.makers || {};
    if (line === null) {
      for (const pane of [ptx, python, sass]) pane.select([]);
      state.mark(null);
      picked.textContent = "";
      debug.hidden = true;
      return;
    }
    if (from in makers) {
      show(makers[from], "plot", `makes ${from}`);
      if (makers[from].length) here = { line: makers[from].at(-1), nth: data("state")?.parts ? 0 : line, of: data("state")?.parts ? 0 : data("state")?.tiles || 0 };
      return;
    }
    if (from === "py") return show(links.filter(([, y]) => y === line).map(([p]) => p), "py", "", line);
    if (from === "sass") return show(machine.filter(([, r]) => r === line).map(([p]) => p), "sass", "", line);
    show([line], scroll ? "plot" : "ptx");
  }

  function show(lines, from, says = "", own = 0) {
    const links = code()?.links || [], machine = fresh("sass")?.links || [], makers = fresh("state")?.makers || {};
    const rows = from === "py" ? [own] : [...new Set(links.filter(([p]) => lines.includes(p)).map(([, y]) => y))];
    const kin = from === "ptx" ? [...new Set([...lines, ...links.filter(([, y]) => rows.includes(y)).map(([p]) => p)])] : lines;
    const codes = from === "sass" ? [own] : machine.filter(([p]) => lines.includes(p)).map(([, r]) => r);
    ptx.select(kin, from !== "ptx");
    python.select(rows, from !== "py");
    sass.select(codes, from !== "sass");
    const key = Object.keys(makers).find((k) => lines.some((l) => makers[k].includes(l)));
    if (from !== "plot" || !key) state.mark(key || null);
    const touched = new Map(code()?.touched || []), run = new Map(fresh("run")?.heat || []);
    here = { line: lines[0], nth: 0 };
    debug.hidden = !lines.length;
    const parts = [lines.length === 1 ? `PTX line ${lines[0]}` : lines.length ? `${lines.length} PTX lines` : "no PTX line"];
    const arrays = [...new Set(lines.map((l) => touched.get(l)).filter(Boolean))];
    if (says || key) parts.push(says || `makes ${key}`);
    if (arrays.length) parts.push(`accesses ${arrays.join(", ")}`);
    const cost = lines.length === 1 && fresh("run")?.counters?.lines.find(([line]) => line === lines[0]);
    if (cost && cost[4] > cost[5]) parts.push(`bank conflicts: ${count(cost[4])} turns of shared memory where ${count(cost[5])} would do (×${short(cost[4] / Math.max(1, cost[5]))}), because lanes want different words of one bank; Debug here shows which`);
    if (cost && cost[2] > cost[3]) parts.push(`${count(cost[2])} sectors of global memory where ${count(cost[3])} would hold the bytes`);
    const times = lines.reduce((n, l) => n + (run.get(l) || 0), 0);
    if (times) parts.push(`executed ${count(times)} times`);
    if (fresh("sass")?.state === "ok") parts.push(`${codes.length} machine instruction${codes.length === 1 ? "" : "s"}`);
    picked.textContent = parts.join(" · ");
  }

  function showView() {
    const wide = view === "code", source = !!code()?.python && showPython.getAttribute("aria-pressed") === "true", machine = showSass.getAttribute("aria-pressed") === "true";
    panes.hidden = pair.hidden = heat.hidden = !wide;
    diffPane.el.hidden = languages.hidden = wide;
    diffPane.tools.hidden = true;
    python.el.hidden = !source;
    showPython.hidden = !code()?.python;
    sass.el.hidden = !machine;
    panes.dataset.count = 1 + source + machine;
    if (!wide) showDiff(view === "split" ? 2 : 1);
  }

  /** The comparison with the pinned version in the language that is chosen. */
  function showDiff(sides) {
    const d = data("diff"), pinned = data("pinned"), c = code();
    if (!d || !pinned || !c) return;
    const same = d.title ? ` Only the parameters differ: ${d.title}.` : " Change a parameter, or pin another version.";
    if (compared === "ptx") diffPane.show(d.rows, pinned.ptx, c.ptx, sides, `The pinned version and this one are the same, instruction by instruction.${same}`);
    else if (compared === "python") diffPane.show(d.python?.rows, pinned.python, c.python?.lines, sides, d.python ? `The same Python wrote both.${same}` : "There is no Python to compare.");
    else {
      const value = fresh("sass_diff"), now = fresh("sass");
      const why = now && now.state !== "ok" ? now.note : fresh("sass_diff") === null && now ? "There is no machine code to compare." : "Being disassembled …";
      diffPane.show(value?.rows, value?.old, now?.lines, sides, value ? `The assembler made the same machine code of both.${same}` : why);
    }
    paintDiffNote();
  }

  function paintCode() {
    const c = code();
    if (!c) return;
    const before = painted?.seq === c.seq ? null : painted, kept = before && kernel === c.title && ptx.place((line) => carried(before, c, line) !== null);
    painted = c;
    title.textContent = c.title;
    entry.textContent = c.name;
    ptx.name.textContent = c.arch;
    ptx.note.textContent = `${c.ptx.length} lines`;
    ptx.fill(c.ptx);
    if (c.python) {
      python.rename(c.python.language);
      showPython.textContent = c.python.language;
      python.name.textContent = c.python.file;
      python.fill(c.python.lines, c.python.numbers);
    }
    if (kernel !== c.title) {
      kernel = c.title;
      paintLesson();
    } else if (kept) ptx.put(carried(before, c, kept[0]), kept[1]);
    if (before && before.title === c.title) carrySelection(before, c);
    else if (before) link("ptx", null); // another kernel opens at what it is about
    tip.hide();
    showView();
  }

  /** What to look at; both panes open there, and the results that the lesson is about come first. */
  function paintLesson() {
    const c = code(), told = c.lesson;
    lesson.hidden = !told;
    if (told) {
      const here = h("button.pl-quiet", { type: "button", title: `select PTX line ${told.line}`, onclick: () => show([told.line], "plot") }, `line ${told.line}`);
      lesson.replaceChildren(h("b", null, told.question), " Look at: ", ...prose(told.look), told.line ? "; it begins at " : "", ...(told.line ? [here] : []), ". ",
        told.next ? h("button.pl-button.pl-asks.pl-next", { type: "button", title: "pins this kernel, so that the next one is shown beside it", onclick: () => model.send({ do: "next", kernel: told.next.name }) }, `Next: ${told.next.title} →`) : "");
      tabs.pick(told.shows === "counters" ? "counters" : "error");
      if (told.row) python.start(told.row);
    }
    ptx.start(told?.line || c.links[0]?.[0] || 1);
    if (data("run")) showKind();
  }

  /** What was selected is what it has become: the instruction, the source line, the maker of a curve; or nothing. */
  function carrySelection(before, now) {
    if (before.ptx.length === now.ptx.length && before.ptx.every((line, k) => line === now.ptx[k])) return;
    if (!selected) return link("ptx", null);
    const [from, line] = selected, to = from === "ptx" ? carried(before, now, line) : from === "py" && before.title === now.title ? line : null;
    if (to && from === "ptx") ptx.markCurrent(to);
    if (to) link(from, to);
    else if (!(from in (data("state")?.makers || {})) || before.title !== now.title) link("ptx", null);
  }

  function paintDiff() {
    paintDiffNote();
    showView();
  }

  /** What became of the pinned version, in figures. */
  function paintDiffNote() {
    const d = data("diff");
    if (!d) return diffNote.replaceChildren();
    const machine = fresh("sass_diff"), part = view === "code" || compared === "ptx" ? d : compared === "python" ? d.python : machine;
    const says = [part?.renamed ? `${part.renamed} only renumbered` : "", part === d && d.declarations ? `${d.declarations} declaration${d.declarations > 1 ? "s" : ""}` : ""];
    diffNote.replaceChildren(...[d.title ? h("b", null, d.title) : "", d.title && part ? " · " : "", part ? part.summary : "", ...says.filter(Boolean).map((t) => `, ${t}`), ` · against ${d.against}`].filter(Boolean));
  }

  function paintSass() {
    const value = data("sass");
    markStale();
    sass.note.textContent = value?.state === "ok" ? `${value.instructions} instructions` : "";
    sass.name.textContent = value?.arch || "";
    if (!value) sass.say("Being assembled …");
    else if (value.state === "missing") sass.say(value.note);
    else sass.fill(value.lines, value.lines.map(() => 0));
  }

  /** What answers an older request stands there dimmed until its successor comes. */
  function markStale() {
    const old = (part) => !!data(part) && data(part).seq !== model.get("status").seq;
    for (const pane of [ptx.el, python.el, diffPane.el]) pane.classList.toggle("pl-stale", old("code"));
    for (const page of Object.values(pages).flat()) page.classList.toggle("pl-stale", old("run"));
    strip.classList.toggle("pl-stale", old("run") || old("code"));
    state.el.classList.toggle("pl-stale", old("state"));
    sass.el.classList.toggle("pl-stale", old("sass"));
  }

  function fresh(part) {
    const value = data(part);
    return value && value.seq === code()?.seq ? value : null;
  }

  function paintStrip() {
    const both = fresh("deltas"), before = was();
    against.hidden = baselines.hidden = !both?.pinned && !both?.previous;
    changed.textContent = changed.title = before?.title || `as the ${baseline} setting`;
    sample.hidden = !data("run")?.sample;
    sample.textContent = `≈ ${data("run")?.sample}`;
    strip.replaceChildren(...stripFigures(code(), data("assembly"), data("run"), before, explain));
  }

  /** Opens what there is about a figure; of bank conflicts the line that has most of them, with the reason. */
  function explain(page, key) {
    tabs.pick(page);
    const lines = key === "conflicts" ? fresh("run")?.counters?.lines || [] : [];
    const worst = lines.reduce((most, line) => (line[4] - line[5] > (most ? most[4] - most[5] : 0) ? line : most), null);
    if (worst) link("ptx", worst[0], true);
  }

  function paintHeat() {
    const run = fresh("run"), counts = new Map(), lines = new Map();
    if (run && heat.querySelector("input").checked) {
      for (const [line, n] of run.heat) counts.set(line, n);
      for (const [p, y] of code().links) if (counts.has(p)) lines.set(y, (lines.get(y) || 0) + counts.get(p));
    }
    const room = heat.querySelector("input").checked && !data("run")?.note;
    ptx.heat(counts, room);
    python.heat(lines, room);
  }

  /** Opens the page of results that a kernel of this kind has something on. */
  function showKind() {
    const run = data("run");
    if (run && !run.map && results === "error" && run.counters) tabs.pick("counters");
  }

  /** What is on the page of results that is open; the others are painted when they are opened. */
  function paintResults() {
    const run = data("run");
    if (results === "counters") counters.show(run?.counters, run && (run.note || "A GPU counts nothing here: choose the device cpu."), was());
    if (results === "roofline") {
      roofline.show(run?.roofline);
      occupancy.show(data("assembly"));
    }
  }

  function paintRun() {
    const run = data("run");
    paintHeat();
    markStale();
    ways.show(run);
    paintResults();
    tiles.show(run?.tiles);
    errors.el.hidden = !run?.map;
    if (run) showKind();
    if (!run || !run.map) return errors.show(null);
    errors.show({ ...run.map, values: floats(run.map.values), absolute: floats(run.map.absolute) });
    tiles.mark(rowNumber(run.map.row), null);
  }

  function paintState() {
    state.show(data("state"));
    markStale();
    if (!selected || !(selected[0] in (fresh("state")?.makers || {}))) return;
    const tile = state.tile(); // the one that has the keys which were chosen; its lines are others now
    if (tile === null) return link("ptx", null);
    link(selected[0], tile);
    tiles.mark(data("state").row, data("run")?.tiles?.tile_kv > 1 || !data("state").parts ? tile : null);
  }

  function paintProblem() {
    const p = model.get("problem");
    ptx.clearComplaint();
    python.clearComplaint();
    problem.hidden = !p;
    if (!p) return;
    problem.replaceChildren(h("b", null, p.title), h("pre", null, p.message), p.block ? debugFault : "");
    if (p.line && view !== "code") views.pick("code"); // where the line is marked
    if (p.line) ptx.complain(p.line, p.message);
    if (p.python_line) python.complain(p.python_line, p.message);
  }

  /** Dims all that does not say what the controls say. */
  function paintStatus(state, now) {
    const busy = state === "changed" || state === "building" || state === "running";
    root.classList.toggle("pl-busy", busy);
    root.classList.toggle("pl-behind", state === "gone" || state === "changed");
    root.dataset.state = state;
    root.dataset.seq = now.seq;
    root.dataset.busy = busy || frame ? "1" : ""; // parts that have come and are not painted yet count as work
    markStale();
  }

  model.on("msg:custom", received);

  hoverDocs(ptx, tip, code);
  hoverSass(sass, tip, () => data("sass")?.docs || {});

  const followers = [["code", () => { paintCode(); paintHeat(); markStale(); }], ["diff", paintDiff], ["pinned", paintDiff], ["assembly", paintResults],
    ["run", paintRun], ["deltas", paintResults], ["state", paintState], ["sass", paintSass], ["sass_diff", paintDiff], ["problem", paintProblem]];
  // Parts of an answer that arrive together are painted together, once a frame.
  const due = new Map();
  function paintSoon() {
    frame ||= requestAnimationFrame(paintDue);
    root.dataset.busy = "1"; // of one message, "status" may be heard of before the parts
  }
  function paintDue() {
    frame = 0;
    const now = [...due];
    due.clear();
    if (now.some(([name]) => ["code", "assembly", "run", "deltas"].includes(name))) paintStrip();
    for (const [, paint] of now) paint();
    drawNow();
    status.update();
    for (const [name] of now) {
      root.dispatchEvent(new CustomEvent("ptxlab:painted", { detail: { part: name, seq: model.get(name)?.seq ?? 0 } })); // for whoever measures
    }
  }
  for (const follower of followers) {
    const [name, paint] = follower;
    follower[1] = () => {
      due.set(name, paint);
      paintSoon();
    };
    model.on(`change:${name}`, follower[1]);
    paint();
  }
  paintStrip();
  paintSoon(); // the pictures
  const themes = new MutationObserver(() => requestAnimationFrame(() => { paintRun(); paintState(); }));
  themes.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "data-jp-theme-name"] });
  return () => {
    themes.disconnect();
    status.stop();
    model.off("msg:custom", received);
    for (const stop of helpers) stop();
    cancelAnimationFrame(frame);
    for (const [name, paint] of followers) model.off(`change:${name}`, paint);
  };
}

export default { render };
