// @ts-check
// A pane of code: a scrolling list of lines of which those in sight become elements at once, the rest while the page is
// idle or when they are scrolled to. A kernel has a thousand lines and a window shows twenty. The last texts keep the
// elements that were in sight, laid out: whoever goes back to one sees it without waiting.

import { count, grouped, h } from "./dom.js";

const CHUNK = 8; // lines that become elements together
const REST = 2000; // milliseconds without a change until the lines out of sight become elements too
const GUTTERS = 90; // pixels beside a line: its number and its count
const SHEETS = 4; // texts whose elements are kept
const LINE = 18,
  MARGIN = 40; // pixels of a line, as explorer.css says; and of what is ready above and below the window

/** `work(left)` while nothing else is to be done; left() tells for how many milliseconds more. */
function whenIdle(work) {
  if (window.requestIdleCallback)
    return requestIdleCallback((deadline) => work(() => deadline.timeRemaining()), { timeout: 1000 });
  return setTimeout(() => {
    const end = performance.now() + 8;
    work(() => end - performance.now());
  }, 100);
}

/** The file that a row of a source pane belongs to; `files` are [the row where its lines begin, file], in order. */
export const fileOf = (files, row) => files.filter(([first]) => first <= row).pop()?.[1] || "";

/** How many columns a line takes; a tab takes four, as explorer.css says. */
const columnsOf = (line) => line.length + 3 * (line.split("\t").length - 1);

