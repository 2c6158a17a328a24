// The explorer itself: puts the panes together and follows the model. Python sends each result as one trait with the
// sequence number of the request it answers; what answers an older request than the last one shown is ignored.

/** One figure of the strip: a label, a value, a line of detail under it, and more on hover. */
function figure(label, value, detail, mood, title) {
  return h(mood ? `div.pl-figure.pl-${mood}` : "div.pl-figure", { title: title || "" },
    h("dt", null, label), h("dd", null, value, h("small", null, detail || " ")));
}

/** Always the same eight figures, so that nothing moves when results arrive; what is not known yet is a dash. */
function stripFigures(code, assembly, run) {
  const a = assembly?.state === "ok" ? assembly : null, e = run?.error, o = a?.occupancy;
  const none = assembly?.state === "missing" ? "no assembler here" : assembly?.state === "error" ? "✗ refused" : "";
  const mood = assembly?.state === "error" ? "bad" : "";
  const spills = !a ? none : a.spill_bytes ? `⚠ ${a.spill_bytes} B spilled` : "no spills";
  return [
    figure("PTX", code ? String(code.instructions) : "–", "instructions", "", code && `built in ${duration(code.seconds)}`),
    figure("registers", a ? String(a.registers) : "–", spills, a?.spill_bytes ? "warn" : mood, a ? `a thread, on ${a.arch}` : assembly?.note),
    figure("shared memory", !a ? "–" : a.shared_bytes >= 1024 ? `${short(a.shared_bytes / 1024)} KiB` : `${a.shared_bytes} B`, a ? "a block" : none, mood, assembly?.note),
    figure("occupancy", o ? `${short(o.percent)} %` : "–", o ? `by ${o.limiter}` : none, mood, o?.text || assembly?.note),
    figure("time", duration(run?.seconds), run ? run.device : "", "", run?.cached ? "this setting ran before: its result was kept" : ""),
    figure("executed", count(run?.thread_instructions), "thread-instr.", "", "thread-instructions: one instruction for one active thread"),
    figure("max error", short(e?.max), e ? `${short(e.ulp, 2)} ULP, mean ${short(e.mean, 2)}` : "", "", "against numpy float64 on the same inputs"),
    figure("tolerance", short(e?.tolerance), e ? (e.ok ? "✓ pass" : "✗ FAIL") : "", e ? (e.ok ? "good" : "bad") : "", e && `log-sum-exp off by ${short(e.lse)}`),
  ];
}

