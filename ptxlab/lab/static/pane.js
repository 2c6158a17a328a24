// @ts-check
// A pane of code: a scrolling list of lines. Long lines wrap under their first operand; chunks of lines out of sight are not
// laid out, so that their heights are estimates until they are.

import { count, grouped, h, onKeys } from "./dom.js";

const CHUNK = 16; // lines that are laid out together
const LINE = 18; // pixels of a row, as explorer.css says
const OPCODE = 16; // columns of an opcode, as in `laid`
const AHEAD = 90; // pixels of what leads to a line that a pane opens at

/** The file that a row of a source pane belongs to; `files` are [the row where its lines begin, file], in order. */
export const fileOf = (files, row) => files.filter(([first]) => first <= row).pop()?.[1] || "";

/** A line of code as an element: an instruction with its operands in one column, under which a long line goes on. `html` is
 * made, and escaped, by Python. */
export function laid(html) {
  const text = html.replace(/<[^>]*>/g, ""),
    aligned = html.includes('class="o"') && /^ {4}( *)((?:@\S+ +)?\S+)(?: |$)/.exec(text);
  if (!aligned) {
    const indent = /^ */.exec(text)[0].length;
    return `<code style="--hang:${indent + 4}ch">${html || " "}</code>`;
  }
  const gap = " ".repeat(Math.max(1, OPCODE - aligned[2].length));
  const tight = html.replace(/^ {4}/, "").replace(/(\S) {2,}/, `$1${gap}`);
  return `<code style="--hang:${aligned[1].length + OPCODE}ch">${tight}</code>`;
}

/** A mark of a pane's ruler, so far down in the whole text; a press on it goes there. */
export function rulerMark(top, css, onclick, text = "") {
  const mark = h(`span.${css}`, { onclick }, text);
  mark.style.top = top;
  return mark;
}

const same = (a, b) => a === b || (a.length === b.length && a.every((line, k) => line === b[k]));

