// @ts-check
// The debugger: walks a trace that Python has sent once. Nothing in this file talks to Python after that.

import "./keys.js";
import { button, card, choice, drawNow, h, makeTooltip, markLive, onKeys, s, select, tableOf } from "./dom.js";
import { fileOf, makePane } from "./pane.js";
import { addFinder } from "./find.js";
import { descriptorsOf } from "./descriptors.js";
import { hoverDocs } from "./code_hover.js";
import { laneNumber, openTrace, readWarp } from "./trace.js";
import { lanesOf, makeAccessCard } from "./access.js";
import { makeArraysCard } from "./arrays.js";
import { makeExchangeCard } from "./lane_exchange.js";
import { makeRegisterTable } from "./registers.js";
import { makeTimeline } from "./timeline.js";
import { makeSharedCards } from "./shared_memory.js";
import { ACCESS, makeFindings, signsOf } from "./findings.js";

const BARRIERS = ["BARRIER", "WARP_BARRIER", "CLUSTER_BARRIER"]; // actions that the button stops at
const KINDS = [
  ["source", "source line"],
  ["breakpoint", "breakpoint"],
  ["barrier", "barrier"],
  ["write", "register write"],
  ["nan", "first NaN"],
  ["finding", "finding"],
  ["divergence", "divergence"],
  ["maximum", "new maximum"],
];
/** A condition of breakpoints in its parts: the lane, where one is named, the register, and what is to hold of it. */
const CONDITION = /^(?:lane (\d+): *)?(%[\w$.]+) *(is nan|[=!]=|[<>]=?) *(\S*)$/i;
const EVENTS = ["barrier", "divergence", "maximum", "write"].map((key) => KINDS.find(([kind]) => kind === key));

/** The scrubber: a slider over all steps, a row of ticks for each kind of event, and the same as a table. `events` are those
 * of `EVENTS` that are to be seen in any warp. */
function makeScrubber(onseek, events) {
  const range = { type: "range", min: 0, max: 0, value: 0, "aria-label": "step" },
    slider = h("input.pl-slider", { ...range, oninput: () => onseek(Number(slider.value)) }),
    ticks = h("div.pl-ticks"),
    { el, read, table } = card("Steps and events", h("div.pl-picture.pl-scrub", null, ticks, slider));
  const row = (css, name, what) => h(`div.pl-tickrow${css}`, null, h("span.pl-tick-name", null, name), what);
  read.remove();
  return {
    el,
    at(step, text) {
      slider.value = step;
      slider.setAttribute("aria-valuetext", text);
    },
    /** `marks` is {kind: [steps]}; `what` says which register the writes are of; `begin` is how many steps came before;
     * `signs` are [step, sign, title, what a click does] of a finding's accesses. */
    show(marks, count, what, begin, signs) {
      const last = Math.max(1, count - 1),
        wide = { viewBox: "0 0 1000 10", preserveAspectRatio: "none", "aria-hidden": "true" };
      slider.max = count - 1;
      const dots = signs.map(([step, sign, title, onclick]) => {
        const dot = button(sign, title, onclick, "pl-quiet", title);
        dot.style.left = `${(100 * step) / last}%`;
        return dot;
      });
      const rows = events.map(([kind, title]) => {
        const steps = marks[kind] || [],
          places = new Set(steps.map((step) => Math.round((step / last) * 1000))),
          d = [...places].map((x) => `M${x} 0V10`).join(""),
          name = kind === "write" && what ? `writes ${what}` : title;
        const drawn = s("svg", wide, s("path", { d, "vector-effect": "non-scaling-stroke" }));
        return row(`.pl-${kind}`, `${name} ${steps.length}`, drawn);
      });
      ticks.replaceChildren(row("", "findings", h("span.pl-tick-signs", null, dots)), ...rows);
      const all = events
        .flatMap(([kind, title]) =>
          (marks[kind] || []).map((step) => [step, kind === "write" ? `${what} is written` : title]),
        )
        .sort((a, b) => a[0] - b[0]);
      const cells = ([step, says]) => [button(String(begin + step + 1), null, () => onseek(step), "pl-quiet"), says];
      const cut = all.length > 500 ? `, the first 500 of ${all.length}` : "";
      table.replaceChildren(tableOf(["step", `event${cut}`], all.slice(0, 500).map(cells)));
    },
  };
}

