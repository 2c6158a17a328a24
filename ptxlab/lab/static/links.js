// @ts-check
// What belongs together: a line of one pane with lines of the others, and a point of a plot with the lines that made it.

import { count, h, short } from "./dom.js";

// -- where a reader is in the code, carried to the next version of it: the instruction stays, whatever its line is now

const bareText = (line) => line.replace(/<[^>]*>/g, "");

const known = new WeakMap(); // of the lines of each version that was asked about, their landmarks

/** What is said of each line to find it again: its opcode and the source line that wrote it; null for other lines. */
function landmarks(code) {
  if (known.has(code.ptx)) return known.get(code.ptx);
  const source = new Map(code.links);
  const marks = code.ptx.map((line, k) => {
    if (!line.includes('class="o"')) return null;
    const opcode = bareText(line)
        .trim()
        .replace(/^@\S+\s+/, "")
        .split(/\s/)[0],
      written = code.python?.lines[source.get(k + 1) - 1];
    return { opcode, written: written && bareText(written).trim() };
  });
  known.set(code.ptx, marks);
  return marks;
}

/** The line of `to` that is what `line` was in `from`; null where nothing like it is left. Of an unrolled loop, which
 * has the same instruction many times, it is the one as far along. */
export function carried(from, to, line) {
  const old = landmarks(from),
    now = landmarks(to),
    mark = old[line - 1];
  if (!mark) return null;
  const alike = (marks, same) => marks.flatMap((other, k) => (other && same(other) ? [k + 1] : []));
  const tries = [
    (m) => m.opcode === mark.opcode && m.written === mark.written,
    mark.written && ((m) => m.written === mark.written),
  ];
  for (const same of tries.filter(Boolean)) {
    const before = alike(old, same),
      after = alike(now, same);
    if (!after.length) continue;
    const nth = before.indexOf(line);
    return after[
      before.length === after.length || nth < 1
        ? Math.min(nth, after.length - 1)
        : Math.round((nth / (before.length - 1)) * (after.length - 1))
    ];
  }
  return null;
}

// -- lines

/** What is linked with these, and what these are linked with, in pairs of lines. */
const onward = (pairs, lines) => [...new Set(pairs.filter(([p]) => lines.includes(p)).map(([, other]) => other))];
const backward = (pairs, lines) => [...new Set(pairs.filter(([, other]) => lines.includes(other)).map(([p]) => p))];

/** `panes` are {ptx, python, sass}; `plots()` gives {state, tiles}, the plots that follow; `asks` makes a button that
 * sends a message.
 * @param {Answers} answers */
