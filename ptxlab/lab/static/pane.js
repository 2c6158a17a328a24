// A pane of code: a scrolling list of lines of which those in sight become elements at once, the rest while the page is
// idle or when they are scrolled to. A kernel has a thousand lines and a window shows twenty.

const CHUNK = 8; // lines that become elements together
const REST = 2000; // milliseconds without a change until the lines out of sight become elements too
const LINE = 18, MARGIN = 40; // pixels of a line, as explorer.css says; and of what is ready above and below the window

/** `work(left)` while nothing else is to be done; left() tells for how many milliseconds more. */
function whenIdle(work) {
  if (window.requestIdleCallback) return requestIdleCallback((deadline) => work(() => deadline.timeRemaining()), { timeout: 1000 });
  return setTimeout(() => { const end = performance.now() + 8; work(() => end - performance.now()); }, 100);
}

/** The file that a row of a source pane belongs to; `files` are [the row where its lines begin, file], in order. */
const fileOf = (files, row) => files.filter(([first]) => first <= row).pop()?.[1] || "";

/** The lines are HTML strings made (and escaped) by Python; `onselect(line)` hears of a click, and of null on Escape. */
function makePane(title, onselect) {
  const body = h("div.pl-lines", { tabIndex: 0, role: "listbox", "aria-label": title });
  const name = h("span.pl-pane-name");
  const note = h("span.pl-note");
  const el = h("section.pl-pane", { "aria-label": title }, h("header", null, h("h4", null, title), name, h("span.pl-spring"), note), body);
  // Of each chunk: its element, the lines that it should have and has, their elements and the counts painted on them.
  let chunks = [], head = CHUNK; // the first chunk has `head` lines, so that lines that have moved all by as many stay together
  let counts = new Map(), most = 1, current = 0, waiting = 0, changed = 0, scrolled = 0, room = 0;
  let total = 0, goesTo = null, stands = 0; // lines in all; where `put` scrolls to, until the page is laid out; where the pane is scrolled to

  /** Brings the elements of a chunk up to date: those lines that are others now. */
  function refresh(chunk) {
    if (chunk.shown !== chunk.lines) {
      const had = chunk.rows.length === chunk.lines.length ? chunk.shown : null;
      if (had) chunk.lines.forEach((line, k) => { if (!same(line, had[k])) rewrite(chunk.rows[k], line, had[k]); }); // `heat` follows
      else {
        chunk.el.innerHTML = chunk.lines.map(([html, line, no]) =>
          `<div class="pl-line" role="option" aria-selected="false" data-line="${line}"${html ? "" : ' data-blank="1" aria-label="blank"'}>` +
          `<span class="pl-no">${no}</span><span class="pl-heat"></span><code>${html || " "}</code></div>`).join("");
        chunk.rows = [...chunk.el.children];
        chunk.heat = null;
      }
      chunk.shown = chunk.lines;
      chunk.el.style.height = "";
    }
    if (chunk.heat !== counts) chunk.rows.forEach(heatLine);
    chunk.heat = counts;
  }
  /** Another line in place of one. What is alike in both stays; the count is left to `heatLine`. */
  function rewrite(row, [html, line, no], [had]) {
    if (row.classList.contains("pl-current")) row.classList.remove("pl-current"); // to write it where nothing changes costs, too
    row.dataset.line = line;
    row.firstChild.textContent = no;
    if (html === had) return;
    if (!html || !had) {
      for (const [name, value] of [["data-blank", "1"], ["aria-label", "blank"]]) {
        if (html) row.removeAttribute(name);
        else row.setAttribute(name, value);
      }
    }
    const holder = document.createElement("template");
    holder.innerHTML = `<code>${html || " "}</code>`;
    contain(row.lastChild, holder.content.firstChild.childNodes);
  }
  /** What a chunk was stands nowhere any more, not even out of sight. */
  function clear(chunk) {
    if (chunk.shown === null || chunk.shown === chunk.lines) return;
    chunk.el.style.height = chunk.el.style.containIntrinsicHeight;
    chunk.el.replaceChildren();
    chunk.shown = null;
    chunk.rows = [];
  }
  const stale = (chunk) => chunk.shown !== chunk.lines || chunk.heat !== counts;
  const same = ([html, line, no], [had, was, before]) => html === had && line === was && no === before;
  /** Which chunk has a line, and the first line of a chunk. */
  const chunkOf = (line) => (line <= head ? 0 : 1 + Math.floor((line - 1 - head) / CHUNK));
  const firstOf = (k) => (k ? head + (k - 1) * CHUNK + 1 : 1);

  /** Colour, bar length and number of an execution count all say the same. */
  function heatLine(line) {
    const n = counts.get(Number(line.dataset.line)), cell = line.children[1], size = n ? (Math.log1p(n) / most).toFixed(3) : "0";
    if (cell.size !== size) cell.style.setProperty("--heat", (cell.size = size)); // to write what is there already costs a layout
    if (cell.n === n) return;
    cell.n = n;
    cell.textContent = n === undefined ? "" : count(n).replace(" ", "");
    cell.title = n === undefined ? "" : `${grouped.format(n)} thread-instructions`;
  }

  /** What is in sight, and a few lines around it, now; the rest when there is time. */
  function refreshSeen() {
    const at = (y) => chunkOf(Math.floor(y / LINE) + 1);
    for (let k = at(scrolled - MARGIN); k <= at(scrolled + (room || 400) + MARGIN) && k < chunks.length; k++) refresh(chunks[k]);
    refreshLater();
  }
  function refreshLater() {
    const rest = chunks.filter(stale);
    body.setAttribute("aria-busy", String(rest.length > 0));
    changed = performance.now();
    if (rest.length && !waiting) waiting = setTimeout(refreshRested, REST);
  }
  function refreshRested() {
    const left = changed + REST - performance.now();
    waiting = left > 0 ? setTimeout(refreshRested, left) : 0;
    if (!waiting) whenIdle(refreshSome);
  }
  function refreshSome(left) {
    const rest = chunks.filter(stale), next = () => rest.length && refresh(rest.shift());
    next(); // one in any case: a busy machine may never have time left
    while (rest.length && left() > 3) next();
    if (rest.length) whenIdle(refreshSome);
    else body.setAttribute("aria-busy", "false");
  }
  body.addEventListener("scroll", () => { scrolled = stands = body.scrollTop; refreshSeen(); }, { passive: true });
  new ResizeObserver(() => { room = body.clientHeight; refreshSeen(); }).observe(body);

  /** The element of a line, which is made if it is not there yet. */
  function row(line) {
    const k = chunkOf(line), chunk = line < 1 ? undefined : chunks[k];
    if (!chunk) return undefined;
    refresh(chunk);
    return chunk.rows[line - firstOf(k)];
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
  function scrollTo(target) {
    const top = topOf(target), bottom = top + target.offsetHeight;
    if (top < body.scrollTop || bottom > body.scrollTop + body.clientHeight) body.scrollTop = top - body.clientHeight / 3;
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

  /** An empty chunk, after or before all others. */
  function made(place, first = false) {
    const el = h("div.pl-chunk", { role: "presentation" });
    if (first) place.prepend(el);
    else place.append(el);
    return { el, lines: [], shown: null, rows: [], heat: null };
  }
  /** Moves the chunks by so many lines, the chunk of a `line` among them: what was there then has its elements already. */
  function align(lines, line) {
    if (!lines || !chunks.length) return;
    const was = chunkOf(line);
    head = ((((head + lines - 1) % CHUNK) + CHUNK) % CHUNK) + 1;
    const by = chunkOf(line + lines) - was;
    for (const gone of chunks.splice(0, -by)) gone.el.remove();
    for (let k = 0; k < by; k++) chunks.unshift(made(body, true));
  }

  /** Scrolls so that a line is so many pixels below the top. */
  function put(line, below) {
    if (body.querySelector(".pl-complaint")) { // lines are where the page puts them
      const target = row(line);
      if (target) body.scrollTop = scrolled = topOf(target) - below;
      return;
    }
    goesTo = scrolled = Math.max(0, Math.min((line - 1) * LINE - below, total * LINE - room));
    refreshSeen();
  }

  return {
    el, body, name, note, row, markCurrent,
    /** Rows count from 1; `numbers`, where given, are what to print in front of them (0: nothing); `goes`, where given, is
     * [a line, its pixels below the top, the line that it was] to scroll to. */
    fill(lines, numbers, goes) {
      total = lines.length;
      if (!chunks.length) body.replaceChildren();
      align(goes ? goes[0] - goes[2] : 0, goes?.[2]);
      const now = [];
      lines.forEach((html, k) => {
        if (k === 0 || (k >= head && (k - head) % CHUNK === 0)) now.push([]);
        now[now.length - 1].push([html, k + 1, numbers ? numbers[k] || "" : k + 1]);
      });
      const alike = (a, b) => a.length === b.length && a.every((line, k) => same(line, b[k]));
      if (now.length === chunks.length && now.every((part, k) => alike(part, chunks[k].lines))) return goes && put(goes[0], goes[1]);
      for (const old of body.querySelectorAll('[aria-selected="true"]')) old.setAttribute("aria-selected", "false");
      for (const gone of chunks.splice(now.length)) gone.el.remove();
      now.forEach((part, k) => {
        const chunk = (chunks[k] ||= made(body));
        if (alike(chunk.lines, part)) return;
        chunk.lines = part;
        chunk.el.style.containIntrinsicHeight = `${LINE * part.length}px`;
        if (chunk.shown === null) chunk.el.style.height = chunk.el.style.containIntrinsicHeight;
      });
      if (goes) put(goes[0], goes[1]);
      else refreshSeen();
      chunks.forEach(clear);
      if (!body.querySelector(".pl-current")) body.removeAttribute("aria-activedescendant"); // it was another text's line
    },
    /** Paints execution counts: a map from lines to thread-instructions. `gutter`: whether there is room for them,
     * which stays while a result is on its way, so that no line moves. */
    heat(next, gutter = next.size > 0) {
      body.classList.toggle("pl-hot", gutter);
      counts = next;
      most = Math.log1p(Math.max(1, ...next.values()));
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
      const height = room || body.clientHeight, inSight = (y) => y > -LINE && y < height;
      const moved = body.querySelector(".pl-complaint"); // else all lines are equally high, and need not be measured: that would lay out the page
      const below = (line) => (moved ? row(line).getBoundingClientRect().top - body.getBoundingClientRect().top : (line - 1) * LINE - scrolled);
      if (current && row(current) && inSight(below(current)) && accept(current)) return [current, below(current)];
      const first = Math.floor(scrolled / LINE) + 1;
      for (let line = first; line < first + height / LINE; line++) if (row(line) && below(line) >= 0 && accept(line)) return [line, below(line)];
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
    select(lines, scroll) {
      for (const old of body.querySelectorAll('[aria-selected="true"]')) old.setAttribute("aria-selected", "false");
      lines.forEach((line) => row(line)?.setAttribute("aria-selected", "true"));
      const target = lines.length && row(lines[0]);
      if (target && scroll) scrollTo(target);
    },
    /** Shows a message under a line, as a compiler would. */
    complain(line, text) {
      body.querySelector(".pl-complaint")?.remove();
      const target = line && row(line);
      if (!target) return;
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
    say(text) { chunks = []; total = 0; body.replaceChildren(h("p.pl-blank", null, text)); },
    clearComplaint() { body.querySelector(".pl-complaint")?.remove(); },
  };
}