/** @param {{ model: Model, el: HTMLElement }} view */
function render({ model, el }) {
  const info = model.get("info"),
    data = model.get("trace");
  const bytes = data instanceof Uint8Array ? data : new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  const trace = openTrace(bytes, info.actions),
    registers = trace.head.registers;
  const several = new Map();
  for (const [name] of registers) several.set(name, (several.get(name) || 0) + 1);
  const names = registers.map(([name, , , owner]) =>
    several.get(name) === 1 || owner === trace.head.kernel ? name : `${owner}.${name}`,
  );
  const plain = trace.head.text.split("\n");
  let warp = null,
    at = 0,
    picked = names.findIndex((name) => name.includes("row_max")),
    aim = null, // the access of a finding to open at
    loading = 0;
  const breakpoints = new Set();

  const region = { role: "region", "aria-label": "ptxlab debugger", tabIndex: -1 },
    root = h("div.ptxlab-explorer.ptxlab-debugger", region);
  const status = h("span.pl-status", { role: "status", "aria-live": "polite" });
  const acts = (text, title, onclick) => button(text, title, onclick, "pl-button", title);
  const choose = select("register", [[-1, "register…"], ...names.entries()], () => pick(Number(choose.value)));
  const places = trace.keys.map((key) => key.split(":").map(Number));
  const [gx, gy, gz] = trace.head.grid;
  const blockName = (b) =>
    `block ${b}` + (gy * gz > 1 ? ` (${b % gx}, ${Math.floor(b / gx) % gy}, ${Math.floor(b / gx / gy)})` : "");
  const recorded = [...new Set(places.map(([b]) => b))].map((b) => [b, blockName(b)]),
    blocks = select("block", recorded, () => listWarps());
  const warps = select("warp", [], () => load(`${blocks.value}:${warps.value}`));
  const seen = (key) => ["barrier", "write"].includes(key) || Object.values(info.events).some((of) => of[key].length);
  const known = EVENTS.filter(([key]) => seen(key)),
    scrubber = makeScrubber((step) => seek(step), known);
  const ptx = makePane("PTX", () => {});
  // not in a notebook's copy, which is kept small
  if (typeof addFinder === "function") addFinder(ptx.el.querySelector("header"), ptx.el, () => ptx);
  const table = makeRegisterTable(registers, names, (r) => pick(r));
  const access = makeAccessCard(info.windows);
  const timeline = info.timeline ? makeTimeline(info.timeline, (block, warp, step) => goTo(block, warp, step)) : null;
  const exchange = makeExchangeCard(info.exchange, registers, names);
  const arrays = typeof makeArraysCard === "function" ? makeArraysCard(info.windows, plain, names) : null;
  const lineText = (line) => plain[line - 1],
    shared = makeSharedCards(info.windows, trace.head, trace.turns, lineText, (...place) => goTo(...place));
  const written = new Map(info.links || []); // PTX line -> row of the source
  const sourceLine = h("p.pl-source-line", { hidden: !written.size });
  const sourceOf = (line) => (info.source && written.has(line) ? info.source.lines[written.get(line) - 1].trim() : "");
  const opened = () => {
    ptx.sign(signsOf(findings.now()));
    if (warp) pick(picked);
  };
  const findings = makeFindings(show, opened, sourceOf);
  const kinds = KINDS.filter(([key]) => key !== "source" || written.size),
    kind = select("what to go to", kinds, null);
  kind.value = info.findings.length ? "finding" : "breakpoint";
  const title =
    "breakpoints hold where this does; without one, each step that makes it true. Of any lane, or of the one named";
  const when = h("input.pl-when", {
    "aria-label": "condition of breakpoints",
    title,
    placeholder: "lane 3: %f5 is nan",
    spellcheck: false,
    onchange: () => ((kind.value = "breakpoint"), go(1)),
  });
  const step = h("div.pl-side.pl-step-cards", null, access.el, exchange.el),
    state = h("div.pl-side.pl-state-cards", null, shared.els, arrays?.el, timeline?.el),
    main = h("div.pl-panes", null, ptx.el, table.el, step, state);
  ptx.body.before(sourceLine);
  const tabs = Object.entries({ registers: "Registers", step: "This step", state: "Shared" }),
    cards = choice("cards", tabs, "step", (key) => (main.dataset.card = key));
  main.dataset.card = "step";
  const stopped = !!info.note && !info.findings.length, // with nothing that is known of it
    why = h("b", null, "The kernel was stopped; this is what it did before"),
    problem = h("div.pl-problem", { role: "alert", hidden: !stopped }, why, h("pre", null, info.note));
  const { arch, grid, block: size } = trace.head,
    cut = !info.copy && info.capped ? " · the trace was cut at its limit" : "",
    entry = h("code.pl-entry", null, `${arch} · grid ${grid.join("×")} · block ${size.join("×")}${cut}`);
  const tools = [
    [blocks, warps],
    acts("|◀", "first step (Home)", () => seek(0)),
    acts("◀ Back", "one step back (←)", () => seek(at - 1)),
    acts("Step ▶", "one step forward (→)", () => seek(at + 1)),
    acts("▶|", "last step (End)", () => seek(Infinity)),
    h("span.pl-note", null, "to the next"),
    acts("◀◀", "back to the one before (Shift+←)", () => go(-1)),
    acts("▶▶", "on to the next (Shift+→)", () => go(1)),
    [kind, choose, when, h("span.pl-spring"), cards],
  ];
  root.append(
    h("header.pl-head", { role: "group" }, h("h3", null, info.kernel), entry, h("span.pl-spring"), status),
    h("p.pl-kept", { hidden: !info.copy }, info.copy || ""),
    stopped ? problem : findings.el,
    h("div.pl-tools.pl-run", null, tools),
    scrubber.el,
    main,
  );
  el.append(root);
  markLive(el);
  const tip = makeTooltip(root);
  const explained = {
    ...info,
    value: (name) => {
      const bits = wide(name, true);
      return bits === null ? null : { bits, when: `after step ${kept()[0] + at + 1}` };
    },
  };
  if (Object.keys({ ...info.docs, ...info.roles }).length) hoverDocs(ptx, tip, () => explained);
  ptx.fill(info.lines);
  new ResizeObserver(() => warp && ptx.select([warp.steps[at].line], true)).observe(ptx.body); // it stays in sight
  ptx.note.textContent = "click a line to set a breakpoint";

  /** The lanes of a step whose guard holds. */
  function executing(step, at) {
    const guard = info.exchange.guards[`${step.line}:${step.opcode}`];
    if (!guard) return step.mask;
    const [register, inverted, rewritten] = guard,
      holds = warp.value(register, rewritten ? at - 1 : at);
    return lanesOf(step.mask).reduce((mask, lane) => (!holds[lane] === inverted ? mask | (1 << lane) : mask), 0) >>> 0;
  }

  /** The bits of a 64-bit register of the kernel in the first lane that executes the step, null for any other and,
   * where it must be `known`, for one that was not written yet. */
  function wide(name, known = false) {
    const register = names.indexOf(name);
    if (!warp || register < 0 || registers[register][2] !== "i64" || (known && !warp.isWritten(register, at)))
      return null;
    return BigInt.asUintN(64, BigInt(warp.value(register, at)[lanesOf(warp.steps[at].mask)[0] ?? 0]));
  }

  /** Of a saved copy: how many steps came before those that it keeps, and how many the warp made in all. */
  const kept = () => info.kept?.[warp.key] || [0, warp.steps.length];

  function seek(step, says = "") {
    if (!warp) return;
    at = Math.max(0, Math.min(warp.steps.length - 1, step));
    const now = warp.steps[at],
      text = plain[now.line - 1] || "";
    const [begin, total] = kept(),
      last = warp.steps.length - 1;
    let edge = at === 0 && begin ? "the first that is kept: " : "";
    if (at === last && begin + last + 1 < total) edge = "the last that is kept: ";
    const place = `step ${begin + at + 1} of ${total}, line ${now.line}`;
    scrubber.at(at, `${place}, ${now.opcode}`);
    timeline?.at(warp.key, begin + at);
    const active = executing(now, at);
    const accused = accesses().filter(([party]) => keyOf(party) === warp.key && party.step === begin + at);
    table.show(warp, at, text, active, new Map(accused.map(([party, sign]) => [party.lane, sign])));
    const multiplies = now.action === "WARPGROUP_PRODUCT";
    access.show(now, multiplies ? descriptorsOf(text, wide) : timeline?.started(warp.key, begin + at) || []);
    const conflict = access.degree() > 1 ? ` · ⚠ ${access.degree()}-way bank conflict, explained below` : "";
    status.textContent = `${says || edge}${place}: ${now.opcode}${conflict}`;
    exchange.show(warp, at, active);
    shared.show(warp, at);
    arrays?.show(at);
    showSource(now.line);
    // What the step is about comes first: a bank conflict, what passes between lanes, its access to memory.
    exchange.el.style.order = access.degree() > 1 ? 0 : exchange.el.dataset.kind ? -1 : 2;
    access.el.style.order = Number(access.el.dataset.accesses) ? 0 : 1;
    ptx.select([now.line], true); // last: it measures the page
    root.dataset.step = at;
  }

  /** The line of source that wrote a PTX line. */
  function showSource(line) {
    const row = written.get(line);
    if (!row) return sourceLine.replaceChildren();
    const code = h("code", { innerHTML: sourceOf(line) }), // highlighted, and escaped, by Python
      where = `${info.source.language} · ${fileOf(info.source.files, row)}:${info.source.numbers[row - 1]}`;
    sourceLine.replaceChildren(h("span.pl-note", null, where), code);
  }

  /** The steps, by number, of which something holds. */
  const stepsWhere = (holds) => warp.steps.flatMap((_, k) => (holds(k) ? [k] : []));
  const rowOf = (k) => written.get(warp.steps[k]?.line); // of the source
  const numberAt = (k, r, lane) => laneNumber(warp.value(r, k), lane, registers[r][1], registers[r][2]);
  const makesNaN = (k) =>
    warp.written(k).some((r) => lanesOf(warp.steps[k].mask).some((lane) => Number.isNaN(numberAt(k, r, lane))));

  /** Whether the condition of breakpoints can be read, and what it says of a step: null where there is none. */
  function condition() {
    const [, lane, name, says, to] = CONDITION.exec(when.value.trim()) || [],
      r = names.indexOf(name),
      nan = says?.toLowerCase() === "is nan";
    const known = r >= 0 && (nan ? !to : to && !Number.isNaN(Number(to)));
    if (!known) return { known: !when.value.trim(), holds: null };
    const compared = (x) =>
      says === "!=" ? x !== +to : says.includes(x < +to ? "<" : x > +to ? ">" : x === +to ? "=" : "?");
    const holds = (k) =>
      (lane ? [Number(lane)] : lanesOf(warp.steps[k].mask)).some(
        (n) => warp.isWritten(r, k) && (nan ? Number.isNaN : compared)(numberAt(k, r, n)),
      );
    return { known, holds };
  }

  /** Whether a step is at a breakpoint, whose condition holds; or has made it hold, where there is no breakpoint. */
  function broken() {
    const { holds } = condition();
    if (holds && !breakpoints.size) return (k) => holds(k) && !(k && holds(k - 1));
    return (k) => breakpoints.has(warp.steps[k].line) && (!holds || holds(k));
  }

  /** Goes on (or back) to the first step of the kind that is chosen. Without a breakpoint ahead the end (or the start) is one;
   * else it says why it stays. */
  function go(direction) {
    if (!warp) return;
    const wanted = kind.value,
      of = picked < 0 ? "a register" : names[picked];
    if (wanted === "write" && picked < 0) return seek(at, "choose a register first: ");
    if (wanted === "breakpoint" && !condition().known)
      return seek(at, "a condition is written like lane 3: %f5 is nan, or %r1 >= 64: ");
    const accused = accesses().filter(([party]) => keyOf(party) === warp.key && party.step !== null);
    const steps =
      {
        breakpoint: () => stepsWhere(broken()),
        source: () => stepsWhere((k) => rowOf(k) && rowOf(k) !== rowOf(k - 1)),
        nan: () => stepsWhere(makesNaN).slice(0, 1),
        barrier: () => stepsWhere((k) => BARRIERS.includes(warp.steps[k].action)),
        write: () => warp.writesOf(picked),
        finding: () => accused.map(([party]) => party.step - kept()[0]),
      }[wanted] || (() => info.events[warp.key]?.[wanted] || []);
    const there = steps().filter((k) => (direction > 0 ? k > at : k < at)),
      next = direction > 0 ? Math.min(...there) : Math.max(...there);
    if (there.length) seek(next);
    else if (wanted === "breakpoint") seek(direction * Infinity);
    else
      seek(
        at,
        `no ${{ write: `write of ${of}`, nan: "NaN" }[wanted] || wanted} ${direction > 0 ? "follows" : "before"}: `,
      );
  }

  function pick(register) {
    picked = register;
    choose.value = register;
    table.pick(register);
    if (!warp) return;
    marks();
    seek(at);
  }

  function marks() {
    const steps = { ...info.events[warp.key], write: picked < 0 ? [] : warp.writesOf(picked) },
      [begin] = kept(),
      count = warp.steps.length;
    const signs = accesses()
      .filter(([{ step }]) => step !== null && step >= begin)
      .map(([party, sign]) => {
        const title = `${sign} block ${party.block}, warp ${party.warp}, step ${party.step + 1}`;
        return [Math.min(party.step - begin, count - 1), sign, title, () => show(party)];
      });
    scrubber.show(steps, count, names[picked], begin, signs);
  }

  const keyOf = (party) => `${party.block}:${party.warp}`;

  /** The threads that the open finding is about, each with its sign. */
  const accesses = () => (findings.now()?.parties || []).map((party, n) => [party, ACCESS[n]]);

  /** Goes to the access of a finding, or says why there is none. An instruction that faulted did nothing, and is no step. */
  function show(party) {
    if (party.step !== null) return goTo(party.block, party.warp, party.step, stopsAt(party));
    const says = trace.pages.has(keyOf(party))
      ? "has no such step"
      : `holds no steps of block ${party.block}; record them with blocks=${party.block}`;
    seek(at, `this trace ${says}: `);
  }

  const stopsAt = (party) =>
    info.note && info.findings[0].parties.includes(party) ? "before the instruction that faulted: " : "";

  function toggle(line) {
    const row = ptx.row(line);
    if (!row) return;
    const on = !breakpoints.delete(line);
    if (on) breakpoints.add(line);
    row.classList.toggle("pl-break", on);
    row.children[0].textContent = `${on ? "●" : ""}${line}`;
    row.title = on ? "breakpoint" : "";
  }

  /** The warps of the chosen block; the same one as before where that was recorded. */
  function listWarps(before = Number(warps.value)) {
    const of = places.filter(([b]) => b === Number(blocks.value)).map(([, w]) => w);
    warps.replaceChildren(...of.map((w) => h("option", { value: w }, `warp ${w}`)));
    warps.value = of.includes(before) ? before : of[0];
    return load(`${blocks.value}:${warps.value}`);
  }

  /** Goes to a step of any warp, counted among all that it made. */
  async function goTo(block, of, step, says = "") {
    const key = `${block}:${of}`,
      [begin] = info.kept?.[key] || [0];
    if (!trace.pages.has(key)) return seek(at, `this copy keeps nothing of block ${block}, warp ${of}: `);
    if (warp?.key !== key) {
      blocks.value = block;
      await listWarps(of);
    }
    const there = step >= begin && step - begin < warp.steps.length;
    seek(step - begin, there ? says : `this copy does not keep step ${step + 1} of warp ${of}: `);
  }

  async function load(key) {
    const mine = ++loading;
    root.dataset.ready = "";
    status.textContent = "reading the trace";
    const read = await readWarp(trace, key);
    if (mine !== loading) return; // another warp was chosen meanwhile
    warp = read;
    arrays?.open(warp);
    const opened = shared.open(trace, key);
    const counts = new Map();
    for (const step of warp.steps) counts.set(step.line, (counts.get(step.line) || 0) + lanesOf(step.mask).length);
    ptx.heat(counts);
    marks();
    const there = info.at ? warp.steps.flatMap((step, k) => (info.at.includes(step.line) ? [k] : [])) : [];
    const wanted = info.of ? Math.floor((info.nth * there.length) / info.of) : info.nth || 0; // of: as far along as nth of so many
    const opens = there.at(Math.max(-1, Math.min(wanted, there.length - 1))) ?? -1;
    if (aim) seek(aim.step - kept()[0], stopsAt(aim));
    else seek(Math.max(0, opens), info.at && opens < 0 ? "this warp has no step at the line that was asked for: " : "");
    aim = null;
    await opened; // the steps of the other warps
    if (mine !== loading) return;
    drawNow();
    root.dataset.ready = key;
  }

  ptx.body.addEventListener("click", (e) => {
    const hit = e.target.closest("[data-line]");
    if (hit && !String(getSelection())) toggle(Number(hit.dataset.line));
  });
  const breakpoint = () => toggle(Number(ptx.body.querySelector(".pl-current")?.dataset.line || warp?.steps[at].line));
  onKeys(root, (e) => {
    if (e.target.matches("select, .pl-when") || e.ctrlKey || e.metaKey || e.altKey) return null;
    const by = e.shiftKey ? -1 : 1;
    return {
      ArrowRight: () => (e.shiftKey ? go(1) : seek(at + 1)),
      ArrowLeft: () => (e.shiftKey ? go(-1) : seek(at - 1)),
      F8: () => findings.step(by),
      Home: () => seek(0),
      End: () => seek(Infinity),
      c: () => go(1),
      b: breakpoint,
      F9: breakpoint,
    }[e.key];
  });

  findings.show(info.findings, info.checks, !!info.note);
  const [found, noticed] = info.opens || [0, 0];
  if (found) findings.pick(found);
  pick(picked);
  if (info.opens) aim = info.findings[found]?.parties[noticed];
  if (!aim || aim.step === null || !trace.pages.has(keyOf(aim))) aim = null;
  const [block, first] = aim ? [aim.block, aim.warp] : info.start || [];
  if (block !== undefined) blocks.value = block;
  if (trace.keys.length)
    listWarps(first).catch((error) => {
      status.textContent = `the trace cannot be read: ${error.message}`;
    });
  else status.textContent = "the trace holds no steps";
}

export default { render };