export function makeLinks({ data, code, fresh }, { ptx, python, sass }, plots, asks, views) {
  let selected = null; // [where from, line or point], of what a reader has chosen
  let here = null; // where "Debug here" opens the debugger
  const picked = h("p.pl-picked-line", { "aria-live": "polite" });
  const steps = "step through the kernel from here: registers, memory, 32 lanes",
    debug = asks("Debug here", steps, () => ({ kind: "debug", ...here }));
  debug.hidden = true;
  const written = () => code()?.links || [],
    machine = () => fresh("sass")?.links || [],
    makers = () => fresh("state")?.makers || {};

  function clear() {
    for (const pane of [ptx, python, sass, views.diff]) pane.select([]);
    plots().state.mark(null);
    picked.textContent = "";
    debug.hidden = true;
  }

  /** Selects, in all panes, what belongs to a line of one of them, or to a point of the softmax plot. */
  function link(from, line, scroll) {
    selected = line === null ? null : [from, line];
    if (line === null) return clear();
    if (from in makers()) return linkPoint(from, line);
    if (from === "py") return show(backward(written(), [line]), "py", "", line);
    if (from === "sass") return show(backward(machine(), [line]), "sass", "", line);
    show([line], scroll ? "plot" : "ptx");
  }

  function linkPoint(curve, tile) {
    const lines = makers()[curve],
      state = data("state");
    show(lines, "plot", `makes ${curve}`);
    if (lines.length)
      here = { line: lines.at(-1), nth: state?.parts ? 0 : tile, of: state?.parts ? 0 : state?.tiles || 0 };
  }

  /** The PTX lines that stored an element of the output: by its offset where one thread has a whole row, else all. */
  function linkStores(row, column) {
    const stores = code()?.stores || [],
      map = data("run")?.map;
    if (!stores.length || !map) return;
    const at = column * map.size,
      covered = stores.reduce((n, [, , bytes]) => n + bytes, 0);
    const whole = covered === map.dim * map.size,
      exact = stores.filter(([, offset, bytes]) => whole && offset <= at && at < offset + bytes),
      lines = (exact.length ? exact : stores).map(([line]) => line);
    selected = null;
    show(lines, "plot", `stores ${exact.length ? `column ${column}` : "the output"}`);
    plots().tiles.mark(row, null);
  }

  /** Selects PTX lines and what belongs to them. `from`: the pane that was pressed, which stays where it is, and its
   * `own` line; `says`: what the lines do. */
  function show(lines, from, says = "", own = 0) {
    const rows = from === "py" ? [own] : onward(written(), lines),
      kin = from === "ptx" ? [...new Set([...lines, ...backward(written(), rows)])] : lines,
      codes = from === "sass" ? [own] : onward(machine(), lines);
    ptx.select(kin, from !== "ptx");
    python.select(rows, from !== "py");
    sass.select(codes, from !== "sass");
    const differs = views.diff.select(kin, from !== "ptx");
    if (from === "plot" && lines.length && !differs) views.showCode();
    const key = Object.keys(makers()).find((k) => lines.some((l) => makers()[k].includes(l)));
    if (from !== "plot" || !key) plots().state.mark(key || null);
    here = { line: lines[0], nth: 0 };
    debug.hidden = !lines.length;
    picked.textContent = told(lines, says || (key && `makes ${key}`), codes).join(" · ");
  }

  /** What is said of lines: what they do, and what the run has counted of them. */
  function told(lines, says, codes) {
    const touched = new Map(code()?.touched || []),
      run = new Map(fresh("run")?.heat || []);
    const parts = [
      lines.length === 1 ? `PTX line ${lines[0]}` : lines.length ? `${lines.length} PTX lines` : "no PTX line",
    ];
    const arrays = [...new Set(lines.map((l) => touched.get(l)).filter(Boolean))];
    if (says) parts.push(says);
    if (arrays.length) parts.push(`accesses ${arrays.join(", ")}`);
    const cost = lines.length === 1 && fresh("run")?.counters?.lines.find(([line]) => line === lines[0]);
    if (cost && cost[4] > cost[5])
      parts.push(
        `bank conflicts: ${count(cost[4])} wavefronts of shared memory where ${count(cost[5])} would do (×${short(cost[4] / Math.max(1, cost[5]))}), because lanes want different words of one bank; Debug here shows which`,
      );
    if (cost && cost[2] > cost[3])
      parts.push(`${count(cost[2])} sectors of global memory where ${count(cost[3])} would hold the bytes`);
    const times = lines.reduce((n, l) => n + (run.get(l) || 0), 0);
    if (times) parts.push(`executed ${count(times)} times`);
    if (fresh("sass")?.state === "ok")
      parts.push(`${codes.length} machine instruction${codes.length === 1 ? "" : "s"}`);
    return parts;
  }

  /** Says something of the kernel as a whole, where no line is chosen. */
  function tell(...says) {
    link("ptx", null);
    picked.replaceChildren(...says.flatMap((part) => [part, " "]));
  }

  /** What was selected is what it has become: the instruction, the source line, the maker of a curve; or nothing. */
  function carry(before, now) {
    if (before.ptx.length === now.ptx.length && before.ptx.every((line, k) => line === now.ptx[k])) return;
    if (!selected) return link("ptx", null);
    const [from, line] = selected,
      to = from === "ptx" ? carried(before, now, line) : from === "py" && before.title === now.title ? line : null;
    if (to && from === "ptx") ptx.markCurrent(to);
    if (to) link(from, to);
    else if (!(from in (data("state")?.makers || {})) || before.title !== now.title) link("ptx", null);
  }

  /** The curve whose point is chosen; null where none is. */
  const curve = () => (selected && selected[0] in makers() ? selected[0] : null);

  return { picked, debug, link, linkStores, show, tell, carry, curve };
}