/** The lines are HTML strings made (and escaped) by Python; `onselect(line)` hears of a click, and of null on Escape. */
export function makePane(title, onselect) {
  const body = h("div.pl-lines", { tabIndex: 0, role: "listbox", "aria-label": title });
  const name = h("span.pl-pane-name");
  const note = h("span.pl-note");
  const ruler = h("div.pl-ruler", { "aria-hidden": "true" });
  const el = h(
    "section.pl-pane",
    { "aria-label": title },
    h("header", null, h("h4", null, title), name, h("span.pl-spring"), note),
    body,
    ruler,
  );
  let sheets = [],
    sheet = null; // the texts that have elements, the newest first; the one that is shown
  let marked = new Map(); // lines -> the signs beside them
  let current = 0,
    waiting = 0,
    changed = 0,
    scrolled = 0,
    room = 0;
  let goesTo = null,
    stands = 0; // where `put` scrolls to, until the page is laid out; where the pane is scrolled to

  // -- lines as elements

  /** A text: of each chunk its element, its lines, their elements once it has them, and the counts painted on them. */
  function made(lines, numbers) {
    const el = h("div.pl-text", { role: "presentation" }),
      chunks = [];
    for (let first = 0; first < lines.length; first += CHUNK) {
      const part = lines
        .slice(first, first + CHUNK)
        .map((html, k) => [html, first + k + 1, numbers ? numbers[first + k] || "" : first + k + 1]);
      const chunk = h("div.pl-chunk", { role: "presentation" });
      chunk.style.height = `${LINE * part.length}px`;
      chunks.push({ el: chunk, lines: part, rows: null, heat: null, marked: null, columns: 0 });
    }
    el.append(...chunks.map((chunk) => chunk.el));
    return { el, lines, chunks, columns: 0, seen: [], counts: new Map(), most: 1 };
  }
  /** Brings the elements of a chunk up to date. */
  function refresh(chunk) {
    if (!chunk.rows) {
      chunk.el.innerHTML = chunk.lines
        .map(
          ([html, line, no]) =>
            `<div class="pl-line" role="option" aria-selected="false" data-line="${line}"${html ? "" : ' data-blank="1" aria-label="blank"'}>` +
            `<span class="pl-no">${no}</span><span class="pl-heat"></span><code>${html || " "}</code></div>`,
        )
        .join("");
      chunk.rows = [...chunk.el.children];
      chunk.el.classList.add("pl-far");
      chunk.columns = Math.max(...chunk.rows.map((row) => columnsOf(row.lastChild.textContent)));
      if (chunk.columns > sheet.columns) widen(chunk.columns);
    }
    if (chunk.heat !== sheet.counts) chunk.rows.forEach(heatLine);
    chunk.heat = sheet.counts;
    if (chunk.marked !== marked) chunk.rows.forEach(signLine);
    chunk.marked = marked;
  }
  /** Makes room for the longest line. It is known by its letters, so that no line has to be measured. */
  function widen(columns) {
    sheet.columns = columns;
    sheet.el.style.width = `calc(${columns + 2}ch + ${GUTTERS}px)`;
  }
  const stale = (chunk) => !chunk.rows || chunk.heat !== sheet.counts || chunk.marked !== marked;
  const chunkOf = (line) => Math.floor((line - 1) / CHUNK);

  /** Colour, bar length and number of an execution count all say the same. */
  function heatLine(line) {
    const n = sheet.counts.get(Number(line.dataset.line)),
      cell = line.children[1],
      size = n ? (Math.log1p(n) / sheet.most).toFixed(3) : "0";
    if (cell.size !== size) cell.style.setProperty("--heat", (cell.size = size)); // to write what is there already costs a layout
    if (cell.n === n) return;
    cell.n = n;
    const text = n === undefined ? "" : count(n).replace(" ", "");
    if (cell.firstChild) cell.firstChild.data = text;
    else cell.textContent = text;
    cell.title = n === undefined ? "" : `${grouped.format(n)} thread-instructions`;
  }

  /** The signs of a line stand before its number. */
  function signLine(line) {
    const signs = marked.get(Number(line.dataset.line));
    if (signs) line.dataset.signs = signs;
    else delete line.dataset.signs;
  }

  /** What is in sight, and a few lines around it, now; the rest when there is time. */
  function refreshSeen() {
    if (!sheet) return;
    const at = (y) => Math.max(0, chunkOf(Math.floor(y / LINE) + 1));
    const seen = sheet.chunks.slice(at(scrolled - MARGIN), at(scrolled + (room || 400) + MARGIN) + 1);
    for (const chunk of sheet.seen) if (chunk.rows && !seen.includes(chunk)) chunk.el.classList.add("pl-far");
    for (const chunk of seen) {
      refresh(chunk);
      chunk.el.classList.remove("pl-far");
    }
    sheet.seen = seen;
    ruler.hidden = sheet.lines.length * LINE <= room; // all lines are in sight
    refreshLater();
  }
  function refreshLater() {
    const rest = sheet.chunks.filter(stale);
    body.setAttribute("aria-busy", String(rest.length > 0));
    changed = performance.now();
    if (!waiting) waiting = setTimeout(refreshRested, REST);
  }
  function refreshRested() {
    const left = changed + REST - performance.now();
    waiting = left > 0 ? setTimeout(refreshRested, left) : 0;
    if (!waiting) whenIdle(refreshSome);
  }
  function refreshSome(left) {
    for (const aside of sheets) if (aside !== sheet) thin(aside);
    const rest = sheet ? sheet.chunks.filter(stale) : [],
      next = () => rest.length && refresh(rest.shift());
    next(); // one in any case: a busy machine may never have time left
    while (rest.length && left() > 3) next();
    if (rest.length) whenIdle(refreshSome);
    else body.setAttribute("aria-busy", "false");
  }
  /** Of a text that is kept, what was in sight stays. */
  function thin(aside) {
    for (const chunk of aside.chunks) {
      if (!chunk.rows || aside.seen.includes(chunk)) continue;
      chunk.el.replaceChildren();
      chunk.el.classList.remove("pl-far");
      chunk.rows = null;
    }
  }
  body.addEventListener(
    "scroll",
    () => {
      scrolled = stands = body.scrollTop;
      refreshSeen();
    },
    { passive: true },
  );
  new ResizeObserver(() => {
    room = body.clientHeight;
    refreshSeen();
  }).observe(body);

  /** Shows a text. One that was shown before still has its elements, which need not be laid out again. */
  function turn(lines, numbers) {
    clearComplaint();
    const before = sheet,
      found = sheets.find((kept) => kept.lines === lines);
    select([]);
    body.querySelector(".pl-current")?.classList.remove("pl-current");
    before?.el.classList.remove("pl-now");
    sheet = found || made(lines, numbers);
    sheet.el.classList.add("pl-now");
    if (!before) body.replaceChildren(); // of words
    if (!found) body.prepend(sheet.el);
    sheets = [sheet, ...sheets.filter((kept) => kept !== sheet)];
    for (const old of sheets.splice(SHEETS)) old.el.remove();
    if (current && before && before.lines[current - 1] === lines[current - 1]) markCurrent(current);
    else body.removeAttribute("aria-activedescendant"); // it was another text's line
  }

  // -- one line

  /** The element of a line, which is made if it is not there yet. */
  function row(line) {
    const chunk = line < 1 ? undefined : sheet?.chunks[chunkOf(line)];
    if (!chunk) return undefined;
    refresh(chunk);
    return chunk.rows[(line - 1) % CHUNK];
  }
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
    if (target && scroll) scrollTo(target);
  }
  function scrollTo(target) {
    const top = topOf(target),
      bottom = top + target.offsetHeight;
    if (top < body.scrollTop || bottom > body.scrollTop + body.clientHeight)
      body.scrollTop = top - body.clientHeight / 3;
  }
  const topOf = (target) => target.getBoundingClientRect().top - body.getBoundingClientRect().top + body.scrollTop;
  body.addEventListener("click", (e) => {
    const hit = e.target.closest("[data-line]");
    if (hit && !String(getSelection())) setCurrent(Number(hit.dataset.line), true);
  });
  body.addEventListener("keydown", (e) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15 }[e.key];
    if (e.key === "Escape") return onselect(null);
    if (!step) return;
    e.preventDefault();
    e.stopPropagation();
    let line = current + step;
    while (row(line)?.dataset.blank && row(line + Math.sign(step))) line += Math.sign(step);
    setCurrent(row(line) ? line : current, true);
  });

  /** Scrolls so that a line is so many pixels below the top. */
  function put(line, below) {
    if (body.querySelector(".pl-complaint")) {
      // lines are where the page puts them
      const target = row(line);
      if (target) body.scrollTop = scrolled = topOf(target) - below;
      return;
    }
    goesTo = scrolled = Math.max(0, Math.min((line - 1) * LINE - below, sheet.lines.length * LINE - room));
    refreshSeen();
  }
  function clearComplaint() {
    const old = body.querySelector(".pl-complaint");
    old?.parentElement.classList.remove("pl-grown");
    old?.remove();
  }

  return {
    el,
    body,
    name,
    note,
    row,
    markCurrent,
    select,
    clearComplaint,
    lines: () => sheet?.lines || [],
    current: () => current,
    /** Goes to a line, which nobody hears of. */
    go: (line) => setCurrent(line, false),
    /** Rows count from 1; `numbers`, where given, are what to print in front of them (0: nothing); `goes`, where given, is
     * [a line, its pixels below the top] to scroll to. */
    fill(lines, numbers, goes) {
      if (sheet && sheet.lines.length === lines.length && lines.every((line, k) => line === sheet.lines[k]))
        sheet.lines = lines;
      else turn(lines, numbers);
      if (goes) put(goes[0], goes[1]);
      else refreshSeen();
    },
    /** Paints execution counts: a map from lines to thread-instructions. `gutter`: whether there is room for them,
     * which stays while a result is on its way, so that no line moves. */
    heat(next, gutter = next.size > 0) {
      body.classList.toggle("pl-hot", gutter);
      if (!sheet || sheet.counts === next) return;
      sheet.counts = next;
      sheet.most = Math.log1p(Math.max(1, ...next.values()));
      refreshSeen();
    },
    /** Marks lines: a map from lines to the signs beside them, which also stand at the pane's edge, as far down as the line. */
    sign(signs) {
      marked = signs;
      const dots = [...signs].map(([line, text]) => {
        const dot = h("span", null, text);
        dot.style.top = `${(100 * (line - 1)) / Math.max(1, sheet?.lines.length || 1)}%`;
        return dot;
      });
      ruler.replaceChildren(...dots);
      refreshSeen();
    },
    /** Brings a line near the top, with what leads to it above. */
    start(line) {
      const watch = new ResizeObserver(() => {
        const target = row(line);
        if (!body.clientHeight || !target) return; // not on the page yet
        if (body.querySelector(".pl-complaint")) return watch.disconnect(); // that is where to look
        body.scrollTop = (line - 6) * LINE;
        watch.disconnect();
      });
      watch.observe(body);
    },
    /** [the line to keep in sight, its pixels below the top]: the current one where it is in sight, else the first. */
    place(accept) {
      const height = room || body.clientHeight,
        inSight = (y) => y > -LINE && y < height;
      const moved = body.querySelector(".pl-complaint"); // else all lines are equally high, and need not be measured: that would lay out the page
      const below = (line) =>
        moved ? row(line).getBoundingClientRect().top - body.getBoundingClientRect().top : (line - 1) * LINE - scrolled;
      if (current && row(current) && inSight(below(current)) && accept(current)) return [current, below(current)];
      const first = Math.floor(scrolled / LINE) + 1;
      for (let line = first; line < first + height / LINE; line++)
        if (row(line) && below(line) >= 0 && accept(line)) return [line, below(line)];
      return null;
    },
    /** Scrolls to where `put` said, when all that a frame changes has been changed: to scroll lays the page out. */
    settle() {
      if (goesTo !== null && goesTo !== stands) {
        body.scrollTop = goesTo;
        stands = body.scrollTop; // 0 where the pane is not on the page
      }
      goesTo = null;
    },
    /** The line at the top. */
    top: () => Math.floor(scrolled / LINE) + 1,
    /** Shows a message under a line, as a compiler would. */
    complain(line, text) {
      clearComplaint();
      const target = line && row(line);
      if (!target) return;
      target.parentElement.classList.add("pl-grown");
      target.after(h("pre.pl-complaint", null, text));
      const watch = new ResizeObserver(() => {
        if (!body.clientHeight) return; // not on the page yet
        // By the height of a line: where the pane itself is out of sight, its lines have no places that could be asked for.
        if (target.isConnected) body.scrollTop = (line - 1) * LINE - body.clientHeight / 3;
        watch.disconnect();
      });
      watch.observe(body);
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
      sheets = [];
      sheet = null;
      body.replaceChildren(h("p.pl-blank", null, text));
    },
  };
}