function render({ model, el }) {
  const root = h("div.ptxlab-explorer", { role: "region", "aria-label": "ptxlab explorer", "data-lm-suppress-shortcuts": "true" });
  const title = h("h3"), entry = h("code.pl-entry");
  const status = h("span.pl-status", { role: "status", "aria-live": "polite" });
  const pin = h("button.pl-button", { type: "button", title: "compare later versions with this one", onclick: () => model.send({ do: "pin" }) }, "Pin");
  const problem = h("div.pl-problem", { role: "alert", hidden: true });
  const strip = h("dl.pl-strip", { "aria-label": "assembler, run and error" });
  const diffNote = h("span.pl-note.pl-diff-note", { "aria-live": "polite" });
  const diffPane = h("div.pl-lines.pl-diff-holder", { hidden: true, tabIndex: 0, role: "region", "aria-label": "difference from the pinned version" });

  const python = makePane("Python", (line) => link("py", line));
  const ptx = makePane("PTX", (line) => link("ptx", line));
  const tip = makeTooltip(root);
  const errors = makeErrorMap((row) => { model.set("row", row); model.save_changes(); });
  const state = makeStatePlot();
  let view = "code", words = new Map(), kernel = "";

  const views = choice("view", [["code", "Code"], ["split", "Diff ⇄", "side by side with the pinned version"], ["unified", "Diff ↕", "unified with the pinned version"]],
    view, (key) => { view = key; showView(); });
  const heat = h("label.pl-check", null, h("input", { type: "checkbox", checked: true, onchange: paintHeat }), "heat");
  const panes = h("div.pl-panes", null, python.el, ptx.el);
  root.append(
    h("header.pl-head", null, title, entry, h("span.pl-spring"), status),
    problem, strip,
    h("div.pl-tools", null, views, pin, diffNote, h("span.pl-spring"), heat),
    panes, diffPane,
    h("div.pl-cards", null, errors.el, state.el));
  el.append(root);

  const code = () => model.get("code");

  function link(from, line) {
    const pairs = code()?.links || [];
    if (line === null) { ptx.select([]); python.select([]); return; }
    const other = from === "ptx" ? pairs.filter(([p]) => p === line).map(([, y]) => y) : [line];
    const mine = pairs.filter(([, y]) => other.includes(y)).map(([p]) => p);
    ptx.select(mine, from === "py");
    python.select(other, from === "ptx");
  }

  function showView() {
    panes.hidden = view !== "code";
    diffPane.hidden = view === "code";
    const diff = model.get("diff"), pinned = model.get("pinned");
    if (view !== "code" && diff && pinned && code())
      diffPane.replaceChildren(diff.rows.some((r) => "c+-".includes(r[0])) ? diffTable(diff.rows, pinned.ptx, code().ptx, view === "split" ? 2 : 1)
        : h("p.pl-blank", null, "The pinned version and this one are the same, instruction by instruction. Change a parameter, or pin another version."));
  }

  function paintCode() {
    const c = code();
    if (!c) return;
    title.textContent = c.title;
    entry.textContent = c.name;
    ptx.name.textContent = c.arch;
    ptx.note.textContent = `${c.ptx.length} lines`;
    ptx.fill(c.ptx);
    python.el.hidden = !c.python;
    panes.classList.toggle("pl-alone", !c.python);
    if (c.python) {
      python.name.textContent = c.python.file;
      python.fill(c.python.lines, c.python.numbers);
    }
    if (kernel !== c.title) {
      kernel = c.title;
      ptx.start(c.links.length ? c.links[0][0] : 1);
    }
    words = new Map();
    for (const span of ptx.body.querySelectorAll(".r"))
      words.set(span.textContent, [...(words.get(span.textContent) || []), span]);
    tip.hide();
    paintStrip();
  }

  function paintDiff() {
    const d = model.get("diff");
    diffNote.replaceChildren(...(d ? [h("b", null, d.summary), ` against ${d.against}`, d.renamed ? `, ${d.renamed} only renumbered` : ""] : []));
    showView();
  }

  function fresh(part) {
    const value = model.get(part);
    return value && value.seq === code()?.seq ? value : null;
  }

  function paintStrip() {
    const [assembly, run] = [model.get("assembly"), model.get("run")];
    strip.replaceChildren(...stripFigures(code(), assembly, run));
    strip.classList.toggle("pl-stale", !!(run && !fresh("run")));
  }

  function paintHeat() {
    const run = fresh("run"), counts = new Map(), lines = new Map();
    if (run && heat.querySelector("input").checked) {
      for (const [line, n] of run.heat) counts.set(line, n);
      for (const [p, y] of code().links) if (counts.has(p)) lines.set(y, (lines.get(y) || 0) + counts.get(p));
    }
    ptx.heat(counts);
    python.heat(lines);
  }

  function paintRun() {
    const run = model.get("run");
    paintStrip();
    paintHeat();
    errors.el.classList.toggle("pl-stale", !!run && !fresh("run"));
    if (!run || !run.map) return errors.show(null);
    const floats = (view) => new Float32Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
    errors.show({ ...run.map, values: floats(run.map.values), absolute: floats(run.map.absolute) });
  }

  function paintState() {
    state.show(model.get("state"));
    state.el.classList.toggle("pl-stale", !!model.get("state") && !fresh("state"));
  }

  function paintProblem() {
    const p = model.get("problem");
    ptx.clearComplaint();
    python.clearComplaint();
    problem.hidden = !p;
    if (!p) return;
    problem.replaceChildren(h("b", null, p.title), h("pre", null, p.message));
    if (p.line) ptx.complain(p.line, p.message);
    if (p.python_line) python.complain(p.python_line, p.message);
  }

  function paintStatus() {
    const now = model.get("status");
    status.textContent = now.text;
    root.classList.toggle("pl-busy", !!now.busy);
    root.classList.toggle("pl-behind", !!now.failed && now.seq !== code()?.seq);
    root.dataset.seq = now.seq;
    root.dataset.busy = now.busy ? "1" : "";
  }

  function hover(event) {
    const span = event.target.closest?.("code span");
    const content = span && explainWord(span, code());
    for (const old of ptx.body.querySelectorAll(".pl-twin")) old.classList.remove("pl-twin");
    if (span?.classList.contains("r")) for (const twin of words.get(span.textContent) || []) twin.classList.add("pl-twin");
    if (content) tip.show(span.closest(".o") || span, content);
    else tip.hide();
  }
  ptx.body.addEventListener("pointerover", hover);
  ptx.body.addEventListener("pointerleave", tip.hide);
  ptx.body.addEventListener("scroll", tip.hide);
  ptx.body.addEventListener("keydown", (e) => {
    if (e.key === "Escape") tip.hide();
    if (e.key !== "Enter") return;
    e.preventDefault();
    e.stopPropagation();
    const op = ptx.body.querySelector(".pl-current .o");
    const content = op && explainWord(op.firstElementChild || op, code());
    if (content) tip.show(op, content);
  });

  const followers = [["code", () => { paintCode(); paintRun(); paintState(); }], ["diff", paintDiff], ["pinned", paintDiff], ["assembly", paintStrip],
    ["run", paintRun], ["state", paintState], ["problem", paintProblem], ["status", paintStatus]];
  for (const [name, paint] of followers) {
    model.on(`change:${name}`, paint);
    paint();
  }
  const themes = new MutationObserver(() => requestAnimationFrame(() => { paintRun(); paintState(); }));
  themes.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "data-jp-theme-name"] });
  return () => {
    themes.disconnect();
    for (const [name, paint] of followers) model.off(`change:${name}`, paint);
  };
}

export default { render };