/** The lines are HTML strings made (and escaped) by Python; `onselect(line)` hears of a click, and of null on Escape. */
export function makePane(title, onselect) {
  const body = h("div.pl-lines", { tabIndex: 0, role: "listbox", "aria-label": title });
  const name = h("span.pl-pane-name");
  const note = h("span.pl-note");
  const ruler = h("div.pl-ruler", { "aria-hidden": "true" });
  const head = h("header", null, h("h4", null, title), name, h("span.pl-spring"), note),
    el = h("section.pl-pane", { "aria-label": title }, head, body, ruler);
  let shown = [],
    rows = [],
    chunks = []; // lines, their elements, what these stand in
  let counts = new Map(),
    marked = new Map(); // lines -> how often they ran, the signs beside them
  let current = 0,
    goes = null; // where `settle` scrolls to: [a line, its pixels below the top]

  /** Makes the elements of a text. */
  function elements(lines, numbers) {
    const machine = lines.some((html) => html.includes('class="o"')); // of other lines none does anything but a label
    const made = lines.map((html, k) => {
      const no = numbers ? numbers[k] || "" : k + 1,
        blank = html ? "" : ' data-blank="1" aria-label="blank"',
        quiet = machine && !/class="[ol]"/.test(html) ? " data-quiet" : "";
      return (
        `<div class="pl-line" role="option" aria-selected="false" data-line="${k + 1}"${blank}${quiet}>` +
        `<span class="pl-no">${no}</span><span class="pl-heat"></span>${laid(html)}</div>`
      );
    });
    const parts = Array.from({ length: Math.ceil(made.length / CHUNK) }, (_, c) => {
      const part = made.slice(c * CHUNK, (c + 1) * CHUNK),
        high = `contain-intrinsic-height:auto ${LINE * part.length}px`;
      return `<div class="pl-chunk" role="presentation" style="${high}">${part.join("")}</div>`;
    });
    return h("div.pl-text.pl-now", { role: "presentation", innerHTML: parts.join("") });
  }

  /** Shows a text. */
  function turn(lines, numbers) {
    const kept = current && shown[current - 1] === lines[current - 1] ? current : 0,
      text = elements(lines, numbers);
    shown = lines;
    chunks = [...text.children];
    rows = chunks.flatMap((chunk) => [...chunk.children]);
    body.replaceChildren(text);
    paintHeat();
    for (const line of marked.keys()) signLine(line);
    if (kept) markCurrent(kept);
    else body.removeAttribute("aria-activedescendant"); // it was another text's line
  }

  /** Colour, bar length and number of an execution count all say the same. */
  function paintHeat() {
    const most = Math.log1p(Math.max(1, ...counts.values()));
    rows.forEach((line, k) => {
      const n = counts.get(k + 1),
        cell = line.children[1],
        size = n ? (Math.log1p(n) / most).toFixed(3) : "";
      if (cell.n === n && cell.size === size) return;
      [cell.n, cell.size] = [n, size];
      cell.style.setProperty("--heat", size || "0");
      cell.textContent = n === undefined ? "" : count(n).replace(" ", "");
      cell.title = n === undefined ? "" : `${grouped.format(n)} thread-instructions`;
    });
  }

  /** The signs of a line stand before its number. */
  function signLine(line) {
    const signs = marked.get(line);
    if (signs) row(line)?.setAttribute("data-signs", signs);
    else row(line)?.removeAttribute("data-signs");
  }

  // -- one line

  const row = (line) => rows[line - 1];
  function markCurrent(line) {
    const next = row(line);
    if (!next) return null;
    row(current)?.classList.remove("pl-current");
    current = line;
    next.classList.add("pl-current");
    next.id ||= `pl-${Math.random().toString(36).slice(2)}`;
    body.setAttribute("aria-activedescendant", next.id);
    return next;
  }
  function setCurrent(line, tell) {
    const next = markCurrent(line);
    if (!next) return;
    scrollTo(next);
    if (tell) onselect(line);
  }
  function select(lines, scroll) {
    for (const old of body.querySelectorAll('[aria-selected="true"]')) old.setAttribute("aria-selected", "false");
    lines.forEach((line) => row(line)?.setAttribute("aria-selected", "true"));
    const target = lines.length && row(lines[0]);
    if (target && scroll) whenSeen(() => target.isConnected && scrollTo(target));
  }
  const below = (target) => target.getBoundingClientRect().top - body.getBoundingClientRect().top;
  function scrollTo(target) {
    const top = below(target);
    if (top < 0 || top + target.offsetHeight > body.clientHeight) put(target, body.clientHeight / 3);
  }
  /** Scrolls so that an element is so many pixels below the top; twice, since on the way lines get their heights. */
  function put(target, pixels) {
    for (let k = 0; k < 2; k++) body.scrollTop += below(target) - pixels;
  }
  /** The first line that is whole in sight, and those behind it. */
  function* inSight() {
    const first = chunks.findIndex((chunk) => below(chunk) + chunk.offsetHeight > 0);
    for (let line = Math.max(0, first) * CHUNK + 1; line <= rows.length; line++) {
      const top = below(row(line));
      if (top >= body.clientHeight) return;
      if (top >= 0) yield line;
    }
  }
  body.addEventListener("click", (e) => {
    const hit = e.target.closest("[data-line]");
    if (hit && !String(getSelection())) setCurrent(Number(hit.dataset.line), true);
  });
  onKeys(body, (e) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15 }[e.key];
    if (e.key === "Escape") onselect(null);
    if (!step) return null;
    let line = current + step;
    while (row(line)?.dataset.blank && row(line + Math.sign(step))) line += Math.sign(step);
    return () => setCurrent(row(line) ? line : current, true);
  });

  /** Does something once the pane is on the page, at once where it is. */
  function whenSeen(act) {
    if (body.clientHeight) return void act();
    const watch = new ResizeObserver(() => {
      if (!body.clientHeight) return;
      watch.disconnect();
      act();
    });
    watch.observe(body);
  }
  const clearComplaint = () => body.querySelector(".pl-complaint")?.remove();

  return {
    el,
    body,
    name,
    note,
    row,
    markCurrent,
    select,
    clearComplaint,
    texts: () => h("div", { innerHTML: shown.join("\n") }).textContent.split("\n"),
    current: () => current,
    /** Goes to a line, which nobody hears of. */
    go: (line) => setCurrent(line, false),
    /** Rows count from 1; `numbers`, where given, are what to print in front of them (0: nothing); `to`, where given, is
     * [a line, its pixels below the top] to scroll to. */
    fill(lines, numbers, to) {
      if (!rows.length || !same(shown, lines)) turn(lines, numbers);
      goes = to;
    },
    /** Paints execution counts: a map from lines to thread-instructions. `gutter`: whether there is room for them,
     * which stays while a result is on its way, so that no line moves. */
    heat(next, gutter = next.size > 0) {
      body.classList.toggle("pl-hot", gutter);
      if (counts === next) return;
      counts = next;
      paintHeat();
    },
    /** The line that ran most often behind the current one, then the next but one, and so on. */
    hottest() {
      const hot = [...counts].sort((a, b) => b[1] - a[1]).map(([line]) => line);
      const next = hot[(hot.indexOf(current) + 1) % hot.length];
      if (next) setCurrent(next, true);
    },
    /** Marks lines: a map from lines to the signs beside them, which also stand at the pane's edge, as far down as the line. */
    sign(signs) {
      const old = marked;
      marked = signs;
      for (const line of [...old.keys(), ...signs.keys()]) signLine(line);
      const dots = [...signs].map(([line, text]) => {
        const top = `min(${(100 * (line - 1)) / Math.max(1, rows.length)}%, ${LINE * (line - 1)}px)`; // beside it in a short text
        return rulerMark(top, "pl-at", () => setCurrent(line, true), text);
      });
      ruler.replaceChildren(...dots);
    },
    /** Brings a line near the top, with what leads to it above; a message under a line is what to look at first. */
    start(line) {
      whenSeen(() => {
        if (row(line) && !body.querySelector(".pl-complaint")) put(row(line), AHEAD);
      });
    },
    /** [the line to keep in sight, its pixels below the top]: the current one where it is in sight, else the first. */
    place(accept) {
      if (!rows.length || !body.clientHeight) return null;
      const seen = [...inSight()],
        line = seen.includes(current) && accept(current) ? current : seen.find(accept);
      return line ? [line, below(row(line))] : null;
    },
    /** Scrolls to where `fill` said, when all that a frame changes has been changed: to scroll lays the page out. */
    settle() {
      if (goes && row(goes[0]) && body.clientHeight) put(row(goes[0]), goes[1]);
      goes = null;
    },
    /** The line at the top. */
    top: () => inSight().next().value || 1,
    /** Shows a message under a line, as a compiler would. */
    complain(line, text) {
      clearComplaint();
      const target = line && row(line);
      if (!target) return;
      target.after(h("pre.pl-complaint", null, text));
      whenSeen(() => target.isConnected && put(target, body.clientHeight / 3));
    },
    /** Another heading. */
    rename(text) {
      if (body.getAttribute("aria-label") === text) return;
      el.querySelector("h4").textContent = text;
      el.setAttribute("aria-label", text);
      body.setAttribute("aria-label", text);
    },
    /** Words in place of lines. */
    say(text) {
      [shown, rows, chunks] = [[], [], []];
      body.replaceChildren(h("p.pl-blank", null, text));
    },
  };
}
