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
  // Of each chunk: its element, the HTML that it should have and has, its lines' elements and the counts painted on them.
  let chunks = [], counts = new Map(), most = 1, current = 0, waiting = 0, changed = 0, scrolled = 0, room = 0;
  let total = 0, goesTo = null, stands = 0; // lines in all; where `put` scrolls to, until the page is laid out; where the pane is scrolled to

  /** Brings the elements of a chunk up to date: those lines that are others now. */
  function refresh(chunk) {
    if (chunk.shown !== chunk.html) {
      const had = chunk.rows.length === chunk.html.length ? chunk.shown : null;
      if (had) chunk.html.forEach((html, k) => { if (html !== had[k]) rewrite(chunk.rows[k], html); });
      else {
        chunk.el.innerHTML = chunk.html.join("");
        chunk.rows = [...chunk.el.children];
      }
      chunk.shown = chunk.html;
      chunk.el.style.height = "";
      chunk.heat = null;
    }
    if (chunk.heat !== counts) chunk.rows.forEach(heatLine);
    chunk.heat = counts;
  }
  /** Another line in place of one. What is alike in both stays; the count is left to `heatLine`. */
  function rewrite(row, html) {
    const holder = document.createElement("template");
    holder.innerHTML = html;
    const next = holder.content.firstChild;
    next.children[1].replaceWith(row.children[1].cloneNode(true));
    become(row, next);
  }
  /** What a chunk was stands nowhere any more, not even out of sight. */
  function clear(chunk) {
    if (chunk.shown === null || chunk.shown === chunk.html) return;
    chunk.el.style.height = chunk.el.style.containIntrinsicHeight;
    chunk.el.replaceChildren();
    chunk.shown = null;
    chunk.rows = [];
  }
  const stale = (chunk) => chunk.shown !== chunk.html || chunk.heat !== counts;

  /** Colour, bar length and number of an execution count all say the same. */
  function heatLine(line) {
    const n = counts.get(Number(line.dataset.line)), cell = line.children[1], shown = n ? `${n} ${most}` : n;
    if (cell.shown === shown) return; // writing it again would cost a layout
    cell.shown = shown;
    cell.textContent = n === undefined ? "" : count(n).replace(" ", "");
    cell.style.setProperty("--heat", n ? (Math.log1p(n) / most).toFixed(3) : 0);
    cell.title = n === undefined ? "" : `${grouped.format(n)} thread-instructions`;
  }

  /** What is in sight, and a few lines around it, now; the rest when there is time. */
  function refreshSeen() {
    const at = (y) => Math.floor(y / LINE / CHUNK);
    for (let k = Math.max(0, at(scrolled - MARGIN)); k <= at(scrolled + (room || 400) + MARGIN) && k < chunks.length; k++) refresh(chunks[k]);
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
    const chunk = chunks[Math.floor((line - 1) / CHUNK)];
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
     * [a line, its pixels below the top] to scroll to. */
    fill(lines, numbers, goes) {
      total = lines.length;
      const now = [];
      lines.forEach((html, k) => {
        if (k % CHUNK === 0) now.push([]);
        now[now.length - 1].push(
          `<div class="pl-line" role="option" aria-selected="false" data-line="${k + 1}"${html ? "" : ' data-blank="1" aria-label="blank"'}>` +
          `<span class="pl-no">${numbers ? numbers[k] || "" : k + 1}</span><span class="pl-heat"></span><code>${html || " "}</code></div>`);
      });
      const same = (a, b) => a.length === b.length && a.every((html, k) => html === b[k]);
      if (!chunks.length) body.replaceChildren();
      if (now.length === chunks.length && now.every((html, k) => same(html, chunks[k].html))) return goes && put(...goes);
      for (const old of body.querySelectorAll('[aria-selected="true"]')) old.setAttribute("aria-selected", "false");
      for (const gone of chunks.splice(now.length)) gone.el.remove();
      now.forEach((html, k) => {
        const chunk = (chunks[k] ||= { el: body.appendChild(h("div.pl-chunk", { role: "presentation" })), html: [], shown: null, rows: [], heat: null });
        if (same(chunk.html, html)) return;
        chunk.html = html;
        chunk.el.style.containIntrinsicHeight = `${LINE * html.length}px`;
        if (chunk.shown === null) chunk.el.style.height = chunk.el.style.containIntrinsicHeight;
      });
      if (goes) put(...goes);
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
